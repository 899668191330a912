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
    assert all(checks.judge([*fast, *slow]))  # each of the four rows


def test_one_figure_for_two_networks(row: Row) -> None:
    assert "repeated" in codes(row(speed=411.37), row(workload="resnet101", speed=411.37))
    assert "repeated" not in codes(row(speed=400), row(workload="resnet101", speed=400))


def test_a_lighter_network_is_faster(row: Row) -> None:
    found = checks.judge([row(speed=100.5), row(workload="resnet152", speed=200.5)])
    assert [[caution.code for caution in of_one] for of_one in found] == [["order"], []]
    assert codes(row(speed=199.5), row(workload="resnet152", speed=200.5)) == set()


def test_scaling_is_doubted_just_above_what_two_measurements_differ_by(row: Row) -> None:
    assert codes(*scaled(row, 100.0, 204.0)) == set()  # exactly OVER
    assert codes(*scaled(row, 100.0, 204.1)) == {"scaling"}


def test_exact_is_what_four_printed_digits_hide(row: Row) -> None:
    near, far = 1 + 1.9e-4, 1 + 2.1e-4
    assert codes(*scaled(row, 400.1, 800.2 * near, 1600.4)) == {"linear"}
    assert codes(*scaled(row, 400.1, 800.2 * far, 1600.4)) == set()
    fast, slow = scaled(row, 400.1, 780.6), scaled(row, 200.05, 390.3 * far, precision="fp32")
    assert codes(*fast, *slow) == set()


def test_a_table_without_its_single_gpu_is_not_scaled(row: Row) -> None:
    assert codes(row(gpus=2, speed=800.1), row(gpus=4, speed=9000.1)) == set()
    # Two of one count, which of them is it?
    assert codes(row(speed=400.1), row(speed=410.1), row(gpus=2, speed=900.7)) == set()


def test_figures_of_few_digits_repeat_by_chance(row: Row) -> None:
    for speed, doubted in ((41.37, True), (4.13, False), (4130, False), (4137, True)):
        found = codes(row(speed=speed), row(workload="resnet101", speed=speed))
        assert ("repeated" in found) == doubted, speed


def test_a_network_of_twice_the_operations_is_slower(row: Row) -> None:
    heavy = row(workload="resnet152", speed=200.0)
    assert codes(row(speed=150.1), heavy) == set()
    assert codes(row(speed=149.9), heavy) == {"order"}
    assert codes(row(speed=150.0), heavy) == set()
    # One of 1.9 times the operations may be the faster of the two.
    assert codes(row(speed=100.1), row(workload="resnet101", speed=200.0)) == set()
    # In small steps the launches of kernels count, and of networks without a family nothing is said.
    assert codes(row(speed=100.1, batch=31), row(workload="resnet152", speed=200.0, batch=31)) == set()
    assert codes(row(speed=100.1, batch=32), row(workload="resnet152", speed=200.0, batch=32)) == {"order"}


def test_so_many_rows_of_one_network_are_no_table_of_speeds(row: Row) -> None:
    def table(times: int) -> list[Record]:
        more = [row(speed=1000.5 + 7.3 * n, precision="fp16") for n in range(times)]
        return [*scaled(row, 400.1, 780.6), *scaled(row, 200.05, 390.3, precision="fp32"), *more]

    assert "halves" in codes(*table(0))
    assert "halves" in codes(*table(checks.MAX_GROUP - 2))
    assert "halves" not in codes(*table(checks.MAX_GROUP - 1))  # one count is left
