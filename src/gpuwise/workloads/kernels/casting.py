"""One pass over a matrix for FP8 training: cast, cast and transposed, largest magnitude, column sums.

What torch.compile makes of these reads the tensor once for each, computes what led to it again, and
writes the transpose byte by byte: on an H200, 70 ms of a 220 ms step of BERT-large (batch 128). Here a
program reads a tile once and writes all; magnitude and sums meet in fp32 atomics. Where GELU lies between
two products, what it makes is only ever read in FP8: it is computed in that pass, both ways, and never
written in 16 bits.
"""

from __future__ import annotations

import os

import torch
import triton
import triton.language as tl
from torch import Tensor

from gpuwise.workloads.kernels.gelu import gelu, gelu_slope
from gpuwise.workloads.models.float8 import Cast

INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")

CAST = {"R": 128, "C": 128, "num_warps": 4}
GELU = {"R": 64, "C": 128, "num_warps": 4}
# Rows and columns of a tile: of a cast, and of those with GELU and with its gradient.
PULL = {"R": 128, "C": 64, "num_warps": 4}


@triton.jit
def _tile(m, n, R: tl.constexpr, C: tl.constexpr):
    """A program's columns, where its first value lies, and which of every second row's values are there."""
    top, left = tl.program_id(0) * R, tl.program_id(1) * C
    column = left + tl.arange(0, C)
    mask = (top + 2 * tl.arange(0, R // 2) < m)[:, None] & (column < n)[None, :]
    return column, top.to(tl.int64) * n + left, mask


@triton.jit
def _places(n, R: tl.constexpr, C: tl.constexpr):
    """Of the values of every second row, from a tile's first: within a tile 32 bits suffice."""
    return 2 * tl.arange(0, R // 2)[:, None] * n + tl.arange(0, C)[None, :]


@triton.jit
def _read(x, n, mask, R: tl.constexpr, C: tl.constexpr):
    """Every second row of the tile that begins at x, as fp32, and the rows between them."""
    at = _places(n, R, C)
    even, odd = tl.load(x + at, mask=mask, other=0.0), tl.load(x + n + at, mask=mask, other=0.0)
    return even.to(tl.float32), odd.to(tl.float32)


@triton.jit
def _largest(value):
    return tl.max(tl.max(tl.abs(value), 1), 0)


@triton.jit
def _narrow(value, TOP: tl.constexpr):
    """Round to fp8; values beyond the largest number become it, as the instruction does by itself."""
    if INTERPRETED:
        value = tl.clamp(value, -TOP, TOP)
    return value.to(tl.float8e4nv)


@triton.jit
def _pairs(even, odd, TOP: tl.constexpr):
    """Two rows cast into 16 bits, which are quicker to transpose than 8.

    By the instruction that casts two values: of bytes that were put together by shifts, Triton 3.6 (ptxas
    12.8) made others, an eighth of them, on an H200.
    """
    if INTERPRETED:
        a = _narrow(even, TOP).to(tl.uint8, bitcast=True).to(tl.int16)
        return a | (_narrow(odd, TOP).to(tl.uint8, bitcast=True).to(tl.int16) << 8)
    return tl.inline_asm_elementwise(
        "cvt.rn.satfinite.e4m3x2.f32 $0, $2, $1;", "=h,f,f", [even, odd], tl.int16, is_pure=True, pack=1
    )


@triton.jit
def _put(
    even, odd, mask, largest, narrow, turned, magnitude, m, n,
    TOP: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Cast a tile and store it both ways; its largest magnitude joins the others'. It is zero outside."""
    # Of the values before scaling: the next step scales by it.
    tl.atomic_max(magnitude, tl.maximum(_largest(even), _largest(odd)))
    scale = TOP / tl.load(largest)
    even, odd = even * scale, odd * scale
    column, first, _ = _tile(m, n, R, C)
    at = _places(n, R, C)
    tl.store(narrow + first + at, _narrow(even, TOP), mask=mask)
    tl.store(narrow + first + n + at, _narrow(odd, TOP), mask=mask)
    # Pairs of rows are stored as 16 bits, so the transpose has half as many columns.
    half, top = m // 2, tl.program_id(0) * (R // 2)
    first = (tl.program_id(1) * C).to(tl.int64) * half + top
    at = tl.arange(0, C)[:, None] * half + tl.arange(0, R // 2)[None, :]
    across = (column < n)[:, None] & (top + tl.arange(0, R // 2) < half)[None, :]
    tl.store(turned + first + at, tl.trans(_pairs(even, odd, TOP)), mask=across)


@triton.jit
def _cast(
    x, largest, narrow, turned, magnitude, sums, m, n,
    TOP: tl.constexpr, SUMS: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    column, first, mask = _tile(m, n, R, C)
    even, odd = _read(x + first, n, mask, R, C)
    if SUMS:
        tl.atomic_add(sums + column, tl.sum(even + odd, 0), mask=column < n)
    _put(even, odd, mask, largest, narrow, turned, magnitude, m, n, TOP, R, C)


@triton.jit
def _gelu(
    x, bias, largest, narrow, turned, magnitude, m, n, TOP: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):
    column, first, mask = _tile(m, n, R, C)
    even, odd = _read(x + first, n, mask, R, C)
    b = tl.load(bias + column, mask=column < n, other=0.0)[None, :]
    # The bias is there below the last row, too.
    even, odd = tl.where(mask, gelu(even + b), 0.0), tl.where(mask, gelu(odd + b), 0.0)
    _put(even, odd, mask, largest, narrow, turned, magnitude, m, n, TOP, R, C)


@triton.jit
def _gelu_pull(
    dy, x, bias, largest, narrow, turned, magnitude, sums, m, n,
    TOP: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    column, first, mask = _tile(m, n, R, C)
    even, odd = _read(x + first, n, mask, R, C)
    b = tl.load(bias + column, mask=column < n, other=0.0)[None, :]
    d_even, d_odd = _read(dy + first, n, mask, R, C)
    even, odd = d_even * gelu_slope(even + b), d_odd * gelu_slope(odd + b)
    tl.atomic_add(sums + column, tl.sum(even + odd, 0), mask=column < n)
    _put(even, odd, mask, largest, narrow, turned, magnitude, m, n, TOP, R, C)


def _outputs(x: Tensor, *, sums: bool) -> Cast:
    """Where a cast of x (M, N) goes."""
    m, n = x.shape
    narrow, turned = (x.new_empty(shape, dtype=torch.float8_e4m3fn) for shape in ((m, n), (n, m)))
    magnitude, total = (x.new_zeros(shape, dtype=torch.float32) for shape in ((), (n if sums else 0,)))
    return narrow, turned, magnitude, total


def _tiles(x: Tensor, block: dict[str, int]) -> tuple[int, int]:
    assert x.element_size() == 2, f"casting takes 16-bit values, got {x.dtype}"
    assert len(x) % 2 == 0, f"casting takes an even number of rows, got {len(x)}"
    return triton.cdiv(x.shape[0], block["R"]), triton.cdiv(x.shape[1], block["C"])


@torch.library.custom_op("gpuwise::cast_both", mutates_args=())
def cast_both(x: Tensor, largest: Tensor, top: float, sums: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(M, N) of 16 bits, () -> cast to e4m3, its transpose, largest magnitude, column sums.

    x is divided by `largest` / `top`; what is then beyond `top` becomes it.
    """
    x, grid = x.contiguous(), _tiles(x, CAST)
    narrow, turned, magnitude, total = _outputs(x, sums=sums)
    _cast[grid](
        x, largest, narrow, turned.view(torch.int16), magnitude, total, *x.shape, TOP=top, SUMS=sums, **CAST
    )
    return narrow, turned, magnitude, total


@torch.library.custom_op("gpuwise::gelu_cast", mutates_args=())
def gelu_cast(x: Tensor, bias: Tensor, largest: Tensor, top: float) -> tuple[Tensor, Tensor, Tensor]:
    """`cast_both` of gelu(x + bias), without sums; x (M, N) of 16 bits, bias (N)."""
    x, grid = x.contiguous(), _tiles(x, GELU)
    narrow, turned, magnitude, _ = _outputs(x, sums=False)
    _gelu[grid](x, bias, largest, narrow, turned.view(torch.int16), magnitude, *x.shape, TOP=top, **GELU)
    return narrow, turned, magnitude


@torch.library.custom_op("gpuwise::gelu_cast_backward", mutates_args=())
def gelu_cast_backward(
    dy: Tensor, x: Tensor, bias: Tensor, largest: Tensor, top: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`cast_both` of the gradient of x, from that of gelu(x + bias); its sums are the bias's gradient."""
    dy, x, grid = dy.contiguous(), x.contiguous(), _tiles(x, PULL)
    narrow, turned, magnitude, total = _outputs(x, sums=True)
    _gelu_pull[grid](
        dy, x, bias, largest, narrow, turned.view(torch.int16), magnitude, total, *x.shape, TOP=top, **PULL
    )
    return narrow, turned, magnitude, total


cast_both.register_fake(lambda x, largest, top, sums: _outputs(x, sums=sums))
gelu_cast.register_fake(lambda x, *_: _outputs(x, sums=False)[:3])
gelu_cast_backward.register_fake(lambda dy, x, *_: _outputs(x, sums=True))
