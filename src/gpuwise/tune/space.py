"""Which switches are worth trying for a configuration, and in which order.

Those that gain most for their time go first: the batch, then what needs no longer compilation, then
the compiler's own searches, which take minutes.
"""

from __future__ import annotations

from gpuwise.model.recipe import choices
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec

ORDER = ("pooling", "stream", "attention", "weights", "layout", "graph", "compiler")

ON_GPUS = frozenset({"pooling", "attention", "graph"})
COMPILED = frozenset({"graph", "compiler"})
TRAINING = frozenset({"weights", "stream"})
"""Inference has its weights, and with them all between products, in 16 bits."""
HALF = frozenset({"fp16", "bf16", "fp8"})
"""Training under autocast; in FP8 it is bf16 between products, and weights are cast for each anyway."""


def axes(spec: WorkloadSpec, config: RunConfig) -> dict[str, tuple[str, ...]]:
    """Every switch that can change this configuration's speed, with its words."""
    return {name: choices()[name] for name in ORDER if name in spec.switches and _matters(name, config)}


def _matters(name: str, config: RunConfig) -> bool:
    if name == "layout" and config.precision == "fp32":
        return False  # always channels-first
    return not (
        (name in ON_GPUS and config.device != "cuda")
        or (name in COMPILED and not config.compile)
        or (name in TRAINING and config.mode != "train")
        or (name in TRAINING and config.precision not in HALF)
        or (name == "weights" and config.precision == "fp8")
    )
