"""Figures may be divided only where nothing but the GPU differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.model.result import Record, records_of
from gpuwise.show import records
from gpuwise.show.records import TWO_GPUS
from gpuwise.stats.scaling import ratio_between

from .conftest import CONFIG, FOUND, OK, result

HERE = result(OK, id="here")
THERE = replace(HERE, id="there", environment=replace(FOUND, device="NVIDIA L40S", gpu_id="l40s"))
OTHER_VERSION = replace(THERE, environment=replace(THERE.environment, torch="2.12.0"))


def pairs(*changed: object) -> list[tuple[Record, Record]]:
    other = replace(OK, config=replace(CONFIG, **dict(changed)))  # type: ignore[arg-type]
    speeds = records_of([HERE, replace(OTHER_VERSION, measurements=(other,))])
    both = [same for same in records.answers(speeds) if len(same) > 1]
    return [(same["h200-sxm"], same["l40s"]) for same in both]


def test_two_gpus_under_one_framework_are_a_pair_whatever_its_version() -> None:
    (pair,) = pairs()
    assert [speed.gpu_id for speed in pair] == ["h200-sxm", "l40s"]
    assert ratio_between(*pair, ignoring=TWO_GPUS).value == pytest.approx(1.0)


@pytest.mark.parametrize(
    "change", [("framework", "jax"), ("recipe", "script"), ("input", "host"), ("gpus", 2)]
)
def test_a_difference_of_software_is_never_one_of_gpus(change: tuple[str, object]) -> None:
    assert pairs(change) == []


def test_what_is_not_as_usual_is_named() -> None:
    other = replace(OK, config=replace(CONFIG, recipe="script", input="host"))
    (speed,) = records_of([result(other)])
    assert records.work(speed) == "resnet50 train bf16 compiled script with input"
