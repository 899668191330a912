"""Read numbers as people print them: 8,192, 5.120, 16 384 and 1'935, 40/80, 2017.05, May 2017.

A separator before three digits may mean thousands or decimals; the reading that is plausible for the
field decides, thousands first for a comma, decimals first for a point. A space may part two numbers.
"""

from __future__ import annotations

import re

from gpuwise.model.claim import Number

NUMBER = r"\d{1,3}(?:[.,]\d{3})+(?![\d])|\d{1,3}(?:[ '\u2019]\d{3})+(?![\d.,])|\d+(?:[.,]\d+)?"
_GAP = re.compile(r"[ '\u2019]")

_PREFIXES = (
    *(("g", 1e9), ("t", 1e12), ("p", 1e15)),
    *(("giga", 1e9), ("tera", 1e12), ("peta", 1e15)),
)

UNITS: dict[str, dict[str, float]] = {
    "bytes": {
        **{"gb": 2**30, "gib": 2**30, "go": 2**30, "g": 2**30, "mb": 2**20, "mib": 2**20},
        **{"tb": 2**40, "tib": 2**40, "to": 2**40},
    },
    "bytes/s": {
        **{"gb/s": 1e9, "gbps": 1e9, "gb/sec": 1e9, "go/s": 1e9},
        **{"tb/s": 1e12, "tbps": 1e12, "tb/sec": 1e12, "to/s": 1e12},
    },
    "op/s": {
        f"{prefix}{name}": factor
        for prefix, factor in _PREFIXES
        for name in ("flops", "flop/s", "ops", "flop")
    }
    | {"tf": 1e12, "pf": 1e15},
    "hz": {"mhz": 1e6, "ghz": 1e9},
    "w": {"w": 1.0, "watt": 1.0, "watts": 1.0, "kw": 1e3},
    "bit": {"bit": 1, "bits": 1, "-bit": 1, "b": 1},
    "nm": {"nm": 1},
    "usd": {"usd": 1, "$": 1, "dollars": 1},
    "count": {"": 1},
}
"""Factors to the unit of the catalog's fields. Memory sizes are product numbers, counted in GiB."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR_MONTH = re.compile(r"\b(20\d\d)[./-](0?[1-9]|1[0-2])\b")
_MONTH_YEAR = re.compile(
    rf"\b({'|'.join(_MONTHS)})[a-z]*\.?,?\s+(?:\d{{1,2}},?\s+)?(20\d\d)\b", re.IGNORECASE
)
_QUARTER = re.compile(r"\bQ([1-4])[ /-]?(20\d\d)\b", re.IGNORECASE)


def number(text: str, factor: float, low: float, high: float) -> Number | None:
    """`text` (as `NUMBER` matches) times `factor`; None where no reading lies in low..high."""
    for written in dict.fromkeys((_GAP.sub("", text), _GAP.split(text)[-1])):
        for value in _readings(written):
            if low <= value * factor <= high:
                return Number(value=value * factor, digits=digits(written))
    return None


def _readings(text: str) -> tuple[float, ...]:
    plain = text.replace(",", "").replace(".", "")
    separators = re.sub(r"\d", "", text)
    if not separators:
        return (float(text),)
    thousands = re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", text) is not None
    decimal = float(text.replace(",", ".")) if len(separators) == 1 else None
    both = (float(plain) if thousands else None, decimal)
    ordered = both if separators[0] == "," else both[::-1]
    return tuple(value for value in ordered if value is not None)


def digits(text: str) -> int:
    """Significant digits: 0.6 has one, 19.5 three, 2000 one, 1,935 four."""
    plain = re.sub(r"\D", "", text).lstrip("0")
    return max(1, len(plain if re.search(r"[.,]\d{1,2}$", text) else plain.rstrip("0")))


def month(text: str) -> str | None:
    """The first date in `text` as "YYYY-MM"; the middle month of a quarter; None without one."""
    if match := _YEAR_MONTH.search(text):
        return f"{match[1]}-{int(match[2]):02d}"
    if match := _MONTH_YEAR.search(text):
        return f"{match[2]}-{_MONTHS.index(match[1].lower()[:3]) + 1:02d}"
    if match := _QUARTER.search(text):
        return f"{match[2]}-{int(match[1]) * 3 - 1:02d}"
    return None


def months_between(a: str, b: str) -> int:
    """Whole months from one "YYYY-MM..." to another, without sign."""
    return abs((int(a[:4]) - int(b[:4])) * 12 + int(a[5:7]) - int(b[5:7]))
