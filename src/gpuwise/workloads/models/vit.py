"""Vision transformer (Dosovitskiy et al. 2020, arXiv:2010.11929), pre-norm, fused attention.

One product for query, key and value and scaled_dot_product_attention without a mask. torchvision's
state dict loads after renaming, see `torchvision_names`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.workloads.vit import VitShape

NORM_EPS = 1e-6
INITIAL_STD = 0.02


class Attention(nn.Module):
    def __init__(self, shape: VitShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)
        self.project = nn.Linear(shape.hidden, shape.hidden)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, C) -> (B, T, C)
        batch, length, hidden = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, hidden // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # each (B, H, T, D)
        y = functional.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.project(y.transpose(1, 2).reshape(batch, length, hidden))
        return out


class Layer(nn.Module):
    """Norm, attention, add; norm, feed-forward, add."""

    def __init__(self, shape: VitShape) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(shape.hidden, eps=NORM_EPS)
        self.attention = Attention(shape)
        self.norm2 = nn.LayerNorm(shape.hidden, eps=NORM_EPS)
        self.expand = nn.Linear(shape.hidden, 4 * shape.hidden)
        self.contract = nn.Linear(4 * shape.hidden, shape.hidden)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, C) -> (B, T, C)
        x = x + self.attention(self.norm1(x))
        out: Tensor = x + self.contract(functional.gelu(self.expand(self.norm2(x))))
        return out


class VisionTransformer(nn.Module):
    """Image in, class scores out; the classifier reads the class token."""

    def __init__(self, shape: VitShape, classes: int = 1000) -> None:
        super().__init__()
        self.class_token = nn.Parameter(torch.empty(1, 1, shape.hidden))
        self.patches = nn.Conv2d(3, shape.hidden, shape.patch, shape.patch)
        self.positions = nn.Parameter(torch.empty(1, shape.tokens, shape.hidden))
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.hidden, eps=NORM_EPS)
        self.head = nn.Linear(shape.hidden, classes)
        self._initialise()

    def _initialise(self) -> None:
        """Normal everywhere; torchvision's classifier starts at zero, which would hide wrong numbers."""
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=INITIAL_STD)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, images: Tensor) -> Tensor:  # (B, 3, 224, 224) -> (B, classes)
        x = self.patches(images).flatten(2).transpose(1, 2)  # (B, 196, C)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1)  # (B, T, C)
        x = x + self.positions
        for layer in self.layers:
            x = layer(x)
        logits: Tensor = self.head(self.norm(x)[:, 0])
        return logits
