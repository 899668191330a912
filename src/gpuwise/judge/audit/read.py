"""Read a document into blocks: headings, tables and lines of text, each with its line number.

Markdown (and plain text, which is read as Markdown) goes through markdown-it-py, HTML through lxml, CSV
through the csv module. Nothing here knows about GPUs.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from statistics import median

from lxml import etree
from markdown_it import MarkdownIt

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.judge.audit.english import in_english, language_of
from gpuwise.judge.audit.words import CUES, data

# Bytes; the longest articles have some 100 kB.
LARGEST = 20 * 2**20
# Characters; a longer line is data for a program.
LONGEST = 20_000
# How much of a text is read, some eight seconds, and how much of it a line, a cell of a table and a number in
# a line are: an article has 3,000 lines.
MOST_READ, LINE, CELL, NUMBER = 100_000, 2, 3, 6
# Columns of a table that are read.
MOST_CELLS = 2_000
# Columns or rows that one HTML cell may span: more is not a table for readers.
WIDEST = 64
# The level of a heading that is only a short line: below all marked ones.
PLAIN = 7
# Lines of front matter; a rule further down is a rule.
FRONT = 60
# Of the files of a directory those that are read.
SUFFIXES = frozenset(
    {".md", ".txt", ".rst", ".tex", ".html", ".htm", ".xhtml", ".csv", ".tsv", ".yaml", ".yml"}
)
KINDS = "Markdown, HTML, text, CSV or a gpuwise result"

# A line of JSON with several entries, whose texts may hold a comma: "name": "B300 (Ultra, 288GB)", "tdp": 12
_ENTRIES = re.compile(r'^[^"\n]*"[^"\n]+": ?"[^"\n]*", ?"[^"\n]+": ?.*$', re.MULTILINE)
_QUOTED = re.compile(r'(?<=: )"[^"\n]*"')
# What JSON has around its names and values; a list of objects is one of paragraphs.
_JSON_MARKS = re.compile(
    r'^[ \t]*[{}\[\]]+,?[ \t]*$|(?<=:)[ \t]*\[[ \t]*$|^[ \t]+|"(?=[:,\s]|$)|(?<=[\s:\[{])"|,[ \t]*$',
    re.MULTILINE,
)
# Where JSON without spaces has its next name or value.
_COMPACT = re.compile(r'(?<=")[:,](?=["\d\[{])|(?<=[\d\]}el]),(?=["{])')
# What stands before the name of a program's variable.
_DECLARED = re.compile(
    r"^(?:self\.|(?:(?:export|const|let|var|static|final|public|private) ){1,4})(?=\w+ ?=)"
)
# Where a rate's name says "per": bandwidth_gb_s, bytes_per_s.
_PER = re.compile(r"(?<=[gt]b)_(?=s(?:_|$))|(?<=[a-z])_per_(?=s(?:ec\w*)?(?:_|$))", re.IGNORECASE)
# A key of several words: "mem_bw", "maxTDP".
_CODED = re.compile(r"^(?:[A-Za-z][A-Za-z\d]*_\w|[a-z]+\d*[A-Z])\w*(?=\s?[:=])")
# An object or a list that begins behind its name: "CORES = {".
_OPENS = re.compile(r"(?<=[\w\]\"'])[ \t]?(?::=|=>|[:=])[ \t]?[\w.]{0,40}[\[{(]$")
# A key that may be a GPU's name in small letters: "t4:", "[gpu.l40s]".
_KEY = re.compile(r"^(?:\[(?:[a-z_]{1,20}\.)?)?([a-z]\d{1,3}[a-z]{0,4})[\]:]$")
# The head of a table of a wiki: "||GPU||Memory||".
_DOUBLED = re.compile(r"^\|\|(?:[^|\n]{1,60}\|\|){2,40}[ \t]*$", re.MULTILINE)
_KEYS = re.compile(
    r"\s{0,60}(?:gpu|name|model|card|device)=\w[^\s=,;]{1,60}(?: \w{2,40}=[^\s=,;]{1,40}){2,40}\s*", re.I
)
# A rule before each further object of a list, which is about nothing that was said before.
OBJECT = "*" * 9
_NEXT_ATTRIBUTE = re.compile(r"(?<=[\"'])\s+(?=[\w-]+=)")
_NEXT_OBJECT = re.compile(r"(?<=\},\n)[ \t]*\{[ \t]*$", re.MULTILINE)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "title", "caption", "figcaption")
_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "select"})
_BREAKS = frozenset(
    {"p", "div", "li", "br", "section", "article", "ul", "ol", "dt", "dd", "pre", "td", "th", "tr", "table"}
)
# How pictures, PDF and archives begin.
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"%PDF", b"PK\x03\x04", b"\x1f\x8b")
_ITEM = re.compile(r"\s*(?:[\u2022\u00b7\u25aa\u25cf\u2023\u25e6\u25ab\u25cb\u25a0*+-]|\d{1,2}[.)])\s+(?=\S)")
# Headings and items that were put on one line: "# A ## B - Memory: 80 GB - TDP: 700 W ## C", and of how many
# headings it is made; a longer title is a paragraph.
_SQUASHED = re.compile(r"(?:^|\s)(#{1,4})\s(?=[\w*])")
HEADINGS, TITLE = 3, 90
_CELL_RULE = re.compile(r":?-{2,}:?")
_DASHES, _ALIGNED = re.compile(r"[-=]{3,}(?: +[-=]+)*"), re.compile(r"\S {2,}\S.*\S {2,}\S")
_ROW = re.compile(r"\S.{0,60}? {2,}\S")
_NUMBER = re.compile(r"\d[\d.,]*")
_TABLE_RULE = re.compile(r"\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?)?")
_OF_SMI = (("power", "power limit"), ("memory", "memory"))
_LIST_TABLE = re.compile(r"(?P<indent>\s{0,40})\.\. list-table::\s*(?P<title>.{0,200}?)\s*")
_LIST_CELL = re.compile(r"\s{0,60}(?P<row>\*)?\s{0,8}(?:(?P<cell>-)(?:\s(?P<text>.*))?)?")
# The width of a table of AsciiDoc; links and templates of a wiki, which shows their last words, and notes.
_COLS = re.compile(r'\[.{0,40}cols="?((?:(\d{1,2})\*)?[^"\]]{0,60})')
_WIKI_MARK = re.compile(
    r"(?:\[\[|\{\{)(?:[^\[\]{}|]{0,80}\|){0,4}([^\[\]{}|]{0,80})(?:\]\]|\}\})|'{2,3}|<ref[^<>]{0,80}(?:/>|>.{0,400}?</ref>)"
)
# Blocks only: what is inside a line is read by the scanner, and inline rules cost most of the time.
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_MARKDOWN.core.ruler.disable(["inline"])
# Levels of lists in LaTeX, which knows four.
DEEPEST = 4
_LATEX = ("\\begin{", "\\item", "\\section", "\\subsection")
_LIST = re.compile(r"\\(begin|end)\{(?:itemize|enumerate|description)\}")
_SECTION = re.compile(
    r"\\(?:(?:(?P<sub>(?:sub){0,2})section|frametitle)\*?|begin\{frame\}(?:\[[^\]]{0,40}\])?)"
    r"\{(?P<title>[^{}]{0,200})\}"
)
_SIUNITX = re.compile(r"\\(?:SI|qty)(?:\[[^\]]{0,40}\])?\{([^{}]{0,40})\}\{([^{}]{0,80})\}")
_DATA = data("marks")
# (what a text must hold, mark, what stands in its place), in this order.
_MARKS = tuple((needs, re.compile(mark), instead) for needs, mark, instead in _DATA["marks"])
_TEXTS = tuple((needs, re.compile(mark), instead) for needs, mark, instead in _DATA["texts"])
_LATEX_MARKS = tuple((re.compile(mark), instead) for mark, instead in _DATA["latex"])


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
    item: int
    """How deep in lists, by their nesting or by the indent of a mark; 0 outside of them."""
    paragraph: int
    code: bool = False
    """Of a block of code, which is about what stands in it alone."""
    marked: bool = False
    """Begins with the mark of an item."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first row may or may not be its header; rows may be ragged."""

    rows: tuple[tuple[Cell, ...], ...]


Block = Heading | Line | Table


def text_of(path: Path) -> tuple[str, tuple[str, ...]]:
    """(text, notes) of a file. Raises InputError where it is missing, too large or not text."""
    try:
        data = store.read(path, largest=LARGEST, hint=f"give a file: {KINDS}, or a part of it")
    except InputError as error:
        if re.match(r"https?:/", str(path)):
            page = str(path).replace(":/", "://", 1)
            hint = f"save the page, or: curl -s {page} | gpuwise audit -"
            raise InputError(f"{page} is an address; only files are read", hint=hint) from error
        if isinstance(error.__cause__, FileNotFoundError) and len(str(path).split()) > 2:
            raise InputError(
                f"{path} is no file", hint=f"a text is piped in: echo '{path}' | gpuwise audit -"
            ) from error
        raise
    return decoded(data, str(path))


def decoded(data: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """(text, notes) of bytes in UTF-8, UTF-16 with its mark, or Windows-1252."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), ("read as UTF-16",)
    if b"\0" in data or data.startswith(_PICTURES):
        raise InputError(f"{name} is not text", hint=f"give a file: {KINDS}; save a PDF as text first")
    try:
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), ("not UTF-8: read as Windows-1252",)


def is_result(text: str) -> bool:
    """Whether a JSON document can be one of gpuwise's: a damaged one is for the reader of results to tell."""
    try:
        made = json.loads(text)
    except RecursionError:
        return True
    except ValueError:
        return text.lstrip()[:1] == "{" and '"schema"' in text
    return isinstance(made, dict) and "schema" in made


def blocks_of(text: str, name: str, notes: list[str] | None = None) -> tuple[Block, ...]:
    """The blocks of a text, by the suffix of its name and by its first words; other languages in English.
    What of it is not read is added to the notes."""
    notes = [] if notes is None else notes
    blocks = (*_shortened(chain.from_iterable(map(_asked, _blocks_of(text, name, notes))), notes),)
    language = language_of(text for block in blocks for text in texts_of(block))
    return tuple(
        Table(tuple(tuple(replace(c, text=in_english(c.text, language)) for c in r) for r in block.rows))
        if isinstance(block, Table)
        else replace(block, text=in_english(block.text, language))
        for block in blocks
    )


def _asked(block: Block) -> Iterator[Block]:
    """A table of questions and answers as headings, each with the line of its answer."""
    rows = [[c for c in row if c.text] for row in block.rows] if isinstance(block, Table) else []
    asked = sum(len(row) > 1 and row[-2].text.endswith("?") for row in rows)
    if 2 * asked <= len(rows):
        yield block
        return
    for question, answer in (row[-2:] for row in rows if len(row) > 1):
        yield Heading(question.line, PLAIN, question.text)
        yield Line(answer.line, answer.text, 0, answer.line)


def _shortened(blocks: Iterator[Block], notes: list[str]) -> Iterator[Block]:
    """The blocks up to the row or line with which they are more than is read."""
    left = MOST_READ
    for block in blocks:
        rows = block.rows if isinstance(block, Table) else ((block,),)
        for place, row in enumerate(rows):
            left -= LINE + NUMBER * len(_NUMBER.findall(block.text)) if block is row[0] else CELL * len(row)
            if left < 0:
                notes.append(f"not read: from line {row[0].line:,} on, more numbers or lines than are read")
                yield from [Table(block.rows[:place])] if isinstance(block, Table) and place else ()
                return
        yield block


def texts_of(block: Block) -> Iterator[str]:
    """Every cell of a table, or the one text of another block."""
    if isinstance(block, Table):
        yield from (cell.text for row in block.rows for cell in row)
    else:
        yield block.text


def _blocks_of(text: str, name: str, notes: list[str]) -> Iterator[Block]:
    suffix = Path(name).suffix.lower()
    # The line numbers of a finding are those that an editor shows.
    text = re.sub(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", "\n", text)
    text = CUES["bordered"].sub(r"\1", text)
    start = text[:1000].lstrip().casefold()
    if suffix in (".html", ".htm", ".xhtml") or start.startswith(("<!doctype html", "<html")):
        # A page's elements are read however long its lines are.
        return _Html(0).blocks(text)
    if suffix == ".json" or (start[:1] in ("{", "[") and start[1:].lstrip()[:1] in ("{", '"')):
        if "\n" not in text.strip():
            # Lines are what findings name; a damaged document is read as it is.
            with suppress(ValueError, RecursionError):
                text = json.dumps(json.loads(text), indent=1)
        text = _ENTRIES.sub(lambda line: _QUOTED.sub(lambda said: said[0].replace(", ", "; "), line[0]), text)
        text = _JSON_MARKS.sub("", _COMPACT.sub(r"\g<0> ", _NEXT_OBJECT.sub(OBJECT, text))).replace("_", " ")
    # So is one of a program's list.
    text = _NEXT_OBJECT.sub(OBJECT, text)
    for needs, mark, instead in _TEXTS:
        if needs in text:
            text = mark.sub(instead, text)
    text = CUES["tag"].sub(lambda tag: f"{{{_NEXT_ATTRIBUTE.sub(', ', tag['entries'])}}}", text)
    text = _DOUBLED.sub(lambda head: head[0].replace("||", "|"), text)
    lines = text.split("\n")
    if long := [number for number, line in enumerate(lines, 1) if len(line) > LONGEST]:
        named = f"{', '.join(map(str, long[:3]))}{' ...' * (len(long) > 3)}"
        notes.append(f"not read: {len(long)} lines of more than {LONGEST:,} characters ({named})")
    if len(lines) > (most := MOST_READ // LINE):
        notes.append(f"not read: from line {most + 1:,} on, of {len(lines):,}")
    lines = ["" if len(line) > LONGEST else line for line in lines[:most]]
    return _of_csv(lines, name) if suffix in (".csv", ".tsv") else _of_markdown(lines)


def plain(text: str) -> str:
    """Text without inline marks, tags and addresses; links keep their words; tabs stay."""
    for needs, mark, instead in _MARKS:
        if needs in text:
            text = mark.sub(instead, text)
    return text.strip(" \n")


def _of_csv(lines: list[str], name: str) -> Iterator[Block]:
    """The table, below a heading of what stands alone in lines before it: a title, a comment."""
    whole = [line for line in lines if line.strip()]
    comma = "\t" if name.lower().endswith(".tsv") else max(
        ",;\t|", key=lambda mark: median(line.count(mark) for line in whole or [""])
    )  # fmt: skip
    reader = csv.reader(lines, delimiter=comma)
    rows: list[tuple[Cell, ...]] = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(tuple(Cell(reader.line_num, spelt(cell)) for cell in row[:MOST_CELLS]))
    except csv.Error as error:
        raise InputError(f"{name} is not CSV: {error}", hint="give a file: " + KINDS) from error
    filled = [sum(bool(cell.text) for cell in row) for row in rows]
    first = next((n for n, count in enumerate(filled) if 2 * count > median(filled)), 0)
    for title in rows[:first]:
        yield Heading(title[0].line, 1, " ".join(cell.text for cell in title).strip("# "))
    yield Table(tuple(rows[first:]))


def spelt(name: str) -> str:
    """What a name of a program says: gpu_name, bandwidth_gb_s, maxTDPWatts."""
    if re.match("[a-z]+\\d*[A-Z]|(?:[A-Z][a-z]+){2}[a-zA-Z]*$", name):
        name = re.sub(
            r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})", " ", re.sub("(?<=B)p?s$", "/s", name)
        )
    return _PER.sub("/", name).replace("_", " ").strip()


def _without_latex(lines: Sequence[str]) -> Iterator[str]:
    """Lines of LaTeX with its tables as cells between pipes, its lists, sections and quantities in plain
    text, and its other commands taken out."""
    depth = 0
    for line in lines:
        depth += sum(1 if way == "begin" else -1 for way in _LIST.findall(line))
        # `\SI{2}{\tera\byte\per\second}` is 2 TB/s.
        line = _SIUNITX.sub(
            lambda m: f"{m[1]} " + re.sub(r"\\([a-z]+)", lambda u: _DATA["units"].get(u[1], u[1]), m[2]), line
        )
        if title := _SECTION.search(line):
            # The title of a slide is below all sections.
            yield f"{'#' * (5 if title['sub'] is None else 2 + len(title['sub']) // 3)} {title['title']}"
            continue
        item = "  " * min(depth - 1, DEEPEST) + "- " if line.lstrip().startswith("\\item") else ""
        line = re.sub(r"\\(?:hline|cline|[a-z]{1,8}rule)\b(?:\{[^{}]{0,20}\})?", "", line).rstrip()
        row = re.search(r"\\\\(?:\[[^\]]{0,9}\])?$", line) if "&" in line else None
        for mark, instead in _LATEX_MARKS:
            line = mark.sub(instead, line)
        cells = " | ".join(cell.strip() for cell in line.split("&"))
        yield f"| {cells} |" if row else item + line.strip()


def _cells_of(row: str) -> int:
    """How many cells a line of a table with pipes has."""
    return min(row.strip().removeprefix("|").removesuffix("|").replace("\\|", "").count("|") + 1, MOST_CELLS)


def _with_whole_heads(lines: list[str]) -> Iterator[str]:
    """Lines where a head that goes on over several, as pages are copied, stands on the one above its rule."""
    begins = dict[int, int]()
    for rule, line in enumerate(lines):
        wide, top = 0, rule
        width = _cells_of(line) if _TABLE_RULE.fullmatch(line.strip()) else 0
        while wide < width and top and lines[top - 1].rstrip().endswith("|"):
            top -= 1
            wide += _cells_of(lines[top])
        begins |= dict.fromkeys(range(top, rule), top) if wide == width and top < rule - 1 else {}
    for number, line in enumerate(lines):
        ends = number in begins and number + 1 not in begins
        head = " ".join(lines[begins[number] : number + 1]) if ends else ""
        yield head if number in begins else line


def _second_tables(lines: Sequence[str]) -> Iterator[int]:
    """The heads of tables that no empty line parts from the table above: each has a rule of its own."""
    ruled = code = False
    for number, line in enumerate(lines):
        code ^= line.lstrip().startswith(("```", "~~~"))
        if _TABLE_RULE.fullmatch(line.strip()):
            if ruled and not code and "|" in lines[number - 1]:
                yield number - 1
            ruled = True
        ruled = ruled and bool(line.strip())


def _without_marks(lines: Sequence[str]) -> Iterator[str]:
    """Lines without what only looks like a mark of Markdown."""
    for above, line, below in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        bare = line.strip()
        if _DASHES.fullmatch(bare) and _ALIGNED.search(above):
            # Below the first row of a table that spaces align; Markdown would make that row a heading.
            yield "\u2500" * 3
        elif line.startswith("    ") and _ALIGNED.search(bare) and _ROW.match(below):
            # The first row of a table, with an empty first cell; Markdown would make it a block of code.
            yield "\u2014" + line[1:]
        else:
            # Markdown would make a heading of "# of GPUs", and of the line above a dash alone.
            yield "\u2014" if bare == "-" else re.sub("^# (?=of )", "Number ", line)


def _with_list_tables(lines: Sequence[str]) -> Iterator[str]:
    """Lines of reStructuredText with the tables that it writes as lists in HTML, each cell on its line."""
    at = 0
    while at < len(lines):
        begins = _LIST_TABLE.fullmatch(lines[at])
        if begins is None:
            yield lines[at]
            at += 1
            continue
        indent = len(begins["indent"])
        end = at + 1
        while end < len(lines) and (not lines[end].strip() or lines[end][: indent + 1].isspace()):
            end += 1
        while not lines[end - 1].strip():
            end -= 1
        yield f"<table><caption>{begins['title']}</caption>"
        for line in lines[at + 1 : end]:
            cell = _LIST_CELL.fullmatch(line)
            rest = "" if re.match(r"\s*:[a-z-]+:", line) else line.strip()
            row = "<tr>" * bool(cell and cell["row"])
            # An empty line would end the HTML.
            yield (row + (f"<td>{cell['text']}" if cell["cell"] else "") if cell else rest) or "<!---->"
        at = end


def _with_marked_tables(lines: Sequence[str]) -> Iterator[str]:
    """Lines with the tables of MediaWiki ("{|", a row behind "|-") and AsciiDoc ("|===", so many cells a row)
    in HTML, each cell on its line."""
    ends, width, count, columns = "", 0, 0, 0
    for line in lines:
        text = _WIKI_MARK.sub(lambda mark: mark[1] or "", line.strip()) if ends else line.strip()
        if not ends:
            ends = {"{|": "|}", "|=": "|==="}.get(text[:2], "") if text[:2] == "{|" or text == "|===" else ""
            width, count = columns, 0
            columns = int(cols[2] or cols[1].count(",") + 1) if (cols := _COLS.search(text)) else 0
            yield "<table><tr>" if ends else line
        elif text.startswith(ends):
            ends = ""
            yield "</table>"
        elif text[:1] not in ("|", "!") or text[:2] in ("|-", "|+"):
            yield "<tr>" if text[:2] == "|-" else text.removeprefix("|+") or "<!---->"
        elif ends == "|}":
            parts = (part.rpartition("|") for part in re.split(r"\|\||!!", text[1:]))
            yield "".join(f"<td {said if '=' in said else ''}>{cell}" for said, _, cell in parts)
        else:
            cells = text[1:].split("|")
            width = width or len(cells)
            yield "".join(f"{'<tr>' * ((count + n) % width == 0)}<td>{cell}" for n, cell in enumerate(cells))
            count += len(cells)


def _of_markdown(lines: list[str]) -> Iterator[Block]:
    if any(line.lstrip().startswith(_LATEX) for line in lines):
        lines = list(_without_latex(lines))
    if {"|}", "|==="} & {line.strip() for line in lines}:
        lines = list(_with_marked_tables(lines))
    lines = list(_with_whole_heads(list(_with_list_tables(lines))))
    lines = list(_without_marks(lines))
    rules = [number for number, line in enumerate(lines[:FRONT]) if line.strip() == "---"]
    if len(rules) > 1 and rules[0] == 0:
        # Of front matter the title says what the text is about; its addresses and dates say nothing.
        for number, line in enumerate(lines[: rules[1]], 1):
            if line.startswith("title:"):
                yield Heading(number, 1, plain(line[6:]))
        lines[: rules[1] + 1] = [""] * (rules[1] + 1)
    ends = [0, *_second_tables(lines), len(lines)]
    parts = ((a, token) for a, b in pairwise(ends) for token in _MARKDOWN.parse("\n".join(lines[a:b])))
    depth = paragraph = heading = start = 0
    rows: list[tuple[Cell, ...]] = []
    below: list[Cell] = []
    for offset, token in parts:
        depth += token.nesting if token.type.startswith("list_item") else 0
        start = token.map[0] + 1 + offset if token.map else start
        if token.type == "tr_open":
            rows.append(())
        elif token.type == "tr_close":
            # Cells beyond the header are dropped by the parser, though they move the others.
            count = _cells_of(lines[start - 1])
            rows[-1] = (*rows[-1][:count], *[Cell(start, "")] * (count - len(rows[-1])))
            if "|" not in lines[start - 1]:
                # What follows without an empty line is text; the parser takes it for a row.
                below.append(rows.pop()[0])
        elif token.type == "table_close":
            yield Table(tuple(_rejoined([row for row in rows if any(cell.text for cell in row)])))
            paragraph += 1
            yield from (line for cell in below for line in _lines(cell.text, cell.line, depth, paragraph))
            rows, below = [], []
        elif token.type == "hr" and lines[start - 1] == OBJECT:
            yield Heading(start, PLAIN, "")
        elif token.type in ("heading_open", "heading_close"):
            heading = int(token.tag[1]) if token.nesting > 0 else 0
        elif token.type == "html_block":
            yield from _Html(start - 1).blocks(token.content)
        elif token.type == "inline" and rows:
            if len(rows[-1]) < MOST_CELLS:
                rows[-1] += (Cell(start, plain(token.content)),)
        elif token.type == "inline" and heading:
            # Of several lines over one rule the last is the heading, the others are text.
            *above, last = token.content.split("\n")
            yield from (Line(number, plain(line), 0, 0) for number, line in enumerate(above, start))
            if len(_SQUASHED.findall(last)) < HEADINGS and _squashed(last, start) is None:
                yield Heading(start + len(above), heading, plain(last))
            else:
                yield from _lines(f"{'#' * heading} {last}", start + len(above), depth, paragraph)
        elif token.content:
            # Paragraphs, and code too: tables of plain text are often set as code.
            paragraph += 1
            code = token.type == "fence"
            # The parser takes the first line's indent, which says how deep a bullet of its own is.
            indent = 0 if code else len(lines[start - 1]) - len(lines[start - 1].lstrip(" "))
            for one in _lines(" " * indent + token.content, start + code, depth, paragraph):
                yield replace(one, code=True) if code and isinstance(one, Line) else one


def _rejoined(rows: Sequence[tuple[Cell, ...]]) -> Iterator[tuple[Cell, ...]]:
    """The rows of a table: one that is shorter than its head goes on in the next lines where their cells make
    it whole, as pages are copied."""
    width, at = max(map(len, rows[:1]), default=0), 0
    while at < len(rows):
        wide, end = len(rows[at]), at + 1
        while wide < width and end < len(rows):
            wide, end = wide + len(rows[end]), end + 1
        end = end if wide == width else at + 1
        yield tuple(cell for row in rows[at:end] for cell in row)
        at = end


def _squashed(line: str, number: int) -> tuple[str, Table, str] | None:
    """What stands before a table whose rows were put on one line, the table, and what stands behind it."""
    cells = [cell.strip() for cell in line.split("|")]
    at = next((n for n, cell in enumerate(cells) if _CELL_RULE.fullmatch(cell)), 0)
    end = next((n for n in range(at, len(cells)) if not _CELL_RULE.fullmatch(cells[n])), at)
    width = end - at
    if width < 2 or at < width + 1 or cells[at - 1]:
        return None
    rows = [cells[at - 1 - width : at - 1]]
    while end + width < len(cells) and not cells[end] and any(cells[end + 1 : end + 1 + width]):
        rows.append(cells[end + 1 : end + 1 + width])
        end += width + 1
    table = Table(tuple(tuple(Cell(number, plain(cell)) for cell in row) for row in rows))
    return "|".join(cells[: at - 1 - width]), table, "|".join(cells[end:])


def _lines(text: str, start: int, depth: int, paragraph: int) -> Iterator[Block]:
    objects: list[tuple[Cell, ...]] = []
    for number, line in enumerate((*text.split("\n"), ""), start):
        # Objects of JSON or a program on a line each: those with the same entries are rows of a table.
        if _KEYS.fullmatch(line):
            # As logs say it: "gpu=RTX_4090 memory_gb=24".
            line = f"{{{line.strip().replace(' ', ', ').replace('_', ' ')}}}"
        one = CUES["object"].fullmatch(line)
        entries = CUES["object_field"].findall(one["fields"]) if one is not None else []
        one = one if entries else None
        head = tuple(Cell(number, spelt(key.strip())) for key in ("GPU", *(key for key, _ in entries)))
        nested = re.fullmatch("[a-z_ ]+", one["name"]) if one is not None else None
        if nested and line.lstrip(" \t\"'").startswith(nested[0]):
            # "memory: {size: 24, type: GDDR6X}" is a part of an object: its key is that of each entry, too.
            for entry, value in entries:
                yield Line(number, f"{spelt(nested[0])} {spelt(entry)}: {value}", depth, paragraph)
            continue
        if one is None and re.search("[\"']", line) and CUES["entries"].fullmatch(line):
            parts = [f"{spelt(e['key'])}: {e['value']}" for e in CUES["entry"].finditer(line)]
            yield from (Line(number, plain(part), depth, paragraph) for part in parts)
            continue
        if objects and [cell.text for cell in head] != [cell.text for cell in objects[0]]:
            yield Table(tuple(objects))
            objects = []
        if one is not None:
            values = (one["name"].replace("_", " "), *(value for _, value in entries))
            objects += [*([] if objects else [head]), tuple(Cell(number, value) for value in values)]
            continue
        before, *parts = _SQUASHED.split(line)
        if len(parts) >= 2 * HEADINGS:
            yield from _lines(before, number, depth, paragraph)
            for marks, text in zip(parts[::2], parts[1::2], strict=True):
                title, *items = re.split(r"\s-\s(?=[A-Z\d])", text)
                short = len(title) <= TITLE
                yield Heading(number, len(marks), plain(title)) if short else Line(number, plain(title), 0, 0)
                yield from (Line(number, plain(item), 1, paragraph) for item in items)
            continue
        if "--" in line and (squashed := _squashed(line, number)) is not None:
            before, table, behind = squashed
            yield from _lines(before, number, depth, paragraph)
            yield table
            yield from _lines(behind, number, depth, paragraph)
            continue
        mark = _ITEM.match(line)
        left_out = len(line) > LONGEST or CUES["command"].match(line)
        words = "" if left_out else plain(line[mark.end() :] if mark else line)
        begins = words.endswith("{") and "[]" not in words and _OPENS.search(words)
        if (entry := CUES["json_entry"].fullmatch(words)) is not None:
            # An entry of JSON: its key is a label, and that of an object a heading.
            said = entry["value"] or entry["number"]
            words = re.sub(r"_|(?<=[a-z])/(?=[a-z]{3})", " ", entry["key"]) + (f": {said}" if said else "")
        else:
            words = _OPENS.sub(":", _DECLARED.sub("", words))
        words = _KEY.sub(lambda key: key[1].upper(), words)
        # A comment behind a value says what is counted in: "peak_flops: 165.2, // TFLOPS FP32".
        if (noted := CUES["noted"].fullmatch(words)) is not None:
            key = spelt(noted["key"].replace("/", " "))
            words = f"{key} ({noted['note'].strip()}): {noted['value']}"
        # The key of a line of YAML.
        words = _CODED.sub(lambda key: spelt(key[0]), words)
        if (smi := CUES["nvidia_smi"].fullmatch(words)) is not None:
            # What follows the second line is not about its GPU.
            yield from (Line(number, f"{label}: {smi[n]}", 0, paragraph) for n, label in _OF_SMI if smi[n])
            yield Heading(number, PLAIN, smi["name"] or "")
        elif begins:
            yield Heading(number, PLAIN, words.rstrip(":"))
        elif words:
            indent = 1 + len(line) - len(line.lstrip()) if mark else 0
            yield Line(number, words, depth + indent, paragraph, marked=mark is not None)


class _Html:
    """Reads HTML: words not yet given out, and the open tables. `before` lines stand above it."""

    def __init__(self, before: int) -> None:
        self.before, self.line, self.paragraph = before, 1, 0
        self.words: list[str] = []
        self.unseen, self.item = 0, 0
        # Of each open table its rows, and by column how many rows further down which cell reaches.
        self.tables: list[tuple[list[list[Cell]], dict[int, tuple[int, Cell]]]] = []

    def blocks(self, text: str) -> Iterator[Block]:
        """The blocks of a page or of a part of one; broken mark-up is read as it comes."""
        parser = etree.HTMLParser(recover=True, huge_tree=True, remove_comments=True, encoding="utf-8")
        clean = re.sub(r"[\x00-\x08\x0e-\x1f\ud800-\udfff]", " ", text)
        try:
            root = etree.fromstring(clean.encode(), parser)
        except etree.XMLSyntaxError:
            return
        if root is None:
            return
        for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
            if event in ("start", "end") and isinstance(element.tag, str):
                yield from self.start(element) if event == "start" else self.end(element)
        yield from self.flush()

    def start(self, element: etree._Element) -> Iterator[Block]:
        tag = str(element.tag)
        self.unseen += tag in _UNSEEN
        self.item += tag == "li"
        if tag in _BREAKS or tag in _HEADINGS:
            yield from self.flush(element)
        if tag == "sup" and len("".join(element.itertext())) < 5:
            self.add("<sup>", None)
        if tag == "table":
            self.tables.append(([], {}))
        elif tag == "tr" and self.tables:
            self.tables[-1][0].append([])
            self.reach_down()
        self.add(element.text, element.sourceline)

    def end(self, element: etree._Element) -> Iterator[Block]:
        tag = str(element.tag)
        number = self.before + (element.sourceline or 1)
        if tag in ("td", "th") and self.tables and self.tables[-1][0]:
            self.cell(element, number)
        elif tag in _HEADINGS:
            text = self.taken()
            if text:
                yield Heading(
                    number, int(tag[1]) if tag[1].isdigit() else 1 if tag == "title" else PLAIN, text
                )
        elif tag == "table" and self.tables:
            rows = tuple(tuple(row[:MOST_CELLS]) for row in self.tables.pop()[0] if row)
            if rows:
                yield Table(rows)
        elif tag in _BREAKS:
            yield from self.flush(element)
        if tag == "sup" and len("".join(element.itertext())) < 5:
            self.add("</sup>", None)
        self.item -= tag == "li"
        self.unseen -= tag in _UNSEEN
        # A tail's line is not known to the parser; it follows what was read last.
        self.add(element.tail, None)

    def taken(self) -> str:
        """The words not yet given out, in one line."""
        text, self.words = plain(" ".join("".join(self.words).split())), []
        return text

    def cell(self, element: etree._Element, number: int) -> None:
        """Put the cell into every column that it spans, and keep it for the rows below."""
        rows, waiting = self.tables[-1]
        cell = Cell(number, self.taken())
        spans = [element.get(name, "1").strip() for name in ("colspan", "rowspan")]
        across, down = (min(int(s), WIDEST) if s.isascii() and s.isdecimal() else 1 for s in spans)
        for _ in range(max(across, 1) if len(rows[-1]) < MOST_CELLS else 0):
            if down > 1:
                waiting[len(rows[-1])] = (down - 1, cell)
            rows[-1].append(cell)
        self.reach_down()

    def reach_down(self) -> None:
        """Cells of rows above that stand in the next column of this row, too."""
        rows, waiting = self.tables[-1]
        while (at := len(rows[-1])) in waiting:
            left, cell = waiting.pop(at)
            rows[-1].append(cell)
            if left > 1:
                waiting[at] = (left - 1, cell)

    def add(self, text: str | None, line: int | None) -> None:
        if text and not self.unseen:
            if not any(self.words):
                lead = len(text) - len(text.lstrip())
                self.line = (line or self.line) + text.count("\n", 0, lead)
                self.words, text = [], text[lead:]
            self.words.append(text)

    def flush(self, element: etree._Element | None = None) -> Iterator[Block]:
        in_table = bool(self.tables and self.tables[-1][0])
        if in_table and element is not None and element.tag not in ("td", "th", "tr"):
            self.words.append(" ")
            return
        text, self.words = "".join(self.words), []
        self.paragraph += 1
        yield from _lines(text, self.before + self.line, self.item, self.paragraph)
        self.line += text.count("\n")
