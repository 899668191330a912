"""Two to six GPUs in an article, from facts alone: each figure has a source or is computed from some.

Sentences stand in `templates/article.txt`, reasons to choose in `criteria.toml`. Whatever is said of better
and worse is a `Criterion`: its figures stand in the decision table and its winner in the prose, so that the
two cannot disagree.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from importlib.resources import files
from math import exp, log
from typing import Any

from gpuwise.facts import prices
from gpuwise.model.gpu import GpuSpec, Offer
from gpuwise.model.result import Record
from gpuwise.model.units import Amount, gibibytes, percent, significant, times, usd, watts, whole
from gpuwise.show.charts import Mark, Rows, frontier, tradeoff
from gpuwise.show.gpus import peak_value, quantity, short, shown, side_by_side
from gpuwise.show.page import Figure, Page, References, Section, said
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
from gpuwise.show.results import per_joule, throughput
from gpuwise.show.scaling import shown as curves_shown
from gpuwise.show.table import Table
from gpuwise.stats.scaling import Curve, curves, ratio_between

MOST = 6
# The work whose scaling over GPUs is drawn: of those that scale, one with much to exchange.
DRAWN = "bert-large"
COUNTED = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}
# Differences below this share decide nothing: the data sheets themselves are rounded.
EVEN = 0.05
# A weight in 16 bit; training with Adam in mixed precision keeps weight, gradient and two moments in fp32
# (ZeRO, Rajbhandari et al. 2020, counts the same 16 bytes a parameter).
WEIGHT_BYTES, ADAM_BYTES = 2, 16
# Measured and published questions that a table shows; the rest: gpuwise results.
LISTED = 24
# Criterion -> the kinds of work that it is a mean over.
_OVER = {
    "training": tuple(kind for kind in KINDS if kind.mode == "train"),
    "serving": tuple(kind for kind in KINDS if kind.mode == "infer" and kind.workload.startswith("llm")),
    "images": tuple(kind for kind in KINDS if kind.mode == "infer" and not kind.workload.startswith("llm")),
}
# What bounds a step -> (what decides then, in words; the quantity of it).
_DECIDES = {
    "memory": ("memory bandwidth", "memory_bytes_per_s"),
    "compute": ("the 16-bit matrix peak", "fp16"),
    "launch": ("the host, which launches the kernels", ""),
    "link": ("the link between GPUs", "link_bytes_per_s"),
}
# Field -> how a sentence about a card goes on with it.
_STATED = {
    "launch": "of", "memory_bytes": "with", "memory_type": "of", "memory_bytes_per_s": "at",
    "power_w": "and a board power of",
}  # fmt: skip
_LEADING = {
    "energy": "On the electricity bill", "purchase": "Who buys gets the most speed for the money with",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One reason to choose, for one kind of reader."""

    name: str
    reader: str  # `Training where time matters`
    what: str  # What the figures count
    because: str  # How the best is ahead: a sentence with places for {best}, {next} and {lead}
    ground: str  # The basis of the figures
    figures: Mapping[str, Amount]
    """GPU -> its figure, of those that have one; at least two."""
    less: bool = False  # The least is the best
    margin: float = 1 + EVEN  # Factor between the best and the next below which nothing is decided

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
        return _listed([f"the {self.name(each)}" for each in ids], last)

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

    def because(self, found: Criterion, against: str = "", best: str = "") -> str:
        """Why the best of a criterion is ahead, of the next one if not `against` another."""
        other = against or found.order[1]
        stated = found.ground == "specification"
        lead = significant(found.lead(other), 3 if stated else 2)  # a forecast is not known to three digits
        return found.because.format(
            best=best or self.names(found.order[:1]), next=self.names([other]), lead=lead,
            about="" if stated else "about ",
        )  # fmt: skip

    def rent(self, gpu_id: str) -> float | None:
        """Median on-demand rent of an hour, in USD: spot rents are interrupted."""
        return hourly(self.offers, gpu_id)

    def bought(self, gpu_id: str) -> float | None:
        """What it costs to buy, in USD: the median of street prices, or the launch price."""
        mine = exact(self.offers, gpu_id)
        found = prices.spread(mine, "street") or prices.spread(mine, "new")
        return None if found is None else found.median


def _listed(parts: Sequence[str], last: str = "and") -> str:
    """`a, b and c`."""
    *some, one = parts
    return f"{', '.join(some)} {last} {one}" if some else one


def article(given: Contest) -> Page:
    """The whole article; sections that have nothing to say are left out."""
    names, found = [short(spec) for spec in given.specs], criteria(given)
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
        Section(
            id="method", title="How this was made",
            text=said("article", "method", forecast=given.cited.mark(FORECAST)),
        ),
    )  # fmt: skip
    return Page(
        title=f"{', '.join(names[:-1])} or {names[-1]}: which GPU for deep learning?",
        subtitle=f"Made by gpuwise from cited facts on {given.today.isoformat()}",
        summary=(),
        sections=sections,
        sources=given.cited.sources,
        made_on=given.today.isoformat(),
    )


def comparison(given: Contest) -> Page:
    """The charts and tables of the article alone, for who reads figures."""
    names = [short(spec) for spec in given.specs]
    made = [_speed, _price, _power, _memory, _several, _measured, _specifications]
    sections = tuple(
        replace(one, text=(), tables=(*one.tables, *one.folded), folded=())
        for one in (of(given) for of in made)
    )
    return Page(
        title=f"{', '.join(names[:-1])} and {names[-1]}", subtitle="", summary=(), sections=sections,
        sources=given.cited.sources, made_on=given.today.isoformat(),
    )  # fmt: skip


def criteria(given: Contest) -> dict[str, Criterion]:
    """Every reason that the facts give, by its name."""
    sure, ids = exp(given.ratio_half), given.ids
    figures: dict[str, dict[str, Amount]] = {}
    over = {}
    rents = {one: rent for one in ids if (rent := given.rent(one))}
    for name, every in _OVER.items():
        if kinds := given.common(every):
            over[name] = f"mean of {len(kinds)} kinds of work" if len(kinds) > 1 else kinds[0].title
            speeds = {one: given.mean_ratio(kinds, one) for one in ids}
            figures[name] = {one: times(speed) for one, speed in speeds.items()}
            figures[f"{name} for rent"] = _relative({one: rent / speeds[one] for one, rent in rents.items()})
    if kinds := given.common(DEEP):
        paid = {one: price for one in ids if (price := given.bought(one))}
        figures["purchase"] = _relative(
            {one: price / given.mean_ratio(kinds, one) for one, price in paid.items()}
        )
        joules = {
            one: [r.items_per_joule or 0.0 for kind in kinds if (r := given.forecast(kind, one))]
            for one in ids
        }
        mean = {one: exp(sum(map(log, each)) / len(each)) for one, each in joules.items() if all(each)}
        figures["energy"] = _relative(mean)
    specs = {spec.id: spec for spec in given.specs}
    figures["memory"] = {one: gibibytes(size) for one, spec in specs.items() if (size := spec.memory_bytes)}
    figures["supply"] = {one: watts(power) for one, spec in specs.items() if (power := spec.power_w)}
    figures["double"] = {one: peak_value(peak) for one, spec in specs.items() if (peak := spec.peak("fp64"))}
    known = tomllib.loads(files("gpuwise.show").joinpath("criteria.toml").read_text("utf-8"))
    found = {}
    for name, words in known.items():
        # With one figure there is nothing to compare.
        if len(figures.get(name, ())) > 1:
            mean_of = over.get(name.removesuffix(" for rent"), "")
            margin = 1 + EVEN if words["ground"] == "specification" else sure
            what = words["what"].format(first=given.first, over=mean_of)
            found[name] = Criterion(
                **{**words, "what": what}, name=name, figures=figures[name], margin=margin
            )
    return found


def _relative(figures: Mapping[str, float]) -> dict[str, Amount]:
    """Over the first of them."""
    return {one: times(figure / next(iter(figures.values()))) for one, figure in figures.items()}


def _answer(given: Contest, found: Mapping[str, Criterion]) -> Section:
    """The thesis: what follows from speed, price, memory and power together."""
    name = "training" if "training" in found else "serving"
    apart = [
        (kind, able)
        for kind in KINDS
        if (able := [one for one in given.ids if given.forecast(kind, one)])
        and any(given.too_large(kind, one) for one in given.ids)
    ]
    text = said(
        "article", "answer",
        the=given.names, because=given.because, rent=lambda one: usd(given.rent(one) or 0.0),
        speed=found.get(name), cost=found.get(f"{name} for rent"),
        doing="training" if name == "training" else "serving language models",
        apart=apart, all_fit=bool(given.common(KINDS)), leading=_LEADING,
        leads=[one for name in _LEADING if (one := found.get(name)) is not None and one.winner],
        never=[one for one in given.ids if not any(c.winner == one for c in found.values())],
        count=COUNTED[len(given.ids)],
        wins=[
            (one, won)
            for one in given.ids
            if (won := [c.reader[:1].lower() + c.reader[1:] for c in found.values() if c.winner == one])
        ] if found else [],
    )  # fmt: skip
    return Section(id="answer", title="The short answer", text=text)


def _cards(given: Contest) -> Section:
    """What each card is, in a sentence or two with the sources."""

    def stated(spec: GpuSpec, name: str) -> str:
        fact = spec.facts.get(name)
        return f"{shown(fact)} {given.cited.mark(fact.source)}" if fact else ""

    cards = []
    for spec in given.specs:
        known = [(words, fact) for name, words in _STATED.items() if (fact := stated(spec, name))]
        peak = spec.peak("fp16")
        cards.append({
            "spec": spec, "stated": known,
            "kind": " ".join(spec.text(name) or "" for name in ("architecture", "segment")).strip(),
            "peak": f"{peak_value(peak)} dense {given.cited.mark(peak.source)}" if peak else "",
            "link": stated(spec, "link_bytes_per_s") if peak else "",
        })  # fmt: skip
    return Section(id="cards", title="The cards", text=said("article", "cards", cards=cards))


def _speed(given: Contest) -> Section:
    """Forecasts of each kind of work: which is faster, by how much, and which specification decides."""
    rows: list[dict[str, str]] = []
    marks: list[Mark] = []
    ratios: dict[str, list[dict[str, Any]]] = {one: [] for one in given.ids}
    waits: dict[str, list[Kind]] = {}
    spread = exp(given.ratio_half)
    for kind in KINDS:
        able = {spec.id: r for spec in given.specs if (r := given.forecast(kind, spec.id))}
        # Where none is forecast for want of a trace, the row would say nothing of the cards.
        if not able and not any(given.too_large(kind, one) for one in given.ids):
            continue
        bounds = list(dict.fromkeys(r.bound for r in able.values() if r.bound))
        rows.append({
            "kind of work": kind.title, "its example": kind.named,
            **{
                short(spec): throughput(r) if (r := able.get(spec.id))
                else "does not fit" if given.too_large(kind, spec.id) else "no forecast"
                for spec in given.specs
            },
            "bound by": " / ".join(bounds),
        })  # fmt: skip
        if len(bounds) == 1:
            waits.setdefault(bounds[0], []).append(kind)
        base = able.get(given.ids[0])
        for one in given.ids[1:]:
            if base is not None and one in able:
                ratio = ratio_between(base, able[one], ignoring=TWO_GPUS).value
                ratios[one].append({"kind": kind, "ratio": ratio})
                marks.append(Mark(
                    label=kind.title, value=ratio, low=ratio / spread, high=ratio * spread,
                    group=f"{given.name(one)} over {given.first}", shown=f"{ratio:.2f}x",
                    colour="predicted",
                ))  # fmt: skip
    if not rows:
        return Section(id="forecasts", title="Speed")
    decided = []
    for bound, kinds in waits.items():
        what, field = _DECIDES[bound]
        known = {s.id: number for s in given.specs if field and (number := quantity(s, field))}
        decided.append((bound, kinds, what, max(known, key=lambda one: known[one]) if len(known) > 1 else ""))
    spans = [
        (one, min(each, key=lambda r: r["ratio"]), max(each, key=lambda r: r["ratio"]))
        for one, each in ratios.items()
        if len(each) > 1
    ]
    cited = given.cited.mark(FORECAST)
    table = Table.of(
        rows, title="Forecast of one GPU at its best batch",
        notes=(f"forecasts, not measurements, with 80 % intervals {cited}",),
    )  # fmt: skip
    drawn = tuple(sorted(marks, key=lambda mark: mark.group))
    figure = Figure(
        charts=(Rows(marks=drawn, ratio=True, title=f"speed over that of the {given.first}"),),
        opened=True, table=table,
        caption=f"Speed over that of the {given.first} by kind of work, forecast with 80 % intervals "
        f"{cited}: above 1 is faster.",
    )  # fmt: skip
    return Section(
        id="forecasts", title="Speed",
        text=said("article", "speed", waits=decided, spans=spans, the=given.names, first=given.first,
                  part=lambda ratio: percent(ratio, 0) if ratio < 2 else f"{significant(ratio, 2)} times"),
        figures=(figure,) if drawn else (), tables=() if drawn else (table,),
    )  # fmt: skip


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
                    short(s): throughput(r) if (r := same.get(s.id)) else ""
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
    text = said(
        "article", "measured", shared=len(shared), ahead=ahead, won=fastest.count(ahead), the=given.names
    )
    return Section(
        id="performance", title="Measured and published", text=text,
        tables=table(shared, "Answered for two cards or more"), folded=table(alone, "Answered for one card"),
    )  # fmt: skip


def _memory(given: Contest) -> Section:
    """What fits, by parameters and by kind of work."""
    sized = [(short(spec), size) for spec in given.specs if (size := spec.memory_bytes)]
    text = said(
        "article", "memory", weight_bytes=WEIGHT_BYTES, adam_bytes=ADAM_BYTES,
        **{
            name: _listed([f"{significant(size / each / 1e9)} on the {card}" for card, size in sized] or [""])
            for name, each in (("weights", WEIGHT_BYTES), ("adam", ADAM_BYTES))
        },
    )  # fmt: skip
    points = tuple(
        f"{kind.title[:1].upper()}{kind.title[1:]} ({kind.workload}) does not fit the {short(spec)}: a batch "
        f"of {found.batch} takes about {gibibytes(found.memory_bytes.value)} by forecast."
        for spec in given.specs
        for kind in KINDS
        if (found := given.too_large(kind, spec.id)) and found.memory_bytes
    )
    return Section(id="memory", title="Memory", text=text if len(sized) > 1 else (), points=points)


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
    measured = [
        {
            "work": work(r), "GPU": given.name(r.gpu_id),
            "work per joule": per_joule(r.items_per_joule or 0.0, r.item),
            "source": given.cited.mark(r.source),
        }
        for r in best.values()
    ]  # fmt: skip
    if not rows and not measured:
        return Section(id="power", title="Power")
    note = f"forecasts {given.cited.mark(FORECAST)} of the device alone: host and cooling come on top"
    tables = (
        *((Table.of(rows, title="Work per joule, forecast", notes=(note,)),) if rows else ()),
        *((Table.of(measured, title="Work per joule, measured"),) if measured else ()),
    )
    text = said(
        "article", "power", energy=criteria(given).get("energy"), the=given.names, because=given.because
    )
    return Section(id="power", title="Power", text=text, tables=tables)


def _price(given: Contest) -> Section:
    """Dated offers, what a million items cost by their median, and rent against speed."""
    rents = {one: rent for one in given.ids if (rent := given.rent(one))}
    rows = []
    for kind in DEEP:
        records = {one: r for one in rents if (r := given.forecast(kind, one))}
        costs = {one: million(r.value, rents[one]) for one, r in records.items()}
        if len(costs) > 1:
            rows.append({
                "kind of work": kind.title, "unit": f"a million {next(iter(records.values())).item}s",
                **{short(spec): costs.get(spec.id, "") for spec in given.specs},
                "cheapest": given.name(min(costs, key=lambda one: costs[one].value)),
            })  # fmt: skip
    least = {one: sum(row["cheapest"] == given.name(one) for row in rows) for one in given.ids}
    missing = [one for one in given.ids if not exact(given.offers, one)]
    text = said(
        "article", "prices", the=given.names, kinds=len(rows), missing=missing,
        cheapest=[(one, count) for one, count in least.items() if count],
    )  # fmt: skip
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
        best = frontier([(rents[one], speeds[one]) for one in rents])
        figures.append(Figure(
            charts=(tradeoff(
                [(given.name(one), rents[one], speeds[one], n in best) for n, one in enumerate(rents)],
                x="rent of an hour, USD", y=f"speed, {given.first} = 1",
            ),),
            table=Table.of(
                {"GPU": given.name(one), "rent of an hour": usd(rent), "speed": times(speeds[one])}
                for one, rent in rents.items()
            ),
            caption="Rent against mean speed over the kinds of work that all can do; the line joins the "
            "cards that no other one beats on both.",
        ))  # fmt: skip
    return Section(id="prices", title="Price", text=text, figures=tuple(figures), tables=tuple(tables))


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
                    cells[short(spec)] = f"{throughput(every)}, {share} of linear"
            if cells:
                each = {short(spec): cells.get(short(spec), "-") for spec in given.specs}
                rows.append({"kind of work": kind.title, "GPUs": whole(count), **each})
    note = f"forecasts {given.cited.mark(FORECAST)}, 80 %: one machine, each GPU with the whole batch"
    folded = (Table.of(rows, notes=(note,)),) if rows else ()
    # One kind of work, so that each card is one line.
    drawn = next((k for k in given.common(SCALED) if k.workload == DRAWN), None)
    scaled = [of_kind(drawn, one, given.forecasts, n) for one in given.ids for n in COUNTS] if drawn else []
    found, _ = curves_shown(curves(replace(p, source=FORECAST) for p in scaled if p is not None), given.cited)
    # The table of every kind stands behind the drawing of one.
    figures = tuple(replace(one, table=table) for one in found for table in folded)
    return Section(id="several", title="On several GPUs", figures=figures, folded=() if figures else folded)


def _readers(given: Contest, found: Mapping[str, Criterion]) -> Section:
    """A line for each kind of reader, and the figures that decide it."""
    rows = [
        {
            "reader": one.reader, "what decides": one.what,
            **{short(spec): one.figures.get(spec.id, "") for spec in given.specs},
            "choose": " or ".join(map(given.name, one.tied)),
            "basis": one.ground,
        }
        for one in found.values()
    ]  # fmt: skip
    points = said("article", "choice", found=found.values(), the=given.names, because=given.because)
    table = Table.of(rows, title="Decision table")
    return Section(id="choice", title="Who should take which", points=points, tables=(table,) if rows else ())


def _specifications(given: Contest) -> Section:
    """Every field that a card states, each row with its sources."""
    table = side_by_side(given.specs, given.cited)
    return Section(id="specifications", title="Specifications", folded=(table,))
