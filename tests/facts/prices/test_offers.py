"""The shipped prices: sources, dates, identifiers, and the traps of price data."""

from __future__ import annotations

import csv
import re
import time
from datetime import date
from pathlib import Path
from typing import get_args

import pytest

from gpuwise.errors import InputError
from gpuwise.facts import catalog, prices
from gpuwise.facts import prices as load
from gpuwise.model.gpu import OfferKind, SourceKind

TODAY = date(2026, 11, 29)
SHIPPED = load.shipped()


def rows(name: str) -> list[dict[str, str]]:
    with (load.DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_source_is_known_dated_and_used() -> None:
    used = {row["source"] for name in ("offers.csv", "history.csv", "egress.csv") for row in rows(name)}
    assert used == {row["id"] for row in rows("sources.csv")}
    for source in prices.sources().values():
        assert source.kind in get_args(SourceKind)
        assert date.fromisoformat(source.read_on) <= TODAY
        assert source.title
        assert source.url is None or source.url.startswith("https://")


def test_every_gpu_is_in_the_catalog() -> None:
    known = {spec.id for spec in catalog.all_gpus()}
    assert {gpu_id for offer in SHIPPED for gpu_id in offer.gpu_ids} <= known


def test_every_offer_holds() -> None:
    for offer in SHIPPED:
        assert offer.gpu
        assert offer.provider
        assert offer.kind in get_args(OfferKind)
        assert offer.currency == "USD"
        assert 0.02 <= offer.per_gpu <= 40 if offer.per_hour else 40 <= offer.per_gpu <= 65_000, offer
        assert offer.high is None or (offer.low or 0) <= offer.amount <= offer.high
        assert offer.count in (1, 2, 4, 8, 16)
        if offer.seen_on:
            # Whole servers are priced in public at their launch, if at all.
            assert date(2020 if offer.whole else 2023, 1, 1) <= load.day(offer.seen_on) <= TODAY


def test_no_offer_is_listed_twice() -> None:
    # Regions and notes may differ where the price does.
    keys = [(*load.series(o), o.seen_on, o.amount, o.region, o.source.id, o.high) for o in SHIPPED]
    assert len(set(keys)) == len(keys)


def test_no_trace_of_how_the_data_was_gathered() -> None:
    for name in ("offers.csv", "sources.csv", "history.csv"):
        text = (load.DATA / name).read_text(encoding="utf-8")
        assert not re.search(r"/work|/home|/tmp|file index|SEED|seed_|[0-9a-f]{16}\.txt", text)
        assert text.isascii()


def test_an_article_s_ranges_are_no_quotes() -> None:
    ranges = [offer for offer in SHIPPED if offer.source.kind == "article"]
    assert len(ranges) == 9
    assert all(o.high and not o.seen_on and not prices.is_quote(o) for o in ranges)
    assert all(prices.is_quote(offer) for offer in SHIPPED if offer not in ranges)


def test_a_price_without_date_is_kept_without_one() -> None:
    undated = [offer for offer in SHIPPED if not offer.seen_on]
    assert undated
    assert all(prices.age_days(offer, TODAY) is None for offer in undated)


def test_families_name_their_variants_and_no_name_is_folded_into_another_card() -> None:
    by_gpu = {offer.gpu: offer.gpu_ids for offer in SHIPPED}
    assert ("a100-pcie-80gb", "a100-sxm4-80gb") in {offer.gpu_ids for offer in SHIPPED}
    assert by_gpu["A10G"] == ("a10g",)
    assert by_gpu["A10"] == ("a10",)
    assert by_gpu["RTX 4090 48GB (modified)"] == ()
    assert by_gpu["RTX 4090"] == ("rtx-4090",)


def test_a_google_machine_is_priced_with_its_accelerators() -> None:
    google = [offer for offer in SHIPPED if offer.source.id == "gcp-calculator"]
    assert google
    assert all("whole machine" in offer.note for offer in google)


def test_launch_prices_come_from_the_catalog() -> None:
    priced = [spec.id for spec in catalog.all_gpus() if spec.number("launch_price_usd")]
    assert [offer.gpu_ids[0] for offer in load.launch_prices()] == priced
    card = next(offer for offer in load.launch_prices() if offer.gpu_ids == ("rtx-a5000",))
    spec = catalog.get("rtx-a5000")
    assert card.amount == spec.number("launch_price_usd")
    assert (card.kind, card.per_hour, card.seen_on) == ("new", False, spec.text("launch"))
    assert card.note.startswith("launch price")
    assert card.source == spec.facts["launch_price_usd"].source


def test_with_a_clock_that_is_behind_later_prices_are_skipped_and_named() -> None:
    known = prices.collect(today=date(2025, 1, 1))
    assert all(offer.seen_on <= "2025-01-01" for offer in known.offers)
    assert len(known.offers) + len(known.skipped) == len(SHIPPED) + len(load.launch_prices())
    assert any("dated 2026-09-24, after today (2025-01-01)" in skip.reason for skip in known.skipped)


def test_fetched_prices_are_added_and_a_damaged_file_is_named(home: Path) -> None:
    before = len(prices.offers(today=TODAY))
    home.mkdir()
    (home / "prices.csv").write_text(
        "gpu,amount,seen_on\nA100X 80GB,1.01,2026-11-20\nH100 80GB,2,2026-12-01\n"
    )
    known = prices.collect(today=TODAY)
    assert len(known.offers) == before + 1
    assert (known.offers[-1].gpu_ids, known.offers[-1].source.id) == ((), "gpuhunt")
    assert [skip.line for skip in known.skipped] == [3]
    (home / "prices.csv").write_bytes(b"\0\1\2")
    with pytest.raises(InputError, match="binary") as caught:
        prices.offers(today=TODAY)
    assert caught.value.code == "fetch-prices"


def test_all_prices_load_in_less_than_60_ms(slowness: float) -> None:
    catalog.all_gpus()
    took = []
    for _ in range(7):
        load.shipped.cache_clear()
        load.launch_prices.cache_clear()
        began = time.process_time()
        prices.offers(today=TODAY)
        took.append(time.process_time() - began)
    assert min(took) < 0.060 * slowness
