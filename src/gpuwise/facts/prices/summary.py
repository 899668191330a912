"""Many offers in few numbers: the span of each kind, and how prices moved between two sights.

Medians are over the newest sight of each offer; illustrative ranges of articles count nowhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gpuwise.facts.prices.query import is_quote, newest, series
from gpuwise.model.offer import Offer


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
