"""No table better than any machine: logic over the rows of one published table.

Measured figures scatter; communication costs something; a lighter network is faster. Rows that
break this were computed, not measured, or are in the wrong line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations

from gpuwise.checks import networks
from gpuwise.model.issue import Issue
from gpuwise.model.record import Record
from gpuwise.model.units import percent, significant

OVER = 1.02
"""Scaling above this share of perfect is beyond the noise of two measurements."""

EXACT = 2e-4
"""Relative difference within which two figures are one figure times a whole number: rounding of
four printed digits."""

LIGHTER = 2.0
"""A network with this many times fewer operations is faster, whatever its layers,"""
MARGIN = 0.05
"""or at least no slower by more: one H200 trains Inception v3, eager in fp16, 0.5 % slower than ResNet-152,
which needs 2.0 times the operations in fewer and larger kernels (results/h200/suite-tf-cnn.json)."""

BUSY = 32
"""Images per step from which a GPU computes rather than launches kernels."""

DIGITS = 4
"""Figures with fewer digits repeat by chance."""

Found = Iterator[tuple[int, Issue]]
Indexed = Sequence[tuple[int, Record]]


def judge(rows: Sequence[Record]) -> Found:
    """(index, caution) for each row that cannot have been measured as stated."""
    indexed = list(enumerate(rows))
    for series in _groups(indexed, _series):
        yield from _scaling(series)
    for table in _groups(indexed, lambda r: (_whose(r), r.gpu, r.question.mode, r.gpus, r.item)):
        yield from _repeated(table)
        for alike in _groups(table, lambda r: (r.precision, r.question.compile, r.batch)):
            yield from _order(alike)
    for work in _groups(
        indexed, lambda r: (_whose(r), r.gpu, r.question.mode, r.question.workload, r.question.compile)
    ):
        yield from _halves(work)


def _whose(row: Record) -> str:
    return row.source.id if row.source else ""


def _series(row: Record) -> Hashable:
    """What the rows of one scaling series share: all but the count and the speed."""
    versions = row.stated.versions if row.stated else ""
    return row.session, row.gpu, row.item, row.question.key("gpus"), row.precision, versions, row.date


def _groups(rows: Indexed, key: Callable[[Record], Hashable]) -> Iterator[Indexed]:
    found: dict[Hashable, list[tuple[int, Record]]] = defaultdict(list)
    for index, row in rows:
        found[key(row)].append((index, row))
    yield from (group for group in found.values() if len(group) > 1)


def _scaling(series: Indexed) -> Found:
    """Several GPUs against one: not more than perfect, and not perfect to the last digit."""
    single = [row.value for _, row in series if row.gpus == 1]
    several = [(index, row) for index, row in series if row.gpus > 1]
    if len(single) != 1:
        return
    exact = []
    for index, row in several:
        share = row.value / (row.gpus * single[0])
        if abs(share - 1) < EXACT:
            exact.append((index, row))
        elif share > OVER:
            yield (
                index,
                Issue(
                    code="scaling",
                    severity="warning",
                    detail=f"INVALID: {row.gpus} GPUs are {significant(row.gpus * share)} times as fast "
                    f"as one ({percent(share)})",
                    fix="check how the source counts samples and which batch one GPU had",
                ),
            )
    if len(exact) > 1:
        detail = "SUSPECT: exactly " + ", ".join(str(row.gpus) for _, row in exact)
        for index, _ in exact:
            yield (
                index,
                Issue(
                    code="linear",
                    severity="warning",
                    detail=f"{detail} times one GPU, to the last digit: computed, not measured",
                    fix="trust the figure of one GPU at most; expect 90 to 97 % scaling",
                ),
            )


def _halves(rows: Indexed) -> Found:
    """One precision exactly twice another, at more than one count: the factor was assumed."""
    by_count: dict[int, list[tuple[int, Record]]] = defaultdict(list)
    for index, row in rows:
        by_count[row.gpus].append((index, row))
    twice: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for group in by_count.values():
        for (i, a), (j, b) in combinations(group, 2):
            slow, fast = sorted(((a.value, i, a.precision), (b.value, j, b.precision)))
            if a.precision != b.precision and abs(fast[0] / slow[0] / 2 - 1) < EXACT:
                twice[slow[2], fast[2]].append((slow[1], fast[1]))
    for (slow_name, fast_name), pairs in twice.items():
        if len(pairs) > 1:
            for pair in pairs:
                for index in pair:
                    yield (
                        index,
                        Issue(
                            code="halves",
                            severity="warning",
                            detail=f"SUSPECT: {slow_name} is exactly half of {fast_name} at "
                            f"{len(pairs)} GPU counts",
                            fix="take one of the two as assumed, not measured",
                        ),
                    )


def _repeated(rows: Indexed) -> Found:
    """One figure for two different networks."""
    seen: dict[float, list[tuple[int, Record]]] = defaultdict(list)
    for index, row in rows:
        if len(f"{row.value:.10g}".replace(".", "").strip("0")) >= DIGITS:
            seen[row.value].append((index, row))
    for value, same in seen.items():
        names = sorted({f"{row.question.workload} {row.precision}" for _, row in same})
        if len({row.question.workload for _, row in same}) > 1:
            for index, _ in same:
                yield (
                    index,
                    Issue(
                        code="repeated",
                        severity="warning",
                        detail=f"SUSPECT: {value:,.10g} stands for {' and for '.join(names)}",
                        fix="at most one of these rows was measured",
                    ),
                )


def _order(rows: Indexed) -> Found:
    """A network slower than one that needs twice the operations."""
    known = [
        (index, row, net)
        for index, row in rows
        if (net := networks.find(row.question.workload)) and net.family and (row.batch or BUSY) >= BUSY
    ]
    for index, row, net in known:
        heavier = [
            (other_net.forward_flop / net.forward_flop, other)
            for _, other, other_net in known
            if other_net.family == net.family and other_net.forward_flop >= LIGHTER * net.forward_flop
        ]
        slower = [(times, other) for times, other in heavier if row.value < other.value * (1 - MARGIN)]
        if slower:
            times, other = max(slower, key=lambda pair: pair[1].value)
            yield (
                index,
                Issue(
                    code="order",
                    severity="warning",
                    detail=f"SUSPECT: slower than {other.question.workload} ({other.value:,.10g}), which "
                    f"needs {times:.1f} times the operations",
                    fix="check whether rows are exchanged or figures invented",
                ),
            )
