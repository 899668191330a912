"""A sensor that plays a script, for tests and tools, and to try gpuwise without a GPU; and a clock for it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gpuwise.measure.telemetry.sensor import DeviceInfo, Process, Sample, Wear


class ScriptedSensor:
    """A sensor that plays a script, for tests and for trying gpuwise without a GPU.

    Replays `samples` in order and repeats the last. Raises ValueError without any."""

    def __init__(
        self,
        info: DeviceInfo,
        samples: Sequence[Sample],
        processes: tuple[Process, ...] = (),
        wear: Wear | None = None,
    ) -> None:
        if not samples:
            raise ValueError("a script needs at least one sample")
        self._info, self._samples, self._processes, self._wear = (
            info,
            tuple(samples),
            processes,
            wear or Wear(),
        )
        self._next = 0

    def info(self) -> DeviceInfo:
        """The device of the script."""
        return self._info

    def sample(self) -> Sample:
        """The next sample, at the time that the script gives it."""
        sample = self._samples[min(self._next, len(self._samples) - 1)]
        self._next += 1
        return sample

    def processes(self) -> tuple[Process, ...]:
        """The processes of the script."""
        return self._processes

    def wear(self) -> Wear:
        """The wear of the script."""
        return self._wear

    def close(self) -> None:
        """Nothing is held."""


class ScriptedClock:
    """In the place of `time` where only sleeping takes any, and that at once."""

    strftime = staticmethod(time.strftime)

    def __init__(self, now_s: float = 0.0) -> None:
        self._now_s = now_s

    def monotonic(self) -> float:
        """Seconds, `now_s` at first, of which only `sleep` makes more."""
        return self._now_s

    def sleep(self, seconds: float) -> None:
        """Go on at once, that much later."""
        self._now_s += seconds
