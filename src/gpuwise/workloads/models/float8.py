"""Linear layers that train with their three products in FP8 (Micikevicius et al. 2022, arXiv:2209.05433).

y = x w^T forward, dx = dy w and dw = dy^T x backward, all operands in e4m3 (largest value 448); sums are
in fp32, y and dx in bf16, dw in fp32. Weights, their gradients and everything between products stay as
they are. The common choice for dy is e5m2, with more range and two digits instead of three.

Scaling is delayed: a tensor is divided by the largest magnitude that the step before has seen, and what
exceeds it saturates, so that cast and magnitude are one pass. The magnitudes travel as the gradient of
a parameter, `seen`, since a backward pass may return tensors but not write them; `Scales.update` stores
them after each backward pass. Before the first step nothing is known: it is run three times to be seen.

Sums of dw are carried on in fp32. The tensor cores' own accumulators keep fewer digits, and dw sums over
all tokens of a batch terms that mostly cancel: in BERT-large's first step with 128 sequences on an H200
some dw were off by 127 % of their length with them, by 3 % without, and the norm of all gradients by 15 %,
eager and compiled. y and dx, whose sums are as short as a layer is wide, are off by 0.2 % either way: that
is bf16's rounding (results/experiments/fp8-accumulators.txt).

FP8 products want the second operand column by column, and dw both: what is cast is stored as it is and
transposed. Between the two products of a feed-forward block GELU is computed in the pass that casts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

# Largest magnitudes of activations, weights and gradients assumed at first. Rather too large: what is
# clipped misleads the layers behind it, what vanishes is below a 200,000th of the largest.
START = (8.0, 8.0, 2.0**-4)
# Steps that are only seen: the first finds magnitudes, the others those that follow from them.
PASSES = 3
# FP8 products need sides that are multiples of it.
MULTIPLE = 16


FP8 = torch.float8_e4m3fn
LARGEST = 448.0

TINY = 1e-12

# Cast (M, N), its transpose (N, M), largest magnitude () and column sums (N) or (0).
Cast = tuple[Tensor, Tensor, Tensor, Tensor]


def _has_kernels(x: Tensor) -> bool:
    """True if gpuwise's own casts run where x is: they have an instruction of NVIDIA's."""
    return x.is_cuda and torch.version.hip is None


def cast(x: Tensor, largest: Tensor, *, sums: bool = False) -> Cast:
    """x ~ cast * largest / LARGEST, for values up to `largest`; larger ones become it."""
    if _has_kernels(x):
        from gpuwise.workloads.kernels.casting import cast_both

        return cast_both(x, largest, LARGEST, sums)
    return cast_in_torch(x, largest, sums=sums)


def cast_gelu(x: Tensor, bias: Tensor, largest: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The cast of gelu(x + bias), without sums."""
    if _has_kernels(x):
        from gpuwise.workloads.kernels.casting import gelu_cast

        return gelu_cast(x, bias, largest, LARGEST)
    return cast_in_torch(functional.gelu(x.float() + bias), largest)[:3]


def cast_gelu_gradient(dy: Tensor, x: Tensor, bias: Tensor, largest: Tensor) -> Cast:
    """The cast of x's gradient from that of gelu(x + bias); its sums are the bias's gradient."""
    if _has_kernels(x):
        from gpuwise.workloads.kernels.casting import gelu_cast_backward

        return gelu_cast_backward(dy, x, bias, largest, LARGEST)
    return cast_in_torch(torch.ops.aten.gelu_backward(dy.float(), x.float() + bias), largest, sums=True)


def cast_in_torch(x: Tensor, largest: Tensor, *, sums: bool = False) -> Cast:
    """The same as the kernel, step by step."""
    wide = x.float()
    narrow = (wide * (LARGEST / largest)).clamp(-LARGEST, LARGEST).to(FP8)
    total = wide.sum(0) if sums else wide.new_zeros(0)
    return narrow, narrow.t().contiguous(), wide.abs().amax(), total


@torch.library.custom_op("gpuwise::float8_product", mutates_args=())
def product(
    a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None = None, wide: bool = False,
    fast: bool = True,
) -> Tensor:  # fmt: skip
    """a (M, K) times the transpose of b (N, K): (M, N), in bf16 or, wide, in fp32. `fast` leaves all of a
    sum in the tensor cores' own accumulators, which keep fewer digits than fp32.

    An operator of its own: torch 2.11's compiler fails to take `_scaled_mm` after GELU's casts.
    """
    out = torch.float32 if wide else torch.bfloat16
    return torch._scaled_mm(a, b.t(), scale_a, scale_b, bias=bias, out_dtype=out, use_fast_accum=fast)


@product.register_fake
def _(a: Tensor, b: Tensor, x: Tensor, y: Tensor, bias: Any = None, wide: bool = False, _: Any = 0) -> Tensor:
    return a.new_empty((len(a), len(b)), dtype=torch.float32 if wide else torch.bfloat16)


def scale_of(largest: Tensor) -> Tensor:
    """The factor that undoes a cast."""
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


class Float8Linear(nn.Linear):
    """In place of a linear layer with bias, with its parameters. `exact` computes in bf16."""

    exact = False

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear.in_features, linear.out_features, device="meta")
        self.weight, self.bias = linear.weight, linear.bias
        self.seen = nn.Parameter(torch.tensor(START, device=linear.weight.device))

    def forward(self, x: Tensor) -> Tensor:  # (..., K) -> (..., N) in bf16
        return self._product(x, self.bias)

    def without_bias(self, x: Tensor) -> Tensor:
        return self._product(x, None)

    def _product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        # The reference that the check of gradients runs against.
        if self.exact:
            half = None if bias is None else bias.to(torch.bfloat16)
            return nn.functional.linear(x.to(torch.bfloat16), self.weight.to(torch.bfloat16), half)
        return _on_rows(Product, x, self.weight, bias, self.seen)


def feed_forward(x: Tensor, expand: Float8Linear, contract: Float8Linear) -> Tensor:
    """contract(gelu(expand(x))) without contract's bias, what lies between them never written in 16 bits."""
    trained = (expand.weight, expand.bias, expand.seen, contract.weight, contract.seen)
    return _on_rows(FeedForward, x, *trained)


def _on_rows(function: type[torch.autograd.Function], x: Tensor, *trained: Tensor | None) -> Tensor:
    """The function of x (..., K) as a matrix in bf16, with its leading sides again."""
    rows = x.to(torch.bfloat16).flatten(0, -2)
    with torch.autocast(x.device.type, enabled=False):
        y: Tensor = function.apply(rows, *trained)  # type: ignore[no-untyped-call]
    return y.view(*x.shape[:-1], -1)


class Scales:
    """Puts FP8 layers in place of all linear ones below a module whose sides allow it, and keeps their
    scales. The optimiser must be made before: `seen` is not trained. Ranks that train `together` scale
    alike, by what any of them saw."""

    def __init__(self, root: nn.Module, *, together: bool = False) -> None:
        self._layers: list[Float8Linear] = []
        self._together = together
        self._passes = 0
        # A list, because modules are replaced while they are walked.
        for name, module in list(root.named_modules()):
            if isinstance(module, nn.Linear) and not (module.in_features | module.out_features) % MULTIPLE:
                new = Float8Linear(module)
                root.set_submodule(name, new)
                self._layers.append(new)

    @property
    def seen(self) -> list[nn.Parameter]:
        """The largest magnitudes of every layer, (3) each."""
        return [layer.seen for layer in self._layers]

    @torch.no_grad()
    def update(self) -> None:
        """Set the scales of the next step from the last backward pass."""
        now = torch.stack([seen.grad for seen in self.seen if seen.grad is not None])  # (layers, 3)
        if self._together:
            dist.all_reduce(now, dist.ReduceOp.MAX)
        for seen, new in zip(self.seen, now, strict=True):
            seen.copy_(new)
            seen.grad = None
        self._passes += 1

    @contextmanager
    def off(self) -> Iterator[None]:
        """Products in bf16 meanwhile."""
        try:
            for layer in self._layers:
                layer.exact = True
            yield
        finally:
            for layer in self._layers:
                layer.exact = False

    @property
    def known(self) -> bool:
        """True if enough was seen for a step that counts."""
        return self._passes >= PASSES
