"""Costs of what multiplies: matrix products, convolutions, attention; and how a node is made of a call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from gpuwise.model.trace import KernelClass
from gpuwise.predict.graph import STRIDED, Call, Node, Role, Touch, Value
from gpuwise.predict.tiles import CAUSAL, DROPOUT


def touch(*values: Any) -> tuple[Touch, ...]:
    return tuple((v.id, v.bytes) for v in values if isinstance(v, Value))


def biggest(values: Sequence[Value]) -> Value:
    return max(values, key=lambda v: v.numel)


def format_of(call: Call) -> str:
    """Format of the largest floating operand, else of the result."""
    floats = [v for v in (*call.outs, *call.ins) if v.dtype in ("fp64", "fp32", "fp16", "bf16", "fp8")]
    return biggest(floats).dtype if floats else biggest(call.outs or call.ins).dtype


def node_of(
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
    result = biggest(call.outs or call.ins)
    return Node(
        kind=kind,
        name=call.name + suffix,
        dtype=dtype or format_of(call),
        shape=result.shape if shape is None else shape,
        flop=flop,
        phase=call.phase,
        reads=touch(*call.ins) if reads is None else reads,
        writes=touch(*call.outs) if writes is None else writes,
        role=role,
        domain=result.numel if domain is None else domain,
        launches=launches,
    )


def matmul(call: Call) -> tuple[Node, ...]:
    """(batch, m, n, k) of the last two matrix arguments; a bias or addend is read as well."""
    skip = 1 if call.name.rpartition(".")[2].lstrip("_").startswith(("add", "baddbmm")) else 0
    a, b = [v for v in call.args[skip:] if isinstance(v, Value)][:2]
    return _matmul(call, a, b.shape[-1] if len(b.shape) > 1 else 1)


def grouped_product(call: Call) -> tuple[Node, ...]:
    """A product for each group of rows, of which all are as many: the experts of a layer, chosen evenly."""
    a, b = call.args[:2]
    groups = next(v.shape[0] for v in (b, a, *call.outs) if len(v.shape) == 3)
    m, n, k = a.shape[-2], b.shape[-1], a.shape[-1]
    if len(a.shape) == len(b.shape) == 2:
        k //= groups  # rows are summed over, a part of them for each group
    elif len(a.shape) == 2:
        m //= groups
    elif len(b.shape) == 2:
        n //= groups
    shape = (groups, max(1, m), max(1, n), max(1, k))
    return (node_of(call, "matmul", shape=shape, flop=2.0 * groups * m * n * k, dtype=a.dtype),)


def product_with_rows(call: Call) -> tuple[Node, ...]:
    """The first matrix times the transpose of the second."""
    a, b = call.args[:2]
    return _matmul(call, a, b.shape[0])


def _matmul(call: Call, a: Value, n: int) -> tuple[Node, ...]:
    k = a.shape[-1]
    batch = a.shape[0] if a.numel and len(a.shape) == 3 else 1
    m = a.shape[-2] if len(a.shape) > 1 else 1
    dtype = "tf32" if call.tf32 and a.dtype == "fp32" else a.dtype
    return (node_of(call, "matmul", shape=(batch, m, n, k), flop=2.0 * batch * m * n * k, dtype=dtype),)


def convolution_shape(x: Value, w: Value, y: Value, stride: Sequence[int], groups: int) -> tuple[int, ...]:
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


def convolution(call: Call) -> tuple[Node, ...]:
    x, w, bias, stride, _, _, transposed, _, groups = call.args[:9]
    (y,) = call.outs
    shape = convolution_shape(x, w, y, stride, groups)
    dtype = "tf32" if call.tf32 and x.dtype == "fp32" else x.dtype
    flop = _products(w, x if transposed else y)
    node = node_of(call, "convolution", suffix=_layout(x), shape=shape, flop=flop, dtype=dtype)
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
    grad, x, w, _, stride, _, _, transposed, _, groups, mask = call.args[:11]
    outs = iter(call.outs)
    gx, gw, gb = (next(outs) if asked else None for asked in mask)
    shape = convolution_shape(x, w, grad, stride, groups)
    dtype = "tf32" if call.tf32 and x.dtype == "fp32" else x.dtype
    flop = _products(w, x if transposed else grad)
    one = partial(node_of, call, "convolution", shape=shape, flop=flop, dtype=dtype)
    made = []
    if gx is not None:
        made.append(one(suffix=":input" + _layout(grad), reads=touch(grad, w), writes=touch(gx)))
    if gw is not None:
        made.append(one(suffix=":weight" + _layout(x), reads=touch(grad, x), writes=touch(gw)))
    if gb is not None:
        bias = node_of(
            call, "reduction", suffix=":bias", reads=touch(grad), writes=touch(gb), shape=gb.shape,
            flop=float(grad.numel), role="column", domain=grad.numel, dtype=grad.dtype,
        )  # fmt: skip
        made.append(bias)
    return tuple(made)


def attention(call: Call) -> tuple[Node, ...]:
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
    suffix = (CAUSAL if causal else "") + (DROPOUT if _dropout(call) else "")
    return (node_of(call, "attention", suffix=suffix, shape=shape, flop=flop, dtype=q.dtype),)


IS_CAUSAL = {
    "aten._scaled_dot_product_flash_attention": 4,
    "aten._scaled_dot_product_efficient_attention": 6,
    "aten._scaled_dot_product_cudnn_attention": 6,
    "aten._scaled_dot_product_flash_attention_backward": 11,
    "aten._scaled_dot_product_efficient_attention_backward": 11,
    "aten._scaled_dot_product_cudnn_attention_backward": 14,
}
"""Fused attention, with the position of `is_causal` among its arguments."""


def _causal_argument(call: Call) -> tuple[Any, ...]:
    place = IS_CAUSAL[call.name]
    return call.args[place : place + 1]


def _dropout(call: Call) -> bool:
    """Whether any weight is dropped: the share stands before `is_causal`, in one operator further ahead."""
    place = _EARLY.get(call.name, IS_CAUSAL[call.name] - 1)
    return float(call.kwargs.get("dropout_p", next(iter(call.args[place : place + 1]), 0.0))) > 0.0


_EARLY = {"aten._scaled_dot_product_efficient_attention_backward": 9}
