"""Pick the device to measure and see that nobody else is using it, before anything starts."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence

from gpuwise.errors import InputError, MachineError
from gpuwise.model.result import Caution
from gpuwise.model.run import Device
from gpuwise.telemetry import DeviceInfo, Sensor, TorchBuild
from gpuwise.units import percent

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
    variables: Mapping[str, str],
) -> tuple[Device, Sensor | None]:
    """The device to measure and the sensor that watches it (None for a CPU or an unwatched GPU).

    Without a wish: the first GPU (of CUDA_VISIBLE_DEVICES, where it is set), else the CPU.
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
    return pick(sensors, device="cuda", index=index, variables=variables)


def check_other(device: Device, torch: TorchBuild) -> None:
    """Raise MachineError where torch cannot use Apple's or Intel's GPU."""
    hint = "gpuwise doctor, or gpuwise bench --device cpu"
    if device == "mps" and (platform.system(), platform.machine()) != ("Darwin", "arm64"):
        raise MachineError(f"mps is the GPU of Apple's own chips, this is {platform.system()}", hint=hint)
    if device == "xpu" and torch.xpu is None:
        hint = "pip install torch --index-url https://download.pytorch.org/whl/xpu"
        raise MachineError(f"torch {torch.version} is not built for Intel's GPUs", hint=hint)


def pick(
    sensors: Sequence[Sensor], *, device: Device | None, index: int | None, variables: Mapping[str, str]
) -> tuple[Device, Sensor | None]:
    """The same by the sensors alone, whatever framework will measure."""
    if device == "cpu" or (device is None and index is None and not sensors):
        return "cpu", None
    if not sensors:
        hint = "gpuwise doctor, or gpuwise bench --device cpu"
        raise MachineError("no GPU found on this machine", hint=hint)
    return "cuda", _sensor(sensors, index, variables)


def _sensor(sensors: Sequence[Sensor], index: int | None, variables: Mapping[str, str]) -> Sensor:
    by_index = {sensor.info().index: sensor for sensor in sensors}
    if index is None:
        return _first_visible(sensors, variables.get("CUDA_VISIBLE_DEVICES"))
    if index not in by_index:
        there = ", ".join(str(i) for i in sorted(by_index))
        raise InputError(
            f"there is no GPU {index} here, only {there}", hint=f"gpuwise bench --gpu {min(by_index)}"
        )
    return by_index[index]


def _first_visible(sensors: Sequence[Sensor], visible: str | None) -> Sensor:
    """The first device that CUDA_VISIBLE_DEVICES names, by index or unique id; else the first."""
    wanted = (visible or "").split(",")[0].strip()
    for sensor in sensors:
        info = sensor.info()
        if wanted and (wanted == str(info.index) or (info.uuid or "").startswith(wanted)):
            return sensor
    return sensors[0]


def check_host(load: float | None) -> tuple[Caution, ...]:
    """A caution where other programs keep the cores busy that are to be measured."""
    if load is None or load <= BUSY_CORES:
        return ()
    return (
        Caution(
            code="contended",
            detail=f"other programs kept {percent(load, 0)} of the cores busy in the last minute",
            next_step="stop them and run again",
        ),
    )


def check_idle(sensor: Sensor, others: Sequence[DeviceInfo] = ()) -> tuple[int, tuple[Caution, ...]]:
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
    caution = Caution(
        code="contended",
        detail=f"process {pids} holds memory on GPU {info.index}",
        next_step="close it for a clean number",
    )
    return len(processes), (caution,)
