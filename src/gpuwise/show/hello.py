"""The hello screen, what is here and what to do next, and the checks of `gpuwise doctor`."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.measure.telemetry import Machine
from gpuwise.measure.telemetry.health import Check
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.units import gibibytes
from gpuwise.show.table import Table

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
    commands = {
        measure: "measure this machine" if machine.torch else "so that it can measure",
        "gpuwise show last" if saved else f"gpuwise show {here}": "see the last result"
        if saved
        else "what is known, and where from",
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
    """One row a check of the machine, with its one fix."""
    return Table(
        columns=("", "check", "found", "fix"),
        rows=tuple((SIGNS[c.status], c.name, c.detail, c.fix or "") for c in found),
    )
