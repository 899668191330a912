"""Find out which cell of a table speaks of which GPU and field.

A table is read in every orientation that its cells allow: GPUs down the side, GPUs along the top, and one
GPU above it with the labels down the side or along the top. The orientation under which most values fit
their fields, and most of those the catalog, is what the table says; where a second one explains nearly as
much, no cell accuses anybody.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpuwise.judge.audit import evidence, kinds
from gpuwise.judge.audit.cells import Label, Reading, label_of, readings
from gpuwise.judge.audit.read import Cell
from gpuwise.judge.audit.words import CUES, Token, scan
from gpuwise.model.claim import Claim

# In how many of the first columns the name of a row's GPU is looked for.
NAME_COLUMNS = 4
# A second orientation that explains so much of what the best one does leaves the table open.
NEARLY = 0.9
# What a value that the catalog confirms adds to one that merely fits its field.
AGREED = 1.0
# GPUs of a machine whose count is not said.
IN_MACHINE = 8
# Characters; a longer cell is prose, and a longer name no name.
LONGEST, NAME = 300, 80
# Fields of which other words of the row say what was measured or offered.
IN_CONTEXT = frozenset({"throughput", "rent per hour"})
_TIMES = re.compile(
    r"[x\u00d7]\s?(?P<a>\d{1,3})\s*$|(?<![\d.,])(?P<b>\d{1,3})[ -]?x?\s?(?:GPUs?|cards?)\b", re.IGNORECASE
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


def subject_of(text: str, tokens: Sequence[Token] | None = None) -> Subject | None:
    """The GPU or GPUs that a name, a cell or a heading speaks of; a machine's name counts its GPUs."""
    gpus = [t for t in scan(text) if t.kind == "gpu"] if tokens is None else tokens
    found = subject(gpus)
    if found is None or found.count > 1:
        return found
    # Words beside the names: not those of "Server Edition".
    ends = zip([0, *(t.end for t in gpus)], [*(t.start for t in gpus), len(text)], strict=True)
    machine = any(CUES["machine"].search(text, start, end) for start, end in ends)
    times = _TIMES.search(text)
    if times:
        return replace(found, count=max(1, int(times["a"] or times["b"])))
    machine = machine or any(re.search(r"NVL ?\d\d\b(?! ?GB)", t.text) for t in gpus)
    return replace(found, count=IN_MACHINE) if machine else found


def subject(gpus: Sequence[Token]) -> Subject | None:
    """The subject that these GPUs make. Variants of one product name are one subject."""
    if not gpus:
        return None
    ids = tuple(dict.fromkeys(gpu_id for t in gpus for gpu_id in t.gpu_ids))
    first, rest = gpus[0], gpus[1:]
    # "A100 (A100-SXM4-80GB)" narrows; "A100 vs H100" is two.
    shared = set(first.gpu_ids).intersection(*(t.gpu_ids for t in rest))
    several = not shared and any(t.gpu_ids != first.gpu_ids or t.text != first.text for t in rest)
    if shared and rest:
        ids = tuple(gpu_id for gpu_id in ids if gpu_id in shared)
    text = " / ".join(t.text for t in gpus) if several else first.text
    return Subject(text, ids, several, max(t.count for t in gpus))


def name_of(text: str) -> Subject | None:
    """The GPU of a cell that is its name: nothing but names and a few words."""
    tokens = scan(text) if len(text) <= NAME else ()
    gpus = [t for t in tokens if t.kind == "gpu"]
    if not gpus:
        return None
    before = [t for t in tokens if t.kind == "value" and t.start < gpus[0].start]
    named = sum(t.end - t.start for t in gpus)
    if named < 0.35 * len(re.sub(r"\([^)]*\)|\W", "", text)):
        return None
    return None if any(t.dimension not in ("bare", "other") for t in before) else subject_of(text, gpus)


@dataclass(frozen=True, slots=True)
class _Placed:
    """One reading with its owner."""

    cell: Cell
    owner: Subject
    reading: Reading
    row: int
    column: int
    label: str

    @property
    def said(self) -> tuple[object, ...]:
        return (self.cell.line, self.row, self.column, self.reading.field, self.owner.gpu_ids)


class Table:
    """The typed cells of a table and what can be told from its first row and columns."""

    def __init__(
        self, rows: Sequence[Sequence[Cell]], about: Subject | None, starred: bool | None, above: str = ""
    ) -> None:
        self.about, self.starred, self.above = about, starred, above
        # A header that is one cell short lacks the corner above the labels.
        width = Counter(map(len, rows[1:])).most_common(1)[0][0] if len(rows) > 1 else 0
        if rows and len(rows[0]) + 1 == width and name_of(rows[0][0].text) is not None:
            rows = ((Cell(rows[0][0].line, ""), *rows[0]), *rows[1:])
        self.rows = rows
        self.header = rows[0] if rows else ()
        # Otherwise nobody knows which column a cell of a ragged table belongs to.
        self.ragged = len(rows) > 1 and len(self.header) != width
        self.labels = [label_of(cell.text) for cell in self.header]
        self.columns = {i: s for i, cell in enumerate(self.header) if (s := name_of(cell.text)) is not None}
        first = rows[1][0].text if len(rows) > 1 and rows[1] else ""
        if 0 in self.columns and len(self.columns) > 1 and name_of(first) is None:
            # "A100 vs H100 | A100 | H100": the corner is a title.
            corner = set(self.columns[0].gpu_ids)
            if any(corner & set(s.gpu_ids) for i, s in self.columns.items() if i):
                del self.columns[0]
        texts = [cell.text.strip() for cell in self.header]
        counting = [i for i, text in enumerate(texts) if CUES["counting"].fullmatch(text)]
        self.counting = counting[0] if counting else None
        # "1 GPU | 2 GPUs | 4 GPUs" along the top.
        self.counts = {
            i: int(m["b"]) for i, text in enumerate(texts) if (m := _TIMES.fullmatch(text)) and m["b"]
        }

    def claims(self, block: int) -> Iterator[Claim]:
        """Every claim of the table, under the orientation that explains it best."""
        orientations = (self.by_row, self.by_column, self.about_side, self.about_top)
        options = sorted((list(one()) for one in orientations), key=_explained, reverse=True)
        best, second = options[0], options[1]
        clear = _explained(second) < NEARLY * _explained(best) or (
            {p.said for p in second} <= {p.said for p in best}
        )
        # "2x186 GB" makes the row one of a pair of GPUs; the rest may be of both together.
        pairs = {(p.row, p.owner.text) for p in best if p.reading.token.count > 1}
        for placed in best:
            owner, row = placed.owner, placed.row
            moved = self.ragged or len(self.rows[row]) > len(self.header)
            sure = clear and not moved and (row, owner.text) not in pairs
            top = self.columns.get(placed.column)
            place = placed.column if top is not None and top.text == owner.text else row
            claim = claim_of(placed.reading, owner, placed.cell.line, block * kinds.GRID + place, sure)
            if claim.field in IN_CONTEXT:
                claim = replace(claim, context=(placed.label, *self.around(placed), self.above))
            yield claim

    def around(self, placed: _Placed) -> Iterator[str]:
        """The cells of a row with their labels, other figures apart, and the label above the value."""
        tops = {i: cell.text for i, cell in enumerate(self.header)}
        for column, cell in enumerate(self.rows[placed.row]):
            label = self.labels[column].first if column < len(self.labels) else None
            if column != placed.column and label not in IN_CONTEXT and column not in self.columns:
                yield f"{tops.get(column, '')} {cell.text}"
        yield tops.get(placed.column, "")

    def by_row(self) -> Iterator[_Placed]:
        """GPUs down the side, fields along the top."""
        owner: Subject | None = None
        name = 0
        # Beside VRAM or CPUs, plain RAM is the machine's.
        vram = any(CUES["machine_beside"].search(cell.text) for cell in self.header)
        for number, row in enumerate(self.rows[1:], 1):
            found = next(
                ((s, i) for i, cell in enumerate(row[:NAME_COLUMNS]) if (s := name_of(cell.text))), None
            )
            if found is not None:
                name = found[1]
                owner = self._narrowed(found[0], row, name)
            elif not row or row[min(name, len(row) - 1)].text.strip():
                # A blank name continues the row above; any other one is of something unknown.
                owner = None
            for column, cell in enumerate(row[: len(self.labels)] if owner else ()):
                label = self.labels[column]
                ram = vram and CUES["plain_memory"].fullmatch(label.text.strip()) is not None
                if owner and column != name and not ram:
                    yield from self._placed(cell, label, self._counted(owner, row), number, column)

    def by_column(self) -> Iterator[_Placed]:
        """GPUs along the top, fields down the side."""
        section = ""
        for number, row in enumerate(self.rows[1:] if self.columns else (), 1):
            texts = [cell.text for cell in row]
            first = next((text for text in texts if text.strip()), "")
            # A row of one text, alone or in every cell, is the title of those below.
            if sum(bool(text.strip()) for text in texts) == 1 or len(set(texts)) == 1 < len(row):
                section = first
                continue
            label = label_of(first)
            if not label.fields and section:
                label = label_of(f"{section} {first}")
            for column, owner in self.columns.items():
                if column < len(row) and row[column].text != first:
                    counted = self._counted(owner, row)
                    yield from self._placed(row[column], label, counted, number, column)

    def about_side(self) -> Iterator[_Placed]:
        """One GPU outside the table: labels in the first column, values in the next."""
        owner = None if self.columns else self.about
        for number, row in enumerate(self.rows if owner and not owner.several else ()):
            named = name_of(row[0].text) if row else None
            if named is not None and len([c for c in row if c.text.strip()]) == 1:
                owner = named
            elif named is None and owner is not None and len(row) > 1:
                label = label_of(row[0].text)
                for column, cell in enumerate(row[1:], 1):
                    if label.first == "throughput":
                        top = self.labels[column] if column < len(self.labels) else label_of("")
                        counted = self._counted(owner, row)
                        counted = replace(counted, count=self.counts.get(column, counted.count))
                        # Of a network's row those cells are speeds that are one number without a label.
                        speeds = self._placed(cell, label, counted, number, column)
                        if number and column != self.counting and top.first in (None, "throughput"):
                            yield from (
                                p for p in speeds if p.reading.token.text == cell.text.strip("~\u2248 ")
                            )
                        continue
                    # A number without a unit may as well be a rank or a score; and of several columns
                    # without GPUs nobody says whose they are.
                    bare = label.unit is None and re.fullmatch(r"\d{1,3}", cell.text.strip())
                    sure = owner.sure and not bare and len(row) < 4 and column == 1
                    yield from self._placed(cell, label, replace(owner, sure=sure), number, column)

    def about_top(self) -> Iterator[_Placed]:
        """One GPU outside the table: labels along the top."""
        owner = None if self.columns else self.about
        for number, row in enumerate(self.rows[1:] if owner and not owner.several else (), 1):
            # Rows of other GPUs are theirs.
            if owner is None or any(t.kind == "gpu" for c in row[:NAME_COLUMNS] for t in scan(c.text)):
                continue
            for column, cell in enumerate(row[: len(self.labels)]):
                label = self.labels[column]
                # Several rows of specifications are of several things; a speed's row says what it is of.
                sure = owner.sure and (len(self.rows) == 2 or label.first in IN_CONTEXT or label.hourly)
                yield from self._placed(
                    cell, label, self._counted(replace(owner, sure=sure), row), number, column
                )

    def _placed(self, cell: Cell, label: Label, owner: Subject, row: int, column: int) -> Iterator[_Placed]:
        for reading in readings(label, cell.text, starred=self.starred) if len(cell.text) <= LONGEST else ():
            yield _Placed(cell, owner, reading, row, column, label.text)

    def _narrowed(self, owner: Subject, row: Sequence[Cell], name: int) -> Subject:
        """The variants that a column for form or memory leaves: "H100 | SXM5"."""
        for column, cell in enumerate(row[: len(self.header)]):
            if len(owner.gpu_ids) < 2 or column == name or len(cell.text) >= 24:
                continue
            if CUES["variant"].search(self.header[column].text):
                found = subject_of(f"{owner.text} {cell.text}")
                if found and 0 < len(found.gpu_ids) < len(owner.gpu_ids):
                    owner = replace(owner, gpu_ids=found.gpu_ids)
        return owner

    def _counted(self, owner: Subject, row: Sequence[Cell]) -> Subject:
        """The owner as often as a column for the count of GPUs says."""
        text = (
            row[self.counting].text.strip() if self.counting is not None and self.counting < len(row) else ""
        )
        return replace(owner, count=max(1, int(text))) if re.fullmatch(r"\d{1,5}", text, re.ASCII) else owner


def _explained(placed: Sequence[_Placed]) -> float:
    """How much of a table an orientation explains: values that fit, and those that the catalog confirms."""
    return sum(
        1
        + AGREED
        * any(evidence.supports(i, p.reading.field, p.reading.values[0]) for i in p.owner.gpu_ids[:4])
        for p in placed
    )


def claim_of(reading: Reading, owner: Subject, line: int, block: int, sure: bool) -> Claim:
    """The claim that a reading makes of its owner."""
    return Claim(
        line=line, gpu=owner.text, gpu_ids=owner.gpu_ids, field=reading.field, values=reading.values,
        stated=reading.token.text, block=block, approximate=reading.token.approximate,
        at_most=reading.token.at_most, is_range=reading.token.is_range, sparse=reading.sparse,
        vector=reading.vector, several=owner.several, count=owner.count * reading.token.count,
        sure=sure and owner.sure and not reading.either,
    )  # fmt: skip
