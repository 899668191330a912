"""HTML as it comes: spans, scripts, tags that nobody closed."""

from __future__ import annotations

from gpuwise.judge import audit
from gpuwise.judge.audit.blocks import Grid, Heading, Paragraph
from gpuwise.judge.audit.html import of_html


def test_scripts_are_not_read() -> None:
    assert of_html("<script>T4 has 12 GB of memory</script><p>text</p>") == (Paragraph(1, "text"),)


def test_titles_and_levels() -> None:
    assert of_html("<h3>T4</h3>") == (Heading(1, "T4", 3),)


def test_cells_that_span_columns_and_rows_stand_in_each() -> None:
    html = "<table><tr><td rowspan=2>a<td colspan=2>b</tr><tr><td>c<td>d</tr></table>"
    (grid,) = of_html(html)
    assert isinstance(grid, Grid)
    assert [[cell.text for cell in row] for row in grid.rows] == [["a", "b", "b"], ["a", "c", "d"]]


def test_absurd_spans_are_bounded() -> None:
    (grid,) = of_html("<table><tr><td colspan=999999>a</tr><tr><td colspan=x>b</tr></table>")
    assert isinstance(grid, Grid)
    assert len(grid.rows[0]) < 100


def test_an_unclosed_table_is_read() -> None:
    found = audit.audit_text(
        "<html><table><tr><th>GPU<th>Memory<tr><td>NVIDIA T4<td>24 GB", "x.html"
    ).findings
    assert [f.verdict for f in found] == ["contradicts"]
