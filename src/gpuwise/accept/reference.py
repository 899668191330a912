"""What a card is held against: what its kind is known to reach, the last result, a file, a named GPU.

`data/reach.csv` holds, by GPU of the catalog, speeds of limits with their source. Where gpuwise measured
them they are the lowest of its own sessions, and a card below is refused: under their power limit good cards
differ by more than a tenth. Where others did, with their own program and the best of many shapes of matrix,
a slower card is only told so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import cast

from gpuwise import catalog, store
from gpuwise.accept.card import Lookup, Reference
from gpuwise.accept.speed import speeds
from gpuwise.catalog import tables
from gpuwise.errors import InputError, NoDataError
from gpuwise.model.gpu import Source
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.model.run import Environment, RunConfig
from gpuwise.model.workload import Precision

DATA = Path(__file__).with_name("data")


def lookup(against: str | None) -> Lookup:
    """How to find a card's references; nothing given means what its kind is known to reach.

    Raises InputError for what is neither result nor GPU, NoDataError for a GPU of which no reach is known.
    """
    if against is None:
        return lambda result: known(result.environment.gpu_id)
    if against == "last":
        kept = store.saved()
        return lambda result: _last(result, kept)
    path = _file(against)
    chosen = known(_gpu(against)) if path is None else (_of(store.load(path), path.name),)
    return lambda result: chosen


def known(gpu_id: str | None) -> tuple[Reference, ...]:
    """What a GPU of the catalog is known to reach; empty where nothing is."""
    return _reach().get(gpu_id or "", ())


def _gpu(name: str) -> str:
    spec = catalog.find(name)
    if not known(spec.id):
        raise NoDataError(
            f"nothing is known of what {spec.name} reaches",
            hint="gpuwise accept --against FILE, a result of a card that is known to be good",
        )
    return spec.id


def _file(against: str) -> Path | None:
    """The result file that is meant; None where none is called so."""
    try:
        return store.find(against)
    except NoDataError:
        return None


def _of(result: Result, name: str) -> Reference:
    if not speeds(result):
        raise InputError(f"{name} holds no speed to be held against", hint=f"gpuwise show {name}")
    return Reference(name=name, result=result)


def _last(result: Result, kept: tuple[Path, ...]) -> tuple[Reference, ...]:
    """The newest of the kept results that has a speed of the same device in common."""
    for path in reversed(kept):
        earlier = store.load(path)
        same = earlier.environment.device == result.environment.device
        if same and earlier.id != result.id and speeds(earlier).keys() & speeds(result).keys():
            return (Reference(name=path.name, result=earlier),)
    return ()


@cache
def _reach() -> Mapping[str, tuple[Reference, ...]]:
    """Every reference of the table, by GPU; one for each source."""
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


def _measurement(row: dict[str, str]) -> Measurement:
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
