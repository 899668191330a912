"""What can be measured, and what one item of it costs in arithmetic and memory traffic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gpuwise.model.precision import NETWORK_PRECISIONS, Precision
from gpuwise.model.recipe import MANY_ROWS, OWN_KERNELS, OWN_LAYERS, Recipe

Mode = Literal["train", "infer", "compute", "limit"]
"""train: forward, loss, backward, optimiser. infer: forward only. compute: a scientific kernel.
limit: a hardware ceiling."""

MODES: tuple[Mode, ...] = ("train", "infer", "compute", "limit")

# What both a measurement and a prediction go by, so that they choose alike: the throughput that a doubled
# batch must add (with less, a larger one only costs memory), and the share of the device's memory that the
# state of training may take before it is split (the rest is for activations).
BATCH_GAIN = 1.01
STATE_ROOM = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one item costs at a batch size: the least a step must compute and move.

    `flop_per_item` counts a multiply-add as two operations and backward as twice forward (no
    recomputation), the convention of MFU. `bytes_per_item` is compulsory memory traffic under
    the fusion that the workload's docstring states; None where no such count is made.
    """

    flop_per_item: float
    bytes_per_item: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """One workload. Numbers of different `version`s are not comparable."""

    id: str
    version: int
    title: str
    task: str = "yours"
    item: str  # What one unit of throughput is: image, sequence, token, FLOP, byte
    modes: tuple[Mode, ...]
    parameters: int | None = None
    default_batch: int  # The batch at which a GPU search starts; also the published recipe's batch
    cpu_batch: int = 1  # The batch for a CPU, where a step at `default_batch` would take minutes
    cost: Callable[[Mode, Precision, int], Cost] | None = None
    """(mode, precision, batch) -> Cost of one item; None = torch counts the operations of a step."""
    script: bool = False
    """It can also run as the public script of the benchmark article does: the recipe `script`."""
    precisions: tuple[Precision, ...] = NETWORK_PRECISIONS
    """What it can be run in; others are left out of a session without an error."""
    compiles: bool = True
    """False: a step is one library call, compiled or not the same; it is measured once, as eager."""
    switches: tuple[str, ...] = ()  # Those of a recipe (`model.recipe`) that its job heeds
    gpus: int = 0  # GPUs without which it means nothing; 0 = a CPU can run it as well
    phase: Literal["prefill", "decode"] | None = None
    """Of language-model inference: the prompt at once, or one token after the other."""
    collective: bool = False
    """A step that all ranks make together, at least two: measured at every count of GPUs asked for."""

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """Those that differ for it: tuned where gpuwise has kernels for it."""
        layers = self.id not in MANY_ROWS and any(
            mode in self.modes and precision in self.precisions for mode, precision in OWN_LAYERS
        )
        tuned: tuple[Recipe, ...] = ("tuned",) if layers or set(self.switches) & set(OWN_KERNELS) else ()
        return (*(("script",) if self.script else ()), "stock", *tuned)
