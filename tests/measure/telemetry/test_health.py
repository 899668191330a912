"""What `gpuwise doctor` says of a healthy machine and of each thing that can be wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.measure.telemetry import TorchBuild
from gpuwise.measure.telemetry.health import Check, checks
from gpuwise.measure.telemetry.sensor import DeviceInfo, Process, Sample

CUDA_13 = TorchBuild(version="2.11.0+cu130", cuda="13.0")
ROOM = 80 * 10**9


def doctor(
    info: DeviceInfo,
    sample: Sample | None,
    company: tuple[Process, ...] = (),
    torch: TorchBuild | None = CUDA_13,
    disk: int = ROOM,
) -> dict[str, Check]:
    """The checks of one device by name; each that is not ok must have a fix, each ok one none."""
    found = checks([info], [sample], [company], torch, disk)
    assert all((check.fix is None) == (check.status == "ok") for check in found)
    return {check.name: check for check in found}


def wrong(found: dict[str, Check]) -> dict[str, str]:
    return {name: check.status for name, check in found.items() if check.status != "ok"}


def test_healthy(h200: DeviceInfo, cool: Sample) -> None:
    found = doctor(h200, cool)
    assert wrong(found) == {}
    assert list(found) == [
        "GPU",
        "driver",
        "torch",
        "disk",
        "GPU 0 ECC",
        "GPU 0 MIG",
        "GPU 0 power limit",
        "GPU 0 clocks",
        "GPU 0 temperature",
        "GPU 0 PCIe",
        "GPU 0 processes",
    ]
    assert found["driver"].detail == "580.159.04, up to CUDA 13.0"
    assert found["GPU 0 power limit"].detail == "700 W, the default"
    assert found["GPU 0 clocks"].detail == "345 MHz now, 1980 MHz at most"


def test_card_that_tells_nothing() -> None:
    found = doctor(DeviceInfo(index=0, name="unknown NVIDIA GPU"), None)
    assert wrong(found) == {"driver": "warn"}


def test_two_devices(h200: DeviceInfo, cool: Sample) -> None:
    second = replace(h200, index=1, mig=True)
    found = checks([h200, second], [cool, cool], [(), ()], CUDA_13, ROOM)
    assert [check.name for check in found if check.status != "ok"] == ["GPU 1 MIG"]


def test_no_gpu() -> None:
    found = {check.name: check for check in checks([], [], [], TorchBuild(version="2.13.0+cpu"), ROOM)}
    assert wrong(found) == {"GPU": "fail"}
    assert found["GPU"].detail.startswith("no GPU found")
    assert "Measuring the CPU works" in found["GPU"].detail
    assert "driver" not in found


def test_amd_gpu() -> None:
    found = checks([], [], [], TorchBuild(version="2.11.0+rocm7.1", hip="7.1"), ROOM)
    assert "without telemetry" in found[0].detail


def test_no_torch(h200: DeviceInfo, cool: Sample) -> None:
    found = doctor(h200, cool, torch=None)
    assert wrong(found) == {"torch": "fail"}
    assert found["torch"].fix == 'install the extra "gpuwise[torch]"'


@pytest.mark.parametrize(
    ("driver", "build"),
    [("13.0", "cu130"), ("14.1", "cu130"), ("12.2", "cu126"), ("11.8", "cu118"), (None, "cu130")],
)
def test_torch_without_cuda(h200: DeviceInfo, cool: Sample, driver: str | None, build: str) -> None:
    found = doctor(replace(h200, cuda_driver=driver), cool, torch=TorchBuild(version="2.13.0+cpu"))
    assert wrong(found) == {"torch": "fail"}
    assert "without CUDA" in found["torch"].detail
    assert f"torch's {build} build" in (found["torch"].fix or "")


@pytest.mark.parametrize(
    ("driver", "capability", "build"),
    [
        ("13.0", "7.0", "cu126"),  # CUDA 13 has no kernels for a V100
        ("13.0", "7.5", "cu130"),
        ("12.8", "12.0", "cu128"),  # 12.6 has none for Blackwell
        ("12.8", "8.6", "cu126"),
        ("13.0", "12.0", "cu130"),
        ("11.8", "7.0", "cu118"),
        (None, "7.0", "cu126"),
    ],
)
def test_the_build_fits_the_card(
    h200: DeviceInfo, cool: Sample, driver: str | None, capability: str, build: str
) -> None:
    info = replace(h200, cuda_driver=driver, compute_capability=capability)
    found = doctor(info, cool, torch=TorchBuild(version="2.13.0+cpu"))
    assert f"torch's {build} build" in (found["torch"].fix or "")


def test_card_too_old_for_this_torch(h200: DeviceInfo, cool: Sample) -> None:
    v100 = replace(h200, name="Tesla V100", compute_capability="7.0")
    found = doctor(v100, cool)
    assert wrong(found) == {"torch": "fail"}
    detail = "2.11.0+cu130 has no kernels for compute capability 7.0: CUDA 13 begins at 7.5"
    assert found["torch"].detail == detail
    assert "torch's cu126 build" in (found["torch"].fix or "")
    assert wrong(doctor(v100, cool, torch=TorchBuild(version="2.13.0+cu126", cuda="12.6"))) == {}


def test_torch_for_another_vendor(h200: DeviceInfo, cool: Sample) -> None:
    found = doctor(h200, cool, torch=TorchBuild(version="2.11.0+rocm7.1", hip="7.1"))
    assert found["torch"].status == "fail"
    assert "for ROCm" in found["torch"].detail


def test_driver_too_old(h200: DeviceInfo, cool: Sample) -> None:
    found = doctor(replace(h200, driver="535.104", cuda_driver="12.2"), cool)
    assert wrong(found) == {"torch": "fail"}
    assert found["torch"].detail == "2.11.0+cu130 needs CUDA 13.0, the driver offers 12.2"
    assert "torch's cu126 build" in (found["torch"].fix or "")
    found = doctor(replace(h200, cuda_driver="10.2"), cool)
    assert (found["torch"].fix or "").startswith("update the NVIDIA driver")


def test_older_torch_on_a_newer_driver(h200: DeviceInfo, cool: Sample) -> None:
    """A minor version above the driver's is fine too: only the major one binds."""
    older = TorchBuild(version="2.8.0+cu128", cuda="12.8")
    assert wrong(doctor(h200, cool, torch=older)) == {}
    assert wrong(doctor(replace(h200, cuda_driver="12.2"), cool, torch=older)) == {}


def test_mig(h200: DeviceInfo, cool: Sample) -> None:
    found = doctor(replace(h200, mig=True), cool)
    assert wrong(found) == {"GPU 0 MIG": "warn"}
    assert "nvidia-smi -i 0 -mig 0" in (found["GPU 0 MIG"].fix or "")


@pytest.mark.parametrize(
    ("limit", "status"), [(700.0, "ok"), (699.8, "ok"), (750.0, "ok"), (600.0, "warn"), (None, "ok")]
)
def test_power_limit(h200: DeviceInfo, cool: Sample, limit: float | None, status: str) -> None:
    check = doctor(replace(h200, power_limit_w=limit), cool)["GPU 0 power limit"]
    assert check.status == status
    assert ("above the default" in check.detail) == (limit == 750.0)
    if status == "warn":
        assert "-pl 700" in (check.fix or "")


def test_clocks(h200: DeviceInfo, cool: Sample) -> None:
    found = doctor(h200, replace(cool, throttle=("user-clocks",)))
    assert wrong(found) == {"GPU 0 clocks": "warn"}
    assert (found["GPU 0 clocks"].fix or "").endswith("nvidia-smi -i 0 -rac")
    found = doctor(h200, replace(cool, throttle=("thermal", "hw-slowdown")))
    assert found["GPU 0 clocks"].detail.endswith("lowered by thermal, hw-slowdown")
    assert "-d PERFORMANCE" in (found["GPU 0 clocks"].fix or "")


@pytest.mark.parametrize(("heat", "status"), [(49.9, "ok"), (50.0, "warn"), (84.0, "warn"), (None, "ok")])
def test_temperature(h200: DeviceInfo, cool: Sample, heat: float | None, status: str) -> None:
    assert doctor(h200, replace(cool, temperature_c=heat))["GPU 0 temperature"].status == status


def test_pcie_generation_is_a_note_and_width_a_warning(h200: DeviceInfo, cool: Sample) -> None:
    idle = doctor(replace(h200, pcie_generation=1), cool)["GPU 0 PCIe"]
    assert idle.status == "ok"
    assert idle.detail == "generation 1 x16 now, generation 5 possible (idle cards lower it)"
    narrow = doctor(replace(h200, pcie_generation=1, pcie_width=8), cool)["GPU 0 PCIe"]
    assert narrow.status == "warn"
    assert "idle cards lower it" in narrow.detail
    assert "x16 is possible" in narrow.detail


def test_busy(h200: DeviceInfo, cool: Sample) -> None:
    company = (Process(pid=41, memory_bytes=2 * 2**30), Process(pid=42))
    found = doctor(h200, cool, company)
    assert wrong(found) == {"GPU 0 processes": "warn"}
    assert found["GPU 0 processes"].detail == "others are on it: 41 (2.0 GiB), 42"


@pytest.mark.parametrize(("free", "status"), [(2 * 10**9, "ok"), (2 * 10**9 - 1, "warn"), (0, "warn")])
def test_disk(h200: DeviceInfo, cool: Sample, free: int, status: str) -> None:
    assert doctor(h200, cool, disk=free)["disk"].status == status


@pytest.mark.parametrize(
    ("torch", "status"),
    [
        (TorchBuild(version="2.11.0+rocm7.1", hip="7.1"), "ok"),
        (TorchBuild(version="2.11.0+cu130", cuda="13.0"), "fail"),
    ],
)
def test_an_amd_card_needs_torch_for_rocm(cool: Sample, torch: TorchBuild, status: str) -> None:
    card = DeviceInfo(index=0, name="AMD Instinct MI300X OAM", vendor="AMD", driver="6.12.12")
    found = {check.name: check for check in checks([card], [cool], [()], torch, ROOM)}["torch"]
    assert found.status == status
    assert "ROCm" in (found.detail if status == "ok" else found.fix or "")
