"""What a step's kernels take beside their traffic and their operations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.model.trace import Kernel, Trace
from gpuwise.predict.kernels import arrays, slowness

POOL = "aten.max_pool2d_with_indices_backward"


def kernel(name: str, dtype: str = "bf16", **more: object) -> Kernel:
    usual = Kernel(
        kind="pointwise", name=name, dtype=dtype, shape=(1,), flop=1, bytes_read=8, bytes_written=4,
        phase="backward", count=1,
    )  # fmt: skip
    return replace(usual, **more)  # type: ignore[arg-type]


def trace(*kernels: Kernel, compiled: bool = False, mode: str = "train") -> Trace:
    return Trace(
        workload="made-up", version=1, mode=mode, precision="bf16", batch=1, compiled=compiled, item="item",
        items=1, parameters=0, kernels=kernels,
    )  # type: ignore[arg-type]  # fmt: skip


def test_torchs_own_kernels_are_slow_where_nothing_generates_better_ones() -> None:
    names = (POOL, "aten.sum", "aten.native_batch_norm:apply", "aten.relu_")
    kernels = tuple(kernel(name) for name in names)
    eager, compiled = slowness(trace(*kernels)), slowness(trace(*kernels, compiled=True))
    assert (eager[:3] > 1.0).all()
    assert eager[3] == 1.0
    assert compiled[0] == eager[0]
    assert (compiled[1:] == 1.0).all()


@pytest.mark.parametrize(("dtype", "mode"), [("fp16", "train"), ("bf16", "infer")])
def test_other_formats_and_inference_have_the_librarys_batch_norm(dtype: str, mode: str) -> None:
    norm = kernel("aten.native_batch_norm:apply", dtype)
    assert slowness(trace(norm, mode=mode))[0] == 1.0


def test_attention_computes_whole_blocks_and_its_backward_pass_is_slower() -> None:
    def executed(name: str, queries: int, keys: int, width: int) -> float:
        shape = (2, 12, queries, keys, width, 12)
        found = arrays([kernel(name, kind="attention", shape=shape, flop=1.0)])
        return float(found.groups[0].flop[0])

    forward = "aten._scaled_dot_product_flash_attention"
    assert executed(forward, 384, 384, 64) == 1.0
    assert executed(forward, 197, 197, 64) == pytest.approx((256 / 197) ** 2)
    assert executed(forward, 1, 2048, 64) == 1.0  # decoding
    assert executed(forward + "_backward", 384, 384, 64) > 1.0


def test_3x3_convolutions_in_ieee_fp32_take_fewer_operations() -> None:
    def time(dtype: str, window: int, phase: str = "forward") -> float:
        shape = (8, 64, 56, 56, 64, window, window, 1, 1, 56, 56)
        found = kernel("aten.convolution", dtype, kind="convolution", shape=shape, phase=phase)
        return float(slowness(trace(found))[0])

    assert time("fp32", 3) < 1.0
    assert time("fp32", 1) == time("tf32", 3) == time("fp16", 3) == time("fp32", 3, "backward") == 1.0
