"""Read what one label and its value claim: "VRAM Memory (GB)" and "40/80 (HBM2)", "Ampere (GA102)"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpuwise.judge.audit.fields import Field, of_label
from gpuwise.judge.audit.quantity import NUMBER, UNITS, month, number
from gpuwise.model.claim import Number

MEMORY_TYPE = re.compile(r"\b(?:G?DDR\d\w{0,2}|HBM\d?\w{0,2}|LPDDR\d\w{0,2})\b", re.IGNORECASE)
CHIP = re.compile(r"\b(?:G[AHKMPVB]|AD|TU)\d{3}\b")
ARCHITECTURE = re.compile(
    r"\b(?:Pascal|Volta|Turing|Ampere|Ada Love ?lace|Ada|Hopper|(?:Grace )?Blackwell|CDNA(?:[ -]?\(?\d\)?)?)",
    re.IGNORECASE,
)
APPROXIMATE = re.compile(
    r"(?:nearly|about|around|approx\w*\.?|roughly|over|more than|almost|some|~|\u2248)\s*$", re.IGNORECASE
)
AT_MOST = re.compile(r"\bup to\s*$", re.IGNORECASE)
SPARSE = re.compile(r"sparsi?ty|\bsparse\b|\bw/ ?sparse", re.IGNORECASE)
DENSE = re.compile(r"without sparsity|\bdense\b|w/o sparsity|no sparsity", re.IGNORECASE)


PCIE = re.compile(r"\bPCI(?:e| Express)[ -]?(?:gen(?:eration)?[ .]?)?(\d)(?:\.0)?\b", re.IGNORECASE)
SLOTS = re.compile(r"\b(single|dual|double|triple|\d(?:\.\d)?)[ -]slot", re.IGNORECASE)
_SLOT_WORDS = {"single": 1.0, "dual": 2.0, "double": 2.0, "triple": 3.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One field's value or values as read, not yet tied to a GPU."""

    field: str
    values: tuple[Number | str, ...]
    stated: str
    approximate: bool = False
    at_most: bool = False
    sparse: bool | None = None


def read(field: Field, label: str, cell: str) -> Iterator[Reading]:
    """Everything that a cell under this label claims; a memory cell may name its type too."""
    if len(cell) > LONGEST:
        return
    counted = _NOUN.search(cell) if field.unit == "count" else None
    if counted is not None:
        field = of_label(counted[1]) or field
    if field.unit == "date":
        found = month(cell)
        if found:
            yield Reading(field=field.name, values=(found,), stated=cell)
    elif field.unit == "text":
        yield from _texts(field, cell)
    else:
        yield from _numbers(field, label, cell)
    if field.name in ("memory_bytes", "memory_bus_bits"):
        yield from memory_type(cell)


LONGEST = 300
"""Characters; a longer cell is prose."""
_NOUN = re.compile(
    r"\d\s+((?:CUDA|tensor|RT|ray[ -]tracing)[ -]cores?|stream processors?|SMs?|compute units?)\b",
    re.IGNORECASE,
)
"""What a cell says that it counts, whatever its label: "16,896 CUDA cores" under "Compute units"."""


def memory_type(text: str) -> Iterator[Reading]:
    """The type of memory that `text` names, if any."""
    match = MEMORY_TYPE.search(text)
    if match:
        yield Reading(field="memory_type", values=(match[0].upper(),), stated=match[0])


def sparse(text: str) -> bool | None:
    """True for "(with sparsity)", False for "dense", None for neither."""
    if DENSE.search(text):
        return False
    return True if SPARSE.search(text) else None


def aside(before: str, after: str) -> bool | None:
    """What the words on either side of a peak, up to the next figures, say of sparsity."""
    opened = before.rpartition("(")[2] if before.count("(") > before.count(")") else ""
    mine = opened or before.rpartition(")")[2]
    mine = re.split(r"[,;|/]", mine)[-1]
    if after.count("(") > after.count(")"):
        after = after.rpartition("(")[0]
    said = sparse(re.split(r"[,;|/](?! )|[;|]|, (?!with)", after)[0])
    return said if said is not None else sparse(mine)


def _texts(field: Field, cell: str) -> Iterator[Reading]:
    if field.name == "memory_type":
        yield from memory_type(cell)
    elif field.name in _COUNTED:
        match = _COUNTED[field.name].search(cell)
        if match:
            value = _SLOT_WORDS.get(match[1].lower()) or float(match[1])
            yield Reading(field=field.name, values=(Number(value=value, digits=2),), stated=match[0])
    else:
        yield from _names(cell)


_COUNTED = {"pcie_generation": PCIE, "slots": SLOTS}


def _names(cell: str) -> Iterator[Reading]:
    """Architecture and chip, which often share a cell: "Ampere (GA102)"."""
    for name, pattern in (("architecture", ARCHITECTURE), ("chip", CHIP)):
        match = pattern.search(cell)
        if match:
            yield Reading(field=name, values=(match[0],), stated=cell)


def _peaks(field: Field, label: str, cell: str) -> Iterator[Reading]:
    """Every peak of a cell with its format and form: "156 TFLOPS | 312 TFLOPS*", "(Sparse: 312 TFLOPS)".

    A second figure that is twice the first is the sparse one, said or not.
    """
    matches = list(_quantity(field).finditer(cell))
    ends = [0, *(match.end() for match in matches)]
    starts = [*(match.start() for match in matches), len(cell)]
    last: Reading | None = None
    for place, match in enumerate(matches):
        after = cell[match.end() : starts[place + 1]]
        form = aside(cell[ends[place] : match.start()], after)
        name = _format(after, label) if field.name == "peak:tensor" else field.name
        if name == "peak:tensor" and is_unnamed(match["unit"]):
            continue
        for reading in _of_match(field, label, match[0], match):
            for value in reading.values:
                assert isinstance(value, Number)
                said = form if form is not None else sparse(label)
                if form is None and after.startswith("*") and STARRED in label:
                    said = True
                if (
                    said is None
                    and last is not None
                    and last.field == name
                    and is_twice(value, last.values[0])
                ):
                    said = True
                last = replace(reading, field=name, values=(value,), stated=cell, sparse=said)
                yield last


STARRED = "\u2217"
"""Put behind the labels of a text whose footnote says that starred peaks are sparse."""
_FORMAT = re.compile(r"\b(?P<f>fp16|fp8|fp4|bf16|int8|tf32)\b|\bfp32\b", re.IGNORECASE)


def _format(after: str, label: str) -> str:
    """The number format named behind a tensor peak or in its label."""
    match = _FORMAT.search(after) or _FORMAT.search(label)
    return f"peak:{match['f'].lower()}" if match and match["f"] else "peak:tensor"


def is_unnamed(unit: str) -> bool:
    """Whether a rate without a number format may be of any: "3,352 AI TOPS" are FP4 with sparsity."""
    return "fl" not in unit.casefold()


TWICE = 0.03
"""How far rounding may lead from two: the L40S is published with 362.05 and 733."""
WIDE = 1100
"""One prefix, decimal or binary."""


def is_twice(value: Number, half: Number | str) -> bool:
    """Whether a peak is another one with 2:4 sparsity."""
    return isinstance(half, Number) and abs(value.value / half.value - 2) < TWICE


def _numbers(field: Field, label: str, cell: str) -> Iterator[Reading]:
    if field.name.startswith("peak:") and _quantity(field).search(cell):
        yield from _peaks(field, label, cell)
        return
    match = _quantity(field).search(cell) or _bare().match(_before_parenthesis(cell))
    if match is not None and not _ONE_WAY.search(cell):
        for reading in _of_match(field, label, cell, match):
            yield from _dense_and_sparse(reading, label)


def _dense_and_sparse(reading: Reading, label: str) -> Iterator[Reading]:
    """One reading for each form where the label names both: "FP16 (dense / sparse)", "362 / 733"."""
    dense, sparse_ = DENSE.search(label), SPARSE.search(label)
    if reading.sparse is None or dense is None or sparse_ is None or len(reading.values) != 2:
        yield reading
        return
    forms = (False, True) if dense.start() < sparse_.start() else (True, False)
    for value, form in zip(reading.values, forms, strict=True):
        yield replace(reading, values=(value,), sparse=form)


_ONE_WAY = re.compile(r"\b(?:per|each|one) direction|unidirectional|one[- ]way|\bin total\b", re.IGNORECASE)


def _of_match(field: Field, label: str, cell: str, match: re.Match[str]) -> Iterator[Reading]:
    unit = (match.groupdict().get("unit") or _unit_of(field, label) or field.default).lower()
    factor = UNITS[field.unit].get(unit)
    if factor is None or (not unit and field.unit != "count"):
        return
    read = [number(text, factor, field.low, field.high) for text in re.findall(NUMBER, match["numbers"])]
    values = tuple(value for value in read if value is not None)
    if not values and (match.groupdict().get("unit") or _unit_of(field, label)):
        # Out of all reason, but its unit is stated: a mistaken unit is the likeliest error.
        low, high = field.low / WIDE, field.high * WIDE
        read = [number(text, factor, low, high) for text in re.findall(NUMBER, match["numbers"])]
        values = tuple(value for value in read if value is not None)
    if values:
        before = match.string[: match.start()]
        yield Reading(
            field=field.name,
            values=values,
            stated=cell,
            approximate=bool(APPROXIMATE.search(before)),
            at_most=bool(AT_MOST.search(before)),
            sparse=sparse(f"{label} {cell}") if field.name.startswith("peak:") else None,
        )


def _before_parenthesis(cell: str) -> str:
    return cell.split("(")[0] if not cell.startswith("(") else cell


def _unit_of(field: Field, label: str) -> str | None:
    """The unit in a label's parentheses: "Memory Bandwidth (TB/s)"."""
    for inside in re.findall(r"[(\[]([^)\]]*)[)\]]", label):
        if inside.strip().lower() in UNITS[field.unit]:
            return str(inside).strip()
    return None


_PATTERNS: dict[str, re.Pattern[str]] = {}
_SERIES = rf"(?P<numbers>(?:{NUMBER})(?:\s*(?:/|-|\u2013|to|or)\s*(?:{NUMBER}))*)"


def _quantity(field: Field) -> re.Pattern[str]:
    """Numbers with a unit of the field."""
    if field.unit not in _PATTERNS:
        units = "|".join(sorted((re.escape(u) for u in UNITS[field.unit] if u), key=len, reverse=True))
        ending = rf"\s*-?(?P<unit>{units})(?![\w/])" if units else r"(?![\w.,]*\d)(?P<unit>)"
        _PATTERNS[field.unit] = re.compile(_SERIES + ending, re.IGNORECASE)
    return _PATTERNS[field.unit]


def _bare() -> re.Pattern[str]:
    """Numbers without a unit, at the beginning of a cell."""
    if "bare" not in _PATTERNS:
        _PATTERNS["bare"] = re.compile(
            rf"\s*(?:up to |over |about |~ ?|\u2248 ?|\$ ?)?{_SERIES}[\s*]*$", re.IGNORECASE
        )
    return _PATTERNS["bare"]
