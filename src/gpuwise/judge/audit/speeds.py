"""Throughput tables of an article: read each figure, and put it through the gates of physics and logic.

Two shapes: networks in the rows and counts of GPUs in the columns ("1 GPU", "2 GPUs", ...), and one
figure a row with columns for GPU, network, precision, count and throughput.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from gpuwise import checks
from gpuwise.checks import networks
from gpuwise.checks.networks import Network
from gpuwise.judge.audit import subject
from gpuwise.judge.audit.blocks import Block, Cell, Grid, Heading, Paragraph
from gpuwise.judge.audit.quantity import number
from gpuwise.judge.audit.subject import Subject
from gpuwise.model.claim import Finding, Kind
from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue
from gpuwise.model.published import PublishedResult

KINDS: dict[str, Kind] = {
    "above-peak": "above peak",
    "precision": "wrong precision",
    "scaling": "scaling over 100 %",
    "linear": "exactly linear",
    "halves": "exact halves",
    "repeated": "repeated value",
    "order": "order against FLOPs",
}
_COUNT = re.compile(r"\s*(\d{1,3})\s*x?\s*(?:GPUs?|cards?)\b", re.IGNORECASE)
_PRECISION = re.compile(r"\b(fp32|tf32|fp16|bf16|fp8|fp4|int8|amp|mixed)\b", re.IGNORECASE)
_LENGTH = re.compile(r"\bs(?:eq\w*)?[ _-]?(?:len\w*)?[ =:_-]*(\d{2,5})\b", re.IGNORECASE)
LONG, SHORT = 384, 128
"""Tokens of a sequence: of the networks that name no length, and where a text does not say: the least
that is usual."""
_INFER = re.compile(r"\binferenc|\binfer\b|serving", re.IGNORECASE)
_OTHER_ITEM = re.compile(
    r"tok(?:en)?s?\b|words|steps?|batch(?:es)?|iter|\bit/s|minutes?|hours?|epochs?|\bms\b|flops",
    re.IGNORECASE,
)
"""What a throughput may count that is no item of a network: tokens, steps."""
_TIMES = re.compile(
    r"^\s*(?P<a>\d{1,4})\s*[x\u00d7*]|[x\u00d7]\s?(?P<b>\d{1,3})\s*$|\b(?P<c>\d{1,3})[ -]?(?:GPUs?|cards?)\b",
    re.IGNORECASE,
)
_MACHINE = re.compile(r"\b(?:DGX|HGX|servers?|nodes?|pods?)\b", re.IGNORECASE)
_COLUMNS = {
    "workload": r"(?:neural )?network|model|workload|benchmark",
    "precision": r"precision|dtype|data ?type|format",
    "gpu": r"gpu(?:[ _](?:name|model|id|type))?|card|device|accelerator",
    "count": r"(?:num(?:ber)?[ _](?:of[ _])?)?(?:gpus?|cards)|gpu[ _]count|n[ _]?gpus?",
    "throughput": r"(?:train(?:ing)?[ _])?(?:throughput|images?[ /_](?:per )?s\w*|samples?[ /_](?:per )?s\w*"
    r"|sequences?[ /_](?:per )?s\w*|img/s|speed)(?:\s*\(.*\))?",
    "batch": r"batch(?:[ _]size)?(?:[ _]per[ _]gpu)?",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One throughput and its line."""

    line: int
    row: PublishedResult


def figures(blocks: Sequence[Block], name: str) -> tuple[Figure, ...]:
    """Every throughput that the tables state of a network we know, training unless the text says else."""
    return tuple(_figures(blocks, name))


def judge(found: Sequence[Figure]) -> tuple[Finding, ...]:
    """One finding per kind of fault and GPU, with all its lines; one for the figures that pass."""
    cautions = checks.judge([figure.row for figure in found])
    faults: dict[tuple[str, str], list[tuple[Figure, Issue]]] = defaultdict(list)
    sound: dict[str, list[Figure]] = defaultdict(list)
    for figure, mine in zip(found, cautions, strict=True):
        for caution in mine:
            faults[caution.code, figure.row.gpu].append((figure, caution))
        if not mine:
            sound[figure.row.gpu].append(figure)
    bad = tuple(_fault(gpu, code, pairs) for (code, gpu), pairs in faults.items())
    return (*bad, *(_sound(gpu, rows) for gpu, rows in sound.items()))


def _fault(gpu: str, code: str, pairs: Sequence[tuple[Figure, Issue]]) -> Finding:
    first, caution = pairs[0]
    return Finding(
        lines=tuple(sorted({figure.line for figure, _ in pairs})),
        gpu=gpu,
        field="throughput",
        stated=f"{len(pairs)} figures, e.g. {_stated(first.row)}",
        verdict="contradicts",
        kind=KINDS.get(code, "caution"),
        explanation=caution.detail.removeprefix("INVALID: ").removeprefix("SUSPECT: "),
        source="physics and logic gates",
    )


def _sound(gpu: str, rows: Sequence[Figure]) -> Finding:
    return Finding(
        lines=tuple(sorted({figure.line for figure in rows})),
        gpu=gpu,
        field="throughput",
        stated=f"{len(rows)} figures, e.g. {_stated(rows[0].row)}",
        verdict="cannot tell",
        explanation="possible: no gate speaks against it",
        source="physics and logic gates",
    )


def _stated(row: PublishedResult) -> str:
    count = f", {row.n_gpus} GPUs" if row.n_gpus > 1 else ""
    return f"{row.workload} {row.precision} {row.throughput:,.10g} {row.item}s/s{count}"


def _figures(blocks: Sequence[Block], name: str) -> Iterator[Figure]:
    source = Source(id=name, title=name, kind="article", read_on="")
    about, recent, infer, said = None, None, False, ""
    for block in blocks:
        if isinstance(block, Grid):
            near = " ".join((said, *(cell.text for cell in block.rows[0])))
            mode = "infer" if infer or _INFER.search(near) else "train"
            yield from _of_grid(block, about or recent, mode, source)
            continue
        said = block.text
        named = subject.of_text(block.text)
        infer = bool(_INFER.search(block.text)) if isinstance(block, Heading) else infer
        if isinstance(block, Heading):
            about = named
        elif isinstance(block, Paragraph) and named is not None and not named.several:
            recent = named


def _of_grid(grid: Grid, about: Subject | None, mode: str, source: Source) -> Iterator[Figure]:
    header = [cell.text for cell in grid.rows[0]]
    counts = {i: int(m[1]) for i, text in enumerate(header) if (m := _COUNT.fullmatch(text))}
    named = {key: i for key, i in _columns(header).items() if i not in counts}
    named = _told_apart(named, grid)
    if len(counts) > 1 or (counts and "workload" in named):
        yield from _wide(grid, counts, named, about, mode, source)
    elif {"workload", "throughput"} <= named.keys() and not _OTHER_ITEM.search(header[named["throughput"]]):
        yield from _long(grid, named, about, mode, source)


def _columns(header: Sequence[str]) -> dict[str, int]:
    """What each column holds; the first of several that fit."""
    found: dict[str, int] = {}
    for index, text in enumerate(header):
        plain = text.strip("* ").casefold()
        for key, pattern in _COLUMNS.items():
            if key not in found and index not in found.values() and re.fullmatch(pattern, plain):
                found[key] = index
    return found


def _told_apart(named: dict[str, int], grid: Grid) -> dict[str, int]:
    """The columns, where "GPU" holds counts or "GPUs" holds names."""
    for key, other, numbers in (("gpu", "count", True), ("count", "gpu", False)):
        if key in named and other not in named:
            cells = [_text(row, named[key]) for row in grid.rows[1:]]
            if all(cell.isdecimal() for cell in cells) if numbers else any(map(subject.of_text, cells)):
                named = {(other if name == key else name): i for name, i in named.items()}
    return named


def _wide(
    grid: Grid,
    counts: dict[int, int],
    named: dict[str, int],
    about: Subject | None,
    mode: str,
    source: Source,
) -> Iterator[Figure]:
    label, dotted = "", _is_dotted(grid, counts)
    for row in grid.rows[1:]:
        label = _text(row, named.get("workload", 0)) or label
        precision = _text(row, named["precision"]) if "precision" in named else label
        for index, count in counts.items():
            if index < len(row):
                base = _base(label, precision, about, mode, source)
                yield from _figure(base, row[index], count, dotted)


def _long(
    grid: Grid, named: dict[str, int], about: Subject | None, mode: str, source: Source
) -> Iterator[Figure]:
    dotted = _is_dotted(grid, [named["throughput"]])
    for row in grid.rows[1:]:
        if named["throughput"] >= len(row):
            continue
        gpu = _text(row, named["gpu"]) if "gpu" in named else ""
        owner = subject.of_text(gpu) if gpu else about
        count = _text(row, named["count"]) if "count" in named else _times(gpu)
        precision = _text(row, named["precision"]) if "precision" in named else _text(row, named["workload"])
        base = _base(_text(row, named["workload"]), precision, owner, mode, source)
        batch = _text(row, named["batch"]) if "batch" in named else ""
        if base is not None and batch.isdecimal():
            base = replace(base, batch_per_gpu=int(batch))
        if count.isdecimal() and 0 < int(count) < 100_000:
            yield from _figure(base, row[named["throughput"]], int(count), dotted)


def _times(gpu: str) -> str:
    """How many GPUs a name means: "8x H100", "H100 (8 GPUs)"; "" for a machine that does not say."""
    match = _TIMES.search(gpu)
    if match is not None:
        return match["a"] or match["b"] or match["c"]
    return "" if _MACHINE.search(gpu) else "1"


def _is_dotted(grid: Grid, columns: Iterable[int]) -> bool:
    """Whether the figures have points for thousands: 980 and 1.720, none with other decimals."""
    texts = [_text(row, index) for row in grid.rows[1:] for index in columns]
    points = [text for text in texts if "." in text]
    whole = any(re.fullmatch(r"\d{1,3}", text) for text in texts)
    return whole and all(re.fullmatch(r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d+)?", text) for text in points)


def _text(row: Sequence[Cell], index: int) -> str:
    return row[index].text.strip() if index < len(row) else ""


def _base(
    label: str, precision: str, about: Subject | None, mode: str, source: Source
) -> PublishedResult | None:
    """A row without its figure; None for a network that we do not know."""
    network = networks.find(_PRECISION.sub("", re.sub(r"\([^)]*\)", "", label)))
    match = _PRECISION.search(precision)
    if network is None:
        return None
    stated = match[1].lower() if match else ""
    # Inference runs in INT8 too where a text does not say.
    unstated = "int8" if mode == "infer" else "?"
    return PublishedResult(
        gpu=about.text if about else "",
        gpu_id=about.gpu_ids[0] if about and len(about.gpu_ids) == 1 else None,
        workload=_workload(network, label),
        mode=mode,
        precision={"amp": "fp16", "mixed": "fp16", "": unstated}.get(stated, stated),
        precision_stated=stated,
        throughput=1.0,
        item=network.item,
        source=source,
    )


def _workload(network: Network, label: str) -> str:
    """The network's id, of a transformer at the sequence length that the label states."""
    if network.item != "sequence" or network.id.rpartition("-s")[2].isdecimal():
        return network.id
    match = _LENGTH.search(label)
    length = int(match[1]) if match else SHORT
    return network.id if length == LONG else f"{network.id}-s{length}"


def _figure(base: PublishedResult | None, cell: Cell, count: int, dotted: bool) -> Iterator[Figure]:
    text = cell.text.strip()
    match = re.fullmatch(
        r"~?\s*(\d[\d.,'\u2019]*(?: \d{3})*)\s*(?:\w+/s\w*)?", text.replace(".", "") if dotted else text
    )
    value = number(match[1], 1.0, 1e-3, 1e9) if match else None
    if base is not None and value is not None:
        yield Figure(cell.line, replace(base, throughput=value.value, n_gpus=count))
