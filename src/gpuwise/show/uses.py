"""For whom a GPU is, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpuwise.model.gpu import GpuSpec
from gpuwise.show.choice import rate, span
from gpuwise.show.table import Table

if TYPE_CHECKING:
    from gpuwise.judge.choose.uses import Place, Use


def table(spec: GpuSpec, found: Sequence[Use]) -> Table:
    """One row a preset."""
    return Table(
        title=f"{spec.name}: for whom",
        columns=("use", "verdict", "speed", "known by", "by speed", "by cost", "why not"),
        rows=tuple(_row(use) for use in found),
        notes=(
            "well suited: in the first third of the GPUs that do the work, by speed or by cost; "
            "every row is one of `gpuwise choose`'s presets",
        ),
    )


def document(spec: GpuSpec, found: Sequence[Use]) -> dict[str, Any]:
    """The same as data."""
    from dataclasses import asdict

    return {"gpu": spec.id, "uses": [asdict(use) for use in found]}


def _row(use: Use) -> tuple[str, ...]:
    speed = f"{span(use.throughput, rate)} {use.item}s/s" if use.throughput else ""
    return (
        f"{use.title} ({use.preset})", use.verdict, speed, use.basis if use.throughput else "",
        _place(use.by_speed), _place(use.by_cost), use.reason,
    )  # fmt: skip


def _place(place: Place | None) -> str:
    return f"{place.rank} of {place.of}" if place else ""
