"""Energy and money of an item: watts that were measured, rents that were seen.

energy of a million items   = watts / (items per second) * 1e6 / 3.6e6   kWh
rent of a million items     = rent of an hour / (items per second * 3600) * 1e6
"""

from __future__ import annotations

from collections import Counter

from gpuwise.facts import prices
from gpuwise.model.question import HOW, WORK
from gpuwise.model.record import Record
from gpuwise.model.units import Amount, significant, usd, watts
from gpuwise.show import charts
from gpuwise.show.charts import Mark
from gpuwise.show.page import Figure, References, Section
from gpuwise.show.prices import MILLION, exact, million
from gpuwise.show.report.input import ReportInput
from gpuwise.show.results import by_work, per_joule, value
from gpuwise.show.table import Table

JOULES_PER_KWH = 3.6e6
# Workloads that are drawn: those measured in the most precisions.
DRAWN = 3


def energy(given: ReportInput, cited: References) -> Section:
    """Items per joule, and what a million items take of energy and of rent."""
    rents = {gpu_id: exact(given.offers, gpu_id) for gpu_id in given.gpu_ids}
    spreads = {gpu_id: prices.spread(offers, "on-demand") for gpu_id, offers in rents.items()}
    if not any(row.items_per_joule for row in given.speeds) and not any(rents.values()):
        return Section(id="energy", title="Energy and cost")
    # A device is half of a machine that trains: readers multiply its figure by their bill.
    lines = ["Energy is of the device alone: host, cooling and idle time come on top."]
    for gpu_id, found in spreads.items():
        if found is None:
            lines.append(f"No on-demand rent of {gpu_id} is known, so no cost is given.")
            continue
        newest = max(offer.seen_on for offer in rents[gpu_id]) or "an unknown day"
        marks = cited.mark(*(offer.source for offer in rents[gpu_id]))
        lines.append(
            f"The rent of {gpu_id} is the median of {found.offers} on-demand offers, {usd(found.median)} "
            f"per GPU-hour ({usd(found.lowest)} to {usd(found.highest)}), the newest of {newest} {marks}."
        )
    chosen = [row for rows in by_work(given.speeds).values() for row in _most_efficient(rows)]
    rows, drawn = [], []
    for row in chosen:
        each, spread, watt = row.items_per_joule, spreads.get(row.gpu_id), row.watts
        name, how = row.question.label(*HOW), row.question.label(*WORK)
        how += f", {row.gpu_id}" if len(given.devices) > 1 else ""
        kwh = MILLION / each / JOULES_PER_KWH if each else 0.0
        rows.append((
            name, how, per_joule(each, row.item) if each else "", watts(watt.value) if watt else "",
            Amount(f"{significant(kwh)} kWh", kwh, "kWh") if each else "",
            million(value(row), spread.median * row.gpus) if spread else "",
        ))  # fmt: skip
        if each:
            drawn.append(Mark(
                label=how, value=each, low=each, high=each, group=name, colour=row.question.precision or "?",
                shown=per_joule(each, row.item),
            ))  # fmt: skip
    columns = (
        "measurement", "configuration", "efficiency", "mean power", "energy of a million",
        "rent of a million",
    )  # fmt: skip
    table = Table(
        title="Most efficient configuration of each precision", columns=columns, rows=tuple(rows),
        numeric=frozenset(columns[2:]),
    ).without_empty_columns()  # fmt: skip
    number = Counter(mark.group for mark in drawn)
    groups = [group for group, count in number.most_common(DRAWN) if count > 1]
    several = [mark for mark in drawn if mark.group in groups]
    figure = Figure(
        chart=charts.bars(several, description="Items per joule", colour_title="precision"), table=table,
        caption="Items per joule of the device alone, the most efficient configuration of each precision.",
        marks=tuple(several),
    ) if several else None  # fmt: skip
    return Section(
        id="energy",
        title="Energy and cost of an item",
        text=tuple(lines),
        figures=(figure,) if figure else (),
        tables=() if figure else (table,),
    )


def _most_efficient(rows: list[Record]) -> list[Record]:
    """One for each precision."""
    best: dict[str, Record] = {}
    for row in sorted(rows, key=lambda row: (row.items_per_joule or 0.0, value(row)), reverse=True):
        best.setdefault(row.question.precision or "?", row)
    return list(best.values())
