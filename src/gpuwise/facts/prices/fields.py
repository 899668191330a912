"""Read the fields of a price row as people write them: money, counts, dates.

Each function raises ValueError with the reason, in words for the person who wrote the row.
A number is read only where it has one meaning: `2,99` is 2.99, but `1,234` could be two numbers.
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import NamedTuple

_SYMBOLS = {"$": "USD", "us$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR"}
_MONEY = re.compile(
    r"(?P<before>us\$|[$€£¥₹]|[a-z]{3})?\s*(?P<number>[+-]?\s?[\d.,]+)\s*"
    r"(?P<after>us\$|[$€£¥₹]|[a-z]{3})?\s*(?P<per>/.*|per .*)?",
    re.IGNORECASE | re.ASCII,
)
_PER = {
    "hour": ("h", "hr", "hour", "hours", "instancehour"),
    "gpu-hour": ("gpuh", "gpuhr", "gpuhour", "hgpu", "hourgpu"),
    "once": ("once", "total", "purchase", "unit", "piece"),
}
_DOT_DECIMAL = re.compile(r"\d{1,3}(,\d{3})+\.\d+|\d+\.\d*|\.\d+|\d+")
_COMMA_DECIMAL = re.compile(r"\d{1,3}(\.\d{3})+,\d+|\d*,(\d{1,2}|\d{4,})|0,\d+")
_GROUPED = re.compile(r"\d{1,3}([.,])\d{3}(\1\d{3})+")
_COUNT = re.compile(r"\d{1,6}(\.\d{1,6})?(/\d{1,4})?", re.ASCII)
_ISO = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)


class Money(NamedTuple):
    """An amount with what its text says of currency and unit; None where it says nothing."""

    amount: float
    currency: str | None
    per: str | None


def money(text: str) -> Money:
    """`$2.99/h`, `2,99 EUR`, `1,234.50`: amount, ISO currency, hour / gpu-hour / once."""
    match = _MONEY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"unreadable amount {text!r}")
    named = {_currency(match[side]) for side in ("before", "after") if match[side]}
    if len(named) > 1:
        raise ValueError(f"two currencies in {text!r}")
    amount = number(match["number"])
    return Money(amount, named.pop() if named else None, unit(match["per"]) if match["per"] else None)


def number(text: str) -> float:
    """A decimal number with point or, where that is certain, comma; thousands may be grouped."""
    plain = text.replace(" ", "")
    sign, digits = (-1, plain[1:]) if plain.startswith("-") else (1, plain.removeprefix("+"))
    if _DOT_DECIMAL.fullmatch(digits):
        value = float(digits.replace(",", ""))
    elif _COMMA_DECIMAL.fullmatch(digits):
        value = float(digits.replace(".", "").replace(",", "."))
    elif _GROUPED.fullmatch(digits):
        value = float(digits.replace(",", "").replace(".", ""))
    elif re.fullmatch(r"\d{1,3},\d{3}", digits):
        plain_dot, grouped = digits.replace(",", "."), digits.replace(",", "")
        raise ValueError(f"{text!r} may be {plain_dot} or {grouped}")
    else:
        raise ValueError(f"unreadable number {text!r}")
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]!r}... is too large")
    return sign * value


def unit(text: str) -> str:
    """What an amount is for: `hour` (the whole offer), `gpu-hour` or `once`."""
    key = re.sub(r"[^a-z]", "", text.casefold()).removeprefix("per")
    for name, written in _PER.items():
        if key in written:
            return name
    raise ValueError(f"unknown unit {text.strip()!r}; known: hour, gpu-hour, once")


def currency(text: str) -> str:
    """An ISO code in capitals."""
    code = _currency(text.strip())
    if not re.fullmatch(r"[A-Z]{3}", code):
        raise ValueError(f"unknown currency {text!r}")
    return code


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


def _currency(text: str) -> str:
    return _SYMBOLS.get(text.casefold(), text.upper())
