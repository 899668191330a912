"""Acceptance test: are these cards as good as they should be, as their neighbours, as their fleet?

`question` says which speeds are compared, `reach` and `reference` what a card is held against, `condition`
and `speed` give reasons, `judge` the verdict on a host, `bundle` is the file for a vendor, `collect` finds
cards in files, `fleet` judges many hosts.
"""

from __future__ import annotations

from gpuwise.judge.accept.card import Acceptance, Card, Judged, Lookup, Reason, Reference
from gpuwise.judge.accept.judge import judge
from gpuwise.judge.accept.reach import known
from gpuwise.judge.accept.reference import check_last, lookup

__all__ = [
    "Acceptance",
    "Card",
    "Judged",
    "Lookup",
    "Reason",
    "Reference",
    "check_last",
    "judge",
    "known",
    "lookup",
]
