"""How throughput grows with the batch, as measured, and with the number of GPUs, as published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpuwise.model.published import PublishedResult
from gpuwise.model.result import Interval
from gpuwise.model.units import percent
from gpuwise.show import charts
from gpuwise.show.charts import Mark
from gpuwise.show.known import UNTOLD, stated
from gpuwise.show.page import Figure, References, Section
from gpuwise.show.results import rate, spread
from gpuwise.show.sections.material import Material, question, way
from gpuwise.show.speeds import Measured
from gpuwise.show.table import Table

DRAWN = 6
"""Curves over the batch that are drawn: of more, those with the most points."""
Points = dict[int, float]
"""Throughput by batch."""
Point = tuple[int, Interval, str, str]
"""(GPUs, items per second of all together, item, where it is from)."""
Curve = tuple[str, Sequence[Point], str, str]
"""(what ran, points from one GPU on, origin, who says so)."""
CURVED = 3
"""Points from which a line says more than the share of linear at its end."""


def scaling(material: Material, references: References) -> Section:
    """A curve over the batch for each item, and one over GPUs for each published series."""
    measured = {row.measurement.config.workload for row in material.speeds}
    published = [row for row in material.published if row.workload in measured]
    curves = sorted(_by_batch(material), key=lambda figure: -len(figure.table.rows))
    gpus = (*_measured_gpus(material), *_by_gpus(published, references))
    return Section(
        id="scaling",
        title="Scaling",
        figures=(*curves[:DRAWN], *gpus_figures(gpus)),
        tables=gpus_tables(gpus),
        folded=tuple(figure.table for figure in curves[DRAWN:]),
    )


def _by_batch(material: Material) -> Iterator[Figure]:
    """From the trials of the batch search and from measurements at several batches."""
    curves: dict[tuple[str, str], dict[str, Points]] = defaultdict(lambda: defaultdict(dict))
    for row in material.speeds:
        m = row.measurement
        if m.config.gpus > 1:
            continue
        trials = {
            t.batch: t.items_per_s for t in m.batch_trials if t.items_per_s and t.compiled == m.config.compile
        }
        points = curves[question(m), m.item][way(m.config)]
        for batch, speed in trials.items():
            points.setdefault(batch, speed)  # a trial is short: a measurement of that batch says more
        if m.batch and m.throughput:
            points[m.batch] = m.throughput.value
    for (title, item), found in curves.items():
        several = {name: points for name, points in found.items() if len(points) > 1}
        if several:
            yield _batch_figure(title, item, several)


def _batch_figure(title: str, item: str, curves: dict[str, Points]) -> Figure:
    marks = [
        Mark(label=str(batch), value=speed, low=speed, high=speed, colour=name)
        for name, points in curves.items()
        for batch, speed in sorted(points.items())
    ]
    rows = tuple((mark.colour, mark.label, rate(mark.value, item)) for mark in marks)
    return Figure(
        chart=charts.batches(marks, item=item),
        table=Table(
            title=f"{title} by batch size",
            columns=("configuration", "batch", "throughput"),
            rows=rows,
            numeric=frozenset({"batch", "throughput"}),
            notes=("trials of the batch search are short; the batch that was kept has its full measurement",),
        ),
        caption=f"{title}: throughput by batch size.",
    )


def _measured_gpus(material: Material) -> Iterator[Curve]:
    """Throughput over GPUs that worked together, of each cell measured at several counts."""
    found: dict[tuple[str, int | None, str], dict[int, Measured]] = defaultdict(dict)
    for row in material.speeds:
        m = row.measurement
        one = f"{question(m)} {way(replace(m.config, gpus=1, nodes=1))}"
        if m.config.gpus == 1 or m.config.scaling == "weak":
            found[one, m.batch, row.result.environment.device].setdefault(m.config.gpus, row)
    for (name, _, _), counts in found.items():
        if 1 in counts and len(counts) > 1:
            points = [_point(counts[n], n) for n in sorted(counts)]
            yield name, points, "measured", "with the whole batch on each"


def _point(row: Measured, count: int) -> Point:
    m = row.measurement
    assert m.throughput is not None
    return count, m.throughput, m.item, row.result.id


Series = tuple[str, str, str, str, object, str]
"""GPU, workload, mode, precision, compiled, source and framework of one published curve."""


def series(rows: Sequence[PublishedResult]) -> dict[Series, list[PublishedResult]]:
    """Published figures of one GPU, one network and one source at several counts; none that a check flags."""
    found: dict[Series, dict[int, PublishedResult]] = defaultdict(dict)
    for row in rows:
        if row.cautions or row.gpu_id is None or row.precision == UNTOLD:
            continue
        key = (
            row.gpu_id,
            row.workload,
            row.mode,
            row.precision,
            row.compiled,
            f"{row.source.id} {row.framework}",
        )
        now = found[key].get(row.n_gpus)
        if now is None or row.throughput > now.throughput:
            found[key][row.n_gpus] = row
    return {
        key: [by_count[n] for n in sorted(by_count)]
        for key, by_count in found.items()
        if 1 in by_count and len(by_count) > 1
    }


def _by_gpus(rows: Sequence[PublishedResult], references: References) -> Iterator[Curve]:
    for (_, workload, mode, precision, _, _), found in series(rows).items():
        points = [(r.n_gpus, stated(r.throughput), r.item, references.mark(r.source)) for r in found]
        yield f"{workload} {mode} {precision}", points, "published", points[-1][3]


def gpus_figures(curves: Sequence[Curve]) -> tuple[Figure, ...]:
    """A drawing of each curve that has the points for one."""
    return tuple(_gpus_figure(*curve) for curve in curves if len(curve[1]) >= CURVED)


def gpus_tables(curves: Sequence[Curve]) -> tuple[Table, ...]:
    """One table of the curves that know one GPU and one other count, a row for each."""
    rows = tuple(_short(*curve) for curve in curves if len(curve[1]) < CURVED)
    table = Table(
        title="Several GPUs against one",
        columns=("work", "origin", "GPUs", "throughput", "one GPU", "of linear", "source"),
        rows=rows,
        numeric=frozenset({"GPUs", "throughput", "one GPU", "of linear"}),
    )
    return (table,) if rows else ()


def _short(title: str, points: Sequence[Point], origin: str, by: str) -> tuple[str, ...]:
    one, (most, last, item, source) = points[0][1], points[1]
    speed, share = rate(last.value, item) + spread(last), percent(last.value / one.value / most, 0)
    return title, origin, str(most), speed, rate(one.value, item), share, source


def _gpus_figure(title: str, points: Sequence[Point], origin: str, by: str) -> Figure:
    """Throughput of 1 to n GPUs, with its share of n times one."""
    one, (most, last, item, _) = points[0][1].value, points[-1]
    marks = [
        Mark(label=str(n), value=speed.value, low=speed.low, high=speed.high, colour=origin)
        for n, speed, _, _ in points
    ]
    cells = tuple(
        (str(n), rate(speed.value, item) + spread(speed), percent(speed.value / one / n, 0), source)
        for n, speed, _, source in points
    )
    return Figure(
        chart=charts.scaling(marks, item=item),
        table=Table(
            title=f"{title} on several GPUs, {origin}",
            columns=("GPUs", "throughput", "of linear", "source"),
            rows=cells,
            numeric=frozenset({"GPUs", "throughput", "of linear"}),
        ),
        caption=f"{title}: {most} GPUs reach {percent(last.value / one / most, 0)} of {most} times one, "
        f"{origin} {by}.",
    )
