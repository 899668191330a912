"""The gates over measurements of one session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.checks import clock_faults, judge_foreign, judge_measured
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Interval, Measurement, Window

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


def test_what_did_not_end_well_is_not_judged() -> None:
    fast = measured(99_999.5)
    assert codes(replace(fast, status="interrupted"), replace(fast, throughput=None)) == [[], []]
    broken = replace(fast, status="interrupted", flop_per_item=1e15)
    left, judged = judge_foreign((broken, replace(broken, status="ok")), HERE)
    assert left == broken
    assert judged.mfu is not None


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


def invalid(*measurements: Measurement) -> list[list[str]]:
    return [
        [caution.code for caution in m.cautions if caution.severity == "invalid"]
        for m in judge_foreign(measurements, HERE)
    ]


def test_of_a_file_from_elsewhere_nothing_is_believed_that_can_be_computed() -> None:
    assert invalid(measured(400.5)) == [[]]
    assert invalid(replace(measured(99_999.5), mfu=0.5)) == [["above-peak"]]
    # Its own count of operations, where the network is unknown: a T4 does 65 TFLOP/s in fp16.
    strange = replace(measured(1000.0, "frobnet"), flop_per_item=65e9, mfu=0.1)
    assert invalid(strange) == [[]]
    assert invalid(replace(strange, flop_per_item=67e9)) == [["above-peak"]]
    # Of two GPUs each did half.
    two = replace(strange, config=replace(strange.config, gpus=2), throughput=measured(1990.0).throughput)
    assert invalid(two) == [[]]
    assert invalid(replace(two, throughput=measured(2100.0).throughput)) == [["above-peak"]]
    # Of its memory 320 GB/s; what copies faster was not the memory.
    copied = replace(measured(160e9, "copy"), item="byte", bytes_per_item=2.0)
    copied = replace(copied, config=replace(copied.config, mode="limit"))
    assert invalid(copied) == [[]]
    assert invalid(replace(copied, bytes_per_item=2.06)) == [["above-peak"]]
    # 102 % of it are still lucky.
    assert invalid(replace(copied, bytes_per_item=2.04)) == [[]]


def test_steps_that_do_not_fill_their_window_are_invalid_in_a_file_from_elsewhere() -> None:
    def timed(step_s: float) -> Measurement:
        return replace(measured(400.5), windows=(Window(step_s=(step_s,) * 10, started_s=0.0, ended_s=1.0),))

    assert invalid(timed(0.096)) == [[]]
    assert invalid(timed(0.094)) == [["clock"]]
    assert invalid(timed(0.05)) == [["clock"]]


def test_scaling_beyond_perfect_is_invalid_in_a_file_from_elsewhere() -> None:
    one = measured(100.0, "frobnet")
    two = replace(measured(206.0, "frobnet"), config=replace(one.config, gpus=2))
    assert invalid(one, two) == [[], ["scaling"]]
    assert invalid(one, replace(two, throughput=measured(202.0).throughput)) == [[], []]


@pytest.mark.parametrize(
    ("host_s", "steps", "device_s", "doubted"),
    [
        (1.0, 10, 0.951, False),  # a twentieth of the host's time
        (1.0, 10, 0.949, True),
        (1.0, 10, 1.049, False),
        (1.0, 10, 1.051, True),
        (1.0, 100_000, 0.851, False),  # and a microsecond to read the time of each step
        (1.0, 100_000, 0.849, True),
        (0.2, 10, 0.1, True),  # of shorter windows nothing is said
        (0.199, 10, 0.1, False),
    ],
)
def test_device_and_host_agree_on_how_long_a_window_took(
    host_s: float, steps: int, device_s: float, doubted: bool
) -> None:
    window = Window(step_s=(device_s / steps,) * 10, each=steps // 10, started_s=0.0, ended_s=host_s)
    assert len(list(clock_faults(replace(measured(400.5), windows=(window,))))) == doubted
