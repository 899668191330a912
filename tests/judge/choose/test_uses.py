"""For whom a GPU is follows from what each use needs, not from what other GPUs have."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from gpuwise.facts import catalog
from gpuwise.judge.choose.fit import lacking, use, uses
from gpuwise.judge.choose.need import need_for, presets
from gpuwise.model.result import Interval
from gpuwise.predictor.card import UNMEASURED

from ...records import made_up, predicted


@pytest.mark.parametrize(
    ("gpu", "preset", "verdict"),
    [
        ("rtx-4090", "scientific-fp64", "runs"), ("h100-sxm5-80gb", "scientific-fp64", "well suited"),
        ("a100-pcie-40gb", "scientific-fp64", "well suited"), ("l4", "llm-inference", "runs"),
        ("rtx-4090", "llm-inference", "well suited"), ("t4", "llm-inference", "runs"),
        ("rtx-4090", "vision-cnn", "well suited"), ("rtx-4090", "large-model-training", "runs"),
        ("h100-sxm5-80gb", "large-model-training", "well suited"),
    ],
)  # fmt: skip
def test_suitability_is_absolute(speed, today: date, gpu: str, preset: str, verdict: str) -> None:
    need = replace(need_for(preset), latency_s=None)
    found = use(preset, need, speed(gpu, 100.0), [], today)
    assert found.verdict == verdict
    assert bool(found.reason) == (verdict != "well suited")


def test_what_is_lacking_has_both_figures() -> None:
    assert lacking(presets()["scientific-fp64"], catalog.get("rtx-4090")) == {
        "fp64_tflops": "1.29 of 5 TFLOP/s in FP64"
    }


def test_a_no_has_its_reason(speed, today: date) -> None:
    need = need_for("llm-inference")
    speeds = [
        made_up(gpu_id="t4", refusal="t4 has no stated bf16 rate"),
        speed("rtx-3090", 100.0, fits_probability=0.2),
        speed("rtx-4090", 100.0, seconds=9.0),
    ]
    reasons = [use("llm-inference", need, own, [], today).reason for own in speeds]
    assert reasons == ["t4 has no stated bf16 rate", "does not fit its memory", "answers too late"]
    mobile = need_for("mobile")
    assert "laptop" in use("mobile", mobile, speed("rtx-3090", 1.0), [], today).reason


def test_every_preset_is_answered(today: date, offer) -> None:
    def forecast(config, gpus, *, count, batch, source=None):
        counts.add(count)
        made = Interval(value=100.0, low=80.0, high=120.0, level=0.8, method="made up")
        blank = predicted(gpu_id="", config=config, item="image", throughput=made, seconds=0.01)
        return tuple(replace(blank, gpu_id=gpu) for gpu in gpus)

    counts = set[int]()
    # Two cards for less than one do not make one cheaper.
    offers = [offer("rtx-3090", 0.36), offer("rtx-3090", 0.1, count=2)]
    found = uses("rtx-3090", forecast, offers, today=today)
    costs = {u.preset: u.cost_per_item_usd for u in found}
    assert counts == {1}
    assert costs["vision-cnn"] == pytest.approx(0.36 / 3600 / 100)
    assert [u.preset for u in found] == list(presets())


def test_what_is_known_of_an_unmeasured_gpu_tells_whether_it_suits(today: date) -> None:
    def found(preset: str):
        none = made_up(gpu_id="apple-m4-max", refusal=UNMEASURED)
        return use(preset, replace(need_for(preset), latency_s=None), none, [], today)

    answers = found("llm-inference")  # Memory and bandwidth are stated
    assert (answers.verdict, answers.throughput) == ("well suited", None)
    assert answers.no_speed == UNMEASURED
    learns = found("large-model-training")
    assert learns.verdict == "runs"
    assert "546 of 800 GB/s" in learns.reason
