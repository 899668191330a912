"""Costs of what moves and reduces: element-wise work, copies, norms, reductions, lookups, optimisers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from gpuwise.model.trace import KernelClass
from gpuwise.predict.graph import STRIDED, Call, Node, Role, Value
from gpuwise.predict.products import biggest, node_of, touch

LONGEST_ROW = 16_384
"""Elements of a row that one thread block reduces on chip, so that maps around it merge with it."""

CACHED = 65_536
"""Bytes of a table of which every later read finds a copy in cache."""


def _strided(*values: Value) -> str:
    """`STRIDED` where operands are spread over others or lie in another order; single numbers are neither."""
    many = [value for value in values if value.numel > 1]
    alike = len({value.order for value in many}) < 2 and all(value.dense for value in many)
    return "" if alike else STRIDED


def elementwise(call: Call, kind: KernelClass = "pointwise", *, role: Role = "map") -> Node:
    """Element by element over the largest operand."""
    suffix = _strided(*call.outs, *call.ins)
    if call.phase == "optimiser":
        kind, suffix = "optimiser", ""
    domain = max((v.numel for v in (*call.outs, *call.ins)), default=0)
    flop = 0.0 if kind == "copy" else float(domain)
    return node_of(call, kind, suffix=suffix, role=role, domain=domain, flop=flop)


def write_only(call: Call) -> tuple[Node, ...]:
    """A fill or a draw of random numbers: nothing is read, also not what it overwrites."""
    node = node_of(call, "optimiser" if call.phase == "optimiser" else "pointwise", reads=(), role="map")
    return (node,)


def copied(call: Call) -> tuple[Node, ...]:
    """Source read, target written; `copy_` does not read what it overwrites."""
    source = call.args[1] if call.name == "aten.copy_" else None
    reads = touch(source) if source is not None else None
    parts = [source] if isinstance(source, Value) else list(call.ins)
    # What several are put together to lies as they do, apart from where each begins.
    alike = [_strided(*call.outs, part) if len(parts) == 1 else _strided(part) for part in parts]
    suffix = STRIDED if any(alike) else ""
    return (node_of(call, "copy", suffix=suffix, reads=reads, role="map"),)


def two_pass(call: Call, x: Value, *, training: bool = True) -> tuple[Node, ...]:
    """Batch or group norm forward: statistics over the input, then normalise."""
    work = partial(node_of, call, "normalisation", domain=x.numel)
    small = [v for v in call.ins if v.id != x.id]
    if not training:
        return (work(reads=touch(x, *small), writes=touch(call.outs[0]), flop=2.0 * x.numel, role="map"),)
    saved = touch(*call.outs[1:])
    return (
        work(suffix=":statistics", reads=touch(x), writes=saved, flop=3.0 * x.numel, role="column"),
        work(
            suffix=":apply", reads=touch(x, *small, *call.outs[1:]), writes=touch(call.outs[0]),
            flop=2.0 * x.numel, role="map",
        ),
    )  # fmt: skip


def two_pass_backward(call: Call) -> tuple[Node, ...]:
    """Sums over gradient and input, then the gradient of the input from both."""
    grad, x = call.args[:2]
    small = touch(*(v for v in call.ins if v.id not in (grad.id, x.id)))
    outs = [v for v in call.outs if v.numel < x.numel]
    work = partial(node_of, call, "normalisation", domain=x.numel)
    sums = work(
        suffix=":statistics", reads=touch(grad, x), writes=touch(*outs), flop=4.0 * x.numel, role="column"
    )
    apply = work(
        suffix=":input", reads=(*touch(grad, x, *outs), *small), writes=touch(call.outs[0]),
        flop=4.0 * x.numel, role="map",
    )  # fmt: skip
    return (sums, apply) if call.outs[0].numel == x.numel else (sums,)


def row_norm(call: Call, flop: float = 5.0) -> tuple[Node, ...]:
    """Softmax, layer norm or RMS norm forward, softmax backward: one pass, rows stay on chip."""
    domain = max(v.numel for v in call.ins)
    return (node_of(call, "normalisation", role="row", domain=domain, flop=flop * domain),)


def row_backward(call: Call) -> tuple[Node, ...]:
    """Layer or RMS norm backward: the input's gradient row by row, the weights' down the columns."""
    x = call.args[1]
    outs = [v for v in call.outs if v.numel == x.numel][:1]
    weights = [v for v in call.outs if v not in outs]
    work = partial(node_of, call, "normalisation", domain=x.numel)
    made = []
    if outs:
        made.append(work(suffix=":input", writes=touch(*outs), role="row", flop=8.0 * x.numel))
    if weights:
        reads = touch(*(v for v in call.ins if v.numel != weights[0].numel))
        made.append(
            work(suffix=":weight", reads=reads, writes=touch(*weights), role="column", flop=4.0 * x.numel)
        )
    return tuple(made)


def reduction(call: Call, role: Role | None = None) -> tuple[Node, ...]:
    """One pass over the input; along the last dimension a row, else (or if long) a column."""
    x = biggest(call.ins)
    kept = max(1, biggest(call.outs).numel)
    length = x.numel // kept
    dims = call.args[1] if len(call.args) > 1 else None
    given = [dims] if isinstance(dims, int) else dims if isinstance(dims, list | tuple) else []
    along = [d % max(1, len(x.shape)) for d in given if isinstance(d, int)]
    trailing = bool(along) and min(along) >= len(x.shape) - len(along) and length <= LONGEST_ROW
    kind: KernelClass = "optimiser" if call.phase == "optimiser" else "reduction"
    role = role or ("row" if trailing and length > 1 else "column")
    return (node_of(call, kind, role=role, domain=x.numel, flop=float(x.numel)),)


def lookup(call: Call) -> tuple[Node, ...]:
    """Rows taken from a table: as many bytes are read as written, or a table that stays in cache once;
    and the indices."""
    out = biggest(call.outs)
    table, *rest = call.ins
    reads = ((table.id, table.bytes if table.bytes <= CACHED else out.bytes), *touch(*rest))
    return (node_of(call, "gather", reads=reads, role="map", domain=out.numel),)


def scatter(call: Call) -> tuple[Node, ...]:
    """Rows put into a table: the source is read, the target written where it is hit (all of a fresh one)."""
    if not call.inplace:
        return (node_of(call, "gather"),)
    target = call.inplace[0].id
    rest = [v for v in call.ins if v.id != target]
    moved = max((v.bytes for v in rest), default=0.0)
    out = call.outs[0]
    writes = ((out.id, min(out.bytes, moved)),)
    return (node_of(call, "gather", reads=touch(*rest), writes=writes),)


_MOST_TENSORS = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}
_MOST_BLOCKS, _CHUNK = 320, 65_536


def many(call: Call) -> tuple[Node, ...]:
    """One operation on lists of tensors, in as few launches as torch's multi-tensor kernels take
    (aten/src/ATen/native/cuda/MultiTensorApply.cuh: lists, blocks and chunk size a launch)."""
    lists = [x for x in call.args if isinstance(x, list | tuple) and x and isinstance(x[0], Value)]
    first: Sequence[Value] = lists[0] if lists else call.ins
    on_device = [x for x in lists if x[0].shape or len(x) < len(first)]
    depth = min(5, max(1, len(on_device)))
    blocks = sum(math.ceil(v.numel / _CHUNK) for v in first)
    launches = max(1, math.ceil(len(first) / _MOST_TENSORS[depth]), math.ceil(blocks / _MOST_BLOCKS))
    writes = call.outs
    if call.name.startswith("aten._fused_") and call.kwargs.get("grad_scale") is None and len(lists) > 1:
        gradients = {v.storage for v in lists[1]}
        writes = tuple(v for v in call.outs if v.storage not in gradients)
    values = sum(v.numel for v in first)
    flop = float(values * (2 * depth if "_fused_" in call.name else 1))
    shape = (values,)
    return (node_of(call, "optimiser", writes=touch(*writes), shape=shape, flop=flop, launches=launches),)


def opaque(kind: KernelClass, call: Call) -> tuple[Node, ...]:
    return (node_of(call, kind, flop=float(max(v.numel for v in (*call.outs, *call.ins)))),)


def nothing(call: Call) -> tuple[Node, ...]:
    return ()


def batch_norm(call: Call) -> tuple[Node, ...]:
    """`training` is the first truth value among the arguments; a legit overload without one trains."""
    training = next((x for x in call.args if isinstance(x, bool)), True)
    fresh = call.outs[: max(1, len(call.outs) - len(call.inplace))]
    del fresh
    return two_pass(call, call.args[0], training=training)


def group_norm(call: Call) -> tuple[Node, ...]:
    return two_pass(call, call.args[0])
