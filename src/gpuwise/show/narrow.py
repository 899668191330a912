"""A table where the terminal is narrower than its cells: nothing is left out and no word is broken.

What every row says is said once, above. The leading columns that have room stay a table, `spare` ones behind
the others; the rest follow below each row, each with its name. A column has room where its cells stay on one
line or, for prose, where READABLE characters of a line do; TIGHT ones are enough where all columns then have
room.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import zip_longest
from textwrap import wrap

from gpuwise.show.table import Table

READABLE = 28
"""Characters of a line below which prose and figures with their intervals become hard to read."""
TIGHT = 16
_GAP = "   "
_AND = "\xa0· "
_TIED = "\xa0"
"""A space at which no line ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrow:
    """Lines no wider than asked: those above the rows, and those of each row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def fits(table: Table, width: int) -> bool:
    """Whether every cell stays on one line of `width` characters."""
    return _together(_natural(table)) + 2 <= width


def narrow(table: Table, width: int) -> Narrow:
    """The table in lines of at most `width` characters, or of TIGHT where that is less."""
    width = max(width, TIGHT)
    said, rest = _once(table.last(table.spare))
    widths = _widths(rest, width - 2)
    lead = len(widths)
    right = [column in table.numeric for column in rest.columns[:lead]]
    rule = " " + "─" * _together(widths)
    return Narrow(
        head=(*_below(*said, width), "", *_row(rest.columns[:lead], widths, right), rule),
        rows=tuple(
            (*_row(row[:lead], widths, right), *_below(rest.columns[lead:], row[lead:], width))
            for row in rest.rows
        ),
    )


def _once(table: Table) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], Table]:
    """Names and cells of the columns in which all of several rows are alike, and the table without them."""
    each = list(zip(*table.rows, strict=True))
    alike = [len(cells) > 1 and len(set(cells)) == 1 for cells in each]
    if all(alike):
        return ((), ()), table
    same = [place for place, one in enumerate(alike) if one]
    kept = [place for place, one in enumerate(alike) if not one]
    rest = replace(table, columns=_at(kept, table.columns), rows=tuple(_at(kept, row) for row in table.rows))
    return (_at(same, table.columns), _at(same, table.rows[0])), rest


def _at(places: list[int], cells: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(cells[place] for place in places)


def _natural(table: Table) -> list[int]:
    """The width of each column in which nothing wraps."""
    return [max(map(len, cells)) for cells in zip(table.columns, *table.rows, strict=True)]


def _together(widths: list[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _widths(table: Table, room: int) -> list[int]:
    """Of the leading columns, of which the first always has room; what is left over goes to prose."""
    columns = zip(table.columns, *table.rows, strict=True)
    words = [max((len(word) for cell in cells for word in cell.split()), default=0) for cells in columns]
    natural = _natural(table)
    usual, tight = (
        [min(whole, max(word, least)) for whole, word in zip(natural, words, strict=True)]
        for least in (READABLE, TIGHT)
    )
    asked = tight if _together(tight) <= room < _together(usual) else usual
    widths = [min(asked[0], room)]
    for width in asked[1:]:
        if _together([*widths, width]) > room:
            break
        widths.append(width)
    spare = room - _together(widths)
    for place, width in enumerate(widths):
        more = min(spare, natural[place] - width)
        widths[place], spare = width + more, spare - more
    return widths


def _row(cells: tuple[str, ...], widths: list[int], right: list[bool]) -> list[str]:
    """The lines of one row; cells wrap at words."""
    wrapped = [
        wrap(cell, max(1, width), break_on_hyphens=False) for cell, width in zip(cells, widths, strict=True)
    ]
    lines = []
    for parts in zip_longest(*wrapped, fillvalue=""):
        placed = (
            part.rjust(width) if to_right else part.ljust(width)
            for part, width, to_right in zip(parts, widths, right, strict=True)
        )  # fmt: skip
        lines.append((" " + _GAP.join(placed)).rstrip())
    return lines or [""]


def _below(names: tuple[str, ...], cells: tuple[str, ...], width: int) -> list[str]:
    """`batch 256 · power 700 W`, without empty cells; what has room on one line stays on one."""
    each = [f"{name} {cell}".strip() for name, cell in zip(names, cells, strict=True) if cell]
    room = width - len(_GAP) - len(_AND)
    text = _AND.join(part.replace(" ", _TIED) if len(part) <= room else part for part in each)
    lines = wrap(text, width, initial_indent=_GAP, subsequent_indent=_GAP, break_on_hyphens=False)
    return [line.replace(_TIED, " ") for line in lines]
