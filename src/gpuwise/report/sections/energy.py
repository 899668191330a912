"""Energy and money of an item: watts that were measured, rents that were seen.

energy of a million items   = watts / (items per second) * 1e6 / 3.6e6   kWh
rent of a million items     = rent of an hour / (items per second * 3600) * 1e6
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuwise import prices
from gpuwise.model.offer import Offer
from gpuwise.report import charts
from gpuwise.report.charts import Mark
from gpuwise.report.page import Figure, References, Section
from gpuwise.report.prices import usd
from gpuwise.report.rents import MILLION, dollars, million
from gpuwise.report.rents import exact as rents_of
from gpuwise.report.results import per_joule
from gpuwise.report.sections.material import Material, question, questions, setting, speed_mark, value
from gpuwise.report.speeds import Measured
from gpuwise.report.table import Table
from gpuwise.units import significant

JOULES_PER_KWH = 3.6e6


def energy(material: Material, references: References) -> Section:
    """Items per joule, and what a million items take of energy and of rent."""
    rents = {gpu_id: rents_of(material.offers, gpu_id) for gpu_id in material.gpu_ids}
    if not any(row.measurement.items_per_joule for row in material.speeds) and not any(rents.values()):
        return Section(id="energy", title="Energy and cost")
    chosen = _chosen(material.speeds)
    efficient = [row for row in chosen if row.measurement.items_per_joule]
    return Section(
        id="energy",
        title="Energy and cost of an item",
        text=_notes(rents, references),
        figures=(_figure(efficient, material.devices),) if efficient else (),
        tables=(_costs(chosen, material, rents),),
    )


def _chosen(rows: Sequence[Measured]) -> list[Measured]:
    """The most efficient configuration of each precision, question by question."""
    return [row for _, of in questions(rows) for row in _most_efficient(of)]


def _figure(chosen: Sequence[Measured], devices: Sequence[str]) -> Figure:
    marks = [_mark(row, devices) for row in chosen]
    cells = tuple(
        (question(row.measurement), mark.label, per_joule(mark.value, row.measurement.item), _watts(row))
        for mark, row in zip(marks, chosen, strict=True)
    )
    return Figure(
        chart=charts.energy(marks),
        table=Table(
            title="Items per joule",
            columns=("measurement", "configuration", "efficiency", "mean power"),
            rows=cells,
            numeric=frozenset({"efficiency", "mean power"}),
        ),
        caption="Items per joule of the device alone, the most efficient configuration of each precision.",
    )


def _most_efficient(rows: Sequence[Measured]) -> list[Measured]:
    best: dict[str, Measured] = {}
    for row in sorted(rows, key=lambda row: (_efficiency(row), value(row)), reverse=True):
        best.setdefault(row.measurement.config.precision, row)
    return list(best.values())


def _efficiency(row: Measured) -> float:
    return row.measurement.items_per_joule or 0.0


def _mark(row: Measured, devices: Sequence[str]) -> Mark:
    each, item = _efficiency(row), row.measurement.item
    group = f"{question(row.measurement)}, {item}s per joule"
    bar = speed_mark(row, devices=devices)
    return replace(bar, value=each, low=each, high=each, group=group, shown=significant(each))


def _watts(row: Measured) -> str:
    told = row.measurement.telemetry
    return f"{told.power_w:.0f} W" if told and told.power_w else ""


def _notes(rents: dict[str, tuple[Offer, ...]], references: References) -> tuple[str, ...]:
    lines = ["Energy is of the device alone: host, cooling and idle time come on top."]
    for gpu_id, offers in rents.items():
        found = prices.spread(offers, "on-demand")
        if found is None:
            lines.append(f"No on-demand rent of {gpu_id} is known, so no cost is given.")
            continue
        newest = max(offer.seen_on for offer in offers) or "an unknown day"
        cited = references.mark(*(offer.source for offer in offers))
        lines.append(
            f"The rent of {gpu_id} is the median of {found.offers} on-demand offers, {usd(found.median)} USD "
            f"per GPU-hour ({usd(found.lowest)} to {usd(found.highest)}), the newest of {newest} {cited}."
        )
    return tuple(lines)


def _costs(rows: Sequence[Measured], material: Material, rents: dict[str, tuple[Offer, ...]]) -> Table:
    medians = {
        gpu_id: found.median for gpu_id, o in rents.items() if (found := prices.spread(o, "on-demand"))
    }
    cells = [_cost(row, medians.get(row.result.environment.gpu_id or ""), material.devices) for row in rows]
    return Table(
        title="A million items, most efficient configuration of each precision",
        columns=("measurement", "configuration", "unit", "energy", "rent"),
        rows=tuple(cells),
        numeric=frozenset({"energy", "rent"}),
    ).without_empty_columns()


def _cost(row: Measured, hourly: float | None, devices: Sequence[str]) -> tuple[str, ...]:
    m, each = row.measurement, row.measurement.items_per_joule
    energy = f"{significant(MILLION / each / JOULES_PER_KWH)} kWh" if each else ""
    rent = dollars(million(value(row), hourly)) if hourly else ""
    return (question(m), setting(row, devices=devices), f"a million {m.item}s", energy, rent)
