"""The limits of the link between two GPUs, without one, and of the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gpuwise import workloads
from gpuwise.errors import InputError
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


def test_a_step_reads_a_file_that_goes_with_its_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path))
    job = build(toy("disk-read", "limit"), 1)
    assert (float(job.step()), float(job.step())) == (limits.TOY_DISK_BYTES,) * 2
    assert job.items == limits.TOY_DISK_BYTES == sum(each.stat().st_size for each in tmp_path.iterdir())
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space"):
        build(toy("disk-read", "limit"), 1)
    del job
    assert [each.name for each in tmp_path.iterdir()] == []


def full(handle: int) -> None:
    raise OSError(28, "No space left on device")
