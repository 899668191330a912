"""What `gpuwise doctor` checks, as pure functions of what the machine says. One fix a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gpuwise.measure.telemetry.host import TorchBuild
from gpuwise.measure.telemetry.protocol import DeviceInfo, Process, Sample
from gpuwise.model.units import gibibytes, si

# The start gate of a measurement.
HOT_C = 50.0
# Results are small; compiled kernels are cached on disk and are not.
DISK_BYTES = 2 * 10**9

# The oldest CUDA major for which there is a torch that gpuwise can use.
OLDEST_CUDA = 11
# Compute capabilities at which torch builds part: those for CUDA 13 start at Turing, those for 12.6 end
# before Blackwell (https://github.com/pytorch/pytorch/blob/main/RELEASE.md).
TURING, BLACKWELL = 7.5, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding. `fail` makes measuring impossible, `warn` makes its numbers doubtful."""

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str | None = None


def checks(
    devices: Sequence[DeviceInfo],
    samples: Sequence[Sample | None],
    processes: Sequence[tuple[Process, ...]],
    torch: TorchBuild | None,
    disk_free_bytes: int,
) -> tuple[Check, ...]:
    """Every check, machine first, then device by device.

    `samples` and `processes` go with `devices`, one each; None = the device did not answer.
    """
    found = [_gpu_found(devices, torch), *_driver(devices), _torch(devices, torch), _disk(disk_free_bytes)]
    for info, sample, others in zip(devices, samples, processes, strict=True):
        found += _device(info, sample, others)
    return tuple(found)


def _ok(name: str, detail: str) -> Check:
    return Check(name=name, status="ok", detail=detail)


def _gpu_found(devices: Sequence[DeviceInfo], torch: TorchBuild | None) -> Check:
    if devices:
        return _ok("GPU", ", ".join(f"{info.index}: {info.name}" for info in devices))
    if torch is not None and torch.hip is not None:
        return Check(
            name="GPU",
            status="warn",
            detail="no GPU answers; torch is built for ROCm, so an AMD GPU is measured without telemetry",
            fix="for watts and clocks install ROCm's amdsmi package into this environment",
        )
    return Check(
        name="GPU",
        status="warn",
        detail="no GPU found: no NVIDIA driver answers. Measuring the CPU works: gpuwise bench --device cpu",
        fix="if there is a GPU, install the NVIDIA driver until nvidia-smi lists it",
    )


def _driver(devices: Sequence[DeviceInfo]) -> Iterator[Check]:
    if not devices:
        return
    driver, cuda = devices[0].driver, devices[0].cuda_driver
    if driver is None:
        yield Check(
            name="driver",
            status="warn",
            detail="does not tell its version, so results cannot name it",
            fix="install the NVIDIA driver again until nvidia-smi shows its version",
        )
    else:
        yield _ok("driver", f"{driver}, up to CUDA {cuda}" if cuda else driver)


def _torch(devices: Sequence[DeviceInfo], torch: TorchBuild | None) -> Check:
    if torch is None:
        return Check(name="torch", status="fail", detail="not installed", fix='pip install "gpuwise[torch]"')
    if not devices:
        return _ok("torch", torch.version)
    why = _unusable(devices, torch)
    if why is None:
        return _ok("torch", f"{torch.version}, {f'CUDA {torch.cuda}' if torch.cuda else f'ROCm {torch.hip}'}")
    return Check(name="torch", status="fail", detail=f"{torch.version} {why}", fix=_install(devices))


def _unusable(devices: Sequence[DeviceInfo], torch: TorchBuild) -> str | None:
    """Why this torch cannot use the devices; None where nothing speaks against it."""
    if devices[0].vendor == "AMD":
        return None if torch.hip else "is not built for ROCm and cannot use the GPU"
    if torch.cuda is None:
        return f"is built {'for ROCm' if torch.hip else 'without CUDA'} and cannot use the GPU"
    offered, needed = _major(devices[0].cuda_driver), _major(torch.cuda)
    if offered is not None and needed is not None and needed > offered:
        return f"needs CUDA {torch.cuda}, the driver offers {devices[0].cuda_driver}"
    oldest = min(_capabilities(devices), default=TURING)
    if needed is not None and needed >= 13 and oldest < TURING:
        return f"has no kernels for compute capability {oldest}: CUDA 13 begins at {TURING}"
    return None


def _capabilities(devices: Sequence[DeviceInfo]) -> list[float]:
    return [float(info.compute_capability) for info in devices if info.compute_capability is not None]


def _major(version: str | None) -> int | None:
    """13.0 -> 13."""
    head = (version or "").split(".")[0]
    return int(head) if head.isdigit() else None


def _install(devices: Sequence[DeviceInfo]) -> str:
    """Which torch these devices can run and where its command stands; it needs no administrator."""
    if devices[0].vendor == "AMD":
        return "install torch for ROCm as https://pytorch.org/get-started/locally/ says"
    driver, capabilities = _major(devices[0].cuda_driver), _capabilities(devices)
    if driver is not None and driver < OLDEST_CUDA:
        return "update the NVIDIA driver: https://www.nvidia.com/drivers"
    build = _build(driver, min(capabilities, default=TURING), max(capabilities, default=TURING))
    return f"install torch's {build} build: https://pytorch.org/get-started/locally/ has the command"


def _build(driver: int | None, oldest: float, newest: float) -> str:
    """The build by the driver's CUDA major and the compute capabilities of the devices.

    Any minor version of a driver runs a build of its major or an older one
    (https://docs.nvidia.com/deploy/cuda-compatibility/).
    """
    if driver == 11:
        return "cu118"
    if oldest < TURING:
        return "cu126"
    if driver == 12:
        return "cu128" if newest >= BLACKWELL else "cu126"
    return "cu130"


def _disk(free: int) -> Check:
    detail = f"{si(free, 'B')} free where results are kept"
    if free >= DISK_BYTES:
        return _ok("disk", detail)
    return Check(
        name="disk",
        status="warn",
        detail=f"{detail}, less than {si(DISK_BYTES, 'B')}",
        fix="set GPUWISE_HOME to a folder on a disk with more space",
    )


def _device(info: DeviceInfo, sample: Sample | None, others: tuple[Process, ...]) -> Iterator[Check]:
    name = f"GPU {info.index} "
    yield _ecc(name + "ECC", info)
    yield _mig(name + "MIG", info)
    yield _power(name + "power limit", info)
    yield _clocks(name + "clocks", info, sample)
    yield _temperature(name + "temperature", sample)
    yield _pcie(name + "PCIe", info)
    yield _others(name + "processes", info, others)


def _ecc(name: str, info: DeviceInfo) -> Check:
    states = {None: "not told (most GeForce cards have none)", True: "on", False: "off"}
    return _ok(name, states[info.ecc])


def _mig(name: str, info: DeviceInfo) -> Check:
    if not info.mig:
        return _ok(name, "off" if info.mig is False else "not supported")
    return Check(
        name=name,
        status="warn",
        detail="on: a slice is measured, not the card",
        fix=f"an administrator can turn it off: nvidia-smi -i {info.index} -mig 0",
    )


def _power(name: str, info: DeviceInfo) -> Check:
    limit, default = info.power_limit_w, info.power_limit_default_w
    if limit is None:
        return _ok(name, "not told")
    if default is None:
        return _ok(name, f"{limit:.0f} W")
    if limit >= default - 0.5:
        rank = "the default" if limit <= default + 0.5 else f"above the default {default:.0f} W"
        return _ok(name, f"{limit:.0f} W, {rank}")
    return Check(
        name=name,
        status="warn",
        detail=f"{limit:.0f} W, below the default {default:.0f} W: speeds are those of the limit",
        fix=f"an administrator can lift it: nvidia-smi -i {info.index} -pl {default:.0f}",
    )


def _clocks(name: str, info: DeviceInfo, sample: Sample | None) -> Check:
    if sample is None:
        return _ok(name, "not told")
    now = f"{sample.sm_clock_hz / 1e6:.0f} MHz now" if sample.sm_clock_hz else "not told"
    most = f", {info.sm_clock_max_hz / 1e6:.0f} MHz at most" if info.sm_clock_max_hz else ""
    if not sample.throttle:
        return _ok(name, now + most)
    detail = f"{now}{most}; lowered by {', '.join(sample.throttle)}"
    if "user-clocks" in sample.throttle:
        fix = f"an administrator can reset them: nvidia-smi -i {info.index} -rac"
    else:
        fix = f"see why: nvidia-smi -i {info.index} -q -d PERFORMANCE,CLOCK,TEMPERATURE,POWER"
    return Check(name=name, status="warn", detail=detail, fix=fix)


def _temperature(name: str, sample: Sample | None) -> Check:
    if sample is None or sample.temperature_c is None:
        return _ok(name, "not told")
    detail = f"{sample.temperature_c:.0f} °C"
    if sample.temperature_c < HOT_C:
        return _ok(name, detail)
    return Check(
        name=name,
        status="warn",
        detail=f"{detail}; a measurement waits until it is below {HOT_C:.0f} °C",
        fix="stop what heats it, or improve the cooling if nothing runs",
    )


def _pcie(name: str, info: DeviceInfo) -> Check:
    if info.pcie_generation is None or info.pcie_width is None:
        return _ok(name, "not told")
    detail = f"generation {info.pcie_generation} x{info.pcie_width}"
    if info.pcie_generation_max is not None and info.pcie_generation < info.pcie_generation_max:
        detail += f" now, generation {info.pcie_generation_max} possible (idle cards lower it)"
    if info.pcie_width_max is None or info.pcie_width >= info.pcie_width_max:
        return _ok(name, detail)
    return Check(
        name=name,
        status="warn",
        detail=f"{detail}; x{info.pcie_width_max} is possible: transfers to the GPU are slower",
        fix="move the card to a slot with all lanes, without a riser",
    )


def _others(name: str, info: DeviceInfo, others: tuple[Process, ...]) -> Check:
    if not others:
        return _ok(name, "none")
    listed = ", ".join(
        str(p.pid) if p.memory_bytes is None else f"{p.pid} ({gibibytes(p.memory_bytes)})" for p in others
    )
    return Check(
        name=name,
        status="warn",
        detail=f"others are on it: {listed}",
        fix=f"wait until they end: nvidia-smi -i {info.index} lists them",
    )
