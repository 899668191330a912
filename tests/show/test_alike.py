"""Sentences that differ in numbers only become one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.show.results import merged, shape


def test_numbers_become_ranges_and_names_are_listed() -> None:
    told = [
        "GPU 3: power-cap in 100 % of the samples; median clock 1590 MHz, highest seen 1980 MHz",
        "GPU 1: power-cap in 98.5 % of the samples; median clock 1620 MHz, highest seen 1980 MHz",
        "GPU 1: power-cap in 100 % of the samples; median clock 1605 MHz, highest seen 1980 MHz",
    ]
    assert merged(told) == (
        "GPU 1, 3: power-cap in 98.5 to 100 % of the samples; median clock 1590 to 1620 MHz, "
        "highest seen 1980 MHz"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("changed by -11.8 % in 1,024 steps.", "changed by # % in # steps."),
        ("fp16 on 2 H200s, x4, --time 5min, ±0.3 %", "fp16 on # H200s, x4, --time 5min, ±# %"),
        ("torch 2.11.0+cu130", "torch 2.11.0+cu130"),
    ],
)
def test_names_and_versions_are_no_numbers(text: str, found: str) -> None:
    assert shape(text) == found


def test_only_texts_of_one_shape_are_merged() -> None:
    with pytest.raises(ValueError, match="more than numbers"):
        merged(["1 step", "1 window"])


@given(st.lists(st.integers(-10_000, 10_000), min_size=1))
def test_a_range_holds_every_number(numbers: list[int]) -> None:
    low, high = min(numbers), max(numbers)
    told = merged([f"off by {number:,} W" for number in numbers])
    assert told == (f"off by {low:,} to {high:,} W" if low < high else f"off by {low:,} W")


@given(st.text())
def test_one_text_is_itself(text: str) -> None:
    assert merged([text]) == text
