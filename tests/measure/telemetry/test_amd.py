"""AMD SMI answers as its documentation shows them, for an MI300X; no AMD device is needed."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from gpuwise.measure.telemetry import amd


class AmdSmiException(Exception):
    """As in amdsmi."""


ANSWERS: dict[str, Any] = {
    "amdsmi_get_gpu_asic_info": {"market_name": "AMD Instinct MI300X OAM"},
    "amdsmi_get_gpu_device_uuid": "29ff74a1-0000-1000-80e8-4b2bb9d3d5ed",
    "amdsmi_get_gpu_memory_total": 206_141_652_992,
    "amdsmi_get_gpu_memory_usage": 297_000_000,
    "amdsmi_get_gpu_driver_info": {"driver_version": "6.12.12"},
    "amdsmi_get_power_cap_info": {"power_cap": 750_000_000, "default_power_cap": 750_000_000},
    "amdsmi_get_power_info": {"current_socket_power": 140, "average_socket_power": "N/A"},
    "amdsmi_get_energy_count": {"energy_accumulator": 1_000_000, "counter_resolution": 15.3},
    "amdsmi_get_clock_info": {"clk": 2100, "min_clk": 500, "max_clk": 2100},
    "amdsmi_get_temp_metric": 41,
    "amdsmi_get_gpu_activity": {"gfx_activity": 50, "umc_activity": 3},
    "amdsmi_get_pcie_info": {
        "pcie_static": {"max_pcie_width": 16, "pcie_interface_version": 5},
        "pcie_metric": {"pcie_width": 8},
    },
    "amdsmi_get_gpu_total_ecc_count": {"correctable_count": 4, "uncorrectable_count": 0},
    "amdsmi_get_gpu_process_list": [{"pid": 77, "mem": 4096}],
    "amdsmi_get_gpu_metrics_info": {"ppt_residency_acc": 10, "hbm_thm_residency_acc": 5},
}


class FakeAmdSmi(ModuleType):
    """Answers from `answers`; a query that is not there fails as on an unsupported device."""

    AmdSmiException = AmdSmiException
    AmdSmiClkType = SimpleNamespace(GFX=0, MEM=4)
    AmdSmiTemperatureType = SimpleNamespace(HOTSPOT=1, EDGE=0)
    AmdSmiTemperatureMetric = SimpleNamespace(CURRENT=0, CRITICAL=5)
    AmdSmiMemoryType = SimpleNamespace(VRAM=0)

    def __init__(self) -> None:
        super().__init__("amdsmi")
        self.answers = dict(ANSWERS)
        self.devices = 1

    def amdsmi_init(self) -> None:
        if not self.devices:
            raise AmdSmiException("no driver")

    def amdsmi_get_processor_handles(self) -> list[int]:
        return list(range(self.devices))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("amdsmi_"):
            raise AttributeError(name)

        def query(*arguments: Any) -> Any:
            if name not in self.answers:
                raise AmdSmiException(name)
            return self.answers[name]

        return query


@pytest.fixture
def smi(monkeypatch: pytest.MonkeyPatch) -> FakeAmdSmi:
    fake = FakeAmdSmi()
    monkeypatch.setitem(sys.modules, "amdsmi", fake)
    return fake


def test_what_an_mi300x_tells(smi: FakeAmdSmi) -> None:
    (sensor,) = amd.sensors()
    info, sample = sensor.info(), sensor.sample()
    assert info.name == "AMD Instinct MI300X OAM"
    assert info.memory_bytes == 206_141_652_992
    assert info.power_limit_w == 750
    assert (info.pcie_width, info.pcie_width_max, info.pcie_generation_max) == (8, 16, 5)
    assert info.sm_clock_max_hz == 2.1e9
    assert (sample.power_w, sample.temperature_c, sample.utilisation) == (140, 41, 0.5)
    assert sample.energy_j == pytest.approx(15.3)
    assert [p.pid for p in sensor.processes()] == [77]
    wear = sensor.wear()
    assert (wear.ecc_corrected, wear.ecc_uncorrected, wear.slowdown_c) == (4, 0, 41)


def test_the_catalog_knows_it_by_this_name(smi: FakeAmdSmi) -> None:
    from gpuwise.facts import catalog

    info = amd.sensors()[0].info()
    found = catalog.resolve_device(info.name, info.memory_bytes)
    assert found is not None
    assert found.id == "mi300x"


def test_throttling_is_a_counter_that_grows(smi: FakeAmdSmi) -> None:
    (sensor,) = amd.sensors()
    assert sensor.sample().throttle == ()
    smi.answers["amdsmi_get_gpu_metrics_info"] = {"ppt_residency_acc": 11, "hbm_thm_residency_acc": 5}
    assert sensor.sample().throttle == ("power-cap",)
    assert sensor.sample().throttle == ()


def test_power_caps_in_watts_stay_watts(smi: FakeAmdSmi) -> None:
    smi.answers["amdsmi_get_power_cap_info"] = {"power_cap": 290}
    assert amd.sensors()[0].info().power_limit_w == 290


def test_what_it_does_not_tell_is_none(smi: FakeAmdSmi) -> None:
    smi.answers = {"amdsmi_get_power_info": {"current_socket_power": 0xFFFFFFFF}}
    sensor = amd.sensors()[0]
    sample = sensor.sample()
    assert (sample.power_w, sample.energy_j, sample.temperature_c, sample.throttle) == (None, None, None, ())
    assert sensor.info().name == "unknown AMD GPU"
    assert sensor.processes() == ()


def test_without_driver_or_library_there_is_none(smi: FakeAmdSmi, monkeypatch: pytest.MonkeyPatch) -> None:
    smi.devices = 0
    assert amd.sensors() == ()
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    assert amd.sensors() == ()


@pytest.mark.parametrize("name", ["AMD Instinct MI250", "AMD Instinct MI250X"])
def test_half_of_a_card_is_not_taken_for_the_card(name: str) -> None:
    from gpuwise.facts import catalog

    assert catalog.resolve_device(name, 64 * 2**30) is None


@pytest.mark.parametrize(
    ("name", "gigabytes", "card", "watts"),
    [
        ("AMD Instinct MI100", 32, "mi100", 300),
        ("AMD Instinct MI210", 64, "mi210", 300),
        ("AMD Instinct MI250", 128, "mi250", 560),
        ("AMD Instinct MI250X", 128, "mi250x", 560),
        ("AMD Instinct MI300A", 128, "mi300a", 760),
        ("AMD Instinct MI300X", 192, "mi300x", 750),
        ("AMD Instinct MI325X OAM", 256, "mi325x", 1000),
        ("AMD Instinct MI350X", 288, "mi350x", 1000),
        ("AMD Instinct MI355X", 288, "mi355x", 1400),
    ],
)
def test_names_and_limits_from_mi100_to_mi355x(
    smi: FakeAmdSmi, name: str, gigabytes: int, card: str, watts: int
) -> None:
    from gpuwise.facts import catalog

    smi.answers["amdsmi_get_gpu_asic_info"] = {"market_name": name}
    smi.answers["amdsmi_get_gpu_memory_total"] = gigabytes * 2**30
    smi.answers["amdsmi_get_power_cap_info"] = {"power_cap": watts, "default_power_cap": watts}
    info = amd.sensors()[0].info()
    found = catalog.resolve_device(info.name, info.memory_bytes)
    assert found is not None
    assert (found.id, found.vendor, float(found.text("power_w") or 0)) == (card, "AMD", watts)
    assert info.power_limit_w == info.power_limit_default_w == watts
    assert found.memory_bytes == gigabytes * 2**30
    assert found.peak("fp16") is not None
