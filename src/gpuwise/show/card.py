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
from gpuwise.show.choice import uses as use_table
from gpuwise.show.gpus import gaps, label, nearest, ranking, shown, sourced
from gpuwise.show.page import Page, References, Section
from gpuwise.show.prices import EXACTLY, exact, hourly, million, offered, rent
from gpuwise.show.records import COUNTS, DEEP, FORECAST, KINDS, SCALED, listing, of_kind
from gpuwise.show.results import per_joule, spanned
from gpuwise.show.scaling import shown as curves_shown
from gpuwise.show.table import Table
from gpuwise.stats.records import curves

if TYPE_CHECKING:  # it needs numpy, which a page does not
    from gpuwise.judge.choose.uses import Use

LISTED = 40
_IDENTITY = ("architecture", "segment", "form", "launch", "memory_bytes", "memory_bytes_per_s", "power_w")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a card's page is made of; nothing is read from disk or clock after this."""

    spec: GpuSpec
    speeds: tuple[Record, ...]
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
    facts = [spec.facts[name] for name in _IDENTITY if name in spec.facts]
    yield "; ".join(f"{label(fact.field)} {shown(fact)} {cited.mark(fact.source)}" for fact in facts) + "."
    found = [(kind, of_kind(kind, spec.id, given.forecasts)) for kind in KINDS]
    fits = [kind.title for kind, p in found if p is not None and p.throughput is not None]
    not_ = [kind.title for kind, p in found if p is not None and p.refusal and p.memory_bytes is not None]
    if fits and not_:
        every = len(fits) + len(not_)
        yield f"By forecast {len(fits)} of {every} kinds of work fit its memory; not: {'; '.join(not_)}."
    elif fits:
        yield f"By forecast all {len(fits)} kinds of work below fit its memory."
    # Places are among those that state the quantity: a gap in a data sheet is no low place.
    ranks = [f"{title} {rank} of {of}" for title, rank, of, _ in ranking(spec)]
    if ranks:
        yield f"Among the GPUs of the catalog: {', '.join(ranks)}."
    on_demand = rent(exact(given.offers, spec.id), "on-demand", given.today, cited)
    if on_demand != "-":
        yield f"Rent of one for an hour, on demand: {on_demand}."


def for_whom(given: Card) -> Section:
    """The presets of `choose`: whether it suits, and its place by speed and by cost."""
    if not given.uses:
        return Section(id="for-whom", title="For whom it is")
    table = use_table(given.spec, given.uses)
    cited = (
        f"speeds are forecasts with 80 % intervals {given.cited.mark(FORECAST)} unless their basis is better"
    )
    return Section(
        id="for-whom", title="For whom it is", tables=(replace(table, title="", notes=(*table.notes, cited)),)
    )


def specification(given: Card) -> Section:
    """Every row of the specification chart with its source."""
    table = Table(
        columns=("field", given.spec.name, "source", "note"),
        rows=tuple(
            (name, text, given.cited.mark(of.source), of.note) for name, text, of in sourced(given.spec)
        ),
        notes=gaps(given.spec),
    )
    return Section(
        id="specification",
        title="Specification",
        text=("Peaks are dense unless they say sparse.",),
        tables=(table.without_empty_columns(),),
    )


def uses(given: Card) -> Section:
    """Every kind of work: forecast speed, what bounds it, memory, energy and rent of a million items."""
    per_hour, rows = hourly(given.offers, given.spec.id), []
    for kind in KINDS:
        p = of_kind(kind, given.spec.id, given.forecasts)
        # Refused without a memory: no trace is shipped, which says nothing of the card.
        if p is None or (p.throughput is None and p.memory_bytes is None):
            continue
        memory = gibibytes(p.memory_bytes.value) if p.memory_bytes else ""
        if p.throughput is None:
            rows.append((kind.title, kind.named, str(p.batch), "does not fit", memory, "", "", ""))
            continue
        cost = million(p.throughput.value, per_hour) if per_hour and kind in DEEP else ""
        joule = per_joule(p.items_per_joule, p.item) if p.items_per_joule else ""
        speed = spanned(p.throughput, p.item)
        rows.append((kind.title, kind.named, str(p.batch or ""), speed, memory, p.bound or "", joule, cost))
    columns = (
        "kind of work", "its example", "batch", "forecast", "memory", "bound by", "efficiency",
        "rent of a million",
    )  # fmt: skip
    table = Table(
        columns=columns,
        rows=tuple(rows),
        numeric=frozenset({"batch", "forecast", "memory", "efficiency", "rent of a million"}),
        notes=(
            f"forecasts, not measurements, with 80 % intervals {given.cited.mark(FORECAST)}; rent by the "
            "median on-demand offer",
            "each row can be measured on the card: gpuwise bench WORKLOAD --mode MODE --precision PRECISION",
        ),
    ) if rows else None  # fmt: skip
    return Section(
        id="uses",
        title="What it is good for",
        text=("What one card reaches at its best batch, and what bounds most of a step.",) * bool(rows),
        tables=(table.without_empty_columns(),) if table else (),
    )


def several(given: Card) -> Section:
    """Throughput at 1 to 8 GPUs: measured, published and forecast, apart."""
    known = curves(given.speeds, most=COUNTS[-1])
    scaled = [of_kind(kind, given.spec.id, given.forecasts, n) for kind in SCALED for n in COUNTS]
    # Forecasts carry no source of their own: the page cites the predictor.
    forecast = curves(p for p in scaled if p is not None)
    cited = [replace(c, records=tuple(replace(r, source=FORECAST) for r in c.records)) for c in forecast]
    figures, tables = curves_shown((*known, *cited), given.cited)
    return Section(
        id="several",
        title="On 1 to 8 GPUs",
        text=("GPUs of one machine, each with the whole batch; dashed is n times one.",) * bool(figures),
        figures=figures,
        tables=tables,
    )


def speeds(given: Card) -> Section:
    """Everything measured and published that passes the checks."""
    title = "Measured and published speeds"
    if not given.speeds:
        text = "No speed of it was measured here, or published by a source that passes the checks."
        return Section(id="speeds", title=title, text=(text,))
    return Section(id="speeds", title=title, tables=(listing(given.speeds, given.cited, most=LISTED),))


def price(given: Card) -> Section:
    """Dated offers of exactly this variant."""
    rows = offered(given.offers, [given.spec.id], given.today, given.cited)
    if not rows:
        return Section(id="price", title="Price", text=("No dated offer of exactly this variant is known.",))
    table = Table(
        title=f"Offers as of {given.today.isoformat()}",
        columns=("price", given.spec.name),
        rows=tuple(rows),
        notes=(
            EXACTLY,
            f"stale: older than {prices.STALE_DAYS} days; every offer: gpuwise prices {given.spec.id}",
        ),
    )
    return Section(id="price", title="Price", tables=(table,))


def standing(spec: GpuSpec) -> Section:
    """The places in the catalog, and the cards that are closest in 16-bit peak and memory."""
    ranks = ranking(spec)
    table = Table(
        columns=("quantity", "place", "of"),
        rows=tuple((title, str(rank), str(of)) for title, rank, of, _ in ranks),
        numeric=frozenset({"place", "of"}),
        notes=("among the GPUs of the catalog that state it, 1 has the most",),
    )
    near = nearest(spec) if ranks else ()
    return Section(
        id="standing",
        title="Where it stands",
        tables=(table,) if ranks else (),
        code="\n".join(f"gpuwise compare {spec.id} {other.id} --article -o article.html" for other in near),
    )
