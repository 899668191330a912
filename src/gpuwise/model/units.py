"""Parse what people type and print what people read: money, work, bytes, seconds, rates, watts, percent.

Files hold plain SI numbers with the unit in the field name; only this module makes them human. What it prints
is an `Amount`: a text that keeps its number, so that a table can be read on a screen and written to a file.
Case never changes a meaning: `24GB` and `24gb` are both 24e9 bytes, `24GiB` is 24 * 2**30.
A unit is demanded wherever leaving it out would let a number mean two things: `30` is not a time, `0.3` not a
share, `2` not a price. Every `parse_` function raises InputError with an example of what it reads.
"""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Literal, NamedTuple, Self

from gpuwise.errors import InputError

# What words mean that people use for numbers, spans of time, currencies and what a price is for.
_MEANS: dict[str, dict[str, str]] = defaultdict(dict)
with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as _file:
    for _row in csv.DictReader(_file):
        _MEANS[_row["kind"]][_row["word"]] = _row["means"]
_SECONDS = {word: float(size) for word, size in _MEANS["seconds"].items()}
NUMBERS = {word: int(number) for word, number in _MEANS["number"].items()}
_SCALES = {word: float(size) for word, size in _MEANS["scale"].items()}
_CURRENCIES, _PER = _MEANS["currency"], _MEANS["price for"]
_TIME_PART = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)\s*", re.ASCII)
_TIMES = "write it like 30ms, 60s, 2min, 2h30 or 3d"
_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([a-z%]*)\s*", re.IGNORECASE | re.ASCII)

# Characters of an amount; what is longer is none.
LONGEST_MONEY = 200
_MONEY = re.compile(
    r"(?P<before>us\$|[$€£¥₹]|[a-z]{3})?\s*(?P<number>[+-]?\s?[\d.,]+)\s*(?P<scale>[km](?![a-z]{1,2}\b))?\s*"
    r"(?P<after>us\$|[$€£¥₹]|[a-z]{3}\b|(?:euro|dollar|buck|pound|franc)s?|quid)?\s*(?P<per>/.*|per .*)?",
    re.IGNORECASE | re.ASCII,
)
_DOT_DECIMAL = re.compile(r"\d{1,3}(,\d{3})+\.\d+|\d+\.\d*|\.\d+|\d+", re.ASCII)
_COMMA_DECIMAL = re.compile(r"\d{1,3}(\.\d{3})+,\d+|\d*,(\d{1,2}|\d{4,})|0,\d+", re.ASCII)
_GROUPED = re.compile(r"\d{1,3}([.,])\d{3}(\1\d{3})+", re.ASCII)
_WORK = re.compile(
    r"(?:(?P<epochs>[\d.]+)\s*epochs?\s+of\s+)?(?P<number>[\d.,_]+)(?P<power>e\+?\d{1,2})?\s*"
    r"(?P<scale>[kmbgt]|thousand|million|billion|trillion|)\s+(?P<item>[a-z][a-z-]*?)\s*(?:(?:/|per\s+)\s*(?P<period>[a-z]+))?",
    re.IGNORECASE | re.ASCII,
)
# Items of one epoch of data sets that people name, from their papers.
DATASETS: Mapping[str, tuple[float, str]] = {
    "imagenet": (1_281_167, "image"), "imagenet1k": (1_281_167, "image"), "mnist": (60_000, "image"),
    "imagenet21k": (14_197_122, "image"), "cifar100": (50_000, "image"), "coco": (118_287, "image"),
    "cifar10": (50_000, "image"), "squad": (88_641, "sequence"),
}  # fmt: skip
DATASET_NAMES = r"image-?net(?:-?(?:21|1)k)?|coco|cifar-?100?|mnist|squad"
_DATASETS = re.compile(
    rf"(?:(?P<epochs>[\d.]+)\s*epochs?\s+of\s+)?(?P<name>{DATASET_NAMES})", re.IGNORECASE | re.ASCII
)
_BYTES = re.compile(r"([\d.]+)\s*([gt])i?b", re.IGNORECASE | re.ASCII)
_LATENCY = re.compile(r"(TPOT|TTFT)\s*<=?\s*(.+)", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*\.?"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
# How people write a day on which something has to be done.
DAYS = (
    rf"\d{{4}}-\d\d?-\d\d?|\d{{1,2}}\.\d{{1,2}}\.(?:\d{{4}})?|\d{{1,2}}/\d{{1,2}}(?:/\d{{4}})?"
    rf"|{_NTH}(?: of)? {_MONTH}(?:,? \d{{4}}\b)?|{_MONTH} {_NTH}(?:,? \d{{4}}\b)?|\d{{1,2}}(?:st|nd|rd|th)"
    r"|tomorrow|(?:(?:next|this|coming) )?(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b"
    r"|(?:the )?end of (?:the |this |next )?(?:week|month|year)|next (?:week|month|year)"
)
MOST_USD = 1e9  # What no GPU could cost is refused: a slip of a thousand would decide
MOST_USD_PER_KWH = 5.0
MOST_GPUS = 1024  # Of a cluster: a number above it is a slip, or a model's name


class Money(NamedTuple):
    """An amount with what its text says of currency and unit; None where it says nothing."""

    amount: float
    currency: str | None
    per: str | None  # `hour`, `gpu-hour`, `once` or `kwh`


class Work(NamedTuple):
    """An amount of items; every `period_s` seconds again where that is set."""

    items: float
    period_s: float | None
    item: str


class Latency(NamedTuple):
    """A limit in seconds on one token (TPOT), on the first one (TTFT), or on a step without tokens."""

    kind: Literal["TPOT", "TTFT", "step"]
    seconds: float
    first_s: float | None = None  # Where both are limited: on the first one, beside TPOT


def parse_seconds(text: str) -> float:
    """Seconds from `500ms`, `60s`, `2min`, `1h`, `2h30`, `1d`, `two weeks`; the unit is demanded."""
    number, _, unit = text.strip().lower().partition(" ")
    plain = f"{NUMBERS.get(number, number)} {unit}".strip()
    parts = _TIME_PART.findall(plain)
    # Found one after the other, so that no text takes longer than its length.
    if not parts or _TIME_PART.sub("", plain):
        raise InputError(f"cannot read {text[:80]!r} as a duration", hint=_TIMES)
    if not parts[0][1]:
        number = parts[0][0]
        problem = f"{text!r} lacks its unit of time"
        raise InputError(problem, hint=f"write {number}ms, {number}s, {number}min, {number}h or {number}d")
    total, above = 0.0, math.inf
    for number, unit in parts:
        # `2h30` ends in minutes, `1min30` in seconds: the last number takes the next smaller unit.
        size = {3600.0: 60.0, 60.0: 1.0}.get(above, math.inf)
        if unit:
            plural = len(unit) > 2 and unit.endswith("s")
            size = _SECONDS.get(unit) or (_SECONDS.get(unit[:-1], 0.0) if plural else 0.0)
            if not size:
                raise InputError(f"unknown unit of time in {text[:80]!r}", hint=_TIMES)
        if size >= above:
            raise InputError(f"cannot read {text[:80]!r} as a duration", hint=_TIMES)
        total, above = total + float(number) * size, size
    if not 0 < total < math.inf:
        raise InputError(f"a duration must be positive, not {text[:80]!r}", hint=_TIMES)
    return total


def parse_day(text: str, today: date) -> date:
    """The day after `today` that `Friday`, `5 December`, `2026-12-05`, `the 3rd` or `end of the month` means.

    Raises InputError for what is not a day, may be two, or is past.
    """
    words = text.casefold().replace(",", " ").split()
    numbers, named = [int(n) for n in re.findall(r"\d+", text)], [w[:3] for w in words if w != "month"]
    month = next((_MONTHS.index(name) + 1 for name in named if name in _MONTHS), 0)
    hint = f"write it like {today + timedelta(days=7)}"
    try:
        if "/" in text and max(numbers[:2]) <= 12:
            raise InputError(f"{text!r} may be two days", hint=hint)
        if numbers and len(str(numbers[0])) == 4:
            found = date(numbers[0], numbers[1], numbers[2])
        elif numbers:
            # Days stand before months where a dot is between, behind them where a slash is.
            at, after = (numbers[0], numbers[1:]) if month or "/" not in text else (numbers[1], numbers[2:])
            month = month or (numbers[0] if "/" in text else after.pop(0) if after else 0)
            if "/" in text and month > 12:
                at, month = month, at
            found = date(after[0] if after else today.year, month or today.month, at)
            if found <= today and not after:
                later = today.replace(day=1) + timedelta(days=32)
                found = found.replace(year=today.year + 1) if month else later.replace(day=at)
        elif "tomorrow" in words:
            found = today + timedelta(days=1)
        elif week_day := next((_WEEKDAYS.index(name) + 1 for name in named if name in _WEEKDAYS), 0):
            found = today + timedelta(days=(week_day - today.isoweekday() - 1) % 7 + 1)
        else:
            # The last day of a week, a month or a year; the first of the next.
            further = "next" in words[1:]  # "End of next month"
            week = today + timedelta(days=8 - today.isoweekday() + 7 * further)
            years, months = divmod(12 * today.year + today.month + further, 12)
            year = date(today.year + 1 + further, 1, 1)
            ends = {"week": week, "month": date(years, months + 1, 1), "year": year}
            found = ends[words[-1]] - timedelta(days=words[0] != "next")
    except (ValueError, KeyError, IndexError) as error:
        raise InputError(f"cannot read {text[:80]!r} as a day", hint=hint) from error
    if found <= today:
        raise InputError(f"{text!r} is past, or today: today is {today}", hint=hint)
    return found


def parse_deadline(text: str, today: date) -> float:
    """Seconds from now of a span (`36h`, `3d`), or until the same hour of a day (`parse_day`)."""
    if re.fullmatch(DAYS, text.strip().casefold()):
        return (parse_day(text, today) - today).days * 86400.0
    try:
        return parse_seconds(text)
    except InputError as error:
        raise InputError(str(error), hint=f"{error.hint}, or a day: friday, 2026-12-05") from None


def parse_days(text: str) -> int:
    """Whole days from `90d`, `12w`, `1y`."""
    days = parse_seconds(text) / 86400
    if not 1 <= days < 36525:
        raise InputError(f"{text!r} is not an age of prices", hint="write it like 90d, 12w or 1y")
    # A year has 365 days here: nobody counts prices by leap days.
    return int(days)


def parse_share(text: str, *, most: float = math.inf) -> float:
    """A share from `1%` (0.01). The percent sign is demanded: `0.3` may be meant as 30 % or as 0.3 %."""
    match = _NUMBER.fullmatch(text)
    if match is None or match[2] not in ("", "%"):
        raise InputError(f"cannot read {text[:80]!r} as a percentage", hint="write it like 1%")
    number = float(match[1])
    if not match[2]:
        meant = f"{number * 100:g}% or {number:g}%" if number < 1 else f"{number:g}%"
        if 1 < number < 10 and most <= 1:
            raise InputError(f"a share is at most {most:.0%}, not {number:.0%}", hint="write it like 80%")
        raise InputError(f"{text!r} lacks its percent sign", hint=f"write {meant}")
    if number / 100 > most:
        raise InputError(f"a share is at most {most:.0%}, not {text.strip()}", hint="write it like 30%")
    return number / 100


def parse_list(text: str) -> tuple[str, ...]:
    """`a,b,c` as a tuple, spaces and empty parts dropped, order kept, repeats dropped."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def parse_positive(text: str, what: str, unit: str = "") -> float:
    """A positive number, with or without its only unit: `850W`, `1.2kW`, `850`. `what` names it in errors."""
    like = f"300{unit}" if unit else "2"
    match = re.fullmatch(
        rf"\s*([\d.,_]+)\s*(?:(k?){unit})?\s*" if unit else r"\s*([\d.,_]+)()\s*", text, re.I | re.A
    )
    if match is None:
        raise InputError(f"cannot read {what} {text[:80]!r} as a number", hint=f"write it like {like}")
    value = _number(match[1], text) * (1e3 if match[2] else 1.0)
    if value <= 0:
        raise InputError(f"{what} must be positive, not {text}", hint=f"write it like {like}")
    return value


def parse_batch(text: str) -> int | None:
    """A batch; None for `auto`."""
    if text.strip().lower() == "auto":
        return None
    return parse_count(text, "a batch", " or auto")


def parse_batches(text: str) -> tuple[int | None, ...]:
    """`auto` or `1,8,64`; an option of the kind `batches` is read by it."""
    return tuple(map(parse_batch, parse_list(text) or ("",)))


def parse_count(text: str, what: str, other: str = "", *, one: str = "8") -> int:
    """A whole number above 0; `other` is what else may be written, `one` an example."""
    if not re.fullmatch(r"\d{1,15}", text.strip(), re.ASCII) or not int(text):
        raise InputError(f"{what} is a positive number{other}, not {text[:80]!r}", hint=f"write {one}{other}")
    return int(text)


def parse_counts(text: str, what: str) -> tuple[int, ...]:
    """`1,8,64`; a `k` counts 1024: `8k`, an `m` 1024 of those. A range, as `choose` takes it, is no list."""
    if ends := re.fullmatch(r"(\d{1,4})(?:\.\.|-)(\d{1,4})", text.strip(), re.ASCII):
        low, high = sorted((int(ends[1]), int(ends[2])))
        doubled = (low * 2**n for n in range(high.bit_length()) if 0 < low * 2**n < high)
        hint = f"write {','.join(map(str, (*doubled, high)))}"
        raise InputError(f"{what} is one number, or a list of them, not {text!r}", hint=hint)
    return tuple(parse_size(part, what) for part in parse_list(text) or ("",))


def parse_size(text: str, what: str) -> int:
    """One number of those."""
    unit = {"k": 1024, "m": 1024**2}.get(text[-1:].casefold(), 1)
    one = "8k" if what == "a context" else "8"
    if what == "a count of GPUs" and re.search("[a-z]", text, re.I):
        one += "; the names of GPUs, in predict and fit, go into --gpu"
    return parse_count(text if unit == 1 else text[:-1], what, one=one) * unit


def parse_count_range(text: str) -> tuple[int, int]:
    """A number of GPUs: `1..8`, `1-8` or `4`."""
    match = re.fullmatch(r"\s*(\d{1,4})\s*(?:(?:\.\.|-)\s*(\d{1,4})\s*)?", text, re.ASCII)
    low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= low <= high <= MOST_GPUS:
        parts = [int(part) for part in text.split(",")] if re.fullmatch(r"\d{1,4}(,\d{1,4})+", text) else []
        like = f"{min(parts)}..{max(parts)}" if parts else "4 or 1..8"
        hint = f"write it like {like}; at most {MOST_GPUS}"
        raise InputError(f"cannot read {text[:80]!r} as a number of GPUs", hint=hint)
    return low, high


def parse_memory_range(text: str) -> tuple[float, float | None]:
    """Least and most GB from `40GB..`, `>=40GB`, `24GB..80GB`, `..48GB`, `2TB`; `24GB` alone is the least."""
    plain = text.strip()
    if plain.startswith((">=", "≥")) or plain.endswith("+"):
        plain = plain.strip(">=≥+") + ".."
    elif plain.startswith(("<=", "≤")):
        plain = ".." + plain.lstrip("<=≤")
    low, _, high = plain.partition("..")
    ends = []
    for part in (low, high):
        match = _BYTES.fullmatch(part.strip())
        if part.strip() and match is None:
            number = part.strip() if re.fullmatch(r"\s*\d+\s*", part, re.ASCII) else "40"
            hint = f"write it like {number}GB.. or 24GB..80GB"
            raise InputError(f"cannot read {text[:80]!r} as memory", hint=hint)
        thousands = 1000.0 if match and match[2] in "tT" else 1.0
        ends.append(_number(match[1], text) * thousands if match else None)
    least, most = ends
    if (least is None and most is None) or (most is not None and (least or 0) > most):
        raise InputError(f"{text!r} is not a range of memory", hint="write it like 40GB.. or 24GB..80GB")
    return least or 0.0, most


# So many are in a month.
A_MONTH = {"day": 365.25 / 12, "week": 365.25 / 84, "mo": 1.0, "year": 1 / 12}


def parse_budget(text: str, rates: Mapping[str, float]) -> tuple[float, str | None]:
    """USD and what it is for (`hour`, `month` or None) from `$3000`, `3k`, `$2/h`, `$20/day`, `$9/month`."""
    # Nobody pays thousands an hour for a GPU: `3k` has one meaning, where `3` would have two.
    plain = re.fullmatch(r"[\d.,]+\s*k", text.strip(), re.IGNORECASE | re.ASCII)
    again = re.fullmatch(
        r"(.*\S)\s*(?:/|\bper|\ba)\s*(day|week|mo|year)(?:nth)?", text.strip(), re.IGNORECASE
    )
    amount = again[1] if again else text.strip()
    # A whole sum has no tenths of a cent: "2.000 €" are two thousand.
    amount = re.sub(r"^(\D*[1-9]\d{0,2})[.,](?=\d{3}(?!\d|[.,]\d))(?!.*/\s*h)", r"\1", amount)
    usd, unit = parse_usd(f"${amount}" if plain else amount, rates, example="$3000, $2/h or $300/month")
    if again and unit is not None:
        raise InputError(f"cannot read {text[:80]!r} as money", hint="write it like $300/month")
    return usd * (A_MONTH[again[2].casefold()] if again else 1.0), "month" if again else unit


def parse_usd(
    text: str,
    rates: Mapping[str, float],
    *,
    most: float = MOST_USD,
    free: bool = False,
    example: str = "$3000 or $2/h",
) -> tuple[float, str | None]:
    """USD and what it is for (`hour`, `kwh` or None) from `$3000`, `3k USD`, `€2/h`, `0.30 USD/kWh`.

    The currency is demanded; one that is not the dollar needs its rate. 0 is a price only where `free`.
    """
    try:
        money = read_money(text, typed=True)
    except ValueError as reason:
        raise InputError(f"cannot read {text[:80]!r} as money: {reason}", hint=f"write {example}") from None
    if money.currency is None:
        raise InputError(f"{text!r} lacks its currency", hint=f"write {example}")
    if money.currency != "USD" and money.currency not in rates:
        problem = f"{text!r} is in {money.currency}, and no rate is given for it"
        hint = f"give the rate: {money.currency}=USD for one"
        raise InputError(problem, hint=hint, code="rate", currency=money.currency)
    usd = money.amount * rates.get(money.currency, 1.0)
    if usd < 0 or usd > most or (usd == 0 and not free):
        raise InputError(f"{text!r} is not a sensible price", hint=f"between 0 and {most:,.0f} USD")
    per = {"gpu-hour": "hour", "once": None}.get(money.per or "once", money.per)
    return usd, per


def parse_rate(text: str) -> tuple[str, float]:
    """`EUR=1.08`: one euro is 1.08 USD."""
    code, _, number = text.partition("=")
    try:
        rate = read_number(number.strip())
        if rate > 0:
            return read_currency(code), rate
    except ValueError:
        pass
    raise InputError(f"cannot read {text[:80]!r} as a rate", hint="write it like EUR=1.08: USD for one euro")


def parse_work(text: str) -> Work:
    """`1M sequences`, `1 million images`, `90 epochs of ImageNet`, `50M tokens/day`, `5e17 FLOP`."""
    if named := _DATASETS.fullmatch(text.strip()):
        images, item = DATASETS[re.sub(r"\W", "", named["name"]).casefold()]
        return Work(images * (_number(named["epochs"], text) if named["epochs"] else 1.0), None, item)
    match = _WORK.fullmatch(text.strip())
    hint = "write it like '1M sequences', '3 epochs of 1.3M images' or '50M tokens/day'"
    if match is None:
        raise InputError(f"cannot read {text[:80]!r} as an amount of work", hint=hint)
    period = match["period"]
    size = None
    if period is not None:
        size = _SECONDS.get(period.casefold()) or _SECONDS.get(period.casefold().removesuffix("s"))
        if size is None:
            raise InputError(f"unknown period in {text!r}", hint="a second, hour, day, week, month or year")
    items = _number(match["number"], text) * _SCALES[match["scale"].casefold()]
    items *= float(f"1{match['power']}") if match["power"] else 1.0
    items *= _number(match["epochs"], text) if match["epochs"] else 1.0
    if items <= 0:
        raise InputError(f"an amount of work must be positive, not {text!r}", hint=hint)
    item = match["item"].casefold().removesuffix("s")
    if operations := re.fullmatch(r"([kmgtpe]?)flop", item):
        prefixes = {letter.casefold(): factor for factor, letter in _PREFIXES}
        return Work(items * prefixes.get(operations[1], 1.0), size, "FLOP")
    return Work(items, size, item)


def is_work(text: str) -> bool:
    """Whether `parse_work` reads a text."""
    try:
        return bool(parse_work(text))
    except InputError:
        return False


def parse_latency(text: str) -> Latency:
    """`TPOT<=30ms`, `TTFT<=2s` or both with a comma; a time alone is of a step, of tokens of each one, as is
    `50 tokens/s`."""
    if rate := re.fullmatch(r"(?:>=?)?\s*([\d.]+)\s*t(?:ok(?:en)?s?)?/s(?:ec)?", text.strip(), re.IGNORECASE):
        return Latency("TPOT", 1 / parse_positive(rate[1], "a speed"))
    if "," in text:
        parts = map(parse_latency, text.split(","))  # A time alone is then of each token
        each = {part.kind.replace("step", "TPOT"): part.seconds for part in parts}
        if len(each) != 2 or text.count(",") != 1:
            raise InputError(f"{text[:80]!r} limits one time twice", hint="write 'TTFT<=2s,TPOT<=30ms'")
        return Latency("TPOT", each["TPOT"], each["TTFT"])
    match = _LATENCY.fullmatch(text.strip())
    if match is None and _TIME_PART.fullmatch(text.strip().lower()):
        return Latency("step", parse_seconds(text))  # What is waited for again and again
    if match is None:
        problem = f"cannot read {text[:80]!r} as a latency"
        raise InputError(problem, hint="write it like 'TPOT<=30ms' or 'TTFT<=2s'")
    kind: Literal["TPOT", "TTFT"] = "TPOT" if match[1].upper() == "TPOT" else "TTFT"
    if re.fullmatch(r"[\d.]+", match[2].strip()):
        unit = "ms" if kind == "TPOT" or len(match[2].strip().partition(".")[0]) > 2 else "s"
        raise InputError(f"{text!r} lacks its unit", hint=f"write '{kind}<={match[2].strip()}{unit}'")
    return Latency(kind, parse_seconds(match[2]))


def _number(text: str, whole: str) -> float:
    try:
        return read_number(text.strip().replace("_", ""))
    except ValueError as reason:
        problem = f"cannot read a number in {whole[:80]!r}: {reason}"
        raise InputError(problem, hint="write it like 1.5") from None


def read_money(text: str, *, typed: bool = False) -> Money:
    """`$2.99/h`, `2,99 EUR`, `1,234.50`: amount, ISO currency, hour / gpu-hour / once / kwh.

    Where it was `typed`, `3k` is 3000, and dollars group their thousands by commas: `$3,000`. A table of
    prices is read without these, since `1,234` in it may be 1.234. Raises ValueError with the reason.
    """
    # A cell of a foreign file may be a megabyte of spaces.
    text = " ".join(text.split())
    match = _MONEY.fullmatch(text) if len(text) <= LONGEST_MONEY else None
    if match is None or (match["scale"] and not typed):
        raise ValueError(f"unreadable amount {text[:80]!r}")
    named = {_currency(match[side]) for side in ("before", "after") if match[side]}
    if len(named) > 1:
        raise ValueError(f"two currencies in {text[:80]!r}")
    digits = match["number"].strip()
    if typed and named == {"USD"} and re.fullmatch(r"\d{1,3},\d{3}", digits, re.ASCII):
        digits = digits.replace(",", "")
    amount = read_number(digits) * _SCALES[(match["scale"] or "").casefold()]
    energy = typed and re.fullmatch(r"(/|per)\s*kwh", match["per"] or "", re.IGNORECASE)
    per = "kwh" if energy else read_unit(match["per"]) if match["per"] else None
    return Money(amount, named.pop() if named else None, per)


def currency_of(text: str, known: Container[str]) -> str:
    """The code of the first of these currencies that stands beside a number, or else behind "in"; empty
    without one."""
    plain = text.casefold()
    beside = re.findall(
        r"([€£¥₹])|(?<=\d)\s?(?:k\b\s?)?([a-z]{3,8})|\b(?!try\b)([a-z]{3})\s?(?=\d)", plain
    ) + re.findall(r"()()\b(?:in|en|em|w|в) ([a-z]{3,8}|[€£¥₹])", plain)
    words = ("".join(found) for found in beside)
    codes = (_currency(word) for word in words)
    return next((code for code in codes if code in known), "")


def read_number(text: str) -> float:
    """A decimal number with point or, where that is certain, comma; thousands may be grouped.

    It is read only where it has one meaning: `2,99` is 2.99, but `1,234` could be two numbers. Raises
    ValueError with the reason.
    """
    plain = text.replace(" ", "")
    sign, digits = (-1, plain[1:]) if plain.startswith("-") else (1, plain.removeprefix("+"))
    if _DOT_DECIMAL.fullmatch(digits):
        value = float(digits.replace(",", ""))
    elif _COMMA_DECIMAL.fullmatch(digits):
        value = float(digits.replace(".", "").replace(",", "."))
    elif _GROUPED.fullmatch(digits):
        value = float(digits.replace(",", "").replace(".", ""))
    elif re.fullmatch(r"\d{1,3},\d{3}", digits, re.ASCII):
        plain_dot, grouped = digits.replace(",", "."), digits.replace(",", "")
        raise ValueError(f"{text!r} may be {plain_dot} or {grouped}")
    else:
        raise ValueError(f"unreadable number {text[:80]!r}")
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]!r}... is too large")
    return sign * value


def read_unit(text: str) -> str:
    """The unit of an amount: `hour` (the whole offer), `gpu-hour` or `once`. Raises ValueError."""
    key = re.sub(r"[^a-z]", "", text.casefold()).removeprefix("per")
    if key in _PER:
        return _PER[key]
    raise ValueError(f"unknown unit {text.strip()[:80]!r}; known: hour, gpu-hour, once")


def read_currency(text: str) -> str:
    """An ISO code in capitals. Raises ValueError."""
    code = _currency(text.strip())
    if not re.fullmatch(r"[A-Z]{3}", code):
        raise ValueError(f"unknown currency {text[:80]!r}")
    return code


def _currency(text: str) -> str:
    return _CURRENCIES.get(text.casefold().rstrip("s"), text.upper())


class Amount(str):
    """A number as people read it: the text, with the value that CSV and other files get."""

    __slots__ = ("high", "low", "unit", "value")
    value: float
    low: float | None  # Ends of its interval; None without one
    high: float | None
    unit: str  # Of value, low and high: an SI unit, `USD`, or what is counted; empty for a plain number

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


_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Control characters as their escapes: a name in a foreign file must not steer a terminal or a page."""
    if not _INVISIBLE.search(text):
        return text
    return _INVISIBLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def some(names: Iterable[str], most: int = 4) -> str:
    """The first names, each once, and the number of the others."""
    each = list(dict.fromkeys(names))
    more = f" and {len(each) - most} more" if len(each) > most else ""
    return ", ".join(each[:most]) + more


def listed(names: Sequence[str], last: str = "and") -> str:
    """`a, b and c`; the name alone where there is one."""
    *before, end = names
    return f"{', '.join(before)} {last} {end}" if before else end


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


def brief(value: float) -> Amount:
    """`968`, `1,554`, `411 G`: a number of three digits, without its unit."""
    return significant(value) if value < 1e6 else si(value, "")


def whole(number: float) -> Amount:
    """`1,250`."""
    return Amount(f"{number:,.0f}", number)


def watts(value: float) -> Amount:
    """`612 W`."""
    return Amount(f"{value:,.0f} W", value, "W")


def celsius(value: float | None) -> str:
    """`61 °C`; empty where it is not known."""
    return "" if value is None else Amount(f"{value:.0f} °C", value, "°C")


def gibibytes(value: float) -> Amount:
    """Bytes as GiB, the unit in which allocators and drivers count; less than one as MiB."""
    large = abs(value) >= 1000 * 2**20 or not value  # 0.98 GiB: 1.0
    return Amount(f"{value / 2**30:,.1f} GiB" if large else f"{significant(value / 2**20)} MiB", value, "B")


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
    elif minutes < 60_000:
        text = f"{minutes // 60} h {minutes % 60:02d} min"
    else:
        text = f"{value / 86400:,.0f} days"
    return Amount(text, value, "s")


def percent(share: float, digits: int = 1) -> Amount:
    """`0.0123` -> `1.2 %`; its value stays the share."""
    return Amount(f"{share * 100:.{digits}f} %", share)


def usd(value: float) -> Amount:
    """`$0.041`, `$3.20`, `$1,250`: cents below a hundred dollars, two digits below one."""
    # As it is rounded: $0.996 is $1.00.
    text = significant(value, 2) if value < 0.995 else f"{value:,.{2 if value < 99.995 else 0}f}"
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
    ("l1_bytes", lambda v: Amount(f"{v / 2**10:g} KiB", v, "B")),
    ("l2_bytes", lambda v: Amount(f"{v / 2**20:g} MiB", v, "B")),
    ("_bytes", gibibytes),
    ("_gb", lambda v: Amount(f"{v:g} GB", v * 1e9, "B")),
    ("_hz", lambda v: Amount(f"{v / 1e6:.0f} MHz", v, "Hz")),
    ("_w", lambda v: Amount(f"{significant(v)} W", v, "W")),
    ("_usd", lambda v: Amount(f"{v:,.0f} USD", v, "USD")),
    ("_nm", lambda v: Amount(f"{v:g} nm", v, "nm")),
    ("_m2", lambda v: Amount(f"{v * 1e6:g} mm\u00b2", v, "m\u00b2")),
    ("els_per_s", lambda v: Amount(f"{v / 1e9:.4g} G/s", v, "1/s")),
    ("_m", lambda v: Amount(f"{v * 1000:.0f} mm", v, "m")),
    ("_bits", lambda v: Amount(f"{v:g} bit", v, "bit")),
)


def of_field(field: str, value: float) -> Amount:
    """A value as people say it, with the unit that its field's name ends in; a count without one."""
    for suffix, form in _BY_SUFFIX:
        if field.endswith(suffix):
            return form(value)
    return Amount(f"{value:,}" if float(value).is_integer() else f"{value:g}", value)
