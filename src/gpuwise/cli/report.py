"""`gpuwise report`: results as one page that needs no network."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwise import store
from gpuwise.cli import options as shared
from gpuwise.cli import print as printer


@click.command("report", short_help="Results as one page: charts, tables, cautions, no network.")
@click.argument("what", nargs=-1, metavar="[RESULT]...")
@shared.output("Write to FILE: .html (one file that needs no network and holds its data), .md, .json, or its "
               "throughput chart alone: .svg, .png.")  # fmt: skip
@shared.json_option
def command(what: tuple[str, ...], output: Path | None, as_json: bool) -> None:
    """Report RESULTs (by default the last): files, `last`, ids or their beginnings, or reports.

    Without -o the report is printed as Markdown. `gpuwise show` and `gpuwise compare` read an HTML report
    back as the results that it holds.

    \b
      gpuwise report last -o report.html
      gpuwise report results/h200/*.json -o h200.html
    """
    printer.check_output(output, printer.PAGE_SUFFIXES)
    results = [result for name in what or ("last",) for result in store.load_all(store.find(name))]
    # Rendering and forecasts load what no other verb needs.
    from gpuwise.show import html

    if output is not None and output.suffix == ".html":
        html.warm()  # the renderer of charts starts while forecasts are made
    from gpuwise.jobs.facts import Facts
    from gpuwise.jobs.reporting import ReportRequest
    from gpuwise.jobs.reporting import report as reported

    answer = reported(ReportRequest(results=tuple(results)), Facts(tell=printer.talk))
    printer.deliver_page(answer.found, answer.to_chart, as_json=as_json, output=output)
