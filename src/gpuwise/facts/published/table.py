"""The curated table of published speeds, `data/results.csv` with `data/sources.csv`, and questions to it.

How its rows were chosen: figures for GPUs of the catalog and the reference networks; for each source,
GPU, count, network, mode, precision, compilation and class of batch (one, small, large) only the
fastest; of sources whose publisher grants nothing, a few single figures, cited, never the whole table.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import cast

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.facts.catalog import tables
from gpuwise.facts.published import names
from gpuwise.facts.published.importers import judged, record
from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue
from gpuwise.model.record import Record, Records
from gpuwise.model.workload import Mode

DATA = Path(__file__).with_name("data")


@cache
def sources() -> Mapping[str, Source]:
    """Every source of the curated table, by id."""
    return tables.read_sources(DATA / "sources.csv")


@cache
def all_results() -> Records:
    """Every curated figure with the issues known of it and those that checks find."""
    made = []
    for row in tables.rows(DATA / "results.csv"):
        # A fault of the source that is known from its own files stands as `code: what is wrong`.
        code, _, detail = row["caution"].partition(": ")
        known = Issue(code=code, severity="warning", detail=detail, fix="do not use this figure: measure it")
        made.append(
            record(
                gpu=row["gpu"],
                gpu_id=row["gpu_id"],
                gpus=int(row["n_gpus"]),
                workload=row["workload"],
                mode=cast(Mode, row["mode"]),
                precision=row["precision"],
                stated=row["precision_stated"],
                compiled={"yes": True, "no": False}.get(row["compiled"]),
                framework=row["framework"],
                versions=row["software"],
                batch=int(row["batch_per_gpu"]) if row["batch_per_gpu"] else None,
                speed=float(row["throughput"]),
                item=row["item"],
                date=row["date"],
                source=sources()[row["source"]],
                locator=row["locator"],
                note=row["note"],
                issues=(known,) if code else (),
            )
        )
    return judged(made)


def plausible(rows: Iterable[Record]) -> Records:
    """The figures of GPUs of the catalog that no check flags."""
    known = {spec.id for spec in catalog.all_gpus()}
    return Records(row for row in rows if row.gpu_id in known and not row.codes)


def select(
    rows: Sequence[Record] | None = None,
    *,
    workload: str | None = None,
    mode: str | None = None,
    precision: str | None = None,
    gpu_ids: Collection[str] | None = None,
    n_gpus: int | None = None,
    source: str | None = None,
) -> Records:
    """The figures that match all that is given, in their order; of the curated table without `rows`.

    `workload` may be any spelling that `names.workload_id` knows; `precision` also finds its
    uncertain form (tf32 finds `tf32?`).
    """
    wanted = names.workload_id(workload) if workload is not None else None
    return Records(
        row
        for row in (all_results() if rows is None else rows)
        if wanted in (None, row.question.workload)
        and mode in (None, row.question.mode)
        and precision in (None, row.precision, row.question.precision)
        and (gpu_ids is None or row.gpu_id in gpu_ids)
        and n_gpus in (None, row.gpus)
        and (source is None or (row.source is not None and row.source.id == source))
    )


def workloads(rows: Sequence[Record] | None = None) -> Mapping[str, int]:
    """How many figures there are of each workload, the most first."""
    counts = Counter(row.question.workload for row in (all_results() if rows is None else rows))
    return dict(counts.most_common())


def check_workload(name: str, others: Sequence[str] = ()) -> str:
    """The id of a workload of the curated table or of `others`.

    Raises InputError with the nearest names where there is no such workload.
    """
    if name in others:  # as it was measured; publishers' spellings are looked up
        return name
    wanted, known = names.workload_id(name), tuple(dict.fromkeys((*others, *workloads())))
    if wanted in known:
        return wanted
    near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    near = near or [other for other in known if wanted and wanted in other][:3]
    guess = f"; did you mean {' or '.join(near)}?" if near else ""
    problem = f"no speeds of a workload {name!r} are known{guess}"
    raise InputError(problem, hint="see of which speeds are known", code="results")


def check_source(name: str, rows: Sequence[Record] | None = None) -> str:
    """The id of a source. Raises InputError with the nearest names where there is no such source."""
    every = all_results() if rows is None else rows
    known = sorted({row.source.id for row in every if row.source is not None})
    if name in known:
        return name
    if not known:
        raise InputError(f"no source is called {name!r}", hint="leave it out")
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known[:3]
    raise InputError(
        f"no source is called {name!r}; did you mean {' or '.join(near)}?",
        hint=f"such as {near[0]}",
        code="source",
        source=near[0],
    )
