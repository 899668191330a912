"""The limit of the link between two GPUs, without one."""

from __future__ import annotations

import torch

from gpuwise import workloads
from gpuwise.workloads import limits

from .conftest import build, toy


def test_a_step_copies_random_bytes_and_counts_them_once() -> None:
    job = build(toy("peer", "limit"), 1)
    target = job.step()
    copied = target.clone()
    assert copied.unique().numel() > 0.99 * copied.numel()
    target.zero_()
    assert torch.equal(job.step(), copied)
    assert job.items == target.nbytes == limits.TOY_LINK_BYTES
    assert workloads.get("peer").spec.gpus == 2
