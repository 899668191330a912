"""The launch limit at toy size."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from gpuwise import workloads
from gpuwise.workloads import limits

from .conftest import build, toy


def test_a_step_launches_as_often_as_it_counts_and_changes_nothing() -> None:
    job = build(toy("launch", "limit"), 1)
    assert job.items == limits.TOY_LAUNCHES
    assert job.step().tolist() == [1.0]


def test_on_a_gpu_the_kernel_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[int] = []
    one = torch.ones(1)
    monkeypatch.setattr(torch, "ones", lambda *shape, device: one)
    monkeypatch.setattr(torch.cuda, "_sleep", launched.append)
    job = build(replace(toy("launch", "limit"), device="cuda", size="full"), 1)
    job.step()
    assert launched == [0] * limits.LAUNCHES == [0] * job.items


def test_it_needs_a_gpu() -> None:
    assert workloads.get("launch").spec.gpus == 1
