"""What is known of each GPU, every value with its source and the date on which it was read.

The facts are data (`data/*.csv`), never code; an unknown GPU is unknown.
"""

from __future__ import annotations

from gpuwise.catalog.chips import FullDie, Rate, chips, full_die, rates
from gpuwise.catalog.derive import Derived, derive
from gpuwise.catalog.filters import Match, matching, ordered, select, sortable
from gpuwise.catalog.load import all_gpus, fields, get, sizes_outside, sources
from gpuwise.catalog.mention import Mention, mentions
from gpuwise.catalog.query import find, resolve_device

__all__ = [
    "Derived",
    "FullDie",
    "Match",
    "Mention",
    "Rate",
    "all_gpus",
    "chips",
    "derive",
    "fields",
    "find",
    "full_die",
    "get",
    "matching",
    "mentions",
    "ordered",
    "rates",
    "resolve_device",
    "select",
    "sizes_outside",
    "sortable",
    "sources",
]
