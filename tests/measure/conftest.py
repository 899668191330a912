"""A clock that tells the time a step says it took; nothing waits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest


class FakeClock:
    """Time moves only when a step is run."""

    def __init__(self) -> None:
        self.time_s = 100.0
        self.reads = 0
        self._marks: list[float] = []

    def now(self) -> float:
        return self.time_s

    def mark(self) -> None:
        self._marks.append(self.time_s)

    def read(self) -> tuple[float, ...]:
        self.reads += 1
        marks, self._marks = self._marks, []
        return tuple(b - a for a, b in itertools.pairwise(marks))

    def stepper(self, durations: Iterator[float]) -> Callable[[], None]:
        """A step that takes the next of `durations`, in seconds."""

        def step() -> None:
            self.time_s += next(durations)

        return step


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()
