"""The page of one GPU."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.facts import catalog, prices, published
from gpuwise.judge import audit
from gpuwise.judge.choose.fit import Use
from gpuwise.model.result import records_of
from gpuwise.show.card import Card, card
from gpuwise.show.gpus import ranking
from gpuwise.show.html import html
from gpuwise.show.page import Page, References, Section, markdown_page

from .forecasts import of_gpu

TODAY = date(2026, 11, 21)
H200 = Path(__file__).parents[2] / "results" / "h200"


def page(gpu_id: str, *predictions: object) -> Page:
    return card(
        Card(
            spec=catalog.get(gpu_id),
            speeds=published.plausible(published.select(gpu_ids=(gpu_id,))),
            forecasts=predictions,  # type: ignore[arg-type]
            offers=prices.offers(today=TODAY),
            today=TODAY,
            cited=References(),
        )
    )


def section(of: Page, name: str) -> Section:
    return next(one for one in of.sections if one.id == name)


def test_every_fact_and_peak_has_a_row_with_its_source() -> None:
    spec = catalog.get("rtx-a5000")
    (table,) = section(page("rtx-a5000"), "specification").tables
    assert len(table.rows) == len(spec.facts) + len(spec.peaks)
    assert all(row[table.columns.index("source")].startswith("[") for row in table.rows)


def test_the_page_has_speeds_at_one_to_eight_gpus() -> None:
    found = section(page("rtx-a5000", *of_gpu("rtx-a5000", 100.0)), "several")
    (figure,) = found.figures
    columns = figure.table.columns
    rows = [dict(zip(columns, row, strict=True)) for row in figure.table.rows]
    forecast = [row for row in rows if row["origin"] == "predicted"]
    assert [row["GPUs"] for row in forecast] == ["1", "2", "4", "8"] * 3
    assert forecast[-1]["of linear"] == "90 %"


def test_work_that_does_not_fit_is_in_the_verdict_and_in_the_table() -> None:
    made = page("rtx-a4000", *of_gpu("rtx-a4000", 9.0, ("llm-8b-lora",)))
    assert any("fine-tuning an 8B model with LoRA" in line for line in made.summary)
    (row,) = [r for r in section(made, "uses").tables[0].rows if "llm-8b-lora" in r[-1]]
    assert "does not fit" in row


def test_every_source_of_the_page_is_cited_on_it() -> None:
    for made in (page("rx-7900-xtx"), page("rtx-a5000", *of_gpu("rtx-a5000", 100.0))):
        text = markdown_page(replace(made, sources=()))
        assert {int(number) for number in re.findall(r"\[(\d+)\]", text)} == {
            *range(1, len(made.sources) + 1)
        }


# One of each architecture and form, the last of the catalog's order.
SAMPLE = {(spec.architecture, spec.text("form")): spec.id for spec in catalog.all_gpus()}


@pytest.mark.parametrize("gpu_id", sorted(SAMPLE.values()))
def test_a_gpu_of_each_architecture_has_a_page_without_a_wrong_figure(gpu_id: str) -> None:
    found = audit.audit_text(markdown_page(page(gpu_id)), "page.md", today=TODAY)
    assert [f for f in found.findings if f.verdict == "contradicts"] == []


def test_the_places_are_counted_among_those_that_state_the_quantity() -> None:
    most = max(catalog.all_gpus(), key=lambda spec: spec.memory_bytes or 0)
    title, rank, of, _ = ranking(most)[0]
    assert (title, rank) == ("memory", 1)
    assert of == sum(spec.memory_bytes is not None for spec in catalog.all_gpus())


def test_the_page_is_one_file() -> None:
    text = html(page("rtx-a5000", *of_gpu("rtx-a5000", 100.0)))
    assert text.count('"kind":"plot"') == 2  # the roofline and the scaling curve
    assert re.findall(r'<link[^>]*href="[^#]', text) == []


def test_the_presets_of_choose_say_for_whom_it_is() -> None:
    use = Use(
        preset="llm",
        title="answering",
        verdict="no",
        reason="it does not fit",
        item="token",
    )
    given = Card(
        spec=catalog.get("l4"),
        speeds=(),
        forecasts=(),
        offers=(),
        uses=(use,),
        today=TODAY,
        cited=References(),
    )
    (table,) = section(card(given), "for-whom").tables
    assert table.rows[0][:2] == ("answering (llm)", "no")
    assert "it does not fit" in table.rows[0]


def test_measured_scaling_on_the_page_is_that_of_each_session() -> None:
    results = [store.load(path) for path in sorted(H200.glob("suite-tf-cnn*.json"))]
    spec = catalog.get("h200-sxm")
    made = card(
        Card(spec=spec, speeds=records_of(results), forecasts=(), offers=(), today=TODAY, cited=References())
    )
    found = section(made, "several")
    (figure,) = found.figures
    table = figure.table
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    four = [row for row in rows if row["work"].startswith("googlenet train fp16") and row["GPUs"] == "4"]
    assert {row["of linear"] for row in four} == {"97 %", "95 %"}
    assert all(row["of linear"] != "85 %" for row in rows)
