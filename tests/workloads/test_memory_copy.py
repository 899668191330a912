"""The memory limit at toy size."""

from __future__ import annotations

import pytest
import torch

from gpuwise import workloads
from gpuwise.model.question import RunConfig
from gpuwise.workloads import limits

from .conftest import build, toy


def test_a_copy_fills_its_target_and_counts_bytes_read_and_written() -> None:
    job = build(toy("copy", "limit"), 1)
    target = job.step()
    copied = target.clone()
    assert copied.nbytes == limits.TOY_COPY_BYTES
    assert job.items == 2 * limits.TOY_COPY_BYTES
    assert copied.unique().numel() > 0.99 * copied.numel()  # random, not zeros
    target.zero_()
    assert torch.equal(job.step(), copied)
    assert job.step().data_ptr() == target.data_ptr()  # nothing is allocated in a step


def test_the_copy_of_a_gpu_halves_until_two_buffers_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 GB free hold two buffers of 4 GiB with a quarter to spare, 10 GB only two of 2 GiB."""
    sizes = []
    monkeypatch.setattr(torch, "empty_like", lambda x: x)
    monkeypatch.setattr(torch, "randint", lambda low, high, shape, **_: sizes.append(4 * shape[0]))
    for free in (12e9, 10e9, 0.5e9):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda free=free: (free, free))
        config = RunConfig(workload="copy", mode="limit", precision="fp32", device="cuda")
        assert workloads.get("copy").build(config, 1).items == 2 * sizes[-1]
    assert sizes == [2**32, 2**31, 2**27]


@pytest.mark.parametrize("batch", [1, 4])
def test_one_copy_is_counted_once_whatever_the_batch(batch: int) -> None:
    assert build(toy("copy", "limit"), batch).items == 2 * limits.TOY_COPY_BYTES
