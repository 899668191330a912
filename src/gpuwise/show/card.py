"""One GPU on one page: every specification with its source, what it is good for, speeds, price, verdict."""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from gpuwise.facts.prices import Month
from gpuwise.model.gpu import Fact, GpuSpec, Offer, Peak
from gpuwise.model.question import HOW
from gpuwise.model.result import Record
from gpuwise.model.units import gibibytes, whole
from gpuwise.show.choice import uses as use_table
from gpuwise.show.gpus import gaps, nearest, peak_value, ranking, shown, sourced
from gpuwise.show.page import Page, References, Section, said, section
from gpuwise.show.prices import exact, history, hourly, million, offered, rent
from gpuwise.show.records import COUNTS, DEEP, FORECAST, KINDS, SCALED, listing, of_kind
from gpuwise.show.roofline import roofline, stated_roofs
from gpuwise.show.scaling import over_batches
from gpuwise.show.scaling import shown as curves_shown
from gpuwise.show.table import Table, per_joule, throughput
from gpuwise.stats.scaling import curves

if TYPE_CHECKING:  # it needs numpy, which a page does not
    from gpuwise.judge.choose.fit import Use

LISTED = 40
# Field -> how a sentence about a card goes on with it.
_STATED = {
    "memory_bytes": "", "memory_type": "of", "memory_bytes_per_s": "at", "power_w": "and a board power of",
}  # fmt: skip
# A decimal's last zeros, which align the digits of a table and which a sentence does without.
_ZEROS = re.compile(r"(?:(\.\d*[1-9])|\.)0+\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a card's page is made of; nothing is read from disk or clock after this."""

    spec: GpuSpec
    speeds: tuple[Record, ...]  # Measured and published, of this GPU
    forecasts: tuple[Record, ...]  # Of every kind of work on one, and of those that scale on several
    offers: tuple[Offer, ...]
    by_batch: tuple[Record, ...] = ()  # Forecasts of some kinds of work on one, at several batches
    months: tuple[Month, ...] = ()  # Rents of exactly this GPU by month
    uses: tuple[Use, ...] = ()  # How it does in the presets of `choose`, among all GPUs
    today: date
    cited: References


def card(given: Card) -> Page:
    """The page; sections that have nothing to say are left out."""
    spec, cited, answer = given.spec, given.cited, verdict(given)  # first, as its sources are read first
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
        section("card", "for-whom", tables=suited),
        uses(given),
        roofs(given),
        by_batch(given),
        several(given),
        section("card", "speeds", text=() if known else (unknown,), tables=known),
        price(given),
        standing(spec),
        section("card", "specification", tables=(Table.of(every, numeric=frozenset(), notes=gaps(spec)),)),
    )
    return Page(
        title=spec.name, subtitle=made_from_facts(given.today), summary=answer, sections=sections,
        sources=cited.sources, made_on=given.today.isoformat(),
    )  # fmt: skip


def made_from_facts(today: date) -> str:
    """The subtitle of a page that was made from the catalog."""
    return f"Made by gpuwise from cited facts on {today.isoformat()}"


def introduction(spec: GpuSpec, cited: References) -> tuple[str, ...]:
    """What a card is, in two or three sentences that each end with their sources."""

    def written(stated: Sequence[Fact | Peak | None], text: str) -> str:
        return f"{_ZEROS.sub(lambda m: m[1] or '', text)} {cited.mark(*(f.source for f in stated if f))}"

    known = [(words, fact) for name, words in _STATED.items() if (fact := spec.facts.get(name))]
    peak, link, launch = spec.peak("fp16"), spec.facts.get("link_bytes_per_s"), spec.facts.get("launch")
    year, *month = str(launch.value).split("-") if launch else ("",)
    return said(
        "article", "card", spec=spec, segment=spec.text("segment") or "",
        architecture=(spec.text("architecture") or "").partition(" (")[0],
        launch=written([launch], f"{month_name[int(month[0])]} {year}" if month else year) if launch else "",
        has=written([f for _, f in known], " ".join(f"{w} {shown(f)}".strip() for w, f in known)),
        peak=written([peak], f"{peak_value(peak)} dense") if peak else "",
        link=written([link], shown(link)) if peak and link and link.value else "",
    )  # fmt: skip


def verdict(given: Card) -> tuple[str, ...]:
    """What it is, what fits, what it costs: each line computed from the sections below."""
    spec, cited = given.spec, given.cited
    found = [(kind, of_kind(kind, spec.id, given.forecasts)) for kind in KINDS]
    return introduction(spec, cited) + said(
        "article",
        "verdict",
        fits=[kind.title for kind, p in found if p is not None and p.throughput is not None],
        not_=[kind.title for kind, p in found if p is not None and p.refusal and p.memory_bytes is not None],
        rent=rent(exact(given.offers, spec.id), "on-demand", given.today, cited),
    )


def uses(given: Card) -> Section:
    """Every kind of work: forecast speed, what bounds it, memory, energy and rent of a million items."""
    per_hour, rows = hourly(given.offers, given.spec.id, given.today), []
    for kind in KINDS:
        p = of_kind(kind, given.spec.id, given.forecasts)
        # Refused without a memory: no trace is shipped, which says nothing of the card.
        if p is None or (p.throughput is None and p.memory_bytes is None):
            continue
        priced = p.throughput is not None and per_hour and kind in DEEP
        cells = {
            "kind of work": kind.title,
            "batch": whole(p.batch) if p.batch else "",
            "forecast": throughput(p) or "does not fit",
            "memory": gibibytes(p.memory_bytes.value) if p.memory_bytes else "",
            "bound by": p.bound or "",
            "efficiency": per_joule(p.items_per_joule, p.item) if p.items_per_joule else "",
            "rent of a million items": million(p.throughput.value, per_hour) if priced else "",  # type: ignore[union-attr, arg-type]
            "its example": kind.named,
        }
        rows.append(cells)
    if not rows:
        return section("card", "uses")  # and cites nothing
    notes = (
        f"forecasts, not measurements, with 80 % intervals {given.cited.mark(FORECAST)}; rent by the "
        "median on-demand offer",
        "each row can be measured on the card: gpuwise bench WORKLOAD --mode MODE --precision PRECISION",
    )
    return section("card", "uses", tables=(Table.of(rows, notes=notes),))


def roofs(given: Card) -> Section:
    """Speeds of one GPU under the peaks of the data sheet; forecasts where a work has no other speed."""
    known = [r for r in given.speeds if r.gpus == 1 and r.question.size == "full"]
    done = {r.question.label(*HOW) for r in known}
    more = [r for r in given.forecasts if r.gpus == 1 and r.question.label(*HOW) not in done]
    wanted = {str(r.question.precision) for r in (*known, *more)}
    found = roofline((*known, *more), stated_roofs(given.spec, sorted(wanted)), given.spec.name)
    return section("card", "roofline", figures=(found,) if found else ())


def by_batch(given: Card) -> Section:
    """A chart for each work of which several batches are known."""
    drawn = {(r.question.workload, r.question.mode) for r in given.by_batch}
    alike = [r for r in given.speeds if (r.question.workload, r.question.mode) in drawn and r.raw]
    return section("card", "batches", figures=tuple(over_batches((*alike, *given.by_batch))), paired=True)


def several(given: Card) -> Section:
    """Throughput at 1 to 8 GPUs: measured, published and forecast, apart."""
    known = curves(given.speeds, most=COUNTS[-1])
    scaled = [of_kind(kind, given.spec.id, given.forecasts, n) for kind in SCALED for n in COUNTS]
    # Forecasts carry no source of their own: the page cites the predictor.
    forecast = curves(replace(p, source=FORECAST) for p in scaled if p is not None)
    figures, tables = curves_shown((*known, *forecast), given.cited)
    text = ("GPUs of one machine, each with the best batch that fits.",) * bool(figures)
    return section("card", "several", text=text, figures=figures, tables=tables)


def price(given: Card) -> Section:
    """Dated offers of exactly this variant, and its rents by month."""
    tables = offered(given.offers, [given.spec], given.today, given.cited)
    figures = history(given.months, given.spec.name)
    none = () if tables or figures else ("No dated offer of exactly this variant is known.",)
    return section("card", "price", text=none, figures=figures, tables=tables)


def standing(spec: GpuSpec) -> Section:
    """The places in the catalog, and the cards that are closest in 16-bit peak and memory."""
    # Places are among those that state the quantity: a gap in a data sheet is not a low place.
    ranks = ranking(spec)
    table = Table.of(
        ({"quantity": title, "place": whole(rank), "of": whole(of)} for title, rank, of, _ in ranks),
        notes=("among the GPUs of the catalog that state it, 1 has the most",),
    )
    near = nearest(spec) if ranks else ()
    code = "\n".join(f"gpuwise compare {spec.id} {other.id} --article -o article.html" for other in near)
    return section("card", "standing", tables=(table,), code=code)
