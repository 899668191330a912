"""Read a sensor: from a thread of the parent process while a child measures, and until a card is cool."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from gpuwise.measure.telemetry.protocol import Sample, Sensor
from gpuwise.model.issue import Issue

# Longest wait for the last sample at the end: a driver that hangs must not hang the run.
STOP_S = 2.0


class Sampler:
    """Collects samples between `__enter__` and `__exit__`, one every `period_s` seconds.

    A sensor that fails ends the sampling, not the measurement: `error` then says how.
    Without a sensor nothing is collected. `clock` times the sampling itself; samples carry the
    sensor's own time. One more sample is taken at the end, so that the last window is covered.
    """

    def __init__(
        self, sensor: Sensor | None, period_s: float = 0.1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sensor, self._period_s, self._clock = sensor, period_s, clock
        self._samples: list[Sample] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._began_s: float | None = None
        self._ended_s: float | None = None
        self._busy_s = 0.0
        self.error: str | None = None

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Everything collected so far, in order."""
        return tuple(self._samples)

    @property
    def cost_share(self) -> float:
        """Processor time of the sampling thread over wall time so far; 0 before it has begun."""
        if self._began_s is None:
            return 0.0
        wall_s = (self._clock() if self._ended_s is None else self._ended_s) - self._began_s
        return self._busy_s / wall_s if wall_s > 0 else 0.0

    def __enter__(self) -> Sampler:
        self._began_s = self._clock()
        if self._sensor is not None:
            self._thread = threading.Thread(
                target=self._run, args=(self._sensor,), name="gpuwise-sampler", daemon=True
            )
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(STOP_S)
            if self._thread.is_alive():
                self.error = f"the sensor did not answer for {STOP_S:.0f} s"
        self._ended_s = self._clock()

    def _run(self, sensor: Sensor) -> None:
        while self._take(sensor) and not self._stop.wait(self._period_s):
            pass
        if self.error is None:
            self._take(sensor)

    def _take(self, sensor: Sensor) -> bool:
        """One sample; False where the sensor failed, or has lost its device and returns nothing any more."""
        try:
            taken = sensor.sample()
            if _silent(taken) and self._samples and not _silent(self._samples[-1]):
                raise LookupError("the sensor stopped returning values")
            self._samples.append(taken)
        except Exception as error:  # noqa: BLE001  a driver may fail in any way; the run goes on
            self.error = f"{type(error).__name__}: {error}"
        self._busy_s = time.thread_time()
        return self.error is None


def _silent(sample: Sample) -> bool:
    """Whether it holds nothing but its time, as from a device that has left the bus."""
    return sample == Sample(at_s=sample.at_s)


def wait_until_cool(
    sensor: Sensor,
    *,
    below_c: float = 50.0,
    timeout_s: float = 120.0,
    poll_s: float = 0.2,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Issue | None:
    """Wait until the device is below `below_c`; a hot-start caution where it is not in time.

    A hot card starts with lower clocks. A device that reports no temperature, or fails, is taken as cool.
    """
    began_s = clock()
    while True:
        try:
            temperature, waited_s = sensor.sample().temperature_c, clock() - began_s
        except Exception:  # noqa: BLE001  a driver may fail in any way; the run goes on
            return None
        if temperature is None or temperature < below_c:
            return None
        if waited_s >= timeout_s:
            return Issue(
                code="hot-start",
                severity="warning",
                detail=f"started at {temperature:.0f} °C, not below {below_c:.0f} °C, after {waited_s:.0f} s",
                fix="improve the cooling, or let the device rest and run again",
            )
        sleep(min(poll_s, timeout_s - waited_s))
