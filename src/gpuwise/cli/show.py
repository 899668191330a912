"""`gpuwise show`: a result file, or what the catalog knows of a GPU."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from gpuwise import store
from gpuwise.cli import options as shared
from gpuwise.cli import print as printer
from gpuwise.errors import InputError, NoDataError
from gpuwise.jobs.facts import Facts
from gpuwise.show import gpus as gpu_report
from gpuwise.show import results as report
from gpuwise.show import serving
from gpuwise.show.scaling import scaling


@click.command("show", short_help="Show a result file, or what is known of a GPU.")
@click.argument("words", metavar="WHAT", nargs=-1, required=True)
@click.option("--full", is_flag=True, help="Also the environment and the timing of each measurement.")
@click.option("--for-whom", is_flag=True, help="Of a GPU: which uses it suits, and its place in each.")
@click.option("--chart", is_flag=True, help="Of a result: its throughput as bars.")
@shared.output(
    "Write to FILE: .json, .csv or .md; .html is a page (of a result its report), .svg or .png the "
    "throughput chart of a result."
)
@shared.json_option
def command(
    words: tuple[str, ...], full: bool, for_whom: bool, chart: bool, output: Path | None, as_json: bool
) -> None:
    """Show WHAT: a result file, `last`, the beginning of a result's id, a report, or a GPU's name."""
    printer.check_output(output, (*printer.SUFFIXES, ".html", *printer.DRAWINGS))
    what = " ".join(words)  # a GPU's name needs no quotes
    # Pages and uses need forecasts, so the predictor: only when they are asked for.
    if for_whom:
        from gpuwise.jobs import reporting

        uses = reporting.uses(Facts(tell=printer.talk), shared.gpu(what))
        printer.deliver(uses.table, uses.to_data, as_json=as_json, output=output)
        return
    path = find_result(what)
    if path is None:
        spec = shared.gpu(what)
        if output is not None and output.suffix not in printer.SUFFIXES:
            from gpuwise.jobs import reporting

            page = reporting.gpu_page(Facts(tell=printer.talk), spec)
            # A GPU has no chart that could stand for the page.
            printer.deliver_page(page, lambda: None, as_json=False, output=output)
            return
        printer.deliver(
            gpu_report.specification(spec), lambda: gpu_report.document(spec), as_json=as_json, output=output
        )
        return
    results = store.load_all(path)
    if output is not None and output.suffix not in printer.SUFFIXES:
        from gpuwise.jobs import reporting

        request = reporting.ReportRequest(results=tuple(results))
        answer = reporting.report(request, Facts(tell=printer.talk))
        printer.deliver_page(answer.found, answer.to_chart, as_json=False, output=output)
        return
    # One document is one result; a report may hold several.
    if len(results) > 1 and (as_json or output is not None):
        raise InputError(
            f"{path} holds {len(results)} results where one is needed", hint=f"gpuwise show {path}"
        )
    for result in results:
        content = report.measurements(result)
        printer.deliver(content, partial(store.encode, result), as_json=as_json, output=output)
        if output is not None or as_json:
            return
        loaded = serving.table(result) if serving.levels(result) else None
        for beside in (report.counts(result), scaling(result), loaded):
            if beside is not None:
                printer.table(beside)
        if chart:
            for line in serving.curve(result) or report.bars([result]):
                printer.out(line)
        if full:
            printer.table(report.commands(result))
            printer.table(report.environment(result.environment))
            for m in result.measurements:
                printer.out(f"  {m.config.label('batch')}:")
                for text in report.details(m):
                    printer.out(f"    {text}")


def find_result(what: str) -> Path | None:
    """The result file that `what` names, or None where it can only be a GPU.

    Raises what `store.find` raises where `what` is clearly meant as a result.
    """
    if what == "last" or Path(what).suffix in (".json", ".html") or store.is_file(what):
        return store.find(what)
    try:
        return store.find(what)
    except NoDataError:
        return None
    except InputError:
        if what[:8].isdecimal():
            raise
        return None
