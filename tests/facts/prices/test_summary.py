"""Spans and moves of prices."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest

from gpuwise.facts import prices
from gpuwise.model.gpu import Offer, Source

Make = Callable[..., Offer]
ARTICLE = Source(id="a", title="an article", kind="article", read_on="2026-11-21")


def test_a_spread_is_per_gpu_and_without_illustrations(offer: Make) -> None:
    offers = [offer(amount=16, count=8.0), offer(amount=3), offer(amount=7), offer(kind="spot", amount=1)]
    found = prices.spread([*offers, offer(amount=0.1, high=9.0, source=ARTICLE)], "on-demand")
    assert found == prices.Spread(lowest=2, median=3, highest=7, offers=3)
    assert prices.spread(offers[:2], "on-demand") == prices.Spread(lowest=2, median=2.5, highest=3, offers=2)
    assert prices.spread(offers, "reserved") is None


def test_a_summary_keeps_families_and_cards_beyond_the_catalog_apart(offer: Make) -> None:
    family = ("h100-pcie-80gb", "h100-sxm5-80gb")
    lines = prices.summary(
        [
            offer(amount=2),
            offer(amount=3, gpu="NVIDIA H100 SXM", instance="other", kind="spot"),
            offer(amount=4, gpu="H100 80GB", gpu_ids=family),
            offer(amount=1, gpu="A10G", gpu_ids=(), seen_on=""),
        ]
    )
    assert [line.gpu for line in lines] == ["A10G", "H100 80GB", "h100-sxm5-80gb"]
    assert [line.offers for line in lines] == [1, 1, 2]
    assert lines[0].newest == ""
    sxm = lines[2]
    assert sxm.on_demand is not None
    assert sxm.spot is not None
    assert (sxm.on_demand.lowest, sxm.spot.lowest, sxm.new) == (2, 3, None)


def test_a_launch_price_makes_no_rent_look_dated(offer: Make) -> None:
    launch = offer(kind="new", amount=1600, seen_on="2022-10-12")
    (line,) = prices.summary([launch, offer(seen_on="")])
    assert line.newest == ""
    assert prices.summary([launch])[0].newest == "2022-10-12"


def test_a_purchase_is_the_fresh_price_else_the_latest_and_never_the_one_at_launch(offer: Make) -> None:
    launch = offer(kind="new", amount=2000, seen_on="2025-01-30", note="launch price")
    old = offer(kind="street", amount=2933, seen_on="2026-01-31", provider="ebay")
    fresh = offer(kind="street", amount=4795, seen_on="2026-09-30", provider="ebay and amazon")
    used = [offer(kind="used", amount=a, seen_on=d, provider=d) for a, d in ((704, "2023"), (850, "2025"))]
    (line,) = prices.summary([launch, old, fresh, *used], date(2026, 11, 21))
    found = {name: getattr(line, name) for name in ("new", "used", "street", "launch")}
    assert {name: each and each.median for name, each in found.items()} == {
        "new": None, "used": 850, "street": 4795, "launch": 2000,
    }  # fmt: skip


def test_changes_are_between_the_first_and_the_last_sight(offer: Make) -> None:
    sights = [
        offer(seen_on="2026-09-24", amount=2.0),
        offer(seen_on="2023-08-16", amount=4.0, region="US west or central"),
        offer(seen_on="2025-01-01", amount=9.0),
        offer(instance="same", seen_on="2025-01-01", amount=1.0),
        offer(instance="same", seen_on="2026-01-01", amount=1.001),
        offer(instance="up", seen_on="2025-01-01", amount=1.0),
        offer(instance="up", seen_on="2026-01-01", amount=1.5),
        offer(instance="up", seen_on="", amount=99),
        offer(instance="two of a day", seen_on="2025-01-01", amount=1.0),
        offer(instance="two of a day", seen_on="2025-01-01", amount=2.0),
    ]
    assert [change.share for change in prices.changes(sights)] == pytest.approx([-0.5, 0.5])


def test_the_shipped_facts_show_a_fall() -> None:
    steepest = prices.changes(prices.offers(today=date(2026, 11, 21)))[0]
    assert steepest.last.instance in ("p4d.24xlarge", "p4de.24xlarge")
    assert steepest.share == pytest.approx(-0.33, abs=0.005)
