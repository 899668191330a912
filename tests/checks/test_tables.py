"""Logic over the rows of one table."""

from __future__ import annotations

from collections.abc import Callable

from gpuwise import checks
from gpuwise.model.result import Record

Row = Callable[..., Record]


def codes(*rows: Record) -> set[str]:
    return {caution.code for found in checks.judge(rows) for caution in found}


def scaled(row: Row, *speeds: float, precision: str = "fp16") -> list[Record]:
    return [row(gpus=2**i, speed=speed, precision=precision) for i, speed in enumerate(speeds)]


def test_honest_scaling_passes(row: Row) -> None:
    assert codes(*scaled(row, 400.1, 780.7, 1511.3)) == set()


def test_scaling_over_one_hundred_percent(row: Row) -> None:
    assert codes(*scaled(row, 400.1, 900.7)) == {"scaling"}


def test_exactly_linear_needs_two_points(row: Row) -> None:
    assert codes(*scaled(row, 400.1, 800.2)) == set()
    assert codes(*scaled(row, 400.1, 800.2, 1600.4)) == {"linear"}


def test_exact_halves_at_several_counts(row: Row) -> None:
    fast, slow = scaled(row, 400.1, 780.6), scaled(row, 200.05, 390.3, precision="fp32")
    assert codes(*fast, *slow) == {"halves"}


def test_one_figure_for_two_networks(row: Row) -> None:
    assert "repeated" in codes(row(speed=411.37), row(workload="resnet101", speed=411.37))
    assert "repeated" not in codes(row(speed=400), row(workload="resnet101", speed=400))


def test_a_lighter_network_is_faster(row: Row) -> None:
    found = checks.judge([row(speed=100.5), row(workload="resnet152", speed=200.5)])
    assert [[caution.code for caution in of_one] for of_one in found] == [["order"], []]
    assert codes(row(speed=199.5), row(workload="resnet152", speed=200.5)) == set()
