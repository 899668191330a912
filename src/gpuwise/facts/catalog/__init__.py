"""What is known of each GPU, every value with its source and the date on which it was read.

The facts are data (`data/*.csv`), never code; an unknown GPU is unknown. The modules are loaded when one of
their names is used first, so that a command that looks up no GPU reads none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuwise.facts.catalog.derived import Derived, chips, derive, rates
    from gpuwise.facts.catalog.load import all_gpus, fields, get, read_sources, rows, sizes_outside, sources
    from gpuwise.facts.catalog.mention import Mention, mentions
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

_HOMES = {
    **dict.fromkeys(("Derived", "chips", "derive", "rates"), "derived"),
    **dict.fromkeys(
        ("all_gpus", "fields", "get", "read_sources", "rows", "sizes_outside", "sources"), "load"
    ),
    **dict.fromkeys(("Mention", "mentions"), "mention"),
}  # All others: query

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
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Kept as an attribute of the module: the catalog is asked in inner loops.
    globals()[name] = found = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'query')}"), name)
    return found
