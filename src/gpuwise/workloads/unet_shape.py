"""Sizes of Stable Diffusion 1.5's U-Net (Rombach et al. 2021, arXiv:2112.10752), and what one image costs.

Published: unet/config.json of the model, 859,520,964 parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuwise.workloads.tally import Tally, attention, convolution, group_norm, linear, moved


@dataclass(frozen=True, slots=True, kw_only=True)
class UnetShape:
    """One latent U-Net; the levels halve the side."""

    channels: tuple[int, ...] = (320, 640, 1280, 1280)
    attends: tuple[bool, ...] = (True, True, True, False)
    blocks: int = 2
    """Residual blocks a level on the way down; one more on the way up."""
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
    first, time = shape.channels[0], shape.time_width
    total = linear(1, first, time) + linear(1, time, time) + convolution(shape.latent, first, 3, side)
    skips, width, levels = [first], first, len(shape.channels)
    for level, outputs in enumerate(shape.channels):
        for _ in range(shape.blocks):
            total += _block(shape, width, outputs, side, attends=shape.attends[level])
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
            total += _block(shape, joined, outputs, side, attends=shape.attends[level])
            width = outputs
        if level > 0:
            total += moved(5 * width * side**2)
            side *= 2
            total += convolution(width, width, 3, side)
    return total + group_norm(side**2, width) + convolution(width, shape.latent, 3, side)


def _block(shape: UnetShape, inputs: int, outputs: int, side: int, *, attends: bool) -> Tally:
    found = residual(shape, inputs, outputs, side)
    return found + transformer(shape, outputs, side) if attends else found
