"""What operators of other cards say of bandwidth and of fp32 convolutions, beside those of the H200.

    python -m evaluation.predict.older DATA_FOLDER/ops

Files: `op_kernelbench.csv.gz` (element-wise problems, read and written once), `op_neusight_eager.csv.gz`
(the same, and random 3 x 3 convolutions), `op_deepbench.csv.gz` (convolutions of published networks). Of each
card it prints the median share of the stated bandwidth, and of fp32 convolutions the median of measured over
predicted, by kind. `rates.GENERAL` has the bandwidths by family ("stream"), and the means over cards of what
convolutions take before Ampere ("window", most of them Winograd's method, and "point").
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from gpuwise.errors import GpuwiseError
from gpuwise.predictor.card import Card, card
from gpuwise.predictor.kernels import Kernel, arrays
from gpuwise.predictor.rates import usual
from gpuwise.predictor.step import kernel_seconds

Row = Mapping[str, str]
LEAST_S, LEAST_BYTES = 60e-6, 100e6
"""Below it a launch is seen, or a cache."""
NAMES = {"V100": "v100-sxm2-16gb", "NVIDIA A800-SXM4-40GB": "a100-sxm4-40gb", "Tesla P4": "Tesla P4"}
"""Cards that the catalog names otherwise; an A800 is an A100 with a slower link."""
PASSES = {"forward": "", "backward_input": "_backward:input", "backward_weight": "_backward:weight"}


def rows(path: Path) -> Iterator[tuple[Row, Card]]:
    """The rows of a file whose card can be predicted."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            try:
                yield row, card(NAMES.get(row["gpu"], row["gpu"]))
            except GpuwiseError:
                continue


def streams(folder: Path) -> Iterator[tuple[Card, float]]:
    """(card, share of bandwidth) of what reads one tensor and writes another."""
    for row, own in rows(folder / "op_kernelbench.csv.gz"):
        if row["mode"] == "eager" and row["op_class"] == "pointwise":
            moved = 8.0 * max(math.prod(shape) for shape in json.loads(row["input_shapes"] or "[[0]]"))
            if moved > LEAST_BYTES:
                yield own, moved / (1e-3 * float(row["time_ms"])) / own.bytes_per_s
    for row, own in rows(folder / "op_neusight_eager.csv.gz"):
        if row["op"] in ("relu", "gelu", "tanh"):
            moved, seconds = 8.0 * float(row["batch"]) * float(row["hidden"]), 1e-3 * float(row["time_ms"])
            if moved > LEAST_BYTES / 3:
                yield own, moved / seconds / own.bytes_per_s


def convolutions(folder: Path) -> Iterator[tuple[str, Card, Kernel, float]]:
    """(kind, card, kernel, seconds) in fp32, which is not TF32 on these cards."""
    for row, own in rows(folder / "op_deepbench.csv.gz"):
        if row["op"] != "conv2d" or row["precision"] != "fp32":
            continue
        sizes = [int(float(row[name])) for name in ("batch", "in_channels", "out_channels")]
        high, wide, tall, broad = (int(float(row[name])) for name in ("in_h", "in_w", "kernel_h", "kernel_w"))
        steps = [int(float(row[f"stride_{side}"])) for side in "hw"]
        pads = [int(float(row[f"pad_{side}"])) for side in "hw"]
        yield (
            kind_of(tall, broad, steps[0], row["pass"]),
            own,
            *timed(row, sizes, (high, wide), (tall, broad), steps, pads, row["pass"]),
        )
    for row, own in rows(folder / "op_neusight_eager.csv.gz"):
        if row["op"] == "conv" and own.family in ("Pascal", "Volta", "Turing"):
            sizes = [int(float(row[name])) for name in ("batch", "in_channels", "out_channels")]
            side, window, step, pad = (
                int(float(row[name])) for name in ("in_size", "kernel", "stride", "padding")
            )
            yield (
                kind_of(window, window, step, "forward"),
                own,
                *timed(row, sizes, (side, side), (window, window), (step, step), (pad, pad), "forward"),
            )


def kind_of(high: int, wide: int, step: int, direction: str) -> str:
    if (high, wide, step) == (3, 3, 1):
        return f"winograd {direction}"
    return f"{'point' if high == wide == 1 else 'other'} {direction}, stride {step}"


def timed(
    row: Row, sizes: Sequence[int], image: Sequence[int], window: Sequence[int], steps: Sequence[int],
    pads: Sequence[int], direction: str,
) -> tuple[Kernel, float]:  # fmt: skip
    """One convolution of channels-first images, and what it took."""
    images, channels, outputs = sizes
    out = [(i + 2 * p - w) // s + 1 for i, p, w, s in zip(image, pads, window, steps, strict=True)]
    x, y = (4.0 * images * n * math.prod(size) for n, size in ((channels, image), (outputs, out)))
    w = 4.0 * channels * outputs * math.prod(window)
    reads, writes = {"forward": (x + w, y), "backward_input": (y + w, x), "backward_weight": (x + y, w)}[
        direction
    ]
    return Kernel(
        kind="convolution", name=f"aten.convolution{PASSES[direction]}:nchw", dtype="fp32",
        shape=(images, channels, *image, outputs, *window, steps[0], 1, *out),
        flop=2.0 * images * outputs * channels * math.prod(window) * math.prod(out), bytes_read=reads,
        bytes_written=writes, phase="forward" if direction == "forward" else "backward",
    ), 1e-3 * float(row["time_ms"])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    shares: dict[Card, list[float]] = defaultdict(list)
    for own, share in streams(folder):
        shares[own].append(share)
    for own, found in sorted(shares.items(), key=lambda item: item[0].id):
        print(f"{own.id:20} {own.family:14} {len(found):5} rows, share of bandwidth {np.median(found):.2f}")
    cases: dict[tuple[str, Card], list[tuple[Kernel, float]]] = defaultdict(list)
    for kind, own, kernel, seconds in convolutions(folder):
        if seconds > LEAST_S and min(kernel.shape) > 0:
            cases[kind, own].append((kernel, seconds))
    means: dict[str, list[float]] = defaultdict(list)
    for (kind, own), known in sorted(cases.items(), key=lambda item: (item[0][0], item[0][1].id)):
        predicted = kernel_seconds(arrays([kernel for kernel, _ in known]), own, usual(own))
        ratios = np.log(np.array([seconds for _, seconds in known]) / predicted)
        means[kind.split()[0]].append(float(np.median(ratios)))
        print(
            f"{kind:30} {own.id:20} {len(known):5} rows, measured / predicted {np.exp(np.median(ratios)):.2f}"
        )
    for kind, medians in means.items():
        print(f"{kind}: {np.exp(np.mean(medians)):.2f} of {len(medians)} cards and passes")


if __name__ == "__main__":
    main()
