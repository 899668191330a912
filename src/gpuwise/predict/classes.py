"""Classes of kernels, and what was measured of each of them on one card, against physics that every card
shares.

    t = launch x latency + ((arithmetic x A)^p + (vector x V)^p + (memory x M)^p)^(1/p)

    arithmetic   seconds of the matrix units by the model of tiles (`time.product_seconds`, attention)
    vector       seconds in which each lane of the vector units handles one element, or one multiply-add of a
                 convolution that matrix units do not compute
    memory       seconds of its bytes at the bandwidth that copies reach, from L2 where they fit there

A, V, M and the number of latencies are data (`data/classes.csv`), fitted on single operators that were timed
(`workloads.operators`, `python -m evaluation.predict.classes`). A class is a path from the general to the
special: what was never measured has the values of the most special part of its path that was. How far kernels
scatter around their class, and how much wider those scatter that only share a part of the path, is what makes
an interval know what is new (`novelty`).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpuwise.model.trace import Kernel

Array = NDArray[np.float64]
DATA = Path(__file__).with_name("data") / "classes.csv"
HALF = frozenset({"bf16", "fp16"})
FULL = frozenset({"fp32", "tf32"})
# Channels up to which an image is a picture: libraries have kernels of their own for the first layer.
PICTURE = 4
# Elements of a row of 16 bits that a load of 16 bytes takes: rows of other lengths have slower kernels.
ALIGNED = 8
# Windows from which direct convolutions are limited by arithmetic, as a name.
WINDOWS = ((3, "small"), (5, "medium"), (7, "large"))
# Dimensions from which finding the place of an element takes longer than moving it.
DEEP = 5
# Channels of a group up to which libraries have kernels of their own, as a name.
GROUPS = ((8, "tiny"), (32, "narrow"))
LIBRARY = frozenset({"matmul", "convolution", "attention"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is known of one class."""

    arithmetic: float
    vector: float
    memory: float
    latency: float
    spread: float
    """Standard deviation of log(measured / fitted) of kernels that are not among those fitted."""
    rows: int


def path(kernel: Kernel, *, compiled: bool) -> tuple[str, ...]:
    """The class of a kernel, from the general to the special."""
    parts: list[str]
    if kernel.kind == "convolution" and len(kernel.shape) == 11:
        parts = _convolution(kernel, compiled=compiled)
    elif kernel.kind == "matmul":
        parts = _product(kernel)
    elif kernel.kind == "attention":
        masked = [part for part in ("masked",) if f":{part}" in kernel.name]
        fused = "efficient" if "_efficient" in kernel.name else "flash"
        parts = [fused, "backward" if "_backward" in kernel.name else "forward", *masked, _width(kernel)]
    elif compiled and kernel.phase != "optimiser":
        # Generated code: its name says which operators it replaces, not how it runs.
        return ("compiled", f"compiled {kernel.kind}")
    else:
        parts = kernel.name.removeprefix("aten.").replace("_:", ":").rstrip("_").split(":")
        if parts[-1] == "strided" and sum(size > 1 for size in kernel.shape) >= DEEP:
            parts.append("deep")
        parts.append(_width(kernel))
    return (kernel.kind, *(" ".join((kernel.kind, *parts[: i + 1])) for i in range(len(parts))))


def _width(kernel: Kernel) -> str:
    if "batch_norm" in kernel.name and kernel.dtype == "fp16":
        return "full"  # cuDNN's, as in fp32; of bf16 torch has its own
    return "half" if kernel.dtype in HALF else kernel.dtype if kernel.kind in LIBRARY else "full"


def _convolution(kernel: Kernel, *, compiled: bool) -> list[str]:
    _, channels, _, _, outputs, high, wide, _, groups, *_ = kernel.shape
    suffixes = kernel.name.split(":")[1:]
    direction = next((part for part in ("input", "weight") if part in suffixes), "forward")
    window = max(high, wide)
    special = [part for part in suffixes if part in ("1d", "3d", "transposed")]
    if groups > 1:
        size = next((word for most, word in WINDOWS if window <= most), "huge")
        each = channels // groups
        width = "odd" if each % ALIGNED else next((word for most, word in GROUPS if each <= most), "wide")
        what = [f"depthwise {size}" if groups == channels else f"grouped {width}"]
    elif channels <= PICTURE:
        what = ["picture"]
    elif channels % ALIGNED or outputs % ALIGNED:
        what = ["odd"]
    else:
        what = ["point" if window == 1 else "window"]
    # A compiler brings images to channels last once for a whole network; lines and volumes have no such
    # order.
    first = "1d" in special or "3d" in special or ("nchw" in suffixes and not compiled)
    layout = "nchw" if first else "nhwc"
    return [" ".join((*what, *special)), direction, f"{layout} {_width(kernel)}"]


def _product(kernel: Kernel) -> list[str]:
    if "_rnn" in kernel.name:
        return ["recurrent", "step" if kernel.name.endswith(":step") else "rows", _width(kernel)]
    if len(kernel.shape) != 4:
        return [_width(kernel)]
    batch, m, n, k = kernel.shape
    # Rows of the first operand are as long as k, or as m where a gradient of weights is summed over k.
    rows = max(power_of_two(m), power_of_two(k)) if kernel.phase == "backward" else power_of_two(k)
    aligned = min(power_of_two(n), rows)
    form = "grouped" if "grouped" in kernel.name else "batched" if batch > 1 else "single"
    return [_width(kernel), form, "aligned" if aligned >= ALIGNED else f"by {aligned}"]


def power_of_two(size: int) -> int:
    """The largest one that divides it, up to `ALIGNED`: whole loads of 16 bytes need no more."""
    return min(ALIGNED, size & -size)


@cache
def table() -> Mapping[str, Measured]:
    """Class -> what was measured of it."""
    with DATA.open(encoding="utf-8", newline="") as file:
        return {
            row.pop("class"): Measured(rows=int(row.pop("rows")), **{k: float(v) for k, v in row.items()})
            for row in csv.DictReader(file)
        }


def known(steps: Sequence[str]) -> Measured:
    """The most special class of a path that was measured."""
    found = table()
    return next((found[name] for name in reversed(steps) if name in found), found["any"])


@dataclass(frozen=True, slots=True)
class Classes:
    """The classes of kernels as arrays."""

    arithmetic: Array
    vector: Array
    memory: Array
    latency: Array
    spread: Array
    which: NDArray[np.intp]
    """A number for each class: kernels of one class err together."""


def factors(kernels: Sequence[Kernel], measured: Mapping[str, float], *, compiled: bool) -> Array:
    """What an owned card's own measurements say of each kernel: the factor on its predicted time of the most
    special class of its path that is among `measured`, else 1."""
    paths = (path(kernel, compiled=compiled) for kernel in kernels)
    return np.array([next((measured[n] for n in reversed(p) if n in measured), 1.0) for p in paths])


def of_kernels(kernels: Sequence[Kernel], *, compiled: bool) -> Classes:
    """What was measured of the class of each kernel."""
    found = [known(path(kernel, compiled=compiled)) for kernel in kernels]
    numbers: dict[int, int] = {}
    which = [numbers.setdefault(id(each), len(numbers)) for each in found]

    def column(name: str) -> Array:
        return np.array([getattr(each, name) for each in found], dtype=float)

    return Classes(
        arithmetic=column("arithmetic"), vector=column("vector"), memory=column("memory"),
        latency=column("latency"), spread=column("spread"), which=np.array(which, dtype=np.intp),
    )  # fmt: skip
