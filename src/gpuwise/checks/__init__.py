"""What no machine can do: physics and logic that every number must pass, measured or published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from gpuwise.checks import networks, physics, tables
from gpuwise.checks.physics import ABOVE
from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue
from gpuwise.model.record import Record
from gpuwise.model.result import Measurement
from gpuwise.model.run import Environment
from gpuwise.model.units import percent, significant
from gpuwise.stats.scaling import series

__all__ = ["ABOVE", "judge", "judge_measured"]

AGAIN = "measure both again, cool and alone, in one session"


def judge(rows: Sequence[Record]) -> tuple[tuple[Issue, ...], ...]:
    """The cautions of each row, in the order of `rows`; rows of one source are judged together."""
    found: dict[int, list[Issue]] = defaultdict(list)
    for index, row in enumerate(rows):
        found[index].extend(physics.judge(row))
    for index, caution in tables.judge(rows):
        found[index].append(caution)
    return tuple(tuple(dict.fromkeys(found[index])) for index in range(len(rows)))


def judge_measured(measurements: Sequence[Measurement], environment: Environment) -> tuple[Measurement, ...]:
    """The measurements of one session, each with the cautions it earns beside the others."""
    # Whole speeds of networks of known cost at their full size, on one GPU: what a published row would be.
    rows = {
        place: Record(
            question=m.question, gpu_id=environment.gpu_id or environment.device, gpu=environment.device,
            item=m.item, origin="measured", basis="measured", throughput=m.throughput,
            # Recipes are compared each with itself.
            session=m.config.base_recipe,
            source=Source(
                id=f"measured-{m.config.base_recipe}", title="measured here", kind="measured", read_on=""
            ),
        )
        for place, m in enumerate(measurements)
        if m.status == "ok" and m.throughput is not None and m.config.gpus == 1 and m.config.size == "full"
        and networks.find(m.config.workload) is not None
    }  # fmt: skip
    found: dict[int, list[Issue]] = {place: [] for place in range(len(measurements))}
    for place, row in rows.items():
        # A measurement's own count of operations was judged when it ran (`mfu`); the network's stands in.
        if measurements[place].mfu is None:
            found[place].extend(physics.judge(row))
    places = list(rows)
    for index, caution in tables.judge(list(rows.values())):
        # gpuwise knows that its own rows are neither exchanged nor invented.
        found[places[index]].append(replace(caution, fix=AGAIN))
    for point in (point for each in series(measurements) for point in each.points):
        # More than perfect, and by more than equal runs differ.
        if point.factor.low > 1 and point.factor.value > tables.OVER:
            faster = f"{significant(point.speedup)} times as fast as one ({percent(point.factor.value)})"
            fix = "INVALID: measure one GPU again, cool and alone, in the same session"
            detail = f"{point.gpus} GPUs are {faster}"
            issue = Issue(code="scaling", severity="warning", detail=detail, fix=fix)
            found[measurements.index(point.measurement)].append(issue)
    return tuple(
        # A session is judged again after each measurement: a caution is given once.
        replace(m, cautions=tuple(dict.fromkeys((*m.cautions, *found[place]))))
        for place, m in enumerate(measurements)
    )
