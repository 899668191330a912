"""Which GPU to buy or rent for a piece of work, and why."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from math import ceil, inf
from pathlib import Path
from typing import Any, get_args

from gpuwise.errors import GpuwiseError, InputError, NoDataError, check_wanted
from gpuwise.facts import catalog, prices
from gpuwise.jobs.facts import Facts
from gpuwise.judge.choose import answer as say
from gpuwise.judge.choose import candidates as priced
from gpuwise.judge.choose import decide, fit, phrases, speeds, verdicts
from gpuwise.judge.choose import need as needs
from gpuwise.judge.choose.candidates import (
    EXPORT,
    FEW,
    PAID,
    TOGETHER,
    few_of,
    names_of,
    offered,
    stated,
    usable,
)
from gpuwise.judge.choose.need import USUAL, need_for
from gpuwise.judge.choose.speeds import Forecast
from gpuwise.model.gpu import MODULES, RENTS, Offer
from gpuwise.model.judgement import Assumptions, Need, Option, Quote, Recommendation
from gpuwise.model.precision import Precision
from gpuwise.model.result import Issue, Record, firsts
from gpuwise.model.units import listed, percent, seconds, usd
from gpuwise.predictor.card import UNMEASURED
from gpuwise.show.table import Answer

__all__ = ["choose", "need_for", "offers_with"]


def choose(
    need: Need | str,
    facts: Facts | None = None,
    *,
    forecast: Forecast | None = None,
    every_provider: bool = False,
    alternatives: bool = True,
) -> Answer[Recommendation]:
    """Rank GPUs by what the work costs on them, with intervals, reasons and what would change the answer.

    `facts` hold offers, results and the day, by default all that is known today. `alternatives` also says
    what other kinds of rent and other GPUs would change. Raises InputError where limits contradict each
    other, with the one to relax and by how much; NoDataError where no GPU has both a speed and a price.
    """
    from gpuwise.predictor.forecast import forecast as predicted  # numpy: only when it is asked

    rates = {code: usd for code, (usd, _) in prices.rates().items()}
    facts = facts or Facts()
    if isinstance(need, str):
        need = needs.need_of(need, {}, rates, today=facts.today)[0]
    if not isinstance(need, Need):
        raise InputError(
            f"choose takes a Need, not {need!r:.80}", hint="a question in words, or need_for(...)"
        )
    for gpu in (*names_of(need), *need.have):  # a need of a file may name what is none
        catalog.get(gpu)
    try:
        return _chosen(need, facts, forecast or predicted, every_provider, alternatives)
    except GpuwiseError as error:  # Who is refused wants to see what was understood
        error.args = (say.refusal(need, error, needs.item_of(need)),)
        raise


def _chosen(
    need: Need, facts: Facts, forecast: Forecast, every_provider: bool, alternatives: bool
) -> Answer[Recommendation]:
    market = _Market(
        facts=facts, offers=_believed(need, facts), forecast=forecast,
        item=needs.item_of(need),
        every_provider=every_provider or len(need.providers) > 1 or need.asks == "provider",
    )  # fmt: skip
    if need.deadline_s is not None and need.items is None:
        _refuse_what_fits_nowhere(market, need)
    if needs.SUPPORTED in need.notes and not (
        (made := market.best_or_none(needs.settled(need))) and made.options[0].price_usd
    ):
        none = f"no fresh price within the limits of {needs.SUPPORTED}"
        need = replace(need, only=(), notes=(*(n for n in need.notes if n != needs.SUPPORTED), none))
    if need.asks == "energy" and not (need.providers or need.region):
        need = replace(need, acquire="own", hire_h=None)  # Who pays for it has the card
    if need.either and need.hire_h and phrases.states_hours(need):
        weeks, a = need.hire_h / need.assumptions.hours_per_week, need.assumptions
        if round(12 * weeks / priced.WEEKS_PER_YEAR) == 1:  # Of a month as it is in all years
            need = replace(need, hire_h=None)
        else:  # What is bought for it is sold again
            need = replace(need, assumptions=replace(a, years=weeks / priced.WEEKS_PER_YEAR))
    need, largest = _with_largest(market, _in_slots(need))
    several = _in_machines(market, need)
    choice = several or _answered(market, needs.settled(need))
    choice = _with_left_out(market, choice, need)
    choice = _in_pace(_with_both_ways(market, choice, several is not None))
    billed = verdicts.against(need.bill, choice) if need.bill else ""
    if billed and (need.bill is None or need.bill.usd is None):  # No sum to compare with
        choice, billed = replace(choice, reasons=(billed.rstrip("."), *choice.reasons)[:3]), ""
    unsaid = (verdicts.UNCHECKED,) if need.asks == "able" else ()  # Of which the verdict speaks
    broken = [n for n in choice.need.notes if n.startswith(BROKEN) and n not in unsaid]
    sent, not_known = verdicts.sent_out(choice.need, choice.options[0], market.offers)
    over = needs.OVER_BUDGET in broken
    other = _another(market, needs.settled(need), "limits") if over else None
    kept = "is known to keep" if any(o.way == "unpriced" for o in choice.options) else "keeps"
    said = (
        *(f"{phrases.begun(note)}." for note in broken if note != needs.OVER_BUDGET),
        f"None of these {kept} the budget of {phrases.sum_of(need, need.budget_usd or 0.0)}." if over else "",
        f"Within it: {phrases.offered_as(other.options[0])}." if other else "",
        say.not_counted(need),
        *need.corrected,
        largest,
        _beside(market, need),
        billed,
        verdicts.advised(choice),
        choice.answer,
        "" if several else verdicts.why_first(choice),
        "" if several else verdicts.of_all(choice),
        next((f"{phrases.begun(a)}." for a in choice.advice if phrases.COUNTED in a), ""),
        sent,
    )
    notes = tuple(note for note in choice.need.notes if note not in broken)  # Said once
    unused = [] if several else [*_unused(choice.need)]
    ignored = tuple(dict.fromkeys((*choice.need.ignored, *unused)))
    choice = replace(
        choice,
        answer=" ".join(filter(None, said)),
        need=replace(choice.need, notes=notes, ignored=ignored),
        unknown=(*verdicts.unknown(choice), *filter(None, [not_known]), *choice.unknown),
    )
    if alternatives:
        choice = _with_alternatives(market, choice)
    return _answer(choice)


# Assumptions that may be stated, as people say them, and limits of what is bought, or of rent, alone.
OF_OWNING = {
    "electricity_usd_per_kwh": "the price of electricity", "host_usd": "the price of the host",
    "host_w": "what the host draws", "years": "the years", "cooling": "cooling",
    "depreciation": "the loss of value",
}  # fmt: skip
LIMITS_OF = {
    "rent": {"power_w": "the watts", "outlet_w": "the outlet", "slots": "the slots", "quiet": "quiet",
             "sold": "new or used"},
    "own": {"spot": "spot", "community": "community", "reserved": "reserved", "serverless": "serverless",
            "egress_gb": "what is sent out"},
}  # fmt: skip


def _in_slots(need: Need) -> Need:
    """The need with cards in place of modules of the same name, where what is bought goes into slots."""
    if need.acquire != "own" or not (need.slots or need.assumptions.host_usd == 0):
        return need
    cards = [spec.id for spec in catalog.all_gpus() if spec.text("form") == "pcie"]
    modules = {
        gpu: f"{gpu.partition('-')[0]}-" for gpu in need.named if catalog.get(gpu).text("form") in MODULES
    }
    instead = {gpu: [card for card in cards if card.startswith(name)] for gpu, name in modules.items()}
    named = tuple(dict.fromkeys(each for gpu in need.named for each in instead.get(gpu) or [gpu]))
    said = f"{', '.join(named)}: {verdicts.ADVISED}"
    notes = tuple(said if verdicts.ADVISED in note else note for note in need.notes)
    return replace(need, named=named, notes=notes) if instead else need


def _unused(need: Need) -> Iterator[str]:
    """What is stated and has no part in the answer: limits of what is not asked for, and assumptions of
    owning where nothing is owned."""
    yield from (said for field, said in LIMITS_OF.get(need.acquire, {}).items() if getattr(need, field))
    a, usual = need.assumptions, Assumptions()
    if need.acquire == "rent":
        yield from (said for field, said in OF_OWNING.items() if getattr(a, field) != getattr(usual, field))


def _in_pace(choice: Recommendation) -> Recommendation:
    """The choice, with what its options say of the default limit in place of what was tried on the way."""
    need = choice.need
    if needs.IN_PACE not in need.notes:
        return choice
    slow = [max(1, need.concurrent) / o.throughput.value > needs.USUAL_TPOT_S for o in choice.options]
    late = f"{'no option within the limits makes' if all(slow) else 'not all make'} {needs.IN_PACE}"
    notes = (*(note for note in need.notes if note != needs.IN_PACE), *[late] * any(slow))
    return replace(choice, need=replace(need, notes=notes))


def _with_largest(market: _Market, need: Need) -> tuple[Need, str]:
    """The need of the largest model that its limits hold, where it names none; and which it is, where that is
    the question."""
    notes = tuple(note for note in need.notes if not note.endswith(need.workloads[0][0]))
    if need.asks == "largest" and need.task == "infer":
        free = needs.settled(replace(need, asks=""))  # Its first has as much memory as any like it
        first = (market.best_or_none(free) or market.best(_unhurried(free, ""))).options[0]
        gpu, count = (first.gpu_id, first.count) if not names_of(need) else _one_set(need) or ("", 0)
        models = speeds.largest_models(needs.settled(need), gpu, count)
        if not models:
            raise NoDataError(f"no model known here fits on {phrases.counted(gpu, count)}", code="too-large")
        name, sets = models[list(models)[-1]], ((gpu, count),) if names_of(need) else ()
        formats = need_for(f"{needs.SERVED}{name}", mode="infer").formats if need.formats else ()
        context = needs.settled(need).context or 0
        held = replace(need, workloads=((name, 1.0),), formats=formats, asks="speed", notes=notes, sets=sets)
        return held, verdicts.largest(models, gpu, count, context)
    for name in need.larger:
        formats = need_for(name, mode="infer").formats if need.formats else ()
        larger = replace(need, workloads=((name, 1.0),), formats=formats, larger=())
        if (found := market.best_or_none(needs.settled(larger))) and (
            found.options[0].price_usd or names_of(need)
        ):
            return replace(larger, notes=(*notes, say.LARGEST.format(name)), by_default=True), ""
    return need, ""


def _in_order(choice: Recommendation, options: Sequence[Option]) -> Recommendation:
    """The choice with its options in this order, and with the words of its first one."""
    made = replace(choice, options=tuple(replace(o, rank=n) for n, o in enumerate(options, start=1)))
    if options[0] == choice.options[0]:
        return made
    return replace(made, answer=say.plainly(made), reasons=say.reasons(made), runner_up=say.runner_up(made))


# Share of GPUs more than were asked for, up to which whole machines of the largest size are taken.
SPARE = 0.05


def _in_machines(market: _Market, need: Need) -> Recommendation | None:
    """The machines that hold the number of GPUs which is asked for, the last of them smaller where that
    leaves less over, with what all of them cost; None where one machine holds it, or none has a price. Of
    several GPUs each has its own number."""
    numbers = dict(need.sets) or {"": need.gpus[0]}
    number, several = max(numbers.values()), len(numbers) > 1
    # Cards with fans of their own, bought, stand in workstations and frames of four, others in servers.
    fans = any(catalog.get(gpu).text("segment") != "server" for gpu in names_of(need)[:1])
    most = needs.MOST_AT_HOME if fans and need.acquire != "rent" else needs.MOST_TOGETHER

    def order(size: int) -> tuple[bool, int]:
        return -number % size > SPARE * number if several else size > most, -size

    sizes = sorted(TOGETHER, key=order)
    for size in sizes if number > needs.MOST_TOGETHER else ():
        share, rest = divmod(number, size)
        if rest and (several or size - rest <= SPARE * number):
            share, rest = share + 1, 0
        part = number / size if rest else share
        sets = tuple((gpu, min(count, size)) for gpu, count in need.sets)
        each = {gpu: ceil(numbers[gpu] / count) for gpu, count in sets} if several else {"": share}
        counts = [count for _, count in sets] or [size]
        of = f"one of {share} machines" if share > 1 else "the larger of two machines"
        of = f"one of as many machines as it takes, at most {share}" if len({*each.values()}) > 1 else of
        one = replace(
            need, sets=sets, gpus=(min(counts), max(counts)), items=need.items and need.items / part,
            concurrent=ceil(need.concurrent / part), asks="",
            budget_usd=need.budget_usd and need.budget_usd / part,
            notes=(*need.notes, f"each row is {of}{' with its part of the budget' * bool(need.budget_usd)}"),
        )  # fmt: skip
        with suppress(GpuwiseError):
            found = _first_answer(market, needs.settled(one))
            best, last = firsts((numbers.get(o.gpu_id, number), o) for o in found.options), None
            if rest:  # One more, with those that are left
                fewer = replace(one, sets=((found.options[0].gpu_id, rest),), gpus=(rest, rest), only=())
                fewer = replace(fewer, items=one.items and one.items * rest / size, budget_usd=None)
                last = market.best(needs.settled(fewer)).options[0]
            said = [
                verdicts.machines(found, option, count, each.get(option.gpu_id, share), last)
                for count, option in best.items()
            ]
            return replace(found, answer=" ".join(said))
    return None


def _in_time(market: _Market, need: Need) -> Recommendation | None:
    """As many machines as keep a deadline that one does not keep, were they as fast together as alone."""
    free = replace(need, deadline_s=None)
    slow = market.best_or_none(replace(free, gpus=(needs.MOST_TOGETHER,) * 2)) or market.best_or_none(free)
    if slow is None or not (time := slow.options[0].time_s):
        return None
    number = ceil(slow.options[0].count * time.value / (need.deadline_s or inf))
    return _in_machines(market, replace(free, sets=((slow.options[0].gpu_id, number),), only=()))


def _answered(market: _Market, need: Need) -> Recommendation:
    """The choice with its verdict. Whether something can do it has an answer even where it cannot: no, and
    what else would."""
    double = need.precision == Precision.FP64 and need.asks == "able" and names_of(need)
    if double and not any(map(fit.made_for_fp64, double)) and (better := _another(market, need)):
        slow = "; ".join(dict.fromkeys(map(fit.slow_in_fp64, double)))
        return replace(better, answer=f"No, though it runs: {slow}. {better.answer}")
    try:
        if need.beside and (joined := _joined(market, need)):
            choice = _with_verdict(market, _first_answer(market, replace(need, asks="", beside=False)))
            return replace(choice, answer=f"{joined} In their place: {choice.answer}")
        choice = _with_verdict(market, _first_answer(market, need))
        paid = verdicts.not_for(need, choice) if need.asks == "able" and need.budget_usd else ""
        said = (choice.answer, paid) if names_of(need) else (paid, choice.answer)
        return replace(choice, answer=" ".join(said)) if paid else choice
    except GpuwiseError as error:
        other, why = error.data.get("instead"), error.data.get("why")
        free = replace(need, sets=(), only=(), gpus=(1, needs.MOST_TOGETHER), asks="", beside=False)
        asked = need.beside or "does not fit" in str(error)
        if asked and (joined := _joined(market, need)):
            # At any price: what is asked about is answered, and this is what takes its place
            ways = filter(None, map(market.best_or_none, (free, replace(free, budget_usd=None, goal="cost"))))
            if alone := next(ways, None):
                dear = ", whatever it costs" * (alone.need.budget_usd != need.budget_usd)
                return replace(alone, answer=f"{joined} In their place{dear}: {alone.answer}")
        if need.asks == "number" and need.deadline_s is not None and (several := _in_time(market, need)):
            return several
        if error.code == "bench" and need.sets and isinstance(other, Recommendation):
            of = phrases.counted(*need.sets[0])
            answer = f"How fast {of} is, is not known: {why}. In its place: {other.answer}"
            return replace(other, answer=answer)
        if need.asks == "too much" and error.code == "no-price" and isinstance(other, Recommendation):
            name, count = _one_set(need) or ("", 0)
            named = phrases.begun(phrases.counted(name, count))
            more = f"{named} {'is' if count == 1 else 'are'} more than it takes"
            return replace(
                other, answer=f"{more}: {phrases.offered_as(other.options[0])} does it. {other.answer}"
            )
        asked = need.asks in ("able", "too much", "number", "faster")
        no = error.code in ("limits", "too-large", "too-old") and not fit.is_unknown(str(why))
        if not (asked and no and isinstance(other, Recommendation)):
            raise
        where = f"In {other.need.region}: " if other.need.region != need.region and other.need.region else ""
        return replace(other, answer=f"No: {why}. {where}{other.answer}")


def _with_both_ways(market: _Market, choice: Recommendation, several: bool) -> Recommendation:
    """The choice with a verdict on renting against buying, where that is the question: the side that has no
    place in it comes from prices that are older, or from any GPU where that is to rent. What costs less is
    first, where its price is fresh."""
    need = choice.need
    rents = [option for option in choice.options if option.way in RENTS]
    rents.sort(key=lambda option: option.price_source != PAID)
    if not need.either or any(gpu not in choice.rejected for gpu in need.have):
        # What is there, and does the work, is one of the sides
        mine = next((option for option in choice.options if option.way == "have"), None)
        said = verdicts.rented_instead(need, rents[0], mine) if need.either and rents and mine else ""
        return replace(choice, answer=f"{said} {choice.answer}".strip())
    owns = [option for option in choice.options if option.outlay_usd]
    aged = replace(need.assumptions, max_age_days=None)
    bought = replace(need, acquire="own")
    any_rent = replace(
        need, acquire="rent", sets=(), only=need.hired, hired=(), budget_usd=None, power_w=None, slots=None,
        gpus=(1, need.gpus[1] if not need.hired else needs.MOST_TOGETHER),
    )  # fmt: skip
    rent, where, place = rents[0] if rents else None, "", need.region
    named = need.hired or few_of(need)
    places = (need.region, *prices.around(need.region))
    hosts = (need.community, need.community is not False)
    # What was named, there or in a larger area, of private hosts too unless ruled out, at older prices too;
    # then any GPU
    asked = [
        replace(any_rent, only=named, region=place, community=host, assumptions=age)
        for place in places for age in (need.assumptions, aged) for host in hosts if named
    ]  # fmt: skip
    asked += [replace(any_rent, region=place, community=host) for place in places for host in hosts]
    for each in dict.fromkeys(asked) if rent is None else ():
        if rent := _first_of(market, each):
            place = each.region
            what = "None of these" if each.only else "Nothing that does it"
            where = f"{what} is known to rent in {need.region}, so rent is of {place or 'any region'}. "
            where *= place != need.region
            break
    if rent is None:
        return choice
    older = replace(bought, assumptions=aged)
    free = replace(older, sold=(), budget_usd=None, power_w=None, slots=None)  # What it costs is asked
    own = owns[0] if owns else _first_of(market, bought, older, replace(older, sold=()), free)
    if own is None:
        thought_of = [gpu for gpu in names_of(need) if gpu not in need.hired] or [rent.gpu_id]
        gpu = min(thought_of, key=lambda gpu: catalog.get(gpu).text("form") in MODULES)
        unfit = choice.rejected.get(gpu)
        if unfit is not None and "does not fit" in unfit.detail:
            no = f"{phrases.counted(gpu, 1)} cannot do it ({unfit.detail.partition(';')[0]})"
            return replace(choice, answer=f"Rent: {no}. {choice.answer}")
        why = fit.no_price(bought, gpu, market.offers).detail
        of = phrases.begun(phrases.counted(gpu, 1))
        return replace(choice, answer=f"Rent. {of}: {why}. {choice.answer}")
    said, buys = verdicts.either(need, rent, own, choice.item)
    better = own if buys else rent
    shown = {(o.gpu_id, o.count, o.way in RENTS) for o in choice.options}
    more = (o for o in (rent, own) if (o.gpu_id, o.count, o.way in RENTS) not in shown)
    options = [*choice.options, *more]
    if not better.stale and (buys or options[0] not in rents):
        options.sort(key=lambda option: option is not better)
    ranked = {option.gpu_id for option in options}  # Of another need than what left them out
    left = {gpu: why for gpu, why in choice.rejected.items() if gpu not in ranked}
    said_no = tuple(no for no in choice.refused if not ranked.intersection(no.partition(": ")[0].split(", ")))
    choice = replace(choice, need=replace(need, region=place), rejected=left, refused=said_no)
    made = _in_order(choice, options)
    answer = choice.answer if several else made.answer  # Of several machines all is said already
    return replace(made, answer=f"{where}{said} {answer}")


def _first_of(market: _Market, *needs: Need) -> Option | None:
    """The first option with a price of the first need that has one."""
    made = filter(None, map(market.best_or_none, needs))
    return next((o for each in made for o in each.options if o.price_usd and o.way != "have"), None)


def _refuse_what_fits_nowhere(market: _Market, need: Need) -> None:
    """Raise the error for work that is too large, which it is before its amount is asked for."""
    there = need.have if need.keep else need.only
    try:
        _first_answer(market, needs.settled(replace(need, deadline_s=None, only=tuple(dict.fromkeys(there)))))
    except GpuwiseError as error:
        if error.code == "too-large":
            raise


def _believed(need: Need, facts: Facts) -> tuple[Offer, ...]:
    """Offers that a question may rest on, with the prices that it states."""
    prices.select(facts.offers, today=facts.today, providers=need.providers)  # raises for an unknown provider
    if need.region and not any(prices.is_in(offer, need.region) for offer in facts.offers):
        within = prices.around(need.region)[0]
        hint = f"a larger area: {within}" if within else "a country or a region's name"
        raise InputError(f"no offer is known in {need.region!r}", hint=hint)
    # Who names a provider knows its prices.
    believed = facts.offers if need.providers else prices.believable(facts.offers, facts.today)
    believed = prices.of_machines(believed, USUAL.hyperscalers)
    # Of what somebody asks a price for the question is that price; what is paid now competes with others.
    asking = {(quote.gpu_id, quote.kind in RENTS) for quote in need.quotes if not quote.paid}
    others = (o for o in believed if not any((gpu, o.per_hour) in asking for gpu in o.gpu_ids))
    return (*others, *stated(need, facts.today))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Market:
    """What is known of speeds and prices, and what it recommends for a need."""

    facts: Facts
    offers: tuple[Offer, ...]
    forecast: Forecast
    item: str
    every_provider: bool
    allowed: dict[Need, tuple[Offer, ...]] = field(default_factory=dict, init=False)  # Of these offers
    known: dict[Need, dict[speeds.Key, Record]] = field(default_factory=dict)

    def usable(self, need: Need) -> tuple[Offer, ...]:
        if need not in self.allowed:
            self.allowed[need] = usable(need, self.offers, self.facts.today)
        return self.allowed[need]

    def speeds(self, need: Need, allowed: Sequence[Offer]) -> tuple[Record, ...]:
        ids = offered(need, allowed, self.facts.today)
        return tuple(fit.limited(need, speed) for speed in self.facts_of(need, ids))

    def facts_of(self, need: Need, wanted: Mapping[str, Sequence[int]]) -> tuple[Record, ...]:
        # A need and its alternatives ask for most speeds several times.
        known = self.known.setdefault(speeds.of_speed(need), {})
        new = {gpu: left for gpu, n in wanted.items() if (left := [c for c in n if (gpu, c) not in known])}
        if new or not wanted:
            # Of a language model by name all is predicted.
            results, published = ((), ()) if need.task else (self.facts.results, self.facts.published)
            found = speeds.gather(need, new, self.forecast, results=results, published=published)
            known.update(((record.gpu_id, record.gpus), record) for record in found)
        return tuple(known[gpu, count] for gpu, counts in wanted.items() for count in counts)

    def best(self, need: Need) -> Recommendation:
        check_wanted()
        allowed = self.usable(need)
        return decide.recommend(
            need, self.speeds(need, allowed), allowed, today=self.facts.today, item=self.item,
            every_provider=self.every_provider,
        )  # fmt: skip

    def best_or_none(self, need: Need) -> Recommendation | None:
        with suppress(GpuwiseError):
            return self.best(need)
        return None

    def cheaper(self, need: Need, first: Option, ways: Sequence[str] = ()) -> list[Option]:
        """The first option of each way to get GPUs, or of these, that may cost enough less than this one to
        be worth a word; the cheapest first."""
        offers = [offer for offer in self.usable(need) if not ways or offer.kind in ways]
        cost = first.cost_per_item_usd
        if cost and not priced.is_service(need) and not need.task:
            # Several are no faster than as many alone: most that cost too much need no forecast.
            known = self.speeds(replace(need, gpus=(1, 1)), offers)
            alone = {s.gpu_id: s.throughput.high for s in known if s.throughput and s.gpus == 1}
            most = 3600 * cost.value * phrases.WORTH_A_WORD
            least = {o: most * max(alone.get(gpu, 0.0) for gpu in o.gpu_ids) for o in offers if o.per_hour}
            offers = [o for o in offers if o.per_gpu <= least.get(o, inf)]
        elif priced.by_hour(need) and first.per_hour_usd:
            offers = [o for o in offers if not o.per_hour or o.per_gpu <= first.per_hour_usd / need.users]
        known = self.speeds(need, offers)
        with suppress(GpuwiseError):
            return decide.first_of_each_way(need, known, offers, today=self.facts.today)
        return []


def _first_answer(market: _Market, need: Need) -> Recommendation:
    """What is best for the need, or for the first looser one that has an answer. Raises the error of the need
    itself where none has, without the usual time of a token."""
    waiting, tried, failed = [need], set[Need](), list[tuple[Need, GpuwiseError]]()
    for need in waiting:
        try:
            choice = market.best(need)
            break
        except GpuwiseError as error:
            failed.append((need, error))
            looser = [each for each in _looser(need, error) if _same(each) not in tried]
            tried.update(map(_same, looser))
            waiting += looser
    else:
        patient = [each for each in failed if needs.USUAL_NOTE not in each[0].notes]
        # Where one card is too small, what several of it lack is what keeps somebody from them.
        many = [e for e in failed if verdicts.AS_MANY in e[0].notes and e[1].code == "limits"]
        many = many if failed[0][1].code == "too-large" else []
        # Of those that cost too much, what asks for the least money.
        alike = operator.attrgetter("only", "unproven", "gpus")
        same = (e for e in patient if alike(e[0]) == alike(failed[0][0]) and fit.least_budget(e[1]))
        near = sorted(same, key=lambda e: fit.least_budget(e[1]))
        raise _explained(market, *next(iter(many or near or patient or failed))) from None
    choice = _with_fans(market, choice)
    mine = [choice.rejected[gpu] for gpu in {*need.have} if gpu in choice.rejected]
    asked = need.keep or need.asks == "faster"
    if asked and not need.unproven and any(why.code == "unproven" for why in mine):
        # Whether what is there does it is answered, however little is known of how fast.
        return _first_answer(market, replace(need, unproven=True))
    named = (choice.rejected[gpu] for gpu, _ in need.sets if gpu in choice.rejected)
    slow = any("too late" in why.detail for why in (*mine, *named))
    if needs.USUAL_NOTE in need.notes:  # Its owner wants to know how slow it is
        slower, ways = _unhurried(need, needs.IN_PACE), {option.way for option in choice.options}
        lost = market.best_or_none(slower) if need.have and "have" not in ways else None
        if slow or any(option.way == "have" for option in (lost.options if lost else ())):
            return _first_answer(market, slower)
    return choice


def _with_fans(market: _Market, choice: Recommendation) -> Recommendation:
    """The choice; or cards with fans at their last prices, where its first is made for a server's fans and
    would be put in a desktop. It stays where it was meant, or a card with fans has a fresh price."""
    need, first = choice.need, choice.options[0]
    fans = [o for o in choice.options if catalog.get(o.gpu_id).text("segment") != "server"]
    meant = need.fans or need.have or few_of(need) or need.precision == Precision.FP64
    meant = meant or need.acquire != "own" or priced.host_of(first.gpu_id, first.count)[0] == "server"
    if meant or first in fans or any(o.outlay_usd for o in fans):
        return choice
    note = f"left out, as it has no fans: {phrases.offered_as(first)}"
    cards = tuple(gpu for gpu in _cards(replace(need, at_home=True)) if gpu in (need.only or (gpu,)))
    other = market.best_or_none(replace(need, only=cards, notes=(*need.notes, note))) if cards else None
    return other if other and other.options[0].last_usd else choice


def _same(need: Need) -> Need:
    """What two needs have in common that were loosened by the same steps in another order."""
    return replace(need, notes=tuple(sorted(need.notes)))


def _unhurried(need: Need, note: str) -> Need:
    """The need without the default limit on the time per token."""
    kept = (needs.ONE_READER if each == needs.ALL_HELD else each for each in need.notes)
    notes = (*(each for each in kept if each != needs.USUAL_NOTE), note)
    return replace(need, latency_s=None, concurrent=need.concurrent or 1, notes=notes)


# Limits of the question that an answer breaks, which it says before all else.
NOT_TO_RENT = "no offer to rent the named GPUs is known, so others are"
ON_DEMAND = "no rent on demand of the named GPUs is known"
OF_ANY_KIND = "none of that kind keeps the limits: of any kind"
NOTHING = "nothing within the limits"
CAPPED = "at full power these break the limit, so they are held below it: their speed goes with the cube root"
BROKEN = (NOT_TO_RENT, ON_DEMAND, OF_ANY_KIND, needs.OVER_BUDGET, NOTHING, CAPPED, verdicts.UNCHECKED)
BY_SHEET = "nothing keeps the limits whose like was measured: by data sheets"
FEWER = "fewer at once than asked"
SHARED = "no laptop with memory of its GPU's own keeps the limits: those whose processor shares it may"


def _noted(need: Need, note: str, **changes: Any) -> Need:
    return replace(need, notes=(*need.notes, note), **changes)


def _looser(need: Need, error: GpuwiseError) -> Iterator[Need]:
    """Needs without one of the limits that the question does not state, each with a note that says which:
    first of the work and how many GPUs do it, then of which GPUs and prices count."""
    yield from _looser_work(need, error)
    yield from _looser_market(need, error)


def _looser_work(need: Need, error: GpuwiseError) -> Iterator[Need]:
    """The same work slower, on more GPUs, or in a shorter format."""
    names, noted = names_of(need), partial(_noted, need)
    if needs.USUAL_NOTE in need.notes:
        yield _unhurried(need, needs.IN_PACE)
    people = need.task == "infer" and need.concurrent > 1 and need.items is None and need.acquire != "own"
    people &= not need.sets and need.gpus == (1, needs.MOST_TOGETHER) and not need.one_machine
    if people and need.latency_s:
        yield noted("several machines, as none alone is quick enough for all", gpus=(1, needs.MOST_APART))
    if need.asks == "able" and need.memory_gb and not names:
        yield noted(verdicts.NOT_ENOUGH, memory_gb=None)
    if need.upgrade:
        if needs.REPLACED in need.notes and not need.faster:
            yield noted(f"{NOTHING} is {fit.UPGRADE:g} times as fast", faster=fit.SLIGHTLY)
        note = f"{NOTHING} with as much memory is enough faster than what you have"
        yield noted(note, upgrade=False, keep=True)
    if need.power_w and not need.capped and (names or need.have) and error.code == "limits":
        yield noted(CAPPED, capped=True)
    one, homely = need.gpus == (1, 1), need.at_home and need.gpus == (1, needs.MOST_AT_HOME)
    if homely or (one and (need.at_home or (need.users > 1 and need.task))):
        if one:
            yield noted("two cards, because one is not enough", gpus=(1, 2))
        more = "more cards than most homes have" if need.at_home else "more cards for each person"
        few = f"because {'two' if one else needs.MOST_AT_HOME} are not enough"
        yield noted(f"{more}, {few}", gpus=(1, needs.MOST_TOGETHER))
    if error.code == "limits" and need.sets and need.period_s and not need.batched:
        yield noted("what comes may wait, as one GPU is busy nearly all of the time", batched=True)
    shares = need.task or (need.mode == "infer" and need.period_s)
    if shares and {count for _, count in need.sets} == {1}:
        # Of cards that are named alone, several may share a model.
        for most in (2, 4, needs.MOST_TOGETHER) if len(need.sets) == 1 else (needs.MOST_TOGETHER,):
            yield noted(verdicts.AS_MANY, sets=(), only=names, gpus=(1, most))
    if need.task == "lora" and need.precision == Precision.BF16:
        said = "by qlora: adapters beside weights of 16 bits are more than the limits allow"
        notes = (*(each for each in need.notes if each != "adapters, by lora"), said)
        yield replace(need, task="qlora", precision=Precision.NF4, notes=notes)
    drawn = needs.DIFFUSION.get(need.title.removeprefix("adapters of "))
    in_4 = {drawn.gb: drawn.gb_4, drawn.gb_lora: drawn.gb_lora_4} if drawn else {}
    if need.least_gb and (less := in_4.get(need.least_gb, need.least_gb)) < need.least_gb:
        shorter = tuple(note.replace("weights in 8 bits", "weights in 4 bits") for note in need.notes)
        said = "weights in 8 bits are more than the limits allow"
        yield replace(need, least_gb=less, notes=(*shorter, said))
    if error.code == "too-large" and need.have and need.task == "infer" and need.concurrent > 1:
        notes = (*(each for each in need.notes if each != FEWER), FEWER)
        yield replace(need, concurrent=need.concurrent * 3 // 4, notes=notes)
    if need.feature and need.task == "full" and error.code == "too-large":
        yield noted("by lora: all weights are more than these hold", task="lora", precision=Precision.BF16)


def _looser_market(need: Need, error: GpuwiseError) -> Iterator[Need]:
    """Other GPUs than were named, other kinds of rent and purchase, older prices."""
    names, noted = names_of(need), partial(_noted, need)
    if error.code == "no-price" and names and need.budget_usd is not None and need.acquire != "rent":
        spent = f"{phrases.sum_of(need, need.budget_usd)} to spend"
        yield replace(
            noted(verdicts.UNCHECKED, budget_usd=None, thrifty=True),
            notes=(*need.notes, spent, verdicts.UNCHECKED),
        )
    if error.code == "no-price" and names and need.acquire == "rent" and not (need.providers or need.region):
        for rent in ("community", "spot"):  # Who names a card means it, wherever it stands
            if getattr(need, rent) is None:
                yield noted(f"{ON_DEMAND}: {rent} rent is", **{rent: True})
        yield noted(NOT_TO_RENT, sets=(), only=(), named=())
    kind = len(need.only) > FEW and not need.named
    makers = {catalog.get(gpu).vendor for gpu in need.only} if kind else set[str]()  # Who names one means it
    if error.code == "limits" and need.acquire == "rent" and len(makers) > 1:
        yield noted(OF_ANY_KIND, only=())
    if error.code == "no-price" and need.quotes and need.region:
        yield noted(f"no price in {need.region} is known, so compared with those of everywhere", region="")
    if error.code == "limits" and need.form == "laptop" and not names:
        yield noted(SHARED, form="mobile", gpus=(1, 1))
    if error.code == "limits" and len(need.sets) > 1 and need.budget_usd is not None:
        yield noted(needs.OVER_BUDGET, budget_usd=None)
    if need.precision == Precision.FP64 and not need.only and not need.sets and need.acquire != "rent":
        if need.mode == "compute" and not need.sold:
            # Kernels compiled once run on: for FP64 an old card that is made for it is worth more.
            yield noted("used cards too, also such as only CUDA 12 runs on", sold=needs.ANY_USED)
        note = "no card that is made for FP64 keeps the limits at a fresh price"
        yield noted(note, only=tuple(filter(fit.made_for_fp64, _cards(need))), acquire="own")
        yield noted(f"{note}: what does {fit.NO_FP64}", only=_cards(need), acquire="own")
    if names and not need.unproven:
        named = "as little as is known of the speed of what was named"
        yield noted(named if len(names) <= FEW else BY_SHEET, unproven=True)
    unmet = error.code == "limits"
    dated = need.assumptions.aged_today  # who says how old a price may be means it
    if (unmet or error.code in ("no-price", "too-large")) and not (names or dated) and need.acquire != "rent":
        # What keeps every limit may only lack a price that is fresh.
        note = "no fresh price is known of what keeps the limits, is predicted well and runs current software"
        yield noted(note, only=_cards(need), acquire="own")
        if not need.quiet and (others := _cards(need, fanless=True)) != _cards(need):
            yield noted("only cards without fans keep the limits", only=others, acquire="own")
        if need.acquire == "own" and not (need.unproven or need.asks):
            yield noted(BY_SHEET, unproven=True)


def _cards(need: Need, *, fanless: bool = False) -> tuple[str, ...]:
    """Everything that is sold singly and that the machine can hold: a PC has no fans for a server's cards,
    unless somebody puts one on it."""
    pc = (need.assumptions.host_usd == 0 or need.at_home) and not (need.fans or fanless)
    pc &= need.precision != Precision.FP64  # Few others compute in it at all
    no = ("server", "embedded") if pc else ("embedded",)
    every = (spec for spec in catalog.all_gpus() if spec.text("form") in ("pcie", "soc"))
    fit = (spec for spec in every if spec.text("segment") not in no)
    return tuple(spec.id for spec in fit if not EXPORT.search(spec.id))


IN_HOST = "layers in the host's memory, much slower"


def _explained(market: _Market, need: Need, error: GpuwiseError) -> GpuwiseError:
    """The error of a need, with what would lead to an answer, and what else would do the work where GPUs or a
    memory were named."""
    error = fit.loosened(error, need, market.best, market.offers)
    data: dict[str, Any] = {"why": str(error), **error.data}
    said = [str(error)]
    if error.code == "too-large" and need.task and (named := _one_set(need)):
        said += _what_fits(market, need, named)
        data["why"] = "; ".join(said)
    dear = error.code == "limits" and need.budget_usd and not (names_of(need) or need.items)
    if need.task and (dear or error.code == "too-old"):
        said.append(speeds.memory_needed(need).rstrip("."))
    other = _another(market, need, error.code)
    if error.code == "too-old" and other is None and names_of(need):
        said.append("no other GPU with a fresh price keeps the other limits")
    if other:
        data["instead"] = other
        first = other.options[0]
        instead = phrases.offered_as(first)
        if error.code != "limits":
            said.append(f"{instead} would do")
        elif names_of(need):  # To give up what was named is a way like any other
            data["ways"] = (*data["ways"], (fit.Way("gpu", "any", instead, {}),))
    return type(error)("; ".join(said), hint=error.hint, code=error.code, **data)


def _what_fits(market: _Market, need: Need, named: tuple[str, int]) -> Iterator[str]:
    """What of a language model fits where it is too large for a GPU and its number that were named: another
    way to train, a shorter context, several machines, fewer bits."""
    if need.task != "infer":
        yield speeds.recipes(need, *named)
    yield from (speeds.shorter(need, *named), f"{IN_HOST}, are not counted")
    whole = named[1] == needs.MOST_TOGETHER or need.asks == "number"
    if whole and (number := speeds.fewest_to_hold(need, named[:1])) and number > needs.MOST_TOGETHER:
        nodes = f"{ceil(number / needs.MOST_TOGETHER)} machines of {needs.MOST_TOGETHER}"
        yield f"{nodes} have the memory for it, of whose network nothing is known here"
    weights = (Precision.FP8, Precision.INT4) if need.task == "infer" and not need.formats else ()
    in_less = (market.best_or_none(replace(need, precision=p)) for p in weights if p != need.precision)
    if less := next(filter(None, in_less), None):
        yield f"in {less.need.precision} it fits: {phrases.offered_as(less.options[0])}"


def _another(market: _Market, need: Need, code: str | None = None) -> Recommendation | None:
    """What does the work where the GPUs or the memory that were named do not: the same GPUs rented, where
    nobody sells them, or others."""
    if need.asks == "able" and not (names_of(need) or need.memory_gb):
        unlimited = replace(need, budget_usd=None, deadline_s=None, goal="cost")
        wider = (market.best_or_none(replace(need, region=each)) for each in prices.around(need.region))
        return next(filter(None, wider), None) or market.best_or_none(needs.settled(unlimited))
    named = names_of(need)
    if need.budget_usd == 0 or not (named or need.memory_gb):
        return None  # Nothing that costs something
    # Only the named cards are dropped: a suggestion that breaks another stated limit helps nobody.
    laptops = bool(named) and all(needs.has_form(catalog.get(gpu), "laptop") for gpu in named)
    same = replace(need, sets=(), only=(), memory_gb=need.memory_gb if named else None)
    same = replace(same, form="laptop") if laptops else same
    free = replace(same, gpus=(1, needs.MOST_TOGETHER))
    one = [replace(same, gpus=(1, 1))] * bool(need.memory_gb and need.sets)  # "Or the card of 96 GB"
    ways = [*one, same, free]
    if need.budget_usd is None and code != "limits":
        # A budget to buy is not taken for a budget to rent, nor the reverse.
        same_to_rent = [replace(need, acquire="both")] * (not need.asks)
        ways = [*same_to_rent, *ways, replace(free, acquire="both")]
    return next(filter(None, map(market.best_or_none, ways)), None)


def _one_set(need: Need) -> tuple[str, int] | None:
    """The GPU that was named or is there, and how many of it."""
    if need.sets or need.only:
        return need.sets[0] if need.sets else (need.only[0], need.gpus[0])
    return (need.have[0], need.have.count(need.have[0])) if need.have else None


def _with_left_out(market: _Market, choice: Recommendation, asked: Need) -> Recommendation:
    """The choice, with every GPU that has no price among those left out, and why of what was named."""
    need = choice.need
    # Where nobody rents the named GPUs, the answer is of others; why is said of those that were named.
    today = market.facts.today
    # Nobody sells them, so nobody was asked how fast they are: half of the catalog.
    sold = offered(need, market.usable(need), today)
    left = dict(choice.rejected)
    few = few_of(need) or few_of(asked)
    for gpu in (gpu for gpu in names_of(need) or market.facts.ids if gpu not in sold):
        left[gpu] = fit.no_price(need, gpu, market.offers)
    counts, asked = dict(asked.sets), needs.settled(asked)
    for gpu in few:
        if gpu in left:
            # Where the answer is of others, in the number that was asked about.
            refusal = market.facts_of(asked, {gpu: (counts[gpu],)})[0].refusal if gpu in counts else ""
            left[gpu] = replace(left[gpu], detail=refusal) if refusal else left[gpu]
            number = counts.get(gpu) or dict(need.sets).get(gpu, need.gpus[1])
            left[gpu] = replace(left[gpu], detail=_in_full(market, need, gpu, number, left[gpu]))
    places = {(option.gpu_id, option.count) for option in choice.options}
    replaced = fit.NO_FASTER if need.upgrade else None  # As was asked
    left = {gpu: why for gpu, why in left.items() if gpu not in need.have or why.detail != replaced}
    said = {gpu: why.detail for gpu, why in left.items()}
    named = fit.why_not([*dict.fromkeys((*few, *need.have))], said)
    numbers = {
        *need.sets,
        *Counter(need.have).items(),
        *([(few[0], 1)] if verdicts.AS_MANY in need.notes else []),
    }
    for gpu, number in sorted(numbers - places):  # Of which another number has a place
        if gpu not in left and (why := market.facts_of(need, {gpu: (number,)})[0].refusal):
            named.append(f"{phrases.counted(gpu, number)}: {why}")
    offering = {option.provider.casefold() for option in choice.options}
    missing = [name for name in need.providers if name.casefold() not in offering]
    kinds = [kind for kind in decide.EXCLUDED if getattr(asked, kind) and need.acquire != "own"]
    lacking = [kind for kind in kinds if kind not in {option.way for option in choice.options}]
    unknown = [f"a price of {', '.join(missing)} for this"] * bool(missing)
    offloads = bool(need.task) and "does not fit" in " ".join(named)
    unknown += [f"how fast it is with {IN_HOST}"] * offloads
    unknown += [f"a price of {' or '.join(lacking)} rent that keeps the limits"] * bool(lacking)
    lists = (o.listed_on or o.seen_on for o in market.facts.offers if o.source.id != "own-prices")
    day = min(max(lists, default=""), today.isoformat())
    return replace(choice, rejected=left, refused=tuple(named), unknown=tuple(unknown), prices_on=day)


def _in_full(market: _Market, need: Need, gpu: str, number: int, reason: Issue) -> str:
    """Why a GPU that was named has no place, with what else would be asked about it."""
    # Several with one reason are said together, so none names its GPU again.
    why = reason.detail.replace(f" {gpu} ", " it ")
    if "does not fit" in why:
        why += f"; {speeds.shorter(need, gpu, number)}" if need.task else ""
        several = need.task == "infer" and (need.sets or need.gpus[1] > 1)
        least = (speeds.fewest_to_hold(need, [gpu]) or 0) if several else 0
        why += f"; {phrases.counted(gpu, least)} hold it" * (least > number)
    if why == UNMEASURED:
        version = catalog.get(gpu).text("compute_capability")
        family = catalog.get(gpu).text("architecture")
        why += f" ({family}{f', compute capability {version}' if version else ''})"
    if reason.code == fit.NO_PRICE:
        price = fit.last_price(need, gpu, market.offers)
        every = replace(need, spot=True, community=True, reserved=True, serverless=True, acquire="rent")
        let = [o for o in market.usable(every) if o.per_hour and gpu in o.gpu_ids and need.acquire != "own"]
        if kinds := sorted({o.kind for o in let}):
            fewer = f" of {max(o.count for o in let):g} at most" * (max(o.count for o in let) < number)
            price = f"; there is {listed(kinds)} rent{fewer}"
        why += price
    elif "$" not in why and gpu not in need.have:
        why += fit.last_price(need, gpu, market.offers)
    return why


def _beside(market: _Market, need: Need) -> str:
    """How the prices that the question states compare with what others ask."""
    ages = replace(need.assumptions, max_age_days=None)
    anybody = replace(
        need, acquire="both", providers=(), sold=(), community=True, only=(), sets=(), assumptions=ages
    )
    today = market.facts.today
    others = usable(anybody, market.facts.offers, today) if need.quotes else ()
    said = "; ".join(filter(None, (verdicts.beside(quote, others, today) for quote in need.quotes)))
    return f"{said}." if said else ""


def _with_verdict(market: _Market, choice: Recommendation) -> Recommendation:
    """The choice, with what is asked of a GPU or of the work answered first, and the cheapest that does the
    work beside a GPU that may be too much."""
    need, other = choice.need, None
    if together := _together(market, need, choice.options[0].outlay_usd):
        if need.beside is False and len({*need.have}) == 1:
            return replace(choice, answer=f"{choice.answer} For less money, {together}")
        if need.asks == "able":
            return replace(choice, answer=f"Yes: {together}", reasons=())
        return replace(choice, answer=f"{phrases.begun(together)} {choice.answer}")
    sized = need.asks == "memory" or (need.asks == "able" and need.memory_gb)
    sized = sized or verdicts.NOT_ENOUGH in need.notes
    said = speeds.memory_needed(need) if sized else ""
    said = phrases.begun(said) if need.title else said
    recipes = ""
    mine = (need.have[0], need.have.count(need.have[0])) if need.have else None
    trains = need.task not in ("", "infer") and not need.upgrade
    if need.asks == "able" and trains and (named := mine or _one_set(need)):
        recipes = f"{speeds.recipes(need, *named)}."
    if need.asks == "too much" and not (need.have and not need.sets):
        free = replace(need, sets=(), only=(), gpus=(1, max(need.gpus)))
        other = market.best_or_none(free)
        cost = other and phrases.dearer(need, other.options[0], choice.options[0])
        if not cost or cost >= phrases.WORTH_A_WORD:
            other = market.best_or_none(replace(free, goal="price"))
    if need.asks == "number" and len({*need.have}) == 1 and not need.upgrade:
        said, more = _more(market, need)
        choice = more or choice
    elif need.asks == "number":
        several = 1 < len(need.only) <= FEW
        said, sold = _fewest(market, need, need.only if several else (choice.options[0].gpu_id,))
        if sold and need.items is None:  # Nobody asks what more of them do
            others = (o for o in choice.options if o.key != sold[0].key)
            choice = _in_order(choice, [sold[0], *others])
    judged = need.asks or need.feature or verdicts.NOT_ENOUGH in need.notes
    there = {(gpu, n) for gpu, n in Counter(need.have).items() for n in range(1, n + 1)}
    asked, ranked = there.union(need.sets), {(o.gpu_id, o.count) for o in choice.options}
    able = need.asks == "able" and mine and not need.upgrade and mine[0] not in choice.rejected
    if (need.asks == "speed" or able) and asked and not asked & ranked:
        name, count = (mine if able else _one_set(need)) or ("", 0)
        refusal = name and market.facts_of(need, {name: (count,)})[0].refusal
        unfit = need.task and "does not fit" in refusal and not recipes
        why = "; ".join((refusal, *(_what_fits(market, need, (name, count)) if unfit else ())))
        no = f"{'No. ' * bool(able)}{phrases.begun(phrases.counted(name, count))}"
        said = f"{no}: {why}." if refusal else ""
        judged = bool(able and not refusal)
    if judged and (not said or need.asks == "able"):
        said = f"{verdicts.verdict(choice, other)} {said}".strip()
    if other is not None and need.sets:
        sets = dict.fromkeys((*need.sets, (other.options[0].gpu_id, other.options[0].count)))
        counts = [count for _, count in sets]
        both = replace(need, sets=tuple(sets), gpus=(min(counts), max(counts)))
        choice = market.best_or_none(both) or choice
    choice, does = _with_also(market, choice)
    # Who asks how fast what is named is does not ask what to get.
    fact = need.asks in ("speed", "resale") or (need.asks == "energy" and (need.sets or need.have))
    rest = "" if fact and judged and not need.budget_usd else choice.answer
    parts = (said, *does, recipes, rest) if need.asks == "able" else (said, recipes, rest, *does)
    return replace(choice, answer=" ".join(filter(None, parts)))


def _together(market: _Market, need: Need, least: float = inf) -> str:
    """How fast different cards that are there answer together; or the cheapest card that does the work beside
    those that are there, where one is looked for, or where it costs less than the `least` that takes their
    place. Empty where one alone does it, or they do not."""
    if need.task != "infer" or not need.have or need.concurrent > 1 or need.upgrade or need.asks == "number":
        return ""
    if any(speeds.dealt_out(need, [gpu]) for gpu in need.have):
        return ""
    if need.beside and speeds.dealt_out(need, need.have):
        return ""  # Nothing beside them is needed, and a slower card would hold them up
    if len({*need.have}) > 1:
        found = speeds.dealt_out(need, need.have)
        return verdicts.together(need.have, found) if found else ""
    free = replace(need, acquire="own", sets=())  # Of what is named, prices that are old are known, too
    asked = need.beside or (need.acquire == "own" and not (need.keep or names_of(need)))
    sold = usable(free, market.offers, market.facts.today) if asked else ()
    cards = ((o, gpu) for o in sold if not o.per_hour and o.count == 1 and not o.whole for gpu in o.gpu_ids)
    in_pc = set(_cards(replace(need, at_home=True)))
    for offer, gpu in sorted(cards, key=lambda card: card[0].amount):
        if not need.beside and (offer.amount >= least or offer.amount > (need.budget_usd or inf)):
            break
        watts = sum(catalog.get(each).power_w or 0.0 for each in (*need.have, gpu))
        if gpu not in in_pc or catalog.get(gpu).vendor != "NVIDIA" or watts > (need.power_w or inf):
            continue
        if found := speeds.dealt_out(need, (*need.have, gpu)):
            price = f" for {usd(offer.amount)} (price of {offer.seen_on})"
            return verdicts.together((*need.have, gpu), found, price)
    return ""


def _joined(market: _Market, need: Need) -> str:
    """How fast each GPU that was named for it answers together with what is there of other kinds."""
    named = need.sets or tuple((gpu, 1) for gpu in few_of(need))
    other = [(gpu, count) for gpu, count in named if gpu not in need.have]
    if need.task != "infer" or need.concurrent > 1 or not need.have:
        return ""
    said = [verdicts.joined(need, gpu, count, market.offers) for gpu, count in other]
    return " ".join(said)


# GPUs that are tried before it is said that none does two works.
MOST_TRIED = 12


def _with_also(market: _Market, choice: Recommendation) -> tuple[Recommendation, list[str]]:
    """The choice with the first option that can do the other works, too, and how well it does these."""
    need, none = choice.need, list[str]()
    if (need.asks == "able" and not need.upgrade) or not need.also:
        return choice, [_able(market, need, name)[1] for name in need.also]
    cheapest = {(o.gpu_id, o.count): o for o in reversed(choice.options)}
    for option in sorted(cheapest.values(), key=lambda o: o.rank)[:MOST_TRIED]:
        # At any price: what it costs is said of the work that counts.
        asked = Quote(gpu_id=option.gpu_id, count=option.count, kind="on-demand", usd=1.0)
        named = replace(need, sets=((option.gpu_id, option.count),), only=(), have=(), asks="speed")
        named = replace(named, gpus=(option.count,) * 2, acquire="rent", unproven=True, quotes=(asked,))
        known = replace(market, offers=stated(named, market.facts.today))
        able = [_able(known, named, name) for name in need.also]
        if all(yes for yes, _ in able):
            rest = [o for o in choice.options if o is not option]
            return _in_order(choice, [option, *rest]), [text for _, text in able]
        none = none or [text for _, text in able]
    return choice, none


def _able(market: _Market, need: Need, name: str) -> tuple[bool, str]:
    """Whether what a question names can do another work, too, one after the other, and how well."""
    limits = ("sets", "only", "gpus", "have", "keep", "acquire", "memory_gb", "assumptions")
    try:
        ways: tuple[needs.Purpose, ...] = get_args(needs.Purpose)
        mode: needs.Purpose = next((way for way in ways if name.startswith(f"{way}:")), "infer")
        name = name.removeprefix(f"{mode}:")
        same = {each: getattr(need, each) for each in (*limits, "at_home", "unproven")}
        other = replace(need_for(name, mode=mode), asks=need.asks, **same)
        other = replace(other, concurrent=max(1, need.also_users) if other.task == "infer" else 0)
        found = replace(market, item=needs.item_of(other)).best(needs.settled(other))
    except GpuwiseError as error:
        return False, f"{name}: {'not known' if fit.is_unknown(str(error)) else 'no'}, {error}."
    said = verdicts.verdict(found, None) or "yes."
    ways_said = {"infer": "one at a time", "train": "trained", "finetune": "fine-tuned"}
    how = ways_said.get(mode, f"by {mode}")
    how = f"for {need.also_users} people" if found.need.concurrent > 1 else how
    return True, f"{name}, {how}: {said[0].lower()}{said[1:]}"


def _few(market: _Market, need: Need, gpu: str) -> Option | None:
    """The least number of a GPU that keeps the limits, whatever numbers are sold and for how much."""
    counts = range(need.gpus[0], need.gpus[1] + 1)
    asked = tuple(Quote(gpu_id=gpu, count=n, kind="on-demand", usd=float(n), provider="") for n in counts)
    free = replace(need, quotes=asked, only=(gpu,), acquire="rent", budget_usd=None, providers=(), region="")
    counted = replace(market, offers=stated(free, market.facts.today))
    found = counted.best_or_none(replace(free, goal="price"))  # Which is their number
    return found.options[0] if found else None


def _fewest(market: _Market, need: Need, gpus: Sequence[str]) -> tuple[str, list[Option]]:
    """The least number of each of these GPUs that keeps the limits, and those with a price, the lowest an
    hour first."""
    said, sold = list[str](), list[Option]()
    for least in filter(None, (_few(market, need, gpu) for gpu in gpus)):
        time = f", in {seconds(least.time_s.value)}" if least.time_s else ""
        if least.time_s and need.period_s:  # What comes each day has no end, but a load
            time = f", busy {percent(least.time_s.value / need.period_s, 0)} of the time"
        sets = ((least.gpu_id, least.count),)
        made = market.best_or_none(replace(need, sets=sets, only=(), gpus=(least.count,) * 2, asks=""))
        one = [o for o in (made.options if made else ()) if o.per_hour_usd][:1]
        sold += one
        none = f"{phrases.counted(*sets[0])}, of which no offer of so many in one machine is known"
        said.append(f"{phrases.offered_as(one[0]) if one else none}{time}")
    sold.sort(key=lambda option: option.per_hour_usd or inf)
    return f"The fewest that do it: {' or '.join(said)}." * bool(said), sold


def _more(market: _Market, need: Need) -> tuple[str, Recommendation | None]:
    """How many more of the GPU that is there do the work together with it, and what these take."""
    gpu, there = need.have[0], len(need.have)
    alone = replace(need, have=(), beside=False, upgrade=False, keep=False, unproven=True, sets=())
    alone = replace(alone, gpus=(1, max(there, needs.MOST_TOGETHER)))
    found = _few(market, alone, gpu) or _few(market, _unhurried(alone, ""), gpu)
    if found is None:
        return f"No number of {gpu} in one machine does it.", None
    if found.count <= there:
        kept = replace(need, sets=(), keep=True, unproven=True)
        does = f"{phrases.counted(gpu, there)}, yours, {'do' if there > 1 else 'does'} it"
        return f"None more is needed: {does}.", market.best_or_none(kept)
    added = replace(need, sets=((gpu, found.count),), gpus=(1, found.count), unproven=True)
    made = market.best_or_none(added) or market.best_or_none(_unhurried(added, ""))
    return f"{found.count - there} more: {phrases.counted(gpu, found.count)} in all do it.", made


def _with_alternatives(market: _Market, choice: Recommendation) -> Recommendation:
    """The choice, with what other kinds of rent and other GPUs would change."""
    need, names = choice.need, names_of(choice.need)
    by_cost = need.goal not in ("energy", "power")
    if by_cost and need.acquire != "own" and choice.options[0].way != "have":
        # Who says no to these is not offered them.
        hosts, spot = need.community is not False, need.spot is not False
        everything = replace(need, spot=spot, community=hosts, reserved=True, serverless=True)
        wide = market.cheaper(everything, choice.options[0], decide.EXCLUDED)
        free = replace(need, sets=(), only=(), region="", goal="cost")
        other = None
        asked = need.by_default or need.asks == "speed"  # Of these, and of no others
        if need.region or (0 < len(names) <= FEW and not asked):
            other = next(iter(market.cheaper(free, choice.options[0])), None)
        choice = decide.with_excluded(choice, wide, other)
    meets = verdicts.meets(choice)
    return replace(choice, changes=(meets, *choice.changes)) if meets else choice


def _answer(choice: Recommendation) -> Answer[Recommendation]:
    from gpuwise.show import choice as show

    def document() -> bytes:
        from gpuwise.store.codec import encode_choice

        return encode_choice(choice)

    return Answer(
        value=choice,
        to_table=lambda: show.whole(choice),
        to_data=document,
        to_chart=lambda: drawn.charts[0] if (drawn := show.figure(choice)) else None,
        issues=tuple(
            Issue.info(why.code or "no-speed-or-price", f"{gpu}: {why.detail}")
            for gpu, why in choice.rejected.items()
        ),
    )


def offers_with(
    files: Sequence[Path], rates: dict[str, float], today: date, tell: Callable[[str], None]
) -> tuple[Offer, ...]:
    """Every known offer and those of `files`; `tell` hears of rows whose GPU is unknown, as it cannot be
    chosen. Raises InputError for any other row that cannot be used: it might have decided."""
    listed = prices.collect(files, today=today, rates=rates)
    names = {path.name for path in files}
    for skip in (skip for skip in listed.skipped if skip.file in names):
        said = f"{skip.file}, line {skip.line}: {skip.reason}"
        if not skip.reason.startswith(prices.UNKNOWN_GPU):
            raise InputError(said, hint="mend or remove the row")
        tell(f"skipped: {said}")
    return listed.offers
