"""An article as headings, paragraphs and grids, each with the line it came from.

Markdown, plain text, CSV and HTML (see `html`) become the same blocks. Tables that lost their lines
are rebuilt where the bars are left: one cell per line, a new row where a line begins with a bar.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpuwise.errors import InputError
from gpuwise.judge.audit import subject


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a grid and its line."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A title: what follows is about it."""

    line: int
    text: str
    level: int = 0
    """1 to 6 where the mark-up tells; 0 where it does not."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One line of prose, or one entry of a list."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, its header in the first row."""

    rows: tuple[tuple[Cell, ...], ...]


Block = Heading | Paragraph | Grid

MOST_CELLS = 200_000
"""A table larger than this is data for a program, not an article for readers."""

_IMAGE = re.compile(r"!\[[^\]]{0,300}\]\([^)]{0,500}\)")
_LINK = re.compile(r"\[([^\]]{0,300})\]\([^)]{0,500}\)")
_ADDRESS = re.compile(r"https?://\S+")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_RULE = re.compile(r"^[\s|:+-]*-{2,}[\s|:+-]*$")
LONGEST = 20_000
"""Characters; a longer line is data for a program."""

_FIGURE = re.compile(r"[|=$\t]|\d\s?(?:[TGP]FLOPS|TOPS|[GT]B/s|W\b|MHz|GHz|[a-z]+ cores)")
_END = re.compile(r"[.:;,!?]$")


def of_markdown(text: str) -> tuple[Block, ...]:
    """Blocks of Markdown or plain text; front matter but its title, and code, are left out."""
    lines = [(n, _plain(line)) for n, line in enumerate(text.splitlines(), 1) if len(line) <= LONGEST]
    lines = list(_without_code(_without_front_matter(lines)))
    found: list[Block] = []
    at = 0
    while at < len(lines):
        taken, grid = _table(lines, at)
        block = grid or _line(*lines[at])
        if block is not None:
            found.append(block)
        at += taken if grid else 1
    return tuple(found)


def of_csv(text: str, name: str) -> tuple[Block, ...]:
    """One grid of a CSV file. Raises InputError where it is none."""
    sample = text[:4096]
    delimiter = max(",;\t", key=sample.count)
    rows: list[tuple[Cell, ...]] = []
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(tuple(Cell(reader.line_num, cell.strip()) for cell in row))
    except csv.Error as error:
        message = f"{name} is no CSV file: line {reader.line_num}: {error}"
        raise InputError(message, hint="save it as UTF-8 text with commas") from error
    if sum(map(len, rows)) > MOST_CELLS:
        raise InputError(f"{name} has more than {MOST_CELLS:,} cells", hint="audit a part of it")
    return (Grid(tuple(rows)),) if len(rows) > 1 else ()


def looks_like_heading(text: str) -> bool:
    """Whether a line without mark-up is a title: short, no sentence, no list entry, mostly capitals."""
    if len(text) > 80 or _END.search(text) or _BULLET.match(text) or _FIGURE.search(text):
        return False
    key, colon, _ = text.partition(": ")
    if colon and not subject.covers(key):
        return False  # a value with its label
    words = re.findall(r"[^\W\d_][\w'-]*", text)
    capital = sum(word[0].isupper() for word in words)
    long = [word for word in words if len(word) > 3]
    return bool(words) and len(words) <= 12 and words[0][0].isupper() and 2 * capital >= max(len(long), 1)


def _plain(line: str) -> str:
    """A line without images, addresses, escapes and non-breaking spaces; links keep their words."""
    line = _ADDRESS.sub("", _LINK.sub(r"\1", _IMAGE.sub("", line)))
    return line.replace("\\_", "_").replace("\u00a0", " ").replace("\u202f", " ").rstrip()


def _without_front_matter(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    if not lines or lines[0][1] != "---":
        return lines
    end = next((i for i, (_, line) in enumerate(lines[1:], 1) if line == "---"), None)
    if end is None:
        return lines
    titles = [(n, "# " + line[6:].strip(" \"'")) for n, line in lines[1:end] if line.startswith("title:")]
    return titles + lines[end + 1 :]


def _without_code(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    inside = False
    for number, line in lines:
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def _line(number: int, text: str) -> Block | None:
    """A heading, a paragraph, or nothing for an empty line."""
    bare = text.strip()
    if not bare or _RULE.match(bare):
        return None
    if bare.startswith("#"):
        return Heading(number, bare.lstrip("# ").strip("* "), len(bare) - len(bare.lstrip("#")))
    bold = re.fullmatch(r"\*\*([^*]+?):?\s*\*\*:?", bare)
    if bold and len(bold[1]) < 60 and ":" not in bold[1]:
        return Heading(number, bold[1])
    if looks_like_heading(bare):
        return Heading(number, bare)
    return Paragraph(number, _BULLET.sub("", bare))


def _table(lines: Sequence[tuple[int, str]], at: int) -> tuple[int, Grid | None]:
    """(lines taken, grid) of a table that begins at `at`; (0, None) where none does."""
    if _is_open(lines, at):
        return _open_table(lines, at)
    if not lines[at][1].lstrip().startswith("|"):
        return 0, None
    end = at
    while end < len(lines) and _of_table(lines[end][1].strip(), end > at):
        end += 1
    rows: list[list[Cell]] = []
    for number, line in lines[at:end]:
        bare = line.strip()
        if _RULE.match(bare):
            continue
        cells = [Cell(number, _unmarked(cell)) for cell in bare.strip("|").split("|")]
        if bare.startswith("|") or not rows:
            rows.append(cells)
        else:
            rows[-1].extend(cells)
    return max(end - at, 1), Grid(tuple(tuple(row) for row in rows)) if len(rows) > 1 else None


def _is_open(lines: Sequence[tuple[int, str]], at: int) -> bool:
    """Whether a table without bars at its left begins here: a header, then a rule with bars."""
    line = lines[at][1].strip()
    rule = lines[at + 1][1].strip() if at + 1 < len(lines) else ""
    return "|" in line and line[0] != "|" and "|" in rule and _RULE.match(rule) is not None


def _open_table(lines: Sequence[tuple[int, str]], at: int) -> tuple[int, Grid | None]:
    end = at
    while end < len(lines) and "|" in lines[end][1]:
        end += 1
    rows = [
        tuple(Cell(number, _unmarked(cell)) for cell in line.strip().removesuffix("|").split("|"))
        for number, line in lines[at:end]
        if not _RULE.match(line.strip())
    ]
    return end - at, Grid(tuple(rows)) if len(rows) > 1 else None


def _of_table(line: str, begun: bool) -> bool:
    """Whether the line belongs to the table: it begins with a bar, or ends with one once begun."""
    return line.startswith("|") or (begun and line.endswith("|"))


def _unmarked(cell: str) -> str:
    plain = re.sub(r"(\*\*|__)(?=\S)([^*]*?)(?<=\S)\1", r"\2", cell)
    return marked(re.sub(r"`|<[^>]{1,40}>", "", plain).strip())


def marked(text: str) -> str:
    """A cell with all marks of footnotes written as stars: not m\u00b2."""
    return re.sub(r"(?<!\bm)[\u00b9\u00b2\u00b3\u2020\u2021]", "*", text)
