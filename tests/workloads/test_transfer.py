"""The limits of the link to the host at toy size."""

from __future__ import annotations

import pytest
import torch

from gpuwise import workloads
from gpuwise.workloads import limits

from .conftest import build, toy


@pytest.mark.parametrize("name", ["host-to-device", "device-to-host"])
def test_a_step_copies_random_bytes_and_counts_them_once(name: str) -> None:
    job = build(toy(name, "limit"), 1)
    target = job.step()
    copied = target.clone()
    assert copied.unique().numel() > 0.99 * copied.numel()
    target.zero_()
    assert torch.equal(job.step(), copied)
    assert job.items == target.nbytes == limits.TOY_LINK_BYTES
    assert workloads.get(name).spec.gpus == 1
