"""The gates over measurements of one session."""

from __future__ import annotations

from dataclasses import replace

from gpuwise.checks import judge_measured
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Interval, Measurement

HERE = Environment(device="NVIDIA T4", gpu_id="t4")


def measured(speed: float, workload: str = "resnet50") -> Measurement:
    return Measurement(
        config=RunConfig(workload=workload, mode="train", precision="fp16", compile=False),
        workload_version=1,
        status="ok",
        item="image",
        started_at="2026-01-01T00:00:00Z",
        batch=64,
        throughput=Interval(value=speed, low=speed, high=speed, method="bootstrap"),
    )


def codes(*measurements: Measurement) -> list[list[str]]:
    return [[caution.code for caution in m.cautions] for m in judge_measured(measurements, HERE)]


def test_a_plausible_speed_earns_nothing() -> None:
    assert codes(measured(400.5)) == [[]]


def test_above_the_peak_unless_its_own_count_was_judged() -> None:
    assert codes(measured(99_999.5)) == [["above-peak"]]
    assert codes(replace(measured(99_999.5), mfu=0.5)) == [[]]


def test_a_network_of_unknown_cost_passes() -> None:
    assert codes(measured(99_999.5, "frobnet")) == [[]]


def test_a_caution_is_given_once() -> None:
    once = judge_measured((measured(99_999.5),), HERE)
    assert judge_measured(once, HERE) == once


def test_several_gpus_faster_than_so_many_are_doubted_whatever_they_run() -> None:
    def together(speed: float, gpus: int, workload: str = "frobnet") -> Measurement:
        one = measured(speed, workload)
        return replace(one, config=replace(one.config, gpus=gpus))

    assert codes(together(100.0, 1), together(199.0, 2), together(420.0, 4)) == [[], [], ["scaling"]]
    assert codes(together(100.0, 1), together(201.0, 2)) == [[], []]  # equal runs differ by as much
    assert codes(together(210.0, 2)) == [[]]
    exact = together(100.5, 1, "resnet50"), together(201.0, 2, "resnet50")
    assert codes(*exact) == [[], []]  # in a published table it would be suspect
