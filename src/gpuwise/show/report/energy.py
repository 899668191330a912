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
from gpuwise.show.page import Figure, References, Section
from gpuwise.show.prices import MILLION, exact, million
from gpuwise.show.report.input import ReportInput
from gpuwise.show.results import by_work, per_joule, value
from gpuwise.show.table import Table
from gpuwise.show.theme import Mark

JOULES_PER_KWH = 3.6e6
# Workloads that are drawn: those measured in the most precisions.
DRAWN = 3


def energy(given: ReportInput, cited: References) -> Section:
    """Items per joule, and what a million items take of energy and of rent."""
    title = "Energy and cost of an item"
    rents = {gpu_id: exact(given.offers, gpu_id) for gpu_id in given.gpu_ids}
    spreads = {gpu_id: prices.spread(offers, "on-demand") for gpu_id, offers in rents.items()}
    if not any(row.items_per_joule for row in given.speeds) and not any(rents.values()):
        return Section(id="energy", title=title)
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
    rows, drawn = [], []
    for name, alike in by_work(given.speeds).items():
        best: dict[str, Record] = {}
        for row in sorted(alike, key=lambda row: (row.items_per_joule or 0.0, value(row)), reverse=True):
            best.setdefault(row.question.precision or "?", row)
        for precision, row in best.items():
            each, spread, watt = row.items_per_joule, spreads.get(row.gpu_id), row.watts
            how = row.question.label(*WORK) + (f", {row.gpu_id}" if len(given.devices) > 1 else "")
            kwh = MILLION / each / JOULES_PER_KWH if each else 0.0
            rows.append({
                "measurement": row.question.label(*HOW),
                "configuration": how,
                "efficiency": per_joule(each, row.item) if each else "",
                "mean power": watts(watt.value) if watt else "",
                "energy of a million": Amount(f"{significant(kwh)} kWh", kwh, "kWh") if each else "",
                "rent of a million": million(value(row), spread.median * row.gpus) if spread else "",
            })  # fmt: skip
            if each:
                drawn.append(Mark(
                    label=how, value=each, low=each, high=each, group=name, colour=precision,
                    shown=per_joule(each, row.item),
                ))  # fmt: skip
    table = Table.of(rows, title="Most efficient configuration of each precision")
    number = Counter(mark.group for mark in drawn)
    groups = [group for group, count in number.most_common(DRAWN) if count > 1]
    caption = "Items per joule of the device alone, the most efficient configuration of each precision."
    marks_ = tuple(mark for mark in drawn if mark.group in groups)
    figures = (Figure(table=table, caption=caption, marks=marks_),) if groups else ()
    return Section(
        id="energy", title=title, text=tuple(lines), figures=figures, tables=() if figures else (table,)
    )
