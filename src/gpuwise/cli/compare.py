"""`gpuwise compare`: result files against the first of them, or GPUs by name."""

from __future__ import annotations

from pathlib import Path

import click

from gpuwise import store
from gpuwise.cli import options as shared
from gpuwise.cli import print as printer
from gpuwise.cli.show import find_result
from gpuwise.errors import GateFailed, InputError
from gpuwise.jobs.comparing import CompareRequest, compare, compare_gpus
from gpuwise.stats import parse_condition

# Measurements without a counterpart that are named.
LISTED = 10


@click.command("compare", short_help="Compare result files, or GPUs by name.")
@click.argument("what", nargs=-1, required=True)
@click.option("--fail-if", "condition", default=None, help="Exit with 1 when met, e.g. 'slower>5%'.")
@click.option("--article", is_flag=True, help="Two to six GPUs in words: what is known, which to choose.")
@shared.files("--file", "files", help="With --article: also this result file, beside those in the store.")
@shared.output(
    "Write to FILE: .json, .csv or .md; .html with --article; .svg or .png: the ratios of results."
)
@shared.json_option
def command(
    what: tuple[str, ...], condition: str | None, article: bool, files: tuple[Path, ...],
    output: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Compare two or more results (the first is the baseline), or two or more GPUs by name.

    A report counts as the results that it holds.
    """
    if article:
        from gpuwise.jobs import reporting
        from gpuwise.jobs.facts import Facts

        printer.check_output(output, (".html", ".md", ".json"))
        if condition:
            raise InputError("--fail-if judges measurements, not articles", hint="give two result files")
        specs = [shared.gpu(name) for name in what]
        page = reporting.article(Facts(files, tell=printer.talk), specs)
        printer.deliver_page(page, lambda: None, as_json=as_json, output=output)
        return
    if files:
        raise InputError("--file belongs to --article", hint=f"gpuwise compare {' '.join(what)}")
    printer.check_output(output, (*printer.SUFFIXES, *printer.DRAWINGS))
    gate = parse_condition(condition) if condition else None
    paths = [find_result(name) for name in what]
    # Names of GPUs alone: their specifications are compared.
    if all(path is None for path in paths):
        if gate is not None:
            problem = "--fail-if judges measurements, not specifications"
            raise InputError(problem, hint="give two result files")
        printer.check_output(output)
        gpus = compare_gpus([shared.gpu(name) for name in what])
        printer.deliver(gpus.table, gpus.to_data, as_json=as_json, output=output)
        return
    if any(path is None for path in paths):
        unknown = next(name for name, path in zip(what, paths, strict=True) if path is None)
        raise InputError(
            f"{unknown!r} is not a result file, the others are", hint="compare results with results"
        )
    held = [(name, store.load_all(path)) for name, path in zip(what, paths, strict=True) if path is not None]
    named = [
        (name if len(results) == 1 else f"{name} ({result.id})", result)
        for name, results in held
        for result in results
    ]
    if len(named) < 2:
        hint = f"name another result: gpuwise compare FILE {what[0]}"
        raise InputError("compare needs two things", hint=hint)
    titles, results = zip(*named, strict=True)
    answer = compare(CompareRequest(results=results, names=titles, fail_if=gate))
    if output is not None and output.suffix in printer.DRAWINGS:
        printer.draw(answer.to_chart(), output)
    else:
        printer.deliver(answer.table, answer.to_data, as_json=as_json, output=output)
    alone = [issue.detail for issue in answer.issues if issue.code == "no-counterpart"]
    for line in alone[:LISTED]:
        printer.talk(f"not compared, {line}")
    if len(alone) > LISTED:
        printer.talk(f"not compared: {len(alone) - LISTED} more")
    if answer.exit_status:
        failed = [issue.detail for issue in answer.issues if issue.code == "gate"]
        every = sum(len(pairs) for _, pairs in answer.found)
        raise GateFailed(f"{len(failed)} of {every} meet {condition!r}: {', '.join(failed)}")
