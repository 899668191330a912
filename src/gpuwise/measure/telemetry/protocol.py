"""What a device reports of itself, and how it is asked. None = it does not report it.

The comment beside a field is the column of `nvidia-smi --query-gpu=...` that shows the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo:
    """What does not change while a measurement runs."""

    index: int  # index
    name: str  # name
    vendor: str = "NVIDIA"
    """NVIDIA or AMD: whose library answers, and whose build of torch is needed."""
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

    at_s: float
    """Monotonic clock, seconds."""
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
