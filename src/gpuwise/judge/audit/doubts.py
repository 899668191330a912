"""Doubts about a contradiction: what the other claims of its text say of how it was read.

Where more is wrong than right it is the reading that fails, not the text: columns that moved, another GPU
meant, a product that the catalog lacks, figures of something else.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from gpuwise.facts import catalog
from gpuwise.judge.audit import agree, explain
from gpuwise.judge.audit.agree import OF_WIDTH, evidence_of, gpus_with, numbers_of
from gpuwise.judge.audit.evidence import alike
from gpuwise.judge.audit.explain import SHARED, TAKEN_FOR_OTHER, UNTELLING, Around
from gpuwise.judge.audit.support import CONFIRMED, GRID, Support
from gpuwise.judge.audit.words import COUNTS
from gpuwise.model.judgement import Claim, Verdict

OF_MEMORY = frozenset({"memory_bytes_per_s", "memory_bus_bits"})
# A line that states another type of memory, and its rate, is of an edition that the catalog lacks: "RX 550
# DDR3: 14.4 GB/s".
EDITION, EDITED = ("memory_type", "memory_bytes_per_s"), (*UNTELLING, "other variant")
# What programs measure, rates of arithmetic apart.
MEASURED = frozenset({"memory_bytes_per_s", "link_bytes_per_s", "power_w", "boost_hz", "base_hz", "core_hz"})
# Of so many GPUs a field that stands alike on lines is right, and so many times as often as it is wrong.
ROWS, MOST_RIGHT = 4, 3
OF_CELLS = ("memory_bytes", "memory_type")
# A figure that is so many times the known one, or less, and of no known kind of error is of something else;
# a clock beyond so many times is a processor's.
OTHER, CPU = 10.0, 1.45
# Where so many GPUs of a column have another GPU's figure, not all the same one, its cells were read one
# place off; where all that it says of so many is wrong, it is of another field.
MOVED = 3
# Contradictions of one place that outnumber what agrees there: the reading is wrong, not the text.
MOSTLY = 4
# A contradiction is sure only where at least so many claims of its group agree, and no fewer than contradict.
LEAST = 2
# A text about something else mentions GPUs in passing. A claim is accused only where at least COMPANY other
# claims within NEARBY lines are right; sizes of memory count in tables only, since they stand beside names of
# GPUs in any text. It takes 2 false accusations of 3 in whole documents, 1 true one of 300 in pages on GPUs.
COMPANY, NEARBY = 2, 12
# A text of so many lines is not the sheet of one GPU: it describes the machine around the card, too.
SHEET_LINES = 40
# What nothing but a card has, so that also a text about something else says it of one.
OF_CARDS = frozenset({"memory_bytes_per_s", "memory_bus_bits", "memory_type", "tensor_cores", "rt_cores"})
PLAIN = (*TAKEN_FOR_OTHER, "digit swap", "full die for product")  # No other meaning explains them
_UNIT = re.compile(r"\d ?[A-Za-z]")


class Doubts:
    """The claims of a text, counted by place, line and field once, so that a long text takes linear time."""

    def __init__(self, claims: Sequence[Claim], verdicts: Sequence[Verdict], support: Support) -> None:
        self.judged = list(zip(claims, verdicts, strict=True))
        wrong = [claim for claim, verdict in self.judged if verdict == "contradicts"]
        self.text = Around(claims, wrong)
        self.last = max((claim.line for claim in claims), default=0)
        self.several = len({claim.gpu_ids for claim in claims}) > 1
        # Of a sheet, whose every claim is of one GPU, no other one can be the owner.
        self.sheet = _is_sheet(claims) and not _is_of_another(wrong)
        self.of_others = self.text.records_of_others()
        self.said = Counter(map(_said, claims))
        self.right = {_said(c) for c, v in self.judged if c.sure and v == "agrees"}
        counts = (c for c, v in self.judged if c.field in COUNTS and v == "agrees")
        self.counted = {_said(replace(c, sentence=-1)) for c in counts}
        self.sizes = {(*_size(c), c.block >= GRID) for c in claims if c.field == "memory_bytes"}
        self.outside = {(c.block, c.gpu_ids) for c, v in self.judged if v == "cannot tell" and _is_outside(c)}
        wrongly = [
            {(c.line, c.gpu_ids) for c, v in self.judged if c.field == f and v != "agrees"} for f in EDITION
        ]
        self.editions = set.intersection(*wrongly)
        self.support, self.on_line = support, support.on_line
        self.count_groups()
        self.count_lines()
        self.count_strangers()

    def is_doubtful(self, claim: Claim) -> bool:
        """Whether a claim that contradicts the catalog may have been misread, or be of something else."""
        kind = self.text.explain(claim)[0]
        twice = kind == "internal contradiction"
        of_sheet = twice and self.is_of_sheet(claim)
        moved = self.moved[claim.block // GRID, claim.field] if claim.block >= GRID else {}
        if (
            self.is_measured(claim)
            or (claim.block, claim.gpu_ids) in self.of_others
            or (len(moved) >= MOVED and len({*moved.values()}) > 1)
            or (kind not in TAKEN_FOR_OTHER and not agree.counts_bits(claim) and self.is_misread(claim))
            or self.is_said_rightly(claim, kind)
            or self.is_far_off(claim, kind)
            or (twice and not of_sheet and self.is_unowned(claim))
            or self.is_of_one(claim, kind)
            or (kind in EDITED and claim.field in EDITION and (claim.line, claim.gpu_ids) in self.editions)
        ):
            return True
        return not self.sheet and (
            self.fails(claim)
            or self.is_weak(claim, kind)
            or (not of_sheet and (self.is_of_stranger(claim) or self.is_in_passing(claim)))
            or self.is_foreign(claim)
        )

    def count_groups(self) -> None:
        """What is wrong and right of claims that are doubted together, and of what programs measure in a
        table; a figure that a text repeats counts once."""
        self.groups: dict[str, Counter[str]] = defaultdict(Counter)
        self.measured: dict[int, Counter[str]] = defaultdict(Counter)
        self.moved: dict[tuple[int, str], dict[tuple[str, ...], object]] = defaultdict(dict)
        self.columns: dict[object, dict[Verdict, set[tuple[str, ...]]]] = defaultdict(
            lambda: defaultdict(set)
        )
        once = {
            (c.block >= GRID and n, c.gpu_ids, c.field, c.stated): (c, v)
            for n, (c, v) in enumerate(self.judged)
        }
        for claim, verdict in once.values():
            # A rate of the other kind is read right: of just this GPU and format.
            if verdict == "contradicts" and (self.text.mechanism(claim) or ("",))[0] in TAKEN_FOR_OTHER:
                verdict = "agrees"
            elif verdict == "contradicts" and self.text.name(claim)[0] == explain.NEIGHBOUR:
                self.moved[claim.block // GRID, claim.field][claim.gpu_ids] = claim.values
            self.columns[self.support.column_of(claim)][verdict].add(claim.gpu_ids)
            self.groups[claim.group][verdict] += 1
            self.measured[claim.block // GRID][verdict] += claim.block >= GRID and _is_measured(claim)

    def count_lines(self) -> None:
        """What agrees on each line and in each table."""
        self.agreed: dict[int, set[tuple[str, tuple[str, ...], int]]] = defaultdict(set)
        for claim, verdict in self.judged:
            if verdict == "agrees" and (claim.field != "memory_bytes" or claim.block >= GRID):
                for place in (claim.line, -(claim.block // GRID) or claim.line):
                    self.agreed[place].add((claim.field, claim.gpu_ids, claim.line))

    def count_strangers(self) -> None:
        """Of each product and line what is right and wrong in sentences; of each column of a table the wrong
        figures of one GPU."""
        self.strange: dict[tuple[str, int], set[tuple[str, Verdict]]] = defaultdict(set)
        self.wrong_of: dict[object, set[tuple[float, ...]]] = defaultdict(set)
        for claim, verdict in self.judged:
            prose = claim.block < GRID
            if prose and verdict == "contradicts" and self.text.explain(claim)[0] in PLAIN:
                # Digits swapped, the base clock: read right, of just this GPU.
                continue
            if prose and verdict in ("agrees", "contradicts"):
                for gpu_id in claim.gpu_ids:
                    self.strange[agree.product(gpu_id), claim.line].add((claim.field, verdict))
            elif verdict == "contradicts" and (figures := numbers_of(claim.values)):
                self.wrong_of[_column(claim)].add(tuple(figures))

    def is_of_column(self, claim: Claim) -> bool:
        return claim.block >= GRID or self.support.of(claim) >= ROWS

    def is_of_line(self, claim: Claim) -> bool:
        """Whether a line of text speaks of this GPU alone, and rightly of another field."""
        right = {ids for field, ids, _ in self.agreed[claim.line] if field != claim.field}
        return len({ids for ids, _ in self.on_line[claim.line]}) == 1 and claim.gpu_ids in right

    def is_whole(self, claim: Claim) -> bool:
        """Whether the text ends near the claim on both sides."""
        return claim.line <= NEARBY and self.last <= claim.line + NEARBY

    def fails(self, claim: Claim) -> bool:
        """Whether more is wrong than right in its table of what programs measure: they reach less than GPUs
        are rated at. Whose a product's other figures are the layout says, however much is wrong."""
        table = self.measured[claim.block // GRID]
        plain = (self.text.mechanism(claim) or ("",))[0] in TAKEN_FOR_OTHER
        return _is_measured(claim) and not plain and table["contradicts"] > max(table["agrees"], MOSTLY - 1)

    def is_weak(self, claim: Claim, kind: str) -> bool:
        """Whether too little agrees of the group that its reading depends on."""
        group = self.groups[claim.group]
        # Of a table below an unsure heading more must agree than of sentences.
        least = (2 if claim.block >= GRID else 1) * max(LEAST, group["contradicts"])
        # Shops' prices are the ones at launch by chance, too.
        least = MOST_RIGHT * group["contradicts"] if claim.group == "prices" else least
        return kind != "digit swap" and bool(claim.group) and group["agrees"] < least

    def is_said_rightly(self, claim: Claim, kind: str) -> bool:
        """Whether its sentence states the right value, too: it speaks of what is stated and what is reached.

        Two cells of one row are of one GPU.
        """
        # Of two rates under one mark the smaller is the dense one: "362 / 724*".
        smaller = kind == "dense as sparse" and self.said[_said(claim)] > 1
        cells = claim.block >= GRID and (
            kind in PLAIN or (kind in ("internal contradiction", "other variant") and claim.field in OF_CELLS)
        )
        # Of two columns each states its own: the date, and the year of the launch.
        cells |= claim.block >= GRID and self.support.of(claim) >= CONFIRMED
        # "H200 replaces H100's 80 GB HBM2e with 141 GB HBM3e": the figure of another one of the text.
        of_any = claim.of_any and kind not in (explain.NEIGHBOUR, "internal contradiction")
        # "24 cores, ... ? engines, 28 cores": a row that lost its cells, and a question mark ends a sentence.
        row = claim.field in COUNTS and _said(replace(claim, sentence=-1)) in self.counted
        return smaller or (not (cells or of_any) and (row or _said(claim) in self.right))

    def is_far_off(self, claim: Claim, kind: str) -> bool:
        """Whether it is so far from every known value that something else is counted: what a job asks for,
        images a second. But not what another GPU has, in a table that states the field rightly of most."""
        known, stated = numbers_of(k.value for k in evidence_of(claim)), numbers_of(claim.values)
        if not (known and stated) or claim.total or claim.field in OF_WIDTH:
            return False
        confirmed = claim.block >= GRID and self.support.of(claim) >= CONFIRMED
        if kind == explain.NEIGHBOUR and confirmed:
            return False
        # A rate without a unit may be of images, or in the unit of another cell.
        bare = claim.field.startswith("peak:") and not _UNIT.search(claim.stated)
        clock = claim.field.endswith("_hz") and not confirmed
        most = CPU if clock and "GHz" in claim.stated else OTHER
        near = any(1 / OTHER < v / (claim.count * k) <= most for v in stated for k in known if k)
        slip = claim.field in COUNTS and any(agree.is_slip(v, k) for v in stated for k in known)
        return not near and not slip and (bare or kind in UNTELLING)

    def is_misread(self, claim: Claim) -> bool:
        """Whether its column is wrong of several GPUs and right of none: of another unit, clock or precision
        than it was read as."""
        column = self.support.column_of(claim)
        found = self.columns[column] if column is not None else {}
        return len(found.get("contradicts", ())) >= MOVED and "agrees" not in found

    def is_measured(self, claim: Claim) -> bool:
        """Whether a column states several wrong figures of one GPU: what was measured, or paid, of it."""
        return len(self.wrong_of[_column(claim)]) > 1

    def is_headed(self, claim: Claim) -> bool:
        """Whether the head of a row or column says whose it is; in lists not of peaks: there are several."""
        return self.is_of_column(claim) and (claim.block >= GRID or not claim.field.startswith("peak:"))

    def is_of_sheet(self, claim: Claim) -> bool:
        """Whether it stands in a sheet of one GPU, where either statement may be the wrong one, or on a line
        that is right but for it."""
        peak = claim.field.startswith("peak:")
        return not (peak or self.is_headed(claim)) and (
            self.text.is_of_sheet(claim) or self.is_of_line(claim)
        )

    def is_unowned(self, claim: Claim) -> bool:
        """Whether it may be of another GPU of the text, which has this figure, or may have it: powers are
        set and prices differ. What a text states rightly elsewhere, it states here of another GPU more often
        than wrongly: of 42 such accusations in 200 documents 29 were false."""
        of_any = claim.of_any or claim.field in ("power_w", "launch_price_usd")
        of_any |= not gpus_with(claim.field, claim.values).isdisjoint(self.text.gpus)
        return self.several and not self.is_headed(claim) and of_any

    def is_of_one(self, claim: Claim, kind: str) -> bool:
        """Whether one GPU may be meant of those that it names, or a neighbour of which the text states none
        where it states the right one of this GPU."""
        if kind == explain.NEIGHBOUR and self.text.is_given_to_other(claim):
            return True
        several = claim.several and kind in (*TAKEN_FOR_OTHER, explain.NEIGHBOUR)
        # A size behind the name that stands in a cell, too, is of a variant that the catalog lacks.
        return several or {(*_size(claim), True), (*_size(claim), False)} <= self.sizes

    def is_of_stranger(self, claim: Claim) -> bool:
        """Whether of the fields that stand near each other more are wrong of a GPU than right: they are of
        another product, one named before that the catalog lacks, or one that a sentence goes on about."""
        if claim.block >= GRID or self.text.explain(claim)[0] in PLAIN:
            return False
        lines = range(claim.line - NEARBY, claim.line + NEARBY + 1)
        own = {*map(agree.product, claim.gpu_ids)}
        near = {one for line in lines for it in own for one in self.strange.get((it, line), ())}
        wrong = {field for field, verdict in near if verdict == "contradicts"}
        right = {field for field, verdict in near if verdict == "agrees"}
        return len(wrong) > max(1 + (bool(right) or self.is_whole(claim)), len(right))

    def is_in_passing(self, claim: Claim) -> bool:
        """Whether a text about something else mentions a GPU: too little near it is right of any."""
        lines = (-(claim.block // GRID), *range(max(claim.line - NEARBY, 1), claim.line + NEARBY + 1))
        # In a table a field that agrees in two rows counts twice: each shows that the columns are read right.
        parts = 3 if claim.block >= GRID else 2
        beside = {one[:parts] for n in lines for one in islice(self.agreed.get(n, ()), COMPANY + 1)}
        if len(beside - {(claim.field, claim.gpu_ids)}) >= COMPANY:  # one may be its own
            return False
        column = claim.block < GRID and self.is_of_column(claim)
        # "A: 1,000 cores, B: 2,000": what is right of B shows how A's is read, also in a column.
        other = any(f == claim.field and ids != claim.gpu_ids for f, ids, _ in self.agreed[claim.line])
        other |= claim.block >= GRID and self.support.of(claim) >= CONFIRMED
        of_card = self.is_whole(claim) or claim.field in OF_CARDS or column or other
        return not of_card and self.text.explain(claim)[0] not in PLAIN

    def is_foreign(self, claim: Claim) -> bool:
        """Whether it may be of a card whose memory size the catalog lacks: an H20 with 141 GB."""
        return claim.field in OF_MEMORY and (claim.block, claim.gpu_ids) in self.outside


def _is_outside(claim: Claim) -> bool:
    """Whether a table says surely that a GPU has a memory size that products outside of the catalog have."""
    sizes = (size * 2**30 for i in claim.gpu_ids for size in catalog.sizes_outside(i))
    return claim.field == "memory_bytes" and claim.block >= GRID and claim.sure and any(
        alike(n, size, agree.FEW_CLOSE) for size in sizes for n in numbers_of(claim.values)
    )  # fmt: skip


def _size(claim: Claim) -> tuple[object, ...]:
    """What a size behind a name has in common with the cell that states it, too."""
    return claim.line, claim.gpu_ids, claim.stated


def _is_sheet(claims: Sequence[Claim]) -> bool:
    """Whether a short text states several fields of one GPU and nothing of any other."""
    lines = [claim.line for claim in claims] or [0]
    fields = {claim.field for claim in claims if claim.sure}
    one = len({claim.gpu_ids for claim in claims}) == 1 and not any(claim.several for claim in claims)
    return one and len(fields) >= explain.SHEET and max(lines) - min(lines) < SHEET_LINES


def _is_of_another(wrong: Sequence[Claim]) -> bool:
    """Whether all that is wrong is right of one other product: the name may be the wrong one."""
    claims = [claim for claim in wrong if claim.field not in SHARED]
    own = {sibling for claim in claims[:1] for i in claim.gpu_ids for sibling in (i, *agree.family(i))}
    having = [gpus_with(claim.field, claim.values) for claim in claims]
    return bool(having and frozenset.intersection(*having) - own)


def _is_measured(claim: Claim) -> bool:
    return claim.field.startswith("peak:") or claim.field in MEASURED


def _column(claim: Claim) -> tuple[object, ...]:
    """What the claims of a table about one field of one GPU have alike."""
    return claim.block // GRID, claim.gpu_ids, claim.field, claim.sparse


def _said(claim: Claim) -> tuple[object, ...]:
    """What claims of one row, or of one sentence whichever variants it may mean, have alike."""
    own = claim.gpu_ids if claim.block >= GRID else tuple(sorted({*map(agree.product, claim.gpu_ids)}))
    return claim.line, claim.sentence, own, claim.field, claim.sparse, claim.total
