"""Every combination of GPU, number and price, and what it costs, as columns: thousands take milliseconds.

    rent      an offer of c GPUs is a machine; n = c, or k c where the machines work side by side (inference)
    purchase  n cards at the price of one; what sits on a server's board is sold in systems only
    have      cards that are there already, at no price
    unpriced  laptops, small computers and what was named, of which no price is known: behind, by speed

A price is known within `exp(+-half)`, where half grows with the root of its age: prices do a random walk. A
family offer ("A100 80 GB") counts as the slowest GPU that it may be. What the work costs:

    hours of work     items / (3600 speed)                          paid: / utilisation
    rent              price x paid hours
    owning, capital   (cards + host) (1 - (1 - depreciation)^years) / (hours a week x 52.18 x years); where
                      renting is as welcome and the work is stated and done once, over its hours alone
    owning, energy    (watts + host watts) x cooling x price of a kWh, for each hour
    a service         comes again each period: paid for around the clock, energy for the busy share

Errors of speed, price and watts are independent, so their half widths in log space, each times its share of
the cost, add in quadrature; the price of a kWh and what a host draws are taken as they are stated.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from math import ceil, hypot, inf, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from gpuwise.facts import catalog, prices
from gpuwise.judge.choose.need import (
    ANY_USED,
    COMPUTERS,
    DATA,
    HOURS_PER_YEAR,
    MOST_THERE,
    MOST_TOGETHER,
    has_form,
)
from gpuwise.judge.choose.speeds import alone, apart, half_of, times
from gpuwise.model.gpu import MODULES, RENTS, Offer, Source
from gpuwise.model.judgement import Assumptions, Need, Way
from gpuwise.model.result import Record
from gpuwise.predictor.rates import LEVEL

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Half width, as a logarithm, of a price one year old. Two AWS machines with A100s lost a third in three
# years (0.23 a root of a year), one with eight H100s 44 % in two (0.41), those with T4 and A10G nothing.
DRIFT = 0.4
# Of a price seen today: regions and days differ.
LEAST_HALF = 0.05
# Modules of a server are sold on boards of four or eight; a price of one is a list price of a part.
LEAST_BOARD = 4
# Cost of the second over the first below which the two are one answer to most people.
EQUAL = 1.05
# Half width of an 80 % interval in standard deviations.
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
# Titles of the source of a price that the question states.
PAID, STATED = "what you pay", "as you state it"
# Numbers in which cards share a model.
TOGETHER = (1, 2, 4, 8)
# So many at most were named for their own sake, not as all of a kind.
FEW = 12
# Small computers that their makers join to share a model.
MOST_COMPUTERS = 2
# Paid seconds of a serverless worker for one of work: it loads the model, and waits some seconds after each
# answer for the next request (five at RunPod, unless set otherwise). An assumption, not a fact of a source.
STARTS = 2.0
# Of the largest boards that workstations have; what needs more hangs on risers.
BOARD_SLOTS = 8
# Watts that a fan put on a card without one of its own carries away in a desktop.
BY_FAN_W = 250.0
# Computers, cards of consumers and those of professionals are sold new for about so long after their GPU came
# out. An assumption.
SHOP_YEARS, CARD_YEARS, PRO_YEARS = 3.0, 2.5, 5.0
# Of a rent that is taken once: to start it, to fetch the weights and to look at what came out. An assumption.
LEAST_PAID_H = 1.0
# What is made for countries that other cards may not be sold to.
EXPORT = re.compile(r"^[ah]800|^h20(?!0)|-d$")
# Whole computers that nobody carries about, whatever their chip is sold in besides.
BOXES = re.compile(r"mini PC|Mac (?:mini|Studio|Pro)\b")
WEEKS_PER_YEAR = 365.25 / 7


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate before its figures became columns."""

    gpu: str
    count: int
    way: Way
    price: float  # USD: of all machines for an hour, of one card bought, nothing; NaN where not known
    half: float
    stale: bool
    speed: Record
    offer: Offer | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """Columns of equal length, one entry a candidate. Money in USD, for one user."""

    rows: tuple[Row, ...]
    count: Array
    price: Array
    price_half: Array
    speed: Array  # Items a second
    speed_half: Array
    own: Mask  # Bought, or there already
    host: Array  # Host shares that have to be bought
    outlay: Array  # Paid at once: cards and host shares; 0 for rent and for what is there
    fixed: Array  # An hour: rent or capital
    running: Array  # An hour: energy; 0 where it is in the rent
    per_hour: Array  # Both
    time: Array  # Seconds of the work; NaN without an amount
    per_item: Array
    half: Array  # Half width of the cost in log space
    paid_half: Array  # Of it what is not of the speed
    upper: Array  # What a price counts as to rank by, over itself: an old cheap price is not a bargain
    ranked: Array  # Cost of an item by that price
    joules: Array  # An item
    drawn: Array  # Watts of the machine with its GPUs

    def __len__(self) -> int:
        return len(self.rows)


def stated(need: Need, today: date) -> tuple[Offer, ...]:
    """The prices that the question states, as offers of today."""
    return tuple(
        Offer(
            gpu=quote.gpu_id, gpu_ids=(quote.gpu_id,), count=quote.count, kind=quote.kind,
            amount=quote.usd, provider=quote.provider, seen_on=today.isoformat(), whole=quote.whole,
            source=Source(
                id="own-prices", title=PAID if quote.paid else STATED, kind="third-party",
                read_on=today.isoformat(),
            ),
        )
        for quote in need.quotes
    )  # fmt: skip


def names_of(need: Need) -> tuple[str, ...]:
    """GPUs that were asked for by name, else those of a kind."""
    return need.named or need.only or tuple(dict.fromkeys(gpu for gpu, _ in need.sets))


def few_of(need: Need) -> tuple[str, ...]:
    """GPUs that were named for their own sake, each of which is answered for."""
    return names if len(names := names_of(need)) <= FEW else ()


def usable(need: Need, offers: Sequence[Offer], today: date) -> tuple[Offer, ...]:
    """The dated quotes that the need allows, by kind, provider and age, each provider's newest list."""
    wanted = {name.casefold() for name in need.providers}
    # Who names a market of other people's machines knows what it is.
    markets = bool(wanted & {*prices.MARKETS}) if need.community is None else need.community
    allowed = {
        "on-demand": need.acquire != "own",
        "community": need.acquire != "own" and markets,
        "spot": need.acquire != "own" and bool(need.spot),
        "reserved": need.acquire != "own" and need.reserved,
        "serverless": need.acquire != "own" and need.serverless,
    }
    sold = need.acquire != "rent"

    def is_new(offer: Offer) -> bool:
        """A price of new and used ones is that of a new one, too, while shops sell it."""
        return offer.kind == "street" and "new" in need.sold and is_sold_new(offer.gpu_ids[0], today)

    only = {*need.only, *(gpu for gpu, _ in need.sets)}
    if only:
        # What shops ask for any card of a family they ask for each; a machine to rent holds one of them.
        offers = [
            offer
            if offer.per_hour or only >= {*offer.gpu_ids}
            else replace(offer, gpu_ids=tuple(gpu for gpu in offer.gpu_ids if gpu in only))
            for offer in offers
            if only.intersection(offer.gpu_ids)
        ]
        offers = [offer for offer in offers if only.issuperset(offer.gpu_ids)]
    found = [
        offer
        for offer in offers
        if offer.gpu_ids
        and (offer.kind != "spot" or offer.provider not in prices.MARKETS or markets)
        and offer.seen_on
        and allowed.get(offer.kind, sold and (not need.sold or offer.kind in need.sold or is_new(offer)))
        # A purchase is of the card: the provider asked for is one that rents.
        and (not wanted or not offer.per_hour or offer.provider.casefold() in wanted)
        and offer.provider.casefold() not in need.avoid
        and (not need.region or not offer.per_hour or prices.is_in(offer, need.region))
        and (not need.hired or offer.per_hour == bool(set(need.hired).intersection(offer.gpu_ids)))
        and (need.most_commitment_h is None or committed_h(offer) <= need.most_commitment_h)
    ]
    # Of a laptop, and of a GPU that was named, the last known price is said, though too old to rank by.
    named = {*names_of(need)}
    found = [
        o for o in found
        if not _is_late(need, o, today) or (not o.per_hour and (o.whole or named.issuperset(o.gpu_ids)))
    ]  # fmt: skip
    if need.sold == ANY_USED:
        # Used for sure comes before what may be of new ones, too.
        sure = {g for o in found if o.kind == "used" and not _is_late(need, o, today) for g in o.gpu_ids}
        found = [o for o in found if o.kind != "street" or sure.isdisjoint(o.gpu_ids)]
    return prices.current([o for o in _of_their_own(found) if _is_sold_so(o) and is_of_size(need, o)])


def is_of_size(need: Need, offer: Offer) -> bool:
    """Whether a whole computer has the memory that was asked for, as far as its source states that, and is
    carried about where that was."""
    if need.form in ("laptop", "mobile") and offer.whole and re.match(BOXES, offer.instance):
        return False
    with_gb = re.search(r"\b(?:with|of) (\d+) GB", f"{offer.instance} {offer.note}") if offer.whole else None
    asked = {gb for gpu, gb in need.sizes if gpu in offer.gpu_ids}
    if need.memory_gb and need.memory_gb[0] == need.memory_gb[1]:
        asked |= {need.memory_gb[0]} if catalog.get(offer.gpu_ids[0]).memory_varies else set()
    return not (with_gb and asked) or float(with_gb[1]) in asked


def _of_their_own(offers: Sequence[Offer]) -> Iterator[Offer]:
    """The offers, of purchases without those GPUs of a family that have a price of their own."""
    own = {(o.gpu_ids[0], o.kind) for o in offers if not o.per_hour and len(o.gpu_ids) == 1}
    for offer in offers:
        family = len(offer.gpu_ids) > 1 and not offer.per_hour
        no = {gpu for gpu in offer.gpu_ids if family and (gpu, offer.kind) in own}
        if left := tuple(gpu for gpu in offer.gpu_ids if gpu not in no):
            yield replace(offer, gpu_ids=left) if no else offer


def _is_sold_so(offer: Offer) -> bool:
    """Whether somebody sells just this: a card, a computer, or a board of modules. What a source states of a
    laptop's GPU is the price of a part that nobody can buy; a price that the user states is of the laptop."""
    form = catalog.get(offer.gpu_ids[0]).text("form")
    if offer.per_hour or offer.whole or offer.source.id == "own-prices":
        return True
    return offer.count >= LEAST_BOARD if form in MODULES else form != "laptop"


def offered(need: Need, offers: Sequence[Offer], today: date) -> dict[str, tuple[int, ...]]:
    """Each GPU that one of the usable `offers` is of, or that is there already, with the numbers in which it
    comes; and one of it, which the speed of several is compared with."""
    found: dict[str, set[int]] = defaultdict(lambda: {1})
    for gpu, number in Counter(need.have).items():
        found[gpu].update(range(1, number + 1))
    for gpu in _computers(need, today):
        found[gpu].add(1)
    for offer in offers:
        counts = {count for count, _ in machines(need, offer)}
        for gpu in offer.gpu_ids if counts else ():
            found[gpu] |= counts
    # Who names a card is told first whether it can do the work at all, then whether anybody sells it.
    for gpu in need.named or need.only:
        if len(need.named or need.only) <= FEW or catalog.get(gpu).text("form") in COMPUTERS:
            found[gpu] |= {n for n in TOGETHER if need.gpus[0] <= n <= min(_most(gpu), need.gpus[1])} | {1}
    if need.sets:
        owned = Counter(need.have)
        wanted = (*need.sets, *owned.items())
        sets = {
            gpu: {1, *range(1, owned[gpu] + 1), *(n for each, n in wanted if each == gpu)}
            for gpu, _ in wanted
        }
        return {gpu: tuple(sorted(counts)) for gpu, counts in sets.items()}
    return {gpu: tuple(sorted(counts)) for gpu, counts in found.items()}


def _most(gpu: str) -> int:
    """How many of a GPU share a model at most: a laptop holds one."""
    form = catalog.get(gpu).text("form")
    return 1 if form == "laptop" else MOST_COMPUTERS if form in COMPUTERS else MOST_TOGETHER


def machines(need: Need, offer: Offer) -> Iterator[tuple[int, int]]:
    """GPUs, and how many of the offered machine or card that takes."""
    # A slice is another machine than the GPU; half a card has no speed of its own.
    if offer.count < 1 or offer.count % 1:
        return
    size = int(offer.count)
    # Machines train apart, and share no layers of a model, so one of them; cards share a machine.
    # What somebody asks about by number is priced even so, as a bound.
    several = (need.mode == "infer" and not need.task) or not offer.per_hour or bool(need.sets)
    most = min(need.gpus[1], max(need.gpus[0], MOST_TOGETHER))  # `_in_time` adds more for a deadline
    if offer.gpu_ids and not offer.per_hour:
        most = min(most, max(need.gpus[0], _most(offer.gpu_ids[0])))
    fewest = max(1, -(-need.gpus[0] // size))
    for number in range(fewest, (most // size if several else 1) + 1):
        if size * number <= need.gpus[1]:
            yield size * number, number


def candidates(need: Need, speeds: Sequence[Record], offers: Sequence[Offer], *, today: date) -> Candidates:
    """All combinations that have a speed and one of the usable `offers`; limits come later."""
    known = {(speed.gpu_id, speed.gpus): speed for speed in speeds if speed.throughput is not None}
    rows = list(_offers(need, known, offers, today))
    for gpu, number in Counter(need.have).items():
        counts = [n for n in range(1, number + 1) if (gpu, n) in known]
        # Of the cards that are there the fewest that are as fast as all of them.
        fast = {n: interval.value for n in counts if (interval := known[gpu, n].throughput)}
        if count := next((n for n in fast if fast[n] * EQUAL >= max(fast.values())), 0):
            rows.append(Row(gpu, count, "have", 0.0, 0.0, False, known[gpu, count], None))
    had = (row for row in rows if row.way != "have" or row.gpu not in dict(need.sets))
    priced = {row.gpu for row in had if not (need.task and is_spread(row))}
    bought = sorted((o for o in offers if not o.per_hour and o.count == 1), key=lambda o: o.seen_on)
    last = {o.gpu_ids[0]: o for o in bought if len(o.gpu_ids) == 1}
    # A GPU that was named, and a third beside two, is answered for; its price is not known, or too old.
    numbers = [n for n in TOGETHER if need.gpus[0] <= n <= need.gpus[1]] or [need.gpus[0]]
    least = ((gpu, next((n for n in numbers if (gpu, n) in known), 0)) for gpu in need.named or need.only)
    named = (*need.sets, *least)
    if need.acquire != "rent":
        computers = [(gpu, 1) for gpu in _computers(need, today)]
        rows += [
            Row(gpu, n, "unpriced", np.nan, 0.0, gpu in last and not _is_believed(last[gpu], known, rows),
                known[gpu, n], last.get(gpu))
            for gpu, n in dict.fromkeys((*computers, *named))
            if gpu not in (*priced, *need.hired)
            and (need.sold != ("new",) or gpu in dict(need.sets) or is_sold_new(gpu, today))
            and need.have.count(gpu) < n
            and (gpu, n) in known
            and (n >= LEAST_BOARD or catalog.get(gpu).text("form") not in MODULES)
        ]  # fmt: skip
    asked = (row for row in rows if row.way == "have" or not need.sets or (row.gpu, row.count) in need.sets)
    return columns(need, list(asked))


def _is_believed(old: Offer, known: Mapping[tuple[str, int], Record], rows: Sequence[Row]) -> bool:
    """Whether an old price may still be had: not where a slower, smaller one of its maker costs more now."""
    gpu = old.gpu_ids[0]
    speed, memory = known.get((gpu, 1)), catalog.get(gpu).memory_bytes or 0.0
    weaker = (
        row for row in rows
        if row.count == 1 and row.way in ("new", "used", "street") and speed is not None
        and catalog.get(row.gpu).vendor == catalog.get(gpu).vendor
        and row.speed.value <= speed.value and (catalog.get(row.gpu).memory_bytes or inf) <= memory
    )  # fmt: skip
    return not any(row.price > old.amount for row in weaker)


def is_spread(row: Row) -> bool:
    """Whether one copy of a model would be split over rented machines."""
    return bool(row.offer and row.way in RENTS and row.count > row.offer.count * row.speed.replicas)


def price_half(offer: Offer, today: date) -> float:
    """Half width of a price in log space: from its age, or the spread that its source states."""
    days = prices.age_days(offer, today) or 0
    stated = log(offer.high / offer.low) / 2 if offer.low and offer.high else 0.0
    return max(LEAST_HALF, stated, DRIFT * sqrt(max(0, days) / 365))


def _offers(
    need: Need, known: Mapping[tuple[str, int], Record], offers: Sequence[Offer], today: date
) -> Iterator[Row]:
    bought = [o for o in offers if not o.per_hour and len(o.gpu_ids) == 1]
    last = {o.gpu_ids[0]: o.seen_on for o in sorted(bought, key=lambda o: o.seen_on)}
    # Of machines that share out work with a deadline, `_in_time` takes as many as keep it and no more.
    split = need.mode == "infer" and need.deadline_s is not None and need.gpus[1] > MOST_TOGETHER
    single = (o for o in offers if need.sets and o.per_hour and len(o.gpu_ids) == 1)
    direct = {(o.gpu_ids[0], int(o.count)) for o in single}
    for offer in offers:
        stale = not prices.is_fresh(offer, today)
        newer = stale and not offer.per_hour and offer.seen_on < last.get(offer.gpu_ids[0], "")
        if newer or _is_late(need, offer, today):
            continue  # a launch price says nothing where somebody asks a price since
        half = price_half(offer, today)
        for count, number in machines(need, offer):
            if number > 1 and offer.per_hour and direct.intersection((g, count) for g in offer.gpu_ids):
                continue
            if number > 1 and offer.per_hour and split:
                continue
            found = [known.get((gpu, count)) for gpu in offer.gpu_ids]
            able = [speed for speed in found if speed is not None and speed.throughput is not None]
            if not offer.per_hour:
                able = [speed for speed in able if _has_memory(need, speed.gpu_id)] or able
            # Who buys picks the card of a family that does the work; a machine may hold any of them.
            if able and (len(able) == len(found) or not offer.per_hour):
                speed = min(able, key=lambda s: s.throughput.value if s.throughput else 0.0)
                price = offer.amount * number if offer.per_hour else offer.per_gpu
                if offer.kind == "serverless" and need.task == "infer" and need.concurrent < 2:
                    speed = alone(need, speed)
                row = Row(speed.gpu_id, count, offer.kind, price, half, stale, speed, offer)
                yield row
                if number == 1 and offer.per_hour and (several := _in_time(need, row)) is not None:
                    yield several
        if offer.per_hour and (beside := _beside(need, known, offer)) is not None:
            yield Row(beside.gpu_id, beside.gpus, offer.kind, offer.amount * beside.gpus / offer.count,
                      half, stale, beside, offer)  # fmt: skip


def _beside(need: Need, known: Mapping[tuple[str, int], Record], offer: Offer) -> Record | None:
    """The fewest of a rented machine that serve all people between them, each with a copy of the model; None
    where one does, or no number does that is allowed."""
    gpu, size = offer.gpu_ids[0], int(offer.count)
    served = need.task == "infer" and need.concurrent > 1 and need.items is None
    if not served or len(offer.gpu_ids) > 1 or offer.count % 1 or size < 1:
        return None
    if (one := known.get((gpu, size))) and (one.seconds or 0.0) <= (need.latency_s or inf):
        return None
    asked = {count for each, count in need.sets if each == gpu}
    counts = asked or range(max(2 * size, need.gpus[0]), need.gpus[1] + 1)
    numbers = (count // size for count in sorted(counts) if count % size == 0 and count > size)
    return next(filter(None, (apart(need, gpu, size, number) for number in numbers)), None)


def _in_time(need: Need, row: Row) -> Row | None:
    """As many of a rented machine as keep a deadline, each with its part of the work; None where one does, or
    where they are more than are allowed."""
    speed = row.speed.throughput
    if need.mode != "infer" or not need.deadline_s or not need.items or speed is None:
        return None
    number = ceil(need.items / speed.value / need.assumptions.utilisation / need.deadline_s)
    if number == 1 or number * row.count > need.gpus[1]:
        return None
    together = times(row.speed, number)
    return replace(row, count=number * row.count, price=number * row.price, speed=together)


def _has_memory(need: Need, gpu: str) -> bool:
    """Whether a card of a family is one with the memory that was asked for."""
    (low, high), spec = need.memory_gb or (0.0, None), catalog.get(gpu)
    size = spec.number("memory_sold_gb") or (spec.memory_bytes or 0.0) / 2**30
    return low - 0.5 <= size <= (high or size) + 0.5


def _is_late(need: Need, offer: Offer, today: date) -> bool:
    """Whether a price is too old: on the day of its list, unless an age was asked for."""
    a = need.assumptions
    counted = today if a.aged_today else prices.counted_on(offer, today)
    return a.max_age_days is not None and (prices.age_days(offer, counted) or 0) > a.max_age_days


def _computers(need: Need, today: date) -> tuple[str, ...]:
    """Laptops and small computers that shops still sell, where one is asked for."""
    if need.form not in ("mobile", "laptop", "small") or need.acquire == "rent":
        return ()
    return tuple(
        spec.id
        for spec in catalog.all_gpus()
        if has_form(spec, need.form) and (spec.id in need.only if need.only else is_sold_new(spec.id, today))
    )


def is_sold_new(gpu: str, today: date) -> bool:
    """Whether shops still sell a GPU, by when it came out."""
    spec = catalog.get(gpu)
    years = CARD_YEARS if spec.text("segment") == "consumer" else PRO_YEARS
    months = round(12 * (SHOP_YEARS if spec.text("form") in COMPUTERS else years))
    year, month = divmod(12 * today.year + today.month - 1 - months, 12)
    since = f"{year}" if spec.text("form") in COMPUTERS else f"{year}-{month + 1:02}"
    return (spec.text("launch") or "") >= since and not EXPORT.search(gpu)


@cache
def _hosts() -> Mapping[str, list[tuple[int, float, float]]]:
    """Class of machine -> (GPUs at most, USD, watts), rising: what it usually costs without its GPUs.
    Assumptions, none of them a fact of a source."""
    found: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for row in catalog.rows(DATA / "hosts.csv"):
        found[row["class"]].append((int(row["gpus"]), float(row["usd"]), float(row["watts"])))
    return found


def host_of(gpu: str, count: int) -> tuple[str, float, float]:
    """Class, price and watts of the machine around `count` of a GPU. Cards of the server segment need a
    server's fans, but for those that a desktop holds and that a fan put on them cools; more cards than a
    desktop's two need a workstation, more slots than its board has an open frame with risers, more than four
    cards a server."""
    spec, hosts = catalog.get(gpu), _hosts()
    if spec.text("form") in COMPUTERS:
        ((_, usd, watts),) = hosts["whole computer"]
        return "whole computer", usd, watts * count
    cooled = spec.text("form") == "pcie" and (spec.power_w or inf) <= BY_FAN_W and count <= MOST_THERE
    fanless = spec.text("segment") == "server" and not cooled
    wide = (spec.number("slots") or 2) * count > BOARD_SLOTS
    for name in ("server",) if fanless else ("desktop", "workstation", "open frame", "server"):
        for most, usd, watts in hosts[name]:
            if count <= most and not (wide and name in ("desktop", "workstation")):
                return name, usd, watts
    _, usd, watts = hosts["server"][-1]
    return "several servers", usd * ceil(count / 8), watts * ceil(count / 8)


def host_for(need: Need, gpu: str, count: int) -> tuple[str, float, float]:
    """`host_of` one person's GPUs; where those of all people stand in one machine, the part of each in it."""
    people = need.users if need.one_machine else 1
    name, usd, watts = host_of(gpu, count * people)
    return name, usd / people, watts / people


def hosts_of(need: Need, rows: Sequence[Row]) -> list[tuple[str, float, float]]:
    """`host_for` each row: thousands of offers are of a few hundred GPUs."""
    each = {key: host_for(need, *key) for key in dict.fromkeys((row.gpu, row.count) for row in rows)}
    return [each[row.gpu, row.count] for row in rows]


def least_host_usd() -> float:
    """What the cheapest machine around a GPU costs."""
    return min(usd for rows in _hosts().values() for _, usd, _ in rows if usd)


def cards_paid(need: Need, gpu: str, count: int) -> int:
    """Cards to buy for so many of a GPU: those that are there already are among them, unless replaced."""
    return count - (0 if need.upgrade else min(need.have.count(gpu), count - 1))


def columns(need: Need, rows: Sequence[Row]) -> Candidates:
    """The figures of `rows` as arrays, with time, money and energy of each."""
    a = need.assumptions
    intervals = [row.speed.throughput for row in rows]

    def array(values: Sequence[float | None]) -> Array:
        return np.array([np.nan if value is None else value for value in values], dtype=float)

    speed, high, low = (
        array([getattr(interval, end) if interval else None for interval in intervals])
        for end in ("value", "high", "low")
    )
    with np.errstate(divide="ignore"):
        speed_half = np.log(high / np.maximum(low, 1e-300)) / 2
    count, price = array([row.count for row in rows]), array([row.price for row in rows])
    price_half = array([row.half for row in rows])
    watts = array([None if row.speed.watts is None else row.speed.watts.value for row in rows])
    watts_half = array([half_of(row.speed.watts) for row in rows])
    own = np.array([row.way not in RENTS for row in rows], dtype=bool)
    upper = np.exp(price_half * [row.stale for row in rows])
    have = np.array([row.way == "have" for row in rows], dtype=bool)
    # Cards that take the place of those that are there use their machine, unless that is a laptop.
    there = sum(catalog.get(gpu).text("form") not in COMPUTERS for gpu in need.have)
    machines = hosts_of(need, rows)
    free = np.array([row.way == "have" or bool(row.offer and row.offer.whole) for row in rows], dtype=bool)
    usd = array([machine[1] for machine in machines])
    host_w = array([machine[2] for machine in machines])
    if a.host_usd is not None:
        usd = np.where(usd > 0, a.host_usd * np.maximum(0.0, count - there), 0.0)
    elif there:
        # A larger supply and board, for more cards than the machine holds that is there.
        more = count > (there if need.upgrade else max(there, MOST_THERE))
        usd = np.where(more, np.maximum(0.0, usd - host_of(need.have[0], there)[1]), 0.0)
    if a.host_w is not None:
        host_w = np.where(host_w > 0, a.host_w * count, 0.0)
    host = np.where(own & ~free, usd, 0.0)
    outlay = np.where(
        own & ~have, price * array([cards_paid(need, row.gpu, row.count) for row in rows]) + host, 0.0
    )
    time = np.full(len(rows), np.nan) if need.items is None else need.items / speed
    used = np.full(len(rows), hours_of_use(need))
    if is_once(need):
        used = np.minimum(used, time / 3600 / a.utilisation)
    fixed = np.where(own, outlay * lost_share(a) / used, price)
    drawn = np.nan_to_num(watts) + host_w
    busy, per_hour_items = np.ones(len(rows)), 3600 * speed * a.utilisation
    if need.items is not None and need.period_s is not None:
        busy = np.minimum(1.0, need.items / need.period_s / speed)
        per_hour_items = np.full(len(rows), need.items / need.period_s * 3600)
    # A worker that is paid by the second costs nothing while nobody asks, but starts and waits at its price.
    paid_by_second = np.array([row.way == "serverless" for row in rows], dtype=bool)
    works = busy if need.period_s is not None else a.utilisation
    fixed = np.where(paid_by_second, fixed * np.minimum(1.0, STARTS * works), fixed)
    fixed = np.where(~own & need.batched & ~paid_by_second, fixed * busy, fixed)
    if need.items is not None and need.period_s is None:
        terms = array([least_paid_h(need, row) for row in rows])
        fixed = fixed * np.maximum(1.0, terms / np.maximum(time / 3600 / a.utilisation, 1e-9))
    if by_hour(need):
        # What is worth paying for is that all are answered as quickly as was asked, or the time.
        per_hour_items = np.full(len(rows), 3600 * (need.concurrent or 1) / (need.latency_s or 1.0))
    running = np.where(own, drawn / 1000 * a.cooling * a.electricity_usd_per_kwh * busy, 0.0)
    if need.egress_gb and (span := egress_h(need)):
        # Where it is not known, the most that any is known to ask.
        asked = (row.offer.egress_usd_per_gb if row.way in RENTS and row.offer else 0.0 for row in rows)
        leaving = array([most_egress() if each is None else each for each in asked])
        an_hour = per_hour_items / need.items if need.items else 1 / span
        running = running + leaving * need.egress_gb * an_hour
    per_hour = fixed + running
    per_item = per_hour / per_hour_items
    # Where the cheapest card is asked for, how much it does with its hours does not matter; one without a
    # fresh price counts at the last that was seen, and may come first, with that said.
    had = (row.offer if row.way == "unpriced" and not row.stale else None for row in rows)
    last = array([offer.amount if offer else np.inf for offer in had])
    once = price if need.acquire == "rent" else np.where(outlay > 0, outlay, last)
    paid = once if need.goal == "price" else per_item
    share = np.divide(fixed, per_hour, out=np.ones_like(fixed), where=per_hour > 0)
    # Of the energy, only what the cards draw is uncertain.
    cards = np.divide(np.nan_to_num(watts), drawn, out=np.zeros_like(drawn), where=drawn > 0)
    joules = (watts + host_w) * a.cooling / speed
    # A service is paid for whether it is busy or not: its speed then costs nothing.
    boards = array([catalog.get(row.gpu).power_w for row in rows]) * count
    apart = {"speed": 1 / speed, "energy": joules, "power": boards}
    timed_half = speed_half * (0.0 if is_service(need) else 1.0)
    paid_half = np.hypot(price_half * share, watts_half * (1.0 - share) * cards)
    return Candidates(
        rows=tuple(rows), count=count, price=price, price_half=price_half, speed=speed, speed_half=speed_half,
        own=own, host=host, outlay=outlay, fixed=fixed, running=running, per_hour=per_hour,
        time=time, per_item=per_item, upper=upper,
        half=np.hypot(timed_half, paid_half), paid_half=paid_half,
        ranked=np.where(np.isnan(price) & (not need.sets), np.nan, apart[need.goal])
        if need.goal in apart else paid * (share * upper + 1 - share),
        joules=joules, drawn=drawn,
    )  # fmt: skip


def egress_h(need: Need) -> float | None:
    """Hours in which the stated amount leaves a provider: of work, its period or all of it; of a service a
    month, unless its hours are stated; None where nothing says."""
    if need.items:
        return (need.period_s or 3600.0) / 3600
    return need.hire_h or (HOURS_PER_YEAR / 12 if is_service(need) else None)


def most_egress() -> float:
    """USD of a GB that leaves the dearest of the providers of which it is known."""
    return max(prices.egress().values())


def committed_h(offer: Offer) -> float:
    """Hours of a commitment, from an offer's words; 0 without one."""
    term = re.search(r"(\d+) (month|year)s? of commitment", offer.note)
    return float(term[1]) * (HOURS_PER_YEAR / 12 if term[2] == "month" else HOURS_PER_YEAR) if term else 0.0


def least_paid_h(need: Need, row: Row) -> float:
    """Hours of a rent that are paid at the least: who does so much and no more pays for the whole of a
    commitment, and for an hour."""
    once = need.items is not None and need.period_s is None
    if not (once and row.offer and row.way in RENTS) or row.way == "serverless":
        return 0.0
    return max(LEAST_PAID_H, committed_h(row.offer))


def lost_share(a: Assumptions) -> float:
    """Share of an outlay that is gone when the years are over."""
    return 1.0 - float((1.0 - a.depreciation) ** a.years)


def is_once(need: Need) -> bool:
    """Whether a purchase is put on the stated work alone: who may as well rent, and states all there is to do
    and no hours of a week, does not buy for years of other work."""
    usual = need.assumptions.hours_per_week == Assumptions().hours_per_week
    both = need.acquire == "both" or need.either
    return usual and both and need.items is not None and need.period_s is None


def hours_of_use(need: Need) -> float:
    """Hours over which an outlay is spread: those of work, of a service all."""
    a = need.assumptions
    if need.period_s is not None:
        return HOURS_PER_YEAR * a.years
    return a.hours_per_week * WEEKS_PER_YEAR * a.years


def hours_a_month(need: Need) -> float:
    """Hours of a month that are paid for."""
    return hours_of_use(need) / need.assumptions.years / 12


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


def is_service(need: Need) -> bool:
    """Whether hours are paid for, busy or not: what does more within them is worth no more."""
    return need.period_s is not None or by_hour(need)


def by_hour(need: Need) -> bool:
    """Whether what is paid is that of hours, of people who are served or of a rent whose time is stated, and
    not of an amount of work."""
    hired = need.hire_h is not None and need.acquire == "rent" and not need.budget_usd
    return need.items is None and (need.concurrent > 0 or hired)


def worth_per_hour(need: Need, them: Candidates, place: int, rent: int) -> float:
    """What renting costs for the work that an hour of an owned option does; of a service, for that hour."""
    if is_service(need):
        return float(them.per_hour[rent])
    return float(them.per_item[rent] * 3600 * them.speed[place]) * need.assumptions.utilisation
