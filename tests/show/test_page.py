"""Pages before they are rendered: references, Markdown, plain data."""

from __future__ import annotations

import json

from gpuwise.model.gpu import Source
from gpuwise.show.charts import Mark, Rows, vega
from gpuwise.show.page import Figure, Page, References, Section, document, markdown_page
from gpuwise.show.table import Table

A, B = (Source(id=i, title=f"Title {i}", kind="vendor", read_on="2026-01-02") for i in "ab")
TABLE = Table(columns=("x", "y"), rows=(("one", "1"),), numeric=frozenset({"y"}))
CHART = Rows(marks=(Mark(label="one", value=1.0, low=1.0, high=1.0),))
PAGE = Page(
    title="A page",
    subtitle="of two sections",
    summary=("first", "second"),
    sections=(
        Section(
            id="one", title="One", text=("Some text [1].",), points=("a point",), code="gpuwise show last"
        ),
        Section(
            id="two", title="Two", figures=(Figure(charts=(CHART,), table=TABLE, caption="What to see"),)
        ),
    ),
    sources=(A, B),
    made_on="2026-11-21",
)


def test_sources_are_numbered_in_the_order_in_which_they_are_cited() -> None:
    cited = References()
    assert cited.mark(B) == "[1]"
    assert cited.mark(A, B, A) == "[1] [2]"
    assert cited.sources == (B, A)


def test_markdown_has_every_part_and_the_table_in_the_place_of_the_chart() -> None:
    text = markdown_page(PAGE)
    parts = [
        "# A page",
        "of two sections",
        "- first",
        "## One",
        "Some text [1].",
        "- a point",
        "```sh",
        "## Two",
        "What to see",
        "| x | y |",
        "## Sources",
        "1. Title a (vendor), read on 2026-01-02",
        "2. Title b",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_the_document_of_a_page_is_json_with_its_charts() -> None:
    plain = json.loads(json.dumps(document(PAGE)))
    assert plain["sections"][1]["figures"][0]["chart"] == vega(CHART, "What to see")
    assert plain["sections"][1]["figures"][0]["table"]["rows"] == [["one", "1"]]
    assert [source["id"] for source in plain["sources"]] == ["a", "b"]


def test_an_empty_section_says_nothing() -> None:
    assert not Section(id="x", title="X").says_something
    assert Section(id="x", title="X", points=("p",)).says_something
