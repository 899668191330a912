"""One workload on every GPU: speed with its interval, memory, watts, what bounds it, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.facts import catalog
from gpuwise.jobs.facts import Facts
from gpuwise.jobs.forecasts import traced
from gpuwise.model.precision import Precision
from gpuwise.model.record import Record
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Mode, WorkloadSpec
from gpuwise.show import predictions as report
from gpuwise.show.records import COUNTS
from gpuwise.show.table import Table
from gpuwise.web.asked import Asked
from gpuwise.web.view import Message, Sheet, View, bars, message

# Columns that a narrow screen reaches by scrolling; what bounds a forecast and backs it comes before.
LAST = ("step", "first token", "peak memory", "fits", "power", "power, 80 %", "per joule", "why not")
MACHINES = tuple(str(count) for count in COUNTS)
MOST_BATCH = 2**14


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the form asks, with what the workload does not have replaced by what it has."""

    spec: WorkloadSpec
    mode: str
    precision: str
    compiled: str
    gpus: str

    @property
    def config(self) -> RunConfig:
        compiled = self.compiled == "on" and self.spec.compiles
        mode, precision = cast(Mode, self.mode), cast(Precision, self.precision)
        return RunConfig(workload=self.spec.id, mode=mode, precision=precision, compile=compiled)


def question(asked: Asked) -> Question:
    """What is asked of which workload. Raises NoDataError for a path that names none with a trace."""
    known = traced()
    name = asked.path[0] if asked.path else asked.one_of("workload", tuple(known))
    if name not in known:
        raise NoDataError(f"no built-in network is called {name!r}", hint="choose one on the page Predict")
    spec = known[name]
    usual = next((p for p in ("bf16", "fp16") if p in spec.precisions), spec.precisions[0])
    return Question(
        spec=spec, mode=asked.one_of("mode", spec.modes), compiled=asked.one_of("compile", ("on", "off")),
        precision=asked.one_of("precision", spec.precisions, usual), gpus=asked.one_of("gpus", MACHINES),
    )  # fmt: skip


def predict(facts: Facts, asked: Asked) -> View:
    """The forecast on every GPU that the filter leaves, in the order asked for."""
    asks, problem = question(asked), None
    found: tuple[Record, ...] = ()
    try:
        found = report.ordered(_forecast(facts, asked, asks), asked.one_of("sort", report.SORTS))
    except GpuwiseError as error:
        problem = message(error)
    return _view(asked, asks, found, problem)


def _forecast(facts: Facts, asked: Asked, asks: Question) -> tuple[Record, ...]:
    """Raises InputError for a batch or filter that cannot be read, NoDataError for what is not traced."""
    batch = None if asked.text("batch", "auto") == "auto" else asked.whole("batch", most=MOST_BATCH)
    words = asked.text("q")
    ids = [match.spec.id for match in catalog.matching([words])] if words else facts.ids
    return facts.forecasts(asks.config, ids, count=int(asks.gpus), batch=batch)


def _view(asked: Asked, asks: Question, found: Sequence[Record], problem: Message | None) -> View:
    table = report.table(found, every=True).last(LAST) if found else Table(columns=("GPU",), rows=())
    given = [p for p in found if not p.refusal]
    sheet = Sheet(
        table=replace(report.table(given).last(LAST), title="") if given else Table(columns=(), rows=()),
        bars=bars([p.throughput for p in given]),
        legend="throughput and its 80 % interval",
    )
    return View(
        title=f"Predict: {asks.spec.id} {asks.mode} {asks.precision}",
        template="predict.html",
        table=table,
        document=lambda: report.document(found),
        content={
            "sheet": sheet, "refused": _refused(found), "asks": asks, "asked": asked,
            "workloads": traced(), "counts": MACHINES,
            "sorts": report.SORTS, "message": problem, "most_batch": MOST_BATCH,
        },
    )  # fmt: skip


def _refused(found: Sequence[Record]) -> Table:
    """The GPUs without a forecast, each with its reason."""
    rows = tuple((p.gpu_id, p.refusal) for p in found if p.refusal)
    return Table(columns=("GPU", "why not"), rows=rows)
