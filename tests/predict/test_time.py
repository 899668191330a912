"""The time model: physics that must hold whatever the parameters are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.model.trace import Kernel, Trace
from gpuwise.predict.builders import TRANSFORMERS, transformer
from gpuwise.predict.card import Card, card
from gpuwise.predict.rates import on_card, shipped, stretch, sustained
from gpuwise.predict.sets import eager, gemm
from gpuwise.predict.time import Products, kernel_seconds, product_seconds, step_seconds

EAGER = {name: prior.value for name, prior in eager.PRIORS.items()}
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


@given(st.sampled_from(sorted(TRANSFORMERS)), st.integers(1, 8), st.booleans(), st.sampled_from(GPUS))
def test_a_larger_batch_is_never_quicker(name: str, batch: int, train: bool, gpu: str) -> None:
    found = card(gpu)
    steps = [
        step_seconds(transformer(name, batch=b, length=256, train=train), found, EAGER)
        for b in (batch, 2 * batch)
    ]
    assert steps[0] <= steps[1] * (1 + 1e-9)


@pytest.mark.parametrize("gpu", GPUS)
def test_shipped_parameters_give_finite_times(gpu: str) -> None:
    trace = transformer("bert_large", batch=8, length=512, train=True)
    assert 0.005 < step_seconds(trace, card(gpu), shipped("neusight")) < 60.0


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
    assert step_seconds(trace, found, EAGER) == pytest.approx(1000 * rates["dispatch"])
    assert step_seconds(replace(trace, compiled=True), found, EAGER) < 1000 * rates["dispatch"]


def test_a_low_limit_lowers_the_clock_and_never_raises_it() -> None:
    found = card("rtx-4090")
    rates = on_card(EAGER, found)
    clocks = [sustained(rates, replace(found, power_w=watts), "fp32") for watts in (60.0, 150.0, 450.0)]
    assert 0 < clocks[0] < clocks[1] <= clocks[2] <= 1.0


def test_work_above_the_limit_is_stretched() -> None:
    found = card("rtx-4090")
    rates = on_card(shipped("timm"), found)
    one = np.array([1.0])
    assert stretch(rates, found, "fp16", one * 1e12, one * 1e9, one)[0] == 1.0
    assert stretch(rates, found, "fp16", one * 1e16, one * 1e9, one)[0] > 1.0


def test_waiting_for_the_device_costs_time() -> None:
    base = Kernel(
        kind="gather", name="aten.index", dtype="fp32", shape=(64,), flop=1, bytes_read=256,
        bytes_written=256, phase="forward",
    )  # fmt: skip
    found = card("a100-pcie-40gb")
    index, wait = kernel_seconds([base, replace(base, name="aten.nonzero")], found, on_card(EAGER, found))
    assert wait > index
