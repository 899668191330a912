"""The kernels of a step as arrays: made once of a trace, then priced on every card.

Kernels of one kind and format form a group, which is timed as a whole; convolutions are implicit products
(Chetlur et al. 2014, "cuDNN"): pixels x output channels x (input channels x window).

Fused attention, where groups of warps feed the matrix units, is tiles of queries that meet key after key. A
unit takes 128 queries of one head, also where there are fewer, and multiplies and exponentiates in turn:

    one tile   (keys + 150) x 128 x (4 x width / rate + exponentials / 16 a clock)
    a kernel   its tiles, dealt to the units in whole waves

so that decoding, which has few tiles and splits none, waits for the longest of them. The backward pass is
five products for two, and takes as much longer for what is between them. 16 exponentials a clock and unit are
stated (NVIDIA, "CUDA C++ programming guide", throughput of native arithmetic instructions); the 150 keys in
whose time a tile starts and ends, and what dropout adds, were set on profiles of the project's own H200, and
public tables of an engine's kernels on H100 and H200 show the same fall at short lengths.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpuwise.model.trace import Kernel, Trace
from gpuwise.predict.card import Card
from gpuwise.predict.classes import HALF, Classes, of_kernels

Array = NDArray[np.float64]
# How matrix units are fed on cards with such kernels: cuDNN's, which torch takes there in 16 bits.
ENGINES = frozenset({"wgmma", "tcgen05"})
# Operators that are one such kernel there.
FUSED = ("_flash_attention", "_cudnn_attention")
# Of a tile; keys and the width of a head are filled up.
_QUERIES, _KEYS, _WIDTH = 128.0, 128.0, 64.0
# Keys in whose time a tile starts and ends.
_EDGES = 150.0
# A clock and unit.
_EXPONENTIALS = 16.0
_BACKWARD_PASS = 2.5
# Exponentials in whose time a value is drawn for dropout, set on the project's own H200.
_RANDOM = 2.0
# How names of attention end that is masked, or drops.
CAUSAL, DROPOUT = ":causal", ":dropout"


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
    pairs = _QUERIES * met * np.where(backward, _BACKWARD_PASS, 1.0)
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


Places = NDArray[np.intp]
KEPT_TRACES = 1024

# Kinds with arithmetic that counts, and the length of their shapes.
_SHAPES: Mapping[str, int] = {"matmul": 4, "convolution": 11, "attention": 6}
# Operators whose result the host needs before it goes on.
_WAITS = frozenset({"aten.nonzero", "aten.item", "aten._local_scalar_dense"})
# Of the rate of attention by single warps that its backward pass reaches: five products for two, and sums
# that blocks share (Dao 2023, "FlashAttention-2": up to 63 % of the peak against 73 %; less if short).
_BACKWARD = 0.75
# Queries, keys and width of a head that it computes whole; decoding has fewer queries.
_BLOCK = (128.0, 64.0, 32.0)
# Norms along rows, and the elements that a block's threads load at once.
_ROW_NORMS, _ROW = ("layer_norm", "rms_norm"), 512.0
# Threads of a block of interpolation.
_PLACES = 128.0
# Of an element; whole numbers and truths have others.
_BYTES: Mapping[str, float] = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0}
# How names of convolutions end whose tensors are in that order.
CHANNELS_FIRST = ":nchw"


@dataclass(frozen=True, slots=True)
class Products:
    """Matrix products as arrays; `size` is the bytes of an operand's element, `out` of the result's."""

    b: Array
    m: Array
    n: Array
    k: Array
    size: Array
    out: Array

    @property
    def moved(self) -> Array:
        """Bytes of operands and result, each once."""
        return self.b * self.size * (self.m * self.k + self.k * self.n) + self.written

    @property
    def written(self) -> Array:
        """Bytes of the result."""
        return self.b * self.out * self.m * self.n


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Kernels that are timed alike."""

    kind: str
    """A kind with arithmetic, or "" for those that only move bytes."""
    dtype: str
    at: Places
    """Where they stand in the step."""
    flop: Array
    moved: Array
    products: Products | None = None
    """What a matmul or a convolution multiplies."""
    tiles: Tiles | None = None
    """Of attention in 16 bits, where groups of warps compute it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """All kernels of a step, an element each."""

    counts: Array
    flop: Array
    moved: Array
    """Bytes read and written."""
    heavy: NDArray[np.bool_]
    """Kinds with arithmetic that counts."""
    waits: NDArray[np.bool_]
    direct: NDArray[np.bool_]
    """Convolutions that the vector units compute: those of one channel a group."""
    handled: Array
    """What the vector lanes handle one by one: elements, or multiply-adds where `direct`."""
    blocks: Array
    """Units that can share a kernel; infinite for most (`_blocks`)."""
    classes: Classes
    groups: tuple[Group, ...]
    formats: Mapping[str, Places]
    """Where the heavy kernels of each format stand."""


@lru_cache(maxsize=KEPT_TRACES)
def of_trace(trace: Trace) -> Kernels:
    """The kernels of a trace."""
    return arrays(trace.kernels, compiled=trace.compiled)


def arrays(kernels: Sequence[Kernel], *, compiled: bool = False) -> Kernels:
    """The kernels as arrays, in their order."""
    moved = np.array([kernel.bytes_read + kernel.bytes_written for kernel in kernels], dtype=float)
    heavy = np.array([kernel.kind in _SHAPES for kernel in kernels], dtype=bool)
    formats = defaultdict[str, list[int]](list)
    for i, kernel in enumerate(kernels):
        if kernel.kind in _SHAPES:
            formats[kernel.dtype].append(i)
    flop = np.array([kernel.flop for kernel in kernels], dtype=float)
    direct = np.array([_is_direct(kernel) for kernel in kernels], dtype=bool)
    return Kernels(
        counts=np.array([kernel.count for kernel in kernels], dtype=float),
        flop=flop,
        moved=moved,
        heavy=heavy,
        waits=np.array([kernel.name in _WAITS for kernel in kernels], dtype=bool),
        direct=direct,
        handled=np.where(direct, flop / 2.0, [_handled(kernel) for kernel in kernels]),
        blocks=np.array([_blocks(kernel) for kernel in kernels]),
        classes=of_kernels(kernels, compiled=compiled),
        groups=_groups(kernels),
        formats={dtype: np.array(at) for dtype, at in formats.items()},
    )


def _groups(kernels: Sequence[Kernel]) -> tuple[Group, ...]:
    found = defaultdict[tuple[str, str], list[int]](list)
    for i, kernel in enumerate(kernels):
        known = len(kernel.shape) == _SHAPES.get(kernel.kind)
        found[(kernel.kind, kernel.dtype) if known else ("", "")].append(i)
    return tuple(
        _group(kind, dtype, np.array(at), [kernels[i] for i in at]) for (kind, dtype), at in found.items()
    )


def _group(kind: str, dtype: str, at: Places, kernels: Sequence[Kernel]) -> Group:
    flop = np.array([kernel.flop for kernel in kernels])
    moved = np.array([kernel.bytes_read + kernel.bytes_written for kernel in kernels])
    shapes = np.array([kernel.shape for kernel in kernels], dtype=float) if kind else None
    products, parts = None, None
    if kind == "attention" and shapes is not None:
        parts = tiles(kernels, shapes) if dtype in HALF else None
        flop = flop * _whole(shapes, np.array(["_backward" in kernel.name for kernel in kernels]))
    if kind == "matmul" and shapes is not None:
        products = _matmuls(shapes, kernels)
    if kind == "convolution" and shapes is not None:
        products = _implicit(shapes, dtype)
    return Group(kind=kind, dtype=dtype, at=at, flop=flop, moved=moved, products=products, tiles=parts)


def _whole(shapes: Array, backward: NDArray[np.bool_]) -> Array:
    """Operations of whole blocks over those that count, at the rate of the forward pass."""
    sizes = shapes[:, 2:5]
    blocks = np.ceil(sizes / _BLOCK) * _BLOCK / sizes
    blocks[sizes[:, 0] < _BLOCK[1], 0] = 1.0
    return np.asarray(blocks.prod(axis=1) / np.where(backward, _BACKWARD, 1.0))


def _matmuls(shapes: Array, kernels: Sequence[Kernel]) -> Products:
    b, m, n, k = shapes.T
    size = np.array([kernel.bytes_read for kernel in kernels]) / (b * (m * k + k * n))
    out = np.array([kernel.bytes_written for kernel in kernels]) / (b * m * n)
    return Products(b=b, m=m, n=n, k=k, size=size, out=out)


def _implicit(shapes: Array, dtype: str) -> Products:
    images, channels, _, _, outputs, high, wide, _, groups, rows, columns = shapes.T
    m, n, k = images * rows * columns, outputs / groups, channels / groups * high * wide
    size = np.full_like(m, 4.0 if dtype in ("fp32", "tf32") else 2.0)
    return Products(b=groups, m=m, n=n, k=k, size=size / np.maximum(high * wide, 1.0), out=size)


def _is_direct(kernel: Kernel) -> bool:
    if kernel.kind != "convolution" or len(kernel.shape) != _SHAPES["convolution"]:
        return False
    return kernel.shape[8] > 1 and kernel.shape[8] == kernel.shape[1]


def _handled(kernel: Kernel) -> float:
    """Elements that threads handle: those of the result, or of what is read where that is larger. Norms along
    rows have a block of threads for each row, however short; in kernels with arithmetic that hides it."""
    if kernel.kind in _SHAPES:
        return 0.0
    # Two operands and a result have three elements for each that is handled.
    moved = (kernel.bytes_read + kernel.bytes_written) / _BYTES.get(kernel.dtype, 8.0)
    elements = max(float(math.prod(kernel.shape)), moved / 3.0)
    if any(name in kernel.name for name in _ROW_NORMS) and kernel.shape:
        return elements * max(1.0, _ROW / kernel.shape[-1])
    return elements


def _blocks(kernel: Kernel) -> float:
    """Batch norm of channels-first images has a block of threads for each channel; interpolation one for so
    many places of the result, whose threads go through all images and channels (UpSampleBilinear2d.cu)."""
    if not kernel.name.endswith(CHANNELS_FIRST) or len(kernel.shape) < 3:
        return np.inf
    if "batch_norm" in kernel.name:
        return float(kernel.shape[1])
    if "upsample_bi" in kernel.name:
        return max(1.0, kernel.shape[-1] * kernel.shape[-2] / _PLACES)
    return np.inf
