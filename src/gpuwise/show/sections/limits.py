"""Distance to the limits: what the hardware reached in the same session, and the data sheet's peaks.

roof(x) = min(compute limit, x * memory limit), x in operations per byte (Williams, Waterman and
Patterson, 2009). The limits are measured by a matrix product in each precision and a memory copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuwise.model.result import Result
from gpuwise.model.units import percent, si, significant
from gpuwise.show import charts
from gpuwise.show.charts.limits import Point, Roof
from gpuwise.show.page import Figure, Section
from gpuwise.show.results import cell_name, counted, rate, spread
from gpuwise.show.sections.material import Material, question, value, way
from gpuwise.show.speeds import Measured
from gpuwise.show.table import Table


def limits(material: Material) -> Section:
    """The measured limits beside the data sheet, and a roofline for each device that has both."""
    drawn = (_roofline(device, material) for device in material.devices)
    figures = tuple(figure for figure in drawn if figure is not None)
    several = len(material.results) > 1
    return Section(
        id="limits",
        title="Distance to the limits",
        text=(
            "A point on its roof uses all of the nearer limit; the roofs are the most that the device "
            f"reached in {'any of the sessions' if several else 'the same session'}, not the data sheet.",
        )
        * bool(figures),
        figures=figures,
        tables=(_limits(material),) if material.limits else (),
    )


def _limits(material: Material) -> Table:
    """The highest of each limit, and the lowest where there are several sessions."""
    found: dict[tuple[str, str], list[Measured]] = {}
    for row in sorted(material.limits, key=value, reverse=True):
        device = row.result.environment.device if len(material.devices) > 1 else ""
        found.setdefault((cell_name(row.measurement.config), device), []).append(row)
    columns = ("limit", "device", "reached (95 %)", "dense peak", "measured", "lowest", "cautions")
    return Table(
        title="Measured limits",
        columns=columns,
        rows=tuple((*named, *_reached(rows)) for named, rows in sorted(found.items())),
        numeric=frozenset(columns[2:6]),
        notes=("dense peak: share of the data sheet's",),
    ).without_empty_columns()


def _reached(rows: Sequence[Measured]) -> tuple[str, ...]:
    m, several = rows[0].measurement, len(rows) > 1
    assert m.throughput is not None
    return (
        rate(m.throughput.value, m.item) + spread(m.throughput),
        percent(m.mfu) if m.mfu else "",
        f"{len(rows)} times" if several else "",
        rate(value(rows[-1]), m.item) if several else "",
        ", ".join(dict.fromkeys(c.code for row in rows for c in row.measurement.cautions)),
    )


def roofs(results: Sequence[Result]) -> list[Roof]:
    """The most that a device reached in each precision, with the most of its memory."""
    compute: dict[str, float] = {}
    memory = 0.0
    for m in (m for result in results for m in result.measurements if m.config.mode == "limit"):
        speed = m.throughput.value if m.throughput else 0.0
        if m.config.workload == "copy":
            memory = max(memory, speed)
        elif m.config.workload == "matmul":
            compute[m.config.precision] = max(compute.get(m.config.precision, 0.0), speed)
    return [(precision, speed, memory) for precision, speed in compute.items() if speed and memory]


def _roofline(device: str, material: Material) -> Figure | None:
    found = roofs([result for result in material.results if result.environment.device == device])
    points = list(_points(device, material))
    if not found or not points:
        return None
    rows = tuple(
        (name, significant(intensity), si(speed, "FLOP/s"), share)
        for (_, _, intensity, speed), name, share in points
    )
    return Figure(
        chart=charts.roofline(_fastest([point for point, _, _ in points]), found),
        table=Table(
            title="Points of the roofline",
            columns=("measurement", "operations per byte", "reached by a GPU", "of the nearer limit"),
            rows=rows,
            numeric=frozenset({"operations per byte", "reached by a GPU"}),
            notes=("bytes are the least that a step must move; what is moved in fact is more",),
        ),
        caption=f"Roofline of {device}: the fastest of each workload in each precision, out of "
        f"{counted(len(points), 'measurement')}.",
    )


def _fastest(points: Sequence[Point]) -> list[Point]:
    """One point for each question and precision."""
    return list({point[:2]: point for point in sorted(points, key=lambda point: point[3])}.values())


def _points(device: str, material: Material) -> Iterator[tuple[Point, str, str]]:
    """Each measurement of which operations and bytes are known, with its name and its share of the limit."""
    for row in material.speeds:
        m = row.measurement
        if row.result.environment.device == device and m.flop_per_item and m.bytes_per_item:
            name = f"{question(m)} {way(m.config)}, batch {m.batch}"
            share = f"{percent(m.limit_share, 0)} {m.limit}" if m.limit_share else ""
            each = value(row) * m.flop_per_item / m.config.gpus
            yield (question(m), m.config.precision, m.flop_per_item / m.bytes_per_item, each), name, share
