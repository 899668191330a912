"""Fetching through gpuhunt: a library made by hand stands in for it; no test touches the network."""

from __future__ import annotations

import csv
import sys
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuwise.errors import InputError, MachineError, NoDataError
from gpuwise.facts import prices
from gpuwise.facts.prices.fetch import convert, fetched_path, update
from gpuwise.facts.prices.files import read
from gpuwise.model.gpu import Offer

TODAY = date(2026, 11, 21)


class Vendor(StrEnum):
    NVIDIA = "nvidia"
    GOOGLE = "google"


@dataclass
class Item:
    """The fields of gpuhunt's CatalogItem that are read."""

    provider: str = "aws"
    instance_name: str = "p5.48xlarge"
    location: str = "us-east-1"
    price: float = 55.04
    gpu_count: int = 8
    gpu_name: str | None = "H100"
    gpu_memory: float | None = 80.0
    spot: bool = False
    gpu_vendor: Vendor | None = Vendor.NVIDIA


def library(*items: Item, fails: Exception | None = None, silent: str = "") -> Any:
    """A gpuhunt with these items; `fails` when it is asked at all, `silent` fails alone."""

    def query(*, provider: str, min_gpu_count: int) -> list[Item]:
        if provider == silent:
            raise TimeoutError(f"{provider} timed out")
        return [item for item in items if item.provider == provider and item.gpu_count >= min_gpu_count]

    def default_catalog() -> Any:
        if fails:
            raise fails
        names = {item.provider for item in items} | ({silent} if silent else set())
        online = [SimpleNamespace(NAME=name) for name in sorted(names & {"vastai"})]
        return SimpleNamespace(
            catalog=dict.fromkeys(sorted(names - {"vastai"})), providers=online, query=query
        )

    sizes = [("H100", 80), ("A10", 24), ("A100", 40), ("A100", 80), ("RTX4060Ti", 8)]
    known = [SimpleNamespace(name=name, memory=memory) for name, memory in sizes]
    return SimpleNamespace(default_catalog=default_catalog, KNOWN_ACCELERATORS=known)


def fetched() -> list[Offer]:
    return [offer for offer in prices.offers(today=TODAY) if offer.source.id == "gpuhunt"]


def test_an_instance_is_one_offer_of_all_its_gpus(home: Path) -> None:
    done = update(TODAY, library(Item(), Item(spot=True, price=20.0)))
    assert (done.offers, done.providers, done.path) == (2, ("aws",), home / "prices.csv")
    rent, spot = fetched()
    assert (rent.count, rent.amount, rent.per_gpu) == (8, 55.04, pytest.approx(6.88))
    assert (rent.kind, spot.kind) == ("on-demand", "spot")
    assert (rent.seen_on, rent.region) == ("2026-11-21", "us-east-1")
    assert rent.source.licence == "MPL-2.0"


def test_a_host_without_gpu_a_missing_price_and_a_tpu_are_left_out_and_counted() -> None:
    items = [
        Item(gpu_count=0, gpu_name=None, gpu_memory=None, gpu_vendor=None),
        Item(spot=True, price=0.0),
        Item(gpu_name="v5litepod", gpu_memory=0, gpu_vendor=Vendor.GOOGLE),
        Item(),
    ]
    rows, left_out = convert(items, {}, TODAY)
    assert [row["gpu"] for row in rows] == ["H100 80GB"]
    assert left_out == {"host without GPU": 1, "no price": 1, "no GPU": 1}


def test_of_all_regions_the_cheapest_stays() -> None:
    items = [Item(location="a", price=60.0), Item(location="b", price=50.0), Item(location="c", price=70.0)]
    rows, left_out = convert(items, {}, TODAY)
    assert [(row["region"], float(row["amount"])) for row in rows] == [("b", 50.0)]
    assert left_out == {"more expensive region of the same instance": 2}


def test_a_slice_counts_as_its_share_of_the_card() -> None:
    update(TODAY, library(Item(gpu_name="A10", gpu_memory=4.0, gpu_count=1, price=0.454)))
    (offer,) = fetched()
    assert offer.gpu_ids == ("a10",)
    assert offer.per_gpu == pytest.approx(2.724)


def test_a_slice_of_a_card_sold_in_two_sizes_is_left_out() -> None:
    rows, left_out = convert(
        [Item(gpu_name="A100", gpu_memory=10.0)], {"a100": frozenset({40.0, 80.0})}, TODAY
    )
    assert (rows, left_out) == ((), {"slice of a GPU of unknown size": 1})


def test_a_card_that_the_catalog_lacks_is_kept_as_unknown() -> None:
    update(
        TODAY, library(Item(gpu_name="RTX4060Ti", gpu_memory=12.0), Item(gpu_name="A100X", gpu_memory=80.0))
    )
    assert [offer.gpu_ids for offer in fetched()] == [(), ()]
    assert prices.wanted("a100x", tuple(fetched())).matches(
        next(o for o in fetched() if o.gpu.startswith("A100X"))
    )


def test_a_failing_network_is_a_clear_error_and_the_old_file_stays(home: Path) -> None:
    update(TODAY, library(Item()))
    before = (home / "prices.csv").read_bytes()
    with pytest.raises(MachineError, match=r"Name or service not known.*those fetched before stay") as caught:
        update(TODAY, library(fails=OSError("Name or service not known")))
    assert caught.value.exit_code == 3
    with pytest.raises(NoDataError):
        update(TODAY, library())
    assert (home / "prices.csv").read_bytes() == before
    assert [path.name for path in home.iterdir()] == ["prices.csv"]


def test_a_provider_that_does_not_answer_keeps_its_former_offers() -> None:
    update(date(2026, 11, 1), library(Item(), Item(provider="vastai", instance_name="x", price=9.0)))
    done = update(TODAY, library(Item(price=50.0), silent="vastai"))
    assert (done.providers, done.silent) == (("aws",), ("vast",))
    assert {(offer.provider, offer.seen_on) for offer in fetched()} == {
        ("aws", "2026-11-21"),
        ("vast", "2026-11-01"),
    }


def test_when_no_provider_answers_nothing_was_fetched() -> None:
    with pytest.raises(MachineError, match="gcp timed out"):
        update(TODAY, library(silent="gcp"))


def test_the_variant_is_that_which_other_sources_state_for_the_instance() -> None:
    update(TODAY, library(Item(), Item(provider="gcp", instance_name="a3-new")))
    told, untold = fetched()
    assert told.gpu_ids == ("h100-sxm5-80gb",)
    assert "variant as other sources state it" in told.note
    assert untold.gpu_ids == ("h100-pcie-80gb", "h100-sxm5-80gb")
    sights = [o for o in prices.newest(prices.offers(today=TODAY)) if o.instance == "p5.48xlarge"]
    here = [o for o in sights if o.region == "us-east-1" and o.kind == "on-demand"]
    assert [offer.source.id for offer in here] == ["gpuhunt"]


def test_a_damaged_former_file_is_replaced(home: Path) -> None:
    home.mkdir()
    (home / "prices.csv").write_bytes(b"\xff\0nothing")
    assert update(TODAY, library(Item())).silent == ()
    assert len(fetched()) == 1


def test_a_folder_that_cannot_be_written_is_a_clear_error(home: Path) -> None:
    home.write_text("a file where the folder should be")
    with pytest.raises(InputError, match="cannot write"):
        update(TODAY, library(Item()))


def test_the_shipped_facts_stay() -> None:
    before = prices.offers(today=TODAY)
    update(TODAY, library(Item()))
    after = [replace(offer, listed_on="") for offer in prices.offers(today=TODAY)]
    assert after[: len(before)] == [replace(offer, listed_on="") for offer in before]


def test_the_file_is_one_that_users_could_write(home: Path) -> None:
    update(TODAY, library(Item()))
    (row,) = csv.DictReader((home / "prices.csv").read_text(encoding="utf-8").splitlines())
    assert row["gpu"] == "H100 80GB"
    assert len(read(home / "prices.csv", today=TODAY).offers) == 1


def test_without_gpuhunt_the_install_command_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    with pytest.raises(MachineError, match="not installed") as caught:
        update(TODAY)
    assert caught.value.hint == 'pip install "gpuwise[prices]"'


def test_the_cause_behind_a_failure_is_named() -> None:
    failure = RuntimeError("failed to load all")
    failure.__cause__ = OSError("name not known")
    with pytest.raises(MachineError, match="OSError: name not known"):
        update(TODAY, library(fails=failure))


def test_a_clock_before_the_prices_kept_replaces_none_of_them() -> None:
    update(TODAY, library(Item()))
    kept = fetched_path().read_bytes()
    with pytest.raises(MachineError, match="after today"):
        update(TODAY - timedelta(days=1), library(Item()))
    assert fetched_path().read_bytes() == kept
    assert update(TODAY + timedelta(days=1), library(Item())).offers
