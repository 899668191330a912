"""Which cell of a table is which GPU's: GPUs in the columns, in the rows, one fact a row, or a chart.

Rows of rented machines hold the host's memory beside the GPU's and the sum over several GPUs; both
are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpuwise.judge.audit import cells, fields, subject
from gpuwise.judge.audit.blocks import Cell, Grid
from gpuwise.judge.audit.cells import Reading
from gpuwise.judge.audit.fields import Field
from gpuwise.judge.audit.subject import Subject

Placed = tuple[int, Subject, Reading, int]
"""Line, GPU, reading, and the number of the GPU's row or column."""

_CATALOG = ("gpu_id", "field", "value")
"""The columns of a table with one fact per row."""
_HEADS = 3
"""Rows that may hold the names of GPUs above their columns."""
_MULTIPLE = re.compile(
    r"\b(?!1\b)\d{1,4}\s*[x\u00d7*]\s|\b(?!1\b)\d{1,4}x|[x\u00d7]\s?(?!1\b)\d{1,3}\b", re.IGNORECASE
)
_TIMES = re.compile(r"\b\d{1,4}\s?[x\u00d7*](?=\s|[A-Z])|[x\u00d7]\s?\d{1,3}\b", re.IGNORECASE)
_COUNT = re.compile(
    r"(?:num(?:ber)? (?:of )?|# ?|no\. of )?(?:gpus?|cards?|accelerators?)(?: count| per \w+)?|count|qty"
    r"|gpu count|num gpus?",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"v?cpus?|(?:v?cpu )?cores|storage|disk|ssd|instance(?: type| name)?|machine(?: type)?", re.IGNORECASE
)
_OWN = re.compile(r"vram|gpu|graphics|frame ?buffer|video|per card", re.IGNORECASE)
_NOT_SPEC = re.compile(
    r"\b(?:measured|achieved|actual|average|avg|idle|load|real[- ]world|utili[sz]\w+|used|required|needed"
    r"|minimum|system|server|node|host|cluster|rack)\b|\([^)]*\b(?:total|\d+ ?x|x ?\d+|\d+ gpus)\b[^)]*\)",
    re.IGNORECASE,
)
_RATED = re.compile(r"max|tdp|tgp|tbp|board|rated|limit|size|capacity|vram|video|thermal", re.IGNORECASE)
_SPEED = re.compile(
    r"\b(?:images?|imgs?|sequences?|seqs?|samples?|tokens?|tok|it|frames?)\s?(?:/s|per s)|throughput|latency"
    r"|\bms\b|\bfps\b|energy|joule",
    re.IGNORECASE,
)
"""A column of a benchmark: the power and memory beside it were measured."""
_UNIT_COLUMN = re.compile(r"units?|einheit|unit\u00e9", re.IGNORECASE)
_UNITS = {
    **{
        "gbs": "GB/s",
        "gb_s": "GB/s",
        "gbps": "GB/s",
        "gb_per_s": "GB/s",
        "gb_per_sec": "GB/s",
        "gb/s": "GB/s",
    },
    **{"tbs": "TB/s", "tb_s": "TB/s", "tbps": "TB/s", "tb_per_s": "TB/s", "tb/s": "TB/s"},
    **{"gb": "GB", "gib": "GiB", "mb": "MB", "w": "W", "watts": "W", "watt": "W", "mhz": "MHz", "ghz": "GHz"},
    **{
        "tflops": "TFLOPS",
        "pflops": "PFLOPS",
        "tops": "TOPS",
        "bits": "bit",
        "bit": "bit",
        "nm": "nm",
        "usd": "USD",
    },
}
_UNIT = re.compile(rf"(.+?)[ _](?:in[ _])?({'|'.join(sorted(_UNITS, key=len, reverse=True))})", re.IGNORECASE)


def read(grid: Grid, about: Subject | None, rivals: Sequence[Subject], starred: bool) -> Iterator[Placed]:
    """Every claim of a table. `rivals` are the GPUs of a title "A vs B", for columns without names;
    `starred`: whether a footnote says that starred peaks are with sparsity."""
    named = [cell.text.strip().lower() for cell in grid.rows[0]]
    width = len(named)
    columns, column = _columns(grid), _gpu_column(grid)
    if all(name in named for name in _CATALOG):
        yield from _facts(grid, [named.index(name) for name in _CATALOG], named)
    elif column is None and columns:
        yield from _by_column(grid, columns, starred)
    elif column is not None:
        yield from _by_row(grid, column, starred)
    elif len(rivals) > 1 and width == len(rivals) + 1:
        # Pages of comparison do not always keep the order of their title.
        ids = tuple(gpu_id for one in rivals for gpu_id in one.gpu_ids)
        either = Subject(text=" / ".join(one.text for one in rivals), gpu_ids=ids, several=True)
        yield from _by_column(grid, dict.fromkeys(range(1, width), either), starred)
    elif width == 2 and about is not None:
        yield from _by_column(grid, {1: about}, starred)


def _columns(grid: Grid) -> Mapping[int, Subject]:
    """The GPUs above the columns: of the first row, or of one below it that tells them apart."""
    best: dict[int, Subject] = {}
    for row in grid.rows[:_HEADS]:
        found = {i: s for i, cell in enumerate(row) if i and (s := subject.of_text(cell.text))}
        if not best:
            best = found if row is grid.rows[0] else {}
        elif len(found) >= len(best) and all(subject.covers(row[i].text) for i in found):
            best = found
    return {i: owner for i, owner in best.items() if not _MULTIPLE.search(grid.rows[0][i].text)}


def _gpu_column(grid: Grid) -> int | None:
    """The column whose cells are names of GPUs, in most rows below the header."""
    below = grid.rows[1:]
    for index in range(min(4, max(map(len, grid.rows)))):
        names = [row[index].text for row in below if index < len(row)]
        if sum(subject.covers(_TIMES.sub("", name)) for name in names) * 2 > len(below):
            return index
    return None


def _by_column(grid: Grid, columns: Mapping[int, Subject], starred: bool) -> Iterator[Placed]:
    labels = [row[0].text for row in grid.rows]
    unit = next((i for i, cell in enumerate(grid.rows[0]) if _UNIT_COLUMN.fullmatch(cell.text)), None)
    label = ""
    for row in grid.rows:
        label = row[0].text or label
        if unit is not None and unit < len(row) and row[0].text:
            label = f"{row[0].text} ({row[unit].text})"
        field = _field(label, labels)
        if field is None:
            continue
        for index, owner in columns.items():
            if index < len(row):
                for reading in _cell(field, label, row[index].text, starred):
                    yield row[index].line, owner, reading, index


def _by_row(grid: Grid, column: int, starred: bool) -> Iterator[Placed]:
    head = _header(grid, column)
    labels = _labels(grid.rows[:head])
    known = {i: field for i, label in enumerate(labels) if i != column and (field := _field(label, labels))}
    counts = counting(labels, column)
    for place, row in enumerate(grid.rows[head:]):
        owner = subject.of_text(row[column].text) if column < len(row) else None
        if owner is None:
            continue
        several = is_several(row, column, counts)
        for index, field in known.items():
            whole = several and field.unit not in ("text", "date", "hz", "bit", "nm")
            if index < len(row) and not (whole and "per gpu" not in labels[index].casefold()):
                for reading in _cell(field, labels[index], row[index].text, starred):
                    yield row[index].line, owner, reading, place


def _header(grid: Grid, column: int) -> int:
    """How many rows the header has: two where the second names no GPU and holds no figure."""
    top, second = (row[column].text if column < len(row) else "" for row in grid.rows[:2])
    words_only = not any(re.match(r"\s*[~$]?\d", cell.text) for cell in grid.rows[1])
    return 2 if len(grid.rows) > 2 and second in ("", top) and words_only else 1


def _labels(rows: Sequence[Sequence[Cell]]) -> list[str]:
    """One label for each column: of a header's two rows both where that names a field, else the lower."""
    found: list[str] = []
    for column in zip(*rows, strict=False):
        texts = list(dict.fromkeys(cell.text for cell in column if cell.text))
        whole = " ".join(texts)
        found.append(whole if len(texts) < 2 or fields.of_label(spaced(whole)) else texts[-1])
    return found


def counting(labels: Sequence[str], column: int) -> list[int]:
    """The columns, other than that of the GPUs, that tell how many GPUs a row has."""
    return [i for i, label in enumerate(labels) if i != column and _COUNT.fullmatch(_bare(label))]


def is_several(row: Sequence[Cell], column: int, counts: Sequence[int]) -> bool:
    """Whether the row is a machine with more than one GPU."""
    stated = [row[i].text.strip() for i in counts if i < len(row)]
    more = any(text.isdecimal() and text != "1" for text in stated)
    return more or _MULTIPLE.search(row[column].text) is not None


def _field(label: str, labels: Sequence[str]) -> Field | None:
    """The field of a label; None for the host's memory and for what is no product's figure."""
    field = fields.of_label(spaced(label))
    if field is None or (field.unit not in ("text", "date") and _NOT_SPEC.search(label)):
        return None
    measured = field.name in ("power_w", "memory_bytes") and any(map(_SPEED.search, labels))
    if measured and not _RATED.search(label):
        return None
    if field.name == "memory_bytes" and not _OWN.search(label):
        others = [_bare(other) for other in labels if other != label]
        own = [o for o in others if _OWN.search(o) and (f := fields.of_label(o)) and f.name == "memory_bytes"]
        if own or any(_HOST.fullmatch(other) for other in others):
            return None
    return field


def _cell(field: Field, label: str, text: str, starred: bool) -> Iterator[Reading]:
    if starred and label.rstrip().endswith("*"):
        label = f"{label} with sparsity"
    return cells.read(field, spaced(label) + (cells.STARRED if starred else ""), text)


def _facts(grid: Grid, at: Sequence[int], named: Sequence[str]) -> Iterator[Placed]:
    """Rows of gpu_id, field, value and perhaps a unit."""
    unit = named.index("unit") if "unit" in named else None
    for row in grid.rows[1:]:
        if len(row) <= max(at):
            continue
        owner, label, value = subject.of_text(row[at[0]].text), spaced(row[at[1]].text), row[at[2]].text
        field = fields.of_label(re.sub(r" (?:count|bytes)$", "", label))
        if owner is None or field is None:
            continue
        cell = f"{value} {row[unit].text}" if unit is not None and unit < len(row) else value
        yield from ((row[at[2]].line, owner, reading, 0) for reading in cells.read(field, label, cell))


def spaced(label: str) -> str:
    """`memory_bandwidth_gbs` as a reader writes it: "memory bandwidth (GB/s)"."""
    match = _UNIT.fullmatch(label.strip())
    return (f"{match[1]} ({_UNITS[match[2].lower()]})" if match else label).replace("_", " ")


def _bare(label: str) -> str:
    return " ".join(re.sub(r"\([^)]*\)|[*_]", " ", label).split())
