"""HTML to the blocks of an article: headings, paragraphs, tables; scripts and styles left out."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser

from gpuwise.judge.audit.blocks import LONGEST, MOST_CELLS, Block, Cell, Grid, Heading, Paragraph, marked

_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "head"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "title", "caption"})
_BREAKS = frozenset(
    {"p", "div", "li", "br", "section", "article", "ul", "ol", "dt", "dd", "tr", "table", "pre"}
)
_WIDEST = 64
"""Columns or rows that one cell may span: more is no table for readers."""
_TITLE = 1
"""The level of a page's title, whose heading names no level."""


def of_html(text: str) -> tuple[Block, ...]:
    """Blocks of an HTML page, each with the line of its source; broken mark-up is read as it comes."""
    parser = _Parser()
    parser.feed(text)
    parser.close()
    parser.end_table()
    parser.flush()
    return tuple(parser.blocks)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._unseen = 0
        self._heading = 0
        self._words: list[str] = []
        self._line = 1
        self._rows: list[list[_Spanning]] | None = None
        self._cell: tuple[int, int] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # A page's title stands in its head, which is not seen otherwise.
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag in _HEADINGS and self._rows is None:
            self.flush()
            self._heading = int(tag[1]) if tag[1].isdigit() else _TITLE
        elif tag == "table":
            self.end_table()
            self.flush()
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._end_cell()
            self._rows.append([])
        elif tag in ("td", "th") and self._rows is not None:
            self._end_cell()
            self._words, self._line = [], self.getpos()[0]
            self._cell = _span(attrs, "colspan"), _span(attrs, "rowspan")
        elif tag in _BREAKS and self._rows is None:
            self.flush()
        elif tag == "sup":
            self._words.append("")
        elif tag in _BREAKS:
            self._words.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in ("td", "th") and self._rows is not None:
            self._end_cell()
        elif tag == "table":
            self.end_table()
        elif (tag in _HEADINGS or tag in _BREAKS) and self._rows is None:
            self.flush()

    def handle_data(self, data: str) -> None:
        if self._unseen and not self._heading:
            return
        if not self._words and data.strip():
            self._line = self.getpos()[0] + data[: len(data) - len(data.lstrip())].count("\n")
        self._words.append(data)

    def flush(self) -> None:
        """End the block that is being read."""
        text = self._taken()
        if 0 < len(text) <= LONGEST and self._rows is None:
            block = Heading(self._line, text, self._heading) if self._heading else Paragraph(self._line, text)
            self.blocks.append(block)
        self._heading = 0

    def end_table(self) -> None:
        """End the table that is being read, if any; its rows then have all their columns."""
        self._end_cell()
        rows = _expanded(self._rows or ())
        self._rows = None
        if len(rows) > 1:
            self.blocks.append(Grid(rows))

    def _end_cell(self) -> None:
        if self._cell is None or self._rows is None:
            return
        if not self._rows:
            self._rows.append([])
        self._rows[-1].append((Cell(self._line, marked(self._taken())), *self._cell))
        self._cell = None

    def _taken(self) -> str:
        text = " ".join("".join(self._words).split())
        self._words = []
        return text


_Spanning = tuple[Cell, int, int]
"""A cell, the columns and the rows that it spans."""


def _span(attrs: Sequence[tuple[str, str | None]], name: str) -> int:
    value = dict(attrs).get(name) or "1"
    return min(int(value), _WIDEST) if value.isascii() and value.isdigit() and len(value) < 9 else 1


def _expanded(rows: Sequence[Sequence[_Spanning]]) -> tuple[tuple[Cell, ...], ...]:
    """Rows with every cell in each of the columns and rows that it spans."""
    found: list[tuple[Cell, ...]] = []
    below: dict[int, tuple[Cell, int]] = {}  # column -> cell that reaches down, rows left
    cells = 0
    for row in rows:
        line: list[Cell] = []
        todo = list(row)
        while todo or len(line) in below:
            if len(line) in below:
                cell, left = below.pop(len(line))
                wide, tall = 1, left
            else:
                cell, wide, tall = todo.pop(0)
            for _ in range(max(wide, 1)):
                if tall > 1:
                    below[len(line)] = (cell, tall - 1)
                line.append(cell)
        cells += len(line)
        if line and cells <= MOST_CELLS:
            found.append(tuple(line))
    return tuple(found)
