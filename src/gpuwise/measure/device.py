"""Pick the device to measure and see that nobody else is using it, before anything starts."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence

from gpuwise.errors import InputError, MachineError
from gpuwise.measure.telemetry import DeviceInfo, Sensor, TorchBuild
from gpuwise.model.issue import Issue
from gpuwise.model.run import Device
from gpuwise.model.units import percent

BUSY_SHARE = 0.05
"""Utilisation above which another process is at work, not merely resident."""
BUSY_CORES = 0.5
"""Load above which a CPU is not ours to measure; the minute's mean lags, so it is no reason to refuse."""


def choose(
    sensors: Sequence[Sensor],
    torch: TorchBuild | None,
    *,
    device: Device | None,
    index: int | None,
) -> tuple[Device, Sensor | None]:
    """The device to measure and the sensor that watches it (None for a CPU or an unwatched GPU).

    Without a wish: the first GPU, else the CPU.
    Raises MachineError where torch or the GPU is missing, InputError for a GPU that is not there.
    """
    if torch is None:
        raise MachineError(
            "torch is not installed, and it does the measuring", hint='pip install "gpuwise[torch]"'
        )
    if device in ("mps", "xpu"):
        check_other(device, torch)
        return device, None
    accelerated = torch.cuda is not None or torch.hip is not None
    if device == "cpu" or (device is None and index is None and not sensors and not torch.hip):
        return "cpu", None
    if not accelerated:
        raise MachineError(
            f"torch {torch.version} is a CPU build and cannot use the GPU",
            hint="pip install --force-reinstall torch, or measure the CPU: gpuwise bench --device cpu",
        )
    if not sensors and torch.hip and index is None:
        return "cuda", None
    return pick(sensors, device="cuda", index=index)


def check_other(device: Device, torch: TorchBuild) -> None:
    """Raise MachineError where torch cannot use Apple's or Intel's GPU."""
    hint = "gpuwise doctor, or gpuwise bench --device cpu"
    if device == "mps" and (platform.system(), platform.machine()) != ("Darwin", "arm64"):
        raise MachineError(f"mps is the GPU of Apple's own chips, this is {platform.system()}", hint=hint)
    if device == "xpu" and torch.xpu is None:
        hint = "pip install torch --index-url https://download.pytorch.org/whl/xpu"
        raise MachineError(f"torch {torch.version} is not built for Intel's GPUs", hint=hint)


def pick(
    sensors: Sequence[Sensor], *, device: Device | None, index: int | None
) -> tuple[Device, Sensor | None]:
    """The same by the sensors alone, whatever framework will measure."""
    if device == "cpu" or (device is None and index is None and not sensors):
        return "cpu", None
    if not sensors:
        hint = "gpuwise doctor, or gpuwise bench --device cpu"
        raise MachineError("no GPU found on this machine", hint=hint)
    return "cuda", sensors[0] if index is None else _numbered(sensors, index)


def _numbered(sensors: Sequence[Sensor], index: int) -> Sensor:
    by_index = {sensor.info().index: sensor for sensor in sensors}
    if index not in by_index:
        there = ", ".join(str(i) for i in sorted(by_index))
        raise InputError(
            f"there is no GPU {index} here, only {there}", hint=f"gpuwise bench --gpu {min(by_index)}"
        )
    return by_index[index]


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
    found = [sensor for word in wanted for sensor in sensors if _is_called(sensor.info(), word)]
    return tuple(found or sensors)


def _is_called(info: DeviceInfo, word: str) -> bool:
    return word == str(info.index) or (bool(word) and (info.uuid or "").startswith(word))


def check_host(load: float | None) -> tuple[Issue, ...]:
    """A caution where other programs keep the cores busy that are to be measured."""
    if load is None or load <= BUSY_CORES:
        return ()
    return (
        Issue(
            code="contended",
            severity="warning",
            detail=f"other programs kept {percent(load, 0)} of the cores busy in the last minute",
            fix="stop them and run again",
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
        elsewhere = f"gpuwise bench --gpu {free}, or " if free is not None else ""
        raise MachineError(
            f"GPU {info.index} is busy with process {pids}",
            hint=f"{elsewhere}wait until it ends: nvidia-smi --id={info.index}",
        )
    caution = Issue(
        code="contended",
        severity="warning",
        detail=f"process {pids} holds memory on GPU {info.index}",
        fix="close it for a clean number",
    )
    return len(processes), (caution,)
