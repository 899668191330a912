"""Products of FP8 training, and the casts before them: see `float8`.

Sums of dw are carried on in fp32. The tensor cores' own accumulators keep fewer digits, and dw sums over
all tokens of a batch terms that mostly cancel: in BERT-large's first step with 128 sequences on an H200
some dw were off by 127 % of their length with them, by 3 % without, and the norm of all gradients by 15 %,
eager and compiled. y and dx, whose sums are as short as a layer is wide, are off by 0.2 % either way: that
is bf16's rounding (results/experiments/fp8-accumulators.txt).

FP8 products want the second operand column by column, and dw both: what is cast is stored as it is and
transposed. Between the two products of a feed-forward block GELU is computed in the pass that casts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

FP8 = torch.float8_e4m3fn
LARGEST = 448.0

TINY = 1e-12

# Cast (M, N), its transpose (N, M), largest magnitude () and column sums (N) or (0).
Cast = tuple[Tensor, Tensor, Tensor, Tensor]


def _has_kernels(x: Tensor) -> bool:
    """Whether gpuwise's own casts run where x is: they have an instruction of NVIDIA's."""
    return x.is_cuda and torch.version.hip is None


def cast(x: Tensor, largest: Tensor, *, sums: bool = False) -> Cast:
    """x ~ cast * largest / LARGEST, for values up to `largest`; larger ones become it."""
    if _has_kernels(x):
        from gpuwise.workloads.kernels.casting import cast_both

        found: Cast = cast_both(x, largest, LARGEST, sums)
        return found
    return cast_in_torch(x, largest, sums=sums)


def cast_gelu(x: Tensor, bias: Tensor, largest: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The cast of gelu(x + bias), without sums."""
    if _has_kernels(x):
        from gpuwise.workloads.kernels.casting import gelu_cast

        found: tuple[Tensor, Tensor, Tensor] = gelu_cast(x, bias, largest, LARGEST)
        return found
    return cast_in_torch(functional.gelu(x.float() + bias), largest)[:3]


def cast_gelu_gradient(dy: Tensor, x: Tensor, bias: Tensor, largest: Tensor) -> Cast:
    """The cast of x's gradient from that of gelu(x + bias); its sums are the bias's gradient."""
    if _has_kernels(x):
        from gpuwise.workloads.kernels.casting import gelu_cast_backward

        found: Cast = gelu_cast_backward(dy, x, bias, largest, LARGEST)
        return found
    gradient = torch.ops.aten.gelu_backward(dy.float(), x.float() + bias)
    return cast_in_torch(gradient, largest, sums=True)


def cast_in_torch(x: Tensor, largest: Tensor, *, sums: bool = False) -> Cast:
    """What the kernel computes, step by step."""
    wide = x.float()
    narrow = (wide * (LARGEST / largest)).clamp(-LARGEST, LARGEST).to(FP8)
    total = wide.sum(0) if sums else wide.new_zeros(0)
    return narrow, narrow.t().contiguous(), wide.abs().amax(), total


def product(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    *,
    wide: bool = False,
    fast: bool = True,
) -> Tensor:
    """a (M, K) times the transpose of b (N, K): (M, N), in bf16 or, wide, in fp32. `fast` leaves all of a
    sum in the tensor cores' own accumulators, which keep fewer digits than fp32."""
    found: Tensor = _product(a, b, scale_a, scale_b, bias, wide, fast)
    return found


@torch.library.custom_op("gpuwise::float8_product", mutates_args=())
def _product(
    a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None, wide: bool, fast: bool
) -> Tensor:
    """An operator of its own: torch 2.11's compiler fails to take `_scaled_mm` after GELU's casts."""
    out = torch.float32 if wide else torch.bfloat16
    return torch._scaled_mm(a, b.t(), scale_a, scale_b, bias=bias, out_dtype=out, use_fast_accum=fast)


@_product.register_fake
def _(
    a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None, wide: bool, fast: bool
) -> Tensor:
    return a.new_empty((len(a), len(b)), dtype=torch.float32 if wide else torch.bfloat16)


def scale_of(largest: Tensor) -> Tensor:
    """What a cast is multiplied by to be what it was."""
    return largest / LARGEST


def both_gradients(
    dy: tuple[Tensor, Tensor], dy_largest: Tensor, kept: tuple[Tensor, Tensor], seen: Tensor
) -> tuple[Tensor, Tensor]:
    """dx and dw, from dy's two casts and from x's and w's transposes."""
    x8_turned, w8_turned = kept
    scale = scale_of(dy_largest)
    dx = product(dy[0], w8_turned, scale, scale_of(seen[1]))
    return dx, product(dy[1], x8_turned, scale, scale_of(seen[0]), wide=True, fast=False)


def all_seen(*magnitudes: Tensor) -> Tensor:
    """Of x, w and dy: (3), what stands as the gradient of `seen`."""
    return torch.stack(magnitudes).clamp_min(TINY)


class Product(torch.autograd.Function):
    """y = x w^T + bias."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, seen: Tensor) -> Tensor:
        # Transposes are kept for the backward pass; x and w themselves are not.
        x8, x8_turned, x_now, _ = cast(x, seen[0])
        w8, w8_turned, w_now, _ = cast(weight.to(torch.bfloat16), seen[1])
        ctx.save_for_backward(x8_turned, w8_turned, seen, x_now, w_now)
        ctx.biased = bias is not None
        half = None if bias is None else bias.to(torch.bfloat16)
        return product(x8, w8, scale_of(seen[0]), scale_of(seen[1]), half)

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        x8_turned, w8_turned, seen, x_now, w_now = ctx.saved_tensors
        # The bias gradient is the sum over rows, which the cast reads anyway.
        dy8, dy8_turned, dy_now, bias_gradient = cast(above[0], seen[2], sums=ctx.biased)
        dx, dw = both_gradients((dy8, dy8_turned), seen[2], (x8_turned, w8_turned), seen)
        return dx, dw, bias_gradient if ctx.biased else None, all_seen(x_now, w_now, dy_now)


class FeedForward(torch.autograd.Function):
    """gelu(x v^T + bias) w^T; u is the first product."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, v: Tensor, bias: Tensor, first: Tensor, w: Tensor, second: Tensor
    ) -> Tensor:
        x8, x8_turned, x_now, _ = cast(x, first[0])
        v8, v8_turned, v_now, _ = cast(v.to(torch.bfloat16), first[1])
        w8, w8_turned, w_now, _ = cast(w.to(torch.bfloat16), second[1])
        u = product(x8, v8, scale_of(first[0]), scale_of(first[1]))
        y8, y8_turned, y_now = cast_gelu(u, bias, second[0])
        ctx.save_for_backward(
            x8_turned, v8_turned, u, y8_turned, w8_turned, bias, first, second, x_now, v_now, y_now, w_now
        )
        return product(y8, w8, scale_of(second[0]), scale_of(second[1]))

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor, ...]:
        x8_turned, v8_turned, u, y8_turned, w8_turned, bias, first, second, x_now, v_now, y_now, w_now = (
            ctx.saved_tensors
        )
        d8, d8_turned, d_now, _ = cast(above[0], second[2])
        dy, dw = both_gradients((d8, d8_turned), second[2], (y8_turned, w8_turned), second)
        du8, du8_turned, du_now, d_bias = cast_gelu_gradient(dy, u, bias, first[2])
        dx, dv = both_gradients((du8, du8_turned), first[2], (x8_turned, v8_turned), first)
        return dx, dv, d_bias, all_seen(x_now, v_now, du_now), dw, all_seen(y_now, w_now, d_now)
