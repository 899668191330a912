"""Linear layers with 8-bit weights, for inference. Scales come from the largest magnitude, no calibration.

- int8, weights only: w ~ scale * q, one scale an output channel, q in [-127, 127]. The product runs
  in the type of x, so what is saved is memory and its traffic, not arithmetic:
  y = (x q^T) * scale. On a GPU with Triton a few rows are multiplied by the 8-bit weights as they are
  (few_rows.py); else a 16-bit copy is written and read again, which costs more than it saves.
- fp8 (e4m3, largest value 448; Micikevicius et al. 2022, arXiv:2209.05433), weights and activations:
  one scale a tensor, the activations' taken anew from every input; the product itself runs in FP8
  with the fast accumulation that inference uses. Needs compute capability 8.9 or higher.

Embedding, head, norms and the key-value cache stay as they are.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.model.precision import Precision

Network = TypeVar("Network", bound=nn.Module)

FP8 = torch.float8_e4m3fn
FP8_MAX = 448.0
TINY = 1e-12
# Most rows that are multiplied by 8-bit weights as they are.
FEW = 64
HAS_TRITON = find_spec("triton") is not None


def to_int8(weight: Tensor) -> tuple[Tensor, Tensor]:  # (N, K) -> (N, K) int8, (N,) fp32
    """Quantised rows and their scales: row ~ scale * quantised, off by at most scale / 2."""
    exact = weight.detach().float()
    scale = exact.abs().amax(dim=1).clamp_min(TINY) / 127
    return (exact / scale[:, None]).round().to(torch.int8), scale


def to_fp8(x: Tensor) -> tuple[Tensor, Tensor]:
    """x ~ scale * quantised, scale a scalar in fp32; off by at most 1/16 of each value that is not tiny."""
    x = x.detach()  # the cast has a gradient, whose graph would keep the weights and an fp32 copy of them
    scale = x.abs().amax().float().clamp_min(TINY) / FP8_MAX
    return (x.float() / scale).clamp(-FP8_MAX, FP8_MAX).to(FP8), scale


class Int8Linear(nn.Module):
    """Weight-only: dequantised in the product."""

    weight: Tensor
    scale: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight, scale = to_int8(linear.weight)
        self.register_buffer("weight", weight)
        # In fp32: of a scale in bf16, torch.compile makes a kernel that is 80 times too slow on a GPU.
        self.register_buffer("scale", scale)

    def forward(self, x: Tensor) -> Tensor:  # (..., K) -> (..., N)
        # The kernel pays where the weights' traffic decides: a few rows, in 16 bits, on a GPU with Triton.
        rows = x.flatten(0, -2)
        y = self._kernel(rows) if _has_kernel(rows) else self._product(rows)
        return y.view(*x.shape[:-1], -1)

    def _product(self, rows: Tensor) -> Tensor:
        return (functional.linear(rows, self.weight.to(rows.dtype)) * self.scale).to(rows.dtype)

    def _kernel(self, rows: Tensor) -> Tensor:
        from gpuwise.workloads.kernels.few_rows import few_rows

        found: Tensor = few_rows(rows, self.weight, self.scale)
        return found


def _has_kernel(rows: Tensor) -> bool:
    """Whether these are so few rows on a GPU that the weights' traffic decides."""
    return on_gpu(rows) and rows.element_size() == 2 and len(rows) <= FEW


def on_gpu(rows: Tensor) -> bool:
    """Whether Triton's kernels can be run on them."""
    return rows.is_cuda and HAS_TRITON


class Fp8Linear(nn.Module):
    """Both operands in e4m3; `torch._scaled_mm` wants the second one column by column."""

    weight: Tensor
    scale: Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight, scale = to_fp8(linear.weight)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:  # (..., K) -> (..., N)
        rows, scale = to_fp8(x.flatten(0, -2))
        y: Tensor = torch._scaled_mm(
            rows,
            self.weight.t(),
            scale,
            self.scale,
            bias=self.bias,
            out_dtype=x.dtype,
            use_fast_accum=True,
        )
        return y.view(*x.shape[:-1], -1)


KINDS: dict[Precision, type[Int8Linear] | type[Fp8Linear]] = {
    Precision.INT8: Int8Linear,
    Precision.FP8: Fp8Linear,
}


def quantise(model: Network, precision: Precision) -> Network:
    """Put 8-bit layers in place of all linear layers in `model.layers`, one at a time. In place."""
    layers = model.layers
    assert isinstance(layers, nn.ModuleList)
    for name, linear in list(layers.named_modules()):
        if isinstance(linear, nn.Linear):
            layers.set_submodule(name, KINDS[precision](linear))
    return model
