"""Every combination of GPU, number and price, as columns: thousands are judged in a few milliseconds.

    rent      an offer of c GPUs is a machine; n = c, or k c where the machines work side by side (inference)
    purchase  n cards at the price of one
    have      cards that are there already, at no price

A price is known within `exp(+-half)`, where half grows with the root of its age: prices do a random walk.
A family offer ("A100 80 GB") counts as the slowest GPU that it may be.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from gpuwise.facts import prices
from gpuwise.judge.choose.speeds import half_of
from gpuwise.model.choice import Need, Way
from gpuwise.model.offer import Offer
from gpuwise.model.record import Record

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Half width, as a logarithm, of a price one year old. Two AWS machines with A100s lost a third in three
# years (0.23 a root of a year), one with eight H100s 44 % in two (0.41), those with T4 and A10G nothing.
DRIFT = 0.4
# Of a price seen today: regions and days differ.
LEAST_HALF = 0.05
# Age at which a price without a date counts.
UNDATED_YEARS = 2.0


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate before its figures became columns."""

    gpu: str
    count: int
    way: Way
    price: float
    """USD: of all machines for an hour, of one card bought, or nothing."""
    half: float
    stale: bool
    speed: Record
    offer: Offer | None


@dataclass(frozen=True, slots=True)
class Candidates:
    """Columns of equal length, one entry a candidate."""

    rows: tuple[Row, ...]
    count: Array
    price: Array
    price_half: Array
    speed: Array
    """Items a second."""
    speed_half: Array
    watts: Array
    """Of all GPUs; NaN where unknown."""
    watts_half: Array
    own: Mask
    """Bought, or there already."""
    have: Mask

    def __len__(self) -> int:
        return len(self.rows)


def candidates(need: Need, speeds: Sequence[Record], offers: Sequence[Offer], *, today: date) -> Candidates:
    """All combinations that have a speed and a price, in the order of the speeds; limits come later."""
    known = {(speed.gpu_id, speed.gpus): speed for speed in speeds if speed.throughput is not None}
    rows = [*_rents(need, known, offers, today), *_purchases(need, known, offers, today), *_own(need, known)]
    return columns(rows)


def columns(rows: Sequence[Row]) -> Candidates:
    """The figures of `rows` as arrays."""
    intervals = [row.speed.throughput for row in rows]
    speed = np.array([interval.value if interval else np.nan for interval in intervals], dtype=float)
    high = np.array([interval.high if interval else np.nan for interval in intervals], dtype=float)
    low = np.array([interval.low if interval else np.nan for interval in intervals], dtype=float)
    with np.errstate(divide="ignore"):
        half = np.log(high / np.maximum(low, 1e-300)) / 2
    return Candidates(
        rows=tuple(rows),
        count=np.array([row.count for row in rows], dtype=float),
        price=np.array([row.price for row in rows], dtype=float),
        price_half=np.array([row.half for row in rows], dtype=float),
        speed=speed,
        speed_half=half,
        watts=np.array(
            [np.nan if row.speed.watts is None else row.speed.watts.value for row in rows], dtype=float
        ),
        watts_half=np.array([half_of(row.speed.watts) for row in rows], dtype=float),
        own=np.array([row.way in ("new", "used", "street", "have") for row in rows], dtype=bool),
        have=np.array([row.way == "have" for row in rows], dtype=bool),
    )


def usable(need: Need, offers: Sequence[Offer], today: date) -> tuple[Offer, ...]:
    """The newest sight of each offer that the need allows, by kind, provider and age."""
    wanted = {name.casefold() for name in need.providers}
    age = need.assumptions.max_age_days
    return tuple(
        offer
        for offer in prices.newest(offers)
        if prices.is_quote(offer)
        and offer.gpu_ids
        and (need.spot or offer.kind != "spot")
        and need.acquire in ("both", "rent" if offer.per_hour else "own")
        # A purchase is of the card: the provider asked for is one that rents.
        and (not wanted or not offer.per_hour or offer.provider.casefold() in wanted)
        and (age is None or (prices.age_days(offer, today) or 10**6) <= age)
    )


def offered(need: Need, offers: Sequence[Offer], today: date) -> dict[str, tuple[int, ...]]:
    """Each GPU that has a usable offer, or is there already, with the numbers in which it comes; and one of
    it, which the speed of several is compared with."""
    found: dict[str, set[int]] = defaultdict(lambda: {1})
    every = range(need.gpus[0], need.gpus[1] + 1)
    for gpu in need.have:
        found[gpu].update(every)
    for offer in usable(need, offers, today):
        counts = {n for n, _ in machines(need, offer)} if offer.per_hour else set(every)
        for gpu in offer.gpu_ids if counts else ():
            found[gpu] |= counts
    return {gpu: tuple(sorted(counts)) for gpu, counts in found.items()}


def machines(need: Need, offer: Offer) -> Iterator[tuple[int, int]]:
    """GPUs, and how many of the offered machine that takes: several only where each works by itself."""
    # A slice is another machine than the GPU; half a card has no speed of its own.
    if offer.count < 1 or offer.count % 1:
        return
    size = int(offer.count)
    for number in range(1, (need.gpus[1] // size if need.mode == "infer" else 1) + 1):
        if need.gpus[0] <= size * number <= need.gpus[1]:
            yield size * number, number


def price_half(offer: Offer, today: date) -> float:
    """Half width of a price in log space, from its age."""
    days = prices.age_days(offer, today)
    years = UNDATED_YEARS if days is None else max(0, days) / 365
    return max(LEAST_HALF, DRIFT * sqrt(years))


_Speeds = Mapping[tuple[str, int], Record]


def _rents(need: Need, known: _Speeds, offers: Sequence[Offer], today: date) -> Iterator[Row]:
    for offer in usable(need, offers, today):
        if not offer.per_hour:
            continue
        half, stale = price_half(offer, today), prices.is_stale(offer, today)
        for count, number in machines(need, offer):
            speed = _slowest(known, offer.gpu_ids, count)
            if speed is not None:
                price = offer.amount * number
                yield Row(speed.gpu_id, count, offer.kind, price, half, stale, speed, offer)


def _purchases(need: Need, known: _Speeds, offers: Sequence[Offer], today: date) -> Iterator[Row]:
    bought = [offer for offer in usable(need, offers, today) if not offer.per_hour]
    fresh = {gpu for offer in bought if not prices.is_stale(offer, today) for gpu in offer.gpu_ids}
    for offer in bought:
        stale = prices.is_stale(offer, today)
        if stale and fresh.intersection(offer.gpu_ids):
            continue  # a launch price says nothing where somebody asks a price today
        half = price_half(offer, today)
        for count in range(need.gpus[0], need.gpus[1] + 1):
            speed = _slowest(known, offer.gpu_ids, count)
            if speed is not None:
                yield Row(speed.gpu_id, count, offer.kind, offer.per_gpu, half, stale, speed, offer)


def _own(need: Need, known: _Speeds) -> Iterator[Row]:
    for gpu, number in Counter(need.have).items():
        for count in range(need.gpus[0], min(number, need.gpus[1]) + 1):
            speed = known.get((gpu, count))
            if speed is not None:
                yield Row(gpu, count, "have", 0.0, 0.0, False, speed, None)


def _slowest(known: _Speeds, gpu_ids: Sequence[str], count: int) -> Record | None:
    """The speed of the slowest GPU that an offer may mean; None where any of them has none."""
    found = [known.get((gpu, count)) for gpu in gpu_ids]
    if any(speed is None for speed in found):
        return None
    every = (speed for speed in found if speed is not None)
    return min(every, key=lambda speed: speed.throughput.value if speed.throughput else 0.0)
