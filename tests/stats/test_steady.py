"""Warm-up ends when there is evidence for it, and not before."""

from __future__ import annotations

from itertools import pairwise
from math import exp, expm1, log
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gpuwise.stats.interval import drift, enough, reach_if_slow, settled, stalls

COMPILE_S = 20.0


def steps_until_settled(rate, limit: int = 2000) -> int:
    """Steps after which a series with a slow first step is called settled, asked after each."""
    times = [COMPILE_S]
    while not settled(times) and len(times) < limit:
        times.append(rate(len(times)))
    return len(times)


def median_steps(make, cases: int = 40) -> int:
    return sorted(steps_until_settled(make(Random(seed))) for seed in range(cases))[cases // 2]


def test_three_slow_steps_that_agree_are_enough() -> None:
    assert settled([10.0, 10.2, 10.4])
    assert settled([60.0, 10.0, 10.2, 10.4])
    assert settled([20.0, 20.0, 21.0])  # by exactly 5 %
    assert not settled([20.0, 20.0, 21.01])
    third = 2.0 / 3  # together exactly as long as three slow steps take
    assert settled([third] * 3)
    assert not settled([third * 0.999] * 3)


def test_three_slow_steps_that_disagree_are_not() -> None:
    assert not settled([12.0, 11.0, 10.0])
    assert not settled([60.0, 10.0, 10.0])


@pytest.mark.parametrize("times", [[], [10.0], [10.0, 10.0], [0.03] * 15])
def test_too_little_evidence(times: list[float]) -> None:
    assert not settled(times)


def test_steady_steps_settle_soon_after_the_compile_step() -> None:
    assert median_steps(lambda draw: lambda i: 0.03 * (1 + draw.gauss(0, 0.01))) <= 18
    assert median_steps(lambda draw: lambda i: 0.03 * (1 + draw.gauss(0, 0.10))) <= 25


def test_outliers_do_not_keep_it_from_settling() -> None:
    def rate(draw: Random):
        return lambda i: 0.03 * (20 if draw.random() < 0.05 else 1 + draw.gauss(0, 0.01))

    assert median_steps(rate) <= 30


def test_steps_that_alternate_are_stationary() -> None:
    assert steps_until_settled(lambda i: 0.010 if i % 2 else 0.012) <= 20


def test_a_decay_is_waited_for() -> None:
    def rate(draw: Random):
        return lambda i: 0.03 * (1 + 0.5 * exp(-i / 50) + draw.gauss(0, 0.005))

    assert median_steps(rate) >= 150


def test_a_jump_is_noticed() -> None:
    assert not settled([0.03] * 20 + [0.04] * 10)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(1e-3, 1e2), max_size=40), st.sampled_from([0.5, 2.0, 1024.0]))
def test_from_sixteen_steps_on_only_proportions_matter(times: list[float], factor: float) -> None:
    if len(times) >= 16:
        assert settled(times) == settled([t * factor for t in times])


@pytest.mark.parametrize("apart", [0.3, 0.5, 0.7, 0.9, 1.2])
def test_blocks_differ_where_scipy_s_rank_sum_says_so(apart: float) -> None:
    """Wide apart in the median too, so that the test of ranks alone decides."""
    for seed in range(40):
        draw = Random(seed)
        a, b = ([2 + draw.gauss(mean, 1) / 10 for _ in range(12)] for mean in (0, apart))
        z = scipy_stats.norm.isf(
            scipy_stats.mannwhitneyu(b, a, use_continuity=False, method="asymptotic").pvalue / 2
        )
        near = abs(sorted(a)[5] + sorted(a)[6] - sorted(b)[5] - sorted(b)[6]) <= 0.02 * 1.01
        if not near and abs(z - 2) > 0.05:
            assert settled([9.0] * 24 + a + b) == (z <= 2)


def test_a_difference_of_half_a_percent_is_no_trend() -> None:
    assert settled([1.0] * 8 + [1.0049] * 8)
    assert not settled([1.0] * 8 + [1.0051] * 8)


def of(*means: float) -> list[list[float]]:
    return [[mean] for mean in means]


def test_windows_that_agree_are_enough() -> None:
    draw = Random(1)
    assert enough(of(*(1 + draw.gauss(0, 0.0003) for _ in range(10))), 0.01)
    assert enough(of(*[1.0] * 10), 0.01)
    assert not enough(of(1.0), 0.01)
    assert not enough([], 0.01)


def test_windows_that_may_wander_are_not_enough_however_narrow_their_interval() -> None:
    slow = of(*(1 + 0.004 * i / 9 for i in range(10)))
    assert not enough(slow, 0.01)
    assert not enough(slow, 0.001, bursts=True)
    assert enough(slow, 0.05, bursts=True)
    noisy = Random(2)
    few = of(*(1 + noisy.gauss(0, 0.004) for _ in range(10)))
    assert not enough(few, 0.01)  # narrow, 0.97 %, but 2.8 % if it wanders
    assert enough(few, 0.01, bursts=True)
    assert reach_if_slow(few) > 0.01
    many = of(*(1 + noisy.gauss(0, 0.004) for _ in range(60)))
    assert enough(many, 0.01)


def test_the_reach_is_that_of_the_highest_correlation_that_ten_windows_allow() -> None:
    """r + 2.04 / n ** (1 / 3), here beyond the most that is assumed: 99 times the variance."""
    means = [1 + 0.01 * (i % 3) for i in range(10)]
    middle = sum(means) / 10
    squares = sum((mean - middle) ** 2 for mean in means)
    neighbours = sum((a - middle) * (b - middle) for a, b in pairwise(means))
    alike = (10 * neighbours / squares + 1) / 6 + 2.04 / 10 ** (1 / 3)
    assert 0 < alike < 0.98
    expected = 2 * (squares / 9 / 10 * (1 + alike) / (1 - alike)) ** 0.5 / middle
    assert reach_if_slow(of(*means)) == pytest.approx(expected)
    rising = [1 + 0.01 * i for i in range(10)]
    spread = 2 * (sum((x - 1.045) ** 2 for x in rising) / 9 / 10 * 1.98 / 0.02) ** 0.5 / 1.045
    assert reach_if_slow(of(*rising)) == pytest.approx(spread)
    assert reach_if_slow(of(1.0)) == 0
    assert reach_if_slow(of(1.0, 1.1)) > 0


def test_rare_long_steps_are_stalls() -> None:
    found = stalls([[1.0] * 9 + [3.0], [1.0] * 10])
    assert found is not None
    assert (found.steps, found.longest_s, found.share) == (1, 3.0, pytest.approx(2 / 22))
    assert stalls([[1.0] * 20]) is None
    assert stalls([]) is None
    # A quarter longer than the median, and no less.
    assert stalls([[1.0] * 19 + [1.24]]) is None
    assert stalls([[1.0] * 19 + [1.26]]) is not None
    # Beyond ten times the median distance from it.
    wide = [0.97, 1.0, 1.03] * 7
    assert stalls([[*wide, 1.28]]) is None
    assert stalls([[*wide, 1.32]]) is not None


def test_a_second_speed_is_no_stall() -> None:
    assert stalls([[1.0] * 18 + [2.0] * 2]) is not None
    assert stalls([[1.0] * 17 + [2.0] * 3]) is None


def test_drift_is_the_relative_change_from_first_to_last() -> None:
    assert drift([[1.00, 1.00], [1.02, 1.02]]) == pytest.approx(0.02)
    assert drift([[2.0], [1.8], [1.62]]) == pytest.approx(1.62 / 2.0 - 1)


def test_no_drift_makes_a_step_take_less_than_nothing() -> None:
    assert -1 < drift([[1.0], [0.9], [0.01], [0.02], [0.01]]) < -0.9


def test_one_hiccup_is_no_drift() -> None:
    assert drift([[1.0]] * 9 + [[1.5]]) == 0


@pytest.mark.parametrize("windows", [[], [[]], [[1.0, 2.0]]])
def test_one_window_has_no_drift(windows: list[list[float]]) -> None:
    assert drift(windows) == 0


def test_drift_agrees_with_scipy() -> None:
    draw = Random(5)
    means = [1 + 0.01 * i + draw.gauss(0, 0.02) for i in range(12)]
    slope = scipy_stats.theilslopes([log(m) for m in means]).slope
    assert drift([[m] for m in means]) == pytest.approx(expm1(slope * 11))
