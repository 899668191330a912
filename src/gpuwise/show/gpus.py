"""GPUs of the catalog as tables and as data: every value with where it was read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from gpuwise.facts.catalog import Match, all_gpus, chips, confirmed, derive, fields, mentions
from gpuwise.model.gpu import Fact, GpuSpec, Peak
from gpuwise.model.units import Amount, gibibytes, of_field, percent, si, usd, watts
from gpuwise.show.table import Table, picked

if TYPE_CHECKING:
    from gpuwise.show.page import References

# Units of a die, by field, and their names on a page.
_UNITS = {
    "sm_count": "multiprocessors", "cuda_cores": "cores", "tensor_cores": "tensor cores",
    "rt_cores": "RT cores",
}  # fmt: skip
# Of a value that one source states and none confirms.
LONE = "1 (?)"
# What differs by the laptop, the server or the bridge: its note stands below a comparison.
_NOTED = ("power_w", "link_bytes_per_s")
# Rows of which all are read.
_FEW = 30
# Numbers of which a multiple means nothing.
_NO_RATIO = frozenset(
    {"pcie_generation", "tensor_core_generation", "rt_core_generation", "process_nm", "slots"}
)


def label(field: str) -> str:
    """A field's name as people say it, a peak by its format; the unit stands with the value."""
    known = fields().get(field)
    return known.label if known else field.replace("_", " ").replace("peak:", "peak ").strip()


def short(spec: GpuSpec) -> str:
    """The name without its vendor, and without GeForce or Instinct, which the model number implies; whole
    where what is left alone means no GPU (`Apple M1`, `NVIDIA T1000 8 GB`)."""
    return _short(spec.name, f"{spec.vendor} ")


@cache
def products() -> Mapping[str, str]:
    """GPU of the catalog -> its name: the id stands in addresses, people know the product."""
    return {spec.id: short(spec) for spec in all_gpus()}


@cache
def _short(name: str, vendor: str) -> str:
    found = name.removeprefix(vendor).removeprefix("GeForce ").removeprefix("Instinct ")
    return found if any(mentions(found)) else name


def shown(fact: Fact) -> str:
    """A fact's value with its unit, from the suffix of its field."""
    if isinstance(fact.value, bool):
        return "yes" if fact.value else "no"
    if isinstance(fact.value, str):
        return fact.value
    if fact.field.startswith("peak:"):
        return _flops(fact.field.split(":")[1], fact.value)
    return of_field(fact.field, fact.value)


def peak_name(peak: Peak) -> str:
    """`fp16 matrix, fp32 accumulate, sparse`."""
    accumulate = "" if peak.accumulate == peak.format else f", {peak.accumulate} accumulate"
    return f"{peak.format} {peak.unit}{accumulate}{', sparse' if peak.sparse else ''}"


def peak_value(peak: Peak) -> Amount:
    """`111.1 TFLOP/s`; integer peaks are not floating-point operations."""
    return _flops(peak.format, peak.flop_per_s)


def _flops(number_format: str, value: float) -> Amount:
    return si(value, "OP/s" if number_format.startswith("int") else "FLOP/s", 4)


def specification(spec: GpuSpec) -> Table:
    """Everything known of one GPU in the order of a specification chart, each value with its source.

    Beside a stated value stand what units, clocks and rates give and how many sources agree on it; the
    notes name what other sources state and what none does.
    """
    computed, sure = {row.field: row for row in derive(spec)}, confirmed(spec)
    names = {name: label(name) for name in spec.facts} | {p.field: f"peak {peak_name(p)}" for p in spec.peaks}
    rows, last = [], ""
    for field in sorted(names, key=place):
        first, *others = spec.values(field)
        row, given = computed.get(field), ""
        if row is not None:
            given = shown(replace(first, value=row.derived))
            # Only what is more than rounding.
            if row.agrees is False and row.difference is not None:
                given += f" (!) stated {'+' if row.difference > 0 else ''}{percent(row.difference)}"
        agreeing = {source.id for source in spec.sources(field)}
        apart = [f"{shown(fact)} ({fact.source.id})" for fact in others if fact.source.id not in agreeing]
        # Notes of older rows already say so in their own words.
        untold = apart and "other sources differ" not in first.note
        note = "; ".join(filter(None, [first.note, f"also stated: {', '.join(apart)}" if untold else ""]))
        group = (fields().get(field) or fields()["peak:*"]).group
        cells = {
            # The name of a group stands in front of its first row.
            "": group if group != last else "",
            "field": names[field],
            "value": shown(first),
            "computed": given,
            "sources": _witnesses(spec, field, sure),
            "source": first.source.title,
            "note": note,
        }
        rows.append(cells)
        last = group
    die = chips().get(spec.text("chip") or "")
    # Products are often credited with what the chip holds with nothing switched off.
    parts = [f"{count:,} {name}" for field, name in _UNITS.items() if die and (count := die.whole(field))]
    whole = (f"the whole {spec.text('chip')} die has {', '.join(parts)}",) if parts else ()
    lone = any(row["sources"] == LONE for row in rows)
    single = (f"{LONE}: one source, and none that confirms it",) if lone else ()
    return Table.of(
        rows,
        title=f"{spec.name} ({spec.id})",
        numeric=frozenset({"value", "computed"}),
        notes=(*whole, *gaps(spec), *single),
    )


def _witnesses(spec: GpuSpec, field: str, sure: frozenset[str]) -> str:
    """`vendor`, the count of independent sources that agree, `rule`, or LONE for a single one."""
    sources = spec.sources(field)
    if any(source.kind == "vendor" for source in sources):
        return "vendor"
    if len(sources) == 1 and sources[0].kind == "derived":
        return "computed" if field.startswith("peak:") else "rule"
    known = fields().get(field)
    plain = known is not None and known.kind == "text"
    return str(len(sources)) if plain or field in sure else LONE


def sourced(spec: GpuSpec) -> list[tuple[str, str, Fact | Peak]]:
    """(name, value, what states it) of every fact and peak, in the order of a specification chart."""
    found: list[tuple[str, str, Fact | Peak]] = [(label(f.field), shown(f), f) for f in spec.facts.values()]
    found += [(f"peak {peak_name(peak)}", peak_value(peak), peak) for peak in spec.peaks]
    return sorted(found, key=lambda row: place(row[2].field))


@cache
def place(field: str) -> int:
    """Where a field stands in the chart; peaks without a line of their own share one and keep their order."""
    return list(fields()).index(field if field in fields() else "peak:*")


def gaps(spec: GpuSpec) -> tuple[str, ...]:
    """What no source states, and how many stated values do not add up."""
    notes = []
    same = [other for other in all_gpus() if other.vendor == spec.vendor]
    missing = [
        field.label
        for name, field in fields().items()
        # Of those that the vendor's GPUs can have.
        if field.chart and name not in spec.facts and any(name in other.facts for other in same)
    ]
    if missing:
        notes.append(f"no source read states: {', '.join(missing)}")
    if differing := sum(row.agrees is False for row in derive(spec)):
        notes.append(f"(!) {differing} stated values are not what units and clocks give: their notes say why")
    return tuple(notes)


def listing(
    matches: Sequence[Match], *, sorted_by: str | None = None, rents: Mapping[str, float] | None = None
) -> Table:
    """One row a GPU: what is compared first when choosing, and what the rows were sorted by. A count
    multiplies what adds up; what they were sorted by is of one GPU. With `rents` also what it costs."""
    asked = (sorted_by or "id").removeprefix("-").casefold()
    field = "launch_price_usd" if asked == "price" else asked
    rows = []
    for spec, count in ((m.spec, m.count) for m in matches):
        memory, bandwidth, power = spec.memory_bytes, spec.memory_bytes_per_s, spec.power_w
        half, single = spec.peak("bf16") or spec.peak("fp16"), spec.peak("fp32")
        fact, peak = spec.facts.get(field), spec.peak(field)
        row = {
            "id": spec.id if count == 1 else f"{count} x {spec.id}",
            "name": spec.name,
            "architecture": spec.architecture or "",
            "memory": gibibytes(memory * count) if memory else "",
            "bandwidth": si(bandwidth * count, "B/s") if bandwidth else "",
            "fp32": si(single.flop_per_s * count, "FLOP/s") if single else "",
            "16 bit, dense": si(half.flop_per_s * count, "FLOP/s") if half else "",
            "power": watts(power * count) if power else "",
            "launch": spec.text("launch") or "",
        }
        if rents is not None:
            price, rent = spec.number("launch_price_usd"), rents.get(spec.id)
            row |= {
                "form": spec.text("form") or "",
                "at launch": usd(price) if price else "",
                "rent": usd(rent) if rent else "",
            }
        if field not in row:
            row[label(field)] = shown(fact) if fact else peak_value(peak) if peak else ""
        rows.append(row)
    several = any(match.count > 1 for match in matches)
    summed = ("sums over the GPUs, as if nothing were lost between them",) if several else ()
    fewer = (f"{len(rows)} GPUs; fewer: gpuwise gpus '24GB.. ..300W ada'",) if len(rows) > _FEW else ()
    notes = (*summed, *fewer, "one GPU with every source: gpuwise show ID")
    # Programs read these columns from CSV, whatever the filter left.
    return Table.of(rows, every=True, notes=notes, spare=frozenset({"name"}))


def side_by_side(specs: Sequence[GpuSpec], cited: References | None = None) -> Table:
    """Specifications of several GPUs, one column each, the later ones with their ratio to the first; with
    `cited` without ratios, but with the sources of each row."""
    every: list[tuple[str, str, list[Fact | None] | list[Peak | None]]] = [
        (field, label(field), [spec.facts.get(field) for spec in specs])
        for field in sorted({field for spec in specs for field in spec.facts}, key=place)
    ]
    # Peaks are named by format, unit and accumulator, so that dense is never beside sparse.
    for name in dict.fromkeys(peak_name(p) for spec in specs for p in spec.peaks):
        peaks = [next((p for p in spec.peaks if peak_name(p) == name), None) for spec in specs]
        every.append(("", f"peak {name}", peaks))
    rows = []
    for field, title, stated in every:
        texts = [
            "-" if one is None else peak_value(one) if isinstance(one, Peak) else shown(one) for one in stated
        ]
        if cited is not None:
            rows.append((title, *texts, cited.mark(*(one.source for one in stated if one is not None))))
            continue
        known = fields().get(field)
        # A multiple of yes, of a generation or of a format says nothing.
        plain = field in _NO_RATIO or (known is not None and known.kind != "number")
        values = [
            one.flop_per_s if isinstance(one, Peak) else None if plain else spec.number(field)
            for spec, one in zip(specs, stated, strict=True)
        ]
        # Those after the first with their multiple of it.
        first = values[0]
        for number, (text, value) in enumerate(zip(texts, values, strict=True)):
            if number and first and value is not None:
                more = f"{text} ({value / first:.2f}x)"
                texts[number] = text.shown(more) if isinstance(text, Amount) else more
        rows.append((title, *texts))
    if cited is not None:
        note = "peaks are dense unless they say sparse; a dash: no source that was read states it"
        names = (*(short(spec) for spec in specs), "sources")
        return Table(columns=("field", *names), rows=tuple(rows), notes=(note,))
    return Table(
        columns=("field", *(spec.id for spec in specs)),
        rows=tuple(rows),
        numeric=frozenset(spec.id for spec in specs),
        notes=(
            *(
                f"{label(field)}, {spec.id}: {fact.note}"
                for field in _NOTED
                for spec in specs
                if (fact := spec.facts.get(field)) and fact.note
            ),
            "speeds of kinds of work, prices, and which to choose: --article",
            "sources of each value: gpuwise show ID; dated prices to rent and buy: gpuwise prices ID",
        ),
    )


def document(spec: GpuSpec) -> dict[str, Any]:
    """A GPU as plain data, sources included; `derived` holds what its own units and clocks give."""
    return {
        **picked(spec, "id name aliases device_names"),
        "facts": to_builtins([*spec.facts.values()]),
        "peaks": to_builtins(spec.peaks),
        "more": to_builtins([fact for facts in spec.more.values() for fact in facts]),
        "derived": [
            to_builtins(row)
            | {"inputs": dict(row.inputs), "difference": row.difference, "agrees": row.agrees}
            for row in derive(spec)
        ],
    }


# (quantity, place counted from 1, GPUs that state it, name of the quantity).
Rank = tuple[str, int, int, str]
_RANKED = (
    ("memory", "memory_bytes"), ("memory bandwidth", "memory_bytes_per_s"), ("16-bit peak", "fp16"),
    ("fp32 peak", "fp32"), ("16-bit peak per watt", "fp16/W"),
)  # fmt: skip


def ranking(spec: GpuSpec) -> tuple[Rank, ...]:
    """Where it stands in the catalog, the most first; GPUs that do not state a quantity do not count."""
    found = []
    for title, name in _RANKED:
        mine, stated = quantity(spec, name), _stated(name).values()
        if mine is not None:
            found.append((title, 1 + sum(value > mine for value in stated), len(stated), name))
    return tuple(found)


@cache
def _stated(name: str) -> Mapping[str, float]:
    """GPU -> its quantity, of those of the catalog that state it."""
    every = ((spec.id, quantity(spec, name)) for spec in all_gpus())
    return {gpu_id: value for gpu_id, value in every if value is not None}


def quantity(spec: GpuSpec, name: str) -> float | None:
    """A number of a field, a dense peak by its format, or a peak per watt; None where no source states it."""
    format_, _, per_watt = name.partition("/")
    peak = spec.peak(format_)
    if per_watt:
        return peak.flop_per_s / spec.power_w if peak and spec.power_w else None
    return peak.flop_per_s if peak else spec.number(name)


def nearest(spec: GpuSpec, most: int = 3) -> Sequence[GpuSpec]:
    """The GPUs whose 16-bit peak, bandwidth and memory are the closest, by the sum of the ratios."""
    names = ("fp16", "memory_bytes_per_s", "memory_bytes")
    mine = [quantity(spec, name) for name in names]

    def distance(other: GpuSpec) -> float:
        theirs = [_stated(name).get(other.id) for name in names]
        pairs = [(a, b) for a, b in zip(mine, theirs, strict=True) if a and b]
        return sum(max(a / b, b / a) for a, b in pairs) if len(pairs) == len(names) else float("inf")

    others = sorted((other for other in all_gpus() if other.id != spec.id), key=distance)
    return [other for other in others if distance(other) < float("inf")][:most]
