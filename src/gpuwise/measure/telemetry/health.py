"""The checks of `gpuwise doctor`, as pure functions of what the machine reports. One fix a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gpuwise.measure.telemetry import TorchBuild
from gpuwise.measure.telemetry.sensor import COOL_C, DeviceInfo, Process, Sample
from gpuwise.model.question import is_lowered
from gpuwise.model.units import gibibytes, si

# Results are small; compiled kernels are cached on disk and are not.
DISK_BYTES = 2 * 10**9

# The oldest CUDA major for which there is a torch that gpuwise can use.
OLDEST_CUDA = 11
# Compute capabilities at which torch builds part: those for CUDA 13 start at Turing, those for 12.6 end
# before Blackwell (https://github.com/pytorch/pytorch/blob/main/RELEASE.md).
TURING, BLACKWELL = 7.5, 10.0


# Counters of an InfiniBand port that grow where a link is bad; the first two where it went down.
# https://docs.kernel.org/admin-guide/abi-stable.html
FABRIC = (
    "link_downed",
    "link_error_recovery",
    "symbol_error",
    "port_rcv_errors",
    "local_link_integrity_errors",
)


def fabric(root: Path = Path("/sys/class/infiniband")) -> dict[str, int]:
    """Errors that the InfiniBand ports of this machine have counted: `mlx5_0 port 1 link_downed` -> count."""
    counters = {}
    for file in sorted(root.glob("*/ports/*/counters/*")) if root.is_dir() else ():
        with suppress(OSError, ValueError):
            if file.name in FABRIC:
                counters[f"{file.parts[-5]} port {file.parts[-3]} {file.name}"] = int(file.read_text())
    return counters


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One finding. `fail` makes measuring a GPU impossible, `warn` makes its numbers doubtful."""

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
    """Every check, machine first, then device by device. `samples` and `processes` go with `devices`, one
    each; None = the device did not answer."""
    checks = []
    if devices:
        checks.append(_check("GPU", ", ".join(f"{info.index}: {info.name}" for info in devices)))
        driver, cuda, fix = devices[0].driver, devices[0].cuda_driver, None
        if driver is None:
            driver = "does not report its version, so results cannot name it"
            fix = "install the NVIDIA driver again until nvidia-smi shows its version"
        elif cuda:
            driver += f", up to CUDA {cuda}"
        checks.append(_check("driver", driver, fix))
    elif torch is not None and torch.hip is not None:
        problem = "no GPU answers; torch is built for ROCm, so an AMD GPU is measured without telemetry"
        fix = "for watts and clocks install ROCm's amdsmi package into this environment"
        checks.append(_check("GPU", problem, fix))
    else:
        problem = "no GPU found: no NVIDIA driver answers. Measuring the CPU works"
        fix = "if there is a GPU, install the NVIDIA driver until nvidia-smi lists it"
        checks.append(_check("GPU", problem, fix, fails=True))
    checks.append(_torch(devices, torch))
    disk, fix = f"{si(disk_free_bytes, 'B')} free where results are kept", None
    if disk_free_bytes < DISK_BYTES:
        disk += f", less than {si(DISK_BYTES, 'B')}"
        fix = "set GPUWISE_HOME to a folder on a disk with more space"
    checks.append(_check("disk", disk, fix))
    for info, sample, others in zip(devices, samples, processes, strict=True):
        for check in _of_device(info, sample, others):
            checks.append(replace(check, name=f"GPU {info.index} {check.name}"))
    return tuple(checks)


def _check(name: str, detail: str, fix: str | None = None, *, fails: bool = False) -> Check:
    """A finding: a warning where there is something to mend."""
    return Check(name=name, status="fail" if fails else "warn" if fix else "ok", detail=detail, fix=fix)


def _torch(devices: Sequence[DeviceInfo], torch: TorchBuild | None) -> Check:
    """Whether this torch can use the devices; else which one can, and where its command stands."""
    if torch is None:
        return _check("torch", "not installed", 'install the extra "gpuwise[torch]"', fails=True)
    if not devices:
        return _check("torch", torch.version)
    amd, driver, needed = devices[0].vendor == "AMD", _major(devices[0].cuda_driver), _major(torch.cuda)
    capabilities = [float(i.compute_capability) for i in devices if i.compute_capability] or [TURING]
    oldest, why = min(capabilities), ""
    # Any minor version of a driver runs a build of its major or an older one
    # (https://docs.nvidia.com/deploy/cuda-compatibility/).
    if amd:
        why = "" if torch.hip else "is not built for ROCm and cannot use the GPU"
    elif torch.cuda is None:
        why = f"is built {'for ROCm' if torch.hip else 'without CUDA'} and cannot use the GPU"
    elif driver is not None and needed is not None and needed > driver:
        why = f"needs CUDA {torch.cuda}, the driver offers {devices[0].cuda_driver}"
    elif needed is not None and needed >= 13 and oldest < TURING:
        why = f"has no kernels for compute capability {oldest}: CUDA 13 begins at {TURING}"
    if not why:
        built = f"CUDA {torch.cuda}" if torch.cuda else f"ROCm {torch.hip}"
        return _check("torch", f"{torch.version}, {built}")
    build = "cu126" if oldest < TURING else "cu130"
    if driver == 11:
        build = "cu118"
    elif driver == 12 and oldest >= TURING:
        build = "cu128" if max(capabilities) >= BLACKWELL else "cu126"
    # It needs no administrator.
    fix = f"install torch's {build} build: https://pytorch.org/get-started/locally/ has the command"
    if amd:
        fix = "install torch for ROCm as https://pytorch.org/get-started/locally/ says"
    elif driver is not None and driver < OLDEST_CUDA:
        fix = "update the NVIDIA driver: https://www.nvidia.com/drivers"
    return _check("torch", f"{torch.version} {why}", fix, fails=True)


def _major(version: str | None) -> int | None:
    head = (version or "").split(".")[0]
    return int(head) if head.isdigit() else None


def _of_device(info: DeviceInfo, sample: Sample | None, others: tuple[Process, ...]) -> Iterator[Check]:
    """How a device is set up, which an administrator can change; and its clocks, heat, link and processes."""
    states = {None: "not reported (most GeForce cards have none)", True: "on", False: "off"}
    yield _check("ECC", states[info.ecc])
    mig, fix = "off" if info.mig is False else "not supported", None
    if info.mig:
        mig = "on: a slice is measured, not the card"
        fix = f"an administrator can turn it off: nvidia-smi -i {info.index} -mig 0"
    yield _check("MIG", mig, fix)
    limit, default, fix = info.power_limit_w, info.power_limit_default_w, None
    power = "not reported" if limit is None else f"{limit:.0f} W"
    if limit is not None and default is not None:
        if is_lowered(limit, default):
            power += f", below the default {default:.0f} W: speeds are those of the limit"
            fix = f"an administrator can lift it: nvidia-smi -i {info.index} -pl {default:.0f}"
        else:
            power += ", the default" if limit <= default + 0.5 else f", above the default {default:.0f} W"
    yield _check("power limit", power, fix)
    clocks, fix = "not reported", None
    if sample is not None and sample.sm_clock_hz:
        clocks = f"{sample.sm_clock_hz / 1e6:.0f} MHz now"
    if sample is not None and info.sm_clock_max_hz:
        clocks += f", {info.sm_clock_max_hz / 1e6:.0f} MHz at most"
    if sample is not None and sample.throttle:
        clocks += f"; lowered by {', '.join(sample.throttle)}"
        fix = f"see why: nvidia-smi -i {info.index} -q -d PERFORMANCE,CLOCK,TEMPERATURE,POWER"
        if "user-clocks" in sample.throttle:
            fix = f"an administrator can reset them: nvidia-smi -i {info.index} -rac"
    yield _check("clocks", clocks, fix)
    heat, fix = None if sample is None else sample.temperature_c, None
    shown = "not reported" if heat is None else f"{heat:.0f} °C"
    if heat is not None and heat >= COOL_C:
        shown += f"; a measurement waits until it is below {COOL_C:.0f} °C"
        fix = "stop what heats it, or improve the cooling if nothing runs"
    yield _check("temperature", shown, fix)
    link, fix, width = "not reported", None, info.pcie_width
    if info.pcie_generation is not None and width is not None:
        link = f"generation {info.pcie_generation} x{width}"
        if info.pcie_generation_max is not None and info.pcie_generation < info.pcie_generation_max:
            link += f" now, generation {info.pcie_generation_max} possible (idle cards lower it)"
        if info.pcie_width_max is not None and width < info.pcie_width_max:
            link += f"; x{info.pcie_width_max} is possible: transfers to the GPU are slower"
            fix = "move the card to a slot with all lanes, without a riser"
    yield _check("PCIe", link, fix)
    listed = ", ".join(
        str(p.pid) if p.memory_bytes is None else f"{p.pid} ({gibibytes(p.memory_bytes)})" for p in others
    )
    wait = f"wait until they end: nvidia-smi -i {info.index} lists them"
    yield _check("processes", f"others are on it: {listed}", wait) if others else _check("processes", "none")
