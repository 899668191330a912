"""The verdict: each bound by the evidence that makes it one, and what comes first hides the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.measure.assemble import bottleneck
from gpuwise.model.question import RunConfig, Switches
from gpuwise.model.result import (
    Bound,
    InputPipeline,
    Interval,
    KernelTime,
    Measurement,
    Profile,
    Telemetry,
    Window,
)

STEP_S = 0.1


def speed(value: float) -> Interval:
    return Interval(value=value, low=value, high=value, method="bootstrap")


def profile(busy_s: float = 0.098, link_s: float = 0.0, **seconds: float) -> Profile:
    times = seconds or {"convolution": 0.03, "normalisation": 0.05, "pointwise": 0.018}
    return Profile(
        steps=3,
        wall_s=0.12,
        busy_s=busy_s,
        link_s=link_s,
        longest_gap_s=0.001,
        kernels=tuple(KernelTime(kind=k, count=50, seconds=s) for k, s in times.items()),  # type: ignore[arg-type]
    )


SOUND = Measurement(
    config=RunConfig(workload="resnet50", mode="train", precision="bf16"),
    workload_version=1,
    status="ok",
    item="image",
    started_at="2026-11-21T00:00:00+00:00",
    throughput=speed(2560.0),
    windows=(Window(step_s=(STEP_S,) * 10, started_s=0.0, ended_s=1.0),),
    profile=profile(),
)
FED = InputPipeline(workers=4, pipeline=speed(1300.0), alone=speed(5000.0), workers_needed=16)
HOT = Telemetry(samples=50, sm_clock_hz=1.2e9, throttled=(("thermal", 0.5), ("power-cap", 0.9)))
CAPPED = Telemetry(samples=50, sm_clock_hz=1.6e9, throttled=(("power-cap", 1.0),))


def bound(m: Measurement) -> Bound | None:
    found = bottleneck(m, sm_clock_max_hz=1.98e9)
    return found.bound if found else None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "memory"),  # most of the time goes to what moves data
        ({"profile": profile(matmul=0.09, pointwise=0.01)}, "compute"),
        ({"profile": profile(attention=0.04, convolution=0.03, copy=0.02)}, "compute"),
        ({"limit": "compute", "limit_share": 0.7}, "compute"),  # the roof decides against the kernels
        ({"limit": "compute", "limit_share": 0.3}, "memory"),  # a roof that is far away does not
        # products that read weights for a few items: a decoding language model
        ({"profile": profile(matmul=0.09, pointwise=0.01), "limit": "memory", "limit_share": 0.4}, "memory"),
        ({"profile": None, "limit": "compute", "limit_share": 0.3}, "compute"),
        ({"profile": None}, None),
        ({"profile": profile(busy_s=0.084)}, "launch"),
        ({"profile": profile(busy_s=0.086)}, "memory"),
        ({"profile": profile(link_s=0.016)}, "link"),
        ({"profile": profile(link_s=0.014)}, "memory"),
        ({"telemetry": HOT}, "heat"),
        ({"telemetry": CAPPED}, "power"),
        ({"telemetry": replace(CAPPED, sm_clock_hz=1.9e9)}, "memory"),  # capped, but it costs nothing
        ({"telemetry": replace(CAPPED, throttled=(("power-cap", 0.4),))}, "memory"),
        ({"input": FED}, "input"),
        ({"input": replace(FED, alone=speed(2600.0))}, "memory"),
        ({"input": FED, "profile": profile(busy_s=0.04), "telemetry": HOT}, "input"),
        ({"profile": profile(busy_s=0.04, link_s=0.03), "telemetry": HOT}, "launch"),
        ({"status": "failed"}, None),
        ({"throughput": None}, None),
        ({"config": replace(SOUND.config, mode="limit")}, None),
    ],
)
def test_bounds(changes: dict[str, object], expected: Bound | None) -> None:
    assert bound(replace(SOUND, **changes)) == expected  # type: ignore[arg-type]


def test_the_deciding_fact_is_told_first_and_the_rest_after_it() -> None:
    found = bottleneck(replace(SOUND, telemetry=CAPPED, mfu=0.41), sm_clock_max_hz=1.98e9)
    assert found is not None
    assert found.evidence == (
        "clock lowered by the power limit in 100 % of the samples, at 1600 of 1980 MHz",
        "GPU busy 98 % of a step, 150 kernels of 653 µs on average",
        "convolution 31 %, normalisation 51 %, pointwise 18 % of kernel time; MFU 41 %",
    )
    assert "higher power limit" in found.next_step


def test_a_pipeline_that_is_too_slow_says_how_many_workers_would_do() -> None:
    found = bottleneck(replace(SOUND, input=FED))
    assert found is not None
    assert found.evidence[0] == (
        "with input 51 % of the step alone (5,000 images/s); 4 worker(s) "
        "prepare 1,300, about 16 would keep up"
    )


def test_a_difference_within_the_noise_is_no_bound() -> None:
    noisy = replace(FED, alone=Interval(value=3000, low=2000, high=4000, method="bootstrap"))
    assert bound(replace(SOUND, input=noisy)) == "memory"


def test_on_a_cpu_operators_stand_for_kernels() -> None:
    on_cpu = replace(SOUND, config=replace(SOUND.config, device="cpu"), profile=profile(busy_s=0.05))
    found = bottleneck(on_cpu)
    assert found is not None
    assert found.evidence[0].startswith("operators run 50 % of a step, 150 operators")


LAUNCHES = profile(busy_s=0.05)


@pytest.mark.parametrize(
    ("profiled", "changes", "expected"),
    [
        (LAUNCHES, {}, "fewer and longer kernels: --compile on, or a larger --batch"),
        (
            LAUNCHES,
            {"compile": True},
            "fewer and longer kernels: CUDA graphs (tuning resnet50 at batch 64 tries them), "
            "or a larger --batch",
        ),
        (
            LAUNCHES,
            {"compile": True, "switches": Switches(graph="on")},
            "fewer and longer kernels: a larger --batch",
        ),
        (LAUNCHES, {"compile": True, "recipe": "script"}, "fewer and longer kernels: a larger --batch"),
        (LAUNCHES, {"compile": True, "device": "cpu"}, "fewer and longer kernels: a larger --batch"),
        (LAUNCHES, {"framework": "jax"}, "fewer and longer kernels: a larger --batch"),
        (profile(), {}, "fusion (--compile on), a lower precision, or a GPU with more memory bandwidth"),
        (profile(), {"compile": True}, "a lower precision, or a GPU with more memory bandwidth"),
        (profile(matmul=0.098), {"precision": "fp8"}, "a GPU with more FLOP/s"),
    ],
)
def test_the_next_step_is_one_that_is_not_done(
    profiled: Profile, changes: dict[str, object], expected: str
) -> None:
    config = replace(SOUND.config, **{"device": "cuda", **changes})  # type: ignore[arg-type]
    found = bottleneck(replace(SOUND, config=config, profile=profiled, batch=64), switches=("graph",))
    assert found is not None
    assert found.next_step == expected


def test_a_workload_that_heeds_no_graph_is_not_told_of_them() -> None:
    config = replace(SOUND.config, compile=True)
    found = bottleneck(replace(SOUND, config=config, profile=LAUNCHES, batch=64))
    assert found is not None
    assert "CUDA graphs" not in found.next_step
