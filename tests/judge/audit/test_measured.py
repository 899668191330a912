"""Result files under audit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.judge.audit import speeds
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Interval, Measurement, Result, Window


@pytest.fixture
def sound() -> Measurement:
    """100 images in steps of 0.1 s: 1000 a second."""
    return Measurement(
        config=RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True),
        workload_version=1,
        status="ok",
        item="image",
        started_at="2026-01-01T00:00:00Z",
        batch=100,
        items_per_step=100.0,
        throughput=Interval(value=1000.0, low=990.0, high=1010.0, method="bootstrap"),
        windows=(Window(step_s=(0.1, 0.1), started_s=0.0, ended_s=0.21),),
    )


def verdicts(m: Measurement) -> list[tuple[str, str | None]]:
    environment = Environment(device="NVIDIA H200", gpu_id="h200-sxm")
    result = Result(
        id="x", created_at="2026-01-01T00:00:00Z", command="x", environment=environment, measurements=(m,)
    )
    return [(finding.verdict, finding.kind) for finding in speeds.judge_result(result)]


def test_what_adds_up_agrees(sound: Measurement) -> None:
    assert verdicts(sound) == [("agrees", None)]


def test_more_items_than_the_steps_processed(sound: Measurement) -> None:
    double = Interval(value=2000.0, low=1990.0, high=2010.0, method="bootstrap")
    assert ("contradicts", "counted samples") in verdicts(replace(sound, throughput=double))


def test_steps_longer_than_their_window(sound: Measurement) -> None:
    short = Window(step_s=(0.1, 0.1), started_s=0.0, ended_s=0.1)
    assert ("contradicts", "counted samples") in verdicts(replace(sound, windows=(short,)))


def test_above_the_peak(sound: Measurement) -> None:
    fast = Interval(value=1e6, low=1e6, high=1e6, method="bootstrap")
    quick = Window(step_s=(1e-4, 1e-4), started_s=0.0, ended_s=0.001)
    assert ("contradicts", "physics") in verdicts(replace(sound, throughput=fast, windows=(quick,)))


def test_what_failed_is_not_judged(sound: Measurement) -> None:
    assert verdicts(replace(sound, status="oom", throughput=None)) == []
