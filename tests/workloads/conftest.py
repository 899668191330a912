"""Toy jobs; torch's global switches as they were, one seed for every test, and one thread.

Toys are so small that several threads only wait for each other: on a busy machine, for seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fcntl import LOCK_EX, flock
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import multiprocessing

from gpuwise import workloads
from gpuwise.model.llm import from_config
from gpuwise.model.precision import Precision
from gpuwise.model.question import Mode, Recipe, RunConfig
from gpuwise.workloads import llm
from gpuwise.workloads.job import Job

Name = str
ROOT = Path(__file__).parents[2]


def ranks_of(
    body: Callable[[int, Path], None], count: int, factory: pytest.TempPathFactory, worker: str
) -> list[Any]:
    """What `count` processes keep as NUMBER.pt, each running `body`: once for all workers of pytest."""
    base = factory.getbasetemp() if worker == "master" else factory.getbasetemp().parent
    folder = base / body.__module__.rpartition(".")[2]
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        flock(lock, LOCK_EX)
        if not (folder / "done").exists():
            patch.syspath_prepend(str(ROOT))  # where the ranks find the module of `body`
            # All are forked of one process, which has imported what takes longer than they do.
            get_context("forkserver").set_forkserver_preload(
                ["torch._dynamo", "torch._inductor.compile_fx", "gpuwise.workloads.models.decoder"]
            )
            multiprocessing.start_processes(  # type: ignore[no-untyped-call]
                body, (folder,), nprocs=count, start_method="forkserver"
            )
            (folder / "done").touch()
    return [torch.load(folder / f"{number}.pt") for number in range(count)]


BATCH = 4
TOY = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 256,
    "vocab_size": 256,
    "tie_word_embeddings": True,
}
MIXED = {**TOY, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
SHAPES = {
    **llm.SHAPES,
    "toy": from_config("toy", TOY),
    "toy-experts": from_config("toy-experts", MIXED),
}
"""gpuwise's own sizes, and a Llama and a mixture of experts that a CPU runs in milliseconds."""


def toy(
    name: Name, mode: Mode, precision: Precision = "fp32", recipe: Recipe = "stock", *, compiled: bool = False
) -> RunConfig:
    return RunConfig(
        workload=name,
        mode=mode,
        precision=precision,
        recipe=recipe,
        compile=compiled,
        size="toy",
        device="cpu",
    )


def build(config: RunConfig, batch: int = BATCH) -> Job:
    torch.manual_seed(0)
    return workloads.get(config.workload).build(config, batch)


BOTH: tuple[Recipe, ...] = ("stock", "script")
BOTH_RECIPES = pytest.mark.parametrize("recipe", BOTH)


@pytest.fixture(autouse=True)
def own_switches() -> Iterator[None]:
    """Building a job sets global switches of torch; every test begins with the same and puts them back."""
    cudnn = torch.backends.cudnn
    before = torch.get_float32_matmul_precision(), cudnn.allow_tf32, cudnn.benchmark
    threads = torch.get_num_threads()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    # What torch warns of once a process, it warns of in every test: else the order of tests decides.
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(before[0])
    cudnn.allow_tf32, cudnn.benchmark = before[1:]
