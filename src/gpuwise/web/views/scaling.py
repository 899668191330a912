"""How speed grows with the number of GPUs: measured, published and forecast, apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpuwise.errors import GpuwiseError
from gpuwise.facts import published
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.forecasts import traced
from gpuwise.model.record import Record
from gpuwise.model.result import Interval, Result
from gpuwise.model.units import percent
from gpuwise.show import predictions
from gpuwise.show.records import COUNTS
from gpuwise.show.results import rate, speed
from gpuwise.show.scaling import table as measured_table
from gpuwise.show.table import Table
from gpuwise.stats.records import curves
from gpuwise.stats.scaling import series as measured_series
from gpuwise.web.asked import Asked
from gpuwise.web.view import Message, Sheet, View, bars, message
from gpuwise.web.views.predict import Question, question

LEGEND = "share of n times one GPU"
USUAL = ("h100-sxm5-80gb", "rtx-4090")
MOST = 4


def scaling(facts: Facts, asked: Asked) -> View:
    """Forecast curves of up to four GPUs, and every measured and published series of the workload."""
    asks, problem = question(asked), None
    table = Table(columns=("GPU", "GPUs", "throughput", "of perfect"), rows=())
    drawn: Sheet | None = None
    found: tuple[Record, ...] = ()
    try:
        found = _forecast(facts, asked, asks)
        drawn = _curves(found)
        table = drawn.table
    except GpuwiseError as error:
        problem = message(error)
    return _view(facts, asked, asks, found, drawn, table, problem)


def _forecast(facts: Facts, asked: Asked, asks: Question) -> tuple[Record, ...]:
    """Raises InputError for an unknown GPU."""
    names = asked.many("gpu") or USUAL
    ids = tuple(dict.fromkeys(facts.gpu(name).id for name in names))[:MOST]
    found = [facts.forecasts(asks.config, ids, count=count) for count in COUNTS]
    return tuple(p for of_one in zip(*found, strict=True) for p in of_one)


def _curves(found: tuple[Record, ...]) -> Sheet:
    """A row for each GPU and number; the bar is the share of n times one."""
    scaled = {c.one.gpu_id: c for c in curves(found)}
    shares = [scaled[p.gpu_id].share(p) if p.throughput and p.gpu_id in scaled else None for p in found]
    rows = tuple(
        (
            p.gpu_id, str(p.gpus), str(p.batch or ""),
            rate(p.throughput.value, p.item) if p.throughput else "",
            percent(share.value, 0) if share else "", p.bound or "", p.refusal,
        )
        for p, share in zip(found, shares, strict=True)
    )  # fmt: skip
    table = Table(
        columns=("GPU", "GPUs", "batch each", "throughput", "of perfect", "waits for", "why not"), rows=rows,
        numeric=frozenset({"GPUs", "batch each", "throughput", "of perfect"}),
        notes=("forecasts of GPUs in one machine, each with the whole batch; of perfect: of n times one",),
    )  # fmt: skip
    return Sheet(table=table.without_empty_columns(), bars=bars(shares), legend=LEGEND)


def _view(
    facts: Facts, asked: Asked, asks: Question, found: tuple[Record, ...], drawn: Sheet | None,
    table: Table, problem: Message | None,
) -> View:  # fmt: skip
    measured = [made for r in facts.results if (made := _measured(_of(r, asks.spec.id)))]
    stated = _published(asks.spec.id)
    return View(
        title=f"Scaling: {asks.spec.id} {asks.mode} {asks.precision}",
        template="scaling.html",
        table=table,
        document=lambda: {**predictions.document(found), "published": _rows(stated)},
        content={
            "sheet": drawn, "asks": asks, "asked": asked, "workloads": traced(), "message": problem,
            "gpus": asked.many("gpu") or USUAL, "all": facts.gpus, "measured": measured, "published": stated,
        },
    )  # fmt: skip


def _of(result: Result, workload: str) -> Result:
    """The result with the measurements of one workload and the limits."""
    kept = (m for m in result.measurements if m.config.mode == "limit" or m.config.workload == workload)
    return replace(result, measurements=tuple(kept))


def _measured(result: Result) -> Sheet | None:
    """The series of one result; a bar stands where a terminal draws one."""
    found = measured_series(result.measurements)
    if not found:
        return None
    made = measured_table(result, found)
    table = replace(
        made.without({"of perfect"}),
        title=f"{result.environment.device}, {result.created_at[:16].replace('T', ' ')} UTC",
    )
    one = Interval(value=1.0, low=1.0, high=1.0, level=None, method="itself")
    factors = [factor for each in found
               for factor in (one, *(point.factor for point in each.points))]  # fmt: skip
    return Sheet(table=table, bars=bars(factors), legend=LEGEND)


def _published(workload: str) -> Sheet:
    """Every published series of one GPU at several counts that no check flags."""
    rows, shares = [], []
    for curve in curves(published.plausible(published.select(workload=workload))):
        for r in curve.records:
            share = curve.share(r)
            shares.append(share)
            rows.append((
                r.gpu_id, r.question.label("workload", "batch", "gpus"), str(r.gpus),
                speed(r.throughput, r.item), percent(share.value, 0), r.source.title if r.source else "",
            ))  # fmt: skip
    table = Table(
        columns=("GPU", "work", "GPUs", "throughput", "of perfect", "source"), rows=tuple(rows),
        numeric=frozenset({"GPUs", "throughput", "of perfect"}),
    )  # fmt: skip
    return Sheet(table=table, bars=bars(shares), legend=LEGEND)


def _rows(sheet: Sheet) -> list[dict[str, Any]]:
    return [dict(zip(sheet.table.columns, row, strict=True)) for row in sheet.table.rows]


def shown(facts: Facts) -> tuple[str, ...]:
    """Workloads that train, of which several GPUs are worth a page."""
    return tuple(name for name, spec in traced().items() if "train" in spec.modes)
