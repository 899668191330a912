"""Channels-last images in Triton: max pooling, and batch norms in training.

Max pooling: what torch.compile makes of the backward pass looks, for every pixel, into every window that may
hold it: on an H200, 6.5 ms of a 135 ms step of ResNet-50 (batch 1,024, fp16) for 2.5 GB that the memory moves
in 0.6 ms. Here a program owns a cell of stride x stride pixels and reads each window that touches it once.
The forward pass stores which pixel of its window was the largest, the first among equals, as torch does; the
gradient goes to that pixel, summed in fp32 where windows overlap.

Batch norms, with the shortcut and the ReLU behind them:

    z = relu(norm(x) + shortcut), the shortcut an activation or a convolution's result with a norm of its own

torch.compile reads z for the ReLU's mask where its sign follows from x, adds the gradients that reach a
block's output up to three times, and writes some of them in 32 bits: on an H200, norms were 145 ms of a 253
ms step of ResNet-50 (batch 2,048, fp16) and are 105 here, where the memory needs 98. z is handed on twice,
for the next convolution and the next shortcut, so that both gradients arrive here; the pass that sums over
pixels writes their sum once, in 16 bits, and behind a shortcut the mask is a bit a value.
"""

from __future__ import annotations

import os
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

# A cell has at most four pixels, and a place in a window is stored in one byte.
MOST_STRIDE, MOST_KERNEL = 2, 11
# Values that one program of a pooling handles.
ELEMENTS = 1024
# Of the kernels of norms: channels and values of a tile, warps, and programs, which walk over pixels.
BLOCKS = {
    "sums": (128, 4096, 8, 528), "apply": (256, 4096, 4, 528), "alone": (64, 4096, 4, 528),
    "gather": (128, 2048, 4, 528), "pull": (128, 4096, 8, 2112),
}  # fmt: skip
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


@triton.jit
def _max_pool_forward(
    x, y, place, cells, c, h, w, oh, ow,
    K: tl.constexpr, S: tl.constexpr, P: tl.constexpr, CELLS: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    cell = tl.program_id(0) * CELLS + tl.arange(0, CELLS)
    channel = tl.program_id(1) * C + tl.arange(0, C)
    column, row, image = cell % ow, (cell // ow) % oh, cell // (ow * oh)
    mask = (cell < cells)[:, None] & (channel < c)[None, :]
    best = tl.full((CELLS, C), float("-inf"), tl.float32)
    places = tl.zeros((CELLS, C), tl.int32)
    for k in tl.static_range(K * K):
        i, j = row * S - P + k // K, column * S - P + k % K
        inside = (i >= 0) & (i < h) & (j >= 0) & (j < w)
        at = ((image * h + i) * w + j).to(tl.int64)[:, None] * c + channel[None, :]
        value = tl.load(x + at, mask=mask & inside[:, None], other=float("-inf")).to(tl.float32)
        larger = (value > best) | (value != value)  # a NaN wins, as in torch
        best = tl.where(larger, value, best)
        places = tl.where(larger, k, places)
    at = cell.to(tl.int64)[:, None] * c + channel[None, :]
    tl.store(y + at, best.to(y.dtype.element_ty), mask=mask)
    tl.store(place + at, places.to(tl.int8), mask=mask)


@triton.jit
def _share(total, g, places, R: tl.constexpr, Q: tl.constexpr, K: tl.constexpr):
    """`total` and, where the window's largest pixel is the one in row R and column Q of it, `g`."""
    if (R >= 0) and (R < K) and (Q >= 0) and (Q < K):
        total += tl.where(places == R * K + Q, g, 0.0)
    return total


@triton.jit
def _put(dx, total, image, i, j, h, w, c, channel, mask):
    inside = (i < h) & (j < w)
    at = ((image * h + i) * w + j).to(tl.int64)[:, None] * c + channel[None, :]
    tl.store(dx + at, total.to(dx.dtype.element_ty), mask=mask & inside[:, None])


@triton.jit
def _max_pool_backward(
    dy, place, dx, cells, c, h, w, oh, ow, rows, columns,
    K: tl.constexpr, S: tl.constexpr, P: tl.constexpr, FIRST: tl.constexpr, SPAN: tl.constexpr,
    CELLS: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    cell = tl.program_id(0) * CELLS + tl.arange(0, CELLS)
    channel = tl.program_id(1) * C + tl.arange(0, C)
    column, row, image = cell % columns, (cell // columns) % rows, cell // (columns * rows)
    there = (cell < cells)[:, None] & (channel < c)[None, :]
    a = tl.zeros((CELLS, C), tl.float32)
    # One program owns its pixels, so no two add to the same one and there are no atomics.
    b, d, e = a, a, a  # the cell's pixels: a b / d e
    for k in tl.static_range(SPAN * SPAN):
        i, j = row + FIRST + k // SPAN, column + FIRST + k % SPAN
        inside = (i >= 0) & (i < oh) & (j >= 0) & (j < ow)
        at = ((image * oh + i) * ow + j).to(tl.int64)[:, None] * c + channel[None, :]
        mask = there & inside[:, None]
        g = tl.load(dy + at, mask=mask, other=0.0).to(tl.float32)
        places = tl.load(place + at, mask=mask, other=-1).to(tl.int32)
        a = _share(a, g, places, P - S * (FIRST + k // SPAN), P - S * (FIRST + k % SPAN), K)
        if S == 2:
            b = _share(b, g, places, P - S * (FIRST + k // SPAN), P - S * (FIRST + k % SPAN) + 1, K)
            d = _share(d, g, places, P - S * (FIRST + k // SPAN) + 1, P - S * (FIRST + k % SPAN), K)
            e = _share(e, g, places, P - S * (FIRST + k // SPAN) + 1, P - S * (FIRST + k % SPAN) + 1, K)
    _put(dx, a, image, row * S, column * S, h, w, c, channel, there)
    if S == 2:
        _put(dx, b, image, row * S, column * S + 1, h, w, c, channel, there)
        _put(dx, d, image, row * S + 1, column * S, h, w, c, channel, there)
        _put(dx, e, image, row * S + 1, column * S + 1, h, w, c, channel, there)


def _tile(channels: int) -> tuple[int, int]:
    """(cells, channels) of one program."""
    wide = min(128, triton.next_power_of_2(channels))
    return ELEMENTS // wide, wide


def _last(x: Tensor) -> Tensor:
    return x.contiguous(memory_format=torch.channels_last)


def _empty(like: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    return torch.empty(shape, dtype=dtype, device=like.device, memory_format=torch.channels_last)


def _pooled(x: Tensor, high: int, wide: int) -> tuple[Tensor, Tensor]:
    shape = (*x.shape[:2], high, wide)
    return _empty(x, shape, x.dtype), _empty(x, shape, torch.int8)


@torch.library.custom_op("gpuwise::max_pool", mutates_args=())
def max_pool(
    x: Tensor, kernel: int, stride: int, padding: int, high: int, wide: int
) -> tuple[Tensor, Tensor]:
    """(B, C, H, W) -> largest values and their places in their windows, (B, C, high, wide) each."""
    x = _last(x)
    batch, channels, h, w = x.shape
    y, place = _pooled(x, high, wide)
    cells, (many, across) = batch * high * wide, _tile(channels)
    grid = (triton.cdiv(cells, many), triton.cdiv(channels, across))
    _max_pool_forward[grid](
        x, y, place, cells, channels, h, w, high, wide, K=kernel, S=stride, P=padding, CELLS=many, C=across
    )
    return y, place


@torch.library.custom_op("gpuwise::max_pool_backward", mutates_args=())
def max_pool_backward(
    dy: Tensor, place: Tensor, h: int, w: int, kernel: int, stride: int, padding: int
) -> Tensor:
    """The gradient of the input, (B, C, h, w)."""
    dy, place = _last(dy), _last(place)
    batch, channels, high, wide = dy.shape
    dx = _empty(dy, (batch, channels, h, w), dy.dtype)
    # Cells, not windows: every pixel belongs to one cell, whether a window covers it or not.
    rows, columns = -(-h // stride), -(-w // stride)
    first, last = -((kernel - 1 - padding) // stride), (stride - 1 + padding) // stride
    cells, (many, across) = batch * rows * columns, _tile(channels)
    grid = (triton.cdiv(cells, many), triton.cdiv(channels, across))
    _max_pool_backward[grid](
        dy, place, dx, cells, channels, h, w, high, wide, rows, columns,
        K=kernel, S=stride, P=padding, FIRST=first, SPAN=last - first + 1, CELLS=many, C=across,
    )  # fmt: skip
    return dx


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    x, kernel, stride, padding, _, _ = inputs
    ctx.save_for_backward(output[1])
    ctx.geometry = (x.shape[2], x.shape[3], kernel, stride, padding)


def _pull(ctx: Any, dy: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    (place,) = ctx.saved_tensors
    return max_pool_backward(dy, place, *ctx.geometry), None, None, None, None, None


max_pool.register_fake(lambda x, kernel, stride, padding, high, wide: _pooled(x, high, wide))
max_pool_backward.register_fake(lambda dy, place, h, w, *_: _empty(dy, (*dy.shape[:2], h, w), dy.dtype))
max_pool.register_autograd(_pull, setup_context=_keep)


class TritonMaxPool(nn.Module):
    """In place of `nn.MaxPool2d` with a square window."""

    def __init__(self, pool: nn.MaxPool2d) -> None:
        super().__init__()
        self.kernel, self.stride, self.padding = int(pool.kernel_size), int(pool.stride), int(pool.padding)  # type: ignore[arg-type]
        self.ceil = pool.ceil_mode

    def out(self, side: int) -> int:
        """Windows along a side; with `ceil` the last may reach beyond it, but must begin within."""
        room = side + 2 * self.padding - self.kernel
        if not self.ceil:
            return room // self.stride + 1
        count = -(-room // self.stride) + 1
        return count - ((count - 1) * self.stride >= side + self.padding)

    def forward(self, x: Tensor) -> Tensor:  # (B, C, H, W) -> (B, C, out(H), out(W))
        high, wide = self.out(x.shape[2]), self.out(x.shape[3])
        y: Tensor = max_pool(x, self.kernel, self.stride, self.padding, high, wide)[0]
        return y


def arrange_pooling(model: nn.Module) -> None:
    """Put these in place of all max poolings of a model that they can do, in place."""
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.MaxPool2d) and module.dilation == 1 and not module.return_indices:
            kernel, stride, padding = module.kernel_size, module.stride, module.padding
            square = isinstance(kernel, int) and isinstance(stride, int) and isinstance(padding, int)
            if square and stride <= MOST_STRIDE and kernel <= MOST_KERNEL:  # type: ignore[operator]
                model.set_submodule(name, TritonMaxPool(module))


@triton.jit
def _spot(turn, m, c, R: tl.constexpr, G: tl.constexpr):
    """Where the values of a program's tile lie, (G, R, 8), and which are there.

    In this order neighbouring threads take neighbouring channels: Triton 3.6 puts them along the first of
    two dimensions neither of which is contiguous by itself.
    """
    row = (turn * tl.num_programs(0) + tl.program_id(0)) * R + tl.arange(0, R)
    column = _columns(G)
    mask = (row < m)[None, :, None] & (column < c)[:, None]
    return row.to(tl.int64)[None, :, None] * c + column[:, None], mask


@triton.jit
def _columns(G: tl.constexpr):
    """The channels of a program, (G, 8)."""
    return (tl.program_id(1) * G + tl.arange(0, G))[:, None] * 8 + tl.arange(0, 8)[None, :]


@triton.jit
def _bits(turn, m, c, R: tl.constexpr, G: tl.constexpr):
    """The same of bytes that have a bit for each value of the tile, (G, R)."""
    row = (turn * tl.num_programs(0) + tl.program_id(0)) * R + tl.arange(0, R)
    wide, group = (c + 7) // 8, tl.program_id(1) * G + tl.arange(0, G)
    return row.to(tl.int64)[None, :] * wide + group[:, None], (row < m)[None, :] & (group < wide)[:, None]


@triton.jit
def _row(table, index, c, G: tl.constexpr):
    """(G, 1, 8) values of that row of a table of channels."""
    column = _columns(G)
    return tl.load(table + index * c + column, mask=column < c, other=0.0).to(tl.float32)[:, None]


@triton.jit
def _sum(sums, index, count, value, c, G: tl.constexpr):
    """Store what a program has summed, the index-th of so many sums."""
    column = _columns(G)
    at = (tl.program_id(0).to(tl.int64) * count + index) * c + column
    tl.store(sums + at, tl.sum(value, 1), mask=column < c)


@triton.jit
def _norm_sums(x, sums, m, c, turns, R: tl.constexpr, G: tl.constexpr):
    # Of differences from the first pixel: squares less the square of the mean would cancel otherwise.
    pivot = _row(x, 0, c, G)
    total = tl.zeros((G, R, 8), tl.float32)
    square = total
    for turn in range(turns):
        # Backwards, since the L2 still holds the end of what was written last.
        at, mask = _spot(turns - 1 - turn, m, c, R, G)
        value = tl.where(mask, tl.load(x + at, mask=mask, other=0.0).to(tl.float32) - pivot, 0.0)
        total += value
        square += value * value
    _sum(sums, 0, 2, total, c, G)
    _sum(sums, 1, 2, square, c, G)


@triton.jit
def _norm_apply(x, short, z, kept, table, m, c, turns, JOIN: tl.constexpr, R: tl.constexpr, G: tl.constexpr):
    scale, shift = _row(table, 0, c, G), _row(table, 1, c, G)
    if JOIN == 2:
        stretch = _row(table, 2, c, G)
    for turn in range(turns):
        at, mask = _spot(turn, m, c, R, G)
        value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32) * scale + shift
        if JOIN == 1:
            value += tl.load(short + at, mask=mask, other=0.0).to(tl.float32)
        if JOIN == 2:
            value += tl.load(short + at, mask=mask, other=0.0).to(tl.float32) * stretch
        narrow = tl.where(value < 0, 0.0, value).to(z.dtype.element_ty)  # a NaN stays one, as in torch
        tl.store(z + at, narrow, mask=mask)
        if JOIN > 0:
            place, there = _bits(turn, m, c, R, G)
            bits = (narrow > 0).to(tl.int32) << tl.arange(0, 8)[None, None, :]
            tl.store(kept + place, tl.sum(bits, 2).to(tl.uint8), mask=there)


@triton.jit
def _norm_gather(
    first, second, kept, x, short, table, g, sums, m, c, turns,
    JOIN: tl.constexpr, R: tl.constexpr, G: tl.constexpr,
):  # fmt: skip
    """The gradient behind the ReLU, and its sums: alone, and times x and the shortcut less their means."""
    mean = _row(table, 0, c, G)
    total = tl.zeros((G, R, 8), tl.float32)
    along = total
    if JOIN == 0:
        scale, shift = _row(table, 1, c, G), _row(table, 2, c, G)
    if JOIN == 2:
        middle = _row(table, 1, c, G)
        beside = total
    for turn in range(turns):
        at, mask = _spot(turns - 1 - turn, m, c, R, G)
        d = tl.load(first + at, mask=mask, other=0.0).to(tl.float32)
        value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
        if JOIN == 0:
            d = tl.where(value * scale + shift > 0, d, 0.0)
        else:
            d += tl.load(second + at, mask=mask, other=0.0).to(tl.float32)
            place, there = _bits(turns - 1 - turn, m, c, R, G)
            bits = tl.load(kept + place, mask=there, other=0).to(tl.int32)[:, :, None]
            d = tl.where((bits >> tl.arange(0, 8)[None, None, :]) & 1 != 0, d, 0.0)
            narrow = d.to(g.dtype.element_ty)
            tl.store(g + at, narrow, mask=mask)
            d = narrow.to(tl.float32)
        total += d
        along += d * (value - mean)
        if JOIN == 2:
            beside += d * (tl.load(short + at, mask=mask, other=0.0).to(tl.float32) - middle)
    count: tl.constexpr = 3 if JOIN == 2 else 2
    _sum(sums, 0, count, total, c, G)
    _sum(sums, 1, count, along, c, G)
    if JOIN == 2:
        _sum(sums, 2, count, beside, c, G)


@triton.jit
def _norm_pull(g, x, table, dx, m, c, turns, CUT: tl.constexpr, R: tl.constexpr, G: tl.constexpr):
    """The gradient of x; CUT: g is that of z."""
    a, b, e = _row(table, 0, c, G), _row(table, 1, c, G), _row(table, 2, c, G)
    if CUT:
        scale, shift = _row(table, 3, c, G), _row(table, 4, c, G)
    for turn in range(turns):
        at, mask = _spot(turn, m, c, R, G)
        d = tl.load(g + at, mask=mask, other=0.0).to(tl.float32)
        value = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
        if CUT:
            d = tl.where(value * scale + shift > 0, d, 0.0)
        tl.store(dx + at, (d * a + value * b + e).to(dx.dtype.element_ty), mask=mask)


def _plan(
    kind: str, x: Tensor, count: int = 0
) -> tuple[tuple[int, int], Tensor, tuple[Any, ...], dict[str, int]]:
    """Of a kernel over x (B, C, H, W): grid, room for so many sums a program, last arguments, constants."""
    (wide, values, warps, programs), c = BLOCKS[kind], x.shape[1]
    wide, m = min(wide, max(8, triton.next_power_of_2(c))), x.numel() // c
    across, blocks = triton.cdiv(c, wide), triton.cdiv(m, values // wide)
    lanes = min(blocks, max(1, programs // across))
    turns = triton.cdiv(blocks, lanes)
    sums = x.new_empty((lanes, count, c), dtype=torch.float32)
    # Triton's interpreter makes tensors of numbers, and cannot count to a tensor.
    ends = (m, c, tl.constexpr(turns) if INTERPRETED else turns)
    return (lanes, across), sums, ends, {"R": values // wide, "G": wide // 8, "num_warps": warps}


@torch.library.custom_op("gpuwise::norm_sums", mutates_args=())
def norm_sums(x: Tensor) -> Tensor:
    """(B, C, H, W) -> (2, C): of x less its first pixel, and of the squares."""
    grid, sums, ends, constants = _plan("sums", x, 2)
    _norm_sums[grid](x, sums, *ends, **constants)
    return sums.sum(0)


@torch.library.custom_op("gpuwise::norm_apply", mutates_args=())
def norm_apply(x: Tensor, short: Tensor | None, table: Tensor) -> tuple[Tensor, Tensor]:
    """relu(x scale + shift + shortcut stretch), rows of the table, without a third stretch is 1; and behind a
    shortcut a bit for each value, whether it is above zero."""
    (grid, _, ends, constants), (z, kept) = _plan("apply", x), _applied(x, short)
    join, other = (0, x) if short is None else (len(table) - 1, short)
    _norm_apply[grid](x, other, z, kept, table, *ends, JOIN=join, **constants)
    return z, kept


@torch.library.custom_op("gpuwise::norm_gather", mutates_args=())
def norm_gather(
    first: Tensor, second: Tensor | None, kept: Tensor, x: Tensor, short: Tensor | None, table: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradient behind the ReLU and its sums (2 or 3, C); without a shortcut, only its sums."""
    join = 0 if second is None else 1 if short is None else 2
    grid, sums, ends, constants = _plan("gather" if join else "alone", x, max(2, join + 1))
    g, _ = _gathered(first, second, kept, x, short)
    beside = (x if second is None else second, kept, x, x if short is None else short)
    _norm_gather[grid](first, *beside, table, g, sums, *ends, JOIN=join, **constants)
    return g, sums.sum(0)


@torch.library.custom_op("gpuwise::norm_pull", mutates_args=())
def norm_pull(g: Tensor, x: Tensor, table: Tensor) -> Tensor:
    """g a + x b + e, the first rows of the table; two more are the scale and shift whose sign cuts g."""
    (grid, _, ends, constants), dx = _plan("pull", x), torch.empty_like(x)
    _norm_pull[grid](g, x, table, dx, *ends, CUT=len(table) > 3, **constants)
    return dx


def _applied(x: Tensor, short: Tensor | None, *_: object) -> tuple[Tensor, Tensor]:
    wide = 0 if short is None else -(-x.shape[1] // 8)
    return torch.empty_like(x), x.new_empty((x.numel() // x.shape[1], wide), dtype=torch.uint8)


def _gathered(
    first: Tensor, second: Tensor | None, kept: Tensor, x: Tensor, short: Tensor | None, *_: object
) -> tuple[Tensor, Tensor]:
    g = x.new_empty(0) if second is None else torch.empty_like(x)
    return g, x.new_empty((2 if short is None else 3, x.shape[1]), dtype=torch.float32)


norm_sums.register_fake(lambda x: x.new_empty((2, x.shape[1]), dtype=torch.float32))
norm_apply.register_fake(_applied)
norm_gather.register_fake(_gathered)
norm_pull.register_fake(lambda g, x, table: torch.empty_like(x))


def _pulled(g: Tensor, x: Tensor, weight: Tensor, mean: Tensor, inverse: Tensor, *rows: Tensor) -> Tensor:
    """The gradient of a norm's input: what is along the mean and along the normalised x drops out of g."""
    (total, along, *cut), a, n = rows, weight * inverse, x.numel() // x.shape[1]
    b = -a * inverse * inverse * along / n
    return norm_pull(g, x, torch.stack((a, b, -a * total / n - b * mean, *cut)))


class _NormRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, inverse: Tensor) -> Tensor:
        x, scale = _last(x), weight * inverse
        table = torch.stack((scale, bias - mean * scale))
        z, kept = norm_apply(x, None, table)
        ctx.save_for_backward(x, weight, mean, inverse, table, kept)
        return z

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor | None, ...]:
        x, weight, mean, inverse, table, kept = ctx.saved_tensors
        d = _last(above[0])
        total, along = norm_gather(d, None, kept, x, None, torch.cat((mean[None], table)))[1].unbind(0)
        dx = _pulled(d, x, weight, mean, inverse, total, along, *table.unbind(0))
        return dx, along * inverse, total, None, None


class _NormJoin(torch.autograd.Function):
    """The last four are of the shortcut's norm, or None."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, inverse: Tensor, short: Tensor,
        heft: Tensor | None, level: Tensor | None, middle: Tensor | None, other: Tensor | None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        x, short, scale = _last(x), _last(short), weight * inverse
        rows = [scale, bias - mean * scale]
        if heft is not None and level is not None and middle is not None and other is not None:
            stretch = heft * other
            rows = [scale, rows[1] + level - middle * stretch, stretch]
        z, kept = norm_apply(x, short, torch.stack(rows))
        ctx.save_for_backward(
            x, weight, mean, inverse, None if heft is None else short, heft, middle, other, kept
        )
        return z, z.view_as(z)

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor | None, ...]:
        x, weight, mean, inverse, short, heft, middle, other, kept = ctx.saved_tensors
        centres = torch.stack([mean] if short is None else [mean, middle])
        g, sums = norm_gather(_last(above[0]), _last(above[1]), kept, x, short, centres)
        dx = _pulled(g, x, weight, mean, inverse, sums[0], sums[1])
        mine = dx, sums[1] * inverse, sums[0], None, None
        if short is None:
            return *mine, g, None, None, None, None
        d_short = _pulled(g, short, heft, middle, other, sums[0], sums[2])
        return *mine, d_short, sums[2] * other, sums[0], None, None


def statistics(x: Tensor, norm: nn.Module) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(weight, bias, mean, 1 / deviation) of a norm for this batch, which its running statistics follow."""
    assert isinstance(norm, nn.BatchNorm2d)
    assert norm.num_batches_tracked is not None
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.momentum is not None
    with torch.no_grad():
        n = x.numel() // x.shape[1]
        off, square = (norm_sums(_last(x)) / n).unbind(0)
        mean, variance = x[0, :, 0, 0].float() + off, (square - off * off).clamp_min(0)
        norm.num_batches_tracked.add_(1)
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(variance * (n / max(1, n - 1)), norm.momentum)
        return norm.weight, norm.bias, mean, (variance + norm.eps).rsqrt()


def norm_relu(x: Tensor, norm: nn.Module) -> Tensor:
    """relu(norm(x)), x (B, C, H, W) channels last."""
    z: Tensor = _NormRelu.apply(x, *statistics(x, norm))  # type: ignore[no-untyped-call]
    return z


def norm_join(x: Tensor, norm: nn.Module, short: Tensor, other: nn.Module | None) -> tuple[Tensor, Tensor]:
    """relu(norm(x) + shortcut), once for the next convolution and once for the next shortcut; `other` norms
    the shortcut."""
    theirs = (None,) * 4 if other is None else statistics(short, other)
    mine = (x, *statistics(x, norm), short, *theirs)
    both: tuple[Tensor, Tensor] = _NormJoin.apply(*mine)  # type: ignore[no-untyped-call]
    return both
