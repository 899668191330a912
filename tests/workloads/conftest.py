"""Toy jobs; torch's global switches as they were, one seed for every test, and one thread.

Toys are so small that several threads only wait for each other: on a busy machine, for seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.model.question import Mode, Recipe, RunConfig
from gpuwise.workloads.job import Job

Name = str
BATCH = 4


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
