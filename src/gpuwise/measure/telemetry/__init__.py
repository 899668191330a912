"""Watch the device and describe the machine: devices, the computer around them, and torch.

Reads only: no clock, limit or mode is ever set. Found in milliseconds, and without importing torch.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import platform
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path

import psutil

from gpuwise import __version__
from gpuwise.facts import catalog
from gpuwise.measure.telemetry.sensor import DeviceInfo, Sample, Sensor
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.question import Environment
from gpuwise.model.result import Link

_SPEED = re.compile("CUBLAS|CUDA_|CUDNN|HIP_|HSA_|MKL_|NCCL_|NVIDIA_TF32|OMP_|PYTORCH|ROCR_|TORCH|TRITON_")
# Names of addresses, hosts and credentials (NCCL_HOSTID, TORCHINDUCTOR_REDIS_HOST): no settings.
_PRIVATE = re.compile(r"COMM_ID$|HOST(ID)?$|PASSWORD|SECRET|TOKEN|USERNAME")
_PATH = re.compile(r"[/\\~]")
# `cuda: Optional[str] = '13.0'` of torch's version file.
_STATED = re.compile(r"^(\w+)(?::[^=\n]*)? = (['\"])(.*?)\2$", re.MULTILINE)
_DEVICE_ID = re.compile(r"\b(GPU|MIG)-[0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchBuild:
    """An installed torch: its version and what it was built for."""

    version: str
    cuda: str | None = None
    hip: str | None = None
    xpu: str | None = None


def torch_build() -> TorchBuild | None:
    """The torch that `import torch` would load, read from its version file (`torch.version`). Importing torch
    takes over a second; this takes a millisecond. None where there is none."""
    try:
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.origin is None:
            return None
        text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    except (ImportError, OSError, ValueError):  # ValueError: half loaded, or not UTF-8
        return None
    stated = {name: value for name, _, value in _STATED.findall(text)}
    version = stated.get("__version__")
    if version is None:
        return None
    return TorchBuild(version=version, cuda=stated.get("cuda"), hip=stated.get("hip"), xpu=stated.get("xpu"))


def cpu_name() -> str:
    """Model name of the processor (`lscpu`), or the architecture where that is unknown."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.machine()


def cpu_count() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1


def load_average() -> float | None:
    """Mean number of processes that ran or waited over the last minute (`uptime`)."""
    try:
        return float(psutil.getloadavg()[0])
    except OSError:  # no /proc in some containers
        return None


def disk_free_bytes(path: Path) -> int:
    """Free bytes where `path` is or would be (`df`)."""
    absolute = path.absolute()
    existing = next(folder for folder in (absolute, *absolute.parents) if folder.exists())
    return shutil.disk_usage(existing).free


def speed_variables(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Environment variables that change speed, sorted by name, without what is private in them."""
    return tuple(
        # A path names its user, a device's unique id its owner: neither belongs in a published file.
        (name, "<path>" if _PATH.search(value) else _DEVICE_ID.sub(r"\1-<id>", value))
        for name, value in sorted(environ.items())
        if _SPEED.match(name) and not _PRIVATE.search(name)
    )


def sensors() -> tuple[Sensor, ...]:
    """A sensor for each GPU that answers, NVIDIA's first, then AMD's; empty where there is none."""
    from gpuwise.measure.telemetry import nvml

    sensors = nvml.sensors()
    if importlib.util.find_spec("amdsmi") is not None:
        from gpuwise.measure.telemetry import amd

        sensors += amd.sensors()
    return sensors


def links(infos: Sequence[DeviceInfo]) -> tuple[Link, ...]:
    """How NVIDIA's cards reach each other; empty for one card, and where another maker's is among them."""
    if len(infos) < 2 or any(info.vendor != "NVIDIA" for info in infos):
        return ()
    from gpuwise.measure.telemetry import nvml

    return nvml.links([info.index for info in infos])


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Devices, torch and the computer around them."""

    devices: tuple[DeviceInfo, ...]
    torch: TorchBuild | None
    cpu: str
    cpu_count: int  # Cores that this process may use


def machine() -> Machine:
    """Look at this machine; never raises."""
    watched = sensors()
    try:
        devices = tuple(sensor.info() for sensor in watched)
    finally:
        for sensor in watched:
            sensor.close()
    return Machine(devices=devices, torch=torch_build(), cpu=cpu_name(), cpu_count=cpu_count())


def gpu_of(info: DeviceInfo | None) -> GpuSpec | None:
    """The catalog entry of a device; None for a processor and for a GPU that the catalog does not know."""
    return catalog.resolve_device(info.name, info.memory_bytes) if info is not None else None


def environment(
    info: DeviceInfo | None, *, device: str = "", other_processes: int | None = None
) -> Environment:
    """The environment of a result. Neither host name nor unique ids are kept, but a digest of the device's.
    `device` names what is measured where there is no sensor (`info` is None); empty for the processor."""
    spec = gpu_of(info)
    environment = Environment(
        device=device or cpu_name(),
        gpu_id=spec.id if spec else None,
        gpuwise=__version__,
        python=platform.python_version(),
        os=f"{platform.system()} {platform.release()}",
        cpu=cpu_name(),
        cpu_count=cpu_count(),
        other_processes=other_processes,
        variables=speed_variables(os.environ),
    )
    if info is None:
        return environment
    # 48 bits, from which the id is not found again: it is random itself.
    card = sha256(info.uuid.encode()).hexdigest()[:12] if info.uuid else None
    # What the two call alike.
    both = {field.name for field in fields(DeviceInfo)} & {field.name for field in fields(Environment)}
    return replace(
        environment,
        device=info.name,
        card=card,
        device_memory_bytes=info.memory_bytes,
        **{name: getattr(info, name) for name in both},
    )


def is_loopback(host: str) -> bool:
    """True if an address is reached from this machine alone; a name other than localhost is not known to."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# `intel-rapl:N/energy_uj` counts microjoules of one processor package (AMD too) and wraps at
# `max_energy_range_uj`, about once an hour under load. Since 2020 most systems let only root read it.
# Reference: https://docs.kernel.org/power/powercap/powercap.html
ZONES = Path("/sys/class/powercap")


def host_sensor(zones: Path | None = None) -> Sensor | None:
    """A sensor of all packages together, or None where none can be read."""
    packages = []
    for path in sorted((zones or ZONES).glob("intel-rapl:[0-9]*")):
        energy, most = _read(path / "energy_uj"), _read(path / "max_energy_range_uj")
        # A second colon is a part of a package, counted in it.
        if path.name.count(":") == 1 and energy is not None and most is not None:
            packages.append((path, most, energy))
    return RaplSensor(packages) if packages else None


def _read(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


class RaplSensor(Sensor):
    """The processors of this host: energy, and from it the mean power since the sample before, of
    everything that runs on them. Of each package: its counter, what that wraps over, and its value."""

    def __init__(self, packages: Sequence[tuple[Path, int, int]]) -> None:
        self._wraps = {path: most for path, most, _ in packages}
        self._counted = {path: energy for path, _, energy in packages}
        self._carried = 0
        self._last: tuple[float, float] | None = None

    def info(self) -> DeviceInfo:
        return DeviceInfo(index=0, name=cpu_name())

    def sample(self) -> Sample:
        """Raises OSError where a counter is read no more: one that seems to stand still would be energy
        saved."""
        at_s = time.monotonic()
        for path, most in self._wraps.items():
            now = _read(path / "energy_uj")
            if now is None:
                raise OSError(f"{path.name} can no longer be read")
            self._carried += most * (now < self._counted[path])
            self._counted[path] = now
        energy = (self._carried + sum(self._counted.values())) / 1e6
        before, self._last = self._last, (at_s, energy)
        power = None
        if before is not None and at_s > before[0]:
            power = (energy - before[1]) / (at_s - before[0])
        return Sample(at_s=at_s, power_w=power, energy_j=energy)
