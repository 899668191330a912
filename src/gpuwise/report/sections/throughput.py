"""Throughput by workload, mode and configuration, and what did not end."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.report import charts
from gpuwise.report import results as tables
from gpuwise.report.page import Chart, Figure, Section
from gpuwise.report.sections.material import Material, questions, speed_mark, value
from gpuwise.report.speeds import Measured
from gpuwise.report.table import Table


def throughput(material: Material) -> Section:
    """Bars with 95 % intervals, a chart for each workload and mode, and the whole table."""
    figures = tuple(_figure(name, rows, material.devices) for name, rows in questions(material.speeds))
    return Section(
        id="throughput",
        title="Throughput",
        text=(
            "Items per second with the 95 % interval of the step times; a longer bar is faster. "
            "`tuned` is the best known recipe, `parity` the public script of a well-known benchmark.",
        ),
        figures=figures,
        tables=_failed(material),
    )


def _figure(name: str, rows: Sequence[Measured], devices: Sequence[str]) -> Figure:
    ordered = sorted(rows, key=value, reverse=True)
    return Figure(
        chart=charts.throughput([speed_mark(row, devices=devices) for row in ordered]),
        table=Table(
            title=name,
            columns=tables.COLUMNS,
            rows=tuple(tables.measurement_row(row.measurement) for row in ordered),
            numeric=tables.NUMERIC,
        ).without_empty_columns(),
        caption=f"{name}: {len(rows)} configurations (precision, compilation, batch), the fastest first.",
    )


def chart(material: Material) -> Chart | None:
    """All of it in one drawing, a block for each workload and mode; None without a speed."""
    rows = [row for _, of in questions(material.speeds) for row in sorted(of, key=value, reverse=True)]
    return charts.throughput([speed_mark(row, devices=material.devices) for row in rows]) if rows else None


def _failed(material: Material) -> tuple[Table, ...]:
    """What did not end, so that nobody takes it for forgotten."""
    rows = tuple(
        (tables.cell_name(m.config), m.status, (m.error or "").split("\n")[0])
        for m in (row.measurement for row in material.every)
        if m.status != "ok"
    )
    return (
        (Table(title="Not completed", columns=("measurement", "status", "why"), rows=rows),) if rows else ()
    )
