"""Is what a step computed an answer? Looked at once, after everything has been timed.

NaN is none: the measurement fails, as does a training whose loss is not finite. Infinity and one value
everywhere are answers that few networks give on random input, so they are a caution.
"""

from __future__ import annotations

import math

from gpuwise.measure.events import Done, Failed


def ended(peak_bytes: int | None, low: float, high: float, *, values: int) -> Done | Failed:
    """How a measurement ended whose last output has so many values, from `low` to `high`; both are NaN
    where one value is."""
    if math.isnan(low) or math.isnan(high):
        return Failed(kind="failed", message="the output is NaN: the speed is that of no computation")
    odd = None
    if math.isinf(low) or math.isinf(high):
        odd = "the output holds infinity"
    elif low == high and values > 1:
        odd = f"the output is {low:g} everywhere"
    return Done(memory_peak_bytes=peak_bytes, loss=(), odd=odd)


def trained(peak_bytes: int | None, first: float, last: float) -> Done | Failed:
    """How a training ended whose loss was `first` and is `last`."""
    if not (math.isfinite(first) and math.isfinite(last)):
        return Failed(kind="failed", message=f"training diverged: loss went from {first} to {last}")
    return Done(memory_peak_bytes=peak_bytes, loss=(first, last))
