"""The device that is measured: which one, whether it is idle, and held by one session at a time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from gpuwise import store
from gpuwise.errors import InputError, MachineError
from gpuwise.facts import catalog
from gpuwise.measure import frameworks, telemetry
from gpuwise.measure.telemetry import DeviceInfo, Sensor, TorchBuild
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.issue import Issue
from gpuwise.model.question import Framework
from gpuwise.model.run import Device, RunConfig

# Utilisation above which another process is at work, not merely resident.
BUSY_SHARE = 0.05
# Load per core above which a CPU is busy with something else; the minute's mean lags, so it is no reason to
# refuse.
BUSY_CORES = 0.5
# The name of a device without a sensor, until its process reports it.
UNWATCHED = "GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The device that is measured, and the other GPUs of the machine."""

    device: Device
    sensor: Sensor | None
    info: DeviceInfo | None
    spec: GpuSpec | None
    name: str
    others: tuple[DeviceInfo, ...]
    other_sensors: tuple[Sensor, ...] = ()
    named: bool = False  # The user named the GPU: a suite then keeps to it

    @property
    def id(self) -> str:
        """Its catalog entry, else its name: recipes are kept by it."""
        return self.spec.id if self.spec else self.name

    @property
    def gpus(self) -> int:
        """GPUs of the machine; an unwatched one counts as one."""
        return 0 if self.device == "cpu" else 1 + len(self.others)

    @property
    def free(self) -> int | None:
        """The index of another GPU, to be named where this one is busy."""
        return self.others[0].index if self.others else None

    def used(self, plan: Sequence[RunConfig]) -> int:
        """GPUs of this machine that the largest measurement of a plan uses."""
        return max((config.gpus // config.nodes for config in plan), default=1)

    def devices(self, plan: Sequence[RunConfig]) -> tuple[DeviceInfo | None, ...]:
        """Every GPU of this machine that the plan uses; (None,) for the CPU and for an unwatched GPU."""
        return (self.info, *(self.others[: self.used(plan) - 1] if self.info is not None else ()))


def find_target(device: Device | None, index: int | None, framework: Framework = "torch") -> Target:
    """The device to measure: of all GPUs by `index`, else of those that CUDA_VISIBLE_DEVICES leaves.

    Raises MachineError and InputError as `choose` does.
    """
    sensors = telemetry.sensors()
    if index is None:
        sensors = visible(sensors, os.environ)
    if framework == "torch":
        chosen, sensor = choose(sensors, telemetry.torch_build(), device=device, index=index)
    else:
        frameworks.check_installed(framework)
        if device not in (None, "cpu", "cuda"):
            raise InputError(f"{framework} is not measured on {device}", hint="it is on cpu and cuda")
        chosen, sensor = pick(sensors, device=device, index=index)
    info = sensor.info() if sensor else None
    others = tuple(each for each in sensors if info and each.info().index != info.index)
    return Target(
        device=chosen,
        sensor=sensor,
        info=info,
        spec=catalog.resolve_device(info.name, info.memory_bytes) if info else None,
        name=info.name if info else telemetry.cpu_name() if chosen == "cpu" else UNWATCHED,
        others=tuple(each.info() for each in others),
        other_sensors=others,
        named=index is not None,
    )


def choose(
    sensors: Sequence[Sensor], torch: TorchBuild | None, *, device: Device | None, index: int | None
) -> tuple[Device, Sensor | None]:
    """The device to measure and the sensor that watches it (None for a CPU or an unwatched GPU).

    Without a wish: the first GPU, else the CPU.
    Raises MachineError where torch or the GPU is missing, InputError for a GPU that is not there.
    """
    if torch is None:
        raise MachineError(
            "torch is not installed, and it does the measuring", hint='install the extra "gpuwise[torch]"'
        )
    if device == "mps" and (platform.system(), platform.machine()) != ("Darwin", "arm64"):
        message = f"mps is the GPU of Apple's own chips, this is {platform.system()}"
        raise MachineError(message, hint="choose another device")
    if device == "xpu" and torch.xpu is None:
        message = f"torch {torch.version} is not built for Intel's GPUs"
        raise MachineError(message, hint="install torch from https://download.pytorch.org/whl/xpu")
    if device in ("mps", "xpu"):
        return device, None
    accelerated = torch.cuda is not None or torch.hip is not None
    if device == "cpu" or (device is None and index is None and not sensors and not torch.hip):
        return "cpu", None
    if not accelerated:
        raise MachineError(
            f"torch {torch.version} is a CPU build and cannot use the GPU",
            hint="install a build of torch for this GPU, or measure the CPU",
            code="cpu",
        )
    if not sensors and torch.hip and index is None:
        return "cuda", None
    return pick(sensors, device="cuda", index=index)


def pick(
    sensors: Sequence[Sensor], *, device: Device | None, index: int | None
) -> tuple[Device, Sensor | None]:
    """The same by the sensors alone, whatever framework will measure."""
    if device == "cpu" or (device is None and index is None and not sensors):
        return "cpu", None
    if not sensors:
        raise MachineError("no GPU found on this machine", hint="measure the CPU", code="cpu")
    if index is None:
        return "cuda", sensors[0]
    by_index = {sensor.info().index: sensor for sensor in sensors}
    if index not in by_index:
        present = ", ".join(str(i) for i in sorted(by_index))
        raise InputError(f"there is no GPU {index} here, only {present}", hint=f"choose GPU {min(by_index)}")
    return "cuda", by_index[index]


def visible(sensors: Sequence[Sensor], variables: Mapping[str, str]) -> tuple[Sensor, ...]:
    """Those that CUDA_VISIBLE_DEVICES names, by index or by the beginning of the unique id, in its order.

    All where it is not set, or names only what no sensor knows (an instance of MIG); none where it is
    empty or -1, as CUDA has it.
    """
    words = variables.get("CUDA_VISIBLE_DEVICES")
    if words is None:
        return tuple(sensors)
    wanted = [word.strip() for word in words.split(",")]
    if wanted[0] in ("", "-1"):
        return ()
    matches = [
        sensor
        for word in wanted
        for sensor in sensors
        if word == str(sensor.info().index) or (word and (sensor.info().uuid or "").startswith(word))
    ]
    return tuple(matches or sensors)


def check_host(load: float | None, cores: int) -> tuple[Issue, ...]:
    """A caution where the load average of the last minute says that other programs compete for the CPU."""
    if load is None or load <= BUSY_CORES * cores:
        return ()
    return (
        Issue.warning(
            "contended",
            f"load average {load:.1f} on {cores} cores: other programs are competing for the CPU",
            "stop them and run again",
        ),
    )


def check_idle(sensor: Sensor, others: Sequence[DeviceInfo] = ()) -> tuple[int, tuple[Issue, ...]]:
    """(number of other processes, cautions). Raises MachineError where one of them is at work.

    A process that merely holds memory (an open notebook) is a caution, not an obstacle.
    """
    processes, info = sensor.processes(), sensor.info()
    if not processes:
        return 0, ()
    pids = ", ".join(str(process.pid) for process in processes)
    used = sensor.sample().utilisation
    if used is None or used > BUSY_SHARE:
        free = next((other.index for other in others if other.index != info.index), None)
        elsewhere = f"choose GPU {free}, or " if free is not None else ""
        raise MachineError(
            f"GPU {info.index} is busy with process {pids}", hint=f"{elsewhere}wait until it ends"
        )
    caution = Issue.warning(
        "contended", f"process {pids} holds memory on GPU {info.index}", "close it for a clean number"
    )
    return len(processes), (caution,)


@contextmanager
def only_ours(
    devices: Sequence[DeviceInfo | None], command: str, *, free: int | None = None
) -> Iterator[None]:
    """`only_one` for every device of a session; `free` is the index of a GPU that it does not use."""
    with ExitStack() as held:
        for device in devices:
            held.enter_context(only_one(device, command, free=free if len(devices) == 1 else None))
        yield


@contextmanager
def only_one(device: DeviceInfo | None, command: str, *, free: int | None = None) -> Iterator[None]:
    """Hold the device's lock (None: the CPU, or a GPU that nobody watches) while the block runs.

    A file per device in gpuwise's own folder is locked by the kernel (flock): the lock goes when its process
    does, however that dies, so a file left behind means nothing. Where no file can be locked (a read-only
    home, some network file systems) there is no lock; a GPU's own list of processes is asked anyway.

    Raises MachineError, naming the process that holds it; `free` is the index of another GPU.
    """
    key, name = "cpu", "the CPU"
    if device is not None:
        # The same for one GPU however it is counted; its unique id is not written down.
        key = f"gpu-{hashlib.sha256((device.uuid or str(device.index)).encode()).hexdigest()[:12]}"
        name = f"GPU {device.index}"
    folder = store.home() / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / f"{key}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):  # a file system that has no locks
            if not _locked(descriptor):
                # What the holder wrote into the file.
                holder = os.pread(descriptor, 500, 0).decode(errors="replace").strip()
                pid, _, held_by = holder.partition(" ")
                process = f"process {pid} ({held_by})" if held_by else "another process"
                elsewhere = f"choose GPU {free}, or " if free is not None else ""
                stop = f", or stop process {pid}" if held_by else ""
                message = f"{name} is being measured by {process}"
                raise MachineError(message, hint=f"{elsewhere}wait until it ends{stop}")
        with suppress(OSError):  # a full disk has no room for the name, and the lock holds without
            os.truncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()} {command}\n".encode(errors="replace"))
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Take the lock; False where another process keeps it for a second. A child that a killed process was
    just starting may hold its lock for an instant."""
    for wait_s in (0.1,) * 10 + (None,):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if wait_s is not None:
                time.sleep(wait_s)
    return False
