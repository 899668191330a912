"""One table in three forms."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from gpuwise.show.table import Table, comma_separated, markdown

TABLE = Table(
    title="speeds",
    columns=("name", "empty", "speed"),
    rows=(("a|b", "", "1,234"), ('say "c"', "", "")),
    numeric=frozenset({"speed"}),
    before=("read | this",),
    notes=("one", "two"),
)


def test_empty_columns_are_dropped_and_the_rest_is_kept() -> None:
    less = TABLE.without_empty_columns()
    assert less == replace(
        TABLE,
        columns=("name", "speed"),
        rows=(("a|b", "1,234"), ('say "c"', "")),
    )


def test_a_column_with_one_word_stays() -> None:
    assert Table(columns=("a", "b"), rows=(("", ""), ("", "x"))).without_empty_columns().columns == ("b",)


def test_a_table_without_rows_keeps_its_columns() -> None:
    nothing = replace(TABLE, rows=())
    assert nothing.without_empty_columns() == nothing


def test_markdown() -> None:
    assert markdown(TABLE) == (
        "**speeds**\n\n"
        "- read | this\n\n"
        "| name | empty | speed |\n"
        "| --- | --- | ---: |\n"
        "| a\\|b |  | 1,234 |\n"
        '| say "c" |  |  |\n\n'
        "- one\n- two\n"
    )


def test_markdown_without_title_and_notes_is_the_table_alone() -> None:
    assert markdown(Table(columns=("a",), rows=(("1",),))) == "| a |\n| --- |\n| 1 |\n"


def test_csv_comes_back_as_the_cells() -> None:
    assert list(csv.reader(io.StringIO(comma_separated(TABLE)))) == [
        list(row) for row in (TABLE.columns, *TABLE.rows)
    ]
    assert "\r" not in comma_separated(TABLE)
