"""What GPUs of the catalog are known to reach: `data/reach.csv`, each figure with its source.

Where gpuwise measured, a row has the lowest and the highest of its sessions (`question` says which speed of a
session). A card below the lowest by more than the margin is refused, and none is refused for as little as the
sessions differ: 1 - lowest / highest. Where others measured, with their own program and the best of many
shapes of matrix, a slower card is only told so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import cast

from gpuwise.facts import catalog
from gpuwise.facts.catalog import tables
from gpuwise.judge.accept.card import Reference
from gpuwise.judge.accept.question import Question, question
from gpuwise.model.gpu import Source
from gpuwise.model.precision import Precision
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.model.run import Environment, RunConfig

DATA = Path(__file__).with_name("data")


def known(gpu_id: str | None) -> tuple[Reference, ...]:
    """What a GPU is known to reach, one reference for each source; empty where nothing is."""
    return _references().get(gpu_id or "", ())


def allowed(gpu_id: str | None, asked: Question, margin: float) -> float:
    """How much slower a card may be: the margin, or more where good cards of its kind differ by more."""
    return max(margin, _spreads().get((gpu_id or "", asked), 0.0))


@cache
def _spreads() -> Mapping[tuple[str, Question], float]:
    """By GPU and question, the share by which sessions on good cards differ."""
    return {
        (row["gpu_id"], question(_measurement(row))): 1 - float(row["per_s"]) / float(row["most"])
        for row in tables.rows(DATA / "reach.csv")
        if row["most"]
    }


@cache
def _references() -> Mapping[str, tuple[Reference, ...]]:
    sources = tables.read_sources(DATA / "sources.csv")
    rows: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in tables.rows(DATA / "reach.csv"):
        rows[row["gpu_id"], row["source"]].append(row)
    found: dict[str, tuple[Reference, ...]] = defaultdict(tuple)
    for (gpu_id, source), own in rows.items():
        found[gpu_id] += (_stated(gpu_id, sources[source], own),)
    return found


def _stated(gpu_id: str, source: Source, rows: list[dict[str, str]]) -> Reference:
    name = catalog.get(gpu_id).name
    result = Result(
        id=f"reach-{gpu_id}",
        origin="published",
        created_at=source.read_on,
        command="",
        environment=Environment(device=name, gpu_id=gpu_id),
        measurements=tuple(_measurement(row) for row in rows),
        source=source.title,
    )
    return Reference(
        name=f"the known reach of {name} ({source.title})", result=result, same_code=source.kind == "measured"
    )


def _measurement(row: Mapping[str, str]) -> Measurement:
    value = float(row["per_s"])
    config = RunConfig(
        workload=row["workload"], mode="limit", precision=cast("Precision", row["precision"])
    )  # the data test holds this column to the precisions
    return Measurement(
        config=config,
        workload_version=int(row["version"]),
        status="ok",
        item=row["item"],
        started_at="",
        throughput=Interval(value=value, low=value, high=value, level=None, method="stated"),
    )
