"""Bare `gpuwise`: what was found on this machine, and three commands that work here."""

from __future__ import annotations

from gpuwise import __version__, store
from gpuwise.cli import print as printer
from gpuwise.facts import catalog
from gpuwise.measure import telemetry
from gpuwise.show import hello as report


def hello() -> None:
    """Print the hello screen; imports neither torch nor rich."""
    machine = telemetry.machine()
    known = [catalog.resolve_device(info.name, info.memory_bytes) for info in machine.devices]
    printer.out(report.screen(__version__, machine, known, len(catalog.all_gpus()), len(store.saved())))
