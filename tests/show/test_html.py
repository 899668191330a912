"""Pages as HTML: parsed as a browser parses them, asked what a screen reader asks."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import sys
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import MachineError
from gpuwise.model.gpu import Source
from gpuwise.model.result import Interval
from gpuwise.show import charts, html
from gpuwise.show.charts import PALETTE, Mark
from gpuwise.show.page import Figure, Page, Section
from gpuwise.show.table import Table

SOURCE = Source(id="a", title="A source", kind="vendor", read_on="2026-01-02", url="https://example.org/a")
TABLE = Table(title="Numbers", columns=("x", "y"), rows=(("one", "1 [1]"),), numeric=frozenset({"y"}))
CHART = charts.Rows(marks=(Mark(label="x", value=3.0, low=3.0, high=3.0, shown="3"),))
PAGE = Page(
    title="A <page> & more",
    subtitle="one section",
    summary=("It says `code` and cites [1] but not [7].",),
    sections=(
        Section(
            id="s",
            title="Section",
            figures=(Figure(charts=(CHART,), table=TABLE, caption='What "to" see'),),
            tables=(TABLE,),
        ),
    ),
    sources=(SOURCE,),
    made_on="2026-11-21",
    data=(b'{"text": "</script><b>"}',),
)


def parsed(page: Page = PAGE):  # type: ignore[no-untyped-def]
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(html.html(page))


def test_the_page_parses_without_an_error_and_in_one_language() -> None:
    root = parsed()
    assert root.get("lang") == "en"
    assert root.find(".//title").text == "A <page> & more"


def test_no_control_character_of_a_name_reaches_a_page() -> None:
    foreign = "H100\x1b[2J\u202e"
    section = replace(PAGE.sections[0], title=foreign, text=(foreign,))
    text = html.html(replace(PAGE, title=foreign, subtitle=foreign, sections=(section,)))
    assert "\\x1b" in text
    assert not {"\x1b", "\u202e"} & set(text)


def test_headings_go_down_one_step_at_a_time() -> None:
    levels = [int(element.tag[1]) for element in parsed().iter() if re.fullmatch("h[1-6]", str(element.tag))]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_every_drawing_has_a_name_and_a_table_behind_it() -> None:
    root = parsed()
    for figure in root.iter("figure"):
        (drawing,) = [e for e in figure.iter() if e.get("role") == "img"]
        assert drawing.get("aria-label") == 'What "to" see'
        assert figure.find("details//table") is not None


def test_tables_tell_their_columns_and_rows_and_can_be_scrolled_by_keyboard() -> None:
    root = parsed()
    for table in root.iter("table"):
        assert [th.get("scope") for th in table.find("thead").iter("th")] == ["col", "col"]
        assert all(row[0].tag == "th" and row[0].get("scope") == "row" for row in table.find("tbody"))
    for region in (e for e in root.iter("div") if "scroll" in (e.get("class") or "")):
        assert region.get("tabindex") == "0"
        assert region.get("aria-label")


def test_links_within_the_page_lead_somewhere_and_ids_are_unique() -> None:
    root = parsed()
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    inner = [a.get("href")[1:] for a in root.iter("a") if (a.get("href") or "").startswith("#")]
    assert {"content", "s", "sources", "source-1"} <= set(inner)
    assert set(inner) <= set(ids)


def test_a_citation_without_a_source_stays_text() -> None:
    text = html.html(PAGE)
    assert 'href="#source-1"' in text
    assert "source-7" not in text
    assert "[7]" in text


def fetches(text: str) -> list[str]:
    """What a browser would fetch for the page: nothing, if it is one file."""
    root = html5lib.parse(text, namespaceHTMLElements=False)
    tags = {"link", "img", "iframe", "object", "embed", "audio", "video", "source", "image", "use"}
    found = [
        str(e.tag)
        for e in root.iter()
        if (str(e.tag).split("}")[-1] in tags and not (e.get("href") or "").startswith("#")) or e.get("src")
    ]
    return found + re.findall(r"url\([^)]*\)|@import", text[: text.index("<script>")])


def test_nothing_is_fetched_and_the_page_forbids_it() -> None:
    text = html.html(PAGE)
    assert fetches(text) == []
    root = parsed()
    (policy,) = [m.get("content") for m in root.iter("meta") if m.get("http-equiv")]
    data, *scripts = root.iter("script")
    assert data.get("type") == "application/vnd.gpuwise+json"
    hashes = [b64encode(sha256(script.text.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    assert len(hashes) == 2


def test_a_page_without_a_chart_has_no_script() -> None:
    text = html.html(replace(PAGE, sections=(Section(id="s", title="Section", text=("words",)),), data=()))
    assert "<script" not in text
    assert "script-src" not in text


def test_the_data_cannot_end_its_element() -> None:
    root = parsed()
    script, *_ = root.iter("script")
    assert "</script>" not in script.text
    assert root.find(".//b") is None


@given(st.text(max_size=60))
def test_whatever_a_text_holds_it_stays_text(text: str) -> None:
    shown = str(html.cited(text, 3))
    root = html5lib.parseFragment(shown, namespaceHTMLElements=False)
    assert {str(element.tag) for element in root.iter()} <= {"DOCUMENT_FRAGMENT", "a", "code"}


def test_drawings_use_the_colours_of_the_page() -> None:
    text = html.html(PAGE)
    assert '"range":["var(--blue)"]' in text
    assert PALETTE["blue"][0] not in text[text.index("<body>") :]


def test_a_drawing_alone_is_svg_or_png() -> None:
    assert html.svg(CHART).startswith("<svg xmlns=")
    assert html.png(CHART).startswith(b"\x89PNG")


def test_only_a_chart_of_its_own_needs_vl_convert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert "<figure>" in html.html(PAGE)
    with pytest.raises(MachineError) as failure:
        html.svg(CHART)
    assert failure.value.hint == 'pip install "gpuwise[report]"'


def test_the_names_of_rows_stand_in_the_drawing_as_they_are() -> None:
    names = ["bf16 <compiled> & more", "{0}", "fp32's"]
    marks = tuple(Mark(label=name, value=1.0, low=1.0, high=1.0, shown=f"{name}!") for name in names)
    shown = replace(PAGE, lead=Figure(charts=(charts.Rows(marks=marks),), table=TABLE, caption="c"))
    (given,) = [e for e in parsed(shown).find(".//header").iter() if e.get("data-chart")]
    rows = json.loads(given.get("data-chart"))["data"]["values"]
    assert [(row["label"], row["shown"]) for row in rows] == [(name, f"{name}!") for name in names]


def test_the_library_is_that_of_vega_with_its_licence() -> None:
    text = gzip.decompress(html.library()).decode()
    assert "University of Washington Interactive Data Lab" in text[:300]
    assert "window.vegaEmbed=" in text
    assert "</script" not in text


def test_a_whisker_longer_than_its_room_ends_in_an_arrow() -> None:
    short, long = (Interval(value=5.0, low=4.0, high=high, method="t") for high in (9.0, 30.0))
    assert "text" not in html.bar(short, 10.0)
    cut = html.bar(long, 10.0)
    assert 'x="40.0%" width="60.0%"' in cut
    assert "&rsaquo;" in cut
