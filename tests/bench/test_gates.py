"""Every gate: the number that trips it and the one that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.bench.gates import judge
from gpuwise.model.result import Interval, Measurement, Telemetry, Window
from gpuwise.model.run import RunConfig

CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)


def sound() -> Measurement:
    """A measurement with nothing to say against it."""
    windows = tuple(Window(step_s=(0.1,) * 10, started_s=float(i), ended_s=i + 1.0) for i in range(5))
    return Measurement(
        config=CONFIG,
        workload_version=1,
        status="ok",
        item="image",
        started_at="2026-11-21T00:00:00+00:00",
        batch=256,
        items_per_step=256,
        throughput=Interval(value=2560, low=2555, high=2565, method="bootstrap"),
        windows=windows,
        warmup_s=(0.1,) * 20,
        loss=(7.0, 6.5),
        mfu=0.5,
        limit_share=0.6,
        limit="memory",
    )


def codes(m: Measurement, mismatch: float | None = None) -> list[str]:
    return [c.code for c in judge(m, mismatch=mismatch)]


def test_a_sound_measurement_has_no_caution() -> None:
    assert codes(sound(), mismatch=1e-4) == []


@pytest.mark.parametrize(("mfu", "found"), [(1.01, []), (1.03, ["above-peak"])])
def test_above_the_peak_of_the_data_sheet(mfu: float, found: list[str]) -> None:
    assert codes(replace(sound(), mfu=mfu)) == found
    if found:
        assert "INVALID" in judge(replace(sound(), mfu=mfu))[0].next_step


def test_above_the_measured_limit() -> None:
    assert codes(replace(sound(), limit_share=1.3)) == ["above-peak"]
    on_cpu = replace(sound(), limit_share=1.3, config=replace(CONFIG, device="cpu"))
    (caution,) = judge(on_cpu)
    assert "INVALID" not in caution.next_step


def test_an_interval_wider_than_asked() -> None:
    wide = Interval(value=2560, low=2500, high=2600, method="bootstrap")
    assert codes(replace(sound(), throughput=wide)) == ["noisy"]
    asked = replace(CONFIG, target_ci=0.03)
    assert codes(replace(sound(), throughput=wide, config=asked)) == []


def test_too_few_steps() -> None:
    few = sound().windows[:1]
    short = replace(sound(), windows=(replace(few[0], step_s=(0.1,) * 9),))
    assert codes(short) == ["short"]
    assert codes(replace(short, config=replace(CONFIG, mode="limit"), loss=())) == []


def test_drift_across_windows() -> None:
    slower = tuple(replace(w, step_s=(0.1 * 1.02**i,) * 10) for i, w in enumerate(sound().windows))
    assert codes(replace(sound(), windows=slower)) == ["unsteady"]


@pytest.mark.parametrize(
    ("mode", "precision", "mismatch", "found"),
    [
        ("infer", "fp32", 9e-4, []),
        ("infer", "fp32", 2e-3, ["mismatch"]),
        ("infer", "bf16", 4e-2, []),
        ("infer", "bf16", 6e-2, ["mismatch"]),
        ("train", "fp32", 4e-2, []),
        ("infer", "fp16", float("nan"), ["mismatch"]),
    ],
)
def test_compiled_against_eager(mode: str, precision: str, mismatch: float, found: list[str]) -> None:
    m = replace(sound(), config=replace(CONFIG, mode=mode, precision=precision), loss=())  # type: ignore[arg-type]
    assert codes(m, mismatch) == found


@pytest.mark.parametrize(("last", "found"), [(6.9, []), (7.2, []), (7.4, ["diverging"])])
def test_a_loss_that_rises_on_a_fixed_batch(last: float, found: list[str]) -> None:
    assert codes(replace(sound(), loss=(7.0, last))) == found


def test_a_failed_measurement_is_not_judged_by_its_speed() -> None:
    failed = replace(sound(), status="failed", mfu=3.0)
    assert codes(failed) == []


def test_throttling_is_taken_from_the_telemetry() -> None:
    hot = Telemetry(samples=50, throttled=(("thermal", 0.4),))
    assert codes(replace(sound(), telemetry=hot)) == ["throttled"]
