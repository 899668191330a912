"""The sentences of a recommendation: what to get, why, and what would change it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from math import inf

from gpuwise.errors import GpuwiseError
from gpuwise.facts import catalog, prices
from gpuwise.judge.choose import candidates as priced
from gpuwise.judge.choose import fit, phrases
from gpuwise.judge.choose.candidates import PAID, host_for
from gpuwise.judge.choose.fit import link_of
from gpuwise.judge.choose.need import (
    ALL_HOURS,
    ANY_USED,
    COMPUTERS,
    DIFFUSION,
    HOURS_PER_YEAR,
    HOURS_STATED,
    IN_AND_OUT,
    MOST_THERE,
    OVER_BUDGET,
    USUAL_NOTE,
    WORDS,
    item_of,
    settled,
    tokens_of,
)
from gpuwise.judge.choose.phrases import dated, machine_of, often, what_it_does
from gpuwise.judge.choose.speeds import (
    AT_ONCE,
    BY,
    DIES,
    FIRST_TOKEN,
    IDLE,
    RECOMPUTES,
    SHORT_CACHE,
    memory_needed,
)
from gpuwise.model.gpu import RENTS, GpuSpec
from gpuwise.model.judgement import Assumptions, Need, Option, Recommendation
from gpuwise.model.precision import Precision
from gpuwise.model.result import Interval, Record
from gpuwise.model.units import brief, percent, seconds, significant, usd
from gpuwise.predictor.forecast import TOGETHER
from gpuwise.workloads import registry

# Share of memory below which what stays free is worth a word.
LITTLE = 0.1
MOST_REASONS = 3
BEHIND = "stands behind what is not so: "  # Of an option, with why
# The note where the question names no model.
LARGEST = "no model was named: {}, the largest of the usual ones that the limits hold"


def limits(need: Need) -> Iterator[str]:
    """What the need limits or assumes otherwise than usual, as it was read."""
    a, usual, owns = need.assumptions, Assumptions(), need.acquire != "rent"  # Else they limit nothing
    kwh, week = a.electricity_usd_per_kwh, a.hours_per_week
    per = "/h" if need.budget_per_hour else " a month" if need.budget_per_month else ""
    if need.budget_usd is not None:
        other = phrases.converted(need, need.budget_usd, f" ({{}}{per})")
        hours = priced.hours_a_month(need)
        own = ", of what is bought for its loss of value and electricity" * owns
        of_use = f", {usd(need.budget_usd / hours)} for each of {hours:,.0f} h of use{own}"
        if need.batched:
            of_use = ""  # Its hours are those that the work takes
        elif not (owns or phrases.states_hours(need)):
            of_use = f", which is to pay for {hours:,.0f} h at the least: {usd(need.budget_usd / hours)}/h"
        yield f"at most {usd(need.budget_usd)}{per}{other}{of_use * need.budget_per_month}"
    if need.least_gb and need.title:
        yield memory_needed(need).rstrip(".")
    least = need.least_gb * bool(need.title)
    able = need.sets and need.asks == "able"
    if need.memory_gb is not None and not (able or 0 < need.memory_gb[0] <= least):
        low, high = need.memory_gb
        range_of = f"{low:g} GB" + (" or more" if high is None else f" to {high:g} GB" * (high > low))
        yield range_of if low else f"at most {high:g} GB of memory"
    if need.precision == Precision.FP64 and "cholesky" in (names := dict(need.workloads)):
        others = " and ".join(name for name in names if name != "cholesky")
        ordinary = f", by ordinary cores in {others}" * bool(others)
        yield f"cholesky is of large matrices, at half of the FP64 peak, by matrix units if any{ordinary}"
    fed = fit.left_w(need.supply_w) if need.supply_w else None  # Said with it
    bill, together = need.bill, ", or of used and new ones together where no other is known"
    of_bill = f" for {brief(bill.items)}" if bill and bill.items else " a month"
    for value, words in (
        (need.deadline_s and seconds(need.deadline_s), "done within {}"), (need.total_gb, "{:g} GB in all"),
        (owns and need.power_w != fed and need.power_w, "{:.0f} W for GPUs"),
        (owns and need.outlet_w, "{:.0f} W from the wall"),
        (owns and need.slots, f"{{:g}} slot{'s' * (need.slots != 1)}"), (need.form, "{}"),
        (owns and need.sold and need.sold[0], "{} prices" + together * (need.sold == ANY_USED)),
        (bill and bill.usd and f"{bill.of} at {phrases.sum_of(need, bill.usd)}{of_bill}", "{}"),
        (" and ".join(phrases.counted(*each) for each in Counter(need.have).items()), "you have {}"),
        (", ".join(f"{phrases.short_name(gpu)} with {gb:g} GB" for gpu, gb in need.sizes), "{}"),
        (need.region if need.acquire != "own" else "", "rented in {}, where a source states it"),
        (need.region if owns else "", "prices to buy are of the US, not of {}"),
        (", ".join(need.providers), "of {}"), (", ".join(need.avoid), "not of {}"),
        (owns and need.quiet and fit.QUIET, "{}"),
        (need.at_home, "in a machine that is there" if a.host_usd == 0 else "at home"),
        (need.egress_gb, f"{{:,.0f}} GB sent out{often(need) or ' in all'}"),
        (owns and kwh != usual.electricity_usd_per_kwh and kwh, "${:.3g} a kWh"),
        (week != usual.hours_per_week and ALL_HOURS not in need.notes and week, HOURS_STATED),
        (owns and a.years != usual.years and a.owned_for, "{}"),
        (a.max_age_days != usual.max_age_days and a.max_age_days, "prices of the last {:g} days"),
    ):  # fmt: skip
        if value:
            yield words.format(value)


def taken_as_asked(need: Need, item: str, *work: str) -> str:
    """The amount of work and the limits of a need, and how words of its question were read; behind what is
    said of the work."""
    answers = item == "token" and need.mode == "infer" and not (need.reads or need.title)
    answers &= IN_AND_OUT not in need.notes
    of = (often(need) if need.period_s else "") + " written, prompts not counted" * answers
    amount = [f"{brief(need.items)} {item}s{of}"] if need.items else []
    if need.items and need.period_s:
        amount.append(f"{phrases.rate_of(need.items / need.period_s, item)} in the mean")
    taken = "; ".join(dict.fromkeys((*work, *amount, *limits(need), *need.notes)))
    return f"Taken: {taken}" if taken else ""


def question(need: Need) -> str:
    """`llm-8b-decode infer bf16, 1 to 8 GPUs`."""
    mix, (low, high) = len(need.workloads) > 1, need.gpus
    names = need.title or " + ".join(
        f"{name} {percent(share, 0)}" if mix else name for name, share in need.workloads
    )
    number = f"{low} to {high} GPUs" if low < high else f"{low} GPU{'s' if low > 1 else ''}"
    people = f" for each of {need.users} people" if need.users > 1 else ""
    drawn = DIFFUSION.keys() & {need.title.removeprefix("adapters of ")}
    mode = "" if drawn else f" {need.mode}"  # Adapters learn by runs that are of inference
    # Of several formats each option states its own.
    precision = "" if len(need.formats) > 1 or drawn else f" {need.precision}"
    lengths = {tokens_of(registry.get(name).spec.title) for name, _ in need.workloads if not need.task}
    of_tokens = f" of {max(lengths)} tokens" if item_of(need) == "sequence" and max(lengths) else ""
    of_size = of_tokens or f" of {need.pixels} px" * bool(need.pixels)
    return f"{names}{mode}{precision}{of_size}, {number}{people}"


def refusal(need: Need, error: GpuwiseError, item: str) -> str:
    """Why there is no answer, beside what was understood of the question and what was not."""
    unread = f"Not taken into account: {', '.join(need.ignored)}" if need.ignored else ""
    with suppress(GpuwiseError):  # Where no part of it contradicts another one
        need = settled(need)
    taken = taken_as_asked(need, item, question(need))
    unsaid = [each for each in priced.few_of(need) if each not in str(error)]
    asked = f"Asked about: {', '.join(unsaid)}" if unsaid else ""
    parts = (str(error), *need.corrected, asked, taken, unread)
    return ". ".join(part.rstrip(".") for part in parts if part)


def differences(old: Recommendation, new: Recommendation) -> tuple[str, ...]:
    """In words, the first option first; options are the same where GPU, number, way and provider are."""
    return tuple(_differences(old, new)) or (f"nothing changed since {old.made_on}",)


def _differences(old: Recommendation, new: Recommendation) -> Iterator[str]:
    # An older file may hold no option at all.
    was, now = next(iter(old.options), None), new.options[0]
    if was is not None and was.key != now.key:
        yield f"first was {phrases.option_name(was)}, is {phrases.option_name(now)}"
    earlier, later = ({option.key: option for option in made.options} for made in (old, new))
    for key, option in later.items():
        if key not in earlier:
            yield f"new: {phrases.option_name(option)}, place {option.rank}"
            continue
        before = earlier[key]
        prices = [o.price_usd.value if o.price_usd else 0.0 for o in (before, option)]
        speeds = [o.throughput.value for o in (before, option)]
        for what, (a, b) in (("price", prices), ("speed", speeds)):
            if a > 0 and abs(b / a - 1) > phrases.WORTH_SAYING:
                shown = f"{usd(a)} to {usd(b)}" if what == "price" else f"{a:,.4g} to {b:,.4g}"
                yield f"{phrases.option_name(option)}: {what} {shown} ({b / a - 1:+.0%})"
        if before.basis != option.basis:
            yield f"{phrases.option_name(option)}: speed was {before.basis}, is {option.basis}"
    for key, option in earlier.items():
        if key not in later:
            yield f"gone: {phrases.option_name(option)}, was in place {option.rank}"


def plainly(found: Recommendation) -> str:
    """What to get, and what that does of the work and takes."""
    first = found.options[0]
    if first.way == "have" or first.price_source == PAID:
        take = _keep(found)
    elif first.price_usd is None:
        take = _unpriced(found)
    else:
        take = _buy(found, first.price_usd) if first.outlay_usd else _rent(found, first.price_usd)
    paid = next((o for o in found.options[1:] if o.price_source == PAID), None)
    if paid and (dearer := phrases.dearer(found.need, paid, first)):
        take += f" instead of {machine_of(paid)}{phrases.priced_at(paid)}"
        take += f", {significant(dearer)} times the cost of the work"
    if OVER_BUDGET in found.need.notes:
        take = re.sub(r"^(?:Buy|Rent|Add)", "Over it:", take)  # Advice never exceeds the stated budget
    faster = first.speedup is not None and first.way != "have"
    ratio = f", {significant(first.speedup or 0.0)} times what you have" * faster
    late_s = 0.0 if USUAL_NOTE in found.need.notes else found.need.latency_s or 0.0
    own_s = max(1, found.need.concurrent) * (first.speedup or inf) / first.throughput.value  # Of each token
    ratio += ", which is as fast as was asked already" * (faster and own_s <= late_s)
    return f"{take}: {what_it_does(found.need, first, found.item)}{ratio}."


def _keep(found: Recommendation) -> str:
    first = found.options[0]
    if first.way != "have":
        return f"Keep {machine_of(first)}{phrases.priced_at(first)}: nothing here does the work for less"
    costs = (phrases.dearer(found.need, option, first) for option in found.options if option is not first)
    least = min((cost for cost in costs if cost is not None), default=inf) >= priced.EQUAL
    more = "nothing that keeps the limits does the work for less" if least else "it does the work"
    if found.need.faster and len(found.options) == 1:
        more = f"nothing within the limits is {found.need.faster:g} times as fast"
    return f"Keep {machine_of(first)}: {more}"


def _unpriced(found: Recommendation) -> str:
    need, first = found.need, found.options[0]
    last = first.last_usd
    seen = "price unknown"
    if last:
        each = f", {usd(last)} each," * (first.count > 1)
        seen = f"last seen at about {phrases.sum_of(need, last * first.count)}{each} in {first.seen_on[:7]}"
        whole = phrases.last_outlay(need, first)
        seen += f" at {first.provider}" * bool(first.provider) + phrases.sold_as(first)
        seen += f", {usd(whole)} with a machine" * (whole > last * first.count)
        seen += f", {usd(whole * need.users)} in all for {need.users}" * (need.users > 1)
    best = "fastest" if need.budget_usd or not last else "most work for the money"
    best = "slowest, so likely the cheapest," if need.thrifty and not last else best
    best = {"energy": "least energy", "power": "fewest watts"}.get(need.goal, best)
    best = f"the {'cheapest' if last and need.goal == 'price' else best} of {len(found.options)}"
    best = best if len(found.options) > 1 else "all that keeps the limits"
    return f"{_got(need, first, 'Take').rstrip(',')}, {seen}, {best}"


def _got(need: Need, first: Option, how: str) -> str:
    """What is to be got, beside what is there."""
    if (new := priced.cards_paid(need, first.gpu_id, first.count)) == first.count:
        return f"{how} {machine_of(first)}"
    return f"Add {phrases.counted(first.gpu_id, new)} to yours, {machine_of(first)} in all,"


def _buy(found: Recommendation, price: Interval) -> str:
    need, first = found.need, found.options[0]
    each = f" for each of {need.users} people" if need.users > 1 else ""
    host, *_ = host_for(need, first.gpu_id, first.count)
    host = "what the machine then lacks" if need.have else f"{'an' if host[0] in 'aeiou' else 'a'} {host}"
    whose = " for all of them" * (need.one_machine and need.users > 1)
    host_usd = first.host_usd if need.one_machine else first.host_usd / need.users
    around = f" and {host} for {usd(host_usd)}{whose}" if first.host_usd else ""
    around += f", {usd(first.outlay_usd)} in all for {need.users}" if need.users > 1 else ""
    days = (prices.day(found.made_on) - prices.day(first.seen_on)).days if first.stale else 0
    sold = f"{fit.SOLD[first.way]}, {dated(first)}{f', {days // 30} months old' if days else ''}"
    if need.sold and first.way == "street":
        sold += ": a new one may cost more" if need.sold == ("new",) else ": not known to be used"
    return f"{_got(need, first, 'Buy')}{each} at {phrases.about(need, price)} ({sold}){around}"


def _rent(found: Recommendation, price: Interval) -> str:
    need, first = found.need, found.options[0]
    each = f" for each of {need.users} people" if need.users > 1 else ""
    kind = "" if first.way == "on-demand" else f", {first.way}"
    kind += f" for {first.committed_h * 12 / HOURS_PER_YEAR:.0f} months" if first.committed_h else ""
    hourly = f"{usd(price.value)}/h ({phrases.converted(need, price.value, '{}/h, ')}{dated(first)}{kind})"
    hourly += f", {usd(first.per_hour_usd or 0.0)}/h for all {need.users}" * (need.users > 1)
    where = f" ({first.region})" * (first.region.casefold() not in ("", "global"))
    if first.offered_as:
        where += f", who calls it {first.offered_as} and states no variant,"
    return f"Rent {machine_of(first)}{each}{first.provider and f' from {first.provider}{where}'} at {hourly}"


def not_counted(need: Need) -> str:
    """What would change the answer, had it been read; empty where nothing would."""
    words = [word for word in need.ignored if re.search(WORDS["patterns"]["deciding"], word)]
    said = f"Not taken into account, though it may change the answer: {', '.join(words)}."
    return said if words else ""


def reasons(found: Recommendation) -> tuple[str, ...]:
    """The three that matter most."""
    need, first, said = found.need, found.options[0], list[str]()
    begins = "; ".join(why for why in first.why if why.startswith(FIRST_TOKEN))
    if need.latency_s and first.latency_s and USUAL_NOTE not in need.notes:
        of = {"TTFT": "the first token", "TPOT": "each token"}.get(need.latency_kind)
        of = of or f"each step of {first.latency_s * first.throughput.value / first.count:,.0f} {found.item}s"
        said.append(f"{of} after {seconds(first.latency_s)}, of {seconds(need.latency_s)} allowed")
        begins = "; ".join(filter(None, (said.pop(), begins)))
    said += [begins] if begins else []
    its, there = (max((catalog.get(gpu).memory_bytes or 0.0 for gpu in gpus), default=0.0) / 2**30
                  for gpus in ([first.gpu_id], need.have))  # fmt: skip
    if its < there and first.outlay_usd:
        said.append(
            f"less memory than what you have, {its:.3g} instead of {there:.3g} GB: this work leaves it free"
        )
    if first.outlay_usd:
        said.append(setup(need, first))
    elif (
        first.way == "unpriced" and first.power_w and catalog.get(first.gpu_id).text("form") not in COMPUTERS
    ):
        cooling = cooled(catalog.get(first.gpu_id))
        said.append(f"{first.power_w:g} W: {phrases.fed_by(need, first)}" + f"; {cooling}" * bool(cooling))
    allowed = need.outlet_w or need.power_w
    if allowed and first.power_w and catalog.get(first.gpu_id).text("form") in COMPUTERS:
        said.append(f"{first.power_w:g} W at most, of {allowed:.0f} W allowed")
    if need.deadline_s and first.time_s:
        late = first.time_s.high / need.assumptions.utilisation > need.deadline_s
        most = f"; at the low end of its speed in {seconds(first.time_s.high)}, too late" * late
        for o in found.options[1:] if not late else ():  # What costs less is not first for a reason
            slow = o.time_s.high / need.assumptions.utilisation if o.time_s else 0.0
            if slow > need.deadline_s and (phrases.dearer(need, o, first) or 1.0) < 1.0:
                most = f"; {phrases.machine_of(o)} costs less, but may take {seconds(slow)}"
                break
        said.append(f"done in {seconds(first.time_s.value)} of the {seconds(need.deadline_s)} allowed{most}")
    apart = any(phrases.COUNTED in advised for advised in found.advice)
    if need.mode == "train" and first.count > 1 and not apart:
        # How several of them talk to each other decides what they are worth together.
        link = f"they talk over {link_of(catalog.get(first.gpu_id), first.count)}"
        said.append(next((why for why in first.why if why.startswith(f"{first.count} reach")), link))
    basis = WORDS["bases"][first.basis].partition(":")[0].partition(" by")[0]
    known = next((why for why in first.why if why.startswith(BY)), basis)
    known += ", not of this card" * (first.basis == "transferred" and known != basis)
    shown = first.throughput.times(1 / first.throughput.value if first.parts else 1.0)
    value, low, high = (brief(getattr(shown, end)) for end in ("value", "low", "high"))
    again = f", {RECOMPUTES.detail}" * (RECOMPUTES.detail in first.why)
    of_size = f" of {need.pixels} px" * bool(need.pixels)
    of = " times that" if first.parts else f" {found.item}s/s{of_size}"
    again += ", where loading of data keeps up" * (need.mode == "train" and found.item == "image")
    again += "".join(f", with {why}" for why in first.why if why.endswith(AT_ONCE))
    said.append(f"speed: {value} ({low} to {high}){of} within 80 %, {known}{again}")
    if first.memory_spare is not None and not need.task:  # Said with its format there
        free = percent(max(0.0, first.memory_spare), 0)
        least, unsure = bool(need.least_gb), bool(need.least_gb) and first.memory_spare < LITTLE
        takes = f"takes {'at least ' * least}{phrases.memory_filled(need, first)} on each GPU"
        not_certain = ": whether it fits is not certain" * unsure
        memory = f"memory: {takes}, {free} stays free{not_certain}"
        if len(said) < MOST_REASONS:
            said.insert(len(said) - unsure, memory)
        else:  # What it rests on is never left out
            said[MOST_REASONS - 1] += f"; {memory}"
    return tuple(said[:MOST_REASONS])


def setup(need: Need, bought: Option) -> str:
    """What buying takes beside the card, and what is left of it."""
    spec, a = catalog.get(bought.gpu_id), need.assumptions
    host, (cards_w, host_w) = host_for(need, bought.gpu_id, bought.count)[0], phrases.drawn_w(need, bought)
    people = need.users if need.one_machine else 1
    energy, each = phrases.electricity(need, bought)[1] * need.users, " each" * (need.users > people)
    slots = (spec.number("slots") or 0.0) * bought.count * people
    fed = f": {phrases.fed_by(need, bought)}" * (spec.text("form") not in COMPUTERS)
    left = usd(bought.outlay_usd * (1 - a.depreciation) ** a.years)
    there = a.host_usd == 0 and not need.slots and bought.count * people > MOST_THERE
    risers = ", of which few boards have so many: risers or another one are not counted" * there
    # What a card draws idle no source states.
    all_week = a.hours_per_week == phrases.ALL_WEEK
    idle = " (idle is not counted)" if need.period_s else ", at all hours (idle would be less)" * all_week
    parts = [
        f"{phrases.sum_of(need, bought.outlay_usd)} in all, "
        + (f"{usd(bought.host_usd)} of it for the host ({host})" if bought.host_usd else "no new host"),
        f"{bought.power_w * people:g} W{each}{fed}" if bought.power_w else "",
        f"{slots:g} slot{'s' * (slots != 1)}{risers}" if slots else "",
        cooled(spec, served=need.fans or (bought.host_usd > 0 and "server" in host)),
        f"{usd(energy)} of electricity a month ({usd(12 * energy)} a year)"
        f"{f' for all {need.users}' * (need.users > people)} while it works{idle}, of about "
        f"{cards_w * people:.0f} W for GPUs, {host_w * people:g} W of the host and cooling x{a.cooling:g}"
        if bought.power_w else "",
        f"worth {left} after {a.owned_for}",
    ]  # fmt: skip
    return "; ".join(part for part in parts if part)


def has_no_fans(spec: GpuSpec) -> bool:
    """Whether a card is made for a server's airflow."""
    return spec.text("segment") == "server" and spec.text("form") == "pcie"


def cooled(spec: GpuSpec, *, served: bool = False) -> str:
    """How a card is cooled; without fans of its own by those of a server, which may be there: `served`."""
    if has_no_fans(spec) and not served:
        return "passive cooling: needs a server's airflow or a fan put on it"
    return f"{cooling} cooling" if (cooling := spec.text("cooling")) else ""


def runner_up(found: Recommendation) -> str:
    """The next GPU, and what speaks for it."""
    first = found.options[0]
    sets = bool(found.need.sets)  # Another number of the same GPU is then another answer
    others = [o for o in found.options if o.gpu_id != first.gpu_id or (sets and o.count != first.count)]
    if len(found.need.providers) > 1:  # Which are what is compared
        others = [o for o in found.options if o.provider != first.provider] or others
    # What was named for its own sake is what the first is compared with.
    chip = catalog.get(first.gpu_id).text("chip")  # Of two variants of a card that is compared, one is enough
    other = min(
        others,
        key=lambda o: (o.gpu_id not in found.need.named, sets and catalog.get(o.gpu_id).text("chip") == chip),
        default=None,
    )
    if other is None:
        return ""
    cost, of = phrases.dearer(found.need, other, first), phrases.cost_of(found.need)
    if found.need.goal == "energy" and first.energy_j_per_item and other.energy_j_per_item:
        cost, of = other.energy_j_per_item / first.energy_j_per_item, "energy of the same work"
    elif found.need.goal == "price" and first.outlay_usd and other.outlay_usd:
        cost, of = (
            other.outlay_usd / first.outlay_usd,
            "price with its machine" if first.host_usd else "price",
        )
    elif found.need.goal == "price" and not (first.outlay_usd or other.outlay_usd):
        cost, of = phrases.times(other.price_usd, first.price_usd), "price"
    many = "more than 100" if (cost or 0.0) > 100 else significant(cost or 0.0)
    said = [f"{many} times the {of}"] if cost is not None else []
    said += ["a tie within the uncertainty"] if cost and 1 / priced.EQUAL < cost < priced.EQUAL else []
    said.append(f"{significant(other.throughput.value / first.throughput.value)} times as fast")
    said += [f"{significant(other.speedup)} times what you have"] if other.speedup else []
    where = f" in {other.region}" * bool(found.need.region and other.way in RENTS and other.region)
    return f"{phrases.offered_as(other)}{where}: {', '.join(said)}"


def why(
    need: Need, found: Option, first: Option, speed: Record, one: float | None, spec: GpuSpec
) -> Iterator[str]:
    """Reasons of one option, against the first; `one` is the throughput of a single GPU."""
    faster = significant(found.throughput.value / first.throughput.value)
    cost = phrases.dearer(need, found, first)
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
    yield from (issue.detail for issue in speed.issues if issue == RECOMPUTES)
    # The file of a measurement, the title of a publication.
    where = speed.notes[0] if speed.notes else ""
    if speed.source is not None:
        where = speed.source.id if speed.origin == "measured" else speed.source.title
    yield "speed " + WORDS["bases"][found.basis].format(where)
    if need.task == "infer" and speed.notes:
        if not need.concurrent and (batch := re.fullmatch(r"batch (\d+)", speed.notes[0])):
            yield f"{int(batch[1]) * found.replicas}{AT_ONCE}"
        yield from (
            n for n in speed.notes[1:] if n.startswith((FIRST_TOKEN, BY)) or n.endswith((IDLE, SHORT_CACHE))
        )
    yield from (n for n in speed.notes if n.endswith((DIES, TOGETHER)))
    if speed.bound:
        yield f"bound by {speed.bound}"
