"""What is known of each GPU, every value with its source and the date on which it was read.

The facts are data (`data/*.csv`), never code; an unknown GPU is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuwise.facts.catalog.derive import Derived, FullDie, Rate, chips, derive, full_die, rates
from gpuwise.facts.catalog.load import all_gpus, fields, get, sizes_outside, sources
from gpuwise.facts.catalog.query import Resolved, exact, find, resolve, resolve_device

if TYPE_CHECKING:
    from gpuwise.facts.catalog.filters import Match, matching, ordered, select, sortable
    from gpuwise.facts.catalog.mention import Mention, mentions

# What lists and texts alone need is loaded when it is named first.
_LATER = {
    **dict.fromkeys(("Match", "matching", "ordered", "select", "sortable"), "filters"),
    **dict.fromkeys(("Mention", "mentions"), "mention"),
}

__all__ = [
    "Derived",
    "FullDie",
    "Match",
    "Mention",
    "Rate",
    "Resolved",
    "all_gpus",
    "chips",
    "derive",
    "exact",
    "fields",
    "find",
    "full_die",
    "get",
    "matching",
    "mentions",
    "ordered",
    "rates",
    "resolve",
    "resolve_device",
    "select",
    "sizes_outside",
    "sortable",
    "sources",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
