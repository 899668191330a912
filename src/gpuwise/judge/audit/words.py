"""Type every word of a line: GPUs, words for fields, values with units, names of memory and chips.

One pass with one expression, so that what touches its neighbour ("VRAM80 GB", "HBM380GB") is told apart.
The words are data: `data/words.csv` and `data/units.csv`, in the order in which they are tried. A row of
words without a field holds what looks like a field of a GPU and is not, such as "memory clock" or "system
RAM": it is recognised so that it takes no value. `data/cues.toml` holds what the words around a value say.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from gpuwise.facts import catalog
from gpuwise.facts.catalog.load import Lazy
from gpuwise.model.judgement import Number

_DATA = Path(__file__).with_name("data")


def data(name: str) -> Mapping[str, Any]:
    """The tables of a file of words."""
    return tomllib.loads((_DATA / f"{name}.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the catalog. `low` and `high` bound a plausible value, in the catalog's unit."""

    name: str
    words: str
    """Alternatives of a regular expression, without their boundaries."""
    dimension: str
    """Of `UNITS`; "count" for bare numbers, "text", "date", "none"."""
    low: float
    high: float
    scales: tuple[float, ...]
    """What a number without a unit may be counted in, the most likely first."""


FIELDS: Mapping[str, Field] = {
    row["field"]: Field(
        row["field"], row["words"], row["dimension"], float(row["low"]), float(row["high"]),
        tuple(map(float, row["scales"].split())),
    )
    for row in catalog.rows(_DATA / "words.csv")
}  # fmt: skip
# Fields that are right or wrong to the last digit.
COUNTS = frozenset(
    {
        *("cuda_cores", "stream_processors", "tensor_cores", "rt_cores", "sm_count", "rops", "tmus"),
        *("memory_bus_bits", "slots", "pcie_generation", "process_nm", "compute_capability"),
        *("tensor_core_generation", "rt_core_generation"),
    }
)
# Bits of the bus of a memory chip, of which that of every product is a multiple.
OF_BUS = 32
# Names that are values, and words for numbers.
NAMES: Mapping[str, Mapping[str, Any]] = data("names")
# What a GPU can or has, by the field that says so; words for a count of GPUs.
ABILITIES: Mapping[str, str] = NAMES["abilities"]
COUNTED: Mapping[str, int] = NAMES["counted"]
# (dimension, regular expression, factor to the catalog's unit). Memory sizes are counted in GiB, as products
# are named.
UNITS = tuple(
    (row["dimension"], row["unit"], float(row["factor"])) for row in catalog.rows(_DATA / "units.csv")
)


def _alternatives(pattern: str) -> Iterator[str]:
    """The parts of a pattern between the bars that stand in no parentheses."""
    depth = start = 0
    for found in re.finditer(r"\\.|\[(?:\\.|[^\]\\])*\]|[()|]", pattern):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if found[0] == "|" and not depth:
            yield pattern[start : found.start()]
            start = found.end()
    yield pattern[start:]


def _any_of(words: Iterable[str]) -> str:
    """Alternatives of an expression; those that begin with a word's boundary look for it once."""
    alone = (alternative for word in words for alternative in _alternatives(word))
    return "|".join(
        rf"\b(?:{'|'.join(one[2:] for one in run)})" if bound else "|".join(run)
        for bound, run in groupby(alone, key=lambda one: one.startswith(r"\b"))
    )


_CUES = {
    name: cue.get("before", "") + "(?:" + _any_of(cue["words"]) + ")" + cue.get("after", "")
    for name, cue in data("cues").items()
}


def _whole(cue: str) -> str:
    """A cue with those that it names, "<<more>>", in their places."""
    return re.sub(r"<<(\w+)>>", lambda named: _whole(_CUES[named[1]]), cue)


# Characters before a place that are looked at: those of the longest cue that ends at one, and a clause.
LEAD = 70
# A short text asks for half of them; to compile all takes a tenth of a second.
CUES: Mapping[str, re.Pattern[str]] = Lazy(_CUES, lambda cue: re.compile(_whole(cue), re.I))


def cue_before(cue: str | re.Pattern[str], text: str, end: int) -> re.Match[str] | None:
    """What ends at a place of a text: a cue of which every word has its `$`."""
    pattern = CUES[cue] if isinstance(cue, str) else cue
    return pattern.search(text, max(0, end - LEAD), end)


def speaks_of_tokens(text: str) -> bool:
    """Whether words above figures say that these are of a language model's answers: "Llama 8B, one user"."""
    requests = CUES["one_request"].search(text) or CUES["many_requests"].search(text)
    return requests is not None and CUES["language_model"].search(text) is not None


# Bits a second above which a rate may be that of a whole memory.
ONE_PIN = 64e9
IN_BITS = re.compile(r"\d ?(?:[GT]b(?:/s|ps|it)|\u0413\u0431\u0438\u0442)")


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
    """Of a value: of `UNITS`, "usd", or "bare"; bits per second and bare numbers as `own` prints them."""
    numbers: tuple[Number, ...] = ()
    """Of a value, in the unit of the catalog: two for a range or "40/80 GB"."""
    is_range: bool = False
    approximate: bool = False
    at_most: bool = False
    hourly: bool = False
    """Of money: per hour."""
    name: str = ""
    """Of a name: how the catalog writes it."""

    @property
    def in_bits(self) -> bool:
        """Whether a rate counts bits, as those of networks do: Gb/s, Gbps, Gbit/s."""
        return IN_BITS.search(self.text) is not None

    @property
    def measures(self) -> str:
        """The dimension of the fields that such a value may be of."""
        return {"bits/s": "bytes/s", "bare": "count"}.get(self.dimension, self.dimension)


_UNIT = "|".join(f"(?P<u{number}>{unit})" for number, (_, unit, _) in enumerate(UNITS))
_UNIT_GROUPS = [f"u{number}" for number in range(len(UNITS))]
_MONTHS: Sequence[str] = NAMES["months"]["words"]
_PARTS = {"months": "|".join(_MONTHS), "unit": _UNIT, **NAMES["parts"]}
_NAMES = {
    field: re.sub("<<(.*?)>>", lambda part: _PARTS[part[1]], name) for field, name in NAMES["names"].items()
}
CHIP = re.compile(_NAMES["chip"])


def chip_of(text: str) -> str:
    """The chip that its cut or its stepping is of: "AD106-350-A1", "Navi 31 XTX"."""
    return re.sub(r"(?<=\d{3})-\d{3}.*|(?<=\d) (?:X|L|Pro).*", "", text)


_LINE = re.compile(r"(GeForce )?([RG]TX) ?((?!\d000)\d{4}(?: (?:Ti|SUPER|Super))*)")
# How numbers begin that say which one: "Fourth-generation".
_ORDINALS = ("first", "secon", "third", "fourt", "fifth")
_SLOTS = {"single": 1.0, "dual": 2.0, "double": 2.0, "triple": 3.0}
# What is tried at a place, in this order: its name, what stands around its alternatives, and these. Of two
# fields whose words begin at one place the earlier one is meant: "FP32 cores" are cores.
_PLACES = {f"f{number}": name for number, name in enumerate(FIELDS)}
_TYPED = [(name, "", "", pattern) for name, pattern in _NAMES.items()] + [
    # These letters have no cases, for which each of the twenty thousand would be looked at.
    (place, r"(?-i:(?<![A-Za-z])|(?=[\u3040-\u9fff]))", "(?-i:(?![a-z]))", FIELDS[name].words)
    for place, name in _PLACES.items()
]
# Where a token may begin: at a word, behind a point and in a few places inside a word. Words that no token
# begins with are passed over, because they are every second one.
_BEGIN = re.compile(
    r"(?:(?<![A-Za-z0-9.,])|(?<=[A-Za-z],)(?=\d)|(?<=\dx)|(?<=[a-z])(?=\d{1,3},\d{3})|(?:(?<= to)|(?<=/s)"
    r"|(?<= [Pp]erformance))(?=\d)|(?P<dotted>(?<=[.,])))"
    r"(?!(?:the|and|of|has|have|its?|is|are|while|which|that|as|at|an?|to|in|on|by|was|from|this|or|more|for|but"
    r"|than|you|not|can|be|offers|delivers|needs|draws) )[^\s|:;()/*]",
    re.IGNORECASE,
)


def _firsts(op: Any, argument: Any) -> set[str]:
    """The characters that what an item of a parsed pattern matches may begin with: "any", and "" where it may
    match nothing."""
    kind = str(op)
    if kind == "LITERAL":
        return {chr(argument).lower()}
    if kind == "RANGE":
        return {chr(code).lower() for code in range(argument[0], argument[1] + 1)}
    if kind == "CATEGORY":
        return set("0123456789") if str(argument) == "CATEGORY_DIGIT" else {"any"}
    if kind == "IN":
        return {first for item in argument for first in _firsts(*item)}
    if kind == "BRANCH":
        return {first for branch in argument[1] for first in _firsts("SEQUENCE", branch)}
    if kind != "SEQUENCE":
        # A group or a repetition ends with its items.
        return _firsts("SEQUENCE", argument[-1]) if isinstance(argument, tuple) else {"any"}
    found: set[str] = set()
    for one, inner in argument:
        if not str(one).startswith(("ASSERT", "AT")):
            begins = _firsts(one, inner)
            found |= begins - {""}
            if "" not in begins and (not str(one).endswith("REPEAT") or inner[0]):
                return found
    return found | {""}


@cache
def _begins() -> list[tuple[str, str, str, list[tuple[set[str], str]]]]:
    """Each of `_TYPED` with the characters that its alternatives may begin with."""
    parse = re._parser.parse  # type: ignore[attr-defined]
    return [
        (
            name,
            before,
            after,
            [(_firsts("SEQUENCE", parse(one, re.IGNORECASE)), one) for one in _alternatives(pattern)],
        )
        for name, before, after, pattern in _TYPED
    ]


@cache
def _typed(first: str) -> re.Pattern[str]:
    """What may begin with a character, as one expression: few alternatives are tried at a place."""
    fitting: dict[str, list[str]] = {}
    for name, before, after, alternatives in _begins():
        if words := "|".join(one for firsts, one in alternatives if firsts & {first, "any", ""}):
            fitting.setdefault(before, []).append(f"(?P<{name}>(?:{words}){after})")
    # What stands before all fields is said once: a class of twenty thousand letters takes milliseconds.
    every = (f"{before}(?:{'|'.join(each)})" for before, each in fitting.items())
    return re.compile("|".join(every) or "(?!)", re.IGNORECASE)


_COUNT = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:,\d{3})?)\s?(?:[x\u00d7]\s?|\u00d7 |[\u5361\u5f20\u5f35\u5757\u584a\u679a]\s?)$"
    rf"|(?<![\w.])(2|4|8|16|{'|'.join(COUNTED)})(?:-way)?(?:\s|-)(?:(?:used|new|old|identical|passive) )?$"
    r"|\b(?:with|of|has|have|holds?|own|are)\s(\d{1,3}(?:,\d{3})?)\s$",
    re.I,
)
# "8 x 80 GB H100": the size stands between the count and the name.
_SIZE = re.compile(r"\d{1,3} ?GB $")
_CODE = re.compile(r"\W{0,3}[A-Za-z]\d{1,4}\W{0,3}")
_AND = re.compile(r"(?:\s?[,;/&]|\s(?:and|or))?\s(?:up to |about )?")
RATHER = re.compile(
    r"\s(?:rather than|instead of|against|versus|vs\.?|compared (?:to|with)|up from)\s(?:just |only |an? )?",
    re.I,
)
# "20 ~35" are two figures, the second of them about.
_SIZES = re.compile(r"(?! ~$)\s?(?:(?P<range>-|\u2013|\u2014|to|(?<![A-Za-z])[~\uff5e])|/|or|and|&)\s?")
_BETWEEN = re.compile(r"(?! ~$)\s?(?:(?P<range>-|\u2013|\u2014|to|(?<![A-Za-z])[~\uff5e])|/|or|&)\s?\$?")


@lru_cache(maxsize=65536)
def scan(text: str) -> tuple[Token, ...]:
    """The typed words of one line or cell, in order and without overlap."""
    found: list[Token] = []
    at = 0
    # A cell or a line that is such a code is a name: "T600".
    for gpu in catalog.mentions(text, unknown=True, loose=_CODE.fullmatch(text) is not None):
        size = cue_before(_SIZE, text, gpu.start)
        behind = size.start() if size else gpu.start
        number = cue_before(_COUNT, text, behind)
        count = count_of(number[1] or number[2] or number[3]) if number else 1
        # The count before a name is no value.
        counted = number is not None and number.start() >= at and re.search(r"[x\u00d7]", number[0])
        found += _words(text, at, number.start() if number and counted and not size else gpu.start)
        # "RTX 3050 OEM", "A2000 Embedded", "A40-12Q": a product of its own, which the catalog lacks. So is
        # a name that ends with another chip: "RTX 3060 8 GB GA104".
        more = CUES["own_product"].match(text, gpu.end)
        if gpu.gpu_ids and (chip := CUES["chip_at_end"].match(text, gpu.end)) is not None:
            known = {catalog.get(i).text("chip") for i in gpu.gpu_ids}
            more = chip if None not in known and chip["chip"] not in known else more
        # "RTX 3080 20GB": one with larger chips of memory, which somebody rebuilt.
        twice = CUES["size_behind"].match(text, gpu.end) if count == 1 and not more else None
        sizes = [catalog.get(i).facts.get("memory_bytes") for i in gpu.gpu_ids] if twice else []
        if twice and any(
            size and "of one GPU" not in size.note and int(twice["size"]) * 2**30 == 2 * float(size.value)
            for size in sizes
        ):
            more = twice
        at, ids = (more.end(), ()) if more else (gpu.end, gpu.gpu_ids)
        if ids and (short := CUES["super"].match(text, at)) is not None and (
            named := catalog.mentions(f"{gpu.text} {short['suffix'] or 'SUPER'}")
        ) and named[0].gpu_ids != ids:  # fmt: skip
            at, ids = short.end(), named[0].gpu_ids
        if not (ids or more) and (turned := _LINE.fullmatch(gpu.text)):
            # "GTX 2080" is the RTX 2080: of one number there is one line.
            called = f"{'RTX' if turned[2] == 'GTX' else 'GTX'} {turned[3]}"
            named = catalog.mentions(called)
            ids = named[0].gpu_ids if len(named) == 1 and named[0].text == called else ids
        intel = cue_before("of_intel", text, gpu.start) and gpu.text[0] == "A"
        ids = () if intel or cue_before("of_another_line", text, gpu.start) else ids
        found.append(
            Token(kind="gpu", start=gpu.start, end=at, text=text[gpu.start : at], gpu_ids=ids, count=count)
        )
    found += _words(text, at, len(text))
    for place in range(len(found) - 1, 0, -1):
        one, two = found[place - 1 : place + 1]
        mark = two if two.field in ("dense", "sparse") and one.end + 1 == two.start else None
        two = found[place + 1] if mark and place + 1 < len(found) else two
        # "9,000 dense and up to 18,000 sparse TFLOPS", "960 rather than 768 GB/s": both have the unit.
        joins = (_AND if mark else RATHER).fullmatch(text, mark.end if mark else one.end, two.start)
        # "The bus shrinks from 256 to 192 bits", in whatever language.
        changes = cue_before("changed_from", text, one.start) and (
            CUES["changed_to"].fullmatch(text, one.end, two.start)
        )
        joins = joins or changes
        if changes and not mark:
            # "From 256 bits to 192"
            found[place] = two = united(two, one)
        found[place - 1] = united(one, two) if joins else one
    return tuple(
        # "35 W to 115 W (+15-25 W Dynamic Boost)": what is added is none of its own.
        replace(token, dimension="other")
        if token.dimension == "w" and text[: token.start][-1:] == "+"
        else token
        for token in _joined(text, found)
    )


def _words(text: str, start: int, end: int) -> Iterator[Token]:
    """Everything but GPUs between two places. A word may touch the one before only where that was typed."""
    at = last = start
    while at < end:
        begin = None if at == last else _BEGIN.search(text, at, end)
        if at != last and begin is None:
            return
        place = begin.start() if begin else at
        first = text[place].lower()[:1]
        # Of any script: \u06f3 is 3. All digits but the first of a year begin alike.
        first = f"{int(first)}" if first.isdecimal() else first
        match = _typed("3" if first in "56789" else first).match(text, place, end)
        if match is None or (begin and match.lastgroup == "value" and begin["dotted"] is not None):
            # Nothing here, or the decimals of a number that means nothing.
            at, last = place + 1, -1
            continue
        at = last = max(match.end(), place + 1)
        if match.lastgroup == "value":
            yield _value(match, text)
        elif match.lastgroup != "years":
            yield _name(match)


def _name(match: re.Match[str]) -> Token:
    """A name that is a value of its field ("HBM3", "Q1 2024"), or the word for a field."""
    start, end, text = match.start(), match.end(), match[0]
    field = match.lastgroup or ""
    if field in _PLACES:
        return Token(kind="field", start=start, end=end, text=text, field=_PLACES[field])
    name, numbers = text, tuple[Number, ...]()
    if field.endswith("_generation"):
        nth = {word: f"{number}" for number, word in enumerate(_ORDINALS, 1)}.get(text[:5].lower(), text)
        numbers = (Number(value=float(re.findall(r"[1-6]", nth)[0]), digits=2),)
    elif field == "compute_capability":
        # sm_86 is 8.6
        numbers = (Number(value=int(match["cc"]) / 10, digits=len(match["cc"])),)
    elif field == "process_nm":
        # "TSMC 4N", "Samsung 8LPP"
        numbers = (number_of(re.findall(r"\d+", text)[0]),)
    elif field == "slots":
        slot = match["slot"].lower()
        numbers = (Number(value=_SLOTS.get(slot) or float(slot), digits=2),)
    elif field == "memory_type":
        name = text.upper()
    elif field == "chip":
        name = chip_of(text)
    elif field == "architecture":
        # "RDNA 3.0" is RDNA 3.
        name = "Ada Lovelace" if text.lower().endswith("lovelace") else text.removesuffix(".0")
        name = re.sub(r"(well) 2$", r"\1", name, flags=re.IGNORECASE)
    elif field == "launch":
        part = match.groupdict()
        if part.get("iso"):
            name = re.sub(r"[/.]", "-", part["iso"])
        elif part.get("only"):
            name = part["only"] + (f"-{int(part['numbered']):02d}" if part["numbered"] else "")
        elif part.get("short"):
            # Which of the other two is the month depends on the country.
            name = "20" + part["short"][-2:]
        elif part.get("quarter"):
            # The middle month of the quarter.
            name = f"{part['qyear']}-{int(part['quarter']) * 3 - 1:02d}"
        else:
            month = next(
                n for n, begins in enumerate(_MONTHS, 1) if re.fullmatch(begins, part["month"], re.I)
            )
            name = f"{part['year']}-{month:02d}"
    return Token(kind="name", start=start, end=end, text=text, field=field, name=name, numbers=numbers)


def _value(match: re.Match[str], text: str) -> Token:
    units = (unit for unit, found in zip(UNITS, match.group(*_UNIT_GROUPS), strict=True) if found is not None)
    dimension, _, factor = next(units, ("bare", "", 1.0))
    number = number_of(match["number"], factor * (1e3 if match["k"] else 1))
    # So few bits a second are those of one pin of a memory, or of a port.
    pin = IN_BITS.search(match[0]) is not None and number.value <= ONE_PIN
    # "<1" is a bound, no figure; nor is "1024^3".
    bound = text[max(0, match.start() - 2) : match.start()].rstrip().endswith(("<", "\u2264", "\u2265"))
    bound |= text.startswith("^", match.end())
    odd = (("other", match["per"] or bound), ("pin", pin), ("usd", match["money"]))
    return Token(
        kind="value", start=match.start(), end=match.end(), text=match[0],
        dimension=next((name for name, is_so in odd if is_so), dimension),
        numbers=(number,),
        count=int(match["times"][0]) if match["times"] else 1,
        approximate=bool(cue_before("about", text, match.start()) or CUES["so"].match(text, match.end())),
        at_most=cue_before("up_to", text, match.start()) is not None,
        hourly=match["hourly"] is not None,
    )  # fmt: skip


def became(text: str, one: Token, two: Token) -> bool | None:
    """Whether a figure became the next one ("cut from 8 to 6 GB"); False in a range, else None."""
    if not CUES["changed_to"].fullmatch(text, one.end, two.start) or not cue_before(
        "changed_from", text, one.start
    ):
        return None
    return CUES["changes"].search(text, max(0, one.start - LEAD), two.end + LEAD) is not None


def count_of(written: str) -> int:
    """A count of GPUs or of machines, in digits or as a word; 1 for another word, and for none of them."""
    digits = written.replace(",", "")
    return int(digits) or 1 if digits.isdecimal() else COUNTED.get(written.lower(), 1)


def number_of(written: str, factor: float = 1.0) -> Number:
    """A number as printed: 1,792 by thousands, 27,8 by decimals, trailing zeros of whole ones not exact."""
    plain = re.sub(r"['\u2019\u2009\u00a0\u202f ]|,(?=\d{3}(?!\d))", "", written).replace(",", ".")
    # "400.0" is how programs write 400.
    digits = re.sub(r"(?<=\d{3})\.0$", "", plain.partition("e")[0]).lstrip("0")
    digits = digits if "." in digits else digits.rstrip("0")
    return Number(value=float(plain) * factor, digits=max(1, len(digits.replace(".", "").lstrip("0"))))


def unit_of(token: Token) -> float:
    """What one of a value's unit is, in the catalog's."""
    written = re.search(_PARTS["number"], token.text)
    return token.numbers[0].value / (number_of(written[0] if written else "1").value or 1.0)


def united(value: Token, other: Token) -> Token:
    """A value with the unit of another one, where it has none itself."""
    if value.dimension != "bare" or other.dimension in ("", "bare", "other"):
        return value
    unit = unit_of(other)
    numbers = tuple(replace(number, value=number.value * unit) for number in value.numbers)
    return replace(value, dimension=other.dimension, numbers=numbers)


def _joined(text: str, tokens: list[Token]) -> Iterator[Token]:
    """Two values with one unit between them are one: "40/80 GB", "$1.50-$3.00", "2x8000"."""
    last: Token | None = None
    # "6 and 12 GB" of one GPU are its sizes.
    alone = sum(token.kind == "gpu" for token in tokens) < 2
    for token in tokens:
        between = None
        if last is not None and last.kind == token.kind == "value" and len(last.numbers) < 4:
            joins = (
                _BETWEEN if last.dimension != "bare" or token.dimension != "bytes" or not alone else _SIZES
            )
            between = None if became(text, last, token) else joins.fullmatch(text, last.end, token.start)
            if between and (
                (token.dimension == "bytes" and "." in last.text and between[0].strip() == "and")
                or (last.dimension == "bare" != token.dimension and between["range"] and " " in between[0]
                    and last.numbers[-1].value * unit_of(token) > token.numbers[0].value)
            ):  # fmt: skip
                # "With compute capability 8.9 and 24 GB", "3090 - 24 GB"
                between = None
        if last is None or between is None or re.fullmatch(r"20[0-3]\d", last.text):
            if last is not None:
                yield last
            last = token
            continue
        if token.dimension == "bare" and re.search(r"\de\d+$", last.text) and "/" in between[0]:
            # A program's "1979e12 / 2" is a half.
            numbers = tuple(replace(n, value=n.value / token.numbers[0].value) for n in last.numbers)
            last = replace(last, end=token.end, text=text[last.start : token.end], numbers=numbers)
            continue
        ranged = between["range"] is not None
        if last.dimension == "usd" and token.dimension == "bare" and between["range"] == between[0]:
            token = replace(token, dimension="usd")
        # "312 / 624 TFLOPS" are two rates, which the dense and sparse readings take apart.
        elif last.dimension not in ("bare", token.dimension) or token.dimension == "other":
            yield last
            last = token
            continue
        numbers = last.numbers
        if last.dimension == "bare" and token.dimension != "bare" and token.numbers[0].value:
            numbers = tuple(replace(n, value=n.value * unit_of(token)) for n in numbers)
        last = replace(
            last, end=token.end, text=text[last.start : token.end], dimension=token.dimension,
            numbers=(*numbers, *token.numbers), is_range=ranged, hourly=last.hourly or token.hourly,
        )  # fmt: skip
    if last is not None:
        yield last
