"""`gpuwise workloads`: what can be measured."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwise import workloads
from gpuwise.cli import print as printer
from gpuwise.show import workloads as report


@click.command("workloads", short_help="List what can be measured.")
@click.argument("names", nargs=-1, metavar="[WORKLOAD]...")
@printer.output_option
@printer.json_option
def command(names: tuple[str, ...], output: Path | None, as_json: bool) -> None:
    """List the workloads with their modes, size and cost of one item.

    With WORKLOAD, those alone: built-in names, ./my_model.py, timm:NAME, torchvision:NAME, hf:CONFIG.
    """
    specs = tuple(found.spec for name in names for found in workloads.find(name)) or workloads.specs()
    installed = () if names else workloads.installed()
    printer.deliver(
        report.listing(specs, installed),
        lambda: [report.document(s) for s in specs],
        as_json=as_json,
        output=output,
    )
