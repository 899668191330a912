"""Intervals for throughput and for the ratio of two throughputs.

The value is the long-run rate: all items over all the time that their steps took, stalls included. That is
what a user gets in an hour.

Step times are not independent: clocks wander over seconds, a device may change between two speeds. So the
interval comes from the slow part of the windows' spectrum alone: the mean of n windows has the variance
(power at frequency 0) / n, and that power is taken from the two slowest cosines that fit into the measurement
(Müller & Watson 2018; Lazarus, Lewis, Stock & Watson 2018), with Student's t for so few degrees of freedom.
Independent steps and steps that go alike for seconds are treated in the same way, and nothing has to be
known about the noise. The price is width: 4.3 standard errors where 2 would do for independent windows.

What "95 %" is worth is simulated by evaluation/stats/simulate.py and stated in docs/how-it-measures.md.

Warm-up ends by evidence, not after a fixed count of steps: a series is settled when its last two blocks of
steps do not differ beyond noise. Comparing a late block with the one before is Geweke's (1992) idea for the
end of burn-in; here by rank sum (Mann & Whitney 1947) instead of means, so that outliers (a page fault, a
garbage collection) and step times that alternate between two values do not deceive it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, combinations, pairwise
from math import atan, cbrt, cos, exp, expm1, hypot, lgamma, log, pi, sqrt
from statistics import fmean, median, stdev, variance

from gpuwise.model.result import Interval

LEVEL = 0.95

# With three, a clock that wanders with a time constant of 10 s is held by 87 % of intervals in place of 90 %
# (60 s of windows), since the third cosine is faster than that clock.
COSINES = 2

# Windows that are too few for a correlation.
TOO_FEW = 4

# Standard errors (1 / sqrt n) by which the correlation of n windows is taken to be higher than it looks: of a
# clock that wanders over 10 s it looks too low in most minutes.
DOUBT = 1.0

# Method of a value from the first of regular stalls to the last, in whole cycles.
WHOLE = "long-run, whole cycles"

# Correlation of neighbouring windows of a second with a time constant of 10 s: beyond it, the correction for
# what lies below the slowest cosine is a guess.
STILL_SEEN = 0.9

# Degrees of freedom from which on Student's t is the normal distribution, to three digits.
NORMAL = 1000

# Share of a value below which an interval does not reach, nor above its inverse: a rate known to a factor
# of a thousand is not known. Two windows that differ greatly would reach 1e30, which no result file may
# hold, and ratios would not be finite.
LEAST = 1e-3

Windows = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Spread:
    """How uncertain a rate is: the standard error of its logarithm, and how well that itself is known."""

    error: float
    degrees: float  # Of freedom, of Student's t

    def reach(self, level: float) -> float:
        """Half width of the interval of that level, as a logarithm: at most that of LEAST."""
        degrees = min(max(1, int(self.degrees)), NORMAL)
        return min(t_quantile((1 + level) / 2, degrees) * self.error, -log(LEAST)) if self.error else 0.0

    def beside(self, other: Spread) -> Spread:
        """Of a ratio of two rates (degrees of freedom: Welch 1947, Satterthwaite 1946)."""
        error = hypot(self.error, other.error)
        if not error:
            return self
        parts = ((each.error / error) ** 4 / each.degrees for each in (self, other))
        return Spread(error, 1 / sum(parts))


def throughput(
    windows: Windows,
    items_per_step: float,
    *,
    runs: Sequence[int] = (),
    method: str = "long-run",
    level: float = LEVEL,
) -> Interval:
    """Items per second from windows of step times in seconds; `runs` says which process timed each window,
    `method` how the value comes from them (`value_of`).

    Steps that are all equal give low = high = value, and so does one window, without a level. Windows
    without steps are skipped. Raises ValueError where there is no step, or one that took no time.
    """
    stalling = _stalled([step for window in windows for step in window]) if len(set(runs)) < 2 else None
    if method == "long-run" and stalling is not None and stalling.regular:
        method = WHOLE
    value = value_of(windows, items_per_step, method)
    error = spread(windows, runs, method)
    method += " of processes" if len(set(runs)) > 1 else ""
    if error is None:
        return Interval.stated(value, method)
    factor = exp(error.reach(level))
    return Interval(value=value, low=value / factor, high=value * factor, level=level, method=method)


def spread(windows: Windows, runs: Sequence[int] = (), method: str = "long-run") -> Spread | None:
    """How uncertain the value of these windows by that method is; None for a single one.

    Where several processes timed them, what differs from process to process counts: each is one value.
    """
    timed = [(sum(steps), len(steps)) for steps in windows if steps]
    if len(set(runs)) > 1:
        numbered = list(zip(windows, runs, strict=True))
        each = [
            1 / value_of([window for window, n in numbered if n == run], 1) for run in dict.fromkeys(runs)
        ]
        return Spread(stdev(each) / sqrt(len(each)) / fmean(each), len(each) - 1)
    count = len(timed)
    if count < 2:
        return None
    mean = sum(seconds for seconds, _ in timed) / sum(steps for _, steps in timed)
    usual = sum(steps for _, steps in timed) / count
    stalls = _stalled([step for window in windows for step in window])
    if stalls is None:
        # Excess of each window over its share of the time, relative to a window.
        return _slow([(seconds / mean - steps) / usual for seconds, steps in timed])
    # Stalls that come again and again are counted; what is left is judged without them.
    freed = [
        sum(min(step, stalls.middle) if step > stalls.limit else step for step in window)
        for window in windows
        if window
    ]
    rest = sum(freed) / sum(steps for _, steps in timed)
    left = [(seconds / rest - steps) / usual for seconds, (_, steps) in zip(freed, timed, strict=True)]
    quiet, of_stalls = _slow(left), stalls.cycles if method == WHOLE else stalls.cycles.beside(stalls.ends)
    return of_stalls.beside(Spread(quiet.error * rest / mean, quiet.degrees))


def _slow(excess: Sequence[float]) -> Spread:
    """How uncertain the mean of these is, which wander around 0 and may go alike for long."""
    count = len(excess)
    cosines = range(1, min(COSINES, count - 1) + 1)
    power = fmean(
        2 / count * sum(x * cos(pi * j * (i + 0.5) / count) for i, x in enumerate(excess)) ** 2
        for j in cosines
    )
    alike = min(alikeness(excess) + DOUBT / sqrt(count), STILL_SEEN) if count > TOO_FEW else 0.0
    if alike > 0:
        # Below the slowest cosine a wandering clock's spectrum still rises, as 1 / (1 + (2 pi f tau)^2).
        tau = -1 / log(alike)
        power /= fmean(1 / (1 + (pi * j * tau / count) ** 2) for j in cosines)
    return Spread(sqrt(power / count), len(cosines))


@dataclass(frozen=True, slots=True)
class _Stalling:
    """Stalls that come again and again: steps longer than `limit`; the first and the last of them."""

    limit: float
    middle: float  # The median step
    first: int
    last: int
    cycles: Spread  # Of the rate, from how times between stalls and what is lost in each vary
    ends: Spread  # And from where among them the measurement begins and ends
    regular: bool  # True if one stall more or less at the ends is most of what is uncertain


def _stalled(steps: Sequence[float]) -> _Stalling | None:
    """The stalls among these steps; None where they are too few, or not from the first to the last step, to
    know how regular they are.

    A renewal process with rewards (Cox 1962): from one stall to the next the time and what is lost vary, the
    slower the more, and a measurement that begins and ends anywhere counts a stall too many or too few.
    """
    if len(steps) < MANY_STALLS:
        return None
    limit, middle = _stall_limit(steps)
    places = [place for place, step in enumerate(steps) if step > limit]
    if not MANY_STALLS <= len(places) <= RARE * len(steps):
        return None
    since = list(accumulate(steps, initial=0.0))
    gaps = [since[b] - since[a] for a, b in pairwise(places)]
    if max(since[places[0]], since[-1] - since[places[-1]]) > max(gaps):
        return None
    lost = [steps[place] - middle for place in places[1:]]
    uneven = [loss / fmean(lost) - gap / fmean(gaps) for loss, gap in zip(lost, gaps, strict=True)]
    cycles, share = _slow(uneven), fmean(lost) / fmean(gaps)
    ends = sqrt(1 / 6) / len(places)  # The variance of a count that is rounded up or down at random.
    return _Stalling(
        limit=limit,
        middle=middle,
        first=places[0],
        last=places[-1],
        # A share of few stalls is spread like its logarithm: too low a one must reach far up.
        cycles=Spread(share * expm1(cycles.error), cycles.degrees),
        ends=Spread(share * ends, NORMAL),
        regular=stdev(uneven) / sqrt(len(uneven)) < ends,
    )


def alikeness(means: Sequence[float]) -> float:
    """Correlation of neighbouring windows, freed of its bias in short series (Marriott & Pope 1954); 1 where
    there are too few for an estimate, 0 where all are equal."""
    count, middle = len(means), fmean(means)
    total = sum((mean - middle) ** 2 for mean in means)
    if count <= TOO_FEW or not total:
        return float(count <= TOO_FEW)
    correlation = sum((a - middle) * (b - middle) for a, b in pairwise(means)) / total
    return (count * correlation + 1) / (count - TOO_FEW)


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
    Where stalls are regular it is that of whole cycles: a minute has one of them more or one fewer.
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
    if method == WHOLE:
        steps = [step for window in windows for step in window]
        if (stalls := _stalled(steps)) is not None:
            cycles = steps[stalls.first + 1 : stalls.last + 1]
            return items_per_step * len(cycles) / sum(cycles)
    return items_per_step * sum(map(len, windows)) / sum(map(sum, windows))


@cache
def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t for 0.5 <= probability < 1, by bisection of its distribution function.

    In that, for n whole degrees of freedom, t = sqrt(n) tan(u) leaves the integrand cos(u)**(n - 1) on a
    finite range, for which Simpson's rule does.
    """
    scale, parts = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - log(pi) / 2), 200
    weights = [1 if i in (0, parts) else 4 if i % 2 else 2 for i in range(parts + 1)]
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        width = atan(middle / sqrt(degrees)) / parts
        area = sum(w * cos(i * width) ** (degrees - 1) for i, w in enumerate(weights)) * width / 3
        low, high = (middle, high) if 0.5 + scale * area < probability else (low, middle)
    return (low + high) / 2


# Steps in each of the two blocks at least. With five, a drift of 0.4 % a step under noise of 0.5 % is
# overlooked in half of all cases; with eight, in fewer than one of ten.
BLOCK = 8

# Difference of block medians, as a share, below which nothing is called a trend.
FLOOR = 0.005

# Standard deviations of the rank sum above which blocks differ (p = 0.05). Low on purpose: to warm up a
# little longer costs less than to time a device that has not settled.
SIGNIFICANT = 2.0

# Spread within which three slow steps count as agreeing.
FEW = 0.05

# Three steps that take this long together are slow: waiting for sixteen would waste the budget.
SLOW_S = 2.0

# Correlation of neighbouring windows beyond which nothing is assumed: with windows of 1 s, a speed that
# wanders with a time constant of 50 s.
MOST_ALIKE = 0.98

# Over the cube root of n, by how much the correlation of n windows may be higher than it looks: three
# standard errors (1 / sqrt n) of ten windows, four of 53, since each further look is one more chance to look
# settled by luck. With two, a clock that wanders over 10 s looks settled after 10 s in one case of eight.
UNSURE = 2.04

# A step stalls where it takes a quarter longer than the median, and ten median distances from it.
STALL, STALL_SPREADS = 1.25, 10.0

# Share of the steps above which long ones are a second speed, not stalls.
RARE = 0.1

# Stalls from which on the times between them say how regular they are.
MANY_STALLS = 8


def settled(step_s: Sequence[float]) -> bool:
    """True if the last steps (seconds each) are stationary.

    From sixteen steps on: unless the last quarter of the series (at least eight steps) and as many
    before differ by rank sum and by more than 0.5 % of their medians. With three to fifteen: when
    the last three are slow (2 s together) and within 5 % of each other; fast steps must wait.
    """
    if len(step_s) < 2 * BLOCK:
        last = step_s[-3:]
        return len(last) == 3 and sum(last) >= SLOW_S and max(last) - min(last) <= FEW * median(last)
    # Blocks grow with the series, so that a slow drift does not hide between short blocks.
    size = max(BLOCK, len(step_s) // 4)
    before, after = step_s[-2 * size : -size], step_s[-size:]
    a, b = median(before), median(after)
    if abs(a - b) <= FLOOR * a:
        return True
    # Mann-Whitney: U = pairs with a < b, ties count half. Their smaller variance is left out, which errs on
    # the side of "no difference".
    ordered = sorted(before)
    u = sum(bisect_left(ordered, x) + bisect_right(ordered, x) for x in after) / 2
    return abs(u - size * size / 2) <= SIGNIFICANT * sqrt(size * size * (2 * size + 1) / 12)


def enough(windows: Windows, target: float, *, bursts: bool = False) -> bool:
    """True if these windows give the rate within `target`, as a share: where they are not bursts apart from
    each other, also if the speed wanders as slowly as they allow."""
    width = spread(windows)
    narrow = width is not None and width.reach(0.95) <= target
    return narrow and (bursts or reach_if_slow(windows) <= target)


def reach_if_slow(windows: Windows) -> float:
    """Half width of the 95 % interval, as a share, if neighbouring windows were as alike as they may be.

    n windows with correlation r say as much as n (1 - r) / (1 + r) independent ones (Bayley & Hammersley
    1946). On a quiet card windows differ so little that even the highest r does no harm.
    """
    means = [fmean(steps) for steps in windows if steps]
    if len(means) < 2:
        return 0.0
    # Never below 0: windows that alternate are not a reason to stop sooner.
    alike = min(MOST_ALIKE, max(0.0, alikeness(means) + UNSURE / cbrt(len(means))))
    return 2 * sqrt(variance(means) / len(means) * (1 + alike) / (1 - alike)) / fmean(means)


@dataclass(frozen=True, slots=True)
class Stalls:
    """Rare steps that took much longer than the others."""

    steps: int
    longest_s: float
    share: float  # Of all time, what they took beyond the median step


def stalls(windows: Windows) -> Stalls | None:
    """The stalls among the timed steps; None where there are none."""
    steps = [step for window in windows for step in window]
    if not steps:
        return None
    limit, middle = _stall_limit(steps)
    long = [step for step in steps if step > limit]
    if not long or len(long) > RARE * len(steps):
        return None
    lost_s = sum(step - middle for step in long)
    return Stalls(steps=len(long), longest_s=max(long), share=lost_s / sum(steps))


def _stall_limit(steps: Sequence[float]) -> tuple[float, float]:
    """The time of a step above which it stalls, and the median."""
    middle = median(steps)
    return middle + max((STALL - 1) * middle, STALL_SPREADS * median(abs(s - middle) for s in steps)), middle


def drift(windows: Windows) -> float:
    """Relative change of the mean step time from the first window to the last.

    0.03 means that steps take 3 % longer at the end; it is above -1. The line through the logarithms of
    the windows' means has the median of all pairwise slopes (Theil 1950, Sen 1968), so that one window
    with a hiccup makes no trend. Fewer than two windows: 0.
    """
    means = [log(fmean(steps)) for steps in windows if steps]
    if len(means) < 2:
        return 0.0
    slope = median((b - a) / (j - i) for (i, a), (j, b) in combinations(enumerate(means), 2))
    return expm1(slope * (len(means) - 1))
