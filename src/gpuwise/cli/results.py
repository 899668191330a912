"""`gpuwise results`: speeds of a workload, measured here and published elsewhere, never mixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gpuwise.cli import options as shared
from gpuwise.cli import print as printer
from gpuwise.errors import NoDataError
from gpuwise.facts.published import FORMATS
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.lookups import SpeedsRequest, speeds
from gpuwise.show import records as show
from gpuwise.workloads import registry

PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8")


@click.command("results", short_help="Speeds of a workload: measured here and published.")
@click.argument("workload", required=False)
@click.option("--mode", type=click.Choice(("train", "infer")), help="Only training or only inference.")
@click.option("--precision", type=click.Choice(PRECISIONS), help="Only this precision, as it really ran.")
@click.option("--gpu", metavar="NAME", help="Only this GPU; in imported files, the GPU where they name none.")
@click.option("--gpus", type=click.IntRange(min=1), metavar="N", help="Only runs on N GPUs; likewise.")
@click.option("--source", metavar="ID", help="Only published figures of this source.")
@shared.files("--import", "imports", help=f"Read another tool's results: {', '.join(FORMATS)}.")
@click.option("--format", metavar="NAME", help="The format of the imported files; else it is recognised.")
@shared.files("--file", "files", help="Also this result file of gpuwise, beside those in the store.")
@shared.output_option
@shared.json_option
def command(output: Path | None, as_json: bool, **options: Any) -> None:
    """Show speeds of WORKLOAD, or list the workloads of which speeds are known.

    What gpuwise measured comes from the store, each with its interval; what others published comes
    from a curated table of cited figures and from imported files.
    """
    printer.check_output(output)
    request = SpeedsRequest(**options)
    answer = speeds(request, Facts(request.files, tell=printer.talk))
    found, imports = answer.found, request.imports
    skipped = []
    for path, file in found.imported:
        printer.talk(
            f"{path.name}: {FORMATS[file.format][1]}: {len(file.rows)} figures, {len(file.skipped)} skipped"
        )
        skipped += [f"  skipped {path.name}, line {line}: {why.detail}" for line, why in file.skipped]
    for line in skipped[: show.LISTED]:
        printer.talk(line)
    if len(skipped) > show.LISTED:
        printer.talk(f"  and {len(skipped) - show.LISTED} more skipped: --json names them")
    if answer.exit_status:
        names = ("mode", "precision", "gpu", "gpus", "source")
        given = [f"--{name} {options[name]}" for name in names if options[name] is not None]
        said = f" with {' '.join(given)}" if given else ""
        where = f" in {', '.join(path.name for path in imports)}" if imports and not found.workload else ""
        raise NoDataError(
            f"no speed of {found.workload or 'any workload'}{said} is known{where}",
            hint=f"gpuwise results {found.workload or ''}".rstrip(),
        )
    if output is not None or as_json or not (found.workload or imports):
        printer.deliver(answer.table, answer.to_data, as_json=as_json, output=output)
        return
    # Two tables: what was measured here and what others state are never one list for a person.
    if found.measured:
        printer.table(show.measured_table(found.measured))
    elif found.workload in registry.names() and request.source is None:
        printer.talk(f"measured here: nothing yet. To measure: gpuwise bench {found.workload}")
    if found.published:
        printer.table(show.published_table(found.published))
