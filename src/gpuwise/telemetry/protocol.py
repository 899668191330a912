"""What a device tells of itself, and how it is asked. None = it does not tell.

The comment beside a field is the column of `nvidia-smi --query-gpu=...` that shows the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo:
    """What does not change while a measurement runs."""

    index: int  # index
    name: str  # name
    uuid: str | None = None  # uuid
    memory_bytes: int | None = None  # memory.total
    driver: str | None = None  # driver_version
    cuda_driver: str | None = None  # the CUDA version in the header of nvidia-smi
    compute_capability: str | None = None  # compute_cap
    power_limit_w: float | None = None  # power.limit
    power_limit_default_w: float | None = None  # power.default_limit
    sm_clock_max_hz: float | None = None  # clocks.max.sm
    memory_clock_max_hz: float | None = None  # clocks.max.memory
    ecc: bool | None = None  # ecc.mode.current
    mig: bool | None = None  # mig.mode.current
    persistence: bool | None = None  # persistence_mode
    pcie_generation: int | None = None  # pcie.link.gen.current (falls when idle)
    pcie_generation_max: int | None = None  # pcie.link.gen.max
    pcie_width: int | None = None  # pcie.link.width.current
    pcie_width_max: int | None = None  # pcie.link.width.max


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What changes, at one moment."""

    at_s: float
    """Monotonic clock, seconds."""
    power_w: float | None = None  # power.draw
    energy_j: float | None = None  # total energy since the driver was loaded
    sm_clock_hz: float | None = None  # clocks.sm
    memory_clock_hz: float | None = None  # clocks.mem
    temperature_c: float | None = None  # temperature.gpu
    throttle: tuple[str, ...] = ()  # clocks_event_reasons.active
    memory_used_bytes: int | None = None  # memory.used
    utilisation: float | None = None  # utilization.gpu, as a share


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A compute process on the device (`nvidia-smi --query-compute-apps=pid,used_memory`)."""

    pid: int
    memory_bytes: int | None = None


class Sensor(Protocol):
    """One device, read only."""

    def info(self) -> DeviceInfo: ...

    def sample(self) -> Sample: ...

    def processes(self) -> tuple[Process, ...]: ...
