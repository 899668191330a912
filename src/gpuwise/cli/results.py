"""`gpuwise results`: speeds of a workload, measured here and published elsewhere, never mixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from gpuwise import store
from gpuwise.cli import print as printer
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog, published
from gpuwise.jobs.facts import Facts
from gpuwise.model.record import Record
from gpuwise.show import records as report
from gpuwise.workloads import registry

PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the options ask for; None is anything."""

    workload: str | None
    mode: str | None
    precision: str | None
    gpu: str | None
    gpu_ids: frozenset[str] | None
    gpus: int | None
    source: str | None

    def said(self) -> str:
        """The options as typed."""
        names = ("mode", "precision", "gpu", "gpus", "source")
        given = [(name, getattr(self, name)) for name in names]
        return " ".join(f"--{name} {value}" for name, value in given if value is not None)


@click.command("results", short_help="Speeds of a workload: measured here and published.")
@click.argument("workload", required=False)
@click.option("--mode", type=click.Choice(("train", "infer")), help="Only training or only inference.")
@click.option("--precision", type=click.Choice(PRECISIONS), help="Only this precision, as it really ran.")
@click.option("--gpu", metavar="NAME", help="Only this GPU; in imported files, the GPU where they name none.")
@click.option("--gpus", type=click.IntRange(min=1), metavar="N", help="Only runs on N GPUs; likewise.")
@click.option("--source", metavar="ID", help="Only published figures of this source.")
@click.option(
    "--import", "imports", type=click.Path(path_type=Path), multiple=True, metavar="FILE",
    help="Read another tool's results: " + ", ".join(published.FORMATS) + ". May be repeated.",
)  # fmt: skip
@click.option(
    "--format", "form", metavar="NAME", help="The format of the imported files; else it is recognised."
)
@click.option(
    "--file", "files", type=click.Path(path_type=Path), multiple=True, metavar="FILE",
    help="Also this result file of gpuwise, beside those in the store. May be repeated.",
)  # fmt: skip
@printer.output_option
@printer.json_option
def command(
    workload: str | None,
    mode: str | None,
    precision: str | None,
    gpu: str | None,
    gpus: int | None,
    source: str | None,
    imports: tuple[Path, ...],
    form: str | None,
    files: tuple[Path, ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Show speeds of WORKLOAD, or list the workloads of which speeds are known.

    What gpuwise measured comes from the store, each with its interval; what others published comes
    from a curated table of cited figures and from imported files.
    """
    printer.check_output(output)
    ours = _measured(files)
    imported = [published.import_file(path, format=form, gpu=gpu, n_gpus=gpus) for path in imports]
    new = tuple(row for file in imported for row in file.rows)
    skipped = [(path, skip) for path, file in zip(imports, imported, strict=True) for skip in file.skipped]
    theirs = new if imports and workload is None else (*published.all_results(), *new)
    if workload is not None:
        others = [row.question.workload for row in ours] + [row.question.workload for row in new]
        workload = published.check_workload(workload, others)
    if source is not None:
        published.check_source(source, theirs)
    wanted = _Wanted(
        workload=workload,
        mode=mode,
        precision=precision,
        gpu=gpu,
        gpu_ids=_gpu_ids(gpu),
        gpus=gpus,
        source=source,
    )
    ours, theirs = _ours(ours, wanted), _theirs(theirs, wanted)
    if workload is None and not imports:
        _list(ours, theirs, wanted, output=output, as_json=as_json)
        return
    if imports and workload is None:
        ours = []
    _tell(skipped, imported, imports)
    if not ours and not theirs:
        raise _nothing(wanted, imports)
    _show(ours, theirs, wanted, _documents(ours, theirs, skipped), output=output, as_json=as_json)


def _measured(files: Sequence[Path]) -> list[Record]:
    """Every full-size measurement of a network in the store and in `files`."""
    given = [result for path in files for result in store.load_all(store.find(str(path)))]
    return [
        record
        for record in store.records(Facts(given=given, tell=printer.talk).results)
        if record.question.size == "full" and record.question.mode != "limit"
    ]


def _gpu_ids(gpu: str | None) -> frozenset[str] | None:
    """The GPU of that name, or all whose name contains it. Raises InputError where there is none."""
    if gpu is None:
        return None
    try:
        return frozenset({catalog.find(gpu).id})
    except InputError:
        several = frozenset(spec.id for spec in catalog.select(gpu))
        if not several:
            raise
        return several


def _ours(rows: Sequence[Record], wanted: _Wanted) -> list[Record]:
    return [
        row
        for row in rows
        if wanted.workload in (None, row.question.workload)
        and wanted.mode in (None, row.question.mode)
        and wanted.precision in (None, row.question.precision)
        and (wanted.gpu_ids is None or row.gpu_id in wanted.gpu_ids)
        and wanted.gpus in (None, row.question.gpus)
        and wanted.source is None
    ]


def _theirs(rows: Sequence[Record], wanted: _Wanted) -> tuple[Record, ...]:
    found = published.select(
        rows,
        workload=wanted.workload,
        mode=wanted.mode,
        precision=wanted.precision,
        n_gpus=wanted.gpus,
        source=wanted.source,
    )
    ids = wanted.gpu_ids
    # A file that names no GPU was given this one, also where it leaves the variant open.
    return tuple(row for row in found if ids is None or row.gpu_id in ids or row.gpu == wanted.gpu)


def _list(
    ours: Sequence[Record],
    theirs: Sequence[Record],
    wanted: _Wanted,
    *,
    output: Path | None,
    as_json: bool,
) -> None:
    """The workloads of which speeds are known."""
    here = Counter(row.question.workload for row in ours)
    there = published.workloads(theirs)
    if not here and not there:
        raise _nothing(wanted, ())
    table = report.workloads(here, there)
    document = [
        {"workload": name, "measured": here[name], "published": there.get(name, 0)} for name, *_ in table.rows
    ]
    printer.deliver(table, lambda: {"workloads": document}, as_json=as_json, output=output)


def _show(
    ours: Sequence[Record],
    theirs: Sequence[Record],
    wanted: _Wanted,
    document: dict[str, Any],
    *,
    output: Path | None,
    as_json: bool,
) -> None:
    """Both tables for a person, one for a file."""
    if output is not None or as_json:
        printer.deliver(report.together(ours, theirs), lambda: document, as_json=as_json, output=output)
        return
    if ours:
        printer.table(report.measured_table(ours))
    elif wanted.workload in registry.names() and wanted.source is None:
        printer.talk(f"measured here: nothing yet. To measure: gpuwise bench {wanted.workload}")
    if theirs:
        printer.table(report.published_table(theirs))


def _documents(
    ours: Sequence[Record],
    theirs: Sequence[Record],
    skipped: Sequence[tuple[Path, published.Skipped]],
) -> dict[str, Any]:
    return {
        "measured": [report.measured_document(row) for row in ours],
        "published": [report.published_document(row) for row in theirs],
        "skipped": [{"file": str(path), "line": line, "reason": why.detail} for path, (line, why) in skipped],
    }


def _tell(
    skipped: Sequence[tuple[Path, published.Skipped]],
    imported: Sequence[published.Imported],
    paths: Sequence[Path],
) -> None:
    """What was read of each file, and what was not."""
    for path, file in zip(paths, imported, strict=True):
        title = published.FORMATS[file.format][1]
        printer.talk(f"{path.name}: {title}: {len(file.rows)} figures, {len(file.skipped)} skipped")
    for path, (line, why) in skipped[: report.LISTED]:
        printer.talk(f"  skipped {path.name}, line {line}: {why.detail}")
    if len(skipped) > report.LISTED:
        printer.talk(f"  and {len(skipped) - report.LISTED} more skipped: --json names them")


def _nothing(wanted: _Wanted, imports: Sequence[Path]) -> NoDataError:
    what = f"of {wanted.workload}" if wanted.workload else "of any workload"
    said = f" with {wanted.said()}" if wanted.said() else ""
    where = " in " + ", ".join(path.name for path in imports) if imports and wanted.workload is None else ""
    hint = f"gpuwise results {wanted.workload}" if wanted.workload else "gpuwise results"
    return NoDataError(f"no speed {what}{said} is known{where}", hint=hint)
