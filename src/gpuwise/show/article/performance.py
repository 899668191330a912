"""Speeds of both cards: measured, published and predicted apart, each pair with the ratio of its kind."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.model.record import Record
from gpuwise.model.result import Interval
from gpuwise.model.units import gibibytes
from gpuwise.show import charts, known
from gpuwise.show.article.duel import Duel, short
from gpuwise.show.charts import Mark
from gpuwise.show.known import Speed
from gpuwise.show.page import Figure, Section
from gpuwise.show.table import Table
from gpuwise.show.work import KINDS, Kind, of_kind

Pair = tuple[Speed, Speed]
LISTED = 16
"""Single figures of one card that a table shows; the rest: gpuwise results."""


def performance(duel: Duel) -> Section:
    """Measured and published pairs, in one chart with the ratio of each."""
    found = list(known.pairs(duel.speeds, duel.first.id, duel.second.id))
    single = _singles(duel, found)
    if not found and not single:
        text = "No speed of either card was measured here, or published by a source that passes the checks."
        return Section(id="performance", title="Measured and published speeds", text=(text,))
    return Section(
        id="performance",
        title="Measured and published speeds",
        text=_note(found),
        figures=(_ratios(duel, found, "measured and published"),) if found else (),
        tables=single,
    )


def _note(found: Sequence[Pair]) -> tuple[str, ...]:
    if found:
        return (
            "A ratio stands only where one source, or gpuwise itself, has both cards with the same work, "
            "framework, mode, stated precision, compilation and number of GPUs; batches may differ where the "
            "memory does.",
        )
    return (
        "No source has both cards on the same work, so no ratio of measured speeds can be given: "
        "the single figures below differ in software and script, and the forecasts after them do not.",
    )


def _ratios(duel: Duel, found: Sequence[Pair], what: str) -> Figure:
    names = f"{short(duel.second)} over {short(duel.first)}"
    return Figure(
        chart=charts.ratios([_mark(pair) for pair in found], title=names),
        table=_pairs_table(duel, found, what),
        caption=f"Speed of the {names}, {what}: above 1 the {short(duel.second)} is faster.",
        opened=True,
    )


def _mark(pair: Pair) -> Mark:
    found, one = known.ratio(pair), pair[0]
    several = f", {one.gpus} GPUs" if one.gpus > 1 else ""
    return Mark(
        label=known.work(one) + several,
        value=found.value,
        low=found.low,
        high=found.high,
        colour=one.origin,
        shown=f"{found.value:.2f}x",
    )


def _pairs_table(duel: Duel, found: Sequence[Pair], what: str) -> Table:
    rows = []
    for pair in found:
        one, other = pair
        ratio = known.ratio(pair)
        interval = f" ({ratio.low:.2f} to {ratio.high:.2f})" if ratio.low < ratio.high else ""
        cited = duel.cited.mark(one.source, other.source)
        batches = f"{one.batch or '-'} / {other.batch or '-'}"
        rows.append(
            (
                known.work(one),
                str(one.gpus),
                batches,
                known.shown(one),
                known.shown(other),
                f"{ratio.value:.2f}{interval}",
                one.origin,
                cited,
            )
        )
    columns = ("work", "GPUs", "batches", duel.first.name, duel.second.name, "ratio", "origin", "source")
    return Table(
        title=f"Both cards, {what}",
        columns=columns,
        rows=tuple(rows),
        numeric=frozenset({"GPUs", duel.first.name, duel.second.name, "ratio"}),
    )


def _singles(duel: Duel, found: Sequence[Pair]) -> tuple[Table, ...]:
    """What is known of one card where the other has no counterpart."""
    paired = {(speed.gpu_id, speed.question) for pair in found for speed in pair}
    tables = []
    for spec in duel.both:
        mine = [s for s in duel.speeds if s.gpu_id == spec.id and (s.gpu_id, s.question) not in paired]
        if mine:
            title = f"{spec.name}: figures without a counterpart"
            tables.append(known.listing(mine, duel.cited, most=LISTED, title=title))
    return tuple(tables)


def forecasts(duel: Duel) -> Section:
    """What each kind of work would reach on both, or why one of them cannot do it."""
    marks, rows = [], []
    for kind in KINDS:
        two = [of_kind(kind, spec.id, duel.forecasts) for spec in duel.both]
        first, second = two
        if (
            first is None
            or second is None
            or (first.refusal and second.refusal and not _about_memory(first, second))
        ):
            continue
        ratio = duel.forecast_ratio(kind)
        rows.append(_forecast_row(kind, first, second, ratio))
        if ratio is not None:
            marks.append(
                Mark(label=kind.title, value=ratio.value, low=ratio.low, high=ratio.high, colour="predicted")
            )
    if not rows:
        return Section(id="forecasts", title="What each kind of work means")
    cited = duel.cited.mark(known.FORECAST)
    table = Table(
        title="Forecast of one GPU at its best batch",
        columns=("kind of work", "stands for it", duel.first.name, duel.second.name, "ratio", "waits for"),
        rows=tuple(rows),
        numeric=frozenset({duel.first.name, duel.second.name, "ratio"}),
        notes=(
            f"forecasts, not measurements, with 80 % intervals {cited}; the ratio has an interval of its "
            "own: what carrying a speed from one card to another was off by",
            "each row can be measured: gpuwise bench WORKLOAD --mode MODE --precision PRECISION",
        ),
    )
    return Section(
        id="forecasts",
        title="What it means for each kind of work",
        text=(
            "Predicted from what each step computes and moves and from the cards' specifications; the last "
            "column says what most of a step waits for, so which specification decides.",
        ),
        points=_unable(duel),
        figures=(_drawn(duel, marks, table, cited),) if marks else (),
        tables=() if marks else (table,),
    )


def _drawn(duel: Duel, marks: Sequence[Mark], table: Table, cited: str) -> Figure:
    names = f"{short(duel.second)} over {short(duel.first)}"
    return Figure(
        chart=charts.ratios(marks, title=f"{names}, forecast"),
        table=table,
        caption=f"Speed of the {names} by kind of work, forecast with 80 % intervals {cited}.",
        opened=True,
    )


def _about_memory(*two: Record) -> bool:
    return any(p.memory_bytes is not None for p in two)


def _forecast_row(kind: Kind, first: Record, second: Record, found: Interval | None) -> tuple[str, ...]:
    speeds = [known.forecast_speed(p) for p in (first, second)]
    ratio = f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})" if found else ""
    cells = [known.shown(s) if s else _why_not(p) for s, p in zip(speeds, (first, second), strict=True)]
    bounds = dict.fromkeys(p.bound for p in (first, second) if p.bound)
    named = f"{kind.workload} {kind.mode} {kind.precision}"
    return (kind.title, named, *cells, ratio, " / ".join(bounds))


def _why_not(p: Record) -> str:
    return "does not fit" if p.memory_bytes is not None else "no forecast"


def _unable(duel: Duel) -> tuple[str, ...]:
    """The work that does not fit one of the cards, with the memory that it takes."""
    lines = []
    for spec in duel.both:
        for kind in KINDS:
            found = of_kind(kind, spec.id, duel.forecasts)
            if found is not None and found.refusal and found.memory_bytes is not None:
                needed = gibibytes(found.memory_bytes.value)
                title = f"{kind.title[:1].upper()}{kind.title[1:]} ({kind.workload})"
                takes = f"a batch of {found.batch} takes about {needed} by forecast"
                lines.append(f"{title} does not fit the {short(spec)}: {takes}.")
    return tuple(lines)
