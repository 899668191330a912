"""The report of one or more results: the answer first, then a section for each thing that they tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gpuwise import store
from gpuwise.model.question import HOW, WORK
from gpuwise.model.record import Record
from gpuwise.model.units import percent, significant
from gpuwise.show import charts, serving
from gpuwise.show.page import Figure, Headline, Page, References
from gpuwise.show.report.energy import energy
from gpuwise.show.report.input import FEW, ReportInput, days, raw
from gpuwise.show.report.limits import kernels, limits
from gpuwise.show.report.machine import cautions, machine, reproduce
from gpuwise.show.report.speeds import against, compiled_pairs, scaling, speedups, throughput
from gpuwise.show.report.timeline import timeline
from gpuwise.show.results import amount, by_work, counted, over_sessions, rate, settings, speed_marks, value
from gpuwise.show.table import Table
from gpuwise.show.theme import Chart

__all__ = ["ReportInput", "chart", "report"]

HEADLINES = 3


def report(given: ReportInput) -> Page:
    """The report of one or more results; sections that have nothing to say are left out."""
    cited = References()
    sections = (
        throughput(given),
        speedups(given),
        serving.section(given.results),
        scaling(given, cited),
        energy(given, cited),
        timeline(given),
        limits(given),
        kernels(given),
        against(given, cited),
        cautions(given),
        reproduce(given),
        machine(given),
    )
    leading = _best(given)
    versions = sorted({version for r in given.results for version in r.environment.software})
    works = {row.question.workload for row in given.speeds}
    ok, total = sum(raw(row).status == "ok" for row in given.every), len(given.every)
    done = f"{ok} of {total} measurements" if ok < total else counted(total, "measurement")
    done += f" of {counted(len(works), 'workload')} in {counted(len(given.results), 'session')}"
    return Page(
        title=f"{' and '.join(given.devices)}: measured for deep learning",
        subtitle=" · ".join((*versions, done, days(given.results))),
        headlines=tuple(_headline(same) for same in leading),
        lead=_lead(given, [same[0] for same in leading]),
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


def chart(given: ReportInput) -> Chart | None:
    """Every speed in one drawing, a block for each workload and mode; None without a speed."""
    every = by_work(given.speeds).values()
    marks = [mark for rows in every for mark in speed_marks(rows, devices=given.devices)]
    described = "Throughput by workload and configuration"
    return charts.bars(marks, description=described, colour_title="precision") if marks else None


def _best(given: ReportInput) -> list[list[Record]]:
    """The sessions of the fastest setting of each workload, those with the most settings first, as many as
    there are headlines.

    Of one GPU where one was measured. An invalid number, or one whose sensors contradict each other, is none.
    """
    found = []
    for rows in by_work([row for row in given.speeds if row.leads]).values():
        # Four GPUs are always faster than one: a headline of both would compare counts, not cards.
        one = [row for row in rows if row.gpus == 1] or rows
        found.append((len(rows), settings(one, devices=given.devices)[0][1]))
    return [same for _, same in sorted(found, key=lambda pair: -pair[0])][:HEADLINES]


def _headline(same: Sequence[Record]) -> Headline:
    middle = same[len(same) // 2]
    found, m = middle.throughput, raw(middle)
    assert found is not None
    several = len(same) > 1
    low, high = (value(same[-1]), value(same[0])) if several else (found.low, found.high)
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
    """The fastest of each precision of the workloads in the headlines, on as many GPUs as these."""
    marks, rows = [], []
    for head in headed:
        fastest: dict[str, list[Record]] = {}
        alike = [r for r in given.speeds if r.leads and r.gpus == head.gpus and r.gpu_id == head.gpu_id]
        for _, same in settings(by_work(alike)[head.question.label(*HOW)]):
            fastest.setdefault(same[0].question.precision or "?", same)
        marks += speed_marks([r for same in fastest.values() for r in same], devices=given.devices)
        rows += [
            {"what": same[0].question.label(), "throughput": over_sessions(same)} for same in fastest.values()
        ]
    if len(marks) < 2:  # a lone bar is as long as its room and says nothing
        return None
    return Figure(
        table=Table.of(rows), marks=tuple(marks),
        caption="The fastest of each precision, with its interval; a longer bar is faster.",
    )  # fmt: skip


def health(given: ReportInput) -> str:
    """In a line: how many measurements to doubt, the highest temperature, what held clocks down."""
    doubted = [row for row in given.every if row.codes]
    named = Counter(code for row in doubted for code in row.codes)
    words = ", ".join(f"{code} {count}" for code, count in named.most_common(3))
    of = f"{len(doubted)} of {counted(len(given.every), 'measurement')}"
    parts = [f"read {of} with care ({words})" if doubted else "no measurement is in doubt"]
    # Without a sample the absence of a reason means nothing.
    held = [t for t in given.sensed if t.throttled]
    if held:
        reasons = ", ".join(dict.fromkeys(reason for t in held for reason, _ in t.throttled))
        parts.append(f"clocks were held down ({reasons}) in {len(held)} of {len(given.sensed)}")
    hottest = max((t.temperature_max_c for t in given.sensed if t.temperature_max_c), default=None)
    parts += [f"at most {hottest:.0f} °C"] if hottest is not None else []
    return f"Health: {'; '.join(parts)}."


def summary(given: ReportInput, leading: Sequence[Sequence[Record]]) -> tuple[str, ...]:
    """What compiling gains, the limits and the energy."""
    lines = []
    found = sorted(pair.gain.value for pair in compiled_pairs(given))
    if found:
        lines.append(
            f"Compiling changes speed by factors of {found[0]:.2f} to {found[-1]:.2f}, median "
            f"{found[len(found) // 2]:.2f} ({counted(len(found), 'pair')})."
        )
    reached: dict[str, str] = {}
    for row in sorted(given.limits, key=value):
        # Links and caches have tables of their own; these two bound most steps.
        if row.question.workload in ("matmul", "copy") and row.usable:
            share = f" ({percent(mfu, 0)})" if (mfu := raw(row).mfu) else ""
            reached[row.question.label()] = f"{row.question.label()} {rate(value(row), row.item)}{share}"
    if reached:
        told = ", in brackets the share of the data sheet's peak" * any("(" in v for v in reached.values())
        lines.append(f"Limits reached{told}: {', '.join(sorted(reached.values()))}.")
    efficient = next((same[0] for same in leading if same[0].items_per_joule), None)
    if efficient is not None and efficient.items_per_joule:
        each = significant(efficient.items_per_joule)
        lines.append(f"Energy: {efficient.question.label(*HOW)} {each} {efficient.item}s per joule.")
    return tuple(lines)
