"""NVML: units, refusals of every kind, and the references it counts."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gpuwise.errors import MachineError
from gpuwise.measure.telemetry import sensors
from gpuwise.measure.telemetry.nvml import NvmlSensor, reasons
from gpuwise.measure.telemetry.sensor import Wear


def test_info_is_in_si_units(nvml: Any) -> None:
    info = NvmlSensor(0).info()
    assert (info.index, info.name, info.uuid) == (0, "NVIDIA H200", "GPU-8f1c")
    assert (info.driver, info.cuda_driver, info.compute_capability) == ("580.159.04", "13.0", "9.0")
    assert (info.power_limit_w, info.power_limit_default_w) == (700.0, 700.0)
    assert (info.sm_clock_max_hz, info.memory_clock_max_hz) == (1.98e9, 3.201e9)
    # The current mode counts, not the pending one.
    assert (info.ecc, info.mig) == (True, False)
    assert (info.pcie_generation, info.pcie_generation_max) == (1, 5)
    assert (info.pcie_width, info.pcie_width_max) == (16, 16)
    assert info.memory_bytes == 150_754_820_096


def test_sample_is_in_si_units(nvml: Any) -> None:
    sample = NvmlSensor(0).sample()
    assert (sample.power_w, sample.energy_j) == (76.5, 5000.25)
    assert (sample.sm_clock_hz, sample.memory_clock_hz) == (345e6, 3.201e9)
    assert (sample.temperature_c, sample.utilisation) == (31.0, 0.25)
    assert sample.memory_used_bytes == 1_000_000
    assert (sample.pcie_generation, sample.pcie_width) == (1, 16)
    assert sample.throttle == ()
    assert sample.at_s > 0


def test_wear_over_the_card_s_life(nvml: Any) -> None:
    nvml.answers["nvmlDeviceGetRemappedRows"] = (3, 2, 1, 0)
    wear = NvmlSensor(0).wear()
    assert (wear.rows_remapped, wear.remap_pending, wear.remap_failed) == (2, True, False)
    assert (wear.ecc_corrected, wear.ecc_uncorrected, wear.slowdown_c) == (0, 0, 92.0)
    assert NvmlSensor(0).info().serial == "1652923001234"


def test_processes(nvml: Any) -> None:
    (process,) = NvmlSensor(0).processes()
    assert (process.pid, process.memory_bytes) == (42, None)


def test_info_is_asked_once(nvml: Any) -> None:
    sensor = NvmlSensor(0)
    assert sensor.info() is sensor.info()
    assert nvml.asked.count("nvmlDeviceGetName") == 1


@pytest.mark.parametrize("how", ["refused", "missing"])
def test_nothing_is_told(nvml: Any, how: str) -> None:
    for query in list(nvml.answers):
        if how == "refused":
            nvml.answers[query] = nvml.NVMLError("Not Supported")
        else:
            del nvml.answers[query]
    sensor = NvmlSensor(0)
    info, sample = sensor.info(), sensor.sample()
    told = {name: getattr(info, name) for name in info.__slots__ if getattr(info, name) is not None}
    assert told == {"index": 0, "name": "unknown NVIDIA GPU", "vendor": "NVIDIA"}
    told = {name: getattr(sample, name) for name in sample.__slots__ if getattr(sample, name) is not None}
    assert told == {"at_s": sample.at_s, "throttle": ()}
    assert sensor.processes() == ()
    assert sensor.wear() == Wear()


@pytest.mark.parametrize(
    "query",
    [
        "nvmlDeviceGetTotalEnergyConsumption",
        "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetClockInfo",
        "nvmlDeviceGetMemoryInfo",
    ],
)
def test_one_refusal_leaves_the_rest(nvml: Any, query: str) -> None:
    nvml.answers[query] = nvml.NVMLError("Not Supported")
    assert NvmlSensor(0).sample().temperature_c == 31.0


def test_errors_of_links_are_summed(nvml: Any) -> None:
    nvml.answers["nvmlDeviceGetNvLinkErrorCounter"] = {0: 2, 1: 1, 2: 3}  # the same of each of 18 links
    nvml.answers["nvmlDeviceGetPcieReplayCounter"] = 7
    found = NvmlSensor(0).wear()
    assert (found.nvlink_replays, found.nvlink_recoveries, found.pcie_replays) == (36, 18, 7)
    assert found.nvlink_crc_errors == 54
    # Since NVLink 5 they are fields of each link, of which some may be refused.
    nvml.answers["nvmlDeviceGetNvLinkErrorCounter"] = nvml.NVMLError("Not Supported")
    nvml.answers["nvmlDeviceGetFieldValues"] = [
        SimpleNamespace(nvmlReturn=refused, value=SimpleNamespace(ullVal=2)) for refused in (0, 3, 0)
    ]
    found = NvmlSensor(0).wear()
    assert (found.nvlink_replays, found.nvlink_recoveries, found.nvlink_crc_errors) == (None, 4, 4)


def test_old_names(nvml: Any) -> None:
    """Before driver 535 clocks are throttled, before 570 temperature has no version."""
    nvml.answers["nvmlDeviceGetCurrentClocksEventReasons"] = nvml.NVMLError("Function Not Found")
    nvml.answers["nvmlDeviceGetCurrentClocksThrottleReasons"] = 0x04
    nvml.answers["nvmlDeviceGetTemperatureV"] = nvml.NVMLError("Function Not Found")
    nvml.answers["nvmlDeviceGetTemperature"] = 55
    sample = NvmlSensor(0).sample()
    assert (sample.throttle, sample.temperature_c) == (("power-cap",), 55.0)


def test_driver_older_than_the_library(nvml: Any) -> None:
    nvml.answers["nvmlDeviceGetComputeRunningProcesses"] = nvml.NVMLLibraryMismatchError("versions")
    assert NvmlSensor(0).processes() == ()
    nvml.answers["nvmlDeviceGetComputeRunningProcesses_v2"] = []
    assert NvmlSensor(0).processes() == ()


def test_name_that_is_no_text(nvml: Any) -> None:
    """Driver 555 under WSL: pynvml itself fails to decode (gpuopenanalytics/pynvml#53)."""
    nvml.answers["nvmlDeviceGetName"] = UnicodeDecodeError("utf-8", b"\xf8", 0, 1, "invalid start byte")
    info = NvmlSensor(0).info()
    assert (info.name, info.power_limit_w) == ("unknown NVIDIA GPU", 700.0)


def test_library_that_does_not_shut_down(nvml: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise nvml.NVMLError("Unknown Error")

    monkeypatch.setattr(nvml, "nvmlShutdown", refuse, raising=False)
    (sensor,) = sensors()
    sensor.close()


def test_power_limit_that_is_not_enforced(nvml: Any) -> None:
    nvml.answers["nvmlDeviceGetEnforcedPowerLimit"] = nvml.NVMLError("Not Supported")
    assert NvmlSensor(0).info().power_limit_w == 650.0


def test_bytes_are_text(nvml: Any) -> None:
    nvml.answers["nvmlDeviceGetName"] = b"Tesla K80"
    assert NvmlSensor(0).info().name == "Tesla K80"


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (None, ()),
        (0x00, ()),
        (0x01, ()),
        (0x02, ("user-clocks",)),
        (0x04, ("power-cap",)),
        (0x08, ("hw-slowdown",)),
        (0x10, ("sync-boost",)),
        (0x20, ("thermal",)),
        (0x40, ("thermal",)),
        (0x60, ("thermal",)),
        (0x80, ("power-brake",)),
        (0x05, ("power-cap",)),
        (0x88, ("hw-slowdown", "power-brake")),
        (1 << 40, ("other",)),
    ],
)
def test_reasons(bits: int | None, names: tuple[str, ...]) -> None:
    assert reasons(bits) == names


def test_reasons_have_the_bits_of_pynvml() -> None:
    """The library's own constants are the oracle; they load without a driver."""
    pynvml = pytest.importorskip("pynvml")
    names = {
        "ApplicationsClocksSetting": "user-clocks",
        "SwPowerCap": "power-cap",
        "HwSlowdown": "hw-slowdown",
        "SyncBoost": "sync-boost",
        "SwThermalSlowdown": "thermal",
        "HwThermalSlowdown": "thermal",
        "HwPowerBrakeSlowdown": "power-brake",
        "DisplayClockSetting": "display-clocks",
    }
    for theirs, ours in names.items():
        assert reasons(getattr(pynvml, f"nvmlClocksEventReason{theirs}")) == (ours,)
    assert reasons(pynvml.nvmlClocksEventReasonGpuIdle) == ()


def test_no_driver(nvml: Any, capfd: pytest.CaptureFixture[str]) -> None:
    nvml.no_driver = True
    assert sensors() == ()
    assert capfd.readouterr() == ("", "")


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert sensors() == ()


def test_no_device(nvml: Any) -> None:
    nvml.count = 0
    assert sensors() == ()
    assert nvml.references == 0


def test_a_lost_card_does_not_hide_the_others(nvml: Any) -> None:
    nvml.count, nvml.lost = 3, {1}
    assert [sensor.info().index for sensor in sensors()] == [0, 2]


def test_no_such_device(nvml: Any) -> None:
    with pytest.raises(MachineError, match="GPU 7 does not answer") as caught:
        NvmlSensor(7)
    assert caught.value.hint == "nvidia-smi -L"
    assert nvml.references == 0


def test_close_gives_back_every_reference(nvml: Any) -> None:
    nvml.count = 2
    found = sensors()
    assert nvml.references == 2
    for sensor in found:
        sensor.close()
        sensor.close()
    assert nvml.references == 0


def test_nothing_is_ever_set(nvml: Any) -> None:
    sensor = NvmlSensor(0)
    sensor.info(), sensor.sample(), sensor.processes()
    assert nvml.asked
    assert all(query.startswith(("nvmlDeviceGet", "nvmlSystemGet")) for query in nvml.asked)


def test_import_stays_light() -> None:
    """In a fresh interpreter, for this one has loaded everything already."""
    code = (
        "import sys, gpuwise.measure.telemetry;"
        "print(*({'pynvml', 'torch', 'numpy', 'msgspec'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
