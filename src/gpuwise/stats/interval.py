"""Intervals for throughput and for the ratio of two throughputs.

The rate of a window is items * steps / time, so a hiccup counts as the time it took; a median of
step times would hide it. The value is the median of the window rates. The interval is a
percentile bootstrap in two levels: windows are drawn with replacement, and within each drawn
window blocks of about sqrt(n) consecutive steps, because neighbouring step times are correlated
(nested resampling: Davison & Hinkley 1997, section 3.8; blocks: Künsch 1989, on a circle after
Politis & Romano 1992, so that the first step after a synchronisation weighs like any other).
Deterministic: the random numbers have a fixed seed.

Windows that follow each other may go alike, as a clock wanders. From eight windows on their correlation
r can be told, and fewer are drawn: n (1 - r) / (1 + r) independent ones say as much as n such (Bayley &
Hammersley 1946), with r freed of its bias in short series, (n r + 1) / (n - 4) (Marriott & Pope 1954).

No resampling goes beyond the slowest and the fastest of three or four windows, so there the interval of a
throughput is at least Student's, the median -/+ t s / sqrt(n). One window knows nothing of the differences
between windows: it has no interval.

What "95 %" is worth, by simulation (tests/stats/test_coverage.py): 92 to 99 %, about 91 % of those that end
as soon as they are narrow. Windows that go alike (r = 0.5) leave 75 to 85 % with less than eight, and 84 to
95 % from eight on; r = 0.9 leaves 70 to 80 %.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from math import atan, cos, exp, hypot, isqrt, lgamma, log, pi, sqrt
from statistics import fmean, median, stdev

from gpuwise.model.result import Interval

LEVEL = 0.95
RESAMPLES = 2000

ENOUGH = 5
"""Windows whose whole range holds the median in 1 - 2 (1/2)^n of all cases, 94 %."""
TOLD = 8
"""Windows from which on their correlation is told from chance."""
MOST_ALIKE = 0.95

LEAST = 1e-3
"""Share of a value below which the low end of its interval is not followed: keeps ratios finite."""

Windows = Sequence[Sequence[float]]


def throughput(
    windows: Windows, items_per_step: float, *, level: float = LEVEL, resamples: int = RESAMPLES
) -> Interval:
    """Items per second from windows of step times in seconds.

    Steps that are all equal give low = high = value, and so does one window, without a level. Windows
    without steps are skipped. Raises ValueError where there is no step, or one that took no time.
    """
    rates = _rates(windows, items_per_step)
    if len(rates) == 1:
        return _alone(rates[0], "bootstrap")
    found = _interval(median(rates), _replicates(windows, items_per_step, resamples, seed=0), level)
    if len(rates) >= ENOUGH:
        return found
    low, high = _around(found.value, rates, level)
    return replace(found, low=min(found.low, low), high=max(found.high, high))


def ratio(
    a: Windows,
    a_items: float,
    b: Windows,
    b_items: float,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> Interval:
    """Throughput of `b` over that of `a`, each resampled on its own. Raises as `throughput`."""
    value = median(_rates(b, b_items)) / median(_rates(a, a_items))
    base = _replicates(a, a_items, resamples, seed=0)
    other = _replicates(b, b_items, resamples, seed=1)
    return _interval(value, [mine / theirs for mine, theirs in zip(other, base, strict=True)], level)


def ratio_of(a: Interval, b: Interval) -> Interval:
    """`b` over `a` from their intervals alone, for figures without raw steps.

    The distances to the ends, as logarithms, add in quadrature (MOVER: Donner & Zou 2012). So a
    published figure (low = high = value) leaves just the other side's uncertainty.
    """
    value = b.value / a.value
    low = value * exp(-hypot(_distance(b.value, b.low), _distance(a.value, a.high)))
    high = value * exp(hypot(_distance(b.value, b.high), _distance(a.value, a.low)))
    level = a.level if b.level is None else b.level
    return Interval(value=value, low=low, high=high, level=level, method="ratio-of-intervals")


def _distance(value: float, end: float) -> float:
    return abs(log(max(end / value, LEAST)))


def mean_of_runs(windows: Windows, items_per_step: float, *, level: float = LEVEL) -> Interval:
    """Mean of the rates of a few separate runs: mean +/- t * s / sqrt(runs), Student's t.

    The aime protocol's estimate (three runs of fifty steps). Equal runs give low = high = value, and so
    does one run, without a level; low is never negative. Raises ValueError for no step at all.
    """
    rates = _rates(windows, items_per_step)
    if len(rates) == 1:
        return _alone(rates[0], "mean-of-runs")
    value = fmean(rates)
    low, high = _around(value, rates, level)
    return Interval(value=value, low=low, high=high, level=level, method="mean-of-runs")


def value_of(windows: Windows, items_per_step: float, method: str) -> float:
    """The throughput alone, by the method of its interval: for a look at what a file states. Raises as
    `throughput`."""
    rates = _rates(windows, items_per_step)
    return fmean(rates) if method == "mean-of-runs" else median(rates)


def _around(value: float, rates: Sequence[float], level: float) -> tuple[float, float]:
    """`value` -/+ t * s / sqrt(n); never below 0."""
    spread = t_quantile((1 + level) / 2, len(rates) - 1) * stdev(rates) / sqrt(len(rates))
    return max(0.0, value - spread), value + spread


def _alone(value: float, method: str) -> Interval:
    """A value of whose uncertainty nothing is known."""
    return Interval(value=value, low=value, high=value, level=None, method=method)


def _rates(windows: Windows, items: float) -> list[float]:
    """Items per second of every window that has steps."""
    if any(step <= 0 for steps in windows for step in steps):
        raise ValueError("a step must take longer than 0 s")
    rates = [items * len(steps) / sum(steps) for steps in windows if steps]
    if not rates:
        raise ValueError("no timed step")
    return rates


def _replicates(windows: Windows, items: float, count: int, seed: int) -> list[float]:
    """Bootstrap replicates of the median window rate; `windows` have a step somewhere."""
    tables = [_block_table(steps) for steps in windows if steps]
    size, draw = independent(_rates(windows, items)), random.Random(seed)
    drawn = draw.choices(range(len(tables)), k=size * count)
    streams = [_redrawn(table, drawn.count(index), draw) for index, table in enumerate(tables)]
    rates = [next(streams[index]) for index in drawn]
    return [items * median(rates[at : at + size]) for at in range(0, len(rates), size)]


def independent(rates: Sequence[float]) -> int:
    """As many windows as say, independent of each other, what these say together; at least one."""
    n, mean = len(rates), fmean(rates)
    spread = sum((rate - mean) ** 2 for rate in rates)
    if n < TOLD or not spread:
        return n
    alike = sum((a - mean) * (b - mean) for a, b in pairwise(rates)) / spread
    alike = min(max(0.0, (n * alike + 1) / (n - 4)), MOST_ALIKE)
    return max(1, round(n * (1 - alike) / (1 + alike)))


_Table = tuple[list[float], int, int]


def _redrawn(table: _Table, count: int, draw: random.Random) -> Iterator[float]:
    """Steps per second of one window, its blocks redrawn; all draws at once, for speed."""
    sums, blocks, steps = table
    drawn = draw.choices(sums, k=blocks * count)
    for at in range(0, len(drawn), blocks):
        yield steps / sum(drawn[at : at + blocks])


def _block_table(steps: Sequence[float]) -> _Table:
    """Seconds of each block of consecutive steps, blocks per replicate, and steps in those.

    Prefix sums over the window and its own beginning, so that blocks run around the end.
    """
    length = max(1, isqrt(len(steps)))
    prefix = list(accumulate((*steps, *steps[: length - 1]), initial=0.0))
    sums = [end - start for start, end in zip(prefix, prefix[length:], strict=False)]
    blocks = -(-len(steps) // length)
    return sums, blocks, blocks * length


def _interval(value: float, replicates: list[float], level: float) -> Interval:
    """Percentile interval, widened where needed to hold the value itself."""
    replicates.sort()
    tail = (1 - level) / 2
    low, high = (replicates[round(share * (len(replicates) - 1))] for share in (tail, 1 - tail))
    return Interval(value=value, low=min(low, value), high=max(high, value), level=level, method="bootstrap")


def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t for 0.5 <= probability < 1, by bisection of its distribution function."""
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_cumulative(middle, degrees) < probability else (low, middle)
    return (low + high) / 2


def _t_cumulative(t: float, degrees: int) -> float:
    """Distribution function of Student's t with n whole degrees of freedom, t >= 0.

    Substituting t = sqrt(n) tan(u) leaves the integrand cos(u)**(n - 1) on a finite range, for
    which Simpson's rule does.
    """
    log_scale = lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - log(pi) / 2
    end, parts = atan(t / sqrt(degrees)), 200
    width = end / parts
    weights = (1 if i in (0, parts) else 4 if i % 2 else 2 for i in range(parts + 1))
    area = sum(w * cos(i * width) ** (degrees - 1) for i, w in enumerate(weights)) * width / 3
    return 0.5 + exp(log_scale) * area
