"""Sentences that differ in their numbers only, as one with ranges: `median clock 1545 to 1620 MHz`."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"(?<![\w.,-])-?\d+(?:,\d{3})*(?:\.\d+)?(?!\w|[.,]\d)")
"""Alone, not within a name or a version such as fp16, x4, 2.11.0."""
_NAMES = re.compile(r"\b(?:GPU|rank|process) $")
"""What numbers name: each is told, for a range would name others, too."""


def shape(text: str) -> str:
    """The text without its numbers; texts of one shape can be merged."""
    return _NUMBER.sub("#", text)


def merged(texts: Sequence[str]) -> str:
    """Texts of one shape as one. Raises ValueError where their shapes differ."""
    if len({shape(text) for text in texts}) != 1:
        raise ValueError("texts that differ in more than numbers")
    between = _NUMBER.split(texts[0])
    numbers = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    parts = [between[0]]
    for found, after in zip(numbers, between[1:], strict=True):
        parts += [_one(found, names=bool(_NAMES.search(parts[-1]))), after]
    return "".join(parts)


def _one(numbers: Sequence[str], *, names: bool) -> str:
    """All numbers of one place."""
    ordered = sorted(set(numbers), key=lambda number: float(number.replace(",", "")))
    if names or len(ordered) == 1:
        return ", ".join(ordered)
    return f"{ordered[0]} to {ordered[-1]}"
