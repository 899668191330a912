"""The operations after a product in a post-norm transformer, in Triton; `gelu` has those between two.

    h = residual + dropout(x + bias), y = layer norm of h

x is a product without its bias, so that the bias's gradient is summed where x's gradient is made. What
torch.compile generates for these and for GELU is held up by arithmetic, not by memory: it draws 128 random
bits for each value and keeps 32, and adds the two gradients that reach a norm's output in a pass of their
own. On an H200 it took 43 ms of a 213 ms step of BERT-large (batch 128) for what the memory moves in 25 ms.

Here eight values share one draw of Philox (Salmon et al. 2011, SC11), 16 bits each, and the backward pass
draws them again; and the norm hands on its result twice, once for the next product and once for the next
sum, so that both gradients arrive here.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

# Values that share a draw; a row must be a multiple of it.
SHARE = 8
# Of a value's random bits.
LEVELS = 2**16
# Of a backward kernel at most; each sums over many rows what goes to norms and biases.
PROGRAMS = 1056
# Rows that a program holds at a time.
ROWS, WARPS = 4, 4
# The same of a norm's backward kernel, whose sums over rows take registers.
PULL_ROWS, PULL_WARPS = 1, 1


@triton.jit
def _kept(seed, draw, threshold, R: tl.constexpr, G: tl.constexpr):
    """(R, G) numbers of draws -> (R, G, 8) whether a value is kept."""
    a, b, c, d = tl.randint4x(seed, draw)
    words = tl.reshape(tl.join(tl.join(a, b), tl.join(c, d)), (R, G, 4)).to(tl.uint32, bitcast=True)
    bits = tl.reshape(tl.join(words & 0xFFFF, words >> 16), (R, G, 8))
    return bits.to(tl.int32) >= threshold


@triton.jit
def _norm_forward(
    x, bias, residual, weight, shift, seed, y, h, mean, scale, rows, n, boost, threshold, eps,
    R: tl.constexpr, G: tl.constexpr,
):  # fmt: skip
    row, group = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, G)
    column = group[:, None] * 8 + tl.arange(0, 8)[None, :]
    wide = column < n
    mask = (row < rows)[:, None, None] & wide[None]
    at = row.to(tl.int64)[:, None, None] * n + column[None]
    kept = _kept(tl.load(seed), row[:, None] * (n // 8) + group[None, :], threshold, R, G)
    value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    value += tl.load(bias + column, mask=wide, other=0.0)[None]
    total = tl.load(residual + at, mask=mask, other=0.0).to(tl.float32) + tl.where(kept, value * boost, 0.0)
    # The statistics are those of what is stored: the backward pass reads only that.
    narrow = total.to(h.dtype.element_ty)
    tl.store(h + at, narrow, mask=mask)
    total = narrow.to(tl.float32)
    middle = tl.sum(tl.sum(total, 2), 1) / n
    off = tl.where(mask, total - middle[:, None, None], 0.0)
    # Of differences from the mean: the mean of squares less the square of the mean would cancel in fp32.
    inverse = tl.rsqrt(tl.sum(tl.sum(off * off, 2), 1) / n + eps)
    w, s = tl.load(weight + column, mask=wide, other=0.0), tl.load(shift + column, mask=wide, other=0.0)
    out = off * inverse[:, None, None] * w[None] + s[None]
    tl.store(y + at, out.to(y.dtype.element_ty), mask=mask)
    tl.store(mean + row, middle, mask=row < rows)
    tl.store(scale + row, inverse, mask=row < rows)


@triton.jit
def _norm_backward(
    first, second, h, mean, scale, weight, seed, dh, dx, sums, rows, n, boost, threshold,
    R: tl.constexpr, G: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    group = tl.arange(0, G)
    column = group[:, None] * 8 + tl.arange(0, 8)[None, :]
    wide = column < n
    w = tl.load(weight + column, mask=wide, other=0.0)[None]
    key = tl.load(seed)
    d_weight = tl.zeros((G, 8), tl.float32)
    d_shift, d_bias = d_weight, d_weight
    # A fixed number of programs walks over all rows, so that sums over rows are few rows themselves.
    for turn in range(TURNS):
        row = (turn * tl.num_programs(0) + tl.program_id(0)) * R + tl.arange(0, R)
        mask = (row < rows)[:, None, None] & wide[None]
        at = row.to(tl.int64)[:, None, None] * n + column[None]
        g = tl.load(first + at, mask=mask, other=0.0).to(tl.float32)
        g += tl.load(second + at, mask=mask, other=0.0).to(tl.float32)
        middle = tl.load(mean + row, mask=row < rows, other=0.0)[:, None, None]
        inverse = tl.load(scale + row, mask=row < rows, other=0.0)[:, None, None]
        hat = (tl.load(h + at, mask=mask, other=0.0).to(tl.float32) - middle) * inverse
        hat = tl.where(mask, hat, 0.0)
        # Gradient of a layer norm: what is along the mean and along the normalised row drops out.
        gw = g * w
        along = tl.sum(tl.sum(gw * hat, 2), 1)[:, None, None] / n
        level = tl.sum(tl.sum(gw, 2), 1)[:, None, None] / n
        d = (gw - level - hat * along) * inverse
        tl.store(dh + at, d.to(dh.dtype.element_ty), mask=mask)
        kept = _kept(key, row[:, None] * (n // 8) + group[None, :], threshold, R, G)
        d = tl.where(kept & mask, d * boost, 0.0)
        tl.store(dx + at, d.to(dx.dtype.element_ty), mask=mask)
        d_weight += tl.sum(g * hat, 0)
        d_shift += tl.sum(g, 0)
        d_bias += tl.sum(d, 0)
    at = sums + tl.program_id(0).to(tl.int64) * 3 * n + column
    tl.store(at, d_weight, mask=wide)
    tl.store(at + n, d_shift, mask=wide)
    tl.store(at + 2 * n, d_bias, mask=wide)


def dropped(share: float) -> tuple[int, float]:
    """(levels of the random bits that drop a value, what the others are multiplied by)."""
    threshold = round(share * LEVELS)
    return threshold, LEVELS / (LEVELS - threshold)


def _groups(n: int) -> int:
    assert n % SHARE == 0, f"rows of {n} values; the kernel takes multiples of {SHARE}"
    return int(triton.next_power_of_2(n // SHARE))


def programs_of(rows: int, each: int) -> tuple[int, int]:
    """(programs of a backward kernel, how often each takes rows)."""
    blocks = int(triton.cdiv(rows, each))
    programs = min(PROGRAMS, blocks)
    return programs, int(triton.cdiv(blocks, programs))


@torch.library.custom_op("gpuwise::drop_add_norm", mutates_args=())
def _norm(
    x: Tensor, bias: Tensor, residual: Tensor, weight: Tensor, shift: Tensor, seed: Tensor,
    share: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """(M, N), (N), (M, N), (N), (N), () -> y and h (M, N), mean and 1 / deviation of h's rows (M)."""
    x, residual = x.contiguous(), residual.contiguous()
    rows, n = x.shape
    y, h = torch.empty_like(residual), torch.empty_like(residual)
    mean, scale = (torch.empty(rows, device=x.device) for _ in range(2))
    threshold, boost = dropped(share)
    _norm_forward[(triton.cdiv(rows, ROWS),)](
        x, bias, residual, weight, shift, seed, y, h, mean, scale, rows, n, boost, threshold, eps,
        R=ROWS, G=_groups(n), num_warps=WARPS,
    )  # fmt: skip
    return y, h, mean, scale


@_norm.register_fake
def _(x: Tensor, bias: Tensor, residual: Tensor, *_: object) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    y, h = (residual.new_empty(residual.shape) for _ in range(2))
    mean, scale = (x.new_empty(x.shape[:1], dtype=torch.float32) for _ in range(2))
    return y, h, mean, scale


@torch.library.custom_op("gpuwise::drop_add_norm_backward", mutates_args=())
def _norm_pull(
    first: Tensor, second: Tensor, h: Tensor, mean: Tensor, scale: Tensor, weight: Tensor, seed: Tensor,
    share: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients of residual and x (M, N), and those of weight, shift and bias (3, N)."""
    first, second = first.contiguous(), second.contiguous()
    rows, n = h.shape
    dh, dx = torch.empty_like(h), torch.empty_like(h)
    (programs, turns), (threshold, boost) = programs_of(rows, PULL_ROWS), dropped(share)
    sums = torch.empty(programs, 3, n, device=h.device)
    _norm_backward[(programs,)](
        first, second, h, mean, scale, weight, seed, dh, dx, sums, rows, n, boost, threshold,
        R=PULL_ROWS, G=_groups(n), TURNS=turns, num_warps=PULL_WARPS,
    )  # fmt: skip
    return dh, dx, sums.sum(0)


@_norm_pull.register_fake
def _(first: Tensor, second: Tensor, h: Tensor, *_: object) -> tuple[Tensor, Tensor, Tensor]:
    dh, dx = (h.new_empty(h.shape) for _ in range(2))
    return dh, dx, h.new_empty((3, h.shape[1]), dtype=torch.float32)


class _DropAddNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, bias: Tensor, residual: Tensor, weight: Tensor, shift: Tensor, seed: Tensor,
        share: float, eps: float,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        y, h, mean, scale = _norm(x, bias, residual, weight, shift, seed, share, eps)
        # The mask is not stored: the seed draws it again.
        ctx.save_for_backward(h, mean, scale, weight, seed)
        ctx.share = share
        return y, y.view_as(y)

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor | None, ...]:
        h, mean, scale, weight, seed = ctx.saved_tensors
        dh, dx, sums = _norm_pull(*above, h, mean, scale, weight, seed, ctx.share)
        d_weight, d_shift, d_bias = sums.unbind(0)
        return dx, d_bias, dh, d_weight, d_shift, None, None, None


def drop_add_norm(
    x: Tensor, bias: Tensor, residual: Tensor, norm: nn.LayerNorm, seed: Tensor, share: float
) -> tuple[Tensor, Tensor]:
    """The norm of residual + dropout(x + bias), twice: for the next product and for the next sum.

    x and residual (..., N) in 16 bits, which the results are too; `seed` () whole, the same gives the
    same dropout; `share` of values is dropped.
    """
    flat = (x.flatten(0, -2), bias, residual.flatten(0, -2), norm.weight, norm.bias, seed, share, norm.eps)
    y, again = _DropAddNorm.apply(*flat)  # type: ignore[no-untyped-call]
    return y.view(residual.shape), again.view(residual.shape)
