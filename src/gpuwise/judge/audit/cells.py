"""Read what a label and its value claim: "FP16 (dense / sparse)" and "312 / 624 TFLOPS"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from gpuwise.judge.audit.fields import FIELDS, UNITS
from gpuwise.judge.audit.scan import Token, scan
from gpuwise.model.claim import Number

TWICE = 0.03
"""How far rounding may lead from two: the L40S is published with 362.05 and 733."""
NEAR = 40
"""Characters between a value and the word that says what it counts: "568 fourth-generation Tensor Cores"."""

_DIMENSIONS = {"bits/s": "bytes/s", "bare": "count"}
_FILLER = re.compile(
    r"[\s\-\u2013,(:/x\u00d7]*(?:(?!(?:and|with|per|plus|while|but|to|in|for|at)\b)[\w\u2122\u00ae-]{1,16}[\s-]+){0,4}"
)
_RATIO = re.compile(
    r"\bper (?!sec|gpu|card|hour|direction)|/ ?(?:w|watt|\$)(?![a-z])|\bratio\b|speed-?up", re.IGNORECASE
)
_HOURLY = re.compile(r"hour|/ ?hr?\b|per hr|/stunde|on-?demand|spot", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One field's value or values as read, not yet tied to a GPU."""

    field: str
    values: tuple[Number | str, ...]
    stated: str
    token: Token
    sparse: bool | None = None
    vector: bool = False
    either: bool = False
    """Whether a rate may be dense or sparse: a footnote covers it or not."""


@dataclass(frozen=True, slots=True)
class Label:
    """What a header or row label says: its fields in order, and the unit of bare numbers."""

    text: str
    fields: tuple[str, ...]
    unit: tuple[str, float] | None
    """(dimension, factor) of the unit that the label names."""
    sparse: bool | None
    both: bool
    """Whether it announces dense and sparse rates together."""
    hourly: bool
    vector: bool


@lru_cache(maxsize=4096)
def label_of(text: str) -> Label:
    """The label's meaning. "" among the fields is a row that looks like a field of a GPU and is not."""
    tokens = scan(text)
    fields = [t.field for t in tokens if t.kind == "field"]
    # "FP16 TFLOPS": the format says more than the unit; "FP16 Tensor Performance" too.
    if any(f.startswith("peak:") and f not in ("peak:", "peak:tensor") for f in fields):
        fields = [f for f in fields if f not in ("peak:", "peak:tensor", "tensor_cores", "power_w")]
    if re.fullmatch(r"\W*type\W*", text, re.IGNORECASE):
        fields = ["memory_type"]
    # What stands per watt or per dollar is none of the fields that the label names.
    if _RATIO.search(text):
        fields = [""]
    marks = {t.field for t in tokens if t.kind == "name" and t.field in ("sparse", "dense")}
    return Label(
        text=text,
        fields=tuple(dict.fromkeys(fields)),
        unit=_unit(text),
        sparse=marks == {"sparse"} if marks and len(marks) == 1 else None,
        both=len(marks) == 2,
        hourly=_HOURLY.search(text) is not None,
        vector=re.search(r"vector|non-?tensor|shader", text, re.IGNORECASE) is not None,
    )


_UNIT_WORDS = [(name, re.compile(rf"(?:^|[\s(\[/_])(?:{unit})(?=$|[\s)\],/_*;])", re.IGNORECASE), factor)
               for name, unit, factor in UNITS if name not in ("count", "other", "%")]  # fmt: skip


def _unit(text: str) -> tuple[str, float] | None:
    """The unit of a label, the last one it names: "VRAM (GB)", "memory bandwidth gbps"."""
    found = [(m.start(), -len(m[0]), name, f) for name, unit, f in _UNIT_WORDS for m in unit.finditer(text)]
    if not found:
        return None
    _, _, name, factor = max(found, key=lambda one: (one[0], -one[1]))
    return name, factor


def readings(label: Label, cell: str, *, starred: bool | None = False) -> Iterator[Reading]:
    """Everything that a cell under this label claims.

    `starred`: a footnote says that * is sparse; None where it says so of all rates.
    """
    if label.fields[:1] == ("",):
        return
    tokens = scan(cell)
    # "192 GB x 72 = 13.8 TB" is a sum over several.
    summed = re.search(r"=|\d[ \w]{0,8}[\u00d7*] ?\d", cell) is not None
    last: Reading | None = None
    # Beside HBM or GDDR, plain DDR is the memory of a CPU.
    types = [t for t in tokens if t.field == "memory_type" and t.kind == "name"]
    foreign = {t.start for t in types if "DDR" in t.name and t.name[0] != "G"} if len(types) > 1 else set()
    for place, token in enumerate(tokens):
        if foreign & {token.start, tokens[place + 1].start if place + 1 < len(tokens) else -1}:
            continue
        if token.kind == "name":
            if _allowed(label, token):
                yield Reading(
                    field=token.field, values=token.numbers or (token.name,), stated=token.text, token=token
                )
        elif token.kind == "value":
            for reading in _of_value(label, cell, tokens, place, starred):
                # A second rate that is twice the first is the sparse one, said or not.
                if last is not None and _is_twice(reading, last):
                    reading = replace(reading, sparse=True)
                last = reading
                yield replace(reading, either=True) if summed else reading


def _allowed(label: Label, token: Token) -> bool:
    """Whether a name belongs under this label: HBM3 under "Memory", Hopper under "Architecture"."""
    first = label.fields[0] if label.fields else None
    if token.field == "memory_type":
        return first in ("memory_bytes", "memory_type", "memory_bus_bits", "memory_bytes_per_s")
    if token.field in ("architecture", "chip"):
        return first in ("architecture", "chip")
    if token.field == "pcie_generation":
        return first in ("pcie_generation", "link_bytes_per_s", "slots")
    return token.field == first and token.field not in ("sparse", "dense", "none")


def _of_value(
    label: Label, cell: str, tokens: Sequence[Token], place: int, starred: bool | None
) -> Iterator[Reading]:
    token = tokens[place]
    dimension = _DIMENSIONS.get(token.dimension, token.dimension)
    own = own_field(cell, tokens, place)
    # "FP16 | 312 TFLOPS peak": the words beside the value name no format, the label does.
    unnamed = own == "peak:" and any(f.startswith("peak:") for f in label.fields)
    field = own if own and not unnamed else _of_label(label, cell, token, dimension)
    if field in (None, "none") or (field == "launch" and label.fields[:1] != ("launch",)):
        return
    numbers = scaled(token, field, label)
    if not numbers:
        return
    if field == "launch":
        yield Reading(field=field, values=(f"{numbers[0].value:.0f}",), stated=token.text, token=token)
    elif field == "peak:tensor" and "fl" not in token.text.lower() and token.dimension != "bare":
        # "3,352 AI TOPS" may count any format.
        return
    elif field.startswith("peak:"):
        sparse = mark_near(cell, tokens, place)
        if sparse is None:
            sparse = True if starred and cell[token.end : token.end + 2].strip()[:1] == "*" else label.sparse
        if len(numbers) == 2 and (label.both or _twice(*sorted(n.value for n in numbers))):
            low, high = sorted(numbers, key=lambda n: n.value)
            yield Reading(field=field, values=(low,), stated=token.text, token=token, sparse=False)
            yield Reading(field=field, values=(high,), stated=token.text, token=token, sparse=True)
        else:
            either = sparse is None and (starred is None or "spars" in cell.lower())
            yield Reading(
                field=field,
                values=numbers,
                stated=token.text,
                token=token,
                sparse=sparse,
                vector=label.vector,
                either=either,
            )
    else:
        yield Reading(field=field, values=numbers, stated=token.text, token=token)


def own_field(cell: str, tokens: Sequence[Token], place: int) -> str | None:
    """The field that the words beside a value name: "16,896 CUDA cores", "NVLink 600 GB/s", "4,500 (FP8)"."""
    token = tokens[place]
    dimension = _DIMENSIONS.get(token.dimension, token.dimension)
    inside = next((f for f in FIELDS if f[:5] == "peak:" and f[5:] and f[5:] in token.text.lower()), None)
    if inside is not None:
        return inside
    # A format that the value touches is its own: "FP1665.1 TFLOPS peak".
    if place and dimension == "op/s" and tokens[place - 1].end == token.start and (
        tokens[place - 1].field.startswith("peak:")
    ):  # fmt: skip
        return tokens[place - 1].field
    # "544 Turing Tensor Cores": the architecture in between says nothing of the field.
    after = next((t for t in tokens[place + 1 :] if t.field != "architecture"), None)
    if after is not None and after.kind == "field" and FIELDS[after.field].dimension in (dimension, "none"):
        between = cell[token.end : after.start]
        if len(between) <= NEAR and _FILLER.fullmatch(between.lower()):
            return after.field or "none"
    # "4,500 (FP8)" under a heading of another format.
    if after is not None and after.field.startswith("peak:") and dimension in ("count", "op/s"):
        return after.field if cell[token.end : after.start].strip() in ("(", "") else None
    before = tokens[place - 1] if place else None
    if (
        before is not None
        and before.kind == "field"
        and before.field != "peak:"
        and FIELDS[before.field].dimension == dimension
    ):
        between = cell[before.end : token.start]
        if len(between) <= NEAR and not re.search(r"[,;.|]\s|[x\u00d7=]", between):
            return before.field
    return None


def _of_label(label: Label, cell: str, token: Token, dimension: str) -> str | None:
    """The label's first field that takes such a value."""
    if dimension == "usd":
        if label.hourly or token.hourly:
            return "rent per hour"
        return next((f for f in label.fields if f in ("launch_price_usd", "price")), None)
    for field in label.fields:
        if FIELDS[field].dimension == dimension or (field == "launch" and dimension == "count"):
            return field
    if not label.fields:
        return None
    first = label.fields[0]
    if token.dimension == "bare":
        # A number without a unit is the value only where the cell begins with it: not in "NVLink (2-way)".
        odd = re.search(r"[A-Za-z(]", cell[: token.start]) or re.match(
            r"\s+(?!HBM|G?DDR|dense|or)[A-Za-z]", cell[token.end :]
        )
        if odd and FIELDS[first].dimension != "count":
            return None
        if first == "price" and label.hourly:
            return "rent per hour"
        return first if FIELDS[first].dimension not in ("text", "none") and len(label.fields) < 3 else None
    # "80 GB HBM2e, 2 TB/s" under "Memory"; "384-bit" too.
    if first in ("memory_bytes", "memory_type", "memory_bus_bits"):
        return {"bytes": "memory_bytes", "bytes/s": "memory_bytes_per_s", "bit": "memory_bus_bits"}.get(
            dimension
        )
    if first == "memory_bytes_per_s":
        return {"bit": "memory_bus_bits"}.get(dimension)
    return None


def scaled(token: Token, field: str, label: Label | None) -> tuple[Number, ...]:
    """A value's numbers in the field's unit; none where no reading of them is plausible."""
    known = FIELDS.get(field)
    if known is None:
        return token.numbers
    if token.dimension not in ("bare", "count"):
        if _DIMENSIONS.get(token.dimension, token.dimension) != known.dimension:
            return ()
        if all(known.low <= n.value <= known.high for n in token.numbers):
            return token.numbers
        # 1.792 GB/s with a point for thousands; otherwise what is printed, however odd.
        thousands = tuple(Number(value=n.value * 1000, digits=n.digits) for n in token.numbers)
        dotted = re.search(r"\d\.\d{3}(?!\d)", token.text) and all(
            known.low <= n.value <= known.high for n in thousands
        )
        return thousands if dotted else token.numbers if known.dimension != "count" else ()
    unit = label.unit if label is not None else None
    scales = (
        (unit[1],)
        if unit is not None and _DIMENSIONS.get(unit[0], unit[0]) == known.dimension
        else known.scales
    )
    if token.dimension == "count":
        scales = (1,)
    for scale in (*scales, *(1000 * s for s in scales if re.search(r"\d\.\d{3}(?!\d)", token.text))):
        numbers = tuple(Number(value=n.value * scale, digits=n.digits) for n in token.numbers)
        if all(known.low <= n.value <= known.high for n in numbers):
            return numbers
    if field == "launch" and all(2005 <= n.value <= 2035 for n in token.numbers):
        return token.numbers
    return ()


def mark_near(cell: str, tokens: Sequence[Token], place: int) -> bool | None:
    """Whether words up to the next values say that a rate is with or without sparsity."""
    token = tokens[place]
    for step in (1, -1):
        at = place + step
        while 0 <= at < len(tokens) and tokens[at].kind != "value":
            mark = tokens[at]
            gap = cell[token.end : mark.start] if step > 0 else cell[mark.end : token.start]
            near = mark.field in ("sparse", "dense") and len(gap) < 60
            # What stands in the parentheses of another value belongs to that one.
            if near and not re.search(r"[;|.]\s|\), " if step > 0 else r"[;|.]\s|[()]", gap):
                return mark.field == "sparse"
            at += step
    return None


def _is_twice(reading: Reading, last: Reading) -> bool:
    one, two = last.values[0], reading.values[0]
    return (
        reading.sparse is None and reading.field == last.field and reading.field.startswith("peak:")
        and isinstance(one, Number) and isinstance(two, Number) and _twice(one.value, two.value)
    )  # fmt: skip


def _twice(low: float, high: float) -> bool:
    return low > 0 and abs(high / low - 2) < TWICE
