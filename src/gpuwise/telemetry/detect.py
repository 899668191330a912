"""What is on this machine, found in milliseconds and without torch."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

from gpuwise import __version__
from gpuwise.model.run import Environment
from gpuwise.telemetry.host import TorchBuild, cpu_count, cpu_name, os_name, speed_variables, torch_build
from gpuwise.telemetry.nvml import sensors
from gpuwise.telemetry.protocol import DeviceInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Devices, torch and processor."""

    devices: tuple[DeviceInfo, ...]
    torch: TorchBuild | None
    cpu: str
    cpu_count: int


def machine() -> Machine:
    """Look at this machine; never raises."""
    devices = tuple(sensor.info() for sensor in sensors())
    return Machine(devices=devices, torch=torch_build(), cpu=cpu_name(), cpu_count=cpu_count())


def environment(
    info: DeviceInfo | None, *, device: str, gpu_id: str | None = None, other_processes: int | None = None
) -> Environment:
    """The environment of a result; torch's own facts are added when the child has told them.

    `device` names what is measured where there is no sensor (`info` is None). Neither host name
    nor unique ids are kept.
    """
    host = Environment(
        device=device,
        gpu_id=gpu_id,
        gpuwise=__version__,
        python=platform.python_version(),
        os=os_name(),
        cpu=cpu_name(),
        cpu_count=cpu_count(),
        other_processes=other_processes,
        variables=speed_variables(os.environ),
    )
    return host if info is None else _with_device(host, info)


def _with_device(host: Environment, info: DeviceInfo) -> Environment:
    from dataclasses import replace

    return replace(
        host,
        device=info.name,
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
