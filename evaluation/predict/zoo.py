"""Score predictions on a zoo of one card (`results/zoo`, `results/zoo-h100`) by what `gpuwise predict` calls.

    python -m evaluation.predict.zoo results/zoo --split held [--calibrated] [--traces FOLDER]

Networks are traced with the libraries that measured them (timm, torchvision, transformers: versions in
each run's `environment.json`, as the GPU); another version is another network now and then, so it is named.
`--traces` keeps the traces. Prints each row's error, then
of all rows and of each source and mode the mean and median error of time, the share of rows inside the 80 %
interval, and errors of peak memory. `seen` families were used to fit classes and the host's costs; those
`held` were not. `--calibrated` predicts with the file that `gpuwise calibrate` kept on that machine before
the rows were measured; machines without one are left out.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.predictor import rates
from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Trace
from gpuwise.predictor.recorder import record
from gpuwise.predictor.step import CUBLAS_WORKSPACE, fits_in_memory, step, workspace_bytes
from gpuwise.predictor.trace import About, trace_of

Row = Mapping[str, Any]


DRAW, HELD = "pre, thirteenth draw, 2026-11-28 21:30", 1 / 3
"""Seed of the families that nothing was fitted to since: of all zoos those whose hash is below this share."""
OWN = frozenset({"resnet", "inception", "bert", "vision_transformer", "llama"})
"""Families of the project's own steps, which are always fitted to: drawn or not, they are seen."""
HANDLES = 2
"""Of cuBLAS in a process that trained: one a thread."""


def rows(folder: Path, split: str) -> Iterator[Row]:
    """The rows that were measured of a split: `seen`, `held` or `all`."""
    for path in sorted(folder.glob("*/zoo.jsonl.gz")):
        about = json.loads((path.parent / "environment.json").read_text(encoding="utf-8"))
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found = [row for row in map(json.loads, lines) if "error" not in row]
        launch_s = rates.steady([row["launch_s"] for row in found])
        more = {"gpu": card(about["device"]).id, "run": path.parent.name, "run_launch_s": launch_s}
        more |= {"cleared": about.get("cleared", False), "machine": f"{folder.name}/{path.parent.name}"}
        more["libraries"] = {name: about.get(name, "") for name in ("timm", "torchvision", "transformers")}
        more["calibration"] = next(folder.glob(f"calibration-{more['gpu']}.json"), None)
        for row in found:
            if split == "all" or held(row["family"]) == (split == "held"):
                yield {**row, **more}


def held(family: str) -> bool:
    """Whether nothing is fitted to a family."""
    drawn = hashlib.sha256(f"{DRAW} {family}".encode()).digest()[0] / 256 < HELD
    return drawn and family not in OWN


@contextmanager
def calibrated(row: Row) -> Iterator[None]:
    """Predictions as after `gpuwise calibrate` on the machine of a row, which kept a file."""
    with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, GPUWISE_HOME=home):
        place = rates.file_of(row["gpu"])
        place.parent.mkdir()
        shutil.copy(row["calibration"], place)
        rates.forget()
        yield
    rates.forget()


@cache
def note_version(library: str, measured: str) -> None:
    """Say once that a library of networks is not the one that was measured."""
    if (here := version(library)) != measured:
        print(f"networks of {library} {here}, measured with {measured}", file=sys.stderr)


def trace(row: Row) -> Trace:
    """The step of a row, as `experiments/zoo.py` ran it."""
    library = row["source"].replace("hf", "transformers")
    if library in row["libraries"]:
        note_version(library, row["libraries"][library])
    sys.path.append(str(Path(__file__).parents[2] / "experiments"))
    # Modules of experiments/, which are no package.
    zoo: Any = import_module("zoo")
    zoo_networks: Any = import_module("zoo_networks")
    network = zoo_networks.find(row["network"])
    names = ("network", "mode", "precision", "batch")
    asked = zoo.Row(**{name: row[name] for name in names}, compiled=False)
    matmul, convolved = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32

    def build() -> tuple[Any, float]:
        with torch.device("cuda"):
            model = network.make().to("cuda")
        job = zoo.job_of(asked, network, model, "cuda")
        return job.step, float(row["batch"])

    try:
        about = About(
            workload=row["network"], version=1, mode=row["mode"], precision=row["precision"], item="item"
        )
        made = record(build, compiled=row["compiled"])
        return trace_of(made, about, batch=row["batch"], compiled=row["compiled"])
    finally:
        torch.set_float32_matmul_precision(matmul)
        torch.backends.cudnn.allow_tf32 = convolved


def kept(row: Row, folder: Path | None) -> Trace | None:
    """The trace of a row, from the folder where it is there; None where it cannot be traced."""
    path = folder / (row["key"].replace("/", "_").replace(":", "_") + ".pkl") if folder else None
    if path is not None and path.exists():
        found: Trace | None = pickle.loads(path.read_bytes())
        return found
    try:
        made = trace(row)
    except (GpuwiseError, RuntimeError) as error:
        print(f"{row['key']}: {str(error)[:120]}", file=sys.stderr)
        return None
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(made))
    return made


@dataclass(frozen=True, slots=True)
class Scored:
    """A row beside its prediction: seconds with their interval, and bytes."""

    row: Row
    seconds: float
    low: float
    high: float
    peaks: Sequence[float]
    """Of memory, as many as are possible."""

    @property
    def error(self) -> float:
        """Of time, as a share."""
        return float(abs(self.seconds / self.row["step_s"] - 1.0))

    @property
    def inside(self) -> bool:
        """Whether the measured time lies in the interval."""
        return bool(self.low <= self.row["step_s"] <= self.high)

    @property
    def peak_error(self) -> float | None:
        """Of the peak of memory, as a share."""
        measured = self.row["peak"]["allocated"] if self.peaks else 1.0
        return min((abs(peak / measured - 1.0) for peak in self.peaks), default=None)


def scored(
    folder: Path, split: str, traces: Path | None, *, calibrate: bool = False
) -> tuple[list[Scored], int]:
    """Every row of a split as `gpuwise predict` has it, and how many were refused; `calibrate`: after
    `gpuwise calibrate` on the machine that measured it, where its file was kept."""
    found, refused = list[Scored](), 0
    for row in rows(folder, split):
        if calibrate and not row["calibration"]:
            continue
        made, own = kept(row, traces), card(row["gpu"])
        try:
            if made is None:
                raise NoDataError(f"{row['key']} is not traced")
            with calibrated(row) if calibrate else nullcontext():
                predicted = step(made, own)
        except NoDataError as why:
            print(f"{row['key']}: {why}", file=sys.stderr)
            refused += 1
            continue
        speed = predicted.throughput
        found.append(
            Scored(row, predicted.seconds, made.items / speed.high, made.items / speed.low, peaks(row, made))
        )
    return found, refused


def peaks(row: Row, made: Trace) -> Sequence[float]:
    """Bytes that the step may take. Networks were measured in turn by few processes, and what an earlier one
    took for cuBLAS's handles of either thread was still there, unless the script gave it back."""
    need = fits_in_memory(made, card(row["gpu"])) if row.get("peak") else None
    if need is None:
        return ()
    one = CUBLAS_WORKSPACE["hopper"]
    left = 0 if row["cleared"] else HANDLES - round(workspace_bytes(made) / one)
    return [need.peak.value + n * one for n in range(left + 1)]


def summary(found: Sequence[Scored]) -> str:
    """Errors of time and memory, and coverage."""
    times = np.array([one.error for one in found])
    sizes = [one.peak_error for one in found if one.peak_error is not None]
    return (
        f"{len(times)} rows: time {times.mean():.1%} in the mean, {np.median(times):.1%} in the median; "
        f"{np.mean([one.inside for one in found]):.0%} inside 80 %; "
        f"memory {np.median(sizes):.1%} in the median, 95 % within {np.quantile(sizes, 0.95):.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", choices=("seen", "held", "all"), default="seen")
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--calibrated", action="store_true", help="as after calibrate on each row's machine")
    parser.add_argument("--quiet", action="store_true", help="only the summary")
    asked = parser.parse_args()
    found, refused = scored(asked.folder, asked.split, asked.traces, calibrate=asked.calibrated)
    for one in found if not asked.quiet else ():
        print(
            f"{one.row['key']:60} {1e3 * one.row['step_s']:9.2f} ms  x{one.seconds / one.row['step_s']:.2f}"
        )
    print(f"{asked.split}, {refused} refused: {summary(found)}")
    for name in ("source", "mode"):
        for value in sorted({one.row[name] for one in found}):
            print(f"{value}: {summary([one for one in found if one.row[name] == value])}")


if __name__ == "__main__":
    main()
