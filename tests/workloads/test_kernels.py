"""The kernels of gpuwise against torch: on a GPU, else in Triton's interpreter where Triton is installed.

`pip install triton` is all that a CPU needs for it.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import nn

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
if find_spec("triton") is None:
    pytest.skip("needs triton", allow_module_level=True)
if not ON_GPU:
    os.environ["TRITON_INTERPRET"] = "1"

from gpuwise.workloads.models import casting, float8, pooling  # noqa: E402

WINDOWS: list[dict[str, Any]] = [
    {"kernel_size": 3, "stride": 2, "padding": 1},  # ResNet's
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},  # GoogLeNet's
    {"kernel_size": 3, "stride": 1, "padding": 1, "ceil_mode": True},
    {"kernel_size": 2, "stride": 2, "ceil_mode": True},
    {"kernel_size": 3, "stride": 2},  # Inception's
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("side", [7, 8, 13])
def test_max_pooling_is_torchs(window: dict[str, Any], side: int) -> None:
    """Values to the last bit, gradients too where equals decide (half of the input is zeros)."""
    plain = nn.MaxPool2d(**window)
    own = pooling.TritonMaxPool(plain)
    x = torch.randn(2, 40, side, side + 1, device=DEVICE).relu()
    x = x.to(memory_format=torch.channels_last).requires_grad_()
    wanted, found = plain(x), own(x)
    assert torch.equal(found, wanted)
    assert found.is_contiguous(memory_format=torch.channels_last)
    pull = torch.randn_like(wanted)
    gradients = [torch.autograd.grad(y, x, pull)[0] for y in (wanted, found)]
    torch.testing.assert_close(gradients[1], gradients[0])


def test_a_nan_is_the_largest() -> None:
    x = torch.zeros(1, 8, 4, 4, device=DEVICE)
    x[0, 0, 1, 1] = float("nan")
    found = pooling.TritonMaxPool(nn.MaxPool2d(2, 2))(x)
    assert bool(found[0, 0, 0, 0].isnan())
    assert int(found.isnan().sum()) == 1


def test_only_poolings_that_it_can_do_are_replaced() -> None:
    model = nn.Sequential(
        nn.MaxPool2d(3, 2), nn.MaxPool2d(3, 3), nn.MaxPool2d(3, 2, dilation=2), nn.AvgPool2d(2)
    )
    pooling.arrange_pooling(model)
    assert [type(m).__name__ for m in model] == ["TritonMaxPool", "MaxPool2d", "MaxPool2d", "AvgPool2d"]


@pytest.mark.parametrize("shape", [(128, 256), (144, 80)])
def test_the_cast_is_torchs(shape: tuple[int, int]) -> None:
    x, largest = 3 * torch.randn(shape, device=DEVICE), torch.tensor(5.0, device=DEVICE)
    found = casting.cast_both(x, largest, float8.LARGEST, True)
    wanted = float8.cast_in_torch(x, largest, sums=True)
    assert torch.equal(found[1].float(), found[0].float().t())
    # Triton's interpreter loses the carry where rounding reaches the next power of two.
    alike = (found[0].float() == wanted[0].float()).float().mean()
    assert alike > (0.999 if ON_GPU else 0.9)
    torch.testing.assert_close(found[2], wanted[2])
    torch.testing.assert_close(found[3], wanted[3], rtol=1e-4, atol=1e-3)  # summed in another order
