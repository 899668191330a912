"""Lambda's wide CSV (lambdal/deeplearning-benchmark): one line a machine, one column a network.

    ,ssd,bert_large_squad,resnet50
    2xA100_PCIe_v2,600.0,210.0,2400.0

The precision stands in the file's name only (`...-fp16.csv`); "fp32" ran with TF32 on GPUs that
have it. The same repository keeps batch sizes in the same form (`...-bs-...csv`): those are no speeds.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from gpuwise.errors import InputError
from gpuwise.facts.published import names
from gpuwise.facts.published.importers.figure import Figure, Origin, Skip, number

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


def recognises(text: str, name: str) -> bool:
    """Whether the header has an empty first cell and at least two of Lambda's networks."""
    head = text[:4096].splitlines()
    cells = head[0].strip().split(",") if head else []
    return len(cells) > 2 and not cells[0].strip() and len(_ITEMS.keys() & set(cells)) >= 2


def read(text: str, origin: Origin) -> Iterator[Figure | Skip]:
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
            yield Skip(line=lines.line_num, reason=f"has {len(cells)} cells, the header {len(columns)}")
            continue
        yield from _row(lines.line_num, cells, columns, precision[1] if precision else "")


def _row(line: int, cells: list[str], columns: list[str], stated: str) -> Iterator[Figure | Skip]:
    gpu, gpu_id, count = names.gpu_in(cells[0])
    for column, cell in zip(columns[1:], cells[1:], strict=True):
        if number(cell) == 0:
            yield Skip(line=line, reason=f"{column}: no figure (0)")
            continue
        yield Figure(
            line=line,
            throughput=cell,
            workload=column,
            mode="train",
            item=_ITEMS.get(column, "item"),
            stated=stated,
            gpu=gpu,
            gpu_id=gpu_id,
            n_gpus=count or 1,
            compiled=False,
            framework="PyTorch",
            note=_COUNTED_WRONG if column.startswith("bert") and (count or 1) >= 8 else "",
        )
