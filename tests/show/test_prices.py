"""Prices as tables: units, ages, warnings and what is hidden."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

from gpuwise.facts import prices
from gpuwise.facts.prices import Change, Skipped
from gpuwise.facts.prices.fetch import Update
from gpuwise.model.gpu import Offer, Source
from gpuwise.show import prices as report
from gpuwise.show.page import References
from gpuwise.show.table import markdown

TODAY = date(2026, 11, 21)
SOURCE = Source(id="list", title="A price list", kind="vendor", read_on="2026-11-21")
OFFER = Offer(
    gpu="H100 SXM5 80GB",
    gpu_ids=("h100-sxm5-80gb",),
    count=8,
    kind="on-demand",
    amount=55.04,
    provider="aws",
    instance="p5.48xlarge",
    region="us-east-1",
    seen_on="2026-10-21",
    source=SOURCE,
)
ARTICLE = replace(SOURCE, id="article", kind="article")


def cells(*offers: Offer) -> list[dict[str, str]]:
    table = report.listing(offers, (), title="t", today=TODAY)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_a_row_shows_the_gpu_hour_the_whole_offer_and_its_age() -> None:
    (row,) = cells(OFFER)
    assert (row["USD/GPU-h"], row["price"], row["GPUs"]) == ("$6.88", "$55.04/h", "8")
    assert (row["seen on"], row["age"], row["source"]) == ("2026-10-21", "31 days", "list")
    assert "note" not in row


def test_stale_undated_family_purchase_range_and_slice_are_marked() -> None:
    rows = cells(
        replace(OFFER, seen_on="2025-11-20"),
        replace(OFFER, seen_on="", gpu="H100 80GB", gpu_ids=("h100-pcie-80gb", "h100-sxm5-80gb")),
        replace(OFFER, kind="new", count=1, amount=32_000, gpu="A10G", gpu_ids=()),
        replace(OFFER, count=1, amount=1.2, high=2.0, source=ARTICLE),
        replace(OFFER, count=0.25, amount=0.02),
    )
    assert [row["age"] for row in rows[:2]] == ["366 days, stale", "undated"]
    assert rows[1]["variant"] == "H100 80GB, variant not stated"
    assert rows[2]["variant"] == "A10G, not in the catalog"
    assert (rows[2]["USD/GPU-h"], rows[2]["price"]) == ("", "$32,000 once")
    assert rows[3]["USD/GPU-h"] == "$1.20 to $2.00"
    assert (rows[4]["GPUs"], rows[4]["USD/GPU-h"], rows[4]["price"]) == ("0.25", "$0.080", "$0.020/h")


def test_a_narrow_table_keeps_what_decides_and_says_what_it_leaves_out() -> None:
    family = replace(OFFER, gpu="H100 80GB", gpu_ids=("h100-pcie-80gb", "h100-sxm5-80gb"))
    old = replace(OFFER, count=1, amount=3, region="", seen_on="2026-01-05")
    table = report.listing([OFFER, family, old], (), title="t", today=TODAY, compact=True)
    assert table.rows == (
        ("$6.88", "8 x on-demand, $55.04/h", "h100-sxm5-80gb", "aws", "us-east-1", "2026-10-21"),
        ("$6.88", "8 x on-demand, $55.04/h", "H100 80GB *", "aws", "us-east-1", "2026-10-21"),
        ("$3.00", "1 x on-demand", "h100-sxm5-80gb", "aws", "", "2026-01-05, stale"),
    )
    assert table.notes[0] == "*: the seller does not state the variant"


def test_the_notes_speak_of_all_offers_also_of_those_not_shown() -> None:
    offers = (
        OFFER,
        replace(OFFER, amount=16, provider="gcp"),
        replace(OFFER, amount=8, seen_on="2024-01-01"),
        replace(OFFER, amount=16, seen_on="", gpu_ids=("h100-pcie-80gb", "h100-sxm5-80gb")),
        replace(OFFER, amount=0.1, high=1.0, source=ARTICLE),
    )
    table = report.listing(offers, (), title="t", today=TODAY, top=1)
    notes = "\n".join((*table.before, *table.notes))
    assert len(table.rows) == 1
    assert (
        "on-demand: $2.00 to $6.88 a GPU-hour, median $4.44 (2 offers; 2 offers older than 120 days or "
        "undated not counted)" in notes
    )
    assert "2026-10-21 (31 days), the oldest of 2024-01-01" in notes
    assert "of 5 rents, 1 older than 120 days (stale) and 1 without a date" in notes
    assert "1 of 5 offers do not state the variant" in notes
    assert "ranges are an article's illustration" in notes
    assert "source list: A price list" in notes


def test_a_fall_is_told_with_its_two_dates() -> None:
    fall = Change(first=replace(OFFER, amount=98.32, seen_on="2024-10-21"), last=OFFER)
    rise = Change(first=OFFER, last=replace(OFFER, amount=60.0))
    (note,) = [n for n in report.listing([OFFER], [fall], title="t", today=TODAY).notes if "fell" in n]
    assert note.startswith("of the offers seen twice 1 fell and 0 rose; the largest change: aws p5.48xlarge")
    assert "from $98.32 on 2024-10-21 to $55.04 on 2026-10-21 (-44%)" in note
    rising = report.listing([OFFER], [rise], title="t", today=TODAY).notes
    assert any("0 fell and 1 rose" in n for n in rising)


def test_an_old_list_says_its_age_and_what_to_do() -> None:
    def cautions(day: date) -> list[str]:
        return [n for n in report.listing([OFFER], (), title="t", today=day).notes if n.startswith("Caution")]

    assert cautions(date(2026, 12, 20)) == []
    (note,) = cautions(date(2027, 11, 29))
    assert "404 days old" in note
    assert "gpuwise prices update" in note


def test_what_buying_costs_stands_above_the_rents() -> None:
    card = replace(OFFER, kind="used", count=1, amount=900)
    offers = [OFFER, card, replace(card, kind="street", amount=1200)]
    said = report.listing(offers, (), title="t", today=TODAY).before[-1]
    assert said == "h100-sxm5-80gb to buy: $900 used, 2026-10; $1,200 used or new, 2026-10"


def test_sources_are_those_of_the_rows_shown() -> None:
    other = replace(OFFER, amount=60.0, source=replace(OFFER.source, id="other", title="Another list"))
    shown = report.listing([OFFER, other], (), title="t", today=TODAY, top=1)
    assert [n for n in shown.notes if n.startswith("source ")] == ["source list: A price list"]


def test_overview_has_one_line_a_gpu() -> None:
    offers = [
        OFFER,
        replace(OFFER, kind="spot", amount=8.0),
        replace(OFFER, kind="new", count=1, amount=32_000, seen_on="2023-03-21"),
        replace(OFFER, gpu="A10G", gpu_ids=(), seen_on="", count=1, amount=0.05),
    ]
    table = report.overview(prices.summary(offers), offers, (), TODAY)
    assert table.rows == (
        ("A10G **", "$0.050", "$0.050", "", "", "", "1", "undated"),
        ("h100-sxm5-80gb", "$6.88", "$6.88", "$1.00", "$1.00", "$32,000", "3", "2026-10-21"),
    )
    assert "as of 2026-11-21" in markdown(table)
    assert table.notes[0] == "**: not in the catalog"
    assert not any("2023" in note for note in table.notes)


def test_documents_are_plain_and_complete() -> None:
    skip = Skipped(file="own.csv", line=3, reason="unknown GPU 'x'")
    found = report.document([OFFER], (), query="h100", today=TODAY, skipped=[skip])
    assert found["offers"][0]["per_gpu_hour"] == 6.88
    assert (found["offers"][0]["age_days"], found["offers"][0]["stale"]) == (31, False)
    assert found["offers"][0]["source"]["title"] == "A price list"
    assert found["skipped"] == [{"file": "own.csv", "line": 3, "reason": "unknown GPU 'x'"}]
    lines = report.overview_document(prices.summary([OFFER]), today=TODAY)
    assert lines["gpus"][0]["on_demand"] == {"lowest": 6.88, "median": 6.88, "highest": 6.88, "offers": 1}


def test_skipped_rows_are_counted_and_the_first_named() -> None:
    rows = [Skipped(file="own.csv", line=i, reason="unreadable") for i in range(2, 15)]
    lines = report.skipped_lines(rows)
    assert lines[:2] == ("13 rows skipped:", "  own.csv, line 2: unreadable")
    assert lines[-1] == "  and 3 more; all of them: --json"
    assert report.skipped_lines(()) == ()
    late = Skipped(file="shipped prices", line=0, reason="dated")
    assert report.skipped_lines([late]) == ("1 row skipped:", "  shipped prices: dated")


def test_an_update_tells_what_came_and_what_did_not() -> None:
    done = Update(
        path=Path("prices.csv"),
        seen_on="2026-11-21",
        offers=1200,
        providers=("aws", "gcp"),
        silent=("vast",),
        left_out={"no price": 1200, "host without GPU": 3},
    )
    assert report.update_lines(done) == (
        "1,200 offers from aws, gcp; seen on 2026-11-21",
        "kept in prices.csv",
        "did not answer, former prices stay: vast",
        "left out: 3 host without GPU, 1,200 no price",
    )
    assert report.update_lines(replace(done, silent=(), left_out={}))[2:] == ()
    assert json.loads(json.dumps(report.update_document(done)))["silent_providers"] == ["vast"]


def test_offers_of_one_price_have_no_span() -> None:
    other = replace(OFFER, amount=40.0, seen_on=OFFER.seen_on)
    assert report.rent([OFFER], "on-demand", TODAY, References()).startswith("$6.88, 1 offer")
    both = report.rent([OFFER, other], "on-demand", TODAY, References())
    assert both.startswith("$5.94 ($5.00 to $6.88), 2 offers")
