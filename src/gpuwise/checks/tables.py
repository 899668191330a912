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

# Scaling above this share of perfect is beyond the noise of two measurements.
OVER = 1.02
# Relative difference within which two figures are one figure times a whole number: rounding of four
# printed digits.
EXACT = 2e-4
# A network with this many times fewer operations is faster, whatever its layers, or at least no slower by
# more than the margin: one H200 trains Inception v3, eager in fp16, 0.5 % slower than ResNet-152, which needs
# 2.0 times the operations in fewer and larger kernels (results/h200/suite-tf-cnn.json).
LIGHTER, MARGIN = 2.0, 0.05
# Images per step from which a GPU computes rather than launches kernels.
BUSY = 32
# Figures with fewer digits repeat by chance.
DIGITS = 4
FIXES = {
    "scaling": "check how the source counts samples and which batch one GPU had",
    "linear": "trust the figure of one GPU at most; expect 90 to 97 % scaling",
    "halves": "take one of the two as assumed, not measured",
    "repeated": "at most one of these rows was measured",
    "order": "check whether rows are exchanged or figures invented",
}

Indexed = Sequence[tuple[int, Record]]
ALIKE = 50
"""Rows of one network on one number of GPUs: more are no table of speeds, and their pairs take minutes."""

NAMED = 20
"""Counts or networks that a sentence names."""

Found = Iterator[tuple[int, str, str]]
"""(index of a row, code, detail)"""


def judge(rows: Sequence[Record]) -> Iterator[tuple[int, Issue]]:
    """(index, caution) for each row that cannot have been measured as stated."""
    for index, code, detail in _faults(list(enumerate(rows))):
        yield index, Issue(code=code, severity="warning", detail=detail, fix=FIXES[code])


def _faults(rows: Indexed) -> Found:
    for series in _groups(rows, _series):
        yield from _scaling(series)
    for table in _groups(rows, lambda r: (_whose(r), r.gpu, r.question.mode, r.gpus, r.item)):
        yield from _repeated(table)
        for alike in _groups(table, lambda r: (r.precision, r.question.compile, r.batch)):
            yield from _order(alike)
    for work in _groups(
        rows, lambda r: (_whose(r), r.gpu, r.question.mode, r.question.workload, r.question.compile)
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
    if len(single) != 1:
        return
    shares = [(i, row.gpus, row.value / (row.gpus * single[0])) for i, row in series if row.gpus > 1]
    exact = [(index, count) for index, count, share in shares if abs(share - 1) < EXACT]
    for index, count, share in shares:
        if share > OVER:
            speedup = f"{significant(count * share)} times as fast as one ({percent(share)})"
            yield index, "scaling", f"INVALID: {count} GPUs are {speedup}"
    if len(exact) > 1:
        counts = ", ".join(str(count) for _, count in exact[:NAMED])
        for index, _ in exact:
            detail = f"exactly {counts} times one GPU, to the last digit: computed, not measured"
            yield index, "linear", f"SUSPECT: {detail}"


def _halves(rows: Indexed) -> Found:
    """One precision exactly twice another, at more than one count: the factor was assumed."""
    by_count: dict[int, list[tuple[float, int, str]]] = defaultdict(list)
    for index, row in rows:
        by_count[row.gpus].append((row.value, index, row.precision))
    twice: dict[tuple[str, str], list[int]] = defaultdict(list)
    for group in (group for group in by_count.values() if len(group) <= ALIKE):
        for slow, fast in map(sorted, combinations(group, 2)):
            if slow[2] != fast[2] and abs(fast[0] / slow[0] / 2 - 1) < EXACT:
                twice[slow[2], fast[2]] += (slow[1], fast[1])
    for (slow_name, fast_name), indices in twice.items():
        if len(indices) > 2:
            counts = f"{len(indices) // 2} GPU counts"
            for index in indices:
                yield index, "halves", f"SUSPECT: {slow_name} is exactly half of {fast_name} at {counts}"


def _repeated(rows: Indexed) -> Found:
    """One figure for two different networks."""
    seen: dict[float, list[tuple[int, Record]]] = defaultdict(list)
    for index, row in rows:
        if len(f"{row.value:.10g}".replace(".", "").strip("0")) >= DIGITS:
            seen[row.value].append((index, row))
    for value, same in seen.items():
        if len({row.question.workload for _, row in same}) > 1:
            names = sorted({f"{row.question.workload} {row.precision}" for _, row in same})
            detail = f"SUSPECT: {value:,.10g} stands for {' and for '.join(names[:NAMED])}"
            for index, _ in same:
                yield index, "repeated", detail


def _order(rows: Indexed) -> Found:
    """A network slower than one that needs twice the operations."""
    known = [
        (index, row, network)
        for index, row in rows
        if (network := networks.find(row.question.workload))
        and network.family and (row.batch or BUSY) >= BUSY
    ]  # fmt: skip
    # The fastest row of each network decides; there are few networks, and there may be many rows.
    fastest: dict[str, tuple[int, Record, networks.Network]] = {}
    for one in known:
        if one[1].value > fastest.get(one[2].id, one)[1].value or one[2].id not in fastest:
            fastest[one[2].id] = one
    ranked = sorted(fastest.values(), key=lambda one: one[0])
    for index, row, network in known:
        slower = [
            (other, heavier.forward_flop / network.forward_flop)
            for _, other, heavier in ranked
            if heavier.family == network.family and heavier.forward_flop >= LIGHTER * network.forward_flop
            and row.value < other.value * (1 - MARGIN)
        ]  # fmt: skip
        if slower:
            other, times = max(slower, key=lambda pair: pair[0].value)
            what = f"{other.question.workload} ({other.value:,.10g}), which needs {times:.1f} times the"
            yield index, "order", f"SUSPECT: slower than {what} operations"
