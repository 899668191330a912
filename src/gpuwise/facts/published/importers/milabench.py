"""milabench's summary JSON and its printed report.

    {"resnet50": {"n": 1, "train_rate": {"mean": 212.2, ...}, "per_gpu": {"0": {"mean": 212.2}}}, ...}

    bench      | fail | n | ngpu |   perf | sem% | ...
    bert-fp16  |    0 | 8 |    1 | 155.08 |  0.3 | ...

With n > 1 it ran n independent copies, one a GPU, and `perf` is the mean of one; neither form
names the GPU. The precision stands in the benchmark's name (`bert-tf32-fp16`), or nowhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuwise.errors import InputError
from gpuwise.facts.published import names
from gpuwise.facts.published.importers.figure import Figure, Origin, Skip, number, whole

_SUFFIX = re.compile(r"(.+?)-((?:tf32-)?(?:fp16|bf16|fp32|tf32))")
_IMAGES = frozenset({"resnet50", "resnet50-noio", "resnet152"})
"""Same work as ours: torchvision's networks at 224 px. `-noio` trains on images that are in memory."""


def recognises(text: str, name: str) -> bool:
    """Whether it is a summary with train rates or a printed report."""
    start = text.lstrip("\ufeff \r\n\t")
    return (start.startswith("{") and '"train_rate"' in text) or _header(text) is not None


def read(text: str, origin: Origin) -> Iterator[Figure | Skip]:
    """One figure a benchmark."""
    if text.lstrip("\ufeff \r\n\t").startswith("{"):
        yield from _summary(text)
    else:
        yield from _report(text)


def _summary(text: str) -> Iterator[Figure | Skip]:
    try:
        summary = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"is no whole JSON document: {error}", hint="milabench summary FOLDER") from error
    lines = text.splitlines()
    for name, bench in summary.items():
        line = next((at for at, found in enumerate(lines, start=1) if f'"{name}"' in found), 1)
        rate = bench.get("train_rate") if isinstance(bench, dict) else None
        if not isinstance(rate, dict):
            yield Skip(line=line, reason=f"{name[:40]}: no train_rate")
            continue
        speeds = _per_gpu(bench)
        if len(speeds) > 1:
            yield _figure(line, name, sum(speeds), len(speeds))
        else:
            yield _figure(line, name, rate.get("mean"), 1)


def _per_gpu(bench: Mapping[str, Any]) -> list[float]:
    """Mean rate of every GPU that ran its own copy."""
    rates = bench.get("per_gpu")
    means = (
        [rate.get("mean") for rate in rates.values() if isinstance(rate, dict)]
        if isinstance(rates, dict)
        else []
    )
    return [speed for mean in means if (speed := number(mean)) is not None]


def _report(text: str) -> Iterator[Figure | Skip]:
    found = _header(text)
    if found is None:
        raise InputError("holds no milabench report", hint="milabench report, or its summary.json")
    start, columns = found
    for at, line in enumerate(text.splitlines()[start:], start=start + 1):
        cells = _cells(line)
        if len(cells) == len(columns) - 1 and columns[0] == "bench":
            cells = []
        row = dict(zip(columns, cells, strict=False))
        if not cells or set(line.strip()) <= set("-=| +"):
            continue
        if len(cells) != len(columns):
            yield Skip(line=at, reason=f"has {len(cells)} cells, the header {len(columns)}")
            continue
        copies, gpus, speed = whole(row["n"]), whole(row.get("ngpu", "1")), number(row["perf"])
        if copies is None or gpus is None or speed is None:
            yield Skip(line=at, reason=f"{row['bench'][:40]}: no run succeeded")
            continue
        yield _figure(at, row["bench"], speed * copies, copies * gpus)


def _header(text: str) -> tuple[int, list[str]] | None:
    """(lines up to and with it, columns) of the report's header."""
    for at, line in enumerate(text[:200_000].splitlines(), start=1):
        cells = _cells(line)
        if {"fail", "n", "perf", "sem%"} <= set(cells):
            return at, cells if cells[0] == "bench" else ["bench", *cells]
    return None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if "|" in line else line.split()


def _figure(line: int, name: str, speed: object, gpus: int) -> Figure:
    found = _SUFFIX.fullmatch(name)
    workload = name.removesuffix("-noio") if name in _IMAGES else f"milabench-{found[1] if found else name}"
    notes = [f"{gpus} GPUs: independent copies, or one job" if gpus > 1 else ""]
    notes.append("images in memory" if name.endswith("-noio") else "with its input pipeline")
    stated = found[2] if found else ""
    return Figure(
        line=line,
        throughput=speed,
        workload=workload,
        mode="train",
        item="image" if name in _IMAGES else "item",
        stated=stated,
        # A name like bert-fp32 means IEEE arithmetic: milabench has a tf32 one beside it.
        precision=names.precision_of(stated) if found else "?",
        n_gpus=gpus,
        framework="PyTorch (milabench)",
        note="; ".join(note for note in notes if note),
    )
