"""timm's benchmark CSV (pytorch-image-models, `benchmark.py`): one line a model.

    model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count
    resnet50,1210.5,423.0,512,224,25.56

Device, precision, layout and versions stand in the file's name only:
`benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv`, with `-dynamo` for a compiled run.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpuwise.errors import InputError
from gpuwise.facts.published import names
from gpuwise.facts.published.importers.figure import Figure, Origin, Skip, whole

_NAME = re.compile(
    r"benchmark-(?:infer|train)-(?P<stated>[a-z0-9_]+)-(?P<layout>nchw|nhwc)-pt(?P<torch>\d+)-(?P<cuda>cu\d+)"
    r"-(?P<gpu>[a-z0-9_]+?)(?P<dynamo>-dynamo)?\.csv",
    re.IGNORECASE,
)
_USUAL_SIZE = {"inception-v3": 299, "efficientnet-b4": 380}
_SIZE = 224
"""Image size at which our workloads and most published figures run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What the file's name says of all its lines."""

    stated: str = ""
    gpu: str = ""
    gpu_id: str | None = None
    compiled: bool | None = None
    software: str = ""


def recognises(text: str, name: str) -> bool:
    """Whether the header has timm's columns."""
    return re.match(r"\ufeff?model,(?:[^\n]*,)?(?:infer_|train_)?samples_per_sec\b", text[:4096]) is not None


def read(text: str, origin: Origin) -> Iterator[Figure | Skip]:
    """One figure a line and mode."""
    run = _run(origin.name)
    lines = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    columns = lines.fieldnames or []
    modes = [prefix for prefix in ("train_", "infer_", "") if f"{prefix}samples_per_sec" in columns]
    if "model" not in columns or not modes:
        raise InputError(
            f"{origin.name} lacks the columns model and samples_per_sec", hint="import timm's benchmark-*.csv"
        )
    for row in lines:
        if None in row or None in row.values():
            yield Skip(line=lines.line_num, reason="has not as many cells as the header")
            continue
        for prefix in modes:
            yield _figure(lines.line_num, row, prefix, run)


def _figure(line: int, row: dict[str, str], prefix: str, run: _Run) -> Figure:
    network, size = row["model"].split(".")[0], whole(row.get(f"{prefix}img_size"))
    workload = names.workload_id(network)
    usual = _USUAL_SIZE.get(workload, _SIZE)
    # Another image size is other work: it must not stand in one table with the usual one.
    other = size is not None and size != usual
    return Figure(
        line=line,
        throughput=row[f"{prefix}samples_per_sec"],
        workload=f"{network} {size} px" if other else network,
        mode="train" if prefix == "train_" else "infer",
        item="image",
        stated=run.stated,
        gpu=run.gpu,
        gpu_id=run.gpu_id,
        n_gpus=1,
        batch_per_gpu=row.get(f"{prefix}batch_size"),
        compiled=run.compiled,
        framework="PyTorch (timm)",
        software=run.software,
        note=f"{size} px" if size is not None else "",
    )


def _run(name: str) -> _Run:
    found = _NAME.search(name)
    if found is None:
        return _Run()
    label = re.sub(r"(?<=[a-z])(?=\d)|(?<=\d)(?=maxq)", " ", found["gpu"].casefold())
    candidates = (label, f"rtx {label}", f"rtx {label} blackwell max q")
    gpu = next((name for name in candidates if names.gpu_id_of(name)), label)
    digits = found["torch"]
    # pt112 is 1.12, pt240 is 2.4.0: version 1 had no patch number in these names.
    torch = f"1.{digits[1:]}" if digits[0] == "1" else ".".join(digits)
    software = f"torch {torch} {found['cuda']} {found['layout'].lower()}"
    return _Run(
        stated=found["stated"].lower(),
        gpu=gpu,
        gpu_id=names.gpu_id_of(gpu),
        compiled=found["dynamo"] is not None,
        software=software,
    )
