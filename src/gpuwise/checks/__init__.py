"""What no machine can do: physics and logic that every number must pass, measured or published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpuwise.checks import physics, tables
from gpuwise.checks.measured import judge_measured
from gpuwise.checks.physics import ABOVE
from gpuwise.model.issue import Issue
from gpuwise.model.record import Record

__all__ = ["ABOVE", "judge", "judge_measured"]


def judge(rows: Sequence[Record]) -> tuple[tuple[Issue, ...], ...]:
    """The cautions of each row, in the order of `rows`; rows of one source are judged together."""
    found: dict[int, list[Issue]] = defaultdict(list)
    for index, row in enumerate(rows):
        found[index].extend(physics.judge(row))
    for index, caution in tables.judge(rows):
        found[index].append(caution)
    return tuple(tuple(dict.fromkeys(found[index])) for index in range(len(rows)))
