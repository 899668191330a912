"""Every offer known, and how to pick among them: by GPU, kind, provider, number, region, price and age.

Offers are shipped facts, launch prices of the catalog, what `gpuwise prices update` fetched, and the user's
files. CSV and the stdlib only, so that a listing answers at once. `today` is an argument everywhere: an age
is a fact of the caller's clock, not of the data.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, cast

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import tables
from gpuwise.facts.prices.read import PriceList, Skipped, Wanted, chip, day, read
from gpuwise.model.gpu import Source
from gpuwise.model.offer import STALE_DAYS, Offer, OfferKind

DATA = Path(__file__).with_name("data")
FETCHED = "prices.csv"
# A provider's list replaces the one read a month before, whatever the two sources call its rows.
LIST_DAYS = 30
# A cent of rounding between two sources is not a change.
LEAST_CHANGE = 0.01

Order = Literal["price", "date", "provider"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The most that one GPU may cost in USD: per hour (rent) or once (purchase)."""

    amount: float
    per_hour: bool

    def allows(self, offer: Offer) -> bool:
        return offer.per_hour == self.per_hour and offer.per_gpu <= self.amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Prices of one GPU: per hour where rented, once where bought."""

    lowest: float
    median: float
    highest: float
    offers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What is known of one GPU, or of a family whose variant the sellers do not tell."""

    gpu: str
    gpu_ids: tuple[str, ...]
    on_demand: Spread | None
    spot: Spread | None
    new: Spread | None
    street: Spread | None
    """Asking prices of used and new cards together."""
    offers: int
    newest: str
    """ISO date of the latest rent seen, of a purchase where none is rented; empty where undated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The same offer at two times, with different prices."""

    first: Offer
    last: Offer

    @property
    def share(self) -> float:
        """-0.25 where a quarter of the price is gone."""
        return self.last.amount / self.first.amount - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """What one GPU-hour cost at a provider in one month, by one source."""

    month: str
    """ISO, like 2026-10."""
    gpu_ids: tuple[str, ...]
    provider: str
    kind: str
    term: str
    """Of a reservation: 6m, 1y, 3y."""
    region: str
    median: float
    low: float
    high: float
    source: str


def offers(user: Sequence[Path] = (), *, today: date | None = None) -> tuple[Offer, ...]:
    """Every offer known on `today`, by default the day it is; `user` are price files of one's own.

    Raises InputError for a file that is not a table of prices.
    """
    return collect(user, today=today or date.today()).offers


def collect(
    user: Sequence[Path] = (), *, today: date, rates: Mapping[str, float] = MappingProxyType({})
) -> PriceList:
    """Every offer known on `today`, with the rows that were skipped."""
    lists = [_fetched(today), *(read(path, today=today, rates=rates) for path in user)]
    fixed = (*shipped(), *launch_prices())
    # A wrong clock, not a wrong price: what is later than today is left out, and named.
    now = today.isoformat()
    late = [offer for offer in fixed if offer.seen_on > now]
    unborn = [
        Skipped(
            file="shipped prices", line=0,
            reason=f"{o.provider} {o.gpu} dated {o.seen_on}, after today ({now})",
        )
        for o in late
    ]  # fmt: skip
    return PriceList(
        offers=(
            *(fixed if not late else (offer for offer in fixed if offer.seen_on <= now)),
            *(offer for each in lists for offer in each.offers),
        ),
        skipped=(*unborn, *(skip for each in lists for skip in each.skipped)),
        ignored=tuple(column for each in lists for column in each.ignored),
    )


@cache
def sources() -> Mapping[str, Source]:
    """Every source of a shipped offer, by id."""
    return tables.read_sources(DATA / "sources.csv")


@cache
def shipped() -> tuple[Offer, ...]:
    """The offers that gpuwise brings along."""
    known = sources()
    return tuple(
        Offer(
            gpu=row["gpu"], gpu_ids=tuple(row["gpu_ids"].split(";")) if row["gpu_ids"] else (),
            count=float(row["count"]), kind=cast(OfferKind, row["kind"]), amount=float(row["amount"]),
            low=float(row["low"]) if row["low"] else None, high=float(row["high"]) if row["high"] else None,
            provider=row["provider"], instance=row["instance"], region=row["region"], seen_on=row["seen_on"],
            source=known[row["source"]], locator=row["locator"], note=row["note"],
        )
        for row in tables.rows(DATA / "offers.csv")
    )  # fmt: skip


@cache
def launch_prices() -> tuple[Offer, ...]:
    """What each GPU of the catalog cost when it came out, as its facts state it."""
    return tuple(
        Offer(
            gpu=spec.name, gpu_ids=(spec.id,), count=1, kind="new", amount=float(fact.value),
            provider=(spec.vendor or "vendor").lower(), seen_on=spec.text("launch") or "", source=fact.source,
            locator=fact.locator, note="; ".join(text for text in ("launch price", fact.note) if text),
        )
        for spec in catalog.all_gpus()
        if (fact := spec.facts.get("launch_price_usd")) is not None and not isinstance(fact.value, str)
    )  # fmt: skip


@cache
def history() -> tuple[Month, ...]:
    """Rents by month, provider, kind and region, as far back as public sources go."""
    return tuple(
        Month(
            month=row["month"], gpu_ids=tuple(row["gpu_ids"].split(";")), provider=row["provider"],
            kind=row["kind"], term=row["term"], region=row["region"], median=float(row["median"]),
            low=float(row["low"]), high=float(row["high"]), source=row["source"],
        )
        for row in tables.rows(DATA / "history.csv")
    )  # fmt: skip


def fetched_path() -> Path:
    """Where `gpuwise prices update` keeps what it fetched."""
    return store.home() / FETCHED


def _fetched(today: date) -> PriceList:
    path = fetched_path()
    if not path.is_file():
        return PriceList(offers=())
    source = Source(
        id="gpuhunt", title="gpuhunt, fetched by gpuwise prices update", kind="third-party", read_on="",
        url="https://github.com/dstackai/gpuhunt", licence="MPL-2.0",
    )  # fmt: skip
    try:
        found = read(path, today=today, source=source, unknown_gpus=True)
    except InputError as failure:
        raise InputError(
            str(failure), hint=f"remove {path}, or fetch it again", code="fetch-prices"
        ) from failure
    return replace(found, offers=tuple(_with_variant(offer) for offer in found.offers))


def _with_variant(offer: Offer) -> Offer:
    """The offer with the variant that the shipped facts state for its instance type.

    gpuhunt says H100 for each form of it; AWS's p5.48xlarge holds the SXM one whoever lists it.
    """
    stated = _variants().get((offer.provider.casefold(), offer.instance))
    if len(offer.gpu_ids) < 2 or stated is None or stated not in offer.gpu_ids:
        return offer
    note = "variant as other sources state it for this instance"
    return replace(offer, gpu_ids=(stated,), note="; ".join(text for text in (offer.note, note) if text))


@cache
def _variants() -> Mapping[tuple[str, str], str]:
    """The one variant of each instance type, where the shipped facts name one and no other."""
    found: dict[tuple[str, str], set[tuple[str, ...]]] = defaultdict(set)
    for offer in shipped():
        if offer.instance:
            found[offer.provider.casefold(), offer.instance].add(offer.gpu_ids)
    single = ((key, next(iter(ids))) for key, ids in found.items() if len(ids) == 1)
    return {key: ids[0] for key, ids in single if len(ids) == 1}


def age_days(offer: Offer, today: date) -> int | None:
    """Days since the price was seen; None where the source does not date it."""
    return (today - day(offer.seen_on)).days if offer.seen_on else None


def is_stale(offer: Offer, today: date) -> bool:
    """Whether the price is older than `STALE_DAYS`; one without a date may be of any age."""
    age = age_days(offer, today)
    return age is None or age > STALE_DAYS


def is_quote(offer: Offer) -> bool:
    """Whether somebody asked this price; an article's illustrative range is not one."""
    return offer.source.kind != "article"


def select(
    offers: Sequence[Offer], *, today: date, wanted: Wanted | None = None, kinds: Collection[str] = (),
    providers: Collection[str] = (), count: float | None = None, region: str | None = None,
    limit: Limit | None = None, newer_than: int | None = None,
) -> tuple[Offer, ...]:  # fmt: skip
    """The offers that meet every condition given; an undated one is never newer than anything.

    Raises InputError for a provider of which no offer is known.
    """
    known = {offer.provider.casefold() for offer in offers}
    names = {name.strip().casefold() for name in providers}
    for name in sorted(names - known):
        near = get_close_matches(name, known, n=3)
        guess = f"; did you mean {' or '.join(near)}?" if near else ""
        raise InputError(
            f"no offer of a provider {name!r} is known{guess}", hint=f"known: {', '.join(sorted(known))}"
        )
    place = (region or "").casefold()
    oldest = (today - timedelta(days=newer_than)).isoformat() if newer_than else ""
    return tuple(
        offer
        for offer in offers
        if (wanted is None or wanted.matches(offer))
        and (not kinds or offer.kind in kinds)
        and (not names or offer.provider.casefold() in names)
        and (count is None or offer.count == count)
        and place in offer.region.casefold()
        and (limit is None or limit.allows(offer))
        and (newer_than is None or (offer.seen_on and day(offer.seen_on).isoformat() >= oldest))
    )


def series(offer: Offer) -> tuple[str | float, ...]:
    """What stays the same when the same offer is seen again."""
    region = offer.region.casefold()
    # One source says "US west or central" where another names us-east-1: the list price is the same.
    area = "us" if re.match(r"us\b", region) else region
    # An instance type has its hardware; one source tells the variant of its GPU, another does not.
    gpu = chip(offer.gpu) if offer.instance else offer.gpu.casefold()
    return (offer.provider.casefold(), offer.instance, gpu, offer.count, offer.kind, area)


def newest(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """Of each offer only the latest sight, all of them where several share its date.

    A dated sight is later than an undated one.
    """
    # A key costs more than all the rest: one for each offer.
    keys = {id(offer): series(offer) if is_quote(offer) else offer for offer in offers}
    latest: dict[object, str] = {}
    for offer in offers:
        key = keys[id(offer)]
        latest[key] = max(latest.get(key, ""), offer.seen_on)
    return tuple(offer for offer in offers if offer.seen_on == latest[keys[id(offer)]])


def current(offers: Sequence[Offer]) -> tuple[Offer, ...]:
    """The dated quotes of each provider's newest list: of one GPU, number and kind what was seen within
    `LIST_DAYS` of its latest sight, by whatever source and under whatever name of a machine."""
    groups: dict[object, list[Offer]] = defaultdict(list)
    for offer in offers:
        if offer.seen_on and is_quote(offer):
            key = (offer.provider.casefold(), offer.gpu_ids or offer.gpu, offer.count, offer.kind)
            groups[key].append(offer)
    found = []
    for same in groups.values():
        last = day(max(offer.seen_on for offer in same)) - timedelta(days=LIST_DAYS)
        found += [offer for offer in same if day(offer.seen_on) >= last]
    return newest(found)


def ordered(offers: Sequence[Offer], by: Order = "price") -> tuple[Offer, ...]:
    """Sorted by price of one GPU (rent, then purchase, then illustrative), newest date, or provider."""
    if by == "date":
        return tuple(sorted(ordered(offers), key=lambda offer: offer.seen_on, reverse=True))
    if by == "provider":
        return tuple(sorted(ordered(offers), key=lambda offer: offer.provider.casefold()))
    return tuple(sorted(offers, key=lambda offer: (not is_quote(offer), not offer.per_hour, offer.per_gpu)))


def spread(offers: Sequence[Offer], kind: str) -> Spread | None:
    """Lowest, median and highest price of one GPU among offers of a kind; None without any."""
    found = sorted(offer.per_gpu for offer in offers if offer.kind == kind and is_quote(offer))
    if not found:
        return None
    # The stdlib's statistics takes longer to load than all prices.
    middle = len(found) // 2
    median = found[middle] if len(found) % 2 else (found[middle - 1] + found[middle]) / 2
    return Spread(lowest=found[0], median=median, highest=found[-1], offers=len(found))


def summary(offers: Sequence[Offer]) -> tuple[Line, ...]:
    """One line a GPU, sorted by name; a family of unknown variant has a line of its own."""
    groups: dict[tuple[str, ...], list[Offer]] = defaultdict(list)
    for offer in newest([offer for offer in offers if is_quote(offer)]):
        # A catalog entry goes by many sellers' names, a card outside the catalog only by its own.
        groups[offer.gpu_ids or ("", offer.gpu.casefold())].append(offer)
    return tuple(sorted(map(_line, groups.values()), key=lambda line: line.gpu.casefold()))


def _line(offers: Sequence[Offer]) -> Line:
    first = offers[0]
    # A launch price is years old by nature: it says nothing of how fresh the rents are.
    judged = [offer for offer in offers if offer.per_hour] or offers
    return Line(
        gpu=first.gpu_ids[0] if len(first.gpu_ids) == 1 else first.gpu, gpu_ids=first.gpu_ids,
        on_demand=spread(offers, "on-demand"), spot=spread(offers, "spot"), new=spread(offers, "new"),
        street=spread(offers, "street"), offers=len(offers), newest=max(offer.seen_on for offer in judged),
    )  # fmt: skip


def changes(offers: Sequence[Offer]) -> tuple[Change, ...]:
    """Dated offers whose first and last sight differ in price, the steepest fall first."""
    return tuple(sorted(_changes(offers), key=lambda change: change.share))


def _changes(offers: Sequence[Offer]) -> Iterator[Change]:
    sights: dict[object, list[Offer]] = defaultdict(list)
    for offer in offers:
        if offer.seen_on and is_quote(offer):
            sights[series(offer)].append(offer)
    for same in sights.values():
        dated = sorted(same, key=lambda offer: offer.seen_on)
        change = Change(first=dated[0], last=dated[-1])
        if change.first.seen_on < change.last.seen_on and abs(change.share) > LEAST_CHANGE:
            yield change
