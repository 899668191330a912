"""The pipe tables of a Markdown text, each with its line numbers and the headings above it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_RULE = re.compile(r"\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")
_MARKS = re.compile(r"[*`]+|<[^>]{0,80}>")


@dataclass(frozen=True, slots=True, kw_only=True)
class PipeTable:
    """One table: plain cells, rows as long as the file has them."""

    line: int
    """Line of the header, counted from 1."""
    headings: tuple[str, ...]
    """Headings above it, the outermost first."""
    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    """(line, cells)"""


def tables(text: str) -> Iterator[PipeTable]:
    """Every pipe table of `text`, in its order."""
    lines = text.splitlines()
    headings: dict[int, str] = {}
    at = 0
    while at < len(lines):
        heading = _HEADING.fullmatch(lines[at]) if lines[at].startswith("#") else None
        if heading is not None:
            level = len(heading[1])
            headings = {k: v for k, v in headings.items() if k < level} | {level: plain(heading[2])}
        elif at + 1 < len(lines) and "|" in lines[at] and _is_rule(lines[at + 1]):
            table = _table(lines, at, tuple(headings[k] for k in sorted(headings)))
            yield table
            at += 1 + len(table.rows)
        at += 1


def plain(text: str) -> str:
    """A cell or heading without bold, code and HTML marks."""
    return " ".join(_MARKS.sub("", text).replace("\\|", "|").split())


def _is_rule(line: str) -> bool:
    """Whether a line is a table's `| --- | ---: |`; its length is bounded so that no input is slow."""
    return "|" in line and len(line) < 2_000 and _RULE.fullmatch(line.strip()) is not None


def _table(lines: list[str], at: int, headings: tuple[str, ...]) -> PipeTable:
    rows = []
    for index in range(at + 2, len(lines)):
        if "|" not in lines[index]:
            break
        rows.append((index + 1, _cells(lines[index])))
    return PipeTable(line=at + 1, headings=headings, columns=_cells(lines[at]), rows=tuple(rows))


def _cells(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return tuple(plain(cell) for cell in re.split(r"(?<!\\)\|", inner))
