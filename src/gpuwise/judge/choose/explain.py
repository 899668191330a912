"""Why an option stands where it stands, and what would change the answer.

Everything is computed from the columns: the price at which the next GPU would be first, the hours a week from
which buying pays, two GPUs of a kind against one of another, and what the slowest card does to a mixed pair
(in synchronous data parallelism with equal batches every step waits for it: n x slowest).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp

from gpuwise.judge.choose.candidates import Candidates
from gpuwise.judge.choose.cost import Costs, hours_of_use
from gpuwise.judge.choose.fit import link_of
from gpuwise.judge.choose.rank import chance, worth_per_hour
from gpuwise.model.choice import Need, Option, Rejected
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.record import Record
from gpuwise.model.units import percent, significant, usd
from gpuwise.predict.collectives import MODULES

_BASES = {
    "measured": "measured: {}",
    "published": "published by {}",
    "calibrated": "predicted, with this card's own limits",
    "transferred": "predicted from another card's measurement",
    "spec-only": "predicted from the data sheet",
}
# Share of memory below which what stays free is worth a word.
LITTLE = 0.1
# Options of each number that are looked at for a pair.
MOST = 20


def why(
    need: Need, found: Option, first: Option, speed: Record, one: float | None, spec: GpuSpec
) -> Iterator[str]:
    """Reasons of one option, against the first; `one` is the throughput of a single GPU."""
    faster = significant(found.throughput.value / first.throughput.value)
    if found.rank == 1:
        yield "least cost for the work, old prices counted at their upper end"
    elif not first.cost_per_item_usd.value:  # a card that is there already
        yield f"{faster} times as fast as the first"
    else:
        dearer = significant(found.cost_per_item_usd.value / first.cost_per_item_usd.value)
        yield f"{dearer} times the cost of the first, {faster} times as fast"
    if found.count > 1 and one:
        share = found.throughput.value / (found.count * one)
        how = link_of(spec, found.count) if need.mode == "train" else "each works by itself"
        yield f"{found.count} reach {percent(share, 0)} of {found.count} times one ({how})"
    if found.break_even_h is not None:
        planned = hours_of_use(need)
        yield f"pays against rent from {found.break_even_h:,.0f} h of use ({planned:,.0f} h planned)"
    if found.memory_spare is not None and found.memory_spare < LITTLE:
        yield f"only {percent(max(0.0, found.memory_spare), 0)} of its memory stays free"
    if found.way in ("new", "used") and spec.text("form") in MODULES:
        yield "a module for the board of a server, not a card for a slot"
    if found.stale:
        yield f"price of {found.seen_on}, old" if found.seen_on else "price without a date"
    # The file of a measurement, the title of a publication.
    where = speed.notes[0] if speed.notes else ""
    if speed.source is not None:
        where = speed.source.id if speed.origin == "measured" else speed.source.title
    yield "speed " + _BASES[found.basis].format(where)
    if speed.bound:
        yield f"bound by {speed.bound}"


def changes(need: Need, them: Candidates, cost: Costs, places: Sequence[int]) -> Iterator[str]:
    """What would make another option the first: prices and hours of use."""
    first = places[0]
    other = next((p for p in places if them.rows[p].gpu != them.rows[first].gpu), None)
    if other is not None:
        yield from _price_change(need, them, cost, other, cost.ranked[first], "becomes first at")
        stays = f"stays before {_name(them, other)} up to"
        yield from _price_change(need, them, cost, first, cost.ranked[other], stays)
    yield from _hours(need, them, cost, places)


def _price_change(
    need: Need, them: Candidates, cost: Costs, place: int, target: float, says: str
) -> Iterator[str]:
    """The price at which a candidate's ranked cost is `target`."""
    price, fixed = float(them.price[place]), float(cost.fixed[place])
    if price <= 0 or fixed <= 0:
        return
    per_hour = target * float(cost.per_hour[place]) / float(cost.per_item[place])
    share = (per_hour - float(cost.running[place])) / exp(float(them.price_half[place])) / fixed
    wanted = price * share
    unit = "/h"
    if them.own[place]:
        wanted, unit = (price + need.assumptions.host_usd) * share - need.assumptions.host_usd, " a card"
    change = wanted / price - 1
    if wanted > 0:
        yield f"{_name(them, place)} {says} {usd(wanted)}{unit} (now {usd(price)}, {change:+.1%})"
    else:
        yield f"{_name(them, place)} is not first at any price: the rest of its cost alone is more"


def _name(them: Candidates, place: int) -> str:
    row = them.rows[place]
    where = {"have": "that you have", "new": "bought", "used": "bought used"}.get(row.way)
    where = where or f"{row.way} at {row.offer.provider if row.offer else 'no one'}"
    return f"{row.count} x {row.gpu} {where}"


def _hours(need: Need, them: Candidates, cost: Costs, places: Sequence[int]) -> Iterator[str]:
    """From which hours a week buying costs less than renting."""
    own = next((p for p in places if cost.outlay[p] > 0), None)
    rent = next((p for p in places if not them.own[p]), None)
    if own is None or rent is None or need.period_s is not None:
        return
    a = need.assumptions
    worth = worth_per_hour(need, them, cost, own, rent) - float(cost.running[own])
    if worth <= 0:
        yield f"{_name(them, own)} never pays: its energy alone costs more than {_name(them, rent)}"
        return
    hours, planned = float(cost.fixed[own]) * a.hours_per_week / worth, a.hours_per_week
    if hours > 168:
        yield f"{_name(them, own)} does not pay against {_name(them, rent)} even in use around the clock"
    else:
        pays = f"{_name(them, own)} costs less than {_name(them, rent)}"
        yield f"{pays} from {hours:.1f} h a week on ({planned:g} h assumed)"


def absent(need: Need, left: Sequence[Rejected]) -> Iterator[str]:
    """Why a GPU that is there already is no option."""
    reasons = {rejected.gpu_id: rejected.reason for rejected in left}
    for gpu in dict.fromkeys(need.have):
        if gpu in reasons:
            yield f"{gpu} that you have is left out: {reasons[gpu]}"


def advice(
    them: Candidates, cost: Costs, places: Sequence[int], need: Need, item: str, specs: Mapping[str, GpuSpec]
) -> Iterator[str]:
    """Two of one against one of another, and why not to mix where they would train together: each GPU answers
    requests by itself."""
    if need.gpus[0] <= 1 and need.gpus[1] >= 2:
        yield from _two_or_one(them, cost, places)
    mixed = _pair(them, places, need, specs)
    if mixed is not None and need.mode == "train" and (need.have or need.gpus[1] > 1):
        yield slowest(*mixed, item)


def _two_or_one(them: Candidates, cost: Costs, places: Sequence[int]) -> Iterator[str]:
    """Two of a slower GPU against one of a faster: of all such pairs the one that stands highest."""
    ones, twos = ([p for p in places if them.rows[p].count == n][:MOST] for n in (1, 2))
    pairs = [
        (i + j, two, one)
        for i, two in enumerate(twos)
        for j, one in enumerate(ones)
        if them.rows[two].gpu != them.rows[one].gpu and them.speed[two] / 2 < them.speed[one]
    ]
    if not pairs:
        return
    _, two, one = min(pairs)
    faster, dearer = them.speed[two] / them.speed[one], cost.per_item[two] / max(cost.per_item[one], 1e-300)
    yield (
        f"{_name(them, two)} or {_name(them, one)}: the two do {significant(float(faster))} times the work "
        f"in an hour, at {significant(float(dearer))} times the cost of an item; chance that they cost less: "
        f"{percent(chance(them, cost, two, one), 0)}"
    )


def _pair(
    them: Candidates, places: Sequence[int], need: Need, specs: Mapping[str, GpuSpec]
) -> tuple[str, float, str, float] | None:
    """Two different cards that somebody might put into a machine of their own, and the speed of each."""
    one = {them.rows[p].gpu: float(them.speed[p]) for p in places if them.rows[p].count == 1}
    own = [them.rows[p].gpu for p in places if them.own[p]]
    cards = [gpu for gpu in dict.fromkeys((*need.have, *own)) if specs[gpu].text("form") not in MODULES]
    names = [gpu for gpu in cards if gpu in one]
    if len(names) < 2:
        return None
    return names[0], one[names[0]], names[1], one[names[1]]


def slowest(a: str, a_speed: float, b: str, b_speed: float, item: str) -> str:
    """The arithmetic of one of each in one data-parallel step."""
    least, both = 2 * min(a_speed, b_speed), a_speed + b_speed
    return (
        f"do not mix {a} and {b} in one job: with equal batches each step waits for the slower, "
        f"2 x {significant(least / 2)} = {significant(least)} {item}s/s at most, "
        f"{percent(least / both, 0)} of the {significant(both)} that both do apart"
    )


def precision_changes(first: Option, others: Mapping[str, Option]) -> Iterator[str]:
    """What another precision would do to the first option; `others` are the first of each."""
    for precision, other in others.items():
        cheaper = other.cost_per_item_usd.value / max(first.cost_per_item_usd.value, 1e-300)
        same = (other.gpu_id, other.count) == (first.gpu_id, first.count)
        who = "the same GPU stays first" if same else f"{other.count} x {other.gpu_id} would be first"
        yield f"in {precision} {who}, at {significant(cheaper)} times the cost"
