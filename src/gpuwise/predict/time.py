"""Time of each kernel: the slowest of arithmetic, L2 and DRAM, above a launch floor.

    t = launch + (arithmetic^p + L2^p + DRAM^p)^(1/p)        p large: the largest alone

Products run in tiles of the output: `tiles / units` waves, of which the last is partly empty; a part of
K each where tiles are few (split-K). Operands are read once from DRAM and once per row or column of tiles
from L2 (Hong & Kung 1981; NVIDIA, "Matrix multiplication background", 2023). Work that fits in L2 and
was just used comes from there. All kernels of a step are computed together as arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuwise.model.trace import Kernel, Trace
from gpuwise.predict.card import Card
from gpuwise.predict.rates import Parameters, Rates, on_card, sustained

Array = NDArray[np.float64]
_TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (64, 32), (32, 64))
_SPLITS = (1, 2, 4, 8, 16)
ROWS, COLUMNS, SPLIT = (
    np.array(axis, dtype=float)[:, None]
    for axis in zip(*((r, c, s) for r, c in _TILES for s in _SPLITS), strict=True)
)
"""Every tiling that is tried, as columns: tile rows, tile columns, parts of K."""
_WAITS = frozenset({"aten.nonzero", "aten.item", "aten._local_scalar_dense"})
"""Operators whose result the host needs before it goes on."""
_FULL_TILE = 128
_DEPTH = 32
"""K that one step of the inner loop takes."""


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
        return self.b * (self.size * (self.m * self.k + self.k * self.n) + self.out * self.m * self.n)


def product_seconds(work: Products, card: Card, rates: Rates, dtype: str) -> Array:
    """Seconds of each product on `card`: the best of the tilings, as the libraries choose."""
    unit_rate = card.peak(dtype) * sustained(rates, card, dtype) * _share(card, rates, dtype) / card.units
    rows, columns = np.ceil(work.m / ROWS), np.ceil(work.n / COLUMNS)
    waves = work.b * rows * columns * SPLIT / card.units
    quantised = waves + rates["wave"] * (np.ceil(waves) - waves)
    depth = np.ceil(work.k / SPLIT / _DEPTH) * _DEPTH
    small = 1.0 + rates["tile"] * (_FULL_TILE / ROWS + _FULL_TILE / COLUMNS - 2.0)
    arithmetic = quantised * 2.0 * ROWS * COLUMNS * depth * np.maximum(small, 0.5) / unit_rate
    traffic = work.b * work.size * work.k * (work.m * columns + work.n * rows)
    traffic = traffic + (SPLIT - 1) * 8.0 * work.b * work.m * work.n
    bound = _slowest(arithmetic, traffic / _l2_rate(card, rates), _dram(work.moved, card, rates), rates)
    fixed = np.log2(SPLIT) * _latency(card, rates["reduce"]) + depth / _DEPTH * rates["step"] / card.clock_hz
    return np.asarray((bound + fixed).min(axis=0) + _latency(card, rates["launch"]))


def _share(card: Card, rates: Rates, dtype: str) -> float:
    """Share of the peak that the inner loop reaches.

    A multiprocessor feeds its vector lanes from shared memory at 128 B a clock whether it has 64 or 128
    lanes, so that the wide ones wait more (NVIDIA, "CUDA C++ programming guide", compute capabilities).
    """
    if dtype != "fp32" or card.vendor != "NVIDIA" or "lanes" not in rates:
        return rates["matmul"]
    lanes = card.peak(dtype) / (2.0 * card.clock_hz * card.units)
    return float(rates["matmul"] * min(1.0, (64.0 / lanes) ** rates["lanes"]))


def _slowest(arithmetic: Array, l2: Array, dram: Array, rates: Rates) -> Array:
    power = rates["overlap"]
    return np.asarray((arithmetic**power + l2**power + dram**power) ** (1 / power))


def _dram(moved: Array, card: Card, rates: Rates) -> Array:
    """Seconds to bring `moved` bytes in; where tables were measured warm, L2 holds what fits."""
    dram = moved / (card.bytes_per_s * rates["memory"])
    if "warm" not in rates:
        return np.asarray(dram)
    held = 1.0 / (1.0 + (moved / (rates["warm"] * card.l2_bytes)) ** 4)
    return np.asarray(dram * (1 - held) + held * np.minimum(dram, moved / _l2_rate(card, rates)))


def _latency(card: Card, seconds: float) -> float:
    """Latencies are a number of cycles; `seconds` is what they take at 2 GHz."""
    return float(seconds * (2e9 / card.clock_hz))


def _l2_rate(card: Card, rates: Rates) -> float:
    """Bytes/s between L2 and the units: each unit takes a fixed number of bytes per clock."""
    return card.units * card.clock_hz * rates["l2.bytes"]


def moved_seconds(moved: Array, card: Card, rates: Rates) -> Array:
    """Seconds of kernels that only move bytes (pointwise, normalisation, reduction, copy)."""
    dram = moved / (card.bytes_per_s * rates["memory"] * rates.get("moved", 1.0))
    held = 1.0 / (1.0 + (moved / (0.5 * card.l2_bytes)) ** 2)
    fast = np.minimum(dram, moved / _l2_rate(card, rates))
    return np.asarray(dram * (1 - held) + held * fast + _latency(card, rates["launch"]))


def kernel_seconds(kernels: Sequence[Kernel], card: Card, rates: Rates) -> Array:
    """Seconds of one launch of each kernel."""
    seconds = np.zeros(len(kernels))
    groups: dict[tuple[str, str], list[int]] = {}
    for i, kernel in enumerate(kernels):
        kind = (
            str(kernel.kind) if kernel.kind in _COMPUTE and len(kernel.shape) == _COMPUTE[kernel.kind] else ""
        )
        groups.setdefault((kind, kernel.dtype if kind else ""), []).append(i)
    for (kind, dtype), at in groups.items():
        seconds[at] = _of_kind(kind, [kernels[i] for i in at], card, rates, dtype)
    waits = np.array([kernel.name in _WAITS for kernel in kernels])
    return np.asarray(seconds + waits * rates.get("sync", 0.0))


_COMPUTE: Mapping[str, int] = {"matmul": 4, "convolution": 11, "attention": 6}
"""Kinds with arithmetic that counts, and the length of their shapes."""


def _of_kind(kind: str, kernels: Sequence[Kernel], card: Card, rates: Rates, dtype: str) -> Array:
    if kind == "matmul":
        return product_seconds(products(kernels), card, rates, dtype)
    moved = np.array([kernel.bytes_read + kernel.bytes_written for kernel in kernels])
    if kind == "convolution":
        return np.maximum(_convolutions(kernels, card, rates, dtype), moved_seconds(moved, card, rates))
    if kind == "attention":
        flop = np.array([kernel.flop for kernel in kernels])
        rate = card.peak(dtype) * sustained(rates, card, dtype) * rates.get("attention", 0.5)
        return np.maximum(flop / rate, moved_seconds(moved, card, rates))
    return moved_seconds(moved, card, rates)


def _convolutions(kernels: Sequence[Kernel], card: Card, rates: Rates, dtype: str) -> Array:
    """As implicit products (Chetlur et al. 2014): pixels x output channels x (input channels x window).

    Depthwise ones run on the vector units. A backward kernel has its own operations, of the same shape.
    """
    shapes = np.array([kernel.shape for kernel in kernels], dtype=float)
    images, channels, _, _, outputs, high, wide, _, groups, rows, columns = shapes.T
    m, n, k = images * rows * columns, outputs / groups, channels / groups * high * wide
    flop = np.array([kernel.flop for kernel in kernels])
    size = np.full_like(m, 4.0 if dtype in ("fp32", "tf32") else 2.0)
    work = Products(b=groups, m=m, n=n, k=k, size=size / np.maximum(high * wide, 1.0), out=size)
    scale = flop / np.maximum(2.0 * groups * m * n * k, 1.0) / rates.get("convolution", 1.0)
    vector = flop / (card.peak("fp32") * rates.get("depthwise", 0.2))
    return np.where(groups == channels, vector, product_seconds(work, card, rates, dtype) * scale)


def products(kernels: Sequence[Kernel]) -> Products:
    """The products of a trace as arrays."""
    shapes = np.array([kernel.shape for kernel in kernels], dtype=float).reshape(-1, 4)
    b, m, n, k = shapes.T
    size = np.array([kernel.bytes_read for kernel in kernels]) / (b * (m * k + k * n))
    out = np.array([kernel.bytes_written for kernel in kernels]) / (b * m * n)
    return Products(b=b, m=m, n=n, k=k, size=size, out=out)


def step_seconds(trace: Trace, card: Card, parameters: Parameters) -> float:
    """Seconds of one step: GPU time, or the host's time to launch it all where that is longer."""
    rates = on_card(parameters, card)
    counts = np.array([kernel.count for kernel in trace.kernels], dtype=float)
    busy = float(counts @ kernel_seconds(trace.kernels, card, rates))
    dispatch = 0.0 if trace.compiled else trace.launches * rates["dispatch"]
    return max(busy, dispatch)
