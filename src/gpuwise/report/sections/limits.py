"""Distance to the limits: what the hardware reached in the same session, and the data sheet's peaks.

roof(x) = min(compute limit, x * memory limit), x in operations per byte (Williams, Waterman and
Patterson, 2009). The limits are measured by a matrix product in each precision and a memory copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwise.model.result import Result
from gpuwise.report import charts
from gpuwise.report.charts.limits import Point, Roof
from gpuwise.report.page import Figure, Section
from gpuwise.report.results import cell_name, rate, spread
from gpuwise.report.sections.material import Material, question, value
from gpuwise.report.speeds import Measured
from gpuwise.report.table import Table
from gpuwise.units import percent, si, significant


def limits(material: Material) -> Section:
    """The measured limits beside the data sheet, and a roofline for each session that has both."""
    figures = tuple(
        figure for result in material.results for figure in _roofline(result, material) if figure is not None
    )
    return Section(
        id="limits",
        title="Distance to the limits",
        text=(
            "A point on its roof uses all of the nearer limit; the roofs are what this device reached in "
            "the same session, not the data sheet.",
        )
        * bool(figures),
        figures=figures,
        tables=(_limits(material.limits),) if material.limits else (),
    )


def _limits(rows: Sequence[Measured]) -> Table:
    cells = []
    for row in rows:
        m = row.measurement
        assert m.throughput is not None
        speed = rate(m.throughput.value, m.item) + spread(m.throughput)
        cautions = ", ".join(dict.fromkeys(c.code for c in m.cautions))
        cells.append((cell_name(m.config), speed, percent(m.mfu) if m.mfu else "", cautions, row.result.id))
    return Table(
        title="Measured limits",
        columns=("limit", "reached (95 %)", "of the data sheet's dense peak", "cautions", "session"),
        rows=tuple(cells),
        numeric=frozenset({"reached (95 %)", "of the data sheet's dense peak"}),
    ).without_empty_columns()


def roofs(result: Result) -> list[Roof]:
    """The compute limit of each precision with the memory limit, of one session."""
    measured = [m for m in result.measurements if m.config.mode == "limit" and m.throughput is not None]
    memory = next(
        (m.throughput.value for m in measured if m.config.workload == "copy" and m.throughput), None
    )
    if memory is None:
        return []
    return [
        (m.config.precision, m.throughput.value, memory)
        for m in measured
        if m.config.workload == "matmul" and m.throughput
    ]


def _roofline(result: Result, material: Material) -> Iterator[Figure]:
    found, points = roofs(result), list(_points(result, material))
    if not found or not points:
        return
    rows = tuple(
        (name, significant(intensity), si(speed, "FLOP/s"), share)
        for (_, _, intensity, speed), name, share in points
    )
    several = f" ({result.id})" if len(material.results) > 1 else ""
    yield Figure(
        chart=charts.roofline([point for point, _, _ in points], found),
        table=Table(
            title="Points of the roofline",
            columns=("measurement", "operations per byte", "reached", "of the nearer limit"),
            rows=rows,
            numeric=frozenset({"operations per byte", "reached"}),
            notes=("bytes are the least that a step must move; what is moved in fact is more",),
        ),
        caption=f"Roofline of {result.environment.device}{several}: {len(points)} measurements.",
    )


def _points(result: Result, material: Material) -> Iterator[tuple[Point, str, str]]:
    """Each measurement of which operations and bytes are known, with its name and its share of the limit."""
    for row in material.speeds:
        m = row.measurement
        if row.result is result and m.flop_per_item and m.bytes_per_item:
            name = f"{cell_name(m.config)} {m.config.recipe}, batch {m.batch}"
            share = f"{percent(m.limit_share, 0)} {m.limit}" if m.limit_share else ""
            intensity = m.flop_per_item / m.bytes_per_item
            point = (question(m), m.config.precision, intensity, value(row) * m.flop_per_item)
            yield point, name, share
