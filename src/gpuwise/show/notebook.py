"""Results, comparisons, predictions, recommendations and GPUs in a notebook: a table, and a chart where
vl-convert is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from functools import singledispatch
from importlib.util import find_spec

from gpuwise.model.answer import Comparison
from gpuwise.model.choice import Recommendation
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.record import Record
from gpuwise.model.result import Measurement, Result
from gpuwise.show import choice, gpus, predictions, results
from gpuwise.show.charts import Chart
from gpuwise.show.comparisons import rows_of
from gpuwise.show.html import fragment
from gpuwise.show.report import ReportInput, chart
from gpuwise.show.table import Table


@singledispatch
def html(value: object) -> str:
    """The HTML of a value. Raises TypeError for one that no page shows."""
    raise TypeError(f"{type(value).__name__} has no HTML")


@html.register
def _(value: Result) -> str:
    drawn = chart(ReportInput(results=(value,), today=date.today()))
    return _together([results.measurements(value)], drawn)


@html.register
def _(value: Measurement) -> str:
    row = Table(columns=results.COLUMNS, rows=(results.measurement_row(value),), numeric=results.NUMERIC)
    notes = tuple(f"{c.code}: {c.detail}. {c.fix}" for c in value.cautions)
    return _together([replace(row.without_empty_columns(), notes=(*notes, *results.details(value)))])


@html.register
def _(value: Comparison) -> str:
    return _together([rows_of([value])])


@html.register
def _(value: Record) -> str:
    return _together([predictions.table([value])])


@html.register
def _(value: Recommendation) -> str:
    return _together([choice.table(value, top=10), choice.rejections(value)])


@html.register
def _(value: GpuSpec) -> str:
    return _together([gpus.specification(value)])


def _together(tables: Sequence[Table], drawn: Chart | None = None) -> str:
    return fragment(tables, drawn if find_spec("vl_convert") else None)
