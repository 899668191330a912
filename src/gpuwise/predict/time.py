"""Seconds of every kernel of a step on one card, and of the waits for the host between them.

A kernel takes the slowest of arithmetic, L2 and DRAM, above a launch floor:

    t = launch + (arithmetic^p + L2^p + DRAM^p)^(1/p) + drain        p large: the largest alone

Products run in tiles of the output: `tiles / units` waves, of which the last is partly empty; a part of
K each where tiles are few (split-K). Operands are read once from DRAM and once per row or column of tiles
from L2 (Hong & Kung 1981; NVIDIA, "Matrix multiplication background", 2023). Work that fits in L2 and
was just used comes from there. A tile starts with an empty pipeline and ends by writing its results: how
much of that other tiles hide is a matter of how the matrix units are fed (`EXPOSED`). All kernels of a
step are computed together as arrays (`kernels`).

The code of some kernels sets their time, rather than their operations and traffic (`kernel_overheads`):

    time = times x what operations and traffic need, times at least 1 where instructions are waited for

`times` is that of an H200, whose units have 18.4 bytes of memory a clock each. A kernel with too many
instructions for that, or with too little on the way to hide the memory's latency (Little's law), is nearer
to the memory's speed on a card with fewer bytes a clock: `times` shrinks in proportion.

The host launches the kernels, and the GPU waits where it is late (`host_waits`):

    step = max(sum of busy, sum of host, sum over phases of max(busy, host) - queue)

Forward pass, backward pass and optimiser follow each other, each bound by the GPU or by the host, which
runs ahead by what the driver holds, 1,024 launches: an optimiser of thousands of small kernels starves
the GPU at the end of a step that its products would otherwise hide. Compiled passes are launched by generated
code; their optimiser is not compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpuwise.model.trace import Kernel, Trace
from gpuwise.predict.card import Card
from gpuwise.predict.graph import STRIDED
from gpuwise.predict.kernels import (
    CHANNELS_FIRST,
    ENGINES,
    HALF,
    KEPT_TRACES,
    Group,
    Kernels,
    Places,
    Products,
    of_trace,
    tile_seconds,
)
from gpuwise.predict.rates import MATRIX, Parameters, Rates, held, on_card, operation_joules, sustained

Array = NDArray[np.float64]
_TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64), (64, 32), (32, 64))
_SPLITS = (1, 2, 4, 8, 16)
# Every tiling that is tried, as columns: tile rows, tile columns, parts of K.
ROWS, COLUMNS, SPLIT = (
    np.array(axis, dtype=float)[:, None]
    for axis in zip(*((r, c, s) for r, c in _TILES for s in _SPLITS), strict=True)
)
# Share of a tile's start and end that nothing hides, by how matrix units are fed; else none is assumed.
#
# Registers hold one tile at a time. Hopper's two groups of warps can take turns, one multiplying while the
# other writes. Blackwell's tensor memory holds the next tile's sums while this one's are written (NVIDIA,
# CUTLASS documentation, "Efficient GEMM", ping-pong kernels; PTX ISA, tensor memory).
EXPOSED: Mapping[str, float] = {"mma": 1.0, "wgmma": 0.5}
# Cycles in which a tile multiplies nothing: first operands from L2 or DRAM, last results to memory, about
# 700 each, and the barriers between.
_FILL = 2000.0
# Share of the time to write all results that falls between multiplications: a wave of tiles ends at once.
_DRAIN = 0.5
# Bytes a clock and unit from L2 where no two units share what they read: 5,120 B a clock and A100 are 47
# for each of 108 units (NVIDIA A100 whitepaper, 2020), of which a kernel reaches about two thirds. Later
# parts of the data centre hand one read to a cluster of units.
_FROM_L2 = 32.0
# Operations a clock and unit: 62 % of an H100's 3,790.
_WARP_RATE = {"bf16": 2350.0, "fp16": 2350.0}
# Share of the bandwidth at which a tensor's dimensions change order: reads or writes are strided.
_REORDER = 0.5
# Vector lanes of a unit that shared memory feeds.
_LANES = 64.0
# Operations a clock and unit in 16 bits of cards that are not held back in the matrix units.
_FULL_RATE = 1024.0
# Size of an operand against 16 bits.
_WIDTH: Mapping[str, float] = {"tf32": 2.0, "fp8": 0.5, "int8": 0.5, "fp4": 0.25}
_FULL_TILE = 128
# K that one step of the inner loop takes.
_DEPTH = 32


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
    Matrix units that are fed from registers wait less where they are slower: large products on ten GeForce
    cards, of half the rate, reach 1.0 to 1.1 of the stated peak.
    """
    share = rates["matmul"]
    if card.vendor != "NVIDIA":
        return share
    each = card.peak(dtype) / (card.clock_hz * card.units)
    if dtype == "fp32" and "lanes" in rates:
        return float(share * min(1.0, (2.0 * _LANES / each) ** rates["lanes"]))
    if card.engine == "mma" and dtype in MATRIX:
        return float(1.0 - (1.0 - share) * min(1.0, each * _WIDTH.get(dtype, 1.0) / _FULL_RATE))
    return share


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


def kernel_seconds(kernels: Kernels, card: Card, rates: Rates) -> Array:
    """Seconds of one launch of each kernel."""
    seconds = kernels.waits * rates.get("sync", 0.0)
    for group in kernels.groups:
        seconds[group.at] += _group_seconds(group, card, rates)
    return np.asarray(seconds)


def _group_seconds(group: Group, card: Card, rates: Rates) -> Array:
    if group.kind == "matmul":
        assert group.products is not None
        return product_seconds(group.products, card, rates, group.dtype)
    moved = moved_seconds(group.moved, card, rates)
    if group.kind == "convolution":
        return np.maximum(_convolutions(group, card, rates), moved)
    if group.kind == "attention":
        return np.maximum(_attention(group, card, rates), moved)
    return moved


def _attention(group: Group, card: Card, rates: Rates) -> Array:
    """Seconds of attention: by instructions of one warp, or of groups where the card has such kernels."""
    held_clock = sustained(rates, card, group.dtype)
    seconds = group.flop / (_warp_peak(card, group.dtype) * held_clock * rates.get("attention", 0.5))
    if group.tiles is not None and card.engine in ENGINES:
        reached = card.peak(group.dtype) * held_clock * _share(card, rates, group.dtype)
        seconds = np.where(group.tiles.fused, tile_seconds(group.tiles, card, reached), seconds)
    return np.asarray(seconds)


def _warp_peak(card: Card, dtype: str) -> float:
    """FLOP/s of the matrix units for instructions of one warp, which attention was first written in.

    Those kept their rate for each unit while the peak moved on to instructions of groups of warps: about
    62 % of it on Hopper (Luo et al. 2024, "Benchmarking and dissecting the Nvidia Hopper GPU").
    """
    most = _WARP_RATE.get(dtype, np.inf) * card.units * card.clock_hz
    return float(min(card.peak(dtype), most if card.vendor == "NVIDIA" else np.inf))


def _convolutions(group: Group, card: Card, rates: Rates) -> Array:
    """Dense ones as implicit products, depthwise ones on the vector units. A backward kernel has its own
    operations, of the same shape."""
    work = group.products
    assert work is not None
    assert group.depthwise is not None
    scale = group.flop / np.maximum(2.0 * work.b * work.m * work.n * work.k, 1.0)
    dense = product_seconds(work, card, rates, group.dtype) * scale / rates.get("convolution", 1.0)
    vector = group.flop / (card.peak("fp32") * rates.get("depthwise", 0.2))
    return np.where(group.depthwise, vector, dense)


def trace_seconds(trace: Trace, card: Card, rates: Rates) -> Array:
    """Seconds of one launch of each kernel of a step."""
    kernels = of_trace(trace)
    seconds = kernel_seconds(kernels, card, rates) * kernel_overheads(trace, card)
    if not trace.compiled:
        seconds = seconds + _reorder_seconds(kernels, card, rates)
    clock = _clock(trace, kernels, card, rates, seconds)
    return np.where(kernels.heavy, seconds / clock, seconds)


def _clock(trace: Trace, kernels: Kernels, card: Card, rates: Rates, seconds: Array) -> float:
    """Clock of the whole step under the power limit, over the boost clock."""
    if "step.matrix" not in rates:
        return 1.0
    spent = kernels.counts * seconds
    busy = float(spent @ kernels.heavy)
    rest = float(spent.sum()) - busy
    idle = host_waits(trace, spent, rates)
    operations = kernels.flop * kernels.counts
    joules = sum(
        float(operations[at].sum()) * operation_joules(rates, card, dtype, "step.matrix")
        for dtype, at in kernels.formats.items()
    )
    moved = float(kernels.moved @ kernels.counts)
    each = rates["step.stacked" if card.stacked else "step.byte"] * 1e-12
    return held(rates, card, compute_j=joules, other_j=moved * each, busy_s=busy, rest_s=rest + idle)


def _reorder_seconds(kernels: Kernels, card: Card, rates: Rates) -> Array:
    """Seconds to bring what a convolution reads to channels last, and back what it writes.

    Matrix units convolve 16-bit operands in no other order; a compiler chooses the order once for a network
    (NVIDIA, "Convolutional layers user's guide", tensor layouts; PyTorch, inductor's layout optimisation).
    """
    return np.asarray(kernels.reordered / (card.bytes_per_s * rates["memory"] * _REORDER))


def step_seconds(trace: Trace, card: Card, parameters: Parameters) -> float:
    """Seconds of one step: of its kernels, and of waiting for the host that launches them."""
    rates = on_card(parameters, card)
    each = of_trace(trace).counts * trace_seconds(trace, card, rates)
    return float(each.sum()) + host_waits(trace, each, rates)


# Launches that wait in the driver (CUDA; further ones block the host).
QUEUE = 1024
_PHASES = ("forward", "backward", "optimiser")


def host_waits(trace: Trace, each: Array, rates: Rates) -> float:
    """Seconds of a step that the GPU waits for launches, whose kernels take `each` seconds in all."""
    phase, launches = _launches(trace)
    busy = np.bincount(phase, weights=each, minlength=len(_PHASES))
    host = launches * rates["dispatch"]
    queued = np.maximum(busy, host).sum() - QUEUE * rates["dispatch"]
    return float(max(busy.sum(), host.sum(), queued) - busy.sum())


@lru_cache(maxsize=KEPT_TRACES)
def _launches(trace: Trace) -> tuple[Places, Array]:
    """Phase of every kernel, and launches of every phase by the host's own code."""
    phase = np.array([_PHASES.index(kernel.phase) for kernel in trace.kernels], dtype=np.intp)
    counts = np.array([kernel.count for kernel in trace.kernels], dtype=float)
    launches: Array = np.bincount(phase, weights=counts, minlength=len(_PHASES)).astype(np.float64)
    if trace.compiled:
        return phase, launches * [name == "optimiser" for name in _PHASES]
    return phase, launches * (trace.launches / max(1.0, launches.sum()))


# Of memory, for each unit of an H200.
_BYTES_A_CLOCK = 18.4
# Eager pooling in 16 bits: instructions for each element and each place of a window decide, 4.5 and 8
# picoseconds an element read or written by max pooling on the project's H200, 12 and 18 by average pooling,
# which divides and compares.
_POOLS: Mapping[str, float] = {
    "max_pool2d_with_indices_backward": 4.9, "max_pool2d_with_indices": 3.6,
    "aten.avg_pool2d_backward": 19.0, "aten.avg_pool2d": 19.0,
}  # fmt: skip
# Of these times in fp32, whose elements have twice the bytes in nearly the same time.
_WIDE = 0.7
# Random bits and erf take longer than the memory there, eager and compiled (docs/performance.md).
_HARD: Mapping[str, float] = {"native_dropout": 1.8, "gelu": 1.4}
# Of a compiled step.
_GENERATED: Mapping[str, float] = {"max_pool2d_with_indices_backward": 4.0, **_HARD}
# Of an eager one: sums over rows read, and tensors put together write, across the order of memory; group
# norm spreads a factor of each group over its places.
_SLOW: Mapping[str, float] = {
    "aten.sum": 2.0, "layer_norm_backward:weight": 2.0, "aten.cat": 2.0, "native_group_norm:apply": 2.2,
    **_HARD,
}  # fmt: skip
# Eager kernels that divide to find the place of every element, in 16 bits, on average of what rotary
# embeddings, parts of a tensor, caches and transposes take on the project's H200.
_STRIDED: Mapping[str, float] = {"pointwise": 2.2, "copy": 4.0}
# Eager element-wise kernels of operands that lie alike, as fast as a copy: compiled ones do more at once.
_STREAMED = 0.8
# Kinds whose time is told elsewhere; the optimiser's is of fp32.
_WITH_ARITHMETIC = frozenset({"matmul", "convolution", "attention", "optimiser"})
# By what convolutions of 3 x 3 in IEEE fp32 are quicker: 2.25 times fewer operations, less transforms
# (Lavin & Gray 2016, "Fast algorithms for convolutional neural networks"). Matrix units have no such
# kernels.
_WINOGRAD = 1.8
# Batch norm in training where nothing is compiled: torch's own in bf16, and cuDNN's in channels-first
# order. Channels last has kernels as fast as memory in other formats.
_BATCH_NORM = 1.5
# Window, groups and depth of a convolution, of its shape.
_3X3 = (3, 3, 1, 1)


def kernel_overheads(trace: Trace, card: Card) -> Array:
    """Time of each kernel over what its operations and traffic need."""
    times, waits = _times(trace)
    share = card.bytes_per_s / (card.units * card.clock_hz) / _BYTES_A_CLOCK
    return np.where(waits, np.maximum(1.0, times * share), times)


@lru_cache(maxsize=KEPT_TRACES)
def _times(trace: Trace) -> tuple[Array, NDArray[np.bool_]]:
    """On an H200, and whether instructions are waited for."""
    first = any(kernel.name.endswith(CHANNELS_FIRST) for kernel in trace.kernels)
    each = [_code(trace, kernel, channels_first=first) for kernel in trace.kernels]
    return np.array([times for times, _ in each]), np.array([waits for _, waits in each], dtype=bool)


def _code(trace: Trace, kernel: Kernel, *, channels_first: bool) -> tuple[float, bool]:
    """Times of one kernel on an H200; not waiting, it takes them on every card."""
    if kernel.kind == "convolution" and kernel.dtype == "fp32" and kernel.phase == "forward":
        return 1.0 / _WINOGRAD if kernel.shape[5:9] == _3X3 else 1.0, False
    if "native_batch_norm" in kernel.name and trace.mode == "train" and not trace.compiled:
        return _BATCH_NORM if kernel.dtype == "bf16" or channels_first else 1.0, False
    if kernel.kind in _WITH_ARITHMETIC:
        return 1.0, False
    if trace.compiled:
        return _named(_GENERATED, kernel) or 1.0, True
    return _eager(kernel)


def _eager(kernel: Kernel) -> tuple[float, bool]:
    """The same of one that only moves bytes."""
    half = kernel.dtype in HALF
    if pooling := _named(_POOLS, kernel):
        return pooling * (1.0 if half else _WIDE), True
    if slow := _named(_SLOW, kernel):
        return slow, True
    if kernel.name.endswith(STRIDED):
        return _STRIDED.get(kernel.kind, 1.0) * (1.0 if half else 0.5), True
    return (_STREAMED, False) if kernel.kind in _STRIDED else (1.0, True)


def _named(times: Mapping[str, float], kernel: Kernel) -> float | None:
    """Those of the first operator of the table that a kernel is."""
    return next((each for part, each in times.items() if part in kernel.name), None)
