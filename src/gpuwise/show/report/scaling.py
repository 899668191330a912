"""How throughput grows with the batch and with the number of GPUs, as measured and as published."""

from __future__ import annotations

from collections import defaultdict

from gpuwise.model.question import HOW
from gpuwise.show import charts
from gpuwise.show.charts import Mark
from gpuwise.show.page import Figure, References, Section
from gpuwise.show.report.input import ReportInput, raw
from gpuwise.show.results import rate
from gpuwise.show.scaling import shown
from gpuwise.show.table import Table
from gpuwise.stats.records import curves

# Charts over the batch, and over GPUs: of more, those with the most points.
DRAWN = 2


def scaling(given: ReportInput, cited: References) -> Section:
    """A chart over the batch for each workload, and over GPUs for each measured or published series."""
    by_batch = sorted(_by_batch(given), key=lambda figure: -len(figure.table.rows))
    measured = {row.question.workload for row in given.speeds}
    known = [row for row in given.published if row.question.workload in measured]
    figures, tables = shown(curves((*given.speeds, *known)), cited)
    return Section(
        id="scaling",
        title="Scaling",
        figures=(*by_batch[:DRAWN], *figures[:DRAWN]),
        tables=tables,
        folded=tuple(figure.table for figure in (*by_batch[DRAWN:], *figures[DRAWN:])),
    )


def _by_batch(given: ReportInput) -> list[Figure]:
    """From the trials of the batch search and from measurements at several batches, of one GPU."""
    every: dict[tuple[str, str], dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in (row for row in given.speeds if row.gpus == 1):
        m, asked = raw(row), row.question
        points = every[asked.label(*HOW), m.item][asked.label("workload", "mode", "batch")]
        for trial in m.batch_trials:
            if trial.items_per_s and trial.compiled == m.config.compile:
                # A trial is short: a measurement of that batch says more.
                points.setdefault(trial.batch, trial.items_per_s)
        if m.batch and m.throughput:
            points[m.batch] = m.throughput.value
    figures = []
    for (title, item), found in every.items():
        marks = [
            Mark(label=str(batch), value=speed, low=speed, high=speed, colour=name)
            for name, points in found.items()
            for batch, speed in sorted(points.items())
            if len(points) > 1
        ]
        if marks:
            figures.append(Figure(
                chart=charts.batches(marks, item=item),
                table=Table(
                    title=f"{title} by batch size", columns=("configuration", "batch", "throughput"),
                    rows=tuple((mark.colour, mark.label, rate(mark.value, item)) for mark in marks),
                    numeric=frozenset({"batch", "throughput"}),
                    notes=(
                        "trials of the batch search are short; the batch that was kept has its full "
                        "measurement",
                    ),
                ),
                caption=f"{title}: throughput by batch size.",
            ))  # fmt: skip
    return figures
