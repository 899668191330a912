"""One result of the files that the machines of one session wrote. Pure.

Every machine times the same common steps by rank 0's clock and knows all ranks; what it alone knows are
its own sensors. So the first machine's file is kept, and the others fill in the telemetry of their GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuwise.errors import InputError
from gpuwise.measure.telemetry import combined
from gpuwise.model.issue import Issue
from gpuwise.model.result import Measurement, Result


def merged(results: Sequence[Result]) -> Result:
    """The first machine's result with what the others add. Raises InputError where they do not belong
    together."""
    numbers = [_machine(result) for result in results]
    nodes = max(m.config.nodes for result in results for m in result.measurements)
    if sorted(numbers) != list(range(nodes)):
        listed = ", ".join(f"{result.id}: machine {n}" for result, n in zip(results, numbers, strict=True))
        raise InputError(
            f"these are not the files of all machines of one session: {listed}",
            hint="merge one file of each machine",
        )
    head, *others = sorted(results, key=_machine)
    unlike = tuple(_unlike(head, others))
    measurements = tuple(_filled(m, _counterparts(m, others), unlike) for m in head.measurements)
    return replace(head, measurements=measurements)


def _machine(result: Result) -> int:
    """The number of the machine that wrote a result."""
    for m in result.measurements:
        if m.config.nodes > 1 and m.group is not None:
            return m.group.node
    raise InputError(f"{result.id} was measured on one machine", hint="compare such files instead")


def _counterparts(m: Measurement, others: Sequence[Result]) -> list[Measurement]:
    """The same measurement in the files of the others. Raises InputError where its steps are others."""
    if m.config.nodes == 1:
        return []
    found = [o for result in others for o in result.measurements if o.config == m.config]
    steps = [window.step_s for window in m.windows]
    for other in found:
        if m.status == other.status == "ok" and [window.step_s for window in other.windows] != steps:
            raise InputError(
                f"{m.config.key()} was timed in two sessions", hint="merge the files of one session"
            )
    return found


def _filled(m: Measurement, others: Sequence[Measurement], unlike: tuple[Issue, ...]) -> Measurement:
    """With the telemetry of every machine's GPUs, and all cautions."""
    if m.config.nodes == 1 or m.group is None:
        return m
    groups = {other.group.node: other.group for other in others if other.group is not None}
    # Each rank as its own machine saw it.
    ranks = tuple(
        groups[rank.node].ranks[rank.rank] if rank.node in groups else rank for rank in m.group.ranks
    )
    cautions = dict.fromkeys((*m.cautions, *(c for other in others for c in other.cautions), *unlike))
    return replace(
        m,
        group=replace(m.group, ranks=ranks),
        telemetry=combined([rank.telemetry for rank in ranks]),
        cautions=tuple(cautions),
    )


def _unlike(head: Result, others: Sequence[Result]) -> list[Issue]:
    """Cautions for machines that are not like the first one."""
    watched = ("device", "driver", "torch", "cuda", "power_limit_w", "variables")
    found = []
    for number, other in enumerate(others, start=1):
        changes = [change for change in head.environment.diff(other.environment) if change[0] in watched]
        if changes:
            listed = "; ".join(f"{name} {a} against {b}" for name, a, b in changes)
            detail = f"machine {number} differs from machine 0: {listed}"
            found.append(
                Issue(code="mixed", severity="warning", detail=detail, fix="measure on equal machines")
            )
    return found
