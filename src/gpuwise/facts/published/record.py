"""Published figures as records, beside those that were measured or predicted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from gpuwise.model.issue import Issue
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.published import PublishedResult
from gpuwise.model.question import Framework, Question
from gpuwise.model.record import Record, Records
from gpuwise.model.result import Interval
from gpuwise.model.workload import Mode

UNSURE = Issue(
    code="precision-unsure", severity="info",
    detail="called fp32 by its source, but TF32 was the default there, or the figure needs more than the "
    "FP32 peak",
)  # fmt: skip


def records(rows: Iterable[PublishedResult]) -> Records:
    """The figures of GPUs of the catalog that no check of plausibility flags.

    A precision that the source does not state is None; a publisher's other frameworks than ours are named in
    `software` and told apart by `session`.
    """
    return Records(_record(row, row.gpu_id) for row in rows if row.gpu_id is not None and not row.cautions)


def _record(row: PublishedResult, gpu_id: str) -> Record:
    named = row.precision.rstrip("?")
    known = named in PRECISIONS
    framework = next((f for f in ("tensorflow", "jax") if row.framework.casefold().startswith(f)), "torch")
    value = row.throughput
    return Record(
        question=Question(
            workload=row.workload, mode=cast(Mode, row.mode), precision=Precision(named) if known else None,
            compile=row.compiled, batch=row.batch_per_gpu, gpus=row.n_gpus,
            framework=cast(Framework, framework),
        ),
        gpu_id=gpu_id, gpu=row.gpu, item=row.item, origin="published", basis="published",
        # A publisher states a value without its uncertainty.
        throughput=Interval(value=value, low=value, high=value, level=None, method="stated"),
        source=row.source, session=f"{row.source.id} {row.framework}".strip(), date=row.date,
        software=row.framework, issues=(UNSURE,) if known and named != row.precision else (),
        notes=(row.note,) if row.note else (),
    )  # fmt: skip
