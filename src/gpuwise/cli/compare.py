"""`gpuwise compare`: result files against the first of them, or GPUs by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from gpuwise import store
from gpuwise.cli import names
from gpuwise.cli import print as printer
from gpuwise.cli.show import find_result
from gpuwise.errors import GateFailed, InputError, NoDataError
from gpuwise.model.answer import Comparison
from gpuwise.model.result import Result
from gpuwise.show import comparisons as report
from gpuwise.show import gpus as gpu_report
from gpuwise.stats import Condition, pair, parse_condition, violations


@click.command("compare", short_help="Compare result files, or GPUs by name.")
@click.argument("what", nargs=-1, required=True)
@click.option("--fail-if", "condition", default=None, help="Exit with 1 when met, e.g. 'slower>5%'.")
@click.option("--article", is_flag=True, help="Two GPUs head to head: everything known, and which to choose.")
@click.option(
    "--file", "files", type=click.Path(path_type=Path), multiple=True, metavar="FILE",
    help="With --article: also this result file, beside those in the store. May be repeated.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="Write to FILE: .json, .csv or .md; .html with --article; .svg or .png: the ratios of results.",
)  # fmt: skip
@printer.json_option
def command(
    what: tuple[str, ...], condition: str | None, article: bool, files: tuple[Path, ...],
    output: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Compare two or more results (the first is the baseline), or two or more GPUs by name.

    A report counts as the results that it holds.
    """
    if article:
        _article(what, condition, files, output, as_json)
        return
    if files:
        raise InputError("--file belongs to --article", hint=f"gpuwise compare {' '.join(what)}")
    printer.check_output(output, (*printer.SUFFIXES, *printer.DRAWINGS))
    gate = parse_condition(condition) if condition else None
    paths = [find_result(name) for name in what]
    if all(path is None for path in paths):
        _specifications(what, gate, output, as_json)
        return
    if any(path is None for path in paths):
        unknown = next(name for name, path in zip(what, paths, strict=True) if path is None)
        raise InputError(
            f"{unknown!r} is no result file, the others are", hint="compare results with results"
        )
    names, results = _results(what, [path for path in paths if path is not None])
    found = [(other, pair(results[0], other)) for other in results[1:]]
    every = [comparison for _, comparisons in found for comparison in comparisons]
    if not every:
        raise NoDataError("the results have no measurement in common", hint=f"gpuwise show {what[0]}")
    if output is not None and output.suffix in printer.DRAWINGS:
        printer.draw(report.chart(found, names), output)
    else:
        content = report.comparisons(results[0], found, names=names)
        printer.deliver(content, lambda: report.document(results[0], found), as_json=as_json, output=output)
    failed = violations(every, gate) if gate is not None else ()
    if failed:
        raise GateFailed(f"{len(failed)} of {len(every)} meet {condition!r}: {_names(failed)}")


def _results(what: Sequence[str], paths: Sequence[Path]) -> tuple[list[str], list[Result]]:
    """Every result that the files hold, with what to call it. Raises InputError for fewer than two."""
    held = [(name, store.load_all(path)) for name, path in zip(what, paths, strict=True)]
    named = [
        (name if len(results) == 1 else f"{name} ({result.id})", result)
        for name, results in held
        for result in results
    ]
    if len(named) < 2:
        raise InputError(
            "compare needs two things", hint=f"name another result: gpuwise compare FILE {what[0]}"
        )
    return [name for name, _ in named], [result for _, result in named]


def _specifications(what: Sequence[str], gate: Condition | None, output: Path | None, as_json: bool) -> None:
    if gate is not None:
        raise InputError("--fail-if judges measurements, not specifications", hint="give two result files")
    if len(what) < 2:
        raise InputError(
            "compare needs two things", hint=f"name another GPU: gpuwise compare {what[0]} rtx-4090"
        )
    printer.check_output(output)
    specs = tuple(names.gpu(name) for name in what)
    content = gpu_report.side_by_side(specs)
    printer.deliver(content, lambda: [gpu_report.document(s) for s in specs], as_json=as_json, output=output)


def _article(
    what: Sequence[str], condition: str | None, files: Sequence[Path], output: Path | None, as_json: bool
) -> None:
    """The head-to-head of two GPUs. Raises InputError for anything but two different ones."""
    printer.check_output(output, (".html", ".md", ".json"))
    if condition:
        raise InputError("--fail-if judges measurements, not articles", hint="give two result files")
    specs = [names.gpu(name) for name in what]
    if len(specs) != 2 or specs[0] is specs[1]:
        raise InputError(
            "an article compares two different GPUs", hint="gpuwise compare rtx-a5000 rtx-a4000 --article"
        )
    from gpuwise.jobs import compose
    from gpuwise.jobs.facts import Facts
    from gpuwise.show.article import article

    page = article(compose.duel(Facts(files, tell=printer.talk), specs[0], specs[1]))
    printer.deliver_page(page, lambda: None, as_json=as_json, output=output)


def _names(failed: tuple[Comparison, ...]) -> str:
    return ", ".join(comparison.cell for comparison in failed)
