"""What a device reports of itself, how it is asked, and a thread that asks while a child measures.

None = the device does not report it. The comment beside a field is the column of `nvidia-smi --query-gpu=...`
that shows the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from gpuwise.model.issue import Issue


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo:
    """What does not change while a measurement runs."""

    index: int  # index
    name: str  # name
    vendor: str = "NVIDIA"  # NVIDIA or AMD: whose library answers, and whose build of torch is needed
    uuid: str | None = None  # uuid; never written to a result
    serial: str | None = None  # serial; never written to a result
    memory_bytes: int | None = None  # memory.total
    driver: str | None = None  # driver_version
    cuda_driver: str | None = None  # the CUDA version in the header of nvidia-smi, such as 13.0
    compute_capability: str | None = None  # compute_cap
    power_limit_w: float | None = None  # enforced.power.limit, else power.limit
    power_limit_default_w: float | None = None  # power.default_limit
    sm_clock_max_hz: float | None = None  # clocks.max.sm
    memory_clock_max_hz: float | None = None  # clocks.max.memory
    ecc: bool | None = None  # ecc.mode.current
    mig: bool | None = None  # mig.mode.current
    persistence: bool | None = None  # persistence_mode
    pcie_generation: int | None = None  # pcie.link.gen.gpucurrent (falls when idle)
    pcie_generation_max: int | None = None  # pcie.link.gen.max
    pcie_width: int | None = None  # pcie.link.width.current
    pcie_width_max: int | None = None  # pcie.link.width.max


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What changes, at one moment."""

    at_s: float  # Monotonic clock, seconds
    power_w: float | None = None  # power.draw; the mean of the last second on Ampere (not GA100) and later
    energy_j: float | None = None  # since the driver was loaded; `dcgmi dmon -e 156`, not in nvidia-smi
    sm_clock_hz: float | None = None  # clocks.current.sm
    memory_clock_hz: float | None = None  # clocks.current.memory
    temperature_c: float | None = None  # temperature.gpu
    throttle: tuple[str, ...] = ()  # clocks_event_reasons.active (before driver 535: clocks_throttle_reasons)
    memory_used_bytes: int | None = None  # memory.used
    utilisation: float | None = None  # utilization.gpu, as a share
    pcie_generation: int | None = None  # pcie.link.gen.gpucurrent
    pcie_width: int | None = None  # pcie.link.width.current


@dataclass(frozen=True, slots=True, kw_only=True)
class Wear:
    """Faults that the device has counted in its life, and the heat at which it slows down."""

    ecc_corrected: int | None = None  # ecc.errors.corrected.aggregate.total
    ecc_uncorrected: int | None = None  # ecc.errors.uncorrected.aggregate.total
    rows_remapped: int | None = None  # remapped_rows.uncorrectable
    remap_pending: bool | None = None  # remapped_rows.pending: the device wants a reset
    remap_failed: bool | None = None  # remapped_rows.failure: no spare row was left
    slowdown_c: float | None = None  # GPU Slowdown Temp of `nvidia-smi -q -d TEMPERATURE`


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A compute process on the device (`nvidia-smi --query-compute-apps=pid,used_memory`)."""

    pid: int
    memory_bytes: int | None = None


class Sensor(Protocol):
    """One device, read only. What it cannot tell is None; a failing device may raise."""

    def info(self) -> DeviceInfo:
        """What does not change (`nvidia-smi -q`)."""
        ...

    def sample(self) -> Sample:
        """One reading of everything that changes (`nvidia-smi dmon`)."""
        ...

    def processes(self) -> tuple[Process, ...]:
        """Who computes on it now (`nvidia-smi pmon`)."""
        ...

    def wear(self) -> Wear:
        """What the device has suffered so far (`nvidia-smi -q -d ECC,ROW_REMAPPER`)."""
        ...

    def close(self) -> None:
        """Let go of the library; a second call does nothing."""
        ...


class ScriptedSensor:
    """A sensor that plays a script, for tests and for trying gpuwise without a GPU.

    Replays `samples` in order and repeats the last. Raises ValueError without any."""

    def __init__(
        self,
        info: DeviceInfo,
        samples: Sequence[Sample],
        processes: tuple[Process, ...] = (),
        wear: Wear = Wear(),
    ) -> None:
        if not samples:
            raise ValueError("a script needs at least one sample")
        self._info, self._samples, self._processes, self._wear = info, tuple(samples), processes, wear
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


# Below which a measurement starts: a hot card begins with lower clocks.
COOL_C = 50.0

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
    below_c: float = COOL_C,
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
            return Issue.warning(
                "hot-start",
                f"started at {temperature:.0f} °C, not below {below_c:.0f} °C, after {waited_s:.0f} s",
                "improve the cooling, or let the device rest and run again",
            )
        sleep(min(poll_s, timeout_s - waited_s))
