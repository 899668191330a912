"""Has the speed settled, has enough been seen of it, and what do stalls take of it?

Warm-up ends by evidence, not after a fixed count of steps: a series is settled when its last two blocks of
steps do not differ beyond noise. Comparing a late block with the one before is Geweke's (1992) idea for the
end of burn-in; here by rank sum (Mann & Whitney 1947) instead of means, so that outliers (a page fault, a
garbage collection) and step times that alternate between two values do not deceive it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import fmean, median, variance

from gpuwise.stats.interval import Windows, alikeness, spread

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

# Standard errors (1 / sqrt n) by which the correlation of n windows may be higher than it looks. With two, a
# clock that wanders over 10 s looks settled after 10 s in one case of eight.
UNSURE = 3.0

# A step stalls where it takes a quarter longer than the median, and that is beyond ten times the median
# distance from it.
STALL, STALL_SPREADS = 1.25, 10.0

# Share of the steps above which long ones are a second speed, not stalls.
RARE = 0.1


def settled(step_s: Sequence[float]) -> bool:
    """Whether the last steps (seconds each) are stationary.

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
    """Whether these windows give the rate within `target`, as a share: where they are not bursts apart from
    each other, also if the speed wanders as slowly as they allow."""
    found = spread(windows)
    narrow = found is not None and found.reach(0.95) <= target
    return narrow and (bursts or reach_if_slow(windows) <= target)


def reach_if_slow(windows: Windows) -> float:
    """Half width of the 95 % interval, as a share, if neighbouring windows were as alike as they may be.

    n windows with correlation r say as much as n (1 - r) / (1 + r) independent ones (Bayley & Hammersley
    1946). On a quiet card windows differ so little that even the highest r does no harm.
    """
    means = [fmean(steps) for steps in windows if steps]
    if len(means) < 2:
        return 0.0
    # Never below 0: windows that alternate are no reason to stop sooner.
    alike = min(MOST_ALIKE, max(0.0, alikeness(means) + UNSURE / sqrt(len(means))))
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
    middle = median(steps) if steps else 0.0
    limit = middle + max((STALL - 1) * middle, STALL_SPREADS * median(abs(s - middle) for s in steps or [0]))
    long = [step for step in steps if step > limit]
    if not long or len(long) > RARE * len(steps):
        return None
    lost_s = sum(step - middle for step in long)
    return Stalls(steps=len(long), longest_s=max(long), share=lost_s / sum(steps))


def drift(windows: Windows) -> float:
    """Relative change of the mean step time from the first window to the last.

    0.03 means that steps take 3 % longer at the end. The line through the windows' means has the
    median of all pairwise slopes (Theil 1950, Sen 1968), so that one window with a hiccup makes no
    trend. Fewer than two windows: 0.
    """
    means = [fmean(steps) for steps in windows if steps]
    if len(means) < 2:
        return 0.0
    slope = median((b - a) / (j - i) for (i, a), (j, b) in combinations(enumerate(means), 2))
    return slope * (len(means) - 1) / median(means)
