"""Clocks that time steps where they run, without holding the device up.

A clock takes marks between steps; `read` synchronises once and returns the seconds between
consecutive marks. On a GPU a mark is an event in the stream, so the host runs ahead and nothing
but the work itself is timed; on the CPU it is the monotonic counter. Frameworks that let nobody put an
event into their stream are timed by when outputs arrive, see `ArrivalClock`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol


class Clock(Protocol):
    """What the engine needs of time."""

    def now(self) -> float:
        """Monotonic host seconds, comparable between processes of one machine."""
        ...

    def mark(self) -> None:
        """Remember this point of the device's work."""
        ...

    def read(self) -> tuple[float, ...]:
        """Wait for the device, return seconds between consecutive marks, forget the marks."""
        ...


class HostClock:
    """For work that runs on the host: every step has finished when it returns."""

    def __init__(self) -> None:
        self._marks: list[int] = []

    def now(self) -> float:
        return time.monotonic()

    def mark(self) -> None:
        self._marks.append(time.perf_counter_ns())

    def read(self) -> tuple[float, ...]:
        marks, self._marks = self._marks, []
        return tuple((b - a) / 1e9 for a, b in pairwise(marks))


class EventClock:
    """Events on the device's current stream (of CUDA, HIP, Metal or SYCL), made once and used again."""

    def __init__(self, device: str) -> None:
        import torch

        self._device: Any = torch.get_device_module(device)
        self._marks: list[Any] = []
        self._spare: list[Any] = []

    def now(self) -> float:
        return time.monotonic()

    def mark(self) -> None:
        event = self._spare.pop() if self._spare else self._device.Event(enable_timing=True)
        event.record()
        self._marks.append(event)

    def read(self) -> tuple[float, ...]:
        self._device.synchronize()
        marks, self._marks = self._marks, []
        times = tuple(a.elapsed_time(b) / 1e3 for a, b in pairwise(marks))
        self._spare += marks
        return times


class ArrivalClock:
    """The moments at which the outputs of steps are there, seen by the host.

    While a step runs the next one is queued, and only then the earlier is waited for, so the device
    never idles between steps. The first step after `read` holds the time to queue it.
    """

    def __init__(self, wait: Callable[[Any], object]) -> None:
        self._wait = wait
        self._queued: list[Any] = []
        self._marks: list[int] = []

    def watched(self, step: Callable[[], Any]) -> Callable[[], Any]:
        """The step, its output remembered until it is waited for."""

        def run() -> Any:
            output = step()
            self._queued.append(output)
            return output

        return run

    def now(self) -> float:
        return time.monotonic()

    def mark(self) -> None:
        """After a step: the moment at which the step before it had ended."""
        if not self._queued:
            self._marks.append(time.perf_counter_ns())
        self._arrive(but=1)

    def read(self) -> tuple[float, ...]:
        self._arrive(but=0)
        marks, self._marks = self._marks, []
        return tuple((b - a) / 1e9 for a, b in pairwise(marks))

    def _arrive(self, but: int) -> None:
        """Wait for all queued outputs but the newest few."""
        while len(self._queued) > but:
            self._wait(self._queued.pop(0))
            self._marks.append(time.perf_counter_ns())


def clock_for(device: str) -> Clock:
    """The clock that times work on `device`."""
    return HostClock() if device == "cpu" else EventClock(device)
