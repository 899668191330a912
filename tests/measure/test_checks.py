"""Every gate: the number that trips it and the one that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.facts import catalog
from gpuwise.measure.checks import check, unprofiled
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Bottleneck, Interval, Measurement, Telemetry, Window

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
    return [c.code for c in check(m, mismatch=mismatch)]


def test_a_sound_measurement_has_no_caution() -> None:
    assert codes(sound(), mismatch=1e-4) == []


@pytest.mark.parametrize(("mfu", "found"), [(1.01, []), (1.03, ["above-peak"])])
def test_above_the_peak_of_the_data_sheet(mfu: float, found: list[str]) -> None:
    assert codes(replace(sound(), mfu=mfu)) == found
    if found:
        assert "INVALID" in check(replace(sound(), mfu=mfu))[0].fix


def test_above_the_measured_limit() -> None:
    assert codes(replace(sound(), limit_share=1.3)) == ["above-peak"]
    on_cpu = replace(sound(), limit_share=1.3, config=replace(CONFIG, device="cpu"))
    (caution,) = check(on_cpu)
    assert "INVALID" not in caution.fix


@pytest.mark.parametrize(
    ("norm", "said"),
    [(5.2, None), (5.0, None), (5.6, "12.0 % above that"), (4.6, "8.0 % below that"), (None, "not finite")],
)
def test_fp8_gradients_are_compared_with_those_of_bf16(norm: float | None, said: str | None) -> None:
    cautions = check(replace(sound(), gradient_norm=norm, reference_norm=5.0))
    assert [c.code for c in cautions] == ([] if said is None else ["mismatch"])
    assert said is None or said in cautions[0].detail


def test_an_interval_wider_than_asked() -> None:
    wide = Interval(value=2560, low=2500, high=2600, method="bootstrap")
    assert codes(replace(sound(), throughput=wide)) == ["noisy"]
    (caution,) = check(replace(sound(), throughput=wide, config=replace(CONFIG, protocol="aime")))
    assert caution.detail == "interval of ±2.3 % over three runs, asked ±1.0 %"
    assert caution.fix.endswith("--protocol adaptive")
    hardly = Interval(value=2500, low=2474, high=2526, method="bootstrap")
    (caution,) = check(replace(sound(), throughput=hardly))
    assert caution.detail.startswith("interval of ±1.04 % when")  # not "±1.0 %, asked ±1.0 %"
    asked = replace(CONFIG, target_ci=0.03)
    assert codes(replace(sound(), throughput=wide, config=asked)) == []
    (caution,) = check(replace(sound(), throughput=replace(wide, high=41 * wide.value)))
    assert caution.detail == "interval wider than the value when the time was up, asked ±1.0 %"


@pytest.mark.parametrize(
    ("high", "target", "severity"),
    [(1.02, 0.01, "info"), (1.04, 0.01, "warning"), (1.008, 0.002, "info"), (1.012, 0.002, "warning")],
)
def test_an_interval_is_a_warning_above_one_per_cent_and_three_times_the_target(
    high: float, target: float, severity: str
) -> None:
    speed = Interval(value=2500, low=2500, high=2500 * high, method="bootstrap")
    (caution,) = check(replace(sound(), throughput=speed, config=replace(CONFIG, target_ci=target)))
    assert (caution.code, caution.severity) == ("noisy", severity)


def test_too_few_steps() -> None:
    few = sound().windows[:1]
    short = replace(sound(), windows=(replace(few[0], step_s=(0.1,) * 9, ended_s=0.9),))
    assert codes(short) == ["short"]
    assert codes(replace(short, config=replace(CONFIG, mode="limit"), loss=())) == []


def test_drift_across_windows() -> None:
    slower = tuple(
        replace(w, step_s=(0.1 * 1.02**i,) * 10, ended_s=w.started_s + 1.02**i)
        for i, w in enumerate(sound().windows)
    )
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


def test_eight_bits_are_compared_with_sixteen() -> None:
    m = replace(sound(), config=replace(sound().config, mode="infer", precision="fp8"))
    assert check(m, mismatch=0.15) == check(m, mismatch=0.0)
    (found,) = [c for c in check(m, mismatch=0.3) if c.code == "mismatch"]
    assert found.detail == "differs from bf16 weights by 30.0 %"
    assert "--precision bf16" in found.fix


@pytest.mark.parametrize(("last", "found"), [(6.9, []), (7.2, []), (7.4, ["diverging"])])
def test_a_loss_that_rises_on_a_fixed_batch(last: float, found: list[str]) -> None:
    assert codes(replace(sound(), loss=(7.0, last))) == found


def test_a_loss_that_does_not_move_at_all() -> None:
    (caution,) = check(replace(sound(), loss=(7.0, 7.0)))
    assert (caution.code, caution.detail[:20]) == ("diverging", "loss stayed at 7.000")
    fed = replace(sound(), loss=(7.0, 7.0), config=replace(CONFIG, input="host"))
    assert codes(fed) == []


def test_an_odd_output() -> None:
    (caution,) = check(sound(), odd="the output is 0 everywhere")
    assert (caution.code, caution.detail) == ("output", "the output is 0 everywhere")


def test_a_failed_measurement_is_not_judged_by_its_speed() -> None:
    failed = replace(sound(), status="failed", mfu=3.0)
    assert codes(failed) == []


def test_throttling_is_taken_from_the_telemetry() -> None:
    hot = Telemetry(samples=50, throttled=(("thermal", 0.4),))
    assert codes(replace(sound(), telemetry=hot)) == ["throttled"]


@pytest.mark.parametrize(
    ("step_s", "ended_s", "found"),
    [
        (0.1, 1.04, []),
        (0.1, 1.2, ["clock"]),  # the host saw more time pass than the device: suspended, or work not timed
        (0.1, 0.8, ["clock"]),  # the host saw less
        (0.001, 0.1, []),  # so short that the synchronisation at its end takes a part
    ],
)
def test_a_clock_that_jumps(step_s: float, ended_s: float, found: list[str]) -> None:
    odd = Window(step_s=(step_s,) * 10, started_s=0.0, ended_s=ended_s)
    assert codes(replace(sound(), windows=(*sound().windows, odd))) == found


def test_to_read_the_times_of_very_many_steps_takes_time() -> None:
    brief = Window(step_s=(3e-6,) * 400_000, started_s=0.0, ended_s=1.35)
    assert codes(replace(sound(), windows=(brief,) * 3)) == []


def test_no_more_power_than_the_limit_allows() -> None:
    drawn = replace(sound(), telemetry=Telemetry(samples=50, power_w=790.0))
    low, high = (Environment(device="x", power_limit_w=watts) for watts in (700.0, 750.0))
    assert [c.code for c in check(drawn, environment=low)] == ["energy-mismatch"]
    assert check(drawn, environment=high) == ()
    assert check(drawn) == ()


def test_no_copy_beyond_the_memory_s_bandwidth() -> None:
    limit = replace(CONFIG, workload="copy", mode="limit")
    copy = replace(
        sound(), config=limit, item="byte", bytes_per_item=1.0, loss=(), mfu=None, limit_share=None
    )
    h200 = catalog.get("h200-sxm")
    stated = h200.memory_bytes_per_s
    assert stated is not None
    assert copy.throughput is not None
    for share, codes in ((1.03, ["above-peak"]), (1.01, [])):
        moved = replace(copy, bytes_per_item=share * stated / copy.throughput.value)
        assert [c.code for c in check(moved, gpu=h200)] == codes
        assert check(moved) == ()
    assert check(sound(), gpu=h200) == ()


@pytest.mark.parametrize(
    ("gpu", "reached"), [("h100-pcie-80gb", 1.01), ("rtx-4090", 1.15), ("rtx-3080-ti-laptop", 2.0)]
)
def test_no_product_beyond_what_the_card_boosts_to(gpu: str, reached: float) -> None:
    spec = catalog.get(gpu)
    assert check(replace(sound(), mfu=reached), gpu=spec) == ()
    assert [c.code for c in check(replace(sound(), mfu=reached + 0.1), gpu=spec)] == ["above-peak"]


def test_a_new_batch_each_step_has_a_loss_of_its_own() -> None:
    fed = replace(sound(), loss=(7.0, 7.6), config=replace(CONFIG, input="host"))
    assert codes(fed) == []


def test_a_speed_of_the_input_pipeline_is_said_to_be_one() -> None:
    found = Bottleneck(bound="input", evidence=("4 workers prepare 1,300",), next_step="more workers")
    (caution,) = check(replace(sound(), verdict=found))
    assert (caution.code, caution.fix) == ("input-bound", "more workers")
    assert "4 workers prepare 1,300" in caution.detail


def test_a_profiler_that_fails_is_a_caution() -> None:
    assert unprofiled(None) == ()
    (caution,) = unprofiled("RuntimeError: CUPTI_ERROR")
    assert caution.code == "profile"
    assert "CUPTI_ERROR" in caution.detail
