"""What GPUs cost: dated offers to rent or buy one, each with the source that states it.

Facts shipped with gpuwise, launch prices from the catalog, the user's own files, and what
`gpuwise prices update` fetched. Only that (`prices.fetch`, loaded when called) touches the network.
"""

from __future__ import annotations

from gpuwise.facts.prices.query import (
    Change,
    Limit,
    Line,
    Month,
    Order,
    Spread,
    age_days,
    changes,
    collect,
    current,
    history,
    is_quote,
    is_stale,
    newest,
    offers,
    ordered,
    select,
    sources,
    spread,
    summary,
)
from gpuwise.facts.prices.read import PriceList, Skipped, Wanted, read, wanted
from gpuwise.model.offer import STALE_DAYS

__all__ = [
    "STALE_DAYS",
    "Change",
    "Limit",
    "Line",
    "Month",
    "Order",
    "PriceList",
    "Skipped",
    "Spread",
    "Wanted",
    "age_days",
    "changes",
    "collect",
    "current",
    "history",
    "is_quote",
    "is_stale",
    "newest",
    "offers",
    "ordered",
    "read",
    "select",
    "sources",
    "spread",
    "summary",
    "wanted",
]
