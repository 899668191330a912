"""How the age of shipped prices counts as the years go by: `choose` with a pretended clock."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from gpuwise import store
from gpuwise.facts import prices

SNAPSHOT = max(offer.seen_on for offer in prices.shipped())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, gpuwise):
    def ask(day: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
        monkeypatch.setattr("gpuwise.cli.print.today", lambda: date.fromisoformat(day))
        code, text, talk = gpuwise("choose", "llama-3.1-8b", *arguments, "--json")
        return code, json.loads(text) if text else {}, talk

    return ask


@pytest.mark.parametrize("day", ["2026-11-28", "2026-11-29", "2028-01-31"])
def test_the_snapshot_ranks_as_on_its_own_day(asked, day: str) -> None:
    code, found, talk = asked(day, "--own")
    first = found["options"][0]
    assert code == 0, talk
    assert found["prices_on"] == SNAPSHOT
    assert found["made_on"] == day
    assert (date.fromisoformat(SNAPSHOT) - date.fromisoformat(first["seen_on"])).days <= prices.STALE_DAYS
    assert not first["stale"]


def test_the_same_card_wins_and_its_price_is_known_less_well(asked) -> None:
    early, late = (asked(day, "--own")[1]["options"][0] for day in ("2026-11-23", "2028-01-31"))
    assert early["gpu_id"] == late["gpu_id"]
    width = [o["price_usd"]["high"] / o["price_usd"]["low"] for o in (early, late)]
    assert width[0] < width[1]


@pytest.mark.parametrize(("day", "code"), [("2027-01-30", 0), ("2027-01-31", 5)])
def test_an_age_that_is_asked_for_counts_today(asked, day: str, code: int) -> None:
    assert asked(day, "--own", "--newer-than", "120d")[0] == code


@pytest.mark.parametrize(("day", "cautions"), [("2026-12-20", 0), ("2026-12-21", 1), ("2027-01-09", 1)])
def test_an_old_list_is_cautioned_of(gpuwise, monkeypatch, day: str, cautions: int) -> None:
    monkeypatch.setattr("gpuwise.cli.print.today", lambda: date.fromisoformat(day))
    _, text, _ = gpuwise("choose", "resnet50", "--rent")
    assert text.count("gpuwise prices update") == cautions
    assert SNAPSHOT in text.splitlines()[0]


def test_rents_that_were_fetched_make_older_ones_old(asked) -> None:
    row = "H100 80GB,1,on-demand,9,USD,hour,lambda,gpu_1x_h100_pcie,,2027-06-01"
    header = "gpu,count,kind,amount,currency,per,provider,instance,region,seen_on"
    store.write(f"{header}\n{row}\n".encode(), prices.fetched_path())
    _, rented, _ = asked("2027-06-02", "--rent")
    assert {option["seen_on"] for option in rented["options"]} == {"2027-06-01"}
    assert rented["prices_on"] == "2027-06-01"
    _, bought, _ = asked("2027-06-02", "--own")
    assert bought["options"][0]["seen_on"] < SNAPSHOT
