"""One table in three forms."""

from __future__ import annotations

import copy
import csv
import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.model.units import Amount, gibibytes, percent, si, significant, usd, watts
from gpuwise.show.table import Table, comma_separated, markdown
from gpuwise.show.table import parquet as parquet_bytes

TABLE = Table(
    title="speeds",
    columns=("name", "empty", "speed"),
    rows=(("a|b", "", "1,234"), ('say "c"', "", "")),
    numeric=frozenset({"speed"}),
    before=("read | this",),
    notes=("one", "two"),
)


def test_empty_columns_are_dropped_and_the_rest_is_kept() -> None:
    rows = [dict(zip(TABLE.columns, row, strict=True)) for row in TABLE.rows]
    made = Table.of(rows, title="speeds", numeric=TABLE.numeric, before=TABLE.before, notes=TABLE.notes)
    assert made == replace(TABLE, columns=("name", "speed"), rows=(("a|b", "1,234"), ('say "c"', "")))
    assert Table.of(rows, every=True).columns == TABLE.columns


def test_a_column_with_one_word_stays() -> None:
    assert Table.of([{"a": "", "b": ""}, {"a": "", "b": "x"}]).columns == ("b",)


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


def read(table: Table) -> list[list[str]]:
    text = comma_separated(table)
    assert "\r" not in text
    return list(csv.reader(io.StringIO(text)))


def test_csv_of_text_comes_back_as_the_cells() -> None:
    assert read(TABLE) == [list(row) for row in (TABLE.columns, *TABLE.rows)]


def test_csv_holds_values_intervals_and_units_never_what_a_screen_shows() -> None:
    speed = Amount("7,210 images/s ±0.3 %", 7210.0, "images/s", 7190.0, 7231.5)
    table = Table(
        columns=("what", "throughput (95 %)", "power", "share", "memory"),
        rows=(("a", speed, watts(1612.4), percent(0.178), gibibytes(2**31)), ("b", "oom", "", "", "-")),
    )
    assert read(table) == [
        [
            "what", "throughput", "throughput low", "throughput high", "throughput unit", "throughput note",
            "power", "power unit", "share", "memory", "memory unit",
        ],
        ["a", "7210", "7190", "7231.5", "images/s", "", "1612.4", "W", "0.178", "2147483648", "B"],
        ["b", "", "", "", "", "oom", "", "", "", "", ""],
    ]  # fmt: skip


def test_no_cell_of_foreign_text_is_a_formula() -> None:
    rows = (("=1+1",), ("+cmd",), ("@SUM(A1)",), ("-x",), ("-5",), ("-",), ("plain",))
    cells = [row[0] for row in read(Table(columns=("name",), rows=rows))[1:]]
    assert cells == ["'=1+1", "'+cmd", "'@SUM(A1)", "'-x", "-5", "", "plain"]


def test_markdown_shows_foreign_text_as_it_is() -> None:
    table = Table(columns=("name",), rows=(("<b>*a*</b> [x](y) [3]\nnext",),))
    line = markdown(table).splitlines()[2]
    assert line == "| \\<b\\>\\*a\\*\\</b\\> \\[x](y) [3] next |"


@given(st.text())
def test_no_control_character_leaves_a_table(text: str) -> None:
    table = Table(columns=(text,), rows=((text,),), title=text, notes=(text,), before=(text,))
    every = "".join((*table.columns, *table.rows[0], table.title, *table.notes, *table.before))
    assert not [c for c in every if (ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160]
    assert "\x1b" not in every


@given(st.floats(1e-9, 1e18))
def test_a_printed_number_keeps_its_value(value: float) -> None:
    for printed in (si(value, "B/s"), percent(value), watts(value), significant(value), usd(value)):
        assert printed.value == value
        assert copy.deepcopy(printed).value == value


def test_parquet_holds_the_columns_of_csv_as_numbers() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    made = Table.of([
        {"GPU": "l4", "speed": Amount("1,200 images/s", 1200.0, "images/s", 1100.0, 1300.0)},
        {"GPU": "t4", "speed": "does not fit"},
    ])  # fmt: skip
    found = parquet.read_table(io.BytesIO(parquet_bytes(made))).to_pydict()
    assert found == {
        "GPU": ["l4", "t4"], "speed": [1200.0, None],
        "speed low": [1100.0, None], "speed high": [1300.0, None],
        "speed unit": ["images/s", None], "speed note": [None, "does not fit"],
    }  # fmt: skip
    assert next(iter(csv.reader(io.StringIO(comma_separated(made))))) == list(found)
