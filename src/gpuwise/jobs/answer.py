"""What every job returns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gpuwise.model.issue import Issue
from gpuwise.model.record import Record

if TYPE_CHECKING:
    from gpuwise.show.table import Table
    from gpuwise.show.theme import Chart

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """What a job found, and the same as table, chart and plain data, each made when it is asked for.

    A notebook shows the table, and the chart where vl-convert is installed.
    """

    found: T
    records: tuple[Record, ...] = ()  # Speeds in the answer, predicted or measured
    issues: tuple[Issue, ...] = ()  # What to know of it: skipped rows, options left out, a gate that failed
    exit_status: int = 0
    """Of the command with the same question: 0, or the documented code where a gate failed."""
    to_table: Callable[[], Table] = field(repr=False)
    to_data: Callable[[], Any] = field(repr=False)  # Plain data, or JSON of it as bytes
    to_chart: Callable[[], Chart | None] = field(default=lambda: None, repr=False)

    @property
    def document(self) -> Any:
        """Dictionaries, lists, texts and numbers in SI units: what `--json` prints."""
        made = self.to_data()
        return json.loads(made) if isinstance(made, bytes) else made

    @property
    def table(self) -> Table:
        """Columns and rows of text, with notes."""
        return self.to_table()

    def _repr_html_(self) -> str:
        from importlib.util import find_spec

        from gpuwise.show.html import fragment

        return fragment([self.table], self.to_chart() if find_spec("vl_convert") else None)
