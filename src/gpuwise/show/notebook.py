"""Results, records, comparisons, recommendations and GPUs in a notebook: tables and charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import singledispatch

from gpuwise.model.gpu import GpuSpec
from gpuwise.model.judgement import Recommendation
from gpuwise.model.question import WORK
from gpuwise.model.result import Comparison, Measurement, Origin, Record, Records, Result, grouped
from gpuwise.show import choice, comparisons, gpus, predictions, records, results
from gpuwise.show.charts import Mark, Rows
from gpuwise.show.hardware import ReportInput
from gpuwise.show.html import fragment
from gpuwise.show.report import chart
from gpuwise.show.table import Table, amount

TABLES: Mapping[Origin, Callable[[Sequence[Record]], Table]] = {
    "measured": records.measured_table, "published": records.published_table, "predicted": predictions.table,
}  # fmt: skip


@singledispatch
def html(value: object) -> str:
    """The HTML of a value. Raises TypeError for one that no page shows."""
    raise TypeError(f"{type(value).__name__} has no HTML")


@html.register
def _(value: Result) -> str:
    return fragment([results.measurements(value)], chart(ReportInput(results=(value,), today=date.today())))


@html.register
def _(value: Measurement) -> str:
    row = Table.of([results.measurement_row(value)])
    notes = tuple(f"{c.code}: {c.detail}. {results.fix(c)}" for c in value.cautions)
    return fragment([replace(row, notes=(*notes, *results.details(value)))])


@html.register
def _(value: Comparison) -> str:
    return fragment([Table.of([comparisons.row(value)])])


@html.register
def _(value: Record) -> str:
    return fragment([TABLES[value.origin]([value])])


@html.register
def _(value: Records) -> str:
    # Bars of two workloads or units would not be comparable: each has a block of its own.
    marks = [
        Mark(
            label=f"{r.gpu_id}: {r.question.label(*WORK)}", value=r.throughput.value,
            low=r.throughput.low, high=r.throughput.high, group=work, colour=r.origin,
            shown=amount(r.throughput.value, r.item),
        )
        for work, rows in results.by_work(value).items()
        for r in rows
        if r.throughput is not None and r.question.mode != "limit"
    ]  # fmt: skip
    tables = [TABLES[origin](rows) for origin, rows in grouped((r.origin, r) for r in value).items()]
    return fragment(tables, Rows(marks=tuple(marks)) if marks else None)


@html.register
def _(value: Recommendation) -> str:
    tables, drawn = (choice.table(value, top=10), choice.rejections(value)), choice.figure(value)
    return fragment(tables, drawn.charts[0] if drawn else None)


@html.register
def _(value: GpuSpec) -> str:
    return fragment([gpus.specification(value)])
