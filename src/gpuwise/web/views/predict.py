"""One workload on every GPU, and on several of one: speed, memory, watts, what bounds it, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.facts import catalog, published
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.predicting import traced
from gpuwise.model.precision import Precision
from gpuwise.model.question import Mode, RunConfig, WorkloadSpec
from gpuwise.model.result import Interval, Record, Result
from gpuwise.model.units import percent
from gpuwise.show import predictions as report
from gpuwise.show.records import COUNTS
from gpuwise.show.results import throughput
from gpuwise.show.scaling import table as measured_table
from gpuwise.show.table import Table
from gpuwise.stats.scaling import curves
from gpuwise.stats.scaling import series as measured_series
from gpuwise.web.view import Asked, Sheet, View, bars

# Columns that a narrow screen reaches by scrolling; what bounds a forecast and backs it comes before.
LAST = ("step", "first token", "peak memory", "fits", "power (80 %)", "per joule", "why not")
MACHINES = tuple(str(count) for count in COUNTS)
MOST_BATCH = 2**14
# GPUs whose scaling is shown where none is asked for: NVLink beside PCIe.
USUAL = ("h100-sxm5-80gb", "rtx-4090")
MOST_GPUS = 4
SHARE = "share of n times one GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the form asks, with what the workload does not have replaced by what it has."""

    spec: WorkloadSpec
    mode: str
    precision: str
    compiled: str
    gpus: str

    @property
    def config(self) -> RunConfig:
        compiled = self.compiled == "on" and self.spec.compiles
        mode, precision = cast(Mode, self.mode), Precision(self.precision)
        return RunConfig(workload=self.spec.id, mode=mode, precision=precision, compile=compiled)


def choice(asked: Asked) -> Choice:
    """Raises NoDataError for a path that names no workload with a trace."""
    known = traced()
    name = asked.path[0] if asked.path else asked.one_of("workload", tuple(known))
    if name not in known:
        raise NoDataError(f"no built-in network is called {name!r}", hint="choose one on the page Predict")
    spec = known[name]
    usual = next((p for p in ("bf16", "fp16") if p in spec.precisions), spec.precisions[0])
    return Choice(
        spec=spec, mode=asked.one_of("mode", spec.modes), compiled=asked.one_of("compile", ("on", "off")),
        precision=asked.one_of("precision", spec.precisions, usual), gpus=asked.one_of("gpus", MACHINES),
    )  # fmt: skip


def predict(facts: Facts, asked: Asked) -> View:
    """The forecast on every GPU that the filter leaves, in the order asked for."""
    asks, problem = choice(asked), None
    found: tuple[Record, ...] = ()
    try:
        batch = None if asked.text("batch", "auto") == "auto" else asked.whole("batch", most=MOST_BATCH)
        words = asked.text("q")
        ids = [match.spec.id for match in catalog.matching([words])] if words else facts.ids
        every = facts.forecasts(asks.config, ids, count=int(asks.gpus), batch=batch)
        found = report.ordered(every, asked.one_of("sort", report.SORTS))
    except GpuwiseError as error:
        problem = error
    given = [p for p in found if not p.refusal]
    sheet = Sheet(
        table=replace(report.table(given).last(LAST), title="") if given else Table(columns=(), rows=()),
        bars=bars([p.throughput for p in given]),
        legend="throughput and its 80 % interval",
        sorts={
            "GPU": "name", "throughput (80 %)": "speed", "peak memory": "memory", "power (80 %)": "power",
            "per joule": "efficiency",
        },
    )  # fmt: skip
    refused = tuple((p.gpu_id, p.refusal) for p in found if p.refusal)
    return View(
        title=f"Predict: {asks.spec.id} {asks.mode} {asks.precision}",
        template="predict.html",
        table=report.table(found, every=True).last(LAST) if found else Table(columns=("GPU",), rows=()),
        document=lambda: report.document(found),
        content={
            "sheet": sheet, "refused": Table(columns=("GPU", "why not"), rows=refused), "asks": asks,
            "asked": asked, "workloads": traced(), "counts": MACHINES, "sorts": report.SORTS,
            "sort": asked.one_of("sort", report.SORTS), "message": problem, "most_batch": MOST_BATCH,
        },
    )  # fmt: skip


def scaling(facts: Facts, asked: Asked) -> View:
    """Forecast curves of up to four GPUs, and every measured and published series of the workload."""
    asks, problem, drawn = choice(asked), None, None
    names, found = asked.many("gpu") or USUAL, ()
    try:
        ids = tuple(dict.fromkeys(facts.gpu(name).id for name in names))[:MOST_GPUS]
        each = [facts.forecasts(asks.config, ids, count=count) for count in COUNTS]
        found = tuple(p for of_one in zip(*each, strict=True) for p in of_one)
        drawn = _curves(found)
    except GpuwiseError as error:
        problem = error
    stated = _published(asks.spec.id)
    rows = [dict(zip(stated.table.columns, row, strict=True)) for row in stated.table.rows]
    empty = Table(columns=("GPU", "GPUs", "throughput", "of perfect"), rows=())
    return View(
        title=f"Scaling: {asks.spec.id} {asks.mode} {asks.precision}",
        template="scaling.html",
        table=drawn.table if drawn else empty,
        document=lambda: {**report.document(found), "published": rows},
        content={
            "sheet": drawn, "asks": asks, "asked": asked, "workloads": traced(), "message": problem,
            "gpus": names, "all": facts.gpus, "published": stated,
            "measured": [sheet for r in facts.results if (sheet := _measured(r, asks.spec.id))],
        },
    )  # fmt: skip


def _curves(found: Sequence[Record]) -> Sheet:
    """A row for each GPU and number; the bar is the share of n times one."""
    scaled = {c.one.gpu_id: c for c in curves(found)}
    shares = [scaled[p.gpu_id].share(p) if p.throughput and p.gpu_id in scaled else None for p in found]
    rows = tuple(
        (
            p.gpu_id, str(p.gpus), str(p.batch or ""), throughput(p),
            percent(share.value, 0) if share else "", p.bound or "", p.refusal,
        )
        for p, share in zip(found, shares, strict=True)
    )  # fmt: skip
    table = Table(
        columns=("GPU", "GPUs", "batch each", "throughput", "of perfect", "waits for", "why not"), rows=rows,
        numeric=frozenset({"GPUs", "batch each", "throughput", "of perfect"}),
        notes=("forecasts of GPUs in one machine, each with the whole batch; of perfect: of n times one",),
    )  # fmt: skip
    return Sheet(table=table.without_empty_columns(), bars=bars(shares), legend=SHARE)


def _measured(result: Result, workload: str) -> Sheet | None:
    """The series of one workload in one result; a bar stands where a terminal draws one."""
    kept = [m for m in result.measurements if m.config.mode == "limit" or m.config.workload == workload]
    found = measured_series(kept)
    if not found:
        return None
    title = f"{result.environment.device}, {result.created_at[:16].replace('T', ' ')} UTC"
    table = measured_table(replace(result, measurements=tuple(kept)), found).without({"of perfect"})
    one = Interval(value=1.0, low=1.0, high=1.0, level=None, method="itself")
    factors = [factor for each in found for factor in (one, *(point.factor for point in each.points))]
    return Sheet(table=replace(table, title=title), bars=bars(factors), legend=SHARE)


def _published(workload: str) -> Sheet:
    """Every published series of one GPU at several counts that no check flags."""
    rows, shares = [], []
    for curve in curves(published.plausible(published.select(workload=workload))):
        for r in curve.records:
            share = curve.share(r)
            shares.append(share)
            rows.append((
                r.gpu_id, r.question.label("workload", "batch", "gpus"), str(r.gpus),
                throughput(r), percent(share.value, 0), r.source.title if r.source else "",
            ))  # fmt: skip
    table = Table(
        columns=("GPU", "work", "GPUs", "throughput", "of perfect", "source"), rows=tuple(rows),
        numeric=frozenset({"GPUs", "throughput", "of perfect"}),
    )  # fmt: skip
    return Sheet(table=table, bars=bars(shares), legend=SHARE)


def trained() -> tuple[str, ...]:
    """Workloads that train, of which several GPUs are worth a page."""
    return tuple(name for name, spec in traced().items() if "train" in spec.modes)
