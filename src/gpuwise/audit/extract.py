"""From blocks to claims: the GPU by title, column, row or sentence; the field by label or words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuwise.audit import cells, fields, prose, subject
from gpuwise.audit.blocks import Block, Grid, Heading, Paragraph
from gpuwise.audit.cells import Reading
from gpuwise.audit.subject import Subject
from gpuwise.model.claim import Claim

_LONG = 9
"""Words from which the value of a label is prose."""
_CATALOG = ("gpu_id", "field", "value")
"""The columns of a table with one fact per row."""


def claims(blocks: Sequence[Block]) -> tuple[Claim, ...]:
    """Every claim about a GPU of the catalog, in the order of the text."""
    return tuple(_claims(blocks))


def _claims(blocks: Sequence[Block]) -> Iterator[Claim]:
    whole = _whole(blocks)
    about, block = whole, 0
    for item in blocks:
        if isinstance(item, Heading):
            block += 1
            about = subject.of_text(item.text) or whole
        elif isinstance(item, Paragraph):
            for owner, reading in _paragraph(item.text, about):
                yield _claim(item.line, owner, reading, block)
        else:
            for line, owner, reading, place in _grid(item, about):
                yield _claim(line, owner, reading, (block + 1) * 1000 + place)


def _whole(blocks: Sequence[Block]) -> Subject | None:
    """The one GPU that the whole text is about: its title's; None where the title has none or several."""
    title = next((block.text for block in blocks if isinstance(block, Heading)), "")
    found = subject.of_text(title)
    return found if found is not None and not found.several else None


def _claim(line: int, owner: Subject, reading: Reading, block: int) -> Claim:
    return Claim(
        line=line,
        gpu=owner.text,
        gpu_ids=owner.gpu_ids,
        field=reading.field,
        values=reading.values,
        stated=reading.stated,
        block=block,
        approximate=reading.approximate,
        at_most=reading.at_most,
        sparse=reading.sparse,
        several=owner.several,
    )


def _paragraph(text: str, about: Subject | None) -> Iterator[tuple[Subject, Reading]]:
    """Labelled values ("Cuda Cores: 10496 Tensor Cores: 328"), else prose."""
    keys = list(fields.keys().finditer(text))
    if not keys:
        yield from prose.read(text, about)
        return
    ends = [match.start() for match in keys[1:]] + [len(text)]
    values = [text[match.end() : end].strip(" ,;*") for match, end in zip(keys, ends, strict=True)]
    # "These RT cores:" introduces a list, and a label before a sentence is only its topic.
    labelled = all(value and len(value.split()) < _LONG and not subject.known(value) for value in values)
    if not labelled:
        yield from prose.read(text, about)
        return
    if about is None or not about.gpu_ids:
        return
    for match, value in zip(keys, values, strict=True):
        field = fields.of_label(match["label"])
        if field is not None:
            yield from ((about, reading) for reading in cells.read(field, match["label"], value))


Placed = tuple[int, Subject, Reading, int]
"""Line, GPU, reading, and the number of the GPU's row or column."""


def _grid(grid: Grid, about: Subject | None) -> Iterator[Placed]:
    """GPUs in the columns, in the rows, one fact a row, or one GPU's chart of two columns."""
    header = grid.rows[0]
    named = [cell.text.strip().lower() for cell in header]
    columns = {i: found for i, cell in enumerate(header) if i and (found := subject.of_text(cell.text))}
    column = _gpu_column(grid)
    if all(name in named for name in _CATALOG):
        yield from _facts(grid, [named.index(name) for name in _CATALOG], named)
    elif column is None and columns:
        yield from _by_column(grid, columns)
    elif column is not None:
        yield from _by_row(grid, column)
    elif len(header) == 2 and about is not None:
        yield from _by_column(grid, {1: about})


def _gpu_column(grid: Grid) -> int | None:
    """The column whose cells are names of GPUs, in most rows below the header."""
    below = grid.rows[1:]
    for index in range(min(3, max(map(len, grid.rows)))):
        names = [row[index].text for row in below if index < len(row)]
        if sum(subject.covers(name) for name in names) * 2 > len(below):
            return index
    return None


def _by_column(grid: Grid, columns: dict[int, Subject]) -> Iterator[Placed]:
    label = ""
    for row in grid.rows:
        label = row[0].text or label
        field = fields.of_label(label)
        if field is None:
            continue
        for index, owner in columns.items():
            if index < len(row):
                yield from (
                    (row[index].line, owner, r, index) for r in cells.read(field, label, row[index].text)
                )


def _by_row(grid: Grid, column: int) -> Iterator[Placed]:
    labels = [cell.text for cell in grid.rows[0]]
    for place, row in enumerate(grid.rows[1:]):
        owner = subject.of_text(row[column].text) if column < len(row) else None
        if owner is None:
            continue
        for index, cell in enumerate(row[: len(labels)]):
            field = fields.of_label(_spaced(labels[index])) if index != column else None
            if field is not None:
                label = _spaced(labels[index])
                yield from (
                    (cell.line, owner, reading, place) for reading in cells.read(field, label, cell.text)
                )


def _facts(grid: Grid, at: Sequence[int], named: Sequence[str]) -> Iterator[Placed]:
    """Rows of gpu_id, field, value and perhaps a unit."""
    unit = named.index("unit") if "unit" in named else None
    for row in grid.rows[1:]:
        if len(row) <= max(at):
            continue
        owner, label, value = subject.of_text(row[at[0]].text), _spaced(row[at[1]].text), row[at[2]].text
        field = fields.of_label(re.sub(r" (?:gb|gbs|gb/s|w|mhz|bits|count|nm|tflops|bytes)$", "", label))
        if owner is None or field is None:
            continue
        cell = f"{value} {row[unit].text}" if unit is not None and unit < len(row) else value
        yield from (
            (row[at[2]].line, owner, reading, 0) for reading in cells.read(field, _with_unit(label), cell)
        )


def _spaced(label: str) -> str:
    """`memory_bandwidth_gbs` as a reader writes it."""
    return _with_unit(label).replace("_", " ")


def _with_unit(label: str) -> str:
    """A unit at the end of a column's name, put in parentheses: `tdp_w` -> `tdp (w)`."""
    units = {
        "gbs": "GB/s",
        "gb_s": "GB/s",
        "gb": "GB",
        "w": "W",
        "mhz": "MHz",
        "tflops": "TFLOPS",
        "bits": "bit",
    }
    match = re.fullmatch(r"(.+?)[ _](gb_s|gbs|gb|w|mhz|tflops|bits)", label.strip(), re.IGNORECASE)
    return f"{match[1]} ({units[match[2].lower()]})" if match else label
