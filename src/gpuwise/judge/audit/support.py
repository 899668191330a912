"""Support: how far the figures of a text that agree with the catalog confirm how one of them is read.

A column of a table that is right of other GPUs is of the field, unit and precision that it is read as. In
text the lines that state the same fields, each of one GPU, are such a column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpuwise.judge.audit.agree import evidence_of
from gpuwise.model.judgement import Claim

# The block of a table row is this times the number of the table, plus the row; smaller blocks are sections.
GRID = 1_000_000
# All cells of a column are read as one field where the catalog confirms it for at least so many of them and
# for at least this share.
LEAST, FIRM = 3, 0.75
# Support is the number of other GPUs in the column that agree with the catalog, less AGAINST for each that
# differs; from CONFIRMED on, the column's field, unit and precision count as read right. On 30 pages 80 % of
# 1,064 errors (nearly all put in) had that support, and 24 % of the 29 cells that differ without being
# marked as wrong, too few to set a threshold by; one open case did: a wrong clock in a column of three.
AGAINST, CONFIRMED = 2, 1


def most_agree(known: int, cells: int) -> bool:
    """Whether the catalog has so many of a column's values that the rest is of the same field, too."""
    return known >= max(LEAST, FIRM * cells)


class Support:
    """What agrees and what differs in each column and row of a text, counted once."""

    def __init__(self, claims: Sequence[Claim], right: Sequence[bool]) -> None:
        self.on_line: dict[int, set[tuple[tuple[str, ...], str]]] = defaultdict(set)
        for claim in claims:
            self.on_line[claim.line].add((claim.gpu_ids, claim.field))
        # Of lines that speak of one GPU alone the fields that they state.
        self.alone = {
            line: frozenset(field for _, field in found)
            for line, found in self.on_line.items() if len({ids for ids, _ in found}) == 1
        }  # fmt: skip
        self.columns: dict[object, dict[bool, set[tuple[str, ...]]]] = defaultdict(lambda: defaultdict(set))
        for claim, agrees in zip(claims, right, strict=True):
            if claim.gpu_ids and (agrees or evidence_of(claim)):
                self.columns[self.column_of(claim)][agrees].add(claim.gpu_ids)

    def column_of(self, claim: Claim) -> object:
        """The column of a claim; None in a sentence that speaks of several GPUs."""
        if claim.block >= GRID:
            return claim.block // GRID, claim.line_of_field, claim.field, claim.sparse
        return (claim.field, self.alone[claim.line]) if claim.line in self.alone else None

    def of(self, claim: Claim) -> int:
        """How many other GPUs agree in its column, less those that differ."""
        column = self.column_of(claim)
        found = self.columns[column] if column is not None else {}
        right, wrong = (len(found.get(one, set()) - {claim.gpu_ids}) for one in (True, False))
        return right - AGAINST * wrong
