"""One decoding step in Triton: products of a few rows, and attention of one token over its cache.

Token-by-token decoding is bound by reading the weights once. What libraries lose on the way are the kernels
between the products, which wait for each other, and products with one row, which are not a matter of tensor
cores. Here a layer is six kernels: norms and gates are computed where a product reads its input, sums and
gates where it writes its result, and the rotation and the cache's new row where attention reads them.

One row is the matter of `kernels.stream`, and on Hopper the whole step of narrow weights that of one kernel
(`step.cu`). Of more rows weights of 4 bits are widened in registers. The GPU's own conversion of integers
runs at an eighth of the rate of its sums, too slow for 4 bits; instead the bits are put into the mantissa of
a number from 1 to 2, and the 1 is taken out of the sum in the end (`_widen`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache as once
from importlib.resources import files
from typing import Any
from unittest import mock

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional

from gpuwise.model.precision import FOUR_BIT_FLOATS, Precision
from gpuwise.workloads.job import relative_difference
from gpuwise.workloads.kernels.stream import KINDS, early, follow, stream
from gpuwise.workloads.models.quantized import STORED

FEW_ROWS = {"STEP": 256, "num_warps": 4, "num_stages": 4}
KEYS = 64  # Of a block in attention
CHECKED_ROWS = 1024  # Of the weights that are widened at a time to check a product
# A result may differ from torch's by this share of itself and of the mean magnitude: four roundings of bf16.
ALIKE = 0.016
# Why each form of a kernel that was checked so far is not used here; empty where it is.
doubts: dict[tuple[object, ...], str] = {}
# The fields of a phase in the order of `step.cu`, each a word of 64 bits.
PHASE = (
    "kind", "n", "k", "gated", "w", "scale", "zero", "x", "norm", "residual", "y", "part", "each", "splits",
    "eps", "first_block", "x_from", "residual_from", "keys", "values", "input_at", "early",
)  # fmt: skip
# Of `step.cu`: the kind of an attention phase, workers and all threads of a block; rows of a tile; bytes of a
# stage, and of stages and inputs, the most that its other shared memory leaves.
ATTENTION, WARPS, THREADS = 6, 16, 20 * 32
ROWS, STAGE, SHARED = 16, 16384, 217088
# Size of a head and tokens of a part of a cache; widest input, most query heads of a key head.
PART, WIDEST, QUERIES = 128, 14336, 8
SCALES, ZEROS = 512, 256  # bytes of them beside a stage of INT4
STAGES = 11  # at most
# Stages on their way at a time (more lengthen each access, also those to results of other blocks), of formats
# whose step was measured to be faster so: a first form was slower in bf16, MXFP4 and NVFP4.
IN_FLIGHT = {Precision.INT4: 2, Precision.FP8: 3, Precision.INT8: 3}
AS_ONE = frozenset(IN_FLIGHT)
ALL_ALIKE = 0.1  # Relative difference of logits, whose roundings add up over the layers
PROGRAMS = 264  # Of attention, at which a cache is split no further: two for each unit of an H200


@triton.jit
def _widen(words, i: tl.constexpr):
    """Element `i` of each word of eight as fp32: 1 + q 2^-7 (i even) or 1 + q 2^-11 (i odd)."""
    # Two elements a shift, at bits 12 and 16.
    moved = words << (16 - 4 * i) if i < 1 else words
    if i == 1 or i == 2:
        moved = words << 8
    if i == 5 or i == 6:
        moved = words >> 8
    if i == 7:
        moved = words >> 16
    bits = (moved & (0xF000 if i % 2 == 1 else 0xF0000)) | 0x3F800000
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def _few_rows(
    x, w, scale, zero, norm, residual, y, rows, n, eps,
    K: tl.constexpr, KIND: tl.constexpr, GATED: tl.constexpr, NORM: tl.constexpr, ADD: tl.constexpr,
    ROWS: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    SPAN: tl.constexpr = 2 * N if GATED else N
    PER: tl.constexpr = 8 if KIND == 3 else 1
    WORDS: tl.constexpr = STEP // PER
    line = tl.arange(0, ROWS)
    out = tl.program_id(0) * N + tl.arange(0, N)
    spread = tl.arange(0, SPAN)
    row = tl.program_id(0) * N + (spread // 2 if GATED else spread)
    there = row < n
    row = (row + (spread % 2) * n if GATED else row).to(tl.int64)
    total = tl.zeros((ROWS, SPAN), tl.float32)
    squares = tl.zeros((ROWS, WORDS), tl.float32)
    # A program reads each weight once, for all rows; x is small and stays in the caches.
    for start in range(0, K // PER, WORDS):
        word = start + tl.arange(0, WORDS)
        inside = word < K // PER
        q = tl.load(
            w + row[None, :] * (K // PER) + word[:, None],
            mask=inside[:, None] & there[None, :],
            other=0 if KIND == 1 or KIND == 3 else 0.0,
        )
        if KIND == 3:
            at = row[None, :] * (K // 128) + (word // 16)[:, None]
            mask = inside[:, None] & there[None, :]
            size = tl.load(scale + at, mask=mask, other=0.0).to(tl.float32)
            level = tl.load(zero + at, mask=mask, other=0).to(tl.float32) * size
        for i in tl.static_range(PER):
            at = word // 16 * 128 + i * 16 + word % 16 if KIND == 3 else word
            mask = (line < rows)[:, None] & inside[None, :]
            a = tl.load(x + line[:, None] * K + at[None, :], mask=mask, other=0.0)
            if NORM:
                wide = a.to(tl.float32)
                squares += wide * wide
                weight = tl.load(norm + at, mask=inside, other=0.0).to(tl.float32)
                a = (wide * weight[None, :]).to(a.dtype)
            if KIND == 3:
                step = 2048.0 if i % 2 == 1 else 128.0
                b = (_widen(q, i) * (step * size) - (step * size + level)).to(a.dtype)
            else:
                b = q.to(a.dtype)
            total = tl.dot(a, b, total)
    if KIND == 1 or KIND == 2:
        total *= tl.load(scale + row, mask=there, other=0.0)[None, :]
    if NORM:
        total *= tl.rsqrt(tl.sum(squares, 1) / K + eps)[:, None]
    if GATED:
        gate, up = tl.split(tl.reshape(total, (ROWS, N, 2)))
        result = gate / (1.0 + tl.exp(-gate)) * up
    else:
        result = total
    at = line[:, None] * n + out[None, :]
    mask = (line < rows)[:, None] & (out < n)[None, :]
    if ADD:
        result += tl.load(residual + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(y + at, result.to(y.dtype.element_ty), mask=mask)


def product(
    x: Tensor, weight: Tensor, scale: Tensor | None = None, zero: Tensor | None = None,
    kind: Precision | None = None, *, norm: Tensor | None = None, eps: float = 0.0,
    residual: Tensor | None = None, gated: bool = False, y: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """norm(x) times the transpose of the weights, plus `residual`: (M, K), (N, K) -> (M, N), M at most 64.

    `kind` None: weights in x's 16 bits. INT8 and FP8: (N, K) with `scale` (N) in fp32. INT4: (N, K / 8) words
    as `models.quantized.to_int4` packs them, scales and zero points (N, K / 128). MXFP4 and NVFP4 as it packs
    them, one row of x; every K a multiple of 128, of INT8 and FP8 of 4. `norm` (K) are the weights
    of a root-mean-square norm of x. `gated`: the upper half of the weights is multiplied by silu of the lower
    half's results, so that (M, N / 2) come out.
    """
    rows, k = x.shape
    n = len(weight) // 2 if gated else len(weight)
    if y is None:
        y = x.new_empty((rows, n))
    if rows == 1:
        form = (kind, k, n, gated, norm is None, residual is None, x.dtype, x.device)
        what = (x, weight, scale, zero, kind, norm, eps, residual)
        if form not in doubts:
            # The first call, which no graph records, is compared with torch: nothing wrong is passed on.
            _compare(form, lambda: stream(*what, y, gated=gated), y, in_torch(*what, gated=gated))
        if not doubts[form]:
            stream(*what, y, gated=gated)
            return y
        if kind in FOUR_BIT_FLOATS:
            return y.copy_(in_torch(*what, gated=gated))
    # As many programs as fill the GPU twice; with fewer outputs each, the rows would be read more often.
    columns = 16 if gated or n <= 8192 else 32
    _few_rows[(triton.cdiv(n, columns),)](
        x, weight, scale, zero, norm, residual, y, rows, n, eps,
        K=k, KIND=0 if kind is None else KINDS[kind], GATED=gated, NORM=norm is not None,
        ADD=residual is not None, ROWS=max(16, triton.next_power_of_2(rows)), N=columns, **FEW_ROWS,
    )  # fmt: skip
    return y


def in_torch(
    x: Tensor, weight: Tensor, scale: Tensor | None, zero: Tensor | None, kind: Precision | None,
    norm: Tensor | None, eps: float, residual: Tensor | None, *, gated: bool,
) -> Tensor:  # fmt: skip
    """`product` by torch in fp32, some rows of the weights at a time."""
    a, parts = x.float(), []
    if norm is not None:
        a = functional.rms_norm(a, norm.shape, norm.float(), eps)
    for first in range(0, len(weight), CHECKED_ROWS):
        w, each = (x if x is None else x[first : first + CHECKED_ROWS] for x in (weight, scale))
        assert w is not None
        # Levels of four-bit floats are those of all rows.
        level = zero[first : first + CHECKED_ROWS] if zero is not None and zero.dim() == 2 else zero
        wide = w.float() if kind is None else STORED[kind][1](w, each, level, torch.float32)
        parts.append(functional.linear(a, wide))
    y = torch.cat(parts, dim=1)
    if gated:
        gate, up = y.chunk(2, dim=1)
        y = functional.silu(gate) * up
    return y if residual is None else y + residual.float()


@contextmanager
def _checked(form: tuple[object, ...]) -> Iterator[None]:
    """Run and check a kernel, whose entry in `doubts` says how it failed."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  whatever a compiler or the driver of this GPU refuses
        doubts[form] = f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _compare(form: tuple[object, ...], run: Callable[[], object], y: Tensor, wanted: Tensor) -> None:
    """Check a kernel that writes `y` against torch's result."""
    with _checked(form):
        run()
        off, mean = (y.float() - wanted).abs(), wanted.abs().mean()
        alike = bool((off <= ALIKE * (wanted.abs() + mean)).all())  # NaN must not pass
        far = f"it is up to {float(off.max() / mean):.2g} mean magnitudes off torch's result"
        doubts[form] = "" if alike else far


@torch.library.custom_op("gpuwise::narrow_product", mutates_args=())
def narrow_product(x: Tensor, weight: Tensor, scale: Tensor, zero: Tensor | None, kind: str) -> Tensor:
    """`product` alone, which torch.compile keeps whole."""
    return product(x.contiguous(), weight, scale, zero, Precision(kind))


narrow_product.register_fake(lambda x, weight, *_: x.new_empty((len(x), len(weight))))


@torch.library.custom_op("gpuwise::narrow_experts", mutates_args=())
def narrow_experts(
    x: Tensor, weight: Tensor, scale: Tensor, zero: Tensor | None, whose: Tensor, kind: str
) -> Tensor:
    """Each row times the transpose of its expert's narrow weights: (M, K), (E, N, K), (M) -> (M, N). They are
    stored as for `product`, an expert after the other; torch.compile keeps it whole."""
    x, form = x.contiguous(), Precision(kind)
    y = x.new_empty((len(x), weight.shape[1]))

    def in_turn() -> Tensor:
        """By torch."""
        rows = []
        for row, expert in zip(torch.split(x, 1), whose.tolist(), strict=True):
            level = zero if zero is None or zero.dim() == 1 else zero[expert]
            rows.append(
                in_torch(row, weight[expert], scale[expert], level, form, None, 0.0, None, gated=False)
            )
        return torch.cat(rows)

    def run() -> None:
        stream(x, weight, scale, zero, form, None, 0.0, None, y, gated=False, whose=whose)

    called = ("experts", form, *weight.shape, x.dtype, x.device)
    if called not in doubts:
        _compare(called, run, y, in_turn())
    if doubts[called]:
        return y.copy_(in_turn())
    run()
    return y


narrow_experts.register_fake(lambda x, weight, *_: x.new_empty((len(x), weight.shape[1])))


@triton.jit
def _rotated(at, cosine, sine, half, mask):
    first = tl.load(at, mask=mask, other=0.0).to(tl.float32)
    second = tl.load(at + half, mask=mask, other=0.0).to(tl.float32)
    return first * cosine - second * sine, second * cosine + first * sine


@triton.jit
def _attend(
    qkv, keys, values, table, position, part, most, length, scale,
    T: tl.constexpr, ROPE: tl.constexpr, H: tl.constexpr, G: tl.constexpr, D: tl.constexpr,
    SPLITS: tl.constexpr, BLOCKS: tl.constexpr, N: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """A program: the G query heads of one key head of one sequence, over BLOCKS blocks of its cache."""
    HALF: tl.constexpr = D // 2
    ROWS: tl.constexpr = 16 if G < 16 else G
    follow(EARLY)
    sequence, head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    here = tl.load(position)
    half, wide, line = tl.arange(0, HALF), tl.arange(0, D), tl.arange(0, ROWS)
    cosine = tl.load(table + here * HALF + half).to(tl.float32)[None, :]
    sine = tl.load(table + (ROPE + here) * HALF + half).to(tl.float32)[None, :]
    # Query heads first, then key heads, then value heads, side by side.
    row = qkv + sequence.to(tl.int64) * (H * (G + 2) * D)
    at = row + (head * G + line)[:, None] * D + half[None, :]
    low, high = _rotated(at, cosine, sine, HALF, (line < G)[:, None])
    kind = keys.dtype.element_ty
    low, high = (low * scale).to(kind), (high * scale).to(kind)
    base = (sequence * H + head).to(tl.int64) * T * D
    if here // (BLOCKS * N) == split:
        # The program that comes to the new row puts it into the cache before it reads that.
        new = row + (H * G + head) * D + half[None, :]
        new_low, new_high = _rotated(new, cosine, sine, HALF, half[None, :] < HALF)
        place = base + here * D
        tl.store(keys + place + half[None, :], new_low.to(kind))
        tl.store(keys + place + HALF + half[None, :], new_high.to(kind))
        tl.store(values + place + wide, tl.load(row + (H * (G + 1) + head) * D + wide))
        tl.debug_barrier()
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    weight = tl.zeros((ROWS,), tl.float32)
    total = tl.zeros((ROWS, D), tl.float32)
    for block in range(BLOCKS):
        index = (split * BLOCKS + block) * N + tl.arange(0, N)
        mask = (index < T)[:, None]
        place = base + index[:, None] * D
        key_low = tl.load(keys + place + half[None, :], mask=mask, other=0.0)
        key_high = tl.load(keys + place + HALF + half[None, :], mask=mask, other=0.0)
        value = tl.load(values + place + wide[None, :], mask=mask, other=0.0)
        score = tl.dot(low, tl.trans(key_low))
        score = tl.dot(high, tl.trans(key_high), score)
        score = tl.where((index < T)[None, :], score, float("-inf"))
        higher = tl.maximum(top, tl.max(score, 1))
        higher = tl.where(higher == float("-inf"), 0.0, higher)
        share = tl.exp(score - higher[:, None])
        less = tl.exp(top - higher)
        weight = weight * less + tl.sum(share, 1)
        total = tl.dot(share.to(kind), value, total * less[:, None])
        top = higher
    index = ((sequence * H + head) * G + line).to(tl.int64) * SPLITS + split
    kept = line < G
    tl.store(part + index[:, None] * D + wide[None, :], total, mask=kept[:, None])
    tl.store(most + index, top, mask=kept)
    tl.store(length + index, weight, mask=kept)


@triton.jit
def _join(part, most, length, y, SPLITS: tl.constexpr, S: tl.constexpr, D: tl.constexpr, EARLY: tl.constexpr):
    """The parts of one query head as one result."""
    follow(EARLY)
    row, split, wide = tl.program_id(0).to(tl.int64), tl.arange(0, S), tl.arange(0, D)
    mask = split < SPLITS
    top = tl.load(most + row * SPLITS + split, mask=mask, other=float("-inf"))
    share = tl.where(mask, tl.exp(top - tl.max(top, 0)), 0.0)
    weight = tl.load(length + row * SPLITS + split, mask=mask, other=0.0) * share
    at = (row * SPLITS + split)[:, None] * D + wide[None, :]
    parts = tl.load(part + at, mask=mask[:, None], other=0.0) * share[:, None]
    tl.store(y + row * D + wide, (tl.sum(parts, 0) / tl.sum(weight, 0)).to(y.dtype.element_ty))


def attend(
    qkv: Tensor, keys: Tensor, values: Tensor, table: Tensor, position: Tensor, heads: int,
) -> Tensor:  # fmt: skip
    """One token a sequence over its full cache, in which its own row at `position` is written first.

    qkv (B, (H + 2 K) D) as products left them, keys and values (B, K, T, D), table (2, P, D / 2) of cosines
    and sines, position (1): (B, H D). D a power of two from 32.
    """
    batch, shared, tokens, size = keys.shape
    group = heads // shared
    blocks = triton.cdiv(tokens, KEYS)
    # So many parts that all programs have work, none without a block.
    each = triton.cdiv(blocks, max(1, min(blocks, PROGRAMS // (batch * shared))))
    splits = triton.cdiv(blocks, each)
    part = torch.empty((batch * heads, splits, size), dtype=torch.float32, device=qkv.device)
    most, length = (torch.empty((batch * heads, splits), device=qkv.device) for _ in range(2))
    how = early(qkv)
    _attend[(batch, shared, splits)](
        qkv, keys, values, table, position, part, most, length, size**-0.5,
        T=tokens, ROPE=table.shape[1], H=shared, G=group, D=size, SPLITS=splits, BLOCKS=each, N=KEYS,
        num_warps=4, num_stages=3, **how,
    )  # fmt: skip
    y = qkv.new_empty((batch, heads * size))
    _join[(batch * heads,)](
        part, most, length, y, SPLITS=splits, S=triton.next_power_of_2(splits), D=size, num_warps=4, **how
    )
    return y


class WholeStep:
    """All products and attentions of a decoder's step as phases of one kernel (`step.cu`), for one sequence.
    Called with its token and position it gives the logits, (1, V), and may choose the next token."""

    def __init__(
        self, embedding: Tensor, table: Tensor, blocks: Sequence[Any], caches: Sequence[tuple[Tensor, ...]],
        head: tuple[Tensor, Tensor], eps: float,
    ) -> None:  # fmt: skip
        from gpuwise.workloads.models.decoder import stored

        self.embedding, self.table, device = embedding, table, embedding.device
        self.programs = torch.cuda.get_device_properties(device).multi_processor_count
        self.held: list[Tensor] = []
        self.rows: list[list[int]] = []
        self.first_block, self.scale_bytes, self.buffer_bytes = 0, 0, [0, 0]  # for narrow and wide inputs
        _, shared, tokens, size = caches[0][0].shape
        hidden, width, inner = _sizes(blocks[0], caches[0][0])
        # Words of a number and the tag of its phase.
        widths = (hidden, width + 2 * shared * size, width, inner)
        x, qkv, y, middle = (torch.zeros(n, dtype=torch.int32, device=device) for n in widths)
        self.logits = embedding.new_empty((1, len(head[0])))
        chunks = tokens // PART
        each = triton.cdiv(chunks, self.programs // shared)  # no block has two parts
        splits, heads = triton.cdiv(chunks, each), width // size
        kind = stored(blocks[0].attention.qkv)[3]
        norm, factor = (int(torch.tensor(v).view(torch.int32)) for v in (eps, size**-0.5))
        for block, (keys, values) in zip(blocks, caches, strict=True):
            self._product(qkv, x, stored(block.attention.qkv), block.norm1.weight, norm)
            part = torch.zeros(heads * splits * (size + 2), dtype=torch.int64, device=device)
            maps = [_rows(t.view(-1, size), 64, 1) for t in (keys, values)]
            self._phase(
                shared * splits, kind=ATTENTION, n=shared, k=tokens, gated=heads // shared, w=maps[0],
                scale=maps[1], x=qkv, y=y, part=part, each=each, splits=splits, eps=factor, keys=keys,
                values=values,
            )  # fmt: skip
            self._product(x, y, stored(block.attention.output), add=3)
            self._product(middle, x, stored(block.feed_forward.gate_up), block.norm2.weight, norm)
            self._product(x, middle, stored(block.feed_forward.down), add=2)
        self._product(self.logits, x, (head[0],), head[1], norm)
        narrow, wide = self.buffer_bytes
        stage, inputs = STAGE + self.scale_bytes, 2 * narrow + wide
        self.stages = min(STAGES, (SHARED - inputs) // stage)
        self.bytes = self.stages * stage + inputs
        self.phases = torch.tensor(self.rows, dtype=torch.int64, device=device)
        places = self.phases[:, PHASE.index("input_at")]  # so far the numbers of the buffers
        places.mul_(narrow).add_(self.stages * stage)
        self.progress = torch.zeros(1 + self.programs, dtype=torch.int64, device=device)
        # A team waits for a stage at most 7 after its last one; what had its place before must have come.
        self.in_flight, self.kernel = min(IN_FLIGHT[kind], self.stages - 7), _compiled(device, kind)

    def _phase(self, tiles: int, **fields: int | Tensor | None) -> None:
        """A row of the table of phases, which holds tensors by their addresses. Its input is what the phase
        before wrote; its tiles go round the blocks from where those of that one ended."""
        usual = {"first_block": self.first_block, "x_from": len(self.rows) - 1, "residual_from": -1}
        row = {**dict.fromkeys(PHASE), **usual, **fields}.values()
        self.held += [each for each in row if isinstance(each, Tensor)]
        self.rows.append([x.data_ptr() if isinstance(x, Tensor) else int(x or 0) for x in row])
        self.first_block = (self.first_block + tiles) % self.programs

    def _product(
        self, y: Tensor, x: Tensor, weights: tuple[Any, ...], norm: Tensor | None = None, eps: int = 0,
        add: int = 0,
    ) -> None:  # fmt: skip
        """A phase that multiplies by a matrix; `add`: how many phases before it wrote what is added."""
        weight, scale, zero, kind = (*weights, None, None, None)[:4]
        n, k = y.numel(), x.numel()
        halves = len(weight) // n  # two with a gate
        # A bf16 input that is normed is in shared memory in two parts.
        size = k * (4 if kind is None and norm is not None else 2)
        early = max(0, k // PART - 3 * WARPS)
        # Narrow inputs alternate between two buffers; wide ones, which are prepared early, have a third. The
        # last input spans the first two where the one before it, which may still be read, is in the third.
        both = y is self.logits and not early and self.rows[-1][-1] > 0
        buffer = 2 if early else 0 if both else len(self.rows) % 2
        self.buffer_bytes[early > 0] = max(self.buffer_bytes[early > 0], size // 2 if both else size)
        if kind == Precision.INT4:
            self.scale_bytes = SCALES + ZEROS
            scale = _map(scale.view(torch.uint8), SCALES // ROWS, halves)
            zero = _map(zero, ZEROS // ROWS, halves)
        self._phase(
            triton.cdiv(n * halves, ROWS), kind=0 if kind is None else KINDS[kind], n=n, k=k,
            gated=halves == 2, w=_rows(weight, ROWS, halves), scale=scale, zero=zero, x=x, norm=norm, y=y,
            eps=eps, residual=y if add else None, residual_from=len(self.rows) - add if add else -1,
            input_at=buffer, early=early,
        )  # fmt: skip

    def __call__(self, tokens: Tensor, position: Tensor, context: int = 0, wrap: int = 0) -> Tensor:
        """With a `context` both go on to the next step, `wrap` positions back from the end of the context."""
        table, rows = self.table, self.embedding
        inputs = (self.phases, len(self.rows), self.progress, position, table, table.stride(0), tokens, rows)
        sizes = (rows.shape[1], self.scale_bytes, self.stages, self.in_flight, context, wrap)
        self.kernel((self.programs, 1, 1), (THREADS, 1, 1), [*inputs, *sizes], shared_mem=self.bytes)
        return self.logits


def _sizes(block: Any, keys: Tensor) -> tuple[int, int, int]:
    """Widths of a layer: of what goes in, of its heads, of its feed-forward part."""
    heads = len(block.attention.qkv.weight) - 2 * keys.shape[1] * keys.shape[3]
    return len(block.feed_forward.down.weight), heads, len(block.feed_forward.gate_up.weight) // 2


def at_once(*made: Any, at: tuple[Tensor, Tensor], by_layers: Callable[..., Tensor]) -> WholeStep | None:
    """`WholeStep` of its arguments where it can run and its logits are those `by_layers`; elsewhere None,
    with the reason in `doubts` if it failed on a GPU that it was written for."""
    from gpuwise.workloads.models.decoder import stored

    _, _, blocks, caches, *_ = made
    first, keys = blocks[0], caches[0][0]
    attention, feed = first.attention, first.feed_forward
    matrices = [stored(each) for each in (attention.qkv, attention.output, feed.gate_up, feed.down)]
    kinds = {each[3] if len(each) > 3 else None for each in matrices}
    if len(at[0]) > 1 or len(kinds) > 1 or not kinds <= AS_ONE:
        return None
    # Untried elsewhere, where blocks that wait for each other might never end.
    if not early(keys)["EARLY"] or torch.cuda.get_device_capability(keys.device)[0] != 9:
        return None
    hidden, width, inner = _sizes(first, keys)
    # Whole stages, two a row of weights at least.
    whole = all(weight[0].nbytes % 1024 == 0 and weight[0].nbytes >= 2048 for weight, *_ in matrices)
    fits = keys.dtype == torch.bfloat16 and keys.shape[3] == PART and keys.shape[2] % PART == 0
    small = max(hidden, width, inner) <= WIDEST and width <= QUERIES * keys.shape[1] * PART
    if not (whole and fits and small):
        return None
    form: tuple[object, ...] = ("step", matrices[0][3], hidden, inner, *keys.shape, keys.device)
    with _checked(form):
        step = WholeStep(*made)
        # By layers afterwards: the new row of the cache is right even if this step's was not.
        token, position = (x.clone() for x in at)
        logits = step(token, position, keys.shape[2])
        off = relative_difference(logits, by_layers(*at)) + float(logits[0, token] != logits.max())
        doubts[form] = "" if off < ALL_ALIKE else f"the whole step is {off:.2g} off"
        if not doubts[form]:
            return step
    return None


def _tensor_map(
    x: Tensor, item: int, shape: Sequence[int], strides: Sequence[int], box: Sequence[int]
) -> Tensor:
    """The description by which bulk copies find boxes of a tensor; those of four dimensions are swizzled."""
    room = ctypes.create_string_buffer(192)
    at = -ctypes.addressof(room) % 64
    longs, ints = ctypes.c_uint64 * 4, ctypes.c_uint32 * 4
    failed = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled(
        ctypes.c_void_p(ctypes.addressof(room) + at), item, len(shape), ctypes.c_void_p(x.data_ptr()),
        longs(*shape), longs(*strides), ints(*box), ints(1, 1, 1, 1), 0, 3 * (len(shape) == 4), 3, 0,
    )  # fmt: skip
    if failed:
        raise RuntimeError(f"the driver describes no tensor of {tuple(x.shape)}: error {failed}")
    return torch.frombuffer(bytearray(room.raw[at : at + 128]), dtype=torch.uint8).to(x.device)


def _map(x: Tensor, width: int, halves: int) -> Tensor:
    """Boxes of 16 rows of `width` bytes; with a gate eight of each half."""
    n, k = len(x) // halves, x[0].nbytes
    return _tensor_map(x, 0, (k, n, halves), (k, k * n), (width, ROWS // halves, halves))


def _rows(x: Tensor, rows: int, halves: int) -> Tensor:
    """Boxes of so many rows in blocks of 128 bytes, a stage each."""
    n, k = len(x) // halves, x[0].nbytes
    box = (32, rows // halves, halves, STAGE // rows // 128)
    return _tensor_map(x, 2, (32, n, halves, k // 128), (k, k * n, 128), box)


@once
def _compiled(device: torch.device, kind: Precision) -> Any:
    source = files("gpuwise.workloads.kernels").joinpath("step.cu").read_text(encoding="utf-8")
    # torch looks for the headers of a toolkit, which `step.cu` does without.
    with torch.cuda.device(device), mock.patch("torch.utils.cpp_extension.include_paths", return_value=[]):
        kernel = torch.cuda._compile_kernel(f"#define FORMAT {KINDS[kind]}\n{source}", "decode_step")
    kernel.set_shared_memory_config(SHARED)
    return kernel
