"""The workloads as a table and as data, grouped by what they are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.units import si, whole
from gpuwise.model.workload import WorkloadSpec
from gpuwise.show.table import Table


def listing(specs: Sequence[WorkloadSpec], installed: Sequence[str] = ()) -> Table:
    """One row a workload, with what one item costs; the same task side by side, limits last.

    `installed` are names that other packages offer, which are not loaded to be listed.
    """
    notes = ["measure one: gpuwise bench resnet50; a file of yours: gpuwise bench ./my_model.py"]
    notes += [f"from installed packages: {', '.join(installed)}"] if installed else []
    rows = []
    for spec in grouped(specs):
        limit = "limit" in spec.modes
        cost: str = ""
        # A limit has none; of a FLOP it is one; where none is stated, torch has to count.
        if spec.cost is not None and not limit and spec.item != "FLOP":
            each = spec.cost(spec.modes[0], spec.precisions[0], spec.default_batch)
            cost = si(each.flop_per_item, "FLOP")
        precisions = " ".join(p for p in PRECISIONS if p in spec.precisions)
        rows.append({
            "for": spec.task,
            "workload": spec.id,
            "what": spec.title,
            "modes": ", ".join(spec.modes),
            "precisions": precisions if not limit or len(spec.precisions) > 1 else "",
            "recipes": ", ".join(spec.recipes) if "train" in spec.modes else "",
            "item": spec.item,
            "parameters": whole(spec.parameters) if spec.parameters else "",
            "per item": cost,
            "batch": "" if limit else whole(spec.default_batch),
        })  # fmt: skip
    return Table.of(rows, notes=tuple(notes))


def grouped(specs: Sequence[WorkloadSpec]) -> tuple[WorkloadSpec, ...]:
    """Networks, then science, then limits; within these by task, in the order of their first."""
    tasks = list(dict.fromkeys(spec.task for spec in specs))

    def place(spec: WorkloadSpec) -> tuple[int, int]:
        kind = 2 if "limit" in spec.modes else 1 if "compute" in spec.modes else 0
        return kind, tasks.index(spec.task)

    return tuple(sorted(specs, key=place))


def document(spec: WorkloadSpec) -> dict[str, Any]:
    """A workload as plain data; cost at the default batch in bf16, or the first precision it has."""
    precision = Precision.BF16 if Precision.BF16 in spec.precisions else spec.precisions[0]
    known = spec.cost
    costs = {mode: known(mode, precision, spec.default_batch) for mode in spec.modes} if known else {}
    plain = ("id", "version", "title", "task", "item", "parameters", "default_batch", "gpus")
    return {
        **{name: getattr(spec, name) for name in plain},
        **{name: list(getattr(spec, name)) for name in ("modes", "precisions", "recipes")},
        "flop_per_item": {mode: cost.flop_per_item for mode, cost in costs.items()},
        "bytes_per_item": {mode: cost.bytes_per_item for mode, cost in costs.items()},
    }
