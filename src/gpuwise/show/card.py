"""One GPU on one page: every specification with its source, what it is good for, speeds, price, verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from gpuwise.facts import prices
from gpuwise.facts.prices import Month
from gpuwise.model.gpu import GpuSpec, Offer
from gpuwise.model.question import HOW
from gpuwise.model.result import Record
from gpuwise.model.units import gibibytes, whole
from gpuwise.show.choice import uses as use_table
from gpuwise.show.gpus import gaps, label, nearest, ranking, shown, sourced
from gpuwise.show.page import Page, References, Section, said
from gpuwise.show.prices import EXACTLY, exact, history, hourly, million, offered, rent
from gpuwise.show.records import COUNTS, DEEP, FORECAST, KINDS, SCALED, listing, of_kind
from gpuwise.show.results import per_joule, throughput
from gpuwise.show.roofline import roofline, stated_roofs
from gpuwise.show.scaling import over_batches
from gpuwise.show.scaling import shown as curves_shown
from gpuwise.show.table import Table
from gpuwise.stats.scaling import curves

if TYPE_CHECKING:  # it needs numpy, which a page does not
    from gpuwise.judge.choose.fit import Use

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
    by_batch: tuple[Record, ...] = ()
    """Forecasts of some kinds of work on one, at several batches."""
    months: tuple[Month, ...] = ()
    """Rents of exactly this GPU by month."""
    uses: tuple[Use, ...] = ()
    """How it does in the presets of `choose`, among all GPUs."""
    today: date
    cited: References


def card(given: Card) -> Page:
    """The page; sections that have nothing to say are left out."""
    spec, cited = given.spec, given.cited
    suited: tuple[Table, ...] = ()
    if given.uses:
        note = f"speeds are forecasts with 80 % intervals {cited.mark(FORECAST)} unless their basis is better"
        found = use_table(spec, given.uses)
        suited = (replace(found, title="", notes=(*found.notes, note)),)
    every = (
        {"field": name, spec.name: text, "source": cited.mark(of.source), "note": of.note}
        for name, text, of in sourced(spec)
    )
    known = (listing(given.speeds, cited, most=LISTED),) if given.speeds else ()
    unknown = "No speed of it was measured here, or published by a source that passes the checks."
    sections = (
        Section(id="for-whom", title="For whom it is", tables=suited),
        uses(given),
        roofs(given),
        by_batch(given),
        several(given),
        Section(
            id="speeds", title="Measured and published speeds", text=() if known else (unknown,), tables=known
        ),
        price(given),
        standing(spec),
        Section(
            id="specification", title="Specification", text=("Peaks are dense unless they say sparse.",),
            tables=(Table.of(every, numeric=frozenset(), notes=gaps(spec)),),
        ),
    )  # fmt: skip
    return Page(
        title=spec.name,
        subtitle=f"Made by gpuwise from cited facts on {given.today.isoformat()}",
        summary=verdict(given),
        sections=sections,
        sources=cited.sources,
        made_on=given.today.isoformat(),
    )


def verdict(given: Card) -> tuple[str, ...]:
    """What it is, what fits, what it costs: each line computed from the sections below."""
    spec, cited = given.spec, given.cited
    facts = [spec.facts[name] for name in _IDENTITY if name in spec.facts]
    found = [(kind, of_kind(kind, spec.id, given.forecasts)) for kind in KINDS]
    return said(
        "article",
        "verdict",
        identity=[(label(fact.field), f"{shown(fact)} {cited.mark(fact.source)}") for fact in facts],
        fits=[kind.title for kind, p in found if p is not None and p.throughput is not None],
        not_=[kind.title for kind, p in found if p is not None and p.refusal and p.memory_bytes is not None],
        # Places are among those that state the quantity: a gap in a data sheet is not a low place.
        ranks=ranking(spec),
        rent=rent(exact(given.offers, spec.id), "on-demand", given.today, cited),
    )


def uses(given: Card) -> Section:
    """Every kind of work: forecast speed, what bounds it, memory, energy and rent of a million items."""
    per_hour, rows = hourly(given.offers, given.spec.id), []
    for kind in KINDS:
        p = of_kind(kind, given.spec.id, given.forecasts)
        # Refused without a memory: no trace is shipped, which says nothing of the card.
        if p is None or (p.throughput is None and p.memory_bytes is None):
            continue
        priced = p.throughput is not None and per_hour and kind in DEEP
        rows.append({
            "kind of work": kind.title,
            "its example": kind.named,
            "batch": whole(p.batch) if p.batch else "",
            "forecast": throughput(p) or "does not fit",
            "memory": gibibytes(p.memory_bytes.value) if p.memory_bytes else "",
            "bound by": p.bound or "",
            "efficiency": per_joule(p.items_per_joule, p.item) if p.items_per_joule else "",
            "rent of a million": million(p.throughput.value, per_hour) if priced else "",  # type: ignore[union-attr, arg-type]
        })  # fmt: skip
    notes = (
        f"forecasts, not measurements, with 80 % intervals {given.cited.mark(FORECAST)}; rent by the "
        "median on-demand offer",
        "each row can be measured on the card: gpuwise bench WORKLOAD --mode MODE --precision PRECISION",
    )
    return Section(
        id="uses",
        title="What it is good for",
        text=("What one card reaches at its best batch, and what bounds most of a step.",) * bool(rows),
        tables=(Table.of(rows, notes=notes),) if rows else (),
    )


def roofs(given: Card) -> Section:
    """Speeds of one GPU under the peaks of the data sheet; forecasts where a work has no other speed."""
    known = [r for r in given.speeds if r.gpus == 1 and r.question.size == "full"]
    done = {r.question.label(*HOW) for r in known}
    more = [r for r in given.forecasts if r.gpus == 1 and r.question.label(*HOW) not in done]
    wanted = {str(r.question.precision) for r in (*known, *more)}
    found = roofline((*known, *more), stated_roofs(given.spec, sorted(wanted)), given.spec.name)
    text = (
        "Left of the bend the memory is the limit, right of it the matrix units: a point at its roof leaves "
        "nothing to gain. Roofs are the dense peaks and the bandwidth of the data sheet."
    )
    return Section(
        id="roofline", title="Distance to the limits", text=(text,) if found else (),
        figures=(found,) if found else (),
    )  # fmt: skip


def by_batch(given: Card) -> Section:
    """A chart for each work of which several batches are known."""
    drawn = {(r.question.workload, r.question.mode) for r in given.by_batch}
    alike = [r for r in given.speeds if (r.question.workload, r.question.mode) in drawn and r.raw]
    text = "A batch that fills the GPU is faster by the item; one item at a time is sooner done."
    figures = over_batches((*alike, *given.by_batch))
    return Section(
        id="batches", title="Speed against batch", text=(text,) if figures else (), figures=tuple(figures),
        paired=True,
    )  # fmt: skip


def several(given: Card) -> Section:
    """Throughput at 1 to 8 GPUs: measured, published and forecast, apart."""
    known = curves(given.speeds, most=COUNTS[-1])
    scaled = [of_kind(kind, given.spec.id, given.forecasts, n) for kind in SCALED for n in COUNTS]
    # Forecasts carry no source of their own: the page cites the predictor.
    forecast = curves(replace(p, source=FORECAST) for p in scaled if p is not None)
    figures, tables = curves_shown((*known, *forecast), given.cited)
    return Section(
        id="several",
        title="On 1 to 8 GPUs",
        text=("GPUs of one machine, each with the whole batch.",) * bool(figures),
        figures=figures,
        tables=tables,
    )


def price(given: Card) -> Section:
    """Dated offers of exactly this variant, and its rents by month."""
    rows = offered(given.offers, [given.spec.id], given.today, given.cited)
    figures = history(given.months, given.spec.id)
    if not rows and not figures:
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
    return Section(id="price", title="Price", figures=figures, tables=(table,) if rows else ())


def standing(spec: GpuSpec) -> Section:
    """The places in the catalog, and the cards that are closest in 16-bit peak and memory."""
    ranks = ranking(spec)
    table = Table.of(
        ({"quantity": title, "place": whole(rank), "of": whole(of)} for title, rank, of, _ in ranks),
        notes=("among the GPUs of the catalog that state it, 1 has the most",),
    )
    near = nearest(spec) if ranks else ()
    return Section(
        id="standing",
        title="Where it stands",
        tables=(table,) if ranks else (),
        code="\n".join(f"gpuwise compare {spec.id} {other.id} --article -o article.html" for other in near),
    )
