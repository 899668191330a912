"""Intervals: properties that must hold for all input, and scipy as the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import cos, exp, log, pi, sqrt
from random import Random
from statistics import fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gpuwise.model.result import Interval
from gpuwise.stats.interval import Spread, alikeness, ratio_of, spread, t_quantile, throughput, value_of

from ..stopwatch import stopwatch

step = st.floats(1e-5, 1e2)
windows = st.lists(st.lists(step, min_size=1, max_size=30), min_size=1, max_size=6)
few = settings(max_examples=60, deadline=None)


def noisy(count: int, steps: int, seed: int = 0, spread: float = 0.02) -> list[list[float]]:
    draw = Random(seed)
    return [[0.03 * (1 + draw.gauss(0, spread)) for _ in range(steps)] for _ in range(count)]


def close(a: Interval, b: Interval, factor: float = 1.0) -> bool:
    return (b.value, b.low, b.high) == pytest.approx((a.value * factor, a.low * factor, a.high * factor))


@few
@given(windows)
def test_value_lies_in_the_interval(w: list[list[float]]) -> None:
    found = throughput(w, 64)
    assert 0 < found.low <= found.value <= found.high < float("inf")


@few
@given(windows)
def test_the_value_is_all_items_over_all_time(w: list[list[float]]) -> None:
    steps = [s for window in w for s in window]
    assert throughput(w, 64).value == pytest.approx(64 * len(steps) / sum(steps))


@few
@given(windows, st.floats(1e-3, 1e3))
def test_scaling_time_or_items_scales_the_interval(w: list[list[float]], factor: float) -> None:
    plain = throughput(w, 64)
    assert close(plain, throughput([[s * factor for s in steps] for steps in w], 64), 1 / factor)
    assert close(plain, throughput(w, 64 * factor), factor)


def test_two_windows_of_very_different_steps_reach_a_factor_of_a_thousand_and_no_further() -> None:
    wild = throughput([[1e-4] * 3, [10.0] * 3], 64)
    assert (wild.high / wild.value, wild.value / wild.low) == pytest.approx((1000, 1000))
    near = throughput([[0.1] * 3, [0.2] * 3], 64)
    assert log(near.high / near.value) == pytest.approx(scipy_stats.t.ppf(0.975, 1) / 3)


def test_the_order_of_windows_does_not_change_the_value() -> None:
    w = noisy(5, 40)
    assert throughput(w, 256).value == pytest.approx(throughput(w[::-1], 256).value)


def test_three_windows_agree_with_the_t_interval_of_scipy() -> None:
    """Two cosines of three windows hold all of their variance."""
    w = noisy(3, 50)
    means = [fmean(steps) for steps in w]
    half = scipy_stats.t.ppf(0.975, 2) * scipy_stats.sem(means) / fmean(means)
    found = throughput(w, 256)
    assert log(found.high / found.value) == pytest.approx(half, rel=1e-6)
    assert log(found.value / found.low) == pytest.approx(half, rel=1e-6)
    assert found.level == 0.95


def test_of_many_windows_the_two_slowest_cosines_count() -> None:
    """By the textbook: the mean square of two cosine transforms, each of unit norm."""
    means = [1 + 0.01 * (-1) ** i + 0.002 * (i % 5) for i in range(20)]
    excess = [mean / fmean(means) - 1 for mean in means]
    power = [
        (sqrt(2 / 20) * sum(x * cos(pi * j * (i + 0.5) / 20) for i, x in enumerate(excess))) ** 2
        for j in (1, 2)
    ]
    assert alikeness(means) < 0  # so nothing is corrected
    found = spread([[mean] for mean in means])
    assert found is not None
    assert (found.error, found.degrees) == pytest.approx((sqrt(fmean(power) / 20), 2))


def test_a_clock_that_wanders_widens_what_its_cosines_say() -> None:
    """They miss what lies below the slowest of them: a random walk is the same in both but for its order."""
    draw, walk = Random(3), [1.0]
    while len(walk) < 30:
        walk.append(1 + 0.8 * (walk[-1] - 1) + draw.gauss(0, 0.01))
    found = spread([[mean] for mean in walk])
    assert found is not None
    excess = [mean / fmean(walk) - 1 for mean in walk]
    plain = fmean(
        2 / 30 * sum(x * cos(pi * j * (i + 0.5) / 30) for i, x in enumerate(excess)) ** 2 for j in (1, 2)
    )
    tau = -1 / log(min(alikeness(walk), 0.9))
    seen = fmean(1 / (1 + (pi * j * tau / 30) ** 2) for j in (1, 2))
    assert found.error == pytest.approx(sqrt(plain / seen / 30))
    assert seen < 0.95


def test_a_wider_level_gives_a_wider_interval() -> None:
    w = noisy(8, 40)
    narrow, wide = throughput(w, 1, level=0.5), throughput(w, 1, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert (narrow.level, wide.level) == (0.5, 0.99)


def test_a_hiccup_counts_as_the_time_it_took() -> None:
    assert throughput([[1.0] * 9 + [11.0]], 1).value == pytest.approx(0.5)
    assert throughput([[1.0] * 10, [1.0] * 9 + [11.0], [1.0] * 10], 1).value == pytest.approx(0.75)


@pytest.mark.parametrize("w", [[[0.5]], [[0.5] * 10], [[0.5]] * 4, [[], [0.5]], [[0.5]] * 12])
def test_without_variation_the_interval_has_no_width(w: list[list[float]]) -> None:
    found = throughput(w, 3)
    assert (found.low, found.value, found.high) == pytest.approx((6, 6, 6))


def test_one_window_has_no_interval() -> None:
    found = throughput([[], *noisy(1, 50)], 64)
    assert (found.low, found.high, found.level) == (found.value, found.value, None)
    assert spread(noisy(1, 50)) is None
    assert spread(noisy(2, 50)) is not None


def stalled(places: Sequence[int], count: int = 600) -> list[list[float]]:
    """Windows of 20 steps, of which those at these places take 16 times as long."""
    steps = [16.0 if place in places else 1.0 for place in range(count)]
    return [steps[start : start + 20] for start in range(0, count, 20)]


def test_stalls_that_come_as_by_a_clock_are_counted() -> None:
    # Ten in 600 steps: the count is off by sqrt(1/6) of one, of a fifth of the time.
    found = spread(stalled(range(30, 600, 60)))
    assert found is not None
    assert found.error == pytest.approx(15 / 75 * sqrt(1 / 6) / 10, rel=1e-6)
    assert found.degrees == pytest.approx(1000)
    # Where the stalls themselves are of many lengths, so is what a measurement saw of them.
    uneven = [[step * 2 if step > 1 and n % 4 else step for step in own]
              for n, own in enumerate(stalled(range(30, 600, 60)))]  # fmt: skip
    wider = spread(uneven)
    assert wider is not None
    assert wider.error > found.error
    assert wider.degrees < found.degrees


def test_the_value_of_regular_stalls_is_that_of_whole_cycles() -> None:
    one_more = stalled(range(5, 630, 60), 630)
    found = throughput(one_more, 1)
    assert (found.value, found.method) == (pytest.approx(60 / 75), "long-run, whole cycles")
    assert found.high / found.value - 1 < 1e-6  # nothing else is uncertain
    assert value_of(one_more, 1) == pytest.approx(630 / 795)
    beside = spread(one_more)
    assert beside is not None
    assert beside.error == pytest.approx(15 / 75 * sqrt(1 / 6) / 11, rel=1e-6)
    # After three processes, or where stalls are as irregular as their ends, all of the time counts.
    runs = [n % 3 for n in range(len(one_more))]
    assert throughput(one_more, 1, runs=runs).method == "long-run of processes"
    random = stalled([5, 20, 110, 150, 290, 300, 330, 420, 433, 520], 600)
    assert throughput(random, 1).method == "long-run"
    assert value_of(stalled([]), 2, "long-run, whole cycles") == value_of(stalled([]), 2) == 2


@pytest.mark.parametrize(
    ("places", "counted"),
    [
        (range(30, 600, 72), True), (range(30, 600, 82), False),  # eight of them, or seven
        (range(5, 600, 10), True), (range(4, 604, 9), False),  # no more than one of ten, as long ones are
        (range(75, 600, 60), True), (range(76, 600, 60), False),  # from the first step
        (range(0, 541, 60), True), (range(59, 540, 60), False),  # to the last
        (range(200, 210), False),  # one hiccup
    ],
)  # fmt: skip
def test_stalls_are_counted_where_there_are_enough_of_them(places: Sequence[int], counted: bool) -> None:
    windows = stalled(places)
    found = spread(windows)
    assert found is not None
    assert (found.degrees > 2) == counted


def test_windows_of_unequal_length_count_by_their_steps() -> None:
    long, short = [0.03] * 90, [0.06] * 10
    assert throughput([long, short], 1).value == pytest.approx(100 / 3.3)
    half = spread([long, short])
    assert half is not None
    assert half.degrees == 1


@pytest.mark.parametrize("w", [[], [[]], [[], []], [[0.0]], [[1.0, -1.0]]])
def test_no_step_or_no_time_is_refused(w: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="step"):
        throughput(w, 1)


def test_processes_count_once_each() -> None:
    """Windows of one process agree; what differs from process to process is what is uncertain."""
    w = [[1.0], [1.0], [1.02], [1.02], [1.04], [1.04]]
    found = throughput(w, 1, runs=[0, 0, 1, 1, 2, 2])
    assert log(found.high / found.value) == pytest.approx(
        scipy_stats.t.ppf(0.975, 2) * stdev([1.0, 1.02, 1.04]) / sqrt(3) / 1.02, rel=1e-6
    )
    assert found.method == "long-run of processes"
    assert throughput(w, 1, runs=[0] * 6).method == throughput(w, 1).method == "long-run"
    assert throughput(w[:4], 1, runs=[0, 0, 1, 1]).method == "long-run of processes"
    uneven = spread([[1.0], [1.0], [1.02]], [0, 0, 1])
    assert uneven is not None
    assert uneven.degrees == 1


def test_old_files_state_the_median_or_the_mean_of_their_windows() -> None:
    w = [[1.0], [1.0, 1.0], [4.0]]
    assert value_of(w, 2, "bootstrap") == 2
    assert value_of(w, 2, "mean-of-runs") == pytest.approx(1.5)
    assert value_of(w, 2, "bursts") == value_of(w, 2, "bursts of processes") == 2
    assert throughput(w, 2, method="bursts").value == 2
    assert value_of(w, 2, "long-run") == value_of(w, 2) == pytest.approx(8 / 7)


def test_correlation_of_neighbours_is_freed_of_its_bias() -> None:
    assert alikeness([1.0, 1.1, 1.2, 1.3]) == 1  # too few to tell
    assert alikeness([1.0] * 5) == 0
    assert alikeness([1.0, 1.1] * 10) < 0
    rising = [1 + i / 100 for i in range(20)]
    middle = fmean(rising)
    plain = sum((a - middle) * (b - middle) for a, b in pairwise(rising))
    plain /= sum((a - middle) ** 2 for a in rising)
    assert alikeness(rising) == pytest.approx((20 * plain + 1) / 16)


def test_two_spreads_add_in_quadrature_with_welch_s_degrees() -> None:
    both = Spread(3.0, 2).beside(Spread(4.0, 8))
    assert both.error == pytest.approx(5)
    assert both.degrees == pytest.approx(5**4 / (3**4 / 2 + 4**4 / 8))
    assert Spread(0.0, 1).beside(Spread(0.0, 1)).reach(0.95) == 0
    assert Spread(0.0, 1).beside(Spread(1.0, 9)).degrees == pytest.approx(9)
    assert Spread(2.0, 9.7).reach(0.99) == pytest.approx(2 * scipy_stats.t.ppf(0.995, 9))
    assert Spread(0.5, 0.4).reach(0.95) == pytest.approx(0.5 * scipy_stats.t.ppf(0.975, 1))


@pytest.mark.parametrize("degrees", [1, 2, 3, 9, 30, 120, 1000])
@pytest.mark.parametrize("probability", [0.5, 0.75, 0.95, 0.975, 0.995])
def test_t_quantile_agrees_with_scipy(probability: float, degrees: int) -> None:
    expected = scipy_stats.t.ppf(probability, degrees)
    assert t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-7, abs=1e-9)


def interval(value: float, low: float, high: float, level: float | None = 0.95) -> Interval:
    return Interval(value=value, low=low, high=high, level=level, method="test")


def test_over_a_stated_figure_only_the_other_side_is_uncertain() -> None:
    found = ratio_of(interval(200, 200, 200, None), interval(100, 90, 120))
    assert (found.value, found.low, found.high, found.level) == pytest.approx((0.5, 0.45, 0.6, 0.95))
    found = ratio_of(interval(100, 80, 125), interval(200, 200, 200, None))
    assert (found.value, found.low, found.high, found.level) == pytest.approx((2, 1.6, 2.5, 0.95))


def test_two_stated_figures_have_a_ratio_without_width() -> None:
    found = ratio_of(interval(2, 2, 2, None), interval(3, 3, 3, None))
    assert (found.low, found.high, found.level) == (1.5, 1.5, None)


def test_two_uncertain_sides_add_in_quadrature() -> None:
    side = interval(100, 100 * exp(-0.03), 100 * exp(0.04))
    found = ratio_of(side, side)
    assert (log(found.low), log(found.high)) == pytest.approx((-0.05, 0.05))


def test_a_low_end_of_zero_keeps_the_ratio_finite() -> None:
    found = ratio_of(interval(100, 0, 250), interval(100, 99, 101))
    assert 0 < found.low < 1
    assert found.high == pytest.approx(1000, rel=0.01)


def test_a_hundred_windows_of_200_steps_take_no_time(slowness: float) -> None:
    w = noisy(100, 200)
    best = float("inf")
    for _ in range(3):
        took_s = stopwatch()
        throughput(w, 256)
        best = min(best, took_s())
    assert best < 0.05 * slowness, "about 0.005 s on an idle machine"
