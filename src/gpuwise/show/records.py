"""Speeds of a workload or a GPU: what was measured, published and predicted, each with where it is from.

Figures of different origin stand in tables of their own, or say in each row which they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gpuwise.facts import catalog
from gpuwise.facts.catalog.load import decoded, rows
from gpuwise.model.gpu import Source
from gpuwise.model.precision import Precision
from gpuwise.model.question import Mode, RunConfig
from gpuwise.model.result import UNSURE, Issue, Record, Statement, firsts, grouped
from gpuwise.model.units import whole
from gpuwise.show.page import References
from gpuwise.show.results import codes, fix, merged, shape
from gpuwise.show.table import Table, picked, rate, throughput
from gpuwise.stats.scaling import Condition
from gpuwise.workloads import registry

# Characters of a line in a terminal or a log.
COLUMNS = 100
# Issues written out below a table; the rest is counted.
LISTED = 12
UNTOLD = f"tf32?: {UNSURE.detail}. ?: the source does not say."
FORECAST = Source(
    id="gpuwise-predict",
    title="gpuwise predict: from what the work computes and the card's specification, with its 80 % interval",
    kind="derived",
    read_on="",
)
# What may differ between the speeds of two GPUs: each ran by itself, at the batch that its memory allows.
TWO_GPUS: tuple[Condition, ...] = ("gpu", "batch", "session")
_YES = {True: "yes", False: "no", None: ""}


def measured_table(rows: Sequence[Record]) -> Table:
    """What gpuwise measured, the fastest first; throughput with its interval."""
    # Training first: it is what most readers look for, and its speeds are the lower ones.
    ordered = sorted(rows, key=lambda row: (row.question.mode != "train", -row.value))
    noted = _issue_lines([issue for row in ordered for issue in _doubts(row)])
    return Table.of(map(_cells, ordered), title="Measured here", notes=noted)


def brief(table: Table) -> Table:
    """Either table for a terminal: what every row says stands in the title, and less than in files."""
    alike = {
        name: cells[0]
        for name, *cells in zip(table.columns, *table.rows, strict=True)
        if name in ("workload", "count") and len(set(cells)) == 1
    }
    words = [alike.get("workload", ""), f"on {alike['count']} GPUs" if alike.get("count", "1") != "1" else ""]
    gone = {*alike, "recipe", "date", "software"}
    # One GPU each: the speed of a GPU is the speed.
    gone |= {"per GPU"} if alike.get("count") == "1" else set()
    named = " ".join(word for word in words if word)
    return replace(table.without(gone), title=f"{table.title}: {named}" if named else table.title)


def published_table(rows: Sequence[Record], top: int = 0) -> Table:
    """What others published, training first, then by speed of one GPU; `top` > 0: at most so many rows, the
    fastest of each workload, mode and GPU."""
    ordered = sorted(
        rows, key=lambda row: (row.question.workload, row.question.mode != "train", -row.value / row.gpus)
    )
    more: tuple[str, ...] = ()
    if 0 < top < len(ordered):
        fastest = firsts(((row.question.workload, row.question.mode, row.gpu_id), row) for row in ordered)
        ordered = list(fastest.values())[:top]
        more = (f"The fastest of each GPU; {len(rows) - len(ordered)} more rows with --top 0.",)
    sources = {row.source.id: row.source for row in ordered if row.source}
    cited = ((name, s.title, s.licence or "no licence stated", s.url) for name, s in sorted(sources.items()))
    lines = ["; ".join(filter(None, (f"{name}: {title}", *more))) for name, title, *more in cited]
    issues = _issue_lines([issue for row in ordered for issue in row.issues if issue != UNSURE], own=False)
    untold = (UNTOLD,) if any("?" in row.precision for row in ordered) else ()
    notes = (*more, *untold, *issues, *lines)
    return Table.of(map(_cells, ordered), title="Published elsewhere, not measured by gpuwise", notes=notes)


def _cells(row: Record) -> dict[str, str]:
    """One row of either table."""
    asked, stated = row.question, row.stated or Statement()
    own = f"{asked.recipe} {asked.switches}" if asked.switches.changed else asked.recipe
    measured = row.origin == "measured"
    # Not `MXNet MXNet 1.9` where the versions name the framework themselves.
    named = row.software.split(" ")[0].casefold() in stated.versions.casefold() and stated.versions
    return {
        "workload": asked.workload,
        "mode": asked.mode,
        "GPU": row.gpu_id or "not stated",
        "count": whole(row.gpus),
        "precision": row.precision,
        "compiled": _YES[asked.compile],
        "recipe": own if measured else "",
        "batch": whole(row.batch) if row.batch else "",
        "throughput": throughput(row),
        "per GPU": rate(row.value / row.gpus, row.item) if row.throughput else "",
        "software": named or " ".join(part for part in (row.software, stated.versions) if part),
        "date": row.date,
        "source": row.session if measured else row.source.id if row.source else "",
        "cautions": codes(_doubts(row)),
    }


def _doubts(row: Record) -> Sequence[Issue]:
    """What to know of a figure; that a measurement did not end stands in the place of its speed."""
    return row.raw.cautions if row.raw else row.issues


def together(measured: Sequence[Record], published: Sequence[Record]) -> Table:
    """Both for one file: the first column says which rows are whose, ours come first."""
    rows = [{"origin": "measured here", **_cells(row)} for row in measured]
    rows += [{"origin": "published", **_cells(row)} for row in published]
    return Table.of(rows, notes=(*measured_table(measured).notes, *published_table(published).notes))


def workloads(measured: Mapping[str, int], published: Mapping[str, int]) -> Table:
    """How many figures there are of each workload, the most first."""
    counts = {name: (measured.get(name, 0), published.get(name, 0)) for name in {*measured, *published}}
    known = {name: registry.get(name).spec.title for name in registry.names()}
    cells = (
        {
            "workload": name,
            "what": known.get(name, ""),
            "measured here": whole(here),
            "published": whole(there),
        }
        for name, (here, there) in sorted(counts.items(), key=lambda one: (-sum(one[1]), one[0]))
    )
    return Table.of(cells, notes=("gpuwise results WORKLOAD shows them.",))


def measured_document(row: Record) -> dict[str, Any]:
    asked, raw = row.question, row.raw
    return {
        "result": row.session,
        **picked(row, "gpu throughput item software date"),
        **picked(asked, "workload mode precision recipe framework"),
        "gpu_id": None if row.gpu_id == row.gpu else row.gpu_id,
        "n_gpus": asked.gpus,
        "compiled": asked.compile,
        "switches": dict(asked.switches.changed),
        "batch_per_gpu": asked.batch,
        "status": raw.status if raw else "ok",
        "cautions": [asdict(issue) for issue in (raw.cautions if raw else ())],
    }


def published_document(row: Record) -> dict[str, Any]:
    """One published figure as plain data, its source with it."""
    stated, asked = row.stated or Statement(), row.question
    return {
        **picked(row, "gpu precision item date source"),
        **picked(asked, "workload mode"),
        "gpu_id": row.gpu_id if row.gpu_id in {spec.id for spec in catalog.all_gpus()} else None,
        "n_gpus": row.gpus,
        "precision_stated": stated.precision,
        "compiled": asked.compile,
        "framework": row.software,
        "software": stated.versions,
        "batch_per_gpu": row.batch,
        "throughput": row.value,
        "throughput_per_gpu": row.value / row.gpus,
        "locator": stated.locator,
        "note": " ".join(row.notes),
        "cautions": [asdict(issue) for issue in row.issues if issue != UNSURE],
    }


def _issue_lines(issues: Sequence[Issue], *, own: bool = True) -> tuple[str, ...]:
    """Every distinct issue in words, and how many more there are than are listed."""
    every = dict.fromkeys(f"{i.code}: {i.detail}. Next: {fix(i, own=own)}" for i in issues)
    lines = [merged(alike) for alike in grouped((shape(text), text) for text in every).values()]
    more = len(lines) - LISTED
    return (*lines[:LISTED], *((f"{more} more cautions: --json",) if more > 0 else ()))


def answers(records: Sequence[Record]) -> list[dict[str, Record]]:
    """The speeds of each question by GPU, the fastest of each, measured questions first; published ones of
    one source and framework."""
    best: dict[tuple[object, ...], dict[str, Record]] = {}
    # The fastest is what the GPU can do; slower ones of the same question were run with less care.
    for record in sorted(records, key=lambda row: -row.value):
        asked = record.question
        # Our own sessions run one code; two publishers run two.
        whose = record.session if record.origin == "published" else ""
        same = best.setdefault((record.origin, whose, asked.key("batch"), asked.switches), {})
        same.setdefault(record.gpu_id, record)
    found = [(next(iter(same.values())), same) for same in best.values()]
    found.sort(key=lambda one: (one[0].origin, one[0].gpus, one[0].question.label("batch", "gpus")))
    return [same for _, same in found]


def listing(records: Sequence[Record], cited: References, *, most: int) -> Table:
    """The `most` fastest speeds of one GPU, one of each question, measured first, then by GPUs and work."""
    ordered = [record for same in answers(records) for record in same.values()]
    listed, hidden = ordered[:most], len(ordered) - most
    unsure = any(r.question.precision is None or UNSURE in r.issues for r in listed)
    more = (f"{hidden} more: gpuwise results --gpu {ordered[0].gpu_id}",) if hidden > 0 else ()
    cells = (
        {
            "work": work(r),
            "GPUs": whole(r.gpus),
            "batch": whole(r.batch) if r.batch else "-",
            "speed": throughput(r),
            "origin": r.origin,
            "software": r.software,
            "date": r.date,
            "source": cited.mark(r.source),
        }
        for r in listed
    )
    return Table.of(cells, notes=(*((UNTOLD,) if unsure else ()), *more))


def work(record: Record) -> str:
    """`resnet50 train fp16 compiled`; `tf32?` where the source calls it fp32."""
    text = record.question.label("batch", "gpus")
    return text.replace(" tf32", " tf32?", 1) if UNSURE in record.issues else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of work that an article or a card's page speaks of, with the workload that is its example."""

    title: str
    workload: str
    mode: Mode
    precision: Precision = Precision.FP16
    scaled: bool = False  # True if a card's page shows its throughput on several GPUs
    batched: bool = False  # True if it shows its speed over the batch

    @property
    def config(self) -> RunConfig:
        """What to forecast or to measure; compiled, as the faster way."""
        compiles = self.mode != "compute"
        return RunConfig(workload=self.workload, mode=self.mode, precision=self.precision, compile=compiles)

    @property
    def said(self) -> str:
        """`serving an 8B model (answers)`: the title within a sentence."""
        head, colon, tail = self.title.partition(": ")
        return f"{head} ({tail})" if colon else self.title

    @property
    def named(self) -> str:
        """`resnet50 train fp16`."""
        return self.config.label("compile")


KINDS = tuple(
    decoded(
        rows(Path(__file__).with_name("kinds.csv")), Kind, precision=lambda row: Precision(row["precision"])
    )
)
# Those whose items people pay for; cells of a stencil are not counted by the million.
DEEP = tuple(kind for kind in KINDS if kind.mode != "compute")
SCALED = tuple(kind for kind in KINDS if kind.scaled)
BATCHED = tuple(kind for kind in KINDS if kind.batched)
COUNTS = (1, 2, 4, 8)
BATCHES = tuple(4**n for n in range(6))


def of_kind(kind: Kind, gpu_id: str, found: Sequence[Record], count: int = 1) -> Record | None:
    """The forecast of this kind of work for `count` GPUs of that id."""
    wanted = (gpu_id, count, kind.workload, kind.mode, kind.precision)
    for record in found:
        asked = record.question
        if (record.gpu_id, record.gpus, asked.workload, asked.mode, asked.precision) == wanted:
            return record
    return None
