"""How much memory of the device a measurement took."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from gpuwise.measure.frameworks.torch import TorchAdapter
from gpuwise.model.question import RunConfig


def test_what_a_cuda_graph_works_in_counts_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    segments = [
        {"segment_pool_id": (0, 0), "total_size": 64, "allocated_size": 40},
        {"segment_pool_id": (0, 1), "total_size": 100, "allocated_size": 30},
        {"total_size": 7, "allocated_size": 7},  # an earlier torch
    ]
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 50)
    monkeypatch.setattr(torch.cuda, "memory_snapshot", lambda: segments)
    config = RunConfig(workload="resnet50", mode="train", precision="fp32")
    assert TorchAdapter("resnet50").peak_bytes(config) == 50 + 70
    assert TorchAdapter("resnet50").peak_bytes(replace(config, device="mps")) is None
