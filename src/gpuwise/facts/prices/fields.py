"""Read counts and dates of a price row as people write them; `model.units` reads its money.

Each function raises ValueError with the reason, in words for the person who wrote the row.
"""

from __future__ import annotations

import re
from datetime import date

_COUNT = re.compile(r"\d{1,6}(\.\d{1,6})?(/\d{1,4})?", re.ASCII)
_ISO = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)


def count(text: str) -> float:
    """GPUs in an offer: `8`, `0.5` or `1/6` for a slice of one."""
    # The pattern bounds the work: Fraction("1e999999999") would never return.
    readable = _COUNT.fullmatch(text.strip())
    parts = text.strip().split("/") if readable else ["0"]
    divisor = float(parts[1]) if len(parts) > 1 else 1.0
    value = float(parts[0]) / divisor if divisor else 0.0
    if value <= 0:
        raise ValueError(f"unreadable number of GPUs {text[:30]!r}")
    return value


def day(text: str) -> date:
    """The day of an ISO date; `2024-05` and `2024` are their first day."""
    match = _ISO.fullmatch(text.strip())
    try:
        if match is not None:
            return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        pass
    raise ValueError(f"unreadable date {text[:30]!r}; write it like 2026-05-31")
