"""Hourly prices of a text against dated offers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest

from gpuwise.judge import audit

Read = Callable[..., list[tuple[str, str, str]]]
TODAY = date(2026, 11, 21)


def test_ranges_and_single_prices(claimed: Read) -> None:
    rows = "| T4 | $0.20 - $0.40 |\n| L4 | $0.50 |\n| A10 | $1-2 |"
    found = claimed(f"| GPU | Price per hour |\n|---|---|\n{rows}")
    assert found == [
        ("T4", "rent per hour", "$0.20 - $0.40"),
        ("L4", "rent per hour", "$0.50"),
        ("A10", "rent per hour", "$1-2"),
    ]


def test_a_price_to_buy_is_not_a_rent(claimed: Read) -> None:
    assert [field for _, field, _ in claimed("| GPU | Price |\n|---|---|\n| T4 | $900 |")] == ["price"]


def test_a_rent_in_prose(claimed: Read) -> None:
    assert claimed("The H100 SXM rents for $2.49/hr.") == [("H100 SXM", "rent per hour", "$2.49/hr")]


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        ("AWS | A100 40GB | $99.00", "contradicts"),
        ("AWS | A100 40GB spot | $19.00", "cannot tell"),
        ("AWS | A100 40GB spot | $299.00", "contradicts"),
        ("AWS | 8x A100 40GB | $999.00", "cannot tell"),
    ],
)
def test_only_what_is_on_demand_and_of_one_gpu_is_stale(row: str, verdict: str) -> None:
    text = f"| Provider | GPU | Price per hour |\n|---|---|---|\n| {row} |"
    assert [f.verdict for f in audit.audit_text(text, today=TODAY).findings] == [verdict]


def test_the_year_of_a_launch_dates_no_price() -> None:
    text = "gpu,release_year,usd_per_hour\nH200 SXM,2024,39.90\nL4,2023,0.70\n"
    found = audit.audit_text(text, "a.csv", today=TODAY).findings
    assert [f.stated for f in found if f.verdict == "contradicts"] == ["39.90"]
