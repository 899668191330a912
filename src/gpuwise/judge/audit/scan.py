"""Type every word of a line: GPUs, words for fields, values with units, names of memory and chips.

One pass with one expression: what touches its neighbour ("VRAM80 GB", "HBM380GB") is told apart by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from gpuwise.facts import catalog
from gpuwise.judge.audit.fields import FIELD_GROUPS, FIELD_PATTERN, UNITS
from gpuwise.model.claim import Number

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """`text[start:end]` of a line, typed."""

    kind: Literal["gpu", "field", "value", "name"]
    start: int
    end: int
    text: str
    field: str = ""
    """Of a field word, and of a name ("HBM3" is a memory_type)."""
    gpu_ids: tuple[str, ...] = ()
    """Of a GPU: all variants that it may be; none where the catalog lacks it."""
    count: int = 1
    """Of "8x H100": how many GPUs."""
    dimension: str = ""
    """Of a value: of `UNITS`, "usd", or "bare"."""
    numbers: tuple[Number, ...] = ()
    """Of a value, in the unit of the catalog: two for a range or "40/80 GB"."""
    is_range: bool = False
    approximate: bool = False
    at_most: bool = False
    hourly: bool = False
    """Of money: per hour."""
    name: str = ""
    """Of a name: how the catalog writes it."""


_NUMBER = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:['\u2019\u2009]\d{3})+(?!\d)"
    r"|\d{1,2} \d{3}(?= (?:cuda|c\u0153urs|stream|mhz|[gt][bo]/s))|\d{1,12}(?:[.,]\d{1,6})?"
)
_UNIT = "|".join(f"(?P<u{number}>{unit})" for number, (_, unit, _) in enumerate(UNITS))
_MIDDLE = r"(?:(?:fp\d\d?|bf16|tf32|int8|dense|sparse|ai|tensor|peak|of)[ -]){0,3}?"
_HOURLY = r"(?:\s?(?:usd|gpu))?\s?(?:/|per |an |a )\s?(?:gpu[ -/]?|card[ -/]?)?(?:hour|hr|h)(?![a-z])"
_VALUE = (
    rf"(?<![A-Za-z]-)(?:(?P<money>(?:US\s?)?\$|USD"
    rf"|[\u20ac\u00a3])\s?)?(?P<times>[248][x\u00d7]\s?(?=\d))?(?P<number>{_NUMBER})(?!\d|(?:st|nd"
    rf"|rd|th|p|-pin)(?![a-z]))"
    r"(?P<k>[kK](?![a-zA-Z]))?"
    rf"(?:[ \u2009-]{{0,2}}(?P<middle>{_MIDDLE})(?:{_UNIT})(?-i:(?![a-z\u00b2])))?\+?(?P<hourly>{_HOURLY})?"
    r"(?P<per>\s?(?:/|per )\s?(?:w|watts?|\$|dollar|t?flops?|mm|cores?|sm|slot|u)(?![a-z]))?"
)
_NAMES = (
    r"(?P<memory_type>(?-i:LPDDR\dX?|GDDR\dX?|DDR\d|HBM\d?[eE]?(?=\d{2,3} ?GB)|HBM\d[eE]?))"
    r"|(?P<chip>(?-i:(?:G[AHKMPVB]|AD|TU)\d{3}|Navi ?\d\d)(?![0-9]))"
    r"|(?P<architecture>ada[ -]?lovelace|(?:grace )?(?:black|rub)(?:well|in)(?: ultra)?|hopper"
    r"|ampere|turing|volta|pascal|maxwell"
    r"|kepler|(?-i:Ada)(?! ?\d)|cdna[ -]?\d?|rdna[ -]?\d?(?:\.\d)?)(?-i:(?![a-z0-9]))"
    r"|(?P<pcie>pci[ -]?e(?:xpress)?[ -]?(?:gen(?:eration)?[ .-]?)?(?P<gen>[1-6])(?:\.0"
    r"|(?![\d.]))(?: ?x\d{1,2})?|gen ?(?P<gen2>[3-6]) x16)"
    r"|(?P<sparse>with(?:out)? (?:structured )?sparsity|w/o? sparsity|sparsity|sparse"
    r"|\u2217)(?![a-z])|(?P<dense>dense|no sparsity)"
    r"|(?P<none>(?-i:N/A|TBD|TBA|NA|None|\u2014|Not supported))"
    r"|(?P<slots>(?<!en )(?P<slot>single|dual|double|triple|[1-4](?:\.\d{1,2})?)[ -](?:slot|width))"
    rf"|(?P<date>(?P<month>{'|'.join(MONTHS)})[a-z]{{0,6}}\.?,?\s(?:\d{{1,2}},?\s)?(?P<year>20[0-3]\d)"
    r"|(?P<iso>20[0-3]\d[-/.](?:1[0-2]|0[1-9]))(?:[-/.]\d\d)?(?!\d)"
    r"|q(?P<quarter>[1-4])[ /-]?(?P<qyear>20[0-3]\d))"
)
_STOP = r"(?P<stop>20[0-3]\d(?=[-\u2013]\d\d(?!\d))-\d\d)"
_TOKEN = re.compile(
    rf"(?:(?<![A-Za-z0-9.,])|(?<=\dx)|(?<=[a-z])(?=\d{{1,3}},\d{{3}})|(?P<glued>))"
    rf"(?:{_NAMES}|{_STOP}|{_VALUE}|(?<![A-Za-z])(?:{FIELD_PATTERN})(?-i:(?![a-z])))",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:nearly|about|around|approx\w*\.?|roughly|over|more than|almost|some|~|\u2248|\u2265|>)\s?$",
    re.IGNORECASE,
)
_UP_TO = re.compile(r"\b(?:up to|max\.?)\s?$", re.IGNORECASE)
_COUNT = re.compile(r"(?<![\d.])(\d{1,3})\s?(?:[x\u00d7]\s?|\u00d7 )$|(?<![\d.])(2|4|8|16)(?:\s|-)$")
_BETWEEN = re.compile(r"\s?(?:(?P<range>-|\u2013|\u2014|to|~)|/|or|&)\s?\$?")
_SLOTS = {"single": 1.0, "dual": 2.0, "double": 2.0, "triple": 3.0}


@lru_cache(maxsize=65536)
def scan(text: str) -> tuple[Token, ...]:
    """The typed words of one line or cell, in order and without overlap."""
    gpus = list(_gpus(text))
    found: list[Token] = []
    at = 0
    for gpu in (*gpus, None):
        end = gpu.start if gpu else len(text)
        found += _words(text, at, end)
        if gpu is not None:
            found.append(gpu)
            at = gpu.end
    return tuple(_ranges(text, found))


def _gpus(text: str) -> Iterator[Token]:
    for mention in catalog.mentions(text, unknown=True):
        # In "RTX 4090 Ada Lovelace" the architecture is not part of the name.
        if not mention.gpu_ids and (ada := re.search(r"\W+Ada$", mention.text)):
            shorter = catalog.mentions(text[mention.start : mention.start + ada.start()])
            mention = (
                replace(shorter[0], start=mention.start, end=mention.start + ada.start())
                if shorter
                else mention
            )
        before = _COUNT.search(text, max(0, mention.start - 6), mention.start)
        yield Token(
            kind="gpu",
            start=mention.start,
            end=mention.end,
            text=mention.text,
            gpu_ids=mention.gpu_ids,
            count=int(before[1] or before[2]) if before else 1,
        )


def _words(text: str, start: int, end: int) -> Iterator[Token]:
    """Everything but GPUs between two places. A word may touch the one before only where that was typed."""
    at, last = start, start
    while match := _TOKEN.search(text, at, end):
        begin = match.start()
        touches = begin > start and text[begin - 1].isalnum()
        if match["glued"] is not None and begin != last and (touches or match["number"]):
            # Inside a word that means nothing here: go on behind it.
            at = begin + 1
            while (
                at < end
                and text[at - 1].isalnum()
                and text[at].isalnum()
                and text[at].isdigit() == text[at - 1].isdigit()
            ):
                at += 1
            continue
        token = _token(match, text)
        at = last = max(match.end(), begin + 1)
        if token is not None:
            yield token


def _token(match: re.Match[str], text: str) -> Token | None:
    kind, start, end = match.lastgroup or "", match.start(), match.end()
    if match["number"]:
        return _value(match, text)
    if kind == "stop":
        return None
    for field in ("memory_type", "chip", "architecture", "pcie", "slots", "date", "sparse", "dense", "none"):
        if match[field]:
            numbers: tuple[Number, ...] = ()
            name, to = match[field], field
            if field == "pcie":
                numbers, to = (
                    (Number(value=float(match["gen"] or match["gen2"]), digits=2),),
                    "pcie_generation",
                )
            elif field == "slots":
                written = match["slot"].lower()
                numbers = (Number(value=_SLOTS.get(written) or float(written), digits=2),)
            elif field == "date":
                name, to = _month(match), "launch"
            elif (field == "sparse" and "out" in name.lower()) or name.lower().startswith("w/o"):
                to = "dense"
            elif field == "memory_type":
                name = name.upper()
            return Token(
                kind="name", start=start, end=end, text=match[0], field=to, name=name, numbers=numbers
            )
    group = next(group for group in FIELD_GROUPS if match[group] is not None)
    return Token(kind="field", start=start, end=end, text=match[0], field=FIELD_GROUPS[group])


def _month(match: re.Match[str]) -> str:
    """A date as YYYY-MM; the middle month of a quarter."""
    if match["iso"]:
        return re.sub(r"[/.]", "-", match["iso"])
    if match["quarter"]:
        return f"{match['qyear']}-{int(match['quarter']) * 3 - 1:02d}"
    return f"{match['year']}-{MONTHS.index(match['month'].lower()) + 1:02d}"


def _value(match: re.Match[str], text: str) -> Token:
    dimension, factor = "bare", 1.0
    for number, (name, _, scale) in enumerate(UNITS):
        if match[f"u{number}"] is not None:
            dimension, factor = name, scale
    if match["money"]:
        dimension = "usd"
    if match["per"]:
        dimension = "other"
    written = match["number"]
    factor *= 1e3 if match["k"] else 1
    before = text[max(0, match.start() - 14) : match.start()]
    return Token(
        kind="value",
        start=match.start(),
        end=match.end(),
        text=match[0],
        dimension=dimension,
        numbers=(number_of(written, factor),),
        count=int(match["times"][0]) if match["times"] else 1,
        approximate=_ABOUT.search(before) is not None,
        at_most=_UP_TO.search(before) is not None,
        hourly=match["hourly"] is not None,
    )


def number_of(written: str, factor: float) -> Number:
    """A number as printed: 1,792 by thousands, 27,8 by decimals, trailing zeros of whole ones not exact."""
    plain = re.sub(r"['\u2019\u2009 ]|,(?=\d{3}(?!\d))", "", written).replace(",", ".")
    digits = plain.replace(".", "").lstrip("0")
    return Number(
        value=float(plain) * factor, digits=max(1, len(digits if "." in plain else digits.rstrip("0")))
    )


def _ranges(text: str, tokens: list[Token]) -> Iterator[Token]:
    """Two values with one unit between them are one: "40/80 GB", "$1.50-$3.00", "2x8000"."""
    last: Token | None = None
    for token in tokens:
        if last is not None and last.kind == token.kind == "value" and len(last.numbers) < 4:
            between = _BETWEEN.fullmatch(text, last.end, token.start)
            # "312 / 624 TFLOPS" are two rates, which the dense and sparse readings take apart.
            follows = last.dimension in ("bare", token.dimension) and token.dimension != "other"
            if (
                last.dimension == "usd"
                and token.dimension == "bare"
                and between
                and between["range"] == between[0]
            ):
                token, follows = replace(token, dimension="usd"), True
            if between and follows:
                if last.dimension == "bare" and token.dimension != "bare":
                    unit = (
                        token.numbers[0].value / number_of(_digits(token), 1).value
                        if token.numbers[0].value
                        else 1.0
                    )
                    last = replace(
                        last, numbers=tuple(replace(n, value=n.value * unit) for n in last.numbers)
                    )
                last = replace(
                    last, end=token.end, text=text[last.start : token.end], dimension=token.dimension,
                    numbers=(*last.numbers, *token.numbers), is_range=between["range"] is not None,
                    hourly=last.hourly or token.hourly,
                )  # fmt: skip
                continue
        if last is not None:
            yield last
        last = token
    if last is not None:
        yield last


def _digits(token: Token) -> str:
    match = re.search(_NUMBER, token.text)
    return match[0] if match else "1"
