"""Compare measurements: a ratio with an interval, and a verdict that noise cannot produce.

same: the whole interval lies within 2 % of 1. Nominally identical runs differ by 0.1 to 2 %
(39 equal H100 machines in public logs), so a smaller difference says nothing of the hardware.
faster / slower: the whole interval lies on one side of 1. unclear: anything else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from gpuwise.errors import InputError
from gpuwise.model.answer import Comparison, Verdict
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.stats.interval import ratio

SAME = 0.02


def compare(a: Measurement, b: Measurement) -> Comparison:
    """Measurement `b` against the baseline `a`."""
    why = _obstacle(a, b)
    if why is not None:
        return Comparison(cell=a.config.cell, a=a, b=b, ratio=None, verdict="not-comparable", note=why)
    found = _ratio(a, b)
    note = "" if a.batch == b.batch or None in (a.batch, b.batch) else f"batch {a.batch} against {b.batch}"
    return Comparison(cell=a.config.cell, a=a, b=b, ratio=found, verdict=_verdict(found), note=note)


def _obstacle(a: Measurement, b: Measurement) -> str | None:
    """Why the two cannot be compared, or None."""
    for name, m in (("baseline", a), ("other", b)):
        if m.status != "ok" or m.throughput is None:
            return f"{name} is {m.status}"
    if a.config.cell != b.config.cell:
        return f"{a.config.cell} is another question than {b.config.cell}"
    if a.workload_version != b.workload_version:
        return f"workload version {a.workload_version} against {b.workload_version}"
    return None


def _ratio(a: Measurement, b: Measurement) -> Interval:
    """By bootstrap where both have raw windows; else the known interval over the stated figure."""
    assert a.throughput is not None and b.throughput is not None
    if a.windows and b.windows and a.items_per_step and b.items_per_step:
        return ratio(*_raw(a), *_raw(b))
    one, other = a.throughput, b.throughput
    return Interval(
        value=other.value / one.value,
        low=other.low / one.high,
        high=other.high / one.low,
        level=one.level or other.level,
        method="interval over stated figure",
    )


def _raw(m: Measurement) -> tuple[list[tuple[float, ...]], float]:
    """Step times by window, and items per step."""
    assert m.items_per_step is not None
    return [window.step_s for window in m.windows], m.items_per_step


def _verdict(found: Interval) -> Verdict:
    if found.low >= 1 - SAME and found.high <= 1 + SAME:
        return "same"
    if found.low > 1:
        return "faster"
    return "slower" if found.high < 1 else "unclear"


def pair(a: Result, b: Result) -> tuple[Comparison, ...]:
    """Every measurement of `a` with its counterpart in `b`; what has none is left out.

    Counterparts ask the same question (`config.cell`). Where one side asks it at several
    batches, the batches must be equal; where each side asks it once, they may differ.
    """
    found = []
    for mine in a.measurements:
        theirs = [m for m in b.measurements if m.config.cell == mine.config.cell]
        ours = [m for m in a.measurements if m.config.cell == mine.config.cell]
        equal = [m for m in theirs if m.batch == mine.batch]
        if equal:
            found.append(compare(mine, equal[-1]))
        elif len(ours) == len(theirs) == 1:
            found.append(compare(mine, theirs[0]))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a gate fails on: a verdict, and by how much at least."""

    verdict: Literal["slower", "faster", "unclear"]
    by: float = 0.0


def parse_condition(text: str) -> Condition:
    """`slower>5%`, `faster>3%`, `slower` or `unclear`. Raises InputError for anything else."""
    match = re.fullmatch(r"\s*(slower|faster|unclear)\s*(?:>\s*([0-9.]+)\s*%)?\s*", text)
    if match is None or (match[1] == "unclear" and match[2]):
        raise InputError(f"cannot read the condition {text!r}", hint="write it like 'slower>5%' or 'unclear'")
    verdict = cast("Literal['slower', 'faster', 'unclear']", match[1])
    return Condition(verdict=verdict, by=float(match[2] or 0) / 100)


def violations(comparisons: Sequence[Comparison], condition: Condition) -> tuple[Comparison, ...]:
    """The comparisons that meet the condition with their whole interval: noise fails no gate.

    slower>5% needs the interval's high end below 0.95. A measurement that failed on the other
    side meets every `slower` condition: it has become infinitely slow.
    """
    return tuple(c for c in comparisons if _meets(c, condition))


def _meets(c: Comparison, condition: Condition) -> bool:
    if c.ratio is None:
        return condition.verdict == "slower" and c.a.status == "ok" and c.b.status != "ok"
    if condition.verdict == "unclear":
        return c.verdict == "unclear"
    if condition.verdict == "slower":
        return c.ratio.high < 1 - condition.by
    return c.ratio.low > 1 + condition.by
