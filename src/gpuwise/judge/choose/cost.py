"""What the work takes in hours, money and joules: rent, or the total cost of owning.

    hours of work     items / (3600 speed)                          paid: / utilisation
    rent              price x paid hours
    owning, capital   (cards + host) (1 - (1 - depreciation)^years) / (hours a week x 52.18 x years)
    owning, energy    (watts + host watts) x cooling x price of a kWh, for each hour
    a service         comes again each period: paid for around the clock, energy for the busy share

Errors of speed, price and watts are independent, so their half widths in log space, each times its share of
the cost, add in quadrature; the price of a kWh and what a host draws are taken as they are said.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuwise.judge.choose.candidates import Array, Candidates
from gpuwise.model.choice import Assumptions, Need

WEEKS_PER_YEAR = 365.25 / 7
HOURS_PER_YEAR = 365.25 * 24


@dataclass(frozen=True, slots=True)
class Costs:
    """Columns beside those of the candidates. Money in USD."""

    outlay: Array
    """Paid at once: cards and host shares; 0 for rent and for what is there."""
    per_hour: Array
    """Of use: rent, or capital and energy."""
    fixed: Array
    """An hour: rent or capital."""
    running: Array
    """An hour: energy; 0 where it is in the rent."""
    time: Array
    """Seconds of the work; NaN without an amount."""
    total: Array
    """Of the work; NaN without an amount."""
    per_item: Array
    half: Array
    """Half width of the cost in log space."""
    ranked: Array
    """Cost of an item with its price at the upper end: an old cheap price is no bargain."""
    joules: Array
    """An item."""


def costs(need: Need, them: Candidates) -> Costs:
    """Time, money and energy of every candidate."""
    a = need.assumptions
    outlay = np.where(them.own & ~them.have, (them.price + a.host_usd) * them.count, 0.0)
    fixed = np.where(them.own, outlay * lost_share(a) / hours_of_use(need), them.price)
    running = np.where(them.own, power_price(a, them.watts, them.count) * _busy(need, them), 0.0)
    time = np.full(len(them), np.nan) if need.items is None else need.items / them.speed
    per_hour = fixed + running
    per_item = per_hour / _items_per_hour(need, them)
    share = np.divide(fixed, per_hour, out=np.ones_like(fixed), where=per_hour > 0)
    # A service is paid for whether it is busy or not: its speed then costs nothing.
    speed_half = them.speed_half * (1.0 if need.period_s is None else 0.0)
    drawn = them.watts_half * (1.0 - share) * _of_cards(a, them)
    worse = share * np.exp(them.price_half) + 1 - share
    return Costs(
        outlay=outlay, per_hour=per_hour, fixed=fixed, running=running, time=time,
        total=per_item * (np.nan if need.items is None else need.items), per_item=per_item,
        half=np.hypot(np.hypot(speed_half, them.price_half * share), drawn), ranked=per_item * worse,
        joules=(them.watts + a.host_w * them.count) * a.cooling / them.speed,
    )  # fmt: skip


def lost_share(a: Assumptions) -> float:
    """Share of an outlay that is gone when the years are over."""
    return 1.0 - float((1.0 - a.depreciation) ** a.years)


def power_price(a: Assumptions, watts: Array, count: Array) -> Array:
    """USD an hour for energy; what is not known to draw anything costs its host's share only."""
    return np.asarray(_drawn(a, watts, count) / 1000 * a.cooling * a.electricity_usd_per_kwh)


def _drawn(a: Assumptions, watts: Array, count: Array) -> Array:
    """Watts of cards and their hosts' shares."""
    return np.asarray(np.nan_to_num(watts) + a.host_w * count)


def _of_cards(a: Assumptions, them: Candidates) -> Array:
    """Share of the energy that the cards draw; the rest is their hosts'."""
    whole = _drawn(a, them.watts, them.count)
    return np.divide(np.nan_to_num(them.watts), whole, out=np.zeros_like(whole), where=whole > 0)


def hours_of_use(need: Need) -> float:
    """Hours over which an outlay is spread: those of work, of a service all."""
    a = need.assumptions
    if need.period_s is not None:
        return HOURS_PER_YEAR * a.years
    return a.hours_per_week * WEEKS_PER_YEAR * a.years


def _busy(need: Need, them: Candidates) -> Array:
    """Share of the period in which the GPUs work."""
    if need.items is None or need.period_s is None:
        return np.ones(len(them))
    return np.minimum(1.0, need.items / need.period_s / them.speed)


def _items_per_hour(need: Need, them: Candidates) -> Array:
    """Items done in an hour that is paid for."""
    if need.items is not None and need.period_s is not None:
        return np.full(len(them), need.items / need.period_s * 3600)
    return 3600 * them.speed * need.assumptions.utilisation
