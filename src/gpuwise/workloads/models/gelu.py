"""GELU of a product and its bias, in Triton: y = gelu(x + bias).

x is the product without its bias, so that the bias's gradient is summed where x's gradient is made. What
torch.compile generates evaluates erf in some fifty instructions a value, longer than the memory takes. Here
it is formula 7.1.26 of Abramowitz and Stegun (error at most 1.5e-7, far below what 16 bits can tell), whose
exponential the derivative needs, too.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from gpuwise.workloads.models.residual import ROWS, WARPS, programs_of

WIDE = 1024
"""Columns of a program."""


@triton.jit
def _normal(u):
    """The normal distribution's share below u, and exp(-u^2 / 2)."""
    t = 1.0 / (1.0 + 0.3275911 * 0.7071067811865476 * tl.abs(u))
    bell = tl.exp(-0.5 * u * u)
    series = 0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    tail = 0.5 * t * series * bell
    return tl.where(u < 0, tail, 1.0 - tail), bell


@triton.jit
def _gelu_forward(x, bias, y, rows, n, R: tl.constexpr, C: tl.constexpr):
    row, column = tl.program_id(0) * R + tl.arange(0, R), tl.program_id(1) * C + tl.arange(0, C)
    there = (row < rows)[:, None] & (column < n)[None, :]
    at = row.to(tl.int64)[:, None] * n + column[None, :]
    u = tl.load(x + at, mask=there, other=0.0).to(tl.float32)
    u += tl.load(bias + column, mask=column < n, other=0.0)[None, :]
    below, _ = _normal(u)
    tl.store(y + at, (u * below).to(y.dtype.element_ty), mask=there)


@triton.jit
def _gelu_backward(
    dy, x, bias, dx, sums, rows, n, R: tl.constexpr, C: tl.constexpr, TURNS: tl.constexpr
):  # fmt: skip
    column = tl.program_id(1) * C + tl.arange(0, C)
    wide = column < n
    b = tl.load(bias + column, mask=wide, other=0.0)[None, :]
    d_bias = tl.zeros((C,), tl.float32)
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * R + tl.arange(0, R)
        there = (row < rows)[:, None] & wide[None, :]
        at = row.to(tl.int64)[:, None] * n + column[None, :]
        u = tl.load(x + at, mask=there, other=0.0).to(tl.float32) + b
        below, bell = _normal(u)
        slope = below + u * bell * 0.3989422804014327  # 1 / sqrt(2 pi)
        d = tl.load(dy + at, mask=there, other=0.0).to(tl.float32) * slope
        tl.store(dx + at, d.to(dx.dtype.element_ty), mask=there)
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


@_gelu.register_fake
def _(x: Tensor, bias: Tensor) -> Tensor:
    return x.new_empty(x.shape)


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
    )  # fmt: skip
    return dx, sums.sum(0)


@_gelu_pull.register_fake
def _(dy: Tensor, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), x.new_empty(x.shape[1:], dtype=torch.float32)


class _BiasGelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(x, bias)
        found: Tensor = _gelu(x, bias)
        return found

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor, Tensor]:
        found: tuple[Tensor, Tensor] = _gelu_pull(above[0], *ctx.saved_tensors)
        return found


def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    """gelu(x + bias), x (..., N)."""
    y: Tensor = _BiasGelu.apply(x.flatten(0, -2), bias)  # type: ignore[no-untyped-call]
    return y.view(x.shape)
