"""The performance tables in the READMEs of NVIDIA's Deep Learning Examples.

    ##### Training performance: NVIDIA DGX A100 (8x A100 80GB)
    | **GPUs** | **Throughput - TF32** | **Throughput - mixed precision** | ... speedup ... |

A column with "throughput" in its name is a speed, unless it is a speedup or a scaling. Inference
tables have one column and the precision in their heading. GPU, system and purpose stand in the
headings above, the container in the sentence above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpuwise.facts.published import names
from gpuwise.facts.published.importers.figure import Figure, Origin, Skip, number
from gpuwise.facts.published.importers.markdown import PipeTable, tables

_SPEED = re.compile(r"throughput", re.IGNORECASE)
_NO_SPEED = re.compile(r"speed-?\s?up|scaling|ratio|x factor", re.IGNORECASE)
_PRECISION = re.compile(r"tf32|fp32|fp16|bf16|int8|mixed precision|\bamp\b|\bmixed\b", re.IGNORECASE)
_CONTAINER = re.compile(
    r"(?:([a-z0-9]+)[-:])?(\d\d\.\d\d)(?:-([a-z0-9]+))?-?(?:py3)?\s+NGC container", re.IGNORECASE
)
_UNIT = re.compile(
    r"(im(?:a)?ge?s?|sequences?|sentences?|tokens?|samples?|items?|frames?)\s*/", re.IGNORECASE
)
_ITEMS = {"im": "image", "seq": "sequence", "sen": "sequence", "tok": "token", "fra": "frame"}
_TITLE = re.compile(r"(.+?)\s+for\s+(\w[\w ]*)", re.IGNORECASE)
_SYSTEMS = (
    (r"DGX A100|DGX-A100", r"80\s?GB", "a100-sxm4-80gb"),
    (r"DGX A100|DGX-A100", r"40\s?GB", "a100-sxm4-40gb"),
    (r"DGX H100|DGX-H100", "", "h100-sxm5-80gb"),
    (r"DGX-?\s?1\b", r"16\s?GB?", "v100-sxm2-16gb"),
    (r"DGX-?\s?1\b", r"32\s?GB?", "v100-sxm2-32gb"),
)
"""NVIDIA's systems tell the form of their GPUs (its system guides): all of these hold SXM modules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """What stands around one table."""

    workload: str
    mode: str
    precision: str
    gpu: str
    gpu_id: str | None
    n_gpus: int | None
    framework: str
    software: str
    date: str


def recognises(text: str, name: str) -> bool:
    """Whether a table under a heading about performance has a column of speeds."""
    return any(_speeds(table) and _about_speed(table) for table in tables(text))


def read(text: str, origin: Origin) -> Iterator[Figure | Skip]:
    """Every figure of every such table."""
    lines = text.splitlines()
    for table in tables(text):
        columns = _speeds(table)
        if columns and _about_speed(table):
            around = _around(table, lines)
            for line, cells in table.rows:
                yield from _row(table, line, cells, columns, around)


def _row(
    table: PipeTable, line: int, cells: tuple[str, ...], columns: list[int], around: _Table
) -> Iterator[Figure | Skip]:
    if len(cells) != len(table.columns):
        yield Skip(line=line, reason=f"has {len(cells)} cells, the header {len(table.columns)}")
        return
    named = dict(zip((column.casefold() for column in table.columns), cells, strict=True))
    gpus = next((cell for column, cell in named.items() if "gpus" in column.split() or column == "gpu"), None)
    batch = next((cell for column, cell in named.items() if "batch" in column), "")
    length = next((cell for column, cell in named.items() if "sequence length" in column), "")
    for column in columns:
        if cells[column].strip().casefold() in ("", "-", "n/a", "na", "oom"):
            yield Skip(line=line, reason=f"no speed: {cells[column]!r}")
            continue
        own = _PRECISION.search(table.columns[column])
        yield Figure(
            line=line,
            throughput=cells[column],
            workload=_with_length(around.workload, length),
            mode=around.mode,
            item=_item(cells[column] + "/", table.columns[column]),
            stated=own[0].casefold() if own else around.precision,
            gpu=around.gpu,
            gpu_id=around.gpu_id,
            n_gpus=_count(gpus, around),
            batch_per_gpu=batch if re.fullmatch(r"\s*\d+\s*", batch) else None,
            framework=around.framework,
            software=around.software,
            date=around.date,
        )


def _count(gpus: str | None, around: _Table) -> object:
    """GPUs of one row: its own column, else one for inference, else what the heading says."""
    if gpus is not None and number(gpus) is not None:
        return number(gpus)
    return 1 if around.mode == "infer" else around.n_gpus


def _speeds(table: PipeTable) -> list[int]:
    return [i for i, name in enumerate(table.columns) if _SPEED.search(name) and not _NO_SPEED.search(name)]


def _about_speed(table: PipeTable) -> bool:
    return any(
        re.search("performance|throughput|latency", heading, re.IGNORECASE) for heading in table.headings
    )


def _around(table: PipeTable, lines: list[str]) -> _Table:
    """What headings, title and the text above say."""
    said = " / ".join(table.headings)
    own = table.headings[-1]
    title = _TITLE.match(table.headings[0])
    container = list(_CONTAINER.finditer("\n".join(lines[max(0, table.line - 60) : table.line])))
    found = next(reversed(container), None)
    precision = _PRECISION.search(own)
    gpu, gpu_id, count = _gpu(table.headings)
    return _Table(
        workload=_workload(title[1] if title else table.headings[0], said),
        mode="infer" if re.search("inference", said, re.IGNORECASE) else "train",
        precision=precision[0].casefold() if precision else "",
        gpu=gpu,
        gpu_id=gpu_id,
        n_gpus=count,
        framework=title[2].strip() if title else "",
        software=f"NGC {found[2]}" if found else "",
        date=f"20{found[2].replace('.', '-')}" if found else "",
    )


def _gpu(headings: tuple[str, ...]) -> tuple[str, str | None, int | None]:
    """(name, id, count) from the innermost heading that names a GPU or a system."""
    for heading in reversed(headings):
        for system, memory, gpu_id in _SYSTEMS:
            if re.search(system, heading) and re.search(memory, heading):
                name, _, count = names.gpu_in(heading)
                return name if len(name) < 40 else heading, gpu_id, count
        name, found, count = names.gpu_in(heading)
        # A name that is all of the heading is none: the heading speaks of no GPU.
        if found is not None or name != heading.strip():
            return name, found, count
    return "", None, None


def _workload(title: str, said: str) -> str:
    """The network of a README: BERT's holds several tasks, told apart by their headings."""
    if title.split()[0].casefold() != "bert":
        return title
    fine_tuning = re.search("fine-?tuning|squad", said, re.IGNORECASE)
    return "bert-large" if fine_tuning else "bert-large-pretrain"


def _with_length(workload: str, length: str) -> str:
    """Another sequence length is other work; the gates know two of BERT's."""
    size = number(length)
    if size is None or not workload.startswith("bert-large"):
        return workload
    return "bert-large" if size == 384 else f"bert-large-s{size:.0f}"


def _item(cell: str, column: str) -> str:
    found = _UNIT.search(cell) or _UNIT.search(column)
    if found is None:
        return "item"
    word = found[1].casefold()
    return next((item for start, item in _ITEMS.items() if word.startswith(start)), word.removesuffix("s"))
