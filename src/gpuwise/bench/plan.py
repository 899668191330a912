"""From what the user asked to the list of configurations, in the order they are measured.

Limits first (a short matrix product per precision and a copy), because every later number is
read against them; then workload by workload, cheap configurations before expensive ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from gpuwise import workloads
from gpuwise.errors import InputError, MachineError
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.run import Device, Protocol, Recipe, RunConfig, Size
from gpuwise.model.workload import PRECISIONS, Mode, Precision, WorkloadSpec

STARTUP_S = 8.0
"""Typical start of a child: interpreter, torch, device context, model. For the ETA only."""
COMPILE_S = 35.0
"""Typical torch.compile time of a reference model. For the ETA only."""
LIMIT_S = 2.0
YARDSTICKS = ("matmul", "copy")
"""Limits that every session measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of `gpuwise bench`, parsed. Empty precisions or compile mean the default of the
    workload on the device."""

    workloads: tuple[str, ...]
    modes: tuple[Mode, ...] = ("train", "infer", "compute")
    precisions: tuple[Precision, ...] = ()
    compile: tuple[bool, ...] = ()
    recipe: Recipe = "tuned"
    device: Device = "cuda"
    protocol: Protocol = "adaptive"
    batch: tuple[int | None, ...] = (None,)
    """Batches one after the other; None = search for the throughput-best."""
    time_s: float = 60.0
    target_ci: float = 0.01
    quick: bool = False
    size: Size = "full"
    missing: tuple[Precision, ...] = ()
    """Precisions that the device lacks."""


def configs(request: Request) -> tuple[RunConfig, ...]:
    """Every measurement of the request, limits first. Raises InputError where none is left."""
    chosen = [found.spec for name in request.workloads for found in workloads.find(name)]
    models = tuple(config for spec in chosen for config in _models(spec, request))
    if not models and not any("limit" in spec.modes for spec in chosen):
        raise InputError(
            f"no workload of {', '.join(request.workloads)} has mode {', '.join(request.modes)} "
            f"in {', '.join(request.precisions) or 'any precision'}, recipe {request.recipe}",
            hint="gpuwise workloads",
        )
    return (*limits(request, chosen), *models)


def schedule(requests: Sequence[Request]) -> tuple[RunConfig, ...]:
    """Every measurement of all requests, each once: the limits of all of them first."""
    every = [config for request in requests for config in configs(request)]
    ordered = sorted(every, key=lambda config: config.mode != "limit")
    return tuple(dict.fromkeys(ordered))


def _models(spec: WorkloadSpec, request: Request) -> Iterator[RunConfig]:
    """Configurations of what is no limit; eager alone where compiling changes nothing."""
    default = (request.device == "cuda" and not request.quick,)
    compiled = (request.compile or default) if spec.compiles else (False,)
    modes = [mode for mode in request.modes if mode in spec.modes and mode != "limit"]
    if request.recipe not in spec.recipes:
        return
    for how, precision, mode, batch in product(compiled, precisions(spec, request), modes, request.batch):
        yield RunConfig(
            workload=spec.id,
            mode=mode,
            precision=precision,
            compile=how,
            batch=batch,
            recipe=request.recipe,
            protocol=request.protocol,
            time_s=request.time_s,
            target_ci=request.target_ci,
            quick=request.quick,
            device=request.device,
            size=request.size,
        )


def precisions(spec: WorkloadSpec, request: Request) -> tuple[Precision, ...]:
    """What a workload is measured in: what was asked for, as far as it has it.

    By default bf16, where the device lacks it fp16, and fp32 on a CPU; a workload that has none of
    these (a scientific one) is measured in all of its own.
    """
    if request.precisions:
        return tuple(p for p in request.precisions if p in spec.precisions)
    half: Precision = "fp16" if "bf16" in request.missing else "bf16"
    default: Precision = "fp32" if request.device == "cpu" else half
    if default in spec.precisions and "compute" not in spec.modes:
        return (default,)
    return tuple(p for p in spec.precisions if p not in request.missing)


def limits(request: Request, asked: Sequence[WorkloadSpec]) -> tuple[RunConfig, ...]:
    """A matrix product per precision, one copy, and the other limits that were asked for."""
    product_spec = workloads.get("matmul").spec
    measured = [p for spec in asked if "limit" not in spec.modes for p in precisions(spec, request)]
    wanted = request.precisions or tuple(dict.fromkeys(measured)) or precisions(product_spec, request)
    tests: list[tuple[str, Precision, int | None]] = [
        ("matmul", precision, None) for precision in wanted if precision in product_spec.precisions
    ]
    tests.append(("copy", "fp32", None))
    for spec in asked:
        if "limit" in spec.modes and spec.id not in YARDSTICKS:
            # The size of most limits is their own; where it is not (copy-l2), the batch sets it.
            sizes = request.batch if spec.default_batch > 1 else (None,)
            tests += [(spec.id, spec.precisions[0], size) for size in sizes]
    return tuple(
        RunConfig(
            workload=name,
            mode="limit",
            precision=precision,
            batch=batch,
            time_s=min(request.time_s, LIMIT_S),
            target_ci=request.target_ci,
            quick=request.quick,
            device=request.device,
            size=request.size,
        )
        for name, precision, batch in tests
    )


def expected_s(config: RunConfig) -> float:
    """Rough duration of a configuration, for the ETA."""
    if config.mode == "limit":
        return 2.0
    compile_s = COMPILE_S if config.compile else 0.0
    if config.protocol == "aime":
        return 3 * (STARTUP_S + 15.0) + compile_s
    return STARTUP_S + compile_s + min(config.time_s, 15.0)


NEEDS: dict[Precision, float] = {"tf32": 8.0, "bf16": 8.0, "int8": 8.0, "fp8": 8.9}
"""Least compute capability with the precision in hardware."""


def lacking(spec: GpuSpec | None, device: Device) -> tuple[Precision, ...]:
    """Precisions that the device is known to lack; an unknown GPU is asked when it runs.

    A CPU has no TF32 and no FP8, and torch trains in fp16 on GPUs only.
    """
    if device == "cpu":
        return ("tf32", "fp16", "fp8")
    capability = spec.text("compute_capability") if spec is not None and spec.vendor == "NVIDIA" else None
    if capability is None:
        return ()
    return tuple(p for p, least in NEEDS.items() if float(capability) < least)


def check_precisions(
    precisions: tuple[Precision, ...], spec: GpuSpec | None, device: Device, name: str
) -> None:
    """Raise MachineError where the device lacks a precision that was asked for."""
    missing = [p for p in precisions if p in lacking(spec, device)]
    if missing:
        there = ",".join(p for p in PRECISIONS if p not in lacking(spec, device))
        raise MachineError(f"{name} has no {', '.join(missing)}", hint=f"gpuwise bench --precision {there}")


def check_gpus(request: Request, gpus: int) -> None:
    """Raise MachineError where a workload needs more GPUs than there are; a toy needs none."""
    for spec in (found.spec for name in request.workloads for found in workloads.find(name)):
        if not enough(spec, request, gpus):
            count = "a GPU" if spec.gpus == 1 else f"{spec.gpus} GPUs"
            there = "this is a CPU" if request.device == "cpu" else f"this machine has {gpus}"
            raise MachineError(f"{spec.id} needs {count}, and {there}", hint="gpuwise workloads")


def enough(spec: WorkloadSpec, request: Request, gpus: int) -> bool:
    """Whether the device and the GPUs beside it are what a workload needs."""
    there = 0 if request.device == "cpu" else gpus
    return request.size == "toy" or spec.gpus <= there


def fitted(request: Request, gpus: int) -> tuple[Request | None, tuple[str, ...]]:
    """The part of a suite's request that this machine can do (None: nothing), and what was left out."""
    found = [w.spec for name in request.workloads for w in workloads.find(name)]
    possible = tuple(w.id for w in found if enough(w, request, gpus))
    there = tuple(p for p in request.precisions if p not in request.missing)
    left_out = [w.id for w in found if w.id not in possible]
    left_out += [p for p in request.precisions if p not in there]
    if not possible or (request.precisions and not there):
        return None, tuple(left_out)
    return replace(request, workloads=possible, precisions=there), tuple(left_out)
