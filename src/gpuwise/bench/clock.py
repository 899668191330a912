"""Clocks that time steps where they run, without holding the device up.

A clock takes marks between steps; `read` synchronises once and returns the seconds between
consecutive marks. On CUDA a mark is an event in the stream, so the host runs ahead and nothing
but the work itself is timed; on the CPU it is the monotonic counter.
"""

from __future__ import annotations

import time
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


class CudaClock:
    """CUDA events (HIP events under ROCm) on the current stream, made once and used again."""

    def __init__(self) -> None:
        self._marks: list[Any] = []
        self._spare: list[Any] = []

    def now(self) -> float:
        return time.monotonic()

    def mark(self) -> None:
        event = self._spare.pop() if self._spare else _event()
        event.record()
        self._marks.append(event)

    def read(self) -> tuple[float, ...]:
        import torch

        torch.cuda.synchronize()
        marks, self._marks = self._marks, []
        times = tuple(a.elapsed_time(b) / 1e3 for a, b in pairwise(marks))
        self._spare += marks
        return times


def _event() -> Any:
    import torch

    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


def clock_for(device: str) -> Clock:
    """The clock that times work on `device`."""
    return CudaClock() if device == "cuda" else HostClock()
