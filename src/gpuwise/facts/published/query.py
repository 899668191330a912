"""Choose among published figures: by network, mode, precision, GPU, count and source."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from gpuwise.errors import InputError
from gpuwise.facts.published import names
from gpuwise.facts.published.load import all_results
from gpuwise.model.record import PublishedResult


def select(
    rows: Sequence[PublishedResult] | None = None,
    *,
    workload: str | None = None,
    mode: str | None = None,
    precision: str | None = None,
    gpu_ids: Collection[str] | None = None,
    n_gpus: int | None = None,
    source: str | None = None,
) -> tuple[PublishedResult, ...]:
    """The figures that match all that is given, in their order; of the curated table without `rows`.

    `workload` may be any spelling that `names.workload_id` knows; `precision` also finds its
    uncertain form (tf32 finds `tf32?`).
    """
    rows = all_results() if rows is None else rows
    wanted = names.workload_id(workload) if workload is not None else None
    return tuple(
        row
        for row in rows
        if wanted in (None, row.workload)
        and mode in (None, row.mode)
        and precision in (None, row.precision, row.precision.rstrip("?"))
        and (gpu_ids is None or row.gpu_id in gpu_ids)
        and n_gpus in (None, row.n_gpus)
        and source in (None, row.source.id)
    )


def workloads(rows: Sequence[PublishedResult] | None = None) -> Mapping[str, int]:
    """How many figures there are of each workload, the most first."""
    counts = Counter(row.workload for row in (all_results() if rows is None else rows))
    return dict(counts.most_common())


def check_workload(name: str, others: Sequence[str] = ()) -> str:
    """The id of a workload of the curated table or of `others`.

    Raises InputError with the nearest names where there is no such workload.
    """
    wanted, known = names.workload_id(name), tuple(dict.fromkeys((*others, *workloads())))
    if wanted in known:
        return wanted
    near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.5)
    near = near or [other for other in known if wanted and wanted in other][:3]
    guess = f"; did you mean {' or '.join(near)}?" if near else ""
    raise InputError(f"no speeds of a workload {name!r} are known{guess}", hint="gpuwise results")


def check_source(name: str, rows: Sequence[PublishedResult] | None = None) -> str:
    """The id of a source. Raises InputError with the nearest names where there is no such source."""
    known = sorted({row.source.id for row in (all_results() if rows is None else rows)})
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or known[:3]
    raise InputError(
        f"no source is called {name!r}; did you mean {' or '.join(near)}?",
        hint=f"gpuwise results --source {near[0]}" if near else "gpuwise results",
    )
