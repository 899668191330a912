"""Two to six GPUs in an article, from facts alone: each figure has a source or is computed from some.

Whatever is said of better and worse is a `Criterion`: its figures stand in the decision table and its winner
in the prose, so that the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import exp, log

from gpuwise.facts import prices
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.offer import Offer
from gpuwise.model.record import Record
from gpuwise.model.units import Amount, gibibytes, percent, significant, times, usd, watts, whole
from gpuwise.show import charts
from gpuwise.show.gpus import label, peak_name, peak_value, place, quantity, short, shown
from gpuwise.show.page import Figure, Page, References, Section
from gpuwise.show.prices import EXACTLY, exact, hourly, million, offered
from gpuwise.show.records import (
    COUNTS,
    DEEP,
    FORECAST,
    KINDS,
    SCALED,
    TWO_GPUS,
    UNTOLD,
    Kind,
    answers,
    of_kind,
    work,
)
from gpuwise.show.results import per_joule, spanned, value
from gpuwise.show.table import Table
from gpuwise.show.theme import Mark
from gpuwise.stats.records import Curve, ratio_between

MOST = 6
# Differences below this share decide nothing: the data sheets themselves are rounded.
EVEN = 0.05
# A weight in 16 bit; training with Adam in mixed precision keeps weight, gradient and two moments in fp32
# (ZeRO, Rajbhandari et al. 2020, counts the same 16 bytes a parameter).
WEIGHT_BYTES, ADAM_BYTES = 2, 16
# Measured and published questions that a table shows; the rest: gpuwise results.
LISTED = 24
_TRAINING = tuple(kind for kind in KINDS if kind.mode == "train")
_SERVING = tuple(kind for kind in KINDS if kind.mode == "infer" and kind.workload.startswith("llm"))
_IMAGES = tuple(kind for kind in KINDS if kind.mode == "infer" and kind not in _SERVING)
# What bounds a step -> (what decides then, in words; the quantity of it).
_DECIDES = {
    "memory": ("memory bandwidth", "memory_bytes_per_s"),
    "compute": ("the 16-bit matrix peak", "fp16"),
    "launch": ("the host, which launches the kernels", ""),
    "link": ("the link between GPUs", "link_bytes_per_s"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One reason to choose, for one kind of reader."""

    reader: str
    """`Who trains and waits for the result`."""
    what: str
    """What the figures count."""
    because: str
    """How the best is ahead: a sentence with places for {best}, {next} and {lead}."""
    figures: Mapping[str, Amount]
    """GPU -> its figure, of those that have one; at least two."""
    less: bool = False
    """The least is the best."""
    margin: float = 1 + EVEN
    """Factor between the best and the next below which nothing is decided."""
    ground: str

    @property
    def order(self) -> tuple[str, ...]:
        """The GPUs, the best first."""
        return tuple(sorted(self.figures, key=lambda one: self.figures[one].value, reverse=not self.less))

    def lead(self, other: str) -> float:
        """The best over another one, as a factor of at least 1."""
        best, theirs = self.figures[self.order[0]].value, self.figures[other].value
        return theirs / best if self.less else best / theirs

    @property
    def tied(self) -> tuple[str, ...]:
        """The best and all that are as good within the margin."""
        return tuple(one for one in self.order if self.lead(one) <= self.margin)

    @property
    def winner(self) -> str | None:
        """The best GPU where no other one is as good."""
        return self.order[0] if len(self.tied) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """What an article is made of; nothing is read from disk or clock after this."""

    specs: tuple[GpuSpec, ...]
    """Two to six."""
    speeds: tuple[Record, ...]
    """Measured and published, of all."""
    forecasts: tuple[Record, ...]
    """Of all, refusals included: why a card cannot do something is worth as much."""
    ratio_half: float
    """80 % half width of a ratio of two forecasts, as a logarithm: what carrying a speed from one card to
    another was off by, because errors that both cards share cancel."""
    offers: tuple[Offer, ...]
    today: date
    cited: References

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(spec.id for spec in self.specs)

    @property
    def first(self) -> str:
        """The GPU that ratios are over, by its name."""
        return short(self.specs[0])

    def name(self, gpu_id: str) -> str:
        """Without its vendor."""
        return next(short(spec) for spec in self.specs if spec.id == gpu_id)

    def names(self, ids: Sequence[str], last: str = "and") -> str:
        """`the A40, the L4 and the L40S`."""
        *some, one = [f"the {self.name(each)}" for each in ids]
        return f"{', '.join(some)} {last} {one}" if some else one

    def forecast(self, kind: Kind, gpu_id: str) -> Record | None:
        """That of one GPU where the work fits it."""
        found = of_kind(kind, gpu_id, self.forecasts)
        return found if found is not None and found.throughput is not None else None

    def too_large(self, kind: Kind, gpu_id: str) -> Record | None:
        """The refusal of work that does not fit the memory of the GPU."""
        found = of_kind(kind, gpu_id, self.forecasts)
        return found if found is not None and found.throughput is None and found.memory_bytes else None

    def common(self, kinds: Sequence[Kind]) -> tuple[Kind, ...]:
        """Those that all of the GPUs can do: only over these is a mean the same question for each."""
        return tuple(kind for kind in kinds if all(self.forecast(kind, one) for one in self.ids))

    def mean_ratio(self, kinds: Sequence[Kind], gpu_id: str) -> float:
        """Geometric mean over these kinds of the speed over that of the first GPU."""
        logs = []
        for kind in kinds:
            base, mine = self.forecast(kind, self.ids[0]), self.forecast(kind, gpu_id)
            if base is not None and mine is not None:
                logs.append(log(ratio_between(base, mine, ignoring=(*TWO_GPUS, "gpu")).value))
        return exp(sum(logs) / len(logs))

    def rent(self, gpu_id: str) -> float | None:
        """Median on-demand rent of an hour, in USD: spot rents are interrupted."""
        return hourly(self.offers, gpu_id)

    def bought(self, gpu_id: str) -> float | None:
        """What it costs to buy, in USD: the median of street prices, or the launch price."""
        mine = exact(self.offers, gpu_id)
        found = prices.spread(mine, "street") or prices.spread(mine, "new")
        return None if found is None else found.median


def article(given: Contest) -> Page:
    """The whole article; sections that have nothing to say are left out."""
    names, found = [short(spec) for spec in given.specs], criteria(given)
    method = (
        "Specifications and prices carry the source that states them. Speeds of kinds of work are forecasts "
        f"of gpuwise with 80 % intervals {given.cited.mark(FORECAST)}; ratios and orders are computed, and a "
        "difference within the uncertainty decides nothing. Published figures that break a check of "
        "plausibility are left out. `gpuwise audit FILE` checks every line of this page against catalog, "
        "offers and physics again; `gpuwise bench WORKLOAD` measures a row on a card at hand."
    )
    sections = (
        _answer(given, found),
        _cards(given),
        _speed(given),
        _measured(given),
        _memory(given),
        _power(given),
        _price(given),
        _several(given),
        _readers(given, found),
        _specifications(given),
        Section(id="method", title="How this was made", text=(method,)),
    )
    return Page(
        title=f"{', '.join(names[:-1])} or {names[-1]}: which GPU for deep learning?",
        subtitle=f"Made by gpuwise from cited facts on {given.today.isoformat()}",
        summary=(),
        sections=sections,
        sources=given.cited.sources,
        made_on=given.today.isoformat(),
    )


def criteria(given: Contest) -> dict[str, Criterion]:
    """Every reason that the facts give, by a name for it."""
    found: dict[str, Criterion] = {}
    sure, ids, base = exp(given.ratio_half), given.ids, f"{given.first} = 1"
    rents = {one: rent for one in ids if (rent := given.rent(one))}
    for name, reader, renter, every in (
        ("training", "Who trains and waits for the result", "Who trains on rented GPUs", _TRAINING),
        ("serving", "Who serves a language model", "Who serves a language model on rented GPUs", _SERVING),
        ("images", "Who classifies or generates images", "Who works on images with rented GPUs", _IMAGES),
    ):
        if kinds := given.common(every):
            over = f"mean of {len(kinds)} kinds of work" if len(kinds) > 1 else kinds[0].title
            speeds = {one: given.mean_ratio(kinds, one) for one in ids}
            found[name] = Criterion(
                reader=reader, what=f"speed, {base}, {over}", margin=sure, ground="forecast",
                because="{best} does {lead} times the work of {next} in an hour",
                figures={one: times(speed) for one, speed in speeds.items()},
            )  # fmt: skip
            found[f"{name} for rent"] = Criterion(
                reader=renter, what=f"rent for the same work, relative, {over}", less=True, margin=sure,
                ground="forecast and on-demand offers",
                because="the same work costs {lead} times as much rent on {next}",
                figures=_relative({one: rent / speeds[one] for one, rent in rents.items()}),
            )  # fmt: skip
    if kinds := given.common(DEEP):
        paid = {one: price for one in ids if (price := given.bought(one))}
        found["purchase"] = Criterion(
            reader="Who buys the card", what="purchase price for the same speed, relative", less=True,
            margin=sure, ground="forecast and purchase prices",
            because="the same speed costs {lead} times as much to buy with {next}",
            figures=_relative({one: price / given.mean_ratio(kinds, one) for one, price in paid.items()}),
        )  # fmt: skip
        joules = {
            one: [r.items_per_joule or 0.0 for kind in kinds if (r := given.forecast(kind, one))]
            for one in ids
        }
        mean = {one: exp(sum(map(log, each)) / len(each)) for one, each in joules.items() if all(each)}
        found["energy"] = Criterion(
            reader="Who pays for power and cooling", what="work per joule, relative", margin=sure,
            ground="forecast", because="{best} does {lead} times the work of {next} per joule",
            figures=_relative(mean),
        )  # fmt: skip
    specs = {spec.id: spec for spec in given.specs}
    found["memory"] = Criterion(
        reader="Whose model barely fits", what="device memory", ground="specification",
        because="{best} has {lead} times the memory of {next}",
        figures={one: gibibytes(size) for one, spec in specs.items() if (size := spec.memory_bytes)},
    )  # fmt: skip
    found["supply"] = Criterion(
        reader="Whose power supply or cooling is small", what="board power", less=True,
        ground="specification", because="{next} may draw {lead} times the power of {best}",
        figures={one: watts(power) for one, spec in specs.items() if (power := spec.power_w)},
    )  # fmt: skip
    found["double"] = Criterion(
        reader="Who computes in double precision", what="dense fp64 peak", ground="specification",
        because="{best} has {lead} times the fp64 peak of {next}",
        figures={one: peak_value(peak) for one, spec in specs.items() if (peak := spec.peak("fp64"))},
    )  # fmt: skip
    # With one figure there is nothing to compare.
    return {name: one for name, one in found.items() if len(one.figures) > 1}


def _relative(figures: Mapping[str, float]) -> dict[str, Amount]:
    """Over the first of them."""
    return {one: times(figure / next(iter(figures.values()))) for one, figure in figures.items()}


def _because(given: Contest, found: Criterion, against: str = "", best: str = "") -> str:
    other = given.names([against or found.order[1]])
    lead = f"{found.lead(against or found.order[1]):.2f}"
    return found.because.format(best=best or given.names(found.order[:1]), next=other, lead=lead)


def _answer(given: Contest, found: Mapping[str, Criterion]) -> Section:
    """The thesis: what follows from speed, price, memory and power together."""
    text = []
    name = "training" if "training" in found else "serving"
    speed, cost = found.get(name), found.get(f"{name} for rent")
    doing = {"training": "training", "serving": "serving language models"}[name]
    if speed is not None:
        best = speed.order[0]
        line = (
            f"For {doing}, {given.names([best])} is the fastest card here: "
            f"{_because(given, speed, best='it')}."
            if speed.winner
            else f"For {doing}, {given.names(speed.tied)} are equally fast within the uncertainty of the "
            "forecasts."
        )
        if cost is not None and best in cost.figures:
            cheap, hour = cost.order[0], usd(given.rent(best) or 0.0)
            other = usd(given.rent(cheap) or 0.0)
            if cost.winner == best:
                line += f" At {hour} an hour it is also the cheapest to rent: {_because(given, cost)}."
            elif cost.winner:
                slower = given.names([cheap])
                line += (
                    f" Speed is not the whole price, though. An hour of it rents for {hour}, one of {slower} "
                    f"for {other}, so that {_because(given, cost, best)}: who can wait rents {slower}."
                )
            else:
                tied = given.names(cost.tied)
                line += f" For the same work {tied} cost the same rent, within the uncertainty."
        text.append(line)
    apart = [
        (kind, able)
        for kind in KINDS
        if (able := [one for one in given.ids if given.forecast(kind, one)])
        and any(given.too_large(kind, one) for one in given.ids)
    ]
    if apart:
        kind, able = apart[0]
        more = f" The same holds for {len(apart) - 1} more kinds of work below." if len(apart) > 1 else ""
        text.append(
            f"Memory draws the hard line: {_said(kind.title)} fits {given.names(able)} only, and where a "
            f"model does not fit, neither price nor speed matters.{more}"
        )
    elif given.common(KINDS):
        text.append("Memory excludes no card: every kind of work compared here fits all of them.")
    leads = {
        "energy": "On the electricity bill {best} is ahead",
        "purchase": "Who buys gets the most speed for the money with {best}",
    }
    lines = [
        f"{lead.format(best=given.names(one.order[:1]))}: {_because(given, one, best='it')}."
        for name, lead in leads.items()
        if (one := found.get(name)) is not None and one.winner
    ]
    text += [" ".join(lines)] if lines else []
    won = {one: [c.reader for c in found.values() if c.winner == one] for one in given.ids}
    if none := [one for one in given.ids if not won[one]]:
        text.append(f"No comparison below is decided for {given.names(none, 'or')} alone.")
    return Section(id="answer", title="The short answer", text=tuple(text))


def _cards(given: Contest) -> Section:
    """What each card is, in a sentence or two with the sources."""
    text = []
    for spec in given.specs:

        def stated(name: str, form: str, spec: GpuSpec = spec) -> str:
            fact = spec.facts.get(name)
            return form.format(f"{shown(fact)} {given.cited.mark(fact.source)}") if fact else ""

        kind = " ".join(spec.text(name) or "" for name in ("architecture", "segment")).strip()
        line = f"The {spec.name} is {'an' if kind[:1] in 'AEIOU' else 'a'} {kind} card"
        line += stated("launch", " of {}") + stated("memory_bytes", " with {}")
        line += stated("memory_type", " of {}") + stated("memory_bytes_per_s", " at {}")
        line += stated("power_w", " and a board power of {}") + "."
        if peak := spec.peak("fp16"):
            line += (
                f" Its 16-bit matrix peak is {peak_value(peak)} dense {given.cited.mark(peak.source)}"
                + stated("link_bytes_per_s", ", its link to other GPUs carries {}") + "."
            )  # fmt: skip
        text.append(line)
    return Section(id="cards", title="The cards", text=tuple(text))


def _speed(given: Contest) -> Section:
    """Forecasts of each kind of work: which is faster, by how much, and which specification decides."""
    rows: list[dict[str, str]] = []
    marks: dict[str, list[Mark]] = {one: [] for one in given.ids}
    waits: dict[str, list[Kind]] = {}
    for kind in KINDS:
        able = {spec.id: r for spec in given.specs if (r := given.forecast(kind, spec.id))}
        # Where none is forecast for want of a trace, the row would say nothing of the cards.
        if not able and not any(given.too_large(kind, one) for one in given.ids):
            continue
        bounds = list(dict.fromkeys(r.bound for r in able.values() if r.bound))
        rows.append({
            "kind of work": kind.title, "its example": kind.named,
            **{
                short(spec): spanned(r.throughput, r.item) if (r := able.get(spec.id)) and r.throughput
                else "does not fit" if given.too_large(kind, spec.id) else "no forecast"
                for spec in given.specs
            },
            "bound by": " / ".join(bounds),
        })  # fmt: skip
        if len(bounds) == 1:
            waits.setdefault(bounds[0], []).append(kind)
        base, spread = able.get(given.ids[0]), exp(given.ratio_half)
        for one in given.ids[1:]:
            if base is not None and one in able:
                ratio = ratio_between(base, able[one], ignoring=TWO_GPUS).value
                marks[one].append(Mark(
                    label=kind.title, value=ratio, low=ratio / spread, high=ratio * spread,
                    group=f"{given.name(one)} over {given.first}", shown=f"{ratio:.2f}x",
                    colour="predicted",
                ))  # fmt: skip
    if not rows:
        return Section(id="forecasts", title="Speed")
    text = []
    for bound, kinds in waits.items():
        what, field = _DECIDES[bound]
        stated = {spec.id: number for spec in given.specs if field and (number := quantity(spec, field))}
        most = max(stated, key=lambda one: stated[one], default="")
        also = f" and {len(kinds) - 1} more kinds of work wait" if len(kinds) > 1 else " waits"
        text.append(
            f"{kinds[0].title[:1].upper()}{kinds[0].title[1:]}{also} for "
            f"{'arithmetic' if bound == 'compute' else bound} on every card, so {what} decides"
            + (f"; {given.names([most])} has the most of it." if len(stated) > 1 else ".")
        )
    for one, each in marks.items():
        if len(each) > 1:
            low, high = min(each, key=lambda mark: mark.value), max(each, key=lambda mark: mark.value)
            text.append(
                f"Against the {given.first} {given.names([one])} does {low.value:.2f} times the work in "
                f"{_said(low.label)} and {high.value:.2f} times in {_said(high.label)}; the other kinds lie "
                "between."
            )
    cited = given.cited.mark(FORECAST)
    table = Table.of(
        rows, title="Forecast of one GPU at its best batch",
        notes=(f"forecasts, not measurements, with 80 % intervals {cited}",),
    )  # fmt: skip
    drawn = tuple(mark for each in marks.values() for mark in each)
    figure = Figure(
        marks=drawn, ratio=True, opened=True, table=table,
        caption=f"Speed over that of the {given.first} by kind of work, forecast with 80 % intervals "
        f"{cited}: above 1 is faster.",
    )  # fmt: skip
    return Section(
        id="forecasts", title="Speed", text=tuple(text), figures=(figure,) if drawn else (),
        tables=() if drawn else (table,),
    )  # fmt: skip


def _said(title: str) -> str:
    """`serving an 8B model (answers)`: the title of a kind of work within a sentence."""
    head, colon, tail = title.partition(": ")
    return f"{head} ({tail})" if colon else title


def _measured(given: Contest) -> Section:
    """What was measured and published of at least two of the cards, question by question."""
    # An unstated precision may be any of several, and these differ by a factor of eight.
    stated = [r for r in given.speeds if r.question.precision is not None and r.throughput is not None]
    every = answers(stated)
    shared, alone = ([same for same in every if (len(same) > 1) is many] for many in (True, False))

    def table(found: Sequence[Mapping[str, Record]], title: str) -> tuple[Table, ...]:
        rows = []
        for same in found[:LISTED]:
            one = next(iter(same.values()))
            rows.append({
                "work": work(one),
                "GPUs": whole(one.gpus),
                "batch": " / ".join(dict.fromkeys(str(r.batch or "-") for r in same.values())),
                **{
                    short(s): spanned(r.throughput, r.item) if (r := same.get(s.id)) and r.throughput else ""
                    for s in given.specs
                },
                "origin": one.origin,
                "source": given.cited.mark(*(r.source for r in same.values())),
            })  # fmt: skip
        more = len(found) - LISTED
        notes = [UNTOLD] if any("tf32?" in row["work"] for row in rows) else []
        notes += [f"{more} more: gpuwise results --gpu {given.ids[0]}"] if more > 0 else []
        return (Table.of(rows, title=title, notes=tuple(notes)),) if rows else ()

    fastest = [max(same, key=lambda gpu_id: same[gpu_id].value) for same in shared]
    ahead = max(given.ids, key=fastest.count)
    text = (
        "Forecasts are one thing, measurements another. The table has every question that one source, or "
        "gpuwise itself, answered for at least two of the cards with the same work, framework, mode, "
        "precision, compilation and number of GPUs; batches may differ where the memory does. Of "
        f"{len(shared)} such questions {given.names([ahead])} is the fastest in {fastest.count(ahead)}."
        if shared
        else "No source has two of the cards on the same work, so no measured speeds can be compared."
    )
    return Section(
        id="performance", title="Measured and published", text=(text,),
        tables=table(shared, "Answered for two cards or more"), folded=table(alone, "Answered for one card"),
    )  # fmt: skip


def _memory(given: Contest) -> Section:
    """What fits, by parameters and by kind of work."""
    sized = [(short(spec), size) for spec in given.specs if (size := spec.memory_bytes)]
    sizes = "; ".join(
        f"{name} {significant(size / WEIGHT_BYTES / 1e9)} and {significant(size / ADAM_BYTES / 1e9)}"
        for name, size in sized
    )
    text = (
        "Billions of parameters whose weights alone fill the memory in 16 bit "
        f"({WEIGHT_BYTES} bytes each), and whose training with Adam does ({ADAM_BYTES} bytes each), "
        f"activations not counted: {sizes}."
    )
    points = tuple(
        f"{kind.title[:1].upper()}{kind.title[1:]} ({kind.workload}) does not fit the {short(spec)}: a batch "
        f"of {found.batch} takes about {gibibytes(found.memory_bytes.value)} by forecast."
        for spec in given.specs
        for kind in KINDS
        if (found := given.too_large(kind, spec.id)) and found.memory_bytes
    )
    return Section(id="memory", title="Memory", text=(text,) if len(sized) > 1 else (), points=points)


def _power(given: Contest) -> Section:
    """Forecast items per joule, and the measured ones."""
    rows = []
    for kind in given.common(KINDS):
        each = {short(spec): given.forecast(kind, spec.id) for spec in given.specs}
        cells = {
            name: per_joule(r.items_per_joule, r.item) for name, r in each.items() if r and r.items_per_joule
        }
        if len(cells) == len(given.specs):
            rows.append({"kind of work": kind.title, **cells})
    # The fastest is seldom the most efficient: each has its own line.
    best: dict[tuple[str, str, str], Record] = {}
    for record in sorted(given.speeds, key=lambda r: -(r.items_per_joule or 0.0)):
        if record.origin == "measured" and record.items_per_joule:
            best.setdefault((record.gpu_id, record.question.workload, record.question.mode), record)
    points = tuple(
        f"Measured: {work(r)} on the {given.name(r.gpu_id)} {per_joule(r.items_per_joule or 0.0, r.item)} "
        f"{given.cited.mark(r.source)}."
        for r in best.values()
    )
    if not rows and not points:
        return Section(id="power", title="Power")
    text = (
        "Board power is a limit and not a draw. What an item takes of energy follows from the watts that the "
        "work draws and from its speed, so a card that draws more may still take less."
    )
    note = f"forecasts {given.cited.mark(FORECAST)} of the device alone: host and cooling come on top"
    tables = (Table.of(rows, title="Work per joule, forecast", notes=(note,)),) if rows else ()
    return Section(id="power", title="Power", text=(text,), tables=tables, points=points)


def _price(given: Contest) -> Section:
    """Dated offers, what a million items cost by their median, and rent against speed."""
    rents = {one: rent for one in given.ids if (rent := given.rent(one))}
    text, rows = [], []
    for kind in DEEP:
        records = {one: r for one in rents if (r := given.forecast(kind, one))}
        costs = {one: million(value(r), rents[one]) for one, r in records.items()}
        if len(costs) > 1:
            rows.append({
                "kind of work": kind.title, "unit": f"a million {next(iter(records.values())).item}s",
                **{short(spec): costs.get(spec.id, "") for spec in given.specs},
                "cheapest": given.name(min(costs, key=lambda one: costs[one].value)),
            })  # fmt: skip
    if rows:
        least = {one: sum(row["cheapest"] == given.name(one) for row in rows) for one in given.ids}
        parts = [f"to {given.names([one])} in {count}" for one, count in least.items() if count]
        text.append(
            "An hour is cheap or expensive only against the work that is done in it. The lowest rent of a "
            f"million items belongs {' and '.join(parts)} of {len(rows)} kinds of work."
        )
    if missing := [one for one in given.ids if not exact(given.offers, one)]:
        exactly = given.names(missing, "or")
        text.append(f"No dated offer of exactly {exactly} is known, so no price of it is given.")
    tables = []
    if known := offered(given.offers, given.ids, given.today, given.cited):
        tables.append(Table(
            title=f"Offers as of {given.today.isoformat()}", rows=tuple(known),
            columns=("price", *(short(spec) for spec in given.specs)),
            notes=(EXACTLY, f"stale: older than {prices.STALE_DAYS} days; new ones: gpuwise prices update"),
        ))  # fmt: skip
    if rows:
        tables.append(Table.of(
            rows, title="Rent of a million items, by forecast speed and median on-demand rent",
            notes=(f"from these offers and forecasts {given.cited.mark(FORECAST)}; lower is cheaper",),
        ))  # fmt: skip
    kinds, figures = given.common(DEEP), []
    # Two points have a line and nothing to choose from.
    if len(rents) > 2 and kinds:
        speeds = {one: given.mean_ratio(kinds, one) for one in rents}
        best = charts.frontier([(rents[one], speeds[one]) for one in rents])
        figures.append(Figure(
            drawn=charts.tradeoff(
                [(given.name(one), rents[one], speeds[one], n in best) for n, one in enumerate(rents)],
                x="rent of an hour, USD", y=f"speed, {given.first} = 1",
            ),
            table=Table.of(
                {"GPU": given.name(one), "rent of an hour": usd(rent), "speed": times(speeds[one])}
                for one, rent in rents.items()
            ),
            caption="Rent against mean speed over the kinds of work that all can do; the line joins the "
            "cards that no other one beats on both.",
        ))  # fmt: skip
    return Section(id="prices", title="Price", text=tuple(text), figures=tuple(figures), tables=tuple(tables))


def _several(given: Contest) -> Section:
    """A row for each kind of work and number of GPUs that one of the cards can do."""
    rows = []
    for kind in SCALED:
        for count in COUNTS[1:]:
            cells = {}
            for spec in given.specs:
                one, every = given.forecast(kind, spec.id), of_kind(kind, spec.id, given.forecasts, count)
                if one is not None and every is not None and every.throughput is not None:
                    share = percent(Curve(records=(one, every)).share(every).value, 0)
                    cells[short(spec)] = f"{spanned(every.throughput, every.item)}, {share} of linear"
            if cells:
                each = {short(spec): cells.get(short(spec), "-") for spec in given.specs}
                rows.append({"kind of work": kind.title, "GPUs": whole(count), **each})
    note = f"forecasts {given.cited.mark(FORECAST)}, 80 %: one machine, each GPU with the whole batch"
    folded = (Table.of(rows, notes=(note,)),) if rows else ()
    return Section(id="several", title="On several GPUs", folded=folded)


def _readers(given: Contest, found: Mapping[str, Criterion]) -> Section:
    """A line for each kind of reader, and the figures that decide it."""
    points, rows = [], []
    for one in found.values():
        tied = given.names(one.tied, "or")
        points.append(
            f"{one.reader} takes {tied}: {_because(given, one)}."
            if one.winner
            else f"{one.reader} may take {tied}: the difference is within the uncertainty."
        )
        rows.append({
            "reader": one.reader, "what decides": one.what,
            **{short(spec): one.figures.get(spec.id, "") for spec in given.specs},
            "choose": " or ".join(map(given.name, one.tied)),
            "rests on": one.ground,
        })  # fmt: skip
    table = Table.of(rows, title="Decision table")
    return Section(
        id="choice", title="Who should take which", points=tuple(points), tables=(table,) if rows else ()
    )


def _specifications(given: Contest) -> Section:
    """Every field that a card states, each row with its sources."""
    rows = []
    for name in sorted({name for spec in given.specs for name in spec.facts}, key=place):
        facts = [spec.facts.get(name) for spec in given.specs]
        sources = given.cited.mark(*(fact.source for fact in facts if fact))
        rows.append((label(name), *(shown(fact) if fact else "-" for fact in facts), sources))
    # Peaks are named by format, unit and accumulator, so that dense is never beside sparse.
    for field, name in dict.fromkeys((p.field, peak_name(p)) for spec in given.specs for p in spec.peaks):
        peaks = [next((p for p in spec.peaks if p.field == field), None) for spec in given.specs]
        sources = given.cited.mark(*(peak.source for peak in peaks if peak))
        rows.append((f"peak {name}", *(peak_value(peak) if peak else "-" for peak in peaks), sources))
    table = Table(
        columns=("field", *(short(spec) for spec in given.specs), "sources"), rows=tuple(rows),
        notes=("peaks are dense unless they say sparse; a dash: no source that was read states it",),
    )  # fmt: skip
    return Section(id="specifications", title="Specifications", folded=(table,))
