"""The sentences of `choose` on renting against buying: what both cost, and from when on owning costs less."""

from __future__ import annotations

from math import ceil

from gpuwise.judge.choose import candidates as priced
from gpuwise.judge.choose import fit, phrases
from gpuwise.judge.choose.phrases import counted, machine_of, weekly_use
from gpuwise.model.gpu import RENTS
from gpuwise.model.judgement import Assumptions, Need, Option, Recommendation
from gpuwise.model.units import brief, seconds, usd


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
    less, machine = bought < rented, " with its machine" * bool(own.host_usd)
    price = f"{usd(own.outlay_usd)}{machine}, {phrases.dated(own)}{', old' * own.stale}"
    each = f" for each of {need.users} people" * (need.users > 1)
    buy = f"{machine_of(own)}{each} bought ({price}) take{'s' * (own.count == 1)}"
    buy += f" {phrases.sum_of(need, bought)}"
    source = rent.provider and f" from {rent.provider}"
    rents = f"{machine_of(rent)}{each} rented{source}{phrases.priced_at(rent)}"
    said = f"{'Buy' if less else 'Rent'}: {span} {buy}, {rents} {phrases.sum_of(need, rented)} for the same."
    return f"{said} {meet or _from_hours(need, rent, own)}", less


def meets(found: Recommendation) -> str:
    """From when on buying costs less than renting, where both were allowed and have a place."""
    need, rents = found.need, (option for option in found.options if option.way in RENTS)
    rent, own = next(rents, None), next((option for option in found.options if option.outlay_usd), None)
    if rent is None or own is None or need.either or need.have or need.sets or priced.is_once(need):
        return ""
    said = _pays(need, rent, own, found.item) or _from_hours(need, rent, own)
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
    """The electricity of each that is compared in a year, the least first: of the cards, and of all."""
    need, a = found.need, found.need.assumptions
    each = {(o.gpu_id, o.count): o for o in reversed(found.options) if o.power_w}
    paid = {key: 12 * phrases.electricity(need, option)[1] for key, option in each.items()}
    hourly = 12 * priced.hours_a_month(need) / 1000 * a.electricity_usd_per_kwh
    sums = (
        f"{counted(*key)} {phrases.sum_of(need, hourly * watts)} at {watts:.0f} W, "
        f"{phrases.sum_of(need, paid[key])} with its machine and cooling"
        for key in sorted(paid, key=lambda key: paid[key])
        for watts in phrases.drawn_w(need, each[key])[:1]
    )
    low, at = min(paid, key=lambda key: paid[key]), f"${a.electricity_usd_per_kwh:.3g} a kWh"
    said = "; ".join(sums)
    return f"Least electricity: {counted(*low)}. A year{weekly_use(a.hours_per_week)} at {at}: {said}."
