"""What was measured of a cell on a GPU: in the user's store, and by the project (`data/measured.csv`).

Shown beside a prediction and never mixed with it: a measurement is of one machine and one build of software.
A measurement at a small batch does not answer for the best batch: a decode step of 8 sequences takes about as
long as one of 64. It does where the batch matters less than the prediction's own error.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpuwise import store
from gpuwise.errors import GpuwiseError
from gpuwise.model.result import Interval, Result
from gpuwise.model.run import RunConfig
from gpuwise.workloads import registry

MEASURED = Path(__file__).with_name("data") / "measured.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One measured step."""

    gpu_id: str
    cell: str
    """Its question, whosever kernels ran: predictions are of torch's."""
    batch: int
    version: int
    throughput: Interval
    where: str
    """The file that holds it."""


def known(config: RunConfig) -> Mapping[str, Known]:
    """GPU -> the fastest measurement of the configuration's cell, at its batch where it has one."""
    cell, version = config.key("batch", "kernels"), registry.get(config.workload).spec.version
    found: dict[str, Known] = {}
    for step in (*shipped(), *own()):
        if (step.cell, step.version) != (cell, version) or config.batch not in (None, step.batch):
            continue
        best = found.setdefault(step.gpu_id, step)
        if step.throughput.value > best.throughput.value:
            found[step.gpu_id] = step
    return found


@cache
def shipped() -> tuple[Known, ...]:
    """Steps that the project measured (`python -m evaluation.predict.steps`)."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        return tuple(_known(row) for row in csv.DictReader(file))


def _known(row: dict[str, str]) -> Known:
    value, low, high = (float(row[name]) for name in ("items_per_s", "low", "high"))
    return Known(
        gpu_id=row["gpu_id"], cell=row["cell"], batch=int(row["batch"]), version=int(row["version"]),
        throughput=Interval(value=value, low=low, high=high, method="measured"), where=row["file"],
    )  # fmt: skip


def answers(measured: Interval, there: Interval, best: Interval) -> bool:
    """Whether what was `measured` at one batch tells the speed at another, of which `there` and `best` are
    the predictions: where `best` gains less than its own error, or was reached already."""
    return best.value <= max(measured.value, there.value * best.high / best.value)


def own() -> tuple[Known, ...]:
    """Steps of the results in the store; a file that cannot be read is no measurement."""
    return tuple(step for path in store.saved() for step in _read(path, path.stat().st_mtime_ns))


@cache
def _read(path: Path, _: int) -> tuple[Known, ...]:
    try:
        return tuple(steps(store.load(path), path.name))
    except GpuwiseError:
        return ()


def steps(result: Result, where: str) -> Iterator[Known]:
    """The measured steps of networks in a result, of the framework that predictions are for."""
    gpu_id = result.environment.gpu_id
    for m in result.measurements if result.origin == "measured" and gpu_id is not None else ():
        step = m.config.framework == "torch" and m.config.mode in ("train", "infer")
        if step and m.status == "ok" and m.throughput is not None and m.batch:
            yield Known(
                gpu_id=str(gpu_id), cell=m.config.key("batch", "kernels"), batch=m.batch,
                version=m.workload_version, throughput=m.throughput, where=where,
            )  # fmt: skip
