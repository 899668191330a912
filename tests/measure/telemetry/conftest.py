"""A pynvml that needs no driver: one healthy H200 by default, any answer can be replaced."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gpuwise.measure.telemetry.sensor import DeviceInfo, Sample


class NVMLError(Exception):
    """As in pynvml: the root of what a query raises."""


class NVMLLibraryMismatchError(Exception):
    """As in pynvml: no NVMLError, though a query raises it."""


ANSWERS: dict[str, Any] = {
    "nvmlSystemGetDriverVersion": "580.159.04",
    "nvmlSystemGetCudaDriverVersion_v2": 13000,
    "nvmlDeviceGetName": "NVIDIA H200",
    "nvmlDeviceGetUUID": "GPU-8f1c",
    "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=150_754_820_096, used=1_000_000),
    "nvmlDeviceGetCudaComputeCapability": (9, 0),
    "nvmlDeviceGetEnforcedPowerLimit": 700_000,
    "nvmlDeviceGetPowerManagementLimit": 650_000,
    "nvmlDeviceGetPowerManagementDefaultLimit": 700_000,
    "nvmlDeviceGetMaxClockInfo": {1: 1980, 2: 3201},
    "nvmlDeviceGetClockInfo": {1: 345, 2: 3201},
    "nvmlDeviceGetEccMode": [1, 1],
    "nvmlDeviceGetMigMode": [0, 1],
    "nvmlDeviceGetPersistenceMode": 1,
    "nvmlDeviceGetCurrPcieLinkGeneration": 1,
    "nvmlDeviceGetMaxPcieLinkGeneration": 5,
    "nvmlDeviceGetCurrPcieLinkWidth": 16,
    "nvmlDeviceGetMaxPcieLinkWidth": 16,
    "nvmlDeviceGetTotalEnergyConsumption": 5_000_250,
    "nvmlDeviceGetPowerUsage": 76_500,
    "nvmlDeviceGetTemperatureV": 31,
    "nvmlDeviceGetCurrentClocksEventReasons": 0x01,
    "nvmlDeviceGetSerial": "1652923001234",
    "nvmlDeviceGetTotalEccErrors": 0,
    "nvmlDeviceGetRemappedRows": (0, 0, 0, 0),
    "nvmlDeviceGetTemperatureThreshold": 92,
    "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=25, memory=5),
    "nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=42, usedGpuMemory=None)],
}


class FakeNvml(ModuleType):
    """Answers from `answers`; an exception there is raised, a missing one has no function."""

    NVMLError = NVMLError
    NVMLLibraryMismatchError = NVMLLibraryMismatchError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    NVML_NVLINK_ERROR_DL_REPLAY, NVML_NVLINK_ERROR_DL_RECOVERY, NVML_NVLINK_ERROR_DL_CRC_FLIT = 0, 1, 2
    NVML_AGGREGATE_ECC, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN = 1, 1
    NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 0, 1

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.answers = dict(ANSWERS)
        self.asked: list[str] = []
        self.count = 1
        self.lost: set[int] = set()
        self.references = 0
        self.no_driver = False

    def nvmlInit(self) -> None:
        if self.no_driver:
            raise NVMLError("Driver Not Loaded")
        self.references += 1

    def nvmlShutdown(self) -> None:
        self.references -= 1

    def nvmlDeviceGetCount(self) -> int:
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        if index >= self.count or index in self.lost:
            raise NVMLError("GPU is lost")
        return f"handle {index}"

    def __getattr__(self, name: str) -> Any:
        answers = self.__dict__.get("answers", {})
        if name not in answers:
            raise AttributeError(name)

        def ask(*arguments: Any) -> Any:
            self.asked.append(name)
            answer = answers[name]
            if isinstance(answer, Exception):
                raise answer
            return answer[arguments[-1]] if isinstance(answer, dict) else answer

        return ask


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """The fake in place of pynvml."""
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


@pytest.fixture
def h200() -> DeviceInfo:
    """A healthy idle H200."""
    return DeviceInfo(
        index=0,
        name="NVIDIA H200",
        uuid="GPU-8f1c",
        memory_bytes=150_754_820_096,
        driver="580.159.04",
        cuda_driver="13.0",
        compute_capability="9.0",
        power_limit_w=700.0,
        power_limit_default_w=700.0,
        sm_clock_max_hz=1.98e9,
        ecc=True,
        mig=False,
        pcie_generation=5,
        pcie_generation_max=5,
        pcie_width=16,
        pcie_width_max=16,
    )


@pytest.fixture
def cool() -> Sample:
    """What a healthy idle card reads."""
    return Sample(at_s=0.0, power_w=76.0, sm_clock_hz=345e6, temperature_c=31.0)
