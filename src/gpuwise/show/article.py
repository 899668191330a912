"""Two GPUs head to head, from facts alone: each figure has a source or is computed from some that have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from math import exp

from gpuwise.facts import prices
from gpuwise.facts.catalog import fields
from gpuwise.model.gpu import Fact, GpuSpec, Peak
from gpuwise.model.offer import Offer
from gpuwise.model.record import Record
from gpuwise.model.result import Interval
from gpuwise.model.units import gibibytes, percent, si, significant, times
from gpuwise.show import charts
from gpuwise.show.charts import Mark
from gpuwise.show.gpus import label, peak_name, peak_value, place, ratio_means, shown
from gpuwise.show.page import Figure, Page, References, Section
from gpuwise.show.prices import EXACTLY, exact, hourly, million, offered
from gpuwise.show.records import (
    COUNTS,
    DEEP,
    FORECAST,
    KINDS,
    SCALED,
    TWO_GPUS,
    Kind,
    listing,
    of_kind,
    pairs,
    work,
)
from gpuwise.show.results import per_joule, spanned
from gpuwise.show.table import Table
from gpuwise.stats.records import Curve, ratio_between

# Differences below this share decide nothing: the data sheets themselves are rounded.
EVEN = 0.05
# A weight in 16 bit.
WEIGHT_BYTES = 2
# Training with Adam in mixed precision: weight, gradient and two moments in fp32 (ZeRO, Rajbhandari et al.
# 2020, counts the same 16 bytes a parameter).
ADAM_BYTES = 16
# Single figures of one card that a table shows; the rest: gpuwise results.
LISTED = 16
_SUMMARY = (
    ("memory_bytes", "Memory"), ("memory_bytes_per_s", "Memory bandwidth"),
    ("peak:fp16", "16-bit matrix peak"), ("power_w", "Board power"),
)  # fmt: skip
# (quantity, its name, what follows it).
_SPEEDS = (
    (
        "memory_bytes_per_s", "Memory bandwidth",
        "work that moves more than it computes, such as answering with a language model, follows it",
    ),
    (
        "peak:fp16", "16-bit matrix peak",
        "training and prompt processing in fp16 or bf16 follow it where batches are large",
    ),
    ("peak:tf32", "TF32 peak", "fp32 code that allows TF32 follows it"),
    ("peak:fp32", "fp32 peak", "real fp32 and most scientific kernels follow it"),
    ("peak:fp64", "fp64 peak", "double-precision science follows it"),
    ("peak:fp8", "fp8 peak", "only work written for fp8 gains from it"),
    ("rt_flop_per_s", "Ray tracing", "rendering beside learning follows it"),
    ("link_bytes_per_s", "Link between GPUs", "gradients of several GPUs travel over it"),
)  # fmt: skip
_FLAGS = (("ecc", "errors in memory are found and mended"), ("mig", "one card can be split into several"))
_LARGER = (
    ("memory_bytes", "models and batches that need memory", "more memory"),
    ("memory_bytes_per_s", "work that moves more than it computes", "more memory bandwidth"),
    ("peak:fp16", "16-bit training and prompt processing", "a higher 16-bit matrix peak"),
    ("peak:fp32", "real fp32", "a higher fp32 peak"),
    ("peak:fp64", "double precision", "a higher fp64 peak"),
    ("link_bytes_per_s", "several GPUs that exchange", "a faster link"),
)
_PER_WATT = (
    ("peak:fp16", "16-bit matrix peak, dense, per watt of board power", "FLOP/s/W"),
    ("peak:fp32", "fp32 peak per watt of board power", "FLOP/s/W"),
    ("memory_bytes_per_s", "memory bandwidth per watt of board power", "B/s/W"),
)
_IDENTITY = ("architecture", "chip", "segment", "form", "launch", "memory_bytes", "memory_type", "power_w")


@dataclass(frozen=True, slots=True)
class Stated:
    """One value as a number and as text, with the fact or peak that states it."""

    value: float
    text: str
    fact: Fact | Peak


@dataclass(frozen=True, slots=True)
class Quantity:
    """One quantity of both cards."""

    first: Stated
    second: Stated
    duel: HeadToHead

    @property
    def ratio(self) -> float:
        """The second over the first."""
        return self.second.value / self.first.value

    @property
    def even(self) -> bool:
        return abs(self.ratio - 1) < EVEN

    @property
    def winner(self) -> GpuSpec:
        """The card with the larger value."""
        return self.duel.second if self.ratio > 1 else self.duel.first

    @property
    def factor(self) -> float:
        """The larger over the smaller."""
        return max(self.ratio, 1 / self.ratio)

    def sentence(self) -> str:
        """`RTX A5000 24.0 GiB [1], RTX A4000 16.0 GiB [2], 1.50 times as much on the RTX A5000`."""
        sides = zip(self.duel.both, (self.first, self.second), strict=True)
        stated = [f"{short(spec)} {one.text} {self.duel.cited.mark(one.fact.source)}" for spec, one in sides]
        more = f"{self.factor:.2f} times as much on the {short(self.winner)}"
        return ", ".join([*stated, "which is as good as equal" if self.even else more])


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadToHead:
    """What an article is made of; nothing is read from disk or clock after this."""

    first: GpuSpec
    second: GpuSpec
    speeds: tuple[Record, ...]
    """Measured and published, of both."""
    forecasts: tuple[Record, ...]
    """Of both, refusals included: why a card cannot do something is worth as much."""
    ratio_half: float
    """80 % half width of a ratio of two forecasts, as a logarithm: what carrying a speed from one card to
    another was off by, because errors that both cards share cancel."""
    offers: tuple[Offer, ...]
    today: date
    cited: References

    @property
    def both(self) -> tuple[GpuSpec, GpuSpec]:
        return (self.first, self.second)

    @property
    def names(self) -> str:
        """`RTX A4000 over RTX A5000`: how ratios are meant."""
        return f"{short(self.second)} over {short(self.first)}"

    def two(self, kind: Kind, count: int = 1) -> tuple[Record | None, Record | None]:
        """The forecasts of one kind of work on both."""
        first, second = (of_kind(kind, spec.id, self.forecasts, count) for spec in self.both)
        return first, second

    def forecast_ratio(self, kind: Kind) -> Interval | None:
        """The second over the first by forecast; None where one of them has none."""
        first, second = self.two(kind)
        if first is None or second is None or first.throughput is None or second.throughput is None:
            return None
        # Errors that both cards share cancel in a ratio: its width is not that of two forecasts.
        value, spread = ratio_between(first, second, ignoring=TWO_GPUS).value, exp(self.ratio_half)
        return Interval(value=value, low=value / spread, high=value * spread, level=0.8, method="conformal")

    def quantity(self, name: str) -> Quantity | None:
        """A numeric field or `peak:bf16`, where both cards state it."""
        found = []
        for spec in self.both:
            fact, number = spec.facts.get(name), spec.number(name)
            peak = spec.peak(name.removeprefix("peak:")) if name.startswith("peak:") else None
            if peak is not None:
                found.append(Stated(peak.flop_per_s, f"{peak_value(peak)} dense", peak))
            elif fact is not None and number is not None:
                found.append(Stated(number, shown(fact), fact))
        return Quantity(found[0], found[1], self) if len(found) == 2 and found[0].value else None


def short(spec: GpuSpec) -> str:
    """The name without its vendor."""
    return spec.name.removeprefix(f"{spec.vendor} ")


def article(duel: HeadToHead) -> Page:
    """The head-to-head; sections that have nothing to say are left out."""
    sections = (
        Section(id="cards", title="The two cards", points=tuple(_identity(duel, spec) for spec in duel.both)),
        specifications(duel),
        differences(duel),
        performance(duel),
        forecasts(duel),
        several(duel),
        efficiency(duel),
        costs(duel),
        choice(duel),
        Section(
            id="method",
            title="How this was made",
            text=(
                "Every value of the tables carries the source that states it or says what it is computed "
                "from. Ratios and orders are computed; figures of different origin are never put into one "
                "ratio. Published figures that break a check of plausibility are left out. `gpuwise audit "
                "FILE` checks every line of this page against catalog, offers and physics again.",
            ),
        ),
    )
    found = criteria(duel)
    won = [f"the {short(s)} is ahead in {sum(c.winner is s for c in found)}" for s in duel.both]
    even = sum(c.winner is None for c in found)
    lines = [f"{title}: {q.sentence()}." for name, title in _SUMMARY if (q := duel.quantity(name))]
    lines.append(
        f"Of {len(found)} comparisons {' and '.join(won)}; {even} are even within {EVEN:.0%} or open."
    )
    return Page(
        title=f"{short(duel.first)} against {short(duel.second)} for deep learning",
        subtitle=f"Made by gpuwise from cited facts on {duel.today.isoformat()}",
        summary=tuple(lines),
        sections=tuple(section for section in sections if section.says_something),
        sources=duel.cited.sources,
        made_on=duel.today.isoformat(),
    )


def _identity(duel: HeadToHead, spec: GpuSpec) -> str:
    """One card in a sentence: what it is and for what it was made."""
    facts = [spec.facts[name] for name in _IDENTITY if name in spec.facts and name in fields()]
    parts = [f"{label(f.field)} {shown(f)} {duel.cited.mark(f.source)}" for f in facts]
    return f"{spec.name}: {', '.join(parts)}."


def specifications(duel: HeadToHead) -> Section:
    """Every field that either card states, each value with its source, and their ratio."""
    rows = []
    for name in sorted({name for spec in duel.both for name in spec.facts}, key=place):
        facts, numbers = [s.facts.get(name) for s in duel.both], [s.number(name) for s in duel.both]
        cited = duel.cited.mark(*(fact.source for fact in facts if fact))
        values = [shown(fact) if fact else "-" for fact in facts]
        rows.append((label(name), *values, _ratio(*numbers) if ratio_means(name) else "", cited))
    # Peaks are named by format, unit and accumulator, so that dense is never beside sparse.
    for field, name in dict.fromkeys((p.field, peak_name(p)) for spec in duel.both for p in spec.peaks):
        peaks = [next((p for p in spec.peaks if p.field == field), None) for spec in duel.both]
        cited = duel.cited.mark(*(peak.source for peak in peaks if peak))
        values = [peak_value(peak) if peak else "-" for peak in peaks]
        ratio = _ratio(*(peak.flop_per_s if peak else None for peak in peaks))
        rows.append((f"peak {name}", *values, ratio, cited))
    table = Table(
        columns=("field", duel.first.name, duel.second.name, "ratio", "sources"), rows=tuple(rows),
        numeric=frozenset({"ratio"}), notes=(f"ratio: {short(duel.second)} over {short(duel.first)}",),
    )  # fmt: skip
    return Section(
        id="specifications",
        title="Specifications",
        text=("Peaks are dense unless they say sparse. A dash: no source that was read states it.",),
        tables=(table,),
    )


def _ratio(first: float | None, second: float | None) -> str:
    return times(second / first) if first and second is not None else ""


def differences(duel: HeadToHead) -> Section:
    """Each difference that bears on deep learning in a sentence, computed from the stated values."""
    lines = []
    if held := duel.quantity("memory_bytes"):
        sizes = [
            f"{short(spec)} {significant(one.value / WEIGHT_BYTES / 1e9)} and "
            f"{significant(one.value / ADAM_BYTES / 1e9)}"
            for spec, one in zip(duel.both, (held.first, held.second), strict=True)
        ]
        lines.append(
            f"Memory: {held.sentence()}. Billions of parameters whose weights alone fill it in 16 bit "
            f"({WEIGHT_BYTES} bytes each), and whose training with Adam does ({ADAM_BYTES} bytes each), "
            f"activations not counted: {'; '.join(sizes)}."
        )
    lines += [
        f"{title}: {q.sentence()}; {means}." for name, title, means in _SPEEDS if (q := duel.quantity(name))
    ]
    # A card without any stated matrix peak may have the format all the same: nothing follows then.
    formats = [{p.format for p in spec.peaks if p.unit == "matrix"} for spec in duel.both]
    for spec, mine, theirs in zip(duel.both, formats, reversed(formats), strict=True):
        alone = sorted(mine - theirs)
        if alone and theirs:
            peaks = [p for p in spec.peaks if p.format in alone and p.unit == "matrix"]
            cited = duel.cited.mark(*(p.source for p in peaks))
            lines.append(f"Only the {short(spec)} has a stated matrix peak in {', '.join(alone)} {cited}.")
    for name, means in _FLAGS:
        facts = [(spec, spec.facts[name]) for spec in duel.both if name in spec.facts]
        if len(facts) == 2 and facts[0][1].value != facts[1][1].value:
            sides = [f"{short(spec)} {shown(f)} {duel.cited.mark(f.source)}" for spec, f in facts]
            lines.append(f"{label(name)}: {', '.join(sides)}; {means}.")
    lines += _link(duel)
    if power := duel.quantity("power_w"):
        lines.append(f"Board power: {power.sentence()}; cooling and supply must bear it.")
    return Section(id="differences", title="What the differences mean", points=tuple(lines))


def _link(duel: HeadToHead) -> Iterator[str]:
    """Where only one of them has a link."""
    for having, lacking in (duel.both, duel.both[::-1]):
        fact, name = having.facts.get("link_bytes_per_s"), lacking.facts.get("link")
        if fact is None or "link_bytes_per_s" in lacking.facts:
            continue
        other = (
            f"{shown(name)} {duel.cited.mark(name.source)}"
            if name
            else "not stated by a source that was read"
        )
        yield (
            f"Link between GPUs: {short(having)} {shown(fact)} {duel.cited.mark(fact.source)}; "
            f"{short(lacking)}: {other}. "
            "Gradients of several GPUs travel over it, or over PCIe where there is none."
        )


def performance(duel: HeadToHead) -> Section:
    """Measured and published pairs, in one chart with the ratio of each."""
    found = list(pairs(duel.speeds, duel.first.id, duel.second.id))
    names = duel.first.name, duel.second.name
    marks, rows = [], []
    for one, other in found:
        ratio = ratio_between(one, other, ignoring=TWO_GPUS)
        several = f", {one.gpus} GPUs" if one.gpus > 1 else ""
        marks.append(Mark(
            label=work(one) + several, value=ratio.value, low=ratio.low, high=ratio.high, colour=one.origin,
            shown=f"{ratio.value:.2f}x",
        ))  # fmt: skip
        speeds = [spanned(r.throughput, r.item) for r in (one, other) if r.throughput is not None]
        rows.append((
            work(one), str(one.gpus), f"{one.batch or '-'} / {other.batch or '-'}", *speeds,
            times(ratio.value, ratio.low, ratio.high), one.origin, duel.cited.mark(one.source, other.source),
        ))  # fmt: skip
    figure = Figure(
        chart=charts.ratios(marks, title=duel.names), marks=tuple(marks), ratio=True, opened=True,
        table=Table(
            title="Both cards, measured and published",
            columns=("work", "GPUs", "batches", *names, "ratio", "origin", "source"),
            rows=tuple(rows), numeric=frozenset({"GPUs", *names, "ratio"}),
        ),
        caption=f"Speed of the {duel.names}, measured and published: above 1 the {short(duel.second)} is "
        "faster.",
    ) if found else None  # fmt: skip
    # What stands in a pair is not listed again as a single figure.
    paired = [record for pair in found for record in pair]
    single = []
    for spec in duel.both:
        mine = [
            r for r in duel.speeds if r.gpu_id == spec.id and not any(_same(r, other) for other in paired)
        ]
        if mine:
            title = f"{spec.name}: figures without a counterpart"
            single.append(listing(mine, duel.cited, most=LISTED, title=title))
    if figure:
        text = (
            "A ratio stands only where one source, or gpuwise itself, has both cards with the same work, "
            "framework, mode, stated precision, compilation and number of GPUs; batches may differ where the "
            "memory does."
        )
    elif single:
        text = (
            "No source has both cards on the same work, so no ratio of measured speeds can be given: "
            "the single figures below differ in software and script, and the forecasts after them do not."
        )
    else:
        text = "No speed of either card was measured here, or published by a source that passes the checks."
    return Section(
        id="performance", title="Measured and published speeds", text=(text,),
        figures=(figure,) if figure else (), tables=tuple(single),
    )  # fmt: skip


def _same(a: Record, b: Record) -> bool:
    """True where two figures of a GPU answer one question, so that one of them is enough."""
    whose = a.origin == b.origin and (a.origin == "measured" or a.session == b.session)
    return whose and a.gpu_id == b.gpu_id and a.question.key("batch") == b.question.key("batch")


def forecasts(duel: HeadToHead) -> Section:
    """What each kind of work would reach on both, or why one of them cannot do it."""
    marks, rows = [], []
    for kind in KINDS:
        first, second = duel.two(kind)
        if first is None or second is None:
            continue
        # Where neither is forecast for want of a trace, the row would say nothing of the cards.
        if first.refusal and second.refusal and not (first.memory_bytes or second.memory_bytes):
            continue
        ratio = duel.forecast_ratio(kind)
        speeds = [
            spanned(r.throughput, r.item)
            if r.throughput
            else "does not fit"
            if r.memory_bytes
            else "no forecast"
            for r in (first, second)
        ]
        bounds = dict.fromkeys(r.bound for r in (first, second) if r.bound)
        cell = times(ratio.value, ratio.low, ratio.high) if ratio else ""
        rows.append((kind.title, kind.named, *speeds, cell, " / ".join(bounds)))
        if ratio is not None:
            marks.append(Mark(
                label=kind.title, value=ratio.value, low=ratio.low, high=ratio.high, colour="predicted",
                shown=f"{ratio.value:.2f}x",
            ))  # fmt: skip
    if not rows:
        return Section(id="forecasts", title="What each kind of work means")
    cited = duel.cited.mark(FORECAST)
    table = Table(
        title="Forecast of one GPU at its best batch",
        columns=("kind of work", "its example", duel.first.name, duel.second.name, "ratio", "bound by"),
        rows=tuple(rows),
        numeric=frozenset({duel.first.name, duel.second.name, "ratio"}),
        notes=(
            f"forecasts, not measurements, with 80 % intervals {cited}; the ratio has an interval of its "
            "own: what carrying a speed from one card to another was off by",
            "each row can be measured: gpuwise bench WORKLOAD --mode MODE --precision PRECISION",
        ),
    )
    figure = Figure(
        chart=charts.ratios(marks, title=f"{duel.names}, forecast"), table=table, opened=True,
        marks=tuple(marks), ratio=True,
        caption=f"Speed of the {duel.names} by kind of work, forecast with 80 % intervals {cited}.",
    ) if marks else None  # fmt: skip
    unable = [
        f"{kind.title[:1].upper()}{kind.title[1:]} ({kind.workload}) does not fit the {short(spec)}: a batch "
        f"of {found.batch} takes about {gibibytes(found.memory_bytes.value)} by forecast."
        for spec in duel.both
        for kind in KINDS
        if (found := of_kind(kind, spec.id, duel.forecasts)) and found.refusal and found.memory_bytes
    ]
    return Section(
        id="forecasts",
        title="What it means for each kind of work",
        text=(
            "Predicted from what each step computes and moves and from the cards' specifications; the last "
            "column says what bounds most of a step, so which specification decides.",
        ),
        points=tuple(unable),
        figures=(figure,) if figure else (),
        tables=() if figure else (table,),
    )


def several(duel: HeadToHead) -> Section:
    """A row for each kind of work and number of GPUs that both, or one, can do."""
    rows = []
    for kind in SCALED:
        alone = duel.two(kind)
        for count in COUNTS[1:]:
            cells: list[str] = []
            for one, all_ in zip(alone, duel.two(kind, count), strict=True):
                if one is None or all_ is None or one.throughput is None or all_.throughput is None:
                    cells += ("-", "-")
                    continue
                share = Curve(records=(one, all_)).share(all_).value
                cells += (spanned(all_.throughput, all_.item), percent(share, 0))
            if set(cells) != {"-"}:
                rows.append((kind.title, str(count), *cells))
    columns = ("GPUs", *(name for s in duel.both for name in (s.name, f"{short(s)} of linear")))
    table = Table(
        columns=("kind of work", *columns), rows=tuple(rows), numeric=frozenset(columns),
        notes=(f"forecasts {duel.cited.mark(FORECAST)}, 80 %: one machine, each GPU with the whole batch",),
    ) if rows else None  # fmt: skip
    return Section(id="several", title="On several GPUs", tables=(table,) if table else ())


def efficiency(duel: HeadToHead) -> Section:
    """Peaks and bandwidth per watt, and forecast items per joule."""
    rows = []
    for name, title, unit in _PER_WATT:
        amount, power = duel.quantity(name), duel.quantity("power_w")
        if amount is not None and power is not None:
            each = [
                one.value / drawn.value
                for one, drawn in ((amount.first, power.first), (amount.second, power.second))
            ]
            stated = (amount.first, amount.second, power.first, power.second)
            cited = duel.cited.mark(*(one.fact.source for one in stated))
            rows.append((title, *(si(v, unit) for v in each), _ratio(*each), f"computed from {cited}"))
    for kind in KINDS:
        two = [(r.items_per_joule, r.item) for r in duel.two(kind) if r is not None and r.items_per_joule]
        if len(two) == 2:
            joules = [per_joule(joule, item) for joule, item in two if joule]
            cited = duel.cited.mark(FORECAST)
            rows.append((kind.title, *joules, _ratio(two[0][0], two[1][0]), f"forecast {cited}"))
    columns = ("efficiency", duel.first.name, duel.second.name, "ratio", "from")
    table = Table(
        columns=columns, rows=tuple(rows), numeric=frozenset(columns[1:4]),
        notes=("board power is a limit, not a draw: a measurement of gpuwise says what is drawn",),
    )  # fmt: skip
    # Measured items per joule, the most efficient of each card and workload.
    # The fastest is seldom the most efficient: each has its own row.
    best: dict[tuple[str, str, str], tuple[float, Record]] = {}
    for record in duel.speeds:
        joule, key = record.items_per_joule, (record.gpu_id, record.question.workload, record.question.mode)
        if record.origin == "measured" and joule and joule > best.get(key, (0.0,))[0]:
            best[key] = joule, record
    names = {spec.id: short(spec) for spec in duel.both}
    points = tuple(
        f"Measured: {work(r)} on the {names[r.gpu_id]} {per_joule(joule, r.item)} "
        f"{duel.cited.mark(r.source)}."
        for joule, r in best.values()
    )
    return Section(id="power", title="Power efficiency", tables=(table,) if rows else (), points=points)


def costs(duel: HeadToHead) -> Section:
    """Dated offers of both, and what a million items cost by their median."""
    ids = [spec.id for spec in duel.both]
    known = offered(duel.offers, ids, duel.today, duel.cited)
    tables = [
        Table(
            title=f"Offers as of {duel.today.isoformat()}",
            columns=("price", duel.first.name, duel.second.name),
            rows=tuple(known),
            notes=(
                EXACTLY,
                f"stale: older than {prices.STALE_DAYS} days; fetch new ones with gpuwise prices update",
            ),
        )
    ] * bool(known)
    rents, rows = [hourly(duel.offers, gpu_id) for gpu_id in ids], []
    for kind in DEEP if any(rents) else ():
        two = duel.two(kind)
        each = [
            million(r.throughput.value, rent) if r is not None and r.throughput is not None and rent else None
            for r, rent in zip(two, rents, strict=True)
        ]
        item = next((r.item for r in two if r is not None), "")
        if any(each):
            ratio = _ratio(*(amount.value if amount else None for amount in each))
            rows.append((kind.title, f"a million {item}s", *(amount or "-" for amount in each), ratio))
    if rows:
        tables.append(Table(
            title="Rent of a million items, by forecast speed and median on-demand rent",
            columns=("kind of work", "unit", duel.first.name, duel.second.name, "ratio"),
            rows=tuple(rows),
            numeric=frozenset({duel.first.name, duel.second.name, "ratio"}),
            notes=(f"from these offers and forecasts {duel.cited.mark(FORECAST)}; lower is cheaper",),
        ))  # fmt: skip
    missing = [short(spec) for spec in duel.both if not exact(duel.offers, spec.id)]
    text = f"No dated offer of exactly the {' or the '.join(missing)} is known, so no price of it is given."
    return Section(
        id="prices", title="Prices and price for performance", text=(text,) if missing else (),
        tables=tuple(tables),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One reason to choose; `winner` None where both are as good."""

    need: str
    winner: GpuSpec | None
    why: str
    ground: str
    """What it rests on: specification, forecast, measured, offers."""


def choice(duel: HeadToHead) -> Section:
    """Lists for each card and the decision table: every line is the winner of one comparison above, or says
    that it is even."""
    found, points = criteria(duel), []
    for spec in duel.both:
        needs = "; ".join(c.need for c in found if c.winner is spec)
        ahead = f"Choose the {short(spec)} for: {needs}."
        points.append(ahead if needs else f"The {short(spec)} is ahead in nothing that is compared here.")
    rows = tuple((c.need, short(c.winner) if c.winner else "either", c.why, c.ground) for c in found)
    table = Table(title="Decision table", columns=("what you need", "choose", "why", "rests on"), rows=rows)
    return Section(id="choice", title="When to choose which", points=tuple(points), tables=(table,))


def criteria(duel: HeadToHead) -> tuple[Criterion, ...]:
    """Every reason that the facts give."""
    return (*_by_specification(duel), *_by_forecast(duel), *_by_price(duel))


def _by_specification(duel: HeadToHead) -> Iterator[Criterion]:
    for name, need, more in _LARGER:
        if found := duel.quantity(name):
            why = "as good as equal" if found.even else f"{more}, {found.factor:.2f} times"
            winner = None if found.even else found.winner
            yield Criterion(need=need, winner=winner, why=why, ground="specification")
    power = duel.quantity("power_w")
    if power is not None and not power.even:
        lower = duel.first if power.winner is duel.second else duel.second
        why = f"{1 / power.factor:.2f} times the board power"
        yield Criterion(need="little power and heat", winner=lower, why=why, ground="specification")
    forms = [spec.text("form") for spec in duel.both]
    if None not in forms and forms.count("laptop") == 1:
        mobile = duel.both[forms.index("laptop")]
        why = "it is built into laptops"
        yield Criterion(need="work on the move", winner=mobile, why=why, ground="specification")


def _by_forecast(duel: HeadToHead) -> Iterator[Criterion]:
    """Work that fits only one card, then a winner where the whole interval is on one side of even."""
    for kind in KINDS:
        two = duel.two(kind)
        # A refusal for want of a trace is no statement about memory.
        able = [spec for spec, r in zip(duel.both, two, strict=True) if r is not None and r.throughput]
        lacking = next((r for r in two if r is not None and r.throughput is None), None)
        if None not in two and len(able) == 1 and lacking is not None and lacking.memory_bytes is not None:
            why = "it fits only there, as run in the table above"
            yield Criterion(need=kind.title, winner=able[0], why=why, ground="forecast")
    for kind in KINDS:
        found = duel.forecast_ratio(kind)
        if found is None:
            continue
        faster = duel.second if found.value > 1 else duel.first
        sure = found.low > 1 or found.high < 1
        why = f"{max(found.value, 1 / found.value):.2f} times the speed"
        if not sure:
            why = f"{short(faster)} {why}, but the interval includes 1.0 (no difference)"
        yield Criterion(need=kind.title, winner=faster if sure else None, why=why, ground="forecast, 80 %")


def _by_price(duel: HeadToHead) -> Iterator[Criterion]:
    # Spot rents are interrupted and purchases last for years: only on-demand hours compare.
    rents: Sequence[float | None] = [hourly(duel.offers, spec.id) for spec in duel.both]
    first, second = rents
    if first and second:
        share = min(first, second) / max(first, second)
        cheaper = duel.first if first < second else duel.second
        yield Criterion(
            need="the lowest rent of an hour",
            winner=None if share > 1 - EVEN else cheaper,
            why=f"{share:.2f} times the median rent",
            ground="dated offers",
        )
