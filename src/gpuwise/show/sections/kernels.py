"""Where the time of a step goes: kinds of kernels, the slowest by name, and what bounds the speed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpuwise.model.result import Measurement
from gpuwise.model.units import percent
from gpuwise.show import charts
from gpuwise.show.charts.kernels import COLOURS, Shares
from gpuwise.show.kernels import names_of_slowest
from gpuwise.show.page import Figure, Section
from gpuwise.show.sections.material import Material, question, setting, value
from gpuwise.show.speeds import Measured
from gpuwise.show.table import Table

DRAWN = 16
"""Bars at most."""
FEW = 12
"""Rows of a table that is shown from the start."""
AS = {"transfer": "link", "collective": "link", "copy": "other"}
"""Kinds that are told together with others."""


def kernels(material: Material) -> Section:
    """Of the fastest answer to each question in each precision that was profiled."""
    chosen = _fastest([row for row in material.speeds if _profiled(row.measurement)])
    if not chosen:
        return Section(id="kernels", title="Where the time goes")
    parts = [(row, shares(row.measurement)) for row in chosen]
    table = _table(parts, material.devices)
    return Section(
        id="kernels",
        title="Where the time goes",
        text=(
            "From up to ten steps under torch's profiler, after everything was timed. A step may also wait, "
            "for the host or for input: that is in what bounds it.",
        ),
        figures=(_figure(parts, material.devices, table),) if len(parts) > 1 else (),
        tables=(table,) if len(parts) == 1 else (),
    )


def _profiled(m: Measurement) -> bool:
    return m.profile is not None and m.profile.kernel_s > 0


def shares(m: Measurement) -> Shares:
    """Share of each kind in the kernel time of a profiled measurement."""
    assert m.profile is not None
    found: dict[str, float] = defaultdict(float)
    for each in m.profile.kernels:
        found[AS.get(each.kind, each.kind)] += each.seconds / m.profile.kernel_s
    return found


def _fastest(rows: Sequence[Measured]) -> list[Measured]:
    """One for each question and precision, in the order in which they were measured."""
    best: dict[tuple[str, str], Measured] = {}
    for row in sorted(rows, key=value, reverse=True):
        best.setdefault(_asked(row), row)
    return [row for row in rows if best[_asked(row)] is row]


def _asked(row: Measured) -> tuple[str, str]:
    return question(row.measurement), row.measurement.config.precision


def _figure(parts: Sequence[tuple[Measured, Shares]], devices: Sequence[str], table: Table) -> Figure:
    some = f", {DRAWN} of {len(parts)}" if len(parts) > DRAWN else ""
    return Figure(
        chart=charts.kernels(
            [
                (f"{question(row.measurement)} {setting(row, devices=devices)}", each)
                for row, each in parts[:DRAWN]
            ]
        ),
        table=table,
        caption=f"Kernel time of a step by kind, the fastest configuration of each precision{some}.",
        opened=len(parts) <= FEW,
    )


def _table(parts: Sequence[tuple[Measured, Shares]], devices: Sequence[str]) -> Table:
    kinds = tuple(kind for kind in COLOURS if any(each.get(kind) for _, each in parts))
    cells = []
    for row, each in parts:
        m = row.measurement
        told = tuple(percent(each[kind], 0) if each.get(kind) else "" for kind in kinds)
        bound = m.verdict.bound if m.verdict else ""
        cells.append((question(m), setting(row, devices=devices), bound, *told, names_of_slowest(m, 3)))
    return Table(
        title="Kernel time by kind",
        columns=("measurement", "configuration", "bound by", *kinds, "slowest kernels"),
        rows=tuple(cells),
        numeric=frozenset(kinds),
    ).without_empty_columns()
