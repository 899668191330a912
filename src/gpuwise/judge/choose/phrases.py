"""Phrases that the sentences of `choose` share: a machine, a price, a rate, what an option does."""

from __future__ import annotations

from gpuwise.facts import catalog
from gpuwise.judge.choose import candidates as priced
from gpuwise.judge.choose import fit
from gpuwise.judge.choose.candidates import PAID, STATED, host_for
from gpuwise.judge.choose.need import HOURS_PER_YEAR, HOURS_STATED, USUAL
from gpuwise.judge.choose.speeds import IDLE, SHORT_CACHE, memory_of, no_units
from gpuwise.model.gpu import RENTS
from gpuwise.model.judgement import Assumptions, Need, Option
from gpuwise.model.precision import GGUF, Precision
from gpuwise.model.result import Interval
from gpuwise.model.units import brief, percent, seconds, significant, usd

WORTH_A_WORD = 0.8
# Items a second below which people count them by the hour.
SLOW = 0.1
# Smaller changes of a price or speed are rounding.
WORTH_SAYING = 0.01
# Of a number of GPUs that no machine has: what it is made of stands behind.
COUNTED = "is offered: counted as"
MONTH_S = 2629800.0
# Of a format of weights that a GPU does not compute in, and what it does instead.
INSTEAD = {"fp8": "products in 16 bits", "bf16": "take fp16"}
ALL_WEEK = 168.0


def times(cost: Interval | None, least: Interval | None) -> float | None:
    """How many times the one is of the other; None where one is not known, or is nothing."""
    return cost.value / least.value if cost and least and least.value else None


def dearer(need: Need, other: Option, first: Option) -> float | None:
    """How many times the cost of the first another option has: of as much work, or of an hour where what
    does more in it is worth no more."""
    if priced.by_hour(need):
        paid, least = other.per_hour_usd, first.per_hour_usd
        return paid / least if paid is not None and least else None
    return times(other.cost_per_item_usd, first.cost_per_item_usd)


def option_name(option: Option) -> str:
    where = f" at {option.provider}" if option.provider else ""
    return f"{option.count} x {option.gpu_id} {option.way}{where}"


def cost_of(need: Need) -> str:
    """What a ratio of costs is of: of hours that are paid for anyway, or of as much work."""
    return "cost of an hour" if priced.is_service(need) else "cost of the same work"


def often(need: Need) -> str:
    """How often what is stated in GB comes again: ` each day`."""
    if need.period_s:
        return f" each {fit.PERIODS.get(need.period_s, seconds(need.period_s))}"
    return " a month" if priced.is_service(need) and not need.hire_h else ""


def sum_of(need: Need, value: float, per: str = "") -> str:
    return f"{usd(value)}{per}{converted(need, value, f' ({{}}{per})')}"


def begun(text: str) -> str:
    """A text as a sentence begins."""
    return text[:1].upper() + text[1:]


def dated(option: Option) -> str:
    """When and, of a purchase, where a price was seen; or that it is the user's own."""
    where = f" at {option.provider}" * bool(option.provider and option.way not in RENTS)
    own = option.price_source in (PAID, STATED)
    return option.price_source if own else f"price of {option.seen_on}{where}"


def what_it_does(need: Need, first: Option, item: str) -> str:
    """Cost, time and speed of the work where its amount is known; else the speed and the cost of an hour."""
    rate = ", ".join(first.parts) or f"{rate_of(first.throughput.value, item)}{weights_of(need, first)}"
    if need.goal == "energy" and first.energy_j_per_item:
        rate += f", {significant(first.energy_j_per_item / 3.6)} kWh for a million {item}s"
    if need.goal == "power" and first.power_w:
        rate += f", {first.power_w:g} W"
    a, usual = need.assumptions, Assumptions()
    stated = a.hours_per_week, a.electricity_usd_per_kwh
    if first.way == "unpriced" and stated != (usual.hours_per_week, usual.electricity_usd_per_kwh):
        kwh, paid = electricity(need, first)
        used = weekly_use(need.assumptions.hours_per_week)
        rate += f", {kwh:,.0f} kWh a month{used} for {sum_of(need, paid)}"
    if first.time_s is None:
        return _by_the_hour(need, first, item, rate) if first.per_hour_usd else rate
    cost = f"{about(need, first.cost_usd)} " if first.cost_usd else ""
    if priced.is_once(need) and first.outlay_usd:
        cost = ""  # One piece of work is not charged with the loss of value of years
    if need.period_s is None:
        short = first.time_s.value < 3600 * priced.LEAST_PAID_H
        whole = ", paid as a whole hour," * (short and first.way in RENTS and first.way != "serverless")
        return f"{cost}in {seconds(first.time_s.value)}{whole} at {rate}"
    every, busy = fit.PERIODS.get(need.period_s), f"{percent(first.time_s.value / need.period_s, 0)} of it"
    amount = f"{brief(need.items or 0.0)} {item}s"
    if first.way in RENTS and first.way != "serverless" and not need.batched:
        alone = usd((first.per_hour_usd or 0.0) * first.time_s.value / 3600)
        few = f"; for its {seconds(first.time_s.value)} alone {alone}" * (
            first.time_s.value < need.period_s / 2
        )
        busy += f" (all of it is paid{few})" * (first.time_s.value < need.period_s)
    if first.cost_usd and need.period_s < MONTH_S:
        month = first.cost_usd.value * MONTH_S / need.period_s
        rate += f", {sum_of(need, month, ' a month')}"
        hired = first.cost_usd.value * (need.hire_h or 0.0) * 3600 / need.period_s
        rate += f", {sum_of(need, hired)} for {need.hire_h:,.0f} h" if need.hire_h else ""
    return f"{cost}for {amount} each {every or seconds(need.period_s)}, busy {busy} at {rate}"


def weights_of(need: Need, option: Option) -> str:
    """In which format a language model's weights are, by which engine, and the memory that it all takes."""
    if not need.task:
        return ""
    memory = (
        ""
        if option.memory_spare is None
        else f", {memory_filled(need, option)}{' each' * (option.count > 1)}"
    )
    weights = option.precision or need.precision
    lacks = no_units(option.gpu_id, Precision(weights))
    kept = f", which it has no units for: {INSTEAD.get(weights, '')}" * lacks
    short = f", {SHORT_CACHE}" * (SHORT_CACHE in option.why)
    return f" with weights in {weights}{kept}{_engine(need, option)}{short}{memory}"


def _by_the_hour(need: Need, first: Option, item: str, rate: str) -> str:
    """What is paid for the hours that are stated, or that a budget pays for; else what an hour costs, and a
    month where one asks for a service, states the hours or pays by the month."""
    hourly, week = first.per_hour_usd or 0.0, need.assumptions.hours_per_week

    def done(hours: float) -> str:
        if first.parts or (need.title and need.passes == 1):  # Items that are not those of the work
            return f"it does {rate}"
        each = " for each" * (need.users > 1)
        share = need.assumptions.utilisation  # Of the hours that are paid for
        busy = f", busy {percent(share, 0)} of the time," * (share < 1)
        return f"{brief(first.throughput.value * hours * 3600 * share)} {item}s{each}{busy} at {rate}"

    a_month = " a month" * need.budget_per_month
    if need.budget_usd and not (need.budget_per_hour or need.hire_h) and first.way in RENTS:
        hours = hours_paid(need, hourly)
        return f"{sum_of(need, hours * hourly, a_month)} pays for {hours:,.0f} h: {done(hours)}"
    if need.hire_h and not first.outlay_usd:
        return f"{sum_of(need, hourly * need.hire_h)} for {need.hire_h:,.0f} h, {done(need.hire_h)}"
    of_all = f" of all {need.users}" * (need.users > 1)
    said = [rate, f"{usd(hourly)} an hour of use{of_all}"] if first.outlay_usd or need.concurrent else [rate]
    if need.concurrent > 1 and need.task and hourly:
        done_s = first.throughput.value * need.assumptions.utilisation
        said.append(f"{usd(hourly / done_s / 3600 * 1e6)} for a million {item}s at that load")
    if need.concurrent or a_month or week != Assumptions().hours_per_week:
        # Idle hours are paid for, too.
        month = sum_of(need, hourly * priced.hours_a_month(need), " a month")
        said.append(f"{month}{weekly_use(week)}")
    return ", ".join(said)


def states_hours(need: Need) -> bool:
    """Whether the hours of use a week were stated."""
    week = need.assumptions.hours_per_week
    return HOURS_STATED.format(week) in need.notes or week != Assumptions().hours_per_week


def hours_paid(need: Need, hourly: float) -> float:
    """Hours of rent that a budget pays for, of a month at most those that are used or that it has."""
    hours = (need.budget_usd or 0.0) / hourly
    most = priced.hours_a_month(need) if states_hours(need) else HOURS_PER_YEAR / 12
    return min(hours, most) if need.budget_per_month else hours


def weekly_use(hours_per_week: float) -> str:
    return " around the clock" if hours_per_week == ALL_WEEK else f" of {hours_per_week:.4g} h a week"


def memory_filled(need: Need, option: Option) -> str:
    """How much of each GPU's memory the work takes: `19.8 of 24 GiB`."""
    spec = catalog.get(option.gpu_id)
    size = memory_of(need, spec) or 0.0
    taken = size * (1 - max(0.0, option.memory_spare or 0.0)) / 2**30
    if spec.memory_varies and not (need.memory_gb or spec.id in dict(need.sizes)):
        from gpuwise.predictor.fit import USABLE_SHARED  # of language models alone

        least = next((each for each in USUAL.shared_gb if USABLE_SHARED * each >= taken), size / 2**30)
        return f"{taken:.3g} GiB, so of those with {least:g} GB of memory or more"
    return f"{taken:.3g} of {size / 2**30:.4g} GiB"


def drawn_w(need: Need, option: Option) -> tuple[float, float]:
    """Watts of its cards at work, board power where that is not known, and of the machine around them."""
    a = need.assumptions
    host = host_for(need, option.gpu_id, option.count)[2] if a.host_w is None else a.host_w * option.count
    at_work = (option.energy_j_per_item or 0.0) * option.throughput.value / a.cooling
    return (at_work - host if at_work else option.power_w or 0.0), host


def electricity(need: Need, option: Option) -> tuple[float, float]:
    """kWh and USD of a month of the machine with its cooling; of work that comes again, while it is busy."""
    a = need.assumptions
    kwh = sum(drawn_w(need, option)) / 1000 * a.cooling * priced.hours_a_month(need)
    if need.period_s and need.items and option.energy_j_per_item:
        kwh = option.energy_j_per_item / 3.6e6 * need.items * MONTH_S / need.period_s
    return kwh, kwh * a.electricity_usd_per_kwh


def fed_by(need: Need, option: Option) -> str:
    """The supply to buy; of one that is there and less than makers advise, the limit of each card's watts."""
    people, of = need.users if need.one_machine else 1, (option.gpu_id, option.count)
    board_w, host_w = (watts * people for watts in (option.power_w or 0.0, host_for(need, *of)[2]))
    supply = fit.supply_w(board_w)
    if board_w <= USUAL.slot_w * option.count * people and catalog.get(option.gpu_id).text("form") == "pcie":
        return f"a PCIe slot gives a card {float(USUAL.slot_w):g} W, so no power plug is needed"
    # No supply beyond the outlet: what that gives less than peaks take, they trip.
    drawn = (board_w + host_w) / fit.SUPPLY_EFFICIENCY
    of_it = f"{drawn:.0f} W from the wall with its host, of {need.outlet_w or 0.0:.0f} W allowed"
    number = option.count * people
    if (cap := fit.cap_w(need)) < board_w:
        each, counted = cap / number, ", which its speed counts" * (board_w <= cap / fit.LEAST_POWER)
        if need.capped:
            return f"each card limited to {each:.0f} W{counted}"
        limit = f": for yours, limit each card to {each:.0f} W{counted}" * (each >= USUAL.slot_w)
        beside = f"; {of_it}" * bool(need.outlet_w)
        return f"makers advise a supply of {f'about {supply} W' if supply else 'more'}{limit}{beside}"
    if need.supply_w and need.outlet_w is None:
        return f"your supply of {need.supply_w:g} W feeds it"
    if need.power_w and need.outlet_w is None:
        return f"of {need.power_w:g} W allowed"
    advised = f"a power supply of about {supply} W" if supply else f"{(board_w + host_w) / 1000:.2g} kW"
    if need.outlet_w is None:
        return advised + " with its host" * (supply is None)
    if supply is not None and supply <= need.outlet_w:
        return f"{advised}; {of_it}"
    each = fit.fed_w(need.outlet_w * fit.SUPPLY_EFFICIENCY) / number
    peaks = f", which short peaks exceed: limit each card to {each:.0f} W, which its speed does not count"
    return of_it + peaks * bool(USUAL.slot_w <= each < board_w / number)


def last_outlay(need: Need, option: Option) -> float:
    """USD of an option at its last price, with the machine around it."""
    host = 0.0 if need.have else host_for(need, option.gpu_id, option.count)[1]
    host = host if need.assumptions.host_usd is None else need.assumptions.host_usd * option.count
    return (option.last_usd or 0.0) * option.count + host


def machine_of(option: Option) -> str:
    """`one RTX 4090`, `8 x H100 SXM5 80 GB`; a laptop with its power limit, which makers set."""
    spec = catalog.get(option.gpu_id)
    if spec.text("form") == "laptop" and spec.power_w:
        return f"a laptop with an {short_name(option.gpu_id).partition(' Laptop')[0]} of {spec.power_w:g} W"
    return counted(option.gpu_id, option.count)


def counted(gpu_id: str, count: int) -> str:
    """`one RTX 4090`, `2 x RTX 4090`."""
    return f"one {short_name(gpu_id)}" if count == 1 else f"{count} x {short_name(gpu_id)}"


def bought(need: Need, gpu_id: str, count: int) -> str:
    """What is to be bought for so many of a GPU: those that are there are not."""
    new = priced.cards_paid(need, gpu_id, count)
    return counted(gpu_id, count) if new == count else f"{counted(gpu_id, new)} beside yours"


def short_name(gpu_id: str) -> str:
    return catalog.get(gpu_id).name.removeprefix("NVIDIA ").removeprefix("GeForce ")


def sold_as(option: Option) -> str:
    """` as a Mac Studio with 512 GB`: the computer that a price is of, which has others beside it."""
    computer = catalog.get(option.gpu_id).text("form") == "soc" and option.instance
    return f" as a {option.instance}" if computer else ""


def obtained(option: Option) -> str:
    """Where it comes from: `runpod, spot`, `bought used`, `yours`."""
    seen = f"last seen at {usd(option.last_usd or 0.0)}{' each' * (option.count > 1)}, {option.seen_on[:7]}"
    seen += sold_as(option)
    last = seen if option.last_usd else "price not known"
    fixed = {"have": "yours", "unpriced": last, "street": "bought used or new"}
    if option.way in ("new", "used"):
        return f"bought {option.way}"
    kind = f"{option.provider}, {option.way}" if option.provider else option.price_source
    return fixed.get(option.way) or kind


def offered_as(option: Option) -> str:
    """`one RTX 4090, runpod, spot at $0.30/h`."""
    return f"{machine_of(option)}, {obtained(option)}{priced_at(option)}"


def priced_at(option: Option) -> str:
    """` at $0.30/h of 2026-08`; nothing where no price is known."""
    if option.price_usd is None or option.way == "have":
        return ""
    own = option.price_source in (PAID, STATED) or not option.seen_on
    month = "" if own else f" of {option.seen_on[:7]}"
    return f" at {usd(option.price_usd.value)}{'/h' * (option.way in RENTS)}{month}"


def converted(need: Need, value: float, words: str) -> str:
    """An amount of USD in the currency of the question, `288 EUR`, in `words`; nothing where that is USD."""
    code, rate = need.currency
    amount = f"{value / rate:,.2f}" if value < 100 * rate else f"{value / rate:,.0f}"
    return "" if code == "USD" else words.format(f"{amount} {code}")


def about(need: Need, interval: Interval) -> str:
    other = converted(need, interval.value, "; {}")
    return f"about {usd(interval.value)} ({usd(interval.low)} to {usd(interval.high)}{other})"


def _engine(need: Need, first: Option) -> str:
    """What runs it in that format, and how several GPUs share the model."""
    gguf = (first.precision or need.precision) in GGUF or catalog.get(first.gpu_id).vendor == "Apple"
    if need.task != "infer":
        return f" (FSDP over {first.count})" if first.count > 1 else ""
    engine, shared = ("llama.cpp", "layers dealt out to") if gguf else ("vLLM", "tensor parallel over")
    idle = sum(int(why.split()[0]) for why in first.why if why.endswith(IDLE))
    each = (first.count - idle) // first.replicas
    of_each = f" of at most {-(-need.concurrent // first.replicas)} people" * (need.concurrent > 1)
    how = f", {first.replicas} copies{of_each}" * (first.replicas > 1) + f", {shared} {each}" * (each > 1)
    return f" ({engine}{how}{f', {idle}{IDLE}' * bool(idle)})"


def rate_of(value: float, item: str) -> str:
    """`968 tokens/s`; what takes many seconds an hour."""
    return f"{brief(value * 3600)} {item}s an hour" if value < SLOW else f"{brief(value)} {item}s/s"
