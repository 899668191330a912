"""Which switches are worth trying for a configuration, and in which order.

Those that gain most for their time go first: the layout and gpuwise's own kernels, then the batch, in the
end the compiler's own searches, which take minutes. Two switches that exclude each other are changed
together (`settled`), so that the search meets both of `layout=channels-first` and `pooling=triton`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from gpuwise.measure.tune.search import BATCH
from gpuwise.model.recipe import OWN_KERNELS, USUAL, Recipe, Switches, choices
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec

ORDER = (
    "layout",
    "pooling",
    "stream",
    BATCH,
    "attention",
    "graph",
    "weights",
    "exchange",
    "bucket",
    "region",
    "compiler",
)

ON_GPUS = frozenset({"pooling", "attention", "graph"})
COMPILED = frozenset({"graph", "region", "compiler"})
TRAINING = frozenset({"weights", "stream"})
"""Inference has its weights, and with them all between products, in 16 bits."""
HALF = frozenset({"fp16", "bf16", "fp8"})
"""Training under autocast; in FP8 it is bf16 between products, and weights are cast for each anyway."""

TOGETHER = frozenset({"exchange", "bucket"})
"""Of every workload that trains on several GPUs."""


def axes(spec: WorkloadSpec, config: RunConfig, recipe: Recipe = "tuned") -> dict[str, tuple[str, ...]]:
    """What can change this configuration's speed: switches with their words, and the batch unless given.

    Several GPUs run the recipe of one; only how they exchange gradients is searched. A search for a stock
    recipe has no kernels of gpuwise's.
    """
    alone = {*spec.switches, *(() if config.batch else (BATCH,))}
    heeded = alone if config.gpus == 1 else TOGETHER
    return {
        name: tuple(
            word
            for word in choices().get(name, ())
            if _runs(name, word, config) and (recipe != "stock" or OWN_KERNELS.get(name) != word)
        )
        for name in ORDER
        if name in heeded and _matters(name, config)
    }


def settled(switches: Switches, changed: str) -> Switches:
    """The switches, with what `changed` does not go with put back: gpuwise's pooling reads channels-last
    images, and makes them of others first."""
    if switches.pooling == "triton" and switches.layout == "channels-first":
        other: Literal["pooling", "layout"] = "layout" if changed == "pooling" else "pooling"
        return replace(switches, **{other: getattr(USUAL, other)})
    return switches


def _matters(name: str, config: RunConfig) -> bool:
    if name == "layout" and config.precision == "fp32":
        return False  # always channels-first
    return not (
        (name in ON_GPUS and config.device != "cuda")
        or (name in COMPILED and not config.compile)
        or (name in TRAINING | TOGETHER and config.mode != "train")
        or (name in TRAINING and config.precision not in HALF)
        or (name == "weights" and config.precision == "fp8")
    )


def _runs(name: str, word: str, config: RunConfig) -> bool:
    """gpuwise's kernels run on GPUs, the one of attention on 16 bits."""
    return word != "triton" or (config.device == "cuda" and (name != "attention" or config.precision in HALF))
