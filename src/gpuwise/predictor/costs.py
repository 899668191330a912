"""What each operator costs: class, shape, operations and bytes of the kernels it launches.

In this order: what multiplies (matrix products, convolutions, attention), what moves and reduces
(element-wise work, copies, norms, reductions, lookups, optimisers), and the table of operators.

Bytes are those of one pass over each operand (a cold cache, no reuse lost), with these exceptions:
training batch norm reads its input twice (statistics, then apply) and its backward reads gradient and
input twice, as does layer norm's (input, then weight gradients); a lookup reads the rows it takes, not
the table. Operations count a multiply-add as two; element-wise work counts one an element.
Attention: two products forward, five backward (one recomputes the scores); a causal one computes the
half of them that it keeps, (T + 1) / 2T.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import le
from pathlib import Path
from typing import Any

from gpuwise.predictor import kernels
from gpuwise.predictor.graph import ACROSS, STRIDED, Call, Node, Role, Touch, Value
from gpuwise.predictor.staging import SUM, staged, staged_bytes

# How names of kernels end that reduce across the order of memory.
COLUMNS = ":columns"


def touch(*values: Any) -> tuple[Touch, ...]:
    return tuple((v.id, v.bytes) for v in values if isinstance(v, Value))


def biggest(values: Sequence[Value]) -> Value:
    return max(values, key=lambda v: v.numel)


def node_of(
    call: Call, kind: kernels.KernelClass, *, suffix: str = "", reads: tuple[Touch, ...] | None = None,
    writes: tuple[Touch, ...] | None = None, shape: tuple[int, ...] | None = None, flop: float = 0.0,
    role: Role = "opaque", dtype: str | None = None, domain: int | None = None, launches: int = 1,
) -> Node:  # fmt: skip
    """A node that reads all arguments and writes all results unless told otherwise, in the format of the
    largest floating operand, else of the result."""
    result = biggest(call.outs or call.ins)
    floats = [v for v in (*call.outs, *call.ins) if v.dtype in ("fp64", "fp32", "fp16", "bf16", "fp8")]
    return Node(
        kind=kind, name=call.name + suffix, dtype=dtype or biggest(floats or (result,)).dtype,
        shape=result.shape if shape is None else shape, flop=flop, phase=call.phase,
        reads=touch(*call.ins) if reads is None else reads,
        writes=touch(*call.outs) if writes is None else writes, role=role,
        domain=result.numel if domain is None else domain, launches=launches,
    )  # fmt: skip


def matmul(call: Call) -> tuple[Node, ...]:
    """(batch, m, n, k) of the last two matrix arguments; a bias or addend is read as well."""
    skip = 1 if call.name.rpartition(".")[2].lstrip("_").startswith(("add", "baddbmm")) else 0
    a, b = [v for v in call.args[skip:] if isinstance(v, Value)][:2]
    return _matmul(call, a, b, b.shape[-1] if len(b.shape) > 1 else 1)


def grouped_product(call: Call) -> tuple[Node, ...]:
    """A product for each group of rows, of which all are as many: the experts of a layer, chosen evenly.

    Of G matrices n rows reach G (1 - (1 - 1 / G)^n), as many as n even draws find; the others are not read.
    """
    a, b = call.args[:2]
    groups = next(v.shape[0] for v in (b, a, *call.outs) if len(v.shape) == 3)
    m, n, k, read = a.shape[-2], b.shape[-1], a.shape[-1], float(b.bytes)
    if len(a.shape) == len(b.shape) == 2:
        k //= groups  # rows are summed over, a part of them for each group
    elif len(a.shape) == 2:
        reached = min(groups, max(1, round(groups * (1.0 - (1.0 - 1.0 / groups) ** m))))
        read *= reached / groups
        groups, m = reached, m // reached
    elif len(b.shape) == 2:
        n //= groups
    m, n, k = max(1, m), max(1, n), max(1, k)
    # CUDA has one kernel for all groups in bf16 alone; else torch goes through them (GroupedBlas.cpp).
    looped = groups if a.dtype in ("fp32", "fp16") else 1
    shape, reads = (groups // looped, m, n, k), ((b.id, read), *touch(*(v for v in call.ins if v is not b)))
    flop = 2.0 * groups * m * n * k
    return (node_of(call, "matmul", shape=shape, flop=flop, dtype=a.dtype, launches=looped, reads=reads),)


def product_with_rows(call: Call) -> tuple[Node, ...]:
    """The first matrix times the transpose of the second."""
    a, b = call.args[:2]
    return _matmul(call, a, b, b.shape[0])


def _matmul(call: Call, a: Value, b: Value, n: int) -> tuple[Node, ...]:
    k = a.shape[-1]
    batch = a.shape[0] if a.numel and len(a.shape) == 3 else 1
    m = a.shape[-2] if len(a.shape) > 1 else 1
    dtype, flop = "tf32" if call.tf32 and a.dtype == "fp32" else a.dtype, 2.0 * batch * m * n * k
    if not flop:
        return ()  # of no rows nothing is launched
    if dtype.startswith("complex"):
        dtype, flop = "fp32", 4.0 * flop  # each product of complex numbers is four
    # Rows as they lie in memory, of operands and result: libraries load 16 bytes at a time where they can.
    rows = [n, *(max(v.strides[-2:]) for v in (a, b) if len(v.shape) > 1)]
    aligned = min(kernels.power_of_two(row) for row in rows)
    suffix = f"{kernels.ALIGNED_BY}{aligned}" if aligned < kernels.ALIGNED else ""
    return (node_of(call, "matmul", suffix=suffix, shape=(batch, m, n, k), flop=flop, dtype=dtype),)


def convolution_shape(x: Value, w: Value, y: Value, stride: Sequence[int], groups: int) -> tuple[int, ...]:
    """Shape as `kernels.Kernel` says; a 1-D height is 1, a 3-D depth counts as images and channels."""
    depth_in, depth_w, depth_out = 1, 1, 1
    spatial = [list(v.shape[2:]) for v in (x, w, y)]
    if len(spatial[0]) == 1:
        spatial = [[1, *s] for s in spatial]
    if len(spatial[0]) == 3:
        depth_in, depth_w, depth_out = (s.pop(0) for s in spatial)
    (high, wide), (kernel_high, kernel_wide), (out_high, out_wide) = spatial
    images = x.shape[0] * (depth_out if depth_in > 1 or depth_out > 1 else 1)
    sizes = (images, x.shape[1] * depth_w, high, wide, y.shape[1], kernel_high, kernel_wide)
    return (*sizes, stride[-1], groups, out_high, out_wide)


def _products(w: Value, spatial: Value) -> float:
    """Multiply-adds as two: every weight meets every position of `spatial` (the result, or the input of a
    transposed convolution)."""
    return 2.0 * w.numel * spatial.shape[0] * math.prod(spatial.shape[2:])


def _layout(x: Value) -> str:
    return "" if x.channels_last or len(x.shape) != 4 else kernels.CHANNELS_FIRST


def _order(x: Value) -> str:
    """The same of a norm, whose rows of two dimensions have no order and whose volumes are never channels
    last. One channel lies in either order, of which torch asks for channels first first
    (aten/src/ATen/native/cuda/Normalization.cu, `batch_norm_choose_impl`)."""
    last = x.channels_last and x.shape[1] > 1
    return "" if last or len(x.shape) < 3 else kernels.CHANNELS_FIRST


def _form(x: Value, *, transposed: bool) -> str:
    """Libraries have other kernels for one and three dimensions, and where the result is the larger one."""
    dims = {3: ":1d", 5: ":3d"}.get(len(x.shape), "")
    return dims + (":transposed" if transposed else "") + _layout(x)


def convolution(call: Call) -> tuple[Node, ...]:
    x, w, bias, stride, _, dilation, transposed, _, groups = call.args[:9]
    (y,) = call.outs
    shape = convolution_shape(x, w, y, stride, groups)
    dtype = "tf32" if call.tf32 and x.dtype == "fp32" else x.dtype
    flop = _products(w, x if transposed else y)
    direct = dtype == "fp32" and (not call.searched or max(dilation) > 1)
    suffix = _form(x, transposed=transposed) + kernels.DIRECT * direct
    node = node_of(call, "convolution", suffix=suffix, shape=shape, flop=flop, dtype=dtype)
    if bias is None:
        return (node,)
    # cuDNN convolves without the bias; torch spreads it over the result in a kernel of its own.
    added = Node(
        kind="pointwise", name="aten.add_" + STRIDED, dtype=y.dtype, shape=y.shape, flop=float(y.numel),
        phase=call.phase, reads=touch(y, bias), writes=touch(y), role="map", domain=y.numel,
    )  # fmt: skip
    return (node, added)


def convolution_backward(call: Call) -> tuple[Node, ...]:
    """One kernel for each gradient asked for: input, weight, bias."""
    grad, x, w, _, stride, _, dilation, transposed, _, groups, mask = call.args[:11]
    outs = iter(call.outs)
    gx, gw, gb = (next(outs) if asked else None for asked in mask)
    shape = convolution_shape(x, w, grad, stride, groups)
    dtype = "tf32" if call.tf32 and x.dtype == "fp32" else x.dtype
    flop = _products(w, x if transposed else grad)
    one = partial(node_of, call, "convolution", shape=shape, flop=flop, dtype=dtype)
    direct, made = kernels.DIRECT * (dtype == "fp32" and max(dilation) > 1), []
    for gradient, of, image, other in ((gx, ":input", grad, w), (gw, ":weight", x, x)):
        if gradient is not None:
            suffix = of + _form(image, transposed=transposed) + direct
            made.append(one(suffix=suffix, reads=touch(grad, other), writes=touch(gradient)))
    if gb is not None:
        bias = node_of(
            call, "reduction", suffix=":bias", reads=touch(grad), writes=touch(gb), shape=gb.shape,
            flop=float(grad.numel), role="column", domain=grad.numel, dtype=grad.dtype,
        )  # fmt: skip
        apart = [i for i in range(len(grad.shape)) if i != 1]
        made.append(replace(bias, beside=staged_bytes(grad, apart, SUM)))
    return tuple(made)


def attention(call: Call) -> tuple[Node, ...]:
    """Shape (batch, heads, queries, keys, head width, kv heads) from tensors (B, H, T, D)."""
    backward = call.name.endswith("_backward")
    q, k, v = (call.args[1:4]) if backward else call.args[:3]
    batch, heads, queries, width = q.shape
    kv_heads, keys, value_width = k.shape[1], k.shape[2], v.shape[3]
    pair = 2.0 * batch * heads * queries * keys
    flop = pair * (3 * width + 2 * value_width if backward else width + value_width)
    at = IS_CAUSAL[call.name]
    causal = call.kwargs.get("is_causal", any(x is True for x in call.args[at : at + 1]))
    if causal and queries > 1:
        flop *= (queries + 1) / (2 * queries)
    # The share that is dropped stands before `is_causal`, in one operator further ahead.
    at = 9 if call.name == "aten._scaled_dot_product_efficient_attention_backward" else at - 1
    dropped = float(call.kwargs.get("dropout_p", next(iter(call.args[at : at + 1]), 0.0))) > 0.0
    shape = (batch, heads, queries, keys, width, kv_heads)
    suffix = (kernels.CAUSAL if causal else "") + (kernels.DROPOUT if dropped else "")
    return (node_of(call, "attention", suffix=suffix, shape=shape, flop=flop, dtype=q.dtype),)


def recurrent(call: Call) -> tuple[Node, ...]:
    """cuDNN's recurrent networks: of each layer one product for the inputs of all places, and for each place
    one that waits for the place before; backward, those for the gradients of states, inputs and weights.
    What is kept between them is alive, but takes no time. One kernel holds the weights and goes through all
    places where torch asks for it (`held`)."""
    x, weights = call.args[0], [v for v in call.args[1] if isinstance(v, Value)]
    backward = call.name.endswith("_backward")
    # (weights', hidden states' and networks' descriptions come first, then the gradients of a backward call.)
    told = call.args[10:19] if backward else call.args[6:15]
    mode, width, _, layers, batch_first, _, _, both, packed = told
    places, batch = (x.shape[1], x.shape[0]) if batch_first else x.shape[:2]
    if packed:  # by how many sequences have each place
        places, batch = len(packed), math.ceil(x.shape[0] / len(packed))
    gates, ways = {2: 4, 3: 3}.get(mode, 1) * width, 2 if both else 1
    size = weights[0].bytes / weights[0].numel
    taken, given = (tuple((v.id, 0.0) for v in values) for values in (call.ins, call.outs[1:]))
    narrow = width <= NARROW[backward] * (1 if mode in GATED else 2) and not packed
    # cuDNN has no such kernel for bf16 (profiles of two networks).
    step = kernels.HELD if narrow and x.dtype != "bf16" else kernels.STEP

    def product(m: int, n: int, k: int, launches: int, suffix: str) -> Node:
        reads = ((x.id, size * launches * m * k), (weights[0].id, size * launches * n * k), *taken)
        return node_of(
            call, "matmul", suffix=suffix, shape=(1, m, n, k), flop=2.0 * m * n * k * launches, dtype=x.dtype,
            launches=launches, reads=reads, writes=((call.outs[0].id, size * launches * m * n), *given),
        )  # fmt: skip

    made = []
    for layer in range(layers):
        inputs = x.shape[-1] if layer == 0 else width * ways
        steps, rows = places * ways, places * batch
        if not backward:
            made += [product(rows, gates, inputs, ways, ""), product(batch, gates, width, steps, step)]
            continue
        made += [product(batch, width, gates, steps, step), product(rows, inputs, gates, ways, "")]
        made += [product(gates, inputs, rows, ways, ""), product(gates, width, rows, ways, "")]
    return tuple(made)


# Of cuDNN's numbers of recurrent networks those with gates, and the widths up to which torch asks for a
# kernel that stays (aten/src/ATen/native/cudnn/RNN.cpp, `use_rnn_persist_small_h`), forward and backward;
# networks without gates may be twice as wide.
GATED, NARROW = frozenset({2, 3}), (192, 128)


# Fused attention, with the position of `is_causal` among its arguments.
IS_CAUSAL = {
    "aten._scaled_dot_product_flash_attention": 4, "aten._scaled_dot_product_efficient_attention": 6,
    "aten._scaled_dot_product_cudnn_attention": 6, "aten._scaled_dot_product_flash_attention_backward": 11,
    "aten._scaled_dot_product_efficient_attention_backward": 11,
    "aten._scaled_dot_product_cudnn_attention_backward": 14,
}  # fmt: skip


# Elements of a row that one thread block reduces on chip, so that maps around it merge with it.
LONGEST_ROW = 16_384

# Bytes of a table of which every later read finds a copy in cache.
CACHED = 65_536


def _strided(*values: Value) -> str:
    """`STRIDED` where operands are spread over others or lie in another order; single numbers are neither."""
    many = [value for value in values if value.numel > 1]
    alike = len({value.order for value in many}) < 2 and all(value.dense for value in many)
    return "" if alike else STRIDED + _across(*many)


def _across(*values: Value) -> str:
    """`ACROSS` where neighbours of one large operand are far from each other in another: each of those reads
    a whole sector of memory."""
    most = max((value.numel for value in values), default=0)
    walks = {value.innermost for value in values if value.numel > most / 2 and value.innermost}
    return ACROSS if len(walks) > 1 else ""


def elementwise(call: Call) -> tuple[Node, ...]:
    """Element by element over the largest operand."""
    kind: kernels.KernelClass = "optimiser" if call.phase == "optimiser" else "pointwise"
    suffix = "" if kind == "optimiser" else _strided(*call.outs, *call.ins)
    domain = max((v.numel for v in (*call.outs, *call.ins)), default=0)
    role: Role = "opaque" if call.name.startswith(kernels.FALLBACKS) else "map"
    return (node_of(call, kind, suffix=suffix, role=role, domain=domain, flop=float(domain)),)


def write_only(call: Call) -> tuple[Node, ...]:
    """A fill or a draw of random numbers: nothing is read, also not what it overwrites."""
    node = node_of(call, "optimiser" if call.phase == "optimiser" else "pointwise", reads=(), role="map")
    return (node,)


def copied(call: Call) -> tuple[Node, ...]:
    """Source read, target written; `copy_` does not read what it overwrites. Where no side is padded torch
    copies what is there."""
    if call.name == "aten.constant_pad_nd" and max(call.args[1]) <= 0:
        call = replace(call, name="aten.clone")
    source = call.args[1] if call.name == "aten.copy_" else None
    reads = touch(source) if source is not None else None
    parts = [source] if isinstance(source, Value) else list(call.ins)
    # What several are put together to lies as they do, apart from where each begins.
    suffixes = [_strided(*call.outs, part) if len(parts) == 1 else _strided(part) for part in parts]
    return (node_of(call, "copy", suffix=max(suffixes, key=len, default=""), reads=reads, role="map"),)


def two_pass(call: Call, x: Value, *, training: bool = True) -> tuple[Node, ...]:
    """Batch or group norm forward: statistics over the input, then normalise."""
    work = partial(node_of, call, "normalisation", domain=x.numel)
    small = [v for v in call.ins if v.id != x.id]
    if not training:
        only = work(
            suffix=":infer" + _order(x), reads=touch(x, *small), writes=touch(call.outs[0]),
            flop=2.0 * x.numel, role="map",
        )  # fmt: skip
        return (only,)
    saved = touch(*call.outs[1:])
    return (
        work(
            suffix=":statistics" + _order(x), reads=touch(x), writes=saved, flop=3.0 * x.numel, role="column"
        ),
        work(
            suffix=":apply" + _order(x), reads=touch(x, *small, *call.outs[1:]), writes=touch(call.outs[0]),
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
        suffix=":statistics" + _order(x), reads=touch(grad, x), writes=touch(*outs), flop=4.0 * x.numel,
        role="column",
    )  # fmt: skip
    apply = work(
        suffix=":input" + _order(x), reads=(*touch(grad, x, *outs), *small), writes=touch(call.outs[0]),
        flop=4.0 * x.numel, role="map",
    )  # fmt: skip
    return (sums, apply) if call.outs[0].numel == x.numel else (sums,)


def row_norm(call: Call, flop: float = 5.0) -> tuple[Node, ...]:
    """Softmax, layer norm or RMS norm forward, softmax backward: one pass, rows stay on chip."""
    domain = max(v.numel for v in call.ins)
    x, dim = call.ins[0], next((a for a in call.args if isinstance(a, int) and not isinstance(a, bool)), -1)
    # Softmax along another dimension than the last; norms have no such argument.
    across = "softmax" in call.name and dim % max(1, len(x.shape)) != len(x.shape) - 1
    suffix = COLUMNS if across else ""
    return (node_of(call, "normalisation", suffix=suffix, role="row", domain=domain, flop=flop * domain),)


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
    length = x.numel // max(1, biggest(call.outs).numel)
    dims = call.args[1] if len(call.args) > 1 else None
    given = [dims] if isinstance(dims, int) else dims if isinstance(dims, list | tuple) else []
    along = [d % max(1, len(x.shape)) for d in given if isinstance(d, int)]
    trailing = bool(along) and min(along) >= len(x.shape) - len(along) and length <= LONGEST_ROW
    kind: kernels.KernelClass = "optimiser" if call.phase == "optimiser" else "reduction"
    role = role or ("row" if trailing and length > 1 else "column")
    suffix = COLUMNS + _turned(x, biggest(call.outs), along) if given and not trailing else ""
    made = node_of(call, kind, suffix=suffix, role=role, domain=x.numel, flop=float(x.numel))
    return (replace(made, beside=staged(call)),)


def _turned(x: Value, result: Value, along: Sequence[int]) -> str:
    """`ACROSS` where neighbours of what is summed are far from each other in the result, which torch lays out
    in the order of its dimensions: its threads read one element at a time."""
    left = [i for i in range(len(x.shape)) if i not in along or len(result.shape) == len(x.shape)]
    inner, place = x.innermost + len(x.shape), result.innermost + len(result.shape)
    stays = result.numel > 1 and inner in left and inner not in along
    return ACROSS if stays and left.index(inner) != place else ""


def lookup(call: Call) -> tuple[Node, ...]:
    """Rows taken from a table: as many bytes are read as written, or a table that stays in cache once;
    and the indices."""
    out = biggest(call.outs)
    table, *rest = call.ins
    taken = out.bytes
    if "_embedding_bag" in call.name:  # each index has a row, of which several become one
        taken = rest[0].numel * table.bytes / max(1, table.shape[0])
    reads = ((table.id, table.bytes if table.bytes <= CACHED else taken), *touch(*rest))
    suffix = _layout(out) if "upsample" in call.name else ""
    if call.name == "aten.index" and call.args[1][0] is not None and [len(i.shape) for i in rest] == [1]:
        suffix = ":rows"  # whole ones
    role: Role = "opaque" if "_embedding_bag" in call.name else "map"
    return (node_of(call, "gather", suffix=suffix, reads=reads, role=role, domain=out.numel),)


def scatter(call: Call) -> tuple[Node, ...]:
    """Rows put into a table: the source is read, the target written where it is hit (all of a fresh one).
    What is added by indices is put in their order first (aten/src/ATen/native/cuda/Indexing.cu)."""
    if "index_put" in call.name and True in call.args[3:4]:
        return (node_of(call, "gather", suffix=kernels.SORTED, shape=biggest(call.ins).shape),)
    if "grid_sampler" in call.name:  # four numbers are added for each of the gradient, by atomic operations
        return (node_of(call, "gather", shape=call.ins[0].shape),)
    if not call.inplace:
        return (node_of(call, "gather", suffix=_layout(call.ins[0]) if "upsample" in call.name else ""),)
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


def transform(call: Call) -> tuple[Node, ...]:
    """A Fourier transform: of each dimension a pass over the data (cuFFT), longer ones in two, 5 n log2 n
    operations for n complex numbers (Cooley & Tukey 1965)."""
    x, dims = biggest((*call.ins, *call.outs)), call.args[1]
    sizes = [x.shape[dim] for dim in dims]
    passes = sum(1 if size <= FFT_BLOCK else 2 for size in sizes)
    flop = 5.0 * x.numel * math.log2(max(2, math.prod(sizes))) / passes
    return (node_of(call, "copy", flop=flop, dtype="fp32", shape=x.shape),) * passes


FFT_BLOCK = 4096
"""Numbers of one transform that a block of threads holds on chip."""


def opaque(call: Call) -> tuple[Node, ...]:
    suffix = _layout(call.ins[0]) if "pool" in call.name else ""
    if call.name.startswith(("aten.max_pool2d", "aten.avg_pool2d")):  # not adaptive ones
        # Of windows that overlap, an input is read and its gradient summed more than once.
        window, step, *_ = (*(x for x in call.args if isinstance(x, list | tuple)), ())
        suffix += ":apart" if all(map(le, window, step or window)) else ""
    if call.name in kernels.SCANS and call.args[1] in (-1, len(call.ins[0].shape) - 1):
        suffix = kernels.ALONG_ROWS
    size = max(v.numel for v in (*call.outs, *call.ins))
    return (node_of(call, "reduction", suffix=suffix, flop=float(size)),)


def nothing(call: Call) -> tuple[Node, ...]:
    return ()


def collective(call: Call) -> tuple[Node, ...]:
    return (node_of(call, "collective"),)


def batch_norm(call: Call) -> tuple[Node, ...]:
    """`training` is the first truth value among the arguments; a legit overload without one trains."""
    training = next((x for x in call.args if isinstance(x, bool)), True)
    return two_pass(call, call.args[0], training=training)


def group_norm(call: Call) -> tuple[Node, ...]:
    return two_pass(call, call.args[0])


Rule = Callable[[Call], tuple[Node, ...]]


def rule_of(name: str, *, pointwise: bool) -> Rule | None:
    """What computes the cost of an operator: by its name, else as of one that works element by element."""
    rule = _RULES.get(name) or _RULES.get(name.removesuffix("_"))
    if rule is None and name.startswith(("aten._foreach_", "aten._fused_", "aten._amp_foreach_")):
        return many
    if rule is None and name.startswith(("c10d.", "_c10d_functional.", "c10d_functional.")):
        return collective
    return rule or (elementwise if pointwise else None)


def nodes_of(call: Call) -> tuple[Node, ...] | None:
    """The kernels of one call; none for one that moves nothing, None where no rule is known."""
    rule = rule_of(call.name, pointwise=call.pointwise)
    return None if rule is None else rule(call)


_NAMED: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        matmul, grouped_product, recurrent, transform, convolution, convolution_backward, batch_norm,
        group_norm, two_pass_backward, row_norm, row_backward, reduction, opaque, lookup, scatter, copied,
        write_only, elementwise, nothing,
    )
}  # fmt: skip
_TABLE = Path(__file__).parent / "data" / "rules.toml"
_RULES: dict[str, Rule] = {
    f"aten.{operator}": _NAMED[rule]
    for rule, operators in tomllib.loads(_TABLE.read_text(encoding="utf-8")).items()
    for operator in operators.split()
} | dict.fromkeys(IS_CAUSAL, attention)
_RULES["gpuwise.float8_product"] = product_with_rows
