"""What no machine can do: physics and logic that every number must pass, measured or published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from gpuwise.checks import physics, tables
from gpuwise.checks.measured import judge_measured
from gpuwise.checks.physics import ABOVE, ran_as
from gpuwise.model.published import PublishedResult
from gpuwise.model.result import Caution

__all__ = ["ABOVE", "judge", "judge_measured", "ran_as"]


def judge(rows: Sequence[PublishedResult]) -> tuple[tuple[Caution, ...], ...]:
    """The cautions of each row, in the order of `rows`; rows of one source are judged together."""
    found: dict[int, list[Caution]] = defaultdict(list)
    for index, row in enumerate(rows):
        found[index].extend(physics.judge(row))
    for index, caution in tables.judge(rows):
        found[index].append(caution)
    return tuple(tuple(dict.fromkeys(found[index])) for index in range(len(rows)))
