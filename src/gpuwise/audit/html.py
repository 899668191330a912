"""HTML to the blocks of an article: headings, paragraphs, tables; scripts and styles left out."""

from __future__ import annotations

from html.parser import HTMLParser

from gpuwise.audit.blocks import Block, Cell, Grid, Heading, Paragraph

_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "head"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "title", "caption"})
_BREAKS = frozenset(
    {"p", "div", "li", "br", "section", "article", "ul", "ol", "dt", "dd", "tr", "table", "pre"}
)


def of_html(text: str) -> tuple[Block, ...]:
    """Blocks of an HTML page, each with the line of its source; broken mark-up is read as it comes."""
    parser = _Parser()
    parser.feed(text)
    parser.close()
    parser.flush()
    return tuple(parser.blocks)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._unseen = 0
        self._heading = False
        self._words: list[str] = []
        self._line = 1
        self._rows: list[list[Cell]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # A page's title stands in its head, which is not seen otherwise.
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag in _HEADINGS:
            self.flush()
            self._heading = True
        elif tag == "table":
            self.flush()
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in ("td", "th") and self._rows is not None:
            self._words, self._line = [], self.getpos()[0]
        elif tag in _BREAKS and self._rows is None:
            self.flush()

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in ("td", "th") and self._rows is not None:
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append(Cell(self._line, self._taken()))
        elif tag == "table":
            self._end_table()
        elif tag in _HEADINGS or (tag in _BREAKS and self._rows is None):
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
        if text and self._rows is None:
            self.blocks.append((Heading if self._heading else Paragraph)(self._line, text))
        self._heading = False

    def _taken(self) -> str:
        text = " ".join("".join(self._words).split())
        self._words = []
        return text

    def _end_table(self) -> None:
        rows = tuple(tuple(row) for row in self._rows or () if row)
        self._rows = None
        if len(rows) > 1:
            self.blocks.append(Grid(rows))
