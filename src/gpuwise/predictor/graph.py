"""A recorded step: which operator reads and writes which tensor, and how long each tensor lives; and the same
step merged as torch.compile would (`fuse`).

Only the tracer makes one; what leaves the package is `kernels.Trace`, which has kernels without links.
Every write makes a new *value* of a storage, so an operator in place is a producer like any other.

Rules, after inductor's scheduler (torch/_inductor/scheduler.py) and its partitioner
(torch/_functorch/partitioners.py), reduced to what decides bytes and launches:

- element-wise operators, copies and lookups merge with each other and with reductions along a row that
  fits on chip; a reduction down the columns may end a chain, and what needs its result starts another;
- only loops over equally many elements merge, only within forward or within backward, and only where one
  reads what the other writes or both read the same large tensor whole;
- matrix products, convolutions, attention, pooling and scatters are library calls or kernels of their own,
  without epilogue; the optimiser is not compiled;
- a tensor that only its own kernel reads is neither written nor read; one that only backward's chains
  read again is computed again instead of kept, where it follows element by element, norms included, from
  tensors that are kept anyway or are smaller; not what random numbers made: dropout masks are kept, a byte
  an element; a part of a concatenation is read from that;
- attention written as two products around a softmax becomes one kernel where only it reads what lies between,
  so in inference (torch/_inductor/fx_passes/fuse_attention.py);
- casts and masks that are made of the same tensors are made once; what one kernel alone reads is made there;
- max pooling keeps the place within its window in one byte, not an index in eight.

Merging is safe from cycles by levels: an edge between nodes that may not merge raises the level by one,
and only nodes of one level merge. Never more bytes than eager, the same operations.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpuwise.predictor.kernels import HALF, Kernel, KernelClass, Phase

# How a compiler may merge it. map: one output element from the same element of its inputs. row: also a
# reduction over a row that fits on chip, so that maps before and after it merge with it. column: a
# reduction after which the whole grid must wait. opaque: a library call, or an order of its own.
Role = Literal["map", "row", "column", "opaque"]
# How names of kernels end that compute the place of every element, since their operands do not lie alike; and
# where what is next to each other in one operand is apart in another.
STRIDED, ACROSS = ":strided", ":across"
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
    bytes: float  # Bytes that a kernel touches: an expanded dimension counts once
    channels_last: bool = False
    strides: tuple[int, ...]  # Elements from one place to the next along each dimension

    @property
    def order(self) -> tuple[tuple[int, int], ...]:
        """(size, stride) of every dimension of more than one place: equal orders are walked alike."""
        sizes = zip(self.shape, self.strides, strict=True)
        return tuple((size, step) for size, step in sizes if size > 1)

    @property
    def innermost(self) -> int:
        """The dimension, counted from the last, along which neighbours lie side by side."""
        sizes = enumerate(zip(self.shape, self.strides, strict=True), -len(self.shape))
        return min(((step, i) for i, (size, step) in sizes if size > 1 and step), default=(0, 0))[1]

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

    name: str  # Namespace and operator without its overload: "aten.mm"
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outs: tuple[Value, ...]  # Fresh results and values written in place
    inplace: tuple[Value, ...] = ()  # Values as they were before this call overwrote them
    pointwise: bool = False  # Whether torch tags it as pointwise
    phase: Phase = "forward"
    tf32: bool = False
    searched: bool = True  # Whether cuDNN tries its algorithms for a convolution, else it goes by heuristics

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
    domain: int = 0  # Elements over which it loops; only equal ones merge
    launches: int = 1
    fused: int = 1  # Operators that it replaces
    beside: float = 0.0  # Bytes that it takes beside its tensors while it runs, if it is not merged
    turned: frozenset[int] = frozenset()  # Values whose elements it puts in another order

    def kernel(self) -> Kernel:
        """The kernel without its links; `launches` share flop and bytes evenly."""
        return Kernel(
            kind=self.kind, name=self.name, dtype=self.dtype, shape=self.shape,
            flop=self.flop / self.launches, bytes_read=sum(size for _, size in self.reads) / self.launches,
            bytes_written=sum(size for _, size in self.writes) / self.launches, phase=self.phase,
            count=self.launches, fused=self.fused,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """One steady step: nodes in order, and the allocations around them."""

    nodes: tuple[Node, ...]
    events: tuple[Event, ...]
    start: dict[int, float]  # Storages alive when the step begins, with their bytes
    earlier: tuple[Event, ...] = ()  # How they came to be: weights are made in 32 bits, then narrowed
    storage: dict[int, int]  # Value -> the storage that holds it
    parameters: int = 0
    parameter_bytes: float = 0.0
    gradient_bytes: float = 0.0
    gradient_count: int = 0
    optimiser_bytes: float = 0.0
    unknown: tuple[Call, ...] = ()  # Operators that no rule of costs knows
    notes: tuple[str, ...] = ()
    items: float = 0.0
    calls: dict[str, int] = field(default_factory=dict)  # What the host does: see `kernels.Trace.calls`

    @property
    def lasting(self) -> frozenset[int]:
        """Storages that were there before the step or are there after it."""
        last = {storage: kind for kind, storage, _ in self.events if kind != RUN}
        return frozenset(self.start) | {storage for storage, kind in last.items() if kind == ALLOCATE}


def grouped(kernels: Iterable[Kernel]) -> tuple[Kernel, ...]:
    """Equal kernels as one with a count, in the order of their first."""
    counts = Counter[Kernel]()
    for kernel in kernels:
        counts[replace(kernel, count=1)] += kernel.count
    return tuple(replace(kernel, count=count) for kernel, count in counts.items())


# (level, phase, elements): only nodes of one key merge.
Key = tuple[int, str, int]
# The class of a merged kernel is the first of these among its members.
_RANK: tuple[KernelClass, ...] = ("normalisation", "reduction", "gather", "pointwise", "copy")
# Activations that use their argument twice.
_TWICE = ("+silu", "+hardswish", "+leaky_relu", "+gelu", "+mish", "+elu")
_CAT = "aten.cat"
_POOLS = ("aten.max_pool2d_with_indices", "aten.max_pool3d_with_indices")


class _Links:
    """Who writes and who reads each value."""

    def __init__(self, tape: Tape) -> None:
        self.writer: dict[int, int] = {}
        self.readers: dict[int, set[int]] = defaultdict(set)
        self.last: dict[int, int] = {}
        for index, node in enumerate(tape.nodes):
            for value, _ in node.reads:
                self.readers[value].add(index)
            for value, _ in node.writes:
                self.writer[value] = index
                storage = tape.storage[value]
                self.last[storage] = max(value, self.last.get(storage, 0))
        self.lasting = tape.lasting
        self.storage = tape.storage

    def producers(self, node: Node) -> Iterable[int]:
        """Nodes whose results it reads."""
        return {self.writer[value] for value, _ in node.reads if value in self.writer}

    def outlives(self, value: int) -> bool:
        """Whether the step leaves this value behind."""
        storage = self.storage[value]
        return storage in self.lasting and self.last.get(storage) == value


def fuse(tape: Tape) -> Tape:
    """The compiled step: merged nodes in a valid order, with the allocations that remain."""
    # Code is generated for the order in which operands lie.
    plain = list[Node]()
    for node in tape.nodes:
        name, strided, _ = node.name.partition(STRIDED)
        turned = frozenset(v for v, _ in node.reads if strided and node.kind == "copy")
        plain.append(replace(node, name=name, beside=0.0, turned=turned))
    tape = replace(tape, nodes=_attentive(_once(replace(tape, nodes=tuple(plain)))))
    tape = replace(tape, nodes=_joined_whole(tape))
    tape = replace(tape, nodes=_inlined(tape))
    tape = replace(tape, nodes=tuple(replace(node, beside=_filled_up(node, tape)) for node in tape.nodes))
    links = _Links(tape)
    group = _groups(tape, links)
    members: dict[int, list[int]] = defaultdict(list)
    for index, root in enumerate(group):
        members[root].append(index)
    stored, again = _stored(tape.nodes, links, group)
    merged = {
        root: _merge([tape.nodes[i] for i in indices], stored, again) for root, indices in members.items()
    }
    order = _order(merged, members, group, links)
    nodes = tuple(merged[root] for root in order)
    return replace(tape, nodes=nodes, events=_kept_for_later(tuple(_events(nodes, tape)), nodes, tape))


# Casts and masks: given the same whole tensors they compute the same values, so they are computed once.
_ALIKE = frozenset({"aten._to_copy", "aten.where"})


def _once(tape: Tape) -> tuple[Node, ...]:
    """The nodes without those that make again what another made (torch/_functorch/compile_utils.py)."""
    sizes = {storage: size for kind, storage, size in tape.events if kind == ALLOCATE} | tape.start
    lasting, same = tape.lasting, dict[int, int]()
    first, made = dict[tuple[Any, ...], Node](), list[Node]()
    for node in tape.nodes:
        node = replace(node, reads=tuple((same.get(value, value), size) for value, size in node.reads))
        many = tuple((value, size) for value, size in node.reads if size > 8)
        whole = all(size >= sizes.get(tape.storage[value], 0.0) for value, size in many)
        if node.name in _ALIKE and many and whole and tape.storage[node.writes[0][0]] not in lasting:
            known = first.setdefault((node.name, node.dtype, node.shape, node.phase, many), node)
            if known is not node:
                same[node.writes[0][0]] = known.writes[0][0]
                continue
        made.append(node)
    return tuple(made)


# What stands between products and softmax in patterns of attention: a number that divides (or multiplies,
# without a mask), a mask, a copy.
_SCALES, _MASKS, _COPIES = ("aten.div", "aten.mul"), ("aten.add", "aten.masked_fill"), ("aten.clone",)
_PRODUCTS = ("aten.bmm", "aten.baddbmm")


def _attentive(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The nodes with attention in one kernel where products and a softmax in 16 bits compute it. A mask in
    fp32 makes another format of the scores, which no pattern has: BERT's peaks are those of apart kernels."""
    writer = {value: i for i, node in enumerate(nodes) for value, _ in node.writes}
    readers: dict[int, list[int]] = defaultdict(list)
    for i, node in enumerate(nodes):
        for value, _ in node.reads:
            readers[value].append(i)

    def beside(i: int, step: Callable[[int], int | None]) -> list[int] | None:
        """The nodes from this one's neighbour to a product, which is the last; None where others are met."""
        found: list[int] = []
        while (following := step(i)) is not None:
            found.append(i := following)
            if nodes[i].name.startswith(_PRODUCTS):
                return found
            alone = len(nodes[i].reads) == 1
            if not nodes[i].name.startswith(_MASKS) and not (
                alone and nodes[i].name.startswith(_SCALES + _COPIES)
            ):
                return None
        return None

    def back(i: int) -> int | None:
        value = nodes[i].reads[0][0] if nodes[i].reads else None
        return writer.get(value) if value is not None and readers[value] == [i] else None

    def on(i: int) -> int | None:
        (value, _), *others = nodes[i].writes
        return readers[value][0] if not others and len(readers[value]) == 1 else None

    made, gone = dict[int, Node](), set[int]()
    for i, node in enumerate(nodes):
        if node.name != "aten._softmax" or node.phase != "forward" or len(node.shape) != 4:
            continue
        before, after = beside(i, back), beside(i, on)
        if before is None or after is None or node.dtype not in HALF:
            continue
        masked = any(nodes[j].name.startswith(_MASKS) for j in before)
        if not any(nodes[j].name.startswith(_SCALES[:1] if masked else _SCALES) for j in before):
            continue
        first, last = nodes[before[-1]], nodes[after[-1]]
        masks = tuple(touch for j in (*before[:-1], *after[:-1]) for touch in nodes[j].reads[1:])
        batch, heads, queries, keys = node.shape
        made[after[-1]] = replace(
            last, kind="attention", reads=(*first.reads, *last.reads[1:], *masks),
            name=f"aten._scaled_dot_product_{'efficient' if masks else 'flash'}_attention",
            shape=(batch, heads, queries, keys, first.shape[3], heads), flop=first.flop + last.flop,
        )  # fmt: skip
        gone |= {i, *before, *after[:-1]}
    return tuple(made.get(i, node) for i, node in enumerate(nodes) if i not in gone)


# To as many elements of 16 bits inductor fills up the sides of a product
# (torch/_inductor/fx_passes/pad_mm.py) where it finds that to be quicker: so in both networks that were
# looked at whose products have more operations an element than half of what an H100 does while it reads one.
_SIDE, _BOUND = 8, 148.0


def _filled_up(node: Node, tape: Tape) -> float:
    """Bytes of the copy of a weight that is filled up before its product; 0 where no kernel is for it. What
    another kernel computes is written so at once."""
    if node.kind != "matmul" or node.phase != "forward" or node.dtype not in HALF or len(node.shape) != 4:
        return 0.0
    batch, m, n, k = node.shape
    bound = m * n * k > _BOUND * (m * k + n * k + m * n)
    given = any(tape.storage[value] in tape.start and size == 2 * n * k for value, size in node.reads)
    if batch != 1 or not given or not bound or not (n % _SIDE or k % _SIDE):
        return 0.0
    n, k = (-(-side // _SIDE) * _SIDE for side in (n, k))
    return 2.0 * n * k


def _joined_whole(tape: Tape) -> tuple[Node, ...]:
    """The nodes without those whose results only concatenations read: these compute each part where it
    belongs (torch/_inductor/lowering.py, `cat`)."""
    links, lasting = _Links(tape), tape.lasting
    parts: dict[int, int] = {}  # Value -> its node, which a concatenation computes
    gone = set[int]()
    for i, node in reversed(tuple(enumerate(tape.nodes))):
        values = [value for value, _ in node.writes]
        after = {j for value in values for j in links.readers[value]}
        simple = node.role == "map" and node.phase == "forward" and "dropout" not in node.name
        simple = simple and node.name != _CAT and not any(tape.storage[value] in lasting for value in values)
        cats = {j for j in after if tape.nodes[j].name == _CAT and _mergeable(tape.nodes[j])}
        if simple and after and after <= gone | cats:
            gone.add(i)
            parts |= dict.fromkeys(values, i)
    made, counted = list[Node](), set[int]()
    for i, node in enumerate(tape.nodes):
        if i in gone:
            continue
        reads, inside = dict[int, float](), set[int]()
        waiting = list(reversed(node.reads)) if node.name == _CAT else []
        while waiting:
            value, size = waiting.pop()
            if value in parts:
                inside.add(parts[value])
                waiting += reversed(tape.nodes[parts[value]].reads)
            else:
                reads[value] = max(size, reads.get(value, 0.0))
        new = [tape.nodes[j] for j in inside - counted]
        counted |= inside
        if inside:
            kinds = {node.kind, *(tape.nodes[j].kind for j in inside)}
            node = replace(
                node, reads=tuple(reads.items()), kind=next(k for k in _RANK if k in kinds),
                flop=node.flop + sum(n.flop for n in new), fused=node.fused + sum(n.fused for n in new),
            )  # fmt: skip
        made.append(node)
    return tuple(made)


# Operands up to which inductor computes again for each reader what several read (torch/_inductor/config.py,
# `realize_reads_threshold`).
_FEW = 4


def _inlined(tape: Tape) -> tuple[Node, ...]:
    """The nodes of inference where each reader computes for itself what is made of few tensors and no library
    call reads: sums of branches are never written, their parts live as long as the last of the readers."""
    if any(node.phase != "forward" for node in tape.nodes):
        return tape.nodes
    links, lasting, made = _Links(tape), tape.lasting, list[Node]()
    parts: dict[int, dict[int, float]] = {}  # Value -> what is read in its place
    inside: dict[int, Node] = {}  # and its node, merged with those inside it, until the first has read it
    normal: dict[int, int] = {}  # Value of a norm that one reads -> the operands of its last pass
    for node in tape.nodes:
        reads = dict[int, float]()
        for value, size in node.reads:
            for part, amount in parts.get(value, {value: size}).items():
                reads[part] = max(amount, reads.get(part, 0.0))
        within = [inside.pop(value) for value, _ in node.reads if value in inside]
        if within:
            flop, fused = (sum(getattr(n, of) for n in (*within, node)) for of in ("flop", "fused"))
            name = f"{within[0].name.partition('+')[0]}+{node.name.removeprefix('aten.')}"
            node = replace(node, name=name, flop=flop, fused=fused)
        turned = frozenset(reads if node.turned else ()).union(*(n.turned for n in within))
        node = replace(node, reads=tuple(reads.items()), turned=turned)
        values = [value for value, _ in node.writes]
        readers = [tape.nodes[i] for value in values for i in links.readers[value]]
        simple = node.role == "map" and len(values) == 1 and tape.storage[values[0]] not in lasting
        few = sum(normal.get(value, 1) for value in reads) <= _FEW
        if simple and readers and few and all(map(_mergeable, readers)):
            parts[values[0]], inside[values[0]] = reads, node
            continue
        made.append(node)
        if node.role == "row" and len(readers) == 1:
            normal[values[0]] = len(reads) + 2
    return tuple(made)


def _mergeable(node: Node) -> bool:
    # Of many parts each has its own kernel (torch/_inductor/lowering.py, `MAX_COMPLEX_POINTWISE_CAT`).
    many = node.name in (_CAT, "aten.stack") and len(node.reads) > 8
    return node.role != "opaque" and node.phase != "optimiser" and not many


def _keys(nodes: tuple[Node, ...], links: _Links) -> list[Key]:
    """Level, phase and loop size of every node; what follows a row's result element by element loops
    with the row."""
    keys: list[Key] = []
    for index, node in enumerate(nodes):
        producers = [p for p in links.producers(node) if p < index]
        domain = node.domain
        for p in producers:
            wide = keys[p][2] > domain and _mergeable(nodes[p]) and nodes[p].role != "column"
            if node.role == "map" and wide and (nodes[p].role == "row" or nodes[p].domain == domain):
                domain = keys[p][2]
        if node.name == _CAT and len({keys[p][2] for p in producers}) == 1:
            domain = keys[producers[0]][2]  # each part is written where it belongs
        level = 0
        for p in producers:
            together = _mergeable(node) and _mergeable(nodes[p]) and nodes[p].role != "column"
            same = together and keys[p][1] == node.phase and keys[p][2] == domain
            level = max(level, keys[p][0] + (0 if same else 1))
        keys.append((level, node.phase, domain))
    # What only one kernel reads is computed there, however early it could be.
    for index, node in reversed(tuple(enumerate(nodes))):
        readers = {r for value, _ in node.writes for r in links.readers[value]}
        after = {keys[r] if _mergeable(nodes[r]) else None for r in readers}
        only = after.pop() if len(after) == 1 and node.role == "map" else None
        if only is not None and only[1:] == keys[index][1:]:
            keys[index] = only
    return keys


def _groups(tape: Tape, links: _Links) -> list[int]:
    """For every node the first member of its group."""
    nodes = tape.nodes
    keys = _keys(nodes, links)
    sizes = {storage: size for kind, storage, size in tape.events if kind == ALLOCATE} | tape.start
    root = list(range(len(nodes)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    def join(a: int, b: int) -> None:
        a, b = sorted((find(a), find(b)))
        root[b] = a

    reader: dict[tuple[Key, int], int] = {}
    for index, node in enumerate(nodes):
        if not _mergeable(node):
            continue
        for p in links.producers(node):
            if _mergeable(nodes[p]) and nodes[p].role != "column" and keys[p] == keys[index]:
                join(p, index)
        for value, size in node.reads:
            # Readers of a part each may read another part.
            if size >= node.domain and size >= sizes.get(links.storage[value], 0.0):
                join(reader.setdefault((keys[index], value), index), index)
    return [find(i) for i in range(len(nodes))]


def _stored(
    nodes: tuple[Node, ...], links: _Links, group: list[int]
) -> tuple[set[int], dict[int, tuple[Touch, ...]]]:
    """Values that must be written, and for those that backward does not read itself what it reads instead."""
    stored: set[int] = set()
    for value, writer in links.writer.items():
        elsewhere = any(group[r] != group[writer] for r in links.readers[value])
        if elsewhere or links.outlives(value) or not _mergeable(nodes[writer]):
            stored.add(value)
    again: dict[int, tuple[Touch, ...]] = {}
    read_by: dict[int, set[int]] = defaultdict(set)
    for index, node in enumerate(nodes):
        read_by[group[index]].update(value for value, _ in node.reads)
    kept = {value for value in stored if any(nodes[r].phase == "backward" for r in links.readers[value])}
    for value in sorted(stored):
        part = _joined(value, nodes, links, kept)
        instead = part or _instead(value, nodes, links, group, stored, kept, read_by, again)
        if instead is None:
            continue
        again[value] = tuple(instead.items())
        forward = (group[r] for r in links.readers[value] if nodes[r].phase == "forward")
        if set(forward) <= {group[links.writer[value]]}:
            stored.discard(value)
            stored |= instead.keys() & links.writer.keys()
        kept.discard(value)
        kept |= instead.keys()
        for reader in links.readers[value]:
            read_by[group[reader]] |= instead.keys()
    return stored, again


def _instead(
    value: int, nodes: tuple[Node, ...], links: _Links, group: list[int], stored: set[int], kept: set[int],
    read_by: dict[int, set[int]], again: dict[int, tuple[Touch, ...]],
) -> dict[int, float] | None:  # fmt: skip
    """What backward reads in place of a forward value it computes again; None where it must be kept.

    Values come in the order of their writing, so what this one follows from is decided already. What
    backward would not find anyway (`kept`, or there before the step) must be less than the value itself.
    """
    writer = links.writer[value]
    outside = [r for r in links.readers[value] if nodes[r].phase == "backward"]
    if links.outlives(value) or not outside or not all(_mergeable(nodes[r]) for r in outside):
        return None
    sources = _sources(value, nodes, links, stored, again)
    if sources is None:
        return None
    size = dict(nodes[writer].writes)[value]
    found = {v for v in sources if v in kept or links.storage[v] in links.lasting}
    if sum(s for v, s in sources.items() if v not in found) >= size:
        return None
    for r in outside:
        if sum(s for v, s in sources.items() if v not in read_by[group[r]]) > 1.1 * size:
            return None
    return sources


def _joined(value: int, nodes: tuple[Node, ...], links: _Links, kept: set[int]) -> dict[int, float] | None:
    """What backward reads in place of a forward value that became a part of a larger tensor, which it keeps
    in any case; None where there is none, or where forward reads the value for anything else."""
    node, readers = nodes[links.writer[value]], [nodes[r] for r in sorted(links.readers[value])]
    forward = [reader for reader in readers if reader.phase == "forward"]
    if [reader.name for reader in forward] != [_CAT] or len(forward) == len(readers):
        return None
    whole = forward[0].writes[0][0]
    return {whole: dict(node.writes)[value]} if whole in kept else None


def _sources(
    value: int, nodes: tuple[Node, ...], links: _Links, stored: set[int], again: dict[int, tuple[Touch, ...]]
) -> dict[int, float] | None:
    """What a forward value can be computed from again, element by element; None where it cannot."""
    node = nodes[links.writer[value]]
    # What a norm subtracts and divides by is kept for its own gradient, a number or two a row.
    simple = node.role == "map" or (node.role == "row" and "norm" in node.name)
    if node.phase != "forward" or not simple or "dropout" in node.name:
        return None
    found: dict[int, float] = {}
    for read, size in node.reads:
        # Sums of many elements are kept rather than made again.
        writer = nodes[links.writer[read]] if read in links.writer else None
        there = read in stored or writer is None or (writer.kind == "reduction" and 8 * size <= writer.domain)
        earlier = read < value  # what is changed in place reads and writes itself
        more = dict(again[read]) if read in again else {read: size} if there else None
        if more is None and earlier:
            more = _sources(read, nodes, links, stored, again)
        if more is None:
            return None
        found |= more
    return found


def _merge(members: list[Node], stored: set[int], again: dict[int, tuple[Touch, ...]]) -> Node:
    """One kernel for all members: reads what others wrote, writes what is stored."""
    if len(members) == 1 and members[0].role == "opaque":
        return members[0]
    inside = {value for node in members for value, _ in node.writes}
    reads: dict[int, float] = {}
    writes: dict[int, float] = {}
    for node in members:
        for value, size in node.reads:
            if value in inside:
                continue
            own: tuple[Touch, ...] = ((value, size),)
            for real, amount in again.get(value, own) if node.phase == "backward" else own:
                if real not in inside:
                    reads[real] = max(reads.get(real, 0.0), amount)
        writes.update((value, size) for value, size in node.writes if value in stored)
    turned = set[int]()
    for node in reversed(members):
        turned |= node.turned
        if any(value in turned for value, _ in node.writes):
            turned |= {value for value, _ in node.reads}
    first, last = members[0], members[-1]
    kinds = {node.kind for node in members}
    biggest = max(members, key=lambda node: node.domain)
    return replace(
        biggest, kind=next((k for k in _RANK if k in kinds), first.kind),
        role="column" if any(node.role == "column" for node in members) else biggest.role,
        name=first.name if len(members) == 1 else f"{first.name}+{last.name.removeprefix('aten.')}",
        flop=sum(node.flop for node in members), reads=tuple(reads.items()), writes=tuple(writes.items()),
        fused=sum(node.fused for node in members), launches=1, turned=frozenset(turned),
    )  # fmt: skip


def _order(
    merged: dict[int, Node], members: dict[int, list[int]], group: list[int], links: _Links
) -> list[int]:
    """Groups in a valid order: each where its last member ran, or just before its first reader."""
    needs = {
        root: {group[links.writer[v]] for v, _ in node.reads if v in links.writer} - {root}
        for root, node in merged.items()
    }
    done: dict[int, None] = {}
    for index, root in enumerate(group):
        if members[root][-1] != index:
            continue
        stack = [root]
        while stack:
            top = stack[-1]
            waiting = [n for n in needs[top] if n not in done]
            if top in done or not waiting:
                done.setdefault(top)
                stack.pop()
            else:
                stack.extend(sorted(waiting, reverse=True))
    return [root for root in done if merged[root].reads or merged[root].writes]


def _events(nodes: tuple[Node, ...], tape: Tape) -> Iterable[Event]:
    """Allocations of a compiled step: a tensor lives from its first write to its last read, and an
    element-wise kernel writes into an operand of the same size that it is the last to read, unless it ends in
    an activation that uses twice what is made of many: the scheduler gives the operand's place to that."""
    sizes = {storage: size for kind, storage, size in tape.events if kind == ALLOCATE}
    lasting = tape.lasting
    for node in nodes:
        if node.name.startswith(_POOLS) and node.role == "opaque" and len(node.writes) > 1:
            sizes[tape.storage[node.writes[1][0]]] /= 8
    last: dict[int, int] = {}
    for index, node in enumerate(nodes):
        for value, _ in (*node.reads, *node.writes):
            last[tape.storage[value]] = index
    alive = set(tape.start)
    for index, node in enumerate(nodes):
        dying = {tape.storage[value] for value, _ in node.reads} - lasting
        dying = {s for s in dying if last[s] == index and s in alive}
        turned = {tape.storage[value] for value in node.turned}
        fresh = [s for s in dict.fromkeys(tape.storage[v] for v, _ in node.writes) if s not in alive]
        twice = node.name.rstrip("_").endswith(_TWICE) and len(node.reads) + 2 * (node.role == "row") > _FEW
        in_place = node.role not in ("opaque", "column") and not twice
        reused = {s for s in dying - turned if in_place and sizes[s] in {sizes[f] for f in fresh}}
        yield from ((FREE, s, 0.0) for s in sorted(reused))
        yield from ((ALLOCATE, s, sizes[s]) for s in fresh)
        yield RUN, index, 0.0
        unread = {s for s in fresh if last[s] == index and s not in lasting}
        yield from ((FREE, s, 0.0) for s in sorted((dying - reused) | unread))
        alive = (alive | set(fresh)) - dying - unread


# Library calls that write where the compiler's code says; others make their results themselves.
_TOLD = ("matmul",)


def _kept_for_later(events: Sequence[Event], nodes: Sequence[Node], tape: Tape) -> tuple[Event, ...]:
    """The allocations where a place that a pass has left is taken by its next tensor of as many bytes, and is
    not given back until then, if no more than what the pass takes without such places is there at once
    (torch/_inductor/codegen/wrapper.py, `memory_plan_reuse`)."""
    writer = {tape.storage[value]: i for i, node in reversed([*enumerate(nodes)]) for value, _ in node.writes}
    live, most = _live(nodes, tape, {s: size for kind, s, size in events if kind == ALLOCATE})
    made, now = [[event] for event in events], 0
    left: dict[tuple[str, float], list[tuple[int, int]]] = defaultdict(list)  # Where releases stand, and when
    sizes = dict[int, float]()
    for i, (kind, storage, size) in enumerate(events):
        if kind == RUN:
            now = storage + 1
        elif kind == FREE and storage in sizes:
            left[nodes[writer[storage]].phase, sizes[storage]].append((i, now))
        elif kind == ALLOCATE and storage in writer:
            sizes[storage], node = size, nodes[writer[storage]]
            waiting = left[node.phase, size]
            if not waiting or (node.role == "opaque" and node.kind not in _TOLD):
                continue
            released, since = waiting[-1]
            if since == now or size + live[since:now].max() <= most[node.phase]:
                live[since:now] += size
                made[i], made[released] = [*made[released], *made[i]], []
                waiting.pop()
    return tuple(event for each in made for event in each)


def _live(
    nodes: Sequence[Node], tape: Tape, sizes: Mapping[int, float]
) -> tuple[NDArray[np.float64], Mapping[str, float]]:
    """Bytes of what the kernels made that are there while each runs, nothing in the place of another, and the
    most of each pass."""
    ends: dict[int, tuple[int, int]] = {}
    for i, node in enumerate(nodes):
        for value, _ in (*node.reads, *node.writes):
            ends[tape.storage[value]] = ends.get(tape.storage[value], (i, i))[0], i
    change, lasting = np.zeros(len(nodes) + 1), tape.lasting
    for storage, (first, last) in ends.items():
        if storage in sizes and (storage in lasting or last > first):  # results that nobody reads are none
            change[first] += sizes[storage]
            change[len(nodes) if storage in lasting else last + 1] -= sizes[storage]
    live, most = np.cumsum(change), dict[str, float]()
    for node, size in zip(nodes, live[:-1], strict=True):
        most[node.phase] = max(float(size), most.get(node.phase, 0.0))
    return live, most
