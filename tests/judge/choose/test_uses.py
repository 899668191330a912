"""For whom a GPU is follows from speeds, prices and presets."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from gpuwise.judge.choose.need import need_for, presets
from gpuwise.judge.choose.uses import Place, use, uses
from gpuwise.model.result import Interval

from ...records import made_up, predicted

GPUS = ("rtx-3090", "rtx-4090", "l40s", "a100-pcie-80gb", "h100-pcie-80gb", "h200-sxm")


def test_the_first_third_by_speed_or_cost_is_well_suited(speed, offer, today: date) -> None:
    need = need_for("vision-cnn")
    speeds = [speed(gpu, 100.0 * (i + 1)) for i, gpu in enumerate(GPUS)]
    offers = [offer(gpu, 0.1 * 4**i) for i, gpu in enumerate(GPUS)]
    found = [use("vision-cnn", need, gpu, speeds, offers, today) for gpu in GPUS]
    assert [u.by_speed.rank for u in found if u.by_speed] == [6, 5, 4, 3, 2, 1]
    assert [u.by_cost.rank for u in found if u.by_cost] == [1, 2, 3, 4, 5, 6]
    assert [u.verdict for u in found] == [
        "well suited",
        "well suited",
        "runs",
        "runs",
        "well suited",
        "well suited",
    ]


def test_a_no_has_its_reason(speed, today: date) -> None:
    need = need_for("llm-inference")
    speeds = [
        made_up(gpu_id="t4", refusal="t4 has no stated bf16 rate"),
        speed("rtx-3090", 100.0, fits_probability=0.2),
        speed("rtx-4090", 100.0, seconds=9.0),
    ]
    reasons = [use("llm-inference", need, s.gpu_id, speeds, [], today).reason for s in speeds]
    assert reasons == ["t4 has no stated bf16 rate", "does not fit its memory", "answers too late"]
    mobile = need_for("mobile")
    assert "laptop" in use("mobile", mobile, "rtx-3090", [speed("rtx-3090", 1.0)], [], today).reason


def test_without_a_price_only_speed_counts(speed, today: date) -> None:
    need = need_for("vision-cnn")
    found = use("vision-cnn", need, "l40s", [speed("l40s", 1.0)], [], today)
    assert (found.by_cost, found.verdict) == (None, "well suited")


def test_a_small_world_has_a_first_place() -> None:
    assert Place(rank=1, of=2).good
    assert not Place(rank=2, of=3).good


def test_every_preset_is_told(today: date) -> None:
    def forecast(config, gpus, *, count, batch, source=None):
        made = Interval(value=100.0, low=80.0, high=120.0, level=0.8, method="made up")
        blank = predicted(gpu_id="", config=config, item="image", throughput=made, seconds=0.01)
        return tuple(replace(blank, gpu_id=gpu) for gpu in gpus)

    found = uses("rtx-3090", forecast, [], today=today)
    assert [u.preset for u in found] == list(presets())
