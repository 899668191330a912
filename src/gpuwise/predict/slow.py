"""Kernels that take longer than their operations and traffic need, or less: their code sets their time.

    time = times x what operations and traffic need, times at least 1 where instructions are waited for

`times` is that of an H200, whose units have 18.4 bytes of memory a clock each. A kernel with too many
instructions for that, or with too little on the way to hide the memory's latency (Little's law), is nearer
to the memory's speed on a card with fewer bytes a clock: `times` shrinks in proportion.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpuwise.model.trace import Kernel, Trace
from gpuwise.predict.card import Card
from gpuwise.predict.graph import STRIDED
from gpuwise.predict.kernels import CHANNELS_FIRST, KEPT_TRACES, Array
from gpuwise.predict.tiles import HALF

_BYTES_A_CLOCK = 18.4
"""Of memory, for each unit of an H200."""
_POOLS: Mapping[str, float] = {
    "max_pool2d_with_indices_backward": 4.9, "max_pool2d_with_indices": 3.6,
    "aten.avg_pool2d_backward": 19.0, "aten.avg_pool2d": 19.0,
}  # fmt: skip
"""Eager pooling in 16 bits: instructions for each element and each place of a window decide, 4.5 and 8
picoseconds an element read or written by max pooling on the project's H200, 12 and 18 by average pooling,
which divides and compares."""
_WIDE = 0.7
"""Of these times in fp32, whose elements have twice the bytes in nearly the same time."""
_HARD: Mapping[str, float] = {"native_dropout": 1.8, "gelu": 1.4}
"""Random bits and erf take longer than the memory there, eager and compiled (docs/performance.md)."""
_GENERATED: Mapping[str, float] = {"max_pool2d_with_indices_backward": 4.0, **_HARD}
"""Of a compiled step."""
_SLOW: Mapping[str, float] = {
    "aten.sum": 2.0, "layer_norm_backward:weight": 2.0, "aten.cat": 2.0, "native_group_norm:apply": 2.2,
    **_HARD,
}  # fmt: skip
"""Of an eager one: sums over rows read, and tensors put together write, across the order of memory; group
norm spreads a factor of each group over its places."""
_STRIDED: Mapping[str, float] = {"pointwise": 2.2, "copy": 4.0}
"""Eager kernels that divide to find the place of every element, in 16 bits, on average of what rotary
embeddings, parts of a tensor, caches and transposes take on the project's H200."""
_STREAMED = 0.8
"""Eager element-wise kernels of operands that lie alike, as fast as a copy: compiled ones do more at once."""
_WITH_ARITHMETIC = frozenset({"matmul", "convolution", "attention", "optimiser"})
"""Kinds whose time is told elsewhere; the optimiser's is of fp32."""
_WINOGRAD = 1.8
"""By what convolutions of 3 x 3 in IEEE fp32 are quicker: 2.25 times fewer operations, less transforms (Lavin
& Gray 2016, "Fast algorithms for convolutional neural networks"). Matrix units have no such kernels."""
_BATCH_NORM = 1.5
"""Batch norm in training where nothing is compiled: torch's own in bf16, and cuDNN's in channels-first order.
Channels last has kernels as fast as memory in other formats."""
_3X3 = (3, 3, 1, 1)
"""Window, groups and depth of a convolution, of its shape."""


def slowness(trace: Trace, card: Card) -> Array:
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
