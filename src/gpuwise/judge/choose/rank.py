"""Order candidates by the cost of the work, mark the frontier, and say how sure the order is.

    order        cost of an item with its price at the upper end of its interval, then speed; costs are equal
                 to seven digits, for n machines side by side cost n times one only up to the last bits
    one row      of each GPU, number and way (and provider): the cheapest
    frontier     no other candidate is both faster and cheaper (Kung, Luccio & Preparata 1975)
    chance       Phi(log(c2 / c1) / sqrt(s1^2 + s2^2)), c being log-normal with the interval's width

Two offers of the same GPUs share their speed, whose error then cancels. Errors of two different GPUs count as
independent: on the NeuSight set, held out by GPU or network, they correlate by 0.1 at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, hypot, log
from statistics import NormalDist

import numpy as np

from gpuwise.judge.choose.candidates import Candidates, Mask
from gpuwise.judge.choose.cost import Costs, lost_share
from gpuwise.model.choice import Chance, Need, Option
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.result import Interval

LEVEL = 0.8
# Half width of an 80 % interval in standard deviations.
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


def ordered(them: Candidates, cost: Costs, ok: Mask, *, every_provider: bool = True) -> list[int]:
    """Places of the best candidate of each GPU, number and way, cheapest work first; of each provider apart
    where that is asked for."""
    keys = np.lexsort((1 / them.speed, cost.ranked.astype(np.float32)))
    found: dict[tuple[str, int, str, str], int] = {}
    for place in keys[ok[keys]]:
        row = them.rows[place]
        provider = row.offer.provider.casefold() if row.offer and every_provider else ""
        found.setdefault((row.gpu, row.count, row.way, provider), int(place))
    return list(found.values())


def frontier(them: Candidates, cost: Costs, places: Sequence[int]) -> set[int]:
    """The places of which no other is both faster and cheaper."""
    best, found = -1.0, set[int]()
    each = cost.per_item.astype(np.float32)
    for place in sorted(places, key=lambda p: (each[p], -them.speed[p])):
        if them.speed[place] > best:
            best = them.speed[place]
            found.add(place)
    return found


def chance(them: Candidates, cost: Costs, first: int, other: int) -> float:
    """Probability that the work costs less with `first`."""
    a, b = them.rows[first], them.rows[other]
    if cost.per_item[first] <= 0:
        return 0.5 if cost.per_item[other] <= 0 else 1.0
    same = a.speed is b.speed
    widths = [_price_width(them, cost, p) if same else float(cost.half[p]) for p in (first, other)]
    apart, spread = log(cost.per_item[other] / cost.per_item[first]), hypot(*widths) / Z
    return NormalDist().cdf(apart / spread) if spread > 0 else 0.5 if apart == 0 else float(apart > 0)


def _price_width(them: Candidates, cost: Costs, place: int) -> float:
    return float(them.price_half[place] * cost.fixed[place] / max(cost.per_hour[place], 1e-300))


def chances(them: Candidates, cost: Costs, places: Sequence[int], most: int) -> tuple[Chance, ...]:
    """The first against each of the next."""
    rest = enumerate(places[1:most], start=2)
    return tuple(Chance(other=rank, probability=chance(them, cost, places[0], place)) for rank, place in rest)


def option(
    need: Need, them: Candidates, cost: Costs, place: int, rank: int, specs: Mapping[str, GpuSpec]
) -> Option:
    """A candidate as an option, without its reasons."""
    row = them.rows[place]
    assert row.speed.throughput is not None
    cards = them.count[place] if row.way in ("new", "used") else 1.0
    known = need.items is not None
    joules = float(cost.joules[place])
    needed, memory = row.speed.memory_bytes, specs[row.gpu].memory_bytes
    return Option(
        rank=rank, gpu_id=row.gpu, count=row.count, way=row.way,
        provider=row.offer.provider if row.offer else "", instance=row.offer.instance if row.offer else "",
        region=row.offer.region if row.offer else "",
        price_usd=_around(float(them.price[place] * cards), float(them.price_half[place])),
        seen_on=row.offer.seen_on if row.offer else "",
        price_source=row.offer.source.title if row.offer else "", stale=row.stale,
        throughput=row.speed.throughput, basis=row.speed.basis,
        time_s=_around(float(cost.time[place]), float(them.speed_half[place])) if known else None,
        cost_usd=_around(float(cost.total[place]), float(cost.half[place])) if known else None,
        cost_per_item_usd=_around(float(cost.per_item[place]), float(cost.half[place])),
        energy_j_per_item=joules if joules == joules else None,
        memory_spare=1 - needed.value / memory if needed and memory else None,
        outlay_usd=float(cost.outlay[place]),
    )  # fmt: skip


def _around(value: float, half: float) -> Interval:
    return Interval(
        value=value, low=value * exp(-half), high=value * exp(half), level=LEVEL, method="log-normal"
    )


def break_even(need: Need, them: Candidates, cost: Costs, place: int, rents: Sequence[int]) -> float | None:
    """Hours of use from which an owned option costs less than the cheapest rent for the same work.

    None where there is no rent, or energy alone costs more than it.
    """
    if not rents or not cost.outlay[place]:
        return None
    saved = worth_per_hour(need, them, cost, place, rents[0]) - float(cost.running[place])
    return float(cost.outlay[place]) * lost_share(need.assumptions) / saved if saved > 0 else None


def worth_per_hour(need: Need, them: Candidates, cost: Costs, place: int, rent: int) -> float:
    """What renting costs for the work that an hour of an owned option does; of a service, for that hour."""
    if need.period_s is not None:
        return float(cost.per_hour[rent])
    return float(cost.per_item[rent] * 3600 * them.speed[place]) * need.assumptions.utilisation
