"""Read amounts as people write them: money, work, latency, ranges.

Each function raises InputError with an example. Money is in USD; another currency needs a rate, and what
no GPU could cost is refused, since a slip of a thousand would decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from gpuwise.errors import InputError
from gpuwise.facts.prices import fields
from gpuwise.model.units import parse_seconds

MOST_USD = 1e9
MOST_USD_PER_KWH = 5.0
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
_PERIODS = {"s": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0, "day": 86400.0,
            "d": 86400.0, "week": 604800.0, "month": 2629800.0, "year": 31557600.0}  # fmt: skip
_WORK = re.compile(
    r"(?:(?P<epochs>[\d.]+)\s*epochs?\s+of\s+)?(?P<number>[\d.,_]+)\s?(?P<scale>[kmbgt]?)\s+"
    r"(?P<item>[a-z][a-z-]*?)\s*(?:(?:/|per\s+)\s*(?P<period>[a-z]+))?",
    re.IGNORECASE,
)
_GIGABYTES = re.compile(r"([\d.]+)\s*gi?b", re.IGNORECASE)
_LATENCY = re.compile(r"(TPOT|TTFT)\s*<=?\s*(.+)", re.IGNORECASE)


class Work(NamedTuple):
    """An amount of items; every `period_s` again where that is set."""

    items: float
    period_s: float | None
    item: str


def money(
    text: str, rates: Mapping[str, float], *, most: float = MOST_USD, free: bool = False
) -> tuple[float, str | None]:
    """USD and what it is for (`hour`, `kwh` or None) from `$3000`, `€2/h`, `0.30 USD/kWh`.

    0 is a price only where `free`.
    """
    plain, per = re.subn(r"\s*(/|per)\s*kwh\s*$", "", text.strip(), flags=re.IGNORECASE)
    try:
        found = fields.money(plain)
    except ValueError as reason:
        raise InputError(
            f"cannot read {text!r} as money: {reason}", hint="write it like '$3000' or '$2/h'"
        ) from None
    usd = found.amount * _rate(found.currency or "USD", rates, text)
    if usd < 0 or usd > most or (usd == 0 and not free):
        raise InputError(f"{text!r} is no sensible price", hint=f"between 0 and {most:,.0f} USD")
    unit = "kwh" if per else "hour" if found.per in ("hour", "gpu-hour") else None
    return usd, unit


def _rate(currency: str, rates: Mapping[str, float], text: str) -> float:
    if currency == "USD":
        return 1.0
    if currency not in rates:
        raise InputError(
            f"{text!r} is in {currency}, of which no rate is given", hint=f"--rate {currency}=USD-FOR-ONE"
        )
    return rates[currency]


def work(text: str) -> Work:
    """`1M sequences`, `3 epochs of 1.3M images`, `50M tokens/day`."""
    match = _WORK.fullmatch(text.strip())
    hint = "write it like '1M sequences', '3 epochs of 1.3M images' or '50M tokens/day'"
    if match is None:
        raise InputError(f"cannot read {text!r} as an amount of work", hint=hint)
    period = match["period"]
    if period is not None and period.casefold() not in _PERIODS:
        raise InputError(
            f"unknown period in {text!r}", hint="a second, minute, hour, day, week, month or year"
        )
    items = _number(match["number"], text) * _SCALES[match["scale"].casefold()]
    items *= _number(match["epochs"], text) if match["epochs"] else 1.0
    if items <= 0:
        raise InputError(f"an amount of work must be positive, not {text!r}", hint=hint)
    return Work(items, _PERIODS[period.casefold()] if period else None, _singular(match["item"]))


def _singular(item: str) -> str:
    return item.casefold().removesuffix("s")


def check_item(asked: str, item: str) -> None:
    """Raise InputError where the work is counted in other items than the workload."""
    if asked != _singular(item):
        raise InputError(f"the workload counts {item}s, the work {asked}s", hint=f"write --work in {item}s")


def memory(text: str) -> tuple[float, float | None]:
    """Least and most GB from `40GB..`, `24GB..80GB`, `..48GB`; `24GB` alone is the least."""
    low, _, high = text.partition("..")
    least = _gigabytes(low, text) if low.strip() else 0.0
    most = _gigabytes(high, text) if high.strip() else None
    if (most is not None and least > most) or not (low.strip() or high.strip()):
        raise InputError(f"{text!r} is no range of memory", hint="write it like 40GB.. or 24GB..80GB")
    return least, most


def _gigabytes(text: str, whole: str) -> float:
    match = _GIGABYTES.fullmatch(text.strip())
    if match is None:
        raise InputError(f"cannot read {whole!r} as memory", hint="write it like 40GB.. or 24GB..80GB")
    return _number(match[1], whole)


def count_range(text: str) -> tuple[int, int]:
    """`1..8` or `4`."""
    match = re.fullmatch(r"\s*(\d{1,4})\s*(?:\.\.\s*(\d{1,4})\s*)?", text)
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= low <= high <= 64:
        raise InputError(
            f"cannot read {text!r} as a number of GPUs", hint="write it like 4 or 1..8; at most 64"
        )
    return low, high


def positive(text: str, name: str, unit: str = "") -> float:
    """A positive number, with or without its unit."""
    plain = re.sub(rf"\s*{unit}\s*$", "", text, flags=re.IGNORECASE) if unit else text
    value = _number(plain, f"{name} {text}")
    if value <= 0:
        raise InputError(f"{name} must be positive, not {text}", hint=f"a number above 0, like 2{unit}")
    return value


def share(text: str, name: str) -> float:
    """`30%` or `0.3`, from 0 to 1."""
    value = _number(text.strip().removesuffix("%"), f"{name} {text}") / (
        100 if text.strip().endswith("%") else 1
    )
    if not 0 <= value <= 1:
        raise InputError(f"{name} is a share from 0 % to 100 %, not {text}", hint=f"write it like {name} 30%")
    return value


def latency(text: str) -> tuple[str, float]:
    """(`TPOT` or `TTFT`, seconds) from `TPOT<=30ms`."""
    match = _LATENCY.fullmatch(text.strip())
    if match is None:
        raise InputError(
            f"cannot read {text!r} as a latency", hint="write it like 'TPOT<=30ms' or 'TTFT<=2s'"
        )
    return match[1].upper(), parse_seconds(match[2])


def duration(text: str) -> float:
    """Seconds from `24h`, `90min`, `3d`, `2 weeks`."""
    match = re.fullmatch(r"\s*([\d.]+)\s*(d|days?|w|weeks?)\s*", text, re.IGNORECASE)
    if match is None:
        return parse_seconds(text)
    days = positive(match[1], "a duration") * (7 if match[2].casefold().startswith("w") else 1)
    return days * 86400


def _number(text: str, whole: str) -> float:
    try:
        return fields.number(text.strip().replace("_", ""))
    except ValueError as reason:
        raise InputError(f"cannot read a number in {whole!r}: {reason}", hint="write it like 1.5") from None
