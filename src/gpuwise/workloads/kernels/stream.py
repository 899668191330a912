"""Products of one row with a whole matrix, in Triton: one wave of programs that stream the weights.

Rows of a mixture's tokens are multiplied by the matrices of their experts in one launch: each row has a share
of the programs, which find the expert's number where the router has written it.

A program multiplies a range of rows that is as long as any other's. The input lies in registers, once for all
its rows, spread over the threads, and the weights of the next rows are on their way while these are
multiplied. Integer weights are multiplied as integers, four in one instruction (dp4a): the input is written
with 16 bits below the largest of each 32 (16 of NVFP4, four of INT8), as two signed bytes, 128 times finer
than bf16.
Four-bit floats are integers times a scale as well, E2M1 doubled: looked up in registers.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from gpuwise.model.precision import Precision

try:
    from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait
except ImportError:  # a Triton before 3.4
    gdc_launch_dependents = gdc_wait = None

# How weights are stored, as the kernel knows it: words of 32 bits but for KIND 0.
KINDS = {
    Precision.INT8: 1, Precision.FP8: 2, Precision.INT4: 3, Precision.MXFP4: 4, Precision.NVFP4: 5,
}  # fmt: skip


# Warps of a program, the bytes of weights that it asks for at once, and programs a multiprocessor: one of two
# multiplies while the other waits.
WARPS, TILE, PROGRAMS = 8, 32768, 2
# The same of experts, whose matrices are small.
EXPERT_WARPS, EXPERT_TILE, EXPERT_PROGRAMS = 4, 8192, 4


@triton.jit
def follow(EARLY: tl.constexpr):
    """Wait for the kernel before this one, whose results are read from here on. Only then may the next one
    begin, so that what it reads before its own `follow` is of kernels that have ended."""
    if EARLY:
        gdc_wait()
        gdc_launch_dependents()


def early(x: Tensor) -> dict[str, bool]:
    """How to launch a kernel with `follow`: where the GPU of x can do so, while the one before ends."""
    can = x.device.type == "cuda" and torch.version.hip is None and gdc_wait is not None
    can = can and torch.cuda.get_device_capability(x.device) >= (9, 0)
    return {"EARLY": True, "launch_pdl": True} if can else {"EARLY": False}


@triton.jit
def _e4m3(words, i: tl.constexpr):
    """Byte `i` of each word as fp32, times 2^-120: sign, exponent and mantissa to where fp32 has them; an
    arithmetic shift keeps the sign."""
    return (((words << (24 - 8 * i)) >> 4) & -2014314496).to(tl.float32, bitcast=True)  # 0x87F00000


@triton.jit
def _dot4(a, b, total, PLAIN: tl.constexpr):
    """Sums of four products of signed bytes, added to `total`; PLAIN where there is no instruction for it."""
    if PLAIN:
        dot = total + ((a << 24) >> 24) * ((b << 24) >> 24) + ((a << 16) >> 24) * ((b << 16) >> 24)
        dot += ((a << 8) >> 24) * ((b << 8) >> 24) + (a >> 24) * (b >> 24)
    else:
        dot = tl.inline_asm_elementwise(
            "dp4a.s32.s32 $0, $1, $2, $3;", "=r,r,r,r", [a, b, total], dtype=tl.int32, is_pure=True, pack=1
        )
    return dot


@triton.jit
def _bytes(a, b, c, d):
    return (a & 255) | (b & 255) << 8 | (c & 255) << 16 | d << 24


@triton.jit
def _input(x, norm, word, i, K: tl.constexpr, KIND: tl.constexpr, NORM: tl.constexpr):
    """The inputs that byte `i` of each word is multiplied by, times the norm's weights."""
    inside, at = word < (K // 4 if KIND < 3 else K // 8), _place(word, i, KIND)
    a = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    return a * tl.load(norm + at, mask=inside, other=0.0).to(tl.float32) if NORM else a


@triton.jit
def _four_inputs(x, norm, word, i: tl.constexpr, K: tl.constexpr, KIND: tl.constexpr, NORM: tl.constexpr):
    a, b = _input(x, norm, word, i, K, KIND, NORM), _input(x, norm, word, i + 1, K, KIND, NORM)
    return a, b, _input(x, norm, word, i + 2, K, KIND, NORM), _input(x, norm, word, i + 3, K, KIND, NORM)


@triton.jit
def _most(a, b, c, d):
    return tl.maximum(tl.maximum(tl.abs(a), tl.abs(b)), tl.maximum(tl.abs(c), tl.abs(d)))


@triton.jit
def _nearest(a):
    """The integer nearest to a, below 2^22: beside 1.5 x 2^23 a float's last bit is one. A GPU converts at a
    quarter of the rate of sums."""
    return (a + 12582912.0).to(tl.int32, bitcast=True) - 0x4B400000


@triton.jit
def _digits(a, b, c, d, inverse):
    """Upper and lower bytes of four inputs in 16 bits, and their sum."""
    a, b, c, d = _nearest(a * inverse), _nearest(b * inverse), _nearest(c * inverse), _nearest(d * inverse)
    # A lower byte is signed, too: the upper one is rounded to the nearest.
    high = _bytes((a + 128) >> 8, (b + 128) >> 8, (c + 128) >> 8, (d + 128) >> 8)
    return high, _bytes(a, b, c, d), a + b + c + d


@triton.jit
def _four(words, i: tl.constexpr, KIND: tl.constexpr, PLAIN: tl.constexpr):
    """Half `i` of each word's eight weights as four bytes: 0 to 15, or 12 + twice an E2M1 value, whose codes
    count from -6 to 6 (`models.quantized`)."""
    if KIND == 3:
        nibble = (words >> (4 * i)) & 0x0F0F0F0F
    elif PLAIN:
        nibble = tl.zeros_like(words)
        for j in tl.static_range(4):
            code = ((words >> (16 * i + 4 * j)) & 15) - 7
            size = tl.where(code < 0, -code, code)
            size = tl.where(size < 5, size, tl.where(size == 5, 6, tl.where(size == 6, 8, 12)))
            nibble |= (12 + tl.where(code < 0, -size, size)) << (8 * j)
    else:
        # Bytes chosen by nibbles, of eight: a nibble from 8 on gives the byte's sign, which is zero.
        nibble = tl.inline_asm_elementwise(
            "{ .reg .b32 a, b; prmt.b32 a, 0x08060400, 0x0C0B0A09, $1; xor.b32 b, $1, 0x8888;"
            " prmt.b32 b, 0x100F0E0D, 0x00181412, b; or.b32 $0, a, b; }",
            "=r,r", [words >> (16 * i)], dtype=tl.int32, is_pure=True, pack=1,
        )  # fmt: skip
    return nibble


@triton.jit
def _place(word, i, KIND: tl.constexpr):
    """Input that the `i`-th byte of a word's weights, in the order of `_four`, is multiplied by."""
    if KIND == 1 or KIND == 2:
        return word * 4 + i
    if KIND == 3:
        return word // 16 * 128 + (i % 4 * 2 + i // 4) * 16 + word % 16
    if KIND == 4:
        return word // 4 * 32 + word % 4 * 4 + i // 2 + i % 2 * 16
    return word // 2 * 16 + word % 2 * 4 + i // 2 + i % 2 * 8


@triton.jit
def _fetch(
    w, scale, zero, out, end,
    n: tl.constexpr, K: tl.constexpr, KIND: tl.constexpr, GATED: tl.constexpr, SPAN: tl.constexpr,
    STEP: tl.constexpr,
):  # fmt: skip
    """Weights, scales and zero points of the rows from `out` on."""
    WIDTH: tl.constexpr = K if KIND == 0 else (K // 4 if KIND < 3 else K // 8)
    line, at = tl.arange(0, SPAN), tl.arange(0, STEP)
    # With a gate every output has two rows of weights, n apart in memory: the second ones stand below the
    # first ones here, where one thread sums both.
    row = out + (line % (SPAN // 2) if GATED else line)
    there = row < end
    row = (row + (line // (SPAN // 2)) * n if GATED else row).to(tl.int64)
    mask = there[:, None] & (at < WIDTH)[None, :]
    q = tl.load(w + row[:, None] * WIDTH + at[None, :], mask=mask, other=0, eviction_policy="evict_first")
    size, level = line, line
    if KIND == 1 or KIND == 2:
        size = tl.load(scale + row, mask=there, other=0.0)
    elif KIND > 2:
        CHUNK: tl.constexpr = 2 if KIND == 5 else 4
        GROUPS: tl.constexpr = K // 128 if KIND == 3 else (K // 32 if KIND == 4 else K // 16)
        group = tl.arange(0, STEP // CHUNK)
        group = group // 4 if KIND == 3 else group
        place = row[:, None] * GROUPS + group[None, :]
        mask = there[:, None] & (group < GROUPS)[None, :]
        size = tl.load(scale + place, mask=mask, other=0)
        if KIND == 3:
            level = tl.load(zero + place, mask=mask, other=0)
    return q, size, level


@triton.jit
def _product(
    q, size, level, x, norm, w, scale, zero, residual, y, eps,
    n: tl.constexpr, K: tl.constexpr, KIND: tl.constexpr, GATED: tl.constexpr, NORM: tl.constexpr,
    ADD: tl.constexpr, SPAN: tl.constexpr, STEP: tl.constexpr, PROGRAMS: tl.constexpr, PLAIN: tl.constexpr,
):  # fmt: skip
    """This program's rows of norm(x) times the transpose of the weights, plus the residual: x (K), y (n).
    The first tile has been fetched."""
    OUTS: tl.constexpr = SPAN // 2 if GATED else SPAN
    PER: tl.constexpr = 1 if KIND == 0 else (4 if KIND < 3 else 8)
    CHUNK: tl.constexpr = 2 if KIND == 5 else 4
    first, end = tl.program_id(0) * n // PROGRAMS, (tl.program_id(0) + 1) * n // PROGRAMS
    root = 1.0
    if NORM:
        every = tl.arange(0, STEP * PER)
        plain = tl.load(x + every, mask=every < K, other=0.0).to(tl.float32)
        root = tl.rsqrt(tl.sum(plain * plain, 0) / K + eps)
    word = tl.arange(0, STEP)
    if KIND == 0:
        a0 = tl.load(x + word, mask=word < K, other=0.0).to(tl.float32)
        if NORM:
            a0 *= tl.load(norm + word, mask=word < K, other=0.0).to(tl.float32)
    else:
        a0, a1, a2, a3 = _four_inputs(x, norm, word, 0, K, KIND, NORM)
        most = _most(a0, a1, a2, a3)
    if KIND == 2:
        a0, a1 = a0 * 1152921504606846976.0, a1 * 1152921504606846976.0  # 2^60
        a2, a3 = a2 * 1152921504606846976.0, a3 * 1152921504606846976.0
    elif KIND == 1:
        unit = tl.maximum(most / 32512.0, 1e-30)
        a0, a2, _ = _digits(a0, a1, a2, a3, 1.0 / unit)
    elif KIND > 2:
        b0, b1, b2, b3 = _four_inputs(x, norm, word, 4, K, KIND, NORM)
        most = tl.maximum(most, _most(b0, b1, b2, b3))
        # One unit for the words of a group, whose sums of products are added as integers.
        unit = tl.maximum(tl.max(tl.reshape(most, (STEP // CHUNK, CHUNK)), 1) / 32512.0, 1e-30)
        inverse = tl.reshape(tl.broadcast_to((1.0 / unit)[:, None], (STEP // CHUNK, CHUNK)), (STEP,))
        a0, a2, known = _digits(a0, a1, a2, a3, inverse)
        a1, a3, more = _digits(b0, b1, b2, b3, inverse)
        known = tl.sum(tl.reshape(known + more, (STEP // CHUNK, CHUNK)), 1).to(tl.float32) * unit
        if KIND != 3:
            # Levels go up to six, which is twelve here.
            root *= tl.load(zero + 14) / 12.0
    for turn in range((n // PROGRAMS + OUTS) // OUTS):
        out = first + turn * OUTS
        q_next, size_next, level_next = _fetch(w, scale, zero, out + OUTS, end, n, K, KIND, GATED, SPAN, STEP)
        row = out + tl.arange(0, OUTS)
        if ADD:
            added = tl.load(residual + row, mask=row < end, other=0.0).to(tl.float32)
        # Nothing is multiplied before these are asked for: else the compiler moves the loads to the end,
        # where their registers are free. In a branch, which keeps them as well, the input, which no loop
        # changes, would be laid out anew for each tile.
        tl.debug_barrier()
        if KIND == 0:
            total = tl.sum(q.to(tl.float32) * a0[None, :], 1)
        elif KIND == 1:
            sums = _dot4(q, a2[None, :], _dot4(q, a0[None, :], tl.zeros_like(q), PLAIN) << 8, PLAIN)
            total = tl.sum(sums.to(tl.float32) * unit[None, :], 1) * size
        elif KIND == 2:
            product = _e4m3(q, 0) * a0[None, :] + _e4m3(q, 1) * a1[None, :]
            product += _e4m3(q, 2) * a2[None, :] + _e4m3(q, 3) * a3[None, :]
            total = tl.sum(product, 1) * (size * 1152921504606846976.0)
        else:
            left, right = _four(q, 0, KIND, PLAIN), _four(q, 1, KIND, PLAIN)
            sums = _dot4(left, a0[None, :], _dot4(right, a1[None, :], tl.zeros_like(q), PLAIN), PLAIN)
            sums = _dot4(left, a2[None, :], _dot4(right, a3[None, :], sums << 8, PLAIN), PLAIN)
            parts = tl.sum(tl.reshape(sums, (SPAN, STEP // CHUNK, CHUNK)), 2).to(tl.float32) * unit[None, :]
            if KIND == 3:
                parts = (parts - level.to(tl.float32) * known[None, :]) * size.to(tl.float32)
            elif KIND == 4:
                wide = (size.to(tl.int32) << 23).to(tl.float32, bitcast=True)  # 2^(size - 127)
                parts = (parts - 12.0 * known[None, :]) * wide
            else:
                wide = _e4m3(size.to(tl.int32), 0) * 1152921504606846976.0  # e4m3
                parts = (parts - 12.0 * known[None, :]) * (wide * 1152921504606846976.0)
            total = tl.sum(parts, 1)
        total *= root
        if GATED:
            gate, up = tl.split(tl.trans(tl.reshape(total, (2, OUTS))))
            total = gate / (1.0 + tl.exp(-gate)) * up
        if ADD:
            total += added
        tl.store(y + row, total.to(y.dtype.element_ty), mask=row < end)
        q, size, level = q_next, size_next, level_next


@triton.jit
def _stream(
    x, w, scale, zero, norm, residual, y, whose, eps,
    n: tl.constexpr, K: tl.constexpr, KIND: tl.constexpr, GATED: tl.constexpr, NORM: tl.constexpr,
    ADD: tl.constexpr, SPAN: tl.constexpr, STEP: tl.constexpr, PROGRAMS: tl.constexpr, PLAIN: tl.constexpr,
    EXPERTS: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    if EXPERTS:
        # From here on this row, and the matrix of its expert, are all there is.
        row = tl.program_id(1).to(tl.int64)
        before = tl.load(whose + row).to(tl.int64) * n
        x, y = x + row * K, y + row * n
        w += before * (K // 4 if KIND < 3 else K // 8)
        if KIND < 3:
            scale += before
        elif KIND == 3:
            scale, zero = scale + before * (K // 128), zero + before * (K // 128)
        else:
            scale += before * (K // 32 if KIND == 4 else K // 16)
    first, end = tl.program_id(0) * n // PROGRAMS, (tl.program_id(0) + 1) * n // PROGRAMS
    # Weights are on their way while the kernel before ends.
    q, size, level = _fetch(w, scale, zero, first, end, n, K, KIND, GATED, SPAN, STEP)
    follow(EARLY)
    _product(
        q, size, level, x, norm, w, scale, zero, residual, y, eps,
        n, K, KIND, GATED, NORM, ADD, SPAN, STEP, PROGRAMS, PLAIN,
    )  # fmt: skip


def stream(
    x: Tensor, weight: Tensor, scale: Tensor | None, zero: Tensor | None, kind: Precision | None,
    norm: Tensor | None, eps: float, residual: Tensor | None, y: Tensor, *, gated: bool,
    whose: Tensor | None = None,
) -> None:  # fmt: skip
    """`kernels.decode.product` of one row into y, or with `whose` (M) that of M rows with narrow weights
    (E, N, K), each with those of its expert."""
    code = 0 if kind is None else KINDS[kind]
    (rows, width), n = x.shape, y.shape[1]
    per, itemsize = (1, 2) if code == 0 else (4 if code < 3 else 8, 4)
    gpu = x.device.type == "cuda"
    # Three in Triton's interpreter, so that its tests see ranges that begin and end within a tile.
    count = torch.cuda.get_device_properties(x.device).multi_processor_count if gpu else 3
    warps, tile, how = WARPS, TILE, early(x)
    if whose is not None:
        # The router may be the kernel before.
        warps, tile, how = EXPERT_WARPS, EXPERT_TILE, {"EARLY": False}
        count = max(1, EXPERT_PROGRAMS * count // rows)
    elif gpu:
        count *= PROGRAMS
    step = triton.next_power_of_2(width // per)
    if code:
        weight = weight.view(torch.int32)
    if scale is not None and scale.dtype == torch.float8_e4m3fn:
        scale = scale.view(torch.uint8)
    plain = not gpu or torch.version.hip is not None
    # Of all programs of a multiprocessor together its 65,536.
    registers: dict[str, int] = {} if plain else {"maxnreg": 128}
    _stream[(count, rows)](
        x, weight, weight if scale is None else scale, weight if zero is None else zero,
        x if norm is None else norm, x if residual is None else residual, y,
        x if whose is None else whose, eps,
        n=n, K=width, KIND=code, GATED=gated, NORM=norm is not None, ADD=residual is not None,
        SPAN=max(1 + gated, tile // (step * itemsize)), STEP=step, PROGRAMS=count, PLAIN=plain,
        EXPERTS=whose is not None, num_warps=warps, num_stages=1, **registers, **how,
    )  # fmt: skip
