"""Rounding is no error, another figure is."""

from __future__ import annotations

import pytest

from gpuwise.judge.audit.agree import same
from gpuwise.judge.audit.quantity import digits
from gpuwise.model.claim import Claim, Number


def agrees(field: str, text: str, stated: float, known: float, *, approximate: bool = False) -> bool:
    number = Number(value=stated, digits=digits(text))
    claim = Claim(
        line=1, gpu="x", gpu_ids=("t4",), field=field, values=(number,), stated=text, approximate=approximate
    )
    return same(claim, number, known)


@pytest.mark.parametrize(
    ("text", "stated", "known", "right"),
    [
        ("0.3 TB/s", 0.3e12, 320e9, True),
        ("1.6", 1.6e12, 1555e9, True),
        ("8 TB/s", 8e12, 7.7e12, True),
        ("1.7", 1.7e12, 1555e9, False),
        ("1,792 GB/s", 1792e9, 1800e9, True),
        ("350 GB/s", 350e9, 320e9, False),
    ],
)
def test_rates(text: str, stated: float, known: float, right: bool) -> None:
    assert agrees("memory_bytes_per_s", text, stated, known) is right


def test_counts_are_exact_unless_said_to_be_rough() -> None:
    assert not agrees("cuda_cores", "8190", 8190, 8192)
    assert agrees("cuda_cores", "8000", 8000, 8192, approximate=True)


def test_decimal_and_binary_gigabytes() -> None:
    assert agrees("memory_bytes", "80", 80 * 2**30, 80e9)


def test_words() -> None:
    claim = Claim(line=1, gpu="x", gpu_ids=("t4",), field="memory_type", values=("DDR6",), stated="DDR6")
    assert same(claim, "DDR6", "GDDR6")
    assert not same(claim, "DDR6", "HBM2")
