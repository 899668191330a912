"""Two to four GPUs side by side: specifications, what the work of each kind does on them, what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.errors import InputError, NoDataError
from gpuwise.jobs import reporting
from gpuwise.jobs.facts import Facts
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.result import Record
from gpuwise.model.units import times
from gpuwise.show import gpus as report
from gpuwise.show import page, predictions
from gpuwise.show.article import article as whole
from gpuwise.show.gpus import short
from gpuwise.show.page import References
from gpuwise.show.prices import EXACTLY, RENTS, bought, exact, rent
from gpuwise.show.records import KINDS, TWO_GPUS, of_kind
from gpuwise.show.results import throughput
from gpuwise.show.table import Table
from gpuwise.stats.scaling import ratio_between
from gpuwise.web.view import Asked, Bar, Sheet, View, bars

MOST = 6


def picked(facts: Facts, asked: Asked) -> tuple[GpuSpec, ...]:
    """The GPUs of the path (`a,b`) or of the form, each once.

    Raises InputError for a name that is none, and for more than four.
    """
    names = asked.path[0].split(",") if asked.path else asked.many("gpu")
    found = tuple({spec.id: spec for name in names if name.strip() for spec in [facts.gpu(name)]}.values())
    if len(found) > MOST:
        raise InputError(f"{len(found)} GPUs are too many for one page", hint=f"compare two to {MOST}")
    return found


def form(facts: Facts, asked: Asked) -> View:
    """What to compare; nothing is compared yet."""
    table = Table(columns=("GPU", "name"), rows=tuple((spec.id, spec.name) for spec in facts.gpus))
    return View(
        title="Compare", template="compare.html", table=table,
        document=lambda: [{"id": spec.id, "name": spec.name} for spec in facts.gpus],
        content={"specs": picked(facts, asked), "all": facts.gpus, "parts": (), "article": False},
    )  # fmt: skip


def several(facts: Facts, asked: Asked) -> View:
    """Two to four GPUs. Raises InputError for fewer, more, or an unknown one."""
    specs = picked(facts, asked)
    if len(specs) < 2:
        raise InputError("compare needs two GPUs", hint="choose another one")
    table, cited, names = report.side_by_side(specs), References(), [short(spec) for spec in specs]
    ids = tuple(spec.id for spec in specs)
    found = tuple(p for kind in KINDS for p in facts.forecasts.known(kind.config, ids))
    parts = (
        (_work(specs, found), "What the work does on them"),
        (_cost(facts, specs, cited), "What they cost"),
        (Sheet(table=table), "Specifications"),
    )
    return View(
        title=f"{', '.join(names[:-1])} and {names[-1]}",
        template="compare.html",
        table=table,
        document=lambda: {"gpus": [report.document(spec) for spec in specs], **predictions.document(found)},
        content={
            "specs": specs,
            "all": facts.gpus,
            "parts": parts,
            "sources": cited.sources,
            "article": comparable(found, specs),
        },
    )


def _work(specs: Sequence[GpuSpec], found: Sequence[Record]) -> Sheet:
    """A row for each kind of work and GPU: forecast with its interval, and its multiple of the first."""
    rows: list[tuple[str, ...]] = []
    drawn: list[Bar | None] = []
    for kind in KINDS:
        each = [p for spec in specs if (p := of_kind(kind, spec.id, found)) is not None]
        if not each:
            continue
        drawn += bars([p.throughput for p in each])
        for p in each:
            ratio = ""
            if p.throughput and each[0].throughput:
                found_times = times(ratio_between(each[0], p, ignoring=TWO_GPUS).value)
                ratio = found_times.shown(f"{found_times}x")
            named = f"{kind.title} ({kind.named})" if p is each[0] else ""
            rows.append((named, p.gpu_id, throughput(p), ratio, p.bound or "", p.refusal))
    table = Table(
        columns=("kind of work", "GPU", "forecast", "of the first", "bound by", "why not"),
        rows=tuple(rows),
        numeric=frozenset({"forecast", "of the first"}),
        notes=(
            "forecasts, not measurements, with 80 % intervals; bars share an axis within one kind of work",
        ),
    ).without_empty_columns()
    return Sheet(table=table, bars=tuple(drawn), legend="forecast and its 80 % interval")


def _cost(facts: Facts, specs: Sequence[GpuSpec], cited: References) -> Sheet:
    rows = []
    for spec in specs:
        mine = exact(facts.offers, spec.id)
        rented = [rent(mine, kind, facts.today, cited) for kind, _ in RENTS]
        rows.append((spec.id, *rented, bought(mine, cited)))
    columns = ("GPU", *(title for _, title in RENTS), "bought")
    return Sheet(table=Table(columns=columns, rows=tuple(rows), notes=(EXACTLY,)))


def article(facts: Facts, asked: Asked) -> View:
    """Several GPUs in words. Raises InputError for a single one, NoDataError where no kind of work is
    forecast on all."""
    specs = picked(facts, asked)
    contest = reporting.contest(facts, specs)
    if not comparable(contest.forecasts, specs):
        raise NoDataError("no kind of work is forecast on all GPUs", hint="compare their specifications")
    made = whole(contest)
    table = report.side_by_side(specs)
    return View(
        title=made.title, template="article.html", table=table, document=lambda: page.document(made),
        content={"page": made, "specs": specs},
    )  # fmt: skip


def comparable(found: Sequence[Record], specs: Sequence[GpuSpec]) -> bool:
    """Whether some kind of work is forecast on all these GPUs."""
    done = {
        spec.id: {p.question.key("batch") for p in found if p.gpu_id == spec.id and p.throughput}
        for spec in specs
    }
    return bool(set.intersection(*done.values()))


def pairs(facts: Facts) -> tuple[str, ...]:
    """Each GPU with the next two in 16-bit peak: what is compared in pages that are exported."""
    known = set(facts.studied)
    studied = [spec for spec in facts.gpus if spec.id in known]
    stated = [(peak.flop_per_s, spec.id) for spec in studied if (peak := spec.peak("fp16"))]
    ids = [gpu_id for _, gpu_id in sorted(stated)]
    return tuple(f"{a},{b}" for step in (1, 2) for a, b in zip(ids, ids[step:], strict=False))


def neighbours(facts: Facts, spec: GpuSpec) -> tuple[str, ...]:
    """The pairs of `pairs` that the GPU is in."""
    return tuple(pair for pair in pairs(facts) if spec.id in pair.split(","))
