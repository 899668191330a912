"""Attention with dropout over one product of query, key and value, in Triton.

    y = dropout(softmax(q k^T / sqrt(D))) v, not causal, no mask

As flash attention (Dao 2023, arXiv:2307.08691): blocks of keys pass by a block of queries, weights are never
in memory, the backward pass computes them again from each row's log-sum-exp. What differs is what holds the
libraries up in BERT's short sequences: on an H200 cuDNN's kernels, which torch takes, reach 140 TFLOP/s
where products reach 750, as they draw Philox bits for every weight. Here rows and columns have random keys,
and a weight is dropped by the upper bits of the product of its two, odd and modulo 2^32 (a multiplicative
hash: Dietzfelbinger et al. 1997): one multiplication a weight. And query, key and value are read where
their product left them, and their gradients are written to one tensor alike.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from gpuwise.workloads.kernels.residual import dropped

FORWARD = {"M": 128, "N": 64, "num_warps": 8, "num_stages": 3}
QUERIES = {"M": 64, "N": 32, "num_warps": 4, "num_stages": 3}
# Queries (M) and keys (N) of a block: forward, and the gradients of queries and of keys and values.
KEYS = {"M": 32, "N": 64, "num_warps": 4, "num_stages": 3}


@triton.jit
def _load(at, index, end: tl.constexpr, block: tl.constexpr):
    """A block of values, zeros from index `end` on; without a mask where blocks end with it."""
    return tl.load(at) if end % block == 0 else tl.load(at, mask=index < end, other=0)


@triton.jit
def _store(at, value, index, end: tl.constexpr, block: tl.constexpr):
    if end % block == 0:
        tl.store(at, value)
    else:
        tl.store(at, value, mask=index < end)


@triton.jit
def _odd(at, index, end: tl.constexpr, block: tl.constexpr):
    return _load(at + index, index, end, block).to(tl.uint32) * 2 + 1


@triton.jit
def _kept(rows, columns, threshold):
    """True if weights are kept, by odd keys of rows and columns; of 2^16 levels `threshold` drop."""
    return rows * columns >= threshold.to(tl.uint32) << 16


@triton.jit
def _attend(
    qkv, keys, y, lse, scale, threshold, boost,
    T: tl.constexpr, H: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1)
    C: tl.constexpr = H * D
    base = qkv + (head // H).to(tl.int64) * (T * 3 * C) + head % H * D
    row, along = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    q = _load(base + row[:, None] * (3 * C) + along[None, :], row[:, None], T, M)
    rows = _odd(keys + (1 + head) * T, row, T, M)[:, None]
    # The running softmax of flash attention: the largest logit so far, the sum of exponentials below it,
    # and the weighted sum of values. When the largest grows, the other two are shrunk.
    top = tl.full((M,), float("-inf"), tl.float32)
    total = tl.zeros((M,), tl.float32)
    out = tl.zeros((M, D), tl.float32)
    for start in range(0, T, N):
        column = start + tl.arange(0, N)
        k = _load(base + C + column[None, :] * (3 * C) + along[:, None], column[None, :], T, N)
        s = tl.dot(q, k)
        # Zeros loaded beyond the last key would count as logits.
        if T % N != 0:
            s = tl.where((column < T)[None, :], s, float("-inf"))
        higher = tl.maximum(top, tl.max(s, 1) * scale)
        p = tl.exp2(s * scale - higher[:, None])
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(p, 1)
        out *= shrink[:, None]
        top = higher
        # After the sum: dropout scales what softmax made, it does not change its denominator.
        if DROP:
            p = tl.where(_kept(rows, _odd(keys, column, T, N)[None, :], threshold), p, 0.0)
        v = _load(base + 2 * C + column[:, None] * (3 * C) + along[None, :], column[:, None], T, N)
        out = tl.dot(p.to(v.dtype), v, out)
    out *= (boost / total)[:, None]
    at = y + (head // H).to(tl.int64) * (T * C) + head % H * D + row[:, None] * C + along[None, :]
    _store(at, out.to(y.dtype.element_ty), row[:, None], T, M)
    # All that the backward pass needs to compute the weights again.
    _store(lse + head * T + row, top + tl.log2(total), row, T, M)


@triton.jit
def _pull_queries(
    qkv, keys, y, dy, lse, delta, dqkv, scale, threshold, boost, back,
    T: tl.constexpr, H: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of queries, and each row's sum of dy y, which the other kernel reads."""
    head = tl.program_id(1)
    C: tl.constexpr = H * D
    first = (head // H).to(tl.int64) * (T * 3 * C) + head % H * D
    base = qkv + first
    row, along = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    q = _load(base + row[:, None] * (3 * C) + along[None, :], row[:, None], T, M)
    at = (head // H).to(tl.int64) * (T * C) + head % H * D + row[:, None] * C + along[None, :]
    d = _load(dy + at, row[:, None], T, M)
    # The softmax gradient is p (dp - sum(p dp)); that sum is dy . y, whatever was dropped.
    level = tl.sum(d.to(tl.float32) * _load(y + at, row[:, None], T, M).to(tl.float32), 1)
    _store(delta + head * T + row, level, row, T, M)
    high = _load(lse + head * T + row, row, T, M)[:, None]
    rows = _odd(keys + (1 + head) * T, row, T, M)[:, None]
    dq = tl.zeros((M, D), tl.float32)
    for start in range(0, T, N):
        column = start + tl.arange(0, N)
        place = base + C + column[None, :] * (3 * C) + along[:, None]
        k = _load(place, column[None, :], T, N)
        p = tl.exp2(tl.dot(q, k) * scale - high)
        dp = tl.dot(d, _load(place + C, column[None, :], T, N))
        if DROP:
            dp = tl.where(_kept(rows, _odd(keys, column, T, N)[None, :], threshold), dp, 0.0)
        ds = p * (dp * boost - level[:, None])
        if T % N != 0:
            ds = tl.where((column < T)[None, :], ds, 0.0)
        dq = tl.dot(ds.to(k.dtype), tl.trans(k), dq)
    at = dqkv + first + row[:, None] * (3 * C) + along[None, :]
    _store(at, (dq * back).to(dqkv.dtype.element_ty), row[:, None], T, M)


@triton.jit
def _pull_keys(
    qkv, keys, dy, lse, delta, dqkv, scale, threshold, boost, back,
    T: tl.constexpr, H: tl.constexpr, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, DROP: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of keys and values: weights are transposed here, (N, M)."""
    head = tl.program_id(1)
    C: tl.constexpr = H * D
    first = (head // H).to(tl.int64) * (T * 3 * C) + head % H * D
    base, down = qkv + first, dy + (head // H).to(tl.int64) * (T * C) + head % H * D
    column, along = tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, D)
    place = column[:, None] * (3 * C) + along[None, :]
    k = _load(base + C + place, column[:, None], T, N)
    v = _load(base + 2 * C + place, column[:, None], T, N)
    # The same keys as forward, so the same weights are dropped.
    columns = _odd(keys, column, T, N)[:, None]
    dk, dv = tl.zeros((N, D), tl.float32), tl.zeros((N, D), tl.float32)
    for start in range(0, T, M):
        row = start + tl.arange(0, M)
        q = _load(base + row[None, :] * (3 * C) + along[:, None], row[None, :], T, M)
        d = _load(down + row[:, None] * C + along[None, :], row[:, None], T, M)
        high = _load(lse + head * T + row, row, T, M)[None, :]
        level = _load(delta + head * T + row, row, T, M)[None, :]
        p = tl.exp2(tl.dot(k, q) * scale - high)
        if T % M != 0:
            p = tl.where((row < T)[None, :], p, 0.0)
        dp, kept = tl.dot(v, tl.trans(d)), p
        if DROP:
            keep = _kept(columns, _odd(keys + (1 + head) * T, row, T, M)[None, :], threshold)
            dp, kept = tl.where(keep, dp, 0.0), tl.where(keep, kept, 0.0)
        dv = tl.dot(kept.to(d.dtype), d, dv)
        dk = tl.dot((p * (dp * boost - level)).to(q.dtype), tl.trans(q), dk)
    narrow = dqkv.dtype.element_ty
    _store(dqkv + first + C + place, (dk * back).to(narrow), column[:, None], T, N)
    _store(dqkv + first + 2 * C + place, (dv * boost).to(narrow), column[:, None], T, N)


def _scales(depth: int) -> tuple[float, float]:
    """Of logits to base 2, and of the gradients that come back through them."""
    return math.log2(math.e) / math.sqrt(depth), 1 / math.sqrt(depth)


@torch.library.custom_op("gpuwise::attention", mutates_args=())
def _attention(qkv: Tensor, keys: Tensor, heads: int, share: float) -> tuple[Tensor, Tensor]:
    """(B, T, 3 C), (1 + B H, T) -> y (B, T, C) and, to base 2, the log-sum-exp of each row (B H, T)."""
    qkv = qkv.contiguous()
    batch, tokens, wide = qkv.shape
    width, depth = wide // 3, wide // 3 // heads
    y = torch.empty(batch, tokens, width, dtype=qkv.dtype, device=qkv.device)
    lse = torch.empty(batch * heads, tokens, device=qkv.device)
    (scale, _), (threshold, boost) = _scales(depth), dropped(share)
    _attend[(triton.cdiv(tokens, FORWARD["M"]), batch * heads)](
        qkv, keys, y, lse, scale, threshold, boost, T=tokens, H=heads, D=depth, DROP=threshold > 0, **FORWARD
    )
    return y, lse


@_attention.register_fake
def _(qkv: Tensor, keys: Tensor, heads: int, share: float) -> tuple[Tensor, Tensor]:
    batch, tokens, wide = qkv.shape
    lse = qkv.new_empty((batch * heads, tokens), dtype=torch.float32)
    return qkv.new_empty((batch, tokens, wide // 3)), lse


@torch.library.custom_op("gpuwise::attention_backward", mutates_args=())
def _attention_pull(
    dy: Tensor, qkv: Tensor, keys: Tensor, y: Tensor, lse: Tensor, heads: int, share: float
) -> Tensor:
    """The gradients of query, key and value, (B, T, 3 C)."""
    dy, qkv = dy.contiguous(), qkv.contiguous()
    batch, tokens, wide = qkv.shape
    depth = wide // 3 // heads
    delta, dqkv = torch.empty_like(lse), torch.empty_like(qkv)
    (scale, back), (threshold, boost) = _scales(depth), dropped(share)
    shape = {"T": tokens, "H": heads, "D": depth, "DROP": threshold > 0}
    _pull_queries[(triton.cdiv(tokens, QUERIES["M"]), batch * heads)](
        qkv, keys, y, dy, lse, delta, dqkv, scale, threshold, boost, back, **shape, **QUERIES
    )
    _pull_keys[(triton.cdiv(tokens, KEYS["N"]), batch * heads)](
        qkv, keys, dy, lse, delta, dqkv, scale, threshold, boost, back, **shape, **KEYS
    )
    return dqkv


_attention_pull.register_fake(lambda dy, qkv, *_: qkv.new_empty(qkv.shape))


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, keys: Tensor, heads: int, share: float) -> Tensor:
        y, lse = _attention(qkv, keys, heads, share)
        ctx.save_for_backward(qkv, keys, y, lse)
        ctx.heads, ctx.share = heads, share
        output: Tensor = y
        return output

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor | None, ...]:
        qkv, keys, y, lse = ctx.saved_tensors
        return _attention_pull(above[0], qkv, keys, y, lse, ctx.heads, ctx.share), None, None, None


def keys_of(qkv: Tensor, heads: int) -> Tensor:
    """Random keys for `attention`, (1 + B heads, T): of the columns, and of each head's rows."""
    batch, tokens, _ = qkv.shape
    return torch.randint(2**31 - 1, (1 + batch * heads, tokens), dtype=torch.int32, device=qkv.device)


def attention(qkv: Tensor, keys: Tensor, heads: int, share: float) -> Tensor:
    """(B, T, 3 C) in 16 bits, query, key and value beside each other, to (B, T, C); C / heads a power of two
    from 16. `share` of the weights is dropped, by `keys` (`keys_of`): the same keys drop the same weights."""
    y: Tensor = _Attention.apply(qkv, keys, heads, share)  # type: ignore[no-untyped-call]
    return y
