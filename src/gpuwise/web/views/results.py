"""Speeds that were measured or published, and one result file in its place: kept, or just uploaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog, published
from gpuwise.jobs import reporting
from gpuwise.jobs.facts import Facts
from gpuwise.model.precision import PRECISIONS
from gpuwise.model.question import WORK
from gpuwise.model.record import Record
from gpuwise.model.result import Interval, Result
from gpuwise.model.workload import MODES
from gpuwise.show import records as speeds
from gpuwise.show import results
from gpuwise.show.report import ReportInput, report
from gpuwise.show.results import by_work, value
from gpuwise.show.table import Table
from gpuwise.store import pages
from gpuwise.web.asked import Asked
from gpuwise.web.view import Sheet, View, bars, plain

GLANCE = ("configuration", "throughput (95 %)", "cautions")
SHOWN = tuple(mode for mode in MODES if mode != "limit")
# Results that the list shows from the start.
NEWEST = 10
# Of one uploaded file; a full suite has some two hundred.
MOST_MEASUREMENTS = 500


def listing(facts: Facts, asked: Asked) -> View:
    """The workloads of which speeds are known, and the results that are kept."""
    here = Counter(row.question.workload for row in _measured(facts))
    table = replace(speeds.workloads(here, published.workloads()), notes=())
    kept = sorted(facts.results, key=lambda result: result.created_at, reverse=True)
    return View(
        title="Results", template="results.html", table=table,
        document=lambda: {"workloads": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
                          "results": [_brief(result) for result in kept]},
        content={"workloads": table, "kept": _sessions(kept[:NEWEST], "Newest results"),
                 "older": _sessions(kept[NEWEST:], "Older results")},
        links={**{row[0]: f"/results/{row[0]}" for row in table.rows}, **_files(kept)},
    )  # fmt: skip


def _files(found: Sequence[Result]) -> dict[str, str]:
    """Where each result's name leads."""
    return {result.id: f"/results/files/{result.id}" for result in found}


def _sessions(found: Sequence[Result], title: str) -> Table:
    """One line for each result."""
    rows = tuple(
        (result.id, _what(result), str(len(result.measurements)), result.environment.device,
         ", ".join(result.environment.software))
        for result in found
    )  # fmt: skip
    columns = ("result", "workloads", "measurements", "device", "software")
    return Table(title=title, columns=columns, rows=rows, numeric=frozenset({"measurements"}))


def _what(result: Result) -> str:
    """`resnet50, bert-large and 3 more`: its workloads, limits apart."""
    names = [m.config.workload for m in result.measurements if m.config.mode != "limit"]
    return results.some(names) if names else "limits"


def _brief(result: Result) -> dict[str, Any]:
    return {"id": result.id, "device": result.environment.device, "created_at": result.created_at,
            "measurements": len(result.measurements)}  # fmt: skip


def _measured(facts: Facts) -> list[Record]:
    every = store.records(facts.results)
    return [row for row in every if row.question.size == "full" and row.question.mode != "limit"]


def workload(facts: Facts, asked: Asked) -> View:
    """Speeds of one workload, ours and others' apart. Raises InputError for one of which none is known."""
    rows = _measured(facts)
    name = published.check_workload(asked.path[0], [row.question.workload for row in rows])
    mode, precision = asked.one_of("mode", ("", *SHOWN)), asked.one_of("precision", ("", *PRECISIONS))
    gpu_ids = _gpu_ids(asked.text("gpu"))
    ours = [row for row in rows if _wanted(row, name, mode, precision, gpu_ids)]
    theirs = [
        row
        for row in published.select(workload=name, mode=mode or None, precision=precision or None)
        if gpu_ids is None or row.gpu_id in gpu_ids
    ]
    sheets = [
        sheet for one in SHOWN for sheet in (_ours(ours, one), _theirs(theirs, one)) if sheet.table.rows
    ]
    return View(
        title=f"Speeds of {name}",
        template="workload.html",
        table=speeds.together(ours, theirs),
        document=lambda: {
            "measured": [speeds.measured_document(row) for row in ours],
            "published": [speeds.published_document(row) for row in theirs],
        },
        content={
            "name": name, "sheets": sheets, "asked": asked,
            "modes": SHOWN, "precisions": PRECISIONS,
        },
        links=_files(facts.results),
    )  # fmt: skip


def _ours(rows: Sequence[Record], mode: str) -> Sheet:
    """Measured speeds of one mode, the fastest first; bars of two modes would not be comparable."""
    mine = sorted((row for row in rows if row.question.mode == mode), key=value, reverse=True)
    drawn = bars([row.throughput for row in mine])
    table = _of_mode(speeds.measured_table(mine), mode, "date")  # a result's name begins with it
    return Sheet(table=table, bars=drawn, legend="with its 95 % interval")


def _theirs(rows: Sequence[Record], mode: str) -> Sheet:
    mine = sorted((row for row in rows if row.question.mode == mode), key=lambda r: -r.value / r.gpus)
    drawn = bars([_stated(row.value / row.gpus) for row in mine])
    return Sheet(table=_of_mode(speeds.published_table(mine), mode), bars=drawn, legend="per GPU")


def _of_mode(table: Table, mode: str, *known: str) -> Table:
    """The table of one workload and mode, less the columns that say so in every row, and what is `known`."""
    return replace(table.without({"workload", "mode", *known}), title=f"{table.title}: {mode}")


def _stated(value: float) -> Interval:
    return Interval(value=value, low=value, high=value, level=None, method="stated")


def _wanted(row: Record, name: str, mode: str, precision: str, gpu_ids: frozenset[str] | None) -> bool:
    config = row.question
    return (
        config.workload == name
        and mode in ("", config.mode)
        and precision in ("", config.precision)
        and (gpu_ids is None or row.gpu_id in gpu_ids)
    )


def _gpu_ids(words: str) -> frozenset[str] | None:
    """The GPUs that words mean; None for no words. Raises InputError or NoDataError for unknown ones."""
    return frozenset(match.spec.id for match in catalog.matching([words])) if words else None


def kept(facts: Facts, asked: Asked) -> View:
    """One kept result by its id. Raises NoDataError where none has it."""
    result = next((result for result in facts.results if result.id == asked.path[0]), None)
    if result is None:
        raise NoDataError(
            f"no kept result is called {asked.path[0]!r}", hint="choose one on the page Results"
        )
    return shown(facts, result)


def upload(facts: Facts, asked: Asked) -> View:
    """The form that takes a file; it is read in memory, shown, and forgotten."""
    table = Table(columns=("measurement",), rows=())
    return View(title="Upload a result", template="upload.html", table=table, document=lambda: [], content={})


def read(data: bytes, name: str) -> Result:
    """The result in an uploaded file: a result file or a report that holds one.

    Raises InputError for what is neither, or holds several, or more than any session measures.
    """
    if not data:
        raise InputError("no file was sent", hint="choose a result file: RESULT.json")
    found = (
        pages.results(data, name) if name.lower().endswith(pages.SUFFIXES) else (store.decode(data, name),)
    )
    if len(found) > 1:
        raise InputError(f"{name} is a report of {len(found)} results", hint="upload one of its result files")
    if len(found[0].measurements) > MOST_MEASUREMENTS:
        raise InputError(
            f"{name} holds {len(found[0].measurements)} measurements; shown are up to {MOST_MEASUREMENTS}",
            hint=f"gpuwise show {name}",
        )
    return found[0]


def shown(facts: Facts, result: Result) -> View:
    """A result in its place: bars, cautions, limits, beside published and forecast figures."""
    material = reporting.material(facts, (result,))
    try:
        whole = plain(report(material))
    except (ValueError, ArithmeticError, KeyError, AssertionError) as error:
        # A file may be well formed and still say what no machine does: negative times, endless numbers.
        raise InputError(
            "the file's figures contradict each other", hint="measure again: gpuwise bench"
        ) from error
    return View(
        title=results.headline(result),
        template="result.html",
        table=results.measurements(result),
        document=lambda: store.encode(result),
        content={"page": replace(whole, data=()), "result": result, "sheets": _sheets(material)},
    )


def _sheets(material: ReportInput) -> list[Sheet]:
    """Throughput of each question as bars, the fastest first; what has nothing beside it as one table."""
    found = [(name, sorted(rows, key=value, reverse=True)) for name, rows in by_work(material.speeds).items()]
    lone = [(name, *_glance(row)) for name, rows in found for row in rows if len(rows) == 1]
    drawn = [_drawn(name, rows) for name, rows in found if len(rows) > 1]
    return [*drawn, Sheet(table=_glances(("workload", *GLANCE), lone))] if lone else drawn


def _drawn(name: str, rows: Sequence[Record]) -> Sheet:
    return Sheet(
        table=replace(_glances(GLANCE, [_glance(row) for row in rows]), title=name),
        bars=bars([row.throughput for row in rows]),
        legend="throughput and its 95 % interval",
    )


def _glance(row: Record) -> tuple[str, ...]:
    how, m = row.question.label(*WORK), row.raw
    return how, results.measured_speed(m) if m else "", ", ".join(row.codes)


def _glances(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(columns=columns, rows=tuple(rows), numeric=frozenset({"throughput (95 %)"}))
    return table.without_empty_columns()


def workloads(facts: Facts) -> tuple[str, ...]:
    """Names of the workloads of which a speed is known."""
    here = (row.question.workload for row in _measured(facts))
    return tuple(dict.fromkeys((*published.workloads(), *here)))
