"""Parse what people type and print what people read: bytes, seconds, rates, watts, money, percent.

Files hold plain SI numbers with the unit in the field name; only this module makes them human. What it prints
is an `Amount`: a text that keeps its number, so that a table can be read on a screen and written to a file.
Case never changes a meaning: `24GB` and `24gb` are both 24e9 bytes, `24GiB` is 24 * 2**30.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Self

from gpuwise.errors import InputError

_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([a-z%]*)\s*", re.IGNORECASE)


def _split(text: str, what: str, example: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise InputError(f"cannot read {text!r} as {what}", hint=f"write it like {example}")
    return float(match[1]), match[2].lower()


def parse_seconds(text: str) -> float:
    """Seconds from `60s`, `500ms`, `2min`, `1h`; a bare number is seconds. Raises InputError."""
    number, unit = _split(text, "a duration", "60s, 2min or 1h")
    if unit not in _SECONDS and unit != "":
        raise InputError(f"unknown unit of time in {text!r}", hint="write it like 60s, 2min or 1h")
    seconds = number * _SECONDS.get(unit, 1.0)
    if seconds <= 0:
        raise InputError(f"a duration must be positive, not {text!r}", hint="write it like 60s")
    return seconds


def parse_share(text: str) -> float:
    """A share from `1%` (0.01). The percent sign is required: `1` alone would be ambiguous."""
    number, unit = _split(text, "a percentage", "1%")
    if unit == "":
        raise InputError(f"{text!r} lacks its percent sign", hint=f"write {text.strip()}%")
    if unit != "%":
        raise InputError(f"cannot read {text!r} as a percentage", hint="write it like 1%")
    return number / 100


def parse_list(text: str) -> tuple[str, ...]:
    """`a,b,c` as a tuple, spaces and empty parts dropped, order kept, repeats dropped."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


class Amount(str):
    """A number as people read it: the text, with the value that CSV and other files get."""

    __slots__ = ("high", "low", "unit", "value")
    value: float
    low: float | None
    """Ends of its interval; None without one."""
    high: float | None
    unit: str
    """Of value, low and high: an SI unit, `USD`, or what is counted; empty for a plain number."""

    def __new__(
        cls, text: str, value: float, unit: str = "", low: float | None = None, high: float | None = None
    ) -> Self:
        made = super().__new__(cls, text)
        made.value, made.unit, made.low, made.high = value, unit, low, high
        return made

    def __getnewargs__(self) -> tuple[str, float, str, float | None, float | None]:  # type: ignore[override]
        return str(self), self.value, self.unit, self.low, self.high

    def shown(self, text: str) -> Self:
        """The same number in other words."""
        return type(self)(text, self.value, self.unit, self.low, self.high)


_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Control characters as their escapes: a name in a foreign file must not steer a terminal or a page."""
    if not _INVISIBLE.search(text):
        return text
    return _INVISIBLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def significant(value: float, digits: int = 3) -> Amount:
    """`value` rounded to `digits` significant digits, without exponent, thousands grouped."""
    if value == 0:
        return Amount("0", value)
    # The exponent after rounding: 99.96 is 100, not 100.0.
    exponent = int(f"{abs(value):.{digits - 1}e}".split("e")[1])
    decimals = max(0, digits - 1 - exponent)
    return Amount(f"{value:,.{decimals}f}", value)


def si(value: float, unit: str, digits: int = 3) -> Amount:
    """`si(7.97e14, "FLOP/s")` -> `797 TFLOP/s`; prefixes are powers of 1000."""
    for factor, prefix in _PREFIXES:
        if abs(value) >= factor * (1 - 0.5 * 10.0**-digits):
            return Amount(f"{significant(value / factor, digits)} {prefix}{unit}", value, unit)
    return Amount(f"{significant(value, digits)} {unit}", value, unit)


def whole(number: float) -> Amount:
    """`1,250`."""
    return Amount(f"{number:,.0f}", number)


def watts(value: float) -> Amount:
    """`612 W`."""
    return Amount(f"{value:,.0f} W", value, "W")


def gibibytes(value: float) -> Amount:
    """Bytes as GiB, the unit in which allocators and drivers count."""
    return Amount(f"{value / 2**30:.1f} GiB", value, "B")


def seconds(value: float) -> Amount:
    """A duration as people say it, to the nearest: `35.5 ms`, `12.3 s`, `4 min 05 s`, `1 h 02 min`."""
    # The unit after rounding: 0.9999 s is 1.00 s, not 1,000 ms, and 59.99 s is a minute.
    shown, minutes = float(f"{value:.2e}"), round(value / 60)
    if shown < 1e-3:
        text = f"{significant(shown * 1e6)} µs"
    elif shown < 1:
        text = f"{significant(shown * 1e3)} ms"
    elif shown < 60:
        text = f"{significant(shown)} s"
    elif round(value) < 3600:
        text = f"{round(value) // 60} min {round(value) % 60:02d} s"
    else:
        text = f"{minutes // 60} h {minutes % 60:02d} min"
    return Amount(text, value, "s")


def percent(share: float, digits: int = 1) -> Amount:
    """`0.0123` -> `1.2 %`; its value stays the share."""
    return Amount(f"{share * 100:.{digits}f} %", share)


def usd(value: float) -> Amount:
    """`$0.041`, `$3.20`, `$1,250`: cents below a hundred dollars, two digits below one."""
    text = significant(value, 2) if value < 1 else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"
    return Amount(f"${text}", value, "USD")


def times(value: float, low: float | None = None, high: float | None = None, digits: int = 2) -> Amount:
    """A ratio: `1.25`, or `1.25 (1.10 to 1.41)` where it has an interval."""
    if low is None or high is None or low == high:
        return Amount(f"{value:.{digits}f}", value)
    return Amount(f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})", value, "", low, high)


_BY_SUFFIX: tuple[tuple[str, Callable[[float], Amount]], ...] = (
    ("_bytes_per_s", lambda v: si(v, "B/s", 4)),
    ("_flop_per_s", lambda v: si(v, "FLOP/s", 4)),
    ("_transfers_per_s", lambda v: si(v, "T/s", 4)),
    ("l2_bytes", lambda v: Amount(f"{v / 2**20:g} MiB", v, "B")),
    ("_bytes", gibibytes),
    ("_gb", lambda v: Amount(f"{v:g} GB", v * 1e9, "B")),
    ("_hz", lambda v: Amount(f"{v / 1e6:.0f} MHz", v, "Hz")),
    ("_w", lambda v: Amount(f"{significant(v)} W", v, "W")),
    ("_usd", lambda v: Amount(f"{v:,.0f} USD", v, "USD")),
    ("_nm", lambda v: Amount(f"{v:g} nm", v, "nm")),
    ("_m", lambda v: Amount(f"{v * 1000:.0f} mm", v, "m")),
    ("_bits", lambda v: Amount(f"{v:g} bit", v, "bit")),
)


def of_field(field: str, value: float) -> Amount:
    """A value as people say it, with the unit that its field's name ends in; a count without one."""
    for suffix, form in _BY_SUFFIX:
        if field.endswith(suffix):
            return form(value)
    return Amount(f"{value:,}" if float(value).is_integer() else f"{value:g}", value)
