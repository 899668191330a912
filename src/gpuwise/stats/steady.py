"""Has the speed settled? Warm-up ends by this evidence, not after a fixed count of steps.

A series is settled when the medians of its last two blocks differ by less than the noise within
them allows. Medians and the median absolute deviation make the test deaf to single outliers
(a page fault, a garbage collection); comparing blocks rather than steps is Geweke's (1992) test
for the end of burn-in, in robust form.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, median

BLOCK = 5
"""Steps in each of the two blocks, when there are as many."""

FLOOR = 0.005
"""Difference of block medians, as a share, below which nothing is called a trend."""

FEW = 0.05
"""Spread within which three slow steps count as agreeing."""


def settled(step_s: Sequence[float]) -> bool:
    """Whether the last steps are stationary.

    With ten steps or more: |median(last five) - median(five before)| within three standard errors
    of the difference, or within 0.5 %. With three to nine, for steps of seconds: the last three
    within 5 % of each other, provided they took 2 s together; fast steps must wait for ten.
    """
    if len(step_s) >= 2 * BLOCK:
        # Blocks grow with the series, so that a slow drift does not hide between short blocks.
        size = max(BLOCK, len(step_s) // 4)
        return _same(step_s[-2 * size : -size], step_s[-size:])
    last = step_s[-3:]
    return len(last) == 3 and sum(last) >= 2.0 and max(last) - min(last) <= FEW * median(last)


def _same(before: Sequence[float], after: Sequence[float]) -> bool:
    a, b = median(before), median(after)
    noise = sqrt(_error(before, a) ** 2 + _error(after, b) ** 2)
    return abs(a - b) <= max(3 * noise, FLOOR * a)


def _error(block: Sequence[float], centre: float) -> float:
    """Standard error of a median: 1.2533 sigma / sqrt(n), sigma = 1.4826 MAD."""
    deviation = 1.4826 * median(abs(x - centre) for x in block)
    return 1.2533 * deviation / sqrt(len(block))


def drift(windows: Sequence[Sequence[float]]) -> float:
    """Relative change of the mean step time from the first to the last window along a straight line.

    0.03 means that steps take 3 % longer at the end. Fewer than two windows: 0.
    """
    means = [fmean(steps) for steps in windows if steps]
    n = len(means)
    if n < 2:
        return 0.0
    centre = (n - 1) / 2
    slope = sum((i - centre) * m for i, m in enumerate(means)) / sum((i - centre) ** 2 for i in range(n))
    return slope * (n - 1) / fmean(means)
