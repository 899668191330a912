"""Why an option stands where it stands, in words: the answer, its reasons, and what would change it.

Everything is computed from the columns: the price at which the next GPU would be first, the hours a week from
which buying pays, two GPUs of a kind against one of another, and what the slowest card does to a mixed pair
(in synchronous data parallelism with equal batches every step waits for it: n x slowest).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import exp

from gpuwise.facts import catalog
from gpuwise.judge.choose.candidates import Candidates, hours_a_month, hours_of_use
from gpuwise.judge.choose.fit import link_of
from gpuwise.model.choice import Need, Option, Recommendation, Rejected
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.record import Record
from gpuwise.model.result import Interval
from gpuwise.model.units import percent, seconds, si, significant, usd
from gpuwise.predict.collectives import MODULES

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
MOST = 20
# Cards draw more than their board power for milliseconds, and a supply works best below its rating.
SUPPLY = 1.3
SUPPLIES_W = (450, 550, 650, 750, 850, 1000, 1200, 1600, 2000)
# Cost of the second over the first below which the two are one answer to most people.
EQUAL = 1.05


def answer(found: Recommendation) -> str:
    """The first option in one sentence, or two where it is bought."""
    need, first = found.need, found.options[0]
    name, where = _machine(first), f" from {first.provider}" if first.provider else ""
    each = f" for each of {need.users} people" if need.users > 1 else ""
    if first.way == "have":
        text = f"Keep {name}: nothing that keeps the limits does the work for less"
    elif first.price_usd is None:
        text = f"Take {name}, the fastest of {len(found.options)}: no price of one is known"
    elif first.per_hour_usd is not None and first.outlay_usd:
        price = first.price_usd
        sold = f"{_SOLD[first.way]}, price of {first.seen_on}"
        text = f"Buy {name}{each} at {_about(price)} ({sold})"
    else:
        kind = "" if first.way == "on-demand" else f", {first.way}"
        text = f"Rent {name}{each}{where} at {usd(first.price_usd.value)}/h (price of {first.seen_on}{kind})"
    return f"{text}: {_does(found)}.{_buy_or_rent(found)}"


def _buy_or_rent(found: Recommendation) -> str:
    """From how many hours of use on buying pays, where both were allowed."""
    first, owned = found.options[0], next((o for o in found.options if o.break_even_h), None)
    if owned is None or owned.break_even_h is None or found.need.period_s is not None:
        return ""
    hours = f"{owned.break_even_h:,.0f} hours of use"
    if first.outlay_usd:
        return f" Renting is cheaper below {hours}." if owned is first else ""
    return f" Buying {_machine(owned)} instead pays only above {hours}."


def _does(found: Recommendation) -> str:
    """What the first option does: time and cost of the work, else its speed and what an hour costs."""
    need, first = found.need, found.options[0]
    rate = f"{speed_of(first.throughput.value)} {found.item}s/s"
    if need.items is None:
        hourly = first.per_hour_usd or 0.0
        cost = f", {usd(hourly)} an hour of use" if hourly and first.outlay_usd else ""
        monthly = f", {usd(hourly * hours_a_month(need))} a month" if need.budget_per_month else ""
        return rate + cost + monthly
    assert first.time_s is not None
    cost = f", {_about(first.cost_usd)}" if first.cost_usd else ""
    if need.period_s is not None:
        busy = percent(first.time_s.value / need.period_s, 0)
        return f"busy {busy} of the time at {rate}{cost} for each {seconds(need.period_s)} of work"
    return f"{seconds(first.time_s.value)}{cost}"


def reasons(found: Recommendation) -> tuple[str, ...]:
    """The three that matter most."""
    need, first = found.need, found.options[0]
    known = _BASES[first.basis].partition(":")[0].partition(" by")[0]
    said = [f"speed: {_range(first.throughput)} {found.item}s/s within 80 %, {known}"]
    others = [o for o in found.options[1:] if o.gpu_id != first.gpu_id and o.cost_per_item_usd]
    if first.cost_per_item_usd and first.cost_per_item_usd.value and others and others[0].cost_per_item_usd:
        dearer = others[0].cost_per_item_usd.value / first.cost_per_item_usd.value
        close = "; within the uncertainty that is a tie" * (dearer < EQUAL)
        said.insert(0, f"least cost: the next GPU takes {significant(dearer)} times as much{close}")
    if first.speedup is not None and first.way != "have":
        said.insert(0, f"{significant(first.speedup)} times what you have")
    if need.deadline_s and first.time_s:
        said.append(f"done in {seconds(first.time_s.value)} of the {seconds(need.deadline_s)} allowed")
    if first.memory_spare is not None:
        size = catalog.get(first.gpu_id).memory_bytes or 0.0
        free = percent(max(0.0, first.memory_spare), 0)
        said.append(f"memory: {size / 2**30:g} GiB on each GPU, {free} of it stays free")
    if first.outlay_usd:
        said.insert(1, setup(need, first))
    return tuple(said[:3])


def setup(need: Need, bought: Option) -> str:
    """What buying takes beside the card, and what is left of it."""
    spec, a = catalog.get(bought.gpu_id), need.assumptions
    host, watts = bought.host_usd, (bought.power_w or 0.0) + a.host_w * bought.count
    need_w = SUPPLY * watts
    supply = next((w for w in SUPPLIES_W if w >= need_w), None)
    slots, cooling = spec.number("slots"), spec.text("cooling")
    parts = [
        f"{usd(bought.outlay_usd)} in all, {f'{usd(host)} of it for the host' if host else 'no new host'}",
        f"{bought.power_w:g} W: a power supply of {supply} W" if supply and bought.power_w else
        f"{watts:g} W: several power supplies" if bought.power_w else "",
        f"{slots * bought.count:g} slots" if slots else "", f"{cooling} cooling" if cooling else "",
        f"worth {usd(bought.outlay_usd * (1 - a.depreciation) ** a.years)} after {a.years:g} years",
    ]  # fmt: skip
    return "; ".join(part for part in parts if part)


def runner_up(found: Recommendation) -> str:
    """The next GPU, and what speaks for it."""
    first = found.options[0]
    others = [o for o in found.options[1:] if o.gpu_id != first.gpu_id]
    if not others:
        return ""
    other = others[0]
    faster = significant(other.throughput.value / first.throughput.value)
    cost = ""
    if other.cost_per_item_usd and first.cost_per_item_usd and first.cost_per_item_usd.value:
        dearer = other.cost_per_item_usd.value / first.cost_per_item_usd.value
        cost = f"{significant(dearer)} times the cost, "
    price = "" if other.price_usd is None else f" at {usd(other.price_usd.value)}"
    unit = "/h" if other.price_usd and not other.outlay_usd else ""
    mine = f", {significant(other.speedup)} times what you have" if other.speedup else ""
    return f"{_machine(other)}, {obtained(other)}{price}{unit}: {cost}{faster} times as fast{mine}"


def _machine(option: Option) -> str:
    """`one RTX 4090`, `8 x H100 SXM5 80 GB`; a laptop with its power limit, which makers set."""
    spec = catalog.get(option.gpu_id)
    name = spec.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    if spec.text("form") == "laptop" and spec.power_w:
        return f"a laptop with an {name.partition(' Laptop')[0]} of {spec.power_w:g} W"
    return f"one {name}" if option.count == 1 else f"{option.count} x {name}"


def obtained(option: Option) -> str:
    """Where it comes from: `runpod, spot`, `bought used`, `yours`."""
    fixed = {"have": "yours", "unpriced": "price not known", "street": "bought used or new"}
    if option.way in ("new", "used"):
        return f"bought {option.way}"
    return fixed.get(option.way) or f"{option.provider}, {option.way}"


def _about(interval: Interval) -> str:
    return f"about {usd(interval.value)} ({usd(interval.low)} to {usd(interval.high)})"


def _range(interval: Interval) -> str:
    return f"{speed_of(interval.value)} ({speed_of(interval.low)} to {speed_of(interval.high)})"


def speed_of(value: float) -> str:
    """`968`, `1,554`, `411 G`: items a second without their unit."""
    return significant(value) if value < 1e6 else si(value, "").strip()


def why(
    need: Need, found: Option, first: Option, speed: Record, one: float | None, spec: GpuSpec
) -> Iterator[str]:
    """Reasons of one option, against the first; `one` is the throughput of a single GPU."""
    faster = significant(found.throughput.value / first.throughput.value)
    cost, least = found.cost_per_item_usd, first.cost_per_item_usd
    if found.rank == 1 and cost:
        yield "least cost for the work, old prices counted at their upper end"
    elif not cost or not least or not least.value:  # without a price, or a card that is there already
        yield f"{faster} times as fast as the first"
    else:
        yield f"{significant(cost.value / least.value)} times the cost of the first, {faster} times as fast"
    if found.speedup is not None and found.way != "have":
        yield f"{significant(found.speedup)} times what you have"
    if found.count > 1 and one:
        share = found.throughput.value / (found.count * one)
        how = link_of(spec, found.count) if need.mode == "train" else "each works by itself"
        yield f"{found.count} reach {percent(share, 0)} of {found.count} times one ({how})"
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


def changes(need: Need, them: Candidates, places: Sequence[int]) -> Iterator[str]:
    """What would make another option the first: prices and hours of use."""
    first = places[0]
    if them.rows[first].way == "unpriced":
        yield "a price of a laptop: none is known here"
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
    if not price > 0 or not fixed > 0:
        return
    per_hour = target * float(them.per_hour[place]) / float(them.per_item[place])
    share = (per_hour - float(them.running[place])) / exp(float(them.price_half[place])) / fixed
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
    where = {"have": "that you have", "new": "bought", "used": "bought used", "street": "bought used or new"}
    how = where.get(row.way) or f"{row.way} at {row.offer.provider if row.offer else 'no one'}"
    return f"{row.count} x {row.gpu} {how}"


def worth_per_hour(need: Need, them: Candidates, place: int, rent: int) -> float:
    """What renting costs for the work that an hour of an owned option does; of a service, for that hour."""
    if need.period_s is not None:
        return float(them.per_hour[rent])
    return float(them.per_item[rent] * 3600 * them.speed[place]) * need.assumptions.utilisation


def break_even(need: Need, them: Candidates, place: int, rents: Sequence[int], lost: float) -> float | None:
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
    if own is None or rent is None or need.period_s is not None:
        return
    a = need.assumptions
    worth = worth_per_hour(need, them, own, rent) - float(them.running[own])
    if worth <= 0:
        yield f"{_name(them, own)} never pays: its energy alone costs more than {_name(them, rent)}"
        return
    hours, planned = float(them.fixed[own]) * a.hours_per_week / worth, a.hours_per_week
    if hours > 168:
        yield f"{_name(them, own)} does not pay against {_name(them, rent)} even in use around the clock"
    else:
        pays = f"{_name(them, own)} costs less than {_name(them, rent)}"
        yield f"{pays} from {hours:.1f} h a week on ({planned:g} h assumed)"


def absent(need: Need, left: Sequence[Rejected]) -> Iterator[str]:
    """Why a GPU that is there already is not an option."""
    reasons = {rejected.gpu_id: rejected.reason for rejected in left}
    for gpu in dict.fromkeys(need.have):
        if gpu in reasons:
            yield f"{gpu} that you have is left out: {reasons[gpu]}"


def advice(
    them: Candidates, places: Sequence[int], need: Need, item: str,
    chance: Callable[[Candidates, int, int], float],
) -> Iterator[str]:  # fmt: skip
    """Two of one against one of another, and why not to mix where they would train together: each GPU answers
    requests by itself."""
    if need.gpus[0] <= 1 and need.gpus[1] >= 2:
        yield from _two_or_one(them, places, chance)
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


def _two_or_one(
    them: Candidates, places: Sequence[int], chance: Callable[[Candidates, int, int], float]
) -> Iterator[str]:
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
    faster = float(them.speed[two] / them.speed[one])
    dearer = float(them.per_item[two] / max(them.per_item[one], 1e-300))
    yield (
        f"{_name(them, two)} or {_name(them, one)}: the two do {significant(faster)} times the work in an "
        f"hour, at {significant(dearer)} times the cost of an item; chance that they cost less: "
        f"{percent(chance(them, two, one), 0)}"
    )


def precision_changes(first: Option, others: Mapping[str, Option]) -> Iterator[str]:
    """What another precision would do to the first option; `others` are the first of each."""
    for precision, other in others.items():
        if other.cost_per_item_usd is None or first.cost_per_item_usd is None:
            continue
        cheaper = other.cost_per_item_usd.value / max(first.cost_per_item_usd.value, 1e-300)
        same = (other.gpu_id, other.count) == (first.gpu_id, first.count)
        who = "the same GPU stays first" if same else f"{other.count} x {other.gpu_id} would be first"
        yield f"in {precision} {who}, at {significant(cheaper)} times the cost"
