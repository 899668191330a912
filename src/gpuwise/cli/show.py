"""Result files and GPUs: `gpuwise show` one, `compare` several, `report` them as a page, list `results`."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path
from typing import Any

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.cli.options import options, output, output_options
from gpuwise.errors import GateFailed, InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.facts.published.formats import FORMATS
from gpuwise.jobs.facts import Facts, SpeedsRequest, speeds
from gpuwise.show import gpus as gpu_report
from gpuwise.show import records, serving
from gpuwise.show import results as tables
from gpuwise.show.scaling import scaling
from gpuwise.workloads import registry

# Measurements without a counterpart that are named.
LISTED = 10
PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4")


@click.command()
@click.argument("words", metavar="WHAT", nargs=-1, required=True)
@options("show")
@output(
    "Write to FILE: .json, .csv, .parquet or .md; .html is a page (of a result its report), .svg or .png the "
    "throughput chart of a result.",
    (*printer.SUFFIXES, ".html", *printer.DRAWINGS),
)
def command(words: tuple[str, ...], full: bool, for_whom: bool, chart: bool, to: printer.Output) -> None:
    """Show WHAT: a result file, `last`, the beginning of a result's id, a report, or a GPU's name."""
    what = " ".join(words)  # a GPU's name needs no quotes
    results, is_page = store.named(what), to.file is not None and to.file.suffix not in printer.SUFFIXES
    # Pages and uses need forecasts, so the predictor: only when they are asked for.
    if for_whom:
        from gpuwise.jobs import reporting

        # Of a result it is asked for its GPU, whatever its path spells.
        spec = printer.gpu(what if results is None else (own := results[0].environment).gpu_id or own.device)
        to.answer(reporting.uses(Facts(tell=printer.talk), spec), fit=True)
        return
    if results is None:
        if several := catalog.named_apart(what):
            raise InputError("show takes one GPU", hint=shlex.join(["gpuwise", "compare", *several]))
        spec = printer.gpu(what)
        if (count := catalog.counted(what)[1]) > 1:
            printer.talk(f"note: of one GPU; the sums of {count}: gpuwise gpus {spec.id}:{count}")
        if chart:
            raise InputError("--chart is of results", hint=f"gpuwise show {spec.id} -o gpu.html")
        if is_page:
            from gpuwise.jobs import reporting
            from gpuwise.show import card

            facts = Facts(tell=printer.talk)
            page = card.card(reporting.card(facts, spec, reporting.uses(facts, spec).value))
            roofs = (f.charts[0] for each in page.sections if each.id == "roofline" for f in each.figures)
            to.page(page, lambda: next(roofs, None))
            return
        to.table(gpu_report.specification(spec), partial(gpu_report.document, spec))
        return
    if is_page:
        from gpuwise.jobs import reporting

        answer = reporting.report(reporting.ReportRequest(results=results), Facts(tell=printer.talk))
        to.page(answer.value, answer.to_chart)
        return
    # One document is one result; a report may hold several.
    if len(results) > 1 and not to.on_screen:
        problem = f"{what} holds {len(results)} results where one is needed"
        raise InputError(problem, hint=f"gpuwise show {what}")
    for result in results:
        # What is said of a server's levels says all of them.
        served = to.file is None and len(serving.levels(result.measurements)) == len(result.measurements)
        content = serving.table(result) if served else tables.measurements(result)
        to.table(content, partial(store.encode, result))
        if not to.on_screen:
            return
        for beside in (tables.counts(result), scaling(result)):
            if beside is not None:
                printer.table(beside)
        if chart:
            for line in serving.curve(result) or tables.bars([result]):
                printer.out(line)
        if full:
            printer.table(tables.commands(result))
            printer.table(tables.environment(result.environment))
            for m in result.measurements:
                printer.out(f"  {m.config.label('batch')}:")
                for text in tables.details(m):
                    printer.out(f"    {text}")


@click.command()
@click.argument("what", nargs=-1, required=True)
@options("compare")
@output(
    "Write to FILE: .json, .csv, .parquet or .md; .html, .pdf with --article; .svg, .png: ratios of results.",
    (*printer.SUFFIXES, ".html", ".pdf", *printer.DRAWINGS),
)
def compared(
    what: tuple[str, ...],
    condition: str | None,
    article: bool,
    files: tuple[Path, ...],
    to: printer.Output,
) -> None:
    """Compare two or more results (the first is the baseline), or two or more GPUs by name.

    A report counts as the results that it holds.
    """
    from gpuwise.jobs.comparing import CompareRequest, compare, compare_gpus
    from gpuwise.stats.comparison import parse_condition

    if not all(map(catalog.is_name, what)):
        apart = (part for name in what for part in catalog.named_apart(name) or [name])  # "5090,4090" t4
        what = tuple(catalog.named_apart(" ".join(what)) or apart)
    what = tuple(name for name in what if name not in ("vs", "vs.", "or", "and")) or what
    if article:
        printer.check_output(to.file, (".html", ".pdf", ".md", ".json"))
        if condition:
            raise InputError("--fail-if judges measurements, not articles", hint="give two result files")
        from gpuwise.jobs import reporting
        from gpuwise.show.article import article as written

        contest = reporting.contest(Facts(files, tell=printer.talk), [printer.gpu(name) for name in what])
        to.page(written(contest), lambda: None)
        return
    if files:
        raise InputError("--file belongs to --article", hint=f"gpuwise compare {' '.join(what)}")
    printer.check_output(to.file, (*printer.SUFFIXES, *printer.DRAWINGS))
    gate = parse_condition(condition) if condition else None
    stored = [store.named(name) for name in what]
    # Names of GPUs alone: their specifications are compared.
    if all(results is None for results in stored):
        if work := [name for name in what if not catalog.is_name(name)]:
            from gpuwise.judge.choose.need import is_work

            asked = " ".join(word for word in work if word not in ("for", "on", "in"))
            cards = ",".join(name for name in what if name not in work)
            if cards and asked and ("for" in work or is_work(asked)):
                hint = shlex.join(["gpuwise", "choose", asked, "--gpu", cards])
                raise InputError(f"compare takes GPUs alone, not {asked!r}", hint=hint)
        if gate is not None:
            problem = "--fail-if judges measurements, not specifications"
            raise InputError(problem, hint="give two result files")
        printer.check_output(to.file)
        to.answer(compare_gpus([printer.gpu(name) for name in what]))
        return
    if any(results is None for results in stored):
        unknown = next(name for name, results in zip(what, stored, strict=True) if results is None)
        problem = f"{unknown!r} is not a result file, the others are"
        raise InputError(problem, hint="compare results with results")
    named = [
        (name if len(held) == 1 else f"{name} ({result.id})", result)
        for name, held in ((name, results or ()) for name, results in zip(what, stored, strict=True))
        for result in held
    ]
    titles, results = zip(*named, strict=True)
    answer = compare(CompareRequest(results=results, names=titles, fail_if=gate))
    to.answer(answer)
    # On a screen a note of the table says it.
    alone = [issue.detail for issue in answer.issues if issue.code == "no-counterpart" and not to.on_screen]
    for line in alone[:LISTED]:
        printer.talk(f"not compared, {line}")
    if len(alone) > LISTED:
        printer.talk(f"not compared: {len(alone) - LISTED} more")
    if answer.exit_status:
        failed = [issue.detail for issue in answer.issues if issue.code == "gate"]
        every = sum(len(pairs) for _, pairs in answer.value)
        raise GateFailed(f"{len(failed)} of {every} meet {condition!r}: {', '.join(failed)}")


@click.command()
@click.argument("what", nargs=-1, metavar="[RESULT]...")
@output(
    "Write to FILE: .html (one file that needs no network and holds its data), .pdf, .md, .json, or "
    "its throughput chart alone: .svg, .png.",
    printer.PAGE_SUFFIXES,
)
def report(what: tuple[str, ...], to: printer.Output) -> None:
    """Report RESULTs (by default the last): files, `last`, ids or their beginnings, or reports.

    Without -o the report is printed as Markdown. `gpuwise show` and `gpuwise compare` read an HTML report
    back as the results that it holds.

    \b
      gpuwise report last -o report.html
      gpuwise report results/h200/*.json -o h200.html
    """
    from gpuwise.jobs import reporting

    try:
        results = tuple(result for name in what or ("last",) for result in store.results_of(name))
    except NoDataError:
        if not (what and all(map(catalog.is_name, what))):
            raise
        words = ["compare", *what, "--article"] if what[1:] else ["show", *what]
        hint = shlex.join(["gpuwise", *words, *(["-o", str(to.file)] if to.file else [])])
        raise InputError(f"{' and '.join(what)}: a report is of what was measured", hint=hint) from None
    answer = reporting.report(reporting.ReportRequest(results=results), Facts(tell=printer.talk))
    to.page(answer.value, answer.to_chart)


@click.command()
@click.argument("workload", required=False)
@options("results", FORMATS=tuple(FORMATS), precision=PRECISIONS)
@output_options
def results(to: printer.Output, top: int, **options: Any) -> None:
    """Show speeds of WORKLOAD, or list the workloads of which speeds are known.

    What gpuwise measured comes from the store, each with its interval; what others published comes
    from a curated table of cited figures and from imported files.
    """
    request = SpeedsRequest(**options)
    answer = speeds(request, Facts(request.files, tell=printer.talk))
    printer.note(answer)
    figures, imports = answer.value, request.imports
    skipped = []
    for path, file in figures.imported:
        title = FORMATS[file.format].title
        printer.talk(f"{path.name}: {title}: {len(file.rows)} figures, {len(file.skipped)} skipped")
        skipped += [f"  skipped {path.name}, line {line}: {why.detail}" for line, why in file.skipped]
    for line in skipped[: records.LISTED]:
        printer.talk(line)
    if len(skipped) > records.LISTED:
        printer.talk(f"  and {len(skipped) - records.LISTED} more skipped: --json names them")
    if answer.exit_status:
        names = ("mode", "precision", "gpu", "gpus", "source")
        given = [f"--{name} {options[name]}" for name in names if options[name] is not None]
        said = f" with {' '.join(given)}" if given else ""
        where = f" in {', '.join(path.name for path in imports)}" if imports and not figures.workload else ""
        problem = f"no speed of {figures.workload or 'any workload'}{said} is known{where}"
        raise NoDataError(problem, hint=f"gpuwise results {figures.workload or ''}".rstrip())
    if not to.on_screen or not (figures.workload or imports):
        to.table(answer.table, answer.to_data)
        return
    # Two tables: what was measured here and what others state are never one list for a person.
    if figures.measured:
        printer.table(records.brief(records.measured_table(figures.measured)), records.COLUMNS)
    elif figures.workload in registry.names() and request.source is None:
        printer.talk(f"measured here: nothing yet. To measure: gpuwise bench {figures.workload}")
    if figures.published:
        printer.table(records.brief(records.published_table(figures.published, top)), records.COLUMNS)
