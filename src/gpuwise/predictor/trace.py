"""From a workload, or any module, to its Trace: the kernels of one training or inference step.

The step runs on tensors without data (`recorder`), so neither a GPU nor memory for the weights is needed:
a model of a billion parameters takes seconds. Compiled steps go through `graph.fuse`. This module and those
it records with are the only ones of the package that import torch.

The step's allocations are replayed through torch's caching allocator (c10/cuda/CUDACachingAllocator.cpp). It
rounds every request up to 512 bytes and serves it from the smallest free block that holds it. Requests up to
1 MiB come from segments of 2 MiB; larger ones from segments of 20 MiB, or from 10 MiB on from their own,
rounded up to 2 MiB. A block is split where at least 512 bytes (small) or more than 1 MiB (large) remain;
neighbours merge when freed.

`peak` is what `torch.cuda.max_memory_allocated` counts, `reserved` what the driver has given. Neither holds
the CUDA context, nor what libraries ask for themselves (`workspace_bytes`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal

import torch
from torch import Tensor, nn

from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig
from gpuwise.predictor.graph import ALLOCATE, FREE, RUN, Call, Event, Tape, fuse, grouped
from gpuwise.predictor.kernels import CHANNELS_FIRST, HALF, INTENSITY, Memory, Trace, copied
from gpuwise.predictor.recorder import record
from gpuwise.predictor.trace_store import check_offered
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
    check_offered(config)
    workload = registry.load(found.reference or found.spec.id)
    on_device = replace(config, device="cuda", compile=False, batch=batch)

    def build() -> tuple[Callable[[], object], float]:
        job = workload.build(on_device, batch)
        return job.step, float(job.items)

    return record(build, compiled=config.compile)


def trace_of(tape: Tape, about: About, *, batch: int, compiled: bool, group: bool = True) -> Trace:
    """The Trace of a recorded step, merged as torch.compile would where `compiled`; kernels in the order
    of the step unless equal ones are to be one."""
    done = fuse(tape) if compiled else tape
    kernels = (node.kernel() for node in done.nodes)
    return Trace(
        workload=about.workload, version=about.version, mode=about.mode, precision=about.precision,
        batch=batch, compiled=compiled, item=about.item, items=tape.items, parameters=tape.parameters,
        kernels=grouped(kernels) if group else tuple(kernels), memory=memory_of(done, compiled=compiled),
        unknown=tuple(dict.fromkeys(call.name for call in tape.unknown)), known=known_share(tape),
        notes=tape.notes, calls=tuple(tape.calls.items()),
    )  # fmt: skip


def known_share(tape: Tape) -> float:
    """Share of a step in operators of known cost: the least of its forward pass, its backward pass and the
    whole, by number and by work.

    Each pass answers for itself: a training step has three times the kernels of inference, also where its
    forward pass is mostly one operator without a rule, whose backward pass is as unknown.
    """
    if not tape.unknown:
        return 1.0
    found = []
    for phases in (("forward",), ("backward",), ("forward", "backward", "optimiser")):
        missing = [call for call in tape.unknown if call.phase in phases]
        nodes = [node for node in tape.nodes if node.phase in phases]
        number = sum(node.launches for node in nodes)
        work = sum(
            node.flop + INTENSITY * sum(size for _, size in (*node.reads, *node.writes)) for node in nodes
        )
        found += [
            known / max(known + left, 1e-12) if left else 1.0
            for known, left in ((number, len(missing)), (work, sum(map(_likely_work, missing))))
        ]
    return float(min(found))


def _likely_work(call: Call) -> float:
    """What an operator without a rule may take, in operations of usual kernels: its bytes, and for each
    element a line of its largest operand (solvers, transforms, distances), ten times as slow as products."""
    values = (*call.ins, *call.outs)
    largest = max(values, key=lambda value: value.numel)
    line = max(largest.shape[-2:], default=1)
    return INTENSITY * sum(value.bytes for value in values) + 20.0 * largest.numel * line


def trace_module(
    model: nn.Module | Callable[[], nn.Module], inputs: tuple[Any, ...] | Mapping[str, Any], *, name: str,
    mode: Literal["train", "infer"] = "train", precision: Precision = Precision.BF16, compiled: bool = False,
    optimiser: Optimiser = "adamw", loss: Callable[[Any], Tensor] | None = None, item: str = "item",
) -> Trace:  # fmt: skip
    """The step of a user's module on example inputs, which are not changed; weights are not read.

    A function that makes the module is called without memory being taken for its weights. The batch is the
    first size of the first input, or the second where the module says that it is not `batch_first`. `loss`
    turns the output into a scalar; by default the mean of its first tensor. Raises InputError where it cannot
    be traced.
    """
    positional = inputs if isinstance(inputs, tuple) else ()
    named = dict(inputs) if isinstance(inputs, Mapping) else {}
    first = next((x for x in (*positional, *named.values()) if isinstance(x, Tensor) and x.dim()), None)
    shape = (1,) if first is None else first.shape
    if getattr(model, "batch_first", True) is False:  # as of an LSTM; without a batch there are two sizes
        shape = shape[1:2] if len(shape) > 2 else (1,)
    batch = int(shape[0])
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
        stepped = (
            torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
            if optimiser == "sgd"
            else torch.optim.AdamW(parameters, lr=1e-4, fused=True)
        )
        job = training_job(run, arguments, loss or _mean, stepped, config, batch)
        return job.step, float(batch)

    named_by = About(workload=name, version=1, mode=mode, precision=precision, item=item)
    with ExitStack() as stack:
        tape = record(build, compiled=compiled)
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


SOFTMAX_BACKWARD = "aten._softmax_backward_data"
MIB = 2**20
SMALLEST, SMALL, SMALL_SEGMENT = 512, 1 * MIB, 2 * MIB
LARGE_SEGMENT, OWN_SEGMENT, OWN_ROUNDING = 20 * MIB, 10 * MIB, 2 * MIB


@dataclass(slots=True, eq=False)
class _Block:
    """A stretch of a segment; `before` and `after` are its neighbours in it."""

    size: int
    free: bool = False
    before: _Block | None = None
    after: _Block | None = None


_SIZE = attrgetter("size")


class Allocator:
    """The caching allocator without a device: sizes only, and the largest that was asked for."""

    def __init__(self) -> None:
        self.allocated = self.peak = self.reserved = 0
        self.largest = 0.0
        self._free: dict[bool, list[_Block]] = {True: [], False: []}

    def allocate(self, size: float) -> _Block:
        """A block of at least `size` bytes."""
        rounded = max(SMALLEST, -(-int(size) // SMALLEST) * SMALLEST)
        small = rounded <= SMALL
        pool = self._free[small]
        place = bisect_left(pool, rounded, key=_SIZE)
        block = pool.pop(place) if place < len(pool) else self._segment(rounded, small=small)
        block.free, remaining = False, block.size - rounded
        if remaining >= SMALLEST if small else remaining > SMALL:
            rest = _Block(remaining, free=True, before=block, after=block.after)
            if rest.after is not None:
                rest.after.before = rest
            block.after, block.size = rest, rounded
            insort(pool, rest, key=_SIZE)
        self.allocated += block.size
        self.peak, self.largest = max(self.peak, self.allocated), max(self.largest, size)
        return block

    def release(self, block: _Block, *, small: bool) -> None:
        """Give a block back; it merges with free neighbours."""
        self.allocated -= block.size
        for other in (block.before, block.after):
            if other is not None and other.free:
                self._free[small].remove(other)
                self._absorb(block, other)
        block.free = True
        insort(self._free[small], block, key=_SIZE)

    def _segment(self, size: int, *, small: bool) -> _Block:
        whole = SMALL_SEGMENT if small else LARGE_SEGMENT if size < OWN_SEGMENT else 0
        whole = whole or -(-size // OWN_ROUNDING) * OWN_ROUNDING
        self.reserved += whole
        return _Block(whole)

    def _absorb(self, block: _Block, other: _Block) -> None:
        block.size += other.size
        if other is block.before:
            block.before = other.before
            if block.before is not None:
                block.before.after = block
        else:
            block.after = other.after
            if block.after is not None:
                block.after.before = block


def workspaces(tape: Tape, *, compiled: bool) -> dict[int, float]:
    """What libraries take beside the tensors while a kernel runs, by its place. cuDNN convolves 16 bits with
    channels last and copies what lies otherwise, and the result; not of images where no window reaches beyond
    its place, a plain product, nor in torch's own kernels of one channel a group. A softmax's gradient is
    made of gradient times result, a tensor more (aten/src/ATen/native/cuda/SoftMax.cu). Others know it."""
    copies = {
        i: sum(size for _, size in (*node.reads, *node.writes))
        for i, node in enumerate(tape.nodes)
        if node.kind == "convolution" and node.dtype in HALF and not 1 < node.shape[8] == node.shape[1]
        and (max(node.shape[5:7]) > 1 or CHANNELS_FIRST not in node.name)
        and copied(node.name, node.shape, compiled=compiled)
    }  # fmt: skip
    softmax = {
        i: max(size for _, size in node.reads)
        for i, node in enumerate(tape.nodes)
        if node.name.startswith(SOFTMAX_BACKWARD) and not compiled
    }
    return copies | softmax | {i: node.beside for i, node in enumerate(tape.nodes) if node.beside}


def replay(
    start: dict[int, float], events: Iterable[Event], beside: Mapping[int, float] = MappingProxyType({}),
    earlier: Iterable[Event] = (),
) -> Allocator:  # fmt: skip
    """Play the allocations of a step, with what kernels take `beside` their tensors: after those `earlier`,
    which left the blocks that are split now, else of what was alive when it began."""
    allocator, sizes, blocks = Allocator(), dict(start), dict[int, _Block]()
    alive = [(ALLOCATE, storage, size) for storage, size in start.items()]
    for part in ([event for event in earlier if event[0] != RUN] or alive, events):
        allocator.peak, allocator.largest = allocator.allocated, max(start.values(), default=0.0)
        for kind, storage, size in part:
            if kind == ALLOCATE and size:
                sizes[storage] = size
                blocks[storage] = allocator.allocate(size)
            elif kind == FREE and storage in blocks:
                allocator.release(blocks.pop(storage), small=sizes[storage] <= SMALL)
            elif kind == RUN and (taken := beside.get(storage)):
                allocator.release(allocator.allocate(taken), small=taken <= SMALL)
    return allocator


def memory_of(tape: Tape, *, compiled: bool = False) -> Memory:
    """Parameters, gradients, optimiser state and peak of a recorded (or fused) step."""
    played = replay(tape.start, tape.events, workspaces(tape, compiled=compiled), tape.earlier)
    return Memory(
        parameters=tape.parameter_bytes, gradients=tape.gradient_bytes, gradient_count=tape.gradient_count,
        optimiser=tape.optimiser_bytes, peak=played.peak, largest=played.largest,
    )  # fmt: skip
