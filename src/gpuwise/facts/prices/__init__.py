"""What GPUs cost: dated offers to rent or buy one, each with the source that states it.

Facts shipped with gpuwise, launch prices from the catalog, the user's own files, and what
`gpuwise prices update` fetched. Only that (`prices.fetch`, loaded when called) touches the network.
"""

from __future__ import annotations

from gpuwise.facts.prices.load import PriceList, collect, offers, sources
from gpuwise.facts.prices.names import Wanted, wanted
from gpuwise.facts.prices.query import (
    STALE_DAYS,
    Change,
    Limit,
    Line,
    Spread,
    age_days,
    changes,
    is_quote,
    is_stale,
    newest,
    ordered,
    per_gpu_hour,
    select,
    spread,
    summary,
)
from gpuwise.facts.prices.read import Skipped, read

__all__ = [
    "STALE_DAYS",
    "Change",
    "Limit",
    "Line",
    "PriceList",
    "Skipped",
    "Spread",
    "Wanted",
    "age_days",
    "changes",
    "collect",
    "is_quote",
    "is_stale",
    "newest",
    "offers",
    "ordered",
    "per_gpu_hour",
    "read",
    "select",
    "sources",
    "spread",
    "summary",
    "wanted",
]
