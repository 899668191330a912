"""From a need, speeds and prices to a recommendation with its reasons, and what changed since an older one.

    order        cost of an item with its price at the upper end of its interval, then speed; costs are equal
                 to seven digits, for n machines side by side cost n times one only up to the last bits
    one row      of each GPU, number and way (and provider): the cheapest
    frontier     no other candidate is both faster and cheaper (Kung, Luccio & Preparata 1975)
    chance       Phi(log(c2 / c1) / sqrt(s1^2 + s2^2)), c being log-normal with the interval's width

Two offers of the same GPUs share their speed, whose error then cancels. Errors of two different GPUs count as
independent: on the NeuSight set, held out by GPU or network, they correlate by 0.1 at most. The whole
decision is without input or output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from math import exp, hypot, log
from statistics import NormalDist

import numpy as np

from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.facts import catalog
from gpuwise.judge.choose.candidates import (
    HOURS_PER_YEAR,
    Candidates,
    Mask,
    candidates,
    committed_h,
    host_of,
    hours_a_month,
    hours_of_use,
    lost_share,
)
from gpuwise.judge.choose.fit import PERIODS, QUIET_W, SUPPLY, contradiction, kept, limits, link_of, rejected
from gpuwise.model.gpu import GpuSpec, Offer
from gpuwise.model.judgement import Chance, Need, Option, Recommendation
from gpuwise.model.precision import Precision
from gpuwise.model.result import Interval, Issue, Record
from gpuwise.model.units import percent, seconds, si, significant, usd
from gpuwise.predict.card import MODULES
from gpuwise.predict.rates import LEVEL

# Options that are kept.
MOST = 100
# Options whose chance against the first is stated.
COMPARED = 10
# Half width of an 80 % interval in standard deviations.
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
# Kinds of rent that a need leaves out unless it says otherwise, and the cost from which one is worth a word.
EXCLUDED = ("spot", "community", "reserved", "serverless")
WORTH_A_WORD = 0.8
# Smaller changes of a price or speed are rounding.
WORTH_SAYING = 0.01
_BASES = {
    "measured": "measured: {}",
    "published": "published by {}",
    "calibrated": "predicted, with this card's own limits",
    "transferred": "predicted from another card's measurement",
    "spec-only": "predicted from the data sheet",
}
_SOLD = {"new": "new", "used": "used", "street": "used or new"}
# Share of memory below which what stays free is worth a word.
LITTLE = 0.1
# Options of each number that are looked at for a pair.
PAIRED = 20
SUPPLIES_W = (450, 550, 650, 750, 850, 1000, 1200, 1600, 2000)
# Cost of the second over the first below which the two are one answer to most people.
EQUAL = 1.05
# Speed for which such a little more is worth paying.
MUCH = 1.5


def recommend(
    need: Need, speeds: Sequence[Record], offers: Sequence[Offer], *, today: date, item: str,
    every_provider: bool = False,
) -> Recommendation:  # fmt: skip
    """Ranked options with their reasons, by prices as known on `today`.

    Raises InputError where limits contradict each other, with the one to relax and by how much; NoDataError
    where no GPU, or none of the form asked for, has both a speed and a price.
    """
    them = candidates(need, speeds, offers, today=today)
    if not len(them):
        raise _nothing(speeds)
    found = limits(need, them, speeds)
    places = ordered(them, kept(found, len(them)), every_provider=every_provider)
    if not places:
        raise contradiction(them, found)
    if not (need.cheapest or need.fastest) and them.ranked[places[0]] > 0 and not them.rows[places[0]].late:
        # For the same money, as nearly as anybody can tell, everybody takes the one that is much faster.
        level = (p for p in places if them.ranked[p] < EQUAL * them.ranked[places[0]])
        best = max(level, key=lambda p: float(them.speed[p]), default=places[0])
        if them.speed[best] > MUCH * them.speed[places[0]] and not them.rows[best].late:
            places = [best, *(place for place in places if place != best)]
    options = _options(need, them, places, speeds)
    left = rejected(need, them, found, speeds, offers)
    changes = tuple(_changes(need, them, places))
    made = Recommendation(
        made_on=today.isoformat(), need=need, item=item, options=options, rejected=left,
        chances=tuple(
            Chance(other=rank, probability=chance(them, places[0], place))
            for rank, place in enumerate(places[1:COMPARED], start=2)
            if options[0].price_usd is not None and options[rank - 1].price_usd is not None
        ),
        changes=changes,
        advice=(
            *_owned(need, options, left, speeds),
            *_advice(them, places, need, item),
        ),
    )  # fmt: skip
    return replace(made, answer=_answer(made), reasons=_reasons(made), runner_up=_runner_up(made))


def _owned(
    need: Need, options: Sequence[Option], left: Mapping[str, Issue], speeds: Sequence[Record]
) -> Iterator[str]:
    """Why what is there is no option, though more of it may be."""
    for gpu, number in Counter(need.have).items():
        kept = any((option.gpu_id, option.way) == (gpu, "have") for option in options)
        refused = (s.refusal for s in speeds if (s.gpu_id, s.gpus) == (gpu, number) and s.refusal)
        why = left[gpu].detail if gpu in left else "" if kept else next(refused, "")
        if why:
            yield f"{_short(gpu)} that you have is left out: {why}"


def with_precisions(
    found: Recommendation, alternatives: Mapping[Precision, Sequence[Record]], offers: Sequence[Offer], *,
    today: date,
) -> Recommendation:  # fmt: skip
    """The recommendation, with what it would be in other precisions among what would change it."""
    others: dict[str, Option] = {}
    count = found.options[0].count
    need = replace(found.need, gpus=(count, count))
    for precision, speeds in alternatives.items():
        with suppress(GpuwiseError):  # nothing keeps the limits in it
            others[precision] = recommend(need, speeds, offers, today=today, item=found.item).options[0]
    return replace(found, changes=(*found.changes, *_precision_changes(found.options[0], others)))


def ordered(them: Candidates, ok: Mask, *, every_provider: bool = True) -> list[int]:
    """Places of the best candidate of each GPU, number and way, cheapest work first; of each provider apart
    where that is asked for. What has no price stands behind, the fastest first."""
    late = np.array([row.late for row in them.rows], dtype=bool)
    keys = np.lexsort((1 / them.speed, them.ranked.astype(np.float32), late))
    found: dict[tuple[str, int, str, str], int] = {}
    for place in keys[ok[keys]]:
        row = them.rows[place]
        provider = row.offer.provider.casefold() if row.offer and every_provider else ""
        found.setdefault((row.gpu, row.count, row.way, provider), int(place))
    return list(found.values())


def frontier(them: Candidates, places: Sequence[int]) -> set[int]:
    """The places of which no other is both faster and cheaper."""
    best, found = -1.0, set[int]()
    each = them.per_item.astype(np.float32)
    for place in sorted(places, key=lambda p: (np.nan_to_num(each[p]), -them.speed[p])):
        if them.speed[place] > best:
            best = them.speed[place]
            found.add(place)
    return found


def chance(them: Candidates, first: int, other: int) -> float:
    """Probability that the work costs less with `first`."""
    a, b = them.rows[first], them.rows[other]
    if them.per_item[first] <= 0:
        return 0.5 if them.per_item[other] <= 0 else 1.0
    widths = [float(them.half[place]) for place in (first, other)]
    if a.speed is b.speed:
        share = [float(them.fixed[p] / max(them.per_hour[p], 1e-300)) for p in (first, other)]
        widths = [float(them.price_half[p]) * s for p, s in zip((first, other), share, strict=True)]
    apart, spread = log(them.per_item[other] / them.per_item[first]), hypot(*widths) / Z
    return NormalDist().cdf(apart / spread) if spread > 0 else 0.5 if apart == 0 else float(apart > 0)


def _options(
    need: Need, them: Candidates, places: Sequence[int], speeds: Sequence[Record]
) -> tuple[Option, ...]:
    best, rents = frontier(them, places), [p for p in places if not them.own[p]]
    one = {s.gpu_id: s.throughput.value for s in speeds if s.gpus == 1 and s.throughput is not None}
    owned = Counter(need.have)
    there = [s.throughput.value for s in speeds if s.throughput and s.gpus == owned.get(s.gpu_id)]
    found: list[Option] = []
    for rank, place in enumerate(places[:MOST], start=1):
        row, speed = them.rows[place], them.rows[place].speed
        assert speed.throughput is not None
        spec, joules = catalog.get(row.gpu), float(them.joules[place])
        # A model that another one stands for is larger than it.
        needed = max(need.least_gb * 1e9, speed.memory_bytes.value if speed.memory_bytes else 0.0)
        known, half = row.way != "unpriced", float(them.half[place])
        watts = spec.power_w
        option = Option(
            rank=rank, gpu_id=row.gpu, count=row.count, way=row.way,
            provider=row.offer.provider if row.offer else "",
            instance=row.offer.instance if row.offer else "", region=row.offer.region if row.offer else "",
            price_usd=around(
                float(them.price[place]) * (row.count if them.own[place] else 1.0), row.half
            ) if known else None,
            seen_on=row.offer.seen_on if row.offer else "",
            price_source=row.offer.source.title if row.offer else "", stale=row.stale,
            committed_h=committed_h(row.offer) if row.offer else 0.0,
            last_usd=row.offer.amount if row.offer and row.way == "unpriced" else None,
            throughput=speed.throughput, basis=speed.basis,
            precision="" if speed.question.precision == need.precision else str(speed.question.precision),
            time_s=around(float(them.time[place]), float(them.speed_half[place])) if need.items else None,
            cost_usd=around(float(them.per_item[place]) * need.items * need.users, half)
            if need.items and known else None,
            cost_per_item_usd=around(float(them.per_item[place]), half) if known else None,
            energy_j_per_item=joules if joules == joules else None,
            memory_spare=1 - needed / spec.memory_bytes if needed and spec.memory_bytes else None,
            outlay_usd=float(np.nan_to_num(them.outlay[place])) * need.users,
            host_usd=float(them.host[place]) * need.users,
            per_hour_usd=float(them.per_hour[place]) * need.users if known else None,
            power_w=watts * row.count if watts else None,
            speedup=float(them.speed[place]) / max(there) if there else None,
            frontier=place in best,
            break_even_h=_break_even(need, them, place, rents, lost_share(need.assumptions)),
        )  # fmt: skip
        why = _why(need, option, found[0] if found else option, speed, one.get(row.gpu), spec)
        found.append(replace(option, why=tuple(why)))
    return tuple(found)


def around(value: float, half: float) -> Interval:
    """A log-normal interval at the level of all intervals here."""
    return Interval(
        value=value, low=value * exp(-half), high=value * exp(half), level=LEVEL, method="log-normal"
    )


def _nothing(speeds: Sequence[Record]) -> NoDataError:
    refusals = [speed.refusal for speed in speeds if speed.refusal]
    if len(refusals) == len(speeds) and refusals:
        # Where the largest is too small, none fits.
        largest = max(speeds, key=lambda s: (catalog.get(s.gpu_id).memory_bytes or 0.0) * s.gpus).refusal
        if "does not fit" in largest:
            return NoDataError(largest, hint="more or larger GPUs, or a shorter format of weights")
        return NoDataError(f"no GPU has a speed: {largest}", hint="measure it", code="bench")
    return NoDataError(
        "no GPU that can do the work has a fresh price here",
        hint="add prices of your own, or loosen provider, buy or rent, number of GPUs or age of prices",
        code="no-price",
    )


def differences(old: Recommendation, new: Recommendation) -> tuple[str, ...]:
    """In words, the first option first; options are the same where GPU, number, way and provider are."""
    return tuple(_differences(old, new)) or (f"nothing changed since {old.made_on}",)


def _differences(old: Recommendation, new: Recommendation) -> Iterator[str]:
    # An older file may hold no option at all.
    was, now = next(iter(old.options), None), new.options[0]
    if was is not None and was.key != now.key:
        yield f"first was {_named(was)}, is {_named(now)}"
    earlier, later = ({option.key: option for option in made.options} for made in (old, new))
    for key, option in later.items():
        if key not in earlier:
            yield f"new: {_named(option)}, place {option.rank}"
            continue
        before = earlier[key]
        prices = [o.price_usd.value if o.price_usd else 0.0 for o in (before, option)]
        speeds = [o.throughput.value for o in (before, option)]
        for what, (a, b) in (("price", prices), ("speed", speeds)):
            if a > 0 and abs(b / a - 1) > WORTH_SAYING:
                shown = f"{usd(a)} to {usd(b)}" if what == "price" else f"{a:,.4g} to {b:,.4g}"
                yield f"{_named(option)}: {what} {shown} ({b / a - 1:+.0%})"
        if before.basis != option.basis:
            yield f"{_named(option)}: speed was {before.basis}, is {option.basis}"
    for key, option in earlier.items():
        if key not in later:
            yield f"gone: {_named(option)}, was in place {option.rank}"


def _named(option: Option) -> str:
    where = f" at {option.provider}" if option.provider else ""
    return f"{option.count} x {option.gpu_id} {option.way}{where}"


def _answer(found: Recommendation) -> str:
    """The first option in one sentence, or two where buying and renting were both allowed."""
    need, first = found.need, found.options[0]
    name = _machine(first)
    if first.way == "have":
        text = f"Keep {name}: nothing that keeps the limits does the work for less"
    elif first.price_usd is None:
        last = first.last_usd
        seen = f"last seen at about {usd(last)} in {first.seen_on[:7]}" if last else "price unknown"
        best = "cheapest" if need.cheapest and last else "fastest"
        text = f"Take {name}, {seen}, the {best} of {len(found.options)}"
    elif first.outlay_usd:
        host, _, _ = host_of(first.gpu_id, first.count)
        article = "an" if host[0] in "aeiou" else "a"
        around = f" and {article} {host} for {usd(first.host_usd)}" if first.host_usd else ""
        each = f" for each of {need.users} people" if need.users > 1 else ""
        sold = f"{_SOLD[first.way]}, price of {first.seen_on}"
        text = f"Buy {name}{each} at {_about(need, first.price_usd)} ({sold}){around}"
    else:
        kind = "" if first.way == "on-demand" else f", {first.way}"
        kind += f" for {first.committed_h * 12 / HOURS_PER_YEAR:.0f} months" if first.committed_h else ""
        each = f" for each of {need.users} people" if need.users > 1 else ""
        hourly = first.price_usd.value
        price = f"{usd(hourly)}/h ({_other(need, hourly, '{}/h, ')}price of {first.seen_on}{kind})"
        text = f"Rent {name}{each} from {first.provider} at {price}"
    return f"{text}: {_does(found)}.{_buy_or_rent(found)}"


def _buy_or_rent(found: Recommendation) -> str:
    """From how many hours of use on buying pays, where both were allowed."""
    first, owned = found.options[0], next((o for o in found.options if o.break_even_h), None)
    if first.way == "have" or owned is None or not owned.break_even_h or found.need.period_s is not None:
        return ""
    if owned.break_even_h > HOURS_PER_YEAR * found.need.assumptions.years:
        return ""  # never, though somebody used it around the clock
    hours = f"{owned.break_even_h:,.0f} hours of use"
    if first.outlay_usd:
        return f" Renting is cheaper below {hours}." if owned is first else ""
    return f" Buying {_machine(owned)} instead pays only above {hours}."


def _does(found: Recommendation) -> str:
    """Cost, time and speed of the work, as far as it was stated; else the speed and what an hour costs."""
    need, first = found.need, found.options[0]
    rate = f"{speed_of(first.throughput.value)} {found.item}s/s"
    if need.task:
        rate = f"{rate} with weights in {first.precision or need.precision}"
    hourly = first.per_hour_usd or 0.0
    if first.time_s is None:
        if need.budget_per_month:
            month, week = hourly * hours_a_month(need), need.assumptions.hours_per_week
            return f"{usd(month)} a month{_other(need, month, ' ({} a month)')} of {week:g} h a week, {rate}"
        if need.concurrent and hourly:
            # Hours in which nobody asks are paid for, too.
            each = f"{need.assumptions.hours_per_week:g} h a week"
            monthly = f"{usd(hourly * hours_a_month(need))} a month of {each}"
            return f"{rate}, {usd(hourly)} an hour of use, {monthly}"
        return f"{rate}, {usd(hourly)} an hour of use" if hourly and first.outlay_usd else rate
    cost = f"{_about(need, first.cost_usd)} " if first.cost_usd else ""
    if need.period_s is None:
        return f"{cost}in {seconds(first.time_s.value)} at {rate}"
    every, busy = PERIODS.get(need.period_s), percent(first.time_s.value / need.period_s, 0)
    return f"{cost}each {every or seconds(need.period_s)}, busy {busy} of it at {rate}"


def _reasons(found: Recommendation) -> tuple[str, ...]:
    """The three that matter most."""
    need, first = found.need, found.options[0]
    others = [o for o in found.options[1:] if o.gpu_id != first.gpu_id and o.cost_per_item_usd]
    cost, said = first.cost_per_item_usd, list[str]()
    if cost and cost.value and others and others[0].cost_per_item_usd:
        dearer = others[0].cost_per_item_usd.value / cost.value
        if need.cheapest and others[0].outlay_usd:
            dearer = others[0].outlay_usd / max(first.outlay_usd, 1.0)
        if need.fastest:
            slower = percent(others[0].throughput.value / first.throughput.value, 0)
            said.append(f"the fastest within the limits: the next GPU does {slower} of it")
        elif dearer < 1:
            faster = significant(first.throughput.value / others[0].throughput.value)
            said.append(f"{significant(1 / dearer)} times the least cost, {faster} times as fast as the next")
        else:
            close = "; within the uncertainty that is a tie" * (dearer < EQUAL)
            least = "lowest price" if need.cheapest else "least cost"
            said.append(f"{least}: the next GPU takes {significant(dearer)} times as much{close}")
    if first.outlay_usd:
        said.append(setup(need, first))
    if first.speedup is not None and first.way != "have":
        said.insert(0, f"{significant(first.speedup)} times what you have")
    if need.deadline_s and first.time_s:
        said.append(f"done in {seconds(first.time_s.value)} of the {seconds(need.deadline_s)} allowed")
    if need.mode == "train":
        # How several of them talk to each other decides what they are worth together.
        link = f"they talk over {link_of(catalog.get(first.gpu_id), first.count)}"
        scaling = (why for why in first.why if why.startswith(f"{first.count} reach"))
        said += [next(scaling, link)] if first.count > 1 else []
    known = _BASES[first.basis].partition(":")[0].partition(" by")[0]
    value, low, high = (speed_of(getattr(first.throughput, end)) for end in ("value", "low", "high"))
    said.append(f"speed: {value} ({low} to {high}) {found.item}s/s within 80 %, {known}")
    if first.memory_spare is not None:
        size, free = catalog.get(first.gpu_id).memory_bytes or 0.0, percent(max(0.0, first.memory_spare), 0)
        said.append(f"memory: {size / 2**30:.4g} GiB on each GPU, {free} of it stays free")
    return tuple(said[:3])


def setup(need: Need, bought: Option) -> str:
    """What buying takes beside the card, and what is left of it."""
    spec, a = catalog.get(bought.gpu_id), need.assumptions
    host, _, watts = host_of(bought.gpu_id, bought.count)
    watts = (bought.power_w or 0.0) + (watts if a.host_w is None else a.host_w * bought.count)
    supply = next((w for w in SUPPLIES_W if w >= SUPPLY * watts), None)
    slots, cooling = spec.number("slots"), spec.text("cooling")
    left = usd(bought.outlay_usd * (1 - a.depreciation) ** a.years)
    parts = [
        f"{usd(bought.outlay_usd)}{_other(need, bought.outlay_usd, ' ({})')} in all, "
        + (f"{usd(bought.host_usd)} of it for the host ({host})" if bought.host_usd else "no new host"),
        "" if not bought.power_w else f"{bought.power_w:g} W: "
        + (f"a power supply of {supply} W" if supply else "several power supplies"),
        f"{slots * bought.count:g} slots" if slots else "", f"{cooling} cooling" if cooling else "",
        f"quiet: at most {QUIET_W:g} W of heat" if need.quiet else "",
        f"worth {left} after {a.years:g} years",
    ]  # fmt: skip
    return "; ".join(part for part in parts if part)


def _runner_up(found: Recommendation) -> str:
    """The next GPU, and what speaks for it."""
    first = found.options[0]
    other = next((o for o in found.options[1:] if o.gpu_id != first.gpu_id), None)
    if other is None:
        return ""
    cost, least, said = other.cost_per_item_usd, first.cost_per_item_usd, list[str]()
    if cost and least and least.value:
        said.append(f"{significant(cost.value / least.value)} times the cost")
    said.append(f"{significant(other.throughput.value / first.throughput.value)} times as fast")
    said += [f"{significant(other.speedup)} times what you have"] if other.speedup else []
    price = "" if other.price_usd is None else f" at {usd(other.price_usd.value)}"
    unit = "/h" if other.price_usd and not other.outlay_usd else ""
    return f"{_machine(other)}, {obtained(other)}{price}{unit}: {', '.join(said)}"


def _machine(option: Option) -> str:
    """`one RTX 4090`, `8 x H100 SXM5 80 GB`; a laptop with its power limit, which makers set."""
    spec = catalog.get(option.gpu_id)
    if spec.text("form") == "laptop" and spec.power_w:
        return f"a laptop with an {_short(option.gpu_id).partition(' Laptop')[0]} of {spec.power_w:g} W"
    return counted(option.gpu_id, option.count)


def counted(gpu_id: str, count: int) -> str:
    """`one RTX 4090`, `2 x RTX 4090`."""
    return f"one {_short(gpu_id)}" if count == 1 else f"{count} x {_short(gpu_id)}"


def _short(gpu_id: str) -> str:
    return catalog.get(gpu_id).name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def obtained(option: Option) -> str:
    """Where it comes from: `runpod, spot`, `bought used`, `yours`."""
    last = (
        f"last seen at {usd(option.last_usd)}, {option.seen_on[:7]}" if option.last_usd else "price not known"
    )
    fixed = {"have": "yours", "unpriced": last, "street": "bought used or new"}
    if option.way in ("new", "used"):
        return f"bought {option.way}"
    return fixed.get(option.way) or f"{option.provider}, {option.way}"


def _other(need: Need, value: float, words: str) -> str:
    """An amount of USD in the currency of the question, `288 EUR`, in `words`; nothing where that is USD."""
    code, rate = need.currency
    amount = f"{value / rate:,.2f}" if value < 100 * rate else f"{value / rate:,.0f}"
    return "" if code == "USD" else words.format(f"{amount} {code}")


def _about(need: Need, interval: Interval) -> str:
    other = _other(need, interval.value, "; {}")
    return f"about {usd(interval.value)} ({usd(interval.low)} to {usd(interval.high)}{other})"


def speed_of(value: float) -> str:
    """`968`, `1,554`, `411 G`: items a second without their unit."""
    return significant(value) if value < 1e6 else si(value, "").strip()


def _why(
    need: Need, found: Option, first: Option, speed: Record, one: float | None, spec: GpuSpec
) -> Iterator[str]:
    """Reasons of one option, against the first; `one` is the throughput of a single GPU."""
    faster = significant(found.throughput.value / first.throughput.value)
    cost, least = found.cost_per_item_usd, first.cost_per_item_usd
    if found.rank == 1 and cost:
        yield "least cost for the work, or nearly so and much faster; old prices counted at their upper end"
    elif not cost or not least or not least.value:  # without a price, or a card that is there already
        yield f"{faster} times as fast as the first"
    else:
        yield f"{significant(cost.value / least.value)} times the cost of the first, {faster} times as fast"
    if found.speedup is not None and found.way != "have":
        yield f"{significant(found.speedup)} times what you have"
    if found.count > 1 and one:
        share = found.throughput.value / (found.count * one)
        how = link_of(spec, found.count) if need.mode == "train" else "each works by itself"
        more = (
            "each holds a part of the model, so larger batches fit" if need.task else "within the uncertainty"
        )
        more = f"; {more}" if share > 1 else ""
        yield f"{found.count} reach {percent(share, 0)} of {found.count} times one ({how}{more})"
    if found.outlay_usd:
        yield setup(need, found)
    if found.break_even_h is not None:
        planned = hours_of_use(need)
        yield f"cheaper than renting after {found.break_even_h:,.0f} h of use ({planned:,.0f} h planned)"
    if found.memory_spare is not None and found.memory_spare < LITTLE:
        yield f"only {percent(max(0.0, found.memory_spare), 0)} of its memory stays free"
    if found.outlay_usd and spec.text("form") in MODULES:
        yield "a module for the board of a server, not a card for a slot"
    if found.stale:
        yield f"price of {found.seen_on}, old"
    # The file of a measurement, the title of a publication.
    where = speed.notes[0] if speed.notes else ""
    if speed.source is not None:
        where = speed.source.id if speed.origin == "measured" else speed.source.title
    yield "speed " + _BASES[found.basis].format(where)
    if speed.bound:
        yield f"bound by {speed.bound}"


def _changes(need: Need, them: Candidates, places: Sequence[int]) -> Iterator[str]:
    """What would make another option the first: prices and hours of use."""
    first = places[0]
    if them.rows[first].way == "unpriced":
        yield "a fresh price: prices of up to a year ago would rank them by cost"
        return
    other = next((p for p in places if them.rows[p].gpu != them.rows[first].gpu), None)
    if other is not None:
        yield from _price_change(need, them, other, float(them.ranked[first]), "becomes first at")
        stays = f"stays before {_name(them, other)} up to"
        yield from _price_change(need, them, first, float(them.ranked[other]), stays)
    yield from _hours(need, them, places)


def _price_change(need: Need, them: Candidates, place: int, target: float, says: str) -> Iterator[str]:
    """The price at which a candidate's ranked cost is `target`."""
    price, fixed = float(them.price[place]), float(them.fixed[place])
    if not price > 0 or not fixed > 0 or need.cheapest or need.fastest:
        return
    per_hour = target * float(them.per_hour[place]) / float(them.per_item[place])
    old = exp(float(them.price_half[place])) if them.rows[place].stale else 1.0
    share = (per_hour - float(them.running[place])) / old / fixed
    wanted, unit = price * share, "/h"
    if them.own[place]:
        host = float(them.host[place] / them.count[place])
        wanted, unit = (price + host) * share - host, " a card"
    change = wanted / price - 1
    if wanted > 0:
        yield f"{_name(them, place)} {says} {usd(wanted)}{unit} (now {usd(price)}, {change:+.1%})"
    else:
        yield f"{_name(them, place)} is not first at any price: the rest of its cost alone is more"


def _name(them: Candidates, place: int) -> str:
    row = them.rows[place]
    where = {"have": "that you have", "new": "bought new", "used": "bought used", "street": "bought"}
    kind = "" if row.way == "on-demand" else f" ({row.way})"
    how = where.get(row.way) or f"from {row.offer.provider if row.offer else 'no one'}{kind}"
    return f"{counted(row.gpu, row.count)} {how}"


def worth_per_hour(need: Need, them: Candidates, place: int, rent: int) -> float:
    """What renting costs for the work that an hour of an owned option does; of a service, for that hour."""
    if need.period_s is not None:
        return float(them.per_hour[rent])
    return float(them.per_item[rent] * 3600 * them.speed[place]) * need.assumptions.utilisation


def _break_even(need: Need, them: Candidates, place: int, rents: Sequence[int], lost: float) -> float | None:
    """Hours of use from which an owned option costs less than the cheapest rent for the same work; `lost` is
    the share of its outlay that is gone in the end. None where there is no rent, or energy costs more."""
    if not rents or not them.outlay[place] > 0:
        return None
    saved = worth_per_hour(need, them, place, rents[0]) - float(them.running[place])
    return float(them.outlay[place]) * lost / saved if saved > 0 else None


def _hours(need: Need, them: Candidates, places: Sequence[int]) -> Iterator[str]:
    """From which hours a week buying costs less than renting."""
    own = next((p for p in places if them.outlay[p] > 0), None)
    rent = next((p for p in places if not them.own[p]), None)
    # Whoever keeps what is there does neither.
    keeps = them.rows[places[0]].way == "have"
    if own is None or rent is None or need.period_s is not None or keeps:
        return
    a = need.assumptions
    worth = worth_per_hour(need, them, own, rent) - float(them.running[own])
    if worth <= 0:
        yield f"{_name(them, own)} never pays: its energy alone costs more than {_name(them, rent)}"
        return
    spread = float(them.outlay[own]) * lost_share(a) / hours_of_use(need)
    hours, planned = spread * a.hours_per_week / worth, a.hours_per_week
    if hours > 168:
        yield f"{_name(them, own)} does not pay against {_name(them, rent)} even in use around the clock"
    else:
        pays = f"{_name(them, own)} costs less than {_name(them, rent)}"
        yield f"{pays} from {hours:.1f} h a week on ({planned:g} h assumed)"


def _advice(them: Candidates, places: Sequence[int], need: Need, item: str) -> Iterator[str]:
    """Two of one against one of another, and why not to mix where they would train together: each GPU answers
    requests by itself."""
    for place in places if need.mode == "train" or need.task else ():
        row = them.rows[place]
        if row.offer and row.offer.per_hour and row.count > row.offer.count:
            yield (
                f"no machine of {row.count} x {_short(row.gpu)} is offered: counted as {row.count} of one, "
                "which share no link, so a bound"
            )
    if need.gpus[0] <= 1 and need.gpus[1] >= 2:
        yield from _two_or_one(them, places)
    if need.mode != "train" or not (need.have or need.gpus[1] > 1):
        return
    # Two different cards that somebody might put into a machine of their own.
    one = {them.rows[p].gpu: float(them.speed[p]) for p in places if them.rows[p].count == 1}
    own = [them.rows[p].gpu for p in places if them.own[p]]
    cards = [gpu for gpu in dict.fromkeys((*need.have, *own)) if catalog.get(gpu).text("form") == "pcie"]
    names = [gpu for gpu in cards if gpu in one]
    if len(names) > 1:
        slow, both = sorted(one[g] for g in names[:2])[0], one[names[0]] + one[names[1]]
        yield (
            f"do not mix {names[0]} and {names[1]} in one job: with equal batches each step waits for the "
            f"slower, 2 x {significant(slow)} = {significant(2 * slow)} {item}s/s at most, "
            f"{percent(2 * slow / both, 0)} of the {significant(both)} that both do apart"
        )


def _two_or_one(them: Candidates, places: Sequence[int]) -> Iterator[str]:
    """Two of a slower GPU against one of a faster: of all such pairs the one that stands highest."""
    ones, twos = ([p for p in places if them.rows[p].count == n][:PAIRED] for n in (1, 2))
    pairs = [
        (i + j, two, one)
        for i, two in enumerate(twos)
        for j, one in enumerate(ones)
        if them.rows[two].gpu != them.rows[one].gpu and them.speed[two] / 2 < them.speed[one]
    ]
    if not pairs:
        return
    _, two, one = min(pairs)
    faster = float(them.speed[two] / them.speed[one])
    dearer = float(them.per_item[two] / max(them.per_item[one], 1e-300))
    yield (
        f"{_name(them, two)} or {_name(them, one)}: the two do {significant(faster)} times the work in an "
        f"hour, at {significant(dearer)} times the cost of an item; chance that they cost less: "
        f"{percent(chance(them, two, one), 0)}"
    )


def with_excluded(found: Recommendation, wide: Recommendation) -> Recommendation:
    """The recommendation, with what kinds of rent that the need leaves out would save; `wide` is the one that
    allows them all."""
    first, need = found.options[0].cost_per_item_usd, found.need
    best: dict[str, Option] = {}
    for option in wide.options:
        if option.way in EXCLUDED and not getattr(need, option.way):
            best.setdefault(option.way, option)
    said = []
    for way, option in best.items():
        cost = option.cost_per_item_usd
        if first and first.value and cost and option.price_usd and cost.value < WORTH_A_WORD * first.value:
            where = f"{_machine(option)} from {option.provider} at {usd(option.price_usd.value)}/h"
            said.append(f"{way} rent ({where}, {significant(cost.value / first.value)} times the cost)")
    allowed = [f"to allow {' or '.join(said)}"] if said else []
    return replace(found, changes=(*allowed, *found.changes))


def _precision_changes(first: Option, others: Mapping[str, Option]) -> Iterator[str]:
    """What another precision would do to the first option; `others` are the first of each."""
    for precision, other in others.items():
        if other.cost_per_item_usd is None or first.cost_per_item_usd is None:
            continue
        cheaper = other.cost_per_item_usd.value / max(first.cost_per_item_usd.value, 1e-300)
        same = (other.gpu_id, other.count) == (first.gpu_id, first.count)
        who = "the same GPU stays first" if same else f"{_machine(other)} would be first"
        yield f"in {precision} {who}, at {significant(cheaper)} times the cost"
