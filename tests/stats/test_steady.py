"""Warm-up ends when there is evidence for it, and not before."""

from __future__ import annotations

from math import exp
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gpuwise.stats import drift, settled
from gpuwise.stats.steady import _rank_sum_z

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


def test_the_rank_sum_agrees_with_scipy() -> None:
    draw = Random(3)
    a, b = ([draw.gauss(mean, 1) for _ in range(12)] for mean in (0, 0.8))
    oracle = scipy_stats.mannwhitneyu(b, a, use_continuity=False, method="asymptotic")
    assert 2 * scipy_stats.norm.sf(abs(_rank_sum_z(a, b))) == pytest.approx(oracle.pvalue)


def test_drift_is_the_relative_change_from_first_to_last() -> None:
    assert drift([[1.00, 1.00], [1.01, 1.01], [1.02, 1.02]]) == pytest.approx(0.02 / 1.01)
    assert drift([[2.0], [1.9], [1.8]]) == pytest.approx(-0.2 / 1.9)


def test_one_hiccup_is_no_drift() -> None:
    assert drift([[1.0]] * 9 + [[1.5]]) == 0


@pytest.mark.parametrize("windows", [[], [[]], [[1.0, 2.0]]])
def test_one_window_has_no_drift(windows: list[list[float]]) -> None:
    assert drift(windows) == 0


def test_drift_agrees_with_scipy() -> None:
    draw = Random(5)
    means = [1 + 0.01 * i + draw.gauss(0, 0.02) for i in range(12)]
    slope = scipy_stats.theilslopes(means).slope
    assert drift([[m] for m in means]) == pytest.approx(slope * 11 / sorted(means)[6], rel=0.02)
