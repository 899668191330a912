"""Hourly prices of a text against dated offers."""

from __future__ import annotations

from datetime import date

from gpuwise.audit import rents
from gpuwise.audit.blocks import of_markdown

TODAY = date(2026, 6, 1)


def stated(text: str) -> list[tuple[float, float]]:
    return [(rent.low, rent.high) for rent in rents.rents(of_markdown(text))]


def test_a_range_an_open_end_and_a_single_price() -> None:
    rows = "| T4 | $0.20 - $0.40 |\n| L4 | $0.50+ |\n| A10 | $0,75 |"
    assert stated(f"| GPU | Price per hour |\n|---|---|\n{rows}") == [
        (0.2, 0.4),
        (0.5, float("inf")),
        (0.75, 0.75),
    ]


def test_a_price_to_buy_is_no_rent() -> None:
    assert stated("| GPU | Price |\n|---|---|\n| T4 | $900 |") == []


def test_without_offers_nothing_can_be_told() -> None:
    found = rents.rents(of_markdown("| GPU | Price per hour |\n|---|---|\n| T4 | $99 |"))
    assert [finding.verdict for finding in rents.judge(found, (), TODAY)] == ["cannot tell"]
