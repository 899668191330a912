"""The report of one or more results: the answer first, then a section for each thing that they tell.

What the hardware did is in `hardware` and `timeline`, and sentences in `templates/report.txt`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpuwise import store
from gpuwise.model.precision import Precision
from gpuwise.model.question import HOW, WORK, Question
from gpuwise.model.result import Interval, Record, firsts, grouped
from gpuwise.model.units import percent, significant, times, whole
from gpuwise.show import hardware, serving
from gpuwise.show import results as tables
from gpuwise.show.charts import Mark, Rows
from gpuwise.show.hardware import ReportInput, raw
from gpuwise.show.page import Figure, Headline, Page, References, Section, said, section
from gpuwise.show.results import by_work, counted, over_sessions, settings, speed_marks
from gpuwise.show.scaling import over_batches, shown
from gpuwise.show.table import Table, amount, rate, speed
from gpuwise.show.timeline import timeline
from gpuwise.stats import scaling as stats
from gpuwise.stats.scaling import Condition, ratio_between

HEADLINES = 3
# Rows of a table that is shown from the start; longer ones are folded.
FEW = 8
# Workloads and modes that have a chart, and bars of each: those with most configurations, the fastest.
DRAWN, BARS = 5, 10
# Charts over the batch: of more, those with the most points.
CURVES = 2
# The distance to what others say is of interest although software, batch and scripts differ.
_OTHERS: tuple[Condition, ...] = (
    "origin", "session", "batch", "recipe", "switches", "framework", "compile", "input", "content", "gpus",
)  # fmt: skip


def report(given: ReportInput) -> Page:
    """The report of one or more results; sections that have nothing to say are left out."""
    cited = References()
    # The sessions of the fastest setting of each workload, those with the most settings first.
    leading, works = [], by_work(row for row in given.speeds if row.leads).values()
    for rows in sorted(works, key=len, reverse=True)[:HEADLINES]:
        # Four GPUs are always faster than one: a headline of both would compare counts, not cards.
        one = [row for row in rows if row.gpus == 1] or rows
        leading.append(settings(one, devices=given.devices)[0][1])
    lead = _lead(given, [same[0] for same in leading])
    sections = (
        throughput(given, lead),
        speedups(given),
        serving.section(given.results),
        scaling(given, cited),
        hardware.energy(given, cited),
        timeline(given),
        hardware.limits(given),
        hardware.kernels(given),
        against(given, cited),
        hardware.cautions(given),
        hardware.reproduce(given),
        hardware.machine(given),
    )
    versions = sorted({version for r in given.results for version in r.environment.software})
    names = {row.question.workload for row in given.speeds}
    ok, total = sum(raw(row).status == "ok" for row in given.every), len(given.every)
    done = f"{ok} of {total} measurements" if ok < total else counted(total, "measurement")
    done += f" of {counted(len(names), 'workload')} in {counted(len(given.results), 'session')}"
    return Page(
        title=f"{' and '.join(given.devices)}: measured for deep learning",
        subtitle=" · ".join((*versions, done, hardware.days(given.results))),
        headlines=tuple(_headline(same) for same in leading),
        lead=lead,
        health=health(given),
        summary=summary(given, leading),
        # A long table is there for who looks for a row of it, and in nobody else's way.
        sections=tuple(
            replace(
                one,
                tables=tuple(table for table in one.tables if len(table.rows) <= FEW),
                folded=(*(table for table in one.tables if len(table.rows) > FEW), *one.folded),
            )
            for one in sections
        ),
        sources=cited.sources,
        made_on=given.today.isoformat(),
        data=tuple(store.compact(result) for result in given.results),
    )


def chart(given: ReportInput) -> Rows | None:
    """Every speed in one drawing, a block for each workload and mode; None without a speed."""
    every = by_work(given.speeds).values()
    marks = [mark for rows in every for mark in speed_marks(rows, devices=given.devices)]
    return Rows(marks=tuple(marks), title="precision") if marks else None


def _headline(same: Sequence[Record]) -> Headline:
    middle = same[len(same) // 2]
    found, m = middle.throughput, raw(middle)
    assert found is not None
    several = len(same) > 1
    low, high = (same[-1].value, same[0].value) if several else (found.low, found.high)
    of = f"in {len(same)} sessions" if several else "95 % interval"
    share = [f"{percent(m.mfu, 0)} of the data sheet's peak" if m.mfu else ""]
    share += [f"{percent(m.limit_share, 0)} of its {m.limit} limit" if m.limit_share else ""]
    means = [middle.question.label(*WORK), *share]
    return Headline(
        what=middle.question.label(*HOW),
        value=rate(found.value, middle.item),
        interval=f"{amount(low, middle.item)} to {amount(high, middle.item)}, {of}" if low < high else "",
        means="; ".join(part for part in means if part),
    )


def _lead(given: ReportInput, headed: Sequence[Record]) -> Figure | None:
    """The fastest of each precision of the workloads in the headlines, on as many GPUs as these; where none
    has several, what each workload reached of the data sheet's peak: different items have no axis in
    common."""
    marks, rows = [], []
    for head in headed:
        alike = [r for r in given.speeds if r.leads and r.gpus == head.gpus and r.gpu_id == head.gpu_id]
        each = settings(by_work(alike)[head.question.label(*HOW)])
        fastest = firsts((same[0].question.precision or "?", same) for _, same in each)
        if len(fastest) < 2:  # a lone bar is as long as its room and says nothing
            continue
        marks += speed_marks([r for same in fastest.values() for r in same], devices=given.devices)
        rows += [
            {"what": same[0].question.label(), "throughput": over_sessions(same)} for same in fastest.values()
        ]
    caption = "The fastest of each precision, with its interval; a longer bar is faster."
    if not marks:
        leading = [(raw(r).mfu or 0.0, r) for r in given.speeds if r.leads and raw(r).mfu]
        ordered = sorted(leading, key=lambda pair: -pair[0])
        best = firsts((r.question.label(*HOW), (share, r)) for share, r in ordered)
        shares = [(name, *of) for name, of in list(best.items())[:BARS]]
        if len(shares) < 2:
            return None
        marks = [
            Mark(label=name, value=share, low=share, high=share, group="share of the data sheet's peak",
                 colour=row.question.precision or "?", shown=percent(share, 0))
            for name, share, row in shares
        ]  # fmt: skip
        rows = [{"what": name, "share of the peak": percent(share, 1)} for name, share, _ in shares]
        caption = "The share of the data sheet's dense peak that each workload reached."
    return Figure(table=Table.of(rows), charts=(Rows(marks=tuple(marks)),), caption=caption)


def health(given: ReportInput) -> str:
    """In a line: how many measurements to doubt, the highest temperature, what held clocks down."""
    doubted = [row for row in given.every if row.codes]
    named = Counter(code for row in doubted for code in row.codes)
    (line,) = said(
        "report", "health", doubted=len(doubted), total=counted(len(given.every), "measurement"),
        codes=", ".join(f"{code} {count}" for code, count in named.most_common(3)), **hardware.sensed(given),
    )  # fmt: skip
    return line


def summary(given: ReportInput, leading: Sequence[Sequence[Record]]) -> tuple[str, ...]:
    """What compiling gains, the limits and the energy."""
    reached = {}
    for row in sorted(given.limits, key=lambda row: row.value):
        # Links and caches have tables of their own; these two bound most steps.
        if row.question.workload in ("matmul", "copy") and row.usable:
            share = f" ({percent(mfu, 0)})" if (mfu := raw(row).mfu) else ""
            reached[row.question.label()] = f"{row.question.label()} {rate(row.value, row.item)}{share}"
    efficient = [
        f"{one.question.label(*HOW)} {significant(one.items_per_joule)} {one.item}s"
        for one, *_ in leading
        if one.items_per_joule
    ]
    return said(
        "report", "summary", gains=sorted(pair.gain.value for pair in compiled_pairs(given)),
        limits=", ".join(sorted(reached.values())), efficient=efficient[0] if efficient else "",
    )  # fmt: skip


def throughput(given: ReportInput, lead: Figure | None = None) -> Section:
    """Bars with 95 % intervals of what `lead` does not show, the other workloads, what did not end."""
    found = by_work(given.speeds)
    number = {name: len(settings(rows)) for name, rows in found.items()}
    drawings = [chart for chart in (lead.charts if lead else ()) if isinstance(chart, Rows)]
    led = Counter(mark.group.rpartition(", ")[0] for chart in drawings for mark in chart.marks)
    # Most configurations first: there a chart shows what a table hides.
    several = sorted(
        (name for name in found if number[name] > max(1, led[name])), key=lambda name: -number[name]
    )
    drawn = [name for name in found if name in several[:DRAWN]]
    figures = []
    for name in drawn:
        marks = speed_marks(found[name], devices=given.devices)
        more = f", {BARS} of {len(marks)} configurations" if len(marks) > BARS else ""
        figures.append(
            Figure(
                table=_table(name, found[name], given).without({"workload"}),
                charts=(Rows(marks=tuple(marks[:BARS])),),
                caption=f"{marks[0].group}: the fastest first{more}.",
            )
        )
    # A lone bar would say nothing: it is as long as its room.
    rest = [row for name, rows in found.items() if name not in drawn for row in rows]
    title = "Other workloads" if drawn else "Each workload"
    ended = (
        {
            "measurement": m.config.label("batch"),
            "status": m.status,
            "why": (m.error or "").split("\n")[0],
        }
        for m in map(raw, given.every)
        if m.status != "ok"
    )
    failed = Table.of(ended, title="Not completed")
    return section(
        "report", "throughput", figures=tuple(figures), tables=(_table(title, rest, given), failed)
    )


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
    compiled, of_both = compiled_pairs(given), "What compiling gains, by workload and precision"
    figures = [_gains(compiled, "compiled over eager", of_both)] if compiled else []
    if reduced:
        caption = "What a reduced precision gains over real fp32, TF32 off"
        figures.append(_gains(reduced, "speed over fp32", caption))
    return section("report", "speed-ups", figures=tuple(figures))


def _gains(pairs: Sequence[Pair], title: str, caption: str) -> Figure:
    asked = ((pair.other.question, pair.gain) for pair in pairs)
    alike = grouped(((question.label(*HOW), question.label(*WORK)), gain) for question, gain in asked)
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
    rows = (
        {
            "measurement": pair.other.question.label("batch"),
            "batch": whole(pair.other.batch) if pair.other.batch else "",
            "base": rate(pair.base.value, pair.base.item),
            "speed": rate(pair.other.value, pair.other.item),
            "ratio (95 %)": times(pair.gain.value, pair.gain.low, pair.gain.high, 3),
        }
        for pair in pairs
    )
    table = Table.of(rows, title=title)
    return Figure(
        charts=(Rows(marks=tuple(mark for mark in marks if mark in kept), ratio=True, title=title),),
        table=table,
        caption=f"{caption}: {ends[0]:.2f} to {ends[1]:.2f} times the speed, {len(pairs)} pairs.",
    )


def scaling(given: ReportInput, cited: References) -> Section:
    """A chart over the batch for each workload, and one over GPUs of the measured and published series."""
    note = "trials of the batch search are short; the batch that was kept has its full measurement"
    by_batch = over_batches(given.speeds, note=note)
    measured = {row.question.workload for row in given.speeds}
    known = [row for row in given.published if row.question.workload in measured]
    figures, tables = shown(stats.curves((*given.speeds, *known)), cited)
    return section(
        "report",
        "scaling",
        text=tuple(line for table in tables for line in table.before),
        figures=(*by_batch[:CURVES], *figures),
        tables=tuple(replace(table, before=()) for table in tables),
        folded=tuple(figure.table for figure in by_batch[CURVES:]),
    )


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
    if not found:
        return section("report", "against")
    rows, marks, inside = [], [], []
    for row, other, where in found:
        theirs, ratio = other.throughput, ratio_between(other, row, ignoring=_OTHERS)
        assert theirs is not None
        held = theirs.low <= row.value <= theirs.high
        predicted = other.origin == "predicted"
        inside += [held] if predicted else []
        name, item = row.question.label(), row.item
        span = f"{rate(theirs.low, item)} to {rate(theirs.high, item)}" if theirs.low < theirs.high else ""
        cells = {
            "measurement": name,
            "measured": speed(row.throughput, item),
            "other": other.origin,
            "its speed": rate(theirs.value, item),
            "its interval": span,
            "ratio": times(ratio.value, digits=3),
            "interval holds it": ("inside" if held else "outside") if predicted else "",
            "from": where,
        }
        rows.append(cells)
        marks.append(Mark(
            label=name, value=ratio.value, low=ratio.low, high=ratio.high, colour=other.origin,
            group=f"over {other.origin}", shown=f"{ratio.value:.2f}x",
        ))  # fmt: skip
    # Of many those farthest from 1, where something is to be understood.
    kept = sorted(marks, key=lambda mark: -max(mark.value, 1 / mark.value))[: 2 * FEW]
    some = f", the {len(kept)} farthest apart of {len(marks)}" if len(kept) < len(marks) else ""
    holds = f" {sum(inside)} of {len(inside)} predicted intervals hold the measurement." if inside else ""
    figure = Figure(
        charts=(Rows(
            marks=tuple(sorted(kept, key=lambda mark: mark.group)), ratio=True, title="measured over other",
        ),),
        table=Table.of(rows, title="Measured against others"),
        caption=f"Measured over other speeds, {len(found)} pairs{some}.{holds}",
    )  # fmt: skip
    return section("report", "against", figures=(figure,))


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
