"""What compiling and a reduced precision gain: ratios of two measurements that differ in one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpuwise.model.result import Interval, Measurement
from gpuwise.report import charts
from gpuwise.report.charts import Mark
from gpuwise.report.page import Figure, Section
from gpuwise.report.results import rate
from gpuwise.report.sections.material import Material, question, setting
from gpuwise.report.speeds import Measured
from gpuwise.report.table import Table
from gpuwise.stats import ratio_of

Pair = tuple[Measured, Measured]
"""(base, other)."""


def speedups(material: Material) -> Section:
    """Compiled over eager, and each reduced precision over real fp32."""
    compiled = list(_pairs(material.speeds, _but_compile, lambda m: not m.config.compile))
    reduced = list(_pairs(material.speeds, _but_precision, lambda m: m.config.precision == "fp32"))
    figures = (
        _figure(compiled, "compiled over eager", "What compiling gains, by workload and precision"),
        _figure(reduced, "speed over fp32", "What a reduced precision gains over real fp32, TF32 off"),
    )
    shown = tuple(figure for figure in figures if figure is not None)
    return Section(
        id="speed-ups",
        title="Compile and mixed precision",
        text=("Each ratio is of two measurements of one session that differ in nothing else.",) * bool(shown),
        figures=shown,
    )


def compile_gains(material: Material) -> list[Interval]:
    """Every ratio of compiled over eager."""
    return [_gain(*pair) for pair in _pairs(material.speeds, _but_compile, lambda m: not m.config.compile)]


def _but_compile(m: Measurement) -> tuple[object, ...]:
    c = m.config
    return (c.workload, c.mode, c.precision, c.recipe, m.batch, c.size, c.gpus, c.scaling, m.workload_version)


def _but_precision(m: Measurement) -> tuple[object, ...]:
    c = m.config
    return (c.workload, c.mode, c.compile, c.recipe, m.batch, c.size, c.gpus, c.scaling, m.workload_version)


def _pairs(
    rows: Sequence[Measured],
    same: Callable[[Measurement], tuple[object, ...]],
    is_base: Callable[[Measurement], bool],
) -> Iterator[Pair]:
    """Each measurement with the base of its session that is the `same` otherwise."""
    bases = {(row.result.id, same(row.measurement)): row for row in rows if is_base(row.measurement)}
    for row in rows:
        base = bases.get((row.result.id, same(row.measurement)))
        if base is not None and not is_base(row.measurement):
            yield base, row


def _gain(base: Measured, other: Measured) -> Interval:
    assert base.measurement.throughput is not None
    assert other.measurement.throughput is not None
    return ratio_of(base.measurement.throughput, other.measurement.throughput)


def _figure(pairs: Sequence[Pair], what: str, caption: str) -> Figure | None:
    if not pairs:
        return None
    ordered = sorted(pairs, key=_order)
    marks = [_mark(pair) for pair in ordered]
    gains = [mark.value for mark in marks]
    return Figure(
        chart=charts.ratios(marks, title=what),
        table=_table(ordered, what),
        caption=f"{caption}: {min(gains):.2f} to {max(gains):.2f} times the speed, {len(gains)} pairs.",
    )


def _order(pair: Pair) -> tuple[str, float]:
    return question(pair[1].measurement), -_gain(*pair).value


def _mark(pair: Pair) -> Mark:
    found, m = _gain(*pair), pair[1].measurement
    return Mark(
        label=setting(pair[1]),
        group=question(m),
        value=found.value,
        low=found.low,
        high=found.high,
        colour=m.config.precision,
        shown=f"{found.value:.2f}x",
    )


def _name(m: Measurement) -> str:
    how = "compiled" if m.config.compile else "eager"
    return f"{question(m)} {m.config.precision} {how} {m.config.recipe}"


def _table(pairs: Sequence[Pair], what: str) -> Table:
    rows = []
    for base, other in pairs:
        found = _gain(base, other)
        speeds = [
            rate(row.measurement.throughput.value, row.measurement.item)
            for row in (base, other)
            if row.measurement.throughput is not None
        ]
        ratio = f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"
        rows.append((_name(other.measurement), str(other.measurement.batch or ""), *speeds, ratio))
    return Table(
        title=what,
        columns=("measurement", "batch", "base", "speed", "ratio (95 %)"),
        rows=tuple(rows),
        numeric=frozenset({"batch", "base", "speed", "ratio (95 %)"}),
    )
