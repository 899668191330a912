"""The sentences of a recommendation: what to get, why, and what would change it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from math import inf

from gpuwise.facts import catalog, prices
from gpuwise.judge.choose import candidates as priced
from gpuwise.judge.choose import fit
from gpuwise.judge.choose.candidates import PAID, STATED, Candidates, host_of
from gpuwise.judge.choose.fit import Limit, link_of
from gpuwise.judge.choose.need import COMPUTERS, HOURS_PER_YEAR, USUAL_NOTE, WORDS
from gpuwise.judge.choose.speeds import OLDEST, RECOMPUTES, Dealt, memory_of
from gpuwise.model.gpu import RENTS, GpuSpec, Offer
from gpuwise.model.judgement import Assumptions, Bill, Need, Option, Quote, Recommendation
from gpuwise.model.precision import GGUF, Precision
from gpuwise.model.result import Interval, Issue, Record
from gpuwise.model.units import brief, percent, seconds, significant, usd
from gpuwise.predictor.card import MODULES, is_linked

# Said of a speed that is known no better.
ROUGH = "No GPU like it was measured: its speed is known within an order of magnitude."
WORTH_A_WORD = 0.8
# Items a second below which people count them by the hour.
SLOW = 0.1
# Smaller changes of a price or speed are rounding.
WORTH_SAYING = 0.01
_SOLD = {"new": "new", "used": "used", "street": "used or new"}
# Share of memory below which what stays free is worth a word.
LITTLE = 0.1
# The note where the question names no model.
LARGEST = "no model was named: {}, the largest of the usual ones that the limits hold"
MONTH_S = 2629800.0
ALL_WEEK = 168.0


def limits(need: Need) -> Iterator[str]:
    """What the need limits or assumes otherwise than usual, as it was read."""
    a, usual = need.assumptions, Assumptions()
    kwh, week = a.electricity_usd_per_kwh, a.hours_per_week
    per = "/h" if need.budget_per_hour else " a month" if need.budget_per_month else ""
    out = f" each {fit.PERIODS.get(need.period_s, seconds(need.period_s))}" if need.period_s else " in all"
    if need.budget_usd is not None:
        other = _other(need, need.budget_usd, f" ({{}}{per})")
        yield f"at most {usd(need.budget_usd)}{per}{other}"
    if need.memory_gb is not None and not (need.sets and need.asks == "able"):
        low, high = need.memory_gb
        yield f"{low:g} GB" + (" or more" if high is None else f" to {high:g} GB" * (high > low))
    for value, words in (
        (need.deadline_s and seconds(need.deadline_s), "done within {}"), (need.total_gb, "{:g} GB in all"),
        (need.power_w, "{:.0f} W for GPUs"), (need.outlet_w, "{:.0f} W from the wall"),
        (need.slots, "{:g} slots"), (need.form, "{}"), (" or ".join(need.sold), "{} prices"),
        (", ".join(need.providers), "of {}"), (", ".join(need.avoid), "not of {}"),
        (need.quiet, "quiet"), (need.at_home, "at home"), (need.egress_gb, "{:g} GB sent out" + out),
        (kwh != usual.electricity_usd_per_kwh and kwh, "${:.3g} a kWh"),
        (week != usual.hours_per_week and week, "{:.3g} h of use a week"),
        (a.years != usual.years and a.owned_for, "{}"),
    ):  # fmt: skip
        if value:
            yield words.format(value)


def owned(
    need: Need, them: Candidates, found: Sequence[Limit], options: Sequence[Option],
    left: Mapping[str, Issue], speeds: Sequence[Record],
) -> Iterator[str]:  # fmt: skip
    """Why GPUs that the user owns are not among the options, or as many of them as the question names."""
    shown = {(o.gpu_id, o.count): o.way for o in options}
    no = {(s.gpu_id, s.gpus): s.refusal for s in speeds if s.refusal}
    kept = {o.gpu_id for o in options if o.way == "have"}
    for gpu, number in Counter(need.have).items():
        why = left[gpu].detail if gpu in left else "" if gpu in kept else no.get((gpu, number), "")
        if why and why != fit.NO_FASTER:
            yield f"{_short(gpu)} that you have is left out: {why}"
    for gpu, number in need.sets:
        if gpu in need.have and (gpu, number) not in shown:
            bought = (p for p, row in enumerate(them.rows) if (row.gpu, row.count) == (gpu, number))
            reasons = (limit.reason(p) for p in list(bought)[:1] for limit in found if not limit.ok[p])
            why = "; ".join(reasons) or no.get((gpu, number), "no price is known")
            yield f"left out: {counted(gpu, number)}: {why}"


def times(cost: Interval | None, least: Interval | None) -> float | None:
    """How many times the one is of the other; None where one is not known, or is nothing."""
    return cost.value / least.value if cost and least and least.value else None


# Times from which on a figure is that of a purchase put on one piece of work.
FAR = 100.0


def _times(ratio: float) -> str:
    return f"{significant(ratio)} times" if ratio <= FAR else f"more than {FAR:g} times"


def allowing(way: str, option: Option, first: Interval | None) -> str:
    """What another kind of rent or GPU would save; empty where that is little."""
    cost = times(option.cost_per_item_usd, first)
    if not option.price_usd or not (first is None or (cost is not None and cost < WORTH_A_WORD)):
        return ""
    # A thousandth is of a purchase that one piece of work does not pay for.
    more = f", {significant(cost)} times the cost" if cost is not None and cost > WORTH_SAYING else ""
    return f"{way} ({offered_as(option)}{more})"


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


def plainly(found: Recommendation) -> str:
    """What to get, what that does of the work and takes, and what speaks for another way."""
    first = found.options[0]
    if first.way == "have" or first.price_source == PAID:
        take = _keep(found)
    elif first.price_usd is None:
        take = _unpriced(found)
    else:
        take = _buy(found, first.price_usd) if first.outlay_usd else _rent(found, first.price_usd)
    paid = next((o for o in found.options[1:] if o.price_source == PAID), None)
    if paid and (dearer := times(paid.cost_per_item_usd, first.cost_per_item_usd)):
        take += f" instead of {_machine(paid)}{_at(paid)}, {significant(dearer)} times the cost of the work"
    does = f"{take}: {_does(found.need, first, found.item)}."
    return " ".join(filter(None, (does, f"{_otherwise(found)}{_sums(found)}".strip())))


def _keep(found: Recommendation) -> str:
    first = found.options[0]
    if first.way != "have":
        return f"Keep {_machine(first)}{_at(first)}: nothing here does the work for less"
    cost = (option.cost_per_item_usd.value for option in found.options if option.cost_per_item_usd)
    least = first.cost_per_item_usd and first.cost_per_item_usd.value <= min(cost)
    more = "nothing that keeps the limits does the work for less" if least else "it does the work"
    return f"Keep {_machine(first)}: {more}"


def _unpriced(found: Recommendation) -> str:
    first, last, goal = found.options[0], found.options[0].last_usd, found.need.goal
    each = " each" * (first.count > 1)
    seen = (
        f"last seen at about {usd(last)}{_other(found.need, last, ' ({})')}{each} in {first.seen_on[:7]}"
        if last
        else "price unknown"
    )
    host = host_of(first.gpu_id, first.count)[1] if found.need.assumptions.host_usd is None else 0.0
    if last and host and not found.need.have:
        seen += f", {usd(last * first.count + host)} with a machine"
    best = "fastest" if found.need.budget_usd or not last else "most work for the money"
    best = "slowest, so likely the cheapest," if found.need.thrifty and not last else best
    best = f"the {'cheapest' if last and goal == 'price' else best} of {len(found.options)}"
    best = best if len(found.options) > 1 else "all that keeps the limits"
    return f"{_got(found.need, first, 'Take').rstrip(',')}, {seen}, {best}"


def _got(need: Need, first: Option, how: str) -> str:
    """What is to be got, beside what is there."""
    if (new := priced.cards_paid(need, first.gpu_id, first.count)) == first.count:
        return f"{how} {_machine(first)}"
    return f"Add {counted(first.gpu_id, new)} to yours, {_machine(first)} in all,"


def _buy(found: Recommendation, price: Interval) -> str:
    need, first = found.need, found.options[0]
    each = f" for each of {need.users} people" if need.users > 1 else ""
    host, _, _ = host_of(first.gpu_id, first.count)
    host = "what the machine then lacks" if need.have else f"{'an' if host[0] in 'aeiou' else 'a'} {host}"
    around = f" and {host} for {usd(first.host_usd / need.users)}" if first.host_usd else ""
    around += f", {usd(first.outlay_usd)} in all for {need.users}" if need.users > 1 else ""
    days = (prices.day(found.made_on) - prices.day(first.seen_on)).days if first.stale else 0
    sold = f"{_SOLD[first.way]}, {_dated(first)}{f', {days // 30} months old' if days else ''}"
    return f"{_got(need, first, 'Buy')}{each} at {_about(need, price)} ({sold}){around}"


def _rent(found: Recommendation, price: Interval) -> str:
    need, first = found.need, found.options[0]
    each = f" for each of {need.users} people" if need.users > 1 else ""
    kind = "" if first.way == "on-demand" else f", {first.way}"
    kind += f" for {first.committed_h * 12 / HOURS_PER_YEAR:.0f} months" if first.committed_h else ""
    hourly = f"{usd(price.value)}/h ({_other(need, price.value, '{}/h, ')}{_dated(first)}{kind})"
    return f"Rent {_machine(first)}{each}{first.provider and f' from {first.provider}'} at {hourly}"


def _otherwise(found: Recommendation) -> str:
    """What is there does it, too; or what the other of buying and renting takes, and from which hours on."""
    need, first, later = found.need, found.options[0], found.options[1:]
    years, once = need.assumptions.years, need.period_s is None
    if need.either and not need.have:  # Said before all else, by `either`
        return ""
    if (mine := next((o for o in later if o.way == "have"), None)) and not need.upgrade:
        does = "do" if mine.count > 1 else "does"
        return f"{begun(_machine(mine))}, yours, {does} it, too: {_does(need, mine, found.item)}."
    thought_of = [o for o in later if (o.gpu_id, o.count) in need.sets and o.speedup]
    if first.way == "have" and thought_of:
        price = [f"for {usd(o.outlay_usd)}" if o.outlay_usd else f"({obtained(o)})" for o in thought_of]
        faster = [f"{_machine(o)} would be {significant(o.speedup or 0.0)} times as fast" for o in thought_of]
        return f"{begun(', '.join(map(' '.join, zip(faster, price, strict=True))))}."
    if first.way == "have" or not once:
        return _both_ways(found)
    if need.deadline_s is not None:  # Nobody buys what is needed until a day
        return ""
    # From how many hours of use on buying pays, where both were allowed.
    if (owned := next((o for o in found.options if o.break_even_h), None)) is None or not owned.break_even_h:
        return ""
    hours = hours_until(need, owned.break_even_h)
    if first.outlay_usd:
        return f"Renting is cheaper below {hours}." if owned is first else ""
    if owned.break_even_h > HOURS_PER_YEAR * years:
        within = f"within {need.assumptions.owned_for}, even around the clock"
        return f"Buying {_machine(owned)} does not pay {within}."
    return f"Buying {_machine(owned)} instead pays only above {hours}."


def _both_ways(found: Recommendation) -> str:
    """What the other of owning and renting takes for the same work, and from when on buying pays where the
    work comes again."""
    need, first = found.need, found.options[0]
    rent = next((o for o in found.options if o.way in RENTS), None)
    own = next((o for o in found.options if o.outlay_usd), None)
    if first.way not in RENTS:
        said = rented_instead(found, rent) if rent else ""
    else:
        price = f"{usd(own.outlay_usd)}{' with its machine' * bool(own.host_usd)}" if own else ""
        said = f"To buy instead: {_machine(own)} for {price}: {_does(need, own, found.item)}." if own else ""
    if first.way == "have" or not (rent and own and need.period_s):
        return said
    return f"{said} {_pays(need, rent, own, found.item)}"


def _pays(need: Need, rent: Option, own: Option, item: str) -> str:
    """From when on, or from which amount on, buying pays for work that comes again."""
    if not (need.period_s and rent.cost_usd and own.cost_usd):
        return ""
    items = need.items or 0.0
    joules = (own.energy_j_per_item or 0.0) * items
    energy = joules / 3.6e6 * need.assumptions.electricity_usd_per_kwh * need.users
    saved, each = rent.cost_usd.value - energy, fit.PERIODS.get(need.period_s, seconds(need.period_s))
    if saved <= 0:
        return "Buying never pays: its energy alone costs more."
    months = own.outlay_usd / saved * need.period_s / MONTH_S
    late = f"does not pay for it in {need.assumptions.owned_for}"
    paid = f"pays for it {_after(months)}" if months < 12 * need.assumptions.years else late
    if not need.batched:
        return f"The rent that buying saves {paid}."
    # Rent grows with the work, and what is bought costs the same at any amount.
    least = f"{brief(items * (own.cost_usd.value - energy) / saved)} {item}s a {each}"
    return f"Buying costs less from {least} on; at this amount the rent that it saves {paid}."


def either(need: Need, rent: Option, own: Option, item: str) -> tuple[str, bool]:
    """Whether to rent or to buy: what each takes for the same work, and where the two meet; and whether
    buying costs less."""
    a, often, meet = need.assumptions, MONTH_S / need.period_s if need.period_s else 1.0, ""
    same = " for the same"
    if rent.cost_usd and own.cost_usd:
        rented, bought = often * rent.cost_usd.value, often * own.cost_usd.value
        span, meet = "a month" if need.period_s else "for this work alone", _pays(need, rent, own, item)
    else:
        hours = _hired(need) or priced.hours_of_use(need)
        hourly, energy = _instead_of_rent(need, rent, own)
        rented, bought = hours * hourly, hours * energy + own.outlay_usd * priced.lost_share(a)
        span = f"for {hours:,.0f} h" if _hired(need) else f"in {a.owned_for}{_used(a.hours_per_week)}"
        faster = (rent.per_hour_usd or 0.0) / hourly
        if abs(faster - 1) > WORTH_SAYING:  # Whoever keeps it for as long pays for more than this work
            same = (
                f" for the same: it is {significant(faster)} times as fast, and {usd(rented * faster)} for "
            )
            same += "as many hours"
    less, machine = bought < rented, " with its machine" * bool(own.host_usd)
    price = f"{usd(own.outlay_usd)}{machine}, {_dated(own)}{', old' * own.stale}"
    buy = f"{_machine(own)} bought ({price}) take{'s' * (own.count == 1)} {_sum(need, bought)}"
    rents = f"{_machine(rent)} rented{rent.provider and f' from {rent.provider}'}{_at(rent)} ({_dated(rent)})"
    said = f"{'Buy' if less else 'Rent'}: {span} {buy}, {rents} {_sum(need, rented)}{same}."
    return f"{said} {meet or _from_hours(need, rent, own)}", less


def _hired(need: Need) -> float | None:
    """Hours of rent that the question states by themselves, and not by years of so many hours a week."""
    return need.hire_h if need.assumptions.years == Assumptions().years else None


def _sum(need: Need, value: float) -> str:
    return f"{usd(value)}{_other(need, value, ' ({})')}"


def _instead_of_rent(need: Need, rent: Option, own: Option) -> tuple[float, float]:
    """USD of rent for what an owned option does in an hour, and of electricity for that hour."""
    same = 1.0 if priced.is_service(need) else own.throughput.value / rent.throughput.value
    kwh = (own.energy_j_per_item or 0.0) * own.throughput.value / 1000
    kwh = kwh or electricity(need, own)[0] / priced.hours_a_month(need)
    energy = kwh * need.assumptions.electricity_usd_per_kwh * need.users
    return (rent.per_hour_usd or 0.0) * same, energy


def _from_hours(need: Need, rent: Option, own: Option) -> str:
    """From how many hours of use on buying costs less, and after how many months the rent that it saves has
    paid for it."""
    a = need.assumptions
    hourly, energy = _instead_of_rent(need, rent, own)
    saved = hourly - energy
    if saved <= 0:
        return (
            f"Buying never pays: its electricity alone costs {usd(energy)} an hour, that rent {usd(hourly)}."
        )
    hours = priced.hours_until_paid(a, own.outlay_usd, saved)
    week = priced.hours_a_week(a, hours)
    if week > ALL_WEEK:
        return f"Buying does not pay within {a.owned_for}, even around the clock."
    if need.items or _hired(need):
        return f"Buying costs less from {hours:,.0f} h of use in {a.owned_for} on."
    said = f"Buying costs less from {week:.3g} h a week on ({hours:,.0f} h in {a.owned_for})"
    months = own.outlay_usd / saved / priced.hours_a_month(need)
    if months > 12 * a.years:
        return f"{said}."
    return f"{said}; at {a.hours_per_week:.3g} h the rent that it saves pays for it {_after(months)}."


def _after(months: float) -> str:
    return "within a month" if months < 1.5 else f"after {months:,.0f} months"


def _sums(found: Recommendation) -> str:
    """What the years that the question states cost, bought and rented."""
    need, first, a, usual = found.need, found.options[0], found.need.assumptions, Assumptions()
    stated = (a.years, a.hours_per_week) != (usual.years, usual.hours_per_week)
    known = (o for o in reversed(found.options) if o.way in RENTS or o.outlay_usd)
    both = {"of rent" if o.way in RENTS else "bought": o for o in known}
    if need.either or "bought" not in both or not stated or need.items or need.acquire != "both":
        return ""
    if first.way == "have":
        return ""
    sums = (
        f"{_machine(o)} {usd(o.per_hour_usd * priced.hours_of_use(need))} {how}"
        for how, o in both.items()
        if o.per_hour_usd
    )
    return f" In {a.owned_for}{_used(a.hours_per_week)}: {', '.join(sums)}."


def room(need: Need, gpu: str, other: Recommendation) -> str:
    """Whether a GPU of no known speed has the memory that the work takes on another; empty if that is not."""
    first = other.options[0]
    size, has = memory_of(need, catalog.get(first.gpu_id)), memory_of(need, catalog.get(gpu))
    if not size or not has or first.memory_spare is None:
        return ""
    enough = size * (1 - first.memory_spare) <= has
    return f"{begun(counted(gpu, 1))} {'has' if enough else 'lacks'} the memory for it. "


def not_counted(need: Need) -> str:
    """What would change the answer, had it been read; empty where nothing would."""
    words = [word for word in need.ignored if re.search(WORDS["patterns"]["deciding"], word)]
    said = f"Not taken into account, though it may change the answer: {', '.join(words)}."
    return said if words else ""


def begun(text: str) -> str:
    """A text as a sentence begins."""
    return text[:1].upper() + text[1:]


def rented_instead(found: Recommendation, rent: Option) -> str:
    """What the work takes on a rented GPU where an own one is kept or bought."""
    does = _does(found.need, rent, found.item)
    cost = times(rent.cost_per_item_usd, found.options[0].cost_per_item_usd)
    less = "Renting another costs less" if cost and cost < 1 else "To rent instead"
    return f"{less}: {_machine(rent)} from {rent.provider}{_at(rent)}: {does}."


def _dated(option: Option) -> str:
    return option.price_source if option.price_source in (PAID, STATED) else f"price of {option.seen_on}"


def _does(need: Need, first: Option, item: str) -> str:
    """Cost, time and speed of the work where its amount is known; else the speed and the cost of an hour."""
    rate = ", ".join(first.parts) or f"{rate_of(first.throughput.value, item)}{_weights(need, first)}"
    if need.goal == "energy" and first.energy_j_per_item:
        rate += f", {significant(first.energy_j_per_item / 3.6)} kWh for a million {item}s"
    if need.goal == "power" and first.power_w:
        rate += f", {first.power_w:g} W"
    a, usual = need.assumptions, Assumptions()
    stated = a.hours_per_week, a.electricity_usd_per_kwh
    if first.way == "unpriced" and stated != (usual.hours_per_week, usual.electricity_usd_per_kwh):
        kwh, paid = electricity(need, first)
        rate += f", {kwh:,.0f} kWh a month{_used(need.assumptions.hours_per_week)} for {usd(paid)}"
    if first.time_s is None:
        return _by_the_hour(need, first, item, rate) if first.per_hour_usd else rate
    cost = f"{_about(need, first.cost_usd)} " if first.cost_usd else ""
    once = need.period_s is None and need.acquire == "both" and need.items is not None
    if once and first.outlay_usd and need.assumptions.hours_per_week == usual.hours_per_week:
        cost = ""  # One piece of work is not charged with the loss of value of years
    if need.period_s is None:
        return f"{cost}in {seconds(first.time_s.value)} at {rate}"
    every, busy = fit.PERIODS.get(need.period_s), percent(first.time_s.value / need.period_s, 0)
    amount = f"{brief(need.items or 0.0)} {item}s"
    if first.cost_usd and need.period_s < MONTH_S:
        month = first.cost_usd.value * MONTH_S / need.period_s
        rate += f", {usd(month)} a month{_other(need, month, ' ({} a month)')}"
        hired = first.cost_usd.value * (need.hire_h or 0.0) * 3600 / need.period_s
        rate += f", {usd(hired)} for {need.hire_h:,.0f} h" if need.hire_h else ""
    return f"{cost}for {amount} each {every or seconds(need.period_s)}, busy {busy} of it at {rate}"


def _weights(need: Need, option: Option) -> str:
    """In which format a language model's weights are, by which engine, and the memory that it all takes."""
    if not need.task:
        return ""
    memory = "" if option.memory_spare is None else f", {_filled(need, option)}{' each' * (option.count > 1)}"
    return f" with weights in {option.precision or need.precision}{_engine(need, option)}{memory}"


def _by_the_hour(need: Need, first: Option, item: str, rate: str) -> str:
    """What is paid for the hours that are stated, or that a budget pays for; else what an hour costs, and a
    month where one asks for a service, states the hours or pays by the month."""
    hourly, week = first.per_hour_usd or 0.0, need.assumptions.hours_per_week

    def done(hours: float) -> str:
        if first.parts or (need.title and need.passes == 1):  # Items that are not those of the work
            return f"it does {rate}"
        each = " for each" * (need.users > 1)
        return f"{brief(first.throughput.value * hours * 3600)} {item}s{each} at {rate}"

    a_month = " a month" * need.budget_per_month
    if need.budget_usd and not need.budget_per_hour and first.way in RENTS:
        hours = need.budget_usd / hourly
        hours = min(hours, HOURS_PER_YEAR / 12) if a_month else hours
        paid = f"{usd(hours * hourly)}{a_month}{_other(need, hours * hourly, f' ({{}}{a_month})')}"
        return f"{paid} pays for {hours:,.0f} h: {done(hours)}"
    if need.hire_h and not first.outlay_usd:
        return f"{usd(hourly * need.hire_h)} for {need.hire_h:,.0f} h, {done(need.hire_h)}"
    said = [rate, f"{usd(hourly)} an hour of use"] if first.outlay_usd or need.concurrent else [rate]
    if need.concurrent or a_month or week != Assumptions().hours_per_week:
        # Idle hours are paid for, too.
        month = hourly * priced.hours_a_month(need)
        said.append(f"{usd(month)} a month{_other(need, month, ' ({} a month)')}{_used(week)}")
    return ", ".join(said)


def hours_until(need: Need, hours: float) -> str:
    """Hours of use, and how many months these are."""
    months, week = hours / priced.hours_a_month(need), need.assumptions.hours_per_week
    return f"{hours:,.0f} hours of use ({months:,.0f} months{_used(week)})"


def owned_against(need: Need, rent: Option, old: Option | None) -> str:
    """What a rent takes in the years that a GPU is kept, and what owning it does, at a price that is too old
    to rank it; where none is known, below which price it costs less."""
    a, hours, hourly = need.assumptions, priced.hours_of_use(need), rent.per_hour_usd or 0.0
    said = f"; in {a.owned_for}{_used(a.hours_per_week)} rent takes {usd(hourly * hours)}"
    if old is None:
        energy = electricity(need, rent)[1] * 12 * a.years
        most = (hourly * hours - energy) / priced.lost_share(a)
        pays = f"pays below {usd(most)} with its machine" if most > 0 else "never pays"
        return f"{said}, the electricity of an own one {usd(energy)}: buying {pays}"
    pays = f"pays from {hours_until(need, old.break_even_h)} on" if old.break_even_h else "does not pay"
    price = f"at the price of {old.seen_on}, {usd(old.outlay_usd)} with its machine, which {pays}"
    owning = old.outlay_usd * priced.lost_share(a) + hours * _instead_of_rent(need, rent, old)[1]
    return f"{said}, owning {usd(owning)} {price}"


def _used(hours_per_week: float) -> str:
    return " around the clock" if hours_per_week == ALL_WEEK else f" of {hours_per_week:.4g} h a week"


def reasons(found: Recommendation) -> tuple[str, ...]:
    """The three that matter most."""
    need, first, said = found.need, found.options[0], list[str]()
    if need.latency_s and first.latency_s and USUAL_NOTE not in need.notes:
        of = "the first token" if need.latency_kind == "TTFT" else "each token"
        said.append(f"{of} after {seconds(first.latency_s)}, of {seconds(need.latency_s)} allowed")
    if first.speedup is not None and first.way != "have":
        said.append(f"{significant(first.speedup)} times what you have")
    said += _lead(found)
    if first.outlay_usd:
        said.append(setup(need, first))
    elif (
        first.way == "unpriced" and first.power_w and catalog.get(first.gpu_id).text("form") not in COMPUTERS
    ):
        said.append(f"{first.power_w:g} W: {_fed_by(first)}")
    if need.deadline_s and first.time_s:
        said.append(f"done in {seconds(first.time_s.value)} of the {seconds(need.deadline_s)} allowed")
    if need.mode == "train" and first.count > 1:
        # How several of them talk to each other decides what they are worth together.
        link = f"they talk over {link_of(catalog.get(first.gpu_id), first.count)}"
        said.append(next((why for why in first.why if why.startswith(f"{first.count} reach")), link))
    known = WORDS["bases"][first.basis].partition(":")[0].partition(" by")[0]
    shown = first.throughput.times(1 / first.throughput.value if first.parts else 1.0)
    value, low, high = (brief(getattr(shown, end)) for end in ("value", "low", "high"))
    again = f", {RECOMPUTES.detail}" * (RECOMPUTES.detail in first.why)
    of = " times that" if first.parts else f" {found.item}s/s"
    said.append(f"speed: {value} ({low} to {high}){of} within 80 %, {known}{again}")
    if first.memory_spare is not None and not need.task:  # Said with its format there
        free = percent(max(0.0, first.memory_spare), 0)
        said.append(f"memory: takes {_filled(need, first)} on each GPU, {free} stays free")
    return tuple(said[:3])


def _lead(found: Recommendation) -> Iterator[str]:
    """How far the first is ahead of the next GPU, by what the need goes by."""
    need, first = found.need, found.options[0]
    others = [o for o in found.options[1:] if o.gpu_id != first.gpu_id and o.cost_per_item_usd]
    dearer = times(others[0].cost_per_item_usd, first.cost_per_item_usd) if others else None
    if dearer is None:
        return
    second = others[0]
    names = {"price": "lowest price", "energy": "least energy", "power": "fewest watts"}
    least = names.get(need.goal, "least cost")
    if need.goal == "price" and second.outlay_usd:
        dearer = second.outlay_usd / max(first.outlay_usd, 1.0)
    if need.goal == "energy":
        dearer = (second.energy_j_per_item or 0.0) / (first.energy_j_per_item or 1.0)
    if need.goal == "power":
        dearer = (second.power_w or 0.0) / (first.power_w or 1.0)
    if need.goal == "speed":
        slower = percent(second.throughput.value / first.throughput.value, 0)
        most = "the most that the limits allow, or nearly: the next GPU does"
        yield f"{most} {slower} of it for {significant(dearer)} times the cost"
        thrifty = min(others, key=lambda o: o.cost_per_item_usd.value if o.cost_per_item_usd else inf)
        less = times(thrifty.cost_per_item_usd, first.cost_per_item_usd)
        if less and less < WORTH_A_WORD:
            slower = significant(thrifty.throughput.value / first.throughput.value)
            yield f"{offered_as(thrifty)} costs {significant(less)} of it, {slower} times as fast"
    elif dearer >= 1:
        close = "; within the uncertainty that is a tie" * (dearer < priced.EQUAL)
        yield f"{least}: the next GPU takes {_times(dearer)} as much{close}"
    elif second.outlay_usd > first.outlay_usd:
        more = f"{usd(second.outlay_usd)} at once instead of {usd(first.outlay_usd)}"
        near = "a tie with" if dearer * priced.EQUAL > 1 else f"{significant(1 / dearer)} times"
        yield f"{near} the {least}, which takes {more}"


def _filled(need: Need, option: Option) -> str:
    """How much of each GPU's memory the work takes: `19.8 of 24 GiB`."""
    size = memory_of(need, catalog.get(option.gpu_id)) or 0.0
    return f"{size * (1 - max(0.0, option.memory_spare or 0.0)) / 2**30:.3g} of {size / 2**30:.4g} GiB"


def electricity(need: Need, option: Option) -> tuple[float, float]:
    """kWh and USD of a month of the machine with its cooling, at the board power of its cards."""
    a = need.assumptions
    watts = host_of(option.gpu_id, option.count)[2] if a.host_w is None else a.host_w * option.count
    kwh = ((option.power_w or 0.0) + watts) / 1000 * a.cooling * priced.hours_a_month(need)
    return kwh, kwh * a.electricity_usd_per_kwh


def bills(found: Recommendation) -> str:
    """The electricity of each that is compared in a year, the least first: of the cards, and of all."""
    need, a = found.need, found.need.assumptions
    each = {(o.gpu_id, o.count): o for o in reversed(found.options) if o.power_w}
    paid = {key: 12 * electricity(need, option)[1] for key, option in each.items()}
    hourly = 12 * priced.hours_a_month(need) / 1000 * a.electricity_usd_per_kwh
    sums = (
        f"{counted(*key)} {_sum(need, hourly * (each[key].power_w or 0.0))} at {each[key].power_w:g} W, "
        f"{_sum(need, paid[key])} with its machine and cooling"
        for key in sorted(paid, key=lambda key: paid[key])
    )
    low, at = min(paid, key=lambda key: paid[key]), f"${a.electricity_usd_per_kwh:.3g} a kWh"
    said = "; ".join(sums)
    return f"Least electricity: {counted(*low)}. A year{_used(a.hours_per_week)} at {at}: {said}."


def _fed_by(option: Option) -> str:
    board_w, host_w = option.power_w or 0.0, host_of(option.gpu_id, option.count)[2]
    supply = fit.supply_w(board_w)
    return f"a power supply of {supply} W" if supply else f"{(board_w + host_w) / 1000:.2g} kW with its host"


def setup(need: Need, bought: Option) -> str:
    """What buying takes beside the card, and what is left of it."""
    spec, a = catalog.get(bought.gpu_id), need.assumptions
    host, _, _ = host_of(bought.gpu_id, bought.count)
    _, energy = electricity(need, bought)
    slots, cooling = spec.number("slots"), spec.text("cooling")
    left = usd(bought.outlay_usd * (1 - a.depreciation) ** a.years)
    old = float(spec.text("compute_capability") or OLDEST) < OLDEST
    parts = [
        f"{usd(bought.outlay_usd)}{_other(need, bought.outlay_usd, ' ({})')} in all, "
        + (f"{usd(bought.host_usd)} of it for the host ({host})" if bought.host_usd else "no new host"),
        f"{bought.power_w:g} W: {_fed_by(bought)}" if bought.power_w else "",
        f"{slots * bought.count:g} slots" if slots else "", f"{cooling} cooling" if cooling else "",
        "no CUDA after 12" if old else "",
        f"quiet: at most {fit.QUIET_W:g} W of heat" if need.quiet else "",
        f"{usd(energy)} of electricity a month" if bought.power_w and need.period_s is None else "",
        f"worth {left} after {a.owned_for}",
    ]  # fmt: skip
    return "; ".join(part for part in parts if part)


def runner_up(found: Recommendation) -> str:
    """The next GPU, and what speaks for it."""
    first = found.options[0]
    sets = bool(found.need.sets)  # Another number of the same GPU is then another answer
    others = (o for o in found.options if o.gpu_id != first.gpu_id or (sets and o.count != first.count))
    # What was named for its own sake is what the first is compared with.
    chip = catalog.get(first.gpu_id).text("chip")  # Of two variants of a card that is compared, one is enough
    other = min(
        others,
        key=lambda o: (o.gpu_id not in found.need.named, sets and catalog.get(o.gpu_id).text("chip") == chip),
        default=None,
    )
    if other is None:
        return ""
    cost, of = times(other.cost_per_item_usd, first.cost_per_item_usd), "cost"
    if found.need.goal == "price" and bool(first.outlay_usd) == bool(other.outlay_usd):
        cost, of = times(other.price_usd, first.price_usd), "price"
    said = [f"{_times(cost)} the {of}"] if cost is not None else []
    said.append(f"{significant(other.throughput.value / first.throughput.value)} times as fast")
    said += [f"{significant(other.speedup)} times what you have"] if other.speedup else []
    return f"{offered_as(other)}: {', '.join(said)}"


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
    seen = f"last seen at {usd(option.last_usd or 0.0)}, {option.seen_on[:7]}"
    last = seen if option.last_usd else "price not known"
    fixed = {"have": "yours", "unpriced": last, "street": "bought used or new"}
    if option.way in ("new", "used"):
        return f"bought {option.way}"
    return fixed.get(option.way) or f"{option.provider or option.price_source}, {option.way}"


def offered_as(option: Option) -> str:
    """`one RTX 4090, runpod, spot at $0.30/h`."""
    return f"{_machine(option)}, {obtained(option)}{_at(option)}"


def _at(option: Option) -> str:
    """` at $0.30/h`; nothing where no price is known."""
    if option.price_usd is None or option.way == "have":
        return ""
    return f" at {usd(option.price_usd.value)}{'' if option.outlay_usd else '/h'}"


def _other(need: Need, value: float, words: str) -> str:
    """An amount of USD in the currency of the question, `288 EUR`, in `words`; nothing where that is USD."""
    code, rate = need.currency
    amount = f"{value / rate:,.2f}" if value < 100 * rate else f"{value / rate:,.0f}"
    return "" if code == "USD" else words.format(f"{amount} {code}")


def _about(need: Need, interval: Interval) -> str:
    other = _other(need, interval.value, "; {}")
    return f"about {usd(interval.value)} ({usd(interval.low)} to {usd(interval.high)}{other})"


def _engine(need: Need, first: Option) -> str:
    """What runs it in that format, and how several GPUs share the model."""
    gguf = (first.precision or need.precision) in GGUF or catalog.get(first.gpu_id).vendor == "Apple"
    if need.task != "infer":
        return f" (FSDP over {first.count})" if first.count > 1 else ""
    engine, shared = ("llama.cpp", "layers dealt out to") if gguf else ("vLLM", "tensor parallel over")
    each = first.count // first.replicas
    how = f", {first.replicas} copies" * (first.replicas > 1) + f", {shared} {each}" * (each > 1)
    return f" ({engine}{how})"


def rate_of(value: float, item: str) -> str:
    """`968 tokens/s`; what takes many seconds an hour."""
    return f"{brief(value * 3600)} {item}s an hour" if value < SLOW else f"{brief(value)} {item}s/s"


def why(
    need: Need, found: Option, first: Option, speed: Record, one: float | None, spec: GpuSpec
) -> Iterator[str]:
    """Reasons of one option, against the first; `one` is the throughput of a single GPU."""
    faster = significant(found.throughput.value / first.throughput.value)
    cost = times(found.cost_per_item_usd, first.cost_per_item_usd)
    if found.rank == 1 and found.cost_per_item_usd:
        yield "least cost for the work, or nearly so and much faster; old prices counted at their upper end"
    elif cost is None:  # without a price, or a card that is there already
        yield f"{faster} times as fast as the first"
    else:
        yield f"{significant(cost)} times the cost of the first, {faster} times as fast"
    if found.speedup is not None and found.way != "have":
        yield f"{significant(found.speedup)} times what you have"
    if found.count > 1 and one:
        share = found.throughput.value / (found.count * one)
        how = link_of(spec, found.count) if need.mode == "train" else "each works by itself"
        above = "each holds a part of the model, so larger batches fit"
        more = f"; {above if need.task else 'within the uncertainty'}" if share > 1 else ""
        yield f"{found.count} reach {percent(share, 0)} of {found.count} times one ({how}{more})"
    if found.outlay_usd:
        yield setup(need, found)
    if found.break_even_h is not None:
        planned = priced.hours_of_use(need)
        yield f"cheaper than renting after {found.break_even_h:,.0f} h of use ({planned:,.0f} h planned)"
    yield from (issue.detail for issue in speed.issues if issue == RECOMPUTES)
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
    yield "speed " + WORDS["bases"][found.basis].format(where)
    if speed.bound:
        yield f"bound by {speed.bound}"


def changes(need: Need, them: Candidates, places: Sequence[int]) -> Iterator[str]:
    """What would make another option the first: its price, and hours of use."""
    first = places[0]
    if them.rows[first].way == "unpriced":
        by = (
            "these are the last that were seen"
            if need.goal == "price"
            else "older ones would rank them by cost"
        )
        yield f"a fresh price: {by}"
        return
    other = next((p for p in places if them.rows[p].gpu != them.rows[first].gpu), None)
    if other is not None and them.ranked[other] >= them.ranked[first]:
        # What takes less money at once is first within a few percent.
        bought = bool(them.outlay[first] > 0 and them.outlay[other] > 0)
        ahead = priced.EQUAL ** (bought * (1 if them.outlay[other] < them.outlay[first] else -1))
        if need.goal == "cost" and them.ranked[other] < priced.EQUAL * them.ranked[first]:
            lead = significant(float(them.ranked[other] / them.ranked[first]))
            yield f"any change of price: {_name(them, other)} costs {lead} times as much, a tie"
        else:
            yield from _price_change(need, them, other, float(them.ranked[first]) * ahead)
    yield from _hours(need, them, places)


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
    change = wanted / price - 1
    if them.rows[place].stale and change > 0:
        most = f"{usd(wanted)}{unit} or less today ({usd(price)} when seen)"
        yield f"{_name(them, place)} is first where it costs {most}"
    elif wanted > 0:
        becomes = f"becomes first at {usd(wanted)}{unit}"
        yield f"{_name(them, place)} {becomes} (now {usd(price)}, {change:+.1%})"
    else:
        yield f"{_name(them, place)} is not first at any price: the rest of its cost alone is more"


def _name(them: Candidates, place: int) -> str:
    row = them.rows[place]
    where = {"have": "that you have", "new": "bought new", "used": "bought used", "street": "bought"}
    kind = "" if row.way == "on-demand" else f" ({row.way})"
    offer = row.offer
    how = where.get(row.way) or f"from {(offer.provider or offer.source.title) if offer else 'no one'}{kind}"
    return f"{counted(row.gpu, row.count)} {how}"


def from_elsewhere(asked: str, place: str) -> str:
    """That nothing to rent is known where it was asked for, and where that is."""
    return f"Nothing that does it is known to rent in {asked}, so rent is of {place or 'any region'}. "


def _hours(need: Need, them: Candidates, places: Sequence[int]) -> Iterator[str]:
    """From which hours a week buying costs less than renting."""
    own = next((p for p in places if them.outlay[p] > 0), None)
    rent = next((p for p in places if not them.own[p]), None)
    # Whoever keeps what is there does neither.
    keeps = them.rows[places[0]].way == "have"
    if own is None or rent is None or need.period_s is not None or keeps or need.either:
        return
    a = need.assumptions
    worth = priced.worth_per_hour(need, them, own, rent) - float(them.running[own])
    if worth <= 0:
        yield f"{_name(them, own)} never pays: its energy alone costs more than {_name(them, rent)}"
        return
    hours = priced.hours_a_week(a, priced.hours_until_paid(a, float(them.outlay[own]), worth))
    if hours > ALL_WEEK:
        yield f"{_name(them, own)} does not pay against {_name(them, rent)} even in use around the clock"
    else:
        pays = f"{_name(them, own)} costs less than {_name(them, rent)}"
        yield f"{pays} from {hours:.1f} h a week on ({a.hours_per_week:g} h assumed)"


def side_by_side(them: Candidates, places: Sequence[int], need: Need) -> Iterator[str]:
    """Which GPUs are counted as so many machines that nobody offers as one."""
    apart = need.mode == "infer" and need.deadline_s is not None
    free = "each on its part of the work: ask whether so many are free"
    how = free if apart else "which share no link, so a bound"
    for place in places[:1] if apart else places if need.mode == "train" or need.task else ():
        row = them.rows[place]
        if row.offer and row.offer.per_hour and row.count > row.offer.count:
            each = "one" if row.offer.count == 1 else f"{row.offer.count:g}"
            all_of_it = f"counted as {row.count / row.offer.count:g} of {each}, {how}"
            yield f"no machine of {counted(row.gpu, row.count)} is offered: {all_of_it}"


def mixed(need: Need, them: Candidates, places: Sequence[int], item: str) -> Iterator[str]:
    """Why not to mix two cards in one job of training; of requests each GPU answers its own."""
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


# Times as much work, or as cheap, that is worth saying though no fresh price is known.
MUCH = 1.5


def would_do_more(other: Option, first: Option, need: Need) -> str:
    """That another is better by far at its last price, which is old; empty where it is not."""
    by_speed = need.goal == "speed"
    faster = other.throughput.value / first.throughput.value
    better = faster if by_speed else times(first.cost_per_item_usd, other.cost_per_item_usd)
    if better is None or better < MUCH:
        return ""
    less, name = f"cost {significant(1 / better)} of it for the same work", begun(offered_as(other))
    does = f"do {significant(better)} times as much" if by_speed else less
    return f"{name}, would {does}, but that price is of {other.seen_on}: ask for today's."


# Times the middle of what others ask, up to which a price is called so.
CALLED = ((0.75, "low"), (1.2, "fair"), (1.6, "rather high"), (inf, "high"))


def beside(quote: Quote, offers: Sequence[Offer], today: date) -> str:
    """How a price compares with those that others ask for the same GPU, by the last of them where none is
    fresh; empty where none is known."""
    per_hour = quote.kind in RENTS
    same = [o for o in offers if o.gpu_ids == (quote.gpu_id,) and o.per_hour == per_hour]
    asked = sorted((o for o in same if prices.is_fresh(o, today)), key=lambda o: o.per_gpu)
    asked = asked or sorted(same, key=lambda o: o.seen_on)[-1:]
    unit, name = "/h" if per_hour else "", counted(quote.gpu_id, quote.count)
    if not asked:
        known = f"no other price to {'rent' if per_hour else 'buy'} it is known here"
        return f"{usd(quote.usd)}{unit} for {name}: {known}"
    low, middle, high = (quote.count * asked[place].per_gpu for place in (0, len(asked) // 2, -1))
    called = next(word for most, word in CALLED if quote.usd <= most * middle)
    others = f"others ask {usd(low)} to {usd(high)}{unit}, the middle of {len(asked)} {usd(middle)}{unit}"
    if len(asked) == 1:
        others = f"the last price known, of {asked[0].seen_on}, is {usd(middle)}{unit}"
    return f"{usd(quote.usd)}{unit} for {name} is {called}: {others}"


def against(bill: Bill, found: Recommendation) -> str:
    """What the work costs elsewhere beside what the first option takes; without a sum, or an amount of work,
    the price below which the other costs less. Empty where no price of the first is known."""
    need, first, name, of = found.need, found.options[0], _machine(found.options[0]), begun(bill.of)
    if first.per_hour_usd is None:
        return ""
    if need.items and first.cost_usd:  # Of what is stated, in a month where it comes again
        often, use = (MONTH_S / need.period_s if need.period_s else 1.0), ""
        each = " a month" if need.period_s else ""
        items, mine = need.items * often, first.cost_usd.value * often
    else:  # Of all that it does in the hours of a month
        hours, each = priced.hours_a_month(need), " a month"
        use = _used(need.assumptions.hours_per_week) + ", all of them busy" * (not need.concurrent)
        items, mine = first.throughput.value * hours * 3600, first.per_hour_usd * hours
    if bill.usd is None or (bill.items and not need.items):
        asked = f", and asks {usd(bill.usd * 1e6 / bill.items)}" if bill.usd else ""
        least = f"{usd(mine * 1e6 / items)} for a million {found.item}s"
        return f"{of} costs less below {least}, what {name} takes{each and use}{asked}."
    other = bill.usd * items / bill.items if bill.items else bill.usd
    amount = f" for {brief(items)} {found.item}s" if need.items else ""
    mine_is = f"{begun(name)} {'is' if first.count == 1 else 'are'} cheaper than {bill.of}"
    both = f"{bill.of} takes {usd(other)}{each}{amount}, {name} {usd(mine)}{each}{use}"
    less = f"{of} is cheaper" if other < mine else mine_is
    return f"{less}: {both}, {significant(mine / other)} times as much."


def machines(found: Recommendation, first: Option, number: int, share: int) -> str:
    """What a number of GPUs in machines of an option costs, and how fast they are where that is known: what
    joins machines for training is not."""
    need = found.need
    rented, old = first.way in RENTS, ", old, without the machine" * (first.way == "unpriced")
    paid = (first.last_usd or 0.0) * first.count if old else first.outlay_usd or first.per_hour_usd or 0.0
    hours = need.hire_h or (first.time_s.value / 3600 if first.time_s else HOURS_PER_YEAR / 12)
    span = f"{hours:,.0f} h" if need.hire_h else "the work" if first.time_s else "a month around the clock"
    sums = {" an hour": 1.0, f" for {span}": hours} if rented else {"": 1.0}
    sums = {what: share * paid * times for what, times in sums.items()}
    cost = ", ".join(f"{usd(each)}{_other(need, each, ' ({})')}{what}" for what, each in sums.items())
    more = f", {share * first.count} in all," * (share * first.count > number)
    parts = f" as {share} machines of {first.count}{more}" * (share > 1)
    got = f"{number} x {_short(first.gpu_id)}{parts}"
    where = (
        f"{first.provider and f' from {first.provider}'} at {usd(paid)}{'/h' * rented}{' each' * (share > 1)}"
    )
    take = f"{'Rent' if rented else 'Buy'} {got}{where} ({_dated(first)}{old}): {cost}"
    alone = rate_of(first.throughput.value * share, found.item)
    done = f" and {seconds(first.time_s.value)} for the work" if first.time_s else ""
    if share == 1:
        return f"{take}, at {alone}{done}."
    if need.mode == "infer":
        return f"{take}. Each works by itself: {alone} together{done}."
    time = f"; if none waited for another, {alone}" * (not (need.title and need.passes == 1))
    time += f"{done}, a bound" * bool(done)
    return f"{take}. How fast they are together is not known, as what joins the machines is not{time}."


# Of a need whose cards were named alone, where one does not do it.
AS_MANY = "as many of each as it takes"
# Of one that has a budget.
UNCHECKED = "no price of these is known, so the budget is not checked"
# Of one whose memory was asked about.
NOT_ENOUGH = "more memory than was asked about"


def feature(found: Recommendation) -> str:
    """Whether the work needs what a GPU may have, beside the first option."""
    need, first = found.need, found.options[0]
    if need.feature != "nvlink":
        return str(WORDS["features"][need.feature][1])
    if first.count == 1:
        return "No: one GPU does it, and talks to no other."
    name, link = counted(first.gpu_id, first.count), link_of(catalog.get(first.gpu_id), first.count)
    if is_linked(catalog.get(first.gpu_id), first.count) and "PCIe" not in link:
        return f"{name} work without it, more slowly: the speed below counts on {link}."
    reach = next((why for why in first.why if why.startswith(f"{first.count} reach")), "").partition(" (")[0]
    return f"No: {name} do it over {link}{f'; {reach}' if reach else ''}."


def not_for(need: Need, found: Recommendation) -> str:
    """Whether the last prices known keep a budget that no fresh price was checked against; empty where one
    was."""
    if UNCHECKED not in found.need.notes or need.budget_usd is None:
        return ""
    last = {o: o.last_usd * o.count for o in found.options if o.last_usd}
    machine = need.assumptions.host_usd is None
    paid = {o: usd + host_of(o.gpu_id, o.count)[1] * machine for o, usd in last.items()}
    if not paid:
        return "Whether that is possible cannot be said: no price of what does it is known."
    least = min(paid, key=lambda option: paid[option])
    able = "Yes" if paid[least] <= need.budget_usd else "No"
    takes = f"{_machine(least)}{' with a machine' * machine} took {_sum(need, paid[least])}"
    return f"{able}, by the last prices known: {takes} in {least.seen_on[:7]}."


def _faster(found: Recommendation) -> str:
    """Which of those that are compared is faster, and what that costs; empty where one alone has a rank."""
    fast, *slower = sorted(found.options, key=lambda o: -o.throughput.value)
    slower = [o for o in slower if (o.gpu_id, o.count) != (fast.gpu_id, fast.count)]
    # What is there is what was asked about; another variant of the same card is not.
    chip = catalog.get(fast.gpu_id).text("chip")
    slow = min(
        slower, key=lambda o: (o.way != "have", catalog.get(o.gpu_id).text("chip") == chip), default=None
    )
    if slow is None:
        return ""
    ratio, name = fast.throughput.value / slow.throughput.value, _machine(slow)
    dearer = times(fast.cost_per_item_usd, slow.cost_per_item_usd)
    cost = f", at {significant(dearer)} times its cost for the same work" if dearer else ""
    much = f"faster: {significant(ratio)} times {name}" if ratio > 1.005 else f"as fast as {name}"
    return f"{begun(_machine(fast))} {'is' if fast.count == 1 else 'are'} {much}{cost}."


def together(gpus: Sequence[str], found: Dealt, price: str = "") -> str:
    """How fast different cards answer together; the last is bought where it has a price."""
    there = Counter(gpus[:-1] if price else gpus).items()
    name = " and ".join(counted(gpu, number) for gpu, number in there) + " together" * (not price)
    name = f"beside {name} {counted(gpus[-1], 1)}{price} does it: together they" if price else name
    low, value, high = (brief(getattr(found.tokens_per_s, end)) for end in ("low", "value", "high"))
    memory = f"{found.needed_bytes / 2**30:.3g} of {found.room_bytes / 2**30:.3g} GiB in {found.weights}"
    how = "one answer at a time, layers dealt out by llama.cpp"
    return f"{name} hold it, {memory}, and do about {value} tokens/s ({low} to {high}), {how}."


def largest(models: Mapping[Precision, str], gpu: str, count: int, context: int) -> str:
    """The largest models that a number of GPUs hold, the shortest format of weights first."""
    held = ", ".join(f"{name} in {weights}" for weights, name in reversed([*models.items()]))
    cards = f"{counted(gpu, count)} can hold with {context:,} tokens"
    return f"The largest model known here that {cards}: {held}."


def _speed(found: Recommendation) -> str:
    """How fast the GPU that was named does the work, and whether that is as fast as was asked."""
    need, first = found.need, found.options[0]
    people = max(1, need.concurrent)
    speed = first.throughput.times(1 / people)
    low, high, item = brief(speed.low), brief(speed.high), f"{found.item}s/s"
    each = f" for each of {people} people" if people > 1 else " for one answer at a time" * bool(need.task)
    rate = f"about {rate_of(speed.value, found.item)} ({low} to {high}){each}{_weights(need, first)}"
    does = f"{counted(first.gpu_id, first.count)} does {rate}"
    if not need.rate:
        return f"{begun(does)}."
    sure = "Yes" if speed.low >= need.rate else "No" if speed.high < need.rate else ""
    sure = sure or ("Probably" if speed.value >= need.rate else "Probably not")
    return f"{sure}: {does}; {need.rate:g} {item} are asked."


def verdict(found: Recommendation, other: Recommendation | None) -> str:
    """Whether the GPU that was named can do the work, or is more than it takes: then `other` names what else
    does it. Empty where that was not asked."""
    need, first = found.need, found.options[0]
    asked = priced.names_of(need) if need.sets or not need.have else ()
    named, name = {*need.have, *asked}, counted(first.gpu_id, first.count)
    if need.feature:
        return feature(found)
    if NOT_ENOUGH in need.notes:
        return "No, that much memory is not enough."
    if need.asks == "able" and UNCHECKED in need.notes:
        return ""  # Said by `not_for`
    if need.asks == "able" and len({*need.sets}) > 1 and not need.have:
        gpu, count = need.sets[0]  # "Is A enough, or should I take B"
        able = any((o.gpu_id, o.count) == (gpu, count) for o in found.options)
        name, left = counted(gpu, count), found.rejected.get(gpu)
        said = f"Yes, {name} can." if able else f"Whether {name} can is not known."
        if left is not None and (left.code not in ("", "unproven") or "does not fit" in left.detail):
            said = f"No. {begun(name)}: {left.detail}."
        return f"{said} {_faster(found)}".strip()
    if need.asks == "able":
        if first.gpu_id in named or not named:
            if AS_MANY in need.notes:
                return f"One alone cannot; {name} can."
            slow = " though slowly:" if need.task == "infer" and need.latency_s is None else ""
            return f"Yes,{slow} {name} can."
        why = next((f"{gpu}: {found.rejected[gpu].detail}" for gpu in named if gpu in found.rejected), "")
        return f"No. {_short(why.partition(':')[0])}:{why.partition(':')[2]}." if why else ""
    if need.asks == "faster":
        return _faster(found)
    if need.asks == "speed":
        return _speed(found)
    if need.asks == "energy" and first.power_w and len(need.sets) > 1:
        return bills(found)
    if need.asks == "energy" and first.power_w:
        kwh, paid = electricity(need, first)
        each, use = f"{usd(paid)}{_other(need, paid, ' ({})')}", _used(need.assumptions.hours_per_week)
        drawn = f"take {kwh:,.0f} kWh a month{use}, {12 * kwh:,.0f} a year: {each} of electricity a month"
        drawn += f", {usd(12 * paid)}{_other(need, 12 * paid, ' ({})')} a year"
        return f"{begun(name)} and its machine {drawn}."
    if need.asks != "too much":
        return ""
    least = other.options[0] if other else first
    cost = times(least.cost_per_item_usd, first.cost_per_item_usd)
    speed = significant(least.throughput.value / first.throughput.value)
    does = f"{offered_as(least)}, {speed} times as fast"
    if least.key == first.key:
        return f"Not overkill: nothing that costs less does this work than {name}."
    if cost and cost < WORTH_A_WORD:
        return f"{begun(name)} is overkill: for {significant(cost)} of the cost, {does}."
    return f"Not overkill by the cost of the work; the least that does it: {does}."
