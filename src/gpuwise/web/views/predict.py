"""What is forecast: one workload on every GPU, and on several of one, or why not; and which GPUs hold a
language model, in which formats, and how fast they answer or train. On the first page GPUs are ranked by a
workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.facts import catalog, llms, published
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.predicting import USUAL_GPUS, FitRequest, traced
from gpuwise.jobs.predicting import fit as fit_model
from gpuwise.model import units
from gpuwise.model.gpu import STALE_DAYS
from gpuwise.model.judgement import TASKS, Task
from gpuwise.model.precision import CACHES, PRECISIONS, WEIGHTS, Precision
from gpuwise.model.question import MODES, Mode, RunConfig, WorkloadSpec
from gpuwise.model.result import Record, grouped
from gpuwise.predictor.fit import Fit
from gpuwise.show import leaderboard as ranking
from gpuwise.show import predictions as report
from gpuwise.show.gpus import short
from gpuwise.show.leaderboard import CLASSES, METRICS, SORTS, Entry
from gpuwise.show.page import Page, References, Section
from gpuwise.show.records import COUNTS, FORECAST, published_document
from gpuwise.show.results import session_name
from gpuwise.show.scaling import scaling as measured_series
from gpuwise.show.scaling import shown as curves_shown
from gpuwise.show.table import Table
from gpuwise.stats.scaling import curves
from gpuwise.web.view import Asked, Sheet, View, bars, by_name, nearest

# Columns that a narrow screen reaches by scrolling; what bounds a forecast and backs it comes before.
LAST = ("step", "first token", "peak memory", "fits", "power (80 %)", "per joule", "why not")
# What follows from others is left to the files.
HIDDEN = ("step", "fits")
MACHINES = tuple(str(count) for count in COUNTS)
MOST_BATCH = 2**14
# GPUs whose scaling is shown where none is asked for: NVLink beside PCIe.
USUAL = ("h100-sxm5-80gb", "rtx-4090")
MOST_GPUS = 4


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
        raise NoDataError(f"no built-in network is called {name!r}", hint=nearest(name, known))
    spec = known[name]
    usual = next((p for p in ("bf16", "fp16") if p in spec.precisions), spec.precisions[0])
    return Choice(
        spec=spec,
        mode=asked.one_of("mode", spec.modes, others=MODES),
        compiled=asked.one_of("compile", ("on", "off")),
        gpus=asked.one_of("gpus", MACHINES),
        precision=asked.one_of("precision", spec.precisions, usual, others=PRECISIONS),
    )


def predict(facts: Facts, asked: Asked) -> View:
    """The forecast on every GPU that the filter leaves, in the order asked for."""
    asks, problem = choice(asked), None
    found: tuple[Record, ...] = ()
    try:
        batch = None if asked.text("batch", "auto") == "auto" else asked.whole("batch", most=MOST_BATCH)
        every = facts.forecasts(asks.config, asked.gpus(), count=int(asks.gpus), batch=batch)
        found = report.ordered(every, asked.one_of("sort", report.SORTS))
    except GpuwiseError as error:
        problem = error
    given = [p for p in found if not p.refusal]
    shown = report.table(given).last(LAST).without(HIDDEN) if given else Table(columns=(), rows=())
    shown = shown.second("throughput (80 %)")
    sheet = Sheet(
        table=replace(shown, title="", notes=by_name(shown.notes)),
        bars=bars([p.throughput for p in given], "predicted"),
        legend="throughput and its 80 % interval",
        sorts={
            "GPU": "name", "throughput (80 %)": "speed", "peak memory": "memory", "power (80 %)": "power",
            "per joule": "efficiency",
        },
    )  # fmt: skip
    # Half of the catalog may lack a forecast for one reason, which is said once.
    refused = grouped(
        (p.refusal.replace(p.gpu_id, "it"), short(catalog.get(p.gpu_id))) for p in found if p.refusal
    )
    return View(
        title=f"Predict: {asks.spec.id} {asks.mode} {asks.precision}",
        template="predict.html",
        message=problem,
        table=report.table(found, every=True).last(LAST) if found else Table(columns=("GPU",), rows=()),
        document=lambda: report.document(found),
        content={
            "sheet": sheet, "asks": asks,
            "lacking": sum(map(len, refused.values())),
            "refused": Table(
                columns=("why not", "GPUs"), rows=tuple((why, ", ".join(of)) for why, of in refused.items())
            ),
            "asked": asked, "workloads": traced(), "counts": MACHINES, "sorts": report.SORTS,
            "sort": asked.one_of("sort", report.SORTS), "most_batch": MOST_BATCH,
        },
    )  # fmt: skip


def scaling(facts: Facts, asked: Asked) -> View:
    """Forecast curves of up to four GPUs, and every measured and published series of the workload."""
    asks, problem, cited = choice(asked), None, References()
    names = asked.many("gpu") or USUAL
    found: tuple[Record, ...] = ()
    try:
        ids = tuple(dict.fromkeys(catalog.resolve(name).spec.id for name in names))[:MOST_GPUS]
        each = [facts.forecasts(asks.config, ids, count=count) for count in COUNTS]
        found = tuple(replace(p, source=FORECAST) for of_one in zip(*each, strict=True) for p in of_one)
    except GpuwiseError as error:
        problem = error
    unable = dict.fromkeys(f"{p.gpu_id} on {p.gpus}: {p.refusal}" for p in found if p.refusal)
    stated = published.plausible(published.select(workload=asks.spec.id))
    measured = []
    for result in facts.results:
        ran = ((m, m.config) for m in result.measurements)
        kept = [m for m, config in ran if config.mode == "limit" or config.workload == asks.spec.id]
        if series := measured_series(replace(result, measurements=tuple(kept))):
            # Without what a terminal draws.
            measured.append(replace(series.without({"of perfect"}), title=session_name(result)))

    def section(name: str, title: str, records: Sequence[Record]) -> Section:
        figures, tables = curves_shown(curves(records), cited, f"{title} on several GPUs")
        return Section(id=name, title=title, figures=figures, tables=tables)

    forecast = replace(section("forecast", "Forecast", found), points=tuple(unable))
    page = Page(
        title="", subtitle="", summary=(), made_on="", sections=(
            forecast, Section(id="measured", title="Measured", tables=tuple(measured)),
            section("published", "Published", stated),
        ), sources=cited.sources,
    )  # fmt: skip
    table = next(
        iter((*(f.table for f in forecast.figures), *forecast.tables)), Table(columns=("GPU",), rows=())
    )
    return View(
        title=f"Scaling: {asks.spec.id} {asks.mode} {asks.precision}",
        template="scaling.html",
        message=problem,
        table=table,
        document=lambda: {
            **report.document(found),
            "published": [published_document(row) for row in stated if row.gpus > 1],
        },
        content={
            "page": page, "asks": asks, "asked": asked, "workloads": traced(),
            "gpus": names, "all": catalog.all_gpus(),
        },
    )  # fmt: skip


def trained() -> tuple[str, ...]:
    """Workloads that train, of which several GPUs are worth a page."""
    return tuple(name for name, spec in traced().items() if "train" in spec.modes)


USUAL_MODEL, MOST_CONTEXT, MOST_ANSWERS = "llama-3.1-8b", 2**20, 1024


def fit(facts: Facts, asked: Asked) -> View:
    """A model by its name on some usual GPUs, or on those that the words leave; files are not read."""
    model = asked.one_of("model", llms.names(), USUAL_MODEL)
    task, weights = asked.one_of("for", tuple(TASKS)), asked.one_of("weights", ("", *WEIGHTS))
    cache, gpus = asked.one_of("cache", CACHES), asked.one_of("gpus", MACHINES)
    rows: tuple[Fit, ...] = ()
    problem = None
    try:
        context, batch = asked.whole("context", most=MOST_CONTEXT), asked.whole("batch", most=MOST_ANSWERS)
        formats = (Precision(weights),) if weights else ()
        contexts, tasks = (context,) if context else (), (cast(Task, task),)
        request = FitRequest(
            model=model, gpus=asked.gpus(usual=USUAL_GPUS), tasks=tasks, weights=formats, cache=cache,
            contexts=contexts, batches=(batch or 1,), counts=(int(gpus),),
        )  # fmt: skip
        # What holds the model answers the question: the others come behind.
        rows = tuple(sorted(fit_model(request).value, key=lambda row: not row.tokens_per_s))
    except GpuwiseError as error:
        problem = error
    table = report.fit_table(rows) if rows else Table(columns=("GPU",), rows=())
    # What the form says stands in no column, and the answer before what it follows from.
    shown = replace(table.without({"for", "context", "batch"}), title="")
    shown = shown.last(("needs", "of", "first token", "why no speed")).second("tokens/s (80 %)")
    return View(
        title=f"Fit: {model}", template="fit.html", table=table, message=problem,
        document=lambda: report.fit_document(rows),
        content={
            "sheet": Sheet(
                table=shown, bars=bars([row.tokens_per_s for row in rows], "predicted"),
                legend="tokens/s and their 80 % interval",
            ),
            "asked": asked, "names": llms.names(), "model": model, "tasks": tuple(TASKS), "task": task,
            "formats": WEIGHTS, "weights": weights, "caches": CACHES, "cache": cache, "counts": MACHINES,
            "gpus": gpus, "heading": table.title,
        },
    )  # fmt: skip


# Rows that are shown at once; the others by a click.
TOP = 20
USUAL_WORK = "resnet50"


def leaderboard(facts: Facts, asked: Asked) -> View:
    """The GPUs that the filters leave, the best first. Raises NoDataError for an address that names no
    network with a trace, or a mode that it lacks."""
    name, _, mode = (asked.path[0] if asked.path else "").partition(",")
    known = traced()
    if name and name not in known:
        raise NoDataError(f"no leaderboard is of {name!r}", hint=nearest(name, known))
    if name and mode and mode not in known[name].modes:
        hint = f"there is one of {', '.join(known[name].modes)}"
        raise NoDataError(f"{name} has no leaderboard of {mode!r}", hint=hint)
    asks = choice(asked.beside(workload=name or USUAL_WORK, mode=mode, precision="fp16"))
    metric, kind = asked.one_of("by", tuple(METRICS)), asked.one_of("class", ("", *CLASSES))
    sort = asked.one_of("sort", ("", *(sign + name for name in SORTS for sign in ("", "-"))))
    problem: GpuwiseError | None = None
    found: tuple[Entry, ...] = ()
    try:
        ids = asked.gpus()
        least = (asked.number("memory") or 0.0) * 2**30
        forecasts = facts.forecasts.known(asks.config, ids, int(asks.gpus))
        specs = tuple(map(catalog.get, ids))
        every = ranking.entries(specs, facts.records(ids), forecasts, facts.offers, facts.today)
        found = tuple(e for e in every if kind in ("", e.kind) and (e.spec.memory_bytes or 0) >= least)
    except GpuwiseError as error:
        problem = error
    ordered = ranking.ranked(found, metric, sort)
    item = found[0].record.item if found else ""
    drawn = bars([METRICS[metric].of(e) for e in ordered], [e.record.origin for e in ordered])
    return View(
        title=f"{asks.spec.title}: {asks.mode} in {asks.precision}",
        template="leaderboard.html",
        message=problem,
        table=ranking.table(ordered),
        document=lambda: ranking.document(ordered),
        content={
            "rows": tuple(zip(ordered, drawn, strict=True)),
            "top": len(ordered) if asked.text("all") else TOP, "silent": len(found) - len(ordered),
            "stale_days": STALE_DAYS, "leaders": ranking.leaders(found),
            "asks": asks, "titles": {name: one.title for name, one in METRICS.items()}, "units": units,
            "name": short, "asked": asked, "metric": metric, "metrics": METRICS, "kind": kind,
            "classes": CLASSES, "sort": sort, "unit": METRICS[metric].unit(item) if item else "",
            "figure": ranking.figure, "workloads": traced(), "counts": COUNTS,
            "figure_of_prices": ranking.against_price(found, street=metric == "street"),
        },
    )  # fmt: skip


def boards() -> tuple[str, ...]:
    """`resnet50,train`: each workload and mode that has a page of its own where pages are files."""
    return tuple(f"{name},{mode}" for name, spec in traced().items() for mode in spec.modes)
