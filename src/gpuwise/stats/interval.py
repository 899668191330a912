"""Intervals for throughput and for the ratio of two throughputs.

The rate of a window is items * steps / time, so a hiccup counts as the time it took; a median of
step times would hide it. The value is the median of the window rates. The interval is a
percentile bootstrap in two levels: windows are drawn with replacement, and within each drawn
window blocks of consecutive steps, because neighbouring step times are correlated (moving-block
bootstrap, Künsch 1989; nested resampling, Davison & Hinkley 1997, section 3.8).
Deterministic: the random numbers have a fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import gamma, isqrt, pi, sqrt
from statistics import fmean, median, stdev

from gpuwise.model.result import Interval

LEVEL = 0.95
RESAMPLES = 1000

Windows = Sequence[Sequence[float]]


def throughput(windows: Windows, items_per_step: float, *, level: float = LEVEL) -> Interval:
    """Items per second from windows of step times in seconds.

    One window is resampled by its blocks alone; a single step gives low = high = value, which
    says that nothing is known of the uncertainty. Raises ValueError for no step at all.
    """
    rates = _resampled(windows, items_per_step, seed=0)
    return _interval(median(_rates(windows, items_per_step)), rates(RESAMPLES), level)


def ratio(
    a: Windows, a_items: float, b: Windows, b_items: float, *, level: float = LEVEL
) -> Interval:
    """Throughput of `b` over that of `a`, both resampled independently. Raises as `throughput`."""
    value = median(_rates(b, b_items)) / median(_rates(a, a_items))
    pairs = zip(_resampled(a, a_items, seed=0)(RESAMPLES), _resampled(b, b_items, seed=1)(RESAMPLES), strict=True)
    return _interval(value, [mine / base for base, mine in pairs], level)


def mean_of_runs(windows: Windows, items_per_step: float, *, level: float = LEVEL) -> Interval:
    """Mean of the rates of few separate runs, with Student's t interval over the runs.

    The aime protocol's estimate (three runs of fifty steps). With one run low = high = value.
    """
    rates = _rates(windows, items_per_step)
    value = fmean(rates)
    spread = 0.0
    if len(rates) > 1:
        spread = t_quantile((1 + level) / 2, len(rates) - 1) * stdev(rates) / sqrt(len(rates))
    low = max(0.0, value - spread)
    return Interval(value=value, low=low, high=value + spread, level=level, method="mean-of-runs")


def _rates(windows: Windows, items: float) -> list[float]:
    rates = [items * len(steps) / sum(steps) for steps in windows if steps]
    if not rates:
        raise ValueError("no timed step")
    return rates


def _resampled(windows: Windows, items: float, seed: int) -> Callable[[int], list[float]]:
    """A function that draws n bootstrap replicates of the median window rate."""
    filled = [steps for steps in windows if steps]
    _rates(filled, items)
    sums = [list(accumulate(steps, initial=0.0)) for steps in filled]
    draw = random.Random(seed)

    def replicate() -> float:
        return median(_block_rate(draw.choice(sums), items, draw) for _ in sums)

    return lambda count: [replicate() for _ in range(count)]


def _block_rate(sums: list[float], items: float, draw: random.Random) -> float:
    """Rate of as many steps as the window has, in blocks of about sqrt(n) consecutive ones."""
    steps = len(sums) - 1
    length = max(1, isqrt(steps))
    blocks = -(-steps // length)
    starts = (int(draw.random() * (steps - length + 1)) for _ in range(blocks))
    seconds = sum(sums[start + length] - sums[start] for start in starts)
    return items * blocks * length / seconds


def _interval(value: float, replicates: list[float], level: float) -> Interval:
    """Percentile interval, widened to hold the value itself."""
    replicates.sort()
    tail = (1 - level) / 2
    low, high = (replicates[min(len(replicates) - 1, int(q * len(replicates)))] for q in (tail, 1 - tail))
    return Interval(value=value, low=min(low, value), high=max(high, value), level=level, method="bootstrap")


def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t, by bisection of its distribution function (probability >= 0.5)."""
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_cumulative(middle, degrees) < probability else (low, middle)
    return (low + high) / 2


def _t_cumulative(t: float, degrees: int) -> float:
    """Distribution function of Student's t for whole degrees of freedom, t >= 0.

    Simpson's rule after the substitution t = sqrt(n) tan(u), which makes the integrand
    cos(u)**(n - 1) on a finite range.
    """
    from math import atan, cos

    scale = gamma((degrees + 1) / 2) / (sqrt(pi) * gamma(degrees / 2))
    end, parts = atan(t / sqrt(degrees)), 400
    width = end / parts
    weights = (1 if i in (0, parts) else 4 if i % 2 else 2 for i in range(parts + 1))
    area = sum(w * cos(i * width) ** (degrees - 1) for i, w in enumerate(weights)) * width / 3
    return 0.5 + scale * area
