"""A measuring process that measures nothing, for tests of what happens before and after."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from gpuwise import store
from gpuwise.measure import events
from gpuwise.measure.session import Session
from gpuwise.measure.telemetry import environment, gpu_of, torch_build
from gpuwise.measure.telemetry.sensor import Sensor
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Result, Window


class Pretended:
    """A measuring process that computes nothing: steps of a millisecond, or how a workload ends instead."""

    pid = os.getpid()
    ends: ClassVar[dict[str, events.Failed | str]] = {}
    """By workload: what the process tells, or how it dies."""

    idle = True

    def __init__(self, *_: object) -> None:
        pass

    def order(self, config: RunConfig, *_: object, **__: object) -> None:
        self._config, self.idle = config, False

    def events(self) -> Iterator[events.Event]:
        build = torch_build()  # the same, so that what was measured for real can be gone on with
        yield events.Ready(version=build.version if build else "2.13.0", device="cpu")
        end = self.ends.get(self._config.workload)
        if end is not None:
            yield from [end] if isinstance(end, events.Failed) else []
            return
        batch = self._config.batch or 8
        yield events.Built(batch=batch, items=batch)
        yield events.First(seconds=1.0)
        yield events.Warmup(step_s=(0.001,) * 20)
        for start in range(5):
            yield Window(step_s=(0.001,) * 100, started_s=start, ended_s=start + 0.1)
        yield events.Done(memory_peak_bytes=None, loss=())

    def ending(self) -> str | None:
        end = self.ends.get(self._config.workload)
        return end if isinstance(end, str) else None

    def close(self) -> None:
        pass


def new_session(
    kept: list[Result], sensor: Sensor | None = None, device: str = "CPU", **more: Any
) -> Session:
    """A session on a device behind a sensor, or on one that nobody watches; `kept` gets every result."""
    info = sensor.info() if sensor is not None else None
    result = replace(store.begun("gpuwise bench", environment(info, device=device)), id="test")
    return Session(result=result, keep=kept.append, sensor=sensor, gpu=gpu_of(info), **more)
