"""Time single operators on this machine's GPU: what `gpuwise calibrate` measures, one case after the other.

A case is a step of one operator, forward or backward alone, on tensors of torch's default device
(`operators.toml`). The same case is measured here and recorded without a GPU (`predict.recorder`), so that
each measured second stands beside the predicted seconds of the same kernels.

The host's work is kept out of the time: the GPU first spins for as long as the host needs to queue the
repetitions, and then runs them one after the other.
"""

from __future__ import annotations

import random
import re
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as nnf
from torch import Tensor, nn

from gpuwise.errors import MachineError

Step = Callable[[], object]
# A function and its arguments.
Call = tuple[Callable[..., Tensor], list[Tensor]]
DATA = Path(__file__).with_suffix(".toml")
FORMATS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32}
# Repetitions of a case fill this time, within bounds that the driver's queue of 1,024 launches sets for steps
# of several kernels.
FILLED_S, MIN_REPEATS, MAX_REPEATS = 0.012, 4, 40
SEED = 20261123
LAUNCHES = 400

# What one function of torch does not say alone; of the others the table has the name and the arguments.
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "batch_norm train": lambda x, w, b: nnf.batch_norm(x, None, None, w, b, True),
    "batch_norm volume": lambda x, w, b: nnf.batch_norm(x, None, None, w, b, True),
    "layer_norm rows": lambda x, w, b: nnf.layer_norm(x, x.shape[-1:], w, b),
    "rms_norm rows": lambda x, w: nnf.rms_norm(x, x.shape[-1:], w),
    "group_norm 32": lambda x, w, b: nnf.group_norm(x, 32, w, b),
    "group_norm 1": lambda x, w, b: nnf.group_norm(x, 1, w, b),
    "strided add": lambda x, y: x + y.transpose(1, 2),
    "copy heads": lambda x: x.transpose(1, 2).contiguous(),
    "copy channels-last": lambda x: x.permute(0, 2, 3, 1).contiguous(),
    "copy channels-first": lambda x: x.permute(0, 3, 1, 2).contiguous(),
    "copy shuffle": lambda x: x.transpose(1, 2).contiguous(),
    "copy windows": lambda x: x.transpose(2, 3).contiguous(),
    "copy halves": lambda x, y: torch.cat((x, y), dim=1),
    "copy rows": lambda x, y: torch.cat((x, y), dim=-1),
    "cast down": lambda x: x.to(torch.bfloat16),
    "cast up": lambda x: x.to(torch.float32),
    "reduction squares": lambda x: x.float().square().mean(),
    "gather rows": lambda x, i: x[i],
    "gather select": lambda x, i: x.index_select(0, i),
    "gather elements": lambda x, i: x.gather(1, i),
    "scatter rows": lambda x, i, y: x.index_add(0, i, y),
    "scatter elements": lambda x, i, y: x.scatter_add(1, i, y),
    "sort rows": lambda x: x.sort(-1)[0],
    "topk few": lambda x: x.topk(2, -1)[0],
    "topk many": lambda x: x.topk(50, -1)[0],
    "cross_entropy classes": lambda i, x: nnf.cross_entropy(x, i),
    "matmul plain": lambda x, y: x @ y.mT,
    "matmul batched": lambda x, y: x @ y.mT,
    "attention masked": lambda q, k, v, mask: nnf.scaled_dot_product_attention(q, k, v, mask.detach()),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One operator on one set of shapes."""

    name: str  # Function, shapes, format, direction: `pointwise relu 4194304 bf16 forward`
    make: Callable[[], Step]  # Makes its tensors on torch's default device and returns its step


def ways(name: str, make: Callable[[], Call], names: Sequence[str]) -> Iterator[Case]:
    """A case for each way: `forward`, `backward` to all inputs, or to the `data` or the `weight` alone."""

    def step(way: str) -> Step:
        function, inputs = make()
        if way == "forward":
            return lambda: function(*inputs)
        wanted = {"data": inputs[:1], "weight": inputs[1:2]}.get(way, inputs)
        wanted = [x.requires_grad_() for x in wanted if x.is_floating_point()]
        outputs = function(*inputs)
        given = torch.randn_like(outputs)
        # The graph is kept, so that the backward pass alone can run again and again.
        return lambda: torch.autograd.grad(outputs, wanted, given, retain_graph=True, allow_unused=True)

    for way in names:
        yield Case(f"{name} {way}", partial(step, way))


def argument(text: str, kind: str, layout: str) -> Tensor:
    """The tensor of one shape of the table."""
    most, _, sizes = text.rpartition(":")
    full = sizes.endswith("f")
    shape = tuple(map(int, sizes.removesuffix("f").split("x")))
    if most:
        return torch.randint(0, int(most.removeprefix("<")), shape)
    tensor = torch.randn(*shape, dtype=torch.float32 if full else FORMATS[kind])
    return tensor.to(memory_format=torch.channels_last) if layout == "nhwc" and len(shape) == 4 else tensor


def allow_tf32(kind: str) -> None:
    """True if products of fp32 operands may be TF32: `measure` restores the process's own setting."""
    torch.backends.cudnn.allow_tf32 = kind == "tf32"
    torch.set_float32_matmul_precision("high" if kind == "tf32" else "highest")


def functions(table: dict[str, Any]) -> Iterator[Case]:
    for name, row in table.items():
        directions = ("forward", "backward")[: row.get("ways", 2)]
        apply = FUNCTIONS.get(name) or partial(attrgetter(row["call"])(torch), **row.get("with", {}))
        for shapes in row["shapes"]:
            for form in row.get("formats", ("bf16", "fp32")):
                make = partial(function, apply, shapes, form)
                yield from ways(f"{name} {shapes.replace(', ', ' ')} {form}", make, directions)


def function(apply: Callable[..., Tensor], shapes: str, form: str) -> Call:
    """A function with arguments of these shapes; `form` is `bf16` or `nhwc bf16`."""
    layout, _, kind = form.rpartition(" ")
    allow_tf32(kind)
    return apply, [argument(each, kind, layout) for each in shapes.split(", ")]


def convolutions(table: dict[str, Any]) -> Iterator[Case]:
    for family, row in table.items():
        for i, form in enumerate(row["formats"]):
            # Every other shape is enough for all but the first layout and format.
            for shape in row["shapes"][i > 0 :: 1 if i == 0 else 2]:
                make = partial(convolution, shape, *form.split(" "), transposed=family == "transposed")
                yield from ways(f"{family} {shape} {form}", make, ("forward", "data", "weight"))


def convolution(text: str, layout: str, kind: str, *, transposed: bool) -> Call:
    """`64x128>256x56x56 k3 s1 g1` as a function of its input and weight."""
    allow_tf32(kind)
    images, channels, out, *rest = re.split(r"[x> ]", text.replace("k", "").replace("s", "").replace("g", ""))
    *sizes, stride, groups = map(int, rest)
    # Sizes of the input, then of the window: one number for a square one.
    form = text.split(" ")
    dims = form[0].count("x") - 1
    side, window = sizes[:dims], sizes[dims:] * (1 if "x" in form[1] else dims)
    wide = (int(channels), int(out) // groups) if transposed else (int(out), int(channels) // groups)
    x = argument("x".join((images, channels, *map(str, side))), kind, layout)
    w = argument("x".join(map(str, (*wide, *window))), kind, layout)
    apply = nnf.conv_transpose2d if transposed else (nnf.conv1d, nnf.conv2d, nnf.conv3d)[dims - 1]
    # Patches (window = stride) have no border, all others keep the size.
    padding = [0 if each == stride else each // 2 for each in window]
    return lambda x, w: apply(x, w, None, stride, padding, groups=groups), [x, w]


def recurrent(table: dict[str, Any]) -> Iterator[Case]:
    for cell, text, kind in product(table["cells"], table["shapes"], table["formats"]):
        make = partial(network, cell, text, kind)
        yield from ways(f"recurrent {cell} {text} {kind}", make, ("forward", "backward"))


def network(cell: str, text: str, kind: str) -> Call:
    """`64x128x512 2`: a network of so many layers of one cell on an input of that shape."""
    allow_tf32(kind)
    shape, layers = text.split(" ")
    x = argument(shape, kind, "")
    net: nn.Module = getattr(nn, cell)(*x.shape[-1:], x.shape[-1], int(layers), dtype=x.dtype)
    return lambda x: net(x)[0], [x]


def optimisers(table: dict[str, Any]) -> Iterator[Case]:
    for text, shape in product(table["kinds"], table["shapes"]):
        yield Case(f"optimiser {text} {shape} fp32", partial(optimiser, text, shape))


def optimiser(text: str, shape: str) -> Step:
    """`AdamW fused` on `100x4096`: so many weights of that size."""
    (name, how), (tensors, size) = text.split(" "), map(int, shape.split("x"))
    weights = [nn.Parameter(torch.randn(size)) for _ in range(tensors)]
    for weight in weights:
        weight.grad = torch.randn(size)
    momentum = {"momentum": 0.9} if name == "SGD" else {}
    kind = getattr(torch.optim, name)
    optimiser: torch.optim.Optimizer = kind(weights, lr=1e-4, **{how: True}, **momentum)
    return optimiser.step


def cases() -> list[Case]:
    """All of them, in a random order that is always the same: a run that is cut off is balanced."""
    table = tomllib.loads(DATA.read_text(encoding="utf-8"))
    cases = [
        *functions(table["function"]),
        *convolutions(table["convolution"]),
        *recurrent(table["recurrent"]),
        *optimisers(table["optimiser"]),
    ]
    random.Random(SEED).shuffle(cases)
    return cases


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One case as measured."""

    name: str
    seconds: float = 0.0  # GPU time of one step
    host_s: float = 0.0  # Time in which the host queued one step
    error: str = ""


def measure(case: Case, device: str) -> Timed:
    """Time a case; one that fails in any way has its error, and the others go on. Memory is given back."""
    matmul, convolved = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    try:
        with torch.device(device):
            host_s, seconds = _timed(case.make(), device)
        return Timed(name=case.name, seconds=seconds, host_s=host_s)
    except Exception as error:  # noqa: BLE001  a library may raise anything for one of its shapes
        return Timed(name=case.name, error=f"{type(error).__name__}: {error}"[:200])
    finally:
        torch.set_float32_matmul_precision(matmul)
        torch.backends.cudnn.allow_tf32 = convolved
        if device == "cuda":
            torch.cuda.empty_cache()


def _timed(step: Step, device: str) -> tuple[float, float]:
    """Seconds of the host, and of the GPU, for one step."""
    step()
    if device != "cuda":
        began = time.perf_counter()
        step()
        taken = time.perf_counter() - began
        return taken, taken
    step()  # libraries choose a kernel in the first one
    torch.cuda.synchronize()
    began = time.perf_counter()
    step()
    queued = time.perf_counter() - began
    torch.cuda.synchronize()
    taken = time.perf_counter() - began
    count = max(MIN_REPEATS, min(MAX_REPEATS, int(FILLED_S / taken)))
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    # Cycles at 2 GHz, so that every repetition is queued when the first begins.
    torch.cuda._sleep(int(2e9 * (2e-4 + 1.5 * count * queued)))  # type: ignore[no-untyped-call]
    first.record()
    began = time.perf_counter()
    for _ in range(count):
        step()
    host_s = (time.perf_counter() - began) / count
    last.record()
    torch.cuda.synchronize()
    return host_s, first.elapsed_time(last) / 1e3 / count


def software(device: str) -> dict[str, str]:
    """The device's name and torch's version. Raises MachineError where torch cannot use a GPU."""
    if device == "cuda" and not torch.cuda.is_available():
        raise MachineError("this machine has no GPU that torch can use", hint="gpuwise doctor")
    name = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    return {"device": name, "torch": str(torch.__version__)}


def launch_seconds(device: str) -> float:
    """Seconds of the host to launch one small kernel from Python."""
    tiny = torch.zeros(1, device=device)
    for _ in range(20):
        tiny.add_(1)
    if device == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(LAUNCHES):
        tiny.add_(1)
    return (time.perf_counter() - began) / LAUNCHES
