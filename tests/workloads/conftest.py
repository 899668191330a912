"""Torch's global switches as they were, one seed for every test, and one thread.

Toys are so small that several threads only wait for each other: on a busy machine, for seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def own_switches() -> Iterator[None]:
    """Building a job sets global switches of torch; every test begins with the same and puts them back."""
    cudnn = torch.backends.cudnn
    before = torch.get_float32_matmul_precision(), cudnn.allow_tf32, cudnn.benchmark
    threads = torch.get_num_threads()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(before[0])
    cudnn.allow_tf32, cudnn.benchmark = before[1:]
