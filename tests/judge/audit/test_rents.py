"""Hourly prices of a text against dated offers."""

from __future__ import annotations

from datetime import date

from gpuwise.facts import prices
from gpuwise.judge.audit import rents
from gpuwise.judge.audit.blocks import of_markdown

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


def test_only_the_hourly_column_is_rent() -> None:
    rows = "| H100 SXM | $25,000 | $2.99 |\n| 8x H100 SXM | - | $23.92 |"
    assert stated(f"| GPU | Price | Price per hour |\n|---|---|---|\n{rows}") == [(2.99, 2.99)]


def test_commas_for_thousands() -> None:
    assert stated("| GPU | Per hour |\n|---|---|\n| L4 | $1,299 |") == [(1299.0, 1299.0)]


def test_the_provider_may_stand_before_the_gpu() -> None:
    (rent,) = rents.rents(of_markdown("| Provider | GPU | Price/h |\n|---|---|---|\n| AWS | L4 | $0.80 |"))
    assert (rent.gpu.text, rent.providers) == ("L4", "AWS")


def test_one_offer_does_not_speak_for_three_providers() -> None:
    row = "| {} | $9.00 |"
    table = "| Provider | A100 40GB per hour |\n|---|---|\n" + row
    offers = prices.offers(today=date(2026, 11, 21))
    verdicts = [
        rents.judge(rents.rents(of_markdown(table.format(name))), offers, date(2026, 11, 21))[0].verdict
        for name in ("AWS / GCP / Azure", "AWS")
    ]
    assert verdicts == ["cannot tell", "contradicts"]
