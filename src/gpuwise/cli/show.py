"""`gpuwise show`: a result file, or what the catalog knows of a GPU."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwise import catalog, store
from gpuwise.cli import print as printer
from gpuwise.errors import InputError, NoDataError
from gpuwise.report import gpus as gpu_report
from gpuwise.report import results as report


@click.command("show", short_help="Show a result file, or what is known of a GPU.")
@click.argument("what")
@click.option("--full", is_flag=True, help="Also the environment and the timing of each measurement.")
@printer.output_option
@printer.json_option
def command(what: str, full: bool, output: Path | None, as_json: bool) -> None:
    """Show WHAT: a result file, `last`, the beginning of a result's id, or a GPU's name."""
    path = find_result(what)
    if path is None:
        spec = catalog.find(what)
        printer.deliver(
            gpu_report.specification(spec), lambda: gpu_report.document(spec), as_json=as_json, output=output
        )
        return
    result = store.load(path)
    content = report.measurements(result)
    printer.deliver(content, lambda: store.encode(result), as_json=as_json, output=output)
    if full and output is None and not as_json:
        printer.table(report.environment(result.environment))
        for m in result.measurements:
            printer.out(f"  {report.cell_name(m.config)}: {report.timing(m)}")


def find_result(what: str) -> Path | None:
    """The result file that `what` names, or None where it can only be a GPU.

    Raises what `store.find` raises where `what` is clearly meant as a result.
    """
    if what == "last" or Path(what).suffix == ".json" or Path(what).exists():
        return store.find(what)
    try:
        return store.find(what)
    except NoDataError:
        return None
    except InputError:
        if what[:8].isdecimal():
            raise
        return None
