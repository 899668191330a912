"""Sinusoidal embedding of a diffusion time step (Ho et al. 2020, arXiv:2006.11239)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

PERIOD = 10_000.0


def embed_time(steps: Tensor, width: int) -> Tensor:  # (B,) -> (B, width), fp32
    """cos then sin of step * 10000^(-i / (width / 2))."""
    half = width // 2
    rates = torch.exp(-math.log(PERIOD) / half * torch.arange(half, device=steps.device))
    angles = steps.float()[:, None] * rates
    return torch.cat((angles.cos(), angles.sin()), dim=-1)
