"""From a workload, or any module, to its Trace: the kernels of one training or inference step.

The step runs on tensors without data (`recorder`), so neither a GPU nor memory for the weights is needed:
a model of a billion parameters takes seconds. Compiled steps go through `fusion`. This module and those
it records with are the only ones of the package that import torch.

What a step launches is torch's eager dispatch on CUDA, operator by operator: one kernel an operator, except
where `costs` says more. Workspaces of libraries and their own layout changes are not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from gpuwise.errors import InputError
from gpuwise.model.precision import Precision
from gpuwise.model.run import RunConfig
from gpuwise.model.trace import Trace
from gpuwise.predict.fusion import fuse
from gpuwise.predict.graph import Tape, grouped
from gpuwise.predict.memory import memory_of
from gpuwise.predict.recorder import record
from gpuwise.workloads import registry
from gpuwise.workloads.job import dtype_of, set_precision, training_job

Optimiser = Literal["adamw", "sgd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a Trace says beside its kernels."""

    workload: str
    version: int
    mode: str
    precision: str
    item: str


def trace_workload(config: RunConfig, batch: int | None = None) -> Trace:
    """The step of a workload at `batch` (else the configuration's, else the workload's default).

    Raises InputError where it cannot be traced, with the operator and the line that called it.
    """
    spec = registry.get(config.workload).spec
    batch = batch or config.batch or spec.default_batch
    return trace_of(record_workload(config, batch), about(config), batch=batch, compiled=config.compile)


def about(config: RunConfig) -> About:
    """What names the trace of a configuration."""
    spec = registry.get(config.workload).spec
    return About(
        workload=spec.id, version=spec.version, mode=config.mode, precision=config.precision, item=spec.item
    )


def record_workload(config: RunConfig, batch: int) -> Tape:
    """The eager step of a workload, as recorded."""
    found = registry.get(config.workload)
    _check(config, found.spec.modes, found.spec.precisions)
    workload = registry.load(found.reference or found.spec.id)
    on_device = replace(config, device="cuda", compile=False, batch=batch)

    def build() -> tuple[Callable[[], object], float]:
        job = workload.build(on_device, batch)
        return job.step, float(job.items)

    return record(build)


def _check(config: RunConfig, modes: tuple[str, ...], precisions: tuple[str, ...]) -> None:
    """Raise InputError for a mode or precision that the workload does not have."""
    for asked, allowed, what in (
        (config.mode, modes, "mode"),
        (config.precision, precisions, "precision"),
    ):
        if asked not in allowed:
            raise InputError(
                f"{config.workload} has no {what} {asked}, only {', '.join(allowed)}",
                hint=f"such as {what} {allowed[0]}",
                code="predict-with",
                workload=config.workload,
                option=what,
                value=str(allowed[0]),
            )


def trace_of(tape: Tape, about: About, *, batch: int, compiled: bool, group: bool = True) -> Trace:
    """The Trace of a recorded step, merged as torch.compile would where `compiled`; kernels in the order
    of the step unless equal ones are to be one."""
    done = fuse(tape) if compiled else tape
    kernels = (node.kernel() for node in done.nodes)
    return Trace(
        workload=about.workload,
        version=about.version,
        mode=about.mode,
        precision=about.precision,
        batch=batch,
        compiled=compiled,
        item=about.item,
        items=tape.items,
        parameters=tape.parameters,
        kernels=grouped(kernels) if group else tuple(kernels),
        memory=memory_of(done),
        unknown=tape.unknown,
        notes=tape.notes,
        calls=tuple(tape.calls.items()),
    )


def trace_module(
    model: nn.Module | Callable[[], nn.Module],
    inputs: tuple[Any, ...] | Mapping[str, Any],
    *,
    name: str,
    mode: Literal["train", "infer"] = "train",
    precision: Precision = Precision.BF16,
    compiled: bool = False,
    optimiser: Optimiser = "adamw",
    loss: Callable[[Any], Tensor] | None = None,
    item: str = "item",
) -> Trace:
    """The step of a user's module on example inputs, which are not changed; weights are not read.

    A function that makes the module is called without memory being taken for its weights. The batch is the
    first size of the first input. `loss` turns the output into a scalar; by default the mean of its first
    tensor. Raises InputError where it cannot be traced.
    """
    positional = inputs if isinstance(inputs, tuple) else ()
    named = dict(inputs) if isinstance(inputs, Mapping) else {}
    first = next((x for x in (*positional, *named.values()) if isinstance(x, Tensor) and x.dim()), None)
    batch = int(first.shape[0]) if first is not None else 1
    config = RunConfig(workload=name, mode=mode, precision=precision)

    def build() -> tuple[Callable[[], object], float]:
        set_precision(config)
        module = model if isinstance(model, nn.Module) else model()
        stack.enter_context(_trained(module, training=mode == "train"))
        arguments = tuple(_without_data(x) for x in positional)
        keywords = {key: _without_data(x) for key, x in named.items()}
        run = _Bound(module, keywords)
        if mode == "infer":
            return _inference(run, arguments, config), float(batch)
        parameters = [p for p in run.parameters() if p.requires_grad]
        optimizer = _optimizer(parameters, optimiser)
        job = training_job(run, arguments, loss or _mean, optimizer, config, batch)
        return job.step, float(batch)

    named_by = About(workload=name, version=1, mode=mode, precision=precision, item=item)
    with ExitStack() as stack:
        tape = record(build)
    return trace_of(tape, named_by, batch=batch, compiled=compiled)


def trace_operator(make: Callable[[], Callable[[], object]]) -> Trace:
    """The kernels of one operator (`workloads.operators`), whose tensors it makes on the default device."""

    def build() -> tuple[Callable[[], object], float]:
        with torch.device("cuda"):
            return make(), 1.0

    matmul, convolved = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    try:
        named = About(workload="operator", version=1, mode="infer", precision="bf16", item="step")
        return trace_of(record(build), named, batch=1, compiled=False)
    finally:  # a case may allow TF32
        torch.set_float32_matmul_precision(matmul)
        torch.backends.cudnn.allow_tf32 = convolved


def _inference(run: nn.Module, arguments: tuple[Any, ...], config: RunConfig) -> Callable[[], object]:
    """Forward in evaluation mode with weights in the precision, as stock inference is measured."""
    dtype = dtype_of(config.precision)
    run = run.eval().to(dtype)
    cast = tuple(x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x for x in arguments)

    def step() -> object:
        with torch.inference_mode():
            return run(*cast)

    return step


def _without_data(value: Any) -> Any:
    """A tensor of the device like this one. Whole numbers and truths keep their contents: lengths and masks
    decide what a step does, weights and images do not."""
    if not isinstance(value, Tensor):
        return value
    return torch.empty_like(value, device="meta") if value.is_floating_point() else value.to("meta")


def _optimizer(parameters: list[nn.Parameter], name: Optimiser) -> torch.optim.Optimizer:
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
    return torch.optim.AdamW(parameters, lr=1e-4, fused=True)


def _mean(output: Any) -> Tensor:
    """The mean of the first floating tensor of an output: a scalar that needs every part of it."""
    if isinstance(output, Tensor):
        return output.float().mean()
    parts = output.values() if isinstance(output, Mapping) else output
    return next(x for x in parts if isinstance(x, Tensor) and x.is_floating_point()).float().mean()


class _Bound(nn.Module):
    """A module run on tensors without data in place of its parameters and buffers, which stay as they are,
    with some keyword arguments given. Shared parameters stay shared."""

    def __init__(self, module: nn.Module, keywords: dict[str, Any]) -> None:
        super().__init__()
        self._module = (module,)  # in a tuple: not a part, so its weights are not this module's
        self._keywords = keywords
        self._names: dict[str, tuple[str, int]] = {}
        found = {id(p): i for i, p in enumerate(module.parameters())}
        self.weights = nn.ParameterList(
            nn.Parameter(torch.empty_like(p, device="meta"), p.requires_grad) for p in module.parameters()
        )
        for name, p in module.named_parameters(remove_duplicate=False):
            self._names[name] = ("weight", found[id(p)])
        for i, (name, buffer) in enumerate(module.named_buffers(remove_duplicate=False)):
            self.register_buffer(f"buffer{i}", buffer.to("meta"))
            self._names[name] = ("buffer", i)

    def forward(self, *args: Any) -> Any:
        own = {
            name: self.weights[i] if kind == "weight" else getattr(self, f"buffer{i}")
            for name, (kind, i) in self._names.items()
        }
        return torch.func.functional_call(self._module[0], own, args, self._keywords)


@contextmanager
def _trained(module: nn.Module, *, training: bool) -> Iterator[None]:
    """The module in training or evaluation mode; afterwards each part in its own again."""
    before = {part: part.training for part in module.modules()}
    module.train(training)
    try:
        yield
    finally:
        for part, was in before.items():
            part.training = was
