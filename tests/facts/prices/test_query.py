"""Selecting, ageing and ordering offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import InputError
from gpuwise.facts import prices
from gpuwise.model.gpu import Offer, Source

Make = Callable[..., Offer]
TODAY = date(2026, 11, 21)
ARTICLE = Source(id="a", title="an article", kind="article", read_on="2026-11-21")


def test_the_price_of_a_gpu_hour_is_that_of_the_instance_over_its_gpus(offer: Make) -> None:
    assert offer(amount=16, count=8).per_gpu == 2
    assert offer(amount=0.5, count=0.25).per_gpu == 2


def test_age_and_staleness(offer: Make) -> None:
    assert prices.age_days(offer(seen_on="2026-10-21"), TODAY) == 31
    assert prices.age_days(offer(seen_on=""), TODAY) is None
    assert not prices.is_stale(offer(seen_on="2026-07-24"), TODAY)
    assert prices.is_stale(offer(seen_on="2026-07-23"), TODAY)
    assert prices.is_stale(offer(seen_on=""), TODAY)


def test_every_condition_narrows(offer: Make) -> None:
    match = offer(kind="spot", provider="Acme", region="eu-west", count=8.0, amount=16)
    others = [
        offer(gpu_ids=("h200-sxm",)),
        offer(kind="on-demand"),
        offer(kind="spot", provider="other"),
        offer(kind="spot", region="us-east"),
        offer(kind="spot", region="eu-west", count=1.0),
        offer(kind="spot", region="eu-west", count=8.0, amount=80),
        offer(kind="spot", region="eu-west", count=8.0, amount=16, seen_on="2026-01-01"),
        offer(kind="spot", region="eu-west", count=8.0, amount=16, seen_on=""),
    ]
    found = prices.select(
        [*others, match],
        today=TODAY,
        wanted=prices.wanted("h100"),
        kinds=["spot"],
        providers=["acme"],
        count=8,
        region="EU",
        limit=prices.Limit(amount=2, per_hour=True),
        newer_than=90,
    )
    assert found == (match,)
    assert prices.select(others, today=TODAY) == tuple(others)


def test_an_unknown_provider_is_an_error_with_a_guess(offer: Make) -> None:
    with pytest.raises(InputError, match=r"'acmee' is known; did you mean acme\?"):
        prices.select([offer()], today=TODAY, providers=["acmee"])


def test_the_newest_sight_of_an_offer_replaces_the_older(offer: Make) -> None:
    old = offer(seen_on="2023-08-16", region="US west or central", amount=3)
    new = offer(seen_on="2026-09-24", amount=2)
    undated, elsewhere = offer(seen_on="", amount=9), offer(region="eu-1")
    assert prices.newest([old, new, undated, elsewhere]) == (new, elsewhere)
    assert prices.newest([undated]) == (undated,)


def test_two_prices_of_one_day_both_stay(offer: Make) -> None:
    pair = (offer(amount=2), offer(amount=3))
    assert prices.newest(pair) == pair


def test_orders(offer: Make) -> None:
    dear, cheap = (
        offer(amount=9, seen_on="2026-11-02", provider="a"),
        offer(amount=8, count=8.0, provider="b"),
    )
    bought = offer(kind="new", amount=1, provider="c")
    range_ = offer(amount=0.1, high=5.0, source=ARTICLE, provider="d")
    every = [range_, bought, dear, cheap]
    assert prices.ordered(every) == (cheap, dear, bought, range_)
    assert prices.ordered(every, "date")[0] == dear
    assert [o.provider for o in prices.ordered(every, "provider")] == ["a", "b", "c", "d"]


def test_in_an_old_installation_the_prices_of_its_last_list_still_come_first(offer: Make) -> None:
    listed = [
        offer(amount=1.4, seen_on="2025-05-24", listed_on="2026-11-09"),
        offer(amount=3.0, seen_on="2026-11-09", listed_on="2026-11-09", provider="b"),
    ]
    assert prices.ordered(listed, today=date(2028, 1, 1))[0].amount == 3.0


def test_limits_are_for_rent_or_for_purchase(offer: Make) -> None:
    rent, buy = prices.Limit(amount=3, per_hour=True), prices.Limit(amount=3000, per_hour=False)
    assert rent.allows(offer(amount=24, count=8.0))
    assert not rent.allows(offer(amount=25, count=8.0))
    assert not rent.allows(offer(kind="new", amount=1))
    assert buy.allows(offer(kind="used", amount=3000))
    assert not buy.allows(offer(amount=1))


@given(st.floats(min_value=0.01, max_value=50), st.floats(min_value=0.01, max_value=50))
def test_a_larger_limit_never_loses_an_offer(one: float, other: float) -> None:
    offers = prices.offers(today=TODAY)
    small, large = (prices.Limit(amount=amount, per_hour=True) for amount in sorted((one, other)))
    few = prices.select(offers, today=TODAY, limit=small)
    assert set(few) <= set(prices.select(offers, today=TODAY, limit=large))


def test_a_provider_s_newest_list_replaces_the_one_of_a_month_before(offer: Make) -> None:
    """Two sources name the machine differently, so neither is the other's earlier sight."""
    old = offer(provider="v", instance="", seen_on="2026-08-22", amount=3.25)
    near = offer(provider="v", instance="", seen_on="2026-10-10", amount=3.6, region="eu")
    new = offer(provider="v", instance="1H100", seen_on="2026-10-24", amount=3.74)
    other = offer(provider="w", instance="", seen_on="2026-08-22", amount=3.0)
    assert set(prices.current([old, near, new, other])) == {near, new, other}
    assert prices.current([offer(seen_on=""), offer(source=ARTICLE)]) == ()


def test_history_reaches_back_and_names_its_sources() -> None:
    months = prices.history()
    assert min(month.month for month in months) <= "2022-02"
    assert max(month.month for month in months) >= "2026-10"
    assert all(month.low <= month.median <= month.high for month in months)
    assert {month.source for month in months} <= set(prices.sources())


def test_a_rent_that_is_too_good_to_be_true_is_not_believed(offer: Make) -> None:
    usual = [offer(amount=amount, provider=f"p{amount}", seen_on="2026-10-21") for amount in (0.9, 1.0, 1.0)]
    for amount, kept in ((0.24, False), (0.26, True)):
        one = offer(amount=amount, kind="spot", seen_on="2026-10-21")
        assert (one in prices.believable([*usual, one], TODAY)) == kept
    # Too few others say what is usual, a stale price says nothing, and one's own is believed.
    cheap = offer(amount=0.1, kind="spot", seen_on="2026-10-21")
    assert cheap in prices.believable([*usual[:2], cheap], TODAY)
    assert cheap in prices.believable([*(replace(o, seen_on="2024-01-01") for o in usual), cheap], TODAY)
    own = replace(cheap, source=replace(ARTICLE, id="own-prices"))
    assert own in prices.believable([*usual, own], TODAY)


def test_a_price_ranks_by_its_age_when_its_list_was_made(offer: Make) -> None:
    listed = replace(offer(seen_on="2026-07-24"), listed_on="2026-11-21")  # 120 days
    assert prices.is_fresh(listed, date(2028, 1, 1))
    assert prices.is_stale(listed, date(2028, 1, 1))
    assert not prices.is_fresh(replace(listed, seen_on="2026-07-23"), date(2028, 1, 1))
    assert prices.spread([listed], "on-demand", date(2028, 1, 1)) is not None
    assert prices.spread([replace(listed, seen_on="2026-07-23")], "on-demand", date(2028, 1, 1)) is None


@pytest.mark.parametrize(
    ("region", "place", "there"),
    [
        ("us-east-1", "us", True), ("westus2", "US", True), ("Australia, AU", "us", False),
        ("Texas, US", "usa", True), ("eu-west-1", "eu-w", True), ("europe-west4", "west", True),
        ("Frankfurt, DE", "Germany", True), ("Sydney", "mars", False),
    ],
)  # fmt: skip
def test_a_place_is_an_area_or_the_beginning_of_a_word(
    offer: Make, region: str, place: str, there: bool
) -> None:
    assert prices.is_in(offer(region=region), place) is there
