"""What the host takes to launch kernels, and what moves it: cores, conditions, classes of operators.

    python experiments/host.py OUT/host.json
    python experiments/host.py OUT/host.json --toy

A reading times the same few things one after the other: a loop of Python, a walk through memory,
operators on the CPU, bare launches, events, and round trips to the GPU. So a slow launch is told from a slow
core. Parts, in this order, each with its share of the time:

- states: readings wherever the system runs them, on each core, beside busy cores, after a rest, in a child;
- networks: steps under one change at a time (pinned, one thread, without garbage collection, ...), in turns,
  with what they dispatch: operators by phase, modules, functions;
- operators: one call of each class without autograd, with it, its backward, on one core; launches of each are
  counted last, since launches are slower for good where a profiler has run.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import gc
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from zoo import Row, environment, job_of, squares
from zoo_networks import Network, find

from gpuwise.model.question import RunConfig
from gpuwise.workloads.job import training_job

NETWORKS = (
    "torchvision:mobilenet_v3_large",
    "hf:electra-small",
    "own:conformer",
    "timm:xcit_tiny_24_p16_224",
)
"""Of four ways to spend the host's time: short convolutions, plain attention, views, and Python."""
TOYS = ("own:conformer", "own:tabular_resnet")
PARTS = {"states": 0.15, "networks": 0.60, "operators": 0.25}
"""Shares of the time."""
COPIES, REPEATS = 30, 5
"""Calls of an operator in a row (fewer than the driver's 1,024 launches), and times that this is done."""
STEP_S, ROUNDS = 0.3, 2
"""Of a network under one condition, each round."""
RESTS_S = (0.0, 0.002, 0.02, 0.2)
MEMORY = 2**21
"""Eight-byte words of the walk: more than a core's own caches hold."""


def synchronise(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


class Reader:
    """Takes readings in this process: microseconds of each thing, and on which core."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._libc = ctypes.CDLL(None)
        self._walk = np.random.default_rng(0).permutation(MEMORY)[:20_000]
        self._words = np.zeros(MEMORY)
        self._here, self._there = torch.zeros(1), torch.zeros(1, device=device)
        self._event = torch.cuda.Event() if device == "cuda" else None

    def take(self, count: int = 100) -> dict[str, float]:
        """Some 4 ms."""
        found: dict[str, float] = {"core": self._libc.sched_getcpu(), "at_s": time.monotonic()}
        parts: dict[str, tuple[int, Callable[[], object]]] = {
            "python": (20, lambda: sum(range(1000))),
            "memory": (1, lambda: float(self._words[self._walk].sum())),
            "dispatch": (count, lambda: self._here.add_(1)),
            "launch": (2 * count, lambda: self._there.add_(1)),
        }
        if self._event is not None:
            parts["event"] = (count, self._event.record)
            parts["round trip"] = (5, self._there.item)
        for name, (times, do) in parts.items():
            synchronise(self.device)
            began = time.perf_counter()
            for _ in range(times):
                do()
            found[name] = round(1e6 * (time.perf_counter() - began) / times, 3)
        synchronise(self.device)
        found["moved"] = float(self._libc.sched_getcpu() != found["core"])
        return found


def pin(cores: set[int]) -> None:
    """Keep every thread of this process, autograd's too, on these cores."""
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it ended meanwhile
            os.sched_setaffinity(int(task.name), cores)


SPIN = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: sum(range(100_000))"
"""Keeps a core busy."""


@contextmanager
def busy(cores: Sequence[int]) -> Iterator[None]:
    """With other processes at work on these cores."""
    # No forks of this process, which would share its memory until either writes.
    workers = [subprocess.Popen([sys.executable, "-c", SPIN, str(core)]) for core in cores]
    time.sleep(0.2)
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def text_of(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def machine() -> dict[str, Any]:
    """What the system says of its cores, as it says it."""
    cores = sorted(os.sched_getaffinity(0))
    place = "/sys/devices/system/cpu/cpu{}"
    return {
        "cores": cores,
        "siblings": {core: text_of(f"{place.format(core)}/topology/thread_siblings_list") for core in cores},
        "sockets": {core: text_of(f"{place.format(core)}/topology/physical_package_id") for core in cores},
        "nodes": [str(path) for path in Path("/sys/devices/system/node").glob("node*/cpu*")],
        "governor": text_of(f"{place.format(cores[0])}/cpufreq/scaling_governor"),
        "cpuinfo": (text_of("/proc/cpuinfo") or "").partition("\n\n")[0],
        "mhz": [
            line.split(":")[1] for line in (text_of("/proc/cpuinfo") or "").splitlines() if "MHz" in line
        ],
        "kernel": text_of("/proc/version"),
        "stat": (text_of("/proc/stat") or "").splitlines()[:20],
        "load": text_of("/proc/loadavg"),
    }


def states(reader: Reader, until_s: float) -> dict[str, Any]:
    """Readings by where and beside what they are taken."""
    cores = sorted(os.sched_getaffinity(0))
    found: dict[str, Any] = {"free": [reader.take() for _ in range(400)]}
    found["core"] = {}
    for _ in range(2):  # each core twice, some seconds apart: is a state a core's, or a moment's?
        for core in cores:
            pin({core})
            found["core"].setdefault(core, []).append([reader.take() for _ in range(25)])
    one, others = cores[len(cores) // 2], [core for core in cores if core != cores[len(cores) // 2]]
    pin({one})
    for name, beside in (("next", [one ^ 1]), ("half", others[::2]), ("all", others)):
        with busy([core for core in beside if core in others]):
            found[f"beside {name}"] = [reader.take() for _ in range(60)]
    for rest_s in RESTS_S:
        rested = []
        for _ in range(12):
            time.sleep(rest_s)
            rested.append(reader.take(30))
        found[f"rest {rest_s}"] = rested
    pin(set(cores))
    found["stat"] = (text_of("/proc/stat") or "").splitlines()[:20]
    while time.monotonic() < until_s:
        found["free"].append(reader.take())
    return found


class Counted(TorchDispatchMode):
    """Operators that a step dispatches, of forward and backward."""

    def __init__(self) -> None:
        super().__init__()
        self.found: collections.Counter[str] = collections.Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        node = torch._C._current_autograd_node()
        self.found[f"{'backward' if node is not None else 'forward'} {func}"] += 1
        return func(*args, **(kwargs or {}))


def dispatched(step: Callable[[], object], model: nn.Module) -> dict[str, Any]:
    """What one step calls: operators by phase, modules, functions of Python and of C."""
    with Counted() as counted:
        step()
    calls: collections.Counter[str] = collections.Counter()
    nodes: collections.Counter[str] = collections.Counter()
    hook = nn.modules.module.register_module_forward_pre_hook(
        lambda module, _: calls.update([type(module).__name__])
    )
    step()
    hook.remove()

    def seen(frame: Any, event: str, _: Any) -> None:
        nodes[event] += 1

    sys.setprofile(seen)
    step()
    sys.setprofile(None)
    return {
        "operators": dict(counted.found),
        "modules": dict(calls),
        "functions": dict(nodes),
        "parameters": len(list(model.parameters())),
    }


def timed(step: Callable[[], object], device: str, count: int) -> dict[str, float]:
    """Seconds of a step: until the host has issued it, and until the GPU is done."""
    synchronise(device)
    began = time.perf_counter()
    issued = []
    for _ in range(count):
        step()
        issued.append(time.perf_counter())
    synchronise(device)
    ended = time.perf_counter()
    each = np.diff([began, *issued])
    return {
        "issued_s": round(float(np.median(each)), 8),
        "least_s": round(float(each.min()), 8),
        "step_s": round((ended - began) / count, 8),
    }


@contextmanager
def collector(*, off: bool) -> Iterator[None]:
    """Without garbage collection, or with what lives now kept out of it."""
    gc.collect()
    gc.disable() if off else gc.freeze()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def pinned(cores: set[int]) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    pin(cores)
    try:
        yield
    finally:
        pin(before)


@contextmanager
def all_busy() -> Iterator[None]:
    """With half of the cores at work for others, as where the next networks are built meanwhile."""
    with busy(sorted(os.sched_getaffinity(0))[::2]):
        yield


def steps_of(network: Network, model: nn.Module, mode: str, device: str) -> dict[str, Callable[[], object]]:
    """The step by the recipe, and other ways to do it."""
    row = Row(network=network.name, mode=mode, precision="bf16", compiled=False, batch=network.batches[0])
    job = job_of(row, network, model, device)
    found: dict[str, Callable[[], object]] = {"": job.step}
    if mode == "infer":

        def without_gradients() -> None:
            with torch.no_grad():
                model(*job.inputs)

        def with_graph() -> None:
            model(*job.inputs)

        def in_inference() -> None:
            with torch.inference_mode():
                model(*job.inputs)

        found |= {"no_grad": without_gradients, "grad": with_graph, "inference_mode": in_inference}
        return found
    config = RunConfig(
        workload=network.name, mode="train", precision="bf16", batch=network.batches[0], device=device
    )
    for name, options in (("foreach", {"foreach": True}), ("loop", {"foreach": False})):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, **options)
        found[name] = training_job(model, job.inputs, squares, optimizer, config, 1).step

    def forward() -> None:
        with torch.autocast(device, dtype=torch.bfloat16):
            squares(model(*job.inputs))

    def without_update() -> None:
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = squares(model(*job.inputs))
        loss.backward()
        model.zero_grad(set_to_none=True)

    def plain_forward() -> None:
        squares(model(*job.inputs))

    return found | {"forward": forward, "no update": without_update, "no autocast": plain_forward}


def conditions(cores: Sequence[int]) -> Mapping[str, Callable[[], Any]]:
    one = cores[len(cores) // 2]
    return {
        "usual": nullcontext,
        "one thread": lambda: threads(1),
        "one core": lambda: pinned({one}),
        "two cores": lambda: pinned({one, cores[len(cores) // 2 - 3]}),
        "first half": lambda: pinned(set(cores[: len(cores) // 2])),
        "gc off": lambda: collector(off=True),
        "gc frozen": lambda: collector(off=False),
        "half busy": all_busy,
    }


def networks(reader: Reader, names: Sequence[str], until_s: float, toy: bool) -> list[dict[str, Any]]:
    """Every network and mode under every condition, in turns; networks built before stay alive."""
    device, found, kept = reader.device, list[dict[str, Any]](), []
    cores = sorted(os.sched_getaffinity(0))
    left = 2 * len(names)
    for name in names:
        try:
            network = find(name, toy=toy)
            model = network.make().to(device)
        except Exception as error:  # noqa: BLE001  as in zoo.py
            found.append({"network": name, "error": f"{type(error).__name__}: {error}"[:300]})
            continue
        kept.append(model)
        for mode in ("train", "infer"):
            about = {"network": name, "mode": mode, "batch": network.batches[0]}
            share_s = (until_s - time.monotonic()) / left
            left -= 1
            try:
                found += one_mode(reader, network, model, mode, cores, about, share_s)
            except Exception as error:  # noqa: BLE001  as above
                found.append({**about, "error": f"{type(error).__name__}: {error}"[:300]})
            model.zero_grad(set_to_none=True)
    return found


def one_mode(
    reader: Reader, network: Network, model: nn.Module, mode: str, cores: Sequence[int],
    about: dict[str, Any], share_s: float,
) -> list[dict[str, Any]]:  # fmt: skip
    device, found = reader.device, list[dict[str, Any]]()
    steps = steps_of(network, model, mode, device)
    for step in steps.values():
        for _ in range(2):
            step()
    once_s = timed(steps[""], device, 3)["step_s"]
    count = max(2, min(30, round(STEP_S / once_s)))
    found.append({**about, "dispatched": dispatched(steps[""], model)})
    # Libraries try their kernels in the steps before, which no share of the time pays for.
    until_s = time.monotonic() + share_s
    rows = [(name, "", make) for name, make in conditions(cores).items()]
    rows += [("one core", how, conditions(cores)["one core"]) for how in steps if how]
    for turn in range(ROUNDS):
        random.Random(turn).shuffle(rows)
        for condition, how, make in rows:
            if time.monotonic() > until_s:
                return found
            with make():
                before = reader.take(50)
                row = timed(steps[how], device, count)
                after = reader.take(50)
            found.append(
                {**about, "condition": condition, "how": how, "before": before, "after": after} | row
            )
    return found


Made = tuple[Callable[..., Tensor], list[Tensor]]


def classes(device: str) -> dict[str, Callable[[], Made]]:
    """A call of each class of operators, small enough that no GPU is late: a function, and its tensors."""
    half = torch.bfloat16 if device == "cuda" else torch.float32  # slow on processors

    def image(*shape: int) -> Tensor:
        return torch.randn(*shape, device=device, dtype=half).to(memory_format=torch.channels_last)

    def rows(*shape: int) -> Tensor:
        return torch.randn(*shape, device=device, dtype=half)

    index = torch.randint(64, (8, 64), device=device)
    picked = torch.randint(64, (32,), device=device)
    mean, spread = torch.zeros(64, device=device), torch.ones(64, device=device)
    wide = lambda *shape: torch.randn(*shape, device=device)  # noqa: E731
    many = lambda count: [rows(8, 32, 64) for _ in range(count)]  # noqa: E731
    norm = lambda x, w, b: nnf.batch_norm(x, mean, spread, w, b, True)  # noqa: E731
    kept = lambda x, w, b: nnf.batch_norm(x, mean, spread, w, b, False)  # noqa: E731
    layered = lambda x, w, b: nnf.layer_norm(x, (64,), w, b)  # noqa: E731
    grouped = lambda x, w, b: nnf.group_norm(x, 8, w, b)  # noqa: E731
    return {
        "conv point": lambda: (nnf.conv2d, [image(2, 64, 14, 14), image(64, 64, 1, 1)]),
        "conv window": lambda: (
            lambda x, w, b: nnf.conv2d(x, w, b, padding=1),
            [image(2, 64, 14, 14), image(64, 64, 3, 3), rows(64)],
        ),
        "conv strided": lambda: (
            lambda x, w: nnf.conv2d(x, w, stride=2, padding=1), [image(2, 64, 14, 14), image(64, 64, 3, 3)],
        ),
        "conv depthwise": lambda: (
            lambda x, w: nnf.conv2d(x, w, padding=1, groups=64), [image(2, 64, 14, 14), image(64, 1, 3, 3)],
        ),
        "conv grouped": lambda: (
            lambda x, w: nnf.conv2d(x, w, padding=1, groups=4), [image(2, 64, 14, 14), image(64, 16, 3, 3)],
        ),
        "conv 1d": lambda: (lambda x, w: nnf.conv1d(x, w, padding=1), [rows(2, 64, 64), rows(64, 64, 3)]),
        "conv transposed": lambda: (nnf.conv_transpose2d, [image(2, 64, 7, 7), image(64, 64, 2, 2)]),
        "batch norm train": lambda: (norm, [image(2, 64, 14, 14), wide(64), wide(64)]),
        "batch norm infer": lambda: (kept, [image(2, 64, 14, 14), wide(64), wide(64)]),
        "layer norm": lambda: (layered, [rows(8, 32, 64), rows(64), rows(64)]),
        "group norm": lambda: (grouped, [rows(2, 64, 14, 14), rows(64), rows(64)]),
        "linear": lambda: (nnf.linear, [rows(8, 32, 64), rows(64, 64), rows(64)]),
        "linear plain": lambda: (nnf.linear, [rows(8, 32, 64), rows(64, 64)]),
        "linear autocast": lambda: (
            lambda x, w, b: autocast(device, nnf.linear, x, w, b), [wide(8, 32, 64), wide(64, 64), wide(64)],
        ),
        "conv autocast": lambda: (
            lambda x, w: autocast(device, nnf.conv2d, x, w),
            [image(2, 64, 14, 14).float(), wide(64, 64, 1, 1)],
        ),
        "matmul": lambda: (torch.matmul, [rows(8, 4, 32, 16), rows(8, 4, 16, 32)]),
        "bmm": lambda: (torch.bmm, [rows(8, 32, 64), rows(8, 64, 32)]),
        "einsum": lambda: (
            lambda x, y: torch.einsum("bhid,bhjd->bhij", x, y), [rows(8, 4, 32, 16), rows(8, 4, 32, 16)],
        ),
        "attention": lambda: (nnf.scaled_dot_product_attention, [rows(2, 4, 64, 64) for _ in range(3)]),
        "attention causal": lambda: (
            lambda q, k, v: nnf.scaled_dot_product_attention(q, k, v, is_causal=True),
            [rows(2, 4, 64, 64) for _ in range(3)],
        ),
        "softmax": lambda: (lambda x: x.softmax(-1), many(1)),
        "gelu": lambda: (nnf.gelu, many(1)),
        "relu": lambda: (nnf.relu, many(1)),
        "silu": lambda: (nnf.silu, many(1)),
        "dropout": lambda: (lambda x: nnf.dropout(x, 0.1, True), many(1)),
        "add": lambda: (torch.add, many(2)),
        "add number": lambda: (lambda x: x + 1.0, many(1)),
        "mul": lambda: (torch.mul, many(2)),
        "mul broadcast": lambda: (torch.mul, [rows(8, 32, 64), rows(64)]),
        "where": lambda: (lambda x, y: torch.where(x > 0, x, y), many(2)),
        "cast": lambda: (lambda x: x.to(half), [wide(8, 32, 64)]),
        "cast none": lambda: (lambda x: x.to(half), many(1)),
        "contiguous": lambda: (lambda x: x.transpose(1, 2).contiguous(), many(1)),
        "cat": lambda: (lambda *parts: torch.cat(parts, -1), many(2)),
        "cat of eight": lambda: (lambda *parts: torch.cat(parts, -1), many(8)),
        "stack": lambda: (lambda *parts: torch.stack(parts), many(2)),
        "chunk": lambda: (lambda x: x.chunk(2, -1)[0], many(1)),
        "split": lambda: (lambda x: x.split(16, -1)[0], many(1)),
        "roll": lambda: (lambda x: x.roll((1, 1), (1, 2)), many(1)),
        "pad": lambda: (lambda x: nnf.pad(x, (1, 1)), many(1)),
        "view": lambda: (lambda x: x.view(8, -1), many(1)),
        "transpose": lambda: (lambda x: x.transpose(1, 2), many(1)),
        "permute": lambda: (lambda x: x.permute(2, 0, 1), many(1)),
        "slice": lambda: (lambda x: x[:, :16], many(1)),
        "unsqueeze": lambda: (lambda x: x[:, None], many(1)),
        "expand": lambda: (lambda x: x.expand(8, 32, 64), [rows(1, 32, 64)]),
        "index": lambda: (lambda x: x[picked], [rows(64, 64)]),
        "gather": lambda: (lambda x: x.gather(1, index), [rows(8, 64)]),
        "embedding": lambda: (lambda w: nnf.embedding(index, w), [rows(64, 64)]),
        "sum": lambda: (lambda x: x.sum(-1), many(1)),
        "mean": lambda: (lambda x: x.mean((1, 2)), many(1)),
        "max": lambda: (lambda x: x.amax(-1), many(1)),
        "cumsum": lambda: (lambda x: x.cumsum(-1), many(1)),
        "pool": lambda: (lambda x: nnf.max_pool2d(x, 2), [image(2, 64, 14, 14)]),
        "pool adaptive": lambda: (lambda x: nnf.adaptive_avg_pool2d(x, 1), [image(2, 64, 14, 14)]),
        "interpolate": lambda: (lambda x: nnf.interpolate(x, scale_factor=2.0), [image(2, 64, 7, 7)]),
        "cross entropy": lambda: (lambda x: nnf.cross_entropy(x, picked), [rows(32, 64)]),
        "square": lambda: (lambda x: x.float().square().mean(), many(1)),
        "module identity": lambda: (nn.Identity(), many(1)),
        "module linear": lambda: (nn.Linear(64, 64, device=device, dtype=half), many(1)),
        "module in three": lambda: (nn.Sequential(nn.Identity(), nn.Identity()), many(1)),
        "own function": lambda: (Twice.apply, many(1)),
        "checkpointed": lambda: (lambda x: checkpoint(nnf.gelu, x, use_reentrant=False), many(1)),
    }  # fmt: skip


def autocast(device: str, do: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    with torch.autocast(device, dtype=torch.bfloat16, cache_enabled=False):
        return do(*tensors)


class Twice(torch.autograd.Function):
    """An autograd function in Python."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        return x * 2.0

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return gradient * 2.0


def prepared(make: Callable[[], Made]) -> dict[str, Callable[[], object]]:
    """`COPIES` calls in a row of each phase. Tensors are each call's own, so that no gradient is added up."""
    function, _ = make()
    inputs = [make()[1] for _ in range(COPIES)]
    learnt = [[x.requires_grad_(x.is_floating_point()) for x in each] for each in inputs]
    kept: dict[str, Any] = {}

    def bare() -> None:
        with torch.no_grad():
            for each in inputs:
                function(*each)

    def forward() -> None:
        kept["outputs"] = [function(*each) for each in learnt]

    def backward() -> None:
        outputs = [y for y in kept["outputs"] if y.requires_grad]
        if "gradients" not in kept:
            kept["gradients"] = [torch.ones_like(y) for y in outputs]
        torch.autograd.backward(outputs, kept["gradients"])
        for each in learnt:
            for x in each:
                x.grad = None

    return {"bare": bare, "forward": forward, "backward": backward}


def operators(reader: Reader, until_s: float) -> dict[str, Any]:
    """Microseconds of a call of each class in each phase, with readings beside; then launches of each."""
    device, found = reader.device, dict[str, Any]()
    cores = sorted(os.sched_getaffinity(0))
    torch.set_num_threads(1)
    pin({cores[len(cores) // 2]})
    phases_of: dict[str, dict[str, Callable[[], object]]] = {}
    for name, make in classes(device).items():
        if time.monotonic() > until_s - 5.0:
            break
        try:
            phases = phases_of[name] = prepared(make)
            for do in phases.values():
                do()
            each: dict[str, Any] = {"reading": reader.take(30), "tensors": len(make()[1])}
            samples: dict[str, list[float]] = {phase: [] for phase in phases}
            waited: dict[str, list[float]] = {phase: [] for phase in phases}
            for _ in range(REPEATS):
                for phase, do in phases.items():
                    synchronise(device)
                    began = time.perf_counter()
                    do()
                    issued = time.perf_counter()
                    synchronise(device)
                    samples[phase].append(1e6 * (issued - began) / COPIES)
                    waited[phase].append(1e6 * (time.perf_counter() - began) / COPIES)
            each |= {phase: round(statistics.median(each), 3) for phase, each in samples.items()}
            each["until done"] = {phase: round(statistics.median(each), 3) for phase, each in waited.items()}
            found[name] = each
        except Exception as error:  # noqa: BLE001  as above
            found[name] = {"error": f"{type(error).__name__}: {error}"[:300]}
            phases_of.pop(name, None)
    for name, phases in phases_of.items():
        if time.monotonic() > until_s:
            break
        found[name]["launches"] = {phase: launches(do, device) for phase, do in phases.items()}
    pin(set(cores))
    return found


def launches(do: Callable[[], object], device: str) -> float:
    """Kernels and copies of one call."""
    kinds = [
        torch.profiler.ProfilerActivity.CUDA if device == "cuda" else torch.profiler.ProfilerActivity.CPU
    ]
    with torch.profiler.profile(activities=kinds) as trace:
        do()
        synchronise(device)
    on_device = torch.autograd.DeviceType.CUDA
    return sum(event.count for event in trace.key_averages() if event.device_type == on_device) / COPIES


def fresh(queue: Any, device: str) -> None:
    """Readings of a new process, before and after it loaded a network's libraries."""
    reader = Reader(device)
    queue.put([reader.take() for _ in range(60)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--time", type=float, default=145.0, help="seconds, starting included")
    parser.add_argument("--toy", action="store_true", help="on the CPU, small networks")
    asked = parser.parse_args()
    began = time.monotonic()
    device = "cpu" if asked.toy else "cuda"
    torch.set_num_threads(4)  # as workers of zoo.py do
    document: dict[str, Any] = {"environment": environment(device, None), "machine": machine()}
    reader = Reader(device)
    reader.take()
    spawn = multiprocessing.get_context("spawn")
    queue = spawn.Queue()
    child = spawn.Process(target=fresh, args=(queue, device))
    child.start()
    document["fresh"] = queue.get()
    child.join()
    start_s = time.monotonic()
    left_s = began + asked.time - start_s
    ends = np.cumsum(list(PARTS.values())) * left_s + start_s
    chosen = TOYS if asked.toy else NETWORKS
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    for name, do in (
        ("states", lambda end_s: states(reader, end_s)),
        ("networks", lambda end_s: networks(reader, chosen, end_s, asked.toy)),
        ("operators", lambda end_s: operators(reader, end_s)),
    ):
        document[name] = do(ends[list(PARTS).index(name)])
        document["seconds"] = round(time.monotonic() - began, 1)
        # A run that is cut off leaves the parts before.
        asked.output.write_text(json.dumps(document) + "\n", encoding="utf-8")
        print(name, document["seconds"], "s", flush=True)


if __name__ == "__main__":
    main()
