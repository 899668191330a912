"""Score predictions on the zoo (`results/zoo`) by the function that `gpuwise predict` calls.

    python -m evaluation.predict.zoo results/zoo --split held [--traces FOLDER]

Networks are traced with the libraries that measured them (timm, torchvision, transformers: versions in each
folder's `environment.json`); `--traces` keeps the traces. Prints each row's error, then mean and median error
of time, share of rows inside the 80 % interval, and errors of peak memory. `seen` families were used to fit
classes and the host's costs; those `held` were not.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import pickle
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.model.trace import Trace
from gpuwise.predict import rates
from gpuwise.predict.card import card
from gpuwise.predict.recorder import record
from gpuwise.predict.step import CUBLAS_WORKSPACE, Evidence, fits_in_memory, step
from gpuwise.predict.trace import About, trace_of

GPU = "h200-sxm"
Row = Mapping[str, Any]


DRAW = "families of the zoo, 2026-11-23, fourth draw"
"""Seed of the families that nothing is fitted to: in the order of their hashes, until they have
`HELD` of the rows."""
HELD = 0.25
OWN = frozenset({"resnet", "inception", "bert", "vision_transformer", "llama"})
"""Families of the project's own steps, which are always fitted to: drawn or not, they are seen."""
LAUNCH_S = 7e-6
"""The bare launch for which the host's seconds hold."""


def rows(folder: Path, split: str) -> Iterator[Row]:
    """The rows that were measured of a split: `seen`, `held` or `all`."""
    found: list[Row] = []
    for path in sorted(folder.glob("*/zoo.jsonl.gz")):
        trained: set[str] = set()
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in (row for row in map(json.loads, lines) if "error" not in row):
                # The rows of a network share a process, where what training took for a library stays.
                found.append({**row, "after_training": row["network"] in trained})
                if row["mode"] == "train":
                    trained.add(row["network"])
    families = sorted({row["family"] for row in found})
    families.sort(key=lambda family: hashlib.sha256(f"{DRAW} {family}".encode()).digest())
    held, count = set[str](), 0
    while count < HELD * len(found):
        held.add(families[len(held)])
        count = sum(row["family"] in held for row in found)
    held -= OWN
    yield from (row for row in found if split == "all" or (row["family"] in held) == (split == "held"))


def trace(row: Row) -> Trace:
    """The step of a row, as `experiments/zoo.py` ran it."""
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
            model = network.make()
        job = zoo.job_of(asked, network, model, "cuda")
        return job.step, float(row["batch"])

    try:
        about = About(
            workload=row["network"], version=1, mode=row["mode"], precision=row["precision"], item="item"
        )
        return trace_of(record(build), about, batch=row["batch"], compiled=row["compiled"])
    finally:
        torch.set_float32_matmul_precision(matmul)
        torch.backends.cudnn.allow_tf32 = convolved


def kept(row: Row, folder: Path | None) -> Trace | None:
    """The trace of a row, from the folder where it is there; None where it cannot be traced."""
    path = folder / (row["key"].replace("/", "_").replace(":", "_") + ".pkl") if folder else None
    if path is not None and path.exists():
        found: Trace | None = pickle.loads(path.read_bytes())
        return found
    made: Trace | None = None
    try:
        made = trace(row)
    except (GpuwiseError, RuntimeError) as error:
        print(f"{row['key']}: {str(error)[:120]}", file=sys.stderr)
    if path is not None:
        path.write_bytes(pickle.dumps(made))
    return made


@dataclass(frozen=True, slots=True)
class Scored:
    """A row beside its prediction: seconds with their interval, and bytes."""

    row: Row
    seconds: float
    low: float
    high: float
    peak: float | None

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
        return abs(self.peak / self.row["peak"]["allocated"] - 1.0) if self.peak else None


def scored(
    folder: Path, split: str, traces: Path | None, *, calibrated: bool = False
) -> tuple[list[Scored], int]:
    """Every row of a split as `gpuwise predict` has it, and how many were refused; `calibrated`: on a host
    whose bare launch was measured beside the row, as `gpuwise calibrate` measures it."""
    found, refused = list[Scored](), 0
    own = card(GPU)
    for row in rows(folder, split):
        made = kept(row, traces)
        try:
            if made is None:
                raise NoDataError(f"{row['key']} is not traced")
            evidence: Evidence = "calibrated" if calibrated else "spec-only"
            on = dict(rates.general())
            if calibrated:
                on["host"] += rates.HOST["power"] * log(row["launch_s"] / LAUNCH_S)
            predicted = step(made, own, parameters=on if calibrated else None, evidence=evidence)
        except NoDataError as why:
            print(f"{row['key']}: {why}", file=sys.stderr)
            refused += 1
            continue
        # A process that trained before has a workspace of its backward pass yet.
        more = CUBLAS_WORKSPACE["hopper"] if row["mode"] == "infer" and row["after_training"] else 0.0
        need = fits_in_memory(made, own, more=more) if row.get("peak") else None
        speed = predicted.throughput
        found.append(
            Scored(
                row, predicted.seconds, made.items / speed.high, made.items / speed.low,
                need.peak.value if need else None,
            )
        )  # fmt: skip
    return found, refused


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", choices=("seen", "held", "all"), default="seen")
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--calibrated", action="store_true", help="with the bare launch of each row's host")
    parser.add_argument("--quiet", action="store_true", help="only the summary")
    asked = parser.parse_args()
    found, refused = scored(asked.folder, asked.split, asked.traces, calibrated=asked.calibrated)
    for one in found if not asked.quiet else ():
        print(
            f"{one.row['key']:60} {1e3 * one.row['step_s']:9.2f} ms  x{one.seconds / one.row['step_s']:.2f}"
        )
    times = np.array([one.error for one in found])
    peaks = np.array([one.peak_error for one in found if one.peak_error is not None])
    print(
        f"{asked.split}: {len(times)} rows, {refused} refused; time {times.mean():.1%} in the mean, "
        f"{np.median(times):.1%} in the median; {np.mean([one.inside for one in found]):.0%} inside 80 %; "
        f"memory {np.median(peaks):.1%} in the median, 95 % within {np.quantile(peaks, 0.95):.1%}"
    )


if __name__ == "__main__":
    main()
