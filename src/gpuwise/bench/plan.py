"""From what the user asked to the list of configurations, in the order they are measured.

Limits first (a short matrix product per precision and a copy), because every later number is
read against them; then workload by workload, cheap configurations before expensive ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from gpuwise import workloads
from gpuwise.errors import InputError, MachineError
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.run import Device, Protocol, Recipe, RunConfig, Size
from gpuwise.model.workload import PRECISIONS, Mode, Precision

STARTUP_S = 8.0
"""Typical start of a child: interpreter, torch, device context, model. For the ETA only."""
COMPILE_S = 35.0
"""Typical torch.compile time of a reference model. For the ETA only."""
LIMIT_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The options of `gpuwise bench`, parsed."""

    workloads: tuple[str, ...]
    modes: tuple[Mode, ...]
    precisions: tuple[Precision, ...]
    compile: tuple[bool, ...]
    recipe: Recipe
    device: Device
    protocol: Protocol = "adaptive"
    batch: int | None = None
    time_s: float = 60.0
    target_ci: float = 0.01
    quick: bool = False
    size: Size = "full"


def configs(request: Request) -> tuple[RunConfig, ...]:
    """Every measurement of the request, limits first. Raises InputError where none is left."""
    chosen = [workloads.get(name).spec for name in request.workloads]
    models = [
        RunConfig(
            workload=spec.id,
            mode=mode,
            precision=precision,
            compile=compiled,
            batch=request.batch,
            recipe=request.recipe,
            protocol=request.protocol,
            time_s=request.time_s,
            target_ci=request.target_ci,
            quick=request.quick,
            device=request.device,
            size=request.size,
        )
        for spec in chosen
        for compiled, precision, mode in product(request.compile, request.precisions, request.modes)
        if mode in spec.modes and request.recipe in spec.recipes and precision in spec.precisions
    ]
    asked_limits = [spec.id for spec in chosen if "limit" in spec.modes]
    if not models and not asked_limits:
        raise InputError(
            f"no workload of {', '.join(request.workloads)} has mode {', '.join(request.modes)} "
            f"in {', '.join(request.precisions)}",
            hint="gpuwise workloads",
        )
    return (*limits(request), *models)


def limits(request: Request) -> tuple[RunConfig, ...]:
    """A matrix product per precision, and one copy."""
    products = workloads.get("matmul").spec.precisions
    tests: list[tuple[str, Precision]] = [("matmul", p) for p in request.precisions if p in products]
    tests.append(("copy", "fp32"))
    return tuple(
        RunConfig(
            workload=name,
            mode="limit",
            precision=precision,
            time_s=min(request.time_s, LIMIT_S),
            target_ci=request.target_ci,
            quick=request.quick,
            device=request.device,
            size=request.size,
        )
        for name, precision in tests
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
