"""Throughput of one to eight of each card, by forecast, with the share of what as many alone would reach."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwise.model.record import Record
from gpuwise.model.units import percent
from gpuwise.show import known
from gpuwise.show.article.duel import Duel, short
from gpuwise.show.page import Section
from gpuwise.show.table import Table
from gpuwise.show.work import COUNTS, SCALED, Kind, of_kind


def several(duel: Duel) -> Section:
    """A row for each kind of work and number of GPUs that both, or one, can do."""
    rows = [row for kind in SCALED for row in _rows(duel, kind)]
    if not rows:
        return Section(id="several", title="On several GPUs")
    columns = ("GPUs", *(name for s in duel.both for name in (s.name, f"{short(s)} of linear")))
    table = Table(
        columns=("kind of work", *columns),
        rows=tuple(rows),
        numeric=frozenset(columns),
        notes=(
            f"forecasts {duel.cited.mark(known.FORECAST)}, 80 %: one machine, each GPU with the whole batch",
        ),
    )
    return Section(id="several", title="On several GPUs", tables=(table,))


def _rows(duel: Duel, kind: Kind) -> Iterator[tuple[str, ...]]:
    alone = [of_kind(kind, spec.id, duel.forecasts) for spec in duel.both]
    for count in COUNTS[1:]:
        together = [of_kind(kind, spec.id, duel.forecasts, count) for spec in duel.both]
        cells = [text for one, all_ in zip(alone, together, strict=True) for text in _cells(one, all_, count)]
        if any(cells):
            yield (kind.title, str(count), *(text or "-" for text in cells))


def _cells(one: Record | None, together: Record | None, count: int) -> tuple[str, str]:
    """Speed of all, and its share of linear."""
    alone = known.forecast_speed(one) if one is not None else None
    speed = known.forecast_speed(together) if together is not None else None
    if alone is None or speed is None:
        return "", ""
    return known.shown(speed), percent(speed.throughput.value / (count * alone.throughput.value), 0)
