"""From what the user asked to the list of configurations, in the order they are measured.

Limits first (a short matrix product per precision and a copy), because every later number is
read against them; then workload by workload, cheap configurations before expensive ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.measure import frameworks
from gpuwise.model.precision import Precision
from gpuwise.model.question import Framework, Input, Scaling, Size
from gpuwise.model.recipe import Recipe
from gpuwise.model.run import Device, Protocol, RunConfig
from gpuwise.model.workload import Mode, WorkloadSpec

STARTUP_S = 8.0
"""Typical start of a child: interpreter, torch, device context, model. For the ETA only."""
COMPILE_S = 35.0
"""Typical torch.compile time of a reference model. For the ETA only."""
SEARCH_S = 40.0
"""Typical search of the batch, eager and compiled. For the ETA only."""
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
    """The best known whatever it uses, the best without gpuwise's own kernels, or the public script."""
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
    gpus: tuple[int, ...] = ()
    """Counts of GPUs of each machine, one after the other; empty = 1, and for what needs several, 2, 4,
    8 ... as many as there are."""
    scaling: Scaling = "weak"
    nodes: int = 1
    there: int = 1
    """GPUs of this machine."""
    input: Input = "device"
    framework: Framework = "torch"
    limited: bool = True
    """Whether the machine's limits are measured too; that takes torch, whatever the framework."""


def configs(request: Request) -> tuple[RunConfig, ...]:
    """Every measurement of the request, limits first. Raises InputError where none is left."""
    if request.input == "host" and max((*counts(request), *request.gpus)) > 1:
        raise InputError("the input pipeline feeds one GPU", hint="leave out --gpus, or --with-input")
    chosen = [found.spec for name in request.workloads for found in workloads.find(name)]
    _check_framework(request, chosen)
    models = tuple(config for spec in chosen for config in _models(spec, request))
    if not models and not any("limit" in spec.modes for spec in chosen):
        raise InputError(
            f"no workload of {', '.join(request.workloads)} has mode {', '.join(request.modes)} "
            f"in {', '.join(request.precisions) or 'any precision'}, recipe {request.recipe}",
            hint="gpuwise workloads",
        )
    return (*limits(request, chosen), *models)


def _check_framework(request: Request, chosen: Sequence[WorkloadSpec]) -> None:
    frameworks.check_asked(
        request.framework,
        workloads=[spec.id for spec in chosen],
        precisions=request.precisions,
        recipe=request.recipe,
        host_input=request.input == "host",
        gpus=max((*counts(request), *request.gpus)),
        nodes=request.nodes,
    )


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
    if request.recipe == "script" and not spec.script:
        return
    each = product(compiled, precisions(spec, request), modes, request.batch, counts(request))
    for how, precision, mode, batch, count in each:
        config = RunConfig(
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
            gpus=count,
            nodes=request.nodes if count > 1 else 1,
            scaling=request.scaling if count > 1 else "weak",
            input=request.input,
            framework=request.framework,
        )
        # What runs on gpuwise's own layers, as FP8 training does, has no stock recipe.
        if request.recipe != "stock" or config.recipe == "stock":
            yield config


def counts(request: Request) -> tuple[int, ...]:
    """GPUs over all machines, fewest first; several machines are always held against one GPU."""
    asked = sorted(set(request.gpus)) or [1]
    if request.nodes == 1:
        return tuple(asked)
    return (1, *(count * request.nodes for count in asked))


def together(request: Request) -> tuple[int, ...]:
    """Counts of GPUs at which what needs several is measured: those asked for, else the powers of two."""
    if request.gpus or request.nodes > 1:
        return tuple(count for count in counts(request) if count > 1)
    return powers(request.there)


def powers(most: int) -> tuple[int, ...]:
    """2, 4, 8 ... up to `most`."""
    return tuple(2**n for n in range(1, most.bit_length()))


def precisions(spec: WorkloadSpec, request: Request) -> tuple[Precision, ...]:
    """What a workload is measured in: what was asked for, as far as it has it.

    By default bf16, where the device lacks it fp16, and fp32 on a CPU; a workload that has none of
    these (a scientific one) is measured in all of its own.
    """
    if request.precisions:
        return tuple(p for p in request.precisions if p in spec.precisions)
    half: Precision = Precision.FP16 if Precision.BF16 in request.missing else Precision.BF16
    default: Precision = Precision.FP32 if request.device == "cpu" else half
    if default in spec.precisions and "compute" not in spec.modes:
        return (default,)
    return tuple(p for p in spec.precisions if p not in request.missing)


def limits(request: Request, asked: Sequence[WorkloadSpec]) -> tuple[RunConfig, ...]:
    """A matrix product per precision, one copy, and the other limits that were asked for."""
    if not request.limited:
        return ()
    product_spec = workloads.get("matmul").spec
    measured = [p for spec in asked if "limit" not in spec.modes for p in precisions(spec, request)]
    wanted = request.precisions or tuple(dict.fromkeys(measured)) or precisions(product_spec, request)
    tests: list[tuple[str, Precision, int | None, int]] = [
        ("matmul", precision, None, 1) for precision in wanted if precision in product_spec.precisions
    ]
    tests.append(("copy", Precision.FP32, None, 1))
    for spec in asked:
        if "limit" in spec.modes and spec.id not in YARDSTICKS:
            # The size of most limits is their own; where it is not (copy-l2), the batch sets it.
            sizes = request.batch if spec.default_batch > 1 else (None,)
            if spec.collective:
                sizes = tuple(size or _whole(spec, request) for size in sizes)
            number = together(request) if spec.collective else (1,)
            tests += [(spec.id, spec.precisions[0], size, n) for n, size in product(number, sizes)]
    if any("limit" not in spec.modes for spec in asked):
        tests += [test for test in links(request) if test not in tests]
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
            gpus=count,
            nodes=request.nodes if count > 1 else 1,
        )
        for name, precision, batch, count in tests
    )


def links(request: Request) -> list[tuple[str, Precision, int | None, int]]:
    """The limits beside which scaling is read: one link, and all of them together at every count."""
    several = [count for count in counts(request) if count > 1]
    found: list[tuple[str, Precision, int | None, int]] = []
    if several and request.there > 1:
        found.append(("peer", Precision.FP32, None, 1))
    size = _whole(workloads.get("all-reduce").spec, request)
    return found + [("all-reduce", Precision.FP32, size, n) for n in several]


def _whole(spec: WorkloadSpec, request: Request) -> int | None:
    """The size that shows a collective's bandwidth; on a CPU and for a toy, its own smaller one."""
    return spec.default_batch if request.device == "cuda" and request.size == "full" else None


def expected_s(config: RunConfig) -> float:
    """Rough duration of a configuration, for the ETA."""
    if config.gpus > 1:
        # A step alone and the common one are two compilations, and processes that start others.
        one = expected_s(replace(config, gpus=1))
        return one + STARTUP_S + (COMPILE_S if config.compile else 0.0)
    if config.mode == "limit":
        return 2.0
    compile_s = COMPILE_S if config.compile else 0.0
    search_s = SEARCH_S if config.batch is None and config.device == "cuda" and not config.quick else 0.0
    timed_s = 3 * 15.0 if config.protocol == "aime" else min(config.time_s, 15.0)
    return STARTUP_S + search_s + compile_s + timed_s
