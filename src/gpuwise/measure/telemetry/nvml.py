"""NVIDIA devices through NVML (nvidia-ml-py), the library behind nvidia-smi.

Every query may be missing on some card, driver or partition, so each is asked on its own and
answers None where NVML refuses. Only queries are used: nothing is ever set.

Reference: https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

from gpuwise.errors import MachineError
from gpuwise.measure.telemetry.sensor import SLOWING, DeviceInfo, Process, Sample, Sensor, Wear, maybe, scaled
from gpuwise.model.result import Link

# Set when nothing runs; a low clock is then wanted and is not throttling.
IDLE = 0x01

# Bits of nvmlClocksEventReasons that lower the clock. 0x20 is heat as the driver sees it, 0x40 as the
# hardware does; the remedy is the same.
REASONS = {int(row["bit"], 16): row["reason"] for row in SLOWING}


def reasons(bits: int | None) -> tuple[str, ...]:
    """The names of the reasons set in `bits`, each once; `other` for a bit that is not known here."""
    left = (bits or 0) & ~IDLE
    names = [name for bit, name in REASONS.items() if left & bit]
    unknown = ["other"] if left & ~sum(REASONS) else []
    return tuple(dict.fromkeys(names + unknown))


def sensors() -> tuple[Sensor, ...]:
    """A sensor for each NVIDIA device that answers; empty without library, driver or device."""
    try:
        import pynvml
    except ImportError:
        return ()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    sensors: list[Sensor] = []
    for index in range(_call(pynvml, "nvmlDeviceGetCount") or 0):
        with suppress(MachineError):  # one card that fell off the bus must not hide the others
            sensors.append(NvmlSensor(index))
    # Each sensor holds its own reference: NVML counts them.
    with suppress(pynvml.NVMLError):
        pynvml.nvmlShutdown()
    return tuple(sensors)


class NvmlSensor:
    """The device with this index in NVML's order, which is nvidia-smi's (by PCI bus). Raises MachineError
    where there is no such device."""

    def __init__(self, index: int) -> None:
        import pynvml

        self._nvml: Any = pynvml
        self._index = index
        self._info: DeviceInfo | None = None
        self._open = False
        try:
            pynvml.nvmlInit()
            self._open = True
            self._handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        except pynvml.NVMLError as error:
            self.close()
            raise MachineError(f"GPU {index} does not answer: {error}", hint="nvidia-smi -L") from error

    def close(self) -> None:
        """Give back the reference to NVML; queries then answer None."""
        if self._open:
            self._open = False
            _call(self._nvml, "nvmlShutdown")

    def _ask(self, query: str, *arguments: Any) -> Any:
        """The answer of one query about this device, or None where NVML has none."""
        return _call(self._nvml, query, self._handle, *arguments)

    def _either(self, new: str, old: str, *arguments: Any) -> Any:
        """`new`, or `old` where library or driver do not know `new`."""
        answer = self._ask(new, *arguments)
        return self._ask(old, *arguments) if answer is None else answer

    def info(self) -> DeviceInfo:
        """The constants of the device; read once, as some answers take milliseconds."""
        if self._info is None:
            n = self._nvml
            limit = self._either("nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit")
            cuda = _call(n, "nvmlSystemGetCudaDriverVersion_v2")  # 13000 is 13.0
            capability = self._ask("nvmlDeviceGetCudaComputeCapability")
            self._info = DeviceInfo(
                index=self._index,
                name=_text(self._ask("nvmlDeviceGetName")) or "unknown NVIDIA GPU",
                uuid=_text(self._ask("nvmlDeviceGetUUID")),
                serial=_text(self._ask("nvmlDeviceGetSerial")),
                memory_bytes=maybe(lambda memory: int(memory.total), self._ask("nvmlDeviceGetMemoryInfo")),
                driver=_text(_call(n, "nvmlSystemGetDriverVersion")),
                cuda_driver=None if cuda is None else f"{cuda // 1000}.{cuda % 1000 // 10}",
                compute_capability=None if capability is None else f"{capability[0]}.{capability[1]}",
                power_limit_w=scaled(1e-3, limit),
                power_limit_default_w=scaled(1e-3, self._ask("nvmlDeviceGetPowerManagementDefaultLimit")),
                sm_clock_max_hz=scaled(1e6, self._ask("nvmlDeviceGetMaxClockInfo", n.NVML_CLOCK_SM)),
                memory_clock_max_hz=scaled(1e6, self._ask("nvmlDeviceGetMaxClockInfo", n.NVML_CLOCK_MEM)),
                ecc=maybe(lambda modes: bool(modes[0]), self._ask("nvmlDeviceGetEccMode")),
                mig=maybe(lambda modes: bool(modes[0]), self._ask("nvmlDeviceGetMigMode")),
                pcie_generation=self._ask("nvmlDeviceGetCurrPcieLinkGeneration"),
                pcie_generation_max=self._ask("nvmlDeviceGetMaxPcieLinkGeneration"),
                pcie_width=self._ask("nvmlDeviceGetCurrPcieLinkWidth"),
                pcie_width_max=self._ask("nvmlDeviceGetMaxPcieLinkWidth"),
            )
        return self._info

    def sample(self) -> Sample:
        """One reading of everything that changes."""
        n = self._nvml
        # The counter right after the clock: energy is interpolated in time, the rest is not.
        at_s, energy = time.monotonic(), self._ask("nvmlDeviceGetTotalEnergyConsumption")
        bits = self._either(
            "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"
        )
        heat = self._either("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature", n.NVML_TEMPERATURE_GPU)
        return Sample(
            at_s=at_s,
            power_w=scaled(1e-3, self._ask("nvmlDeviceGetPowerUsage")),
            energy_j=scaled(1e-3, energy),
            sm_clock_hz=scaled(1e6, self._ask("nvmlDeviceGetClockInfo", n.NVML_CLOCK_SM)),
            memory_clock_hz=scaled(1e6, self._ask("nvmlDeviceGetClockInfo", n.NVML_CLOCK_MEM)),
            temperature_c=maybe(float, heat),
            throttle=reasons(bits),
            memory_used_bytes=maybe(lambda memory: int(memory.used), self._ask("nvmlDeviceGetMemoryInfo")),
            utilisation=maybe(
                lambda rates: float(rates.gpu) / 100, self._ask("nvmlDeviceGetUtilizationRates")
            ),
            pcie_generation=self._ask("nvmlDeviceGetCurrPcieLinkGeneration"),
            pcie_width=self._ask("nvmlDeviceGetCurrPcieLinkWidth"),
        )

    def wear(self) -> Wear:
        """Lifetime counts from the board's own memory; cards without ECC report none."""
        n = self._nvml
        life, slowdown = n.NVML_AGGREGATE_ECC, n.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
        corrected, uncorrected = n.NVML_MEMORY_ERROR_TYPE_CORRECTED, n.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
        _, rows, pending, failed = self._ask("nvmlDeviceGetRemappedRows") or (None,) * 4
        return Wear(
            ecc_corrected=self._ask("nvmlDeviceGetTotalEccErrors", corrected, life),
            ecc_uncorrected=self._ask("nvmlDeviceGetTotalEccErrors", uncorrected, life),
            rows_remapped=rows,
            remap_pending=maybe(bool, pending),
            remap_failed=maybe(bool, failed),
            slowdown_c=maybe(float, self._ask("nvmlDeviceGetTemperatureThreshold", slowdown)),
            nvlink_replays=self._of_links(n.NVML_NVLINK_ERROR_DL_REPLAY, None),
            nvlink_recoveries=self._of_links(n.NVML_NVLINK_ERROR_DL_RECOVERY, RECOVERIES),
            nvlink_crc_errors=self._of_links(n.NVML_NVLINK_ERROR_DL_CRC_FLIT, DAMAGED),
            pcie_replays=self._ask("nvmlDeviceGetPcieReplayCounter"),
        )

    def _of_links(self, counter: int, field: int | None) -> int | None:
        """A counter of errors over all NVLinks, since NVLink 5 a field of each; None for a card without."""
        each = [self._ask("nvmlDeviceGetNvLinkErrorCounter", link, counter) for link in range(NVLINKS)]
        if field is not None and not any(count is not None for count in each):
            fields = self._ask("nvmlDeviceGetFieldValues", [(field, link) for link in range(NVLINKS)]) or ()
            each = [int(one.value.ullVal) if one.nvmlReturn == 0 else None for one in fields]
        counts = [count for count in each if count is not None]
        return sum(counts) if counts else None

    def processes(self) -> tuple[Process, ...]:
        """Compute processes; a desktop's graphics processes do not count."""
        processes = self._either(
            "nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetComputeRunningProcesses_v2"
        )
        return tuple(Process(pid=p.pid, memory_bytes=p.usedGpuMemory) for p in processes or ())


def _call(nvml: Any, query: str, *arguments: Any) -> Any:
    """The answer of one query, or None where library or driver has none."""
    function = getattr(nvml, query, None)
    # Two are not NVMLErrors: a driver older than this library raises the second (processes, before 510); some
    # drivers give names that are not text (555 under WSL, gpuopenanalytics/pynvml#53).
    mismatch = getattr(nvml, "NVMLLibraryMismatchError", nvml.NVMLError)
    try:
        return None if function is None else function(*arguments)
    except (nvml.NVMLError, mismatch, UnicodeDecodeError):
        return None


def _text(value: str | bytes | None) -> str | None:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


# Nearest common ancestor on PCIe, by nvmlGpuTopologyLevel_t; two chips of one board are near as PIX.
PATHS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
# Most NVLinks of one GPU so far.
NVLINKS = 18
# Fields of nvml.h by link: successful recoveries, and errors of received packets.
RECOVERIES, DAMAGED = 213, 208
# Of nvmlGpuP2PCapsIndex_t, as numbers: the library's name of the first is a tuple (13.580).
READ, NVLINK = 0, 2


def links(indices: Sequence[int]) -> tuple[Link, ...]:
    """The link of every pair of the GPUs with these indices, numbered in their order, as `nvidia-smi topo -m`
    and `-p2p r` show it. Empty without NVML. Only queries are used."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # noqa: BLE001  no library or no driver: nothing is known
        return ()
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in indices]
        links = []
        for (a, one), (b, other) in combinations(enumerate(handles), 2):
            reads = _call(pynvml, "nvmlDeviceGetP2PStatus", one, other, READ)
            if _call(pynvml, "nvmlDeviceGetP2PStatus", one, other, NVLINK) == pynvml.NVML_P2P_STATUS_OK:
                states = [_call(pynvml, "nvmlDeviceGetNvLinkState", one, n) for n in range(NVLINKS)]
                path = f"NV{states.count(1)}"
            else:
                level = _call(pynvml, "nvmlDeviceGetTopologyCommonAncestor", one, other)
                path = PATHS.get(level, "unknown")
            peer = None if reads is None else reads == pynvml.NVML_P2P_STATUS_OK
            links.append(Link(a=a, b=b, path=path, peer=peer))
        return tuple(links)
    except pynvml.NVMLError:
        return ()
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()
