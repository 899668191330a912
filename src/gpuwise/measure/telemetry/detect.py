"""What is on this machine, found in milliseconds and without torch."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from hashlib import sha256

from gpuwise import __version__
from gpuwise.measure.telemetry import host
from gpuwise.measure.telemetry.devices import sensors
from gpuwise.measure.telemetry.protocol import DeviceInfo
from gpuwise.model.run import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Devices, torch and the computer around them."""

    devices: tuple[DeviceInfo, ...]
    torch: host.TorchBuild | None
    cpu: str
    cpu_count: int
    """Cores that this process may use."""
    memory_bytes: int | None = None
    os: str | None = None


def machine() -> Machine:
    """Look at this machine; never raises."""
    watched = sensors()
    try:
        devices = tuple(sensor.info() for sensor in watched)
    finally:
        for sensor in watched:
            sensor.close()
    return Machine(
        devices=devices,
        torch=host.torch_build(),
        cpu=host.cpu_name(),
        cpu_count=host.cpu_count(),
        memory_bytes=host.memory_bytes(),
        os=host.os_name(),
    )


def environment(
    info: DeviceInfo | None,
    *,
    device: str,
    gpu_id: str | None = None,
    other_processes: int | None = None,
    torch: str | None = None,
    cuda: str | None = None,
    cudnn: str | None = None,
) -> Environment:
    """The environment of a result. Neither host name nor unique ids are kept, but a digest of the device's.

    `device` names what is measured where there is no sensor (`info` is None). `torch`, `cuda` (or
    HIP) and `cudnn` are the versions that the measuring child has told, where it already has.
    """
    found = Environment(
        device=device,
        gpu_id=gpu_id,
        gpuwise=__version__,
        python=platform.python_version(),
        os=host.os_name(),
        cpu=host.cpu_name(),
        cpu_count=host.cpu_count(),
        torch=torch,
        cuda=cuda,
        cudnn=cudnn,
        other_processes=other_processes,
        variables=host.speed_variables(os.environ),
    )
    return found if info is None else _with_device(found, info)


def _with_device(found: Environment, info: DeviceInfo) -> Environment:
    return replace(
        found,
        device=info.name,
        card=_digest(info.uuid) if info.uuid else None,
        driver=info.driver,
        device_memory_bytes=info.memory_bytes,
        power_limit_w=info.power_limit_w,
        power_limit_default_w=info.power_limit_default_w,
        sm_clock_max_hz=info.sm_clock_max_hz,
        memory_clock_max_hz=info.memory_clock_max_hz,
        ecc=info.ecc,
        mig=info.mig,
        pcie_generation=info.pcie_generation,
        pcie_generation_max=info.pcie_generation_max,
        pcie_width=info.pcie_width,
        pcie_width_max=info.pcie_width_max,
    )


def _digest(unique_id: str) -> str:
    """48 bits, of which nobody finds the id again: it is random itself."""
    return sha256(unique_id.encode()).hexdigest()[:12]
