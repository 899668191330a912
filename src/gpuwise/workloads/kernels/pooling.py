"""Max pooling in Triton, channels last: the generated backward of 3x3 windows is several times slower.

What torch.compile makes of the backward pass looks, for every pixel, into every window that may hold it:
on an H200, 6.5 ms of a 135 ms step of ResNet-50 (batch 1,024, fp16) for 2.5 GB that the memory moves in
0.6 ms. Here a program owns a cell of stride x stride pixels and reads each window that touches it once.

The forward pass stores which pixel of its window was the largest, the first among equals, as torch does;
the gradient goes to that pixel, summed in fp32 where windows overlap.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

# A cell has at most four pixels, and a place in a window is stored in one byte.
MOST_STRIDE, MOST_KERNEL = 2, 11
# Values that one program handles.
ELEMENTS = 1024


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
