"""From what the user asked, or a suite names, to the list of configurations in the order they are measured.

Limits first (a short matrix product per precision and a copy), because every later number is read against
them; then workload by workload, cheap configurations before expensive ones. What the device lacks is refused,
or skipped in a suite, and listed.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from gpuwise import workloads
from gpuwise.errors import InputError, MachineError
from gpuwise.measure import frameworks
from gpuwise.measure.telemetry import cpu_count
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.question import Asked, Device, Mode, Recipe, RunConfig, WorkloadSpec

# For the time that is left only, as seen on H200s: start of a process (interpreter, torch, device context),
# with its compiler; compiling a model for inference and training; search of the batch; windows until the
# interval is narrow on a quiet card.
STARTUP_S, COMPILER_S, COMPILE_S, SEARCH_S, ADAPTIVE_S = 3.5, 3.0, {"infer": 18.0, "train": 45.0}, 40.0, 12.0
LIMIT_S = 2.0
# Limits that every session measures.
YARDSTICKS = ("matmul", "copy")
# Precisions that an AMD card has where its data sheet states a peak for them.
STATED: tuple[Precision, ...] = (Precision.TF32, Precision.BF16, Precision.FP8)
# Replicas of a suite on a CPU: they show that replicas work together, and share its cores.
STAND_INS = 2
# What torch does not run on a device, whichever model of it.
WITHOUT: dict[Device, tuple[Precision, ...]] = {
    "cpu": (Precision.TF32, Precision.FP16, Precision.FP8),
    "mps": (Precision.FP64, Precision.TF32, *PRECISIONS[PRECISIONS.index(Precision.FP8) :]),
    "xpu": (Precision.TF32, *PRECISIONS[PRECISIONS.index(Precision.FP8) :]),
}

SHARED = RunConfig(workload="", mode="train", precision=Precision.FP32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Asked):
    """A request of `gpuwise bench`: lists that multiply, and what all their configurations share.

    Empty precisions or compile mean the default of the workload on the device.
    """

    workloads: tuple[str, ...]
    modes: tuple[Mode, ...] = ("train", "infer", "compute")
    precisions: tuple[Precision, ...] = ()
    compile: tuple[bool, ...] = ()
    batch: tuple[int | None, ...] = (None,)
    """Batches one after the other; None = search for the throughput-best."""
    gpus: tuple[int, ...] = ()
    """Counts of GPUs of each machine, one after the other; empty = 1, and for what needs several, 2, 4,
    8 ... as many as there are."""
    methods: tuple[str, ...] = ()  # Of training language models: full, lora, qlora, pretrain
    checkpointing: bool = False  # Their activations are computed again in the backward pass
    contexts: tuple[int, ...] = ()  # Their tokens of a sequence; empty = 2,048
    recipe: Recipe = "tuned"
    """The best known whatever it uses, the best without gpuwise's own kernels, or the public script."""
    shared: RunConfig = SHARED
    """Every other field of the configurations. Its workload, mode, precision, compile, batch and gpus are not
    read, and neither are nodes and scaling for one GPU."""
    missing: tuple[Precision, ...] = ()  # Precisions that the device lacks
    present: int = 1  # GPUs of this machine
    limited: bool = True
    """Whether the machine's limits are measured too; that takes torch, whatever the framework."""

    def given(self, **options: Any) -> Request:
        """With these options: fields of a Request, or of the configurations that it shares."""
        names = {field.name for field in fields(Request)}
        mine = {name: value for name, value in options.items() if name in names}
        others = {name: value for name, value in options.items() if name not in names}
        return replace(self, shared=replace(self.shared, **others), **mine)

    @property
    def specs(self) -> list[WorkloadSpec]:
        """Those of its workloads; one name may be several. Raises InputError for an unknown one."""
        how = (self.modes, self.methods, self.checkpointing, self.contexts)
        names = [each for name in self.workloads for each in workloads.expand(name, *how)]
        return [workload.spec for name in names for workload in workloads.find(name)]

    def counts(self) -> tuple[int, ...]:
        """Total GPU counts, ascending. Multi-node runs always include a single-GPU baseline."""
        wanted = sorted(set(self.gpus)) or [1]
        if self.shared.nodes == 1:
            return tuple(wanted)
        return (1, *(count * self.shared.nodes for count in wanted))

    def together(self) -> tuple[int, ...]:
        """Counts at which what needs several GPUs is measured: those asked for, else the powers of two."""
        if self.gpus or self.shared.nodes > 1:
            return tuple(count for count in self.counts() if count > 1)
        return powers(self.present)

    def has_enough(self, spec: WorkloadSpec) -> bool:
        """True if the device and the other GPUs of the machine are what a workload needs."""
        if spec.collective:
            return bool(self.together())
        return self.shared.size == "toy" or spec.gpus <= (0 if self.shared.device == "cpu" else self.present)


def powers(most: int) -> tuple[int, ...]:
    """2, 4, 8 ... up to `most`."""
    return tuple(2**n for n in range(1, most.bit_length()))


def schedule(requests: Sequence[Request]) -> tuple[RunConfig, ...]:
    """Every measurement of all requests, each once: the limits of all of them first."""
    every = [config for request in requests for config in configs(request)]
    return tuple(dict.fromkeys(sorted(every, key=lambda config: config.mode != "limit")))


def configs(request: Request) -> tuple[RunConfig, ...]:
    """Every measurement of the request, limits first. Raises InputError where none is left."""
    most = max((*request.counts(), *request.gpus))
    if request.shared.input == "host" and most > 1:
        hint = "leave out the counts of GPUs, or the input"
        raise InputError("the input pipeline feeds one GPU", hint=hint)
    chosen = request.specs
    frameworks.check_asked(
        request.shared.framework,
        workloads=[spec.id for spec in chosen],
        precisions=request.precisions,
        recipe=request.recipe,
        host_input=request.shared.input == "host",
        gpus=most,
        nodes=request.shared.nodes,
    )
    whole = [spec.id for spec in chosen if not spec.divides]
    if request.shared.scaling == "tensor" and whole:
        problem = f"tensor parallel are language models but for adapters, not {whole[0]}"
        raise InputError(problem, hint="such as llama-3.1-8b-decode or llama-3.1-8b-full")
    every = (config for spec in chosen for config in _models(spec, request))
    # Those that are compiled one after the other can be compiled together.
    models = tuple(sorted(every, key=lambda config: config.compile))
    if not models and not any(spec.is_limit for spec in chosen):
        raise InputError(
            f"no workload of {', '.join(request.workloads)} has mode {', '.join(request.modes)} "
            f"in {', '.join(request.precisions) or 'any precision'}, recipe {request.recipe}",
            hint="see the list of workloads for the modes, precisions and recipes of each",
        )
    return (*_limits(request, chosen), *models)


def _models(spec: WorkloadSpec, request: Request) -> Iterator[RunConfig]:
    """Configurations of what is not a limit; eager alone where compiling changes nothing."""
    shared = request.shared
    if request.recipe == "script" and not spec.script:
        return
    usual = (shared.device == "cuda" and not shared.quick,)
    compiled = request.compile or usual if spec.compiles else (False,)
    modes = [mode for mode in request.modes if mode in spec.modes and mode != "limit"]
    for compile, precision, mode, batch, count in product(
        compiled, precisions(spec, request), modes, request.batch, request.counts()
    ):
        config = replace(
            shared,
            workload=spec.id,
            content=workloads.get(spec.id).content,
            recipe=request.recipe,
            mode=mode,
            precision=precision,
            compile=compile,
            batch=batch,
            gpus=count,
            nodes=shared.nodes if count > 1 else 1,
            scaling=shared.scaling if count > 1 else "weak",
        )
        # What runs on gpuwise's own layers, as FP8 training does, has no stock recipe.
        if request.recipe != "stock" or config.recipe == "stock":
            yield config


def precisions(spec: WorkloadSpec, request: Request) -> tuple[Precision, ...]:
    """The precisions of a workload: of those asked for, the ones it has.

    By default bf16, where the device lacks it fp16, and fp32 on a CPU; a workload that has none of
    these (a scientific one) is measured in all of its own.
    """
    if request.precisions:
        return tuple(p for p in request.precisions if p in (*spec.precisions, *spec.unpredicted))
    half = Precision.FP16 if Precision.BF16 in request.missing else Precision.BF16
    default = Precision.FP32 if request.shared.device == "cpu" else half
    if default in spec.precisions and "compute" not in spec.modes:
        return (default,)
    return tuple(p for p in spec.precisions if p not in request.missing)


def _limits(request: Request, specs: Sequence[WorkloadSpec]) -> tuple[RunConfig, ...]:
    """A matrix product per precision, one copy, the other limits that were asked for, and the limits beside
    which scaling is read: one link, and all of them together at every count."""
    if not request.limited:
        return ()
    shared = request.shared
    matmul, all_reduce = (workloads.get(name).spec for name in ("matmul", "all-reduce"))
    models = [spec for spec in specs if "limit" not in spec.modes]
    measured = [p for spec in models for p in precisions(spec, request)]
    wanted = request.precisions or tuple(dict.fromkeys(measured)) or precisions(matmul, request)
    # The size that shows a collective's bandwidth; on a CPU and for a toy, its own smaller one.
    whole = shared.device == "cuda" and shared.size == "full"
    limits = (next((p for p in Precision(each).products if p in matmul.precisions), None) for each in wanted)
    tests: list[tuple[str, Precision, int | None, int]] = [
        ("matmul", precision, None, 1) for precision in limits if precision is not None
    ]
    tests.append(("copy", Precision.FP32, None, 1))
    for spec in specs:
        if spec.is_limit and spec.id not in YARDSTICKS:
            # The size of most limits is their own; where it is not (copy-l2), the batch sets it.
            sizes = request.batch if spec.default_batch > 1 else (None,)
            if spec.collective:
                sizes = tuple(size or (spec.default_batch if whole else None) for size in sizes)
            number = request.together() if spec.collective else (1,)
            tests += [(spec.id, spec.precisions[0], size, n) for n, size in product(number, sizes)]
    if models:
        several = [count for count in request.counts() if count > 1]
        if several and request.present > 1:
            tests.append(("peer", Precision.FP32, None, 1))
        size = all_reduce.default_batch if whole else None
        tests += [("all-reduce", Precision.FP32, size, n) for n in several]
    return tuple(
        RunConfig(
            workload=name,
            mode="limit",
            precision=precision,
            batch=batch,
            time_s=min(shared.time_s, LIMIT_S),
            target_ci=shared.target_ci,
            quick=shared.quick,
            device=shared.device,
            size=shared.size,
            gpus=count,
            nodes=shared.nodes if count > 1 else 1,
        )
        for name, precision, batch, count in dict.fromkeys(tests)
    )


def expected_phases(config: RunConfig) -> dict[str, float]:
    """Rough seconds of each phase of a configuration, as `MeasurementBuilder.phase` names them."""
    if config.mode == "limit":
        return {"start": STARTUP_S * config.gpus, "timing": 0.8}
    searched = config.batch is None and config.device == "cuda" and not config.quick
    # Several GPUs: a step alone and the common one are two compilations.
    whole_s = COMPILE_S.get(config.mode, 18.0) * min(2, config.gpus) if config.size == "full" else 3.0
    trains, eager = config.mode == "train", not config.compile
    timed_s = 3 * 3.0 if config.protocol == "aime" else min(config.time_s, ADAPTIVE_S)
    return {
        "start": (STARTUP_S + (0.0 if eager else COMPILER_S)) * min(3, config.gpus),
        "search": SEARCH_S if searched else 0.0,
        "build": 3.5 if trains else 1.0 if eager else 3.0,
        "compile": whole_s if config.compile else 0.0,
        # Libraries choose their kernels in it.
        "first step": 1.0 if config.compile else 5.0 if trains else 1.5,
        "warm-up": 1.7,
        "timing": 0.65 * timed_s if config.quick else timed_s,
        "profile": 0.0 if config.quick else 2.0 if trains else 0.3,
        "end": 0.4 if eager else 1.0,
    }


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


def check_counts(request: Request) -> None:
    """Raise InputError where several GPUs were asked for and all that is measured are limits of one."""
    most, specs = max(request.gpus, default=1), request.specs
    if most > 1 and all(spec.is_limit and not spec.collective and spec.gpus < 2 for spec in specs):
        names = ", ".join(spec.id for spec in specs)
        raise InputError(f"{names}: measured on one GPU, not on {most}", hint="ask for one", code="one-gpu")


def check_able(request: Request, name: str) -> None:
    """Raise MachineError where the device lacks a precision or the machine GPUs that were asked for, and
    InputError where a CPU is to be shared by more processes than it has cores. `name` is the device's."""
    check_counts(request)
    device, most = request.shared.device, max(request.gpus, default=1)
    missing = [p for p in request.precisions if p in request.missing]
    if missing:
        has = ", ".join(p for p in PRECISIONS if p not in request.missing)
        raise MachineError(f"{name} has no {', '.join(missing)}", hint=f"it has {has}")
    if device == "cpu" and most > max(STAND_INS, cpu_count()):
        problem = f"{most} processes were asked for, and this CPU has {cpu_count()} core(s) for them"
        raise InputError(problem, hint=f"ask for {max(STAND_INS, cpu_count())} at most")
    if device != "cpu" and most > request.present:
        counts = ", ".join(str(n) for n in (1, *powers(request.present)))
        problem = f"{most} GPUs were asked for, and this machine has {request.present}"
        raise MachineError(problem, hint=f"counts that work here: {counts}")
    for spec in request.specs:
        if spec.collective and not request.together():
            raise MachineError(f"{spec.id} needs 2 GPUs or processes", hint="ask for 2", code="two-gpus")
        if not request.has_enough(spec):
            count = "a GPU" if spec.gpus == 1 else f"{spec.gpus} GPUs"
            machine = "this is a CPU" if device == "cpu" else f"this machine has {request.present}"
            hint = "choose another workload for this machine"
            raise MachineError(f"{spec.id} needs {count}, and {machine}", hint=hint)


def fitted(request: Request) -> tuple[Request | None, tuple[str, ...]]:
    """The part of a suite's request that this machine can do (None: nothing), and what is skipped."""
    most = STAND_INS if request.shared.device == "cpu" else max(1, request.present)
    if not frameworks.several(request.shared.framework):
        most = 1
    possible = tuple(spec.id for spec in request.specs if request.has_enough(spec))
    able = tuple(p for p in request.precisions if p not in request.missing)
    counted = tuple(count for count in request.gpus if count <= most)
    skipped = (
        *(spec.id for spec in request.specs if spec.id not in possible),
        *(p for p in request.precisions if p not in able),
        *(f"{count} GPUs" for count in request.gpus if count not in counted),
    )
    if not possible or (request.precisions and not able) or (request.gpus and not counted):
        return None, skipped
    return replace(request, workloads=possible, precisions=able, gpus=counted), skipped


_TABLE = tomllib.loads(Path(__file__).with_name("suites.toml").read_text(encoding="utf-8"))
SUITES = {
    name: tuple(
        Request(workloads=row.pop("workloads")).given(
            precisions=map(Precision, row.pop("precisions", ())), **row
        )
        for row in rows
    )
    for name, rows in _TABLE.items()
}


def suite_names() -> tuple[str, ...]:
    """Every suite; `full` is the last."""
    return (*SUITES, "full")


def suite(name: str) -> tuple[Request, ...]:
    """The requests of a suite. Raises InputError for an unknown name."""
    if name == "full":
        # Every workload in every mode that the scenarios leave out.
        limits, scenarios = SUITES["limits"], SUITES["scenarios"]
        seen = {workload for request in (*limits, *scenarios) for workload in request.workloads}
        others = tuple(workload for workload in workloads.names() if workload not in seen)
        rest = replace(scenarios[0], workloads=others, modes=("train", "infer", "compute"))
        return (*limits, *scenarios, rest, *SUITES["aime"], *SUITES["tf-cnn"])
    if name not in SUITES:
        raise InputError(f"unknown suite {name!r}", hint=f"choose from {', '.join(suite_names())}")
    return SUITES[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendezvous:
    """Where the ranks of a measurement meet: by themselves on one machine, else as torchrun's options say.

    Every machine runs the same command, so all have the same plan; each measurement on several machines has
    an id of its own, named after what it measures.
    """

    endpoint: str = "localhost:0"  # HOST:PORT on one of the machines; port 0 takes a free one
    id: str = "gpuwise"  # The same on all machines, another for each measurement
    node: int | None = None
    """0 where the ranks meet; None finds that out by the address. The ranks' own order is torchrun's."""

    def of(self, config: RunConfig) -> Rendezvous:
        """The rendezvous of one measurement of the session."""
        return replace(self, id=f"gpuwise-{hashlib.sha256(config.key().encode()).hexdigest()[:16]}")


# What is measured, and the workload as the registry finds it.
Task = tuple[RunConfig, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One order of the parent to measure, a line of JSON."""

    config: RunConfig
    reference: str  # The workload, as the registry finds it
    rendezvous: Rendezvous = Rendezvous()
    more: bool = False  # Another order follows
    then: tuple[Task, ...] = ()  # What ranks do after it, without another order
    turn: str = ""  # The file of `locks.Turn`, where other processes prepare beside it


def rendezvous_of(nodes: int, endpoint: str | None, node: int | None) -> Rendezvous | None:
    """The rendezvous that the options mean, None for one machine. Raises InputError where they disagree."""
    if nodes == 1:
        if endpoint is not None or node is not None:
            problem = "a place to meet and a number of the machine are for several machines"
            raise InputError(problem, hint="say how many", code="machines")
        return None
    if endpoint is None:
        problem = f"{nodes} machines need a place to meet"
        raise InputError(problem, hint="name an address of the first", code="rendezvous")
    if node is not None and node >= nodes:
        problem = f"{nodes} machines are numbered 0 to {nodes - 1}, not {node}"
        raise InputError(problem, hint=f"such as {nodes - 1}")
    host, colon, port = endpoint.rpartition(":")
    if not host or not colon or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InputError(f"a rendezvous is HOST:PORT, not {endpoint!r}", hint="such as node0:29400")
    return Rendezvous(endpoint=endpoint, node=node)
