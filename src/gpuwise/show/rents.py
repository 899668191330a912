"""What one GPU costs by dated offers, and what its work costs by that: for articles and pages.

price of a million items = rent of an hour / (items per second * 3600) * 1e6
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from gpuwise.facts import prices
from gpuwise.model.offer import Offer
from gpuwise.model.units import significant
from gpuwise.show.page import References
from gpuwise.show.prices import usd
from gpuwise.show.results import counted

MILLION = 1e6
KINDS = (("on-demand", "rent on demand, USD per GPU-hour"), ("spot", "rent as spot, USD per GPU-hour"))


def exact(offers: Sequence[Offer], gpu_id: str) -> tuple[Offer, ...]:
    """The newest sight of each offer of exactly this GPU; illustrations of articles are none."""
    mine = [offer for offer in offers if offer.gpu_ids == (gpu_id,) and prices.is_quote(offer)]
    return prices.newest(mine)


def hourly(offers: Sequence[Offer], gpu_id: str) -> float | None:
    """Median on-demand rent of one GPU for an hour, in USD."""
    found = prices.spread(exact(offers, gpu_id), "on-demand")
    return None if found is None else found.median


def told(offers: Sequence[Offer], kind: str, today: date, cited: References) -> str:
    """`0.44 (0.21 to 0.79), 11 offers, newest 2026-10-20 [3] [4]`; a dash without an offer."""
    mine = [offer for offer in offers if offer.kind == kind]
    found = prices.spread(mine, kind)
    if found is None:
        return "-"
    latest = max(mine, key=lambda offer: offer.seen_on)
    stale = ", stale" if prices.is_stale(latest, today) else ""
    seen = f"newest {latest.seen_on}{stale}" if latest.seen_on else "undated"
    marks = cited.mark(*(offer.source for offer in mine))
    span = f"{usd(found.median)} ({usd(found.lowest)} to {usd(found.highest)})"
    return f"{span}, {counted(found.offers, 'offer')}, {seen} {marks}"


def bought(offers: Sequence[Offer], cited: References) -> str:
    """`2,250 USD at launch, 2021-04 [2]` and other purchases; a dash without one."""
    mine = [offer for offer in offers if not offer.per_hour]
    parts = [
        f"{offer.amount:,.0f} USD {'at launch' if 'launch price' in offer.note else offer.kind}"
        f"{', ' + offer.seen_on if offer.seen_on else ''} {cited.mark(offer.source)}"
        for offer in sorted(mine, key=lambda offer: offer.seen_on)
    ]
    return "; ".join(dict.fromkeys(parts)) or "-"


def million(items_per_s: float, per_hour: float) -> float:
    """USD of a million items."""
    return per_hour / (items_per_s * 3600) * MILLION


def dollars(amount: float) -> str:
    """`0.125 USD`."""
    return f"{significant(amount)} USD"
