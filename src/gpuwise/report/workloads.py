"""The workloads as a table and as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuwise.model.workload import WorkloadSpec
from gpuwise.report.table import Table
from gpuwise.units import si

COLUMNS = ("workload", "what", "modes", "recipes", "item", "parameters", "per item, train", "batch")


def listing(specs: Sequence[WorkloadSpec]) -> Table:
    """One row a workload, with what one item costs in training."""
    return Table(
        columns=COLUMNS,
        rows=tuple(_row(spec) for spec in specs),
        numeric=frozenset({"parameters", "per item, train", "batch"}),
        notes=("measure one: gpuwise bench --workload resnet50",),
    )


def _row(spec: WorkloadSpec) -> tuple[str, ...]:
    train = "train" in spec.modes
    cost = si(spec.cost("train", "bf16", spec.default_batch).flop_per_item, "FLOP") if train else ""
    parameters = f"{spec.parameters:,}" if spec.parameters else ""
    batch = str(spec.default_batch) if train else ""
    recipes = ", ".join(spec.recipes) if train else ""
    return (spec.id, spec.title, ", ".join(spec.modes), recipes, spec.item, parameters, cost, batch)


def document(spec: WorkloadSpec) -> dict[str, Any]:
    """A workload as plain data; cost at the default batch in bf16."""
    costs = {mode: spec.cost(mode, "bf16", spec.default_batch) for mode in spec.modes}
    return {
        "id": spec.id,
        "version": spec.version,
        "title": spec.title,
        "task": spec.task,
        "item": spec.item,
        "modes": list(spec.modes),
        "recipes": list(spec.recipes),
        "parameters": spec.parameters,
        "default_batch": spec.default_batch,
        "flop_per_item": {mode: cost.flop_per_item for mode, cost in costs.items()},
        "bytes_per_item": {mode: cost.bytes_per_item for mode, cost in costs.items()},
    }
