"""Numbers and dates as people print them."""

from __future__ import annotations

import pytest

from gpuwise.judge.audit import quantity
from gpuwise.judge.audit.quantity import number
from gpuwise.model.claim import Number


@pytest.mark.parametrize(
    ("text", "low", "high", "value"),
    [("8,192", 256, 1e5, 8192), ("5.120", 256, 1e5, 5120), ("2,52", 1, 4, 2.52), ("1.555", 0.05, 30, 1.555)],
)
def test_a_separator_means_what_is_plausible(text: str, low: float, high: float, value: float) -> None:
    found = number(text, 1, low, high)
    assert found is not None
    assert found.value == value


def test_what_no_reading_explains_is_no_number() -> None:
    assert number("5,120", 1, 1e6, 1e7) is None


@pytest.mark.parametrize(("text", "digits"), [("2000", 1), ("19.5", 3), ("0.6", 1), ("1,935", 4)])
def test_digits_printed(text: str, digits: int) -> None:
    assert quantity.digits(text) == digits


@pytest.mark.parametrize(
    ("text", "month"),
    [("2017.05", "2017-05"), ("Oct 5th, 2020", None), ("May 2017", "2017-05"), ("Q1 2023", "2023-02")],
)
def test_months(text: str, month: str | None) -> None:
    assert quantity.month(text) == month


@pytest.mark.parametrize(
    ("text", "low", "high", "value", "digits"),
    [
        ("16 384", 256, 1e5, 16384, 5),
        ("1'935", 50, 3e4, 1935, 4),
        ("4 300", 20, 3000, 300, 1),  # "PCIe Gen 4 300 W": two numbers
    ],
)
def test_a_space_parts_thousands_or_two_numbers(
    text: str, low: float, high: float, value: float, digits: int
) -> None:
    assert number(text, 1, low, high) == Number(value=value, digits=digits)
