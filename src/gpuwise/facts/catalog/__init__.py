"""What is known of each GPU, every value with its source and the date on which it was read.

The facts are data (`data/*.csv`), never code; an unknown GPU is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuwise.facts.catalog.load import all_gpus, fields, get, read_sources, rows, sizes_outside, sources
from gpuwise.facts.catalog.query import (
    Match,
    Resolved,
    exact,
    find,
    matching,
    name_key,
    ordered,
    resolve,
    resolve_device,
    select,
    sortable,
)

if TYPE_CHECKING:
    from gpuwise.facts.catalog.derived import Derived, chips, derive, rates
    from gpuwise.facts.catalog.mention import Mention, mentions

# What texts and the audit alone need is loaded when it is named first.
_LATER = {
    **dict.fromkeys(("Derived", "chips", "derive", "rates"), "derived"),
    **dict.fromkeys(("Mention", "mentions"), "mention"),
}

__all__ = [
    "Derived",
    "Match",
    "Mention",
    "Resolved",
    "all_gpus",
    "chips",
    "derive",
    "exact",
    "fields",
    "find",
    "get",
    "matching",
    "mentions",
    "name_key",
    "ordered",
    "rates",
    "read_sources",
    "resolve",
    "resolve_device",
    "rows",
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
