"""What a device can do of what is asked: refuse what it lacks, or leave that out of a suite."""

from __future__ import annotations

from dataclasses import replace

from gpuwise import workloads
from gpuwise.errors import InputError, MachineError
from gpuwise.measure import frameworks
from gpuwise.measure.plan import Request, powers, together
from gpuwise.measure.telemetry import cpu_count
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.run import Device
from gpuwise.model.workload import WorkloadSpec

STATED: tuple[Precision, ...] = (Precision.TF32, Precision.BF16, Precision.FP8)
"""Precisions that an AMD card has where its data sheet states a peak for them."""
STAND_INS = 2
"""Replicas of a suite on a CPU: they show that replicas work together, and share its cores."""
WITHOUT: dict[Device, tuple[Precision, ...]] = {
    "cpu": (Precision.TF32, Precision.FP16, Precision.FP8),
    "mps": (Precision.FP64, Precision.TF32, Precision.FP8, Precision.INT8),
    "xpu": (Precision.TF32, Precision.FP8, Precision.INT8),
}
"""What torch does not run on a device, whichever model of it."""


def lacking(spec: GpuSpec | None, device: Device) -> tuple[Precision, ...]:
    """Precisions that the device is known to lack; an unknown GPU is asked when it runs.

    torch trains in fp16 on GPUs only. An AMD card has what its data sheet states a peak for.
    """
    if device in WITHOUT:
        return WITHOUT[device]
    if spec is not None and spec.vendor == "AMD":
        return tuple(p for p in STATED if spec.peaks and spec.peak(p) is None)
    capability = spec.text("compute_capability") if spec is not None and spec.vendor == "NVIDIA" else None
    if capability is None:
        return ()
    return tuple(p for p in PRECISIONS if float(capability) < p.capability)


def check_precisions(
    precisions: tuple[Precision, ...], spec: GpuSpec | None, device: Device, name: str
) -> None:
    """Raise MachineError where the device lacks a precision that was asked for."""
    missing = [p for p in precisions if p in lacking(spec, device)]
    if missing:
        there = ",".join(p for p in PRECISIONS if p not in lacking(spec, device))
        raise MachineError(f"{name} has no {', '.join(missing)}", hint=f"gpuwise bench --precision {there}")


def check_gpus(request: Request, gpus: int) -> None:
    """Raise MachineError where a workload needs more GPUs than there are, a toy needs none, and InputError
    where a CPU is to be shared by more processes than it has cores."""
    cores = max(STAND_INS, cpu_count())
    if request.device == "cpu" and max(request.gpus, default=1) > cores:
        raise InputError(
            f"{max(request.gpus)} processes were asked for, and this CPU has {cpu_count()} core(s) for them",
            hint=f"gpuwise bench --device cpu --gpus 1,{cores}",
        )
    if request.device != "cpu" and max(request.gpus, default=1) > gpus:
        raise MachineError(
            f"{max(request.gpus)} GPUs were asked for, and this machine has {gpus}",
            hint="gpuwise bench --gpus " + ",".join(str(n) for n in (1, *powers(gpus))),
        )
    for spec in (found.spec for name in request.workloads for found in workloads.find(name)):
        if spec.collective and not together(request):
            raise MachineError(f"{spec.id} needs 2 GPUs or processes", hint="gpuwise bench --gpus 2")
        if not enough(spec, request, gpus):
            count = "a GPU" if spec.gpus == 1 else f"{spec.gpus} GPUs"
            there = "this is a CPU" if request.device == "cpu" else f"this machine has {gpus}"
            raise MachineError(f"{spec.id} needs {count}, and {there}", hint="gpuwise workloads")


def enough(spec: WorkloadSpec, request: Request, gpus: int) -> bool:
    """Whether the device and the GPUs beside it are what a workload needs."""
    there = 0 if request.device == "cpu" else gpus
    if spec.collective:
        return bool(together(request))
    return request.size == "toy" or spec.gpus <= there


def fitted(request: Request, gpus: int) -> tuple[Request | None, tuple[str, ...]]:
    """The part of a suite's request that this machine can do (None: nothing), and what was left out."""
    found = [w.spec for name in request.workloads for w in workloads.find(name)]
    possible = tuple(w.id for w in found if enough(w, request, gpus))
    there = tuple(p for p in request.precisions if p not in request.missing)
    left_out = [w.id for w in found if w.id not in possible]
    left_out += [p for p in request.precisions if p not in there]
    most = STAND_INS if request.device == "cpu" else max(1, gpus)
    if not frameworks.several(request.framework):
        most = 1
    counted = tuple(count for count in request.gpus if count <= most)
    left_out += [f"{count} GPUs" for count in request.gpus if count not in counted]
    if not possible or (request.precisions and not there) or (request.gpus and not counted):
        return None, tuple(left_out)
    return replace(request, workloads=possible, precisions=there, gpus=counted), tuple(left_out)
