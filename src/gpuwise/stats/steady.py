"""Has the speed settled? Warm-up ends by this evidence, not after a fixed count of steps.

A series is settled when its last two blocks of steps do not differ beyond noise: comparing a late
block with the one before is Geweke's (1992) idea for the end of burn-in; here by rank sum (Mann &
Whitney 1947) instead of means, so that outliers (a page fault, a garbage collection) and step
times that alternate between two values do not deceive it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from statistics import fmean, median

BLOCK = 8
"""Steps in each of the two blocks at least. With five, a drift of 0.4 % a step under noise of 0.5 %
is overlooked in half of all cases; with eight, in fewer than one of ten."""

FLOOR = 0.005
"""Difference of block medians, as a share, below which nothing is called a trend."""

SIGNIFICANT = 2.0
"""Standard deviations of the rank sum above which blocks differ (p = 0.05). Low on purpose: to
warm up a little longer costs less than to time a device that has not settled."""

FEW = 0.05
"""Spread within which three slow steps count as agreeing."""

SLOW_S = 2.0
"""Three steps that take this long together are slow: waiting for sixteen would waste the budget."""


def settled(step_s: Sequence[float]) -> bool:
    """Whether the last steps (seconds each) are stationary.

    From sixteen steps on: unless the last quarter of the series (at least eight steps) and as many
    before differ by rank sum and by more than 0.5 % of their medians. With three to fifteen: when
    the last three are slow (2 s together) and within 5 % of each other; fast steps must wait.
    """
    if len(step_s) >= 2 * BLOCK:
        # Blocks grow with the series, so that a slow drift does not hide between short blocks.
        size = max(BLOCK, len(step_s) // 4)
        return _same(step_s[-2 * size : -size], step_s[-size:])
    last = step_s[-3:]
    return len(last) == 3 and sum(last) >= SLOW_S and max(last) - min(last) <= FEW * median(last)


def _same(before: Sequence[float], after: Sequence[float]) -> bool:
    a, b = median(before), median(after)
    return abs(a - b) <= FLOOR * a or abs(_rank_sum_z(before, after)) <= SIGNIFICANT


def _rank_sum_z(a: Sequence[float], b: Sequence[float]) -> float:
    """Mann-Whitney: z = (U - n m / 2) / sqrt(n m (n + m + 1) / 12), U = pairs with a < b.

    Ties count half; their smaller variance is left out, which errs on the side of "no difference".
    """
    ordered = sorted(a)
    u = sum(bisect_left(ordered, x) + bisect_right(ordered, x) for x in b) / 2
    n, m = len(a), len(b)
    return (u - n * m / 2) / sqrt(n * m * (n + m + 1) / 12)


def drift(windows: Sequence[Sequence[float]]) -> float:
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
