"""The first page: GPUs ranked by a workload."""

from __future__ import annotations

from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.facts.catalog import matching
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.predicting import traced
from gpuwise.model import units
from gpuwise.show import leaderboard as report
from gpuwise.show.gpus import short
from gpuwise.show.leaderboard import CLASSES, METRICS, SORTS, Entry
from gpuwise.show.records import COUNTS
from gpuwise.web.view import Asked, View, bars, nearest
from gpuwise.web.views.predict import choice

# Rows that are shown at once; the others by a click.
TOP = 20
USUAL = "resnet50"


def leaderboard(facts: Facts, asked: Asked) -> View:
    """The GPUs that the filters leave, the best first.

    Raises NoDataError for an address that names no network with a trace, or a mode that it lacks.
    """
    name, _, mode = (asked.path[0] if asked.path else "").partition(",")
    known = traced()
    if name and name not in known:
        raise NoDataError(f"no leaderboard is of {name!r}", hint=nearest(name, known))
    if name and mode and mode not in known[name].modes:
        hint = f"there is one of {', '.join(known[name].modes)}"
        raise NoDataError(f"{name} has no leaderboard of {mode!r}", hint=hint)
    asks = choice(asked.beside(workload=name or USUAL, mode=mode, precision="fp16"))
    metric, kind = asked.one_of("by", tuple(METRICS)), asked.one_of("class", ("", *CLASSES))
    sort = asked.one_of("sort", ("", *(sign + name for name in SORTS for sign in ("", "-"))))
    problem: GpuwiseError | None = None
    found: tuple[Entry, ...] = ()
    try:
        specs = [match.spec for match in matching([asked.text("q")] if asked.text("q") else [])]
        ids = tuple(spec.id for spec in specs)
        least = (asked.number("memory") or 0.0) * 2**30
        forecasts = facts.forecasts.known(asks.config, ids, int(asks.gpus))
        every = report.entries(specs, facts.records(ids), forecasts, facts.offers, facts.today)
        found = tuple(e for e in every if kind in ("", e.kind) and (e.spec.memory_bytes or 0) >= least)
    except GpuwiseError as error:
        problem = error
    ordered = report.ranked(found, metric, sort)
    item = found[0].record.item if found else ""
    drawn = bars([METRICS[metric].of(e) for e in ordered], [e.record.origin for e in ordered])
    return View(
        title=f"{asks.spec.title}: {asks.mode} in {asks.precision}",
        template="leaderboard.html",
        message=problem,
        table=report.table(ordered),
        document=lambda: report.document(ordered),
        content={
            "rows": tuple(zip(ordered, drawn, strict=True)),
            "top": len(ordered) if asked.text("all") else TOP, "leaders": report.leaders(found), "asks": asks,
            "titles": {name: one.title for name, one in METRICS.items()}, "units": units, "name": short,
            "asked": asked, "metric": metric, "metrics": METRICS, "kind": kind, "classes": CLASSES,
            "sort": sort, "unit": METRICS[metric].unit(item) if item else "", "figure": report.figure,
            "workloads": traced(), "counts": COUNTS,
            "figure_of_prices": report.against_price(found, street=metric == "street"),
        },
    )  # fmt: skip


def boards() -> tuple[str, ...]:
    """`resnet50,train`: each workload and mode that has a page of its own where pages are files."""
    return tuple(f"{name},{mode}" for name, spec in traced().items() for mode in spec.modes)
