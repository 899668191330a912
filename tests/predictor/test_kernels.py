"""Kernels as arrays: what of their shapes is executed."""

from __future__ import annotations

import pytest

from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Kernel, arrays
from gpuwise.predictor.rates import usual
from gpuwise.predictor.step import kernel_seconds


def executed(name: str, queries: int, keys: int, width: int) -> float:
    found = Kernel(
        kind="attention", name=name, dtype="bf16", shape=(2, 12, queries, keys, width, 12), flop=1,
        bytes_read=8, bytes_written=4, phase="backward", count=1,
    )  # fmt: skip
    return float(arrays([found]).groups[0].flop[0])


def test_attention_computes_whole_blocks_and_its_backward_pass_is_slower() -> None:
    forward = "aten._scaled_dot_product_flash_attention"
    assert executed(forward, 384, 384, 64) == 1.0
    assert executed(forward, 197, 197, 64) == pytest.approx((256 / 197) ** 2)
    assert executed(forward, 1, 2048, 64) == 1.0  # decoding
    assert executed(forward + "_backward", 384, 384, 64) > 1.0


def test_an_optimiser_of_many_launches_takes_about_as_long_as_its_bytes() -> None:
    """Its shape holds the tensors of all launches, its bytes and operations are those of one."""
    values, launches = 8_000_000_000, 384
    one = Kernel(
        kind="optimiser",
        name="aten._fused_adamw_",
        dtype="bf16",
        shape=(values,),
        flop=8 * values / launches,
        bytes_read=8 * values / launches,
        bytes_written=6 * values / launches,
        phase="optimiser",
        count=launches,
    )
    found = card("h100-sxm5-80gb")
    seconds = launches * float(kernel_seconds(arrays([one]), found, usual(found))[0])
    least = 14 * values / found.bytes_per_s
    assert least < seconds < 3 * least
