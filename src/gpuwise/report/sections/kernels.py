"""Where the time of a step goes: kinds of kernels, the slowest by name, and what bounds the speed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpuwise.model.result import Measurement
from gpuwise.report import charts
from gpuwise.report.charts.kernels import COLOURS, Shares
from gpuwise.report.kernels import slowest
from gpuwise.report.page import Figure, Section
from gpuwise.report.sections.material import Material, question, setting, value
from gpuwise.report.speeds import Measured
from gpuwise.report.table import Table
from gpuwise.units import percent

DRAWN = 16
"""Bars at most."""
FEW = 12
"""Rows of a table that is shown from the start."""
AS = {"transfer": "link", "collective": "link", "copy": "other"}
"""Kinds that are told together with others."""


def kernels(material: Material) -> Section:
    """Of the fastest answer to each question in each precision that was profiled."""
    chosen = _fastest([row for row in material.speeds if _whole(row.measurement)])
    table = _table(chosen, material.devices)
    drawn = [
        (f"{question(row.measurement)} {setting(row, devices=material.devices)}", shares(row.measurement))
        for row in chosen[:DRAWN]
    ]
    some = f", {DRAWN} of {len(chosen)}" if len(chosen) > DRAWN else ""
    figure = Figure(
        chart=charts.kernels(drawn),
        table=table,
        caption=f"Kernel time of a step by kind, the fastest configuration of each precision{some}.",
        opened=len(chosen) <= FEW,
    )
    return Section(
        id="kernels",
        title="Where the time goes",
        text=(
            "From up to ten steps under torch's profiler, after everything was timed. A step may also wait, "
            "for the host or for input: that is in what bounds it.",
        )
        * bool(chosen),
        figures=(figure,) if len(chosen) > 1 else (),
        tables=(table,) if len(chosen) == 1 else (),
    )


def _whole(m: Measurement) -> float:
    return sum(each.seconds for each in m.profile.kernels) if m.profile else 0.0


def shares(m: Measurement) -> Shares:
    """Share of each kind in the kernel time of a profiled measurement."""
    found: dict[str, float] = defaultdict(float)
    for each in m.profile.kernels if m.profile else ():
        found[AS.get(each.kind, each.kind)] += each.seconds / _whole(m)
    return found


def _fastest(rows: Sequence[Measured]) -> list[Measured]:
    """One for each question and precision, in the order in which they were measured."""
    best: dict[tuple[str, str], Measured] = {}
    for row in sorted(rows, key=value, reverse=True):
        best.setdefault((question(row.measurement), row.measurement.config.precision), row)
    return [row for row in rows if any(row is chosen for chosen in best.values())]


def _table(rows: Sequence[Measured], devices: Sequence[str]) -> Table:
    kinds = tuple(kind for kind in COLOURS if any(shares(row.measurement).get(kind) for row in rows))
    cells = []
    for row in rows:
        m, each = row.measurement, shares(row.measurement)
        told = tuple(percent(each[kind], 0) if each.get(kind) else "" for kind in kinds)
        bound = m.verdict.bound if m.verdict else ""
        cells.append((question(m), setting(row, devices=devices), bound, *told, slowest(m, most=3, lead="")))
    return Table(
        title="Kernel time by kind",
        columns=("measurement", "configuration", "bound by", *kinds, "slowest kernels"),
        rows=tuple(cells),
        numeric=frozenset(kinds),
    ).without_empty_columns()
