"""Which rank the others wait for: signs of life of all ranks of a machine, in memory that they share.

Each rank writes its own row: a thread of it the time, every second; its work how far it has come, at every
mark between steps. So two ways to be late are told apart:

silent  the whole process stands still (stopped, swapped out, caught in a driver's call): no time is
        written. Nothing that a healthy rank does lasts HUNG_S, and then it is ended.
behind  it lives, and has come less far than others, which have not moved since: it compiles, or its host
        or GPU is slow or stuck. That may be right, so it is only named.

Where every GPU waits for one whose kernel never ends, all hosts have come equally far, and nobody is named.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from multiprocessing import get_context
from typing import Any

from gpuwise.measure.events import Late

BEAT_S = 1.0
LATE_S = 10.0
"""From when on a rank for which others wait is named."""
HUNG_S = 120.0

PHASES = ("starting", "measuring alone", "building the step", "making steps")


@dataclass(frozen=True, slots=True)
class Row:
    """What one rank has written; times are this machine's monotonic seconds."""

    rank: float = 0.0
    local: float = 0.0
    """Number on this machine, and that of its GPU."""
    pid: float = 0.0
    phase: float = 0.0
    steps: float = 0.0
    """Marks between steps, in this phase."""
    moved: float = 0.0
    """When phase or steps last changed."""
    beat: float = 0.0


WIDTH = len(fields(Row))


def board(ranks: int) -> Any:
    """Memory for the rows of so many ranks, to be handed to processes when they start."""
    return get_context("spawn").RawArray("d", WIDTH * ranks)


def rows(shared: Any) -> list[Row]:
    """Those of the ranks that are at work, by their number on this machine."""
    every = [Row(*shared[start : start + WIDTH]) for start in range(0, len(shared), WIDTH)]
    return [row for row in every if row.pid]


class Pulse:
    """One rank's own row."""

    def __init__(self, shared: Any, local: int, rank: int) -> None:
        self._shared, self._local, self._rank = shared, local, rank
        self._phase, self._steps, self._moved = 0, 0, time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def enter(self, phase: str) -> None:
        """Begin one of PHASES."""
        self._phase, self._steps, self._moved = PHASES.index(phase), 0, time.monotonic()

    def step(self) -> None:
        """A step was handed to the device."""
        self._steps += 1
        self._moved = time.monotonic()

    def end(self) -> None:
        """The rank has done its work: nobody waits for it any more."""
        self._over.set()
        self._thread.join()
        self._put(Row())

    def _live(self) -> None:
        self._write()
        while not self._over.wait(BEAT_S):
            self._write()

    def _write(self) -> None:
        place, far = (self._rank, self._local, os.getpid()), (self._phase, self._steps, self._moved)
        self._put(Row(*place, *far, time.monotonic()))

    def _put(self, row: Row) -> None:
        start = WIDTH * self._local
        self._shared[start : start + WIDTH] = astuple(row)


def late(found: Sequence[Row], now: float) -> Late | None:
    """The rank for which the others wait, if they have waited for LATE_S."""
    oldest = min(found, key=lambda row: row.beat, default=None)
    if oldest is None:
        return None
    if now - oldest.beat > LATE_S:
        return _late(oldest, now - oldest.beat, silent=True)
    last = min(found, key=lambda row: (row.phase, row.steps))
    ahead = [row for row in found if (row.phase, row.steps) > (last.phase, last.steps)]
    if not ahead:
        return None
    waited_s = now - max(last.moved, min(row.moved for row in ahead))
    return _late(last, waited_s, silent=False) if waited_s > LATE_S else None


def _late(row: Row, waited_s: float, *, silent: bool) -> Late:
    return Late(
        rank=int(row.rank),
        gpu=int(row.local),
        pid=int(row.pid),
        doing=PHASES[int(row.phase)],
        waited_s=waited_s,
        silent=silent,
    )
