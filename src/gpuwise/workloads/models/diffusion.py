"""Denoising networks: Stable Diffusion 1.5's U-Net and DiT-XL/2, one denoising or one training step.

An item is one image-step: one image through the network once. An image of S steps takes S items, and 2 S
under classifier-free guidance, which runs every step with and without the prompt (a batch of two per image):
50 guided steps of the U-Net are images/s = throughput / 100, the paper's 250 of DiT throughput / 500.
Autoencoder and text encoder are not in it. 512 px are 64 x 64 latents of the U-Net; of DiT, 256 px are 32 x
32 latents (256 positions).

Training predicts the noise (mean squared error) with AdamW. DiT's variance, the other half of its outputs, is
computed and has no loss here. Text states are random input, as they come precomputed in practice.

Cost: convolutions 2 C_in C_out k^2 H W, linear layers 2 C_in C_out a position, attention 4 T S C for T
queries over S keys, backward twice forward; DiT at 256 px 2.37e11 (the paper states 118.6 G multiply-adds).
Traffic: a product reads its input and writes its output once; a group norm needs a second read, for its
statistics are known only after the first; a layer norm keeps its row at hand; attention reads query, key and
value and writes the result. What lies between two of these is one pass.

U-Net (Rombach et al. 2021, arXiv:2112.10752): residual blocks take the time step as a shift between their
convolutions. Transformers attend to their own positions, then to the text. Query, key and value of one
source are one product.

DiT (Peebles and Xie 2022, arXiv:2212.09748): latents are cut into patches; every block is shifted, scaled
and gated by the time step and class (adaLN). The paper starts the gates and the last layer at zero
(adaLN-zero), which makes every block the identity and the output zero: comparing compiled with eager would
say nothing, and zeros draw less power. These weights are as if trained instead: small and random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise.model.question import RunConfig
from gpuwise.workloads.job import Job, inference_job, set_precision, training_job
from gpuwise.workloads.models import self_attention


@dataclass(frozen=True, slots=True, kw_only=True)
class UnetShape:
    """One latent U-Net; the levels halve the side. Stable Diffusion 1.5's (Rombach et al. 2021,
    arXiv:2112.10752; unet/config.json of the model: 859,520,964 parameters) unless said otherwise."""

    channels: tuple[int, ...] = (320, 640, 1280, 1280)
    attends: tuple[bool, ...] = (True, True, True, False)
    blocks: int = 2  # Residual blocks a level on the way down; one more on the way up
    heads: int = 8
    latent: int = 4
    text_tokens: int = 77
    text_width: int = 768
    groups: int = 32

    @property
    def time_width(self) -> int:
        """Width of the embedded time step."""
        return 4 * self.channels[0]


TIME_WIDTH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class DitShape:
    """One diffusion transformer; DiT-XL/2 (Peebles and Xie 2022, arXiv:2212.09748, table 1) unless said
    otherwise.

    Published are 675,129,632 parameters with the fixed position table of 256 x 1152, which is none."""

    layers: int = 28
    hidden: int = 1152
    heads: int = 16
    patch: int = 2
    latent: int = 4
    classes: int = 1000  # One more row of the class table stands for no class


TOY_UNET = UnetShape(
    channels=(16, 32), attends=(True, False), blocks=1, heads=2, text_tokens=5, text_width=12, groups=4
)
TOY_DIT, TOY_SIDE = DitShape(layers=2, hidden=32, heads=2, classes=10), 8
STEPS = 1000
LEARNING_RATE = 1e-6  # Small, so that the one batch is not fitted while it is timed
PERIOD = 10_000.0


def embed_time(steps: Tensor, width: int) -> Tensor:  # (B,) -> (B, width), fp32
    """cos then sin of step * 10000^(-i / (width / 2))."""
    half = width // 2
    rates = torch.exp(-math.log(PERIOD) / half * torch.arange(half, device=steps.device))
    angles = steps.float()[:, None] * rates
    return torch.cat((angles.cos(), angles.sin()), dim=-1)


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
        return self.shortcut(x) + self.conv2(functional.silu(self.norm2(h)))


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
        return self.output(y.transpose(1, 2).flatten(-2))


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
        return x + self.leave(h.transpose(1, 2).reshape(shape))


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
        # Stages and halvings; `skips` are the widths that are kept for the way up.
        width, skips = first, [first]
        self.down, self.shrink = nn.ModuleList(), nn.ModuleList()
        for outputs, attends in zip(shape.channels, shape.attends, strict=True):
            for _ in range(shape.blocks):
                self.down.append(Stage(shape, width, outputs, attends=attends))
                width = outputs
                skips.append(width)
            if len(self.shrink) < len(shape.channels) - 1:
                self.shrink.append(nn.Conv2d(width, width, 3, stride=2, padding=1))
                skips.append(width)
        self.middle = nn.ModuleList(Stage(shape, width, width, attends=i == 0) for i in range(2))
        self.up, self.enlarge = nn.ModuleList(), nn.ModuleList()
        for outputs, attends in zip(reversed(shape.channels), reversed(shape.attends), strict=True):
            for _ in range(shape.blocks + 1):
                self.up.append(Stage(shape, width + skips.pop(), outputs, attends=attends))
                width = outputs
            if len(self.enlarge) < len(shape.channels) - 1:
                self.enlarge.append(nn.Conv2d(width, width, 3, padding=1))
        self.norm = nn.GroupNorm(shape.groups, first)
        self.leave = nn.Conv2d(first, shape.latent, 3, padding=1)

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
        return self.leave(functional.silu(self.norm(x)))


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

    def forward(self, x: Tensor, c: Tensor) -> Tensor:  # (B, T, C), (B, C) -> (B, T, C)
        shift1, scale1, gate1, shift2, scale2, gate2 = self.condition(functional.silu(c)).chunk(6, dim=-1)
        y = self_attention(self.qkv(adapt(x, shift1, scale1)), self.heads)
        x = x + gate1[:, None] * self.output(y)
        hidden = functional.gelu(self.expand(adapt(x, shift2, scale2)), approximate="tanh")
        return x + gate2[:, None] * self.contract(hidden)


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
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.normal_(module.bias, std=INITIAL_STD)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=INITIAL_STD)

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


Shape = UnetShape | DitShape


def inputs_of(shape: Shape, side: int, batch: int) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """(noised latents (B, 4, H, W), steps (B,), text (B, 77, 768) or classes (B,)), and their noise."""
    clean, noise = torch.randn(2, batch, shape.latent, side, side).unbind(0)
    steps = torch.randint(STEPS, (batch,))
    kept = (1 - steps / STEPS)[:, None, None, None]  # share of the signal's variance that is left
    latents = kept.sqrt() * clean + (1 - kept).sqrt() * noise
    if isinstance(shape, DitShape):
        return (latents, steps, torch.randint(shape.classes, (batch,))), noise
    text = torch.randn(batch, shape.text_tokens, shape.text_width)
    return (latents.to(memory_format=torch.channels_last), steps, text), noise


def _denoising(full: Shape, toy: Shape, pixels: int, config: RunConfig, batch: int) -> Job:
    shape, side = (toy, TOY_SIDE) if config.size == "toy" else (full, pixels // 8)
    # Random latents, steps and text or classes on the device; the U-Net is channels-last throughout
    set_precision(config)
    model: nn.Module
    with torch.device(config.device):
        if isinstance(shape, DitShape):
            model = Dit(shape, side)
        else:
            model = Unet(shape).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        inputs, noise = inputs_of(shape, side, batch)
    if config.mode == "infer":
        return inference_job(model, inputs, config, batch)
    variance, decay = (True, 0.0) if isinstance(shape, DitShape) else (False, 0.01)

    def loss(output: Tensor) -> Tensor:  # (B, 4, H, W), of DiT (B, 8, H, W) -> ()
        return functional.mse_loss((output[:, : shape.latent] if variance else output).float(), noise)

    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=decay, fused=True)
    return training_job(model, inputs, loss, optimizer, config, batch)


JOBS = {
    "unet-sd15": partial(_denoising, UnetShape(), TOY_UNET, 512),
    "unet-sd15-1024": partial(_denoising, UnetShape(), TOY_UNET, 1024),
    "dit-xl2": partial(_denoising, DitShape(), TOY_DIT, 256),
    "dit-xl2-512": partial(_denoising, DitShape(), TOY_DIT, 512),
}
