"""Time of each kernel: the slowest of arithmetic, L2 and DRAM, above a launch floor.

    t = launch + (arithmetic^p + L2^p + DRAM^p)^(1/p) + drain        p large: the largest alone

Products run in tiles of the output: `tiles / units` waves, of which the last is partly empty; a part of
K each where tiles are few (split-K). Operands are read once from DRAM and once per row or column of tiles
from L2 (Hong & Kung 1981; NVIDIA, "Matrix multiplication background", 2023). Work that fits in L2 and
was just used comes from there. A tile starts with an empty pipeline and ends by writing its results: how
much of that other tiles hide is a matter of how the matrix units are fed (`EXPOSED`). All kernels of a
step are computed together as arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuwise.model.trace import Kernel, Trace
from gpuwise.predict.card import Card
from gpuwise.predict.rates import MATRIX, Parameters, Rates, held, on_card, operation_joules, sustained

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
EXPOSED: Mapping[str, float] = {"mma": 1.0, "wgmma": 0.5}
"""Share of a tile's start and end that nothing hides, by how matrix units are fed; else none is assumed.

Registers hold one tile at a time. Hopper's two groups of warps can take turns, one multiplying while the
other writes. Blackwell's tensor memory holds the next tile's sums while this one's are written (NVIDIA,
CUTLASS documentation, "Efficient GEMM", ping-pong kernels; PTX ISA, tensor memory).
"""
_FILL = 2000.0
"""Cycles in which a tile multiplies nothing: first operands from L2 or DRAM, last results to memory, about
700 each, and the barriers between."""
_DRAIN = 0.5
"""Share of the time to write all results that falls between multiplications: a wave of tiles ends at once."""
_FROM_L2 = 32.0
"""Bytes a clock and unit from L2 where no two units share what they read: 5,120 B a clock and A100 are 47
for each of 108 units (NVIDIA A100 whitepaper, 2020), of which a kernel reaches about two thirds. Later
parts of the data centre hand one read to a cluster of units."""
_WARP_RATE = {"bf16": 2350.0, "fp16": 2350.0}
"""Operations a clock and unit: 62 % of an H100's 3,790."""
_REORDER = 0.5
"""Share of the bandwidth at which a tensor's dimensions change order: reads or writes are strided."""
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
        return self.b * self.size * (self.m * self.k + self.k * self.n) + self.written

    @property
    def written(self) -> Array:
        """Bytes of the result."""
        return self.b * self.out * self.m * self.n


def product_seconds(work: Products, card: Card, rates: Rates, dtype: str) -> Array:
    """Seconds of each product on `card`: the best of the tilings, as the libraries choose."""
    rate = card.peak(dtype) * sustained(rates, card, dtype) * _share(card, rates, dtype)
    unit_rate = rate * rates.get(f"format.{dtype}", 1.0) / card.units
    rows, columns = np.ceil(work.m / ROWS), np.ceil(work.n / COLUMNS)
    waves = work.b * rows * columns * SPLIT / card.units
    quantised = waves + rates["wave"] * (np.ceil(waves) - waves)
    depth = np.ceil(work.k / SPLIT / _DEPTH) * _DEPTH
    small = 1.0 + rates["tile"] * (_FULL_TILE / ROWS + _FULL_TILE / COLUMNS - 2.0)
    exposed = _exposed(card, dtype)
    arithmetic = quantised * 2.0 * ROWS * COLUMNS * depth * np.maximum(small, 0.5) / unit_rate
    arithmetic = arithmetic + quantised * exposed * _FILL / card.clock_hz
    traffic = work.b * work.size * work.k * (work.m * columns + work.n * rows)
    traffic = traffic + (SPLIT - 1) * 8.0 * work.b * work.m * work.n
    bound = _slowest(arithmetic, traffic / _operand_rate(card, rates), _dram(work.moved, card, rates), rates)
    drain = exposed * _DRAIN * work.written / (card.bytes_per_s * rates["memory"])
    fixed = np.log2(SPLIT) * _latency(card, rates["reduce"]) + depth / _DEPTH * rates["step"] / card.clock_hz
    return np.asarray((bound + fixed).min(axis=0) + drain + _latency(card, rates["launch"]))


def _exposed(card: Card, dtype: str) -> float:
    """`EXPOSED` of this format: NVIDIA's vector units multiply from registers on every card."""
    registers = card.vendor == "NVIDIA" and dtype not in MATRIX
    return EXPOSED["mma"] if registers else EXPOSED.get(card.engine, 0.0)


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


def _operand_rate(card: Card, rates: Rates) -> float:
    """Bytes/s of operands from L2 to the units of products."""
    most = card.units * card.clock_hz * _FROM_L2 if card.engine == "mma" else np.inf
    return float(min(_l2_rate(card, rates), most))


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
        rate = _warp_peak(card, dtype) * sustained(rates, card, dtype) * rates.get("attention", 0.5)
        return np.maximum(flop / rate, moved_seconds(moved, card, rates))
    return moved_seconds(moved, card, rates)


def _warp_peak(card: Card, dtype: str) -> float:
    """FLOP/s of the matrix units for instructions of one warp, which fused attention was written in.

    Those kept their rate for each unit while the peak moved on to instructions of groups of warps: about
    62 % of it on Hopper (Luo et al. 2024, "Benchmarking and dissecting the Nvidia Hopper GPU").
    """
    most = _WARP_RATE.get(dtype, np.inf) * card.units * card.clock_hz
    return float(min(card.peak(dtype), most if card.vendor == "NVIDIA" else np.inf))


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


def trace_seconds(trace: Trace, card: Card, rates: Rates) -> Array:
    """Seconds of one launch of each kernel of a step."""
    seconds = kernel_seconds(trace.kernels, card, rates) + _reorder_seconds(trace, card, rates)
    heavy = np.array([float(kernel.kind in _COMPUTE) for kernel in trace.kernels])
    clock = _clock(trace, card, rates, seconds, heavy)
    return np.where(heavy > 0, seconds / clock, seconds)


def _clock(trace: Trace, card: Card, rates: Rates, seconds: Array, heavy: Array) -> float:
    """Clock of the whole step under the power limit, over the boost clock."""
    if "step.matrix" not in rates:
        return 1.0
    counts = np.array([kernel.count for kernel in trace.kernels], dtype=float)
    spent = counts * seconds
    busy = float(spent @ heavy)
    rest = float(spent.sum()) - busy
    idle = 0.0 if trace.compiled else max(0.0, trace.launches * rates["dispatch"] - busy - rest)
    joules = sum(
        k.flop * k.count * operation_joules(rates, card, k.dtype, "step.matrix")
        for k in trace.kernels
        if k.kind in _COMPUTE
    )
    moved = sum((k.bytes_read + k.bytes_written) * k.count for k in trace.kernels)
    each = rates["step.stacked" if card.stacked else "step.byte"] * 1e-12
    return held(rates, card, compute_j=joules, other_j=moved * each, busy_s=busy, rest_s=rest + idle)


def _reorder_seconds(trace: Trace, card: Card, rates: Rates) -> Array:
    """Seconds to bring what a convolution reads to channels last, and back what it writes.

    Matrix units convolve 16-bit operands in no other order; a compiler chooses the order once for a network
    (NVIDIA, "Convolutional layers user's guide", tensor layouts; PyTorch, inductor's layout optimisation).
    """
    pays = [not trace.compiled and k.name.endswith(":nchw") and _dense_convolution(k) for k in trace.kernels]
    moved = np.array([2.0 * (k.bytes_read + k.bytes_written) for k in trace.kernels]) * pays
    return np.asarray(moved / (card.bytes_per_s * rates["memory"] * _REORDER))


def _dense_convolution(kernel: Kernel) -> bool:
    """Whether it needs channels last: 16-bit operands, more than one channel a group."""
    if kernel.kind != "convolution" or len(kernel.shape) != _COMPUTE["convolution"]:
        return False
    return kernel.dtype in ("bf16", "fp16") and kernel.shape[8] != kernel.shape[1]


def step_seconds(trace: Trace, card: Card, parameters: Parameters) -> float:
    """Seconds of one step: GPU time, or the host's time to launch it all where that is longer."""
    rates = on_card(parameters, card)
    counts = np.array([kernel.count for kernel in trace.kernels], dtype=float)
    busy = float(counts @ trace_seconds(trace, card, rates))
    dispatch = 0.0 if trace.compiled else trace.launches * rates["dispatch"]
    return max(busy, dispatch)
