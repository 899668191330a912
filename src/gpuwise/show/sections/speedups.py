"""What compiling and a reduced precision gain: ratios of two measurements that differ in one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpuwise.model.precision import Precision
from gpuwise.model.result import Interval
from gpuwise.model.run import RunConfig
from gpuwise.show import charts
from gpuwise.show.charts import Mark
from gpuwise.show.page import Figure, Section
from gpuwise.show.results import rate
from gpuwise.show.sections.material import Material, question, setting, way
from gpuwise.show.speeds import Measured
from gpuwise.show.table import Table
from gpuwise.stats import ratio_of

Pair = tuple[Measured, Measured]
"""(base, other)."""


def speedups(material: Material) -> Section:
    """Compiled over eager, and each reduced precision over real fp32."""
    compiled = _compiled(material)
    reduced = list(_pairs(material.speeds, lambda c: replace(c, precision=Precision.FP32)))
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
    return [_gain(*pair) for pair in _compiled(material)]


def _compiled(material: Material) -> list[Pair]:
    return list(_pairs(material.speeds, lambda c: replace(c, compile=False)))


def _pairs(rows: Sequence[Measured], base_of: Callable[[RunConfig], RunConfig]) -> Iterator[Pair]:
    """Each measurement with the one of its session that ran its configuration's base, at the same batch."""
    found = {_ran(row, row.measurement.config): row for row in rows}
    for row in rows:
        config = row.measurement.config
        base = found.get(_ran(row, base_of(config)))
        if base is not None and base_of(config) != config:
            yield base, row


def _ran(row: Measured, config: RunConfig) -> tuple[object, ...]:
    """What a measurement of this session and batch would have run; the batch that was asked may differ."""
    m = row.measurement
    return row.result.id, replace(config, batch=None), m.batch, m.workload_version


def _gain(base: Measured, other: Measured) -> Interval:
    assert base.measurement.throughput is not None
    assert other.measurement.throughput is not None
    return ratio_of(base.measurement.throughput, other.measurement.throughput)


def _figure(pairs: Sequence[Pair], what: str, caption: str) -> Figure | None:
    if not pairs:
        return None
    ordered = sorted(pairs, key=_order)
    gains = [_gain(*pair).value for pair in pairs]
    return Figure(
        chart=charts.ratios(_marks(ordered), title=what),
        table=_table(ordered, what),
        caption=f"{caption}: {min(gains):.2f} to {max(gains):.2f} times the speed, {len(gains)} pairs.",
    )


def _order(pair: Pair) -> tuple[str, float]:
    return question(pair[1].measurement), -_gain(*pair).value


def _marks(pairs: Sequence[Pair]) -> list[Mark]:
    """A point for each setting: its gain, or the middle one of several sessions between their ends."""
    alike: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        alike.setdefault((question(pair[1].measurement), setting(pair[1])), []).append(pair)
    return [_mark(same, *named) for named, same in alike.items()]


def _mark(same: Sequence[Pair], group: str, label: str) -> Mark:
    gains = [_gain(*pair) for pair in same]
    found = gains[len(gains) // 2]
    return Mark(
        label=label + (f", {len(same)} sessions" if len(same) > 1 else ""),
        group=group,
        value=found.value,
        low=min(gain.low for gain in gains),
        high=max(gain.high for gain in gains),
        colour=same[0][1].measurement.config.precision,
    )


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
        m = other.measurement
        rows.append((f"{question(m)} {way(m.config)}", str(m.batch or ""), *speeds, ratio))
    return Table(
        title=what,
        columns=("measurement", "batch", "base", "speed", "ratio (95 %)"),
        rows=tuple(rows),
        numeric=frozenset({"batch", "base", "speed", "ratio (95 %)"}),
    )
