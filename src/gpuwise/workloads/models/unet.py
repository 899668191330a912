"""Latent U-Net with attention to text (Rombach et al. 2021, arXiv:2112.10752; sizes in unet_shape.py).

Residual blocks take the time step as a shift between their convolutions. Transformers attend to
their own positions, then to the text. Attention goes through scaled_dot_product_attention without a
mask; query, key and value of one source are one product.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.workloads.models.timestep import embed_time
from gpuwise.workloads.unet_shape import UnetShape


class Residual(nn.Module):
    """Norm, convolution, plus time, norm, convolution; plus the input."""

    def __init__(self, shape: UnetShape, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norm1 = nn.GroupNorm(shape.groups, inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(shape.time_width, outputs)
        self.norm2 = nn.GroupNorm(shape.groups, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:  # (B, C, H, W), (B, E) -> (B, C', H, W)
        h = self.conv1(functional.silu(self.norm1(x)))
        h = h + self.time(functional.silu(time))[:, :, None, None]
        y: Tensor = self.shortcut(x) + self.conv2(functional.silu(self.norm2(h)))
        return y


class Attention(nn.Module):
    """Of positions to themselves, or to `source` values."""

    def __init__(self, width: int, heads: int, source: int | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.query = None if source is None else nn.Linear(width, width, bias=False)
        parts = 3 if source is None else 2
        self.packed = nn.Linear(source or width, parts * width, bias=False)
        self.output = nn.Linear(width, width)

    def _heads(self, x: Tensor) -> Tensor:  # (B, T, C) -> (B, H, T, D)
        return x.view(*x.shape[:-1], self.heads, -1).transpose(1, 2)

    def forward(self, x: Tensor, source: Tensor | None = None) -> Tensor:  # (B, T, C), (B, S, E) -> (B, T, C)
        if self.query is None or source is None:
            query, key, value = self.packed(x).chunk(3, dim=-1)
        else:
            query = self.query(x)
            key, value = self.packed(source).chunk(2, dim=-1)
        query, key, value = self._heads(query), self._heads(key), self._heads(value)
        y = functional.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.output(y.transpose(1, 2).flatten(-2))
        return out


class Transformer(nn.Module):
    """1x1 in, self-attention, attention to text, gated feed-forward, 1x1 out; plus the input."""

    def __init__(self, shape: UnetShape, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(shape.groups, width, eps=1e-6)
        self.enter = nn.Conv2d(width, width, 1)
        self.norm1, self.own = nn.LayerNorm(width), Attention(width, shape.heads)
        self.norm2, self.cross = nn.LayerNorm(width), Attention(width, shape.heads, shape.text_width)
        self.norm3, self.expand = nn.LayerNorm(width), nn.Linear(width, 8 * width)
        self.contract = nn.Linear(4 * width, width)
        self.leave = nn.Conv2d(width, width, 1)

    def forward(self, x: Tensor, text: Tensor) -> Tensor:  # (B, C, H, W), (B, S, E) -> (B, C, H, W)
        h = self.enter(self.norm(x))
        shape = h.shape
        h = h.flatten(2).transpose(1, 2)  # (B, H W, C)
        h = h + self.own(self.norm1(h))
        h = h + self.cross(self.norm2(h), text)
        value, gate = self.expand(self.norm3(h)).chunk(2, dim=-1)
        h = h + self.contract(value * functional.gelu(gate))
        y: Tensor = x + self.leave(h.transpose(1, 2).reshape(shape))
        return y


class Stage(nn.Module):
    """A residual block and, at levels that attend, a transformer."""

    def __init__(self, shape: UnetShape, inputs: int, outputs: int, *, attends: bool) -> None:
        super().__init__()
        self.residual = Residual(shape, inputs, outputs)
        self.transformer = Transformer(shape, outputs) if attends else None

    def forward(self, x: Tensor, time: Tensor, text: Tensor) -> Tensor:
        x = self.residual(x, time)
        return x if self.transformer is None else self.transformer(x, text)


class Unet(nn.Module):
    """Noisy latents, time steps and text states in, the noise that is in them out."""

    def __init__(self, shape: UnetShape) -> None:
        super().__init__()
        self.shape, first = shape, shape.channels[0]
        self.time = nn.Sequential(
            nn.Linear(first, shape.time_width), nn.SiLU(), nn.Linear(shape.time_width, shape.time_width)
        )
        self.enter = nn.Conv2d(shape.latent, first, 3, padding=1)
        skips = self._build_down()
        width = shape.channels[-1]
        self.middle = nn.ModuleList(Stage(shape, width, width, attends=i == 0) for i in range(2))
        self._build_up(skips)
        self.norm = nn.GroupNorm(shape.groups, first)
        self.leave = nn.Conv2d(first, shape.latent, 3, padding=1)

    def _build_down(self) -> list[int]:
        """Stages and halvings; returns the widths that are kept for the way up."""
        shape, width = self.shape, self.shape.channels[0]
        self.down, self.shrink, skips = nn.ModuleList(), nn.ModuleList(), [width]
        for outputs, attends in zip(shape.channels, shape.attends, strict=True):
            for _ in range(shape.blocks):
                self.down.append(Stage(shape, width, outputs, attends=attends))
                width = outputs
                skips.append(width)
            if len(self.shrink) < len(shape.channels) - 1:
                self.shrink.append(nn.Conv2d(width, width, 3, stride=2, padding=1))
                skips.append(width)
        return skips

    def _build_up(self, skips: list[int]) -> None:
        shape, width = self.shape, self.shape.channels[-1]
        self.up, self.enlarge = nn.ModuleList(), nn.ModuleList()
        for outputs, attends in zip(reversed(shape.channels), reversed(shape.attends), strict=True):
            for _ in range(shape.blocks + 1):
                self.up.append(Stage(shape, width + skips.pop(), outputs, attends=attends))
                width = outputs
            if len(self.enlarge) < len(shape.channels) - 1:
                self.enlarge.append(nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x: Tensor, steps: Tensor, text: Tensor) -> Tensor:
        """(B, 4, H, W) latents, (B,) steps, (B, 77, 768) text -> (B, 4, H, W)."""
        time = self.time(embed_time(steps, self.shape.channels[0]).to(x.dtype))
        x = self.enter(x)
        skips, blocks = [x], self.shape.blocks
        for i, stage in enumerate(self.down):
            x = stage(x, time, text)
            skips.append(x)
            if (i + 1) % blocks == 0 and i // blocks < len(self.shrink):
                x = self.shrink[i // blocks](x)
                skips.append(x)
        first, last = self.middle
        x = last(first(x, time, text), time, text)
        blocks += 1
        for i, stage in enumerate(self.up):
            x = stage(torch.cat((x, skips.pop()), dim=1), time, text)
            if (i + 1) % blocks == 0 and i // blocks < len(self.enlarge):
                x = self.enlarge[i // blocks](functional.interpolate(x, scale_factor=2.0, mode="nearest"))
        out: Tensor = self.leave(functional.silu(self.norm(x)))
        return out
