"""Cases for the classes of kernels out of profiled steps of the zoo.

A profile (`profiles.jsonl.gz`, by `experiments/zoo.py`) says of each operator and the shapes of its inputs
how often it ran and for how many microseconds of the GPU; the trace of the same step has kernels with shapes.
Both are brought to one key, the work's, and what meets there is a case: these kernels together took that
long. Where inputs do not tell the work (reductions, indexing, attention), all launches of an operator are one
case, if the profile has as many as the trace; so are all kernels that a compiler generated.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpuwise.predictor.kernels import LIBRARY, Kernel, Trace, path

Shapes = Sequence[Sequence[int]]
Work = tuple[str | int, ...]
"""What is done, and its sizes."""
Case = tuple[tuple[Kernel, ...], float]
"""Kernels of a step, and the seconds that all of their launches took."""
# torch's other names of the same work.
SAME: Mapping[str, str] = {
    "cudnn_convolution": "convolution", "conv_depthwise2d": "convolution", "conv_depthwise3d": "convolution",
    "conv_depthwise2d_backward": "convolution_backward", "addmm": "mm", "baddbmm": "bmm",
    "to_copy": "copy", "clone": "copy", "contiguous": "copy", "clamp_min": "relu", "stack": "cat",
    "cudnn_attention_forward": "attention", "scaled_dot_product_flash_attention": "attention",
    "flash_attention_forward": "attention", "efficient_attention_forward": "efficient",
    "scaled_dot_product_efficient_attention": "efficient", "cudnn_attention_backward": "attention_backward",
    "flash_attention_backward": "attention_backward", "efficient_attention_backward": "efficient_backward",
    "scaled_dot_product_flash_attention_backward": "attention_backward",
    "scaled_dot_product_efficient_attention_backward": "efficient_backward",
}  # fmt: skip
# Their work is as large as their inputs, spread over each other.
POINTWISE = frozenset({
    "add", "copy", "div", "exp", "gelu", "gelu_backward", "masked_fill", "maximum", "mul", "native_dropout",
    "pow", "relu", "sigmoid", "silu", "softmax", "softmax_backward_data", "sub",
})  # fmt: skip
# Which input of a norm has the shape of its image or rows.
NORMS: Mapping[str, int] = {
    "native_layer_norm": 0, "native_layer_norm_backward": 0, "native_batch_norm": 0,
    "native_batch_norm_backward": 1,
}  # fmt: skip
# Operators that launch several kernels of the same key: the launches of one of them count the operator.
SEVERAL = frozenset({
    "convolution_backward", "native_layer_norm_backward", "native_batch_norm", "native_batch_norm_backward",
})  # fmt: skip
# By what share launches may differ between trace and profile: beyond that, other work has met on the key. One
# of four may be missing, as where a library copies on its own.
APART = 0.26


def operator(name: str) -> str:
    """The work of an operator, by torch's name of it ("aten::mul_") or a kernel's ("aten.mul:strided")."""
    plain = name.replace("aten::", "").replace("aten.", "").split(":")[0].strip("_")
    return SAME.get(plain, plain)


def of_operator(name: str, inputs: Shapes) -> Work:
    """The work of an operator that was profiled with inputs of these shapes (empty ones are no tensors)."""
    what, shapes = operator(name), [tuple(shape) for shape in inputs if shape]
    if what == "convolution" and len(shapes) > 1:
        return (what, *_convolved(*shapes[:2]))
    if what == "convolution_backward" and len(shapes) > 2:
        return (what, *_convolved(*shapes[1:3]))
    if what in ("mm", "bmm"):
        # Of `addmm` what is added comes first; `mm` into a given tensor has that last.
        first = 1 if "add" in name else 0
        left, right = shapes[first : first + 2]
        return (what, 1 if what == "mm" else left[0], left[-2], right[-1], left[-1])
    if what in NORMS and len(shapes) > NORMS[what]:
        return (what, *shapes[NORMS[what]])
    if what in POINTWISE and shapes:
        return (what, *np.broadcast_shapes(*shapes))
    return (what,)


def _convolved(image: tuple[int, ...], window: tuple[int, ...]) -> tuple[int, ...]:
    return (*image, window[0], *window[2:])


def of_kernel(kernel: Kernel) -> Work:
    """The work of a kernel of a trace."""
    what = operator(kernel.name)
    if kernel.kind == "convolution" and len(kernel.shape) == 11:
        return (what, *kernel.shape[:7])
    if what in ("mm", "bmm") and len(kernel.shape) == 4:
        return (what, *kernel.shape)
    return (what, *kernel.shape) if what in NORMS or what in POINTWISE else (what,)


def cases(trace: Trace, profile: Mapping[str, Any]) -> dict[Work, Case]:
    """The work of a step that its trace and its profile both have, about as often."""
    ran, seconds = defaultdict[Work, float](float), defaultdict[Work, float](float)
    for name, inputs, count, microseconds in profile["operators"]:
        work = of_operator(name, inputs)
        # Operators that only call others have no time of their own.
        if microseconds > 0:
            ran[work] += count / profile["steps"]
            seconds[work] += microseconds * 1e-6 / profile["steps"]
    kernels = defaultdict[Work, list[Kernel]](list)
    for kernel in trace.kernels:
        work = of_kernel(kernel)
        if work in ran and not (trace.compiled and kernel.kind not in LIBRARY):
            kernels[work].append(kernel)
    found = {}
    # In the profile's order, on which folds of cases depend.
    for work, often in ran.items():
        parts = defaultdict[str, int](int)
        for kernel in kernels[work]:
            parts[kernel.name] += kernel.count
        launched = max(parts.values(), default=0) if work[0] in SEVERAL else sum(parts.values())
        if len(work) == 1 and any(kernel.kind == "gather" for kernel in kernels[work]):
            continue  # what is looked up decides
        # An optimiser is one operator of many launches.
        once = launched > 0 and all(kernel.kind == "optimiser" for kernel in kernels[work])
        if once or abs(launched / often - 1.0) <= APART:
            found[work] = (tuple(kernels[work]), seconds[work])
    made = tuple(k for k in trace.kernels if path(k, compiled=True)[0] == "compiled")
    generated = sum(time for name, _, time in profile["kernels"] if name.startswith("triton_"))
    if trace.compiled and generated:
        found["generated",] = (made, generated * 1e-6 / profile["steps"])
    return found


def profiles(folder: Path, keys: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The profiles of the steps of these keys, of all folders of a zoo."""
    found, wanted = {}, frozenset(keys)
    for file in sorted(folder.glob("*/profiles.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for profile in map(json.loads, lines):
                if profile["key"] in wanted:
                    found[profile["key"]] = profile
    return found
