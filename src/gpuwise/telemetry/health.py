"""What `gpuwise doctor` checks, as pure functions of what the machine says. One fix a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gpuwise.telemetry.host import TorchBuild
from gpuwise.telemetry.protocol import DeviceInfo, Process, Sample
from gpuwise.units import gibibytes

HOT_C = 50.0
"""The start gate of a measurement."""
DISK_BYTES = 2 * 2**30
"""Results are small; compiled kernels are cached on disk and are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding. `fail` makes measuring impossible, `warn` makes its numbers doubtful."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str | None = None


def checks(
    devices: Sequence[DeviceInfo],
    samples: Sequence[Sample],
    processes: Sequence[tuple[Process, ...]],
    torch: TorchBuild | None,
    disk_free_bytes: int,
) -> tuple[Check, ...]:
    """Every check, machine first, then device by device."""
    found = [_gpu_found(devices), _torch(devices, torch), _disk(disk_free_bytes)]
    for info, sample, company in zip(devices, samples, processes, strict=True):
        found += _device(info, sample, company)
    return tuple(found)


def _gpu_found(devices: Sequence[DeviceInfo]) -> Check:
    if not devices:
        return Check(
            name="GPU",
            status="warn",
            detail="none found: no NVIDIA driver answers; the CPU can be measured",
            fix="install the NVIDIA driver, if there is a GPU: nvidia-smi must list it",
        )
    names = ", ".join(f"{info.index}: {info.name}" for info in devices)
    return Check(name="GPU", status="ok", detail=f"{names}; driver {devices[0].driver}")


def _torch(devices: Sequence[DeviceInfo], torch: TorchBuild | None) -> Check:
    if torch is None:
        return Check(name="torch", status="fail", detail="not installed", fix='pip install "gpuwise[torch]"')
    if not devices:
        return Check(name="torch", status="ok", detail=torch.version)
    if torch.cuda is None:
        return Check(
            name="torch",
            status="fail",
            detail=f"{torch.version} is built without CUDA and cannot use the GPU",
            fix="pip install --force-reinstall torch",
        )
    driver = devices[0].cuda_driver
    if driver is not None and int(torch.cuda.split(".")[0]) > int(driver.split(".")[0]):
        return Check(
            name="torch",
            status="fail",
            detail=f"{torch.version} needs CUDA {torch.cuda}, driver {devices[0].driver} offers {driver}",
            fix="update the NVIDIA driver, or install a torch built for an older CUDA",
        )
    return Check(name="torch", status="ok", detail=f"{torch.version}, CUDA {torch.cuda}, driver offers {driver}")


def _disk(free: int) -> Check:
    detail = f"{gibibytes(free)} free where results are kept"
    if free >= DISK_BYTES:
        return Check(name="disk", status="ok", detail=detail)
    return Check(name="disk", status="warn", detail=detail, fix="free some space, or set GPUWISE_HOME to another disk")


def _device(info: DeviceInfo, sample: Sample, company: tuple[Process, ...]) -> Iterator[Check]:
    name = f"GPU {info.index} "
    yield _ecc(name, info)
    yield _mig(name, info)
    yield _power(name, info)
    yield _clocks(name, info, sample)
    yield _temperature(name, sample)
    yield _pcie(name, info)
    yield _company(name, info, company)


def _ecc(name: str, info: DeviceInfo) -> Check:
    state = {None: "not told (most GeForce cards have none)", True: "on", False: "off"}[info.ecc]
    return Check(name=name + "ECC", status="ok", detail=state)


def _mig(name: str, info: DeviceInfo) -> Check:
    if info.mig:
        return Check(
            name=name + "MIG",
            status="warn",
            detail="on: a slice is measured, not the card",
            fix=f"an administrator can turn it off: nvidia-smi -i {info.index} -mig 0",
        )
    return Check(name=name + "MIG", status="ok", detail="off" if info.mig is False else "not supported")


def _power(name: str, info: DeviceInfo) -> Check:
    limit, default = info.power_limit_w, info.power_limit_default_w
    if limit is None:
        return Check(name=name + "power limit", status="ok", detail="not told")
    if default is not None and limit < default - 0.5:
        return Check(
            name=name + "power limit",
            status="warn",
            detail=f"{limit:.0f} W, below the default {default:.0f} W: speeds are those of the limit",
            fix=f"an administrator can lift it: nvidia-smi -i {info.index} -pl {default:.0f}",
        )
    return Check(name=name + "power limit", status="ok", detail=f"{limit:.0f} W, the default" if default else f"{limit:.0f} W")


def _clocks(name: str, info: DeviceInfo, sample: Sample) -> Check:
    now = f"{sample.sm_clock_hz / 1e6:.0f} MHz now" if sample.sm_clock_hz else "not told"
    most = f", {info.sm_clock_max_hz / 1e6:.0f} MHz at most" if info.sm_clock_max_hz else ""
    if sample.throttle:
        return Check(
            name=name + "clocks",
            status="warn",
            detail=f"{now}{most}; lowered by {', '.join(sample.throttle)}",
            fix=f"see why: nvidia-smi -i {info.index} -q -d PERFORMANCE,CLOCK",
        )
    return Check(name=name + "clocks", status="ok", detail=now + most)


def _temperature(name: str, sample: Sample) -> Check:
    if sample.temperature_c is None:
        return Check(name=name + "temperature", status="ok", detail="not told")
    detail = f"{sample.temperature_c:.0f} °C"
    if sample.temperature_c < HOT_C:
        return Check(name=name + "temperature", status="ok", detail=detail)
    return Check(
        name=name + "temperature",
        status="warn",
        detail=f"{detail}; a measurement waits until it is below {HOT_C:.0f} °C",
        fix="stop what heats it, or improve the cooling",
    )


def _pcie(name: str, info: DeviceInfo) -> Check:
    if info.pcie_generation is None or info.pcie_width is None:
        return Check(name=name + "PCIe", status="ok", detail="not told")
    detail = f"generation {info.pcie_generation} x{info.pcie_width}"
    if info.pcie_width_max is not None and info.pcie_width < info.pcie_width_max:
        return Check(
            name=name + "PCIe",
            status="warn",
            detail=f"{detail}, the card has x{info.pcie_width_max}: transfers are slower",
            fix="move the card to a slot with all lanes, and check the riser",
        )
    if info.pcie_generation_max is not None and info.pcie_generation < info.pcie_generation_max:
        detail += f" now, generation {info.pcie_generation_max} under load (idle cards lower it)"
    return Check(name=name + "PCIe", status="ok", detail=detail)


def _company(name: str, info: DeviceInfo, company: tuple[Process, ...]) -> Check:
    if not company:
        return Check(name=name + "processes", status="ok", detail="none")
    listed = ", ".join(
        f"{p.pid} ({gibibytes(p.memory_bytes)})" if p.memory_bytes else str(p.pid) for p in company
    )
    return Check(
        name=name + "processes",
        status="warn",
        detail=f"others are on it: {listed}",
        fix="wait for them, or measure another: gpuwise bench --gpu INDEX",
    )
