"""LoRA (Hu et al. 2021, arXiv:2106.09685): adapters that are trained, in a decoder that is frozen."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.workloads.llm import RANK
from gpuwise.workloads.models.decoder import Attention, Block, Decoder, FeedForward, Part
from gpuwise.workloads.models.quantized import NarrowLinear

ALPHA = 32


class LoraLinear(Part):
    """`base`, frozen, of any format, plus one adapter for each of the `parts` into which its outputs fall."""

    def __init__(self, base: nn.Linear | NarrowLinear, parts: Sequence[int], rank: int = RANK) -> None:
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
        return self.base(x) + self.scale * added


def add_lora(model: Decoder, rank: int = RANK) -> Decoder:
    """In place: freeze all, and put fp32 adapters on all linear layers but head, routers and experts."""
    # Adapters are made after this, so they alone are trained.
    model.requires_grad_(False)
    for block in model.layers:
        assert isinstance(block, Block)
        attention, feed = block.attention, block.feed_forward
        places: list[tuple[nn.Module, str, tuple[int, ...]]] = []
        for name, base in list(attention.named_children()):
            if isinstance(base, nn.Linear | NarrowLinear):
                whole = isinstance(attention, Attention) and name == "qkv"
                places.append((attention, name, attention.parts if whole else (base.out_features,)))  # type: ignore[arg-type]
        if isinstance(feed, FeedForward):
            inner = feed.down.in_features
            places += [(feed, "gate_up", (inner, inner)), (feed, "down", (model.shape.hidden,))]
        for owner, name, parts in places:
            base = getattr(owner, name)
            assert isinstance(base, nn.Linear | NarrowLinear)
            setattr(owner, name, LoraLinear(base, parts, rank))
    return model
