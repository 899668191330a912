"""Money, counts and dates as people write them, and what is refused."""

from __future__ import annotations

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.facts.prices import day
from gpuwise.facts.prices.files import count_of
from gpuwise.model import units


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2.99", (2.99, None, None)),
        ("$2.99/h", (2.99, "USD", "hour")),
        ("US$ 2.99 per hour", (2.99, "USD", "hour")),
        ("2,99 €", (2.99, "EUR", None)),
        ("2.99 usd/gpu/h", (2.99, "USD", "gpu-hour")),
        ("$2.99/GPU-hour", (2.99, "USD", "gpu-hour")),
        ("1,234.50", (1234.5, None, None)),
        ("1.234,50", (1234.5, None, None)),
        ("1,234,567", (1234567, None, None)),
        ("0,526", (0.526, None, None)),
        ("1.204", (1.204, None, None)),
        ("£32000 once", None),
        ("$32000/unit", (32000, "USD", "once")),
        ("-3", (-3, None, None)),
    ],
)
def test_money(text: str, read: tuple[float, str | None, str | None] | None) -> None:
    if read is None:
        with pytest.raises(ValueError, match="unreadable"):
            units.read_money(text)
    else:
        assert units.read_money(text) == pytest.approx(read)


@pytest.mark.parametrize(
    "text", ["", "cheap", "1e5", "inf", "nan", "$1€", "1.2.3", "2 99", "\uff11\uff12", "9" * 400]
)
def test_no_money(text: str) -> None:
    with pytest.raises(ValueError, match=r"unreadable|too large|two currencies"):
        units.read_money(text)


def test_a_comma_that_could_be_either_is_refused() -> None:
    with pytest.raises(ValueError, match=r"may be 1\.234 or 1234"):
        units.read_number("1,234")


@pytest.mark.parametrize(("text", "gpus"), [("8", 8), ("0.5", 0.5), ("1/4", 0.25), ("7/2", 3.5)])
def test_counts(text: str, gpus: float) -> None:
    assert count_of(text) == gpus


@pytest.mark.parametrize("text", ["0", "-1", "1/0", "eight", "1e999999999", "nan", "8x"])
def test_no_counts(text: str) -> None:
    with pytest.raises(ValueError, match="unreadable number of GPUs"):
        count_of(text)


def test_days() -> None:
    assert day("2026-05-31") == date(2026, 5, 31)
    assert day("2026-05") == date(2026, 5, 1)
    for text in ("2026-02-30", "31.05.2026", "20260531", "0000-01-01", "yesterday"):
        with pytest.raises(ValueError, match="unreadable date"):
            day(text)


@given(st.floats(min_value=0.01, max_value=99_999))
def test_a_printed_number_reads_back_in_both_notations(value: float) -> None:
    point = f"{value:,.2f}"
    comma = point.translate(str.maketrans(",.", ".,"))
    assert units.read_number(point) == units.read_number(comma) == pytest.approx(float(f"{value:.2f}"))


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    for read in (
        units.read_money,
        units.read_number,
        units.read_unit,
        units.read_currency,
        count_of,
        day,
    ):
        # Anything else than ValueError would end the whole file instead of one row.
        with suppress(ValueError):
            assert read(text) is not None
