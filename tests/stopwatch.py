"""How long something takes by itself, on a machine that others use too; and how much memory."""

from __future__ import annotations

import resource
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WAITING = 5
"""How often the seconds of the processor go into those of the clock before the rest counts as waiting."""


def stopwatch() -> Callable[[], float]:
    """A watch that runs; called, it says the seconds since.

    Seconds that this process and children that ended have computed: others that take turns on the
    processor add none. Or a share of the clock's, should that be more: a sleep is not free either.
    """
    clock, computed = time.perf_counter(), _computed_s()

    def read() -> float:
        return max(_computed_s() - computed, (time.perf_counter() - clock) / WAITING)

    return read


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Fails where the block holds more bytes of memory at a time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def _computed_s() -> float:
    own = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in own)
