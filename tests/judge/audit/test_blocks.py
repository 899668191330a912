"""Markdown, text and CSV to headings, paragraphs and grids, with the lines they came from."""

from __future__ import annotations

import pytest

from gpuwise.errors import InputError
from gpuwise.judge.audit.blocks import LONGEST, Grid, Heading, Paragraph, of_csv, of_markdown


def texts(grid: object) -> list[list[str]]:
    assert isinstance(grid, Grid)
    return [[cell.text for cell in row] for row in grid.rows]


def test_a_heading_knows_its_level_and_its_line() -> None:
    assert of_markdown("\n### T4\n") == (Heading(2, "T4", 3),)


def test_a_table_without_bars_at_its_sides() -> None:
    assert texts(of_markdown("GPU | Memory\n---|---\nT4 | 16 GB\n")[0]) == [
        ["GPU", "Memory"],
        ["T4", "16 GB"],
    ]


def test_a_table_flattened_to_one_cell_a_line() -> None:
    assert texts(of_markdown("| GPU |\nMemory |\n| T4 |\n16 GB |")[0]) == [["GPU", "Memory"], ["T4", "16 GB"]]


def test_marks_of_footnotes_survive_and_bold_does_not() -> None:
    assert texts(of_markdown("| **GPU** | TFLOPS** |\n|---|---|\n| T4 | 65\u00b9 |")[0])[1] == ["T4", "65*"]


def test_a_line_with_a_figure_is_no_heading() -> None:
    assert isinstance(of_markdown("Tensor Peak 312 TFLOPS")[0], Paragraph)


def test_code_and_endless_lines_are_left_out() -> None:
    assert of_markdown("```\nT4: 12 GB\n```\n" + "x" * (LONGEST + 1)) == ()


def test_csv_finds_its_delimiter() -> None:
    assert texts(of_csv("gpu;tdp\nT4;70\n", "a.csv")[0]) == [["gpu", "tdp"], ["T4", "70"]]


def test_a_flood_of_cells_is_refused() -> None:
    with pytest.raises(InputError, match="cells"):
        of_csv("a,b\n" + "1," * 200_001, "a.csv")
