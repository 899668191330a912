"""Go on with a session that was interrupted: what it measured is kept, the rest is run.

One result file has one environment, so a session is resumed only on the same device with the same
software; a measurement counts as done where it ended ok, was asked for in exactly the same words and
has today's version of its workload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.model.result import Continuation, Measurement, Result
from gpuwise.model.run import Environment, RunConfig

PASSING = frozenset({"card", "other_processes", "pcie_generation"})
"""What changes by itself: which of equal cards is given, who else is there, and a link that slows down while
it is idle."""


def check_same(old: Result, now: Environment) -> None:
    """Raise InputError where `old` was measured elsewhere or with other software."""
    if old.origin != "measured":
        raise InputError(f"{old.id} holds published figures, no session to resume", hint="gpuwise bench")
    other = [change for change in old.environment.diff(now) if change[0] not in PASSING]
    if other:
        told = "; ".join(f"{name} was {was}, is {is_now}" for name, was, is_now in other)
        raise InputError(
            f"{old.id} was measured in another environment: {told}",
            hint="start anew: the same command without --resume, with another -o FILE",
        )


def continued(old: Result, now: Result) -> Result:
    """`old`, with the command of the session that goes on with it; on another card it is nobody's own."""
    this = Continuation(started_at=now.created_at, command=now.command)
    card = old.environment.card if old.environment.card == now.environment.card else None
    return replace(old, resumed=(*old.resumed, this), environment=replace(old.environment, card=card))


def done(old: Result, plan: Sequence[RunConfig]) -> tuple[Measurement, ...]:
    """The measurements of `old` that answer a configuration of the plan."""
    return tuple(
        m
        for m in old.measurements
        if m.status == "ok"
        and m.config in plan
        and m.workload_version == workloads.get(m.config.workload).spec.version
    )
