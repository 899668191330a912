"""gpuwise's recipe against a plain PyTorch loop of the same work, alternately in one session.

    python benchmarks/side_by_side.py resnet50 --precision bf16 --batch 256
    python benchmarks/side_by_side.py bert-large --precision bf16 --batch 64 --gpus 4
    python benchmarks/side_by_side.py bert-large --precision fp16 --batch 64 --against script

gpuwise runs what `gpuwise bench` would: the recipe found or shipped for this GPU, torch and precision, else
its default; --switch sets another. The plain loop is what a careful user writes: the reference model, fused
where torch's defaults fuse, autocast, a gradient scaler for fp16, torch.compile on the model, and
DistributedDataParallel with its defaults on several GPUs. --against script takes instead what the benchmark
article's public script does, as `gpuwise bench --recipe script`, but for its copy of each batch from host
memory. Both train the same model on the same batch; each round times one after the other, in an order that
changes, so that heat and clocks favour neither. The ratio is that of the median speeds, with the interval of
`gpuwise compare`. Ctrl-C, SIGTERM or a rank that dies ends it: the rounds that were done are told and
written, and the exit code is not 0.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
from torch.distributed.launcher.api import LaunchConfig, elastic_launch
from torch.nn.parallel import DistributedDataParallel

from gpuwise import store, workloads
from gpuwise.errors import INTERRUPTED, GpuwiseError
from gpuwise.facts import catalog
from gpuwise.measure.engine import run_steps
from gpuwise.measure.frameworks.torch import clock_for
from gpuwise.measure.frameworks.torch.ranks import CommonClock, Heartbeat, Ranks, board, join
from gpuwise.measure.prepare import recall
from gpuwise.model.question import RunConfig, Switches, parse
from gpuwise.stats.interval import ratio_of, throughput

Step = Callable[[], Any]
WARM_S, WINDOW_S = 5.0, 2.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The command line."""

    config: RunConfig
    against: str
    batch: int
    rounds: int
    output: Path | None


def plain_resnet50(config: RunConfig, batch: int) -> Step:
    """ResNet-50 v1.5, SGD with momentum, cross entropy, NCHW."""
    from gpuwise.workloads.models.convnet import ResNet

    depths, width, side = ((1, 1, 1, 1), 8, 64) if config.size == "toy" else ((3, 4, 6, 3), 64, 224)
    model = ResNet(depths, width).to(config.device)
    images = torch.randn(batch, 3, side, side, device=config.device)
    labels = torch.randint(1000, (batch,), device=config.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    return loop(config, model, optimizer, lambda net: torch.nn.functional.cross_entropy(net(images), labels))


def plain_bert_large(config: RunConfig, batch: int) -> Step:
    """BERT-large question answering, AdamW, dropout 0.1, torch's own attention."""
    from gpuwise.workloads.bert import TOKENS, TOY, TOY_TOKENS
    from gpuwise.workloads.models.bert import BertForQuestionAnswering
    from gpuwise.workloads.models.vit import SHAPE

    shape, tokens = (TOY, TOY_TOKENS) if config.size == "toy" else (SHAPE, TOKENS)
    with torch.device(config.device):
        model = BertForQuestionAnswering(shape, fused=True)
        words, places = torch.randint(shape.words, (batch, tokens)), torch.randint(2, (batch, tokens))
        start, end = torch.randint(tokens, (batch,)), torch.randint(tokens, (batch,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)

    def loss(net: Step) -> torch.Tensor:
        first, last = net(words, places)  # type: ignore[call-arg]
        entropy = torch.nn.functional.cross_entropy
        return (entropy(first, start) + entropy(last, end)) / 2

    return loop(config, model, optimizer, loss)


PLAIN = {"resnet50": plain_resnet50, "bert-large": plain_bert_large}
AGAINST = {"plain": "the plain loop", "script": "the public script's recipe"}


def loop(
    config: RunConfig,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_of: Callable[[Any], torch.Tensor],
) -> Step:
    """The loop of PyTorch's own recipes for AMP and DDP."""
    model.train()
    net: Any = DistributedDataParallel(model) if config.gpus > 1 else model
    if config.compile:
        net = torch.compile(net)
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(config.precision)
    scaler = torch.amp.GradScaler(config.device, enabled=config.precision == "fp16")

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(config.device, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = loss_of(net)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return step


def alternate(asked: Asked, ranks: Ranks | None, kept: Path) -> None:
    """Time both, round by round; rank 0 writes what is done to `kept` after each."""
    config, clock = asked.config, clock_for(asked.config.device)
    if ranks is not None:
        clock = CommonClock(clock, ranks, Heartbeat(board(1), 0, ranks.rank))
    build = workloads.load(config.workload).build
    torch.manual_seed(0)
    job = build(config, asked.batch)
    steps: dict[str, Step] = {"gpuwise": job.step}
    torch.manual_seed(0)
    if asked.against == "script":
        steps["script"] = build(replace(config, recipe="script", switches=Switches()), asked.batch).step
    else:
        steps["plain"] = PLAIN[config.workload](config, asked.batch)
    counts = {name: warm(step, clock, config) for name, step in steps.items()}
    device = torch.cuda.get_device_name() if config.device == "cuda" else "cpu"
    windows: dict[str, list[tuple[float, ...]]] = {name: [] for name in steps}
    for number in range(asked.rounds):
        for name in list(steps) if number % 2 else reversed(list(steps)):
            windows[name].append(run_steps(steps[name], clock, counts[name]))
        if ranks is None or ranks.rank == 0:
            done = {"device": device, "items": job.items * config.gpus, "windows": windows}
            store.write(json.dumps(done).encode(), kept)
            print(f"round {number + 1} of {asked.rounds} is done", file=sys.stderr, flush=True)


def findings(asked: Asked, done: dict[str, Any]) -> dict[str, Any]:
    """Speeds and ratio of the rounds that are done."""
    config, items, windows = asked.config, done["items"], done["windows"]
    found = {name: throughput(each, items) for name, each in windows.items()}
    ratio = ratio_of(found[asked.against], found["gpuwise"])
    return {
        "workload": config.workload,
        "precision": config.precision,
        "gpus": config.gpus,
        "batch": asked.batch,
        "switches": dict(config.switches.changed),
        "device": done["device"],
        "torch": torch.__version__,
        "item": workloads.get(config.workload).spec.item,
        "rounds": {"done": len(windows["gpuwise"]), "asked": asked.rounds},
        "ratio": {"value": ratio.value, "low": ratio.low, "high": ratio.high},
        "items_per_s": {name: {"value": f.value, "low": f.low, "high": f.high} for name, f in found.items()},
        "windows": windows,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def warm(step: Step, clock: Any, config: RunConfig) -> int:
    """Compile, warm up, and say how many steps fill a window."""
    run_steps(step, clock, 3)
    typical = median(run_steps(step, clock, 5))
    short = 0.1 if config.size == "toy" else 1.0
    run_steps(step, clock, max(1, round(short * WARM_S / typical)))
    return max(1, round(short * WINDOW_S / typical))


def rank(asked: Asked, kept: Path) -> None:
    """Body of one process of several."""
    # Ctrl-C reaches all, and torchrun's agent waits half a minute for a rank that does not end of it. What
    # was done is in the file.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ranks = join(asked.config)
    alternate(asked, ranks, kept)
    dist.barrier(group=ranks.hosts)
    dist.destroy_process_group()


def tell(asked: Asked, found: dict[str, Any]) -> None:
    """The ratio in a line; everything in the file."""
    print("gpuwise's recipe:", " ".join(f"{k}={v}" for k, v in found["switches"].items()) or "as usual")
    for name, speed in found["items_per_s"].items():
        print(
            f"{name:8} {speed['value']:,.1f} {found['item']}s/s ({speed['low']:,.1f} to {speed['high']:,.1f})"
        )
    ratio = found["ratio"]
    other, low, high = AGAINST[asked.against], ratio["low"], ratio["high"]
    print(f"gpuwise is {ratio['value']:.3f} times {other} ({low:.3f} to {high:.3f})")
    if asked.output is not None:
        store.write(json.dumps(found, indent=1).encode(), asked.output)


def parsed() -> Asked:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("workload", choices=sorted(PLAIN))
    parser.add_argument("--precision", choices=("fp32", "tf32", "fp16", "bf16"), default="bf16")
    parser.add_argument("--batch", type=positive, default=64, help="items per step and GPU")
    parser.add_argument("--gpus", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=10)
    parser.add_argument("--switch", action="append", default=[], help="as in gpuwise bench")
    parser.add_argument("--against", choices=tuple(AGAINST), default="plain", help="the other side")
    parser.add_argument("--eager", action="store_true", help="neither is compiled")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--toy", action="store_true", help="shrunken models, to try the script")
    parser.add_argument("-o", "--output", type=Path, help="write all step times as JSON")
    given = parser.parse_args()
    there = torch.cuda.device_count() if given.device == "cuda" else given.gpus
    if there < given.gpus:
        parser.error(f"--gpus {given.gpus}, and {there} are here; --device cpu --toy tries the script")
    try:
        if given.output is not None:
            store.check_writable(given.output)
        switches = parse(given.switch)
    except GpuwiseError as error:
        parser.error(str(error))
    config = RunConfig(
        workload=given.workload,
        mode="train",
        precision=given.precision,
        compile=not given.eager,
        device=given.device,
        size="toy" if given.toy else "full",
        gpus=given.gpus,
        batch=given.batch,
        switches=switches,
    )
    return Asked(
        config=as_bench(config),
        against=given.against,
        batch=given.batch,
        rounds=given.rounds,
        output=given.output,
    )


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def as_bench(config: RunConfig) -> RunConfig:
    """With the recipe that is known for it, unless switches were given."""
    if config.device == "cpu" or config.switches != Switches():
        return config
    card = torch.cuda.get_device_properties(0)
    spec = catalog.resolve_device(card.name, card.total_memory)
    (found,), _ = recall((config,), spec.id if spec is not None else card.name)
    return found


def measure(asked: Asked, folder: Path, kept: Path) -> None:
    """All rounds, in this process or in one for each GPU."""
    if asked.config.gpus == 1:
        alternate(asked, None, kept)
        return
    launch = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=asked.config.gpus,
        run_id=f"side-by-side-{os.getpid()}",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        logs_specs=DefaultLogsSpecs(log_dir=str(folder)),
    )
    elastic_launch(launch, rank)(asked, kept)


def main() -> int:
    asked, code = parsed(), 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "rounds.json"
        try:
            measure(asked, Path(folder), kept)
        except (KeyboardInterrupt, SignalException):
            code = INTERRUPTED
        finally:
            for sign in (signal.SIGINT, signal.SIGTERM):
                signal.signal(sign, signal.SIG_IGN)  # a second one would only lose what is done
            found = findings(asked, json.loads(kept.read_bytes())) if kept.exists() else None
            done = found["rounds"]["done"] if found else 0
            if done < asked.rounds:
                print(f"ended after {done} of {asked.rounds} rounds", file=sys.stderr)
            if found:
                tell(asked, found)
    return code


if __name__ == "__main__":
    sys.exit(main())
