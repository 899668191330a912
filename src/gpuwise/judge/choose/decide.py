"""From a need, speeds and prices to a recommendation, and what changed where it is made again later.

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
from gpuwise.judge.choose import explain
from gpuwise.judge.choose.candidates import Candidates, Mask, candidates, lost_share
from gpuwise.judge.choose.fit import contradiction, kept, limits, rejected
from gpuwise.model.choice import Chance, Need, Option, Recommendation
from gpuwise.model.offer import Offer
from gpuwise.model.precision import Precision
from gpuwise.model.record import Record
from gpuwise.model.result import Interval
from gpuwise.model.units import usd
from gpuwise.predict.interval import LEVEL

# Options that are kept.
MOST = 100
# Options whose chance against the first is stated.
COMPARED = 10
# Half width of an 80 % interval in standard deviations.
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
# Smaller changes of a price or speed are rounding.
WORTH_SAYING = 0.01


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
    options = _options(need, them, places, speeds)
    left = rejected(need, them, found, speeds)
    changes = tuple(explain.changes(need, them, places))
    made = Recommendation(
        made_on=today.isoformat(), need=need, item=item, options=options, rejected=left,
        chances=tuple(
            Chance(other=rank, probability=chance(them, places[0], place))
            for rank, place in enumerate(places[1:COMPARED], start=2)
            if options[0].price_usd is not None and options[rank - 1].price_usd is not None
        ),
        changes=changes,
        advice=(*explain.absent(need, left), *explain.advice(them, places, need, item, chance)),
    )  # fmt: skip
    return replace(
        made, answer=explain.answer(made), reasons=explain.reasons(made), runner_up=explain.runner_up(made)
    )


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
    return replace(found, changes=(*found.changes, *explain.precision_changes(found.options[0], others)))


def ordered(them: Candidates, ok: Mask, *, every_provider: bool = True) -> list[int]:
    """Places of the best candidate of each GPU, number and way, cheapest work first; of each provider apart
    where that is asked for. What has no price stands behind, the fastest first."""
    keys = np.lexsort((1 / them.speed, them.ranked.astype(np.float32)))
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
        spec, needed, joules = catalog.get(row.gpu), speed.memory_bytes, float(them.joules[place])
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
            throughput=speed.throughput, basis=speed.basis,
            precision="" if speed.question.precision == need.precision else str(speed.question.precision),
            time_s=around(float(them.time[place]), float(them.speed_half[place])) if need.items else None,
            cost_usd=around(float(them.per_item[place]) * need.items * need.users, half)
            if need.items and known else None,
            cost_per_item_usd=around(float(them.per_item[place]), half) if known else None,
            energy_j_per_item=joules if joules == joules else None,
            memory_spare=1 - needed.value / spec.memory_bytes if needed and spec.memory_bytes else None,
            outlay_usd=float(np.nan_to_num(them.outlay[place])) * need.users,
            host_usd=float(them.host[place]) * need.users,
            per_hour_usd=float(them.per_hour[place]) * need.users if known else None,
            power_w=watts * row.count if watts else None,
            speedup=float(them.speed[place]) / max(there) if there else None,
            frontier=place in best,
            break_even_h=explain.break_even(need, them, place, rents, lost_share(need.assumptions)),
        )  # fmt: skip
        why = explain.why(need, option, found[0] if found else option, speed, one.get(row.gpu), spec)
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
        return NoDataError(f"no GPU has a speed: {refusals[0]}", hint="measure it", code="bench")
    return NoDataError(
        "no GPU that can do the work has a fresh price here",
        hint="add prices of your own, or loosen provider, buy or rent, number of GPUs or age of prices",
        code="no-price",
    )


def differences(old: Recommendation, new: Recommendation) -> tuple[str, ...]:
    """In words, the first option first; options are the same where GPU, number, way and provider are."""
    return tuple(_differences(old, new)) or (f"nothing changed since {old.made_on}",)


def _differences(old: Recommendation, new: Recommendation) -> Iterator[str]:
    was, now = old.options[0], new.options[0]
    if was.key != now.key:
        yield f"first was {_name(was)}, is {_name(now)}"
    earlier, later = ({option.key: option for option in made.options} for made in (old, new))
    for key, option in later.items():
        if key not in earlier:
            yield f"new: {_name(option)}, place {option.rank}"
            continue
        before = earlier[key]
        prices = [o.price_usd.value if o.price_usd else 0.0 for o in (before, option)]
        speeds = [o.throughput.value for o in (before, option)]
        for what, (a, b) in (("price", prices), ("speed", speeds)):
            if a > 0 and abs(b / a - 1) > WORTH_SAYING:
                shown = f"{usd(a)} to {usd(b)}" if what == "price" else f"{a:,.4g} to {b:,.4g}"
                yield f"{_name(option)}: {what} {shown} ({b / a - 1:+.0%})"
        if before.basis != option.basis:
            yield f"{_name(option)}: speed was {before.basis}, is {option.basis}"
    for key, option in earlier.items():
        if key not in later:
            yield f"gone: {_name(option)}, was in place {option.rank}"


def _name(option: Option) -> str:
    where = f" at {option.provider}" if option.provider else ""
    return f"{option.count} x {option.gpu_id} {option.way}{where}"
