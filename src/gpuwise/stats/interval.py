"""Intervals for throughput and for the ratio of two throughputs.

The value is the long-run rate: all items over all the time that their steps took, stalls included. That is
what a user gets in an hour.

Step times are not independent: clocks wander over seconds, a device may change between two speeds. So the
interval comes from the slow part of the windows' spectrum alone: the mean of n windows has the variance
(power at frequency 0) / n, and that power is taken from the two slowest cosines that fit into the measurement
(Müller & Watson 2018; Lazarus, Lewis, Stock & Watson 2018), with Student's t for so few degrees of freedom.
Independent steps and steps that go alike for seconds are treated in the same way, and nothing has to be
known about the noise. The price is width: 4.3 standard errors where 2 would do for independent windows.

What "95 %" is worth is simulated by evaluation/stats/simulate.py and told in docs/how-it-measures.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import atan, cos, exp, hypot, lgamma, log, pi, sqrt
from statistics import fmean, median, stdev

from gpuwise.model.result import Interval

LEVEL = 0.95

# With three, a clock that wanders with a time constant of 10 s is held by 87 % of intervals in place of 90 %
# (60 s of windows), since the third cosine is faster than that clock.
COSINES = 2

# Windows of which no correlation can be told.
TOO_FEW = 4

# Correlation of neighbouring windows of a second with a time constant of 10 s: beyond it, the correction for
# what lies below the slowest cosine is a guess.
STILL_SEEN = 0.9

# Degrees of freedom from which on Student's t is the normal distribution, to three digits.
NORMAL = 1000

# Share of a value below which the low end of its interval is not followed: keeps ratios finite.
LEAST = 1e-3

Windows = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Spread:
    """How uncertain a rate is: the standard error of its logarithm, and how well that itself is known."""

    error: float
    degrees: float  # Of freedom, of Student's t

    def reach(self, level: float) -> float:
        """Half width of the interval of that level, as a logarithm."""
        return (
            t_quantile((1 + level) / 2, min(max(1, int(self.degrees)), NORMAL)) * self.error
            if self.error
            else 0.0
        )

    def beside(self, other: Spread) -> Spread:
        """Of a ratio of two rates (degrees of freedom: Welch 1947, Satterthwaite 1946)."""
        error = hypot(self.error, other.error)
        if not error:
            return self
        parts = ((each.error / error) ** 4 / each.degrees for each in (self, other))
        return Spread(error, 1 / sum(parts))


def throughput(
    windows: Windows, items_per_step: float, *, runs: Sequence[int] = (), method: str = "long-run",
    level: float = LEVEL,
) -> Interval:  # fmt: skip
    """Items per second from windows of step times in seconds; `runs` says which process timed each window,
    `method` how the value comes from them (`value_of`).

    Steps that are all equal give low = high = value, and so does one window, without a level. Windows
    without steps are skipped. Raises ValueError where there is no step, or one that took no time.
    """
    value = value_of(windows, items_per_step, method)
    known = spread(windows, runs)
    method += " of processes" if len(set(runs)) > 1 else ""
    if known is None:
        return Interval(value=value, low=value, high=value, level=None, method=method)
    factor = exp(known.reach(level))
    return Interval(value=value, low=value / factor, high=value * factor, level=level, method=method)


def spread(windows: Windows, runs: Sequence[int] = ()) -> Spread | None:
    """How uncertain the long-run rate of these windows is; None for a single one.

    Where several processes timed them, what differs from process to process counts: each is one value.
    """
    timed = [(sum(steps), len(steps)) for steps in windows if steps]
    if len(set(runs)) > 1:
        numbered = list(zip(windows, runs, strict=True))
        each = [1 / value_of([own for own, n in numbered if n == run], 1) for run in dict.fromkeys(runs)]
        return Spread(stdev(each) / sqrt(len(each)) / fmean(each), len(each) - 1)
    count = len(timed)
    if count < 2:
        return None
    mean = sum(seconds for seconds, _ in timed) / sum(steps for _, steps in timed)
    usual = sum(steps for _, steps in timed) / count
    # Excess of each window over its share of the time, relative to a window.
    excess = [(seconds / mean - steps) / usual for seconds, steps in timed]
    cosines = range(1, min(COSINES, count - 1) + 1)
    power = fmean(
        2 / count * sum(x * cos(pi * j * (i + 0.5) / count) for i, x in enumerate(excess)) ** 2
        for j in cosines
    )
    alike = min(alikeness(excess), STILL_SEEN) if count > TOO_FEW else 0.0
    if alike > 0:
        # The spectrum of a clock that wanders with time constant tau still rises below the slowest cosine, as
        # 1 / (1 + (2 pi f tau)^2).
        tau = -1 / log(alike)
        power /= fmean(1 / (1 + (pi * j * tau / count) ** 2) for j in cosines)
    return Spread(sqrt(power / count), len(cosines))


def alikeness(means: Sequence[float]) -> float:
    """Correlation of neighbouring windows, freed of its bias in short series (Marriott & Pope 1954); 1 where
    there are too few to tell, 0 where all are equal."""
    count, middle = len(means), fmean(means)
    total = sum((mean - middle) ** 2 for mean in means)
    if count <= TOO_FEW or not total:
        return float(count <= TOO_FEW)
    found = sum((a - middle) * (b - middle) for a, b in pairwise(means)) / total
    return (count * found + 1) / (count - TOO_FEW)


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


def value_of(windows: Windows, items_per_step: float, method: str = "long-run") -> float:
    """The throughput alone, by the method of its interval.

    Of bursts with rests between them it is their median: what the silicon reaches, whatever happened in one.
    Files before 2026-11-23 state the median of their windows' rates for everything ("bootstrap"), or the mean
    of three runs' ("mean-of-runs"). Raises as `throughput`.
    """
    if any(step <= 0 for steps in windows for step in steps):
        raise ValueError("a step must take longer than 0 s")
    rates = [items_per_step * len(steps) / sum(steps) for steps in windows if steps]
    if not rates:
        raise ValueError("no timed step")
    if method.startswith("bursts") or method == "bootstrap":
        return median(rates)
    if method == "mean-of-runs":
        return fmean(rates)
    return items_per_step * sum(map(len, windows)) / sum(map(sum, windows))


@cache
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
