"""Find the batch with the highest throughput, surviving out-of-memory on the way.

Doubling from the workload's default batch while throughput rises by more than 2 % (below that,
a larger batch only costs memory); halving first while the default itself does not fit. Trials
run eagerly and for a few steps: compiling each candidate would take minutes, and the ranking of
batches is the same.
"""

from __future__ import annotations

from collections.abc import Callable

from gpuwise.bench.events import Report, Tried

GAIN = 1.02

Trial = Callable[[int], float | None]
"""Batch -> items per second, or None where it does not fit."""


def search(trial: Trial, start: int, report: Report) -> int | None:
    """The throughput-best batch, or None where not even one item fits."""
    best, best_speed = start, _try(trial, start, report)
    while best_speed is None:
        if best == 1:
            return None
        best //= 2
        best_speed = _try(trial, best, report)
    if best < start:
        return best
    while (speed := _try(trial, 2 * best, report)) is not None and speed > GAIN * best_speed:
        best, best_speed = 2 * best, speed
    return best


def _try(trial: Trial, batch: int, report: Report) -> float | None:
    speed = trial(batch)
    report(Tried(batch=batch, fits=speed is not None, items_per_s=speed))
    return speed
