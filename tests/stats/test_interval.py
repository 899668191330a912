"""Intervals: properties that must hold for all input, and scipy as the oracle."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gpuwise.model.result import Interval
from gpuwise.stats import mean_of_runs, ratio, ratio_of, throughput
from gpuwise.stats.interval import independent, t_quantile

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
    for found in (throughput(w, 64, resamples=50), mean_of_runs(w, 64), ratio(w, 64, w, 64, resamples=50)):
        assert 0 <= found.low <= found.value <= found.high


@few
@given(windows)
def test_the_value_is_the_median_of_window_rates(w: list[list[float]]) -> None:
    rates = [64 * len(steps) / sum(steps) for steps in w]
    assert throughput(w, 64, resamples=5).value == pytest.approx(scipy_stats.scoreatpercentile(rates, 50))


@few
@given(windows, st.floats(1e-3, 1e3))
def test_scaling_time_or_items_scales_the_interval(w: list[list[float]], factor: float) -> None:
    plain = throughput(w, 64, resamples=50)
    slower = [[s * factor for s in steps] for steps in w]
    assert close(plain, throughput(slower, 64, resamples=50), 1 / factor)
    assert close(plain, throughput(w, 64 * factor, resamples=50), factor)


@few
@given(windows)
def test_ratio_does_not_depend_on_the_unit(w: list[list[float]]) -> None:
    other = noisy(3, 20)
    assert close(ratio(w, 1, other, 1, resamples=50), ratio(w, 7, other, 7, resamples=50))


def test_same_input_gives_the_same_interval() -> None:
    w = noisy(5, 40)
    assert throughput(w, 256) == throughput(w, 256)
    assert ratio(w, 256, w, 256) == ratio(w, 256, w, 256)


def test_the_order_of_windows_does_not_change_the_value() -> None:
    w = noisy(5, 40)
    assert throughput(w, 256).value == throughput(w[::-1], 256).value


def test_windows_of_one_step_agree_with_the_plain_bootstrap_of_scipy() -> None:
    w = noisy(40, 1)
    oracle = scipy_stats.bootstrap(
        ([64 / steps[0] for steps in w],), np.median, n_resamples=5000, method="percentile", random_state=1
    ).confidence_interval
    found = throughput(w, 64)
    width = oracle.high - oracle.low
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=0.15 * width)


def test_one_window_agrees_with_the_normal_interval_of_its_mean() -> None:
    """Independent steps: the blocks change nothing, and the mean of 400 is as good as normal."""
    (steps,) = noisy(1, 400)
    spread = 1.96 * scipy_stats.sem(steps) / np.mean(steps)
    assert ratio([[1.0]], 1, [steps], 64).half_width == pytest.approx(spread, rel=0.25)


def test_a_wider_level_gives_a_wider_interval() -> None:
    w = noisy(8, 40)
    narrow, wide = throughput(w, 1, level=0.5), throughput(w, 1, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_a_hiccup_counts_as_the_time_it_took() -> None:
    w = [[1.0] * 9 + [11.0]]
    assert throughput(w, 1).value == pytest.approx(0.5)


def test_the_first_step_of_a_window_weighs_like_any_other() -> None:
    found = throughput([[2.0] + [1.0] * 99] * 2, 1)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("w", [[[0.5]], [[0.5] * 10], [[0.5]] * 4, [[], [0.5]]])
def test_without_variation_the_interval_has_no_width(w: list[list[float]]) -> None:
    for found in (throughput(w, 3), mean_of_runs(w, 3)):
        assert (found.low, found.value, found.high) == pytest.approx((6, 6, 6))


@pytest.mark.parametrize("estimate", [throughput, mean_of_runs])
def test_one_window_has_no_interval(estimate: Callable[..., Interval]) -> None:
    found = estimate([[], *noisy(1, 50)], 64)
    assert (found.low, found.high, found.level) == (found.value, found.value, None)


def test_windows_that_go_alike_count_for_fewer() -> None:
    alternating, rising = [1.0, 1.1] * 10, [1 + i / 100 for i in range(20)]
    assert independent(alternating) == 20
    assert independent(rising) <= 3
    assert independent(rising[:7]) == 7  # too few to tell
    assert independent([1.0] * 20) == 20


@pytest.mark.parametrize("w", [[], [[]], [[], []], [[0.0]], [[1.0, -1.0]]])
def test_no_step_or_no_time_is_refused(w: list[list[float]]) -> None:
    for estimate in (throughput, mean_of_runs):
        with pytest.raises(ValueError, match="step"):
            estimate(w, 1)


def test_mean_of_runs_agrees_with_scipy() -> None:
    w = noisy(3, 50)
    rates = [256 * len(steps) / sum(steps) for steps in w]
    expected = scipy_stats.ttest_1samp(rates, 0).confidence_interval(0.95)
    found = mean_of_runs(w, 256)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert found.method == "mean-of-runs"


def test_mean_of_wildly_different_runs_is_never_negative() -> None:
    assert mean_of_runs([[1.0], [100.0]], 1).low == 0


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


def test_two_uncertain_sides_give_more_than_one_and_less_than_the_sum() -> None:
    side = interval(100, 90, 110)
    found = ratio_of(side, side)
    assert 100 / 110 * 0.9 < found.low < 0.9
    assert 1.1 < found.high < 110 / 90


def test_a_low_end_of_zero_keeps_the_ratio_finite() -> None:
    found = ratio_of(interval(100, 0, 250), interval(100, 99, 101))
    assert 0 < found.low < 1 < found.high < 1e6


def test_bootstrap_agrees_with_quadrature_for_normal_noise() -> None:
    a, b = noisy(20, 100, seed=1), noisy(20, 100, seed=2)
    direct, combined = ratio(a, 1, b, 1), ratio_of(throughput(a, 1), throughput(b, 1))
    assert direct.value == pytest.approx(combined.value)
    assert direct.half_width == pytest.approx(combined.half_width, rel=0.25)


def test_twenty_windows_of_200_steps_take_no_time(slowness: float) -> None:
    w = noisy(20, 200)
    best = float("inf")
    for _ in range(3):
        took_s = stopwatch()
        throughput(w, 256)
        best = min(best, took_s())
    assert best < 0.25 * slowness, "about 0.05 s on an idle machine"
