"""Sizes of DiT-XL/2 (Peebles and Xie 2022, arXiv:2212.09748, table 1), and what one image costs.

Published: 675 M parameters; 675,129,632 with the fixed position table of 256 x 1152, which is none.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuwise.workloads.tally import Tally, attention, linear, moved

TIME_WIDTH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class DitShape:
    """One diffusion transformer."""

    layers: int = 28
    hidden: int = 1152
    heads: int = 16
    patch: int = 2
    latent: int = 4
    classes: int = 1000
    """One more row of the class table stands for no class."""


def dit_tally(shape: DitShape, side: int) -> Tally:
    """One image of `side`^2 latents through the whole network."""
    rows, c, patch = (side // shape.patch) ** 2, shape.hidden, shape.patch**2 * shape.latent
    block = linear(1, c, 6 * c) + linear(rows, c, 3 * c) + attention(rows, rows, c) + linear(rows, c, c)
    block += linear(rows, c, 4 * c) + moved(8 * rows * c) + linear(rows, 4 * c, c)
    block += moved(2 * 4 * rows * c)  # two norms, each with the gated sum before it
    ends = linear(rows, patch, c) + moved(3 * rows * c) + linear(rows, c, 2 * patch)
    condition = linear(1, TIME_WIDTH, c) + linear(1, c, c) + linear(1, c, 2 * c)
    return block * shape.layers + ends + condition + Tally(weights=(shape.classes + 1) * c)
