"""A recorded step: which operator reads and writes which tensor, and how long each tensor lives.

Only the tracer makes one. `fusion` and `memory` read it; what leaves the package is `model.trace.Trace`,
which has kernels without links. Every write makes a new *value* of a storage, so an operator in place
is a producer like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gpuwise.model.trace import Kernel, KernelClass, Phase

# How a compiler may merge it. map: one output element from the same element of its inputs. row: also a
# reduction over a row that fits on chip, so that maps before and after it merge with it. column: a
# reduction after which the whole grid must wait. opaque: a library call, or an order of its own.
Role = Literal["map", "row", "column", "opaque"]

# How names of kernels end that compute the place of every element, for their operands do not lie alike.
STRIDED = ":strided"

ALLOCATE, FREE, RUN = 0, 1, 2
# (ALLOCATE, storage, bytes), (FREE, storage, 0) or (RUN, index of the node, 0), in order.
Event = tuple[int, int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One tensor argument or result at the time of the call."""

    id: int
    storage: int
    shape: tuple[int, ...]
    dtype: str
    bytes: float
    """Bytes that a kernel touches: an expanded dimension counts once."""
    channels_last: bool = False
    strides: tuple[int, ...]
    """Elements from one place to the next along each dimension."""

    @property
    def order(self) -> tuple[tuple[int, int], ...]:
        """(size, stride) of every dimension of more than one place: equal orders are walked alike."""
        sizes = zip(self.shape, self.strides, strict=True)
        return tuple((size, step) for size, step in sizes if size > 1)

    @property
    def dense(self) -> bool:
        """Whether it fills its memory from the first place to the last, in whatever order."""
        return 1 + sum((size - 1) * step for size, step in self.order) == self.numel

    @property
    def numel(self) -> int:
        total = 1
        for size in self.shape:
            total *= size
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One operator as dispatched. Tensors in `args` and `kwargs` are Values."""

    name: str
    """Namespace and operator without its overload: "aten.mm"."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outs: tuple[Value, ...]
    """Fresh results and values written in place."""
    inplace: tuple[Value, ...] = ()
    """Values as they were before this call overwrote them."""
    pointwise: bool = False
    """Whether torch tags it as pointwise."""
    phase: Phase = "forward"
    tf32: bool = False

    @property
    def ins(self) -> tuple[Value, ...]:
        """Every tensor argument."""
        return tuple(values_of((self.args, tuple(self.kwargs.values()))))


def values_of(tree: Any) -> Iterable[Value]:
    """The Values in nested lists and tuples."""
    for item in tree:
        if isinstance(item, Value):
            yield item
        elif isinstance(item, list | tuple):
            yield from values_of(item)


# (id of the value, bytes).
Touch = tuple[int, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One kernel of the eager step, with what it reads and writes."""

    kind: KernelClass
    name: str
    dtype: str
    shape: tuple[int, ...]
    flop: float
    phase: Phase
    reads: tuple[Touch, ...]
    writes: tuple[Touch, ...]
    role: Role = "opaque"
    domain: int = 0
    """Elements over which it loops; only equal ones merge."""
    launches: int = 1
    fused: int = 1
    """Operators that it replaces."""

    def kernel(self) -> Kernel:
        """The kernel without its links; `launches` share flop and bytes evenly."""
        return Kernel(
            kind=self.kind,
            name=self.name,
            dtype=self.dtype,
            shape=self.shape,
            flop=self.flop / self.launches,
            bytes_read=sum(size for _, size in self.reads) / self.launches,
            bytes_written=sum(size for _, size in self.writes) / self.launches,
            phase=self.phase,
            count=self.launches,
            fused=self.fused,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """One steady step: nodes in order, and the allocations around them."""

    nodes: tuple[Node, ...]
    events: tuple[Event, ...]
    start: dict[int, float]
    """Storages alive when the step begins, with their bytes."""
    storage: dict[int, int]
    """Value -> the storage that holds it."""
    parameters: int = 0
    parameter_bytes: float = 0.0
    gradient_bytes: float = 0.0
    gradient_count: int = 0
    optimiser_bytes: float = 0.0
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    items: float = 0.0
    calls: dict[str, int] = field(default_factory=dict)
    """What the host does: see `model.trace.Trace.calls`."""

    @property
    def lasting(self) -> frozenset[int]:
        """Storages that were there before the step or are there after it."""
        alive = set(self.start)
        for kind, storage, _ in self.events:
            if kind == ALLOCATE:
                alive.add(storage)
            elif kind == FREE:
                alive.discard(storage)
        return frozenset(alive | set(self.start))


def grouped(kernels: Iterable[Kernel]) -> tuple[Kernel, ...]:
    """Equal kernels as one with a count, in the order of their first."""
    counts: dict[Kernel, int] = {}
    for kernel in kernels:
        one = replace(kernel, count=1)
        counts[one] = counts.get(one, 0) + kernel.count
    return tuple(replace(kernel, count=count) for kernel, count in counts.items())
