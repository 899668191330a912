"""The sentences of `choose` on what was named: will it do, is the price fair, how do two of them compare, and
whether renting or owning costs less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from math import ceil, inf
from statistics import median

from gpuwise.facts import catalog, prices
from gpuwise.judge.choose import candidates as priced
from gpuwise.judge.choose import fit, phrases
from gpuwise.judge.choose.answer import BEHIND, LITTLE
from gpuwise.judge.choose.fit import link_of, made_for_fp64
from gpuwise.judge.choose.need import HOURS_PER_YEAR, WORDS
from gpuwise.judge.choose.phrases import (
    begun,
    counted,
    machine_of,
    often,
    rate_of,
    sum_of,
    weekly_use,
    weights_of,
)
from gpuwise.judge.choose.speeds import AT_ONCE, OLDEST, Dealt, dealt_out, least_dealt_out
from gpuwise.model.gpu import RENTS, Offer
from gpuwise.model.judgement import Assumptions, Bill, Need, Option, Quote, Recommendation
from gpuwise.model.precision import Precision
from gpuwise.model.result import Issue, firsts
from gpuwise.model.units import brief, percent, seconds, significant, usd
from gpuwise.predictor.card import is_linked, runs_vllm


def why_first(found: Recommendation) -> str:
    """What speaks for the first option where one behind it is as fast and as cheap."""
    first, paid = found.options[0], found.options[0].outlay_usd
    for other in () if first.frontier else (o for o in found.options[1:] if o.frontier):
        cost = phrases.times(other.cost_per_item_usd, first.cost_per_item_usd)
        if cost is None or cost > 1 or other.throughput.value < first.throughput.value:
            continue
        late = other.time_s and other.time_s.high > (found.need.deadline_s or inf)
        measures = {
            "price": "asks a higher price",
            "power": "draws more watts",
            "energy": "takes more energy",
        }
        behind = next((w.removeprefix(BEHIND) for w in other.why if w.startswith(BEHIND)), "")
        reasons = {  # What puts it behind whatever it costs, then the rest
            behind: bool(behind),
            f"takes {usd(other.outlay_usd - paid)} more at once": other.outlay_usd > paid,
            measures.get(found.need.goal, ""): found.need.goal in measures,
            "may be too late": late,
            "is not yours": first.way == "have",
            "costs as much within 5 %": cost * priced.EQUAL >= 1,
        }
        if why := next((reason for reason, holds in reasons.items() if holds), ""):
            more = f"{counted(other.gpu_id, other.count)}, {phrases.obtained(other)}"
            return f"It is first though {more}, costs no more for the work: that {why}."
    return ""


def of_all(found: Recommendation) -> str:
    """What all machines take where several alike are wanted, how many people are on each, and what a rent for
    each of the people costs."""
    need, first, number, people = found.need, found.options[0], found.need.machines, found.need.sharing
    bought = next((o for o in found.options if o.outlay_usd), None)
    rented = next((o.per_hour_usd for o in found.options if o.way in RENTS and o.per_hour_usd), 0.0)
    hours, said = need.hire_h, list[str]()
    if number > 1 and bought:
        many = "such machines" if bought is first else f"of {machine_of(bought)} bought"
        said.append(f"{number} {many} take {sum_of(need, number * bought.outlay_usd)}")
    if number > 1 and first.way in RENTS:
        paid = sum_of(need, number * rented * (hours or 1.0))
        said.append(f"{number} such machines take {paid} for {f'{hours:,.0f} h' if hours else 'an hour'}")
    if people > number > 1:
        most = min(people, number * first.count)
        said.append(f"{people} people are {ceil(people / number)} to a machine: {most} have a GPU at a time")
        if need.either and hours and rented:
            span = f"a GPU for each of {people} people for {hours:,.0f} h is {people * hours:,.0f} GPU-hours"
            said.append(f"{span}, {sum_of(need, people * hours * rented)} to rent")
    return f"{begun('; '.join(said))}." * bool(said)


def sent_out(need: Need, first: Option, offers: Sequence[Offer]) -> tuple[str, str]:
    """What it costs that data leave a provider's network; and what of it is not known."""
    if not need.egress_gb or first.way not in RENTS:
        return "", ""
    rates = (o.egress_usd_per_gb for o in offers if o.provider == first.provider)
    rate, most = next((each for each in rates if each is not None), None), priced.most_egress()
    paid = f"{sum_of(need, need.egress_gb * (most if rate is None else rate))}{often(need)}"
    counted_in = "in the cost" if priced.egress_h(need) else "on top of it"
    if rate is not None:
        return f"{need.egress_gb:,.0f} GB sent out cost {paid} there, {counted_in}.", ""
    at = f"counted at ${most:.3g} a GB, the most known of anybody: {paid}, {counted_in}"
    return "", f"what {first.provider} asks for {need.egress_gb:,.0f} GB sent out ({at})"


def unknown(found: Recommendation) -> Iterator[str]:
    """What would matter for this answer and is not known, or not counted, here."""
    need, first = found.need, found.options[0]
    names = priced.few_of(need)
    there = (o for o in found.options[1:] if o.gpu_id in names or o.way == "have")
    about = [first, *firsts(((o.gpu_id, o.way), o) for o in there).values()]
    if rough := dict.fromkeys(phrases.short_name(o.gpu_id) for o in about if o.rough):
        are = "is" if len(rough) == 1 else "are"
        yield f"how fast {' and '.join(rough)} {are}, beyond an order of magnitude: by the data sheet alone"
    several = [o for o in about if o.count > 1 and o.basis != "measured"]
    if several and (need.mode == "train" or need.task):
        yield "how fast several GPUs are together: predicted, not measured"
    mine = {*need.have} if not need.upgrade else set[str]()
    apart = len(mine) > 1 or (need.beside and len({*mine, *names}) > 1)
    if apart and TOGETHER_HOLD not in found.answer:
        waits = ", and in training the faster waits for the slower" * (need.mode == "train")
        yield f"how fast different cards are together in one machine: each is judged by itself{waits}"
    if first.way == "spot":
        yield "when a spot machine is taken back"
    if need.title and not need.least_gb and not need.task:
        yield f"how much memory {need.title.partition(' (')[0]} takes, so none is checked"
    with_gb = {gpu: f" with {gb:g} GB" for gpu, gb in need.sizes}
    if first.way == "unpriced":
        yield f"what {phrases.machine_of(first)}{with_gb.get(first.gpu_id, '')} costs today"
    paid = {o.gpu_id for o in found.options if o.price_usd} | {first.gpu_id, *need.have}
    if dear := [f"{phrases.short_name(gpu)}{with_gb[gpu]}" for gpu in with_gb if gpu not in paid]:
        yield f"what {' and '.join(dear)} costs"
    if first.way in RENTS:
        yield from [f"which offers of no stated place are in {need.region}: left out"] * bool(need.region)
        yield f"what storage{', data sent out' * (not need.egress_gb)} and taxes cost"
    elif first.way != "have":
        shops = " (prices are of US shops)" * (need.currency[0] != "USD" or bool(need.region))
        yield f"taxes, import duty and shipping{shops}"
        kwh = need.assumptions.electricity_usd_per_kwh
        if (need.region or need.currency[0] != "USD") and kwh == Assumptions().electricity_usd_per_kwh:
            yield f"what a kWh costs {f'in {need.region}' if need.region else 'there'}: ${kwh:.3g} is taken"
    if need.quiet or (need.at_home and first.way not in RENTS):
        yield "how loud it is: only its watts and kind of fans are"


# Times the middle of what others ask, up to which a price is called so.
CALLED = ((0.75, "low"), (1.2, "fair"), (1.6, "rather high"), (inf, "high"))


def beside(quote: Quote, offers: Sequence[Offer], today: date) -> str:
    """How a price compares with those that others ask for the same GPU, by the last of them where none is
    fresh; empty where none is known."""
    per_hour = quote.kind in RENTS
    same = [o for o in offers if o.gpu_ids == (quote.gpu_id,) and o.per_hour == per_hour]
    asked = sorted((o for o in same if prices.is_fresh(o, today)), key=lambda o: o.per_gpu)
    asked = asked or sorted(same, key=lambda o: o.seen_on)[-1:]
    unit, name = "/h" if per_hour else "", phrases.counted(quote.gpu_id, quote.count)
    if not asked:
        known = f"no other price to {'rent' if per_hour else 'buy'} it is known here"
        return f"{usd(quote.usd)}{unit} for {name}: {known}"
    each = [quote.count * offer.per_gpu for offer in asked]
    low, middle, high = each[0], median(each), each[-1]
    called = next(word for most, word in CALLED if quote.usd <= most * middle)
    since = min(offer.seen_on for offer in asked)[:7]
    others = f"others ask {usd(low)} to {usd(high)}{unit} since {since}, the middle of {len(asked)} "
    others += f"{usd(middle)}{unit}"
    if len(asked) == 1:
        others = f"the last price known, of {asked[0].seen_on}, is {usd(middle)}{unit}"
    return f"{usd(quote.usd)}{unit} for {name} is {called}: {others}"


def against(bill: Bill, found: Recommendation) -> str:
    """What the work costs elsewhere beside what the first option takes; without a sum, or an amount of work,
    the price below which the other costs less. Empty where no price of the first is known."""
    need, first, name, of = found.need, found.options[0], phrases.machine_of(found.options[0]), begun(bill.of)
    if first.per_hour_usd is None:
        return ""
    if need.items and first.cost_usd:  # Of what is stated, in a month where it comes again
        often, use = (phrases.MONTH_S / need.period_s if need.period_s else 1.0), ""
        each = " a month" if need.period_s else ""
        items, mine = need.items * often, first.cost_usd.value * often
    else:  # Of all that it does in the hours of a month
        hours, each = priced.hours_a_month(need), " a month"
        use = weekly_use(need.assumptions.hours_per_week) + ", all of them busy" * (not need.concurrent)
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


def machines(found: Recommendation, first: Option, number: int, share: int, last: Option | None) -> str:
    """What a number of GPUs in machines of an option costs, the last of them smaller where one is, and how
    fast they are where that is known: what joins machines for training is not."""
    need = found.need
    rented, old = first.way in RENTS, ", old, without the machine" * (first.way == "unpriced")
    usd_of = {o: o.outlay_usd or o.per_hour_usd or (o.last_usd or 0.0) * o.count for o in (first, last) if o}
    hours = need.hire_h or (first.time_s.value / 3600 if first.time_s else HOURS_PER_YEAR / 12)
    span = f"{hours:,.0f} h" if need.hire_h else "the work" if first.time_s else "a month around the clock"
    sums = {" an hour": 1.0, f" for {span}": hours} if rented else {"": 1.0}
    if rented and need.deadline_s and first.time_s:
        sums[f" for all {seconds(need.deadline_s)}"] = need.deadline_s / 3600
    whole = share * usd_of[first] + (usd_of[last] if last else 0.0)
    cost = ", ".join(f"{sum_of(need, whole * times)}{what}" for what, times in sums.items())
    held = share * first.count + (last.count if last else 0)
    of = f"{first.count}{f' and one of {last.count}' if last else ''}"
    parts = f" as {share} machine{'s' * (share > 1)} of {of}" * (share > 1 or last is not None)
    got = f"{number} x {phrases.short_name(first.gpu_id)}{parts}{f', {held} in all,' * (held > number)}"
    where = f"{first.provider and f' from {first.provider}'} at {usd(usd_of[first])}{'/h' * rented}"
    where += " each" * (share > 1)
    where += f" and {usd(usd_of[last])}{'/h' * rented}" if last else ""
    take = f"{'Rent' if rented else 'Buy'} {got}{where} ({phrases.dated(first)}{old}): {cost}"
    take = take if usd_of[first] else f"Take {got}, price unknown"
    alone = rate_of(first.throughput.value * share + (last.throughput.value if last else 0.0), found.item)
    done = f" and {seconds(first.time_s.value)} for the work" if first.time_s else ""
    if not parts:
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


def lacks(gpu: str) -> str:
    """What a GPU of an old generation lacks: new software, matrix units, and FP16 as fast as FP32."""
    spec = catalog.get(gpu)
    if float(spec.text("compute_capability") or OLDEST) >= OLDEST:
        return ""
    rates = {peak.format: peak.flop_per_s for peak in sorted(spec.peaks, key=lambda peak: peak.flop_per_s)}
    half, single = rates.get("fp16", 0.0), rates.get("fp32", 0.0)
    slow = f", {significant(half / 1e12)} TFLOP/s in FP16, 1/{single / max(half, 1.0):.0f} of its FP32"
    units = ", no matrix units" * (spec.supports("fp16") is False)
    slow *= 0 < half < single
    engine = ", no BF16" * (spec.supports("bf16") is False) + ", no vLLM" * (not runs_vllm(spec))
    return f"{phrases.short_name(gpu)} is {spec.text('architecture')}: no CUDA after 12{units}{slow}{engine}"


def feature(found: Recommendation) -> str:
    """Whether the work needs what a GPU may have, beside the first option."""
    need, first = found.need, found.options[0]
    if need.feature != "nvlink":
        return str(WORDS["features"][need.feature][1])
    if first.count == 1:
        return "No: one GPU does it, and talks to no other."
    name, link = phrases.counted(first.gpu_id, first.count), link_of(catalog.get(first.gpu_id), first.count)
    if is_linked(catalog.get(first.gpu_id), first.count) and "PCIe" not in link:
        return f"{name} work without it, more slowly: the speed below counts on {link}."
    reach = next((why for why in first.why if why.startswith(f"{first.count} reach")), "").partition(" (")[0]
    return f"No: {name} do it over {link}{f'; {reach}' if reach else ''}."


def not_for(need: Need, found: Recommendation) -> str:
    """Whether the last prices known keep a budget that no fresh price was checked against; empty where one
    was."""
    if UNCHECKED not in found.need.notes or need.budget_usd is None:
        return ""
    paid = {o: phrases.last_outlay(need, o) for o in found.options if o.last_usd and not o.stale}
    if not paid:
        what = "it" if priced.names_of(need) else "what does it"
        return f"Whether the budget is kept cannot be said: no price of {what} is known."
    least = min(paid, key=lambda option: paid[option])
    able = "Yes" if paid[least] <= need.budget_usd else "No"
    machine = need.assumptions.host_usd is None
    takes = f"{phrases.machine_of(least)}{' with a machine' * machine} took {sum_of(need, paid[least])}"
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
    ratio, name = fast.throughput.value / slow.throughput.value, phrases.machine_of(slow)
    dearer = phrases.dearer(found.need, fast, slow)
    alike = (fast.way in RENTS) == (slow.way in RENTS)  # A rent is paid for the work, a card for years
    cost = f", at {significant(dearer)} times its cost for the same work" if dearer and alike else ""
    much = f"faster: {significant(ratio)} times {name}" if ratio > 1.005 else f"as fast as {name}"
    return f"{begun(phrases.machine_of(fast))} {'is' if fast.count == 1 else 'are'} {much}{cost}."


TOGETHER_HOLD = "hold it"  # Said of different cards in one machine


def together(gpus: Sequence[str], found: Dealt, price: str = "") -> str:
    """How fast different cards answer together; the last is bought where it has a price."""
    there = Counter(gpus[:-1] if price else gpus).items()
    name = " and ".join(phrases.counted(gpu, number) for gpu, number in there) + " together" * (not price)
    name = f"beside {name} {phrases.counted(gpus[-1], 1)}{price} does it: together they" if price else name
    low, value, high = (brief(getattr(found.tokens_per_s, end)) for end in ("low", "value", "high"))
    memory = f"{found.needed_bytes / 2**30:.3g} of {found.room_bytes / 2**30:.3g} GiB in {found.weights}"
    how = "one answer at a time, layers dealt out by llama.cpp"
    return f"{name} {TOGETHER_HOLD}, {memory}, and do about {value} tokens/s ({low} to {high}), {how}."


def joined(need: Need, gpu: str, count: int, offers: Sequence[Offer]) -> str:
    """How fast what is there answers together with a number of another GPU, and what these cost."""
    cards, quote = (*need.have, *[gpu] * count), next((q for q in need.quotes if q.gpu_id == gpu), None)
    price = f" at {usd(quote.usd)}, as stated," if quote else fit.last_price(need, gpu, offers)
    asked = f", of {sum_of(need, need.budget_usd)} to spend" if need.budget_usd else ""
    of = price if quote else f" ({f'{price}{asked}'[2:]})" * bool(price or asked)
    if found := dealt_out(need, cards):
        name, rest = together(cards, found).split(" together ", 1)
        return begun(f"{'yes: ' * (need.asks == 'able')}{name[0].lower()}{name[1:]}{of} together {rest}")
    weights, needed, room = least_dealt_out(need, cards)
    names = " and ".join(counted(each, number) for each, number in Counter(cards).items())
    takes = f"it takes {needed / 2**30:.3g} of their {room / 2**30:.3g} GiB in {weights}"
    return begun(f"{'no: ' * (need.asks == 'able')}{names}{of} together do not hold it: {takes}.")


def largest(models: Mapping[Precision, str], gpu: str, count: int, context: int) -> str:
    """The largest models that a number of GPUs hold, the shortest format of weights first."""
    held = ", ".join(f"{name} in {weights}" for weights, name in reversed([*models.items()]))
    cards = f"{phrases.counted(gpu, count)} can hold with {context:,} tokens"
    return f"The largest model known here that {cards}: {held}."


def _speed(found: Recommendation) -> str:
    """How fast the GPU that was named does the work, and whether that is as fast as was asked."""
    need, first = found.need, found.options[0]
    first = next((o for o in found.options if o.way == "have"), first)  # Of what is there, that is asked
    people = max(1, need.concurrent)
    speed, item = first.throughput.times(1 / people), f"{found.item}s/s"
    each_h = 3600 if speed.value < phrases.SLOW else 1  # In the unit of the value
    low, high = brief(speed.low * each_h), brief(speed.high * each_h)
    alone = " for one answer at a time" * (need.task == "infer")
    each = f" for each of {people} people" if people > 1 else alone
    rate = f"about {rate_of(speed.value, found.item)} ({low} to {high}){each}{weights_of(need, first)}"
    does = f"{phrases.counted(first.gpu_id, first.count)} {'do' if first.count > 1 else 'does'} {rate}"
    if not need.rate:
        return f"{begun(does)}."
    sure = "Yes" if speed.low >= need.rate else "No" if speed.high < need.rate else ""
    sure = sure or ("Probably" if speed.value >= need.rate else "Probably not")
    return f"{sure}: {does}; {need.rate:g} {item} are asked."


def _resale(found: Recommendation) -> str:
    """What is left of each purchase when its years are over, and what a month of owning it costs, at the last
    price where none is fresh; the machine around the cards apart, which loses value whatever is in it."""
    need, a = found.need, found.need.assumptions
    months, use, said = 12 * a.years, weekly_use(a.hours_per_week), dict[tuple[str, int], tuple[float, str]]()
    for own in found.options:
        price = own.outlay_usd - own.host_usd or (own.last_usd or 0.0) * own.count
        if not price or own.way in RENTS or (own.gpu_id, own.count) in said:
            continue
        left = price * (1 - priced.lost_share(a))
        lost, paid = (price - left) / months, phrases.electricity(need, own)[1] * need.users
        said[own.gpu_id, own.count] = (
            lost,
            (
                f"{begun(machine_of(own))} for {sum_of(need, price)} ({fit.SOLD.get(own.way, 'last price')}, "
                f"{own.seen_on[:7]}) is worth about {sum_of(need, left)} after {a.owned_for}: "
                f"{sum_of(need, lost)} of value a month, and {usd(paid)} of electricity{use}"
            ),
        )
    each = [text for _, text in said.values()]
    (low, at), *rest = sorted((lost, key) for key, (lost, _) in said.items())
    least = (
        f"{begun(counted(*at))} loses less: {usd(low)} a month against {usd(rest[0][0])}. " if rest else ""
    )
    year = f"Each loses {percent(a.depreciation, 0)} a year, an assumption (--depreciation)."
    return f"{least}{'. '.join(each)}. {year}"


ADVISED = "advised by others"  # In the note of what somebody else thinks that it takes


def advised(found: Recommendation) -> str:
    """Whether what others advise is what it takes: whether they are right is asked."""
    need, first, said = found.need, found.options[0], list[str]()
    asked = need.named if any(ADVISED in note for note in need.notes) else ()
    for gpu in () if first.gpu_id in asked else asked:
        option = next((o for o in found.options if o.gpu_id == gpu), None)
        cost = option and phrases.dearer(need, option, first)
        why = f"at {significant(cost)} times the {phrases.cost_of(need)}" if cost else ""
        if option is None and gpu in found.rejected:
            why = found.rejected[gpu].detail
        said += [f"{phrases.short_name(gpu)}: {why}"] * bool(why)
    does = f"{machine_of(first)} {'does' if first.count == 1 else 'do'} it"
    if first.gpu_id in asked:
        return f"Yes: {does}."
    return f"No, it does not take that: {does} ({'; '.join(said)})." if said else ""


def _lost(name: str, why: Issue) -> str:
    """What a GPU without a place says of whether it can: no, or nothing, where only a fact or price lacks."""
    if fit.is_unknown(why.detail):
        return f"Whether {name} can is not known: {why.detail}."
    no = "" if why.code == fit.NO_PRICE else "No. "
    return f"{no}{begun(name)}: {why.detail}."


def verdict(found: Recommendation, other: Recommendation | None) -> str:
    """Whether the GPU that was named can do the work, or is more than it takes: then `other` names what else
    does it. Empty where that was not asked."""
    need, first = found.need, found.options[0]
    asked = priced.names_of(need) if need.sets or not need.have else ()
    named, name = {*need.have, *asked}, phrases.counted(first.gpu_id, first.count)
    if need.feature:
        return feature(found)
    if NOT_ENOUGH in need.notes:
        return "No, that much memory is not enough."
    if need.asks == "able" and UNCHECKED in need.notes and not named:
        return ""  # Said by `not_for`
    if need.asks == "able" and len({*need.sets}) > 1 and not need.have:
        gpu, count = need.sets[0]  # "Is A enough, or should I take B"
        able = any((o.gpu_id, o.count) == (gpu, count) for o in found.options)
        name, left = phrases.counted(gpu, count), found.rejected.get(gpu)
        double = need.precision == Precision.FP64 and not made_for_fp64(gpu)
        slow = f", though slowly: {fit.slow_in_fp64(gpu)}" * double
        said = f"Yes, {name} can{slow}." if able else f"Whether {name} can is not known."
        return f"{said if left is None else _lost(name, left)} {_faster(found)}".strip()
    if need.upgrade and need.asks in ("able", "too much") and first.speedup:
        return _replaced(found)
    if need.asks == "able":
        mine = next((o for o in found.options if o.way == "have"), None)
        if lost := next((gpu for gpu in need.have if gpu in found.rejected and mine is None), ""):
            return _lost(phrases.counted(lost, need.have.count(lost)), found.rejected[lost])
        first = mine or first
        name = phrases.counted(first.gpu_id, first.count)
        if first.gpu_id in named or not named:
            if AS_MANY in need.notes:
                return f"One alone cannot; {name} can."
            if need.title and not (need.least_gb or need.task):
                return f"By its speed {name} can; how much memory it takes is not known here."
            if need.least_gb and (first.memory_spare or 0.0) < LITTLE:
                return f"Perhaps: of {name} nearly all memory is taken."
            slow = " though slowly:" if need.task == "infer" and need.latency_s is None else ""
            return f"Yes,{slow} {name} can."
        gpu = next((gpu for gpu in named if gpu in found.rejected), "")
        if not gpu:
            return ""
        return _lost(phrases.counted(gpu, dict(need.sets).get(gpu, 1)), found.rejected[gpu])
    if need.asks == "faster":
        return _faster(found)
    if need.asks == "resale" and any(o.outlay_usd or o.last_usd for o in found.options):
        return _resale(found)
    if need.asks == "speed":
        return _speed(found)
    if need.asks == "at once" and (some := next((w for w in first.why if w.endswith(AT_ONCE)), "")):
        within = f", each token within {seconds(need.latency_s)}" if need.latency_s else ""
        return f"{begun(name)} gives about {some}, of {need.context or 0:,} tokens each{within}."
    if need.asks == "energy" and first.power_w:
        return bills(found)
    if need.asks != "too much":
        return ""
    if need.have and not need.sets:
        return _replaced(found)
    least = other.options[0] if other else first
    cost = phrases.dearer(need, least, first)
    speed = significant(least.throughput.value / first.throughput.value)
    does = f"{phrases.offered_as(least)}, {speed} times as fast"
    verb = "is" if first.count == 1 else "are"
    if least.key == first.key:
        return (
            f"{begun(name)} {verb} worth the price and not overkill: nothing that costs less does this work."
        )
    more = f"for {significant(cost or 0.0)} times its cost of the work, {does}"
    if cost and cost < phrases.WORTH_A_WORD:
        much = "not worth it" if least.throughput.value > first.throughput.value else "overkill"
        return f"{begun(name)} {verb} {much}: for {significant(cost)} of the cost, {does}."
    return f"{begun(name)} {verb} worth the price and not overkill: {more}."


def _replaced(found: Recommendation) -> str:
    """Whether anything is worth taking the place of what is there: the fastest, and by how much it is."""
    mine = " and ".join(counted(*each) for each in Counter(found.need.have).items())
    new = [o for o in found.options if o.way != "have" and o.speedup]
    if not new:
        return f"No: nothing within the limits takes the place of {mine}."
    best = max(new, key=lambda option: option.speedup or 0.0)
    worth = (best.speedup or 0.0) >= fit.UPGRADE
    most = max((catalog.get(gpu).memory_bytes or 0.0 for gpu in found.need.have), default=0.0)
    sizes = [size / 2**30 for size in (catalog.get(best.gpu_id).memory_bytes or 0.0, most)]
    memory = f", and has {sizes[0]:.3g} GB on a card instead of {sizes[1]:.3g}" * (sizes[0] != sizes[1])
    name = f"{machine_of(best)}{phrases.priced_at(best)}"
    return (
        f"{'Yes' if worth else 'No, not for its speed'}: {name} is {significant(best.speedup or 0.0)} times "
        f"as fast as {mine}, yours{memory}."
    )


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
    months = own.outlay_usd / saved * need.period_s / phrases.MONTH_S
    late = f"does not pay for it in {need.assumptions.owned_for}"
    paid = f"pays for it after {ceil(months):,.0f} months" if months < 12 * need.assumptions.years else late
    if not need.batched:
        return f"Buying costs less in time: the rent that it saves {paid}."
    # Rent grows with the work, and what is bought costs the same at any amount.
    least = f"{brief(items * (own.cost_usd.value - energy) / saved)} {item}s a {each}"
    return f"Buying costs less from {least} on; at this amount the rent that it saves {paid}."


def either(need: Need, rent: Option, own: Option, item: str) -> tuple[str, bool]:
    """Whether to rent or to buy: what each takes for the same work, and where the two meet; and whether
    buying costs less."""
    a, often, meet = need.assumptions, phrases.MONTH_S / need.period_s if need.period_s else 1.0, ""
    same = "for the same"
    if need.period_s and rent.cost_usd and own.cost_usd:
        rented, bought = often * rent.cost_usd.value, often * own.cost_usd.value
        span, meet = "a month", _pays(need, rent, own, item)
    elif need.items and rent.cost_usd:  # Bought for it, and for nothing else while it loses its value
        joules = (own.energy_j_per_item or 0.0) * need.items * need.users
        energy = joules / 3.6e6 * a.electricity_usd_per_kwh
        rented, bought = rent.cost_usd.value, own.outlay_usd * priced.lost_share(a) + energy
        span = "for this work alone"
    else:
        hours = _hired(need) or priced.hours_of_use(need)
        hourly, energy = _instead_of_rent(need, rent, own)
        rented, bought = hours * hourly, hours * energy + own.outlay_usd * priced.lost_share(a)
        span = f"for {hours:,.0f} h" if _hired(need) else f"in {a.owned_for}{weekly_use(a.hours_per_week)}"
        rent_h = rented / (rent.per_hour_usd or inf)
        same = f"for {rent_h:,.0f} h" + ", in which it does as much" * (
            abs(rent_h / hours - 1) > phrases.WORTH_SAYING
        )
    less, machine = bought < rented, " with its machine" * bool(own.host_usd)
    price = f"{usd(own.outlay_usd)}{machine}, {phrases.dated(own)}{', old' * own.stale}"
    each = f" for each of {need.users} people" * (need.users > 1)
    buy = f"{machine_of(own)}{each} bought ({price}) take{'s' * (own.count == 1)}"
    buy += f" {phrases.sum_of(need, bought)}"
    source = rent.provider and f" from {rent.provider}"
    rents = f"{machine_of(rent)}{each} rented{source}{phrases.priced_at(rent)}"
    said = f"{'Buy' if less else 'Rent'}: {span} {buy}, {rents} {phrases.sum_of(need, rented)} {same}."
    return f"{said} {meet or _from_hours(need, rent, own)}", less


def rented_instead(need: Need, rent: Option, mine: Option) -> str:
    """What renting costs beside what is there."""
    cost = phrases.dearer(need, rent, mine)
    if cost is None:
        return ""
    less = "costs less" if cost < 1 else "costs more"
    faster = significant(rent.throughput.value / mine.throughput.value)
    name = f"{machine_of(rent)}, {phrases.obtained(rent)}{phrases.priced_at(rent)}"
    of = f"{significant(cost)} times the {phrases.cost_of(need)} on {machine_of(mine)}, yours"
    return f"Renting {less}: {name}, takes {of}, and is {faster} times as fast."


def meets(found: Recommendation) -> str:
    """From when on buying costs less than renting, where both were allowed and have a place."""
    need, rents = found.need, (option for option in found.options if option.way in RENTS)
    rent, own = next(rents, None), next((option for option in found.options if option.outlay_usd), None)
    other = need.either or need.have or need.sets or priced.is_once(need) or need.goal != "cost"
    if rent is None or own is None or other:
        return ""
    said = _pays(need, rent, own, found.item) or _from_hours(need, rent, own)
    less = phrases.times(own.cost_per_item_usd, rent.cost_per_item_usd)
    if found.options[0] is rent and less and less < 1 and not need.period_s:
        return ""  # As is assumed already: `why_first` says why it is not first
    return said.rstrip(".").replace("Buying", f"buying {machine_of(own)}", 1)


def _hired(need: Need) -> float | None:
    """Hours of rent that the question states by themselves, and not by years of so many hours a week."""
    return need.hire_h if need.assumptions.years == Assumptions().years else None


def _instead_of_rent(need: Need, rent: Option, own: Option) -> tuple[float, float]:
    """USD of rent for what an owned option does in an hour, and of electricity for that hour."""
    same = 1.0 if priced.is_service(need) else own.throughput.value / rent.throughput.value
    energy = phrases.electricity(need, own)[1] / priced.hours_a_month(need) * need.users
    hourly = rent.per_hour_usd or 0.0
    if need.items and not need.period_s and rent.price_usd:  # Of which an hour is paid at the least
        hourly = rent.price_usd.value * need.users
    return hourly * same, energy


def _from_hours(need: Need, rent: Option, own: Option) -> str:
    """From how many hours of use on buying costs less."""
    a = need.assumptions
    hourly, energy = _instead_of_rent(need, rent, own)
    saved = hourly - energy
    if saved <= 0:
        return (
            f"Buying never pays: its electricity alone costs {usd(energy)} an hour, that rent {usd(hourly)}."
        )
    hours = own.outlay_usd * priced.lost_share(a) / saved  # The value that it loses while it is kept
    week = hours / priced.WEEKS_PER_YEAR / a.years
    if week > phrases.ALL_WEEK:
        return f"Buying does not pay within {a.owned_for}, even around the clock."
    if need.items or _hired(need):
        return f"Buying costs less from {hours:,.0f} h of use in {a.owned_for} on."
    return f"Buying costs less from {week:.3g} h a week on ({hours:,.0f} h in {a.owned_for})."


def bills(found: Recommendation) -> str:
    """Watts, kWh and electricity of what is there, of each that is compared, the least first, or of the first
    option: of the cards at this work, and of all with cooling."""
    need, mine = found.need, [option for option in found.options if option.way == "have"]
    some = mine or (found.options if len(need.sets) > 1 else found.options[:1])
    said = dict[str, tuple[float, str]]()
    for name, option in firsts((counted(o.gpu_id, o.count), o) for o in some if o.power_w).items():
        (kwh, paid), (at_work, host) = phrases.electricity(need, option), phrases.drawn_w(need, option)
        one, use = option.count == 1, weekly_use(need.assumptions.hours_per_week)
        watts = f"about {at_work:.0f} W at this work, {option.power_w:.0f} W at most"
        around = f"the machine around {'it' if one else 'them'} {host:.0f} W"
        month = f"{kwh:,.0f} kWh a month{use}: {sum_of(need, paid)} of electricity"
        drawn = f"{begun(name)} draw{'s' * one} {watts}, and {around}"
        said[name] = paid, f"{drawn}, with cooling {month}, {sum_of(need, 12 * paid)} a year."
    if not said:
        return ""
    low, *more = sorted(said, key=lambda name: said[name][0])
    each = " ".join(said[name][1] for name in (low, *more))
    each += f" A kWh is taken at ${need.assumptions.electricity_usd_per_kwh:.3g}."
    return f"Least electricity: {low}. {each}" if more else each
