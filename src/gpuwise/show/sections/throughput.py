"""Throughput by workload, mode and configuration, and what did not end."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.show import charts
from gpuwise.show import results as tables
from gpuwise.show.page import Chart, Figure, Section
from gpuwise.show.sections.material import Material, question, questions, setting, speed_marks, value
from gpuwise.show.speeds import Measured
from gpuwise.show.table import Table

DRAWN = 8
"""Workloads and modes that have a chart: of more, those with the most configurations."""
LONGER = "; a longer bar is faster"


def throughput(material: Material) -> Section:
    """Bars with 95 % intervals, a chart for each workload and mode, and the whole table."""
    found = questions(material.speeds)
    drawn = _most_configured(found)
    figures = [_figure(name, rows, material.devices) for name, rows in found if name in drawn]
    # A lone bar would say nothing: it is as long as its room.
    lone = [row for name, rows in found if name not in drawn for row in rows]
    rest = _table("Other workloads" if drawn else "Each workload in one configuration", lone)
    return Section(
        id="throughput",
        title="Throughput",
        text=(
            f"Items per second with the 95 % interval of the step times{LONGER * bool(drawn)}. "
            "Recipes: `stock` is the best of torch's own kernels, `tuned` runs gpuwise's, `script` is the "
            "public script of a well-known benchmark.",
        ),
        figures=tuple(figures),
        tables=(*((rest,) if rest.rows else ()), *_failed(material)),
    )


def _most_configured(found: Sequence[tuple[str, Sequence[Measured]]]) -> frozenset[str]:
    """The workloads and modes whose several configurations a chart compares."""
    number = {name: len({setting(row) for row in rows}) for name, rows in found}
    several = [name for name in number if number[name] > 1]
    return frozenset(sorted(several, key=lambda name: -number[name])[:DRAWN])


def _figure(name: str, rows: Sequence[Measured], devices: Sequence[str]) -> Figure:
    marks = speed_marks(rows, devices=devices)
    return Figure(
        chart=charts.throughput(marks),
        table=_table(name, sorted(rows, key=value, reverse=True), alone=True),
        caption=f"{name}: {len(marks)} configurations (precision, compilation, batch), the fastest first.",
    )


def _table(title: str, rows: Sequence[Measured], *, alone: bool = False) -> Table:
    """Every measurement with its configuration; of one question `alone` the title says which."""
    first = tables.COLUMNS.index("throughput (95 %)")
    cells = tuple(
        (question(row.measurement), setting(row), *tables.measurement_row(row.measurement)[first:])
        for row in rows
    )
    columns = ("workload", "configuration", *tables.COLUMNS[first:])
    kept = slice(1, None) if alone else slice(None)
    return Table(
        title=title, columns=columns[kept], rows=tuple(row[kept] for row in cells), numeric=tables.NUMERIC
    ).without_empty_columns()


def chart(material: Material) -> Chart | None:
    """All of it in one drawing, a block for each workload and mode; None without a speed."""
    found = questions(material.speeds)
    marks = [mark for _, rows in found for mark in speed_marks(rows, devices=material.devices)]
    return charts.throughput(marks) if marks else None


def _failed(material: Material) -> tuple[Table, ...]:
    """What did not end, so that nobody takes it for forgotten."""
    rows = tuple(
        (tables.cell_name(m.config), m.status, (m.error or "").split("\n")[0])
        for m in (row.measurement for row in material.every)
        if m.status != "ok"
    )
    table = Table(title="Not completed", columns=("measurement", "status", "why"), rows=rows)
    return (table.without_empty_columns(),) if rows else ()
