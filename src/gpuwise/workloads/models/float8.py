"""Linear layers that train with their three products in FP8 (Micikevicius et al. 2022, arXiv:2209.05433).

y = x w^T forward, dx = dy w and dw = dy^T x backward, all operands in e4m3 (largest value 448); sums are
in fp32, y and dx in bf16, dw in fp32. Weights, their gradients and everything between products stay as
they are. The common choice for dy is e5m2, with more range and two digits instead of three.

Scaling is delayed: a tensor is divided by the largest magnitude that the step before has seen, and what
exceeds it saturates, so that cast and magnitude are one pass. The magnitudes travel as the gradient of
a parameter, `seen`, since a backward pass may return tensors but not write them; `Scales.update` stores
them after each backward pass. Before the first step nothing is known: it is run three times to be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn

from gpuwise.workloads.kernels.float8_product import FeedForward, Product

# Largest magnitudes of activations, weights and gradients assumed at first. Rather too large: what is
# clipped misleads the layers behind it, what vanishes is below a 200,000th of the largest.
START = (8.0, 8.0, 2.0**-4)
# Steps that are only seen: the first finds magnitudes, the others those that follow from them.
PASSES = 3
# FP8 products need sides that are multiples of it.
MULTIPLE = 16


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
