"""The catalog of GPUs, every value with its source and the date on which it was read.

The facts are data (`data/*.csv`), never code; an unknown GPU is unknown. The modules are loaded when one of
their names is used first, so that a command that looks up no GPU reads none of them.
"""

# ruff: noqa: F403
from __future__ import annotations

from typing import TYPE_CHECKING

from gpuwise.errors import on_first_use

if TYPE_CHECKING:
    from gpuwise.facts.catalog.derived import *
    from gpuwise.facts.catalog.load import *
    from gpuwise.facts.catalog.mention import *
    from gpuwise.facts.catalog.query import *

_HOMES = {
    "derived": ("Derived", "chips", "confirmed", "derive", "rates"),
    "load": (
        "all_gpus", "decoded", "fields", "find", "get", "name_key", "read_sources", "rows", "sizes_outside",
        "sources", "words_of",
    ),
    "mention": ("Mention", "mentions"),
    "query": (
        "Match", "Resolved", "counted", "exact", "is_name", "matching", "meant", "named_apart", "ordered",
        "resolve", "resolve_device", "select", "sortable",
    ),
}  # fmt: skip

__getattr__ = on_first_use(__name__, _HOMES)
