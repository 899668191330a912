"""Articles: each figure has a source or is computed, and the audit finds nothing in them."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.facts import catalog, prices, published
from gpuwise.judge import audit
from gpuwise.model.record import Record
from gpuwise.show.article import HeadToHead, article, criteria
from gpuwise.show.html import html
from gpuwise.show.page import Page, References, Section, markdown_page
from gpuwise.show.records import KINDS, pairs

from .forecasts import of_gpu

TODAY = date(2026, 11, 21)
H200 = Path(__file__).parents[2] / "results" / "h200"
PAIRS = (
    ("rtx-a5000", "rtx-a4000"),
    ("rtx-a6000", "a100-sxm4-80gb"),
    ("a100-pcie-80gb", "rtx-4090-laptop"),
    ("h200-sxm", "mi300x"),
    ("rtx-4090", "rtx-3090"),
    ("gaudi3", "l4"),
)


def duel(first: str, second: str, predictions: tuple[Record, ...] = (), *, half: float = 0.1) -> HeadToHead:
    ids = (first, second)
    measured = [
        r
        for r in store.records(store.load(path) for path in H200.glob("*tuned.json"))
        if r.usable and r.question.mode != "limit"
    ]
    stated = published.plausible(published.select(gpu_ids=ids))
    return HeadToHead(
        first=catalog.get(first),
        second=catalog.get(second),
        speeds=(*(s for s in measured if s.gpu_id in ids), *stated),
        forecasts=predictions,
        ratio_half=half,
        offers=prices.offers(today=TODAY),
        today=TODAY,
        cited=References(),
    )


def section(page: Page, name: str) -> Section:
    return next(one for one in page.sections if one.id == name)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_the_audit_finds_nothing_in_any_article(pair: tuple[str, str]) -> None:
    predictions = (*of_gpu(pair[0], 100.0), *of_gpu(pair[1], 60.0, ("llm-8b-lora",)))
    page = article(duel(*pair, predictions))
    for text, name in ((markdown_page(page), "article.md"), (html(page), "article.html")):
        found = audit.audit_text(text, name, today=TODAY)
        assert [f for f in found.findings if f.verdict == "contradicts"] == []
        assert found.count("agrees") > 10


@pytest.mark.parametrize("pair", PAIRS[:3], ids="-".join)
def test_every_citation_has_its_source_and_every_source_is_cited(pair: tuple[str, str]) -> None:
    text, _, listed = markdown_page(article(duel(*pair))).partition("## Sources")
    cited = {int(number) for number in re.findall(r"\[(\d+)\]", text)}
    assert cited == set(range(1, len(re.findall(r"^\d+\. ", listed, re.MULTILINE)) + 1))


def test_every_stated_value_of_the_specifications_carries_a_source() -> None:
    (table,) = section(article(duel("rtx-a5000", "rtx-a4000")), "specifications").tables
    assert len(table.rows) > 40
    assert all(re.fullmatch(r"\[\d+\]( \[\d+\])*", row[-1]) for row in table.rows)
    ratios = {row[0]: row[3] for row in table.rows}
    assert ratios["memory"] == "0.67"
    assert ratios["compute capability"] == ""


def test_published_speeds_are_divided_only_within_one_source() -> None:
    found = list(pairs(duel("rtx-a5000", "rtx-a4000").speeds, "rtx-a5000", "rtx-a4000"))
    assert found
    assert all(a.source == b.source and a.question.key("batch") == b.question.key("batch") for a, b in found)


def test_figures_of_untold_precision_are_never_divided() -> None:
    speeds = duel("h200-sxm", "mi300x").speeds
    assert any(speed.question.precision is None and speed.gpu_id == "mi300x" for speed in speeds)
    assert all(a.question.precision for a, _ in pairs(speeds, "h200-sxm", "mi300x"))


def test_no_published_figure_that_a_check_flags_is_shown() -> None:
    flagged = {row.value for row in published.all_results() if row.gpu_id == "rtx-a5000" and row.codes}
    fine = {row.value for row in published.all_results() if row.gpu_id == "rtx-a5000" and not row.codes}
    shown = {speed.throughput.value for speed in duel("rtx-a5000", "rtx-a4000").speeds if speed.throughput}
    assert flagged - fine
    assert shown.isdisjoint(flagged - fine)


def test_a_forecast_decides_only_where_its_whole_interval_does() -> None:
    predictions = (*of_gpu("rtx-a5000", 100.0), *of_gpu("rtx-a4000", 80.0))
    sure = [
        c for c in criteria(duel("rtx-a5000", "rtx-a4000", predictions, half=0.1)) if "forecast" in c.ground
    ]
    open_ = [
        c for c in criteria(duel("rtx-a5000", "rtx-a4000", predictions, half=0.5)) if "forecast" in c.ground
    ]
    assert {c.winner.id for c in sure if c.winner} == {"rtx-a5000"}
    assert {c.winner for c in open_} == {None}
    assert "1.25 times" in sure[0].why


def test_work_that_fits_only_one_card_says_so() -> None:
    predictions = (*of_gpu("rtx-a5000", 9.0), *of_gpu("rtx-a4000", 9.0, ("llm-8b-decode",)))
    page = article(duel("rtx-a5000", "rtx-a4000", predictions))
    assert any("does not fit the RTX A4000" in point for point in section(page, "forecasts").points)
    reason = next(c for c in criteria(duel("rtx-a5000", "rtx-a4000", predictions)) if "only there" in c.why)
    assert reason.winner is not None
    assert reason.winner.id == "rtx-a5000"


def test_where_no_work_fits_both_cards_there_is_a_table_and_no_chart() -> None:
    every = tuple(kind.workload for kind in KINDS)
    predictions = (*of_gpu("rtx-a5000", 9.0), *of_gpu("rtx-a4000", 9.0, every))
    found = section(article(duel("rtx-a5000", "rtx-a4000", predictions)), "forecasts")
    assert (len(found.figures), len(found.tables)) == (0, 1)


def test_the_order_of_the_cards_changes_no_verdict() -> None:
    predictions = (*of_gpu("rtx-a5000", 100.0), *of_gpu("rtx-a4000", 60.0))
    one, other = (
        criteria(duel(*pair, predictions)) for pair in itertools.permutations(("rtx-a5000", "rtx-a4000"))
    )
    winners = [{c.need: c.winner.id for c in found if c.winner} for found in (one, other)]
    assert winners[0] == winners[1]


def test_a_card_without_an_offer_gets_no_price() -> None:
    found = section(article(duel("a100-pcie-80gb", "rtx-4090-laptop")), "prices")
    assert "No dated offer of exactly the GeForce RTX 4090 Laptop GPU" in found.text[0]


def test_old_prices_are_marked_stale() -> None:
    table = section(article(duel("rtx-a5000", "rtx-a4000")), "prices").tables[0]
    assert "stale" not in table.rows[0][1]
    later = replace(duel("rtx-a5000", "rtx-a4000"), today=date(2027, 9, 1))
    assert "stale" in section(article(later), "prices").tables[0].rows[0][1]


def test_without_any_forecast_the_article_still_stands() -> None:
    page = article(duel("rtx-a6000", "a100-sxm4-80gb"))
    ids = [one.id for one in page.sections]
    assert "forecasts" not in ids
    assert {"specifications", "differences", "performance", "power", "prices", "choice"} <= set(ids)


def test_several_gpus_have_their_share_of_linear() -> None:
    predictions = (*of_gpu("rtx-a5000", 100.0), *of_gpu("rtx-a4000", 50.0, ("llm-1b",)))
    (table,) = section(article(duel("rtx-a5000", "rtx-a4000", predictions)), "several").tables
    assert len(table.rows) == 9
    assert table.rows[0][1:4] == ("2", "180.0 images/s (162.0 to 198.0)", "90 %")
    assert table.rows[-1][-2:] == ("-", "-")
