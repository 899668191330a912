"""The time model: physics that must hold whatever the parameters are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.predict.sets import gemm
from evaluation.predict.transformers import TRANSFORMERS, transformer
from gpuwise.predictor.card import Card, card
from gpuwise.predictor.kernels import Kernel, Products, Trace, arrays
from gpuwise.predictor.rates import (
    ACTIVE_SHARE,
    LEAST_CLOCK,
    Parameters,
    general,
    held,
    on_card,
)
from gpuwise.predictor.step import (
    kernel_seconds,
    latency,
    memory_seconds,
    paced,
    product_alone,
    product_seconds,
    spent,
)

EAGER = general()
GEMM = {name: prior.value for name, prior in gemm.PRIORS.items()}
SIZES = st.integers(1, 20_000)
GPUS = ("t4", "a100-pcie-40gb", "rtx-4090", "h100-sxm5-80gb", "mi300x", "b200-sxm")


def faster(found: Card, more: float, bandwidth: float) -> Card:
    return replace(
        found,
        peaks={name: peak * more for name, peak in found.peaks.items()},
        bytes_per_s=found.bytes_per_s * bandwidth,
    )


def products(m: int, n: int, k: int, size: float = 2.0) -> Products:
    one = np.ones(1)
    return Products(b=one, m=one * m, n=one * n, k=one * k, size=one * size, out=one * 2.0)


@given(SIZES, SIZES, SIZES, st.floats(1, 4), st.floats(1, 4), st.sampled_from(GPUS))
def test_more_bandwidth_or_flops_is_never_slower(
    m: int, n: int, k: int, more: float, bandwidth: float, gpu: str
) -> None:
    found, work = card(gpu), products(m, n, k)
    slow = product_seconds(work, found, on_card(GEMM, found), "fp16")
    better = faster(found, more, bandwidth)
    assert product_seconds(work, better, on_card(GEMM, better), "fp16") <= slow * (1 + 1e-9)


@given(SIZES, SIZES, SIZES, st.sampled_from(GPUS))
def test_no_product_beats_the_peak(m: int, n: int, k: int, gpu: str) -> None:
    found = card(gpu)
    seconds = product_seconds(products(m, n, k), found, on_card(GEMM, found), "fp16")
    assert 2.0 * m * n * k / seconds[0] <= found.peak("fp16")


def seconds(trace: Trace, on: Card, parameters: Parameters) -> float:
    return spent(trace, on, on_card(parameters, on)).seconds


@given(st.sampled_from(sorted(TRANSFORMERS)), st.integers(1, 8), st.booleans(), st.sampled_from(GPUS))
def test_a_larger_batch_is_never_quicker(name: str, batch: int, train: bool, gpu: str) -> None:
    found = card(gpu)
    steps = [
        seconds(transformer(name, batch=b, length=256, train=train), found, EAGER) for b in (batch, 2 * batch)
    ]
    assert steps[0] <= steps[1] * (1 + 1e-9)


def test_what_fills_no_tile_takes_as_many_instructions_as_it_needs() -> None:
    """As layers that mix four heads for each pair of places."""
    found = card("rtx-3090")
    rates = on_card(GEMM, found)
    mixed, few, whole = (
        product_seconds(products(2**22, n, k), found, rates, "fp16")[0]
        for n, k in ((4, 4), (8, 16), (32, 32))
    )
    assert 2**22 * (4 + 4) * 2 / found.bytes_per_s < mixed < few < 0.45 * whole


def test_a_narrow_result_is_computed_in_tall_tiles() -> None:
    """Of 32 channels four tiles of 64 rows start and end one after the other where one of 256 does."""
    found = card("rtx-3090")
    rates = on_card(GEMM, found)
    narrow, wide = (product_seconds(products(2**20, n, 64), found, rates, "fp16")[0] for n in (32, 128))
    assert narrow < 0.47 * wide


def test_half_of_what_is_as_large_as_l2_comes_from_it() -> None:
    found = card("rtx-4090")
    rates = on_card(EAGER, found)
    sizes = np.array([0.01, 1.0, 100.0]) * found.l2_bytes
    cached, half, memory = memory_seconds(sizes, found, rates) / sizes
    assert half == pytest.approx((cached + memory) / 2, rel=0.01)
    assert cached < 0.5 * memory


def test_the_host_bounds_small_eager_steps() -> None:
    kernel = Kernel(
        kind="pointwise", name="aten.add", dtype="fp32", shape=(1,), flop=1, bytes_read=8, bytes_written=4,
        phase="forward", count=1000,
    )  # fmt: skip
    trace = Trace(
        workload="tiny", version=1, mode="infer", precision="fp32", batch=1, compiled=False, item="item",
        items=1, parameters=0, kernels=(kernel,),
    )  # fmt: skip
    found = card("h100-sxm5-80gb")
    rates = on_card(EAGER, found)
    assert seconds(trace, found, EAGER) == pytest.approx(1000 * rates["host.launch"], rel=1e-4)
    compiled = seconds(replace(trace, compiled=True), found, EAGER)
    entered = 1000 * rates["host.generated"] + rates["host.entered"]
    assert compiled == pytest.approx(entered, rel=1e-3)


def test_a_low_limit_lowers_the_clock_and_never_raises_it() -> None:
    found = card("rtx-4090")
    rates = on_card(GEMM, found)
    work = products(8192, 8192, 8192)
    alone = [product_alone(work, replace(found, power_w=w), rates, "fp16")[0] for w in (60.0, 150.0, 4500.0)]
    assert alone[0] > alone[1] > alone[2] == pytest.approx(product_seconds(work, found, rates, "fp16")[0])


def test_what_only_moves_bytes_leaves_the_limit_to_nobody() -> None:
    found, trace = replace(card("h200-sxm"), power_w=250.0), dense()
    copy = Kernel(
        kind="pointwise", name="aten.add", dtype="bf16", shape=(2**28,), flop=1, bytes_read=2**29,
        bytes_written=2**29, phase="forward", count=20,
    )  # fmt: skip
    alone, both = (
        paced(each, found, on_card(general(), found))[1]
        for each in (trace, replace(trace, kernels=(*trace.kernels, copy)))
    )
    assert LEAST_CLOCK < alone < 0.95
    assert both == pytest.approx(alone)


def test_waiting_for_the_device_costs_time() -> None:
    base = Kernel(
        kind="gather", name="aten.index", dtype="fp32", shape=(64,), flop=1, bytes_read=256,
        bytes_written=256, phase="forward",
    )  # fmt: skip
    found = card("a100-pcie-40gb")
    both = arrays([base, replace(base, name="aten.nonzero")])
    index, wait = kernel_seconds(both, found, on_card(EAGER, found))
    assert wait > index


@pytest.mark.parametrize("gpu", ["a100-sxm4-80gb", "h200-sxm", "b200-sxm"])
def test_a_short_sum_loses_what_nothing_hides_of_a_tile_s_end(gpu: str) -> None:
    found = card(gpu)

    def rate(k: int) -> float:
        return k / float(product_seconds(products(8192, 8192, k), found, on_card(GEMM, found), "bf16")[0])

    # In public tables large products lose 14 to 18 % of their rate from 8,192 terms to 512.
    assert 0.72 < rate(512) / rate(8192) < 0.90


def test_a_launch_is_no_mere_number_of_cycles() -> None:
    slow, fast = card("a100-sxm4-80gb"), card("rtx-5090")
    assert 1.0 < latency(slow, 1e-6) / latency(fast, 1e-6) < fast.clock_hz / slow.clock_hz


def test_a_launch_hides_behind_long_kernels_where_each_is_launched_by_the_host() -> None:
    def beside(gpu: str) -> float:
        """Of a launch, what a product of 400 microseconds or more takes longer for it."""
        found = card(gpu)
        rates, work = on_card(GEMM, found), products(8192, 4096, 4096)
        less = product_seconds(work, found, {**rates, "launch": 1e-12}, "bf16")[0]
        return float(
            (product_seconds(work, found, rates, "bf16")[0] - less) / latency(found, rates["launch"])
        )

    assert beside("arc-pro-b60") < 0.01
    assert beside("a100-sxm4-80gb") == pytest.approx(1.0, abs=1e-3)


def dense(name: str = "aten.convolution:nchw", *, compiled: bool = False, dtype: str = "bf16") -> Trace:
    """Twenty equal convolutions of 256 images."""
    shape = (256, 256, 28, 28, 256, 3, 3, 1, 1, 28, 28)
    size = 2 if dtype == "bf16" else 4
    tensor = 256 * 256 * 28 * 28 * size
    kernel = Kernel(
        kind="convolution", name=name, dtype=dtype, shape=shape, flop=2.0 * 256 * 784 * 256 * 2304,
        bytes_read=tensor, bytes_written=tensor, phase="forward", count=20,
    )  # fmt: skip
    return Trace(
        workload="toy", version=1, mode="infer", precision=dtype, batch=256, compiled=compiled, item="image",
        items=256, parameters=0, kernels=(kernel,),
    )  # fmt: skip


def test_channels_first_costs_eager_16_bit_steps_more_and_compiled_ones_nothing() -> None:
    found = card("h200-sxm")
    first, last, compiled = (
        seconds(trace, found, general())
        for trace in (dense(), dense("aten.convolution"), dense(compiled=True))
    )
    assert first > last
    assert compiled == pytest.approx(last, rel=0.02)


def test_a_step_above_the_power_limit_is_slower_and_bounded() -> None:
    found = card("h200-sxm")
    took = [
        seconds(dense(compiled=True), replace(found, power_w=watts), general())
        for watts in (100.0, 400.0, 700.0, 5000.0)
    ]
    assert took[0] > took[1] > took[2] >= took[3]
    assert took[0] <= took[3] / LEAST_CLOCK * (1 + 1e-9)


def test_the_clock_that_is_held_draws_the_budget() -> None:
    found = card("h200-sxm")
    rates = on_card(general(), found)
    clock = held(rates, found, compute_j=600.0, other_j=50.0, busy_s=1.0, rest_s=0.2)
    drawn = (600.0 * clock ** (rates["clock.exponent"] - 1.0) + 50.0) / (1.0 / clock + 0.2)
    assert drawn == pytest.approx((1.0 - ACTIVE_SHARE) * found.power_w, rel=1e-3)
    assert held(rates, found, compute_j=1.0, other_j=0.0, busy_s=1.0, rest_s=0.0) == pytest.approx(1.0)
