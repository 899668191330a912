"""One table type for every output, and the answer of a job, which is a value and how it is shown.

The terminal, CSV, Markdown and pages read the same cells. A cell is text. One that prints a number is an
`Amount`, which keeps value, interval and unit for files.
"""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import partial
from importlib import import_module
from itertools import zip_longest
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from gpuwise.errors import optional
from gpuwise.model.gpu import STALE_DAYS
from gpuwise.model.result import WIDE, Interval, Issue, Record
from gpuwise.model.units import Amount, percent, si, significant, visible

if TYPE_CHECKING:
    from gpuwise.show.charts import Drawing

T = TypeVar("T")
Row = tuple[str, ...]
_ACTIVE = re.compile(r"[\\|<>*`]|\[(?!\d{1,3}\])")
_LEVEL = re.compile(r" \(\d+ %\)$")
_FORMULA = ("=", "+", "-", "@", "\t")

# Characters of a line below which prose and figures with their intervals become hard to read.
READABLE = 28
TIGHT = 16
# Characters of a line where no terminal says how wide it is.
STATED_WIDTH = 110
# Lines of an answer that Python's prompt shows.
MOST_LINES = 40
_PLURAL = {"launch": "launches"}
# Items that come by the billion, with their symbol.
_PREFIXED = {"FLOP": "FLOP", "byte": "B", "cell": "cell"}
_GAP = "   "
_AND = "\xa0· "
# A space at which no line ends.
_TIED = "\xa0"
wrap = partial(textwrap.wrap, break_on_hyphens=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cells with their heads; a column whose name is in `numeric` is aligned right."""

    columns: Row
    rows: tuple[Row, ...]
    title: str = ""
    numeric: frozenset[str] = frozenset()
    before: Row = ()  # Lines between title and table: what must be read first
    notes: Row = ()  # Lines below the table
    dim: frozenset[int] = frozenset()
    """Places of rows that a terminal shows grey: what they say is old, or not ranked."""
    spare: frozenset[str] = frozenset()
    """Columns that make room for the others where a terminal is too narrow for all."""

    def __post_init__(self) -> None:
        # Names of devices, files and sellers come from anywhere; here is the one door to every output.
        for name in ("columns", "before", "notes"):
            object.__setattr__(self, name, tuple(map(visible, getattr(self, name))))
        object.__setattr__(self, "rows", tuple(tuple(map(visible, row)) for row in self.rows))
        object.__setattr__(self, "title", visible(self.title))

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, str]], *, every: bool = False, **more: Any) -> Table:
        """Rows that name their cells, such as `{"GPU": "l4", "power": watts(72)}`; columns as in the first.

        A column in which no row says anything is left out, unless `every` one is wanted; one that holds an
        Amount is numeric.
        """
        kept = list(rows)
        names = tuple(name for name in (kept[0] if kept else ()) if every or any(row[name] for row in kept))
        amounts = frozenset(name for name in names if any(isinstance(row[name], Amount) for row in kept))
        cells = tuple(tuple(row[name] for name in names) for row in kept)
        return cls(columns=names, rows=cells, **{"numeric": amounts, **more})

    def only(self, places: Sequence[int]) -> Table:
        """The columns at these places, in this order."""
        return replace(
            self,
            columns=tuple(self.columns[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in self.rows),
        )

    def without(self, names: Collection[str]) -> Table:
        """The table less the columns of these names."""
        return self.only([place for place, name in enumerate(self.columns) if name not in names])

    def last(self, names: Collection[str]) -> Table:
        """The table with these columns behind the others."""
        return self.only(sorted(range(len(self.columns)), key=lambda place: self.columns[place] in names))

    def __str__(self) -> str:
        """As a terminal has it: as wide as the terminal, or STATED_WIDTH where there is none."""
        width = get_terminal_size((STATED_WIDTH, 0)).columns
        return "\n".join(lines(self, width, width)).rstrip("\n")

    def second(self, name: str) -> Table:
        """The table with this column right behind the first one, and the bar there: a phone shows both."""
        return self.last({*self.columns[1:]} - {name})


def markdown(table: Table) -> str:
    """A GitHub-flavoured Markdown table with title and notes; what would be markup in a cell is escaped."""
    # Right-aligned numbers line up by their digits.
    rule = ("---:" if column in table.numeric else "---" for column in table.columns)
    lines = [f"| {' | '.join(map(escaped, line))} |" for line in (table.columns, *table.rows)]
    lines.insert(1, f"| {' | '.join(rule)} |")
    before, notes = ("\n".join(f"- {line}" for line in lines) for lines in (table.before, table.notes))
    parts = [f"**{table.title}**" if table.title else "", before, "\n".join(lines), notes]
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is; marks of sources such as `[3]` stay."""
    return _ACTIVE.sub(lambda match: f"\\{match[0]}", " ".join(text.splitlines()))


def comma_separated(table: Table) -> str:
    """CSV with raw values; title and notes are left out.

    A column of numbers holds values in their unit; beside it stand `NAME low` and `NAME high` where they have
    intervals, `NAME unit`, and `NAME note` for a cell that says in words why there is none.
    """
    columns = [
        [
            plain(name),
            *("" if v is None else f"{v:.12g}" if isinstance(v, float) else plain(v) for v in values),
        ]
        for name, values in raw(table).items()
    ]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(zip(*columns, strict=True))
    return out.getvalue()


def parquet(table: Table) -> bytes:
    """The columns of `comma_separated` as Parquet, numbers as doubles and what is not known as null. Raises
    MachineError where pyarrow is missing."""
    arrow, files = parquet_library()
    columns = {
        # A column of a query without rows has no type to be read from.
        name: arrow.array(values, type=None if any(v is not None for v in values) else arrow.string())
        for name, values in raw(table).items()
    }
    out = arrow.BufferOutputStream()
    files.write_table(arrow.Table.from_pydict(columns), out)
    return bytes(out.getvalue().to_pybytes())


def parquet_library() -> tuple[Any, Any]:
    """The modules `pyarrow` and `pyarrow.parquet`. Raises MachineError where they are missing."""
    arrow = optional("pyarrow", "Parquet needs pyarrow", "server")
    return arrow, import_module("pyarrow.parquet")


def raw(table: Table) -> dict[str, list[float | str | None]]:
    """Column -> its values for files: a column of numbers holds them in their unit, with its interval, unit
    and notes in columns of their own; the dash of an unknown value is None."""
    columns: dict[str, list[float | str | None]] = {}
    for name, *cells in zip(table.columns, *table.rows, strict=True):
        amounts = [cell if isinstance(cell, Amount) else None for cell in cells]
        if not any(amount is not None for amount in amounts):
            columns[name] = [None if cell in ("", "-") else cell for cell in cells]
            continue
        # The interval has columns of its own, so the head need not announce it.
        name = _LEVEL.sub("", name)
        columns[name] = [None if a is None else float(a.value) for a in amounts]
        for end in ("low", "high"):
            ends = [None if a is None else getattr(a, end) for a in amounts]
            if any(found is not None for found in ends):
                columns[f"{name} {end}"] = [None if found is None else float(found) for found in ends]
        # A number that a table writes by itself, such as a count, needs no note.
        notes = [
            None if a is not None or cell in ("", "-") else cell
            for a, cell in zip(amounts, cells, strict=True)
        ]
        for what, texts in (("unit", [(a.unit or None) if a else None for a in amounts]), ("note", notes)):
            if any(texts):
                columns[f"{name} {what}"] = list(texts)
    return columns


def plain(text: str) -> str:
    """Text that no spreadsheet takes for a formula; the dash of an unknown value is an empty cell."""
    if text == "-" or not text.startswith(_FORMULA):
        return "" if text == "-" else text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


class Lines(NamedTuple):
    """A table as text: the lines above its rows, and those of each row."""

    head: Row
    rows: tuple[Row, ...]


def fits(table: Table, width: int) -> bool:
    """True where every cell stays on one line of `width` characters."""
    return _together(_natural(table)) + 2 <= width


def laid_out(table: Table, width: int | None = None, *, fold: bool = True) -> Lines:
    """The table in lines of at most `width` characters, or of TIGHT where that is less: nothing is left out
    and no word is broken. None is as wide as it needs.

    Where not all columns have room, what every row says is said once, above, unless not to `fold`. The
    leading columns that have room stay a table, `spare` ones behind the others; the rest follow below each
    row, each with its name.
    """
    if width is None or fits(table, width):
        widths, above, rest, room = _natural(table), [""], table, 0
    else:
        room = max(width, TIGHT)
        # What can wait goes behind: the first columns decide whether a row is of interest.
        moved = table.last(table.spare)
        each = list(zip(*moved.rows, strict=True))
        alike = [place for place, cells in enumerate(each) if len(cells) > 1 and len(set(cells)) == 1]
        alike = alike if fold and len(alike) < len(each) else []
        said, rest = moved.only(alike), moved.only([n for n, _ in enumerate(each) if n not in alike])
        widths = _widths(rest, room - 2)
        above = [*_below(said.columns, said.rows[0] if alike else (), room), ""]
    lead = len(widths)
    right = [column in table.numeric for column in rest.columns[:lead]]
    rule = " " + "─" * _together(widths)
    return Lines(
        (*above, *_row(rest.columns[:lead], widths, right), rule),
        tuple(
            (*_row(row[:lead], widths, right), *_below(rest.columns[lead:], row[lead:], room))
            for row in rest.rows
        ),
    )


def lines(
    table: Table,
    width: int | None,
    room: int,
    *,
    fold: bool = True,
    style: Callable[[int, Iterable[str]], Iterable[str]] = lambda code, plain: plain,
) -> list[str]:
    """The table with its title, what must be read first and its notes, in lines of at most `width` characters
    (None: as many as the cells need), prose of at most `room`; `style` of bold (1) and of grey lines (2)."""

    def prose(texts: Iterable[str]) -> list[str]:
        return [
            line
            for text in texts  # An address is copied: it stays whole, whatever the width
            for line in wrap(text, room, initial_indent="  ", subsequent_indent="  ", break_long_words=False)
        ]

    made = laid_out(table, width, fold=fold)
    found = [*style(1, [table.title] if table.title else ()), *prose(table.before)]
    if table.rows or not table.notes:  # a head without rows says less than the lines below it
        found += style(1, made.head)
        for place, row in enumerate(made.rows):
            found += style(2, row) if place in table.dim else row
        found.append("")
    return found + prose(table.notes)


def _natural(table: Table) -> list[int]:
    """The width of each column in which nothing wraps."""
    return [max(map(len, cells)) for cells in zip(table.columns, *table.rows, strict=True)]


def _together(widths: list[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _widths(table: Table, room: int) -> list[int]:
    """Of the leading columns, of which the first always has room; what is left over goes to prose.

    A column has room where its cells stay on one line or, for prose, where READABLE characters of a line do;
    TIGHT ones are enough where all columns then have room.
    """
    columns = zip(table.columns, *table.rows, strict=True)
    words = [max((len(word) for cell in cells for word in cell.split()), default=0) for cells in columns]
    natural = _natural(table)
    usual, tight = (
        [min(whole, max(word, least)) for whole, word in zip(natural, words, strict=True)]
        for least in (READABLE, TIGHT)
    )
    lead, close = _lead(usual, room), _lead(tight, room)
    # Names of fields alone say nothing: their figures come beside them.
    figures = [any(column in table.numeric for column in table.columns[: len(w)]) for w in (lead, close)]
    widths = close if len(lead) < len(close) == len(tight) or figures == [False, True] else lead
    spare = room - _together(widths)
    for place, width in enumerate(widths):
        more = min(spare, natural[place] - width)
        widths[place], spare = width + more, spare - more
    return widths


def _lead(asked: list[int], room: int) -> list[int]:
    """The widths of the leading columns that have room together."""
    number = next((n for n in range(len(asked), 1, -1) if _together(asked[:n]) <= room), 1)
    return [min(width, room) for width in asked[:number]]


def _row(cells: Row, widths: list[int], right: list[bool]) -> list[str]:
    """The lines of one row; cells wrap at words."""
    wrapped = [
        [cell] if len(cell) <= width else wrap(cell, max(1, width))
        for cell, width in zip(cells, widths, strict=True)
    ]
    made = []
    for parts in zip_longest(*wrapped, fillvalue=""):
        placed = (
            part.rjust(width) if to_right else part.ljust(width)
            for part, width, to_right in zip(parts, widths, right, strict=True)
        )
        made.append((" " + _GAP.join(placed)).rstrip())
    return made or [""]


def _below(names: Row, cells: Row, width: int) -> list[str]:
    """`batch 256 · power 700 W`, without empty cells; what has room on one line stays on one."""
    each = [f"{name} {cell}".strip() for name, cell in zip(names, cells, strict=False) if cell]
    room = width - len(_GAP) - len(_AND)
    text = _AND.join(part.replace(" ", _TIED) if len(part) <= room else part for part in each)
    made = wrap(text, width, initial_indent=_GAP, subsequent_indent=_GAP) if text else []
    return [line.replace(_TIED, " ") for line in made]


def picked(value: object, names: str) -> dict[str, Any]:
    """Fields of an object as plain data: in a document they have their own names."""
    found = ((name, getattr(value, name)) for name in names.split())
    return {name: asdict(part) if is_dataclass(part) else part for name, part in found}  # type: ignore[arg-type]


def unit(item: str) -> str:
    """`images/s`, `FLOP/s`."""
    return f"{_PREFIXED.get(item) or _PLURAL.get(item, item + 's')}/s"


def rate(value: float, item: str, digits: int = 4) -> Amount:
    """Items per second in the field's units: `7,210 images/s`."""
    named = unit(item)
    text = si(value, named) if item in _PREFIXED else f"{amount(value, item, digits)} {named}"
    return Amount(text, value, named)


def amount(value: float, item: str, digits: int = 4) -> str:
    """A number of items without their name, which stands elsewhere: `7,210`, `11.6 T`."""
    # Four digits: the differences that matter between two runs are of one percent.
    return si(value, "").strip() if item in _PREFIXED else significant(value, digits)


def per_joule(value: float, item: str) -> Amount:
    """Items per joule: `4.67 images/J`."""
    # Items per joule are items a second per watt, so that the unit follows.
    named = unit(item).replace("/s", "/J")
    return Amount(si(value, named) if item in _PREFIXED else f"{significant(value)} {named}", value, named)


def speed(found: Interval | None, item: str, status: str = "ok") -> str:
    """`7,210 images/s ±0.3 %`, or why there is none."""
    if found is None:
        return status
    text = rate(found.value, item) + spread(found) + ("" if status == "ok" else f" ({status})")
    # A stated figure has no interval of its own; low = high would look like a certain one.
    low, high = (None, None) if found.level is None else (found.low, found.high)
    return Amount(text, found.value, unit(item), low, high)


# In 2026 rents moved by a tenth within a quarter.
OLD_LIST_DAYS = 60


def old_prices(days: int, first: int = 0) -> tuple[str, ...]:
    """What to do where the newest prices, or that of the first option, are so many days old; nothing where
    that is not old."""
    to_do = "gpuwise prices update fetches today's rents, --prices FILE adds what shops ask"
    old = f"the newest prices are {days} days old" * (days > OLD_LIST_DAYS)
    old = old or f"the price of the first option is {first} days old" * (first > STALE_DAYS)
    return (f"Caution: {old}; {to_do}",) * bool(old)


def span(
    found: Interval, form: Callable[[float], Amount], ends: Callable[[float], str] | None = None
) -> Amount:
    """`433 tokens/s (273 to 689)`; the interval where there is one, its ends as `ends` writes them."""
    text, short = form(found.value), ends or form
    if found.low == found.high:
        return text
    shown = f"{text} ({short(found.low)} to {short(found.high)})"
    return Amount(shown, found.value, text.unit, found.low, found.high)


def throughput(record: Record) -> str:
    """The speed of a record as every page, table and report writes it; empty where it has none."""
    found, item = record.throughput, record.item
    if record.origin == "measured":
        return speed(found, item, record.raw.status if record.raw else "ok")
    # A forecast is not known to four digits.
    digits = 3 if record.origin == "predicted" else 4
    if found is None:
        return ""
    return span(found, lambda v: rate(v, item, digits), lambda v: amount(v, item, digits))


def spread(interval: Interval) -> str:
    """` ±0.3 %` from a measured interval, ` noisy` where it is wider than its value, nothing from a stated
    figure."""
    if interval.level is None:
        return ""
    return f" ±{percent(interval.half_width)}" if interval.half_width < WIDE else " noisy"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer(Generic[T]):
    """The answer of a job, and the same as table, chart and plain data, each made on first use. Python's
    prompt shows the table, a notebook the chart too."""

    value: T
    records: tuple[Record, ...] = ()  # Speeds in the answer, predicted or measured
    issues: tuple[Issue, ...] = ()  # What to know of it: skipped rows, options left out, a gate that failed
    exit_status: int = 0
    """Of the command with the same question: 0, or the documented code where a gate failed."""
    to_table: Callable[[], Table]
    to_data: Callable[[], Any]  # Plain data, or JSON of it as bytes
    to_chart: Callable[[], Drawing | None] = lambda: None

    @property
    def document(self) -> Any:
        """Dictionaries, lists, texts and numbers in SI units: what `--json` prints."""
        made = self.to_data()
        return json.loads(made) if isinstance(made, bytes) else made

    @property
    def table(self) -> Table:
        """Columns and rows of text, with notes."""
        return self.to_table()

    def __repr__(self) -> str:
        told = str(self.table).splitlines()
        if more := len(told[MOST_LINES:]):
            told[MOST_LINES:] = [f"... {more} lines more: print(answer.table)"]
        return "\n".join(told)

    def _repr_html_(self) -> str:
        from gpuwise.show.html import fragment

        return fragment([self.table], self.to_chart())


def usual_variant(note: str) -> tuple[Issue, ...]:
    """What a name of several things was taken as, which the command line says; none where a note is empty."""
    return (Issue.info("usual-variant", note),) * bool(note)
