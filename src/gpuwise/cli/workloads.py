"""`gpuwise workloads`: what can be measured."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwise import workloads
from gpuwise.cli import print as printer
from gpuwise.report import workloads as report


@click.command("workloads", short_help="List what can be measured.")
@printer.output_option
@printer.json_option
def command(output: Path | None, as_json: bool) -> None:
    """List the workloads with their modes, size and cost of one item."""
    specs = workloads.specs()
    printer.deliver(
        report.listing(specs), lambda: [report.document(s) for s in specs], as_json=as_json, output=output
    )
