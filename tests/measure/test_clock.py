"""Clocks by which steps are timed where they run."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from gpuwise.measure.engine import ArrivalClock, HostClock, run_steps
from gpuwise.measure.frameworks.torch import EventClock, clock_for


class Device:
    """Runs what is queued one after the other, `step_s` each, and remembers how much waited."""

    def __init__(self, step_s: float) -> None:
        self.step_s = step_s
        self.free_at = 0.0
        self.idle_s = 0.0
        self.queued = self.most_queued = 0

    def step(self) -> float:
        now = time.perf_counter()
        self.idle_s += max(0.0, now - self.free_at) if self.free_at else 0.0
        self.free_at = max(now, self.free_at) + self.step_s
        self.queued += 1
        self.most_queued = max(self.most_queued, self.queued)
        return self.free_at

    def wait(self, output: float) -> float:
        while (left := output - time.perf_counter()) > 0:
            threading.Event().wait(left)
        self.queued -= 1
        return output


def test_steps_are_timed_by_their_outputs_while_the_next_is_queued() -> None:
    device = Device(step_s=0.02)
    clock = ArrivalClock(device.wait)
    times = run_steps(clock.watched(device.step), clock, 10)
    assert len(times) == 10
    assert sum(times) == pytest.approx(0.2, rel=0.25)
    assert device.most_queued == 2
    assert device.idle_s < 0.01  # never stopped to be looked at
    assert device.queued == 0
    again = run_steps(clock.watched(device.step), clock, 3)
    assert len(again) == 3


def test_a_step_that_fails_late_is_heard_of() -> None:
    def wait(output: Any) -> None:
        raise RuntimeError("RESOURCE_EXHAUSTED")

    clock = ArrivalClock(wait)
    with pytest.raises(RuntimeError, match="EXHAUSTED"):
        run_steps(clock.watched(lambda: 1), clock, 2)


class Event:
    made = 0

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing
        Event.made += 1

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, other: Event) -> float:
        return (other.at - self.at) * 1e3


@pytest.mark.parametrize("device", ["cuda", "mps", "xpu"])
def test_events_of_every_device_are_used_again(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    asked: list[str] = []

    def module(name: str) -> SimpleNamespace:
        asked.append(name)
        return SimpleNamespace(Event=Event, synchronize=lambda: None)

    monkeypatch.setattr(torch, "get_device_module", module)
    Event.made = 0
    clock = clock_for(device)
    assert isinstance(clock, EventClock)
    assert isinstance(clock_for("cpu"), HostClock)
    for _ in range(3):
        times = run_steps(lambda: time.sleep(0.001), clock, 4)
        assert len(times) == 4
        assert min(times) >= 0.001
    assert (asked, Event.made) == ([device], 5)
