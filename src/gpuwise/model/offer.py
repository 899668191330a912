"""What a GPU costs somewhere, on a certain day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuwise.model.gpu import Source

OfferKind = Literal["on-demand", "community", "spot", "reserved", "new", "used", "street"]
"""The first four are rent per hour: of a provider's own machines, of a host on a marketplace, interruptible,
and with a commitment. The others are purchases; `street` is asked for new and used cards together."""
RENTS = ("on-demand", "community", "spot", "reserved")
# In 2026 prices of the same machine rose and fell by a tenth within a quarter; an advice wants fresher ones.
STALE_DAYS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One price that was seen: `amount` is for the whole offer, never per GPU."""

    gpu: str  # The accelerator as the seller names it
    gpu_ids: tuple[str, ...]
    """Catalog entries it may be: one where the variant is known, several where the seller names
    only the family, none where the catalog lacks it."""
    count: float  # GPUs in the offer; a fraction where a slice of one is rented
    kind: OfferKind
    amount: float  # Price of the whole offer: per hour for rent, once for a purchase
    low: float | None = None  # Lower end where the source gives a spread around `amount`
    high: float | None = None
    """Upper end of a spread; where `low` is None, of a range whose lower end is `amount`."""
    currency: str = "USD"
    provider: str
    instance: str = ""
    region: str = ""
    seen_on: str  # ISO date on which the price was seen; empty where the source does not say
    source: Source
    locator: str = ""
    note: str = ""

    @property
    def per_hour(self) -> bool:
        return self.kind in RENTS

    @property
    def per_gpu(self) -> float:
        """Amount of one GPU of the offer."""
        return self.amount / self.count
