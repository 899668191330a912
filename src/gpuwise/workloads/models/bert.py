"""BERT encoder with a question-answering head (Devlin et al. 2018, arXiv:1810.04805).

Two arrangements of the same mathematics:

- `fused` (recipe tuned): one product for query, key and value, attention through
  scaled_dot_product_attention without a mask (synthetic sequences have no padding), so the flash
  kernel runs in eager mode and survives torch.compile.
- `unfused` (recipe parity): three products, (T, B, C) layout, attention as two batched products
  with an additive mask, softmax and dropout between them, and a pooler nobody reads: what the
  benchmark article's public script does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

LAYER_NORM_EPS = 1e-12
DROPOUT = 0.1
INITIAL_STD = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class BertShape:
    """Sizes of one BERT variant."""

    layers: int = 24
    hidden: int = 1024
    heads: int = 16
    vocabulary: int = 29_000
    """28,996 cased word pieces, padded to a multiple of 8."""
    positions: int = 512


class FusedAttention(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:  # (B, T, C) -> (B, T, C)
        batch, length, hidden = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, hidden // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # each (B, H, T, D)
        drop = DROPOUT if self.training else 0.0
        y = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=drop)
        return y.transpose(1, 2).reshape(batch, length, hidden)


class UnfusedAttention(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.query = nn.Linear(shape.hidden, shape.hidden)
        self.key = nn.Linear(shape.hidden, shape.hidden)
        self.value = nn.Linear(shape.hidden, shape.hidden)
        self.dropout = nn.Dropout(DROPOUT)

    def _split(self, x: Tensor) -> Tensor:  # (T, B, C) -> (B * H, T, D)
        length, batch, hidden = x.shape
        return x.view(length, batch * self.heads, hidden // self.heads).transpose(0, 1)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:  # (T, B, C) -> (T, B, C)
        length, batch, hidden = x.shape
        query, key, value = (self._split(linear(x)) for linear in (self.query, self.key, self.value))
        scores = torch.bmm(query, key.transpose(1, 2)).view(batch, self.heads, length, length)
        scores = scores / math.sqrt(hidden // self.heads)
        if mask is not None:
            scores = scores + mask  # (B, 1, 1, T)
        weights = self.dropout(functional.softmax(scores, dim=-1)).view(-1, length, length)
        context = torch.bmm(weights, value)  # (B * H, T, D)
        return context.transpose(0, 1).contiguous().view(length, batch, hidden)


class Layer(nn.Module):
    """Attention and feed-forward, each with dropout, residual and post-layer-norm."""

    def __init__(self, shape: BertShape, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention
        self.project = nn.Linear(shape.hidden, shape.hidden)
        self.norm1 = nn.LayerNorm(shape.hidden, eps=LAYER_NORM_EPS)
        self.expand = nn.Linear(shape.hidden, 4 * shape.hidden)
        self.contract = nn.Linear(4 * shape.hidden, shape.hidden)
        self.norm2 = nn.LayerNorm(shape.hidden, eps=LAYER_NORM_EPS)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.norm1(x + self.dropout(self.project(self.attention(x, mask))))
        out: Tensor = self.norm2(x + self.dropout(self.contract(functional.gelu(self.expand(x)))))
        return out


class BertForQuestionAnswering(nn.Module):
    """Token and segment ids in, start and end logits out."""

    def __init__(self, shape: BertShape, *, fused: bool = True) -> None:
        super().__init__()
        self.fused = fused
        self.word = nn.Embedding(shape.vocabulary, shape.hidden)
        self.position = nn.Embedding(shape.positions, shape.hidden)
        self.segment = nn.Embedding(2, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=LAYER_NORM_EPS)
        self.dropout = nn.Dropout(DROPOUT)
        attention = FusedAttention if fused else UnfusedAttention
        self.layers = nn.ModuleList(Layer(shape, attention(shape)) for _ in range(shape.layers))
        self.pooler = None if fused else nn.Linear(shape.hidden, shape.hidden)
        self.answer = nn.Linear(shape.hidden, 2)
        self.apply(_initialise)

    def forward(self, tokens: Tensor, segments: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(B, T) ids and an optional (B, T) mask of ones and zeros -> two (B, T) logits."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.word(tokens) + self.position(positions) + self.segment(segments)
        x = self.dropout(self.norm(x))  # (B, T, C)
        additive = None if mask is None else (1.0 - mask.to(x.dtype))[:, None, None, :] * -10_000.0
        if not self.fused:
            x = x.transpose(0, 1)
        for layer in self.layers:
            x = layer(x, additive)
        if not self.fused:
            x = x.transpose(0, 1).contiguous()
        if self.pooler is not None:
            torch.tanh(self.pooler(x[:, 0]))  # computed and unread, as in the script
        start, end = self.answer(x).unbind(-1)
        return start.contiguous(), end.contiguous()


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=INITIAL_STD)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
