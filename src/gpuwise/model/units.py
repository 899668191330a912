"""Parse what people type and print what people read: bytes, seconds, rates, watts, percent.

Files hold plain SI numbers with the unit in the field name; only this module makes them human.
Case never changes a meaning: `24GB` and `24gb` are both 24e9 bytes, `24GiB` is 24 * 2**30.
"""

from __future__ import annotations

import re
from collections.abc import Callable

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


def significant(value: float, digits: int = 3) -> str:
    """`value` rounded to `digits` significant digits, without exponent, thousands grouped."""
    if value == 0:
        return "0"
    # The exponent after rounding: 99.96 is 100, not 100.0.
    exponent = int(f"{abs(value):.{digits - 1}e}".split("e")[1])
    decimals = max(0, digits - 1 - exponent)
    return f"{value:,.{decimals}f}"


def si(value: float, unit: str, digits: int = 3) -> str:
    """`si(7.97e14, "FLOP/s")` -> `797 TFLOP/s`; prefixes are powers of 1000."""
    for factor, prefix in _PREFIXES:
        if abs(value) >= factor * (1 - 0.5 * 10.0**-digits):
            return f"{significant(value / factor, digits)} {prefix}{unit}"
    return f"{significant(value, digits)} {unit}"


def gibibytes(value: float) -> str:
    """Bytes as GiB, the unit in which allocators and drivers count."""
    return f"{value / 2**30:.1f} GiB"


def seconds(value: float) -> str:
    """A duration as people say it, to the nearest: `35.5 ms`, `12.3 s`, `4 min 05 s`, `1 h 02 min`."""
    # The unit after rounding: 0.9999 s is 1.00 s, not 1,000 ms, and 59.99 s is a minute.
    shown = float(f"{value:.2e}")
    if shown < 1e-3:
        return f"{significant(shown * 1e6)} µs"
    if shown < 1:
        return f"{significant(shown * 1e3)} ms"
    if shown < 60:
        return f"{significant(shown)} s"
    whole, minutes = round(value), round(value / 60)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def percent(share: float, digits: int = 1) -> str:
    """`0.0123` -> `1.2 %`."""
    return f"{share * 100:.{digits}f} %"


_BY_SUFFIX: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("_bytes_per_s", lambda v: si(v, "B/s", 4)),
    ("_flop_per_s", lambda v: si(v, "FLOP/s", 4)),
    ("_transfers_per_s", lambda v: si(v, "T/s", 4)),
    ("l2_bytes", lambda v: f"{v / 2**20:g} MiB"),
    ("_bytes", gibibytes),
    ("_gb", lambda v: f"{v:g} GB"),
    ("_hz", lambda v: f"{v / 1e6:.0f} MHz"),
    ("_w", lambda v: f"{significant(v)} W"),
    ("_usd", lambda v: f"{v:,.0f} USD"),
    ("_nm", lambda v: f"{v:g} nm"),
    ("_m", lambda v: f"{v * 1000:.0f} mm"),
    ("_bits", lambda v: f"{v:g} bit"),
)


def of_field(field: str, value: float) -> str:
    """A value as people say it, with the unit that its field's name ends in; a count without one."""
    for suffix, form in _BY_SUFFIX:
        if field.endswith(suffix):
            return form(value)
    return f"{value:,}" if float(value).is_integer() else f"{value:g}"
