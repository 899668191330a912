"""Throughput by workload and configuration, what compiling and precision gain, and what others say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpuwise.model.precision import Precision
from gpuwise.model.question import HOW, WORK, Question
from gpuwise.model.record import Record
from gpuwise.model.result import Interval
from gpuwise.model.units import times
from gpuwise.show import charts
from gpuwise.show import results as tables
from gpuwise.show.charts import Mark
from gpuwise.show.page import Figure, References, Section
from gpuwise.show.report.input import FEW, ReportInput, raw
from gpuwise.show.results import by_work, over_sessions, rate, settings, speed, speed_marks, value
from gpuwise.show.table import Table
from gpuwise.stats.records import Condition, ratio_between

# Workloads and modes that have a chart, and bars of each: of more, those with the most configurations, and
# the fastest.
DRAWN, BARS = 5, 10
# (base, other).
Pair = tuple[Record, Record]


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
            chart=charts.bars(marks[:BARS], description=f"Throughput of {name}", colour_title="precision"),
            table=_table(name, found[name], given, alone=True), marks=tuple(marks[:BARS]),
            caption=f"{marks[0].group}: the fastest first{more}.",
        ))  # fmt: skip
    # A lone bar would say nothing: it is as long as its room.
    rest = [row for name, rows in found.items() if name not in drawn for row in rows]
    title = "Other workloads" if drawn else "Each workload in one configuration"
    failed = Table(
        title="Not completed",
        columns=("measurement", "status", "why"),
        rows=tuple(
            (m.config.label("batch"), m.status, (m.error or "").split("\n")[0])
            for m in map(raw, given.every)
            if m.status != "ok"
        ),
    )
    return Section(
        id="throughput",
        title="Throughput",
        text=(
            "Items per second with the 95 % interval of the step times; of several sessions the middle one, "
            "between the slowest and the fastest.",
        ),
        figures=tuple(figures),
        tables=tuple(
            table.without_empty_columns() for table in (_table(title, rest, given), failed) if table.rows
        ),
    )


def _table(title: str, rows: Sequence[Record], given: ReportInput, *, alone: bool = False) -> Table:
    """A row for each setting; of one workload `alone` the title says which."""
    first = tables.COLUMNS.index("throughput (95 %)")
    cells = []
    for name, of in by_work(rows).items():
        for label, same in settings(of, devices=given.devices):
            middle = raw(same[len(same) // 2])
            codes = tables.codes(issue for row in same for issue in raw(row).cautions)
            others = tables.measurement_row(middle)[first + 1 : -1]
            shown = over_sessions(same) if middle.status == "ok" else tables.measured_speed(middle)
            cells.append((name, label, shown, *others, codes))
    made = Table(
        title=title, columns=("workload", "configuration", *tables.COLUMNS[first:]), rows=tuple(cells),
        numeric=tables.NUMERIC,
    ).without_empty_columns()  # fmt: skip
    return made.without({"workload"}) if alone else made


def speedups(given: ReportInput) -> Section:
    """Compiled over eager, and each reduced precision over real fp32."""
    kinds: tuple[tuple[list[Pair], Condition, str, str], ...] = (
        (
            _compiled(given), "compile",
            "compiled over eager", "What compiling gains, by workload and precision",
        ),
        (
            _pairs(given.speeds, lambda q: replace(q, precision=Precision.FP32)), "precision",
            "speed over fp32", "What a reduced precision gains over real fp32, TF32 off",
        ),
    )  # fmt: skip
    figures = []
    for pairs, part, what, caption in kinds:
        gains_of = [(ratio_between(*pair, ignoring=(part,)), *pair) for pair in pairs]
        gains_of.sort(key=lambda one: (one[2].question.label(*HOW), -one[0].value))
        if not gains_of:
            continue
        alike: dict[tuple[str, str], list[Interval]] = {}
        for gain, _, other in gains_of:
            named = other.question.label(*HOW), other.question.label(*WORK)
            alike.setdefault(named, []).append(gain)
        marks = [
            Mark(
                label=label + (f", {len(same)} sessions" if len(same) > 1 else ""), group=group,
                value=same[len(same) // 2].value,
                low=min(g.low for g in same), high=max(g.high for g in same), colour=label.split(" ", 1)[0],
                shown=f"{same[len(same) // 2].value:.2f}x",
            )
            for (group, label), same in alike.items()
        ]  # fmt: skip
        # Of many those that gain the most and the least: what lies between is in the table.
        ordered = sorted(marks, key=lambda mark: -mark.value)
        kept = ordered if len(marks) <= FEW else [*ordered[: FEW // 2], *ordered[-FEW // 2 :]]
        marks = [mark for mark in marks if mark in kept]
        least, most = min(g.value for g, _, _ in gains_of), max(g.value for g, _, _ in gains_of)
        rows = tuple(
            (
                other.question.label("batch"), str(other.batch or ""), rate(value(base), base.item),
                rate(value(other), other.item), times(gain.value, gain.low, gain.high, 3),
            )
            for gain, base, other in gains_of
        )  # fmt: skip
        columns = ("measurement", "batch", "base", "speed", "ratio (95 %)")
        figures.append(Figure(
            chart=charts.ratios(marks, title=what), marks=tuple(marks), ratio=True,
            table=Table(title=what, columns=columns, rows=rows, numeric=frozenset(columns[1:])),
            caption=f"{caption}: {least:.2f} to {most:.2f} times the speed, {len(gains_of)} pairs.",
        ))  # fmt: skip
    return Section(
        id="speed-ups",
        title="Compile and mixed precision",
        text=("Each ratio is of two measurements of one session that differ in nothing else.",)
        * bool(figures),
        figures=tuple(figures),
    )


def gains(given: ReportInput) -> list[Interval]:
    """Every ratio of compiled over eager."""
    asked: Condition = "compile"
    return [ratio_between(base, other, ignoring=(asked,)) for base, other in _compiled(given)]


def _compiled(given: ReportInput) -> list[Pair]:
    return _pairs(given.speeds, lambda question: replace(question, compile=False))


def _pairs(rows: Sequence[Record], base_of: Callable[[Question], Question]) -> list[Pair]:
    """Each measurement with the one of its session that ran the base of its question, at the same batch."""

    def asked(row: Record, question: Question) -> tuple[object, ...]:
        return row.session, row.gpu_id, question, raw(row).workload_version

    # A gain over a number that is wrong would be wrong too.
    found = {asked(row, row.question): row for row in rows if row.usable}
    bases = ((row, base_of(row.question)) for row in found.values())
    return [
        (base, row)
        for row, question in bases
        if question != row.question and (base := found.get(asked(row, question))) is not None
    ]


# The distance to what others say is of interest although software, batch and scripts differ.
_OTHERS: tuple[Condition, ...] = (
    "origin", "session", "batch", "recipe", "switches", "framework", "compile", "input", "content", "gpus",
)  # fmt: skip


def against(given: ReportInput, cited: References) -> Section:
    """Each measurement beside every figure that answers the same question."""
    found: list[tuple[Record, Record, str]] = []
    for row in given.speeds:
        for other in given.published:
            if matches(row, other):
                found.append((row, other, f"{other.date} {cited.mark(other.source)}".strip()))
    for row in given.speeds:
        forecast = given.predicted.get((row.gpu_id, row.question.key()))
        if forecast is not None and forecast.throughput is not None:
            found.append((row, forecast, "gpuwise predict"))
    rows, marks, inside = [], [], []
    for row, other, where in found:
        theirs, ratio = other.throughput, ratio_between(other, row, ignoring=_OTHERS)
        assert theirs is not None
        held = theirs.low <= value(row) <= theirs.high
        predicted = other.origin == "predicted"
        inside += [held] if predicted else []
        name, item = row.question.label(), row.item
        span = f"{rate(theirs.low, item)} to {rate(theirs.high, item)}" if theirs.low < theirs.high else ""
        rows.append((
            name, speed(row.throughput, item), other.origin, rate(theirs.value, item), span,
            times(ratio.value, digits=3), ("inside" if held else "outside") if predicted else "", where,
        ))  # fmt: skip
        mark = Mark(label=name, value=theirs.value, low=theirs.low, high=theirs.high, colour=other.origin)
        marks.append((mark, value(row)))
    if not found:
        return Section(id="against", title="Against published and predicted")
    sides = " and ".join(dict.fromkeys(other.origin for _, other, _ in found))
    holds = f" {sum(inside)} of {len(inside)} predicted intervals hold the measurement." if inside else ""
    columns = (
        "measurement", "measured", "other", "its speed", "its interval", "ratio", "interval holds it", "from",
    )  # fmt: skip
    table = Table(
        title="Measured against others", columns=columns, rows=tuple(rows),
        numeric=frozenset({"measured", "its speed", "its interval", "ratio"}),
    ).without_empty_columns()  # fmt: skip
    return Section(
        id="against",
        title="Against published and predicted",
        text=(
            "Measured here over what others published of this GPU (same network, mode, precision, "
            "compilation and number of GPUs) or over the prediction; above 1 the measurement is faster. "
            "Software, batch and scripts differ between sources, so a distance is a question, not a fault.",
        ),
        figures=(
            Figure(
                chart=charts.agreement(marks), table=table,
                caption=f"Measured over {sides} speed, {len(found)} pairs: on the dashed line both agree."
                f"{holds}",
            ),
        ),
    )  # fmt: skip


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
