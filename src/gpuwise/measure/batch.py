"""Find the batch with the highest throughput, surviving out-of-memory on the way.

Doubling from the workload's default batch while throughput rises by more than 1 % (below that,
a larger batch only costs memory); halving first while the default itself does not fit. In torch these
trials run eagerly and for a few steps, because compiling each candidate would take minutes.

When all is timed, doubling goes on from the fastest with one step each until memory ends, and three
halvings of the last gap follow: the largest batch that fits is known within a ninth.

Compiled, the best batch is often smaller (BERT-large on an H200: 256 eagerly, 128 compiled), so a
compiled measurement walks down from the eager answer until a half costs throughput. JAX and TensorFlow are
far slower without compiling, so their search compiles each candidate.
"""

from __future__ import annotations

from collections.abc import Callable

from gpuwise.measure.events import Report, Tried
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import BATCH_GAIN

# Of the search for the largest; a model so small that 64 times the fastest batch fits is not bounded by
# memory.
DOUBLINGS, HALVINGS = 6, 3

# Batch -> items per second, or None where it does not fit.
Trial = Callable[[int], float | None]


def search(trial: Trial, start: int, report: Report, *, compiled: bool = False) -> int | None:
    """The throughput-best batch, or None where not even one item fits."""
    best, best_speed = start, _try(trial, start, report, compiled=compiled)
    while best_speed is None:
        if best == 1:
            return None
        best //= 2
        best_speed = _try(trial, best, report, compiled=compiled)
    if best < start:
        return best
    while True:
        speed = _try(trial, 2 * best, report, compiled=compiled)
        if speed is None or speed <= BATCH_GAIN * best_speed:
            return best
        best, best_speed = 2 * best, speed


def largest(fits: Callable[[int], bool], start: int, report: Report) -> int:
    """The largest batch that fits, or nearly: at least 8 / 9 of it. `start` is known to fit."""

    def attempt(batch: int) -> bool:
        works = fits(batch)
        report(Tried(batch=batch, fits=works, compiled=False, items_per_s=None))
        return works

    low = start
    for _ in range(DOUBLINGS):
        if not attempt(2 * low):
            break
        low *= 2
    else:
        return low
    high = 2 * low
    for _ in range(HALVINGS):
        middle = (low + high) // 2
        if middle == low:
            break
        low, high = (middle, high) if attempt(middle) else (low, middle)
    return low


def walk_down(trial: Trial, start: int, report: Report) -> int:
    """The smallest batch of start, start / 2, ... before halving again costs more than 1 %.

    `trial` runs compiled. A start that does not fit compiled is halved as well.
    """
    best, best_speed = start, _try(trial, start, report, compiled=True)
    while best > 1:
        speed = _try(trial, best // 2, report, compiled=True)
        if best_speed is not None and (speed is None or speed * BATCH_GAIN < best_speed):
            break
        best, best_speed = best // 2, speed
    return best


def share(config: RunConfig, batch: int | None) -> tuple[int, str | None]:
    """(each rank's batch, why there is none). Strong scaling shares one GPU's batch evenly.

    Where not one item fits a single GPU, each rank begins with one: split over all, it may fit.
    """
    if batch is None:
        return 1, None if config.mode == "train" else "not even one item fits"
    if config.scaling == "weak" or config.mode == "limit":
        return batch, None
    if batch % config.gpus:
        return 0, f"{config.gpus} GPUs cannot share a batch of {batch} evenly"
    return batch // config.gpus, None


def _try(trial: Trial, batch: int, report: Report, *, compiled: bool = False) -> float | None:
    speed = trial(batch)
    report(Tried(batch=batch, fits=speed is not None, compiled=compiled, items_per_s=speed))
    return speed
