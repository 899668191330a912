"""Operators timed on an owned card: what they say of its steps, and of no other card's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpuwise.errors import InputError
from gpuwise.jobs import calibrating
from gpuwise.jobs.calibrating import CalibrateRequest, calibrate
from gpuwise.model.question import RunConfig
from gpuwise.predictor import rates, trace_store
from gpuwise.predictor.card import card
from gpuwise.predictor.evidence import Transfer
from gpuwise.predictor.forecast import Inputs, _predict, forecast
from gpuwise.predictor.kernels import Kernel, arrays
from gpuwise.predictor.rates import UNLIKE
from gpuwise.predictor.step import Step, kernel_seconds, step, usual

OWN, OTHER = card("rtx-4090"), card("h100-sxm5-80gb")
CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16", batch=64)  # type: ignore[arg-type]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path))
    return tmp_path


def relu(size: int) -> Kernel:
    return Kernel(
        kind="pointwise", name="aten.relu", dtype="bf16", shape=(size,), flop=size, bytes_read=2.0 * size,
        bytes_written=2.0 * size, phase="forward",
    )  # fmt: skip


def slow(factor: float) -> rates.Operators:
    """A card on which every measured operator takes `factor` times what is predicted."""
    cases = {f"pointwise relu {2**k} bf16 forward": (relu(2**k),) for k in range(18, 27)}
    measured = {
        name: factor * float(kernel_seconds(arrays(kernels), OWN, rates.usual(OWN))[0])
        for name, kernels in cases.items()
    }
    return calibrating.fitted(OWN, rates.LAUNCH_S, measured, cases)


def test_factors_are_those_of_the_card_and_drawn_to_one_where_little_was_measured() -> None:
    found = slow(2.0)
    assert found.factors["pointwise relu half"] == pytest.approx(2.0, rel=0.1)
    assert 1.5 < found.factors["pointwise"] < 2.0
    assert found.host == pytest.approx(rates.READ_LEVEL)
    assert found.cases == 9


def test_predictions_of_a_calibrated_card_rest_on_it_and_no_others(home: Path) -> None:
    trace = trace_store.obtain(CONFIG)
    before = usual(trace, OWN).seconds, usual(trace, OTHER).seconds
    found = replace(slow(2.0), factors={"convolution": 1.5, "normalisation": 1.5})
    path = rates.file_of(OWN.id)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(rates.operators_document(found, {})), encoding="utf-8")
    rates.forget()
    assert usual(trace, OWN).seconds > 1.1 * before[0]
    assert usual(trace, OTHER).seconds == before[1]
    assert step(trace, OWN).evidence == "calibrated"
    assert step(trace, OTHER).evidence == "spec-only"


def test_a_rehearsal_on_the_processor_measures_and_keeps_nothing(home: Path) -> None:
    pytest.importorskip("torch")
    only = ("pointwise relu 524288", "topk few", "layer_norm rows 512")
    request = CalibrateRequest(gpu="rtx-4090", device="cpu", only=only, keep=False)
    found = calibrate(request).document
    assert found["cases"] >= 6
    assert set(found["factors"]) >= {"pointwise", "pointwise relu", "normalisation"}
    assert not rates.file_of("rtx-4090").exists()
    assert list(home.iterdir()) == []


def test_one_slow_reading_of_the_launch_counts_for_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operators = pytest.importorskip("gpuwise.workloads.operators")
    readings = iter([9e-4, *(8e-6,) * 100])
    monkeypatch.setattr(operators, "launch_seconds", lambda device: next(readings))
    monkeypatch.setattr(calibrating, "READ_EVERY", 2)
    only = ("pointwise relu 524288", "topk few", "layer_norm rows 512")
    found = calibrate(CalibrateRequest(gpu="rtx-4090", device="cpu", only=only, keep=False)).document
    assert found["launch_s"] == pytest.approx(8e-6)


def test_a_host_that_is_slow_by_turns_lies_between_its_two_speeds() -> None:
    assert rates.steady([7e-6] * 6 + [10e-6] * 6) == pytest.approx((7e-6 * 10e-6) ** 0.5)
    assert rates.steady([7e-6, 7e-6, 9e-4]) == pytest.approx(7e-6)
    assert rates.steady([7e-6]) == pytest.approx(7e-6)


def test_a_class_that_no_operator_has_is_refused_with_those_there_are(home: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="no class of operators is called 'nosuchclass'") as refused:
        calibrate(CalibrateRequest(gpu="rtx-4090", only=("topk", "nosuchclass")))
    assert refused.value.exit_code == 2
    assert {"depthwise", "topk"} <= set((refused.value.hint or "").removeprefix("one of ").split(", "))
    assert list(home.iterdir()) == []


def test_a_case_that_fails_is_a_row_with_its_reason(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operators = pytest.importorskip("gpuwise.workloads.operators")
    cases = [case for case in operators.cases() if case.name.startswith("layer_norm rows 512")]

    def raises() -> None:
        raise IndexError("tuple index out of range")

    view = operators.Case("copy clone 4 fp32 backward", lambda: lambda: None)  # records no kernel
    failing = [operators.Case("layer_norm one", lambda: raises), operators.Case("layer_norm two", raises)]
    monkeypatch.setattr(operators, "cases", lambda: [*failing, view, *cases])
    found = calibrate(CalibrateRequest(gpu="rtx-4090", device="cpu", keep=False)).document
    assert found["failed"] == dict.fromkeys(
        ("layer_norm one", "layer_norm two"), "IndexError: tuple index out of range"
    )
    assert set(found["rows"]) == {view.name, *(case.name for case in cases)}
    assert 0 < found["cases"] <= len(cases)


@pytest.mark.parametrize("factor", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("batch", [1, 64, 1024])
def test_one_measured_card_never_changes_the_order_of_others(factor: float, batch: int) -> None:
    gpus = ("rtx-4090", "h100-sxm5-80gb", "b200-sxm", "l4", "a100-sxm4-80gb")
    plain = forecast(CONFIG, gpus)
    trace = trace_store.obtain(CONFIG)
    asked = Inputs(
        config=CONFIG, item="image", series=trace_store.Series((64,), 64, lambda _: trace), count=1,
        transfer=Transfer(source=card("h200-sxm"), factor=factor, batch=batch),
    )  # fmt: skip
    moved = [_predict(asked, gpu) for gpu in gpus]
    ratios = [m.throughput.value / p.throughput.value for m, p in zip(moved, plain, strict=True)]  # type: ignore[union-attr]
    assert ratios == pytest.approx([1 / factor] * len(gpus))
    own = _predict(asked, "h200-sxm")
    assert own.basis == "calibrated"
    assert {m.basis for m in moved} == {"transferred"}


def test_a_transfer_to_another_batch_is_wider() -> None:
    source = Transfer(source=OTHER, factor=1.0, batch=64)
    assert source.apart(64) == 0.0
    assert source.apart(512) == pytest.approx(source.apart(8))
    assert source.apart(512) > 0.1
    trace = trace_store.obtain(CONFIG)
    widths = [np.log(step(trace, OWN, apart=apart).throughput.high) for apart in (0.0, 0.3)]
    assert widths[1] - widths[0] == pytest.approx(0.3)


def test_a_transfer_knows_less_where_the_power_limit_lowered_one_clock_alone() -> None:
    trace = trace_store.obtain(CONFIG)
    slow = replace(OWN, power_w=0.3 * OWN.power_w)
    assert usual(trace, slow).slowed > usual(trace, OWN).slowed + 0.1
    same, other = (step(trace, slow, evidence="transferred", source=known) for known in (slow, OWN))
    assert half(other) > 1.05 * half(same)


def test_a_transfer_knows_more_where_multiprocessors_do_as_much_in_a_clock() -> None:
    trace = trace_store.obtain(CONFIG)
    alike, unlike = (
        step(trace, OWN, evidence="transferred", source=known) for known in (card("rtx-3090"), OTHER)
    )
    apart = OTHER.each_clock("bf16") / OWN.each_clock("bf16")
    assert card("rtx-3090").each_clock("bf16") == pytest.approx(OWN.each_clock("bf16"), rel=0.02)
    assert half(unlike) == pytest.approx(np.hypot(half(alike), UNLIKE * np.log(apart)), rel=0.05)


def half(found: Step) -> float:
    return float(np.log(found.throughput.high / found.throughput.value))
