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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from gpuwise.model.precision import Precision
from gpuwise.model.question import Cost, Mode, RunConfig, WorkloadSpec
from gpuwise.workloads.registry import REPEATED, Build, Workload, workload

if TYPE_CHECKING:
    from torch import Tensor

    from gpuwise.workloads.job import Job

OPTIMISER_BYTES = 40
"""A parameter and step: AdamW 28 (weight, gradient, two moments read, three written), the passes 12."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What one image costs in one forward pass."""

    flop: float = 0.0
    values: float = 0.0  # Activation values read and written
    weights: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.flop + other.flop, self.values + other.values, self.weights + other.weights)

    def __mul__(self, times: int) -> Tally:
        return Tally(self.flop * times, self.values * times, self.weights * times)


def linear(rows: int, inputs: int, outputs: int, *, bias: bool = True) -> Tally:
    """A product of `rows` rows with a matrix."""
    weights = inputs * outputs + (outputs if bias else 0)
    return Tally(2.0 * rows * inputs * outputs, float(rows * (inputs + outputs)), weights)


def convolution(inputs: int, outputs: int, kernel: int, side: int, stride: int = 1) -> Tally:
    """A square convolution with bias over a map of `side`^2 that pads to keep side / stride."""
    out = (side // stride) ** 2
    weights = inputs * outputs * kernel**2
    return Tally(2.0 * weights * out, float(inputs * side**2 + outputs * out), weights + outputs)


def attention(queries: int, keys: int, width: int) -> Tally:
    """Scores and weighted sum of every query over every key."""
    return Tally(4.0 * queries * keys * width, 2.0 * (queries + keys) * width)


def group_norm(rows: int, width: int) -> Tally:
    """With scale, shift and the activation after it."""
    return Tally(0.0, 3.0 * rows * width, 2 * width)


def moved(values: float) -> Tally:
    """Values read and written by what is no product: additions, gates, layer norms, joins."""
    return Tally(0.0, values)


def cost_of(tally: Tally, mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one image in a step of `batch`: inference reads the weights once, AdamW moves 40 bytes each."""
    width = precision.bytes
    if mode == "infer":
        return Cost(flop_per_item=tally.flop, bytes_per_item=(tally.values + tally.weights / batch) * width)
    optimiser = OPTIMISER_BYTES * tally.weights / batch
    return Cost(flop_per_item=3 * tally.flop, bytes_per_item=3 * tally.values * width + optimiser)


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


def residual(shape: UnetShape, inputs: int, outputs: int, side: int) -> Tally:
    """Norm, convolution, time, norm, convolution, shortcut."""
    area = side**2
    body = group_norm(area, inputs) + convolution(inputs, outputs, 3, side)
    body += linear(1, shape.time_width, outputs) + group_norm(area, outputs)
    body += convolution(outputs, outputs, 3, side) + moved(3 * area * outputs)
    return body if inputs == outputs else body + convolution(inputs, outputs, 1, side)


def transformer(shape: UnetShape, width: int, side: int) -> Tally:
    """Self-attention, attention to the text, gated feed-forward; layer norms and additions in one pass."""
    rows, text = side**2, shape.text_tokens
    norms = Tally(0.0, float(rows * width * (2 + 4 + 4 + 3)), 3 * 2 * width)
    own = (
        linear(rows, width, 3 * width, bias=False) + attention(rows, rows, width) + linear(rows, width, width)
    )
    cross = linear(rows, width, width, bias=False) + linear(text, shape.text_width, 2 * width, bias=False)
    cross += attention(rows, text, width) + linear(rows, width, width)
    feed = linear(rows, width, 8 * width) + moved(12 * rows * width) + linear(rows, 4 * width, width)
    ends = group_norm(rows, width) + convolution(width, width, 1, side) * 2 + moved(3 * rows * width)
    return norms + own + cross + feed + ends


def unet_tally(shape: UnetShape, side: int) -> Tally:
    """One image of `side`^2 latents through the whole network."""

    def block(inputs: int, outputs: int, *, attends: bool) -> Tally:
        found = residual(shape, inputs, outputs, side)
        return found + transformer(shape, outputs, side) if attends else found

    first, time = shape.channels[0], shape.time_width
    total = linear(1, first, time) + linear(1, time, time) + convolution(shape.latent, first, 3, side)
    skips, width, levels = [first], first, len(shape.channels)
    for level, outputs in enumerate(shape.channels):
        for _ in range(shape.blocks):
            total += block(width, outputs, attends=shape.attends[level])
            width = outputs
            skips.append(width)
        if level < levels - 1:
            total += convolution(width, width, 3, side, 2)
            side //= 2
            skips.append(width)
    total += residual(shape, width, width, side) * 2 + transformer(shape, width, side)
    for level in reversed(range(levels)):
        outputs = shape.channels[level]
        for _ in range(shape.blocks + 1):
            joined = width + skips.pop()
            total += moved(2 * joined * side**2)
            total += block(joined, outputs, attends=shape.attends[level])
            width = outputs
        if level > 0:
            total += moved(5 * width * side**2)
            side *= 2
            total += convolution(width, width, 3, side)
    return total + group_norm(side**2, width) + convolution(width, shape.latent, 3, side)


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


def dit_tally(shape: DitShape, side: int) -> Tally:
    """One image of `side`^2 latents through the whole network."""
    rows, c, patch = (side // shape.patch) ** 2, shape.hidden, shape.patch**2 * shape.latent
    block = linear(1, c, 6 * c) + linear(rows, c, 3 * c) + attention(rows, rows, c) + linear(rows, c, c)
    block += linear(rows, c, 4 * c) + moved(8 * rows * c) + linear(rows, 4 * c, c)
    block += moved(2 * 4 * rows * c)  # two norms, each with the gated sum before it
    ends = linear(rows, patch, c) + moved(3 * rows * c) + linear(rows, c, 2 * patch)
    condition = linear(1, TIME_WIDTH, c) + linear(1, c, c) + linear(1, c, 2 * c)
    return block * shape.layers + ends + condition + Tally(weights=(shape.classes + 1) * c)


TOY_UNET = UnetShape(
    channels=(16, 32), attends=(True, False), blocks=1, heads=2, text_tokens=5, text_width=12, groups=4
)
TOY_DIT, TOY_SIDE = DitShape(layers=2, hidden=32, heads=2, classes=10), 8
STEPS = 1000
LEARNING_RATE = 1e-6  # Small, so that the one batch is not fitted while it is timed


def noised(batch: int, channels: int, side: int) -> tuple[Tensor, Tensor, Tensor]:
    """(noised latents (B, C, H, W), steps (B,), the noise in the latents (B, C, H, W))."""
    import torch

    clean, noise = torch.randn(2, batch, channels, side, side).unbind(0)
    steps = torch.randint(STEPS, (batch,))
    kept = (1 - steps / STEPS)[:, None, None, None]  # share of the signal's variance that is left
    return kept.sqrt() * clean + (1 - kept).sqrt() * noise, steps, noise


def unet_inputs(shape: UnetShape, side: int, batch: int) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """(latents (B, 4, H, W), steps (B,), text (B, 77, 768)), and the noise in the latents."""
    import torch

    latents, steps, noise = noised(batch, shape.latent, side)
    text = torch.randn(batch, shape.text_tokens, shape.text_width)
    return (latents.to(memory_format=torch.channels_last), steps, text), noise


def dit_inputs(shape: DitShape, side: int, batch: int) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """(latents (B, 4, H, W), steps (B,), classes (B,)), and the noise in the latents."""
    import torch

    latents, steps, noise = noised(batch, shape.latent, side)
    return (latents, steps, torch.randint(shape.classes, (batch,))), noise


def unet_job(shape: UnetShape, side: int, config: RunConfig, batch: int) -> Job:
    """Random latents (B, 4, H, W), steps (B,) and text (B, 77, 768) on the device; channels-last
    throughout."""
    import torch
    from torch.nn import functional

    from gpuwise.workloads.job import inference_job, set_precision, training_job
    from gpuwise.workloads.models.diffusion import Unet

    set_precision(config)
    with torch.device(config.device):
        model = Unet(shape).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        inputs, noise = unet_inputs(shape, side, batch)
    if config.mode == "infer":
        return inference_job(model, inputs, config, batch)

    def loss(found: Tensor) -> Tensor:  # (B, 4, H, W) -> ()
        return functional.mse_loss(found.float(), noise)

    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, fused=True)
    return training_job(model, inputs, loss, optimizer, config, batch)


def dit_job(shape: DitShape, side: int, config: RunConfig, batch: int) -> Job:
    """Random latents, steps and classes on the device."""
    import torch
    from torch.nn import functional

    from gpuwise.workloads.job import inference_job, set_precision, training_job
    from gpuwise.workloads.models.diffusion import Dit

    set_precision(config)
    with torch.device(config.device):
        model = Dit(shape, side)
        inputs, noise = dit_inputs(shape, side, batch)
    if config.mode == "infer":
        return inference_job(model, inputs, config, batch)

    def loss(found: Tensor) -> Tensor:  # (B, 8, H, W) -> ()
        return functional.mse_loss(found[:, : shape.latent].float(), noise)

    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0, fused=True)
    return training_job(model, inputs, loss, optimizer, config, batch)


def _denoiser(
    name: str,
    title: str,
    tally: Callable[[], Tally],
    full: Build,
    toy: Build,
    *,
    parameters: int,
    default_batch: int,
    switches: tuple[str, ...],
) -> Workload:
    """`tally` counts one image through the full network, when it is asked for."""

    def cost(mode: Mode, precision: Precision, batch: int) -> Cost:
        return cost_of(tally(), mode, precision, batch)

    def build(config: RunConfig, batch: int) -> Job:
        return (toy if config.size == "toy" else full)(config, batch)

    spec = WorkloadSpec(
        id=name,
        version=1,
        title=title,
        task="image generation",
        item="image-step",
        modes=("train", "infer"),
        parameters=parameters,
        default_batch=default_batch,
        cost=cost,
        switches=switches,
    )
    return workload(spec)(build)


def _unet(name: str, pixels: int, default_batch: int) -> Workload:
    side = pixels // 8
    return _denoiser(
        name,
        f"Stable Diffusion 1.5's U-Net, {pixels} px",
        lambda: unet_tally(UnetShape(), side),
        partial(unet_job, UnetShape(), side),
        partial(unet_job, TOY_UNET, TOY_SIDE),
        parameters=859_520_964,
        default_batch=default_batch,
        switches=("master_weights", "compiler", "graph"),
    )


def _dit(name: str, pixels: int, default_batch: int) -> Workload:
    side = pixels // 8
    return _denoiser(
        name,
        f"DiT-XL/2, {pixels} px",
        lambda: dit_tally(DitShape(), side),
        partial(dit_job, DitShape(), side),
        partial(dit_job, TOY_DIT, TOY_SIDE),
        parameters=674_834_720,
        default_batch=default_batch,
        switches=("master_weights", *REPEATED),
    )


unet_sd15 = _unet("unet-sd15", 512, 8)
unet_sd15_1024 = _unet("unet-sd15-1024", 1024, 2)
dit_xl2 = _dit("dit-xl2", 256, 32)
dit_xl2_512 = _dit("dit-xl2-512", 512, 8)
