"""`gpuwise gpus`: the catalog as a list."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwise.cli import print as printer
from gpuwise.facts import catalog
from gpuwise.show import gpus as report


@click.command("gpus", short_help="List the GPUs of the catalog.")
@click.argument("query", nargs=-1)
@click.option("--sort", "field", metavar="FIELD", help="memory, price, ...: largest first; -FIELD: smallest.")
@printer.output_option
@printer.json_option
def command(query: tuple[str, ...], field: str | None, output: Path | None, as_json: bool) -> None:
    """List the GPUs that meet every QUERY, or all of them.

    A QUERY is a memory size (80GB, 24GB.., ..80GB, 24GB..48GB), words of a name, a vendor, an
    architecture, a chip, pcie, sxm, laptop, consumer, workstation or server; a comma means "or";
    H100:8 counts eight of it.

    \b
      gpuwise gpus 24GB.. ampere
      gpuwise gpus RTX4090,RTX5090 --sort -price
      gpuwise gpus H100:8
    """
    matches = catalog.matching(query)
    if field is not None:
        matches = catalog.ordered(matches, field)
    printer.deliver(
        report.listing(matches, sorted_by=field),
        lambda: [report.match_document(match) for match in matches],
        as_json=as_json,
        output=output,
    )
