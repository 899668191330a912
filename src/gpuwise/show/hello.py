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
    torch = "not installed; measuring needs it"
    if machine.torch is not None:
        torch = machine.torch.version + (f", CUDA {machine.torch.cuda}" if machine.torch.cuda else "")
    lines = [
        f"gpuwise {version}",
        "",
        *(found or ["no GPU found on this machine (no driver answers)"]),
        f"CPU    {machine.cpu}, {machine.cpu_count} usable cores",
        f"torch  {torch}",
        f"known  {catalog_size} GPUs in the catalog, {saved} results kept here",
        "",
        *_next(machine, known, saved),
    ]
    return "\n".join(lines)


def _next(machine: Machine, known: Sequence[GpuSpec | None], saved: int) -> list[str]:
    """Three commands that work on this machine."""
    here = next((spec.id for spec in known if spec), "rtx-a5000")
    if machine.torch is None:
        first = ('pip install "gpuwise[torch]"', "so that it can measure")
    else:
        first = ("gpuwise bench --quick", "measure this machine")
    second = (
        ("gpuwise show last", "see the last result")
        if saved
        else (f"gpuwise show {here}", "what is known, and where from")
    )
    other = "h200-sxm" if here != "h200-sxm" else "h100-nvl-94gb"
    third = (f"gpuwise compare {here} {other}", "two GPUs side by side")
    commands = (first, second, third)
    width = max(len(command) for command, _ in commands)
    return [f"  {command:<{width}}   {what}" for command, what in commands]


def checks(found: Sequence[Check]) -> Table:
    """One row a check of the machine, with its one fix."""
    return Table(
        columns=("", "check", "found", "fix"),
        rows=tuple((SIGNS[c.status], c.name, c.detail, c.fix or "") for c in found),
    )
