"""Low-rank adapters (Hu et al. 2021, arXiv:2106.09685): y = x W^T + (alpha / r) (x A^T) B^T.

W is frozen; A (r x inputs) is random, B (outputs x r) zero, so training starts from the frozen
network. A product that stands for several (query, key, value in one) has one pair for each, as if
they were apart: the count of parameters is that of PEFT's "all-linear" on the same network.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.workloads.models.decoder import Decoder, Part

RANK, ALPHA = 16, 32


class LoraLinear(Part):
    """`base`, frozen, plus one adapter for each of the `parts` into which its outputs fall."""

    def __init__(self, base: nn.Linear, parts: Sequence[int], rank: int = RANK) -> None:
        super().__init__()
        self.base, self.rank, self.scale = base.requires_grad_(False), rank, ALPHA / rank
        device = base.weight.device
        self.down = nn.Parameter(torch.empty(len(parts) * rank, base.in_features, device=device))
        self.up = nn.ParameterList(torch.empty(part, rank, device=device) for part in parts)
        self.initialise()

    def initialise(self) -> None:
        nn.init.normal_(self.down, std=self.base.in_features**-0.5)
        for up in self.up:
            nn.init.zeros_(up)

    @property
    def weight(self) -> Tensor:
        """That of the base."""
        return self.base.weight

    def forward(self, x: Tensor) -> Tensor:  # (..., inputs) -> (..., outputs)
        low = torch.split(functional.linear(x, self.down), self.rank, dim=-1)
        added = torch.cat([functional.linear(z, b) for z, b in zip(low, self.up, strict=True)], dim=-1)
        y: Tensor = self.base(x) + self.scale * added
        return y


def add_lora(model: Decoder, rank: int = RANK) -> Decoder:
    """Freeze everything and put adapters, kept in fp32, on all linear layers but the head. In place."""
    model.requires_grad_(False)
    c, k, f = model.shape.hidden, model.shape.kv_width, model.shape.inner
    for block in model.layers:
        for owner, name, parts in (
            (block.attention, "qkv", (c, k, k)),
            (block.attention, "output", (c,)),
            (block.feed_forward, "gate_up", (f, f)),
            (block.feed_forward, "down", (c,)),
        ):
            base = getattr(owner, name)
            assert isinstance(base, nn.Linear)
            setattr(owner, name, LoraLinear(base, parts, rank))
    return model
