"""The two phases of inference as modules with the cache among their buffers."""

from __future__ import annotations

from torch import Tensor, nn

from gpuwise.workloads.models.decoder import Cache, Decoder


class Prefill(nn.Module):
    """Prompts in, logits of their last positions out; the cache is filled."""

    def __init__(self, decoder: Decoder, cache: Cache) -> None:
        super().__init__()
        self.decoder, self.cache = decoder, cache

    def forward(self, tokens: Tensor) -> Tensor:  # (B, T) -> (B, V)
        return self.decoder.prefill(tokens, self.cache)


class Decode(nn.Module):
    """One token a sequence in, logits of the next out; one row of the cache is overwritten."""

    def __init__(self, decoder: Decoder, cache: Cache) -> None:
        super().__init__()
        self.decoder, self.cache = decoder, cache

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:  # (B, 1), (1,) -> (B, V)
        return self.decoder.decode(tokens, self.cache, position)
