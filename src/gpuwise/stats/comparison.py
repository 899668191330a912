"""Compare measurements: a ratio with an interval, and a verdict that noise cannot produce.

same: the whole 95 % interval lies within 2 % of 1. Nominally identical runs differ by 0.1 to 2 %
(39 equal H100 machines in public logs), so a smaller difference says nothing of the hardware.
faster / slower: the whole 99 % interval lies on one side of 1, with what differs from run to run in it:
of 100 comparisons of equals, one may come out so. unclear: anything else.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp, hypot, log, sqrt
from statistics import NormalDist, fmean, median
from typing import Literal, cast

from gpuwise.errors import InputError
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Change, Comparison, Interval, Measurement, Result, RunBasis
from gpuwise.model.units import percent
from gpuwise.stats.interval import NORMAL, Spread, ratio_of, spread, stalls, value_of

SAME = 0.02
# Level of the interval that a verdict of faster or slower needs.
VERDICT_LEVEL = 0.99

# How runs of one question differ, as a standard deviation, where no repeats of that kind of card are known:
# 39 equal H100 machines differ by up to 2 %, laptops and shared hosts by more. With 1 %, one in nine
# comparisons of equal runs that spread by 1.5 % comes out faster or slower (docs/notes/intervals.md).
ASSUMED = Spread(0.015, NORMAL)

NONE = Spread(0.0, NORMAL)

# The same of a run that other programs disturbed, or that had not settled. On CPUs that were shared, runs of
# one question a few minutes apart differed by up to a quarter.
DISTURBED = Spread(0.1, NORMAL)
DISTURBING = frozenset({"contended", "unsteady"})

# Stalls that a measurement should have seen, so that there are none where it saw none: of those that come at
# random it sees none in one case of 150.
SEEN = 5

# Repeated questions from which on their median is taken, and not their mean.
MEDIAN_FROM = 5


def compare(a: Measurement, b: Measurement, stored: Spread | None = None) -> Comparison:
    """Measurement `b` against the baseline `a`; `stored` is how runs differ on cards of that kind, as
    `run_to_run` finds it in earlier results."""
    cell = a.config.key("batch")
    # What was run differently within one cell.
    pairs = (
        ("framework", a.config.framework, b.config.framework),
        ("batch", a.batch, b.batch),
        ("recipe", a.config.switches, b.config.switches),
    )
    different = [pair for pair in pairs if pair[1] != pair[2] and None not in pair]
    note = ", ".join(f"{what} {mine} against {theirs}" for what, mine, theirs in different)
    if note.startswith("framework"):
        note += "; a difference of software, not only of GPUs"
    why = _obstacle(a, b)
    if why is not None:
        return Comparison(cell=cell, a=a, b=b, ratio=None, verdict="not-comparable", note=why)
    unseen = Spread(max(_unseen(a, b), _unseen(b, a)), NORMAL)
    ratio = ratio_of_steps(a, b, unseen.beside(stored or NONE))
    # Another framework runs other kernels: its ratio says nothing of the GPUs alone.
    if a.config.framework != b.config.framework:
        return Comparison(cell=cell, a=a, b=b, ratio=ratio, verdict="not-comparable", note=note)
    is_repeated = min(map(_processes, (a, b))) > 1
    basis: RunBasis = "repeats" if is_repeated else "stored" if stored is not None else "assumed"
    doubts = sorted(disturbed(a) | disturbed(b))
    runs = unseen.beside(DISTURBED if doubts else stored or ASSUMED)
    sure = ratio_of_steps(a, b, runs, VERDICT_LEVEL)
    verdict: Change = "unclear"
    if ratio.low >= 1 - SAME and ratio.high <= 1 + SAME:
        verdict = "same"
    elif sure.low > 1:
        verdict = "faster"
    elif sure.high < 1:
        verdict = "slower"
    elif (doubts or basis == "assumed") and not ratio.low <= 1 <= ratio.high:
        kind = " and ".join(doubts) or "single"
        apart = max(sure.high / sure.value - 1, 0)
        share = percent(apart, 0) if apart < 1 else "more than a factor of two"
        doubt = f"{kind} runs may differ by {share}: repeat both"
        note = f"{note}; {doubt}" if note else doubt
    return Comparison(cell=cell, a=a, b=b, ratio=ratio, verdict=verdict, note=note, basis=basis)


def disturbed(m: Measurement) -> set[str]:
    """Codes of what makes the speed of one run say little of the next; repeats say more than these."""
    return (
        {c.code for c in m.cautions if c.severity == "warning"} & DISTURBING if _processes(m) < 2 else set()
    )


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


def ratio_of_steps(
    a: Measurement, b: Measurement, runs: Spread | None = None, level: float = 0.95
) -> Interval:
    """Throughput of `b` over that of `a`, whatever each asked; `runs` is how one run differs from another,
    for a side that was not repeated.

    From raw steps where both sides have them, else from the two intervals (then always 95 %).
    """
    assert a.throughput is not None
    assert b.throughput is not None
    spreads = [_spread(m) for m in (a, b)]
    single = sum(_processes(m) < 2 for m in (a, b))
    # One standard deviation for both sides: they are not two estimates of it.
    more = Spread(sqrt(single) * runs.error, runs.degrees) if runs is not None else NONE
    if spreads[0] is not None and spreads[1] is not None:
        value = b.throughput.value / a.throughput.value
        steps = spreads[0].beside(spreads[1])
        # What differs from run to run is well known and lends its degrees of freedom: without a bound the
        # interval of a few unequal windows would be narrower for what is added to it.
        factor = exp(max(steps.reach(level), steps.beside(more).reach(level)))
        return Interval(value=value, low=value / factor, high=value * factor, level=level, method="ratio")
    whole = ratio_of(a.throughput, b.throughput)
    wider = NormalDist().inv_cdf((1 + level) / 2) / NormalDist().inv_cdf(0.975)
    low, high = (hypot(wider * log(end / whole.value), more.reach(level)) for end in (whole.low, whole.high))
    ends = whole.value * exp(-low), whole.value * exp(high)
    return replace(whole, low=ends[0], high=ends[1], level=whole.level and level)


def _spread(m: Measurement) -> Spread | None:
    """How uncertain a measurement is, by its own steps; None where it has none, or only a single window."""
    windows = [window for window in m.windows if window.step_s]
    # A step without time comes from an edited file: its stated interval is all there is to go by.
    if not windows or min(min(window.step_s) for window in windows) <= 0:
        return None
    method = m.throughput.method if m.throughput is not None else "long-run"
    return spread([window.step_s for window in windows], [window.run for window in windows], method)


def _unseen(a: Measurement, b: Measurement) -> float:
    """Share of its time that `a` lost to stalls which `b`, that saw none, may have been too short to see."""
    a_steps, b_steps = ([window.step_s for window in m.windows] for m in (a, b))
    found = stalls(a_steps)
    if found is None or stalls(b_steps) is not None:
        return 0.0
    a_s, b_s = (sum(sum(window.step_s) * window.each for window in m.windows) for m in (a, b))
    return found.share if found.steps * b_s < SEEN * a_s else 0.0


def _processes(m: Measurement) -> int:
    return len({window.run for window in m.windows})


def run_to_run(results: Iterable[Result], devices: Collection[str]) -> Spread | None:
    """How runs of one question differ on the cards that the driver calls so; None where no question was
    answered twice by the same software.

    Pooled over all questions: one standard deviation, as a logarithm, with its degrees of freedom.
    """
    answers: dict[object, list[float]] = defaultdict(list)
    for result in results:
        place = result.environment
        if place.device not in devices or result.origin != "measured":
            continue
        for m in result.measurements:
            if m.status == "ok" and m.config.mode != "limit" and m.items_per_step and m.windows:
                ran = m.question.key(), m.question.switches, m.workload_version
                each = [
                    value_of([w.step_s for w in m.windows if w.run == run], m.items_per_step)
                    for run in sorted({w.run for w in m.windows})
                ]
                answers[*ran, place.software, place.driver] += map(log, each)
    return pooled(answers.values())


def pooled(answers: Iterable[Sequence[float]]) -> Spread | None:
    """One standard deviation of logarithms of speeds, from groups of runs that should be equal; None where no
    group has two."""
    # `statistics.variance` computes with fractions, a hundred times as long.
    means = [(answer, fmean(answer)) for answer in answers if len(answer) > 1]
    repeated = [
        (sum((x - mean) ** 2 for x in answer) / (len(answer) - 1), len(answer) - 1) for answer, mean in means
    ]
    degrees = sum(degree for _, degree in repeated)
    if not degrees:
        return None
    if len(repeated) < MEDIAN_FROM:
        return Spread(sqrt(sum(degree * square for square, degree in repeated) / degrees), degrees)
    # A question that was measured before and after its program changed must not stand for all: the median
    # over the questions, each variance over the median of its chi-square (Wilson & Hilferty 1931).
    typical = median(square / (1 - 2 / (9 * degree)) ** 3 for square, degree in repeated)
    return Spread(sqrt(typical), degrees / 2)


def reproduced(comparison: Comparison) -> bool:
    """True if the two may be one speed: the ratio's interval reaches the 2 % around 1, or what disturbed one
    of them may be all that differs."""
    ratio = comparison.ratio
    if ratio is None or (ratio.low <= 1 + SAME and ratio.high >= 1 - SAME):
        return ratio is not None
    return comparison.verdict == "unclear" and bool(disturbed(comparison.a) | disturbed(comparison.b))


def pair(a: Result, b: Result, stored: Spread | None = None) -> tuple[Comparison, ...]:
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
    return tuple(compare(*two, stored) for two in sorted(pairs, key=lambda two: order[id(two[0])]))


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
    """The pairs that ask the same by `cell`, in the order of its first asking; each is used once."""
    pairs = []
    for question in dict.fromkeys(cell(m.config) for m in ours):
        mine, left = ([m for m in side if cell(m.config) == question] for side in (ours, theirs))
        lone = len(mine) == len(left) == 1
        for m in mine:
            match = next((n for n in left if lone or n.batch == m.batch), None)
            if match is not None:
                left.remove(match)
                pairs.append((m, match))
    return pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The condition of a gate: a verdict, and by how much at least."""

    verdict: Literal["slower", "faster", "unclear"]
    by: float = 0.0


def parse_condition(text: str) -> Condition:
    """`slower>5%`, `faster>3%`, `slower` or `unclear`. Raises InputError for anything else."""
    match = re.fullmatch(r"\s*(?:(slower|faster)\s*(?:>\s*(\d+(?:\.\d+)?)\s*%)?|(unclear))\s*", text)
    if match is None:
        raise InputError(f"cannot read the condition {text!r}", hint="write it like 'slower>5%' or 'unclear'")
    by = float(match[2] or 0) / 100
    if match[1] == "slower" and by >= 1:
        raise InputError(f"nothing is ever {text.strip()}", hint="give a share below 100, like 'slower>5%'")
    verdict = cast("Literal['slower', 'faster', 'unclear']", match[1] or match[3])
    return Condition(verdict=verdict, by=by)


def violations(comparisons: Sequence[Comparison], condition: Condition) -> tuple[Comparison, ...]:
    """The comparisons that meet the condition with their whole interval: noise fails no gate.

    slower>5% needs the interval's high end below 0.95, faster>5% its low end above 1.05; without
    a share, the verdict. A measurement that ran in the baseline and now fails or runs out of memory
    meets every `slower` condition: that is not noise, and a gate that it passes would be worthless.
    """

    def met(c: Comparison) -> bool:
        if c.ratio is None:
            broke = c.a.status == "ok" and c.b.status in ("oom", "failed")
            return condition.verdict == "slower" and broke
        # Of single runs of which nothing more is known, the ratio's interval lacks what differs between runs.
        if c.basis == "assumed" and c.verdict != condition.verdict:
            return False
        if condition.by == 0 or c.verdict == "not-comparable":
            return c.verdict == condition.verdict
        if condition.verdict == "slower":
            return c.ratio.high < 1 - condition.by
        return c.ratio.low > 1 + condition.by

    return tuple(filter(met, comparisons))
