"""Attention with dropout over one product of query, key and value, in Triton.

    y = dropout(softmax(q k^T / sqrt(D))) v, not causal, no mask

As flash attention (Dao 2023, arXiv:2307.08691): blocks of keys pass by a block of queries, weights are never
in memory, the backward pass computes them again from each row's log-sum-exp. What differs is what holds the
libraries up in BERT's short sequences: on an H200 cuDNN's kernels, which torch takes, reach 140 TFLOP/s
where products reach 750, for they draw Philox bits for every weight. Here a weight's bits are half of an
integer hash (the finalizer `lowbias32` of C. Wellons, 2018) of its row's key and its column's: a few
instructions. And query, key and value are read where their product left them, and their gradients are
written to one tensor alike.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from gpuwise.workloads.models.residual import dropped

FORWARD = {"M": 128, "N": 64, "num_warps": 4, "num_stages": 3}
QUERIES = {"M": 128, "N": 64, "num_warps": 4, "num_stages": 3}
KEYS = {"M": 64, "N": 128, "num_warps": 4, "num_stages": 3}
"""Queries (M) and keys (N) of a block: forward, and the gradients of queries and of keys and values."""


@triton.jit
def _mixed(x):
    """An integer hash of 32 bits, in which each bit depends on all."""
    x ^= x >> 16
    x *= 0x7FEB352D
    x ^= x >> 15
    x *= 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def _kept(rows, columns, odd, threshold):
    """Whether weights are kept: keys of their rows, of their pairs of columns, and which of the pair."""
    x = (rows ^ columns) * 0x7FEB352D
    x ^= x >> 15
    x *= 0x846CA68B
    x ^= x >> 16
    return tl.where(odd, x >> 16, x & 0xFFFF).to(tl.int32) >= threshold


@triton.jit
def _row_keys(seed, line):
    return _mixed(line.to(tl.uint32) ^ _mixed(seed.to(tl.uint32)))


@triton.jit
def _column_keys(column):
    return _mixed((column >> 1).to(tl.uint32) + 0x9E3779B9)


@triton.jit
def _attend(
    qkv, seed, y, lse, scale, threshold, boost,
    T: tl.constexpr, H: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    C: tl.constexpr = H * D
    base = qkv + (head // H).to(tl.int64) * (T * 3 * C) + head % H * D
    row, along = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    here = (row < T)[:, None]
    q = tl.load(base + row[:, None] * (3 * C) + along[None, :], mask=here, other=0.0)
    rows = _row_keys(tl.load(seed), head * T + row)
    top = tl.full((M,), float("-inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    out = tl.zeros((M, D), tl.float32)
    for start in range(0, T, N):
        column = start + tl.arange(0, N)
        k = tl.load(
            base + C + column[None, :] * (3 * C) + along[:, None], mask=(column < T)[None, :], other=0.0
        )
        s = tl.where((column < T)[None, :], tl.dot(q, k) * scale, float("-inf"))
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - higher[:, None])
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(p, 1)
        out *= shrink[:, None]
        top = higher
        if DROP:
            odd = (column & 1)[None, :] != 0
            p = tl.where(_kept(rows[:, None], _column_keys(column)[None, :], odd, threshold), p, 0.0)
        v = tl.load(
            base + 2 * C + column[:, None] * (3 * C) + along[None, :], mask=(column < T)[:, None], other=0.0
        )
        out = tl.dot(p.to(v.dtype), v, out)
    out *= (boost / total)[:, None]
    at = y + (head // H).to(tl.int64) * (T * C) + head % H * D + row[:, None] * C + along[None, :]
    tl.store(at, out.to(y.dtype.element_ty), mask=here)
    tl.store(lse + head * T + row, top + tl.log2(total), mask=row < T)


@triton.jit
def _pull_queries(
    qkv, seed, y, dy, lse, delta, dqkv, scale, threshold, boost, back,
    T: tl.constexpr, H: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of queries, and each row's sum of dy y, which the other kernel reads."""
    head = tl.program_id(1)
    C: tl.constexpr = H * D
    first = (head // H).to(tl.int64) * (T * 3 * C) + head % H * D
    base = qkv + first
    row, along = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    here = (row < T)[:, None]
    q = tl.load(base + row[:, None] * (3 * C) + along[None, :], mask=here, other=0.0)
    at = (head // H).to(tl.int64) * (T * C) + head % H * D + row[:, None] * C + along[None, :]
    d = tl.load(dy + at, mask=here, other=0.0)
    level = tl.sum(d.to(tl.float32) * tl.load(y + at, mask=here, other=0.0).to(tl.float32), 1)
    tl.store(delta + head * T + row, level, mask=row < T)
    high = tl.load(lse + head * T + row, mask=row < T, other=0.0)
    rows = _row_keys(tl.load(seed), head * T + row)
    dq = tl.zeros((M, D), tl.float32)
    for start in range(0, T, N):
        column = start + tl.arange(0, N)
        there = (column < T)[None, :]
        place = base + C + column[None, :] * (3 * C) + along[:, None]
        k = tl.load(place, mask=there, other=0.0)
        p = tl.exp2(tl.where(there, tl.dot(q, k) * scale, float("-inf")) - high[:, None])
        dp = tl.dot(d, tl.load(place + C, mask=there, other=0.0)) * boost
        if DROP:
            odd = (column & 1)[None, :] != 0
            dp = tl.where(_kept(rows[:, None], _column_keys(column)[None, :], odd, threshold), dp, 0.0)
        ds = p * (dp - level[:, None])
        dq = tl.dot(ds.to(k.dtype), tl.trans(k), dq)
    tl.store(
        dqkv + first + row[:, None] * (3 * C) + along[None, :],
        (dq * back).to(dqkv.dtype.element_ty),
        mask=here,
    )


@triton.jit
def _pull_keys(
    qkv, seed, dy, lse, delta, dqkv, scale, threshold, boost, back,
    T: tl.constexpr, H: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of keys and values: weights are transposed here, (N, M)."""
    head = tl.program_id(1)
    C: tl.constexpr = H * D
    first = (head // H).to(tl.int64) * (T * 3 * C) + head % H * D
    base, down = qkv + first, dy + (head // H).to(tl.int64) * (T * C) + head % H * D
    column, along = tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, D)
    there = (column < T)[:, None]
    place = column[:, None] * (3 * C) + along[None, :]
    k = tl.load(base + C + place, mask=there, other=0.0)
    v = tl.load(base + 2 * C + place, mask=there, other=0.0)
    columns, odd, key = _column_keys(column)[:, None], (column & 1)[:, None] != 0, tl.load(seed)
    dk, dv = tl.zeros((N, D), tl.float32), tl.zeros((N, D), tl.float32)
    for start in range(0, T, M):
        row = start + tl.arange(0, M)
        here = (row < T)[None, :]
        q = tl.load(base + row[None, :] * (3 * C) + along[:, None], mask=here, other=0.0)
        d = tl.load(down + row[:, None] * C + along[None, :], mask=(row < T)[:, None], other=0.0)
        high = tl.load(lse + head * T + row, mask=row < T, other=0.0)[None, :]
        level = tl.load(delta + head * T + row, mask=row < T, other=0.0)[None, :]
        p = tl.where(here & there, tl.exp2(tl.dot(k, q) * scale - high), 0.0)
        dp, kept = tl.dot(v, tl.trans(d)) * boost, p * boost
        if DROP:
            keep = _kept(_row_keys(key, head * T + row)[None, :], columns, odd, threshold)
            dp, kept = tl.where(keep, dp, 0.0), tl.where(keep, kept, 0.0)
        dv = tl.dot(kept.to(d.dtype), d, dv)
        dk = tl.dot((p * (dp - level)).to(q.dtype), tl.trans(q), dk)
    tl.store(dqkv + first + C + place, (dk * back).to(dqkv.dtype.element_ty), mask=there)
    tl.store(dqkv + first + 2 * C + place, dv.to(dqkv.dtype.element_ty), mask=there)


def _scales(depth: int) -> tuple[float, float]:
    """Of logits to base 2, and of the gradients that come back through them."""
    return math.log2(math.e) / math.sqrt(depth), 1 / math.sqrt(depth)


@torch.library.custom_op("gpuwise::attention", mutates_args=())
def _attention(qkv: Tensor, seed: Tensor, heads: int, share: float) -> tuple[Tensor, Tensor]:
    """(B, T, 3 C), () -> y (B, T, C) and, to base 2, the log-sum-exp of each row (B H, T)."""
    qkv = qkv.contiguous()
    batch, tokens, wide = qkv.shape
    width, depth = wide // 3, wide // 3 // heads
    y = torch.empty(batch, tokens, width, dtype=qkv.dtype, device=qkv.device)
    lse = torch.empty(batch * heads, tokens, device=qkv.device)
    (scale, _), (threshold, boost) = _scales(depth), dropped(share)
    _attend[(triton.cdiv(tokens, FORWARD["M"]), batch * heads)](
        qkv, seed, y, lse, scale, threshold, boost, T=tokens, H=heads, D=depth, DROP=threshold > 0, **FORWARD
    )  # fmt: skip
    return y, lse


@_attention.register_fake
def _(qkv: Tensor, seed: Tensor, heads: int, share: float) -> tuple[Tensor, Tensor]:
    batch, tokens, wide = qkv.shape
    lse = qkv.new_empty((batch * heads, tokens), dtype=torch.float32)
    return qkv.new_empty((batch, tokens, wide // 3)), lse


@torch.library.custom_op("gpuwise::attention_backward", mutates_args=())
def _attention_pull(
    dy: Tensor, qkv: Tensor, seed: Tensor, y: Tensor, lse: Tensor, heads: int, share: float
) -> Tensor:
    """The gradients of query, key and value, (B, T, 3 C)."""
    dy, qkv = dy.contiguous(), qkv.contiguous()
    batch, tokens, wide = qkv.shape
    depth = wide // 3 // heads
    delta, dqkv = torch.empty_like(lse), torch.empty_like(qkv)
    (scale, back), (threshold, boost) = _scales(depth), dropped(share)
    shape = {"T": tokens, "H": heads, "D": depth, "DROP": threshold > 0}
    _pull_queries[(triton.cdiv(tokens, QUERIES["M"]), batch * heads)](
        qkv, seed, y, dy, lse, delta, dqkv, scale, threshold, boost, back, **shape, **QUERIES
    )  # fmt: skip
    _pull_keys[(triton.cdiv(tokens, KEYS["N"]), batch * heads)](
        qkv, seed, dy, lse, delta, dqkv, scale, threshold, boost, back, **shape, **KEYS
    )  # fmt: skip
    return dqkv


@_attention_pull.register_fake
def _(dy: Tensor, qkv: Tensor, seed: Tensor, y: Tensor, lse: Tensor, heads: int, share: float) -> Tensor:
    return qkv.new_empty(qkv.shape)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, seed: Tensor, heads: int, share: float) -> Tensor:
        y, lse = _attention(qkv, seed, heads, share)
        ctx.save_for_backward(qkv, seed, y, lse)
        ctx.heads, ctx.share = heads, share
        found: Tensor = y
        return found

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor | None, ...]:
        qkv, seed, y, lse = ctx.saved_tensors
        return _attention_pull(above[0], qkv, seed, y, lse, ctx.heads, ctx.share), None, None, None


def attention(qkv: Tensor, seed: Tensor, heads: int, share: float) -> Tensor:
    """(B, T, 3 C) in 16 bits, query, key and value beside each other, to (B, T, C); C / heads a power of two
    from 16. `seed` () whole, the same gives the same dropout; `share` of the weights is dropped."""
    y: Tensor = _Attention.apply(qkv, seed, heads, share)  # type: ignore[no-untyped-call]
    return y
