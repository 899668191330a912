r"""Pipe tables of Markdown texts: articles, and the READMEs of NVIDIA's Deep Learning Examples.

An article's table has networks and precisions, one column for each number of GPUs; an empty network repeats
the one above. GPU, batch sizes and date come from the text around it.

    | Neural Network | Precision | 1 GPU | 2 GPUs | 4 GPUs |
    | --- | --- | --- | --- | --- |
    | ResNet50 | FP16 | 812.5 | 1601 | 3150 |
    |          | FP32 | 405   | 800  | 1580 |

In NVIDIA's READMEs a column with "throughput" in its name is a speed, unless it is a speedup or a scaling.
Inference tables have one column and the precision in their heading. GPU, system and purpose stand in the
headings above, the container in the sentence above.

    ##### Training performance: NVIDIA DGX A100 (8x A100 80GB)
    | **GPUs** | **Throughput - TF32** | **Throughput - mixed precision** | ... speedup ... |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from gpuwise.facts.published import names
from gpuwise.facts.published.importers import Figure, Format, Origin, Skipped, number, skipped
from gpuwise.model.workload import Mode

_RULE = re.compile(r"\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_MARKS = re.compile(r"[*`]+|<[^>]{0,80}>")
_GPUS = re.compile(r"(\d{1,4})\s*x?\s*gpus?", re.IGNORECASE)
_PUBLISHED = re.compile(r"^datePublished:\s*\w{3} (\w{3} \d{1,2} \d{4})", re.MULTILINE)
_BATCH = re.compile(r"\b(FP16|FP32|TF32|BF16)\b[^.|\n]{0,80}?batch size of (\d{1,6})", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipeTable:
    """One table: plain cells, rows as long as the file has them."""

    line: int
    """Line of the header, counted from 1."""
    headings: tuple[str, ...]
    """Headings above it, the outermost first."""
    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    """(line, cells)"""


def pipe_tables(text: str) -> Iterator[PipeTable]:
    """Every pipe table of `text`, in its order.

    A Markdown library would cut rows with too many cells, which are reported here.
    """
    lines = text.splitlines()
    headings: dict[int, str] = {}
    at = 0
    while at < len(lines):
        level = len(lines[at]) - len(lines[at].lstrip("#"))
        below = lines[at + 1].strip() if at + 1 < len(lines) and "|" in lines[at] else ""
        if 1 <= level <= 6 and lines[at][level : level + 1].isspace():
            said = _plain(lines[at][level:].strip().rstrip("#"))
            headings = {k: v for k, v in headings.items() if k < level} | {level: said}
        # The length is bounded, so that no input is slow.
        elif "|" in below and len(below) < 2_000 and _RULE.fullmatch(below):
            columns, rows = _cells(lines[at]), []
            for index in range(at + 2, len(lines)):
                if "|" not in lines[index]:
                    break
                rows.append((index + 1, _cells(lines[index])))
            above = tuple(headings[level] for level in sorted(headings))
            yield PipeTable(line=at + 1, headings=above, columns=columns, rows=tuple(rows))
            at += 1 + len(rows)
        at += 1


def _plain(text: str) -> str:
    """A cell or heading without bold, code and HTML marks."""
    return " ".join(_MARKS.sub("", text).replace("\\|", "|").split())


def _cells(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return tuple(_plain(cell) for cell in re.split(r"(?<!\\)\|", inner))


def article(text: str, origin: Origin) -> Iterator[Figure | Skipped]:
    """The figures of every table of this form."""
    # The first title that names one GPU says whose figures these are.
    starts = ("title:", "# ")
    titles = (line.split(" ", 1)[-1].strip(' "') for line in text.splitlines() if line.startswith(starts))
    named = (names.gpu_in(re.split(r"[:?!]| - ", title[:200])[0])[:2] for title in titles)
    gpu, gpu_id = next((pair for pair in named if pair[1] is not None), ("", None))
    batches = {found[1].casefold(): found[2] for found in _BATCH.finditer(text)}
    script = "tf_cnn_benchmarks" if "tf_cnn_benchmarks" in text else ""
    published = _PUBLISHED.search(text)
    try:
        date = datetime.strptime(published[1], "%b %d %Y").date().isoformat() if published else ""
    except ValueError:
        date = ""
    for table in pipe_tables(text):
        counts = _gpu_columns(table)
        network = ""
        for line, cells in table.rows if counts else ():
            network = cells[0] or network
            stated = cells[1] if len(cells) > 1 else ""
            if len(cells) != len(table.columns):
                yield skipped(line, f"has {len(cells)} cells, the header {len(table.columns)}")
                continue
            for column, count in counts.items():
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
                    framework="TensorFlow" if script else "",
                    versions=script,
                    date=date,
                )


def _gpu_columns(table: PipeTable) -> dict[int, int]:
    """Column -> number of GPUs; empty where the table has another form."""
    head = [column.casefold() for column in table.columns[:2]]
    if len(head) < 2 or not re.search("network|model", head[0]) or "precision" not in head[1]:
        return {}
    found = {i: _GPUS.fullmatch(column) for i, column in enumerate(table.columns)}
    return {i: int(count[1]) for i, count in found.items() if count is not None}


_NO_SPEED = re.compile(r"speed-?\s?up|scaling|ratio|x factor", re.IGNORECASE)
_PRECISION = re.compile(r"tf32|fp32|fp16|bf16|int8|mixed precision|\bamp\b|\bmixed\b", re.IGNORECASE)
_CONTAINER = re.compile(r"(\d\d\.\d\d)(?:-[a-z0-9]{1,40})?-?(?:py3)?\s{1,9}NGC container", re.IGNORECASE)
_UNIT = re.compile(
    r"(im(?:a)?ge?s?|sequences?|sentences?|tokens?|samples?|items?|frames?)\s*/", re.IGNORECASE
)
_ITEMS = {"im": "image", "seq": "sequence", "sen": "sequence", "tok": "token", "fra": "frame"}
_README_TITLE = re.compile(r"(.+?)\s+for\s+(\w[\w ]*)", re.IGNORECASE)
# NVIDIA's systems tell the form of their GPUs (its system guides): all of these hold SXM modules.
_SYSTEMS = (
    (r"DGX A100|DGX-A100", r"80\s?GB", "a100-sxm4-80gb"),
    (r"DGX A100|DGX-A100", r"40\s?GB", "a100-sxm4-40gb"),
    (r"DGX H100|DGX-H100", "", "h100-sxm5-80gb"),
    (r"DGX-?\s?1\b", r"16\s?GB?", "v100-sxm2-16gb"),
    (r"DGX-?\s?1\b", r"32\s?GB?", "v100-sxm2-32gb"),
)


def nvidia(text: str, origin: Origin) -> Iterator[Figure | Skipped]:
    """Every figure of every table about performance."""
    lines = text.splitlines()
    for table in pipe_tables(text):
        columns = _speed_columns(table)
        if not columns:
            continue
        said = " / ".join(table.headings)
        title = _README_TITLE.match(table.headings[0])
        mode: Mode = "infer" if "inference" in said.casefold() else "train"
        workload = title[1] if title else table.headings[0]
        # BERT's README holds several tasks, told apart by their headings.
        if workload.casefold().split()[:1] == ["bert"]:
            tuned = re.search("fine-?tuning|squad", said, re.IGNORECASE)
            workload = "bert-large" if tuned else "bert-large-pretrain"
        containers = list(_CONTAINER.finditer("\n".join(lines[max(0, table.line - 60) : table.line])))
        release = containers[-1][1] if containers else ""
        precision = _PRECISION.search(table.headings[-1])
        gpu, gpu_id, gpus = _gpu_of_headings(table.headings)
        for line, cells in table.rows:
            if len(cells) != len(table.columns):
                yield skipped(line, f"has {len(cells)} cells, the header {len(table.columns)}")
                continue
            named = dict(zip(map(str.casefold, table.columns), cells, strict=True))
            batch = next((cell for column, cell in named.items() if "batch" in column), "")
            length = next((number(c) for column, c in named.items() if "sequence length" in column), None)
            own_count = next((c for col, c in named.items() if "gpus" in col.split() or col == "gpu"), None)
            # GPUs of one row: its own column, else one for inference, else what the heading says.
            count = number(own_count)
            if count is None:
                count = 1 if mode == "infer" else gpus
            for column in columns:
                cell = cells[column]
                if cell.strip().casefold() in ("", "-", "n/a", "na", "oom"):
                    yield skipped(line, f"no speed: {cell!r}")
                    continue
                own = _PRECISION.search(table.columns[column]) or precision
                unit = _UNIT.search(cell + "/") or _UNIT.search(table.columns[column])
                word = unit[1].casefold() if unit else "item"
                item = next(
                    (i for start, i in _ITEMS.items() if word.startswith(start)), word.removesuffix("s")
                )
                # Another sequence length is other work; the checks know two of BERT's.
                network = workload
                if length not in (None, 384) and workload.startswith("bert-large"):
                    network = f"bert-large-s{length:.0f}"
                yield Figure(
                    line=line,
                    throughput=cell,
                    workload=network,
                    mode=mode,
                    item=item,
                    stated=own[0].casefold() if own else "",
                    gpu=gpu,
                    gpu_id=gpu_id,
                    n_gpus=count,
                    batch_per_gpu=batch if re.fullmatch(r"\s*\d+\s*", batch) else None,
                    framework=title[2].strip() if title else "",
                    versions=f"NGC {release}" if release else "",
                    date=f"20{release.replace('.', '-')}" if release else "",
                )


def _speed_columns(table: PipeTable) -> list[int]:
    """Columns of speeds; none where no heading speaks of performance."""
    if not any(re.search("performance|throughput|latency", h, re.IGNORECASE) for h in table.headings):
        return []
    return [
        i
        for i, name in enumerate(table.columns)
        if "throughput" in name.casefold() and not _NO_SPEED.search(name)
    ]


def _gpu_of_headings(headings: tuple[str, ...]) -> tuple[str, str | None, int | None]:
    """(name, id, count) from the innermost heading that names a GPU or a system."""
    for heading in reversed(headings):
        name, found, count = names.gpu_in(heading)
        for system, memory, gpu_id in _SYSTEMS:
            if re.search(system, heading) and re.search(memory, heading):
                return name if len(name) < 40 else heading, gpu_id, count
        # A name that is all of the heading is none: the heading speaks of no GPU.
        if found is not None or name != heading.strip():
            return name, found, count
    return "", None, None


ARTICLE = Format(lambda text: any(_gpu_columns(table) for table in pipe_tables(text)), article)
NVIDIA = Format(lambda text: any(_speed_columns(table) for table in pipe_tables(text)), nvidia)
