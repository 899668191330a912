"""Whether a step fits a card: what it needs of the device's memory against what a process can get.

    needed = (peak + workspaces) x error + context
    room   = stated memory x share that the driver leaves

The error is the distribution of log(measured / predicted) of peaks that were measured (`data/errors.json`),
so that "fits" is a probability: the share of the known errors with which it would fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuwise.model.result import Interval
from gpuwise.model.trace import Trace
from gpuwise.predict.card import Card
from gpuwise.predict.interval import LEVEL, memory_errors
from gpuwise.predict.memory import MIB, workspace_bytes

CONTEXT = 600 * MIB
"""Of a process with torch's kernels loaded: what the driver takes beside the allocator."""
VISIBLE = 0.98
"""Share of the stated memory that a process sees: ECC on GDDR and firmware take some."""


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
    predicted = trace.memory.peak + workspace_bytes(trace.kernels, generation=_generation(card)) + more
    peaks = predicted * np.exp(memory_errors())
    fits = float(np.mean(peaks + CONTEXT <= VISIBLE * card.memory_bytes))
    low, high = np.quantile(peaks, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Room(
        peak=Interval(value=predicted, low=min(predicted, float(low)), high=max(predicted, float(high)),
                      level=LEVEL, method="errors of measured peaks"),
        fits=fits,
    )  # fmt: skip


def _generation(card: Card) -> str:
    return "hopper" if card.engine in ("wgmma", "tcgen05") else "earlier"
