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
        (3, 50, 0.005, 0.0, 0.85),
        # Three windows of one step: the whole range, which misses the median in 2 * (1/2)**3.
        (3, 1, 0.02, 0.0, 0.70),
        # One window cannot know how windows differ; here they do not.
        (1, 200, 0.0, 0.0, 0.88),
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
