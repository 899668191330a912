"""The jobs: one typed function each, a request in, an `Answer` out. `gpuwise` itself has their public names.

    measuring    bench, reproduce, tune: measure this machine; steps: one step of a test, in this process
    serving      a running server, by its API
    accepting    pass or fail of every card
    predicting   speed, memory and watts on GPUs that are not here
    choosing     which GPU to buy or rent, and why; results and GPUs side by side
    facts        the catalog, dated offers, measured and published speeds
    auditing     wrong figures in an article, a table or a result
    reporting    results, a GPU, or two GPUs as one page

The command line, the explorer and the pytest plug-in translate options and forms into these requests, and
answers into tables and pages. Values are typed: seconds, bytes, USD, shares from 0 to 1. No module has the
name of its job, since importing it would then hide the function.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gpuwise.model.result import Issue, Record

if TYPE_CHECKING:
    from gpuwise.show.charts import Drawing
    from gpuwise.show.table import Table

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """The answer of a job, and the same as table, chart and plain data, each made on first use.

    A notebook shows the table and the chart.
    """

    value: T
    records: tuple[Record, ...] = ()  # Speeds in the answer, predicted or measured
    issues: tuple[Issue, ...] = ()  # What to know of it: skipped rows, options left out, a gate that failed
    exit_status: int = 0
    """Of the command with the same question: 0, or the documented code where a gate failed."""
    to_table: Callable[[], Table] = field(repr=False)
    to_data: Callable[[], Any] = field(repr=False)  # Plain data, or JSON of it as bytes
    to_chart: Callable[[], Drawing | None] = field(default=lambda: None, repr=False)

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
        from gpuwise.show.html import fragment

        return fragment([self.table], self.to_chart())


def usual_variant(note: str) -> tuple[Issue, ...]:
    """What a name of several things was taken as, which the command line says; none where a note is empty."""
    return (Issue.info("usual-variant", note),) * bool(note)
