"""Compare measurements: a ratio with an interval, and a verdict that noise cannot produce.

same: the whole interval lies within 2 % of 1. Nominally identical runs differ by 0.1 to 2 %
(39 equal H100 machines in public logs), so a smaller difference says nothing of the hardware.
faster / slower: the whole interval lies on one side of 1. unclear: anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from gpuwise.errors import InputError
from gpuwise.model.record import Change, Comparison
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.model.run import RunConfig
from gpuwise.stats.interval import ratio, ratio_of

SAME = 0.02


def compare(a: Measurement, b: Measurement) -> Comparison:
    """Measurement `b` against the baseline `a`."""
    why = _obstacle(a, b)
    if why is not None:
        return Comparison(
            cell=a.config.key("batch"), a=a, b=b, ratio=None, verdict="not-comparable", note=why
        )
    found = ratio_of_steps(a, b)
    # Another framework runs other kernels: its ratio says nothing of the GPUs alone.
    alike = a.config.framework == b.config.framework
    verdict = _verdict(found) if alike else "not-comparable"
    return Comparison(cell=a.config.key("batch"), a=a, b=b, ratio=found, verdict=verdict, note=_note(a, b))


def _note(a: Measurement, b: Measurement) -> str:
    """What was run differently within one cell: the batch, the switches of the recipe."""
    pairs = (
        ("framework", a.config.framework, b.config.framework),
        ("batch", a.batch, b.batch),
        ("recipe", a.config.switches, b.config.switches),
    )
    different = [pair for pair in pairs if pair[1] != pair[2] and None not in pair]
    words = ", ".join(f"{what} {mine} against {theirs}" for what, mine, theirs in different)
    software = "; a difference of software, not only of GPUs" if words.startswith("framework") else ""
    return words + software


def question(config: RunConfig) -> str:
    """The cell, whatever framework answers and whosever kernels ran."""
    return config.key("batch", "framework", "kernels")


def _obstacle(a: Measurement, b: Measurement) -> str | None:
    """Why the two cannot be compared, or None. The cell holds workload, mode, precision and size."""
    for name, m in (("the baseline", a), ("the other", b)):
        if m.status != "ok":
            return f"{name} is {m.status}"
        if m.throughput is None or m.throughput.value <= 0:
            return f"{name} has no throughput"
        if any(issue.code == "tampered" for issue in m.cautions):
            return f"{name} contradicts its own steps"
    if question(a.config) != question(b.config):
        return f"{a.config.key('batch')} is another question than {b.config.key('batch')}"
    if a.workload_version != b.workload_version:
        return f"workload version {a.workload_version} against {b.workload_version}"
    return None


def ratio_of_steps(a: Measurement, b: Measurement) -> Interval:
    """Throughput of `b` over that of `a`, whatever each asked.

    From raw steps where both sides were estimated from theirs, else from the two intervals. A mean of
    runs is no median of windows, so its own interval is used: the ratio is always that of the two values
    shown.
    """
    assert a.throughput is not None
    assert b.throughput is not None
    raw = _raw(a), _raw(b)
    if raw[0] is not None and raw[1] is not None:
        return ratio(*raw[0], *raw[1])
    return ratio_of(a.throughput, b.throughput)


def _raw(m: Measurement) -> tuple[list[tuple[float, ...]], float] | None:
    """Step times by window and items per step, where the throughput is a bootstrap over them."""
    if m.throughput is None or m.throughput.method != "bootstrap" or not m.items_per_step:
        return None
    steps = [window.step_s for window in m.windows if window.step_s]
    # A step without time comes from an edited file: its stated interval is all there is to go by.
    return (steps, m.items_per_step) if steps and min(map(min, steps)) > 0 else None


def _verdict(found: Interval) -> Change:
    if found.low >= 1 - SAME and found.high <= 1 + SAME:
        return "same"
    if found.low > 1:
        return "faster"
    return "slower" if found.high < 1 else "unclear"


def reproduced(comparison: Comparison) -> bool:
    """Whether the two may be one speed: the ratio's interval reaches the 2 % around 1."""
    found = comparison.ratio
    return found is not None and found.low <= 1 + SAME and found.high >= 1 - SAME


def pair(a: Result, b: Result) -> tuple[Comparison, ...]:
    """The measurements of `a` with their counterparts in `b`, in the order of `a`.

    Counterparts ask the same question (`config.key("batch")`) at the same batch. Where each side asks it
    once, the batches may differ. What has no counterpart meets the same question with other kernels, stock
    against tuned, then the same in another framework, without a verdict; what has none there is `unpaired`.
    """
    pairs = _meeting(a.measurements, b.measurements, lambda config: config.key("batch"))
    for cell in (lambda config: config.key("batch", "kernels"), question):
        alone = [m for m in a.measurements if not any(m is mine for mine, _ in pairs)]
        others = [m for m in b.measurements if not any(m is theirs for _, theirs in pairs)]
        met = _meeting(alone, others, cell)
        # The same recipe in the same framework would have been paired above, but for its batch.
        pairs += [(m, n) for m, n in met if m.config.key("batch") != n.config.key("batch")]
    order = {id(m): place for place, m in enumerate(a.measurements)}
    return tuple(compare(*two) for two in sorted(pairs, key=lambda two: order[id(two[0])]))


def unpaired(
    a: Result, b: Result, pairs: Sequence[Comparison]
) -> tuple[tuple[Measurement, ...], tuple[Measurement, ...]]:
    """The measurements of each side that `pair` left without a counterpart."""
    used = {id(m) for c in pairs for m in (c.a, c.b)}
    left, right = (tuple(m for m in side.measurements if id(m) not in used) for side in (a, b))
    return left, right


def _meeting(
    ours: Sequence[Measurement], theirs: Sequence[Measurement], cell: Callable[[RunConfig], str]
) -> list[tuple[Measurement, Measurement]]:
    """The pairs that ask the same by `cell`, in the order of its first asking."""
    return [
        pair
        for asked in dict.fromkeys(cell(m.config) for m in ours)
        for pair in _counterparts(*([m for m in side if cell(m.config) == asked] for side in (ours, theirs)))
    ]


def _counterparts(
    ours: list[Measurement], theirs: list[Measurement]
) -> Iterator[tuple[Measurement, Measurement]]:
    """Pairs within one cell; each measurement is used once."""
    if len(ours) == len(theirs) == 1:
        yield ours[0], theirs[0]
        return
    left = list(theirs)
    for mine in ours:
        match = next((m for m in left if m.batch == mine.batch), None)
        if match is not None:
            left.remove(match)
            yield mine, match


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a gate fails on: a verdict, and by how much at least."""

    verdict: Literal["slower", "faster", "unclear"]
    by: float = 0.0


def parse_condition(text: str) -> Condition:
    """`slower>5%`, `faster>3%`, `slower` or `unclear`. Raises InputError for anything else."""
    match = re.fullmatch(r"\s*(?:(slower|faster)\s*(?:>\s*(\d+(?:\.\d+)?)\s*%)?|(unclear))\s*", text)
    if match is None:
        raise InputError(f"cannot read the condition {text!r}", hint="write it like 'slower>5%' or 'unclear'")
    if match[1] == "slower" and float(match[2] or 0) >= 100:
        raise InputError(f"nothing is ever {text.strip()}", hint="give a share below 100, like 'slower>5%'")
    verdict = cast("Literal['slower', 'faster', 'unclear']", match[1] or match[3])
    return Condition(verdict=verdict, by=float(match[2] or 0) / 100)


def violations(comparisons: Sequence[Comparison], condition: Condition) -> tuple[Comparison, ...]:
    """The comparisons that meet the condition with their whole interval: noise fails no gate.

    slower>5% needs the interval's high end below 0.95, faster>5% its low end above 1.05; without
    a share, the verdict. A measurement that ran in the baseline and now fails or runs out of memory
    meets every `slower` condition: that is no noise, and a gate that it passes would be worthless.
    """
    return tuple(c for c in comparisons if _meets(c, condition))


def _meets(c: Comparison, condition: Condition) -> bool:
    if c.ratio is None:
        broke = c.a.status == "ok" and c.b.status in ("oom", "failed")
        return condition.verdict == "slower" and broke
    if condition.by == 0 or c.verdict == "not-comparable":
        return c.verdict == condition.verdict
    if condition.verdict == "slower":
        return c.ratio.high < 1 - condition.by
    return c.ratio.low > 1 + condition.by
