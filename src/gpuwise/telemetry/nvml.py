"""NVIDIA devices through NVML (nvidia-ml-py), the library behind nvidia-smi.

Every query may be missing on some card, driver or partition, so each is asked on its own and
answers None where NVML refuses; only the device's name is required.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gpuwise.telemetry.protocol import DeviceInfo, Process, Sample, Sensor

REASONS = {
    0x02: "user-clocks",
    0x04: "power-cap",
    0x08: "hw-slowdown",
    0x10: "sync-boost",
    0x20: "thermal",
    0x40: "thermal",
    0x80: "power-brake",
    0x100: "display-clocks",
}
"""Bits of nvmlClocksEventReasons that lower the clock; 0x01, idle, is not throttling."""


def reasons(bits: int | None) -> tuple[str, ...]:
    """The names of the reasons set in `bits`, each once."""
    return tuple(dict.fromkeys(name for bit, name in REASONS.items() if (bits or 0) & bit))


def sensors() -> tuple[Sensor, ...]:
    """A sensor for each NVIDIA device; empty without driver or device."""
    try:
        import pynvml
    except ImportError:
        return ()
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        return tuple(NvmlSensor(index, pynvml) for index in range(count))
    except pynvml.NVMLError:
        return ()


class NvmlSensor:
    """The device with this index in NVML's order, which is nvidia-smi's (by PCI bus)."""

    def __init__(self, index: int, library: Any) -> None:
        self._nvml = library
        self._handle = library.nvmlDeviceGetHandleByIndex(index)
        self._index = index
        self._info: DeviceInfo | None = None

    def _ask(self, query: str, *arguments: Any) -> Any:
        """The answer of one query about this device, or None where NVML has none."""
        return self._call(query, self._handle, *arguments)

    def _call(self, query: str, *arguments: Any) -> Any:
        function = getattr(self._nvml, query, None)
        if function is None:
            return None
        try:
            return function(*arguments)
        except self._nvml.NVMLError:
            return None

    def info(self) -> DeviceInfo:
        """What does not change; asked once, for some answers take milliseconds."""
        if self._info is None:
            self._info = self._read_info()
        return self._info

    def _read_info(self) -> DeviceInfo:
        n = self._nvml
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        capability = self._ask("nvmlDeviceGetCudaComputeCapability")
        return DeviceInfo(
            index=self._index,
            name=_text(n.nvmlDeviceGetName(self._handle)),
            uuid=_maybe(_text, self._ask("nvmlDeviceGetUUID")),
            memory_bytes=None if memory is None else int(memory.total),
            driver=_maybe(_text, self._call("nvmlSystemGetDriverVersion")),
            cuda_driver=_maybe(_cuda_version, self._call("nvmlSystemGetCudaDriverVersion_v2")),
            compute_capability=_maybe(lambda c: f"{c[0]}.{c[1]}", capability),
            power_limit_w=_maybe(_thousandth, self._ask("nvmlDeviceGetEnforcedPowerLimit")),
            power_limit_default_w=_maybe(_thousandth, self._ask("nvmlDeviceGetPowerManagementDefaultLimit")),
            sm_clock_max_hz=_maybe(_mega, self._ask("nvmlDeviceGetMaxClockInfo", n.NVML_CLOCK_SM)),
            memory_clock_max_hz=_maybe(_mega, self._ask("nvmlDeviceGetMaxClockInfo", n.NVML_CLOCK_MEM)),
            ecc=_maybe(_first_flag, self._ask("nvmlDeviceGetEccMode")),
            mig=_maybe(_first_flag, self._ask("nvmlDeviceGetMigMode")),
            persistence=_maybe(bool, self._ask("nvmlDeviceGetPersistenceMode")),
            pcie_generation=self._ask("nvmlDeviceGetCurrPcieLinkGeneration"),
            pcie_generation_max=self._ask("nvmlDeviceGetMaxPcieLinkGeneration"),
            pcie_width=self._ask("nvmlDeviceGetCurrPcieLinkWidth"),
            pcie_width_max=self._ask("nvmlDeviceGetMaxPcieLinkWidth"),
        )

    def sample(self) -> Sample:
        """One reading of everything that changes."""
        n = self._nvml
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:
            # The name before driver 535.
            bits = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        busy = self._ask("nvmlDeviceGetUtilizationRates")
        return Sample(
            at_s=time.monotonic(),
            power_w=_maybe(_thousandth, self._ask("nvmlDeviceGetPowerUsage")),
            energy_j=_maybe(_thousandth, self._ask("nvmlDeviceGetTotalEnergyConsumption")),
            sm_clock_hz=_maybe(_mega, self._ask("nvmlDeviceGetClockInfo", n.NVML_CLOCK_SM)),
            memory_clock_hz=_maybe(_mega, self._ask("nvmlDeviceGetClockInfo", n.NVML_CLOCK_MEM)),
            temperature_c=_maybe(float, self._ask("nvmlDeviceGetTemperature", n.NVML_TEMPERATURE_GPU)),
            throttle=reasons(bits),
            memory_used_bytes=None if memory is None else int(memory.used),
            utilisation=None if busy is None else busy.gpu / 100,
        )

    def processes(self) -> tuple[Process, ...]:
        """Compute processes; a desktop's graphics processes do not count."""
        found = self._ask("nvmlDeviceGetComputeRunningProcesses") or ()
        return tuple(Process(pid=p.pid, memory_bytes=p.usedGpuMemory) for p in found)


def _maybe(convert: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else convert(value)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _thousandth(value: int) -> float:
    """Milliwatts to watts, millijoules to joules."""
    return value / 1e3


def _mega(value: int) -> float:
    return value * 1e6


def _first_flag(pair: Any) -> bool:
    """(current, pending) modes -> current."""
    return bool(pair[0])


def _cuda_version(number: int) -> str:
    """13000 -> 13.0."""
    return f"{number // 1000}.{number % 1000 // 10}"
