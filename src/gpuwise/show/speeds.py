"""Speeds of a workload: what was measured here and what others published, in tables of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue
from gpuwise.model.published import PublishedResult
from gpuwise.model.result import Measurement, Result
from gpuwise.show.results import rate, recipe, speed
from gpuwise.show.table import Table

COLUMNS = (
    "workload",
    "mode",
    "GPU",
    "count",
    "precision",
    "compiled",
    "recipe",
    "batch",
    "throughput",
    "per GPU",
    "software",
    "date",
    "source",
    "cautions",
)
NUMERIC = frozenset({"count", "batch", "throughput", "per GPU"})
LISTED = 12
"""Cautions written out below a table; the rest is counted."""

UNSURE = (
    "tf32?: called fp32 by its source, but TF32 was the default there, or the figure needs more than the "
    "FP32 peak. ?: the source does not say."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measurement with the session that it belongs to."""

    result: Result
    measurement: Measurement


def measured_table(rows: Sequence[Measured]) -> Table:
    """What gpuwise measured, the fastest first; throughput with its interval."""
    ordered = sorted(rows, key=lambda row: (row.measurement.config.mode != "train", -_value(row)))
    return Table(
        title="Measured here",
        columns=COLUMNS,
        rows=tuple(_measured_row(row) for row in ordered),
        numeric=NUMERIC,
        notes=_caution_lines([c for row in ordered for c in row.measurement.cautions]),
    ).without_empty_columns()


def published_table(rows: Sequence[PublishedResult]) -> Table:
    """What others published, training first, then by speed of one GPU."""
    ordered = sorted(rows, key=lambda row: (row.workload, row.mode != "train", -row.throughput / row.n_gpus))
    unsure = (UNSURE,) if any("?" in row.precision for row in rows) else ()
    cautions = _caution_lines([caution for row in ordered for caution in row.cautions])
    return Table(
        title="Published elsewhere, not measured by gpuwise",
        columns=COLUMNS,
        rows=tuple(_published_row(row) for row in ordered),
        numeric=NUMERIC,
        notes=(*unsure, *cautions, *_source_lines(rows)),
    ).without_empty_columns()


def together(measured: Sequence[Measured], published: Sequence[PublishedResult]) -> Table:
    """Both for one file: the first column says which rows are whose, ours come first."""
    ours = Table(columns=COLUMNS, rows=tuple(_measured_row(row) for row in measured))
    theirs = Table(columns=COLUMNS, rows=tuple(_published_row(row) for row in published))
    rows = [("measured here", *row) for row in ours.rows] + [("published", *row) for row in theirs.rows]
    return Table(
        columns=("origin", *COLUMNS),
        rows=tuple(rows),
        numeric=NUMERIC,
        notes=(*measured_table(measured).notes, *published_table(published).notes),
    ).without_empty_columns()


def workloads(measured: Mapping[str, int], published: Mapping[str, int]) -> Table:
    """How many figures there are of each workload, the most first."""
    names = sorted(
        {*measured, *published}, key=lambda name: (-published.get(name, 0) - measured.get(name, 0), name)
    )
    return Table(
        columns=("workload", "measured here", "published"),
        rows=tuple((name, str(measured.get(name, 0)), str(published.get(name, 0))) for name in names),
        numeric=frozenset({"measured here", "published"}),
        notes=("gpuwise results WORKLOAD shows them.",),
    )


def measured_document(row: Measured) -> dict[str, Any]:
    """One measurement as plain data."""
    m, found = row.measurement, row.result.environment
    return {
        "result": row.result.id,
        "gpu": found.device,
        "gpu_id": found.gpu_id,
        "n_gpus": m.config.gpus,
        "workload": m.config.workload,
        "mode": m.config.mode,
        "precision": m.config.precision,
        "compiled": m.config.compile,
        "recipe": m.config.recipe,
        "switches": dict(m.config.switches.changed),
        "framework": m.config.framework,
        "batch_per_gpu": m.batch,
        "status": m.status,
        "throughput": None if m.throughput is None else asdict(m.throughput),
        "item": m.item,
        "software": _software(row),
        "date": row.result.created_at[:10],
        "cautions": [asdict(caution) for caution in m.cautions],
    }


def published_document(row: PublishedResult) -> dict[str, Any]:
    """One published figure as plain data, its source with it."""
    return asdict(row) | {"throughput_per_gpu": row.throughput / row.n_gpus}


def _value(row: Measured) -> float:
    return row.measurement.throughput.value if row.measurement.throughput is not None else 0.0


def _measured_row(row: Measured) -> tuple[str, ...]:
    m = row.measurement
    return (
        m.config.workload,
        m.config.mode,
        row.result.environment.gpu_id or row.result.environment.device,
        str(m.config.gpus),
        m.config.precision,
        "yes" if m.config.compile else "no",
        recipe(m.config),
        str(m.batch or ""),
        speed(m),
        "" if m.throughput is None else rate(m.throughput.value / m.config.gpus, m.item),
        _software(row),
        row.result.created_at[:10],
        row.result.id,
        _codes(m.cautions),
    )


def _published_row(row: PublishedResult) -> tuple[str, ...]:
    return (
        row.workload,
        row.mode,
        row.gpu_id or row.gpu or "not stated",
        str(row.n_gpus),
        row.precision,
        {True: "yes", False: "no", None: ""}[row.compiled],
        "",
        str(row.batch_per_gpu or ""),
        rate(row.throughput, row.item),
        rate(row.throughput / row.n_gpus, row.item),
        _named_once(row.framework, row.software),
        row.date,
        row.source.id,
        _codes(row.cautions),
    )


def _software(row: Measured) -> str:
    """What measured it: `jax 0.11.2 CUDA 13.0`, also where torch measured the session's limits."""
    found, framework = row.result.environment, row.measurement.config.framework
    version = getattr(found, framework)
    parts = (f"{framework} {version}" if version else "", f"CUDA {found.cuda}" if found.cuda else "")
    return " ".join(part for part in parts if part)


def _named_once(framework: str, software: str) -> str:
    """`PyTorch NGC 23.04`; not `MXNet MXNet 1.9` where the versions name the framework themselves."""
    named = framework.split(" ")[0].casefold() in software.casefold()
    return software if named and software else " ".join(part for part in (framework, software) if part)


def _codes(cautions: Sequence[Issue]) -> str:
    return ", ".join(dict.fromkeys(caution.code for caution in cautions))


def _caution_lines(cautions: Sequence[Issue]) -> tuple[str, ...]:
    """Every distinct caution in words, and how many more there are than are listed."""
    lines = list(dict.fromkeys(f"{c.code}: {c.detail}. Next: {c.fix}" for c in cautions))
    more = len(lines) - LISTED
    return (*lines[:LISTED], *((f"{more} more cautions: --json",) if more > 0 else ()))


def _source_lines(rows: Sequence[PublishedResult]) -> tuple[str, ...]:
    """Whose figures these are and what the publisher grants."""
    sources: dict[str, Source] = {row.source.id: row.source for row in rows}
    return tuple(
        f"{source.id}: {source.title}; {source.licence or 'no licence stated'}"
        + (f"; {source.url}" if source.url else "")
        for source in (sources[name] for name in sorted(sources))
    )
