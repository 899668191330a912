"""One step of a traced workload on one card: throughput with its interval, memory, watts, and what bounds it.

Products run in tiles of the output: `tiles / units` waves, of which the last is partly empty; a part of
K each where tiles are few (split-K). Operands are read once from DRAM and once per row or column of tiles
from L2 (Hong & Kung 1981; NVIDIA, "Matrix multiplication background", 2023). A tile starts with an empty
pipeline and ends by writing its results: how much of that other tiles hide is a matter of how the matrix
units are fed (`EXPOSED`). What kernels take beside that was measured by class (`kernels`).

The host launches the kernels, and the GPU waits where it is late (`host_waits`): a step is the softened
maximum of what either takes.

A step fits where (peak + workspaces) x error <= stated memory x share that the driver leaves - context, for
the share of known errors that is its probability (`data/errors.json`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import hypot, log
from typing import Literal

import numpy as np

from gpuwise.model.result import Interval
from gpuwise.predictor import rates
from gpuwise.predictor.card import Card
from gpuwise.predictor.kernels import (
    BYTES,
    DECODES,
    ENGINES,
    EXPERTS,
    HALF,
    HELD,
    KEPT_TRACES,
    STEP,
    Array,
    Group,
    Kernel,
    Kernels,
    Products,
    Trace,
    factors,
    of_trace,
    tile_seconds,
)
from gpuwise.predictor.rates import FULL_RATE, MATRIX, Parameters, Rates, byte_joules, held, step_joules
from gpuwise.workloads.registry import network

_TILES = (
    (256, 128), (128, 256), (128, 128), (256, 64), (64, 256), (128, 64), (64, 128), (64, 64), (256, 32),
    (32, 256), (128, 32), (32, 128), (64, 32), (32, 64),
)  # fmt: skip
_SPLITS = (1, 2, 4, 8, 16)
# Every tiling that is tried, as columns: tile rows, tile columns, parts of K.
ROWS, COLUMNS, SPLIT = (
    np.array(axis, dtype=float)[:, None]
    for axis in zip(*((r, c, s) for r, c in _TILES for s in _SPLITS), strict=True)
)
# Share of a tile's start and end that nothing hides, by how matrix units are fed; else none is assumed.
#
# Registers hold one tile at a time. Hopper's two groups of warps can take turns, one multiplying while the
# other writes; so do Blackwell's two parts of tensor memory (NVIDIA, CUTLASS documentation, "Efficient GEMM",
# ping-pong kernels; PTX ISA, tensor memory). What starts a kernel and what ends it nothing hides.
EXPOSED: Mapping[str, float] = {"mma": 1.0, "wgmma": 0.5, "tcgen05": 0.5}
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
# How sharply the slowest of arithmetic, instructions and memory decides: between their maximum and their sum.
SOFTENED = 4.0
# Host time for one expert, in operators: to slice its rows and its matrix, and to launch their product.
_EXPERT_CALLS = 10.0
# Seconds between two kernels of a graph: 0.3 to 0.9 microseconds in six steps of three networks on an H200.
_APART = 0.5e-6
# Vector lanes of a unit that shared memory feeds.
_LANES = 64.0
_FULL_TILE = 128
# Rows, columns and depth of one instruction of matrix units that are fed from registers (PTX ISA, `mma`).
_LEAST = (16.0, 8.0, 16.0)
# K that one step of the inner loop takes.
_DEPTH = 32


def product_seconds(work: Products, card: Card, rates: Rates, dtype: str) -> Array:
    """Seconds of each product on `card`: the best of the tilings, as the libraries choose."""
    # On vector lanes libraries were no faster in 16 bits than in fp32 (8.4 and 8.6 TFLOP/s on a P100).
    dtype = "fp32" if dtype in card.on_lanes else dtype
    rate = card.peak(dtype) * _share(card, rates, dtype)
    unit_rate = rate * rates.get(f"format.{dtype}", 1.0) / card.units
    rows, columns = np.ceil(work.m / ROWS), np.ceil(work.n / COLUMNS)
    waves = work.b * rows * columns * SPLIT / card.units
    quantised = waves + rates["wave"] * (np.ceil(waves) - waves)
    depth = np.ceil(work.k / SPLIT / _DEPTH) * _DEPTH
    # What fills no side of the smallest tile is computed by as many instructions as it needs.
    tiles, sizes = (ROWS, COLUMNS, depth), (work.m, work.n, work.k / SPLIT)
    height, width, depth = (
        np.where(size < _DEPTH, np.minimum(tile, np.ceil(size / least) * least), tile)
        for tile, size, least in zip(tiles, sizes, _LEAST, strict=True)
    )
    small = 1.0 + rates["tile"] * (_FULL_TILE / ROWS + _FULL_TILE / COLUMNS - 2.0)
    # NVIDIA's vector units multiply from registers on every card.
    registers = card.vendor == "NVIDIA" and dtype not in MATRIX
    exposed = EXPOSED["mma"] if registers else EXPOSED.get(card.engine, 0.0)
    arithmetic = quantised * 2.0 * height * width * depth * np.maximum(small, 0.5) / unit_rate
    arithmetic = arithmetic + quantised * exposed * _FILL / card.clock_hz
    traffic = work.b * work.size * work.k * (work.m * columns + work.n * rows)
    traffic = traffic + (SPLIT - 1) * 8.0 * work.b * work.m * work.n
    most = card.units * card.clock_hz * _FROM_L2 if card.engine == "mma" else np.inf
    l2 = traffic / min(_l2_rate(card, rates), most)
    power, dram = rates["overlap"], _dram(work.moved, card, rates)
    bound = (arithmetic**power + l2**power + dram**power) ** (1 / power)
    drain = exposed * _DRAIN * work.written / (card.bytes_per_s * rates["memory"])
    fixed = np.log2(SPLIT) * latency(card, rates["reduce"]) + depth / _DEPTH * rates["step"] / card.clock_hz
    alone, launch = (bound + fixed).min(axis=0) + drain, latency(card, rates["launch"])
    # Not replayed from a graph on Intel's cards: the host launches one kernel while another runs.
    beside = SOFTENED if card.vendor == "Intel" else 1.0
    return np.asarray((alone**beside + launch**beside) ** (1 / beside))


def product_alone(work: Products, card: Card, rates: Rates, dtype: str) -> Array:
    """The same where nothing else runs, so that its own power decides the clock."""
    seconds = product_seconds(work, card, rates, dtype)
    operations = 2.0 * work.b * work.m * work.n * work.k
    joules = operations * step_joules(rates, card, dtype)
    moved = work.moved * byte_joules(rates, card)
    return np.asarray(seconds / held(rates, card, compute_j=joules, other_j=moved, busy_s=seconds))


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
        return float(1.0 - (1.0 - share) * min(1.0, each * BYTES[dtype] / 2.0 / FULL_RATE))
    return share


def _dram(moved: Array, card: Card, rates: Rates) -> Array:
    """Seconds to bring `moved` bytes in; where tables were measured warm, L2 holds what fits."""
    dram = moved / (card.bytes_per_s * rates["memory"])
    if "warm" not in rates:
        return np.asarray(dram)
    held = 1.0 / (1.0 + (moved / (rates["warm"] * card.l2_bytes)) ** 4)
    return np.asarray(dram * (1 - held) + held * np.minimum(dram, moved / _l2_rate(card, rates)))


def latency(card: Card, seconds: float) -> float:
    """Half of a latency is a number of cycles; memory and what hands out blocks have clocks of their own.
    `seconds` is what it takes at 2 GHz. The least product takes 2.6 microseconds at 1.4 GHz, 1.8 at 2.6."""
    return float(seconds * (1.0 + 2e9 / card.clock_hz) / 2.0)


def _l2_rate(card: Card, rates: Rates) -> float:
    """Bytes/s between L2 and the units: each unit takes a fixed number of bytes per clock."""
    return card.units * card.clock_hz * rates["l2.bytes"]


def _streamed(card: Card, rates: Rates) -> float:
    """Bytes/s that copies reach."""
    return card.bytes_per_s * rates.get("stream", rates["memory"])


def memory_seconds(moved: Array, card: Card, rates: Rates) -> Array:
    """Seconds to bring in and write `moved` bytes: from L2 as far as they fit there and were just used, half
    of them where they are as many as it has (public times of element-wise operators on an A100)."""
    dram = moved / _streamed(card, rates)
    held = 1.0 / (1.0 + (moved / card.l2_bytes) ** 2)
    return np.asarray(dram * (1 - held) + held * np.minimum(dram, moved / _l2_rate(card, rates)))


def basis(kernels: Kernels, card: Card, rates: Rates) -> tuple[Array, Array, Array]:
    """Seconds of one launch of each kernel on the matrix units, the vector lanes and the memory, if each of
    them worked as it does at its best (`classes`)."""
    arithmetic = np.zeros_like(kernels.moved)
    for group in kernels.groups:
        if group.kind == "attention":
            arithmetic[group.at] = _attention(group, card, rates)
        elif group.products is not None:
            work = group.products
            # A backward kernel of a convolution has its own operations, of the same shape.
            scale = group.flop / np.maximum(2.0 * work.b * work.m * work.n * work.k, 1.0)
            arithmetic[group.at] = scale * product_seconds(work, card, rates, group.dtype)
    lanes = np.minimum(card.units, kernels.blocks) * card.clock_hz * _LANES
    arithmetic = np.where(kernels.direct, 0.0, arithmetic)
    memory = np.where(
        kernels.cold, kernels.moved / _streamed(card, rates), memory_seconds(kernels.moved, card, rates)
    )
    return arithmetic, kernels.handled / lanes, memory


def kernel_seconds(kernels: Kernels, card: Card, rates: Rates) -> Array:
    """Seconds of one launch of each kernel."""
    parts, of, power = basis(kernels, card, rates), kernels.classes, SOFTENED
    factors = (_arithmetic(kernels, card, rates), of.vector, hidden(of.memory, beside(kernels, card)[1]))
    bound = sum((part * factor) ** power for part, factor in zip(parts, factors, strict=True)) ** (1 / power)
    bound = bound * rates.get("kernels", 1.0)
    return np.asarray(bound + of.latency * latency(card, rates["launch"]) + kernels.waits * rates["sync"])


def _arithmetic(kernels: Kernels, card: Card, on: Rates) -> Array:
    """Factors on the time of the matrix units. Before Ampere cuDNN convolves in fp32 with fewer
    multiplications (Winograd's method)."""
    found = slowed(kernels.classes.arithmetic, beside(kernels, card)[0])
    for group in kernels.groups:
        if group.kind == "convolution" and group.dtype == "fp32" and group.products is not None:
            wide = group.products.size < 4.0  # of a window, an element is read for all of its places
            found[group.at] *= np.where(wide, on.get("window", 1.0), on.get("point", 1.0))
    return found


def beside(kernels: Kernels, card: Card) -> tuple[Array, Array]:
    """By how much a multiprocessor's matrix units and its share of the bandwidth are slower than those of the
    card whose classes were measured; at most 1."""
    there = rates.reference_card()
    slower = np.ones_like(kernels.moved)
    for dtype, at in kernels.formats.items():
        slower[at] = min(1.0, card.each_clock(dtype) / there.each_clock(dtype))
    here, usual = (one.bytes_per_s / one.units / one.clock_hz for one in (card, there))
    return slower, np.full_like(slower, min(1.0, here / usual))


def slowed(factor: Array, slower: Array) -> Array:
    """The factor of a class on slower matrix units. What a kernel takes beyond their time (finding operands,
    bringing them to the units) is cycles of a multiprocessor: a smaller part there."""
    return np.where(factor > 1.0, 1.0 + (factor - 1.0) * slower, factor)


def hidden(factor: Array, slower: Array) -> Array:
    """The same of the memory: what a kernel takes beyond its bytes is instructions beside them, which hide
    behind bytes that are slower."""
    beyond = (np.maximum(factor, 1.0) ** SOFTENED - 1.0) * slower**SOFTENED
    return np.where(factor > 1.0, (1.0 + beyond) ** (1.0 / SOFTENED), factor)


def _attention(group: Group, card: Card, rates: Rates) -> Array:
    """Seconds of attention: by instructions of one warp, in which it was first written, or of groups of warps
    where the card has such kernels.

    The former kept their rate for each unit while the peak moved on to the latter: about 62 % of it on Hopper
    (Luo et al. 2024, "Benchmarking and dissecting the Nvidia Hopper GPU").
    """
    warps = _WARP_RATE.get(group.dtype, np.inf) * card.units * card.clock_hz
    peak = min(card.peak(group.dtype), warps if card.vendor == "NVIDIA" else np.inf)
    seconds = group.flop / (peak * rates.get("attention", 0.5))
    if group.tiles is not None and card.engine in ENGINES:
        reached = card.peak(group.dtype) * _share(card, rates, group.dtype)
        seconds = np.where(group.tiles.fused, tile_seconds(group.tiles, card, reached), seconds)
    return np.asarray(seconds)


def paced(trace: Trace, card: Card, rates: Rates) -> tuple[Array, float]:
    """Seconds of one launch of each kernel of a step at the clock that it holds, and that over the boost."""
    kernels = of_trace(trace)
    half = trace.precision in HALF and (trace.mode == "train" or trace.item != "token")
    seconds = kernel_seconds(kernels, card, rates) * (rates.get("half", 1.0) if half else 1.0)
    held_clock = clock(trace, kernels, card, rates, seconds)
    return np.where(kernels.heavy, seconds / held_clock, seconds), held_clock


def clock(trace: Trace, kernels: Kernels, card: Card, rates: Rates, seconds: Array) -> float:
    """Clock of the whole step under the power limit, over the boost clock: that of the kernels which compute.

    Those that only move bytes leave them nothing of the limit: counted with what a copy draws, clocks of 239
    of our own H200 steps were 7.0 % off, and are 4.5 %.
    """
    spent = kernels.counts * seconds
    busy = float(spent @ kernels.heavy)
    if "step.matrix" not in rates or not busy:
        return 1.0
    operations = kernels.flop * kernels.counts
    formats = kernels.formats.items()
    joules = sum(float(operations[at].sum()) * step_joules(rates, card, dtype) for dtype, at in formats)
    moved = float((kernels.moved * kernels.counts) @ kernels.heavy)
    other, idle = moved * byte_joules(rates, card), host_waits(trace, spent, rates)
    return float(held(rates, card, compute_j=joules, other_j=other, busy_s=busy, rest_s=idle))


def host_waits(trace: Trace, each: Array, rates: Rates) -> float:
    """Seconds of a step that the GPU waits for launches, whose kernels take `each` seconds in all.

    Where neither is much later than the other each waits now and then: short kernels are among long ones. A
    graph is one launch, whose kernels wait for each other alone."""
    busy, apart = float(each.sum()), 0.0
    host = rates["host"] * sum(often * rates[f"host.{what}"] for what, often in host_work(trace).items())
    if trace.from_graph:
        apart = _APART * sum(k.count for k in trace.kernels if not k.name.startswith(DECODES))
    return float(np.linalg.norm((busy + apart, host), np.inf if trace.from_graph else SOFTENED)) - busy


@lru_cache(maxsize=KEPT_TRACES)
def host_work(trace: Trace) -> Mapping[str, float]:
    """How often the host does each of its tasks in a step, by the names of the fitted rates.

    An eager step enters functions of Python, dispatches operators (views included) and launches kernels;
    autograd dispatches once more to note each operator of a training step and twice to go back through it,
    and each gradient is set, cleared and handed over. Generated code is entered once a pass, as the optimiser
    is, asks of each module whether its assumptions hold, launches its kernels, and hands over each gradient.
    """
    calls, training = Counter(dict(trace.calls)), trace.mode == "train"
    learnt = trace.memory.gradient_count if trace.memory and training else 0.0
    found = {"gradient": learnt, "entered": float(training)}
    if trace.from_graph:
        return found | {"call": calls["modules"]} if trace.replayed else found
    # What goes through all places of a recurrent network is launched once, with its products of rows.
    passes = [k for k in trace.kernels if k.phase != "optimiser" and not k.name.endswith(HELD)]
    # Where torch has no kernel of all experts it goes through them (GroupedMMUtils.h, `_grouped_mm_fallback`)
    cut = _EXPERT_CALLS * sum(k.count for k in passes if EXPERTS in k.name and k.shape[0] == 1)
    if trace.compiled:
        found["entered"] += 1.0 + training
        launches = float(sum(kernel.count for kernel in passes))
        return found | {"generated": launches, "call": calls["modules"] + cut, "handed": learnt}
    found["launch"] = float(sum(k.count * _launches(k) for k in passes))
    found["call"] = calls["forward"] * (1.0 + training) + 2.0 * calls["backward"] + cut
    return found | {"function": calls["functions"]}


def _launches(kernel: Kernel) -> int:
    """Launches that take the host as long as this one of eager code. For each place of a recurrent network
    there is a product and a kernel of gates; of gradients of convolutions cuDNN chooses among its kernels,
    makes room for one and launches it."""
    if kernel.kind == "convolution" and kernel.phase == "backward":
        return 3
    return 2 if kernel.name.endswith(STEP) else 1


Evidence = Literal["spec-only", "calibrated", "transferred"]
Bound = Literal["compute", "memory", "launch"]
# Spread from which a class says little more than that its kernels move and compute something.
NEW = 0.65
# Part of the scatter of classes that is left of a network whose own steps they were fitted to.
FAMILIAR = 0.4
# How far the time of experts may be from that of evenly chosen ones, as a logarithm: of 163 pairs of public
# kernels, even and by a power law, four in five are within a factor of 1.48.
UNEVEN = 0.39
# Of what two cards' clocks differ under their power limits, by how much a transfer may be off: energies of an
# operation are known within half.
SLOWED = 0.5
# Steps, each of one trace on one card, that are remembered: some two hundred bytes each.
KEPT_STEPS = 2**15


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is predicted of one step."""

    throughput: Interval  # Items a second
    seconds: float
    watts: Interval
    bound: Bound
    shares: tuple[tuple[Bound, float], ...]  # Share of the step's time that each bound takes, largest first
    evidence: Evidence
    new: float  # Share of the time in kernels of which nothing alike was measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Where the time of a step goes by the model alone."""

    busy: float  # Seconds of its kernels
    waits: float  # Seconds that the GPU waits for the host to launch them
    shares: tuple[tuple[Bound, float], ...]
    spread: float
    """Standard deviation of the logarithm of the step's time, from how far kernels scatter around the classes
    that it consists of."""
    host: tuple[float, float]
    """By how much the step is shorter on a quick host and longer on a slow one, in log space."""
    slowed: float  # By how much the power limit lowers the clock, in log space
    new: float  # Share of the time in classes of which nothing alike was measured

    @property
    def seconds(self) -> float:
        return self.busy + self.waits


def usual(trace: Trace, card: Card) -> Spent:
    """The time of a step by the general parameters, and by what was calibrated on the card. Raises
    NoDataError where the card lacks a format."""
    return _usual(trace, card, rates.of_card(card.id))


@lru_cache(maxsize=KEPT_STEPS)
def _usual(trace: Trace, card: Card, own: rates.Operators | None) -> Spent:
    on = rates.usual(card)
    return spent(trace, card, on if own is None else {**on, "host": on["host"] * own.host}, own)


def spent(trace: Trace, card: Card, on: Rates, own: rates.Operators | None = None) -> Spent:
    """The time of a step by these rates of the card, and its own measured operators. Raises NoDataError where
    the card lacks a format."""
    kernels = of_trace(trace)
    each, held_clock = paced(trace, card, on)
    each = each * kernels.counts
    if own is not None:
        each = each * factors(trace.kernels, own.factors, compiled=trace.compiled)
    waits, of, busy = host_waits(trace, each, on), kernels.classes, max(float(each.sum()), 1e-12)
    total = busy + waits
    # Kernels of one class err together, classes apart.
    classes = float(np.linalg.norm(np.bincount(of.which, weights=each * of.spread)))
    scatter = hypot(classes, UNEVEN / rates.novelty() * float(each @ kernels.routed)) / busy
    # Of slower kernels a step is longer by a part: it is a softened maximum.
    familiar = FAMILIAR if network(trace.workload) in rates.measured_networks() else 1.0
    quick, slow = (
        busy + host_waits(trace, each, {**on, "host": on["host"] * factor})
        for factor in rates.hosts(trace.mode, calibrated=own is not None)
    )
    return Spent(
        busy=busy, waits=waits, shares=_shares(kernels, card, on, each, waits),
        spread=scatter * (busy / total) ** SOFTENED * familiar * evened(kernels, each),
        host=(log(total / quick), log(slow / total)), slowed=max(0.0, -log(held_clock)),
        new=float(each @ (of.spread >= NEW)) / total,
    )  # fmt: skip


def evened(kernels: Kernels, each: Array) -> float:
    """The part of the scatter that a step keeps whose products take more than half of its time: they differ
    in size, and their errors with it."""
    of = [group.at for group in kernels.groups if group.kind in ("matmul", "attention")]
    products = sum(float(each[at].sum()) for at in of) / max(float(each.sum()), 1e-12)
    return 1.0 - max(0.0, products - 0.5)


def step(
    trace: Trace, card: Card, *, parameters: Parameters | None = None, evidence: Evidence = "spec-only",
    factor: float = 1.0, width: float = 1.0, apart: float = 0.0, source: Card | None = None,
) -> Step:  # fmt: skip
    """The step of `trace` on `card`; `factor` multiplies its time (`evidence.own_factor`), `width` the half
    width of its interval (`evidence.own_width`), to which `apart` is added; `source` is the card on which
    the factor was measured: the less it is like this one the wider is the interval.

    Raises NoDataError where the card lacks a format of the trace, or where less than nine tenths of
    a pass are in operators of known cost.
    """
    if evidence == "spec-only" and rates.of_card(card.id) is not None:
        evidence = "calibrated"
    own = None if parameters is None else rates.on_card(parameters, card)
    found = usual(trace, card) if own is None else spent(trace, card, own)
    seconds = found.seconds * factor
    other = 0.0 if source is None else between(source, card, trace)
    more = apart + card.unproven(trace.precision)
    more += rates.unknown_half(trace.known if trace.kernels else 0.0, trace.unknown)
    quicker, slower = (hypot(width * half, other) + more for half in halves_with(found, evidence))
    return Step(
        throughput=rates.around(
            trace.items / seconds, quicker, below=slower, method=f"conformal, {evidence}"
        ),
        seconds=seconds,
        watts=_watts(trace, card, seconds, found.busy * factor), bound=found.shares[0][0],
        shares=found.shares, evidence=evidence, new=found.new,
    )  # fmt: skip


def between(source: Card, target: Card, trace: Trace) -> float:
    """What widens a transfer, in log space: its cards' clocks under their limits, and what they do in one."""
    slower = usual(trace, target).slowed - usual(trace, source).slowed
    return hypot(SLOWED * slower, rates.unlike(source, target, trace.precision))


def halves_with(found: Spent, evidence: Evidence) -> tuple[float, float]:
    """Half widths in log space, towards a quicker and towards a slower step, from errors of other cards, how
    its classes of kernels scatter and hosts differ: cards, networks and hosts are new apart from each other.
    A network that was measured on another card is not new. Few cards are known of some levels, but a
    measurement more is no reason to know less than the data sheet does."""
    new = rates.novelty() * found.spread
    spec = hypot(rates.step_half("spec-only"), new)
    own = hypot(rates.step_half(evidence), 0.0 if evidence == "transferred" else new)
    quicker, slower = (hypot(min(spec, own), host) for host in found.host)
    return quicker, slower


def _shares(
    kernels: Kernels, card: Card, on: Rates, each: Array, idle: float
) -> tuple[tuple[Bound, float], ...]:
    """Time of kernels by what their data sheet's slower side is, and the time the device waits.

    A kernel that takes ten times what the sheet says is bound by its launch where that is most of its time,
    else by what the model says that it waits for.
    """
    arithmetic, memory = np.zeros(len(each)), kernels.moved / card.bytes_per_s
    for dtype, at in kernels.formats.items():
        arithmetic[at] = kernels.flop[at] / card.peak(dtype)
    known = np.maximum(arithmetic, memory) * kernels.counts > 0.1 * each
    fixed = kernels.classes.latency * latency(card, on["launch"]) + kernels.waits * on["sync"]
    launched = ~known & (fixed * kernels.counts > 0.5 * each)
    computes = arithmetic > memory
    if not (known | launched).all():
        products, vectors, bytes_moved = basis(kernels, card, on)
        busy = np.maximum(products * _arithmetic(kernels, card, on), vectors * kernels.classes.vector)
        computes = np.where(
            known, computes, busy > bytes_moved * hidden(kernels.classes.memory, beside(kernels, card)[1])
        )
    found: dict[Bound, float] = {
        "compute": float(each[computes & ~launched].sum()),
        "memory": float(each[~computes & ~launched].sum()),
        "launch": idle + float(each[launched].sum()),
    }
    total = sum(found.values()) or 1.0
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return tuple((name, seconds / total) for name, seconds in ordered)


def _watts(trace: Trace, card: Card, seconds: float, busy: float) -> Interval:
    """Mean draw with its interval, whose high end no limit lets pass."""
    kernels = of_trace(trace)
    operations = kernels.flop * kernels.counts
    mean = rates.mean_watts(
        rates.shipped_on("watts", card), card,
        dtype=trace.precision if trace.precision in card.peaks else "fp32",
        flop=float(operations[kernels.heavy].sum()), moved=float(kernels.moved @ kernels.counts),
        seconds=seconds, busy=min(1.0, busy / seconds),
    )  # fmt: skip
    found = rates.around(mean, rates.watts_half())
    return replace(found, high=min(found.high, card.power_w))


KIB, MIB = 2**10, 2**20
# Bytes that torch gives each cuBLAS handle (aten/src/ATen/cuda/CublasHandlePool.cpp): seen as 33,554,432
# beside the operands of a lone product on one H200. Backward has a thread, so a handle, of its own.
CUBLAS_WORKSPACE = {"hopper": 32 * MIB, "earlier": 8 * MIB + 128 * KIB}


@lru_cache(maxsize=KEPT_TRACES)
def workspace_bytes(trace: Trace, generation: str = "hopper") -> float:
    """What cuBLAS holds while the step runs: one workspace a thread that multiplies matrices.

    `generation` is "hopper" (and later) or "earlier".
    """
    threads = {kernel.phase == "backward" for kernel in trace.kernels if kernel.kind == "matmul"}
    return float(len(threads) * CUBLAS_WORKSPACE[generation])


# Of a process with torch's kernels loaded: what the driver takes beside the allocator.
CONTEXT = 600 * MIB
# Share of the stated memory that a process sees: ECC on GDDR and firmware take some.
VISIBLE = 0.98


def free_bytes(card: Card) -> float:
    """What the framework can allocate on an otherwise idle card."""
    return VISIBLE * card.memory_bytes - CONTEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNeed:
    """Peak of the framework's allocations with its 80 % interval, and the probability that it fits."""

    peak: Interval
    fits: float


def fits_in_memory(trace: Trace, card: Card, *, more: float = 0.0) -> MemoryNeed | None:
    """What the step needs on `card`, with `more` bytes for several GPUs' sake; None where the trace has no
    lifetimes."""
    if trace.memory is None:
        return None
    generation = "hopper" if card.engine in ENGINES else "earlier"
    predicted = trace.memory.peak + workspace_bytes(trace, generation) + more
    factors, low, high = _errors()
    fitting = bisect_right(factors, free_bytes(card) / predicted)
    return MemoryNeed(
        peak=Interval(value=predicted, low=predicted * min(1.0, low), high=predicted * max(1.0, high),
                      level=rates.LEVEL, method="errors of measured peaks"),
        fits=fitting / len(factors),
    )  # fmt: skip


@cache
def _errors() -> tuple[list[float], float, float]:
    """measured / predicted of known peaks in rising order, and the ends of their interval."""
    factors = np.exp(rates.memory_errors())
    low, high = np.quantile(factors, [(1 - rates.LEVEL) / 2, (1 + rates.LEVEL) / 2])
    return factors.tolist(), float(low), float(high)
