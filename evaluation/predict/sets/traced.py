"""Cases whose work is a trace: seconds and intervals by the function that `gpuwise predict` calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from evaluation.predict.case import Array, Case
from gpuwise.errors import NoDataError
from gpuwise.model.result import Interval
from gpuwise.predictor.forecast import exchange
from gpuwise.predictor.kernels import Trace
from gpuwise.predictor.step import Evidence, step


@dataclass(frozen=True, slots=True)
class Work:
    """One step on each of `cards`; `key` names the task over all cards."""

    trace: Trace
    cards: int = 1
    key: str = ""


def moved(trace: Trace) -> float:
    """Bytes of a step, for the simple rivals."""
    return sum((kernel.bytes_read + kernel.bytes_written) * kernel.count for kernel in trace.kernels)


def seconds(cases: Sequence[Case]) -> Array:
    """Seconds of one item of each case, NaN where it is refused."""
    found = np.full(len(cases), np.nan)
    for i, case in enumerate(cases):
        if case.card is None or case.refusal:
            continue
        work: Work = case.work
        try:
            alone = step(work.trace, case.card).seconds
            shared = exchange(work.trace, case.card.id, alone, work.cards).seconds
        except NoDataError:
            continue
        found[i] = (alone + shared) / work.trace.items / work.cards
    return found


def half_towards(speed: Interval, *, slower: bool) -> float:
    """Half width of an interval in log space, on its side of slower or of quicker steps."""
    return log(speed.value / speed.low if slower else speed.high / speed.value)


def halves(
    cases: Sequence[Case], evidence: Sequence[str], peers: Sequence[Case] | None, values: Array
) -> Array:
    """Half widths of the intervals that `gpuwise predict` gives around `values`, in log space, where the
    measured figure lies; `peers` are what a transfer starts from."""
    found = np.full(len(cases), np.nan)
    for i, (case, level) in enumerate(zip(cases, evidence, strict=True)):
        if case.card is None or case.refusal:
            continue
        known: Evidence = "transferred" if level == "transferred" else "spec-only"
        there = peers[i].card if peers is not None else None
        try:
            speed = step(case.work.trace, case.card, evidence=known, source=there).throughput
        except NoDataError:
            continue
        found[i] = half_towards(speed, slower=case.measured > values[i])
    return found
