"""CSV files whose names say half: timm's, a line a model, and Lambda's, a line a machine.

timm (pytorch-image-models, `benchmark.py`): device, precision, layout and versions stand in the name,
`benchmark-train-amp-nhwc-pt112-cu113-rtx3090.csv`, with `-dynamo` for a compiled run.

    model,train_samples_per_sec,train_step_time,train_batch_size,train_img_size,param_count
    resnet50,1210.5,423.0,512,224,25.56

Lambda (lambdal/deeplearning-benchmark): the precision stands in the name (`...-fp16.csv`); "fp32" ran with
TF32 on GPUs that have it. The same repository keeps batch sizes in the same form (`...-bs-...csv`).

    ,ssd,bert_large_squad,resnet50
    2xA100_PCIe_v2,600.0,210.0,2400.0
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from gpuwise.errors import InputError
from gpuwise.facts.published import names
from gpuwise.facts.published.importers import Figure, Format, Origin, Skipped, number, skipped, whole

_TIMM_HEADER = re.compile(r"\ufeff?model,(?:[^\n]*,)?(?:infer_|train_)?samples_per_sec\b")
_TIMM_NAME = re.compile(
    r"benchmark-(?:infer|train)-(?P<stated>[a-z0-9_]+)-(?P<layout>nchw|nhwc)-pt(?P<torch>\d+)-(?P<cuda>cu\d+)"
    r"-(?P<gpu>[a-z0-9_]+?)(?P<dynamo>-dynamo)?\.csv",
    re.IGNORECASE,
)
# Image size at which our workloads and most published figures run.
_USUAL_SIZE = {"inception-v3": 299, "efficientnet-b4": 380}
_SIZE = 224


def timm(text: str, origin: Origin) -> Iterator[Figure | Skipped]:
    """One figure a line and mode."""
    stated, gpu, compiled, versions = _said_by_name(origin.name)
    lines = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    columns = lines.fieldnames or []
    modes = [prefix for prefix in ("train_", "infer_", "") if f"{prefix}samples_per_sec" in columns]
    if "model" not in columns or not modes:
        raise InputError(
            f"{origin.name} lacks the columns model and samples_per_sec", hint="import timm's benchmark-*.csv"
        )
    for row in lines:
        if None in row or None in row.values():
            yield skipped(lines.line_num, "has not as many cells as the header")
            continue
        network = row["model"].split(".")[0]
        usual = _USUAL_SIZE.get(names.workload_id(network), _SIZE)
        for prefix in modes:
            size = whole(row.get(f"{prefix}img_size"))
            yield Figure(
                line=lines.line_num,
                throughput=row[f"{prefix}samples_per_sec"],
                # Another image size is other work: it must not stand in one table with the usual one.
                workload=network if size in (None, usual) else f"{network} {size} px",
                mode="train" if prefix == "train_" else "infer",
                item="image",
                stated=stated,
                gpu=gpu,
                gpu_id=names.gpu_id_of(gpu),
                n_gpus=1,
                batch_per_gpu=row.get(f"{prefix}batch_size"),
                compiled=compiled,
                framework="PyTorch (timm)",
                versions=versions,
                note=f"{size} px" if size is not None else "",
            )


def _said_by_name(name: str) -> tuple[str, str, bool | None, str]:
    """(precision, GPU, compiled, versions) of all lines of a timm file."""
    found = _TIMM_NAME.search(name)
    if found is None:
        return "", "", None, ""
    label = re.sub(r"(?<=[a-z])(?=\d)|(?<=\d)(?=maxq)", " ", found["gpu"].casefold())
    candidates = (label, f"rtx {label}", f"rtx {label} blackwell max q")
    gpu = next((known for known in candidates if names.gpu_id_of(known)), label)
    digits = found["torch"]
    # pt112 is 1.12, pt240 is 2.4.0: version 1 had no patch number in these names.
    torch = f"1.{digits[1:]}" if digits[0] == "1" else ".".join(digits)
    versions = f"torch {torch} {found['cuda']} {found['layout'].lower()}"
    return found["stated"].lower(), gpu, found["dynamo"] is not None, versions


_ITEMS = {
    "ssd": "image",
    "maskrcnn": "image",
    "resnet50": "image",
    "bert_base_squad": "sequence",
    "bert_large_squad": "sequence",
    "gnmt": "token",
    "ncf": "sample",
    "tacotron2": "mel frame",
    "transformerxlbase": "token",
    "transformerxllarge": "token",
    "waveglow": "audio sample",
}
_COUNTED_WRONG = "from 8 fast GPUs on, the script counted more BERT samples than it processed"


def _is_lambda(text: str) -> bool:
    """Whether the header has an empty first cell and at least two of Lambda's networks."""
    head = text[:4096].splitlines()
    cells = head[0].strip().split(",") if head else []
    return len(cells) > 2 and not cells[0].strip() and len(_ITEMS.keys() & set(cells)) >= 2


def lambda_(text: str, origin: Origin) -> Iterator[Figure | Skipped]:
    """Every cell that holds a speed; a zero means that the run failed."""
    if re.search(r"(^|[-_])bs([-_.]|$)", origin.name):
        raise InputError(
            f"{origin.name} holds batch sizes, not speeds", hint="import the train-throughput file"
        )
    lines = csv.reader(io.StringIO(text))
    columns = [column.strip() for column in next(lines, [])]
    precision = re.search(r"(fp16|fp32|amp|bf16)", origin.name.casefold())
    for cells in lines:
        if not any(cells):
            continue
        if len(cells) != len(columns):
            yield skipped(lines.line_num, f"has {len(cells)} cells, the header {len(columns)}")
            continue
        gpu, gpu_id, count = names.gpu_in(cells[0])
        for column, cell in zip(columns[1:], cells[1:], strict=True):
            if number(cell) == 0:
                yield skipped(lines.line_num, f"{column}: no figure (0)")
                continue
            yield Figure(
                line=lines.line_num,
                throughput=cell,
                workload=column,
                mode="train",
                item=_ITEMS.get(column, "item"),
                stated=precision[1] if precision else "",
                gpu=gpu,
                gpu_id=gpu_id,
                n_gpus=count or 1,
                compiled=False,
                framework="PyTorch",
                note=_COUNTED_WRONG if column.startswith("bert") and (count or 1) >= 8 else "",
            )


TIMM = Format(lambda text: _TIMM_HEADER.match(text[:4096]) is not None, timm)
LAMBDA = Format(_is_lambda, lambda_)
