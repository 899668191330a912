"""Fused attention where groups of warps feed the matrix units: tiles of queries that meet key after key.

A unit takes 128 queries of one head, also where there are fewer, and multiplies and exponentiates in turn:

    one tile   (keys + 150) x 128 x (4 x width / rate + exponentials / 16 a clock)
    a kernel   its tiles, dealt to the units in whole waves

so that decoding, which has few tiles and splits none, waits for the longest of them. The backward pass is
five products for two, and takes as much longer for what is between them. 16 exponentials a clock and unit are
stated (NVIDIA, "CUDA C++ programming guide", throughput of native arithmetic instructions); the 150 keys in
whose time a tile starts and ends, and what dropout adds, were set on profiles of the project's own H200, and
public tables of an engine's kernels on H100 and H200 show the same fall at short lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuwise.model.trace import Kernel
from gpuwise.predict.card import Card

Array = NDArray[np.float64]
ENGINES = frozenset({"wgmma", "tcgen05"})
"""How matrix units are fed on cards with such kernels: cuDNN's, which torch takes there in 16 bits."""
HALF = frozenset({"bf16", "fp16"})
"""Formats of 16 bits."""
FUSED = ("_flash_attention", "_cudnn_attention")
"""Operators that are one such kernel there."""
_QUERIES, _KEYS, _WIDTH = 128.0, 128.0, 64.0
"""Of a tile; keys and the width of a head are filled up."""
_EDGES = 150.0
"""Keys in whose time a tile starts and ends."""
_EXPONENTIALS = 16.0
"""A clock and unit."""
_BACKWARD = 2.5
_RANDOM = 2.0
"""Exponentials in whose time a value is drawn for dropout, set on the project's own H200."""
CAUSAL, DROPOUT = ":causal", ":dropout"
"""How names of attention end that is masked, or drops."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Attention kernels as arrays."""

    fused: NDArray[np.bool_]
    """Which of the kernels are one of cuDNN's."""
    number: Array
    multiplied: Array
    """Operations of one tile."""
    waited: Array
    """Exponentials of one tile, and what takes as long."""


def tiles(kernels: Sequence[Kernel], shapes: Array) -> Tiles:
    """The tiles of attention kernels; `shapes` has a row (batch, heads, queries, keys, head width, kv heads)
    for each."""
    batch, heads, queries, keys, width, _ = shapes.T
    names = [kernel.name for kernel in kernels]
    backward, causal, dropped = (
        np.array([word in name for name in names]) for word in ("_backward", CAUSAL, DROPOUT)
    )
    blocks = np.ceil(keys / _KEYS) * _KEYS
    met = np.where(causal, (blocks + _KEYS) / 2.0, blocks) + _EDGES
    pairs = _QUERIES * met * np.where(backward, _BACKWARD, 1.0)
    return Tiles(
        fused=np.array([any(word in name for word in FUSED) for name in names]),
        number=batch * heads * np.ceil(queries / _QUERIES),
        multiplied=4.0 * np.ceil(width / _WIDTH) * _WIDTH * pairs,
        waited=pairs + dropped * _RANDOM * _QUERIES * met,
    )


def tile_seconds(work: Tiles, card: Card, flop_per_s: float) -> Array:
    """Seconds of each kernel on a card whose products reach `flop_per_s`."""
    one = work.multiplied * card.units / flop_per_s + work.waited / (_EXPONENTIALS * card.clock_hz)
    return np.asarray(np.ceil(work.number / card.units) * one)
