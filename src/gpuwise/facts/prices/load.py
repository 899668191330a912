"""Every offer known: shipped facts, launch prices of the catalog, fetched prices, the user's files.

`data/offers.csv` is read once; CSV and the stdlib only, so that a listing answers at once.
A shipped row dated after `today` (a wrong clock) is left out and named, like a user's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import cast

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import tables
from gpuwise.facts.prices.read import Reading, Skipped, day, read
from gpuwise.model.gpu import Source
from gpuwise.model.offer import Offer, OfferKind

DATA = Path(__file__).with_name("data")
FETCHED = "prices.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    """Offers and what was left out of them."""

    offers: tuple[Offer, ...]
    skipped: tuple[Skipped, ...] = ()
    ignored: tuple[str, ...] = ()
    """Columns of the user's files that mean nothing here."""


def offers(user: Sequence[Path] = (), *, today: date | None = None) -> tuple[Offer, ...]:
    """Every offer known on `today`, by default the day it is; `user` are price files of one's own.

    Raises InputError for a file that is no table of prices.
    """
    return collect(user, today=today or date.today()).offers


def collect(
    user: Sequence[Path] = (), *, today: date, rates: Mapping[str, float] = MappingProxyType({})
) -> PriceList:
    """Every offer known on `today`, with the rows that were skipped."""
    readings = [_fetched(today), *(read(path, today=today, rates=rates) for path in user)]
    fixed = (*shipped(), *launch_prices())
    late = tuple(offer for offer in fixed if offer.seen_on and day(offer.seen_on) > today)
    known = tuple(offer for offer in fixed if offer not in late) if late else fixed
    # A wrong clock, not a wrong price: they are left out, and named.
    unborn = tuple(
        Skipped(
            file="shipped prices",
            line=0,
            reason=f"{offer.provider} {offer.gpu} dated {offer.seen_on}, after today ({today.isoformat()})",
        )
        for offer in late
    )
    return PriceList(
        offers=known + tuple(offer for reading in readings for offer in reading.offers),
        skipped=unborn + tuple(skip for reading in readings for skip in reading.skipped),
        ignored=tuple(column for reading in readings for column in reading.ignored),
    )


@cache
def sources() -> Mapping[str, Source]:
    """Every source of a shipped offer, by id."""
    return tables.read_sources(DATA / "sources.csv")


@cache
def shipped() -> tuple[Offer, ...]:
    """The offers that gpuwise brings along."""
    return tuple(_offer(row) for row in tables.rows(DATA / "offers.csv"))


@cache
def launch_prices() -> tuple[Offer, ...]:
    """What each GPU of the catalog cost when it came out, as its facts state it."""
    found = []
    for spec in catalog.all_gpus():
        fact, launch = spec.facts.get("launch_price_usd"), spec.text("launch")
        if fact is None or isinstance(fact.value, str):
            continue
        offer = Offer(
            gpu=spec.name,
            gpu_ids=(spec.id,),
            count=1,
            kind="new",
            amount=float(fact.value),
            provider=(spec.vendor or "vendor").lower(),
            seen_on=launch or "",
            source=fact.source,
            locator=fact.locator,
            note="; ".join(text for text in ("launch price", fact.note) if text),
        )
        found.append(offer)
    return tuple(found)


def fetched_path() -> Path:
    """Where `gpuwise prices update` keeps what it fetched."""
    return store.home() / FETCHED


@cache
def gpuhunt_source() -> Source:
    """The source of fetched offers; each carries the day on which it was fetched."""
    return Source(
        id="gpuhunt",
        title="gpuhunt, fetched by gpuwise prices update",
        kind="third-party",
        read_on="",
        url="https://github.com/dstackai/gpuhunt",
        licence="MPL-2.0",
    )


def _fetched(today: date) -> Reading:
    path = fetched_path()
    if not path.is_file():
        return Reading(offers=())
    try:
        reading = read(path, today=today, source=gpuhunt_source(), unknown_gpus=True)
    except InputError as failure:
        raise InputError(str(failure), hint=f"gpuwise prices update, or remove {path}") from failure
    return replace(reading, offers=tuple(_with_variant(offer) for offer in reading.offers))


def _with_variant(offer: Offer) -> Offer:
    """The offer with the variant that the shipped facts state for its instance type.

    gpuhunt says H100 for each form of it; AWS's p5.48xlarge holds the SXM one whoever lists it.
    """
    told = _variants().get((offer.provider.casefold(), offer.instance))
    if len(offer.gpu_ids) < 2 or told is None or told not in offer.gpu_ids:
        return offer
    note = "variant as other sources state it for this instance"
    return replace(offer, gpu_ids=(told,), note="; ".join(text for text in (offer.note, note) if text))


@cache
def _variants() -> Mapping[tuple[str, str], str]:
    """The one variant of each instance type, where the shipped facts name one and no other."""
    found: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for offer in shipped():
        if offer.instance:
            found.setdefault((offer.provider.casefold(), offer.instance), set()).add(offer.gpu_ids)
    single = ((key, next(iter(ids))) for key, ids in found.items() if len(ids) == 1)
    return {key: ids[0] for key, ids in single if len(ids) == 1}


def _offer(row: dict[str, str]) -> Offer:
    return Offer(
        gpu=row["gpu"],
        gpu_ids=tuple(row["gpu_ids"].split(";")) if row["gpu_ids"] else (),
        count=float(row["count"]),
        kind=cast(OfferKind, row["kind"]),
        amount=float(row["amount"]),
        high=float(row["high"]) if row["high"] else None,
        provider=row["provider"],
        instance=row["instance"],
        region=row["region"],
        seen_on=row["seen_on"],
        source=sources()[row["source"]],
        locator=row["locator"],
        note=row["note"],
    )
