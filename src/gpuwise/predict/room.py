"""Whether a step fits a card: what it needs of the device's memory against what a process can get.

    needed = (peak + workspaces) x error + context
    room   = stated memory x share that the driver leaves

The error is the distribution of log(measured / predicted) of peaks that were measured (`data/errors.json`),
so that "fits" is a probability: the share of the known errors with which it would fit.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from gpuwise.model.result import Interval
from gpuwise.model.trace import Trace
from gpuwise.predict.card import Card
from gpuwise.predict.interval import LEVEL, memory_errors
from gpuwise.predict.kernels import KEPT_TRACES
from gpuwise.predict.memory import MIB, workspace_bytes

CONTEXT = 600 * MIB
"""Of a process with torch's kernels loaded: what the driver takes beside the allocator."""
VISIBLE = 0.98
"""Share of the stated memory that a process sees: ECC on GDDR and firmware take some."""


def free_bytes(card: Card) -> float:
    """What the framework can allocate on an otherwise idle card."""
    return VISIBLE * card.memory_bytes - CONTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Peak of the framework's allocations with its 80 % interval, and the probability that it fits."""

    peak: Interval
    fits: float


def room(trace: Trace, card: Card, *, more: float = 0.0) -> Room | None:
    """What the step needs on `card`, with `more` bytes for several GPUs' sake; None where the trace has no
    lifetimes."""
    if trace.memory is None:
        return None
    predicted = trace.memory.peak + _workspaces(trace, _generation(card)) + more
    factors, low, high = _errors()
    fitting = bisect_right(factors, free_bytes(card) / predicted)
    return Room(
        peak=Interval(value=predicted, low=predicted * min(1.0, low), high=predicted * max(1.0, high),
                      level=LEVEL, method="errors of measured peaks"),
        fits=fitting / len(factors),
    )  # fmt: skip


@lru_cache(maxsize=KEPT_TRACES)
def _workspaces(trace: Trace, generation: str) -> float:
    return workspace_bytes(trace.kernels, generation=generation)


@cache
def _errors() -> tuple[list[float], float, float]:
    """measured / predicted of known peaks in rising order, and the ends of their interval."""
    factors = np.exp(memory_errors())
    low, high = np.quantile(factors, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return factors.tolist(), float(low), float(high)


def _generation(card: Card) -> str:
    return "hopper" if card.engine in ("wgmma", "tcgen05") else "earlier"
