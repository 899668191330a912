"""What a report is made of, and what it says of the hardware: limits, kernels, energy, machine.

energy of a million items = watts / (items per second) * 1e6 / 3.6e6 kWh; its rent = rent of an hour /
(items per second * 3600) * 1e6.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from gpuwise.facts import catalog, prices
from gpuwise.model.gpu import Offer
from gpuwise.model.question import HOW, WORK
from gpuwise.model.result import Measurement, Record, Result, Telemetry, firsts, grouped, records_of
from gpuwise.model.units import Amount, percent, significant, some, usd, watts, whole
from gpuwise.show.charts import Bands, Mark, Part, Rows
from gpuwise.show.page import Figure, References, Section, said, section
from gpuwise.show.prices import MILLION, exact, million
from gpuwise.show.results import by_work, codes, counted, environment, fix, slowest
from gpuwise.show.roofline import measured_roofs, roofline
from gpuwise.show.table import Table, per_joule, rate, speed

# Bars of kernel time at most, and of workloads whose energy is drawn: those measured in the most precisions.
KERNEL_BARS, ENERGY_DRAWN = 12, 3
JOULES_PER_KWH = 3.6e6
# Kinds of kernels in the order they are drawn, and those that are shown together with others.
KINDS = ("matmul", "convolution", "attention", "normalisation", "pointwise", "link", "other")
AS = {"transfer": "link", "collective": "link", "copy": "other"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInput:
    """Everything that a report may show; nothing is read from disk or clock after this."""

    results: tuple[Result, ...]
    published: tuple[Record, ...] = ()  # Of the same GPUs, without those that a check of plausibility flags
    offers: tuple[Offer, ...] = ()
    predicted: Mapping[tuple[str, str], Record] = field(default_factory=dict)
    """(gpu_id, key of the question that ran) -> its prediction."""
    today: date
    every: tuple[Record, ...] = ()  # A record for each measurement; made from the results

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", records_of(self.results))

    @property
    def speeds(self) -> tuple[Record, ...]:
        """Of workloads that have a throughput; limits are apart."""
        return tuple(r for r in self.every if r.question.mode != "limit" and r.throughput is not None)

    @property
    def limits(self) -> tuple[Record, ...]:
        return tuple(r for r in self.every if r.question.mode == "limit" and r.throughput is not None)

    @property
    def sensed(self) -> tuple[Telemetry, ...]:
        return tuple(t for r in self.every if (t := raw(r).telemetry) is not None and t.samples)

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(result.environment.device for result in self.results))

    @property
    def gpu_ids(self) -> tuple[str, ...]:
        ids = (result.environment.gpu_id for result in self.results)
        return tuple(dict.fromkeys(gpu_id for gpu_id in ids if gpu_id))


def raw(record: Record) -> Measurement:
    """The measurement behind a record of a result, which has one."""
    assert record.raw is not None
    return record.raw


def days(results: Sequence[Result]) -> str:
    """`2026-11-20 to 2026-11-21`: when they were made."""
    found = sorted({result.created_at[:10] for result in results})
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"


def limits(given: ReportInput) -> Section:
    """The measured limits beside the data sheet, and a roofline for each device that has both."""
    figures = []
    for device in given.devices:
        speeds, mine = ([r for r in rows if r.gpu == device] for rows in (given.speeds, given.limits))
        if (drawn := roofline(speeds, measured_roofs(mine), device)) is not None:
            figures.append(drawn)
    several = len(given.devices) > 1
    found = grouped(
        ((row.question.label(), row.gpu * several), row)
        for row in sorted(given.limits, key=lambda row: -row.value)
    )
    # A card that was cool in one session and hot in another reaches two limits: the highest of each, and the
    # lowest where there are several sessions.
    rows = (
        {
            "limit": name,
            "device": device,
            "reached (95 %)": speed(of[0].throughput, of[0].item),
            "dense peak": percent(mfu) if (mfu := raw(of[0]).mfu) else "",
            "measured": f"{len(of)} times" if len(of) > 1 else "",
            "lowest": rate(of[-1].value, of[0].item) if len(of) > 1 else "",
            "cautions": codes(issue for row in of for issue in row.issues),
        }
        for (name, device), of in sorted(found.items())
    )
    table = Table.of(
        rows,
        title="Measured limits",
        notes=("dense peak: share of the data sheet's",) if any(raw(row).mfu for row in given.limits) else (),
    )
    sessions = "any of the sessions" if len(given.results) > 1 else "the same session"
    made = section("report", "limits", facts={"sessions": sessions}, figures=tuple(figures), tables=(table,))
    return made if figures else replace(made, text=())  # without roofs the lead would speak of nothing


def kernels(given: ReportInput) -> Section:
    """Kinds of kernels and the slowest by name, of the fastest answer to each question in each precision."""
    profiled = [row for row in given.speeds if (p := raw(row).profile) is not None and p.kernel_s > 0]
    ordered = sorted(profiled, key=lambda row: -row.value)
    best = firsts(((row.question.label(*HOW), row.question.precision or "?"), row) for row in ordered)
    parts = [(row, shares(row)) for row in profiled if any(row is one for one in best.values())]
    if not parts:
        return section("report", "kernels")
    kinds = [kind for kind in KINDS if any(each.get(kind) for _, each in parts)]
    rows = (
        {
            "measurement": row.question.label(*HOW),
            "configuration": row.question.label(*WORK),
            "bound by": verdict.bound if (verdict := raw(row).verdict) else "",
            **{kind: percent(each[kind], 0) if each.get(kind) else "" for kind in kinds},
            "slowest kernels": slowest(raw(row), 3),
        }
        for row, each in parts
    )
    table = Table.of(rows, title="Kernel time by kind")
    drawn = []
    for row, each in parts[:KERNEL_BARS]:
        begin = 0.0
        for kind in (kind for kind in KINDS if each.get(kind, 0.0) > 0):
            end = min(1.0, begin + each[kind])
            drawn.append(Part(label=row.question.label(), begin=begin, end=end, colour=kind, shown=kind))
            begin = end
    some = f", {KERNEL_BARS} of {len(parts)}" if len(parts) > KERNEL_BARS else ""
    figure = Figure(
        charts=(Bands(parts=tuple(drawn), title="share of kernel time"),),
        table=table,
        caption=f"Kernel time of a step by kind, the fastest configuration of each precision{some}.",
    )
    # One bar says nothing that its row does not.
    shown = {"tables": (table,)} if len(parts) == 1 else {"figures": (figure,)}
    return section("report", "kernels", **shown)


def shares(row: Record) -> Mapping[str, float]:
    """Share of each kind in the kernel time of a profiled measurement."""
    profile = raw(row).profile
    assert profile is not None
    found: dict[str, float] = defaultdict(float)
    for each in profile.kernels:
        found[AS.get(each.kind, each.kind)] += each.seconds / profile.kernel_s
    return found


def energy(given: ReportInput, cited: References) -> Section:
    """Items per joule, and what a million items take of energy and of rent."""
    rents = {gpu_id: exact(given.offers, gpu_id) for gpu_id in given.gpu_ids}
    spreads = {gpu_id: prices.usual(offers, "on-demand", given.today) for gpu_id, offers in rents.items()}
    if not any(row.items_per_joule for row in given.speeds) and not any(rents.values()):
        return section("report", "energy")
    # A device is half of a machine that trains: readers multiply its figure by their bill.
    lines = ["Energy is of the device alone: host, cooling and idle time come on top."]
    named = {spec.id: spec.name for spec in catalog.all_gpus()}
    for gpu_id, found in spreads.items():
        name = named.get(gpu_id, gpu_id)
        if found is None:
            lines.append(f"No on-demand rent of the {name} is known, so no cost is given.")
            continue
        newest = max(offer.seen_on for offer in rents[gpu_id]) or "an unknown day"
        marks = cited.mark(*(offer.source for offer in rents[gpu_id]))
        lines.append(
            f"The rent of the {name} is the median of {found.offers} on-demand offers, {usd(found.median)} "
            f"per GPU-hour ({usd(found.lowest)} to {usd(found.highest)}), the newest of {newest} {marks}."
        )
    rows, drawn = [], []
    for name, alike in by_work(given.speeds).items():
        ordered = sorted(alike, key=lambda row: (row.items_per_joule or 0.0, row.value), reverse=True)
        for precision, row in firsts((row.question.precision or "?", row) for row in ordered).items():
            each, rent, watt = row.items_per_joule, spreads.get(row.gpu_id), row.watts
            how = row.question.label(*WORK) + (f", {row.gpu_id}" if len(given.devices) > 1 else "")
            kwh = MILLION / each / JOULES_PER_KWH if each else 0.0
            cells = {
                "measurement": name,
                "configuration": how,
                "efficiency": per_joule(each, row.item) if each else "",
                "mean power": watts(watt.value) if watt else "",
                "energy of a million": Amount(f"{significant(kwh)} kWh", kwh, "kWh") if each else "",
                "rent of a million items": million(row.value, rent.median * row.gpus) if rent else "",
            }
            rows.append(cells)
            if each:
                drawn.append(Mark(
                    label=how, value=each, low=each, high=each, group=name, colour=precision,
                    shown=per_joule(each, row.item),
                ))  # fmt: skip
    table = Table.of(rows, title="Most efficient configuration of each precision")
    often = {group for group, n in Counter(mark.group for mark in drawn).most_common(ENERGY_DRAWN) if n > 1}
    chosen = tuple(mark for mark in drawn if mark.group in often)
    caption = "Items per joule of the device alone, the most efficient configuration of each precision."
    figures = (Figure(table=table, caption=caption, charts=(Rows(marks=chosen),)),) if chosen else ()
    tables = () if figures else (table,)
    return section("report", "energy", text=tuple(lines), figures=figures, tables=tables)


def machine(given: ReportInput) -> Section:
    """The health of each session in a list; folded a table of what all found, and one of what differs, a row
    for each environment."""
    points = said("report", "machine", results=given.results, watts=watts, **sensed(given))
    # Each variable apart, so that the one that differs is seen.
    each = [
        {name: text for name, text in environment(place).rows if name != "variables"} | dict(place.variables)
        for place in (result.environment for result in given.results)
    ]
    several = len({fields.get("card") for fields in each}) > 1
    # Of several cards of a kind only their number is of interest.
    named = ((fields.pop("card", None) if several else None, fields) for fields in each)
    alike = grouped((tuple(fields.items()), card) for card, fields in named)
    found = []
    for items, cards in alike.items():
        number = len({card for card in cards if card})
        found.append((dict(items) | ({"cards": str(number)} if number else {}), len(cards)))
    every = list(dict.fromkeys(field for fields, _ in found for field in fields))
    common = [field for field in every if len({fields.get(field) for fields, _ in found}) == 1]
    sessions = counted(len(given.results), "session")
    first = Table(
        title=f"{' and '.join(given.devices)}, {sessions}, {days(given.results)}",
        columns=("environment", "found"),
        rows=tuple((field, found[0][0][field]) for field in common),
    )
    differing = [field for field in every if field not in common]
    rows = [
        {"in": counted(number, "session"), **{field: fields.get(field, "") for field in differing}}
        for fields, number in sorted(found, key=lambda one: -one[1])
    ]
    folded = (first, Table.of(rows, title="What differs")) if differing else (first,)
    return section("report", "machine", points=tuple(dict.fromkeys(points)), folded=folded)


def sensed(given: ReportInput) -> dict[str, Any]:
    """What the sensors said of all sessions together, for sentences."""
    held = [t for t in given.sensed if t.throttled]
    return {
        "held": len(held),
        "sensed": len(given.sensed),
        "reasons": ", ".join(dict.fromkeys(reason for t in held for reason, _ in t.throttled)),
        "hottest": max((t.temperature_max_c for t in given.sensed if t.temperature_max_c), default=None),
    }


def cautions(given: ReportInput) -> Section:
    """A row for each kind of issue with what to do about it; behind them every one with its measurement."""
    every = [(m.config.label("batch"), issue) for m in map(raw, given.every) for issue in m.cautions]
    kinds = grouped(((issue.code, fix(issue)), name) for name, issue in every)
    each = grouped(((issue.code, issue.detail), name) for name, issue in every)
    if not every:
        none = f"None: no measurement of {counted(len(given.every), 'measurement')} has one."
        return section("report", "cautions", text=(none,))
    summed = Table.of(
        {"caution": code, "times": whole(len(of)), "of": some(of), "next step": step}
        for (code, step), of in sorted(kinds.items())
    )
    full = Table.of(
        {"caution": code, "of": ", ".join(dict.fromkeys(of)), "what": detail}
        for (code, detail), of in sorted(each.items())
    )
    return section("report", "cautions", tables=(summed,), folded=(full,))


def reproduce(given: ReportInput) -> Section:
    """The command of each session, and what checks whether the figures reproduce."""
    every = (words for r in given.results for words in (r.command, *(c.command for c in r.resumed)))
    code = "\n".join(dict.fromkeys(words for words in every if words))
    return section("report", "reproduce", text=said("report", "reproduce"), code=code)
