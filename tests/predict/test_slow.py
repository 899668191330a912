"""What kernels take beside their traffic and their operations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.model.trace import Kernel, Trace
from gpuwise.predict.card import card
from gpuwise.predict.time import kernel_overheads

H200, L4 = card("h200-sxm"), card("l4")
POOL = "aten.max_pool2d_with_indices_backward"


def kernel(name: str, dtype: str = "bf16", **more: object) -> Kernel:
    usual = Kernel(
        kind="pointwise", name=name, dtype=dtype, shape=(1,), flop=1, bytes_read=8, bytes_written=4,
        phase="backward", count=1,
    )  # fmt: skip
    return replace(usual, **more)  # type: ignore[arg-type]


def trace(*kernels: Kernel, precision: str = "bf16", compiled: bool = False, mode: str = "train") -> Trace:
    return Trace(
        workload="made-up", version=1, mode=mode, precision=precision, batch=1, compiled=compiled,
        item="item", items=1, parameters=0, kernels=kernels,
    )  # type: ignore[arg-type]  # fmt: skip


def test_torchs_own_kernels_are_slow_where_nothing_generates_better_ones() -> None:
    names = (POOL, "aten.gelu", "aten.sum", "aten.native_batch_norm:apply", "aten.avg_pool2d", "aten.relu_")
    kernels = tuple(kernel(name) for name in names)
    eager, compiled = (
        kernel_overheads(trace(*kernels), H200),
        kernel_overheads(trace(*kernels, compiled=True), H200),
    )
    assert (eager[:-1] > 1.0).all()
    assert compiled[1] == eager[1]
    assert 1.0 < compiled[0] < eager[0]
    assert (compiled[2:] == 1.0).all()


def test_what_waits_for_instructions_does_so_less_where_memory_is_slower() -> None:
    step = trace(kernel(POOL), kernel("aten.native_batch_norm:apply"))
    half = replace(H200, id="half of it", bytes_per_s=H200.bytes_per_s / 2)
    fast, slower, slow = (kernel_overheads(step, gpu) for gpu in (H200, half, L4))
    assert fast[0] == pytest.approx(2 * slower[0])
    assert slow[0] == 1.0
    assert fast[1] == slow[1] > 1.0


def test_eager_kernels_stream_operands_that_lie_alike_and_divide_for_others() -> None:
    def time(name: str, dtype: str = "bf16", *, compiled: bool = False, kind: str = "pointwise") -> float:
        found = kernel(name, dtype, kind=kind)
        return float(kernel_overheads(trace(found, compiled=compiled), H200)[0])

    assert time("aten.add") == time("aten.add", "fp32") < 1.0
    assert time("aten.clone:strided", kind="copy") > time("aten.add:strided") > 2.0
    assert 1.0 < time("aten.add:strided", "fp32") < time("aten.add:strided")
    assert time("aten.add", compiled=True) == 1.0
    assert time("aten.dropout:strided", compiled=True) == 1.0


def test_pooling_counts_elements_not_bytes() -> None:
    step = trace(kernel(POOL, "fp16"), kernel(POOL, "fp32"))
    half, full = kernel_overheads(step, H200)
    assert 1.0 < full < half < 2 * full


def test_products_and_optimisers_are_told_elsewhere() -> None:
    for kind in ("matmul", "attention", "optimiser"):
        assert kernel_overheads(trace(kernel("aten.gelu", kind=kind)), H200)[0] == 1.0


def test_batch_norm_in_channels_first_order_is_slow_in_any_format() -> None:
    norm = kernel("aten.native_batch_norm:apply", "fp16")
    first = kernel("aten.convolution:nchw", "fp16", kind="convolution", shape=(1,) * 11)
    assert (
        kernel_overheads(trace(norm, first), H200)[0]
        == kernel_overheads(trace(replace(norm, dtype="bf16")), H200)[0]
    )
    assert kernel_overheads(trace(norm), H200)[0] == 1.0


def test_3x3_convolutions_in_ieee_fp32_take_fewer_operations() -> None:
    def time(dtype: str, window: int, phase: str = "forward") -> float:
        shape = (8, 64, 56, 56, 64, window, window, 1, 1, 56, 56)
        found = kernel("aten.convolution", dtype, kind="convolution", shape=shape, phase=phase)
        return float(kernel_overheads(trace(found), H200)[0])

    assert time("fp32", 3) < 1.0
    assert time("fp32", 1) == time("tf32", 3) == time("fp16", 3) == time("fp32", 3, "backward") == 1.0
