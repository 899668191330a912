"""What each operator costs: class, shape, operations and bytes of the kernels it launches.

Bytes are those of one pass over each operand (a cold cache, no reuse lost), with these exceptions:
training batch norm reads its input twice (statistics, then apply) and its backward reads gradient and
input twice, as does layer norm's (input, then weight gradients); a lookup reads the rows it takes, not
the table. Operations count a multiply-add as two; element-wise work counts one an element.
Attention: two products forward, five backward (one recomputes the scores); a causal one computes the
half of them that it keeps, (T + 1) / 2T.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpuwise.model.trace import KernelClass
from gpuwise.predict.graph import Call, Node, Role, Touch, Value

Rule = Callable[[Call], tuple[Node, ...]]

LONGEST_ROW = 16_384
"""Elements of a row that one thread block reduces on chip, so that maps around it merge with it."""


def nodes_of(call: Call) -> tuple[Node, ...] | None:
    """The kernels of one call; none for one that moves nothing, None where no rule is known."""
    base = call.name.removesuffix("_")
    rule = _RULES.get(call.name) or _RULES.get(base)
    if rule is not None:
        return rule(call)
    if call.name.startswith(("aten._foreach_", "aten._fused_", "aten._amp_foreach_")):
        return _many(call)
    if call.name.startswith(("c10d.", "_c10d_functional.", "c10d_functional.")):
        return (_node(call, "collective"),)
    if call.pointwise:
        return (_map(call),)
    return None


def _touch(*values: Any) -> tuple[Touch, ...]:
    return tuple((v.id, v.bytes) for v in values if isinstance(v, Value))


def _biggest(values: Sequence[Value]) -> Value:
    return max(values, key=lambda v: v.numel)


def _format(call: Call) -> str:
    """Format of the largest floating operand, else of the result."""
    floats = [v for v in (*call.outs, *call.ins) if v.dtype in ("fp64", "fp32", "fp16", "bf16", "fp8")]
    return _biggest(floats).dtype if floats else _biggest(call.outs or call.ins).dtype


def _node(
    call: Call,
    kind: KernelClass,
    *,
    suffix: str = "",
    reads: tuple[Touch, ...] | None = None,
    writes: tuple[Touch, ...] | None = None,
    shape: tuple[int, ...] | None = None,
    flop: float = 0.0,
    role: Role = "opaque",
    dtype: str | None = None,
    domain: int | None = None,
    launches: int = 1,
) -> Node:
    """A node that reads all arguments and writes all results unless told otherwise."""
    result = _biggest(call.outs or call.ins)
    return Node(
        kind=kind,
        name=call.name + suffix,
        dtype=dtype or _format(call),
        shape=result.shape if shape is None else shape,
        flop=flop,
        phase=call.phase,
        reads=_touch(*call.ins) if reads is None else reads,
        writes=_touch(*call.outs) if writes is None else writes,
        role=role,
        domain=result.numel if domain is None else domain,
        launches=launches,
    )


def _map(call: Call, kind: KernelClass = "pointwise", *, role: Role = "map") -> Node:
    """Element by element over the largest operand."""
    if call.phase == "optimiser":
        kind = "optimiser"
    domain = max((v.numel for v in (*call.outs, *call.ins)), default=0)
    flop = 0.0 if kind == "copy" else float(domain)
    return _node(call, kind, role=role, domain=domain, flop=flop)


def _write_only(call: Call) -> tuple[Node, ...]:
    """A fill or a draw of random numbers: nothing is read, also not what it overwrites."""
    node = _node(call, "optimiser" if call.phase == "optimiser" else "pointwise", reads=(), role="map")
    return (node,)


def _copy(call: Call) -> tuple[Node, ...]:
    """Source read, target written; `copy_` does not read what it overwrites."""
    source = call.args[1] if call.name == "aten.copy_" else None
    reads = _touch(source) if source is not None else None
    return (_node(call, "copy", reads=reads, role="map"),)


def _matmul(call: Call) -> tuple[Node, ...]:
    """(batch, m, n, k) of the last two matrix arguments; a bias or addend is read as well."""
    skip = 1 if call.name.rpartition(".")[2].lstrip("_").startswith(("add", "baddbmm")) else 0
    a, b = [v for v in call.args[skip:] if isinstance(v, Value)][:2]
    k = a.shape[-1]
    batch = a.shape[0] if a.numel and len(a.shape) == 3 else 1
    m = a.shape[-2] if len(a.shape) > 1 else 1
    n = b.shape[-1] if len(b.shape) > 1 else 1
    dtype = "tf32" if call.tf32 and a.dtype == "fp32" else a.dtype
    return (_node(call, "matmul", shape=(batch, m, n, k), flop=2.0 * batch * m * n * k, dtype=dtype),)


def _convolution_shape(x: Value, w: Value, y: Value, stride: Sequence[int], groups: int) -> tuple[int, ...]:
    """Shape of the table in `model.trace`; a 1-D height is 1, a 3-D depth counts as images and channels."""
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
    return "" if x.channels_last or len(x.shape) != 4 else ":nchw"


def _convolution(call: Call) -> tuple[Node, ...]:
    x, w, bias, stride, _, _, transposed, _, groups = call.args[:9]
    (y,) = call.outs
    shape = _convolution_shape(x, w, y, stride, groups)
    dtype = "tf32" if call.tf32 and x.dtype == "fp32" else x.dtype
    flop = _products(w, x if transposed else y)
    node = _node(call, "convolution", suffix=_layout(x), shape=shape, flop=flop, dtype=dtype)
    if bias is None:
        return (node,)
    # cuDNN convolves without the bias; torch adds it in a kernel of its own.
    added = Node(
        kind="pointwise", name="aten.add_", dtype=y.dtype, shape=y.shape, flop=float(y.numel), phase=call.phase,
        reads=_touch(y, bias), writes=_touch(y), role="map", domain=y.numel,
    )  # fmt: skip
    return (node, added)


def _convolution_backward(call: Call) -> tuple[Node, ...]:
    """One kernel for each gradient asked for: input, weight, bias."""
    grad, x, w, _, stride, _, _, transposed, _, groups, mask = call.args[:11]
    outs = iter(call.outs)
    gx, gw, gb = (next(outs) if asked else None for asked in mask)
    shape = _convolution_shape(x, w, grad, stride, groups)
    dtype = "tf32" if call.tf32 and x.dtype == "fp32" else x.dtype
    flop = _products(w, x if transposed else grad)
    one = partial(_node, call, "convolution", shape=shape, flop=flop, dtype=dtype)
    made = []
    if gx is not None:
        made.append(one(suffix=":input" + _layout(grad), reads=_touch(grad, w), writes=_touch(gx)))
    if gw is not None:
        made.append(one(suffix=":weight" + _layout(x), reads=_touch(grad, x), writes=_touch(gw)))
    if gb is not None:
        bias = _node(
            call, "reduction", suffix=":bias", reads=_touch(grad), writes=_touch(gb), shape=gb.shape,
            flop=float(grad.numel), role="column", domain=grad.numel, dtype=grad.dtype,
        )  # fmt: skip
        made.append(bias)
    return tuple(made)


def _attention(call: Call) -> tuple[Node, ...]:
    """Shape (batch, heads, queries, keys, head width, kv heads) from tensors (B, H, T, D)."""
    backward = call.name.endswith("_backward")
    q, k, v = (call.args[1:4]) if backward else call.args[:3]
    batch, heads, queries, width = q.shape
    kv_heads, keys, value_width = k.shape[1], k.shape[2], v.shape[3]
    pair = 2.0 * batch * heads * queries * keys
    flop = pair * (3 * width + 2 * value_width if backward else width + value_width)
    causal = call.kwargs.get("is_causal", any(x is True for x in _causal_argument(call)))
    if causal and queries > 1:
        flop *= (queries + 1) / (2 * queries)
    shape = (batch, heads, queries, keys, width, kv_heads)
    suffix = ":causal" if causal else ""
    return (_node(call, "attention", suffix=suffix, shape=shape, flop=flop, dtype=q.dtype),)


_CAUSAL = {
    "aten._scaled_dot_product_flash_attention": 4,
    "aten._scaled_dot_product_efficient_attention": 6,
    "aten._scaled_dot_product_cudnn_attention": 6,
    "aten._scaled_dot_product_flash_attention_backward": 11,
    "aten._scaled_dot_product_efficient_attention_backward": 11,
    "aten._scaled_dot_product_cudnn_attention_backward": 14,
}
"""Position of `is_causal` among the arguments."""


def _causal_argument(call: Call) -> tuple[Any, ...]:
    place = _CAUSAL[call.name]
    return call.args[place : place + 1]


def _two_pass(call: Call, x: Value, *, training: bool = True) -> tuple[Node, ...]:
    """Batch or group norm forward: statistics over the input, then normalise."""
    work = partial(_node, call, "normalisation", domain=x.numel)
    small = [v for v in call.ins if v.id != x.id]
    if not training:
        return (work(reads=_touch(x, *small), writes=_touch(call.outs[0]), flop=2.0 * x.numel, role="map"),)
    saved = _touch(*call.outs[1:])
    return (
        work(suffix=":statistics", reads=_touch(x), writes=saved, flop=3.0 * x.numel, role="column"),
        work(
            suffix=":apply", reads=_touch(x, *small, *call.outs[1:]), writes=_touch(call.outs[0]),
            flop=2.0 * x.numel, role="map",
        ),
    )  # fmt: skip


def _two_pass_backward(call: Call) -> tuple[Node, ...]:
    """Sums over gradient and input, then the gradient of the input from both."""
    grad, x = call.args[:2]
    small = _touch(*(v for v in call.ins if v.id not in (grad.id, x.id)))
    outs = [v for v in call.outs if v.numel < x.numel]
    work = partial(_node, call, "normalisation", domain=x.numel)
    sums = work(
        suffix=":statistics", reads=_touch(grad, x), writes=_touch(*outs), flop=4.0 * x.numel, role="column"
    )
    apply = work(
        suffix=":input", reads=(*_touch(grad, x, *outs), *small), writes=_touch(call.outs[0]),
        flop=4.0 * x.numel, role="map",
    )  # fmt: skip
    return (sums, apply) if call.outs[0].numel == x.numel else (sums,)


def _row(call: Call, flop: float = 5.0) -> tuple[Node, ...]:
    """Softmax, layer norm or RMS norm forward, softmax backward: one pass, rows stay on chip."""
    domain = max(v.numel for v in call.ins)
    return (_node(call, "normalisation", role="row", domain=domain, flop=flop * domain),)


def _row_backward(call: Call) -> tuple[Node, ...]:
    """Layer or RMS norm backward: the input's gradient row by row, the weights' down the columns."""
    grad, x = call.args[:2]
    outs = [v for v in call.outs if v.numel == x.numel][:1]
    weights = [v for v in call.outs if v not in outs]
    work = partial(_node, call, "normalisation", domain=x.numel)
    made = []
    if outs:
        made.append(work(suffix=":input", writes=_touch(*outs), role="row", flop=8.0 * x.numel))
    if weights:
        reads = _touch(*(v for v in call.ins if v.numel != weights[0].numel))
        made.append(
            work(suffix=":weight", reads=reads, writes=_touch(*weights), role="column", flop=4.0 * x.numel)
        )
    return tuple(made)


def _reduction(call: Call, role: Role | None = None) -> tuple[Node, ...]:
    """One pass over the input; along the last dimension a row, else (or if long) a column."""
    x = _biggest(call.ins)
    kept = max(1, _biggest(call.outs).numel)
    length = x.numel // kept
    dims = call.args[1] if len(call.args) > 1 else None
    given = [dims] if isinstance(dims, int) else dims if isinstance(dims, list | tuple) else []
    along = [d % max(1, len(x.shape)) for d in given if isinstance(d, int)]
    trailing = bool(along) and min(along) >= len(x.shape) - len(along) and length <= LONGEST_ROW
    kind: KernelClass = "optimiser" if call.phase == "optimiser" else "reduction"
    role = role or ("row" if trailing and length > 1 else "column")
    return (_node(call, kind, role=role, domain=x.numel, flop=float(x.numel)),)


def _lookup(call: Call) -> tuple[Node, ...]:
    """Rows taken from a table: read as many bytes as are written, and the indices."""
    out = _biggest(call.outs)
    table, *rest = call.ins
    reads = ((table.id, min(table.bytes, out.bytes)), *_touch(*rest))
    return (_node(call, "gather", reads=reads, role="map", domain=out.numel),)


def _scatter(call: Call) -> tuple[Node, ...]:
    """Rows put into a table: the source is read, the target written where it is hit (all of a fresh one)."""
    if not call.inplace:
        return (_node(call, "gather"),)
    target = call.inplace[0].id
    rest = [v for v in call.ins if v.id != target]
    moved = max((v.bytes for v in rest), default=0.0)
    out = call.outs[0]
    writes = ((out.id, min(out.bytes, moved)),)
    return (_node(call, "gather", reads=_touch(*rest), writes=writes),)


_MOST_TENSORS = {1: 110, 2: 64, 3: 48, 4: 36, 5: 30}
_MOST_BLOCKS, _CHUNK = 320, 65_536


def _many(call: Call) -> tuple[Node, ...]:
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
    return (
        _node(call, "optimiser", writes=_touch(*writes), shape=shape, flop=flop, launches=launches),
    )


def _opaque(kind: KernelClass, call: Call) -> tuple[Node, ...]:
    return (_node(call, kind, flop=float(max(v.numel for v in (*call.outs, *call.ins)))),)


def _free(call: Call) -> tuple[Node, ...]:
    return ()


def _batch_norm(call: Call) -> tuple[Node, ...]:
    """`training` is the first truth value among the arguments; a legit overload without one trains."""
    training = next((x for x in call.args if isinstance(x, bool)), True)
    fresh = call.outs[: max(1, len(call.outs) - len(call.inplace))]
    del fresh
    return _two_pass(call, call.args[0], training=training)


def _group_norm(call: Call) -> tuple[Node, ...]:
    return _two_pass(call, call.args[0])


def _table() -> dict[str, Rule]:
    """Operator -> rule."""
    pairs: list[tuple[str, Rule]] = [
        (
            "mm addmm bmm baddbmm mv addmv dot vdot addbmm _scaled_mm _int_mm _addmm_activation "
            "_weight_int8pack_mm",
            _matmul,
        ),
        ("convolution _convolution", _convolution),
        ("convolution_backward", _convolution_backward),
        (" ".join(name.removeprefix("aten.") for name in _CAUSAL), _attention),
        (
            "native_batch_norm cudnn_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional "
            "_batch_norm_with_update _batch_norm_no_update _native_batch_norm_legit_no_training",
            _batch_norm,
        ),
        ("native_group_norm", _group_norm),
        ("native_batch_norm_backward batch_norm_backward cudnn_batch_norm_backward "
         "native_group_norm_backward", _two_pass_backward),
        ("native_layer_norm _fused_rms_norm _softmax _log_softmax _softmax_backward_data "
         "_log_softmax_backward_data", _row),
        ("native_layer_norm_backward _fused_rms_norm_backward", _row_backward),
        ("sum mean amax amin max min argmax argmin any all prod var var_mean std std_mean norm "
         "linalg_vector_norm logsumexp nansum nll_loss_forward nll_loss2d_forward mse_loss smooth_l1_loss "
         "huber_loss count_nonzero _adaptive_avg_pool2d adaptive_avg_pool2d", _reduction),
        ("sort topk cumsum cumprod multinomial max_pool2d_with_indices max_pool3d_with_indices avg_pool2d "
         "avg_pool3d max_pool2d_with_indices_backward avg_pool2d_backward avg_pool3d_backward "
         "max_pool3d_with_indices_backward adaptive_max_pool2d adaptive_max_pool2d_backward",
         partial(_opaque, "reduction")),
        ("embedding index index_select gather take upsample_nearest2d _upsample_nearest_exact2d "
         "upsample_bilinear2d grid_sampler_2d _embedding_bag", _lookup),
        ("embedding_dense_backward upsample_nearest2d_backward upsample_bilinear2d_backward "
         "grid_sampler_2d_backward scatter scatter_add scatter_reduce index_put _index_put_impl index_add "
         "index_copy masked_scatter", _scatter),
        ("copy _to_copy clone cat stack constant_pad_nd repeat roll flip tril triu slice_backward "
         "select_backward slice_scatter select_scatter diagonal_scatter as_strided_scatter "
         "split_with_sizes_copy _reshape_copy pixel_shuffle pixel_unshuffle channel_shuffle unfold_backward "
         "im2col col2im reflection_pad2d replication_pad2d", _copy),
        ("fill zero zeros zeros_like ones ones_like full full_like new_zeros new_ones new_full arange linspace "
         "rand randn rand_like randn_like randint randint_like randperm bernoulli normal uniform random "
         "exponential eye scalar_tensor", _write_only),
        ("native_dropout native_dropout_backward where masked_fill lerp addcmul addcdiv "
         "nll_loss_backward nll_loss2d_backward _adaptive_avg_pool2d_backward gelu_backward "
         "threshold_backward hardtanh_backward silu_backward sigmoid_backward tanh_backward "
         "mse_loss_backward smooth_l1_loss_backward huber_loss_backward elu_backward leaky_relu_backward "
         "hardswish_backward hardsigmoid_backward mish_backward softplus_backward glu glu_backward "
         "_prelu_kernel _prelu_kernel_backward complex real imag view_as_real polar celu_backward "
         "_amp_update_scale logit_backward log_sigmoid_forward log_sigmoid_backward", lambda c: (_map(c),)),
        ("empty empty_like empty_strided new_empty new_empty_strided empty_permuted detach alias lift "
         "lift_fresh _unsafe_view _reshape_alias set_ resize_ _local_scalar_dense sym_size", _free),
    ]  # fmt: skip
    return {f"aten.{name}": rule for names, rule in pairs for name in names.split()}


_RULES = _table()
