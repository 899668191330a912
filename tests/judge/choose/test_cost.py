"""Costs by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date

import pytest

from gpuwise.judge.choose.candidates import HOURS_PER_YEAR, WEEKS_PER_YEAR
from gpuwise.model.judgement import Assumptions

from .conftest import candidates


def test_rent_is_price_times_hours_of_work(need, speed, offer, today: date) -> None:
    asked = need(items=3.6e6, assumptions=Assumptions(utilisation=0.5))
    them = candidates(asked, [speed("rtx-4090", 100.0)], [offer("rtx-4090", 0.50)], today=today)
    # 36,000 s of work are 10 h, of which every second is paid for twice.
    assert them.time[0] == pytest.approx(36_000)
    assert them.per_item[0] * asked.items == pytest.approx(10 * 0.50 / 0.5)
    assert them.outlay[0] == 0
    assert them.running[0] == 0


def test_owning_is_lost_value_over_hours_of_use_and_energy(need, speed, offer, today: date) -> None:
    a = Assumptions(
        electricity_usd_per_kwh=0.30, hours_per_week=20, years=2, host_usd=1000, host_w=50, cooling=1.5,
        depreciation=0.5,
    )  # fmt: skip
    asked = need(items=3.6e5, acquire="own", gpus=(2, 2), assumptions=a)
    them = candidates(asked, [speed("rtx-4090", 100.0, 2)], [offer("rtx-4090", 2000, "new")], today=today)
    assert them.outlay[0] == 2 * 3000
    capital = 2 * 3000 * (1 - 0.25) / (20 * WEEKS_PER_YEAR * 2)
    energy = (600 + 2 * 50) / 1000 * 1.5 * 0.30
    assert them.per_hour[0] == pytest.approx(capital + energy)
    assert them.per_item[0] * asked.items == pytest.approx(capital + energy)  # an hour of work
    assert them.joules[0] == pytest.approx(700 * 1.5 / 100)


def test_a_service_is_paid_around_the_clock_and_draws_when_busy(need, speed, offer, today: date) -> None:
    day = 86_400.0
    asked = need(items=50 * day, period_s=day, assumptions=Assumptions(years=1, host_usd=0, host_w=100))
    offers = [offer("rtx-4090", 1.0), offer("rtx-4090", 1000, "new")]
    them = candidates(asked, [speed("rtx-4090", 100.0)], offers, today=today)
    assert them.per_item[0] * asked.items == pytest.approx(24.0)
    energy = (300 + 100) / 1000 * 1.3 * 0.20
    assert them.per_item[1] * asked.items == pytest.approx(24 * (1000 * 0.3 / HOURS_PER_YEAR + energy / 2))
    # Rent around the clock does not depend on the speed.
    assert them.half[0] == pytest.approx(them.price_half[0])


def test_errors_of_speed_and_price_add_in_quadrature(need, speed, offer, today: date) -> None:
    asked = need(items=1.0)
    made = candidates(asked, [speed("rtx-4090", 100.0, factor=math.e)], [offer("rtx-4090", 1.0)], today=today)
    assert made.half[0] == pytest.approx(math.hypot(1.0, made.price_half[0]))


def test_errors_of_watts_count_by_what_the_cards_draw_of_the_cost(need, speed, offer, today: date) -> None:
    asked = need(items=3.6e5, have=("rtx-4090",), acquire="both")
    here = [speed("rtx-4090", 100.0, watts_half=0.2)]
    them = candidates(asked, here, [offer("rtx-4090", 1.0)], today=today)
    rented, there = them.half
    assert rented == pytest.approx(math.hypot(math.log(1.2), them.price_half[0]))  # energy is in the rent
    # Nothing but energy is paid; 300 of 400 W are the card's.
    assert there == pytest.approx(math.hypot(math.log(1.2), 0.2 * 300 / 400))


def test_what_is_there_costs_its_energy_alone(need, speed, today: date) -> None:
    asked = need(items=3.6e5, have=("rtx-4090",))
    them = candidates(asked, [speed("rtx-4090", 100.0)], [], today=today)
    assert them.per_item[0] * asked.items == pytest.approx((300 + 100) / 1000 * 1.3 * 0.20)


def test_work_that_is_done_once_pays_for_the_whole_commitment(need, speed, offer, today) -> None:
    """1 M items at 100 a second are 2.8 h; a year at $1 is 8,766 of them."""
    year = replace(offer("rtx-4090", 1.0, "reserved"), note="1 year of commitment")
    offers = [year, offer("rtx-4090", 2.0)]
    once = candidates(need(items=1e6, reserved=True), [speed("rtx-4090", 100.0)], offers, today=today)
    assert once.per_item * 1e6 == pytest.approx([8766.0, 2e6 / 360000])
    always = candidates(need(reserved=True), [speed("rtx-4090", 100.0)], offers, today=today)
    assert always.per_hour == pytest.approx([1.0, 2.0])
