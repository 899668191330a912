"""What is here: the hello screen, the checks of `gpuwise doctor`, and the workloads."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from gpuwise.measure.telemetry import Machine
from gpuwise.measure.telemetry.health import Check
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.question import WorkloadSpec
from gpuwise.model.units import gibibytes, si, whole
from gpuwise.show.table import Table, picked

SIGNS = {"ok": "✓", "warn": "!", "fail": "✗"}


def screen(
    version: str, machine: Machine, known: Sequence[GpuSpec | None], catalog_size: int, saved: int
) -> str:
    """The whole screen; `known` holds the catalog entry of each device, in order."""
    found = []
    for info, spec in zip(machine.devices, known, strict=True):
        memory = f", {gibibytes(info.memory_bytes)}" if info.memory_bytes else ""
        driver = f", driver {info.driver}" if info.driver else ""
        entry = f", catalog entry {spec.id}" if spec else ", not in the catalog"
        found.append(f"GPU {info.index}  {info.name}{memory}{driver}{entry}")
    torch, measure = "not installed; measuring needs it", 'pip install "gpuwise[torch]"'
    if machine.torch is not None:
        torch = machine.torch.version + (f", CUDA {machine.torch.cuda}" if machine.torch.cuda else "")
        measure = "gpuwise bench --quick"
    # Commands that work on this machine: an example card stands where its own is unknown.
    here = next((spec.id for spec in known if spec), "rtx-a5000")
    other = "h200-sxm" if here != "h200-sxm" else "h100-nvl-94gb"
    show, said = f"gpuwise show {here}", "what is known, and where from"
    if saved:
        show, said = "gpuwise show last", "see the last result"
    commands = {
        measure: "measure this machine" if machine.torch else "so that it can measure",
        show: said,
        f"gpuwise compare {here} {other}": "two GPUs side by side",
    }
    width = max(map(len, commands))
    lines = [
        f"gpuwise {version}",
        "",
        *(found or ["no GPU found on this machine (no driver answers)"]),
        f"CPU    {machine.cpu}, {machine.cpu_count} usable cores",
        f"torch  {torch}",
        f"known  {catalog_size} GPUs in the catalog, {saved} results kept here",
        "",
        *(f"  {command:<{width}}   {what}" for command, what in commands.items()),
    ]
    return "\n".join(lines)


def checks(found: Sequence[Check]) -> Table:
    return Table(
        columns=("", "check", "found", "fix"),
        rows=tuple((SIGNS[c.status], c.name, c.detail, c.fix or "") for c in found),
    )


def listing(specs: Sequence[WorkloadSpec], installed: Sequence[str] = (), names: Sequence[str] = ()) -> Table:
    """One row a workload, with what one item costs; the same task side by side, limits last. `installed` are
    names that other packages offer, which are not loaded to be listed; `names` were asked for."""
    notes = ["measure one: gpuwise bench resnet50; a file of yours: gpuwise bench ./my_model.py"]
    if names:
        notes = [f"measure {'it' if len(specs) == 1 else 'them'}: gpuwise bench {shlex.join(names)}"]
    notes += [f"from installed packages: {', '.join(installed)}"] if installed else []
    rows = []
    for spec in grouped(specs):
        limit = spec.is_limit
        cost: str = ""
        # A limit has none; of a FLOP it is one; where none is stated, torch has to count.
        if spec.cost is not None and not limit and spec.item != "FLOP":
            cost = si(spec.cost(spec.modes[0], spec.precisions[0], spec.default_batch).flop_per_item, "FLOP")
        precisions = " ".join(p for p in PRECISIONS if p in (*spec.precisions, *spec.unpredicted))
        cells = {
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
        }
        rows.append(cells)
    return Table.of(rows, notes=tuple(notes))


def grouped(specs: Sequence[WorkloadSpec]) -> tuple[WorkloadSpec, ...]:
    """Networks, then science, then limits; within these by task, in the order of their first."""
    tasks = list(dict.fromkeys(spec.task for spec in specs))
    return tuple(sorted(specs, key=lambda s: (s.is_limit, "compute" in s.modes, tasks.index(s.task))))


def document(spec: WorkloadSpec) -> dict[str, Any]:
    """A workload as plain data; cost at the default batch in bf16, or the first precision it has."""
    precision = Precision.BF16 if Precision.BF16 in spec.precisions else spec.precisions[0]
    known = spec.cost
    costs = {mode: known(mode, precision, spec.default_batch) for mode in spec.modes} if known else {}
    return {
        **picked(spec, "id version title task item parameters default_batch gpus modes precisions recipes"),
        "flop_per_item": {mode: cost.flop_per_item for mode, cost in costs.items()},
        "bytes_per_item": {mode: cost.bytes_per_item for mode, cost in costs.items()},
    }
