"""Find out which cell of a table speaks of which GPU and field.

A table is read in every orientation that its cells allow: GPUs down the side, GPUs along the top, one
GPU above the table. The orientation under which most values fit their fields, and most of those the
catalog, is what the table says; where a second one explains nearly as much, no cell accuses anybody.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpuwise.judge.audit import evidence, kinds
from gpuwise.judge.audit.cells import Label, Reading, label_of, readings
from gpuwise.judge.audit.read import Cell
from gpuwise.judge.audit.scan import Token, scan
from gpuwise.model.claim import Claim

NAME_COLUMNS = 4
"""In how many of the first columns the name of a row's GPU is looked for."""
NEARLY = 0.9
"""A second orientation that explains so much of what the best one does leaves the table open."""
AGREED = 1.0
"""What a value that the catalog confirms adds to one that merely fits its field."""
_VARIANT = re.compile(
    r"form|variant|version|type|model|config|memory|vram|edition|interface|sku", re.IGNORECASE
)
_COUNTED = re.compile(
    r"(?:num(?:ber)? (?:of )?)?(?:gpus?|cards|accelerators)(?: count|/node| per node)?|gpu count|qty|#",
    re.IGNORECASE,
)
_MACHINE = re.compile(
    r"\b(?:DGX|HGX|servers?|nodes?|pods?|clusters?|superpod|supercluster|NVL ?72|rack)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Subject:
    """The GPU that a place of a document speaks of."""

    text: str
    gpu_ids: tuple[str, ...]
    several: bool = False
    """Different products: "A100 and H100"."""
    count: int = 1
    sure: bool = True
    """False where a heading between may have changed the subject."""


def subject_of(text: str) -> Subject | None:
    """The GPU or GPUs that a name, a cell or a heading speaks of."""
    tokens = [t for t in scan(text) if t.kind == "gpu"]
    return subject(tokens, _is_machine(text, tokens))


def _is_machine(text: str, gpus: Sequence[Token]) -> bool:
    """Whether words beside the names make it a machine with several: not those of "Server Edition"."""
    ends = zip([0, *(t.end for t in gpus)], [*(t.start for t in gpus), len(text)], strict=True)
    return any(_MACHINE.search(text, start, end) for start, end in ends) or any(
        re.search(r"NVL ?\d\d\b(?! ?GB)", t.text) for t in gpus
    )


def subject(tokens: Sequence[Token], machine: bool = False) -> Subject | None:
    """The subject that these GPUs make. Variants of one product name are one subject."""
    if not tokens:
        return None
    ids = tuple(dict.fromkeys(gpu_id for t in tokens for gpu_id in t.gpu_ids))
    first, rest = tokens[0], tokens[1:]
    # "A100 (A100-SXM4-80GB)" narrows; "A100 vs H100" is two.
    shared = set(first.gpu_ids)
    for token in rest:
        shared &= set(token.gpu_ids)
    several = (
        bool(rest) and not shared and any(t.gpu_ids != first.gpu_ids or t.text != first.text for t in rest)
    )
    if shared and rest:
        ids = tuple(gpu_id for gpu_id in ids if gpu_id in shared)
    count = max(t.count for t in tokens)
    return Subject(first.text if not several else " / ".join(t.text for t in tokens), ids, several,
                   8 if machine and count == 1 else count)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Placed:
    """One reading with its owner, and the score that it adds to its orientation."""

    cell: Cell
    owner: Subject
    reading: Reading
    row: int
    column: int


class Table:
    """The typed cells of a table and what can be told from its first row and columns."""

    def __init__(self, rows: Sequence[Sequence[Cell]], around: Subject | None, starred: bool | None) -> None:
        self.around, self.starred = around, starred
        # A header that is one cell short lacks the corner above the labels.
        width = Counter(map(len, rows[1:])).most_common(1)[0][0] if len(rows) > 1 else 0
        if rows and len(rows[0]) + 1 == width and _name(rows[0][0].text) is not None:
            rows = ((Cell(rows[0][0].line, ""), *rows[0]), *rows[1:])
        self.rows = rows
        self.header = rows[0] if rows else ()
        # Otherwise nobody knows which column a cell of a ragged table belongs to.
        self.ragged = len(rows) > 1 and len(self.header) != width
        self.labels = [label_of(cell.text) for cell in self.header]
        self.columns = {i: s for i, cell in enumerate(self.header) if (s := _name(cell.text)) is not None}
        if 0 in self.columns and len(self.columns) > 1 and _name(_at(rows, 1, 0)) is None:
            # "A100 vs H100 | A100 | H100": the corner is a title.
            corner = set(self.columns[0].gpu_ids)
            if any(corner & set(s.gpu_ids) for i, s in self.columns.items() if i):
                del self.columns[0]
        self.counting = next(
            (i for i, c in enumerate(self.header) if _COUNTED.fullmatch(c.text.strip())), None
        )

    def claims(self, block: int) -> Iterator[Claim]:
        """Every claim of the table, under the orientation that explains it best."""
        options = sorted(
            (list(one()) for one in (self.by_row, self.by_column, self.about)), key=_explained, reverse=True
        )
        best, second = options[0], options[1]
        clear = _explained(second) < NEARLY * _explained(best) or _alike(best, second)
        # "2x186 GB" makes the row one of a pair of GPUs; the rest may be of both together.
        pairs = {(p.row, p.owner.text) for p in best if p.reading.token.count > 1}
        for placed in best:
            owner, reading = placed.owner, placed.reading
            row = (
                placed.column
                if self.columns and best and placed.owner is self.columns.get(placed.column)
                else placed.row
            )
            moved = self.ragged or len(self.rows[placed.row]) > len(self.header)
            yield claim_of(
                reading,
                owner,
                placed.cell.line,
                block * kinds.GRID + row,
                clear and not moved and (placed.row, owner.text) not in pairs,
            )

    def by_row(self) -> Iterator[_Placed]:
        """GPUs down the side, fields along the top."""
        owner: Subject | None = None
        name = 0
        for number, row in enumerate(self.rows[1:], 1):
            for column, cell in enumerate(row[:NAME_COLUMNS]):
                found = _name(cell.text)
                if found is not None:
                    owner, name = self._narrowed(found, row, column), column
                    break
            else:
                # A blank name continues the row above; any other one is of something unknown.
                if not row or row[min(name, len(row) - 1)].text.strip():
                    owner = None
            if owner is None:
                continue
            ram = any("vram" in cell.text.lower() for cell in self.header)
            for column, cell in enumerate(row):
                if column == name or column >= len(self.labels):
                    continue
                label = self.labels[column]
                if ram and label.text.strip().lower() in ("ram", "memory", "system ram"):
                    continue
                yield from self._placed(cell, label, self._counted(owner, row), number, column)

    def by_column(self) -> Iterator[_Placed]:
        """GPUs along the top, fields down the side."""
        section = ""
        for number, row in enumerate(self.rows[1:] if self.columns else (), 1):
            first = next((cell.text for cell in row if cell.text.strip()), "")
            if sum(bool(cell.text.strip()) for cell in row) == 1 or len(
                {cell.text for cell in row}
            ) == 1 < len(row):
                section = first
                continue
            label = label_of(first)
            if not label.fields and section:
                label = label_of(f"{section} {first}")
            for column, owner in self.columns.items():
                if column < len(row) and row[column].text != first:
                    yield from self._placed(row[column], label, owner, number, column)

    def about(self) -> Iterator[_Placed]:
        """One GPU outside the table: labels in the first column, values in the next."""
        if self.around is None or self.around.several or self.columns:
            return
        owner = self.around
        for number, row in enumerate(self.rows):
            named = _name(row[0].text) if row else None
            if named is not None and len([c for c in row if c.text.strip()]) == 1:
                owner = named
                continue
            if named is None and len(row) > 1:
                label = label_of(row[0].text)
                for column, cell in enumerate(row[1:], 1):
                    # A number without a unit may as well be a rank or a score; and of several columns
                    # without GPUs nobody says whose they are.
                    bare = label.unit is None and re.fullmatch(r"\d{1,3}", cell.text.strip())
                    sure = owner.sure and not bare and len(row) < 4 and column == 1
                    yield from self._placed(cell, label, replace(owner, sure=sure), number, column)

    def _placed(self, cell: Cell, label: Label, owner: Subject, row: int, column: int) -> Iterator[_Placed]:
        if len(cell.text) <= 300:
            for reading in readings(label, cell.text, starred=self.starred):
                yield _Placed(cell, owner, reading, row, column)

    def _narrowed(self, owner: Subject, row: Sequence[Cell], name: int) -> Subject:
        """The variants that a column for form or memory leaves: "H100 | SXM5"."""
        for column, cell in enumerate(row):
            if len(owner.gpu_ids) < 2 or column in (name, *range(len(self.header), len(row))):
                continue
            if len(cell.text) < 24 and _VARIANT.search(self.header[column].text):
                found = subject_of(f"{owner.text} {cell.text}")
                if found and 0 < len(found.gpu_ids) < len(owner.gpu_ids):
                    owner = replace(owner, gpu_ids=found.gpu_ids)
        return owner

    def _counted(self, owner: Subject, row: Sequence[Cell]) -> Subject:
        if self.counting is None or self.counting >= len(row):
            return owner
        count = row[self.counting].text.strip()
        return (
            replace(owner, count=int(count))
            if count.isascii() and count.isdecimal() and len(count) < 6
            else owner
        )


def _at(rows: Sequence[Sequence[Cell]], row: int, column: int) -> str:
    return rows[row][column].text if row < len(rows) and column < len(rows[row]) else ""


def _name(text: str) -> Subject | None:
    """The GPU of a cell that is its name: nothing but names and a few words."""
    if len(text) > 80:
        return None
    tokens = scan(text)
    gpus = [t for t in tokens if t.kind == "gpu"]
    if not gpus or any(
        t.kind == "value" and t.start < gpus[0].start and t.dimension not in ("bare", "other") for t in tokens
    ):
        return None
    named = sum(t.end - t.start for t in gpus)
    others = re.sub(r"\([^)]*\)|\W", "", text)
    if named < 0.35 * len(others):
        return None
    return subject(gpus, _is_machine(text, gpus))


def _explained(placed: Sequence[_Placed]) -> float:
    """How much of a table an orientation explains: values that fit, and those that the catalog confirms."""
    return sum(
        1
        + AGREED
        * any(evidence.supports(i, p.reading.field, p.reading.values[0]) for i in p.owner.gpu_ids[:4])
        for p in placed
    )


def _alike(best: Sequence[_Placed], second: Sequence[_Placed]) -> bool:
    """Whether two orientations say the same of the same cells."""

    def said(placed: Sequence[_Placed]) -> set[tuple[int, int, int, str, tuple[str, ...]]]:
        return {(p.cell.line, p.row, p.column, p.reading.field, p.owner.gpu_ids) for p in placed}

    return said(second) <= said(best)


def claim_of(reading: Reading, owner: Subject, line: int, block: int, sure: bool) -> Claim:
    """The claim that a reading makes of its owner."""
    return Claim(
        line=line,
        gpu=owner.text,
        gpu_ids=owner.gpu_ids,
        field=reading.field,
        values=reading.values,
        stated=reading.stated,
        block=block,
        approximate=reading.token.approximate,
        at_most=reading.token.at_most,
        is_range=reading.token.is_range,
        sparse=reading.sparse,
        vector=reading.vector,
        several=owner.several,
        count=owner.count * reading.token.count,
        sure=sure and owner.sure and not reading.either,
    )
