"""The whole decision: order, monotony, reasons, contradictions, speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import GpuwiseError, InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.judge.choose.fit import SAID, loosened, why_not
from gpuwise.judge.choose.need import HOURS_STATED
from gpuwise.judge.choose.phrases import drawn_w, electricity
from gpuwise.judge.choose.verdicts import lacks, unknown
from gpuwise.model.gpu import Offer, Source
from gpuwise.model.judgement import Assumptions, Need
from gpuwise.model.result import Interval, Issue, Record

from ...records import made_up
from .conftest import recommend

TODAY = date(2026, 11, 21)
GPUS = ("rtx-3090", "rtx-4090", "rtx-a6000", "l40s", "a100-pcie-80gb", "h100-pcie-80gb")
SOURCE = Source(id="made-up", title="made up", kind="third-party", read_on="2026-11-21")


def priced_for(need: Need, offers: list[Offer]) -> list[Offer]:
    return [offer for offer in offers if offer.kind != "spot" or need.spot]


def made(need: Need, speeds: list[Record], offers: list[Offer], **more):
    return recommend(need, speeds, offers, today=TODAY, item="image", **more)


def test_the_cheapest_work_is_first_and_the_frontier_is_marked(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 200.0), speed("a100-pcie-80gb", 150.0)]
    offers = [offer("rtx-3090", 0.2), offer("rtx-4090", 0.5), offer("a100-pcie-80gb", 2.0)]
    found = made(need(items=7.2e5), speeds, offers)
    assert [o.gpu_id for o in found.options] == ["rtx-3090", "rtx-4090", "a100-pcie-80gb"]
    assert [o.frontier for o in found.options] == [True, True, False]
    assert found.options[0].cost_usd is not None
    assert found.options[0].cost_usd.value == pytest.approx(0.4)
    assert found.options[0].memory_spare == pytest.approx(1 - 8e9 / catalog.get("rtx-3090").memory_bytes)
    assert "1.25 times the cost of the first, 2.00 times as fast" in found.options[1].why


@pytest.mark.parametrize(("kind", "acquire"), [("on-demand", "rent"), ("new", "own")])
def test_the_runner_up_s_rent_is_an_hour_s_and_its_price_is_not(
    need, speed, offer, kind: str, acquire: str
) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 200.0)]
    offers = [offer("rtx-3090", 0.2, kind), offer("rtx-4090", 0.5, kind)]
    found = made(need(acquire=acquire), speeds, offers)
    assert ("/h of 2026-11: " in found.runner_up) == (acquire == "rent")


def test_without_a_fresh_price_the_order_is_one_and_counts_every_card_and_its_machine(
    need, speed, offer
) -> None:
    old = Assumptions(max_age_days=120, host_usd=None, host_w=100.0)
    cards = ("rtx-3060-8gb", "rtx-4060-ti-16gb", "rtx-5090")
    sets = (("rtx-3060-8gb", 2), *((card, 1) for card in cards[1:]))
    asked = need(acquire="own", only=cards, sets=sets, gpus=(1, 2), assumptions=old)
    speeds = [
        speed(cards[0], 100.0),
        speed(cards[0], 190.0, 2),
        speed(cards[1], 170.0),
        speed(cards[2], 300.0),
    ]
    offers = [
        offer(cards[0], 400, "new", seen_on="2025-07-01"),
        offer(cards[1], 680, "new", seen_on="2025-07-01"),
    ]
    found = made(asked, speeds, offers)
    # (680 + 900) / 170 is less than (2 x 400 + 1500) / 190; what has no price at all stands behind.
    assert [(o.gpu_id, o.count) for o in found.options] == [(cards[1], 1), (cards[0], 2), (cards[2], 1)]


def test_for_work_done_once_less_at_once_is_worth_a_little_more_of_its_cost(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 200.0)]
    offers = [offer("rtx-3090", 1000, "used"), offer("rtx-4090", 3600, "used")]
    for items, first in ((3.6e6, "rtx-3090"), (None, "rtx-4090")):
        found = made(need(acquire="own", items=items), speeds, offers)
        assert found.options[0].gpu_id == first


def test_what_replaces_a_card_is_faster_also_where_it_is_rented(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("t4", 20.0), speed("h100-pcie-80gb", 300.0)]
    offers = [offer("t4", 0.1), offer("h100-pcie-80gb", 2.0)]
    asked = need(have=("rtx-3090",), upgrade=True, acquire="both")
    assert [o.gpu_id for o in made(asked, speeds, offers).options] == ["h100-pcie-80gb"]


def test_of_rent_over_the_budget_other_kinds_are_remedies(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("l40s", 110.0)]
    offers = [offer("rtx-3090", 0.3), offer("l40s", 0.1, "spot")]
    asked = need(acquire="rent", budget_usd=0.2, budget_per_hour=True)
    with pytest.raises(InputError) as refused:
        made(asked, speeds, offers)
    error = loosened(refused.value, asked, lambda other: made(other, speeds, priced_for(other, offers)))
    assert {(way.limit, way.value, way.gpus) for each in error.data["ways"] for way in each} == {
        ("budget", "$0.30/h", "one RTX 3090, cloud, on-demand at $0.30/h of 2026-11"),
        ("spot", "ok", "one L40S, cloud, spot at $0.10/h of 2026-11"),
    }  # fmt: skip


def test_electricity_is_of_the_watts_that_the_work_draws(need, speed, offer) -> None:
    asked = need(acquire="own")
    (first,) = made(asked, [speed("rtx-4090", 100.0, watts=300.0)], [offer("rtx-4090", 2000, "used")]).options
    assert drawn_w(asked, first) == (pytest.approx(300.0), 100.0)
    assert drawn_w(asked, replace(first, energy_j_per_item=None)) == (450.0, 100.0)
    hours = asked.assumptions.hours_per_week * 365.25 / 7 / 12
    assert electricity(asked, first)[0] == pytest.approx(0.4 * asked.assumptions.cooling * hours)


def test_of_old_prices_the_lowest_is_the_cheapest(need, speed, offer) -> None:
    """And not the most work for the money."""
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 200.0), speed("l40s", 200.0)]
    offers = [offer("rtx-3090", 400, "new", seen_on="2025-03-01"),
              offer("rtx-4090", 465, "new", seen_on="2025-03-01"), offer("l40s", 9000, "new")]  # fmt: skip
    only = ("rtx-3090", "rtx-4090", "l40s")
    asked = need(goal="price", acquire="own", only=only, assumptions=Assumptions())
    found = made(asked, speeds, offers)
    assert (found.options[0].gpu_id, found.options[0].last_usd) == ("rtx-3090", 400)


def test_of_more_reasons_than_a_few_the_last_are_short() -> None:
    named = tuple("abcdefgh")
    some = {gpu: f"reason {gpu}" for gpu in named[:SAID]}
    assert why_not(named, some) == [f"{gpu}: reason {gpu}" for gpu in named[:SAID]]
    more = why_not(named, some | {"e": "reason e"})
    assert more[:SAID] == why_not(named, some)
    assert more[SAID:] == ["e: reason e"]
    many = why_not(named, {gpu: f"reason {gpu}; more of it" for gpu in named})
    assert many[SAID:] == ["e: reason e; f: reason f; g: reason g; h: reason h"]
    assert why_not(named, dict.fromkeys(named[:SAID], "x")) == ["a, b, c, d: x"]
    assert why_not(named, dict.fromkeys(named[: SAID + 1], "x")) == ["a, b, c, d, e: x"]


def test_an_old_price_ranks_by_its_upper_end(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 100.0)]
    offers = [offer("rtx-3090", 0.30, seen_on="2023-11-21"), offer("rtx-4090", 0.35)]
    found = made(need(), speeds, offers)
    assert [o.gpu_id for o in found.options] == ["rtx-4090", "rtx-3090"]
    assert [o.stale for o in found.options] == [False, True]
    assert found.options[1].price_usd.half_width > 2 * found.options[0].price_usd.half_width


def test_close_options_cannot_be_told_apart_and_far_ones_can(need, speed, offer) -> None:
    speeds = [speed(gpu, 100.0) for gpu in GPUS[:3]]
    found = made(need(), speeds, [offer(g, p) for g, p in zip(GPUS, (1.0, 1.02, 3.0), strict=False)])
    assert [chance.told_apart for chance in found.chances] == [False, True]
    assert 0.5 < found.chances[0].probability < 0.6


def test_two_offers_of_the_same_gpu_share_the_error_of_its_speed(need, speed, offer) -> None:
    speeds = [speed("rtx-4090", 100.0, factor=2.0)]
    offers = [offer("rtx-4090", 1.0), offer("rtx-4090", 1.3, provider="dear")]
    assert made(need(), speeds, offers, every_provider=True).chances[0].probability > 0.95
    assert len(made(need(), speeds, offers).options) == 1


def test_the_price_that_would_change_the_answer_does(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 200.0)]
    offers = [offer("rtx-3090", 0.2), offer("rtx-4090", 0.5)]
    text = next(t for t in made(need(), speeds, offers).changes if "becomes first at" in t)
    assert "one RTX 4090 from cloud becomes first at $0.40/h ($0.50 of 2026-11, -20.0%)" in text
    cheaper = [offers[0], offer("rtx-4090", 0.399)]
    assert made(need(), speeds, cheaper).options[0].gpu_id == "rtx-4090"


def test_a_tie_is_said_once(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 200.0)]
    found = made(need(), speeds, [offer("rtx-3090", 0.2), offer("rtx-4090", 0.41)])
    assert not [text for text in found.changes if "RTX 4090" in text]
    assert "1.02 times the cost of the same work, a tie" in found.runner_up


def test_the_purchase_price_that_would_change_the_answer_does(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 120.0)]
    offers = [offer("rtx-3090", 800, "used"), offer("rtx-4090", 1100, "new")]
    text = next(t for t in made(need(), speeds, offers).changes if "becomes first at" in t)
    wanted = float(text.split("$")[1].split()[0].replace(",", ""))
    for price, first in ((wanted - 2, "rtx-3090"), (wanted + 2, "rtx-4090")):
        again = [offer("rtx-3090", price, "used"), offers[1]]
        assert made(need(), speeds, again).options[0].gpu_id == first


@pytest.mark.parametrize(("price", "few"), [(1800.0, True), (5000.0, False)])
def test_the_hours_from_which_buying_pays_are_where_costs_are_equal(need, speed, offer, price, few) -> None:
    speeds = [speed("rtx-4090", 100.0)]
    offers = [offer("rtx-4090", 0.5), offer("rtx-4090", price, "new")]
    found = made(need(), speeds, offers)
    bought = next(o for o in found.options if o.way == "new")
    hours = (bought.break_even_h or 0.0) / 3 / 365.25 * 7
    assert (hours < 40) == few
    at = made(need(assumptions=replace(need().assumptions, hours_per_week=hours)), speeds, offers)
    costs = [o.cost_per_item_usd.value for o in at.options]
    assert costs[0] == pytest.approx(costs[1], rel=0.01)


def test_what_is_owned_is_not_bought_again(need, speed, offer) -> None:
    speeds = [speed("rtx-4090", 100.0 * n, n) for n in (1, 2, 3)]
    offers = [offer("rtx-4090", 0.2), offer("rtx-4090", 3000, "new")]
    speeds, offers = speeds[2:], [*offers, offer("rtx-4090", 0.6, count=3)]  # Two do not hold it
    found = made(need(have=("rtx-4090",) * 2, gpus=(3, 3)), speeds, offers)
    bought = next(o for o in found.options if o.outlay_usd and o.count == 3)
    assert bought.price_usd.value == pytest.approx(3000)


def test_equal_costs_are_ordered_by_speed_not_by_their_last_bits(need, speed, offer) -> None:
    """n machines side by side: n times the price, n times the speed, and costs that differ by rounding."""
    speeds = [speed("gh200-96gb", 8475.92 * n, n) for n in (1, 2, 3, 4)]
    found = made(need(gpus=(1, 4), mode="infer"), speeds, [offer("gh200-96gb", 1.49)])
    assert [option.count for option in found.options] == [4, 3, 2, 1]
    assert [option.frontier for option in found.options] == [True, False, False, False]


def test_a_gpu_that_is_there_but_cannot_do_the_work_is_told_of(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), made_up(gpu_id="rtx-4090", refusal="batch 1 does not fit")]
    found = made(need(have=("rtx-4090", "rtx-4090")), speeds, [offer("rtx-3090", 0.2)])
    assert found.rejected["rtx-4090"].detail == "batch 1 does not fit"


def test_a_laptop_of_which_no_price_is_known_is_an_answer(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090-laptop", 80.0), speed("rtx-4080-laptop", 60.0)]
    found = made(need(form="mobile"), speeds, [offer("rtx-3090", 0.2)])
    assert [(o.gpu_id, o.way, o.price_usd) for o in found.options] == [
        ("rtx-4090-laptop", "unpriced", None), ("rtx-4080-laptop", "unpriced", None),
    ]  # fmt: skip
    assert found.answer.startswith("Take a laptop with an RTX 4090 of 150 W")
    assert found.runner_up.endswith("0.750 times as fast")
    assert [why.code for why in found.rejected.values()] == ["form"]
    # Of what has no price nobody can say that no other is cheaper.
    assert not any(option.frontier for option in found.options)


def test_a_module_is_not_sold_alone_and_says_so(need, speed, offer) -> None:
    speeds = [speed("mi300x", 500.0), speed("rtx-3090", 100.0)]
    offers = [offer("mi300x", 15000.0, "new"), offer("rtx-3090", 1500.0, "new")]
    found = made(need(acquire="own"), speeds, offers)
    assert [o.gpu_id for o in found.options] == ["rtx-3090"]
    assert "boards of 4 or 8" in next(iter(found.rejected.values())).detail


def test_what_only_a_data_sheet_speaks_for_stands_apart(need, speed, offer) -> None:
    unsure = Issue(code="order-of-magnitude", severity="warning", detail="no network was measured")
    speeds = [replace(speed("mi300x", 500.0), issues=(unsure,)), speed("rtx-3090", 100.0)]
    offers = [offer("mi300x", 1.0), offer("rtx-3090", 1.0)]
    found = made(need(), speeds, offers)
    assert [o.gpu_id for o in found.options] == ["rtx-3090"]
    assert [(gpu, why.code) for gpu, why in found.rejected.items()] == [("mi300x", "unproven")]
    assert [o.gpu_id for o in made(need(unproven=True), speeds, offers).options] == ["mi300x", "rtx-3090"]


def test_what_was_named_has_a_place_behind_what_is_known_better(need, speed, offer) -> None:
    unsure = Issue(code="order-of-magnitude", severity="warning", detail="no network was measured")
    speeds = [replace(speed("mi300x", 500.0), issues=(unsure,)), speed("rtx-3090", 100.0)]
    offers = [offer("mi300x", 1.0), offer("rtx-3090", 1.0)]
    found = made(need(sets=(("mi300x", 1), ("rtx-3090", 1))), speeds, offers)
    assert [(o.gpu_id, o.rough) for o in found.options] == [("rtx-3090", False), ("mi300x", True)]
    assert any("MI300X" in each and "order of magnitude" in each for each in unknown(found))


def test_a_cost_is_known_no_better_than_its_speed_on_either_side(need, speed, offer) -> None:
    rate = Interval(value=100.0, low=50.0, high=110.0, level=0.8, method="made up")
    fast = replace(speed("rtx-3090", 100.0), throughput=rate)
    first = made(need(items=1e6), [fast], [offer("rtx-3090", 1.0)]).options[0]
    for interval in (first.time_s, first.cost_usd, first.cost_per_item_usd):
        assert interval is not None
        assert interval.high / interval.value >= 2.0 - 1e-9
        assert interval.value / interval.low >= 1.1 - 1e-9


def test_the_host_is_named_where_it_breaks_the_budget(need, speed, offer) -> None:
    with pytest.raises(InputError, match=r"over budget: \$3,500, \$1,500 of it for the host machine"):
        made(
            need(acquire="own", budget_usd=3000.0), [speed("rtx-4090", 1.0)], [offer("rtx-4090", 2000, "new")]
        )


def test_an_upgrade_is_compared_with_what_is_there(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-3090", 200.0, 2), speed("rtx-5090", 240.0)]
    found = made(need(gpus=(1, 2), have=("rtx-3090",) * 2, acquire="own"), speeds,
                 [offer("rtx-5090", 2800, "street")])  # fmt: skip
    mine, new = found.options
    assert (mine.gpu_id, mine.count, mine.way, mine.speedup) == ("rtx-3090", 2, "have", 1.0)
    assert (new.gpu_id, new.speedup, new.host_usd) == ("rtx-5090", pytest.approx(1.2), 0.0)
    assert found.answer.startswith("Keep 2 x RTX 3090")
    assert "1.20 times what you have" in found.runner_up


def test_everybody_of_a_lab_has_a_machine(need, speed, offer) -> None:
    speeds, offers = [speed("rtx-4090", 100.0)], [offer("rtx-4090", 2000, "new")]
    one, ten = (made(need(users=n, acquire="own"), speeds, offers).options[0] for n in (1, 10))
    assert ten.outlay_usd == 10 * one.outlay_usd == 35_000
    with pytest.raises(InputError, match="over budget"):
        made(need(users=10, acquire="own", budget_usd=30_000.0), speeds, offers)


def test_a_monthly_budget_is_of_the_hours_of_use(need, speed, offer) -> None:
    speeds, offers = [speed("rtx-4090", 100.0)], [offer("rtx-4090", 1.0)]
    # 40 h a week are 174 h a month.
    assert made(need(budget_usd=180.0, budget_per_month=True), speeds, offers).options
    with pytest.raises(InputError, match="/month"):
        made(need(budget_usd=170.0, budget_per_month=True), speeds, offers)


def test_the_answer_names_price_date_cost_and_runner_up(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 200.0)]
    offers = [offer("rtx-3090", 0.2), offer("rtx-4090", 0.5), offer("rtx-4090", 9000, "used")]
    found = made(need(items=7.2e5), speeds, offers)
    assert found.answer.startswith(
        "Rent one RTX 3090 from cloud at $0.20/h (price of 2026-11-01): about $0.40 ($0.33 to $0.49) in 2 h"
    )
    assert 1 <= len(found.reasons) <= 3
    assert found.runner_up.startswith(
        "one RTX 4090, cloud, on-demand at $0.50/h of 2026-11: 1.25 times the cost"
    )


def test_a_rent_that_is_taken_once_is_paid_for_an_hour_at_least(need, speed, offer) -> None:
    """Eight of the fastest for minutes are no saving: somebody starts them, and copies weights to them."""
    speeds = [speed("rtx-4090", 100.0), speed("gh200-96gb", 1000.0)]
    offers = [offer("rtx-4090", 0.5), offer("gh200-96gb", 2.0)]
    short, long = (made(need(items=n, acquire="rent"), speeds, offers).options for n in (1.8e5, 1.8e7))
    assert [short[0].gpu_id, long[0].gpu_id] == ["rtx-4090", "gh200-96gb"]
    assert [o.cost_usd.value for o in short] == pytest.approx([0.5, 2.0])
    again = made(need(items=1.8e5, period_s=86400.0, acquire="rent"), speeds, offers).options
    assert again[0].cost_usd.value == pytest.approx(0.5 * 24)
    asked = need(items=1.8e5, acquire="rent", serverless=True)  # Paid by the second
    assert made(asked, speeds[:1], [offer("rtx-4090", 0.5, "serverless")]).options[0].cost_usd.value < 0.4


def test_a_bridge_joins_two_and_the_reasons_say_so(need, speed, offer) -> None:
    """The prediction for eight goes over PCIe: so must the reason that explains it."""
    speeds = [speed("rtx-3090", 100.0 * n, n) for n in (1, 2, 8)]
    offers = [offer("rtx-3090", 0.2 * n, count=n) for n in (1, 2, 8)]
    said = {o.count: o.why[1] for o in made(need(gpus=(1, 8)), speeds, offers).options}
    assert (
        said[2] == "2 reach 100 % of 2 times one (NVLink by a bridge, if there is one, 112.5 GB/s both ways)"
    )
    assert said[8] == "8 reach 100 % of 8 times one (PCIe 4 through host memory)"
    apart = made(need(gpus=(8, 8), mode="infer"), speeds, offers).options[0]
    assert apart.why[1] == "8 reach 100 % of 8 times one (each works by itself)"


def test_cards_that_hardly_scale_are_rejected(need, speed, offer) -> None:
    speeds = [speed("rtx-4090", 100.0), speed("rtx-4090", 300.0, 8)]
    offers = [offer("rtx-4090", 0.1, count=8)]
    with pytest.raises(InputError) as error:
        made(need(gpus=(8, 8)), speeds, offers)
    assert "fewer GPUs" in (error.value.hint or "")


def test_every_gpu_without_an_option_has_its_reason(need, speed, offer) -> None:
    speeds = [
        speed("rtx-3090", 100.0),
        speed("rtx-4090", 200.0, fits_probability=0.1, memory_bytes=40e9),
        speed("l40s", 10.0),
        speed("a100-pcie-80gb", 150.0),
        made_up(gpu_id="t4", refusal="t4 has no stated bf16 rate"),
    ]
    offers = [offer("rtx-3090", 0.2), offer("rtx-4090", 0.5), offer("l40s", 0.1)]
    found = made(need(items=3.6e5, deadline_s=7200), speeds, offers)
    reasons = {gpu: why.detail for gpu, why in found.rejected.items()}
    assert reasons == {
        "rtx-4090": "does not fit: the work needs 37.3 GiB",
        "l40s": "misses the deadline: takes 10 h 00 min",
        "a100-pcie-80gb": "no price is known",
        "t4": "t4 has no stated bf16 rate",
    }


@pytest.mark.parametrize(
    ("limits", "relaxed"),
    [
        ({"deadline_s": 1800.0}, "deadline 60min (1 x rtx-4090)"),
        ({"budget_usd": 0.1}, "budget $0.20 (1 x rtx-3090)"),
        ({"budget_usd": 0.05, "budget_per_hour": True}, "budget $0.10/h (1 x rtx-3090)"),
        ({"memory_gb": (30, None)}, "memory 24GB.. (1 x rtx-"),
        ({"latency_s": 0.01}, "latency TPOT<=100ms (1 x rtx-4090)"),
        ({"gpus": (1, 1), "period_s": 1800.0}, "work 140,000 images/1800s (1 x rtx-4090)"),
    ],
)
def test_a_contradiction_says_what_to_relax(need, speed, offer, limits, relaxed: str) -> None:
    speeds = [speed("rtx-3090", 50.0, seconds=0.2), speed("rtx-4090", 100.0, seconds=0.1)]
    offers = [offer("rtx-3090", 0.1), offer("rtx-4090", 0.5)]
    with pytest.raises(InputError) as error:
        made(need(items=3.6e5, **limits), speeds, offers)
    assert error.value.exit_code == 2
    assert relaxed in (error.value.hint or "")


def test_relaxing_what_was_said_by_as_much_is_enough(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 50.0), speed("rtx-4090", 100.0)]
    offers = [offer("rtx-3090", 0.1), offer("rtx-4090", 0.5)]
    assert made(need(items=3.6e5, deadline_s=3600.0), speeds, offers).options[0].gpu_id == "rtx-4090"


def test_only_what_leads_to_an_answer_is_advised(need, speed, offer) -> None:
    """A looser latency lets a larger batch in, which the deadline then bars: both have to give."""
    offers, speeds = [offer("rtx-4090", 0.5)], [speed("rtx-4090", 100.0, seconds=0.1)]
    asked = need(items=3.6e5, latency_s=0.01, unproven=False)
    with pytest.raises(InputError) as error:
        made(asked, speeds, offers)

    def answer(wanted):
        if (wanted.latency_s or 1.0) < 0.15:
            return made(wanted, [speed("rtx-4090", 100.0, seconds=0.15)], offers)
        return made(replace(wanted, budget_usd=wanted.budget_usd or 0.4), speeds, offers)

    (ways,) = loosened(error.value, asked, answer).data["ways"]
    assert [(way.limit, way.value) for way in ways] == [("latency", "TPOT<=150ms"), ("budget", "$0.50")]
    nothing = loosened(error.value, asked, lambda wanted: made(replace(wanted, memory_gb=(99, None)), [], []))
    assert nothing.code == "unmet"


@pytest.mark.parametrize(("price", "first"), [(2050, "rtx-3090"), (1850, "rtx-4090")])
def test_for_the_same_cost_the_one_that_takes_less_money_at_once(need, speed, offer, price, first) -> None:
    """For twice the speed 2,050 USD are 3 % more an item, 1,850 USD 7 % less."""
    offers = [offer("rtx-3090", 1000, "street"), offer("rtx-4090", price, "street")]
    asked = need(acquire="own", assumptions=Assumptions(host_usd=0.0, electricity_usd_per_kwh=0.0))
    found = made(asked, [speed("rtx-3090", 100.0), speed("rtx-4090", 199.0)], offers)
    assert found.options[0].gpu_id == first


@pytest.mark.parametrize(("fast", "first"), [(109.0, "rtx-3090"), (111.0, "rtx-4090")])
def test_of_the_fastest_the_one_that_costs_least(need, speed, offer, fast: float, first: str) -> None:
    """Nobody pays twice as much for a tenth."""
    offers = [offer("rtx-3090", 1000, "street"), offer("rtx-4090", 2000, "street")]
    asked = need(goal="speed", acquire="own", budget_usd=9000.0)
    found = made(asked, [speed("rtx-3090", 100.0), speed("rtx-4090", fast)], offers)
    assert found.options[0].gpu_id == first


def test_cards_too_small_to_share_a_model_are_left_out_unless_they_are_named(need, speed, offer) -> None:
    asked = need(task="infer", mode="infer", workloads=(("gpt-oss-20b", 1.0),), gpus=(1, 2), acquire="own")
    speeds = [
        speed("rtx-5050", 10.0, 2),
        speed("rtx-4080", 9.0),
    ]
    offers = [offer("rtx-5050", 200.0, "used"), offer("rtx-4080", 700.0, "used")]
    found = made(asked, speeds, offers)
    assert {option.gpu_id for option in found.options} == {"rtx-4080"}
    assert "12 GB" in found.rejected["rtx-5050"].detail
    named = made(replace(asked, sets=(("rtx-5050", 2),)), speeds, offers)
    assert (named.options[0].gpu_id, named.options[0].count) == ("rtx-5050", 2)


def test_two_limits_that_both_bar_everything_are_both_named(need, speed, offer) -> None:
    with pytest.raises(InputError) as error:
        made(need(items=3.6e5, deadline_s=60, budget_usd=0.01), [speed("l40s", 50.0)], [offer("l40s", 0.1)])
    assert "deadline" in (error.value.hint or "")
    assert "and budget" in (error.value.hint or "")


def test_limits_of_one_s_own_machine_do_not_bind_a_rented_one(need, speed, offer) -> None:
    speeds = [speed("rtx-4090", 100.0)]
    offers = [offer("rtx-4090", 0.5), offer("rtx-4090", 1600, "new")]
    assert [o.way for o in made(need(power_w=300), speeds, offers).options] == ["on-demand"]
    assert len(made(need(power_w=450, slots=3), speeds, offers).options) == 2


def test_without_a_price_or_a_speed_there_is_no_answer(need, speed) -> None:
    with pytest.raises(NoDataError, match="has a fresh price"):
        made(need(), [speed("rtx-4090", 100.0)], [])
    with pytest.raises(NoDataError, match="no fp8"):
        made(need(), [made_up(gpu_id="rtx-3090", refusal="no fp8")], [])


@st.composite
def worlds(draw: Callable) -> tuple[list[Record], list[Offer]]:
    """Random speeds and fresh or old prices of six GPUs."""
    speeds, offers = [], []
    for gpu in GPUS:
        value = draw(st.floats(1, 1000))
        interval = Interval(value=value, low=value / 1.5, high=value * 1.5, level=0.8, method="made up")
        speeds.append(
            made_up(gpu_id=gpu, throughput=interval, watts=draw(st.floats(50, 700)), memory_bytes=1e9)
        )
        for kind, least, most in (("on-demand", 0.05, 10.0), ("new", 100.0, 40_000.0)):
            if draw(st.booleans()):
                offers.append(
                    Offer(
                        gpu=gpu, gpu_ids=(gpu,), count=1, kind=kind, amount=draw(st.floats(least, most)),
                        provider="cloud", source=SOURCE,
                        seen_on=draw(st.sampled_from(["2026-11-01", "2024-01-01"])),
                    )
                )  # fmt: skip
    return speeds, offers


def base(**changes) -> Need:
    given = {
        "workloads": (("resnet50", 1.0),),
        "mode": "train",
        "precision": "bf16",
        "items": 1e6,
        "assumptions": Assumptions(max_age_days=None),
    }
    return Need(**(given | changes))


def keys_of(need: Need, world) -> list[tuple]:
    try:
        return [option.key for option in made(need, *world).options]
    except (InputError, NoDataError):
        return []


@given(worlds(), st.floats(1, 50_000), st.floats(1, 10))
def test_a_larger_budget_is_never_worse(world, budget: float, factor: float) -> None:
    small, large = (keys_of(base(budget_usd=b), world) for b in (budget, budget * factor))
    assert set(small) <= set(large)
    order = keys_of(base(), world)
    if small:
        assert order.index(large[0]) <= order.index(small[0])


@given(worlds(), st.floats(1, 100), st.floats(1, 4))
def test_tighter_memory_never_adds_an_option(world, least: float, factor: float) -> None:
    loose, tight = (keys_of(base(memory_gb=(m, None)), world) for m in (least, least * factor))
    assert set(tight) <= set(loose)


@given(worlds(), st.integers(0, 11), st.floats(0.1, 1.0))
def test_a_lower_price_never_lowers_a_rank(world, place: int, factor: float) -> None:
    speeds, offers = world
    if not offers:
        return
    chosen = offers[place % len(offers)]
    cheaper = [replace(o, amount=o.amount * factor) if o is chosen else o for o in offers]
    before, after = keys_of(base(), (speeds, offers)), keys_of(base(), (speeds, cheaper))
    key = (chosen.gpu_ids[0], 1, chosen.kind, "cloud")
    if key in before:
        assert after.index(key) <= before.index(key)


def test_300_gpus_with_5000_offers_and_8_counts_are_judged_in_half_a_second(slowness: float) -> None:
    ids = [spec.id for spec in catalog.all_gpus()][:300]
    interval = Interval(value=100.0, low=80.0, high=120.0, level=0.8, method="made up")
    speeds = [
        made_up(gpu_id=gpu, count=n, throughput=replace(interval, value=100.0 * n + i), watts=300.0 * n)
        for i, gpu in enumerate(ids)
        for n in range(1, 9)
    ]
    offers = [
        Offer(
            gpu=ids[i % len(ids)], gpu_ids=(ids[i % len(ids)],), count=1, kind="on-demand",
            amount=0.5 + i / 500, provider=f"cloud {i}", seen_on="2026-11-01", source=SOURCE,
        )
        for i in range(5000)
    ]  # fmt: skip
    need = base(mode="infer", gpus=(1, 8))
    found, took_s = made(need, speeds, offers), []
    for _ in range(4):  # the garbage that all tests before left is not the chooser's to collect
        began = time.process_time()
        made(need, speeds, offers)
        took_s.append(time.process_time() - began)
    assert min(took_s) < 0.5 * slowness
    assert len(found.options) == 100


def test_an_architecture_that_cuda_dropped_is_not_recommended(need, speed, offer) -> None:
    speeds = [speed("v100-pcie-16gb", 200.0), speed("rtx-3090", 100.0)]
    offers = [offer("v100-pcie-16gb", 0.1), offer("rtx-3090", 0.2)]
    found = made(need(), speeds, offers)
    assert [o.gpu_id for o in found.options] == ["rtx-3090"]
    assert "CUDA 13" in next(iter(found.rejected.values())).detail
    # Who has one may keep it, and a stencil in FP64 needs no new framework.
    assert made(need(have=("v100-pcie-16gb",)), speeds, offers).options[0].gpu_id == "v100-pcie-16gb"
    assert made(need(mode="compute"), speeds, offers).options[0].gpu_id == "v100-pcie-16gb"


def test_who_is_served_pays_for_hours(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 100.0, factor=2.0)]
    one = made(need(concurrent=1, mode="infer"), speeds, [offer("rtx-3090", 0.2)]).options[0]
    batch = made(need(mode="infer"), speeds, [offer("rtx-3090", 0.2)]).options[0]
    assert one.cost_per_item_usd is not None
    assert batch.cost_per_item_usd is not None
    # Ranked by its hour; an item is of all that it does in that.
    assert one.per_hour_usd == 0.2
    assert one.cost_per_item_usd.value == pytest.approx(0.2 / 3600 / 100.0)
    width = [o.cost_per_item_usd.high / o.cost_per_item_usd.value for o in (one, batch)]
    assert all(each >= 2.0 for each in width)


def test_of_a_card_that_is_there_and_too_slow_it_is_said(need, speed, offer) -> None:
    speeds = [speed("rtx-a6000", 100.0, seconds=0.07), speed("rtx-4090", 200.0, seconds=0.02)]
    asked = need(have=("rtx-a6000",), acquire="own", latency_s=0.05)
    found = made(asked, speeds, [offer("rtx-a6000", 4500, "used"), offer("rtx-4090", 2000, "used")])
    assert found.rejected["rtx-a6000"].detail.startswith("answers too late: 70")


def test_dozens_of_machines_are_no_answer_where_fewer_do(need, speed, offer) -> None:
    speeds = [speed("rtx-3090", 1.0), speed("h100-pcie-80gb", 10.0)]
    asked = need(mode="infer", acquire="rent", items=3600.0 * 40, deadline_s=3600.0, gpus=(1, 64))
    offers = [offer("rtx-3090", 0.1), offer("h100-pcie-80gb", 2.0)]
    assert [(o.gpu_id, o.count) for o in made(asked, speeds, offers).options] == [("h100-pcie-80gb", 4)]
    (alone,) = made(asked, speeds, offers[:1]).options
    assert alone.count == 40


@pytest.mark.parametrize(
    ("hourly", "kind", "count", "work", "first"),
    [
        (0.206, "on-demand", 1, {"items": 7.2e5}, "rtx-4090"),  # 3 % more for twice the speed
        (0.212, "on-demand", 1, {"items": 7.2e5}, "rtx-3090"),  # 6 % are no tie
        (0.206, "on-demand", 1, {}, "rtx-3090"),  # An hour of no stated work costs what it costs
        (0.206, "spot", 1, {"items": 7.2e5}, "rtx-3090"),  # Nobody gives up a sure rent for it
        (0.206, "on-demand", 2, {"items": 7.2e5, "gpus": (1, 2)}, "rtx-3090"),  # nor takes more of them
    ],
)
def test_of_rents_that_cost_the_same_the_much_faster_is_first(
    need, speed, offer, hourly: float, kind: str, count: int, work, first: str
) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-4090", 200.0), speed("rtx-4090", 200.0, 2)]
    offers = [offer("rtx-3090", 0.1), offer("rtx-4090", hourly, kind, count)]
    found = made(need(acquire="rent", spot=True, **work), speeds, offers)
    assert found.options[0].gpu_id == first


def test_rented_machines_apart_share_no_model(need, speed, offer) -> None:
    served = {"task": "infer", "mode": "infer", "workloads": (("llama-3.1-8b", 1.0),), "precision": "int4"}
    asked = need(sets=(("a100-pcie-80gb", 4), ("l40s", 4)), gpus=(4, 4), acquire="rent", **served)
    speeds = [speed("a100-pcie-80gb", 400.0, 4), speed("l40s", 100.0, 4)]
    offers = [offer("a100-pcie-80gb", 1.0), offer("l40s", 4.0, count=4)]
    found = made(asked, speeds, offers)
    assert [option.gpu_id for option in found.options] == ["l40s"]
    assert "share no link" in found.rejected["a100-pcie-80gb"].detail
    copies = [replace(speeds[0], replicas=4), speeds[1]]  # Each answers by itself
    assert [option.gpu_id for option in made(asked, copies, offers).options] == ["a100-pcie-80gb", "l40s"]


@pytest.mark.parametrize(("acquire", "shown"), [("rent", []), ("both", ["l40s"])])
def test_training_that_splits_a_model_takes_one_machine(
    need, speed, offer, acquire: str, shown: list[str]
) -> None:
    tuned = {"task": "lora", "mode": "train", "workloads": (("llama-3.1-70b", 1.0),), "precision": "bf16"}
    asked = need(sets=(("l40s", 4),), gpus=(4, 4), acquire=acquire, **tuned)
    speeds, singly, board = [speed("l40s", 400.0, 4)], offer("l40s", 1.0), offer("l40s", 4.0, count=4)
    assert made(asked, speeds, [singly, board]).options[0].way == "on-demand"
    if not shown:
        with pytest.raises(GpuwiseError, match="share no link"):
            made(asked, speeds, [singly])
    else:
        found = made(asked, speeds, [singly])
        assert [(o.gpu_id, o.way) for o in found.options] == [("l40s", "unpriced")]


@pytest.mark.parametrize(("within", "served"), [(1.0, False), (2.0, False), (2.0, True)])
def test_what_an_item_counts_as_widens_its_speed_and_cost_but_no_order(
    need, speed, offer, within: float, served: bool
) -> None:
    period = {"period_s": 86400.0} if served else {}
    asked = need(acquire="rent", items=1e6, within=within, **period)
    found = made(asked, [speed("l4", 100.0), speed("l40s", 150.0)], [offer("l4", 1.0), offer("l40s", 2.0)])
    first, (chance,) = found.options[0], found.chances
    assert (first.throughput.high / first.throughput.value >= within) == (within > 1) or within == 1
    assert first.time_s is not None
    assert first.time_s.high / first.time_s.value >= within
    assert first.cost_usd is not None
    assert (first.cost_usd.high / first.cost_usd.value > 2) == (within > 1)
    narrow = made(replace(asked, within=1.0), [speed("l4", 100.0), speed("l40s", 150.0)],
                  [offer("l4", 1.0), offer("l40s", 2.0)])  # fmt: skip
    assert chance == narrow.chances[0]


def test_an_upgrade_of_a_network_has_its_memory_on_each_card(need, speed, offer) -> None:
    asked = need(have=("rtx-3060-12gb",), upgrade=True, acquire="own", gpus=(1, 2))
    speeds = [speed("rtx-3060-12gb", 50.0), speed("rtx-3070", 90.0), speed("rtx-3070", 170.0, 2)]
    speeds += [speed("rtx-4070-ti", 120.0)]
    offers = [offer("rtx-3070", 177, "used"), offer("rtx-4070-ti", 600, "used")]
    assert {option.gpu_id for option in made(asked, speeds, offers).options} == {"rtx-4070-ti"}


def test_a_card_without_fans_says_what_cools_it(need, speed, offer) -> None:
    asked = need(acquire="own", only=("l4",), named=("l4",), assumptions=Assumptions(host_usd=0.0))
    found = made(asked, [speed("l4", 100.0)], [offer("l4", 2000, "new")])
    assert "passive cooling: needs a server's airflow" in found.reasons[0]


def test_what_a_month_pays_for_is_no_more_than_the_hours_that_are_stated(need, speed, offer) -> None:
    asked = need(budget_usd=800.0, budget_per_month=True, acquire="rent")
    speeds, offers = [speed("rtx-4090", 100.0)], [offer("rtx-4090", 1.0)]
    assert "pays for 730 h" in made(asked, speeds, offers).answer
    stated = replace(asked, notes=(HOURS_STATED.format(40.0),))  # Though it is the usual number
    assert "$174 a month pays for 174 h" in made(stated, speeds, offers).answer


@pytest.mark.parametrize(("price", "first"), [(2450, 1), (2600, 2)])
def test_fewer_cards_come_first_where_the_work_costs_as_much(
    need, speed, offer, price: int, first: int
) -> None:
    """It costs 3 % more on one card, and 8 %: two take less money at once either time."""
    free = Assumptions(max_age_days=None, host_usd=0.0, host_w=0.0)
    asked = need(acquire="own", gpus=(1, 2), assumptions=free, sets=(("rtx-3090", 2), ("rtx-4090", 1)))
    speeds = [speed("rtx-3090", 10.0, watts=150.0), speed("rtx-3090", 20.0, 2, watts=300.0)]
    speeds += [speed("rtx-4090", 20.0, watts=150.0)]
    offers = [offer("rtx-3090", 1000.0, "used"), offer("rtx-4090", float(price), "used")]
    found = recommend(asked, speeds, offers, today=date(2026, 11, 2), item="image")
    assert found.options[0].count == first


def test_what_old_cards_lack() -> None:
    assert lacks("p40").endswith(
        "Pascal: no CUDA after 12, no matrix units, 0.184 TFLOP/s in FP16, 1/64 of its FP32, no BF16, no vLLM"
    )
    assert not lacks("v100-pcie-16gb").endswith("no vLLM")
    assert "FP16, 1/" not in lacks("p100-pcie-16gb")  # Twice its FP32
    assert not lacks("rtx-3090")


@pytest.mark.parametrize(("rent_usd", "first"), [(0.0449, "on-demand"), (0.052, "used")])
def test_who_pays_the_same_for_a_rent_ties_up_no_money(
    need, speed, offer, rent_usd: float, first: str
) -> None:
    speeds = [speed("rtx-3090", 100.0)]
    own = offer("rtx-3090", 400.0, "used")
    bought = made(need(acquire="own"), speeds, [own]).options[0]
    rent = offer("rtx-3090", (bought.per_hour_usd or 0.0) * rent_usd / 0.0449 * 1.01)
    both = need(acquire="both", assumptions=replace(need().assumptions, host_usd=1500.0))
    assert made(both, speeds, [own, rent]).options[0].way == first


@pytest.mark.parametrize(("limit_h", "first"), [(2.1, "rtx-4090"), (2.3, "rtx-3090")])
def test_a_deadline_is_kept_at_the_low_end_of_a_speed(need, speed, offer, limit_h: float, first: str) -> None:
    speeds = [speed("rtx-3090", 100.0, factor=1.1), speed("rtx-4090", 200.0, factor=1.1)]
    offers = [offer("rtx-3090", 0.20), offer("rtx-4090", 0.50)]
    asked = need(items=7.2e5, deadline_s=limit_h * 3600, acquire="rent")
    assert made(asked, speeds, offers).options[0].gpu_id == first


def test_an_upgrade_may_have_less_memory_where_the_work_leaves_it_free(need, speed, offer) -> None:
    speeds = [speed("p40", 20.0), speed("rtx-4060-ti-16gb", 60.0)]
    offers = [offer("rtx-4060-ti-16gb", 450.0, "new")]
    asked = need(have=("p40",), upgrade=True, acquire="own")
    found = made(asked, speeds, offers)
    assert (found.options[0].gpu_id, found.options[0].speedup) == ("rtx-4060-ti-16gb", 3.0)
    large = [replace(s, memory_bytes=Interval.stated(12.1 * 2**30)) for s in speeds]
    with pytest.raises(InputError):
        made(asked, large, offers)


def test_what_cannot_do_the_work_is_no_measure_of_speed(need, speed, offer) -> None:
    speeds = [speed("rtx-3060-ti", 50.0), speed("rtx-3090", 100.0)]
    offers = [offer("rtx-3090", 900.0, "used")]
    for least_gb, ratio in ((8.0, 2.0), (16.0, None)):
        found = made(need(have=("rtx-3060-ti",), least_gb=least_gb, acquire="own"), speeds, offers)
        assert found.options[0].speedup == ratio or found.options[0].way == "have"
        assert all(option.speedup in (ratio, 1.0) for option in found.options)


def test_a_rent_for_a_stated_time_ranks_by_what_its_hours_cost(need, speed, offer, today: date) -> None:
    asked, found = need(acquire="rent", items=None), [speed("rtx-4090", 1.0), speed("h100-pcie-80gb", 9.0)]
    offers = [offer("rtx-4090", 1.0), offer("h100-pcie-80gb", 3.0)]
    for hours, first in ((None, "h100-pcie-80gb"), (120.0, "rtx-4090")):
        made = recommend(replace(asked, hire_h=hours), found, offers, today=today, item="token")
        assert made.options[0].gpu_id == first
        for each in made.options:  # An item costs what the hour and the speed say, however it is ranked
            item_usd = each.per_hour_usd / 3600 / each.throughput.value
            assert each.cost_per_item_usd.value == pytest.approx(item_usd)
