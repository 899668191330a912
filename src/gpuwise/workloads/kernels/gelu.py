"""GELU of a product and its bias, in Triton: y = gelu(x + bias).

x is the product without its bias, so that the bias's gradient is summed where x's gradient is made. GELU is
u times the normal distribution's share below u, computed from the share beyond |u| (`normal`).
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from gpuwise.workloads.kernels import TAIL
from gpuwise.workloads.kernels.residual import ROWS, WARPS, programs_of

# Columns of a program.
WIDE = 1024


C0, C1, C2, C3, C4, C5 = (tl.constexpr(c) for c in TAIL)


@triton.jit
def _beyond(a):
    # A constant before a sum would take the tensor for its own kind in Triton 3.7's interpreter.
    return tl.exp2(a * (a * (a * (a * (a * C5 + C4) + C3) + C2) + C1) + C0)


@triton.jit
def gelu(u):
    a = tl.abs(u)
    return tl.maximum(u, 0.0) - a * _beyond(a)


@triton.jit
def gelu_slope(u):
    """The share below u, and u times the density there, exp(-u^2 / 2) / sqrt(2 pi)."""
    beyond = _beyond(tl.abs(u))
    density = tl.exp2(u * u * -0.7213475204444817 - 1.3257480647361593)
    return tl.where(u < 0, beyond, 1.0 - beyond) + u * density


@triton.jit
def _gelu_forward(x, bias, y, rows, n, R: tl.constexpr, C: tl.constexpr):
    # Two-dimensional tiles: a feed-forward layer is wider than one program.
    row, column = tl.program_id(0) * R + tl.arange(0, R), tl.program_id(1) * C + tl.arange(0, C)
    mask = (row < rows)[:, None] & (column < n)[None, :]
    at = row.to(tl.int64)[:, None] * n + column[None, :]
    u = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    u += tl.load(bias + column, mask=column < n, other=0.0)[None, :]
    tl.store(y + at, gelu(u).to(y.dtype.element_ty), mask=mask)


@triton.jit
def _gelu_backward(dy, x, bias, dx, sums, rows, n, R: tl.constexpr, C: tl.constexpr, TURNS: tl.constexpr):
    column = tl.program_id(1) * C + tl.arange(0, C)
    wide = column < n
    b = tl.load(bias + column, mask=wide, other=0.0)[None, :]
    d_bias = tl.zeros((C,), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * R + tl.arange(0, R)
        mask = (row < rows)[:, None] & wide[None, :]
        at = row.to(tl.int64)[:, None] * n + column[None, :]
        u = tl.load(x + at, mask=mask, other=0.0).to(tl.float32) + b
        d = tl.load(dy + at, mask=mask, other=0.0).to(tl.float32) * gelu_slope(u)
        tl.store(dx + at, d.to(dx.dtype.element_ty), mask=mask)
        d_bias += tl.sum(d, 0)
    tl.store(sums + tl.program_id(0).to(tl.int64) * n + column, d_bias, mask=wide)


@torch.library.custom_op("gpuwise::bias_gelu", mutates_args=())
def _gelu(x: Tensor, bias: Tensor) -> Tensor:
    """(M, N), (N) -> (M, N)."""
    x = x.contiguous()
    rows, n = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(rows, ROWS), triton.cdiv(n, WIDE))
    _gelu_forward[grid](x, bias, y, rows, n, R=ROWS, C=WIDE, num_warps=WARPS)
    return y


@torch.library.custom_op("gpuwise::bias_gelu_backward", mutates_args=())
def _gelu_pull(dy: Tensor, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of x (M, N) and of the bias (N)."""
    dy, x = dy.contiguous(), x.contiguous()
    rows, n = x.shape
    dx = torch.empty_like(x)
    across = int(triton.cdiv(n, WIDE))
    programs, turns = programs_of(rows, ROWS)
    sums = torch.empty(programs, n, device=x.device)
    _gelu_backward[(programs, across)](
        dy, x, bias, dx, sums, rows, n, R=ROWS, C=WIDE, TURNS=turns, num_warps=WARPS
    )
    return dx, sums.sum(0)


_gelu.register_fake(lambda x, bias: x.new_empty(x.shape))
_gelu_pull.register_fake(
    lambda dy, x, bias: (x.new_empty(x.shape), x.new_empty(x.shape[1:], dtype=torch.float32))
)


class _BiasGelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, bias)
        output: Tensor = _gelu(x, bias)
        return output

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor, Tensor]:
        gradients: tuple[Tensor, Tensor] = _gelu_pull(above[0], *ctx.saved_tensors)
        return gradients


def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    """gelu(x + bias), x (..., N)."""
    y: Tensor = _BiasGelu.apply(x.flatten(0, -2), bias)  # type: ignore[no-untyped-call]
    return y.view(x.shape)
