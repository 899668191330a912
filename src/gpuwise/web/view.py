"""What a view answers: a page's content, the table behind it for CSV, and its data for JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpuwise.errors import GpuwiseError
from gpuwise.model.result import Interval
from gpuwise.show.page import Page, Section
from gpuwise.show.table import Table

# Width of every bar's drawing, in its own units.
ROOM = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One page."""

    title: str
    template: str
    table: Table
    """What CSV holds."""
    document: Callable[[], Any]
    """Plain data for JSON, made when asked for."""
    content: Mapping[str, Any] = field(default_factory=dict)
    """What the template shows."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Text of a cell -> the path that it leads to; names of GPUs lead to theirs without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A value with its interval on a common axis from 0, in units of `ROOM`."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table as a page shows it: beside each row a bar, above each column a link that sorts by it."""

    table: Table
    bars: tuple[Bar | None, ...] = ()
    legend: str = ""
    """What the bars say."""
    sorts: Mapping[str, str] = field(default_factory=dict)
    """Column -> the value of `sort` that orders by it."""


def bars(values: Sequence[Interval | None]) -> tuple[Bar | None, ...]:
    """Bars of values with intervals, the largest filling the room."""
    most = max((v.high for v in values if v is not None), default=0.0)
    return tuple(None if v is None or most <= 0 else _bar(v, ROOM / most) for v in values)


def _bar(value: Interval, scale: float) -> Bar:
    return Bar(value=value.value * scale, low=max(0.0, value.low) * scale, high=value.high * scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Why there is no answer, and what to do."""

    text: str
    hint: str = ""


def message(error: GpuwiseError) -> Message:
    """An error's words; its hint, where it is a command line, is shown as one."""
    return Message(text=str(error), hint=error.hint or "")


def plain(page: Page) -> Page:
    """The page with the table of each chart in its place: drawing takes longer than an answer may."""
    return replace(page, sections=tuple(_plain(section) for section in page.sections))


def _plain(section: Section) -> Section:
    tables = tuple(replace(f.table, notes=(f.caption, *f.table.notes)) for f in section.figures)
    return replace(section, figures=(), tables=(*tables, *section.tables))
