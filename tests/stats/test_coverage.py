"""Do the intervals hold the truth as often as they say? Seeded simulation; documents the shortfalls."""

from __future__ import annotations

from random import Random

import pytest

from gpuwise.stats import mean_of_runs, ratio, throughput

TRUTH = 1 / 0.03


def windows(draw: Random, count: int, steps: int, between: float, within: float, memory: float = 0.0):
    """Rates that differ by `between` from window to window, and autocorrelated steps in each."""
    made = []
    for _ in range(count):
        typical, error, times = 0.03 / (1 + draw.gauss(0, between)), 0.0, []
        for _ in range(steps):
            error = memory * error + draw.gauss(0, within) * (1 - memory**2) ** 0.5
            times.append(typical * (1 + error))
        made.append(times)
    return made


@pytest.mark.parametrize(
    ("count", "steps", "between", "memory", "least"),
    [
        (20, 50, 0.0, 0.0, 0.95),
        (20, 50, 0.005, 0.7, 0.95),
        (10, 50, 0.005, 0.7, 0.94),
        (5, 50, 0.005, 0.7, 0.93),
        (5, 1, 0.02, 0.0, 0.90),
        (4, 50, 0.005, 0.0, 0.93),
        (3, 50, 0.005, 0.0, 0.93),
        (3, 1, 0.02, 0.0, 0.93),
    ],
)
def test_throughput_covers_the_truth(
    count: int, steps: int, between: float, memory: float, least: float
) -> None:
    draw, cases, hits = Random(7), 200, 0
    for _ in range(cases):
        found = throughput(windows(draw, count, steps, between, 0.02, memory), 1, resamples=200)
        hits += found.low <= TRUTH <= found.high
    assert hits / cases >= least


@pytest.mark.parametrize(("count", "least"), [(5, 0.72), (8, 0.81), (20, 0.87)])
def test_windows_that_go_alike_are_told_from_eight_on(count: int, least: float) -> None:
    """A clock that wanders: the speed of a window keeps half of how far the one before was off."""
    draw, cases, hits = Random(7), 200, 0
    for _ in range(cases):
        made, off = [], draw.gauss(0, 1)
        for _ in range(count):
            made.append([0.03 / (1 + 0.01 * off)])
            off = 0.5 * off + 0.75**0.5 * draw.gauss(0, 1)
        found = throughput(made, 1, resamples=200)
        hits += found.low <= TRUTH <= found.high
    assert hits / cases >= least


def test_ratio_covers_the_truth() -> None:
    draw, cases, hits = Random(8), 150, 0
    for _ in range(cases):
        a, b = (windows(draw, 8, 40, 0.005, 0.02, 0.5) for _ in range(2))
        found = ratio(a, 1, b, 2, resamples=200)
        hits += found.low <= 2 <= found.high
    assert hits / cases >= 0.95


def test_mean_of_three_runs_covers_the_truth() -> None:
    draw, cases, hits = Random(9), 400, 0
    for _ in range(cases):
        found = mean_of_runs(windows(draw, 3, 50, 0.005, 0.02), 1)
        hits += found.low <= TRUTH <= found.high
    assert 0.93 <= hits / cases <= 0.98
