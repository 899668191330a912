"""A document before it is HTML or Markdown: sections of text, charts and the tables behind them.

What a page says is decided here and in the modules that build it; how it looks in `html` and in
the templates. Text may cite sources as `[3]`, by their place in `sources`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from gpuwise.model.gpu import Source
from gpuwise.model.units import visible
from gpuwise.show.charts import Drawing, vega
from gpuwise.show.table import Table, markdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Charts, one below the other, and the table that says the same in numbers."""

    charts: tuple[Drawing, ...]
    table: Table
    caption: str  # What to see in it, in one sentence; also its accessible name
    opened: bool = False  # True where the table is shown from the start


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with what belongs to it, in this order. `text` are paragraphs, `points` a list; tables
    without rows are left out."""

    id: str
    title: str
    lead: str = ""  # A paragraph before all, where there are figures or tables that it speaks of
    text: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    folded: tuple[Table, ...] = ()
    """Every row behind what the figures and tables sum up; a page shows them when asked."""
    code: str = ""  # Command lines
    paired: bool = False  # Its figures are small and stand two in a row where there is room

    def __post_init__(self) -> None:
        for name in ("tables", "folded"):
            object.__setattr__(self, name, tuple(table for table in getattr(self, name) if table.rows))
        if self.lead and (self.figures or self.tables or self.folded):
            object.__setattr__(self, "text", (self.lead, *self.text))
        object.__setattr__(self, "lead", "")  # so that a copy does not say it again

    @property
    def says_something(self) -> bool:
        return any(
            getattr(self, field.name) for field in fields(self) if field.name not in ("id", "title", "paired")
        )


_SECTIONS = tomllib.loads(files("gpuwise.show").joinpath("sections.toml").read_text("utf-8"))


def section(of: str, id: str, *, facts: Mapping[str, str] = MappingProxyType({}), **parts: Any) -> Section:
    """A section of a kind of page with its title and lead, in which `facts` stand (`sections.toml`)."""
    words = _SECTIONS[of][id]
    return Section(id=id, title=words["title"], lead=words.get("lead", "").format(**facts), **parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A number of the first screen."""

    what: str  # `resnet50 train`
    value: str  # `7,210 images/s`
    interval: str  # `7,190 to 7,232`; empty without one
    means: str  # How it was reached and what it says, in a few words


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A whole document; sections that say nothing are left out."""

    title: str
    subtitle: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
    headlines: tuple[Headline, ...] = ()
    lead: Figure | None = None  # The one chart of the first screen
    health: str = ""  # In a line: may the numbers be trusted?
    sources: tuple[Source, ...] = ()  # Cited by their place, the first as [1]
    made_on: str  # ISO date
    data: tuple[bytes, ...] = ()  # JSON documents that the page holds, so that it can be read back

    def __post_init__(self) -> None:
        object.__setattr__(self, "sections", tuple(one for one in self.sections if one.says_something))


class References:
    """Numbers for sources, in the order in which they are first cited."""

    def __init__(self) -> None:
        self._numbers: dict[Source, int] = {}

    def mark(self, *cited: Source | None) -> str:
        """`[2] [5]`: the numbers of these sources, each once."""
        # Numbers in the order of first use, as a reader meets them.
        numbers = {self._numbers.setdefault(s, len(self._numbers) + 1) for s in cited if s is not None}
        return " ".join(f"[{number}]" for number in sorted(numbers))

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(self._numbers)


def drawings(page: Page) -> dict[str, tuple[Drawing, str]]:
    """Name -> each chart of the sections with its caption, in their order."""
    found: dict[str, tuple[Drawing, str]] = {}
    for section in page.sections:
        for figure in section.figures:
            for chart in figure.charts:
                number = sum(name.startswith(section.id) for name in found) + 1
                found[f"{section.id}-{number}"] = chart, figure.caption
    return found


def markdown_page(page: Page, images: str = "") -> str:
    """The page as GitHub-flavoured Markdown; each chart by its table, below the image `{images}NAME.svg`
    where they are kept."""
    names = iter(drawings(page))
    heads = [f"**{h.what}: {h.value}** ({h.interval or 'no interval'}), {h.means}" for h in page.headlines]
    blocks = [f"# {page.title}", page.subtitle, _items(heads), page.health, _items(page.summary)]
    for section in page.sections:
        blocks += [f"## {section.title}", *section.text, _items(section.points)]
        for figure in section.figures:
            shown = [f"![{figure.caption}]({images}{next(names)}.svg)" for _ in figure.charts]
            blocks += [*(shown if images else ()), figure.caption, markdown(figure.table)]
        blocks += [markdown(table) for table in (*section.tables, *section.folded)]
        blocks += [f"```sh\n{section.code}\n```"] if section.code else []
    if page.sources:
        lines = []
        for number, source in enumerate(page.sources, 1):
            read = f"read on {source.read_on}" if source.read_on else ""
            licence = f"licence: {source.licence}" if source.licence else ""
            parts = (f"{number}. {source.title} ({source.kind})", read, licence, source.url or "")
            lines.append(", ".join(part for part in parts if part))
        blocks += ["## Sources", "\n".join(lines)]
    return visible("\n\n".join(block.strip() for block in blocks if block.strip()) + "\n")


def _items(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def document(page: Page) -> dict[str, Any]:
    """The page as plain data, charts as Vega-Lite."""
    return {
        **{name: getattr(page, name) for name in ("title", "subtitle", "made_on", "health")},
        "headlines": [asdict(headline) for headline in page.headlines],
        "summary": list(page.summary),
        "sections": [
            {
                **{name: getattr(section, name) for name in ("id", "title", "code")},
                "text": list(section.text),
                "points": list(section.points),
                "figures": [
                    {
                        "caption": figure.caption,
                        "chart": vega(chart, figure.caption),
                        "table": _table(figure.table),
                    }
                    for figure in section.figures
                    for chart in figure.charts
                ],
                "tables": [_table(table) for table in (*section.tables, *section.folded)],
            }
            for section in page.sections
        ],
        "sources": [asdict(source) for source in page.sources],
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        **{name: list(getattr(table, name)) for name in ("before", "columns", "notes")},
        "title": table.title,
        "rows": [list(row) for row in table.rows],
        "numeric": [column for column in table.columns if column in table.numeric],
    }


def said(template: str, block: str, **facts: Any) -> tuple[str, ...]:
    """The paragraphs of a block of `templates/NAME.txt`: sentences are data, their figures come from here."""
    found = _sentences(f"{template}.txt")
    text = "".join(found.blocks[block](found.new_context(facts)))
    return tuple(" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip())


@cache
def _sentences(name: str) -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("gpuwise.show"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).get_template(name)
