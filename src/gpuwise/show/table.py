"""One table type for every output: the terminal, CSV and Markdown show the same cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """`rows` hold text; a column whose name is in `numeric` is aligned right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    numeric: frozenset[str] = frozenset()
    before: tuple[str, ...] = ()
    """Lines between title and table: what must be read first."""
    notes: tuple[str, ...] = ()
    """Lines below the table."""
    dim: frozenset[int] = frozenset()
    """Places of rows that a terminal shows grey: what they say is old."""
    spare: frozenset[str] = frozenset()
    """Columns that make room for the others where a terminal is too narrow for all."""

    def without_empty_columns(self) -> Table:
        """The table less the columns in which no row says anything; without rows, as it is."""
        if not self.rows:
            return self
        kept = [i for i, _ in enumerate(self.columns) if any(row[i] for row in self.rows)]
        return replace(
            self,
            columns=tuple(self.columns[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in self.rows),
        )

    def last(self, names: Collection[str]) -> Table:
        """The table with these columns behind the others."""
        order = sorted(range(len(self.columns)), key=lambda place: self.columns[place] in names)
        return replace(
            self,
            columns=tuple(self.columns[place] for place in order),
            rows=tuple(tuple(row[place] for place in order) for row in self.rows),
        )


def markdown(table: Table) -> str:
    """A GitHub-flavoured Markdown table with title and notes."""
    rule = ("---:" if column in table.numeric else "---" for column in table.columns)
    lines = [table.columns, tuple(rule), *table.rows]
    body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    before, notes = ("\n".join(f"- {line}" for line in lines) for lines in (table.before, table.notes))
    parts = [f"**{table.title}**" if table.title else "", before, body, notes]
    return "\n\n".join(part for part in parts if part) + "\n"


def comma_separated(table: Table) -> str:
    """CSV with a header line; title and notes are left out."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([table.columns, *table.rows])
    return out.getvalue()
