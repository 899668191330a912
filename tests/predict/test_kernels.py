"""Kernels as arrays: what of their shapes is executed."""

from __future__ import annotations

import pytest

from gpuwise.model.trace import Kernel
from gpuwise.predict.kernels import arrays


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
