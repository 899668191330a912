"""The curated table of published speeds, read once: `data/results.csv` with `data/sources.csv`.

How its rows were chosen: figures for GPUs of the catalog and the reference networks; for each source,
GPU, count, network, mode, precision, compilation and class of batch (one, small, large) only the
fastest; of sources whose publisher grants nothing, a few single figures, cited, never the whole table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import cast

from gpuwise.facts.catalog import tables
from gpuwise.facts.published.importers import judged
from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue
from gpuwise.model.precision import PRECISIONS, Precision
from gpuwise.model.question import Framework, Question
from gpuwise.model.record import PublishedResult, Record, Records
from gpuwise.model.result import Interval
from gpuwise.model.workload import Mode

DATA = Path(__file__).with_name("data")


@cache
def sources() -> Mapping[str, Source]:
    """Every source of the curated table, by id."""
    return tables.read_sources(DATA / "sources.csv")


@cache
def all_results() -> tuple[PublishedResult, ...]:
    """Every curated figure with the cautions known of it and those of the gates."""
    return judged([_result(row) for row in tables.rows(DATA / "results.csv")])


def _result(row: dict[str, str]) -> PublishedResult:
    return PublishedResult(
        gpu=row["gpu"],
        gpu_id=row["gpu_id"] or None,
        n_gpus=int(row["n_gpus"]),
        workload=row["workload"],
        mode=row["mode"],
        precision=row["precision"],
        precision_stated=row["precision_stated"],
        compiled={"yes": True, "no": False}.get(row["compiled"]),
        framework=row["framework"],
        software=row["software"],
        batch_per_gpu=int(row["batch_per_gpu"]) if row["batch_per_gpu"] else None,
        throughput=float(row["throughput"]),
        item=row["item"],
        date=row["date"],
        source=sources()[row["source"]],
        locator=row["locator"],
        note=row["note"],
        cautions=_known(row["caution"]),
    )


def _known(text: str) -> tuple[Issue, ...]:
    """A fault of the source that is known from its own files: `code: what is wrong`."""
    if not text:
        return ()
    code, detail = text.split(": ", 1)
    return (Issue(code=code, severity="warning", detail=detail, fix="do not use this figure: measure it"),)


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
