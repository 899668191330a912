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
from dataclasses import replace
from datetime import date
from functools import partial
from math import exp, hypot, inf, log

import numpy as np

from gpuwise.errors import NoDataError
from gpuwise.facts import catalog
from gpuwise.judge.choose import answer, fit, phrases
from gpuwise.judge.choose import candidates as priced
from gpuwise.judge.choose.candidates import EQUAL, Candidates, Mask, cards_paid, worth_per_hour
from gpuwise.judge.choose.fit import Limit
from gpuwise.judge.choose.need import IN_PACE, USUAL_TPOT_S
from gpuwise.judge.choose.phrases import WORTH_A_WORD, WORTH_SAYING, counted, dearer, offered_as
from gpuwise.judge.choose.speeds import memory_of
from gpuwise.model.gpu import RENTS, Offer
from gpuwise.model.judgement import Chance, Need, Option, Recommendation
from gpuwise.model.precision import Precision
from gpuwise.model.result import Interval, Record, firsts
from gpuwise.model.units import significant, usd
from gpuwise.predictor.rates import around

# Options that are kept.
MOST = 100
# Options whose chance against the first is stated.
COMPARED = 10
# Machines, each with its part of the work, that somebody still looks after.
MANY = 16
# Kinds of rent that a need leaves out unless it says otherwise, and the cost from which one is worth a word.
EXCLUDED = ("spot", "community", "reserved", "serverless")
# A lead in speed that is worth no extra money, and money that is worth a lower cost of use.
AS_FAST, A_LITTLE_MORE = 1.1, 1.25
# Times the least cost that a deadline is worth which is kept at the low end of a speed, too.
SURE = 1.5
# Share by which a price may have to change to be worth a word: none falls by more within a year.
FAR_OFF = 0.5
# A lead in speed that decides between rents of the same cost.
MUCH_FASTER = 1.5


def recommend(
    need: Need, speeds: Sequence[Record], offers: Sequence[Offer], *, today: date, item: str,
    every_provider: bool = False,
) -> Recommendation:  # fmt: skip
    """Ranked options with their reasons, by prices as known on `today`.

    Raises InputError where limits contradict each other, with the one to relax and by how much; NoDataError
    where no GPU, or none of the form asked for, has both a speed and a price.
    """
    them = priced.candidates(need, speeds, offers, today=today)
    if not len(them):
        # Whether what is named is enough is not asked of the memory that something else has.
        low, high = (0.0, None) if need.sets and need.asks == "able" else need.memory_gb or (0.0, None)
        sizes = {s.gpu_id: (memory_of(need, catalog.get(s.gpu_id)) or 0.0) / 2**30 for s in speeds}
        asked = [speed for speed in speeds if speed.gpus >= need.gpus[0]] or speeds
        asked = [s for s in asked if 0.9 * low <= sizes[s.gpu_id] <= (high or inf) * 1.05]
        if not asked or not all(speed.refusal for speed in asked):
            where = f"in {need.region}" if need.region else "here"
            raise NoDataError(
                f"no GPU that can do the work has a fresh price {where}",
                hint="add prices of your own, or loosen provider, ways, number of GPUs or age of prices",
                code="no-price",
            )  # fmt: skip
        # Where the largest is too small, none fits.
        largest = max(asked, key=lambda s: sizes[s.gpu_id] * s.gpus).refusal
        if "does not fit" in largest:
            each = (s.refusal for s in asked if (s.gpu_id, s.gpus) in need.sets)  # Of all that are named
            raise fit.too_large(need, "; ".join(dict.fromkeys((largest, *each))))
        if late := [s for s in asked if s.first_token_s]:
            raise fit.too_late(late)
        if names := priced.few_of(need):
            largest = "; ".join(fit.why_not(names, {s.gpu_id: s.refusal for s in asked}))
        if not fit.is_unknown(largest):
            raise NoDataError(largest, hint="a newer GPU", code="too-old")
        raise NoDataError(f"no GPU has a speed: {largest}", hint="measure it", code="bench")
    found = fit.limits(need, them, speeds)
    rented = [row.offer.count if row.offer and row.way in RENTS else row.count for row in them.rows]
    ok, few = fit.kept(found, len(them)), them.count / np.array(rented, dtype=float) <= MANY
    ok &= few | ~(ok & few).any()  # Nobody looks after dozens of machines where fewer do
    names = priced.few_of(need)
    places = ordered(them, ok, every_provider=every_provider)
    left = fit.rejected(need, them, found, speeds, offers)
    if not places:
        there = (*dict.fromkeys((*names, *need.have)),)
        named = fit.why_not(there, {g: why.detail for g, why in left.items()})
        raise fit.contradiction(them, found, named or fit.too_small(need, speeds))
    behind = {p: why_behind(need, them, p) for p in places}
    places.sort(key=lambda p: bool(behind[p]))
    ahead = tuple(p for p in places if bool(behind[p]) == bool(behind[places[0]]))
    places.sort(key=_least_money(need, them, ahead).__ne__)
    if them.rows[places[0]].way == "unpriced":
        first = [p for p in places if bool(behind[p]) == bool(behind[places[0]])]
        places = [*_by_last_price(need, them, first), *(p for p in places if p not in first)]
    if need.deadline_s is not None and need.goal != "price":  # Which asks for the least that does it
        # A day is kept at the low end of a speed, too, where that costs little more.
        paid_s = them.time * np.exp(them.speed_half) / need.assumptions.utilisation
        near = (p for p in places if them.ranked[p] <= SURE * them.ranked[places[0]])
        safe = next((p for p in near if paid_s[p] <= need.deadline_s), places[0])
        places.sort(key=safe.__ne__)
    kept = max((p for p in places if them.rows[p].way == "have"), key=lambda p: them.speed[p], default=None)
    buys = need.goal == "speed" and kept is not None and them.outlay[places[0]] > 0
    if kept is not None and buys and them.speed[places[0]] < AS_FAST * them.speed[kept]:
        places.sort(key=kept.__ne__)  # Nobody pays for what is no faster
    once = need.items is not None and need.period_s is None
    once &= not (need.sets or need.only or need.budget_usd or need.upgrade or need.asks)
    if need.keep or (once and them.outlay[places[0]] > 0):  # It does the work wherever it can
        places.sort(key=lambda place: them.rows[place].way != "have")
    options = _options(need, them, places, speeds, behind)
    made = Recommendation(
        made_on=today.isoformat(), need=need, item=item, options=options, rejected=left,
        chances=tuple(
            Chance(other=rank, probability=priced.chance(them, places[0], place))
            for rank, place in enumerate(places[1:COMPARED], start=2)
            if options[0].price_usd is not None and options[rank - 1].price_usd is not None
        ),
        changes=(*over_budget(need, them, places[0], found), *changes(need, them, places)),
        advice=tuple(dict.fromkeys(side_by_side(them, places, need))),
    )  # fmt: skip
    return replace(
        made, answer=answer.plainly(made), reasons=answer.reasons(made), runner_up=answer.runner_up(made)
    )


def first_of_each_way(
    need: Need, speeds: Sequence[Record], offers: Sequence[Offer], *, today: date
) -> list[Option]:
    """Of each way to get GPUs the candidate that keeps the limits at the least cost, the cheapest first."""
    them = priced.candidates(need, speeds, offers, today=today)
    if not len(them):
        return []
    ok = fit.kept(fit.limits(need, them, speeds), len(them))
    first = firsts((them.rows[p].way, p) for p in ordered(them, ok, every_provider=False))
    return list(_options(need, them, [*first.values()], speeds))


def why_behind(need: Need, them: Candidates, place: int) -> str:
    """Why a candidate stands behind others whatever it costs, which are known better, write as fast as people
    read, have memory to spare, run at full power, or have fans of their own; empty where it does not."""
    row, speed, spec = them.rows[place], float(them.speed[place]), catalog.get(them.rows[place].gpu)
    size, named = memory_of(need, spec), row.gpu in (*priced.few_of(need), *need.have)
    bought = bool(them.own[place]) and not named
    watts = (spec.power_w or 0.0) * row.count
    if not need.unproven and row.speed.is_rough and row.way != "have":
        return "is known by its data sheet alone"
    if IN_PACE in need.notes and need.goal == "cost" and max(1, need.concurrent) / speed > USUAL_TPOT_S:
        return "is slower than people read"
    if need.least_gb and size and 1 - need.least_gb * 1e9 / size < answer.LITTLE:
        return "has little memory to spare"
    if need.precision == Precision.FP64:
        return "" if fit.made_for_fp64(row.gpu) else "is slow in FP64"
    if bought and need.supply_w is not None and watts > max(fit.left_w(0.0), fit.fed_w(need.supply_w)):
        return "draws more than your supply feeds, so it is held below its power"
    served = need.fans or priced.host_for(need, row.gpu, row.count)[0] == "server"
    return "has no fans of its own" if bought and answer.has_no_fans(spec) and not served else ""


def _least_money(need: Need, them: Candidates, places: Sequence[int]) -> int:
    """Of what is as good as the best, as nearly as anybody cares: the fewest cards that take little more
    money at once than the least, and of so many what takes least; the fastest of those that take as little,
    and of a budget what then does the work for least. Of rents that cost the same for the work, or for hours
    that are paid for anyway, what is much faster."""
    first, paid = places[0], need.items is not None or priced.is_service(need)
    if need.acquire == "both" and need.goal == "cost" and them.outlay[first] > 0 and not need.either:
        # Who pays the same for a rent ties up no money.
        tied = (p for p in places if not them.own[p] and them.ranked[p] <= EQUAL * them.ranked[first])
        first = next(tied, first)
    if not them.own[first] and (paid if need.goal == "cost" else need.goal == "price" and need.users > 1):
        same = [p for p in places if them.ranked[p] <= EQUAL * them.ranked[first]]
        same = [p for p in same if them.rows[p].way in (them.rows[first].way, "on-demand")]
        fastest = max((p for p in same if them.count[p] <= them.count[first]), key=lambda p: them.speed[p])
        return fastest if them.speed[fastest] >= MUCH_FASTER * them.speed[first] else first
    if need.goal in ("price", "power") or (need.goal == "cost" and them.outlay[first] <= 0):
        return first
    once = bool(need.items) and need.period_s is None  # Of what is left of it after the work nothing is said
    equal = AS_FAST if need.goal == "speed" else A_LITTLE_MORE if once else EQUAL
    near = (p for p in places if them.ranked[p] <= equal * them.ranked[first])
    level = [p for p in near if need.goal == "energy" or them.outlay[p] > 0]
    most = A_LITTLE_MORE * float(min(them.outlay[level], default=0.0))
    few = min((them.count[p] for p in level if them.outlay[p] <= most), default=0)
    level = [p for p in level if them.count[p] == few]
    most = (A_LITTLE_MORE if need.goal == "speed" else EQUAL) * float(min(them.outlay[level], default=0.0))
    fastest = most > 0 and need.goal != "speed"
    return min(
        (p for p in level if them.outlay[p] <= most),
        key=lambda p: (-float(them.speed[p]) * fastest, float(them.per_item[p])), default=first,
    )  # fmt: skip


def _by_last_price(need: Need, them: Candidates, places: Sequence[int]) -> list[int]:
    """Where nothing has a fresh price: the most work for the money at the last one, behind it the fastest
    without one; of a budget, which that price keeps, the fastest, of several as fast the cheapest first.
    Without any price the least that does it is likely to keep a budget."""
    last = {
        p: o.amount * float(them.count[p]) + float(them.host[p])
        for p in places
        if (o := them.rows[p].offer) and not them.rows[p].stale
    }
    if need.goal in ("energy", "power"):
        return list(places)
    if need.thrifty and not last:
        return list(places)[::-1]
    if not need.budget_usd and need.goal != "price":
        return sorted(places, key=lambda p: last.get(p, inf) / float(them.speed[p]))
    near = (p for p in last if them.speed[p] * EQUAL > them.speed[places[0]])
    first = min(near, key=lambda p: last[p], default=places[0])
    return sorted(places, key=first.__ne__)


def ordered(them: Candidates, ok: Mask, *, every_provider: bool = True) -> list[int]:
    """Places of the best candidate of each GPU, number and way, cheapest work first; of each provider apart
    where that is asked for. What has no rank for want of a price stands behind, the fastest first."""
    # Of workers that are paid by the second several cost what one does.
    few = np.array([row.count if row.way == "serverless" else 0 for row in them.rows])
    keys = np.lexsort((1 / them.speed, few, them.per_item.astype(np.float32), them.ranked.astype(np.float32)))
    found: dict[tuple[str, int, str, str], int] = {}
    for place in keys[ok[keys]]:
        row = them.rows[place]
        provider = row.offer.provider.casefold() if row.offer and every_provider else ""
        provider += priced.PAID if row.offer and row.offer.source.title == priced.PAID else ""
        found.setdefault((row.gpu, row.count, row.way, provider), int(place))
    return list(found.values())


def frontier(them: Candidates, places: Sequence[int]) -> set[int]:
    """The places of which no other is both faster and cheaper, without those that have no price."""
    best, found = -1.0, set[int]()
    each = them.per_item.astype(np.float32)
    known = (place for place in places if them.rows[place].way != "unpriced")
    for place in sorted(known, key=lambda p: (np.nan_to_num(each[p]), -them.speed[p])):
        if them.speed[place] > best:
            best = them.speed[place]
            found.add(place)
    return found


def _options(
    need: Need, them: Candidates, places: Sequence[int], speeds: Sequence[Record],
    behind: Mapping[int, str] | None = None,
) -> tuple[Option, ...]:  # fmt: skip
    best, rents = frontier(them, places), [p for p in places if not them.own[p]]
    one = {s.gpu_id: s.throughput.value for s in speeds if s.gpus == 1 and s.throughput is not None}
    owned, lost = Counter(need.have), priced.lost_share(need.assumptions)
    there = [s.throughput.value for s in speeds
             if s.throughput and s.gpus == owned.get(s.gpu_id) and fit.holds(need, s)]  # fmt: skip
    found: list[Option] = []
    for rank, place in enumerate(places[:MOST], start=1):
        row, speed = them.rows[place], them.rows[place].speed
        assert speed.throughput is not None
        spec, joules = catalog.get(row.gpu), float(them.joules[place])
        # A model that another one stands for is larger than it.
        # What stands in for other work has a memory of its own, which is not that of the work.
        its_own = speed.memory_bytes.value if speed.memory_bytes and not need.title else 0.0
        needed = max(need.least_gb * 1e9, its_own)
        known, half = row.way != "unpriced", float(them.paid_half[place])
        # What an item of the asked work counts as is the same error of all, so it decides between none.
        rate = speed.throughput.within(need.within)
        watts = spec.power_w
        # An hour of use saves so much of the cheapest rent of the same work; nothing where energy costs more.
        buys = rents and them.outlay[place] > 0
        saved = worth_per_hour(need, them, place, rents[0]) - float(them.running[place]) if buys else 0.0
        each = float(them.per_item[place])
        if priced.by_hour(need):  # Ranked by its hour; an item is of all that it does
            each = float(them.per_hour[place] / (3600 * them.speed[place] * need.assumptions.utilisation))
        busy_h = float(them.time[place]) / 3600 / need.assumptions.utilisation
        least_h = priced.least_paid_h(need, row)
        paid = partial(against, rate, half=half, floor=least_h / busy_h if busy_h > 0 else 0.0)
        option = Option(
            rank=rank, gpu_id=row.gpu, count=row.count, way=row.way,
            provider=row.offer.provider if row.offer else "",
            instance=row.offer.instance if row.offer else "", region=row.offer.region if row.offer else "",
            offered_as=row.offer.gpu if row.offer and row.way in RENTS and row.offer.gpu_ids[1:] else "",
            price_usd=around(
                float(them.price[place] * (cards_paid(need, row.gpu, row.count) if them.own[place] else 1)),
                row.half, method="log-normal",
            ) if known else None,
            seen_on=row.offer.seen_on if row.offer else "",
            price_source=row.offer.source.title if row.offer else "", stale=row.stale,
            committed_h=priced.committed_h(row.offer) if row.offer else 0.0,
            last_usd=row.offer.amount if row.offer and row.way == "unpriced" else None,
            throughput=rate, basis=speed.basis, rough=speed.is_rough,
            parts=speed.notes[1:] if len(need.workloads) > 1 else (),
            precision="" if speed.question.precision == need.precision else str(speed.question.precision),
            replicas=speed.replicas, latency_s=speed.seconds if need.latency_s else None,
            time_s=against(rate, float(them.time[place])) if need.items else None,
            cost_usd=paid(float(them.per_item[place]) * need.items * need.users)
            if need.items and known else None,
            cost_per_item_usd=paid(each) if known else None,
            energy_j_per_item=joules if joules == joules else None,
            memory_spare=1 - needed / size if needed and (size := memory_of(need, spec)) else None,
            outlay_usd=float(np.nan_to_num(them.outlay[place])) * need.users,
            host_usd=float(them.host[place]) * need.users,
            per_hour_usd=float(them.per_hour[place]) * need.users if known else None,
            power_w=watts * row.count if watts else None,
            speedup=float(them.speed[place]) / max(there) if there else None,
            frontier=place in best,
            break_even_h=float(them.outlay[place]) * lost / saved if saved > 0 else None,
        )  # fmt: skip
        why = answer.why(need, option, found[0] if found else option, speed, one.get(row.gpu), spec)
        why_not_first = f"{answer.BEHIND}{reason}" if behind and (reason := behind.get(place)) else ""
        found.append(replace(option, why=(*why, *filter(None, [why_not_first]))))
    return tuple(found)


def against(speed: Interval, value: float, half: float = 0.0, floor: float = 0.0) -> Interval:
    """What falls as a speed rises, such as the cost of work: known no better than that speed, and less well
    by the half width of what else it rests on. At least `floor` times the work's time is paid for, which
    then depends on no speed."""
    slower, faster = speed.value / speed.low, speed.value / speed.high
    whole = max(1.0, floor)
    sides = max(slower, floor) / whole, whole / max(faster, floor)
    slow, fast = (hypot(log(side), half) for side in sides)
    return replace(around(value, 0.0, method="log-normal"), low=value * exp(-fast), high=value * exp(slow))


def with_excluded(
    found: Recommendation, wide: Sequence[Option], other: Option | None = None
) -> Recommendation:
    """The recommendation, with what other limits would save: `wide` are the best by every kind of rent,
    `other` the one that is free of the GPUs and the region that were named."""
    first, need = found.options[0], found.need
    best = {f"{o.way} rent": o for o in wide if o.way in EXCLUDED and not getattr(need, o.way)}
    if other and other.key != first.key and (other.way in RENTS or not need.region):
        best["any region" if need.region else "another GPU"] = other
    said = filter(None, (allowing(way, option, first, need) for way, option in best.items()))
    allowed = " or ".join(said)
    return replace(found, changes=(*([f"to allow {allowed}"] if allowed else []), *found.changes))


def allowing(way: str, option: Option, first: Option, need: Need) -> str:
    """What another kind of rent or GPU would save; empty where that is little."""
    cost = dearer(need, option, first)
    if not option.price_usd or not (
        first.cost_per_item_usd is None or (cost is not None and cost < WORTH_A_WORD)
    ):
        return ""
    # A thousandth is of a purchase that one piece of work does not pay for.
    said = cost is not None and cost > WORTH_SAYING
    more = f", {significant(cost or 0.0)} times the {phrases.cost_of(need)}" * said
    return f"{way} ({offered_as(option)}{more})"


def changes(need: Need, them: Candidates, places: Sequence[int]) -> Iterator[str]:
    """The price that would make another option the first; nothing where they tie, which is said of it."""
    first = places[0]
    other = next((p for p in places if them.rows[p].gpu != them.rows[first].gpu), first)
    if them.ranked[other] < them.ranked[first] * (priced.EQUAL if need.goal == "cost" else 1.0):
        return
    # What takes less money at once is first within a few percent.
    bought = bool(them.outlay[first] > 0 and them.outlay[other] > 0)
    ahead = priced.EQUAL ** (bought * (1 if them.outlay[other] < them.outlay[first] else -1))
    if other != first and them.rows[first].way != "unpriced":
        yield from _price_change(need, them, other, float(them.ranked[first]) * ahead)


def over_budget(need: Need, them: Candidates, first: int, found: Sequence[Limit]) -> Iterator[str]:
    """What a little more money than a budget would get: what is much faster, or has a price that is fresh."""
    budget, way = need.budget_usd or 0.0, them.rows[first].way
    asked = need.goal == "speed" or way in ("unpriced", "have")
    for money in (limit for limit in found if limit.code == "budget" and asked):
        near = fit.kept([limit for limit in found if limit is not money], len(them)) & ~money.ok
        near &= money.needed <= A_LITTLE_MORE * budget
        near &= (them.speed >= MUCH_FASTER * them.speed[first]) | (way == "unpriced")
        least = min(np.flatnonzero(near & ~np.isnan(them.price)), key=lambda p: money.needed[p], default=None)
        if least is not None:
            faster = significant(float(them.speed[least] / them.speed[first]))
            more = f"a budget of {usd(float(money.needed[least]))} instead of {usd(budget)}"
            yield f"{more} ({name_of(need, them, int(least))}, {faster} times as fast)"


def _price_change(need: Need, them: Candidates, place: int, target: float) -> Iterator[str]:
    """The price, asked today, at which a candidate's ranked cost is `target`."""
    price, fixed = float(them.price[place]), float(them.fixed[place])
    if not price > 0 or not fixed > 0 or need.goal != "cost":
        return
    per_hour = target * float(them.per_hour[place]) / float(them.per_item[place])
    share = (per_hour - float(them.running[place])) / fixed
    wanted, unit = price * share, "/h"
    if them.own[place]:
        host = float(them.host[place]) / priced.cards_paid(need, them.rows[place].gpu, them.rows[place].count)
        wanted, unit = (price + host) * share - host, " a card"
    change, offer = wanted / price - 1, them.rows[place].offer
    if abs(change) > FAR_OFF:
        return
    was = f"{usd(price)} of {offer.seen_on[:7]}" if offer and offer.seen_on else usd(price)
    if them.rows[place].stale and change > 0:
        most = f"{usd(wanted)}{unit} or less today ({was})"
        yield f"{name_of(need, them, place)} is first where it costs {most}"
    elif wanted > 0:
        becomes = f"becomes first at {usd(wanted)}{unit}"
        yield f"{name_of(need, them, place)} {becomes} ({was}, {change:+.1%})"


def side_by_side(them: Candidates, places: Sequence[int], need: Need) -> Iterator[str]:
    """Which GPUs are counted as so many machines that nobody offers as one."""
    apart = need.mode == "infer" and (need.deadline_s is not None or need.concurrent > 1)
    free = "each on its part of the work: ask whether so many are free"
    copies = "each with a copy of the model for its share of the people, behind a load balancer"
    for place in places[:1] if apart else places if need.mode == "train" or need.task else ():
        row = them.rows[place]
        how = free if apart else "which share no link, so a bound"
        how = copies if need.items is None and (need.concurrent > 1 or row.speed.replicas > 1) else how
        if row.offer and row.offer.per_hour and row.count > row.offer.count:
            each = "one" if row.offer.count == 1 else f"{row.offer.count:g}"
            all_of_it = f"{row.count / row.offer.count:g} of {each}, {how}"
            yield f"no machine of {counted(row.gpu, row.count)} {phrases.COUNTED} {all_of_it}"


def name_of(need: Need, them: Candidates, place: int) -> str:
    row = them.rows[place]
    where = {"have": "that you have", "new": "bought new", "used": "bought used", "street": "bought"}
    where["unpriced"] = "at its last price"
    kind = "" if row.way == "on-demand" else f" ({row.way})"
    offer = row.offer
    title = offer.source.title if offer else "from no one"
    how = where.get(row.way) or (f"from {offer.provider}{kind}" if offer and offer.provider else title)
    bought = row.way not in RENTS and row.way != "have"
    return f"{phrases.bought(need, row.gpu, row.count) if bought else counted(row.gpu, row.count)} {how}"
