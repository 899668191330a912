"""Fit gpuwise's own decoding kernels: `python -m evaluation.predict.decoding results [--ship]`.

Steps of one sequence of Llama 3.1 8B at 2,048 tokens, by the kernels as they are, on an H100 and an H200. Of
the products a share of the bandwidth and a start are common, instructions are each format's. Attention and
what is beside the layers have the times of a profile of the H100 (`experiments/decode-ways.json`). Each card
is scored by what the other says.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

import click
import numpy as np
from scipy.optimize import least_squares

from gpuwise.model.precision import Precision
from gpuwise.predictor import decoding, kernels
from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Measured
from gpuwise.predictor.rates import usual
from gpuwise.predictor.step import kernel_seconds
from gpuwise.workloads.llm import SHAPES, Decoding

FILES = {
    "h100-sxm": ("h100/llama-8b-decode-early.json",),
    "h200-sxm": tuple(f"h200/llama-8b-decode-{name}.json" for name in ("early", "step", "step-2")),
}
"""Of several files with a format the last one counts."""
EARLIER = {("h100-sxm", precision) for precision in (Precision.INT4, Precision.FP8, Precision.INT8)}
"""Measured before the whole step was one kernel, and not since."""
SPREAD, LONELY = 0.06, 0.2
"""Of a format that both cards have, and of others."""
PROFILED = {"decode.attend": (1.03, 1.5), "decode.join": (1.0, 1.06), "decode.choose": (1.0, 30.0)}
"""Factors on memory and launch. Of the last also position, embedding and the next token's row."""
PRIORS = {"memory": (0.95, 0.1), "latency": (1.5, 0.5), "vector": (4.0, 1.0)}
Row = tuple[str, Precision, float]


def read(folder: Path) -> Iterator[Row]:
    """GPU, format and seconds of each step."""
    found: dict[tuple[str, Precision], float] = {}
    for gpu, file in ((gpu, file) for gpu, files in FILES.items() for file in files):
        for m in json.loads((folder / file).read_text(encoding="utf-8"))["measurements"]:
            if m["status"] == "ok" and m["config"]["switches"]["decode"] == "triton":
                found[gpu, Precision(m["config"]["precision"])] = 1.0 / m["throughput"]["value"]
    return ((*key, seconds) for key, seconds in found.items() if key not in EARLIER)


def table(x: np.ndarray, formats: Sequence[Precision]) -> dict[str, Measured]:
    """Classes of these parameters: memory, latency, then the instructions of each format."""
    memory, latency, *vectors = np.exp(x)

    def one(vector: float, spread: float) -> Measured:
        return Measured(arithmetic=1.0, vector=vector, memory=memory, latency=latency, spread=spread, rows=1)

    found = {f"decode.stream:{p}": one(v, SPREAD) for p, v in zip(formats, vectors, strict=True)}
    found["any"] = found["decode"] = one(float(np.median(vectors)), LONELY)
    for name, (share, launches) in PROFILED.items():
        found[name] = Measured(arithmetic=1.0, vector=0.1, memory=share, latency=launches, spread=0.1, rows=1)
    return found


def seconds(row: Row, classes: dict[str, Measured]) -> float:
    """Of a step, predicted."""
    gpu, precision, _ = row
    asked = Decoding(model=SHAPES["llm-8b"], step="decode")
    trace = decoding.step(asked, workload="llm-8b-decode", version=1, precision=precision)
    with mock.patch.object(kernels, "table", return_value=classes):
        arrays = kernels.arrays(trace.kernels, compiled=True)
    return float(arrays.counts @ kernel_seconds(arrays, card(gpu), usual(card(gpu))))


def fit(rows: Sequence[Row], formats: Sequence[Precision]) -> dict[str, Measured]:
    """The classes that these steps say."""
    prior = [PRIORS["memory"], PRIORS["latency"], *[PRIORS["vector"]] * len(formats)]
    usual_, width = np.log([p[0] for p in prior]), np.array([p[1] for p in prior])

    def errors(x: np.ndarray) -> np.ndarray:
        classes = table(x, formats)
        off = [np.log(seconds(row, classes) / row[2]) / 0.02 for row in rows]
        return np.array([*off, *((x - usual_) / width)])

    return table(least_squares(errors, usual_).x, formats)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--ship", is_flag=True, help="Write what predictions use.")
def command(folder: Path, ship: bool) -> None:
    """Score each card by the other's steps, then fit to both."""
    rows = list(read(folder))
    formats = sorted({precision for _, precision, _ in rows})
    whole = fit(rows, formats)
    left_out = {gpu: fit([row for row in rows if row[0] != gpu], formats) for gpu in {row[0] for row in rows}}
    for row in rows:
        other, own = seconds(row, left_out[row[0]]), seconds(row, whole)
        click.echo(f"{row[0]:9} {row[1]:6} {1 / row[2]:6.1f} tokens/s, left out {row[2] / other - 1:+6.1%}, "
                   f"fitted {row[2] / own - 1:+6.1%}")  # fmt: skip
    if ship:
        with kernels.OWN.open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(("class", "arithmetic", "vector", "memory", "latency", "spread", "rows"))
            for name, c in sorted((name, c) for name, c in whole.items() if name != "any"):
                each = (c.arithmetic, c.vector, c.memory, c.latency, c.spread)
                out.writerow((name, *(f"{value:.3g}" for value in each), c.rows))


if __name__ == "__main__":
    command()
