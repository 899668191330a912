"""An article's Markdown table: network x precision, one column for each number of GPUs.

    | Neural Network | Precision | 1 GPU | 2 GPUs | 4 GPUs |
    | --- | --- | --- | --- | --- |
    | ResNet50 | FP16 | 812.5 | 1601 | 3150 |
    |          | FP32 | 405   | 800  | 1580 |

An empty network repeats the one above. GPU, batch sizes and date come from the text around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from gpuwise.facts.published import names
from gpuwise.facts.published.importers.figure import Figure, Origin, Skip
from gpuwise.facts.published.importers.markdown import PipeTable, tables

_GPUS = re.compile(r"(\d{1,4})\s*x?\s*gpus?", re.IGNORECASE)
_TITLE = re.compile(r"^(?:title:\s*\"?|#\s+)(.{1,200}?)\"?\s*$", re.MULTILINE)
_PUBLISHED = re.compile(r"^datePublished:\s*\w{3} (\w{3} \d{1,2} \d{4})", re.MULTILINE)
_BATCH = re.compile(r"\b(FP16|FP32|TF32|BF16)\b[^.|\n]{0,80}?batch size of (\d{1,6})", re.IGNORECASE)


def recognises(text: str, name: str) -> bool:
    """Whether a table's header names a network, a precision and numbers of GPUs."""
    return any(_layout(table) is not None for table in tables(text))


def read(text: str, origin: Origin) -> Iterator[Figure | Skip]:
    """The figures of every table of this form."""
    gpu, gpu_id = _gpu(text)
    batches = {found[1].casefold(): found[2] for found in _BATCH.finditer(text)}
    for table in tables(text):
        layout = _layout(table)
        if layout is None:
            continue
        network = ""
        for line, cells in table.rows:
            network = cells[0] or network
            stated = cells[1] if len(cells) > 1 else ""
            if len(cells) != len(table.columns):
                yield Skip(line=line, reason=f"has {len(cells)} cells, the header {len(table.columns)}")
                continue
            for column, count in layout.items():
                yield Figure(
                    line=line,
                    throughput=cells[column],
                    workload=network,
                    mode="train",
                    item="image",
                    stated=stated,
                    gpu=gpu,
                    gpu_id=gpu_id,
                    n_gpus=count,
                    batch_per_gpu=batches.get(stated.casefold()),
                    framework="TensorFlow" if "tf_cnn_benchmarks" in text else "",
                    software="tf_cnn_benchmarks" if "tf_cnn_benchmarks" in text else "",
                    date=_date(text),
                )


def _layout(table: PipeTable) -> dict[int, int] | None:
    """Column -> number of GPUs, or None where the table has another form."""
    head = [column.casefold() for column in table.columns[:2]]
    if len(head) < 2 or not re.search("network|model", head[0]) or "precision" not in head[1]:
        return None
    counts = {i: _GPUS.fullmatch(column) for i, column in enumerate(table.columns)}
    layout = {i: int(found[1]) for i, found in counts.items() if found is not None}
    return layout or None


def _gpu(text: str) -> tuple[str, str | None]:
    """(name, id) of the GPU that the title names; empty where it names none."""
    for title in _TITLE.finditer(text):
        name, gpu_id, _ = names.gpu_in(re.split(r"[:?!]| - ", title[1])[0])
        if gpu_id is not None:
            return name, gpu_id
    return "", None


def _date(text: str) -> str:
    found = _PUBLISHED.search(text)
    try:
        return datetime.strptime(found[1], "%b %d %Y").date().isoformat() if found else ""
    except ValueError:
        return ""
