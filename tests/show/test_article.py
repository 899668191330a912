"""Articles: each figure has a source or is computed, price and verdict agree, and the audit finds nothing."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import date
from math import exp, log
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.facts import catalog, prices, published
from gpuwise.judge import audit
from gpuwise.model.result import Record, records_of
from gpuwise.model.units import Amount
from gpuwise.show.article import Contest, article, criteria
from gpuwise.show.html import html
from gpuwise.show.page import Page, References, Section, markdown_page
from gpuwise.show.records import KINDS, answers

from .forecasts import of_gpu

TODAY = date(2026, 11, 21)
H200 = Path(__file__).parents[2] / "results" / "h200"
SETS = (
    ("rtx-a5000", "rtx-a4000"),
    ("rtx-a6000", "a100-sxm4-80gb"),
    ("a100-pcie-80gb", "rtx-4090-laptop"),
    ("h200-sxm", "mi300x"),
    ("gaudi3", "l4"),
    ("rtx-4090", "rtx-3090", "l40s"),
    ("h100-sxm5-80gb", "h200-sxm", "b200-sxm", "mi300x", "a100-sxm4-80gb", "l4"),
)


def contest(*ids: str, predictions: tuple[Record, ...] = (), half: float = 0.1) -> Contest:
    measured = [
        r
        for r in records_of(store.load(path) for path in H200.glob("*tuned.json"))
        if r.usable and r.question.mode != "limit"
    ]
    return Contest(
        specs=tuple(map(catalog.get, ids)),
        speeds=(
            *(s for s in measured if s.gpu_id in ids),
            *published.plausible(published.select(gpu_ids=ids)),
        ),
        forecasts=predictions,
        ratio_half=half,
        offers=prices.offers(today=TODAY),
        today=TODAY,
        cited=References(),
    )


def forecast(ids: tuple[str, ...]) -> tuple[Record, ...]:
    """Each slower than the one before it; the last cannot hold all work."""
    large = {ids[-1]: ("llm-8b-lora",)}
    return tuple(r for n, one in enumerate(ids) for r in of_gpu(one, 100.0 * 0.6**n, large.get(one, ())))


def section(page: Page, name: str) -> Section:
    return next(one for one in page.sections if one.id == name)


@pytest.mark.parametrize("ids", SETS, ids="-".join)
def test_the_audit_finds_nothing_in_any_article(ids: tuple[str, ...]) -> None:
    page = article(contest(*ids, predictions=forecast(ids)))
    for text, name in ((markdown_page(page), "article.md"), (html(page), "article.html")):
        found = audit.audit_text(text, name, today=TODAY)
        assert [f for f in found.findings if f.verdict == "contradicts"] == []
        assert found.count("agrees") > 10


@pytest.mark.parametrize("ids", SETS[:3], ids="-".join)
def test_every_citation_has_its_source_and_every_source_is_cited(ids: tuple[str, ...]) -> None:
    text, _, listed = markdown_page(article(contest(*ids))).partition("## Sources")
    cited = {int(number) for number in re.findall(r"\[(\d+)\]", text)}
    assert cited == set(range(1, len(re.findall(r"^\d+\. ", listed, re.MULTILINE)) + 1))


def test_every_stated_value_of_the_specifications_carries_a_source() -> None:
    (table,) = section(article(contest("rtx-a5000", "rtx-a4000")), "specifications").folded
    assert len(table.rows) > 40
    assert all(re.fullmatch(r"\[\d+\]( \[\d+\])*", row[-1]) for row in table.rows)


@pytest.mark.parametrize("ids", SETS, ids="-".join)
@pytest.mark.parametrize("factor", [0.2, 0.6, 0.95])
def test_the_price_table_and_the_verdict_never_disagree(ids: tuple[str, ...], factor: float) -> None:
    predictions = tuple(r for n, one in enumerate(ids) for r in of_gpu(one, 100.0 * factor**n))
    given = contest(*ids, predictions=predictions)
    page, found = article(given), criteria(given)
    tables = [t for t in section(page, "prices").tables if t.title.startswith("Rent of a million")]
    assert len(tables) == ("training for rent" in found)
    for table in tables:
        training = [row for row in table.rows if row[0].startswith(("training", "fine-tuning"))]
        # One without a fresh rent has no column.
        priced = [spec.id for spec in given.specs if given.rent(spec.id)]
        costs = {
            one: [cell.value for row in training if isinstance(cell := row[place], Amount)]
            for place, one in enumerate(priced, 2)
        }
        mean = {one: exp(sum(map(log, each)) / len(each)) for one, each in costs.items() if each}
        verdict = found["training for rent"]
        assert list(verdict.order) == sorted(mean, key=lambda one: mean[one])
        if verdict.winner:
            assert {row[-1] for row in training} == {given.name(verdict.winner)}
            said = " ".join(section(page, "answer").text)
            other = [given.name(one) for one in verdict.order[1:]]
            assert not any(f"rents the {name}" in said for name in other)


def test_speeds_are_held_together_only_within_one_source() -> None:
    found = [same for same in answers(contest("rtx-a5000", "rtx-a4000").speeds) if len(same) > 1]
    assert found
    for same in found:
        assert len({(r.source, r.question.key("batch")) for r in same.values()}) == 1


def test_figures_of_untold_precision_are_not_in_the_table() -> None:
    given = contest("h200-sxm", "mi300x")
    assert any(speed.question.precision is None for speed in given.speeds)
    tables = section(article(given), "performance").tables
    assert not any("?" in row[0].split()[2:3] for table in tables for row in table.rows)


def test_no_published_figure_that_a_check_flags_is_shown() -> None:
    rows = [row for row in published.all_results() if row.gpu_id == "rtx-a5000"]
    flagged = {row.value for row in rows if row.codes}
    fine = {row.value for row in rows if not row.codes}
    shown = {speed.throughput.value for speed in contest("rtx-a5000", "rtx-a4000").speeds if speed.throughput}
    assert flagged - fine
    assert shown.isdisjoint(flagged - fine)


def test_ratios_of_the_decision_table_say_that_they_are_none_of_watts() -> None:
    ids = ("rtx-4090", "l4")
    predictions = tuple(r for n, one in enumerate(ids) for r in of_gpu(one, 100.0 * 4.0**n))
    (table,) = section(article(contest(*ids, predictions=predictions)), "choice").tables
    ratios = [row[2:4] for row in table.rows if "relative" in row[-1] or "= 1" in row[-1]]
    assert len(ratios) > 3
    assert all(re.fullmatch(r"[\d,.]+x", cell) for row in ratios for cell in row if cell)


def test_a_forecast_decides_only_where_its_whole_interval_does() -> None:
    predictions = (*of_gpu("rtx-a5000", 100.0), *of_gpu("rtx-a4000", 80.0))
    ids = "rtx-a5000", "rtx-a4000"
    sure = criteria(contest(*ids, predictions=predictions, half=0.1))["training"]
    open_ = criteria(contest(*ids, predictions=predictions, half=0.5))["training"]
    assert sure.winner == "rtx-a5000"
    assert sure.lead("rtx-a4000") == pytest.approx(1.25)
    assert (open_.winner, open_.tied) == (None, ids)


def test_work_that_does_not_fit_a_card_says_so() -> None:
    large = ("llm-8b-decode", "llm-8b-prefill")
    predictions = (*of_gpu("rtx-a5000", 9.0), *of_gpu("rtx-a4000", 9.0, large))
    page = article(contest("rtx-a5000", "rtx-a4000", predictions=predictions))
    assert any("does not fit on the RTX A4000" in point for point in section(page, "memory").points)
    (told,) = (line for line in section(page, "answer").text if "does not fit on the RTX A4000" in line)
    assert ". 1 more kind" in told
    assert not re.search(r"[A-Za-z]\.[A-Z0-9]", told)


def test_a_card_without_a_forecast_is_not_said_to_hold_more() -> None:
    page = article(contest("rtx-a5000", "gaudi3", predictions=of_gpu("rtx-a5000", 9.0, ("llm-8b-lora",))))
    assert not any("does not fit" in line for line in section(page, "answer").text)


def test_what_fits_neither_is_not_said_to_fit_both() -> None:
    ids = ("l4", "rtx-4090")
    neither = tuple(r for one in ids for r in of_gpu(one, 100.0, ("llm-8b-lora",)))
    words = " ".join(section(article(contest(*ids, predictions=neither)), "answer").text)
    assert "fits on neither" in words
    assert "every other kind" in words
    both = tuple(r for one in ids for r in of_gpu(one, 100.0))
    words = " ".join(section(article(contest(*ids, predictions=both)), "answer").text)
    assert "neither" not in words
    assert "every kind" in words


def test_where_no_work_fits_both_cards_there_is_a_table_and_no_chart() -> None:
    every = tuple(kind.workload for kind in KINDS)
    predictions = (*of_gpu("rtx-a5000", 9.0), *of_gpu("rtx-a4000", 9.0, every))
    found = section(article(contest("rtx-a5000", "rtx-a4000", predictions=predictions)), "forecasts")
    assert (len(found.figures), len(found.tables)) == (0, 1)


@pytest.mark.parametrize("ids", [SETS[0], SETS[5]], ids="-".join)
def test_the_order_of_the_cards_changes_no_verdict(ids: tuple[str, ...]) -> None:
    predictions = tuple(r for n, one in enumerate(ids) for r in of_gpu(one, 100.0 * 0.6**n))
    every = [criteria(contest(*order, predictions=predictions)) for order in itertools.permutations(ids)]
    winners = [{name: one.winner for name, one in found.items()} for found in every]
    assert all(each == winners[0] for each in winners)


def test_buying_is_judged_by_prices_of_one_kind_and_of_today() -> None:
    ids = "rtx-4090", "rtx-3090"
    given = contest(*ids, predictions=tuple(r for one in ids for r in of_gpu(one, 100.0)))
    sold = next(o for o in given.offers if o.gpu_ids == ("rtx-4090",) and not o.per_hour)
    shop = replace(sold, kind="new", amount=2000.0, note="", seen_on="2026-11-01", listed_on="")
    used = replace(shop, gpu_ids=(ids[1],), gpu=ids[1], kind="used", amount=800.0)
    new, old = replace(used, kind="new", amount=1600.0), replace(used, kind="new", seen_on="2020-09-01")
    assert replace(given, offers=(shop, new)).bought == {ids[0]: 2000.0, ids[1]: 1600.0}
    assert "purchase" in criteria(replace(given, offers=(shop, new)))
    for other in (used, old):
        assert "purchase" not in criteria(replace(given, offers=(shop, other)))
    module = replace(contest("l40s", "a100-sxm4-80gb"), offers=(
        replace(shop, gpu_ids=("l40s",), gpu="l40s"), replace(shop, gpu_ids=("a100-sxm4-80gb",), gpu="a100"),
    ))  # fmt: skip
    assert set(module.bought) == {"l40s"}


@pytest.mark.parametrize(("faster", "decides"), [(0, True), (1, False)])
def test_a_peak_decides_only_where_the_forecasts_agree(faster: int, decides: bool) -> None:
    ids = "rtx-4090", "rtx-3090"  # The first has more of every peak
    speeds = (100.0, 50.0) if not faster else (50.0, 100.0)
    predictions = tuple(r for one, speed in zip(ids, speeds, strict=True) for r in of_gpu(one, speed))
    words = section(article(contest(*ids, predictions=predictions)), "forecasts").text[0]
    assert ("so the 16-bit matrix peak decides" in words or "so memory bandwidth decides" in words) == decides
    assert ("alone does not decide" in words) != decides


def test_a_card_without_an_offer_gets_no_price() -> None:
    found = section(article(contest("a100-pcie-80gb", "rtx-4090-laptop")), "prices")
    assert "No dated offer of exactly the RTX 4090 Laptop GPU" in found.text[0]


def test_old_prices_are_marked_stale() -> None:
    given = contest("rtx-a5000", "rtx-a4000")
    assert "stale" not in section(article(given), "prices").tables[0].rows[0][1]
    later = replace(given, today=date(2027, 9, 1))
    assert "stale" in section(article(later), "prices").tables[0].rows[0][1]


def test_without_any_forecast_the_article_still_stands() -> None:
    page = article(contest("rtx-a6000", "a100-sxm4-80gb"))
    ids = {one.id for one in page.sections}
    assert "forecasts" not in ids
    assert {"cards", "performance", "memory", "prices", "choice", "specifications"} <= ids


def test_several_gpus_have_their_share_of_linear() -> None:
    predictions = (*of_gpu("rtx-a5000", 100.0), *of_gpu("rtx-a4000", 50.0, ("llm-1b",)))
    page = article(contest("rtx-a5000", "rtx-a4000", predictions=predictions))
    (figure,) = section(page, "several").figures
    table = figure.table
    assert len(table.rows) == 9
    assert table.rows[0][1:3] == ("2", "180 images/s (162 to 198), 90 % of linear")
    assert table.rows[-1][-1] == "-"


def test_three_cards_with_a_rent_have_a_chart_of_rent_against_speed() -> None:
    ids = SETS[-1]
    found = section(article(contest(*ids, predictions=forecast(ids))), "prices")
    assert len(found.figures) == 1
    assert len(found.figures[0].table.rows) > 2


def widened(records: tuple[Record, ...], factor: float) -> tuple[Record, ...]:
    """Known within this factor to either side only."""
    return tuple(
        replace(r, throughput=replace(r.throughput, low=r.value / factor, high=r.value * factor))
        if r.throughput
        else r
        for r in records
    )


def test_a_card_whose_speed_is_hardly_known_is_in_no_verdict_on_speed() -> None:
    ids = ("h100-sxm5-80gb", "mi300x", "a100-sxm4-80gb")
    wide = widened(of_gpu("mi300x", 200.0), 3.0)
    given = contest(*ids, predictions=(*of_gpu(ids[0], 100.0), *wide, *of_gpu(ids[2], 40.0)))
    assert given.unsure == ("mi300x",)
    found = criteria(given)
    assert found["training"].order == ("h100-sxm5-80gb", "a100-sxm4-80gb")
    for name, one in found.items():
        assert ("mi300x" in one.figures) == (one.ground == "specification"), name
    rents = [t for t in section(article(given), "prices").tables if t.title.startswith("Rent of a million")]
    assert {row[-1] for t in rents for row in t.rows} <= {"H100 SXM5 80 GB", "A100 SXM4 80 GB"}
    assert "MI300X" in " ".join(section(article(given), "answer").text)


def test_the_wider_forecast_of_two_decides_what_is_even() -> None:
    ids = ("rtx-a5000", "rtx-a4000")
    predictions = (*of_gpu(ids[0], 130.0), *widened(of_gpu(ids[1], 100.0), 1.4))
    assert criteria(contest(*ids, predictions=predictions))["training"].winner is None
    sure = criteria(contest(*ids, predictions=tuple(r for one, s in zip(ids, (130.0, 100.0), strict=True)
                                                    for r in of_gpu(one, s))))  # fmt: skip
    assert sure["training"].winner == "rtx-a5000"


def test_cards_without_a_forecast_do_not_silence_the_others() -> None:
    ids = ("gaudi3", "rtx-a5000", "rtx-a4000")
    given = contest(*ids, predictions=(*of_gpu(ids[1], 100.0), *of_gpu(ids[2], 50.0)))
    assert criteria(given)["training"].winner == "rtx-a5000"
    page = article(given)
    assert "Gaudi 3" in page.sections[0].text[0]
    assert section(page, "forecasts").figures
    text = markdown_page(page)
    assert [
        f for f in audit.audit_text(text, "a.md", today=TODAY).findings if f.verdict == "contradicts"
    ] == []


def test_more_by_the_hour_is_said_only_of_what_rents_for_more() -> None:
    for ids in (("rtx-4090", "l4"), ("h100-sxm5-80gb", "a100-sxm4-80gb")):
        given = contest(*ids, predictions=(*of_gpu(ids[0], 100.0), *of_gpu(ids[1], 20.0)))
        rents = [given.rent(one) for one in ids]
        said = section(article(given), "answer").text[0]
        assert rents[0] is not None
        assert rents[1] is not None
        assert ("rents for more" in said, "rents for less" in said) == (
            rents[0] > rents[1], rents[0] <= rents[1]
        )  # fmt: skip
