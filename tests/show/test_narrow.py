"""Where a table is wider than the terminal, it is still all there and can be read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.show.table import TIGHT, Table, fits, laid_out, lines

PREDICTED = Table(
    columns=("GPU", "batch", "throughput", "bound", "evidence"),
    rows=(
        ("h100-sxm5-80gb", "512", "5,553 images/s", "memory 90 %", "spec-only"),
        ("rtx-4090", "256", "1,525 images/s", "memory 76 %", "spec-only"),
    ),
    numeric=frozenset({"batch", "throughput"}),
)


def test_what_has_no_room_follows_below_its_row_by_name() -> None:
    made = laid_out(PREDICTED, 48)
    assert made.head == (
        "   evidence spec-only",
        "",
        " GPU              batch       throughput",
        " " + "─" * 39,
    )
    assert made.rows == (
        (" h100-sxm5-80gb     512   5,553 images/s", "   bound memory 90 %"),
        (" rtx-4090           256   1,525 images/s", "   bound memory 76 %"),
    )


def test_a_view_that_is_drawn_again_keeps_its_columns() -> None:
    looks = (
        PREDICTED,
        replace(PREDICTED, rows=tuple((*row[:2], "same", *row[3:]) for row in PREDICTED.rows)),
    )
    assert {laid_out(one, 48, fold=False).head[0] for one in looks} == {""}
    assert all("evidence spec-only" in laid_out(one, 48, fold=False).rows[0][1] for one in looks)


def test_a_spare_column_makes_room_for_the_others() -> None:
    made = laid_out(replace(PREDICTED, spare=frozenset({"batch"})), 50)
    assert made.rows[1] == (" rtx-4090         1,525 images/s   memory 76 %", "   batch 256")


def test_a_table_fits_exactly() -> None:
    width = len(" h100-sxm5-80gb     512   5,553 images/s   memory 90 %   spec-only ")
    assert fits(PREDICTED, width)
    assert not fits(PREDICTED, width - 1)


@pytest.mark.parametrize("width", range(30, 80))
def test_a_value_stays_with_its_name_and_unit(width: int) -> None:
    made = laid_out(PREDICTED, width).rows[0]
    assert any("memory 90 %" in line for line in made)
    assert any("5,553 images/s" in line for line in made)


@pytest.mark.parametrize("width", [1, 9, 20])
def test_a_terminal_too_narrow_for_anything_is_no_failure(width: int) -> None:
    assert all(len(line) <= max(width, TIGHT) for line in laid_out(PREDICTED, width).rows[0])


def test_prose_wraps_within_its_column_where_all_columns_then_have_room() -> None:
    rows = (("graphics APIs", "DirectX 12 Ultimate, OpenGL 4.6", "-"), ("slots", "2", "3"))
    made = laid_out(Table(columns=("field", "rtx-a5000", "rtx-4090"), rows=rows), 46)
    assert made.rows == (
        (
            " graphics APIs   DirectX 12          -",
            "                 Ultimate, OpenGL",
            "                 4.6",
        ),
        (" slots           2                   3",),
    )


def test_the_only_row_says_nothing_above_itself() -> None:
    made = laid_out(Table(columns=("field", "value"), rows=(("power", "watts " * 20),)), 40)
    assert made.head[0] == ""
    assert all(len(line) <= 40 for line in made.rows[0])


_WORDS = st.lists(st.text("abc,/%-019", min_size=1, max_size=12), max_size=9).map(" ".join)


@given(st.data(), st.integers(30, 120))
def test_every_word_is_there_and_no_line_is_too_wide(data: st.DataObject, width: int) -> None:
    columns = ("", *(f"c{place}" for place in range(data.draw(st.integers(0, 7)))))
    row = st.tuples(*[_WORDS] * len(columns))
    rows = tuple(data.draw(st.lists(row, min_size=1, max_size=5)))
    made = laid_out(Table(columns=columns, rows=rows, numeric=frozenset(columns[1::2])), width)
    every = [*made.head, *(line for block in made.rows for line in block)]
    assert all(len(line) <= width for line in every)
    assert len(made.rows) == len(rows)
    for cells, block in zip(rows, made.rows, strict=True):
        said = {word for line in (*made.head, *block) for word in line.split()}
        assert {word for cell in cells for word in cell.split()} <= said


def test_a_field_has_its_figure_beside_it_and_not_below() -> None:
    long = ("memory", "bandwidth of its memory as the driver says", "4 x 3840x2160 or 2 x 7680x4320 at 60 Hz")
    table = Table(
        columns=("", "field", "value", "source"),
        rows=((*long, "a data sheet of its vendor, read twice"), ("", "power", "230 W", "a data sheet")),
        numeric=frozenset({"value"}),
    )
    made = laid_out(table, 60)
    assert made.head[-2].split() == ["field", "value"]
    assert any(line.split() == ["power", "230", "W"] for line in made.rows[1])


def test_an_address_in_a_note_stays_whole() -> None:
    address = "https://example.org/some-long-name/with-hyphens/tree/0123456789abcdef0123456789abcdef"
    table = Table(columns=("a",), rows=(("1",),), notes=(f"read of {address}; MIT",))
    made = lines(table, 40, 40)
    assert any(address in line for line in made)
    assert all(len(line) <= 40 for line in made if address not in line)
