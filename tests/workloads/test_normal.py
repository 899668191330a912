"""What stands for the normal distribution in GELU's kernels, against torch in fp64."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from gpuwise.workloads.kernels import TAIL


def beyond(a: torch.Tensor) -> torch.Tensor:
    """As the kernels compute it, in fp32."""
    power = torch.zeros_like(a)
    for c in reversed(TAIL):
        power = power * a + c
    return power.exp2()


@pytest.mark.parametrize("far", [8, 100, 1e4])
def test_gelu_and_its_slope_are_right_to_more_digits_than_16_bits_have(far: float) -> None:
    u = torch.linspace(-far, far, 200_001, dtype=torch.float64, requires_grad=True)
    right = functional.gelu(u)
    (slope,) = torch.autograd.grad(right.sum(), u)
    narrow = u.detach().float()
    tail = beyond(narrow.abs()).double()
    gelu = u.clamp_min(0) - u.abs() * tail
    density = (-(u**2) / 2).exp() / (2 * torch.pi) ** 0.5
    found = torch.where(u < 0, tail, 1 - tail) + u * density
    assert (gelu - right).abs().max() < 7e-7
    assert (found - slope).abs().max() < 5e-6
    near = u.abs() < 2.5
    assert ((tail / torch.special.ndtr(-u.abs()) - 1)[near]).abs().max() < 1e-4


def test_far_values_are_finite() -> None:
    tail = beyond(torch.tensor([30.0, 1e6, 3e38]))
    assert tail.tolist() == [0.0, 0.0, 0.0]
