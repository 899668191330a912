"""The project's own GPU kernels against torch: how far off, and milliseconds of both.

python experiments/own_kernels.py [OUT.json]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from triton.testing import do_bench

from gpuwise.workloads.kernels.casting import cast_both
from gpuwise.workloads.kernels.images import TritonMaxPool
from gpuwise.workloads.models.float8 import cast_in_torch

POOLS = (
    (64, 112, 3, 2, 1, False),
    (192, 56, 3, 2, 0, True),
    (480, 14, 3, 1, 1, True),
    (832, 14, 2, 2, 0, True),
)
"""Channels, side, kernel, stride, padding, ceil: of ResNet and GoogLeNet."""


def compared() -> dict[str, Any]:
    """The project's kernels on this GPU: how far from torch's results, and milliseconds of both."""
    found = {f"pool {pool}": pooling(*pool) for pool in POOLS}
    x, largest = (
        torch.randn(49152, 4096, device="cuda", dtype=torch.bfloat16),
        torch.tensor(4.0, device="cuda"),
    )
    pairs = zip(cast_both(x, largest, 448.0, True), cast_in_torch(x, largest, sums=True), strict=True)
    found["cast"] = {
        "off": [float((a.float() - b.float()).abs().max()) for a, b in pairs],
        "ms": bench_ms(lambda: cast_both(x, largest, 448.0, True)),
        "ideal_ms": round(4 * x.numel() / 4.25e9, 3),
    }
    return found


def pooling(channels: int, side: int, kernel: int, stride: int, padding: int, ceil: bool) -> dict[str, Any]:
    """Max pooling of 256 images by torch and by gpuwise."""
    x = torch.randn(256, channels, side, side, device="cuda", dtype=torch.float16).relu()
    x = x.to(memory_format=torch.channels_last).requires_grad_()
    plain = nn.MaxPool2d(kernel, stride, padding, ceil_mode=ceil)
    pools = (plain, TritonMaxPool(plain))
    outputs = [pool(x) for pool in pools]
    pull = torch.randn_like(outputs[0])
    back = [lambda y=y: torch.autograd.grad(y, x, pull, retain_graph=True)[0] for y in outputs]
    gradients = [pull_back() for pull_back in back]
    return {
        "equal": torch.equal(*outputs),
        "gradient_off": float((gradients[0].float() - gradients[1].float()).abs().max()),
        "forward_ms": [bench_ms(lambda pool=pool: pool(x)) for pool in pools],
        "backward_ms": [bench_ms(pull_back) for pull_back in back],
        "ideal_ms": round((2 * x.numel() + 3 * pull.numel()) / 4.25e9, 3),
    }


def bench_ms(function: Callable[[], object]) -> float:
    return round(float(do_bench(function)), 3)


if __name__ == "__main__":
    text = json.dumps(compared(), indent=1)
    Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8") if len(sys.argv) > 1 else print(text)
