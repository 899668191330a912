"""Diffusion transformer with adaptive layer norm (Peebles and Xie 2022, arXiv:2212.09748).

Latents are cut into patches; every block is shifted, scaled and gated by the time step and class
(adaLN). The paper starts the gates and the last layer at zero (adaLN-zero), which makes every block
the identity and the output zero: comparing compiled with eager would say nothing, and zeros draw
less power. These weights are as if trained instead: small and random.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.workloads.dit_shape import TIME_WIDTH, DitShape
from gpuwise.workloads.models.timestep import embed_time

NORM_EPS = 1e-6
INITIAL_STD = 0.02


def adapt(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:  # (B, T, C), (B, C), (B, C) -> (B, T, C)
    """Layer norm without weights of its own, then scaled and shifted by the condition."""
    normed = functional.layer_norm(x, x.shape[-1:], eps=NORM_EPS)
    return normed.to(x.dtype) * (1 + scale[:, None]) + shift[:, None]


class Block(nn.Module):
    """Attention and feed-forward, each adapted before and gated after."""

    def __init__(self, shape: DitShape) -> None:
        super().__init__()
        self.heads, c = shape.heads, shape.hidden
        self.condition = nn.Linear(c, 6 * c)
        self.qkv, self.output = nn.Linear(c, 3 * c), nn.Linear(c, c)
        self.expand, self.contract = nn.Linear(c, 4 * c), nn.Linear(4 * c, c)

    def _attend(self, x: Tensor) -> Tensor:  # (B, T, C) -> (B, T, C)
        query, key, value = (
            self.qkv(x).view(*x.shape[:-1], 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        )
        y = functional.scaled_dot_product_attention(query, key, value)  # (B, H, T, D)
        out: Tensor = self.output(y.transpose(1, 2).flatten(-2))
        return out

    def forward(self, x: Tensor, c: Tensor) -> Tensor:  # (B, T, C), (B, C) -> (B, T, C)
        shift1, scale1, gate1, shift2, scale2, gate2 = self.condition(functional.silu(c)).chunk(6, dim=-1)
        x = x + gate1[:, None] * self._attend(adapt(x, shift1, scale1))
        hidden = functional.gelu(self.expand(adapt(x, shift2, scale2)), approximate="tanh")
        out: Tensor = x + gate2[:, None] * self.contract(hidden)
        return out


def position_table(side: int, width: int) -> Tensor:
    """Sines and cosines of row and column: (side^2, width), as fixed as the paper's."""
    rates = 10_000.0 ** -(torch.arange(width // 4) / (width // 4))
    angles = torch.outer(torch.arange(side), rates)  # (S, W / 4)
    one = torch.cat((angles.sin(), angles.cos()), dim=-1)  # (S, W / 2)
    rows, columns = one[:, None].expand(-1, side, -1), one[None].expand(side, -1, -1)
    return torch.cat((columns, rows), dim=-1).flatten(0, 1)


class Dit(nn.Module):
    """Noisy latents, time steps and classes in; noise and variance out."""

    table: Tensor

    def __init__(self, shape: DitShape, side: int) -> None:
        super().__init__()
        self.shape, c = shape, shape.hidden
        self.patch = nn.Linear(shape.patch**2 * shape.latent, c)
        self.time = nn.Sequential(nn.Linear(TIME_WIDTH, c), nn.SiLU(), nn.Linear(c, c))
        self.label = nn.Embedding(shape.classes + 1, c)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.condition = nn.Linear(c, 2 * c)
        self.leave = nn.Linear(c, shape.patch**2 * 2 * shape.latent)
        self.register_buffer("table", position_table(side // shape.patch, c))
        self.apply(_initialise)

    def _patches(self, x: Tensor) -> Tensor:  # (B, 4, H, W) -> (B, T, patch^2 * 4)
        p, (batch, channels, height, width) = self.shape.patch, x.shape
        x = x.view(batch, channels, height // p, p, width // p, p)
        return x.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)

    def _image(self, x: Tensor) -> Tensor:  # (B, T, patch^2 * 8) -> (B, 8, H, W)
        p, side = self.shape.patch, int(x.shape[1] ** 0.5)
        x = x.view(x.shape[0], side, side, p, p, -1)  # (B, h, w, p, p, 8)
        return x.permute(0, 5, 1, 3, 2, 4).flatten(4).flatten(2, 3)

    def forward(self, x: Tensor, steps: Tensor, classes: Tensor) -> Tensor:
        """(B, 4, H, W) latents, (B,) steps, (B,) classes -> (B, 8, H, W): noise, then variance."""
        x = self.patch(self._patches(x))
        x = x + self.table.to(x.dtype)
        time = self.time(embed_time(steps, TIME_WIDTH).to(x.dtype))
        c = time + self.label(classes).to(time.dtype)  # (B, C)
        for block in self.blocks:
            x = block(x, c)
        shift, scale = self.condition(functional.silu(c)).chunk(2, dim=-1)
        return self._image(self.leave(adapt(x, shift, scale)))


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.normal_(module.bias, std=INITIAL_STD)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=INITIAL_STD)
