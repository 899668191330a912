"""Find the batch with the highest throughput, surviving out-of-memory on the way.

Doubling from the workload's default batch while throughput rises by more than 1 % (below that,
a larger batch only costs memory); halving first while the default itself does not fit. These
trials run eagerly and for a few steps, for compiling each candidate would take minutes.

Compiled, the best batch is often smaller (BERT-large on an H200: 256 eagerly, 128 compiled), so a
compiled measurement walks down from the eager answer until a half costs throughput.
"""

from __future__ import annotations

from collections.abc import Callable

from gpuwise.bench.events import Report, Tried

GAIN = 1.01

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


def walk_down(trial: Trial, start: int, report: Report) -> int:
    """The smallest batch of start, start / 2, ... before halving again costs more than 1 %.

    `trial` runs compiled. A start that does not fit compiled is halved as well.
    """
    best, best_speed = start, _try(trial, start, report, compiled=True)
    while best > 1:
        speed = _try(trial, best // 2, report, compiled=True)
        if best_speed is not None and (speed is None or speed * GAIN < best_speed):
            break
        best, best_speed = best // 2, speed
    return best


def _try(trial: Trial, batch: int, report: Report, *, compiled: bool = False) -> float | None:
    speed = trial(batch)
    report(Tried(batch=batch, fits=speed is not None, compiled=compiled, items_per_s=speed))
    return speed
