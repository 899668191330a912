"""Two to six GPUs side by side: specifications, what the work of each kind does on them, what they cost."""

from __future__ import annotations

from gpuwise.errors import InputError, NoDataError
from gpuwise.jobs import reporting
from gpuwise.jobs.facts import Facts
from gpuwise.model.gpu import GpuSpec
from gpuwise.show import article as show
from gpuwise.show import gpus as report
from gpuwise.show import page, predictions
from gpuwise.show.records import KINDS
from gpuwise.show.table import Table
from gpuwise.web.view import Asked, View

MOST = 6


def picked(facts: Facts, asked: Asked) -> tuple[GpuSpec, ...]:
    """The GPUs of the path (`a,b`) or of the form, each once.

    Raises InputError for a name that is none, and for more than six.
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
        title="Compare",
        template="compare.html",
        table=table,
        document=lambda: [{"id": spec.id, "name": spec.name} for spec in facts.gpus],
        content={"specs": picked(facts, asked), "all": facts.gpus, "page": None, "article": False},
    )


def several(facts: Facts, asked: Asked) -> View:
    """Two to six GPUs. Raises InputError for fewer, more, or an unknown one."""
    specs = picked(facts, asked)
    if len(specs) < 2:
        raise InputError("compare needs two GPUs", hint="choose another one")
    contest = reporting.contest(facts, specs)
    made = show.comparison(contest)
    alone = tuple(record for record in contest.forecasts if record.gpus == 1)
    return View(
        title=made.title, template="compare.html", table=report.side_by_side(specs),
        document=lambda: {"gpus": [report.document(spec) for spec in specs], **predictions.document(alone)},
        content={
            "specs": specs, "all": facts.gpus, "page": made, "article": bool(contest.common(KINDS)),
        },
    )  # fmt: skip


def article(facts: Facts, asked: Asked) -> View:
    """Several GPUs in words. Raises InputError for a single one, NoDataError where no forecast is of two."""
    specs = picked(facts, asked)
    contest = reporting.contest(facts, specs)
    if not contest.common(KINDS):
        raise NoDataError("no kind of work is forecast on two of them", hint="compare their specifications")
    made = show.article(contest)
    names = " ".join(contest.ids)
    return View(
        title=made.title, template="document.html", table=report.side_by_side(specs),
        document=lambda: page.document(made),
        content={
            "page": made, "gpu": "",
            "lead": f"{made.subtitle}. As a file: gpuwise compare {names} --article -o article.md",
        },
    )  # fmt: skip


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
