"""Energy and money of an item: watts that were measured, rents that were seen.

energy of a million items   = watts / (items per second) * 1e6 / 3.6e6   kWh
rent of a million items     = rent of an hour / (items per second * 3600) * 1e6
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpuwise.facts import prices
from gpuwise.model.offer import Offer
from gpuwise.model.units import significant
from gpuwise.show import charts
from gpuwise.show.charts import Mark
from gpuwise.show.page import Figure, References, Section
from gpuwise.show.prices import usd
from gpuwise.show.rents import MILLION, dollars, million
from gpuwise.show.rents import exact as rents_of
from gpuwise.show.results import per_joule
from gpuwise.show.sections.material import Material, question, questions, setting, value
from gpuwise.show.speeds import Measured
from gpuwise.show.table import Table

JOULES_PER_KWH = 3.6e6
DRAWN = 8
"""Questions that are drawn."""
FEW = 12
"""Rows of a table that is shown from the start."""


def energy(material: Material, references: References) -> Section:
    """Items per joule, and what a million items take of energy and of rent."""
    rents = {gpu_id: rents_of(material.offers, gpu_id) for gpu_id in material.gpu_ids}
    if not any(row.measurement.items_per_joule for row in material.speeds) and not any(rents.values()):
        return Section(id="energy", title="Energy and cost")
    chosen = [row for _, of in questions(material.speeds) for row in _most_efficient(of)]
    table = _table(chosen, material, rents)
    figure = _figure(chosen, material.devices, table)
    return Section(
        id="energy",
        title="Energy and cost of an item",
        text=_notes(rents, references),
        figures=(figure,) if figure else (),
        tables=() if figure else (table,),
    )


def _figure(chosen: Sequence[Measured], devices: Sequence[str], table: Table) -> Figure | None:
    """Bars of the questions that were measured in the most precisions; None where none was in several."""
    marks = [_mark(row, devices) for row in chosen if row.measurement.items_per_joule]
    number = Counter(mark.group for mark in marks)
    drawn = [group for group, count in number.most_common(DRAWN) if count > 1]
    several = [mark for mark in marks if mark.group in drawn]
    if not several:
        return None
    return Figure(
        chart=charts.energy(several),
        table=table,
        caption="Items per joule of the device alone, the most efficient configuration of each precision.",
        opened=len(chosen) <= FEW,
    )


def _most_efficient(rows: Sequence[Measured]) -> list[Measured]:
    best: dict[str, Measured] = {}
    for row in sorted(rows, key=lambda row: (_efficiency(row), value(row)), reverse=True):
        best.setdefault(row.measurement.config.precision, row)
    return list(best.values())


def _efficiency(row: Measured) -> float:
    return row.measurement.items_per_joule or 0.0


def _mark(row: Measured, devices: Sequence[str]) -> Mark:
    m, each = row.measurement, _efficiency(row)
    return Mark(
        label=setting(row, devices=devices),
        value=each,
        low=each,
        high=each,
        group=question(m),
        colour=m.config.precision,
        shown=per_joule(each, m.item),
    )


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


def _table(rows: Sequence[Measured], material: Material, rents: dict[str, tuple[Offer, ...]]) -> Table:
    medians = {
        gpu_id: found.median for gpu_id, o in rents.items() if (found := prices.spread(o, "on-demand"))
    }
    cells = [_cost(row, medians.get(row.result.environment.gpu_id or ""), material.devices) for row in rows]
    columns = (
        "measurement",
        "configuration",
        "efficiency",
        "mean power",
        "energy of a million",
        "rent of a million",
    )
    return Table(
        title="Most efficient configuration of each precision",
        columns=columns,
        rows=tuple(cells),
        numeric=frozenset(columns[2:]),
    ).without_empty_columns()


def _cost(row: Measured, hourly: float | None, devices: Sequence[str]) -> tuple[str, ...]:
    m, each = row.measurement, row.measurement.items_per_joule
    return (
        question(m),
        setting(row, devices=devices),
        per_joule(each, m.item) if each else "",
        _watts(row),
        f"{significant(MILLION / each / JOULES_PER_KWH)} kWh" if each else "",
        dollars(million(value(row), hourly * m.config.gpus)) if hourly else "",
    )
