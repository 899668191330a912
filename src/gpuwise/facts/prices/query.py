"""Pick offers: by GPU, kind, provider, count, region, price and age, and the newest of each.

Two offers are the same offer at two times when provider, instance, GPU, count, kind and region agree.
`today` is an argument everywhere: age is a fact of the caller's clock, not of the data.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from typing import Literal

from gpuwise.errors import InputError
from gpuwise.facts.prices.names import Wanted, chip
from gpuwise.facts.prices.read import day
from gpuwise.model.offer import Offer

STALE_DAYS = 180
"""An older price is marked stale: one AWS instance lost a third of its price between two looks."""

Order = Literal["price", "date", "provider"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The most that one GPU may cost in USD: per hour (rent) or once (purchase)."""

    amount: float
    per_hour: bool

    def allows(self, offer: Offer) -> bool:
        return offer.per_hour == self.per_hour and offer.per_gpu <= self.amount


def per_gpu_hour(offer: Offer) -> float | None:
    """Rent of one GPU for an hour, in the offer's currency; None for a purchase."""
    return offer.per_gpu if offer.per_hour else None


def age_days(offer: Offer, today: date) -> int | None:
    """Days since the price was seen; None where the source does not date it."""
    return (today - day(offer.seen_on)).days if offer.seen_on else None


def is_stale(offer: Offer, today: date) -> bool:
    """Whether the price is older than 180 days; one without a date may be of any age."""
    age = age_days(offer, today)
    return age is None or age > STALE_DAYS


def is_quote(offer: Offer) -> bool:
    """Whether somebody asked this price; an article's illustrative range is none."""
    return offer.source.kind != "article"


def select(
    offers: Sequence[Offer],
    *,
    today: date,
    wanted: Wanted | None = None,
    kinds: Collection[str] = (),
    providers: Collection[str] = (),
    count: float | None = None,
    region: str | None = None,
    limit: Limit | None = None,
    newer_than: int | None = None,
) -> tuple[Offer, ...]:
    """The offers that meet every condition given; an undated one is never newer than anything.

    Raises InputError for a provider of which no offer is known.
    """
    known = {offer.provider.casefold() for offer in offers}
    names = {_provider(name, known) for name in providers}
    place = (region or "").casefold()
    return tuple(
        offer
        for offer in offers
        if (wanted is None or wanted.matches(offer))
        and (not kinds or offer.kind in kinds)
        and (not names or offer.provider.casefold() in names)
        and (count is None or offer.count == count)
        and place in offer.region.casefold()
        and (limit is None or limit.allows(offer))
        and (newer_than is None or _younger(offer, newer_than, today))
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


def ordered(offers: Sequence[Offer], by: Order = "price") -> tuple[Offer, ...]:
    """Sorted by price of one GPU (rent, then purchase, then illustrative), newest date, or provider."""
    if by == "date":
        return tuple(sorted(ordered(offers), key=lambda offer: offer.seen_on, reverse=True))
    if by == "provider":
        return tuple(sorted(ordered(offers), key=lambda offer: offer.provider.casefold()))
    return tuple(sorted(offers, key=lambda offer: (not is_quote(offer), not offer.per_hour, offer.per_gpu)))


def _younger(offer: Offer, days: int, today: date) -> bool:
    age = age_days(offer, today)
    return age is not None and age <= days


def _provider(name: str, known: Collection[str]) -> str:
    word = name.strip().casefold()
    if word in known:
        return word
    near = get_close_matches(word, known, n=3)
    guess = f"; did you mean {' or '.join(near)}?" if near else ""
    listed = f"known: {', '.join(sorted(known))}"
    raise InputError(f"no offer of a provider {name!r} is known{guess}", hint=listed)


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


def spread(offers: Sequence[Offer], kind: str) -> Spread | None:
    """Lowest, median and highest price of one GPU among offers of a kind; None without any."""
    found = sorted(offer.per_gpu for offer in offers if offer.kind == kind and is_quote(offer))
    if not found:
        return None
    return Spread(lowest=found[0], median=_median(found), highest=found[-1], offers=len(found))


def summary(offers: Sequence[Offer]) -> tuple[Line, ...]:
    """One line a GPU, sorted by name; a family of unknown variant has a line of its own."""
    groups: dict[tuple[str, ...], list[Offer]] = defaultdict(list)
    for offer in newest([offer for offer in offers if is_quote(offer)]):
        # A catalog entry goes by many sellers' names, a card outside the catalog only by its own.
        groups[offer.gpu_ids or ("", offer.gpu.casefold())].append(offer)
    return tuple(sorted((_line(group) for group in groups.values()), key=lambda line: line.gpu.casefold()))


def changes(offers: Sequence[Offer]) -> tuple[Change, ...]:
    """Dated offers whose first and last sight differ in price, the steepest fall first."""
    sights: dict[object, list[Offer]] = defaultdict(list)
    for offer in offers:
        if offer.seen_on and is_quote(offer):
            sights[series(offer)].append(offer)
    found = []
    for same in sights.values():
        dated = sorted(same, key=lambda offer: offer.seen_on)
        change = Change(first=dated[0], last=dated[-1])
        # A cent of rounding between two sources is no change.
        if change.first.seen_on < change.last.seen_on and abs(change.share) > 0.01:
            found.append(change)
    return tuple(sorted(found, key=lambda change: change.share))


def _line(offers: Sequence[Offer]) -> Line:
    first = offers[0]
    rented = [offer for offer in offers if offer.per_hour]
    return Line(
        gpu=first.gpu_ids[0] if len(first.gpu_ids) == 1 else first.gpu,
        gpu_ids=first.gpu_ids,
        on_demand=spread(offers, "on-demand"),
        spot=spread(offers, "spot"),
        new=spread(offers, "new"),
        offers=len(offers),
        # A launch price is years old by nature: it says nothing of how fresh the rents are.
        newest=max(offer.seen_on for offer in rented or offers),
    )


def _median(ascending: Sequence[float]) -> float:
    # The stdlib's statistics takes longer to load than all prices.
    middle = len(ascending) // 2
    if len(ascending) % 2:
        return ascending[middle]
    return (ascending[middle - 1] + ascending[middle]) / 2
