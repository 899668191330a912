"""Bars of the terminal."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gpuwise.show.results import bar, bars

from .conftest import OK, result


@given(st.floats(0, 1), st.integers(1, 80))
def test_a_bar_is_as_long_as_its_share_to_an_eighth(share: float, width: int) -> None:
    drawn = bar(share, width)
    assert len(drawn) <= width
    eighths = sum(8 if cell == "█" else " ▏▎▍▌▋▊▉".index(cell) for cell in drawn)
    assert abs(eighths / 8 - share * width) <= (0.5 / 8 + 1e-9 if share * width * 8 >= 1 else 1 / 8)


def test_something_is_never_drawn_as_nothing() -> None:
    assert bar(0.0001, 10) == "▏"
    assert bar(0.0, 10) == ""


def test_each_workload_has_its_own_scale_and_columns_line_up() -> None:
    half = replace(OK, config=replace(OK.config, precision="fp32"), throughput=OK.throughput.times(0.5))  # type: ignore[union-attr]
    infer = replace(OK, config=replace(OK.config, mode="infer"))
    first, longest, shorter, second, alone = bars([result(OK, half, infer)], 4)
    assert (first, second) == ("resnet50 train, images per second", "resnet50 infer, images per second")
    assert [line.rpartition("  ")[2] for line in (longest, shorter, alone)] == ["████", "██", "████"]
    assert longest.index("7,210") == shorter.index("3,605")
