"""Read a document into blocks: headings, tables and lines of text, each with its line number.

Markdown (and plain text, which is read as Markdown) goes through markdown-it-py, HTML through lxml, CSV
through the csv module. Nothing here knows about GPUs.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token

from gpuwise.errors import InputError

LARGEST = 20 * 2**20
"""Bytes; the longest articles have some 100 kB."""
LONGEST = 20_000
"""Characters; a longer line is data for a program."""
MOST_CELLS = 2_000
"""Columns of a table that are read."""
WIDEST = 64
"""Columns or rows that one HTML cell may span: more is not a table for readers."""
KINDS = "Markdown, HTML, text, CSV or a gpuwise result"

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "title", "caption", "figcaption")
_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg"})
_BREAKS = frozenset(
    {"p", "div", "li", "br", "section", "article", "ul", "ol", "dt", "dd", "pre", "td", "th", "tr", "table"}
)
_ITEM = re.compile(r"\s*(?:[\u2022\u00b7\u25aa\u25cf\u2023*+-]|\d{1,2}[.)])\s+(?=\S)")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]{1,300})\*")
_MARKS = re.compile(r"\*{2,3}|`+|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|\\(?=[!-/:-@\[-`{-~])")
_LINK = re.compile(
    r"!?\[([^\[\]\n]{0,400})\]\([^()\s]{0,600}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?[^()\n]{0,99}\)"
)
_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,400}>")
_ADDRESS = re.compile(r"\b(?:https?://|www\.)[^\s<>()|]{1,600}")


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell; `line` counts from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; level 1 is the document's title."""

    line: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of prose, of a list or of plain text; lines of one paragraph share a number."""

    line: int
    text: str
    item: bool
    paragraph: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first row may or may not be its header; rows may be ragged."""

    rows: tuple[tuple[Cell, ...], ...]


Block = Heading | Line | Table


def text_of(path: Path) -> tuple[str, tuple[str, ...]]:
    """(text, notes) of a file. Raises InputError where it is missing, too large or not text."""
    try:
        if path.stat().st_size > LARGEST:
            size = f"{path.stat().st_size / 2**20:.0f} MiB"
            raise InputError(f"{path} has {size}; an article has less than 20", hint="audit a part of it")
        data = path.read_bytes()
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}"
        raise InputError(message, hint=f"give a file: {KINDS}") from error
    return decoded(data, str(path))


def decoded(data: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """(text, notes) of bytes in UTF-8, UTF-16 with its mark, or Windows-1252."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), ("read as UTF-16",)
    if b"\0" in data:
        raise InputError(f"{name} is not text", hint=f"give a file: {KINDS}; save a PDF as text first")
    try:
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), ("not UTF-8: read as Windows-1252",)


def blocks_of(text: str, name: str) -> tuple[Block, ...]:
    """The blocks of a text, by the suffix of its name and by its first words."""
    suffix = Path(name).suffix.lower()
    start = text[:1000].lstrip().casefold()
    # The line numbers of a finding are those that an editor shows.
    text = re.sub(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "\n", text)
    if suffix in (".csv", ".tsv"):
        return tuple(_of_csv(text, name))
    if suffix in (".html", ".htm", ".xhtml") or start.startswith(("<!doctype html", "<html")):
        return tuple(_of_html(text, 0))
    return tuple(_of_markdown(text))


def left_out(text: str) -> tuple[str, ...]:
    """A note on what of a text is not read."""
    long = [number for number, line in enumerate(text.splitlines(), 1) if len(line) > LONGEST]
    named = ", ".join(map(str, long[:3])) + (" ..." if len(long) > 3 else "")
    return (f"not read: {len(long)} lines of more than {LONGEST:,} characters ({named})",) if long else ()


def _of_csv(text: str, name: str) -> Iterator[Block]:
    lines = ["" if len(line) > LONGEST else line for line in text.split("\n")]
    first = next((line for line in lines if line.strip()), "")
    comma = "\t" if name.lower().endswith(".tsv") else max(",;\t|", key=first.count)
    reader = csv.reader(lines, delimiter=comma)
    rows: list[tuple[Cell, ...]] = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(
                    tuple(Cell(reader.line_num, cell.replace("_", " ").strip()) for cell in row[:MOST_CELLS])
                )
    except csv.Error as error:
        raise InputError(f"{name} is not CSV: {error}", hint="give a file: " + KINDS) from error
    yield Table(tuple(rows))


# Blocks only: what is inside a line is read by the scanner, and inline rules cost most of the time.
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_MARKDOWN.core.ruler.disable(["inline"])


def _of_markdown(text: str) -> Iterator[Block]:
    lines = ["" if len(line) > LONGEST else line for line in text.split("\n")]
    # A dash alone is an empty cell of a table without mark-up, not the rule below a heading.
    lines = ["\u2014" if line.strip() == "-" else line for line in lines]
    if lines[0].strip() == "---" and "---" in (line.strip() for line in lines[1:60]):
        # Of front matter the title says what the text is about; its addresses and dates say nothing.
        end = next(number for number, line in enumerate(lines[1:60], 1) if line.strip() == "---")
        for number, line in enumerate(lines[:end], 1):
            if line.startswith("title:"):
                yield Heading(number, 1, plain(line[6:]))
        lines[: end + 1] = [""] * (end + 1)
    tokens = _MARKDOWN.parse("\n".join(lines))
    depth, paragraph, rows, start = 0, 0, list[tuple[Cell, ...]](), 0
    heading = 0
    for token in tokens:
        depth += token.nesting if token.type.startswith("list_item") else 0
        start = token.map[0] + 1 if token.map else start
        if token.type == "table_open":
            rows = []
        elif token.type == "tr_open":
            rows.append(())
        elif token.type == "tr_close":
            # Cells beyond the header are dropped by the parser, though they move the others.
            raw = lines[start - 1].strip().strip("|").replace("\\|", "")
            rows[-1] += (Cell(start, ""),) * (min(raw.count("|") + 1, MOST_CELLS) - len(rows[-1]))
        elif token.type == "table_close":
            yield Table(tuple(rows))
            rows = []
        elif token.type == "heading_open":
            heading = int(token.tag[1])
        elif token.type == "heading_close":
            heading = 0
        elif token.type == "html_block":
            yield from _of_html(token.content, start - 1)
        elif token.type == "inline" and rows:
            if len(rows[-1]) < MOST_CELLS:
                rows[-1] += (Cell(start, plain(token.content)),)
        elif token.type == "inline" and heading:
            yield from _setext(token, heading, start)
        elif token.content:
            # Paragraphs, and code too: tables of plain text are often set as code.
            paragraph += 1
            offset = 1 if token.type == "fence" else 0
            yield from _lines(token.content, start + offset, depth > 0, paragraph)


def _setext(token: Token, level: int, start: int) -> Iterator[Block]:
    """A heading; of several lines over one rule the last one, the others being text."""
    lines = token.content.split("\n")
    for number, line in enumerate(lines, start):
        if number < start + len(lines) - 1:
            yield Line(number, plain(line), False, 0)
        else:
            yield Heading(number, level, plain(line))


def _lines(text: str, start: int, item: bool, paragraph: int) -> Iterator[Line]:
    for number, line in enumerate(text.split("\n"), start):
        if len(line) > LONGEST:
            continue
        mark = _ITEM.match(line)
        words = plain(line[mark.end() :] if mark else line)
        if words:
            yield Line(number, words, item or mark is not None, paragraph)


def plain(text: str) -> str:
    """Text without inline marks, tags and addresses; links keep their words; tabs stay."""
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "&" in text:
        text = text.replace("&nbsp;", " ").replace("&amp;", "&").replace("&times;", "\u00d7")
    if "/" in text:
        text = _ADDRESS.sub(" ", text)
    if "*" in text:
        # One star alone is a footnote's: "624 TFLOPS*".
        text = _EMPHASIS.sub(r"\1", text)
    return _MARKS.sub("", text).replace("\u00a0", " ").replace("\u202f", " ").strip(" \n")


def _of_html(text: str, before: int) -> Iterator[Block]:
    """Blocks of HTML; `before` lines stand above it. Broken mark-up is read as it comes."""
    parser = etree.HTMLParser(recover=True, huge_tree=True, remove_comments=True, encoding="utf-8")
    clean = re.sub(r"[\x00-\x08\x0e-\x1f\ud800-\udfff]", " ", text)
    try:
        root = etree.fromstring(clean.encode(), parser)
    except etree.XMLSyntaxError:
        root = None
    if root is None:
        return
    reader = _Html(before)
    for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
        if event in ("start", "end") and isinstance(element.tag, str):
            yield from reader.start(element) if event == "start" else reader.end(element)
    yield from reader.flush()


class _Html:
    """The state between two elements: words not yet given out, the open table and cell."""

    def __init__(self, before: int) -> None:
        self.before, self.line, self.paragraph = before, 1, 0
        self.words: list[str] = []
        self.unseen, self.item = 0, 0
        self.tables: list[list[list[_Spanning]]] = []

    def start(self, element: etree._Element) -> Iterator[Block]:
        tag = str(element.tag)
        if tag in _UNSEEN:
            self.unseen += 1
        if tag in _BREAKS or tag in _HEADINGS:
            yield from self.flush(element)
        if tag == "li":
            self.item += 1
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        self.add(element.text, element.sourceline)

    def end(self, element: etree._Element) -> Iterator[Block]:
        tag = str(element.tag)
        if tag in ("td", "th") and self.tables and self.tables[-1]:
            row = self.tables[-1][-1]
            if len(row) < MOST_CELLS:
                spans = [element.get(name, "1").strip() for name in ("colspan", "rowspan")]
                across, down = (min(int(s), WIDEST) if s.isascii() and s.isdecimal() else 1 for s in spans)
                text = plain(" ".join("".join(self.words).split()))
                row.append(
                    _Spanning(self.before + (element.sourceline or 1), text, max(across, 1), max(down, 1))
                )
            self.words = []
        elif tag in _HEADINGS:
            text = plain(" ".join("".join(self.words).split()))
            self.words = []
            if text:
                level = int(tag[1]) if tag[1].isdigit() else 1 if tag == "title" else 7
                yield Heading(self.before + (element.sourceline or 1), level, text)
        elif tag == "table" and self.tables:
            rows = tuple(_spread(self.tables.pop()))
            if rows:
                yield Table(rows)
        elif tag in _BREAKS:
            yield from self.flush(element)
            self.item -= tag == "li"
        if tag in _UNSEEN:
            self.unseen -= 1
        # A tail's line is not known to the parser; it follows what was read last.
        self.add(element.tail, None)

    def add(self, text: str | None, line: int | None) -> None:
        if text and not self.unseen:
            if not any(self.words):
                self.words = []
                lead = len(text) - len(text.lstrip())
                self.line = (line or self.line) + text.count("\n", 0, lead)
                text = text[lead:]
            self.words.append(text)

    def flush(self, element: etree._Element | None = None) -> Iterator[Block]:
        if self.tables and self.tables[-1] and element is not None and element.tag not in ("td", "th", "tr"):
            self.words.append(" ")
            return
        text, self.words = "".join(self.words), []
        self.paragraph += 1
        number = self.before + self.line
        yield from _lines(text, number, self.item > 0, self.paragraph)
        self.line += text.count("\n")


@dataclass(frozen=True, slots=True)
class _Spanning:
    line: int
    text: str
    across: int
    down: int


def _spread(rows: Sequence[Sequence[_Spanning]]) -> Iterator[tuple[Cell, ...]]:
    """Rows in which a cell stands in every column and row that it spans."""
    waiting: dict[int, tuple[int, Cell]] = {}
    for row in rows:
        cells: list[Cell] = []
        for spanning in (*row, None):
            while (at := len(cells)) in waiting:
                left, cell = waiting.pop(at)
                cells.append(cell)
                if left > 1:
                    waiting[at] = (left - 1, cell)
            if spanning is None:
                break
            cell = Cell(spanning.line, spanning.text)
            for _ in range(spanning.across):
                if spanning.down > 1:
                    waiting[len(cells)] = (spanning.down - 1, cell)
                cells.append(cell)
        if cells:
            yield tuple(cells[:MOST_CELLS])
