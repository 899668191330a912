"""`gpuwise compare`: result files against the first of them, or GPUs by name."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwise import catalog, store
from gpuwise.cli import print as printer
from gpuwise.cli.show import find_result
from gpuwise.errors import GateFailed, InputError, NoDataError
from gpuwise.model.answer import Comparison
from gpuwise.report import comparisons as report
from gpuwise.report import gpus as gpu_report
from gpuwise.stats import pair, parse_condition, violations


@click.command("compare", short_help="Compare result files, or GPUs by name.")
@click.argument("what", nargs=-1, required=True)
@click.option("--fail-if", "condition", default=None, help="Exit with 1 when met, e.g. 'slower>5%'.")
@printer.output_option
@printer.json_option
def command(what: tuple[str, ...], condition: str | None, output: Path | None, as_json: bool) -> None:
    """Compare two or more results (the first is the baseline), or two or more GPUs by name."""
    if len(what) < 2:
        raise InputError("compare needs two things", hint=f"gpuwise compare {what[0]} last")
    gate = parse_condition(condition) if condition else None
    paths = [find_result(name) for name in what]
    if all(path is None for path in paths):
        if gate is not None:
            raise InputError(
                "--fail-if judges measurements, not specifications", hint="give two result files"
            )
        specs = tuple(catalog.find(name) for name in what)
        content = gpu_report.side_by_side(specs)
        printer.deliver(
            content, lambda: [gpu_report.document(s) for s in specs], as_json=as_json, output=output
        )
        return
    if any(path is None for path in paths):
        unknown = next(name for name, path in zip(what, paths, strict=True) if path is None)
        raise InputError(
            f"{unknown!r} is no result file, the others are", hint="compare results with results"
        )
    results = [store.load(path) for path in paths if path is not None]
    found = [(other, pair(results[0], other)) for other in results[1:]]
    every = [comparison for _, comparisons in found for comparison in comparisons]
    if not every:
        raise NoDataError("the results have no measurement in common", hint=f"gpuwise show {what[0]}")
    content = report.comparisons(results[0], found, names=what)
    printer.deliver(content, lambda: report.document(results[0], found), as_json=as_json, output=output)
    failed = violations(every, gate) if gate is not None else ()
    if failed:
        raise GateFailed(f"{len(failed)} of {len(every)} meet {condition!r}: {_names(failed)}")


def _names(failed: tuple[Comparison, ...]) -> str:
    return ", ".join(comparison.cell for comparison in failed)
