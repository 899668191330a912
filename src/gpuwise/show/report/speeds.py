"""Throughput by workload and configuration, what compiling and precision gain, how it scales, and what others
say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpuwise.model.precision import Precision
from gpuwise.model.question import HOW, WORK, Question
from gpuwise.model.record import Record
from gpuwise.model.result import Interval
from gpuwise.model.units import times, whole
from gpuwise.show import charts
from gpuwise.show import results as tables
from gpuwise.show.page import Figure, References, Section
from gpuwise.show.report.input import FEW, ReportInput, raw
from gpuwise.show.results import by_work, over_sessions, rate, settings, speed, speed_marks, value
from gpuwise.show.scaling import shown
from gpuwise.show.table import Table
from gpuwise.show.theme import Mark
from gpuwise.stats.records import Condition, curves, ratio_between

# Workloads and modes that have a chart, and bars of each: of more, those with the most configurations, and
# the fastest.
DRAWN, BARS = 5, 10
# Charts over the batch, and over GPUs: of more, those with the most points.
CURVES = 2
# The distance to what others say is of interest although software, batch and scripts differ.
_OTHERS: tuple[Condition, ...] = (
    "origin", "session", "batch", "recipe", "switches", "framework", "compile", "input", "content", "gpus",
)  # fmt: skip


def throughput(given: ReportInput) -> Section:
    """Bars with 95 % intervals, a chart for each workload and mode, the other workloads, what did not end."""
    found = by_work(given.speeds)
    number = {name: len(settings(rows)) for name, rows in found.items()}
    # Most configurations first: there a chart shows what a table hides.
    several = sorted((name for name in found if number[name] > 1), key=lambda name: -number[name])
    drawn = [name for name in found if name in several[:DRAWN]]
    figures = []
    for name in drawn:
        marks = speed_marks(found[name], devices=given.devices)
        more = f", {BARS} of {len(marks)} configurations" if len(marks) > BARS else ""
        figures.append(Figure(
            table=_table(name, found[name], given).without({"workload"}), marks=tuple(marks[:BARS]),
            caption=f"{marks[0].group}: the fastest first{more}.",
        ))  # fmt: skip
    # A lone bar would say nothing: it is as long as its room.
    rest = [row for name, rows in found.items() if name not in drawn for row in rows]
    title = "Other workloads" if drawn else "Each workload in one configuration"
    failed = Table.of(
        (
            {
                "measurement": m.config.label("batch"),
                "status": m.status,
                "why": (m.error or "").split("\n")[0],
            }
            for m in map(raw, given.every)
            if m.status != "ok"
        ),
        title="Not completed",
    )
    text = (
        "Items per second with the 95 % interval of the step times; of several sessions the middle one, "
        "between the slowest and the fastest."
    )
    return Section(
        id="throughput", title="Throughput", text=(text,), figures=tuple(figures),
        tables=tuple(table for table in (_table(title, rest, given), failed) if table.rows),
    )  # fmt: skip


def _table(title: str, rows: Sequence[Record], given: ReportInput) -> Table:
    """A row for each setting."""
    cells = []
    for name, of in by_work(rows).items():
        for label, same in settings(of, devices=given.devices):
            middle = raw(same[len(same) // 2])
            row = tables.measurement_row(middle)
            # The label says how it was run, the columns from the throughput on what came of it.
            outcome = list(row)[list(row).index("throughput (95 %)") :]
            row["throughput (95 %)"] = over_sessions(same) if middle.status == "ok" else middle.status
            row["cautions"] = tables.codes(issue for each in same for issue in raw(each).cautions)
            cells.append({"workload": name, "configuration": label, **{key: row[key] for key in outcome}})
    return Table.of(cells, title=title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two measurements of a session that differ in one part of their question, and what this part gains."""

    base: Record
    other: Record
    gain: Interval


def compiled_pairs(given: ReportInput) -> list[Pair]:
    """Compiled over eager."""
    return _pairs(given, "compile", lambda question: replace(question, compile=False))


def _pairs(given: ReportInput, part: Condition, base_of: Callable[[Question], Question]) -> list[Pair]:
    """Each measurement with the one of its session that ran the base of its question, at the same batch."""

    def asked(row: Record, question: Question) -> tuple[object, ...]:
        return row.session, row.gpu_id, question, raw(row).workload_version

    # A gain over a number that is wrong would be wrong too.
    found = {asked(row, row.question): row for row in given.speeds if row.usable}
    pairs = []
    for row in found.values():
        question = base_of(row.question)
        base = found.get(asked(row, question)) if question != row.question else None
        if base is not None:
            pairs.append(Pair(base=base, other=row, gain=ratio_between(base, row, ignoring=(part,))))
    return sorted(pairs, key=lambda pair: (pair.other.question.label(*HOW), -pair.gain.value))


def speedups(given: ReportInput) -> Section:
    """Compiled over eager, and each reduced precision over real fp32."""
    reduced = _pairs(given, "precision", lambda question: replace(question, precision=Precision.FP32))
    figures = [
        _gains(pairs, title, caption)
        for pairs, title, caption in (
            (
                compiled_pairs(given), "compiled over eager",
                "What compiling gains, by workload and precision",
            ),
            (reduced, "speed over fp32", "What a reduced precision gains over real fp32, TF32 off"),
        )
        if pairs
    ]  # fmt: skip
    text = "Each ratio is of two measurements of one session that differ in nothing else."
    return Section(
        id="speed-ups", title="Compile and mixed precision", text=(text,) if figures else (),
        figures=tuple(figures),
    )  # fmt: skip


def _gains(pairs: Sequence[Pair], title: str, caption: str) -> Figure:
    alike: dict[tuple[str, str], list[Interval]] = {}
    for pair in pairs:
        asked = pair.other.question
        alike.setdefault((asked.label(*HOW), asked.label(*WORK)), []).append(pair.gain)
    marks = []
    for (group, label), same in alike.items():
        middle = same[len(same) // 2].value
        marks.append(Mark(
            label=label + (f", {len(same)} sessions" if len(same) > 1 else ""), group=group, value=middle,
            low=min(g.low for g in same), high=max(g.high for g in same), colour=label.split(" ", 1)[0],
            shown=f"{middle:.2f}x",
        ))  # fmt: skip
    # Of many those that gain the most and the least: what lies between is in the table.
    ordered = sorted(marks, key=lambda mark: -mark.value)
    kept = ordered if len(marks) <= FEW else [*ordered[: FEW // 2], *ordered[-FEW // 2 :]]
    ends = min(pair.gain.value for pair in pairs), max(pair.gain.value for pair in pairs)
    table = Table.of(
        (
            {
                "measurement": pair.other.question.label("batch"),
                "batch": whole(pair.other.batch) if pair.other.batch else "",
                "base": rate(value(pair.base), pair.base.item),
                "speed": rate(value(pair.other), pair.other.item),
                "ratio (95 %)": times(pair.gain.value, pair.gain.low, pair.gain.high, 3),
            }
            for pair in pairs
        ),
        title=title,
    )
    return Figure(
        marks=tuple(mark for mark in marks if mark in kept), ratio=True, table=table,
        caption=f"{caption}: {ends[0]:.2f} to {ends[1]:.2f} times the speed, {len(pairs)} pairs.",
    )  # fmt: skip


def scaling(given: ReportInput, cited: References) -> Section:
    """A chart over the batch for each workload, and over GPUs for each measured or published series."""
    by_batch = sorted(_by_batch(given), key=lambda figure: -len(figure.table.rows))
    measured = {row.question.workload for row in given.speeds}
    known = [row for row in given.published if row.question.workload in measured]
    figures, tables = shown(curves((*given.speeds, *known)), cited)
    return Section(
        id="scaling",
        title="Scaling",
        figures=(*by_batch[:CURVES], *figures[:CURVES]),
        tables=tables,
        folded=tuple(figure.table for figure in (*by_batch[CURVES:], *figures[CURVES:])),
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
    note = "trials of the batch search are short; the batch that was kept has its full measurement"
    for (title, item), found in every.items():
        marks = [
            Mark(label=str(batch), value=speed, low=speed, high=speed, colour=name)
            for name, points in found.items()
            for batch, speed in sorted(points.items())
            if len(points) > 1
        ]
        rows = (
            {"configuration": m.colour, "batch": whole(int(m.label)), "throughput": rate(m.value, item)}
            for m in marks
        )
        if marks:
            figures.append(Figure(
                drawn=charts.lines(marks, item=item, over="batch"),
                table=Table.of(rows, title=f"{title} by batch size", notes=(note,)),
                caption=f"{title}: throughput by batch size.",
            ))  # fmt: skip
    return figures


def against(given: ReportInput, cited: References) -> Section:
    """Each measurement over every figure that answers the same question."""
    found = [
        (row, other, f"{other.date} {cited.mark(other.source)}".strip())
        for row in given.speeds
        for other in given.published
        if matches(row, other)
    ]
    for row in given.speeds:
        forecast = given.predicted.get((row.gpu_id, row.question.key()))
        if forecast is not None and forecast.throughput is not None:
            found.append((row, forecast, "gpuwise predict"))
    title = "Against published and predicted"
    if not found:
        return Section(id="against", title=title)
    rows, marks, inside = [], [], []
    for row, other, where in found:
        theirs, ratio = other.throughput, ratio_between(other, row, ignoring=_OTHERS)
        assert theirs is not None
        held = theirs.low <= value(row) <= theirs.high
        predicted = other.origin == "predicted"
        inside += [held] if predicted else []
        name, item = row.question.label(), row.item
        span = f"{rate(theirs.low, item)} to {rate(theirs.high, item)}" if theirs.low < theirs.high else ""
        rows.append({
            "measurement": name,
            "measured": speed(row.throughput, item),
            "other": other.origin,
            "its speed": rate(theirs.value, item),
            "its interval": span,
            "ratio": times(ratio.value, digits=3),
            "interval holds it": ("inside" if held else "outside") if predicted else "",
            "from": where,
        })  # fmt: skip
        marks.append(Mark(
            label=name, value=ratio.value, low=ratio.low, high=ratio.high, colour=other.origin,
            group=f"over {other.origin}", shown=f"{ratio.value:.2f}x",
        ))  # fmt: skip
    # Of many those farthest from 1, where something is to be understood.
    kept = sorted(marks, key=lambda mark: -max(mark.value, 1 / mark.value))[: 2 * FEW]
    some = f", the {len(kept)} farthest apart of {len(marks)}" if len(kept) < len(marks) else ""
    holds = f" {sum(inside)} of {len(inside)} predicted intervals hold the measurement." if inside else ""
    text = (
        "Measured here over what others published of this GPU (same network, mode, precision, "
        "compilation and number of GPUs) or over the prediction; above 1 the measurement is faster. "
        "Software, batch and scripts differ between sources, so a distance is a question, not a fault."
    )
    figure = Figure(
        marks=tuple(sorted(kept, key=lambda mark: mark.group)), ratio=True,
        table=Table.of(rows, title="Measured against others"),
        caption=f"Measured over other speeds, {len(found)} pairs{some}.{holds}",
    )  # fmt: skip
    return Section(id="against", title=title, text=(text,), figures=(figure,))


def matches(row: Record, other: Record) -> bool:
    """True where a published figure answers what was measured."""
    mine, theirs = row.question, other.question
    return (
        other.gpu_id == row.gpu_id
        and mine.size == "full"
        and theirs.gpus == mine.gpus
        and (theirs.workload, theirs.mode, theirs.precision) == (mine.workload, mine.mode, mine.precision)
        and theirs.compile in (None, mine.compile)
    )
