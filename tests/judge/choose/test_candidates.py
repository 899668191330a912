"""Which combinations of GPU, number and price there are."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from gpuwise.judge.choose.candidates import (
    DRIFT,
    LEAST_HALF,
    host_of,
    machines,
    price_half,
    usable,
)
from gpuwise.judge.choose.decide import ordered
from gpuwise.judge.choose.need import ANY_USED, need_for
from gpuwise.judge.choose.speeds import gather
from gpuwise.model.judgement import Assumptions

from .conftest import candidates, offered


def keys(them):
    return [(row.gpu, row.count, row.way) for row in them.rows]


def test_a_machine_is_rented_whole(need, speed, offer, today: date) -> None:
    speeds = [speed("rtx-4090", 100.0 * n, n) for n in range(1, 9)]
    offers = [offer("rtx-4090", 4.0, count=4)]
    assert keys(candidates(need(gpus=(1, 8)), speeds, offers, today=today)) == [("rtx-4090", 4, "on-demand")]


def test_machines_answer_side_by_side_but_do_not_train_together(need, speed, offer, today: date) -> None:
    speeds = [speed("rtx-4090", 100.0 * n, n) for n in range(1, 9)]
    offers = [offer("rtx-4090", 1.0, count=2)]
    answering = candidates(need(mode="infer", gpus=(1, 6)), speeds, offers, today=today)
    assert [row.count for row in answering.rows] == [2, 4, 6]
    assert answering.price.tolist() == [1.0, 2.0, 3.0]
    assert len(candidates(need(gpus=(1, 6)), speeds, offers, today=today)) == 1


@pytest.mark.parametrize(
    ("items", "most", "counts"),
    [
        (100.0 * 3600, 64, [2]),  # One machine is just in time
        (100.1 * 3600, 64, [2, 4]),
        (100.0 * 3600 * 5, 64, [2, 10]),
        (100.0 * 3600 * 5, 10, [2, 10]),
        (100.0 * 3600 * 5, 9, [2]),
        (100.0 * 3600 * 5, 8, [2, 4, 6, 8]),  # All that one machine holds were asked for
    ],
)
def test_as_many_machines_as_keep_a_deadline(need, speed, offer, today: date, items, most, counts) -> None:
    asked = need(mode="infer", gpus=(1, most), items=items, deadline_s=3600.0)
    speeds = [speed("rtx-4090", 50.0 * n, n) for n in range(1, 9)]
    them = candidates(asked, speeds, [offer("rtx-4090", 1.0, count=2)], today=today)
    assert {*counts} == {row.count for row in them.rows}
    assert max(them.price.tolist()) == max(row.count for row in them.rows) / 2
    learns = candidates(
        need(gpus=(1, most), items=items, deadline_s=3600.0), speeds, [offer("rtx-4090", 1.0, count=2)],
        today=today,
    )  # fmt: skip
    assert [row.count for row in learns.rows] == [2]


@pytest.mark.parametrize(("people", "alone"), [(1, True), (16, False)])
def test_a_worker_answers_as_many_as_ask_at_once(offer, today: date, people: int, alone: bool) -> None:
    asked = need_for("llama-3.1-8b", gpus=(1, 1))
    asked = replace(asked, serverless=True, acquire="rent", concurrent=people)
    found = gather(asked, {"rtx-4090": (1,)}, None)  # type: ignore[arg-type]
    (row,) = candidates(asked, found, [offer("rtx-4090", 1.0, "serverless")], today=today).rows
    assert row.speed.throughput is not None
    assert (row.speed.throughput.value < 200) == alone


def test_seconds_that_are_paid_by_use_are_paid_once(need, speed, offer, today: date) -> None:
    asked = need(mode="infer", items=86_400.0, period_s=86_400.0, serverless=True)
    plain, batched = (
        candidates(
            need_, [speed("rtx-4090", 100.0)], [offer("rtx-4090", 1.0, "serverless")], today=today
        ).fixed.tolist()
        for need_ in (
            asked,
            need(mode="infer", items=86_400.0, period_s=86_400.0, serverless=True, batched=True),
        )
    )
    assert plain == batched


def test_slices_and_ranges_of_articles_are_no_offers(need, speed, offer, today: date) -> None:
    from dataclasses import replace

    quote = offer("rtx-4090", 0.2, count=0.5)
    article = offer("rtx-4090", 0.2)
    article = replace(article, source=replace(article.source, kind="article"))
    assert not len(candidates(need(), [speed("rtx-4090", 1.0)], [quote, article], today=today))


def test_a_family_counts_as_its_slowest(need, speed, offer, today: date) -> None:
    speeds = [speed("a100-sxm4-80gb", 200.0), speed("a100-pcie-80gb", 150.0)]
    them = candidates(need(), speeds, [offer("a100-sxm4-80gb;a100-pcie-80gb", 2.0)], today=today)
    assert keys(them) == [("a100-pcie-80gb", 1, "on-demand")]
    assert not len(candidates(need(), speeds[:1], [offer("a100-sxm4-80gb;a100-pcie-80gb", 2.0)], today=today))


def test_a_fresh_purchase_price_replaces_the_launch_price(need, speed, offer, today: date) -> None:
    old = offer("rtx-3090", 1500, "new", seen_on="2020-09-24", provider="nvidia")
    used = offer("rtx-3090", 700, "used", seen_on="2026-11-10", provider="shop")
    speeds = [speed("rtx-3090", 1.0)]
    assert [row.way for row in candidates(need(), speeds, [old], today=today).rows] == ["new"]
    assert [row.way for row in candidates(need(), speeds, [old, used], today=today).rows] == ["used"]


def test_spot_needs_to_be_allowed(need, speed, offer, today: date) -> None:
    offers, speeds = [offer("rtx-4090", 0.3, "spot")], [speed("rtx-4090", 1.0)]
    assert not len(candidates(need(), speeds, offers, today=today))
    assert len(candidates(need(spot=True), speeds, offers, today=today)) == 1


def test_a_provider_rents_and_does_not_sell_cards(need, speed, offer, today: date) -> None:
    offers = [
        offer("rtx-4090", 0.3),
        offer("rtx-4090", 0.2, provider="other"),
        offer("rtx-4090", 1600, "new"),
    ]
    them = candidates(need(providers=("Cloud",)), [speed("rtx-4090", 1.0)], offers, today=today)
    assert [(row.way, row.price) for row in them.rows] == [("on-demand", 0.3), ("new", 1600)]


@pytest.mark.parametrize(
    ("seen_on", "half"),
    [("2026-11-20", LEAST_HALF), ("2025-11-21", DRIFT), ("2024-11-21", DRIFT * math.sqrt(2))],
)
def test_an_old_price_is_known_less_well(offer, today: date, seen_on: str, half: float) -> None:
    assert price_half(offer("rtx-4090", 1.0, seen_on=seen_on), today) == pytest.approx(half)


def test_only_what_is_offered_is_asked_of_the_predictor(need, offer, today: date) -> None:
    offers = [
        *(offer("rtx-4090", 0.5, count=4), offer("l4", 0.1, count=0.5), offer("a10", 1.0, "spot")),
        *(offer("rtx-3090", 700, "used"), offer("a100-sxm4-80gb;a100-pcie-80gb", 2.0)),
    ]
    found = offered(need(gpus=(1, 4), have=("t4",)), offers, today)
    assert found == {
        "t4": (1,), "rtx-4090": (1, 4), "rtx-3090": (1, 2, 3, 4),
        "a100-sxm4-80gb": (1,), "a100-pcie-80gb": (1,),
    }  # fmt: skip
    assert offered(need(gpus=(1, 8), mode="infer"), offers[:1], today) == {"rtx-4090": (1, 4, 8)}


def test_what_is_old_or_undated_is_not_ranked_unless_asked_for(need, speed, offer, today: date) -> None:
    offers = [
        offer("rtx-4090", 0.1, seen_on=""), offer("rtx-4090", 0.2, seen_on="2026-07-01", provider="old"),
        offer("rtx-4090", 0.3, seen_on="2026-10-01", provider="fresh"),
    ]  # fmt: skip
    speeds = [speed("rtx-4090", 1.0)]
    fresh = candidates(need(assumptions=Assumptions()), speeds, offers, today=today)
    assert [row.price for row in fresh.rows] == [0.3]
    every = candidates(need(), speeds, offers, today=today)
    assert [(row.price, row.stale) for row in every.rows] == [(0.2, True), (0.3, False)]


@pytest.mark.parametrize(("cheapest", "first"), [(True, "rtx-3090"), (False, "rtx-4090")])
def test_the_last_price_of_a_card_counts_only_where_the_cheapest_is_asked_for(
    need, speed, offer, today: date, cheapest: bool, first: str
) -> None:
    """An old price is no price, but the cheapest card may be one that nobody has priced of late."""
    old, fresh = ("rtx-3090", 300, "2025-03-01"), ("rtx-4090", 2000, "2026-11-01")
    offers = [offer(gpu, usd, "new", seen_on=day) for gpu, usd, day in (old, fresh)]
    asked = need(
        goal="price" if cheapest else "cost",
        only=("rtx-3090", "rtx-4090"),
        acquire="own",
        assumptions=Assumptions(),
    )
    speeds = [speed("rtx-3090", 1.0), speed("rtx-4090", 2.0)]
    them = candidates(asked, speeds, offers, today=today)
    places = ordered(them, np.ones(len(them), dtype=bool))
    assert them.rows[places[0]].gpu == first
    assert [row.gpu for row in them.rows if row.way == "unpriced"] == ["rtx-3090"]


def test_marketplaces_and_commitments_are_asked_for(need, speed, offer, today: date) -> None:
    offers = [offer("rtx-4090", 0.2, "community"), offer("rtx-4090", 0.3, "reserved")]
    speeds = [speed("rtx-4090", 1.0)]
    for changes, ways in (
        ({}, []), ({"community": True}, ["community"]), ({"reserved": True}, ["reserved"]),
        ({"providers": ("cloud",)}, []),
    ):  # fmt: skip
        assert [row.way for row in candidates(need(**changes), speeds, offers, today=today).rows] == ways
    # Who names a market of other people's machines knows what it is.
    market = [replace(one, provider="vast") for one in offers]
    rows = candidates(need(providers=("vast",)), speeds, market, today=today).rows
    assert [row.way for row in rows] == ["community"]


def test_who_names_a_market_and_wants_none_of_its_hosts_gets_none(need, speed, offer, today: date) -> None:
    offers = [
        offer("rtx-4090", 0.3, kind=kind, provider="vast") for kind in ("community", "spot", "on-demand")
    ]
    named = need(providers=("vast",), spot=True)
    for community, ways in ((None, {"community", "spot", "on-demand"}), (False, {"on-demand"})):
        them = candidates(
            replace(named, community=community), [speed("rtx-4090", 100.0)], offers, today=today
        )
        assert {row.way for row in them.rows} == ways


def test_what_is_sent_out_counts_in_hours_of_rent_too(need, speed, offer, today: date) -> None:
    asked = need(acquire="rent", egress_gb=1000.0, hire_h=100.0, items=None)
    them = candidates(
        asked, [speed("rtx-4090", 100.0)], [offer("rtx-4090", 1.0, egress_usd_per_gb=0.1)], today=today
    )
    assert them.per_hour.tolist() == [pytest.approx(1.0 + 0.1 * 1000 / 100)]


def test_modules_are_sold_on_boards_and_computers_need_no_host(need, speed, offer, today: date) -> None:
    speeds = [speed("h100-sxm5-80gb", 1.0), speed("h100-sxm5-80gb", 8.0, 8), speed("gb10", 1.0)]
    asked = need(gpus=(1, 8), acquire="own")
    single = offer("h100-sxm5-80gb", 30_000, "new")
    assert not len(candidates(asked, speeds, [single], today=today))
    board, computer = offer("h100-sxm5-80gb", 250_000, "new", count=8), offer("gb10", 4000, "new")
    them = candidates(asked, speeds, [board, computer], today=today)
    assert [(row.gpu, row.count) for row in them.rows] == [("h100-sxm5-80gb", 8), ("gb10", 1)]
    assert them.outlay.tolist() == [250_000 + 8 * 1500, 4000]
    whole = offer("h100-sxm5-80gb", 250_000, "new", count=8, whole=True)
    assert candidates(asked, speeds, [whole], today=today).outlay.tolist() == [250_000]


@pytest.mark.parametrize(
    ("gpu", "count", "machine"),
    [
        ("rtx-4090", 1, "desktop"), ("rtx-a6000", 4, "workstation"), ("l40s", 1, "server"),
        # Three slots each: no board has twelve.
        ("rtx-4090", 2, "desktop"), ("rtx-4090", 4, "open frame"),
        # Nobody states its slots: two, as most have.
        ("quadro-m4000", 4, "workstation"),
        ("rtx-4090", 8, "server"), ("gb10", 1, "whole computer"),
        # A fan put on it cools a card of 250 W, not one of 300 W, nor three of them on a board.
        ("p100-pcie-16gb", 2, "desktop"), ("a100-pcie-80gb", 1, "server"), ("p100-pcie-16gb", 3, "server"),
    ],
)  # fmt: skip
def test_the_machine_around_a_card_has_a_class(gpu: str, count: int, machine: str) -> None:
    assert host_of(gpu, count)[0] == machine


def test_cards_that_are_there_come_in_every_number(need, today: date) -> None:
    there = offered(need(have=("rtx-3090", "rtx-3090", "l4")), [], today)
    assert (there["rtx-3090"], there["l4"]) == ((1, 2), (1,))


def test_laptops_without_a_price_are_candidates_where_one_is_asked_for(need, speed, today: date) -> None:
    speeds = [speed("rtx-4090-laptop", 2.0), speed("rtx-3090", 3.0)]
    them = candidates(need(form="mobile"), speeds, [], today=today)
    assert keys(them) == [("rtx-4090-laptop", 1, "unpriced")]
    assert not len(candidates(need(), speeds, [], today=today))


def test_a_card_in_the_place_of_one_that_is_there_needs_no_host(need, speed, offer, today: date) -> None:
    speeds = [speed("rtx-4090", 1.0, n) for n in (1, 2, 3)]
    asked = need(gpus=(1, 3), have=("rtx-3090", "rtx-3090"), acquire="own")
    them = candidates(asked, speeds, [offer("rtx-4090", 1000, "new")], today=today)
    assert them.host.tolist() == [0, 0, 1500]


def test_a_price_of_new_and_used_is_that_of_a_new_one_while_shops_sell_it(need, offer, today: date) -> None:
    offers = [
        offer("rtx-5070-ti", 900, "street"),
        offer("rtx-5070-ti", 1200, "new"),
        offer("rtx-5080", 1100, "street"),
        offer("rtx-3090", 900, "street"),
    ]
    new, used = (
        {(o.gpu, o.amount) for o in usable(need(acquire="own", sold=sold), offers, today)}
        for sold in (("new",), ("used", "street"))
    )
    assert new == {("rtx-5070-ti", 900), ("rtx-5070-ti", 1200), ("rtx-5080", 1100)}
    assert used == {("rtx-3090", 900), ("rtx-5070-ti", 900), ("rtx-5080", 1100)}
    assert len(usable(need(acquire="own"), offers, today)) == 4


def test_a_small_computer_is_joined_with_one_other_at_most(need, offer) -> None:
    counts = [count for count, _ in machines(need(gpus=(1, 8), mode="infer"), offer("gb10", 5000, "new"))]
    assert counts == [1, 2]


def test_a_laptop_is_never_joined_with_another_one(need, offer, today: date) -> None:
    own = offer("rtx-4060-laptop", 1200, "new")
    assert [count for count, _ in machines(need(gpus=(1, 8), mode="infer"), own)] == [1]
    asked = need(gpus=(1, 8), only=("rtx-4060-laptop", "gb10"), acquire="own")
    assert offered(asked, [], today) == {"rtx-4060-laptop": (1,), "gb10": (1, 2)}


def test_of_a_family_s_price_those_are_left_out_that_have_their_own(need, offer, today: date) -> None:
    both = "rtx-5060-ti-16gb;rtx-5060-ti-8gb"
    offers = [offer(both, 480, "street"), offer("rtx-5060-ti-16gb", 600, "street"), offer(both, 0.3)]
    found = usable(need(), offers, today)
    assert {(o.gpu_ids, o.amount) for o in found} == {
        (("rtx-5060-ti-8gb",), 480), (("rtx-5060-ti-16gb",), 600), (tuple(both.split(";")), 0.3),
    }  # fmt: skip


@pytest.mark.parametrize(("old_usd", "believed"), [(700.0, False), (1100.0, True)])
def test_an_old_price_is_not_below_that_of_a_weaker_card_today(
    need, speed, offer, old_usd: float, believed: bool
) -> None:
    speeds = [speed("rtx-3090", 100.0), speed("rtx-3090-ti", 110.0)]
    old = offer("rtx-3090-ti", old_usd, "used", seen_on="2023-11-01")
    asked = need(acquire="own", only=("rtx-3090", "rtx-3090-ti"), assumptions=Assumptions())
    them = candidates(asked, speeds, [old, offer("rtx-3090", 1000.0, "used")], today=date(2026, 11, 21))
    (row,) = (row for row in them.rows if row.way == "unpriced")
    assert (row.offer is old, row.stale) == (True, not believed)


def test_used_for_sure_comes_before_a_price_of_used_and_new_ones(need, offer, today: date) -> None:
    offers = [
        offer("rtx-3090", 900.0, "street"), offer("rtx-3090", 1000.0, "used"),
        offer("rtx-4090", 2000.0, "street"), offer("t4", 500.0, "new"),
    ]  # fmt: skip

    def kinds(**changes) -> set[tuple[str, str]]:
        return {(o.gpu_ids[0], o.kind) for o in usable(need(acquire="own", **changes), offers, today)}

    assert kinds(sold=ANY_USED) == {("rtx-3090", "used"), ("rtx-4090", "street")}
    assert {("rtx-3090", "street"), ("rtx-3090", "used")} <= kinds()
    # One that is too old to rank by is no reason to leave out what is fresh.
    fresh = Assumptions(max_age_days=120)
    offers[1] = offer("rtx-3090", 1000.0, "used", seen_on="2026-01-01")
    assert ("rtx-3090", "street") in kinds(sold=ANY_USED, assumptions=fresh)
