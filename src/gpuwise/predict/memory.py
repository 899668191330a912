"""Device memory of a step, and the probability that it fits a card.

The step's allocations are replayed through torch's caching allocator (c10/cuda/CUDACachingAllocator.cpp). It
rounds every request up to 512 bytes and serves it from the smallest free block that holds it. Requests up to
1 MiB come from segments of 2 MiB; larger ones from segments of 20 MiB, or from 10 MiB on from their own,
rounded up to 2 MiB. A block is split where at least 512 bytes (small) or more than 1 MiB (large) remain;
neighbours merge when freed.

`peak` is what `torch.cuda.max_memory_allocated` counts, `reserved` what the driver has given. Neither holds
the CUDA context, nor what libraries ask for themselves (`workspace_bytes`). A step fits where

    (peak + workspaces) x error <= stated memory x share that the driver leaves - context

The error is the distribution of log(measured / predicted) of peaks that were measured (`data/errors.json`),
so that "fits" is a probability: the share of the known errors with which it would fit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from gpuwise.model.result import Interval
from gpuwise.model.trace import Kernel, Memory, Trace
from gpuwise.predict.card import Card
from gpuwise.predict.graph import ALLOCATE, FREE, Event, Tape
from gpuwise.predict.interval import LEVEL, memory_errors
from gpuwise.predict.kernels import KEPT_TRACES

KIB, MIB = 2**10, 2**20
SMALLEST, SMALL, SMALL_SEGMENT = 512, 1 * MIB, 2 * MIB
LARGE_SEGMENT, OWN_SEGMENT, OWN_ROUNDING = 20 * MIB, 10 * MIB, 2 * MIB

# Bytes that torch gives each cuBLAS handle (aten/src/ATen/cuda/CublasHandlePool.cpp): seen as 33,554,432
# beside the operands of a lone product on one H200. Backward has a thread, so a handle, of its own.
CUBLAS_WORKSPACE = {"hopper": 32 * MIB, "earlier": 8 * MIB + 128 * KIB}


@dataclass(slots=True, eq=False)
class _Block:
    """A stretch of a segment; `before` and `after` are its neighbours in it."""

    number: int
    size: int
    free: bool = False
    before: _Block | None = None
    after: _Block | None = None


class Allocator:
    """The caching allocator without a device: sizes only."""

    def __init__(self) -> None:
        self.allocated = self.peak = self.reserved = 0
        self._free: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        self._blocks: dict[int, _Block] = {}
        self._count = 0

    def allocate(self, size: float) -> _Block:
        """A block of at least `size` bytes."""
        rounded = max(SMALLEST, -(-int(size) // SMALLEST) * SMALLEST)
        small = rounded <= SMALL
        pool = self._free[small]
        place = bisect_left(pool, (rounded, 0))
        block = self._take(pool, place) if place < len(pool) else self._segment(rounded, small=small)
        remaining = block.size - rounded
        if remaining >= SMALLEST if small else remaining > SMALL:
            self._split(block, rounded, small=small)
        self.allocated += block.size
        self.peak = max(self.peak, self.allocated)
        return block

    def release(self, block: _Block, *, small: bool) -> None:
        """Give a block back; it merges with free neighbours."""
        self.allocated -= block.size
        for other in (block.before, block.after):
            if other is not None and other.free:
                self._free[small].remove((other.size, other.number))
                self._absorb(block, other)
        block.free = True
        insort(self._free[small], (block.size, block.number))

    def _new(self, size: int) -> _Block:
        self._count += 1
        block = self._blocks[self._count] = _Block(self._count, size)
        return block

    def _segment(self, size: int, *, small: bool) -> _Block:
        whole = SMALL_SEGMENT if small else LARGE_SEGMENT if size < OWN_SEGMENT else 0
        whole = whole or -(-size // OWN_ROUNDING) * OWN_ROUNDING
        self.reserved += whole
        return self._new(whole)

    def _take(self, pool: list[tuple[int, int]], place: int) -> _Block:
        block = self._blocks[pool.pop(place)[1]]
        block.free = False
        return block

    def _split(self, block: _Block, size: int, *, small: bool) -> None:
        rest = self._new(block.size - size)
        rest.free, rest.before, rest.after = True, block, block.after
        if rest.after is not None:
            rest.after.before = rest
        block.after, block.size = rest, size
        insort(self._free[small], (rest.size, rest.number))

    def _absorb(self, block: _Block, other: _Block) -> None:
        block.size += other.size
        if other is block.before:
            block.before = other.before
            if block.before is not None:
                block.before.after = block
        else:
            block.after = other.after
            if block.after is not None:
                block.after.before = block
        del self._blocks[other.number]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What the allocator went through."""

    peak: float
    """Highest sum of blocks in use."""
    reserved: float
    """Bytes taken from the driver: what must fit, beside context and workspaces."""
    largest: float


def replay(start: dict[int, float], events: Iterable[Event]) -> Replay:
    """Play the allocations of a step, after those that were alive when it began."""
    allocator = Allocator()
    sizes = dict(start)
    blocks = {storage: allocator.allocate(size) for storage, size in start.items() if size}
    largest = max(start.values(), default=0.0)
    for kind, storage, size in events:
        if kind == ALLOCATE and size:
            sizes[storage] = size
            blocks[storage] = allocator.allocate(size)
            largest = max(largest, size)
        elif kind == FREE and storage in blocks:
            allocator.release(blocks.pop(storage), small=sizes[storage] <= SMALL)
    return Replay(peak=allocator.peak, reserved=allocator.reserved, largest=largest)


def memory_of(tape: Tape) -> Memory:
    """Parameters, gradients, optimiser state and peak of a recorded (or fused) step."""
    played = replay(tape.start, tape.events)
    return Memory(
        parameters=tape.parameter_bytes,
        gradients=tape.gradient_bytes,
        gradient_count=tape.gradient_count,
        optimiser=tape.optimiser_bytes,
        peak=played.peak,
        largest=played.largest,
    )


def workspace_bytes(kernels: Iterable[Kernel], *, generation: str = "hopper") -> float:
    """What cuBLAS holds while the step runs: one workspace a thread that multiplies matrices.

    `generation` is "hopper" (and later) or "earlier".
    """
    threads = {kernel.phase == "backward" for kernel in kernels if kernel.kind == "matmul"}
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
    predicted = trace.memory.peak + _workspaces(trace, _generation(card)) + more
    factors, low, high = _errors()
    fitting = bisect_right(factors, free_bytes(card) / predicted)
    return MemoryNeed(
        peak=Interval(value=predicted, low=predicted * min(1.0, low), high=predicted * max(1.0, high),
                      level=LEVEL, method="errors of measured peaks"),
        fits=fitting / len(factors),
    )  # fmt: skip


@lru_cache(maxsize=KEPT_TRACES)
def _workspaces(trace: Trace, generation: str) -> float:
    return workspace_bytes(trace.kernels, generation=generation)


@cache
def _errors() -> tuple[list[float], float, float]:
    """measured / predicted of known peaks in rising order, and the ends of their interval."""
    factors = np.exp(memory_errors())
    low, high = np.quantile(factors, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return factors.tolist(), float(low), float(high)


def _generation(card: Card) -> str:
    return "hopper" if card.engine in ("wgmma", "tcgen05") else "earlier"
