"""Properties of what was measured."""

from __future__ import annotations

import pytest

from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import SCHEMA, Interval, Measurement, Result, Telemetry

SPEED = Interval(value=1000.0, low=990.0, high=1030.0, method="bootstrap")


def measured(throughput: Interval | None, telemetry: Telemetry | None) -> Measurement:
    return Measurement(
        config=RunConfig(workload="resnet50", mode="train", precision="bf16"),
        workload_version=1,
        status="ok",
        item="image",
        started_at="2026-11-21T04:40:15Z",
        throughput=throughput,
        telemetry=telemetry,
    )


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(990, 1030, 0.03), (950, 1010, 0.05), (1000, 1000, 0.0)]
)
def test_half_width_is_the_larger_side_as_a_share(low: float, high: float, expected: float) -> None:
    assert Interval(value=1000.0, low=low, high=high, method="x").half_width == pytest.approx(expected)


def test_an_interval_is_of_95_percent_unless_stated() -> None:
    assert SPEED.level == 0.95


def test_items_per_joule_is_throughput_over_power() -> None:
    m = measured(SPEED, Telemetry(samples=9, power_w=500.0, energy_j=7.0))
    assert m.items_per_joule == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("throughput", "telemetry"),
    [
        (None, Telemetry(samples=9, power_w=500.0)),
        (SPEED, None),
        (SPEED, Telemetry(samples=9)),
        (SPEED, Telemetry(samples=9, power_w=0.0)),
    ],
)
def test_without_speed_or_power_there_is_no_efficiency(
    throughput: Interval | None, telemetry: Telemetry | None
) -> None:
    assert measured(throughput, telemetry).items_per_joule is None


def test_a_result_states_its_schema_and_that_it_was_measured() -> None:
    result = Result(id="x", created_at="", command="", environment=Environment(device="d"))
    assert (result.schema, result.origin) == (SCHEMA, "measured")
