"""The host that launches: it bounds small steps."""

from __future__ import annotations

from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Kernel, KernelClass, Memory, Phase, Trace
from gpuwise.predictor.rates import hosts, usual
from gpuwise.predictor.step import halves_with, host_work, spent
from gpuwise.predictor.step import host_waits as waits

RATES = dict(usual(card("h200-sxm"))) | {
    "host": 1.0,
    "host.launch": 1e-5,
    "host.generated": 1e-5,
    "host.entered": 0.0,
}


def step(counts: dict[Phase, int], *, compiled: bool = False) -> Trace:
    kernels = tuple(
        Kernel(
            kind="pointwise", name="aten.add", dtype="fp32", shape=(1,), flop=1, bytes_read=8,
            bytes_written=4, phase=phase, count=count,
        )
        for phase, count in counts.items()
    )  # fmt: skip
    return Trace(
        workload="made-up", version=1, mode="train", precision="fp32", batch=1, compiled=compiled,
        item="item", items=1, parameters=0, kernels=kernels,
    )  # fmt: skip


def test_products_hide_launches_and_small_kernels_do_not() -> None:
    trace = step({"forward": 100, "backward": 100})
    assert waits(trace, np.array([0.1, 0.1]), RATES) < 1e-6 * 0.2
    assert waits(trace, np.array([1e-4, 1e-4]), RATES) == pytest.approx(200e-5 - 2e-4, rel=1e-3)
    assert waits(trace, np.array([1e-3, 1e-3]), RATES) == pytest.approx((2**0.25 - 1.0) * 2e-3)


def test_generated_code_is_launched_by_the_host_too() -> None:
    trace = step({"forward": 9000}, compiled=True)
    found = waits(trace, np.array([0.01]), RATES | {"host.entered": 5e-4})
    entered = 3 * 5e-4  # forward, backward and the optimiser
    assert found == pytest.approx(0.09 - 0.01 + entered, rel=1e-3)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_host_cuts_out_the_rows_of_each_expert(compiled: bool) -> None:
    """Where torch has no kernel of all; behind long kernels of the GPU nobody notices."""
    trace = step({"forward": 1000}, compiled=compiled)
    looped = replace(trace.kernels[0], kind="matmul", name="aten._grouped_mm", shape=(1, 128, 64, 64))
    apart = replace(trace, kernels=(looped,))
    assert host_work(apart)["call"] - host_work(trace)["call"] == 10.0 * 1000
    whole = replace(trace, kernels=(replace(looped, shape=(8, 128, 64, 64)),))
    assert host_work(whole) == host_work(trace)


def test_of_a_graph_s_kernels_none_is_launched() -> None:
    trace = replace(step({"forward": 9000}, compiled=True), calls=(("modules", 100),))
    launched, replayed = (
        waits(each, np.array([1e-4]), RATES) for each in (trace, replace(trace, replayed=True))
    )
    assert launched > 0.08
    assert replayed == pytest.approx(9000 * 0.5e-6)  # what lies between them
    short = replace(trace, replayed=True, kernels=())
    assert waits(short, np.array([1e-4]), RATES) == pytest.approx(100 * RATES["host.call"] - 1e-4)


def test_generated_code_hands_over_gradients() -> None:
    trace = step({"forward": 9000}, compiled=True)
    memory = Memory(parameters=4.0, gradients=4.0, optimiser=0.0, peak=8.0, largest=4.0, gradient_count=50)
    plain, learnt = (waits(each, np.array([0.01]), RATES) for each in (trace, replace(trace, memory=memory)))
    assert learnt - plain == pytest.approx(50 * (RATES["host.handed"] + RATES["host.gradient"]), rel=1e-2)


def test_generated_code_asks_of_each_module_whether_its_assumptions_hold() -> None:
    trace = step({"forward": 900}, compiled=True)
    few, many = (
        waits(replace(trace, calls=(("modules", modules),)), np.array([1e-4]), RATES) for modules in (0, 300)
    )
    assert many - few == pytest.approx(300 * RATES["host.call"], rel=1e-4)


@pytest.mark.parametrize(
    ("phase", "kind", "compiled", "launches"),
    [
        ("forward", "convolution", False, 1),
        ("backward", "convolution", False, 3),
        ("backward", "convolution", True, 1),
        ("backward", "matmul", False, 1),
    ],
)
def test_gradients_of_convolutions_take_eager_code_three_launches(
    phase: Phase, kind: KernelClass, compiled: bool, launches: int
) -> None:
    plain = replace(step({phase: 100}, compiled=compiled), mode="infer")
    kernel = replace(plain.kernels[0], kind=kind)
    found = waits(replace(plain, kernels=(kernel,)), np.array([0.0]), RATES)
    assert found == pytest.approx(launches * 100 * 1e-5)


def test_autograd_dispatches_once_more_and_twice_backward() -> None:
    calls = (("forward", 300), ("backward", 200))
    plain = step({"forward": 100, "backward": 100})
    trained = replace(plain, calls=calls)
    few, many = (waits(each, np.array([0.0]), RATES) for each in (plain, trained))
    assert many - few == pytest.approx((2 * 300 + 2 * 200) * RATES["host.call"])
    once = waits(replace(trained, mode="infer"), np.array([0.0]), RATES)
    assert many - once == pytest.approx(300 * RATES["host.call"])


def test_functions_and_views_cost_the_host_time_beside_kernels() -> None:
    calls = (("forward", 300), ("backward", 0), ("optimiser", 0), ("functions", 900))
    trace = replace(step({"forward": 100}), mode="infer")
    few, many = (waits(replace(trace, calls=c), np.array([1e-6]), RATES) for c in (calls[:0], calls))
    assert few == pytest.approx(100 * 1e-5 - 1e-6)
    host = 300 * RATES["host.call"] + 900 * RATES["host.function"] + 100 * RATES["host.launch"]
    assert many == pytest.approx(host - 1e-6)


@given(st.integers(1, 20000), st.integers(1, 20000), st.floats(1e-4, 1.0), st.floats(1e-4, 1.0))
def test_a_step_takes_at_least_the_host_and_at_most_both(a: int, b: int, first: float, last: float) -> None:
    waited = waits(step({"forward": a, "backward": b}), np.array([first, last]), RATES)
    host = (a + b) * 1e-5
    assert max(0.0, host - first - last) - 1e-9 <= waited <= host + 1e-9


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_a_step_that_follows_the_host_is_known_as_little_as_hosts_are(mode: str) -> None:
    trace, own = replace(step({"forward": 4000}), mode=mode), card("h200-sxm")
    hidden, late = (spent(trace, own, {**RATES, "host.launch": each}) for each in (1e-12, 1e-4))
    quick, slow = hosts(mode, calibrated=False)
    assert hidden.host == pytest.approx((0.0, 0.0), abs=1e-6)
    assert late.host == pytest.approx((-log(quick), log(slow)), rel=0.02)
    near, far = halves_with(late, "spec-only")
    assert near > -log(quick)
    assert far > log(slow)
    assert halves_with(hidden, "spec-only")[0] < 0.7 * near


def test_where_the_gpu_is_hardly_later_a_slow_host_is_waited_for_and_a_quick_one_gains_nothing() -> None:
    trace, own = replace(step({"forward": 4000}), mode="infer"), card("h200-sxm")
    busy = spent(trace, own, {**RATES, "host.launch": 1e-12}).busy
    even = spent(trace, own, {**RATES, "host.launch": 0.9 * busy / 4000})
    quicker, slower = halves_with(even, "spec-only")
    assert even.host[1] > 2.0 * even.host[0]
    assert slower > quicker


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_a_host_that_was_measured_is_known_better(mode: str) -> None:
    (quick, slow), (less, more) = (hosts(mode, calibrated=known) for known in (False, True))
    assert less < 1.0 < more
    assert more / less < slow / quick
