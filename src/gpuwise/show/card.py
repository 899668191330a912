"""One GPU on one page: every specification with its source, what it is good for, speeds, price, verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from gpuwise.facts import prices
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.offer import Offer
from gpuwise.model.record import Record
from gpuwise.model.units import gibibytes
from gpuwise.show import known, rents
from gpuwise.show import uses as use_tables
from gpuwise.show.gpus import gaps, label, peak_name, peak_value, place, shown
from gpuwise.show.known import Speed
from gpuwise.show.page import Page, References, Section
from gpuwise.show.results import per_joule
from gpuwise.show.sections.scaling import Curve, gpus_figures, gpus_tables
from gpuwise.show.standing import ranking, standing
from gpuwise.show.table import Table
from gpuwise.show.work import COUNTS, DEEP, KINDS, SCALED, of_kind

if TYPE_CHECKING:  # it needs numpy, which a page does not
    from gpuwise.judge.choose.uses import Use

LISTED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a card's page is made of; nothing is read from disk or clock after this."""

    spec: GpuSpec
    speeds: tuple[Speed, ...]
    """Measured and published, of this GPU."""
    forecasts: tuple[Record, ...]
    """Of every kind of work on one, and of those that scale on several."""
    offers: tuple[Offer, ...]
    uses: tuple[Use, ...] = ()
    """How it does in the presets of `choose`, among all GPUs."""
    today: date
    cited: References


def card(given: Card) -> Page:
    """The page; sections that have nothing to say are left out."""
    sections = (
        for_whom(given),
        specification(given),
        uses(given),
        several(given),
        speeds(given),
        price(given),
        standing(given.spec),
    )
    return Page(
        title=given.spec.name,
        subtitle=f"Made by gpuwise from cited facts on {given.today.isoformat()}",
        summary=tuple(verdict(given)),
        sections=tuple(section for section in sections if section.says_something),
        sources=given.cited.sources,
        made_on=given.today.isoformat(),
    )


def verdict(given: Card) -> Iterator[str]:
    """What it is, what fits, what it costs: each line computed from the sections below."""
    spec, cited = given.spec, given.cited
    names = ("architecture", "segment", "form", "launch", "memory_bytes", "memory_bytes_per_s", "power_w")
    facts = [spec.facts[name] for name in names if name in spec.facts]
    yield "; ".join(f"{label(fact.field)} {shown(fact)} {cited.mark(fact.source)}" for fact in facts) + "."
    yield from _fitting(given)
    ranks = [f"{title} {rank} of {of}" for title, rank, of, _ in ranking(spec)]
    if ranks:
        yield f"Among the GPUs of the catalog: {', '.join(ranks)}."
    rent = rents.told(rents.exact(given.offers, spec.id), "on-demand", given.today, cited)
    if rent != "-":
        yield f"Rent of one for an hour, on demand, USD: {rent}."


def _fitting(given: Card) -> Iterator[str]:
    found = [(kind, of_kind(kind, given.spec.id, given.forecasts)) for kind in KINDS]
    fits = [kind.title for kind, p in found if p is not None and p.throughput is not None]
    not_ = [kind.title for kind, p in found if p is not None and p.refusal and p.memory_bytes is not None]
    if fits and not_:
        every = len(fits) + len(not_)
        yield f"By forecast {len(fits)} of {every} kinds of work fit its memory; not: {'; '.join(not_)}."
    elif fits:
        yield f"By forecast all {len(fits)} kinds of work below fit its memory."


def for_whom(given: Card) -> Section:
    """The presets of `choose`: whether it suits, and its place by speed and by cost."""
    if not given.uses:
        return Section(id="for-whom", title="For whom it is")
    table = use_tables.table(given.spec, given.uses)
    cited = (
        f"speeds are forecasts with 80 % intervals {given.cited.mark(known.FORECAST)} unless known by more"
    )
    return Section(
        id="for-whom", title="For whom it is", tables=(replace(table, title="", notes=(*table.notes, cited)),)
    )


def specification(given: Card) -> Section:
    """Every row of the specification chart with its source."""
    spec = given.spec
    rows = [
        (place(f.field), label(f.field), shown(f), given.cited.mark(f.source), f.note)
        for f in spec.facts.values()
    ]
    rows += [
        (place(p.field), f"peak {peak_name(p)}", peak_value(p), given.cited.mark(p.source), p.note)
        for p in spec.peaks
    ]
    table = Table(
        columns=("field", spec.name, "source", "note"),
        rows=tuple(row[1:] for row in sorted(rows, key=lambda row: row[0])),
        numeric=frozenset(),
        notes=gaps(spec),
    )
    return Section(
        id="specification",
        title="Specification",
        text=("Peaks are dense unless they say sparse.",),
        tables=(table.without_empty_columns(),),
    )


def uses(given: Card) -> Section:
    """Every kind of work: forecast speed, what it waits for, memory, energy and rent of a million items."""
    rent = rents.hourly(given.offers, given.spec.id)
    rows = [
        row
        for kind in KINDS
        if (p := of_kind(kind, given.spec.id, given.forecasts)) is not None
        and (row := _use(kind.title, p, rent if kind in DEEP else None)) is not None
    ]
    if not rows:
        return Section(id="uses", title="What it is good for")
    cited = given.cited.mark(known.FORECAST)
    table = Table(
        columns=(
            "kind of work",
            "stands for it",
            "batch",
            "forecast",
            "memory",
            "waits for",
            "efficiency",
            "rent of a million",
        ),
        rows=tuple(rows),
        numeric=frozenset({"batch", "forecast", "memory", "efficiency", "rent of a million"}),
        notes=(
            f"forecasts, not measurements, with 80 % intervals {cited}; rent by the median on-demand offer",
            "each row can be measured on the card: gpuwise bench WORKLOAD --mode MODE --precision PRECISION",
        ),
    ).without_empty_columns()
    return Section(
        id="uses",
        title="What it is good for",
        text=("What one card reaches at its best batch, and what most of a step waits for.",),
        tables=(table,),
    )


def _use(title: str, p: Record, rent: float | None) -> tuple[str, ...] | None:
    named = f"{p.question.workload} {p.question.mode} {p.question.precision}"
    speed = known.forecast_speed(p)
    memory = gibibytes(p.memory_bytes.value) if p.memory_bytes else ""
    if speed is None:
        return (title, named, str(p.batch), "does not fit", memory, "", "", "") if p.memory_bytes else None
    joule = per_joule(p.items_per_joule, p.item) if p.items_per_joule else ""
    cost = rents.dollars(rents.million(speed.throughput.value, rent)) if rent else ""
    return (title, named, str(p.batch or ""), known.shown(speed), memory, p.bound or "", joule, cost)


def several(given: Card) -> Section:
    """Throughput at 1 to 8 GPUs: measured, published and forecast, apart."""
    curves = (*_known_series(given), *_forecast_series(given))
    figures = gpus_figures(curves)
    return Section(
        id="several",
        title="On 1 to 8 GPUs",
        text=("GPUs of one machine, each with the whole batch; dashed is n times one.",) * bool(figures),
        figures=figures,
        tables=gpus_tables(curves),
    )


def _known_series(given: Card) -> Iterator[Curve]:
    found: dict[tuple[object, ...], dict[int, Speed]] = {}
    for speed in given.speeds:
        if speed.precision == known.UNTOLD or speed.gpus > COUNTS[-1]:
            continue
        best = found.setdefault(speed.series, {})
        if speed.gpus not in best or speed.throughput.value > best[speed.gpus].throughput.value:
            best[speed.gpus] = speed
    for counts in found.values():
        if 1 in counts and len(counts) > 1:
            rows = [counts[n] for n in sorted(counts)]
            points = [(s.gpus, s.throughput, s.item, given.cited.mark(s.source)) for s in rows]
            yield known.work(rows[0]), points, rows[0].origin, points[-1][3]


def _forecast_series(given: Card) -> Iterator[Curve]:
    cited = given.cited.mark(known.FORECAST)
    for kind in SCALED:
        found = [(n, of_kind(kind, given.spec.id, given.forecasts, n)) for n in COUNTS]
        points = [
            (n, p.throughput, p.item, cited) for n, p in found if p is not None and p.throughput is not None
        ]
        if len(points) > 1:
            yield f"{kind.workload} {kind.mode} {kind.precision}", points, "forecast", cited


def speeds(given: Card) -> Section:
    """Everything measured and published that passes the checks."""
    if not given.speeds:
        text = "No speed of it was measured here, or published by a source that passes the checks."
        return Section(id="speeds", title="Measured and published speeds", text=(text,))
    table = known.listing(given.speeds, given.cited, most=LISTED)
    return Section(id="speeds", title="Measured and published speeds", tables=(table,))


def price(given: Card) -> Section:
    """Dated offers of exactly this variant."""
    mine = rents.exact(given.offers, given.spec.id)
    rows = [(title, rents.told(mine, kind, given.today, given.cited)) for kind, title in rents.KINDS]
    rows.append(("bought", rents.bought(mine, given.cited)))
    told = tuple(row for row in rows if row[1] != "-")
    if not told:
        return Section(id="price", title="Price", text=("No dated offer of exactly this variant is known.",))
    table = Table(
        title=f"Offers as of {given.today.isoformat()}",
        columns=("price", given.spec.name),
        rows=told,
        notes=(
            "median (lowest to highest) of the newest sight of each offer that names exactly this variant",
            f"stale: older than {prices.STALE_DAYS} days; every offer: gpuwise prices {given.spec.id}",
        ),
    )
    return Section(id="price", title="Price", tables=(table,))
