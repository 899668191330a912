"""Sample a sensor from a thread of the parent process, off the measured process's path."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from gpuwise.telemetry.protocol import Sample, Sensor


class Sampler:
    """Collects samples between `__enter__` and `__exit__`.

    A sensor that fails ends the sampling, not the measurement: `error` then holds its words.
    Without a sensor nothing is collected.
    """

    def __init__(
        self, sensor: Sensor | None, period_s: float = 0.1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sensor, self._period_s, self._clock = sensor, period_s, clock
        self._samples: list[Sample] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._busy_s = self._wall_s = 0.0
        self.error: str | None = None

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Everything collected so far, in order."""
        return tuple(self._samples)

    @property
    def cost_share(self) -> float:
        """Processor time of the sampling over wall time."""
        return self._busy_s / self._wall_s if self._wall_s else 0.0

    def __enter__(self) -> Sampler:
        if self._sensor is not None:
            self._thread = threading.Thread(target=self._run, args=(self._sensor,), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, sensor: Sensor) -> None:
        began = self._clock()
        while not self._stop.is_set():
            try:
                self._samples.append(sensor.sample())
            except Exception as error:  # noqa: BLE001  a driver may fail in any way; the run goes on
                self.error = f"{type(error).__name__}: {error}"
                return
            self._busy_s, self._wall_s = time.thread_time(), self._clock() - began
            self._stop.wait(self._period_s)
