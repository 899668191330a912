"""Bars of the terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuwise.show.bars import bar, lines
from gpuwise.show.charts import Mark


@given(st.floats(0, 1), st.integers(1, 80))
def test_a_bar_is_as_long_as_its_share_to_an_eighth(share: float, width: int) -> None:
    drawn = bar(share, width)
    assert len(drawn) <= width
    eighths = sum(8 if cell == "█" else " ▏▎▍▌▋▊▉".index(cell) for cell in drawn)
    assert abs(eighths / 8 - share * width) <= (0.5 / 8 + 1e-9 if share * width * 8 >= 1 else 1 / 8)


def test_something_is_never_drawn_as_nothing() -> None:
    assert bar(0.0001, 10) == "▏"
    assert bar(0.0, 10) == ""


def test_groups_have_their_own_scale_and_columns_line_up() -> None:
    marks = [
        Mark(label=label, value=v, low=v, high=v, group=group, shown=str(v))
        for label, v, group in (
            ("bf16", 100.0, "train"),
            ("fp32 eager", 50.0, "train"),
            ("bf16", 7.0, "infer"),
        )
    ]
    assert lines(marks, 4) == (
        "train",
        "  bf16        100.0  ████",
        "  fp32 eager   50.0  ██",
        "infer",
        "  bf16  7.0  ████",
    )
