"""Scores of predictions as a table, as data and in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from evaluation.predict.scores import Score
from gpuwise.show.table import Table

COLUMNS = (
    "part", "GPU", "n", "refused", "MAPE", "median", "p90", "bias", "rank", "coverage", "80 % gives", "width",
    "MAPE, refused as 100 %",
)  # fmt: skip


def table(found: Sequence[Score], *, name: str, protocol: str, quantity: str) -> Table:
    """One row a GPU, then pooled; below it the rivals on the rows where they have a figure."""
    return Table.of(
        (dict(zip(COLUMNS, _row(score), strict=True)) for score in found),
        title=f"{name}: {quantity}, {protocol}",
        numeric=frozenset(COLUMNS[2:]),
        notes=tuple(note for score in found if score.gpu == "pooled" for note in _rivals(score)),
    )


def document(found: Sequence[Score], *, name: str, protocol: str, quantity: str, unit: str) -> dict[str, Any]:
    """The scores as plain data; figures that no row gives are None."""
    return {
        "set": name, "protocol": protocol, "quantity": quantity, "unit": unit,
        "scores": [_plain(asdict(score)) for score in found],
    }  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _row(score: Score) -> tuple[str, ...]:
    return (
        score.part, score.gpu, f"{score.n:,}", str(score.refused or ""), percent(score.mape),
        percent(score.median), percent(score.p90), _times(score.bias), _number(score.rank),
        percent(score.coverage), _range(*score.tolerance), _times(score.width),
        percent(score.failed) if score.refused else "",
    )  # fmt: skip


def _rivals(score: Score) -> list[str]:
    where = f"{score.part}: " if score.part else ""
    return [
        f"{where}{name}: {percent(theirs)} where ours is {percent(ours)} ({n:,} rows)"
        for name, (n, theirs, ours) in score.rivals.items()
    ]


def percent(share: float) -> str:
    """`8.4 %`; empty where there is no figure."""
    return f"{100 * share:.1f} %" if isfinite(share) else ""


def _range(low: float, high: float) -> str:
    """`59 to 94 %`: what coverage so few rows show by chance."""
    return f"{100 * low:.0f} to {100 * high:.0f} %" if isfinite(low) else ""


def _times(ratio: float) -> str:
    return f"x{ratio:.2f}" if isfinite(ratio) else ""


def _number(value: float) -> str:
    return f"{value:.2f}" if isfinite(value) else ""
