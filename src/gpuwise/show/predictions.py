"""Predictions as a table and as data: each figure with its interval and with what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from math import inf
from typing import Any

from gpuwise.model.answer import Prediction
from gpuwise.model.result import Interval
from gpuwise.model.units import gibibytes, percent, seconds, si, significant
from gpuwise.show.results import cell_name, per_joule, rate
from gpuwise.show.table import Table

COLUMNS = (
    "GPU", "batch", "throughput", "80 % interval", "step", "first token", "measured", "peak memory", "fits",
    "power", "power, 80 %", "per joule", "bound", "evidence", "why not",
)  # fmt: skip
SORTS = ("speed", "efficiency", "power", "memory", "name")
_TOLD = (
    "spec-only: from the data sheet alone; with --from FILE, and in gpuwise choose, from what was measured "
    "of this work on another card"
)
_LISTED = 3
"""Predictions whose notes are written out below the table."""


def ordered(found: Sequence[Prediction], sort: str) -> tuple[Prediction, ...]:
    """The best first, what is refused last."""
    return tuple(sorted(found, key=lambda p: (bool(p.refusal), _KEYS[sort](p), p.gpu_id)))


def _falling(value: float | None) -> float:
    return inf if value is None else -value


def _speed(p: Prediction) -> float | None:
    return p.best.value if p.best else None


_KEYS: dict[str, Callable[[Prediction], Any]] = {
    "speed": lambda p: _falling(_speed(p)),
    "efficiency": lambda p: _falling(p.items_per_joule),
    "power": lambda p: p.watts.value if p.watts else inf,
    "memory": lambda p: p.memory_bytes.value if p.memory_bytes else inf,
    "name": lambda p: p.gpu_id,
}


def table(found: Sequence[Prediction]) -> Table:
    """One row a GPU; a refused one says why."""
    return Table(
        title=_title(found[0]),
        columns=COLUMNS,
        rows=tuple(_row(p) for p in found),
        numeric=frozenset(COLUMNS[1:12]),
        notes=tuple(_notes(found)),
    ).without_empty_columns()


def _title(p: Prediction) -> str:
    several = f" on {p.count} GPUs" if p.count > 1 else ""
    recipe = f" {p.config.recipe}" if p.config.recipe != "tuned" else ""
    name = cell_name(replace(p.config, gpus=1))
    if p.config.workload.startswith("served:"):  # an engine compiles as it likes
        name = name.removesuffix(" eager")
    return f"{name}{recipe}{several}, predicted"


def _row(p: Prediction) -> tuple[str, ...]:
    joules = p.items_per_joule
    return (
        p.gpu_id if p.count == 1 else f"{p.count} x {p.gpu_id}",
        str(p.batch or ""),
        rate(p.throughput.value, p.item) if p.throughput else "",
        _span(p.throughput) if p.throughput else "",
        seconds(p.seconds) if p.seconds else "",
        seconds(p.first_token_s.value) if p.first_token_s else "",
        rate(p.measured.value, p.item) if p.measured else "",
        gibibytes(p.memory_bytes.value) if p.memory_bytes else "",
        _chance(p.fits_probability),
        f"{p.watts.value:,.0f} W" if p.watts else "",
        f"{p.watts.low:,.0f} to {p.watts.high:,.0f} W" if p.watts else "",
        per_joule(joules, p.item) if joules else "",
        f"{p.bound} {percent(p.shares[0][1], 0)}" if p.bound else "",
        p.evidence if p.throughput else "",
        p.refusal,
    )


def _span(interval: Interval) -> str:
    """`4,670 to 11,500`."""
    return f"{_amount(interval.low)} to {_amount(interval.high)}"


def _amount(value: float) -> str:
    """Three digits; with a prefix where people would not write the zeros."""
    return significant(value) if value < 1e6 else si(value, "")


def _chance(probability: float | None) -> str:
    """`97 %`; never a certainty that no number of measured errors can give."""
    if probability is None:
        return ""
    if probability >= 0.99:
        return "> 99 %"
    return "< 1 %" if probability <= 0.01 else percent(probability, 0)


def _notes(found: Sequence[Prediction]) -> list[str]:
    """What holds for all, then the notes of the first few, then how to measure."""
    given = [p for p in found if not p.refusal]
    notes = [f"{p.gpu_id}: {note}" for p in given[:_LISTED] for note in p.notes]
    if any(p.measured for p in given) and any(p.evidence == "spec-only" for p in given):
        notes.append(_TOLD)
    if given and given[0].measure_command:
        notes.append(f"measure it: {given[0].measure_command}")
    return notes


def document(found: Sequence[Prediction]) -> dict[str, Any]:
    """The predictions as plain data in SI units; None is unknown."""
    return {"predictions": [{"cell": p.cell, **asdict(p), "shares": dict(p.shares)} for p in found]}
