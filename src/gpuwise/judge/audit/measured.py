"""A result file under audit: does it add up, and does it break no gate?

Everything that is computed from the raw step times is computed again.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuwise import checks
from gpuwise.judge.audit.speeds import KINDS
from gpuwise.model.claim import Finding, Kind
from gpuwise.model.issue import Issue
from gpuwise.model.result import Measurement, Result
from gpuwise.model.units import percent, significant
from gpuwise.stats import mean_of_runs, throughput

DIFFERENT = 0.01
"""Relative difference between a stated throughput and that of its own step times: both come from
the same numbers."""


def judge(result: Result) -> tuple[Finding, ...]:
    """Findings of one result: one per fault, and one per measurement without any."""
    measured = checks.judge_measured(result.measurements, result.environment)
    return tuple(f for number, m in enumerate(measured, 1) for f in _of(m, number, result.environment.device))


def _of(m: Measurement, number: int, device: str) -> Iterator[Finding]:
    if m.throughput is None:
        return
    faults = [*_recounted(m), *((_kind(m, c), c.detail) for c in m.cautions)]
    stated = f"{significant(m.throughput.value, 4)} {m.item}s/s"
    serious = [(kind, why) for kind, why in faults if kind is not None]
    mild = [why for kind, why in faults if kind is None]
    for kind, why in serious:
        yield Finding(
            lines=(number,),
            gpu=device,
            field=m.config.key("batch"),
            stated=stated,
            verdict="contradicts",
            kind=kind,
            explanation=why,
        )
    if not serious:
        yield Finding(
            lines=(number,),
            gpu=device,
            field=m.config.key("batch"),
            stated=stated,
            verdict="cannot tell" if mild else "agrees",
            explanation="; ".join(mild),
        )


def _kind(m: Measurement, caution: Issue) -> Kind | None:
    """None for a caution that makes a number doubtful, not wrong; a CPU's limits are no ceilings."""
    return None if caution.code == "above-peak" and m.config.device == "cpu" else KINDS.get(caution.code)


def _recounted(m: Measurement) -> Iterator[tuple[Kind | None, str]]:
    """Items that were counted against items that the steps processed; energy against power."""
    steps = [window.step_s for window in m.windows if window.step_s]
    assert m.throughput is not None
    if steps and m.items_per_step and min(map(min, steps)) > 0:
        way = mean_of_runs if m.throughput.method == "mean-of-runs" else throughput
        again = way(steps, m.items_per_step).value
        difference = m.throughput.value / again - 1
        if abs(difference) > DIFFERENT:
            yield "counted samples", f"its step times give {significant(again, 4)}: {percent(difference)} off"
    took = sum(window.ended_s - window.started_s for window in m.windows)
    inside = sum(map(sum, steps))
    if took > 0 and inside > took * (1 + DIFFERENT):
        yield "counted samples", f"steps of {inside:.1f} s in windows of {took:.1f} s"
