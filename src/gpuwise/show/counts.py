"""Speeds by number of GPUs: a row a network and precision, a column a count, as articles print them."""

from __future__ import annotations

from dataclasses import replace

from gpuwise.model.result import Measurement, Result
from gpuwise.show.results import cell_name, speed
from gpuwise.show.table import Table


def counts(result: Result) -> Table | None:
    """The table of all networks; None where fewer than two were measured, or none on several GPUs."""
    networks = [m for m in result.measurements if m.config.mode in ("train", "infer")]
    columns = sorted({m.config.gpus for m in networks})
    rows: dict[str, dict[int, Measurement]] = {}
    for m in networks:
        rows.setdefault(cell_name(replace(m.config, gpus=1, nodes=1)), {})[m.config.gpus] = m
    if len(columns) < 2 or len({m.config.workload for m in networks}) < 2:
        return None
    names = tuple(f"{count} GPU" if count == 1 else f"{count} GPUs" for count in columns)
    return Table(
        title="By number of GPUs",
        columns=("measurement", *names),
        rows=tuple(
            (name, *(speed(found[count]) if count in found else "" for count in columns))
            for name, found in rows.items()
        ),
        numeric=frozenset(names),
    )
