"""The same gates over what gpuwise itself measured: nobody is above suspicion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpuwise.checks import networks, physics, tables
from gpuwise.model.gpu import Source
from gpuwise.model.issue import Issue
from gpuwise.model.published import PublishedResult
from gpuwise.model.result import Measurement
from gpuwise.model.run import Environment
from gpuwise.model.units import percent, significant
from gpuwise.stats.scaling import series

AGAIN = "measure both again, cool and alone, in one session"


def judge_measured(measurements: Sequence[Measurement], environment: Environment) -> tuple[Measurement, ...]:
    """The measurements of one session, each with the cautions it earns beside the others.

    Its own peak is judged from its own count of operations (`mfu`) when it is measured; where that is
    unknown, the network's count stands in here.
    """
    places = [i for i, m in enumerate(measurements) if _is_speed(m)]
    rows = [_row(measurements[i], environment) for i in places]
    found: dict[int, list[Issue]] = {i: [] for i in places}
    for place, row in zip(places, rows, strict=True):
        if measurements[place].mfu is None:
            found[place].extend(physics.judge(row))
    for index, caution in tables.judge(rows):
        # gpuwise knows that its own rows are neither exchanged nor invented.
        found[places[index]].append(replace(caution, fix=AGAIN))
    for place, caution in _scaling(measurements):
        found.setdefault(place, []).append(caution)
    return tuple(_with(m, found.get(i, [])) for i, m in enumerate(measurements))


def _is_speed(m: Measurement) -> bool:
    """Whether it is a whole speed of a network of known cost at its full size."""
    known = networks.find(m.config.workload) is not None and m.config.size == "full"
    return known and m.status == "ok" and m.throughput is not None and m.config.gpus == 1


def _scaling(measurements: Sequence[Measurement]) -> Iterator[tuple[int, Issue]]:
    """Several GPUs that are more than so many times as fast as one, by more than equal runs differ."""
    for each in series(measurements):
        for point in each.points:
            if point.factor.low > 1 and point.factor.value > tables.OVER:
                yield (
                    measurements.index(point.measurement),
                    Issue(
                        code="scaling",
                        severity="warning",
                        detail=f"{point.gpus} GPUs are {significant(point.speedup)} times as fast as one "
                        f"({percent(point.factor.value)})",
                        fix="INVALID: measure one GPU again, cool and alone, in the same session",
                    ),
                )


def _with(m: Measurement, cautions: Sequence[Issue]) -> Measurement:
    new = tuple(dict.fromkeys(caution for caution in cautions if caution not in m.cautions))
    return replace(m, cautions=m.cautions + new) if new else m


def _row(m: Measurement, environment: Environment) -> PublishedResult:
    assert m.throughput is not None
    recipe = m.config.base_recipe
    return PublishedResult(
        gpu=environment.device,
        gpu_id=environment.gpu_id,
        workload=m.config.workload,
        mode=m.config.mode,
        precision=m.config.precision,
        compiled=m.config.compile,
        batch_per_gpu=m.batch,
        throughput=m.throughput.value,
        item=m.item,
        framework=m.config.framework,
        source=Source(id=f"measured-{recipe}", title="measured here", kind="measured", read_on=""),
    )
