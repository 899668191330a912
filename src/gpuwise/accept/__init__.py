"""Acceptance test: are these cards as good as they should be, as their neighbours, as their fleet?

`condition` and `speed` give reasons, `judge` the verdict on a host, `reference` what a card is held
against, `bundle` the file for a vendor, `collect` cards from files, `fleet` the verdict on many hosts.
"""

from __future__ import annotations

from gpuwise.accept.card import Acceptance, Card, Judged, Lookup, Reason, Reference
from gpuwise.accept.judge import judge
from gpuwise.accept.reference import known, lookup

__all__ = [
    "Acceptance",
    "Card",
    "Judged",
    "Lookup",
    "Reason",
    "Reference",
    "judge",
    "known",
    "lookup",
]
