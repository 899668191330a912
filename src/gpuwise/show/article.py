"""Two to six GPUs in an article, from facts alone: each figure has a source or is computed from some.

Sentences stand in `templates/article.txt`, reasons to choose in `criteria.toml`. Whatever is said of better
and worse is a `Criterion`: its figures stand in the decision table and its winner in the prose, so that the
two cannot disagree.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from importlib.resources import files
from math import exp, log, sqrt
from statistics import geometric_mean, median
from typing import Any

from gpuwise.facts import prices
from gpuwise.model.gpu import MODULES, GpuSpec, Offer
from gpuwise.model.result import Record, firsts, grouped
from gpuwise.model.units import Amount, gibibytes, listed, percent, significant, times, usd, watts, whole
from gpuwise.show.card import introduction, made_from_facts
from gpuwise.show.charts import Mark, Rows, frontier, tradeoff
from gpuwise.show.gpus import peak_value, quantity, short, side_by_side
from gpuwise.show.page import Figure, Page, References, Section, said, section
from gpuwise.show.prices import exact, hourly, million, offered
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
from gpuwise.show.scaling import shown as curves_shown
from gpuwise.show.table import Table, per_joule, throughput
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
# Share of the fp32 peak that a card with units for double precision reaches: others do a 16th to a 64th.
FP64_SHARE = 0.25
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One reason to choose, for one kind of reader."""

    name: str
    reader: str  # `Training where time matters`
    what: str  # What the figures count
    because: str  # How the best is ahead: a sentence with places for {best}, {next} and {lead}
    ground: str  # The basis of the figures
    figures: Mapping[str, Amount]  # GPU -> its figure, of those that have one; at least two
    less: bool = False  # The least is the best
    half: Callable[[str, str], float] = lambda best, other: log(1 + EVEN)
    """Of a ratio of two GPUs, as a logarithm: below it nothing is decided."""

    @property
    def order(self) -> tuple[str, ...]:
        return tuple(sorted(self.figures, key=lambda one: self.figures[one].value, reverse=not self.less))

    def lead(self, other: str) -> float:
        """The best over another one, as a factor of at least 1."""
        best, theirs = self.figures[self.order[0]].value, self.figures[other].value
        return theirs / best if self.less else best / theirs

    @property
    def tied(self) -> tuple[str, ...]:
        """The best and all that are as good within the margin."""
        return tuple(one for one in self.order if log(self.lead(one)) <= self.half(self.order[0], one))

    @property
    def winner(self) -> str | None:
        return self.order[0] if len(self.tied) == 1 else None


@dataclass(frozen=True, kw_only=True)
class Contest:
    """What an article is made of; nothing is read from disk or clock after this."""

    specs: tuple[GpuSpec, ...]  # Two to six
    speeds: tuple[Record, ...]  # Measured and published, of all
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

    def name(self, gpu_id: str) -> str:
        """Without its vendor."""
        return next(short(spec) for spec in self.specs if spec.id == gpu_id)

    def names(self, ids: Sequence[str], last: str = "and") -> str:
        """`the A40, the L4 and the L40S`."""
        return listed([f"the {self.name(each)}" for each in ids], last)

    def forecast(self, kind: Kind, gpu_id: str) -> Record | None:
        """That of one GPU where the work fits it."""
        return found if (found := of_kind(kind, gpu_id, self.forecasts)) and found.throughput else None

    def too_large(self, kind: Kind, gpu_id: str) -> Record | None:
        """The refusal of work that does not fit the memory of the GPU."""
        found = of_kind(kind, gpu_id, self.forecasts)
        return found if found is not None and found.throughput is None and found.memory_bytes else None

    def half(self, gpu_id: str, *, energy: bool = False) -> float:
        """Half width of its forecasts, as a logarithm: the middle one; of work per joule with their watts."""
        halves = [
            sqrt(sum(log(each.high / each.low) ** 2 for each in parts)) / 2
            for kind in DEEP
            if (r := self.forecast(kind, gpu_id)) is not None
            and all(parts := [each for each in (r.throughput, r.watts if energy else None) if each])
        ]
        return median(halves) if halves else 0.0

    def apart(self, one: str, other: str, *, energy: bool = False) -> float:
        """Half width of the ratio of two: never less than what carrying a speed from card to card costs."""
        return max(self.ratio_half, self.half(one, energy=energy), self.half(other, energy=energy))

    @cached_property
    def unsure(self) -> tuple[str, ...]:
        """Those with a forecast that no verdict may rest on."""
        wide = {record.gpu_id for record in self.forecasts if record.gpus == 1 and record.is_rough}
        return tuple(one for one in self.ids if one in wide)

    def able(self, kinds: Sequence[Kind]) -> tuple[str, ...]:
        """Those that a verdict over such work can rank: with a forecast that is good enough."""
        return tuple(
            one
            for one in self.ids
            if one not in self.unsure and any(self.forecast(kind, one) for kind in kinds)
        )

    def common(self, kinds: Sequence[Kind]) -> tuple[Kind, ...]:
        """Those that all who can be ranked can do: only over these is a mean the same question for each."""
        able = self.able(kinds)
        return tuple(
            kind for kind in kinds if len(able) > 1 and all(self.forecast(kind, one) for one in able)
        )

    def speeds_of(self, kinds: Sequence[Kind]) -> dict[str, float]:
        """GPU -> geometric mean over these kinds of its speed over that of the first that can be ranked."""
        common, able = self.common(kinds), self.able(kinds)
        speeds = {one: [r.value for kind in common if (r := self.forecast(kind, one))] for one in able}
        means = {one: geometric_mean(each) for one, each in speeds.items() if each}
        return {one: mean / next(iter(means.values())) for one, mean in means.items()}

    def because(self, found: Criterion, against: str = "", best: str = "") -> str:
        """Why the best of a criterion is ahead, of the next one if not `against` another."""
        other = against or found.order[1]
        stated = found.ground == "specification"
        lead = significant(found.lead(other), 3 if stated else 2)  # a forecast is not known to three digits
        return found.because.format(
            best=best or self.names(found.order[:1]),
            next=self.names([other]),
            lead=lead,
            about="" if stated else "about ",
        )

    def rent(self, gpu_id: str) -> float | None:
        """Median on-demand rent of an hour, in USD: spot rents are interrupted."""
        return hourly(self.offers, gpu_id, self.today)

    @cached_property
    def bought(self) -> dict[str, float]:
        """What each costs to buy, in USD, at fresh prices of the one kind that most of them have: a launch
        price does not compare with a price of a shop. Modules of a server's board are not sold as cards."""
        cards = [spec.id for spec in self.specs if spec.text("form") not in MODULES]
        kinds = ("street", "new", "used")
        each = [
            {one: prices.spread(exact(self.offers, one), kind, self.today) for one in cards} for kind in kinds
        ]
        return max(({one: p.median for one, p in of.items() if p} for of in each), key=len)


def article(given: Contest) -> Page:
    """The whole article; sections that have nothing to say are left out."""
    names, found = [short(spec) for spec in given.specs], criteria(given)
    sections = (
        _answer(given, found),
        section("article", "cards", text=sum((introduction(spec, given.cited) for spec in given.specs), ())),
        _speed(given),
        _measured(given),
        _memory(given),
        _power(given),
        _price(given),
        _several(given),
        _readers(given, found),
        # Every field that a card states, each row with its sources.
        section("article", "specifications", folded=(side_by_side(given.specs, given.cited),)),
        section("article", "method", text=said("article", "method", forecast=given.cited.mark(FORECAST))),
    )
    return Page(
        title=f"{listed(names, 'or')}: which GPU for deep learning?",
        subtitle=made_from_facts(given.today),
        summary=(),
        sections=sections,
        sources=given.cited.sources,
        made_on=given.today.isoformat(),
    )


def comparison(given: Contest) -> Page:
    """The charts and tables of the article alone, for who reads figures."""
    names = [short(spec) for spec in given.specs]
    made = [of(given) for of in (_speed, _price, _power, _memory, _several)]
    made.append(_measured(given, every_one=True))
    # What the cards state is what many come for; in an article it is folded.
    stated = section("article", "specifications", tables=(side_by_side(given.specs, given.cited),))
    sections = (*(replace(one, text=()) for one in made), stated)
    return Page(
        title=listed(names), subtitle="", summary=(), sections=sections,
        sources=given.cited.sources, made_on=given.today.isoformat(),
    )  # fmt: skip


def criteria(given: Contest) -> dict[str, Criterion]:
    figures: dict[str, dict[str, Amount]] = {}
    over = {}
    for name, every in {**_OVER, "purchase": DEEP}.items():
        if not (kinds := given.common(every)):
            continue
        speeds = given.speeds_of(every)
        over[name] = f"mean of {len(kinds)} kinds of work" if len(kinds) > 1 else kinds[0].title
        paid, figure = (given.bought.get, name) if name == "purchase" else (given.rent, f"{name} for rent")
        figures[figure] = _relative({one: p / speed for one, speed in speeds.items() if (p := paid(one))})
        if name != "purchase":
            figures[name] = _relative(speeds)
            continue
        joules = {
            one: [(r.items_per_joule or 0.0) for kind in kinds if (r := given.forecast(kind, one))]
            for one in speeds
        }
        figures["energy"] = _relative({one: geometric_mean(e) for one, e in joules.items() if all(e)})
    specs = {spec.id: spec for spec in given.specs}
    figures["memory"] = {one: gibibytes(size) for one, spec in specs.items() if (size := spec.memory_bytes)}
    figures["supply"] = {one: watts(power) for one, spec in specs.items() if (power := spec.power_w)}
    double = {one: peak for one, spec in specs.items() if (peak := spec.peak("fp64"))}
    # Where no card has the units, a choice for double precision is none.
    singles = {one: peak.flop_per_s for one, spec in specs.items() if (peak := spec.peak("fp32"))}
    if any(peak.flop_per_s >= FP64_SHARE * singles.get(one, 0.0) for one, peak in double.items()):
        figures["double"] = {one: peak_value(peak) for one, peak in double.items()}
    known = tomllib.loads(files("gpuwise.show").joinpath("criteria.toml").read_text("utf-8"))
    found = {}
    for name, words in known.items():
        # With one figure there is nothing to compare.
        if len(mine := figures.get(name, {})) > 1:
            mean_of = over.get(name.removesuffix(" for rent"), "")
            what = words["what"].format(first=given.name(next(iter(mine))), over=mean_of)
            stated = words["ground"] == "specification"
            half = partial(given.apart, energy=name == "energy")
            found[name] = Criterion(**{
                **words, "what": what, "name": name, "figures": mine, **({} if stated else {"half": half}),
            })  # fmt: skip
    return found


def _relative(figures: Mapping[str, float]) -> dict[str, Amount]:
    """Over the first of them, `1.25x`: a bare number beside watts would be read as such."""
    shares = {one: figure / next(iter(figures.values())) for one, figure in figures.items()}
    return {one: Amount(f"{share:.2f}x", share) for one, share in shares.items()}


def _answer(given: Contest, found: Mapping[str, Criterion]) -> Section:
    """The thesis: what follows from speed, price, memory and power together."""
    name = "training" if "training" in found else "serving"
    speed, cost = found.get(name), found.get(f"{name} for rent")
    best = speed.winner if speed else None
    # What the first paragraph says of speed and rent is not said again.
    others = [one for key, one in found.items() if key not in (name, f"{name} for rent")]
    also = [one for key in ("purchase", "energy") if best and (one := found.get(key)) and one.winner == best]
    too_large = {kind: [one for one in given.ids if given.too_large(kind, one)] for kind in KINDS}
    apart = [(kind, cannot) for kind, cannot in too_large.items() if cannot]
    silent = [one for one in given.ids if not any(given.forecast(kind, one) for kind in KINDS)]
    text = said(
        "article", "answer",
        the=given.names, because=given.because, rent=lambda one: usd(given.rent(one) or 0.0),
        speed=speed, cost=cost, hourly=given.rent,
        doing="training" if name == "training" else "serving language models",
        # A card without any forecast may hold no more than the others.
        some=[(kind, cannot) for kind, cannot in apart if not {*given.ids} - {*silent} <= {*cannot}],
        none_fits=[kind for kind, cannot in apart if len(cannot) == len(given.ids)],
        best=best, also=also, unsure=given.unsure,
        silent=silent,
        count=COUNTED[len(given.ids)], factor=significant(exp(max(map(given.half, given.ids))), 2),
        cases=[
            (one, won) for one in given.ids
            if one != best and (won := [c for c in others if c.winner == one])
        ],
        never=[one for one in given.ids if not any(c.winner == one for c in found.values())],
    )  # fmt: skip
    return section("article", "answer", text=text)


def _speed(given: Contest) -> Section:
    """Forecasts of each kind of work: which is faster, by how much, and which specification decides."""
    rows: list[dict[str, str]] = []
    marks: list[Mark] = []
    ratios: dict[str, list[dict[str, Any]]] = {one: [] for one in given.ids}
    waits: dict[str, list[Kind]] = {}
    fastest: dict[Kind, str] = {}
    # Ratios are over the first whose speed can be ranked.
    base_id = (*given.able(DEEP), *given.ids)[0]
    base_name = given.name(base_id)
    for kind in KINDS:
        able = {spec.id: r for spec in given.specs if (r := given.forecast(kind, spec.id))}
        # Where none is forecast for want of a trace, the row would say nothing of the cards.
        if not able and not any(given.too_large(kind, one) for one in given.ids):
            continue
        bounds = list(dict.fromkeys(r.bound for r in able.values() if r.bound))
        rows.append({
            "kind of work": kind.title,
            **{
                short(spec): throughput(r) if (r := able.get(spec.id))
                else "does not fit" if given.too_large(kind, spec.id) else "no forecast"
                for spec in given.specs
            },
            "bound by": " / ".join(bounds), "its example": kind.named,
        })  # fmt: skip
        if len(bounds) == 1 and len(able) > 1:
            waits.setdefault(bounds[0], []).append(kind)
            fastest[kind] = max(able, key=lambda one: able[one].value)
        base = able.get(base_id)
        for one in able:
            if base is not None and one != base_id:
                ratio = ratio_between(base, able[one], ignoring=TWO_GPUS).value
                spread = exp(given.apart(base_id, one))
                ratios[one].append({"kind": kind, "ratio": ratio})
                marks.append(Mark(
                    label=kind.title, value=ratio, low=ratio / spread, high=ratio * spread,
                    group=f"{given.name(one)} over {base_name}", shown=f"{ratio:.2f}x",
                    colour="predicted",
                ))  # fmt: skip
    if not rows:
        return section("article", "forecasts")
    decided = []
    for bound, kinds in waits.items():
        what, field = _DECIDES[bound]
        asked = [s for s in given.specs if field and any(given.forecast(kind, s.id) for kind in kinds)]
        known = {s.id: number for s in asked if (number := quantity(s, field))}
        most = max(known, key=lambda one: known[one]) if len(known) > 1 else ""
        decided.append((bound, kinds, what, most, sum(fastest[kind] == most for kind in kinds)))
    spans = [
        (one, min(each, key=lambda r: r["ratio"]), max(each, key=lambda r: r["ratio"]))
        for one, each in ratios.items()
        if len(each) > 1 and one not in given.unsure
    ]
    cited = given.cited.mark(FORECAST)
    table = Table.of(
        rows,
        title="Forecast of one GPU at its best batch",
        notes=(f"forecasts, not measurements, with 80 % intervals {cited}",),
    )
    drawn = tuple(sorted(marks, key=lambda mark: mark.group))
    others = [one for one, each in ratios.items() if each]
    whose = f" of {given.names(others)}" if len(others) == 1 else ""
    figure = Figure(
        charts=(Rows(marks=drawn, ratio=True, title=f"speed over that of the {base_name}"),),
        opened=True,
        table=table,
        caption=f"Speed{whose} over that of the {base_name} by kind of work, forecast with 80 % intervals "
        f"{cited}: above 1 is faster.",
    )
    return section(
        "article", "forecasts",
        text=said("article", "speed", waits=decided, spans=spans, the=given.names, first=base_name,
                  part=lambda one: significant(one["ratio"], 2)),
        figures=(figure,) if drawn else (), tables=() if drawn else (table,),
    )  # fmt: skip


def _measured(given: Contest, *, every_one: bool = False) -> Section:
    """What was measured and published of two cards at least, by question; `every_one`: of one card too."""
    # An unstated precision may be any of several, and these differ by a factor of eight.
    stated = [r for r in given.speeds if r.question.precision is not None and r.throughput is not None]
    every = answers(stated)
    shared, alone = ([same for same in every if (len(same) > 1) is many] for many in (True, False))
    # What its reader measured belongs into an article, what others published of one card compares nothing.
    alone = [same for same in alone if every_one or next(iter(same.values())).origin == "measured"]

    def table(found: Sequence[Mapping[str, Record]], title: str) -> Table:
        rows = []
        for same in found[:LISTED]:
            one = next(iter(same.values()))
            batches = " / ".join(dict.fromkeys(str(r.batch or "-") for r in same.values()))
            speeds = {short(s): throughput(r) if (r := same.get(s.id)) else "" for s in given.specs}
            marks = given.cited.mark(*(r.source for r in same.values()))
            told = {"work": work(one), "GPUs": whole(one.gpus), "batch": batches}
            rows.append({**told, **speeds, "origin": one.origin, "source": marks})
        more = len(found) - LISTED
        notes = [UNTOLD] if any("tf32?" in row["work"] for row in rows) else []
        notes += [f"{more} more: gpuwise results --gpu {given.ids[0]}"] if more > 0 else []
        return Table.of(rows, title=title, notes=tuple(notes))

    fastest = [max(same, key=lambda gpu_id: same[gpu_id].value) for same in shared]
    # A card is ahead among those that were measured with it, which need not be all.
    ahead = sorted(
        ((one, won, sum(one in same for same in shared)) for one in given.ids if (won := fastest.count(one))),
        key=lambda each: -each[1],
    )
    return section(
        "article",
        "performance",
        text=said("article", "measured", ahead=ahead, the=given.names),
        tables=(table(shared, "Answered for two cards or more"),),
        folded=(table(alone, "Answered for one card"),),
    )


def _memory(given: Contest) -> Section:
    sized = grouped((size, spec.id) for spec in given.specs if (size := spec.memory_bytes))
    text = said(
        "article", "memory", weight_bytes=WEIGHT_BYTES, adam_bytes=ADAM_BYTES,
        **{
            name: "; ".join(
                f"{significant(size / each / 1e9)} billion{'' if n else ' parameters'} on {given.names(ids)}"
                for n, (size, ids) in enumerate(sized.items())
            )
            for name, each in (("weights", WEIGHT_BYTES), ("adam", ADAM_BYTES))
        },
    )  # fmt: skip
    points = []
    for kind in KINDS:
        over = {one: r for one in given.ids if (r := given.too_large(kind, one))}
        if found := next(iter(over.values()), None):
            needed = found.memory_bytes.value if found.memory_bytes else 0.0
            has = max(spec.memory_bytes or 0.0 for spec in given.specs if spec.id in over)
            left = f", more than its driver leaves of {gibibytes(has)}" if needed < has else ""
            plan = "without checkpointing of activations; `gpuwise fit` counts other plans"
            points.append(
                f"{kind.said[:1].upper()}{kind.said[1:]} does not fit on {given.names(list(over), 'or')}: "
                f"a batch of {found.batch} takes about {gibibytes(needed)} by forecast{left}"
                f"{f', {plan}' if kind.mode == 'train' else ''}."
            )
    return section("article", "memory", text=text if sized else (), points=tuple(points))


def _power(given: Contest) -> Section:
    rows = []
    for kind in given.common(KINDS):
        each = {given.name(one): given.forecast(kind, one) for one in given.able(DEEP)}
        cells = {
            name: per_joule(r.items_per_joule, r.item) for name, r in each.items() if r and r.items_per_joule
        }
        if len(cells) == len(each):
            rows.append({"kind of work": kind.title, **cells})
    # The fastest is seldom the most efficient: each has its own line.
    drawn = [record for record in given.speeds if record.origin == "measured" and record.items_per_joule]
    drawn.sort(key=lambda r: -(r.items_per_joule or 0.0))
    best = firsts(((r.gpu_id, r.question.workload, r.question.mode), r) for r in drawn)
    measured = [
        {
            "work": work(r),
            "GPU": given.name(r.gpu_id),
            "work per joule": per_joule(r.items_per_joule or 0.0, r.item),
            "source": given.cited.mark(r.source),
        }
        for r in best.values()
    ]
    note = f"forecasts {given.cited.mark(FORECAST)} of the device alone: host and cooling come on top"
    tables = (
        Table.of(rows, title="Work per joule, forecast", notes=(note,)),
        Table.of(measured, title="Work per joule, measured"),
    )
    text = said(
        "article", "power", energy=criteria(given).get("energy"), the=given.names, because=given.because
    )
    return section("article", "power", text=text if rows or measured else (), tables=tables)


def _price(given: Contest) -> Section:
    """Dated offers, what a million items cost by their median, and rent against speed."""
    rents = {one: rent for one in given.ids if (rent := given.rent(one))}
    rows = []
    for kind in DEEP:
        ranked = [one for one in rents if one not in given.unsure]
        records = {one: r for one in ranked if (r := given.forecast(kind, one))}
        costs = {one: million(r.value, rents[one]) for one, r in records.items()}
        if len(costs) > 1:
            rows.append({
                "kind of work": kind.title, "unit": f"a million {next(iter(records.values())).item}s",
                **{short(spec): costs.get(spec.id, "") for spec in given.specs},
                "cheapest": given.name(min(costs, key=lambda one: costs[one].value)),
            })  # fmt: skip
    least = {one: sum(row["cheapest"] == given.name(one) for row in rows) for one in given.ids}
    missing = [one for one in given.ids if not exact(given.offers, one)]
    stale = [one for one in given.ids if one not in missing and one not in rents]
    text = said(
        "article", "prices", the=given.names, kinds=len(rows), missing=missing,
        stale=stale, days=prices.STALE_DAYS, cheapest=[(one, count) for one, count in least.items() if count],
    )  # fmt: skip
    tables = list(offered(given.offers, given.specs, given.today, given.cited))
    if rows:
        tables.append(Table.of(
            rows, title="Rent of a million items, by forecast speed and median on-demand rent",
            notes=(f"from these offers and forecasts {given.cited.mark(FORECAST)}; lower is cheaper",),
        ))  # fmt: skip
    speeds, figures = {one: s for one, s in given.speeds_of(DEEP).items() if one in rents}, []
    # Two points have a line and nothing to choose from.
    if len(speeds) > 2:
        best = frontier([(rents[one], speed) for one, speed in speeds.items()])
        figures.append(Figure(
            charts=(tradeoff(
                [(given.name(one), rents[one], s, n in best) for n, (one, s) in enumerate(speeds.items())],
                x="rent of an hour, USD", y=f"speed, {given.name(next(iter(speeds)))} = 1",
            ),),
            table=Table.of(
                {"GPU": given.name(one), "rent of an hour": usd(rents[one]), "speed": times(speed)}
                for one, speed in speeds.items()
            ),
            caption="Rent against mean speed over the kinds of work that all of these can do; the line joins "
            "the cards that no other one beats on both.",
        ))  # fmt: skip
    return section("article", "prices", text=text, figures=tuple(figures), tables=tuple(tables))


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
    cited = given.cited.mark(FORECAST)
    note = f"forecasts {cited} with 80 % intervals: one machine, each GPU at its best batch; above 100 %: "
    note += "split over several, the state of training leaves room for a larger batch"
    every_kind = Table.of(rows, notes=(note,))
    # One kind of work, so that each card is one line.
    drawn = next((k for k in given.common(SCALED) if k.workload == DRAWN), None)
    scaled = [of_kind(drawn, one, given.forecasts, n) for one in given.ids for n in COUNTS] if drawn else []
    found, _ = curves_shown(curves(replace(p, source=FORECAST) for p in scaled if p is not None), given.cited)
    # The table of every kind stands behind the drawing of one.
    figures = tuple(replace(one, table=every_kind) for one in found if rows)
    return section("article", "several", figures=figures, folded=() if figures else (every_kind,))


def _readers(given: Contest, found: Mapping[str, Criterion]) -> Section:
    """A line for each kind of reader, and the figures that decide it."""
    rows = [
        {
            "reader": one.reader,
            "choose": " or ".join(map(given.name, one.tied)),
            **{short(spec): one.figures.get(spec.id, "") for spec in given.specs},
            "what decides": f"{one.what} ({one.ground})",
        }
        for one in found.values()
    ]
    points = said("article", "choice", found=found, the=given.names, because=given.because)
    return section("article", "choice", points=points, tables=(Table.of(rows, title="Decision table"),))
