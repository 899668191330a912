"""Speeds that others published: a curated table of cited figures, and importers of result files.

Every record says what ran (precision as it really ran, software), where it stands, what the publisher
grants, and the issues that checks of physics and logic found. Never mixed with what gpuwise measured.

The curated table is `data/results.csv` with `data/sources.csv`. How its rows were chosen: figures for GPUs of
the catalog and the reference networks; for each source, GPU, count, network, mode, precision, compilation and
class of batch (one, small, large) only the fastest; of sources whose publisher grants nothing, a few single
figures, cited, never the whole table. Whatever an imported file holds, the only error raised is InputError.
"""

from __future__ import annotations

import csv
import difflib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gpuwise import store
from gpuwise.errors import InputError, NoDataError, guess
from gpuwise.facts import catalog
from gpuwise.model.gpu import Source
from gpuwise.model.precision import Precision
from gpuwise.model.question import Framework, Mode, Question
from gpuwise.model.result import UNSURE, Interval, Issue, Record, Records, Statement

if TYPE_CHECKING:
    from gpuwise.facts.published.formats import Figure, Origin, Skipped

DATA = Path(__file__).with_name("data")
MAX_BYTES = 256 * 2**20
"""Logs of big runs have tens of megabytes; nothing of this size is a table of results."""
MAX_GPUS = 100_000
MAX_FIGURES = 10_000
"""The largest published tables have some two thousand."""
# Also those of weights alone.
_FORMATS = frozenset(map(str, Precision))
# Columns of the curated table that are arguments of `record` as they stand.
_SAME = (
    "gpu", "gpu_id", "workload", "mode", "precision", "framework", "item", "date", "locator", "note",
)  # fmt: skip


@cache
def sources() -> Mapping[str, Source]:
    return catalog.read_sources(DATA / "sources.csv")


@cache
def all_results() -> Records:
    """Every curated figure with the issues known of it and those that checks found (`tools/checked.py`)."""
    issues = json.loads((DATA / "issues.json").read_text(encoding="utf-8"))
    return Records(
        replace(row, issues=(*row.issues, *(Issue(**issue) for issue in issues.get(str(place), ()))))
        for place, row in enumerate(stated())
    )


def stated() -> list[Record]:
    """The curated figures as their sources state them."""
    made = []
    for row in catalog.rows(DATA / "results.csv"):
        # A fault of the source that is known from its own files stands as `code: what is wrong`.
        code, _, detail = row["caution"].partition(": ")
        issue = Issue.warning(code, detail, "do not use this figure: measure it")
        same: dict[str, Any] = {name: row[name] for name in _SAME}
        made.append(
            record(
                **same,
                gpus=int(row["n_gpus"]),
                stated=row["precision_stated"],
                compiled={"yes": True, "no": False}.get(row["compiled"]),
                versions=row["software"],
                speed=float(row["throughput"]),
                batch=int(row["batch_per_gpu"]) if row["batch_per_gpu"] else None,
                source=sources()[row["source"]],
                issues=(issue,) if code else (),
            )
        )
    return made


def plausible(rows: Iterable[Record]) -> Records:
    """The figures of GPUs of the catalog that no check flags."""
    ids = {spec.id for spec in catalog.all_gpus()}
    return Records(row for row in rows if row.gpu_id in ids and not row.codes)


def select(
    rows: Sequence[Record] | None = None,
    *,
    workload: str | None = None,
    mode: str | None = None,
    precision: str | None = None,
    gpu_ids: Collection[str] | None = None,
    n_gpus: int | None = None,
    source: str | None = None,
) -> Records:
    """The figures that match all that is given, in their order; of the curated table without `rows`.

    `workload` may be any spelling that `names.workload_id` knows; `precision` also finds its
    uncertain form (tf32 finds `tf32?`).
    """
    wanted = _workload_id(workload) if workload is not None else None
    return Records(
        row
        for row in (all_results() if rows is None else rows)
        if wanted in (None, row.question.workload)
        and mode in (None, row.question.mode)
        and precision in (None, row.precision, row.question.precision)
        and (gpu_ids is None or row.gpu_id in gpu_ids)
        and n_gpus in (None, row.gpus)
        and (source is None or (row.source is not None and row.source.id == source))
    )


def workloads(rows: Sequence[Record] | None = None) -> Mapping[str, int]:
    """How many figures there are of each workload, the most first."""
    counts = Counter(row.question.workload for row in (all_results() if rows is None else rows))
    return dict(counts.most_common())


def meant_workloads(name: str, others: Sequence[str] = ()) -> tuple[str, ...]:
    """Workloads of the curated table or of `others` that a name can mean, the one with most figures first:
    that of its own name alone, else steps of the language model, else those of the family ("bert").

    Raises InputError for an unknown name, with the nearest ones, NoDataError for a model without a speed.
    """
    if name in others:  # as it was measured; publishers' spellings are looked up
        return (name,)
    from gpuwise.facts import llms

    wanted, names = _workload_id(name), tuple(dict.fromkeys((*others, *workloads())))
    if wanted in names:
        return (wanted,)

    def is_longer(each: str) -> bool:  # `bert` can mean bert-large, `llama-3` not llama-31
        rest = each.removeprefix(wanted)
        return rest != each and (rest[0] == "-" or (rest[0].isdigit() and not wanted[-1].isdigit()))

    shape = llms.find(name).name if llms.known(name) or llms.note(name) else ""
    models = {each: each.rpartition("-")[0] for each in names}
    found = tuple(
        each
        for each, model in models.items()
        if (llms.known(model) and llms.find(model).name == shape if shape else is_longer(each))
    )
    if found:
        return found
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    near = near or [other for other in names if wanted and wanted in other][:3]
    problem = f"no speeds of a workload {name!r} are known{guess(near)}"
    if shape:
        raise NoDataError(problem, hint="see whether it fits", code="fit", model=shape)
    raise InputError(problem, hint="see of which speeds are known", code="results")


def check_source(name: str, rows: Sequence[Record] | None = None) -> str:
    """The id of a source. Raises InputError with the nearest names where there is no such source."""
    every = all_results() if rows is None else rows
    ids = sorted({row.source.id for row in every if row.source is not None})
    if name in ids:
        return name
    if not ids:
        raise InputError(f"no source is called {name!r}", hint="leave it out")
    near = difflib.get_close_matches(name, ids, n=3, cutoff=0.4) or ids[:3]
    problem = f"no source is called {name!r}{guess(near)}"
    raise InputError(problem, hint=f"such as {near[0]}", code="source", source=near[0])


def _workload_id(name: str) -> str:
    from gpuwise.facts.published import names  # a ranking of all speeds asks for none by a publisher's name

    return names.workload_id(name)


def judged(rows: Sequence[Record]) -> Records:
    """The rows, each with the issues that checks find behind its own."""
    from gpuwise import checks

    judged = checks.judge(rows)
    return Records(
        replace(row, issues=(*row.issues, *issues)) if issues else row
        for row, issues in zip(rows, judged, strict=True)
    )


def record(
    *,
    gpu: str,
    gpu_id: str | None,
    workload: str,
    mode: Mode,
    precision: str,
    speed: float,
    item: str,
    source: Source,
    gpus: int = 1,
    stated: str = "",
    compiled: bool | None = None,
    framework: str = "",
    versions: str = "",
    batch: int | None = None,
    date: str = "",
    locator: str = "",
    note: str = "",
    issues: tuple[Issue, ...] = (),
) -> Record:
    """A published speed, in items per second of all GPUs together.

    `precision` is as it ran: `tf32?` where a figure called fp32 was likely TF32, `?` where it is unknown. A
    publisher's other frameworks than ours are named in `software` and distinguished by `session`.
    """
    named = precision.rstrip("?")
    is_precision = named in _FORMATS
    ours = next((f for f in ("tensorflow", "jax") if framework.casefold().startswith(f)), "torch")
    return Record(
        question=Question(
            workload=workload,
            mode=mode,
            precision=Precision(named) if is_precision else None,
            compile=compiled,
            batch=batch,
            gpus=gpus,
            framework=cast(Framework, ours),
        ),
        gpu_id=gpu_id or gpu,
        gpu=gpu,
        item=item,
        origin="published",
        basis="published",
        # A publisher states a value without its uncertainty.
        throughput=Interval.stated(speed),
        source=source,
        session=f"{source.id} {framework}".strip(),
        date=date,
        software=framework,
        stated=Statement(precision=stated, versions=versions, locator=locator),
        issues=(*((UNSURE,) if is_precision and named != precision else ()), *issues),
        notes=(note,) if note else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The content of a file: its figures, each with its issues, and the lines that gave none."""

    format: str
    rows: Records
    skipped: tuple[Skipped, ...] = ()


def import_file(
    path: Path, *, format: str | None = None, gpu: str | None = None, n_gpus: int | None = None
) -> Imported:
    """The figures of a file. `gpu` and `n_gpus` say what the file does not say itself. Raises InputError
    where it cannot be read, is not text, or is of none of the formats."""
    text = store.decoded(store.read(path, largest=MAX_BYTES, hint="give a result file"), path.name)
    return import_text(text, name=path.name, format=format, gpu=gpu, n_gpus=n_gpus, read_on=date.today())


def import_text(
    text: str,
    *,
    name: str,
    read_on: date,
    format: str | None = None,
    gpu: str | None = None,
    n_gpus: int | None = None,
) -> Imported:
    """The figures of a text; `name` is its file name, in which some formats say the GPU."""
    from gpuwise.facts.published.formats import FORMATS, Figure, Origin  # only where a file is read

    if format is not None and format not in FORMATS:
        near = difflib.get_close_matches(format, FORMATS, n=1)
        raise InputError(f"unknown format {format!r}{guess(near)}", hint=f"one of {', '.join(FORMATS)}")
    chosen = format or next((name for name, shape in FORMATS.items() if shape.recognises(text)), None)
    if chosen is None:
        problem = f"{name} is none of the known formats: {', '.join(FORMATS)}"
        raise InputError(problem, hint="name its format", code="format", file=name)
    shape = FORMATS[chosen]
    title = f"{name} ({shape.title})"
    source = Source(id=name, title=title, kind="third-party", read_on=read_on.isoformat())
    origin = Origin(name=name, source=source, gpu=gpu or "", n_gpus=n_gpus)
    rows: list[Record] = []
    skipped: list[Skipped] = []
    try:
        for figure in shape.read(text, origin):
            made = (
                _checked(figure, origin, shape.framework, read_on) if isinstance(figure, Figure) else figure
            )
            if isinstance(made, Record):
                rows.append(made)
            else:
                skipped.append(made)
            if len(rows) + len(skipped) > MAX_FIGURES:
                problem = f"{name} has more than {MAX_FIGURES:,} figures"
                raise InputError(problem, hint="give the part that is wanted")
    except csv.Error as error:
        raise InputError(f"{name} is not a whole CSV file: {error}", hint="check the file") from error
    return Imported(format=chosen, rows=judged(rows), skipped=tuple(skipped))


def _checked(figure: Figure, origin: Origin, framework: str, today: date) -> Record | Skipped:
    """The record of a figure, or why there is none: no positive number, an impossible count or date."""
    from gpuwise.facts.published import names
    from gpuwise.facts.published.formats import skipped

    # What the user said about the file counts where it says nothing itself.
    gpu = figure.gpu or origin.gpu
    gpu_id = figure.gpu_id or names.gpu_id_of(gpu)
    stated_count = origin.n_gpus if figure.n_gpus is None else figure.n_gpus
    speed, count = names.number(figure.throughput), names.number(stated_count)
    workload = names.workload_id(figure.workload)
    # A date in the future comes from a wrong clock or a slip of the pen.
    if figure.date > today.isoformat():
        return skipped(figure.line, f"its date is in the future: {figure.date[:10]}")
    if speed is None or speed <= 0:
        return skipped(figure.line, f"no speed: {str(figure.throughput)[:40]!r}")
    if count is None:
        return skipped(figure.line, "says nowhere on how many GPUs it ran")
    if not 1 <= count <= MAX_GPUS or count != int(count):
        return skipped(figure.line, f"not a count of GPUs: {str(stated_count)[:40]!r}")
    if not workload:
        return skipped(figure.line, "says nowhere which network ran")
    return record(
        gpu=gpu,
        gpu_id=gpu_id,
        gpus=int(count),
        workload=workload,
        mode=figure.mode,
        speed=speed,
        precision=figure.precision or names.as_run(figure.stated, gpu_id),
        stated=figure.stated,
        compiled=figure.compiled,
        framework=figure.framework or framework,
        versions=figure.versions,
        batch=names.whole(figure.batch_per_gpu),
        date=figure.date,
        source=origin.source,
        # Where a format does not say what its items are, the network may.
        item=names.item_of(workload, figure.item) if figure.item in ("item", "sample") else figure.item,
        locator=f"{origin.name}, line {figure.line}",
        note=figure.note,
    )
