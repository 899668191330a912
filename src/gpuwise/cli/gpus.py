"""`gpuwise gpus`: the catalog as a list."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwise import catalog
from gpuwise.cli import print as printer
from gpuwise.errors import NoDataError
from gpuwise.report import gpus as report


@click.command("gpus", short_help="List the GPUs of the catalog.")
@click.argument("query", required=False)
@printer.output_option
@printer.json_option
def command(query: str | None, output: Path | None, as_json: bool) -> None:
    """List the GPUs whose name, vendor or architecture contains QUERY, or all of them."""
    specs = catalog.select(query)
    if not specs:
        raise NoDataError(f"no GPU in the catalog matches {query!r}", hint="gpuwise gpus")
    printer.deliver(
        report.listing(specs), lambda: [report.document(s) for s in specs], as_json=as_json, output=output
    )
