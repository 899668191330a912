"""AMD devices through AMD SMI (the `amdsmi` package of ROCm), the library behind `amd-smi`.

As with NVML every query may be missing, so each is asked on its own; AMD SMI also answers "N/A" or
the largest number of a field's type where it has nothing to report. Only queries are used.

Written from the documentation and tested with recorded answers, not yet on a real AMD device.
Reference: https://rocm.docs.amd.com/projects/amdsmi/en/latest/reference/amdsmi-py-api.html
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from gpuwise.errors import MachineError
from gpuwise.measure.telemetry.sensor import SLOWING, DeviceInfo, Process, Sample, Sensor, Wear, maybe, scaled

# What AMD SMI puts into a field that the device does not have.
UNKNOWN = (0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)

# Counters of the MI300 series that grow while the clock is lowered for that reason.
RESIDENCY = {counter: row["reason"] for row in SLOWING for counter in row["amd"].split()}

# Power caps above this are microwatts: releases differ in the unit, cards have below 3,000 W.
MICRO_FROM = 1e5


def sensors() -> tuple[Sensor, ...]:
    """A sensor for each AMD device that answers; empty without library, driver or device."""
    try:
        import amdsmi
    except (ImportError, KeyError, OSError, AttributeError):
        # The package looks for its shared library when it is imported and fails in several ways.
        return ()
    try:
        amdsmi.amdsmi_init()
        return tuple(AmdSensor(i) for i in range(len(amdsmi.amdsmi_get_processor_handles())))
    except (amdsmi.AmdSmiException, MachineError):
        return ()


class AmdSensor(Sensor):
    """The device with this index in AMD SMI's order. Raises MachineError where there is none. AMD SMI keeps
    no count of its users, so nothing is shut down at the end."""

    def __init__(self, index: int) -> None:
        import amdsmi

        self._smi: Any = amdsmi
        self._index = index
        self._info: DeviceInfo | None = None
        self._residency: dict[str, float] = {}
        try:
            amdsmi.amdsmi_init()
            self._handle = amdsmi.amdsmi_get_processor_handles()[index]
        except (amdsmi.AmdSmiException, IndexError) as error:
            raise MachineError(f"AMD GPU {index} does not answer: {error}", hint="amd-smi list") from error

    def info(self) -> DeviceInfo:
        """The constants of the device; read once (`amd-smi static`)."""
        if self._info is None:
            asic, cap = self._fields("amdsmi_get_gpu_asic_info"), self._fields("amdsmi_get_power_cap_info")
            pcie = self._fields("amdsmi_get_pcie_info")
            static, now = pcie.get("pcie_static") or {}, pcie.get("pcie_metric") or {}
            clock = self._fields("amdsmi_get_clock_info", self._member("AmdSmiClkType", "GFX"))
            memory = self._fields("amdsmi_get_clock_info", self._member("AmdSmiClkType", "MEM"))
            self._info = DeviceInfo(
                index=self._index,
                vendor="AMD",
                name=str(asic.get("market_name") or "unknown AMD GPU"),
                uuid=_text(self._ask("amdsmi_get_gpu_device_uuid")),
                serial=_text(asic.get("asic_serial")),
                memory_bytes=maybe(int, self._memory("amdsmi_get_gpu_memory_total")),
                driver=_text(self._fields("amdsmi_get_gpu_driver_info").get("driver_version")),
                power_limit_w=_watts(_first(cap, "power_cap")),
                power_limit_default_w=_watts(_first(cap, "default_power_cap")),
                sm_clock_max_hz=scaled(1e6, _first(clock, "max_clk")),
                memory_clock_max_hz=scaled(1e6, _first(memory, "max_clk")),
                pcie_generation_max=maybe(int, _first(static, "pcie_interface_version")),
                pcie_width=maybe(int, _first(now, "pcie_width")),
                pcie_width_max=maybe(int, _first(static, "max_pcie_width")),
            )
        return self._info

    def sample(self) -> Sample:
        """One reading of everything that changes (`amd-smi metric`)."""
        at_s, energy = time.monotonic(), self._fields("amdsmi_get_energy_count")
        # Accumulator ticks times microjoules a tick; older releases call the former `power`.
        ticks, micro = _first(energy, "energy_accumulator", "power"), _first(energy, "counter_resolution")
        busy = _first(self._fields("amdsmi_get_gpu_activity"), "gfx_activity")
        power = self._fields("amdsmi_get_power_info")
        clock = self._fields("amdsmi_get_clock_info", self._member("AmdSmiClkType", "GFX"))
        memory = self._fields("amdsmi_get_clock_info", self._member("AmdSmiClkType", "MEM"))
        # Reasons whose counter has grown since the last sample
        metrics = self._fields("amdsmi_get_gpu_metrics_info")
        now = {key: value for key in RESIDENCY if (value := _first(metrics, key)) is not None}
        grown = [RESIDENCY[key] for key, value in now.items() if value > self._residency.get(key, value)]
        self._residency = now
        return Sample(
            at_s=at_s,
            power_w=_first(power, "current_socket_power", "average_socket_power", "socket_power"),
            energy_j=None if ticks is None or micro is None else ticks * micro / 1e6,
            sm_clock_hz=scaled(1e6, _first(clock, "clk", "cur_clk")),
            memory_clock_hz=scaled(1e6, _first(memory, "clk", "cur_clk")),
            temperature_c=self._temperature(),
            throttle=tuple(dict.fromkeys(grown)),
            memory_used_bytes=maybe(int, self._memory("amdsmi_get_gpu_memory_usage")),
            utilisation=None if busy is None else busy / 100,
        )

    def processes(self) -> tuple[Process, ...]:
        """Processes that compute on it now (`amd-smi process`)."""
        processes = self._ask("amdsmi_get_gpu_process_list") or ()
        listed = [entry for entry in processes if isinstance(entry, Mapping) and "pid" in entry]
        return tuple(
            Process(pid=int(p["pid"]), memory_bytes=maybe(int, _number(p.get("mem")))) for p in listed
        )

    def wear(self) -> Wear:
        """ECC errors since the driver was loaded, and the critical temperature (`amd-smi metric --ecc`)."""
        counted = self._fields("amdsmi_get_gpu_total_ecc_count")
        return Wear(
            ecc_corrected=maybe(int, _first(counted, "correctable_count")),
            ecc_uncorrected=maybe(int, _first(counted, "uncorrectable_count")),
            slowdown_c=self._temperature("CRITICAL"),
        )

    def _temperature(self, which: str = "CURRENT") -> float | None:
        """The hottest point of the chip in C, else its edge; `which` may also name a limit of it."""
        for kind in ("HOTSPOT", "JUNCTION", "EDGE"):
            sensor = self._member("AmdSmiTemperatureType", kind)
            metric = self._member("AmdSmiTemperatureMetric", which)
            celsius = None if sensor is None else _number(self._ask("amdsmi_get_temp_metric", sensor, metric))
            if celsius:
                return celsius
        return None

    def _memory(self, query: str) -> float | None:
        kind = self._member("AmdSmiMemoryType", "VRAM")
        return None if kind is None else _number(self._ask(query, kind))

    def _member(self, enumeration: str, name: str) -> Any:
        return getattr(getattr(self._smi, enumeration, None), name, None)

    def _fields(self, query: str, *arguments: Any) -> Mapping[str, Any]:
        answer = self._ask(query, *arguments)
        return answer if isinstance(answer, Mapping) else {}

    def _ask(self, query: str, *arguments: Any) -> Any:
        """The answer of one query, or None where AMD SMI has none."""
        function = getattr(self._smi, query, None)
        if function is None or None in arguments:
            return None
        try:
            return function(self._handle, *arguments)
        except (self._smi.AmdSmiException, UnicodeDecodeError):
            return None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value in UNKNOWN:
        return None
    return float(value)


def _first(fields: Mapping[str, Any], *names: str) -> float | None:
    """The first of these fields that holds a number."""
    return next((value for name in names if (value := _number(fields.get(name))) is not None), None)


def _watts(value: float | None) -> float | None:
    return value / 1e6 if value is not None and value > MICRO_FROM else value


def _text(value: Any) -> str | None:
    return None if value in (None, "", "N/A") else str(value)
