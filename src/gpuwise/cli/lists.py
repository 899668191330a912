"""Lists of the facts: `gpuwise gpus` and `gpuwise workloads`."""

from __future__ import annotations

import click

from gpuwise.cli import print as printer
from gpuwise.cli.options import options, output_options


@click.command()
@click.argument("query", nargs=-1)
@options("gpus")
@output_options
def gpus(query: tuple[str, ...], field: str | None, to: printer.Output) -> None:
    """List the GPUs that meet every QUERY, or all of them.

    A QUERY is a memory size (80GB, 24GB.., '>=24GB', ..80GB, 24GB..48GB), a power (..300W), words of a name,
    a vendor, an architecture, a chip, pcie, sxm, laptop, consumer, workstation or server; a comma means
    "or"; H100:8 counts eight of it.

    \b
      gpuwise gpus 24GB.. ampere
      gpuwise gpus RTX4090,RTX5090 --sort -price
      gpuwise gpus H100:8
    """
    from gpuwise.facts import catalog
    from gpuwise.show import gpus as show

    matches = catalog.matching(query)
    # The newest first: it is what people look for.
    matches = catalog.ordered(matches, field or "launch")
    table = show.listing(matches, sorted_by=field)

    def data() -> list[dict[str, object]]:
        return [{"count": match.count, **show.document(match.spec)} for match in matches]  # values of one GPU

    to.table(table, data)


@click.command()
@click.argument("names", nargs=-1, metavar="[WORKLOAD]...")
@output_options
def workloads(names: tuple[str, ...], to: printer.Output) -> None:
    """List the workloads with their modes, size and cost of one item.

    With WORKLOAD, those alone: built-in names, ./my_model.py, timm:NAME, torchvision:NAME, hf:CONFIG.
    """
    from gpuwise import workloads as known
    from gpuwise.show import hello as show

    specs = tuple(workload.spec for name in names for workload in known.find(name)) or known.specs()
    table = show.listing(specs, () if names else known.installed(), names)
    to.table(table, lambda: [show.document(spec) for spec in specs])
