"""Linear layers that train with their three products in FP8 (Micikevicius et al. 2022, arXiv:2209.05433).

y = x w^T forward, dx = dy w and dw = dy^T x backward, all operands in e4m3 (largest value 448); sums are
in fp32, y and dx in bf16, dw in fp32. Weights, their gradients and everything between products stay as
they are. The common choice for dy is e5m2, with more range and two digits instead of three.

Sums of the backward pass are carried on in fp32. The tensor cores' own accumulators keep fewer digits,
and dw sums over all tokens of a batch terms that mostly cancel: in BERT-large's first step with 128
sequences on an H200 some dw were off by 127 % of their length with them, by 3 % without, and the norm of
all gradients by 15 %, eager and compiled (results/experiments/fp8-accumulators.txt).

Scaling is delayed: a tensor is divided by the largest magnitude that the step before has seen, and what
exceeds it saturates, so that cast and magnitude are one pass. The magnitudes travel as the gradient of
a parameter, `seen`, since a backward pass may return tensors but not write them; `Scales.update` stores
them after each backward pass. Before the first step nothing is known: it is run three times to be seen.

FP8 products want the second operand column by column, and dw both: what is cast is stored as it is and
transposed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

FP8 = torch.float8_e4m3fn
LARGEST = 448.0

START = (8.0, 8.0, 2.0**-4)
"""Largest magnitudes of activations, weights and gradients assumed at first. Rather too large: what is
clipped misleads the layers behind it, what vanishes is below a 200,000th of the largest."""
PASSES = 3
"""Steps that are only seen: the first finds magnitudes, the others those that follow from them."""
TINY = 1e-12
MULTIPLE = 16
"""FP8 products need sides that are multiples of it."""

Cast = tuple[Tensor, Tensor, Tensor, Tensor]
"""Cast (M, N), its transpose (N, M), largest magnitude () and column sums (N)."""


def cast(x: Tensor, largest: Tensor, *, sums: bool = False) -> Cast:
    """x ~ cast * largest / LARGEST, for values up to `largest`; larger ones become it."""
    if x.is_cuda:
        from gpuwise.workloads.models.casting import cast_both

        found: Cast = cast_both(x, largest, LARGEST, sums)
        return found
    return cast_in_torch(x, largest, sums=sums)


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
    out = torch.float32 if wide else torch.bfloat16
    found: Tensor = torch._scaled_mm(
        a, b.t(), scale_a, scale_b, bias=bias, out_dtype=out, use_fast_accum=fast
    )
    return found


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, seen: Tensor) -> Tensor:
        x8, x8_turned, x_now, _ = cast(x, seen[0])
        w8, w8_turned, w_now, _ = cast(weight.to(torch.bfloat16), seen[1])
        x_scale, w_scale = seen[0] / LARGEST, seen[1] / LARGEST
        ctx.save_for_backward(x8_turned, w8_turned, x_scale, w_scale, seen, x_now, w_now)
        ctx.biased = bias is not None
        return product(x8, w8, x_scale, w_scale, None if bias is None else bias.to(torch.bfloat16))

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
        x8_turned, w8_turned, x_scale, w_scale, seen, x_now, w_now = ctx.saved_tensors
        dy8, dy8_turned, dy_now, bias_gradient = cast(above[0], seen[2], sums=ctx.biased)
        dy_scale = seen[2] / LARGEST
        dx = product(dy8, w8_turned, dy_scale, w_scale, fast=False)
        dw = product(dy8_turned, x8_turned, dy_scale, x_scale, wide=True, fast=False)
        now = torch.stack([x_now, w_now, dy_now]).clamp_min(TINY)
        return dx, dw, bias_gradient if ctx.biased else None, now


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
        if self.exact:
            half = None if bias is None else bias.to(torch.bfloat16)
            return nn.functional.linear(x.to(torch.bfloat16), self.weight.to(torch.bfloat16), half)
        rows = x.to(torch.bfloat16).flatten(0, -2)
        with torch.autocast(x.device.type, enabled=False):
            y: Tensor = _Product.apply(rows, self.weight, bias, self.seen)  # type: ignore[no-untyped-call]
        return y.view(*x.shape[:-1], -1)


class Scales:
    """Puts FP8 layers in place of all linear ones below a module whose sides allow it, and keeps their
    scales. The optimiser must be made before: `seen` is not trained. Ranks that train `together` scale
    alike, by what any of them saw."""

    def __init__(self, root: nn.Module, *, together: bool = False) -> None:
        self._layers: list[Float8Linear] = []
        self._together = together
        self._passes = 0
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
        """What the last backward pass saw scales the next step."""
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
        """Whether enough was seen for a step that counts."""
        return self._passes >= PASSES
