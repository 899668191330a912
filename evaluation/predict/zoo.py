"""Score predictions on the zoo (`results/zoo`) by the function that `gpuwise predict` calls.

    python -m evaluation.predict.zoo results/zoo --split held [--traces FOLDER]

Networks are traced with the libraries that measured them (timm, torchvision, transformers: versions in each
folder's `environment.json`); `--traces` keeps the traces. Prints each row's error, then mean and median error
of time, share of rows inside the 80 % interval, and errors of peak memory. `seen` families were used to fit
classes and the host's costs; those `held`, a third of all, were not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import random
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gpuwise.errors import GpuwiseError, NoDataError
from gpuwise.model.trace import Trace
from gpuwise.predict.card import card
from gpuwise.predict.recorder import record
from gpuwise.predict.step import CUBLAS_WORKSPACE, fits_in_memory, step
from gpuwise.predict.trace import About, trace_of

GPU = "h200-sxm"
Row = Mapping[str, Any]


DRAW = "families of the zoo, 2026-11-23, second draw"
"""Seed of the third of all families that nothing was fitted to."""


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
    held = random.Random(DRAW).sample(families, round(len(families) / 3))
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", choices=("seen", "held", "all"), default="seen")
    parser.add_argument("--traces", type=Path)
    parser.add_argument("--quiet", action="store_true", help="only the summary")
    asked = parser.parse_args()
    errors, inside, memory, untraced = [], [], [], 0
    for row in rows(asked.folder, asked.split):
        found = kept(row, asked.traces)
        if found is None:
            untraced += 1
            continue
        try:
            predicted = step(found, card(GPU))
        except NoDataError as refused:
            print(f"{row['key']}: {refused}", file=sys.stderr)
            untraced += 1
            continue
        speed = found.items / row["step_s"]
        errors.append(predicted.seconds / row["step_s"])
        inside.append(predicted.throughput.low <= speed <= predicted.throughput.high)
        kept_there = row["mode"] == "infer" and row["after_training"]
        need = fits_in_memory(found, card(GPU), more=CUBLAS_WORKSPACE["hopper"] if kept_there else 0.0)
        if need is not None and row.get("peak"):
            memory.append(need.peak.value / row["peak"]["allocated"])
        if not asked.quiet:
            print(f"{row['key']:60} {1e3 * row['step_s']:9.2f} ms  x{errors[-1]:.2f}")
    times, peaks = (np.abs(np.array(values) - 1.0) for values in (errors, memory))
    print(
        f"{asked.split}: {len(times)} rows, {untraced} refused; time {times.mean():.1%} in the mean, "
        f"{np.median(times):.1%} in the median; {np.mean(inside):.0%} inside 80 %; "
        f"memory {np.median(peaks):.1%} in the median, 95 % within {np.quantile(peaks, 0.95):.1%}"
    )


if __name__ == "__main__":
    main()
