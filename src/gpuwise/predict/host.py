"""The host that launches a step's kernels: how long the GPU waits for it.

    step = max(sum of busy, sum of host, sum over phases of max(busy, host) - queue)

Forward pass, backward pass and optimiser follow each other, each bound by the GPU or by the host, which
runs ahead by what the driver holds, 1,024 launches: an optimiser of thousands of small kernels starves
the GPU at the end of a step that its products would otherwise hide. Compiled passes are launched by generated
code; their optimiser is not compiled.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gpuwise.model.trace import Trace
from gpuwise.predict.kernels import KEPT_TRACES, Array, Places
from gpuwise.predict.rates import Rates

QUEUE = 1024
"""Launches that wait in the driver (CUDA; further ones block the host)."""
_PHASES = ("forward", "backward", "optimiser")


def waits(trace: Trace, each: Array, rates: Rates) -> float:
    """Seconds of a step that the GPU waits for launches, whose kernels take `each` seconds in all."""
    phase, launches = _launches(trace)
    busy = np.bincount(phase, weights=each, minlength=len(_PHASES))
    host = launches * rates["dispatch"]
    queued = np.maximum(busy, host).sum() - QUEUE * rates["dispatch"]
    return float(max(busy.sum(), host.sum(), queued) - busy.sum())


@lru_cache(maxsize=KEPT_TRACES)
def _launches(trace: Trace) -> tuple[Places, Array]:
    """Phase of every kernel, and launches of every phase by the host's own code."""
    phase = np.array([_PHASES.index(kernel.phase) for kernel in trace.kernels], dtype=np.intp)
    counts = np.array([kernel.count for kernel in trace.kernels], dtype=float)
    launches: Array = np.bincount(phase, weights=counts, minlength=len(_PHASES)).astype(np.float64)
    if trace.compiled:
        return phase, launches * [name == "optimiser" for name in _PHASES]
    return phase, launches * (trace.launches / max(1.0, launches.sum()))
