"""How much memory of the device a measurement took."""

from __future__ import annotations

import pytest
import torch

from gpuwise.measure import memory


def test_what_a_cuda_graph_works_in_counts_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    segments = [
        {"segment_pool_id": (0, 0), "total_size": 64, "allocated_size": 40},
        {"segment_pool_id": (0, 1), "total_size": 100, "allocated_size": 30},
        {"total_size": 7, "allocated_size": 7},  # an earlier torch
    ]
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 50)
    monkeypatch.setattr(torch.cuda, "memory_snapshot", lambda: segments)
    assert memory.peak("cuda") == 50 + 70
    assert memory.peak("mps") is None
