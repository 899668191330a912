"""The cache limit at toy size."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext
from functools import partial

import pytest
import torch

from gpuwise import workloads
from gpuwise.workloads import limits
from gpuwise.workloads.job import as_graph

from .conftest import build, toy


@pytest.mark.parametrize("eighths", [1, 4, 8, 32])
def test_source_and_target_are_so_many_eighths_of_the_cache(eighths: int) -> None:
    job = build(toy("copy-l2", "limit"), eighths)
    target = job.step()
    assert 2 * target.nbytes == eighths * limits.TOY_L2_BYTES // 8
    assert target.unique().numel() > 0.99 * target.numel()  # random
    assert job.items % (2 * target.nbytes) == 0
    assert job.items <= limits.TOY_L2_STEP_BYTES


def test_half_of_it_is_the_limit_whatever_the_device() -> None:
    spec = workloads.get("copy-l2").spec
    assert spec.default_batch == spec.cpu_batch == 4


def test_a_gpu_is_asked_for_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    class Properties:
        L2_cache_size = 50 * 2**20

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: Properties())
    config = toy("copy-l2", "limit")
    assert limits.l2_bytes(config) == limits.TOY_L2_BYTES
    from dataclasses import replace

    assert limits.l2_bytes(replace(config, size="full", device="cuda")) == 50 * 2**20
    assert limits.l2_bytes(replace(config, size="full")) == limits.CPU_L2_BYTES


def test_what_a_graph_reads_lives_as_long_as_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    class Graph:
        def replay(self) -> None: ...

    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", nullcontext)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    source = torch.ones(4)
    alive = weakref.ref(source)
    step = as_graph(partial(torch.clone, source))
    del source
    gc.collect()
    assert alive() is not None
    assert bool((step() == 1).all())
