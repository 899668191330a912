"""Summaries of suites: SuperBench's JSON lines, milabench's JSON or printed report.

SuperBench's results-summary.jsonl: one JSON object a line and node, every metric a key.

    {"node": "n1", "resnet_models/pytorch-resnet50/throughput_train_float16": 1830.2, ...}

Model throughputs are taken, in the old naming (throughput_train_float32) and the new
(fp32_train_throughput); a `:3` behind the name is the rank of an independent copy. SuperBench casts
the whole model for float16, and its float32 is TF32 unless --force_fp32. It reports one process, so a
figure without ranks is the speed of one GPU, also where several trained together.

milabench:

    {"resnet50": {"n": 1, "train_rate": {"mean": 212.2, ...}, "per_gpu": {"0": {"mean": 212.2}}}, ...}

    bench      | fail | n | ngpu |   perf | sem% | ...
    bert-fp16  |    0 | 8 |    1 | 155.08 |  0.3 | ...

With n > 1 it ran n independent copies, one a GPU, and `perf` is the mean of one; neither form
names the GPU. The precision stands in the benchmark's name (`bert-tf32-fp16`), or nowhere.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from gpuwise.errors import InputError
from gpuwise.facts.published import names
from gpuwise.facts.published.importers import Figure, Format, Origin, Skipped, number, skipped, whole

_METRIC = re.compile(
    r"(?:.*/)?(?:pytorch|tensorflow|onnxruntime|tensorrt)-(?P<model>[^/]{1,60})/"
    r"(?:throughput_(?P<mode>train|inference)_(?P<stated>[a-z0-9]+)"
    r"|(?P<stated2>[a-z0-9]+)_(?P<mode2>train|inference)_throughput)(?::(?P<rank>\d{1,4}))?"
)
_SUPERBENCH = re.compile(r"throughput_train_|_train_throughput")
# Networks that SuperBench takes from torchvision at 224 px; its BERT and GPT-2 are other work than ours
# (another head, another sequence length).
_TORCHVISION = re.compile(r"(resnet|vgg|densenet)\d+")


def _is_json(text: str) -> bool:
    return text.lstrip("\ufeff \r\n\t").startswith("{")


def superbench(text: str, origin: Origin) -> Iterator[Figure | Skipped]:
    """One figure a node, model, mode and precision."""
    for at, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            node = json.loads(line)
        except (ValueError, RecursionError):
            node = None
        if not isinstance(node, dict):
            yield skipped(at, "is not a JSON object")
            continue
        found: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
        for key, value in node.items():
            metric = _METRIC.fullmatch(key)
            if metric is not None:
                mode, stated = metric["mode"] or metric["mode2"], metric["stated"] or metric["stated2"]
                found[metric["model"], mode, stated].append(value)
        for (model, mode, stated), values in found.items():
            speeds = [speed for value in values if (speed := number(value)) is not None]
            if len(speeds) < len(values):
                yield skipped(at, f"{model} {mode} {stated}: a rank without a number")
                continue
            ours, copies = _TORCHVISION.fullmatch(model) is not None, len(speeds)
            yield Figure(
                line=at,
                throughput=sum(speeds),
                workload=model if ours else f"superbench-{model}",
                mode="train" if mode == "train" else "infer",
                item="image" if ours else "sample",
                stated=stated,
                n_gpus=copies,
                compiled=False,
                framework="PyTorch (SuperBench)",
                note=f"{copies} independent copies, one a GPU" if copies > 1 else "one process",
            )


_SUFFIX = re.compile(r"(.+?)-((?:tf32-)?(?:fp16|bf16|fp32|tf32))")
# Same work as ours: torchvision's networks at 224 px. `-noio` trains on images that are in memory.
_IMAGES = frozenset({"resnet50", "resnet50-noio", "resnet152"})


def milabench(text: str, origin: Origin) -> Iterator[Figure | Skipped]:
    """One figure a benchmark."""
    if not _is_json(text):
        yield from _milabench_report(text)
        return
    try:
        summary = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not a whole JSON document: {error}", hint="milabench summary FOLDER") from error
    # Lines where the quoted names stand first; looking each name up anew would take quadratic time.
    lines: dict[str, int] = {}
    for at, line in enumerate(text.splitlines(), start=1):
        for name in line.split('"')[1::2]:
            lines.setdefault(name, at)
    for name, bench in summary.items():
        line_number = lines.get(name, 1)
        rate = bench.get("train_rate") if isinstance(bench, dict) else None
        if not isinstance(rate, dict):
            yield skipped(line_number, f"{name[:40]}: no train_rate")
            continue
        per_gpu = bench.get("per_gpu")
        copies = per_gpu.values() if isinstance(per_gpu, dict) else ()
        means = [number(copy.get("mean")) for copy in copies if isinstance(copy, dict)]
        speeds = [mean for mean in means if mean is not None]
        several = len(speeds) > 1
        yield _of_milabench(
            line_number, name, sum(speeds) if several else rate.get("mean"), len(speeds) if several else 1
        )


def _milabench_report(text: str) -> Iterator[Figure | Skipped]:
    found = _report_header(text)
    if found is None:
        raise InputError("holds no milabench report", hint="milabench report, or its summary.json")
    start, columns = found
    for at, line in enumerate(text.splitlines()[start:], start=start + 1):
        cells = _report_cells(line)
        # Rules between rows, and rows without the name of a benchmark.
        nameless = len(cells) == len(columns) - 1 and columns[0] == "bench"
        if not cells or nameless or set(line.strip()) <= set("-=| +"):
            continue
        if len(cells) != len(columns):
            yield skipped(at, f"has {len(cells)} cells, the header {len(columns)}")
            continue
        row = dict(zip(columns, cells, strict=True))
        copies, gpus, speed = whole(row["n"]), whole(row.get("ngpu", "1")), number(row["perf"])
        if copies is None or gpus is None or speed is None:
            yield skipped(at, f"{row['bench'][:40]}: no run succeeded")
            continue
        yield _of_milabench(at, row["bench"], speed * copies, copies * gpus)


def _report_header(text: str) -> tuple[int, list[str]] | None:
    """(lines up to and with it, columns) of the report's header."""
    for at, line in enumerate(text[:200_000].splitlines(), start=1):
        cells = _report_cells(line)
        if {"fail", "n", "perf", "sem%"} <= set(cells):
            return at, cells if cells[0] == "bench" else ["bench", *cells]
    return None


def _report_cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if "|" in line else line.split()


def _of_milabench(line: int, name: str, speed: object, gpus: int) -> Figure:
    found = _SUFFIX.fullmatch(name)
    workload = name.removesuffix("-noio") if name in _IMAGES else f"milabench-{found[1] if found else name}"
    inputs = "images in memory" if name.endswith("-noio") else "with its input pipeline"
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
        note=f"{gpus} GPUs: independent copies, or one job; {inputs}" if gpus > 1 else inputs,
    )


SUPERBENCH = Format(lambda text: _is_json(text) and _SUPERBENCH.search(text) is not None, superbench)
MILABENCH = Format(
    lambda text: (_is_json(text) and '"train_rate"' in text) or _report_header(text) is not None, milabench
)
