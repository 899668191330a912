"""Speeds that were measured or published, and one result file in its place: kept, or just uploaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import published
from gpuwise.jobs import reporting
from gpuwise.jobs.facts import Facts
from gpuwise.model.precision import PRECISIONS
from gpuwise.model.question import MODES
from gpuwise.model.result import Interval, Result
from gpuwise.model.units import some, whole
from gpuwise.show import records as speeds
from gpuwise.show import results
from gpuwise.show.report import report
from gpuwise.show.table import Table
from gpuwise.store import codec
from gpuwise.web.view import Asked, Sheet, View, bars

SHOWN = tuple(mode for mode in MODES if mode != "limit")
# Columns that say of what a speed is.
ASKED = ("precision", "compiled", "recipe", "batch", "software", "date", "source", "cautions")
# Results that the list shows from the start.
NEWEST = 10
# Of one uploaded file; a full suite has some two hundred.
MOST_MEASUREMENTS = 500


def listing(facts: Facts, asked: Asked) -> View:
    """The workloads of which speeds are known, and the results that are kept."""
    here = Counter(row.question.workload for row in facts.speeds)
    table = replace(speeds.workloads(here, published.workloads()), notes=())
    kept = sorted(facts.results, key=lambda result: result.created_at, reverse=True)
    return View(
        title="Results", template="results.html", table=table,
        document=lambda: {
            "workloads": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
            "results": [
                {"id": r.id, "device": r.environment.device, "created_at": r.created_at,
                 "measurements": len(r.measurements)} for r in kept
            ],
        },
        content={"workloads": table, "kept": _sessions(kept[:NEWEST], "Newest results"),
                 "older": _sessions(kept[NEWEST:], "Older results")},
        links={row[0]: f"/results/{row[0]}" for row in table.rows} | _files(kept),
    )  # fmt: skip


def _files(found: Sequence[Result]) -> dict[str, str]:
    """Where each result's name leads."""
    return {result.id: f"/results/files/{result.id}" for result in found}


def _sessions(found: Sequence[Result], title: str) -> Table:
    """One line for each result."""
    rows = []
    for result in found:
        names = [m.config.workload for m in result.measurements if m.config.mode != "limit"]
        place = result.environment
        rows.append({
            "result": result.id, "workloads": some(names) if names else "limits",
            "measurements": whole(len(result.measurements)), "device": place.device,
            "software": ", ".join(place.software),
        })  # fmt: skip
    return Table.of(rows, title=title, every=True)


def workload(facts: Facts, asked: Asked) -> View:
    """Speeds of one workload, ours and others' apart. Raises InputError for one of which none is known."""
    rows = facts.speeds
    name = published.meant_workloads(asked.path[0], [row.question.workload for row in rows])[0]
    mode, precision = asked.one_of("mode", ("", *SHOWN)), asked.one_of("precision", ("", *PRECISIONS))
    ids = frozenset(asked.gpus("gpu")) if asked.text("gpu") else None
    mine = [row for row in rows if row.question.workload == name]
    ours, theirs = (
        published.select(some, mode=mode or None, precision=precision or None, gpu_ids=ids)
        for some in (mine, published.select(workload=name))
    )
    sheets = []
    for one in SHOWN:  # The fastest first; bars of two modes would not be comparable
        here = sorted((r for r in ours if r.question.mode == one), key=lambda r: -r.value)
        # By the GPU, so that figures of one and of several share an axis.
        there = sorted((r for r in theirs if r.question.mode == one), key=lambda r: -r.value / r.gpus)
        alone = [r.throughput.times(1 / r.gpus) for r in there if r.throughput]
        drawn = [r.throughput for r in here]
        # A result's name begins with its date.
        made = speeds.measured_table(here), one, drawn, "with its 95 % interval", "measured", "date"
        sheets += [_sheet(*made), _sheet(speeds.published_table(there), one, alone, "per GPU", "published")]
    return View(
        title=f"Speeds of {name}",
        template="workload.html",
        table=speeds.together(ours, theirs),
        document=lambda: {
            "measured": [speeds.measured_document(row) for row in ours],
            "published": [speeds.published_document(row) for row in theirs],
        },
        content={
            "name": name, "sheets": [sheet for sheet in sheets if sheet.table.rows], "asked": asked,
            "modes": SHOWN, "precisions": PRECISIONS,
        },
        links=_files(facts.results),
    )  # fmt: skip


def _sheet(
    table: Table, mode: str, drawn: Sequence[Interval | None], legend: str, origin: str, *known: str
) -> Sheet:
    """Without the columns that say the same in every row, and what is `known`; speeds come before what they
    are of, as a phone shows what comes first."""
    shown = table.without({"workload", "mode", *known}).last(ASKED)
    shown = shown.second("per GPU" if origin == "published" else "throughput")
    titled = replace(shown, title=f"{table.title}: {mode}")
    return Sheet(table=titled, bars=bars(drawn, origin), legend=legend)


def kept(facts: Facts, asked: Asked) -> View:
    """One kept result by its id. Raises NoDataError where none has it."""
    for result in facts.results:
        if result.id == asked.path[0]:
            return shown(facts, result)
    raise NoDataError(f"no kept result is called {asked.path[0]!r}", hint="choose one on the page Results")


def upload(facts: Facts, asked: Asked) -> View:
    """The form that takes a file; it is read in memory, shown, and forgotten."""
    table = Table(columns=("measurement",), rows=())
    return View(title="Upload a result", template="upload.html", table=table, document=lambda: [], content={})


def uploaded(facts: Facts, data: bytes, name: str) -> View:
    """The result in an uploaded file: a result file or a report that holds one. Raises InputError for what is
    neither, or holds several, or more than any session measures."""
    found = one(data, name)
    if len(found.measurements) > MOST_MEASUREMENTS:
        problem = f"{name} holds {len(found.measurements)} measurements; shown are up to {MOST_MEASUREMENTS}"
        raise InputError(problem, hint=f"gpuwise show {name}")
    return shown(facts, found)


def one(data: bytes, name: str) -> Result:
    """The result in a file: a result file or a report that holds one. Raises InputError for anything else."""
    if not data:
        raise InputError("no file was sent", hint="choose a result file: RESULT.json")
    report_file = name.lower().endswith(codec.SUFFIXES)
    found = codec.results(data, name) if report_file else (store.decode(data, name),)
    if len(found) > 1:
        raise InputError(f"{name} is a report of {len(found)} results", hint="send one of its result files")
    return found[0]


def shown(facts: Facts, result: Result) -> View:
    """A result in its place: bars, cautions, limits, beside published and forecast figures."""
    material = reporting.material(facts, (result,))
    try:
        whole = report(material)
    except (ValueError, ArithmeticError, KeyError, AssertionError) as error:
        # A file may be well formed and still say what no machine does: negative times, endless numbers.
        problem = "the file's figures contradict each other"
        raise InputError(problem, hint="measure again: gpuwise bench") from error
    return View(
        title=results.headline(result),
        template="document.html",
        table=results.measurements(result),
        document=lambda: store.encode(result),
        content={"page": replace(whole, data=()), "lead": whole.subtitle, "gpu": ""},
    )


def workloads(facts: Facts) -> tuple[str, ...]:
    """Names of the workloads of which a speed is known."""
    return tuple(dict.fromkeys((*published.workloads(), *(row.question.workload for row in facts.speeds))))
