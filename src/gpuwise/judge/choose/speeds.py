"""How fast each GPU does the work, from the best that is known: measured, else published or predicted.

A measurement of this very cell wins, unless another batch is quick enough where its own is not, or gains more
than the prediction's error (`predict.known`). Else the narrower interval does: a published figure stands
alone, with other software than the next one, so it counts within a factor of exp(0.5); a prediction says its
own width.
For a latency, the largest throughput among batches whose step is quick enough.

A mix of workloads has one speed, the weighted geometric mean: how two GPUs compare then does not depend on
the GPU on which the shares of time were counted. Widths add as if the errors were one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import exp, log
from typing import Protocol

from gpuwise.errors import GpuwiseError, InputError
from gpuwise.judge.choose.sheet import from_sheet
from gpuwise.model.choice import Basis, Need, Speed
from gpuwise.model.precision import Precision
from gpuwise.model.published import PublishedResult
from gpuwise.model.question import Part
from gpuwise.model.record import Record
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.model.run import RunConfig
from gpuwise.predict.known import answers
from gpuwise.workloads import registry

PUBLISHED_HALF = 0.5
"""Half width of a published figure in log space. The same cell on the same GPU from two publishers differed
by a factor of 1.6 in the median (nine cells of the curated table that state their precision)."""
BATCHES = tuple(2**k for k in range(11))
WEAKER: tuple[Basis, ...] = ("measured", "calibrated", "transferred", "published", "spec-only")
"""Each says less than the one before; a mix is known as little as its least known part."""


class Forecast(Protocol):
    """`gpuwise.predict.forecast.forecast`, or a fake."""

    def __call__(
        self, config: RunConfig, gpus: Sequence[str], *, count: int, batch: int | None, source: Result | None
    ) -> tuple[Record, ...]: ...


def gather(
    need: Need, gpus: Sequence[str], forecast: Forecast, *,
    results: Sequence[Result] = (), published: Sequence[PublishedResult] = (),
) -> tuple[Speed, ...]:  # fmt: skip
    """The speed of every number of each of `gpus`; where there is none, its refusal.

    Raises InputError for a workload that is unknown or that nothing can tell the cost of.
    """
    counts = sorted({1, *range(need.gpus[0], need.gpus[1] + 1)})
    asked = (gpus, counts, forecast, results, published)
    each = [_of_workload(need, name, *asked) for name, _ in need.workloads]
    return mixed(each, [share for _, share in need.workloads])


def _of_workload(
    need: Need, workload: str, gpus: Sequence[str], counts: Sequence[int], forecast: Forecast,
    results: Sequence[Result], published: Sequence[PublishedResult],
) -> dict[tuple[str, int], Speed]:  # fmt: skip
    config = RunConfig(
        workload=workload,
        content=registry.get(workload).content,
        mode=need.mode,
        precision=need.precision,
        compile=need.compiled,
        batch=need.batch,
    )
    cells = list(_cells(config, results))
    best = _measured(cells, need.latency_s)
    source = next((result for result, _ in cells), None)
    predicted = _predicted(need, config, gpus, counts, forecast, source)
    stated = _published(config, published)
    found = {}
    for gpu in gpus:
        for count in counts:
            key = (gpu, count)
            own, model = best.get(key), predicted.get(key)
            if own is not None and (model is None or _stands(need, own, model, config, forecast)):
                found[key] = own
                continue
            known = [speed for speed in (model, stated.get(key)) if speed is not None]
            found[key] = min(known, key=_width, default=_unknown(gpu, count))
    return found


def _stands(need: Need, own: Speed, model: Speed, config: RunConfig, forecast: Forecast) -> bool:
    """Whether a measurement tells what the GPU does at the batch that the prediction found best."""
    if own.throughput is None or model.throughput is None:
        return True
    if _late(own, need.latency_s) and not _late(model, need.latency_s):
        return False
    if own.batch is None or model.batch in (None, own.batch):
        return True
    try:
        (there,) = forecast(config, (own.gpu_id,), count=own.count, batch=own.batch, source=None)
    except GpuwiseError:  # a batch without a trace
        return True
    return there.throughput is None or answers(own.throughput, there.throughput, model.throughput)


def _unknown(gpu: str, count: int) -> Speed:
    return Speed(gpu_id=gpu, count=count, refusal="no speed is known")


def _width(speed: Speed) -> float:
    """Of the interval in log space; infinite for a refusal."""
    interval = speed.throughput
    return log(interval.high / interval.low) if interval and interval.low > 0 else float("inf")


def _cells(config: RunConfig, results: Sequence[Result]) -> Iterable[tuple[Result, Measurement]]:
    """Every measurement of the cell on a GPU that the catalog knows, with torch's kernels or gpuwise's."""
    ignored: tuple[Part, ...] = ("batch", "kernels")
    for result in results:
        for m in result.measurements:
            same = replace(config, gpus=m.config.gpus).key(*ignored) == m.config.key(*ignored)
            batch = config.batch in (None, m.batch)
            if result.environment.gpu_id and same and batch and m.status == "ok" and m.throughput is not None:
                yield result, m


def _measured(
    cells: Iterable[tuple[Result, Measurement]], latency_s: float | None
) -> dict[tuple[str, int], Speed]:
    found = defaultdict[tuple[str, int], list[Speed]](list)
    for result, m in cells:
        assert result.environment.gpu_id is not None
        assert m.throughput is not None
        key = (result.environment.gpu_id, m.config.gpus)
        watts = m.telemetry.power_w if m.telemetry else None
        speed = Speed(
            gpu_id=key[0], count=key[1], throughput=m.throughput, memory_bytes=m.memory_peak_bytes,
            watts=watts, basis="measured", source=result.id, batch=m.batch,
            step_s=m.items_per_step / m.throughput.value if m.items_per_step else None,
        )  # fmt: skip
        found[key].append(speed)
    return {key: quickest(speeds, latency_s) for key, speeds in found.items()}


def _published(config: RunConfig, rows: Sequence[PublishedResult]) -> dict[tuple[str, int], Speed]:
    """The fastest figure of each GPU and number without a caution."""
    found: dict[tuple[str, int], Speed] = {}
    wanted = (config.workload, config.mode, config.precision)
    for row in sorted(rows, key=lambda row: row.throughput):
        fits = config.batch in (None, row.batch_per_gpu)
        if row.gpu_id and fits and not row.cautions and (row.workload, row.mode, row.precision) == wanted:
            found[row.gpu_id, row.n_gpus] = _stated(row, row.gpu_id)
    return found


def _stated(row: PublishedResult, gpu_id: str) -> Speed:
    value, factor = row.throughput, exp(PUBLISHED_HALF)
    return Speed(
        gpu_id=gpu_id, count=row.n_gpus, basis="published", source=row.source.title,
        throughput=Interval(
            value=value, low=value / factor, high=value * factor, level=0.8, method="spread of publishers"
        ),
        step_s=row.batch_per_gpu * row.n_gpus / value if row.batch_per_gpu else None,
    )  # fmt: skip


def _predicted(
    need: Need, config: RunConfig, gpus: Sequence[str], counts: Sequence[int], forecast: Forecast,
    source: Result | None,
) -> dict[tuple[str, int], Speed]:  # fmt: skip
    if config.mode == "compute":
        return from_sheet(config, gpus)
    batches = BATCHES if need.latency_s is not None and need.batch is None else (need.batch,)
    found: dict[tuple[str, int], Speed] = {}
    for count in counts:
        tried = [forecast(config, gpus, count=count, batch=batch, source=source) for batch in batches]
        for of_one_gpu in zip(*tried, strict=True):
            speeds = [_speed(prediction) for prediction in of_one_gpu]
            found[speeds[0].gpu_id, count] = quickest(speeds, need.latency_s)
    return found


def quickest(speeds: Sequence[Speed], latency_s: float | None) -> Speed:
    """The highest throughput among steps that are quick enough; where none is, the quickest step."""
    known = [speed for speed in speeds if speed.throughput is not None]
    if not known:
        return speeds[0]
    fine = [speed for speed in known if not _late(speed, latency_s)]
    if fine:
        return max(fine, key=lambda s: s.throughput.value if s.throughput else 0.0)
    return min(known, key=lambda s: s.step_s if s.step_s is not None else float("inf"))


def _late(speed: Speed, latency_s: float | None) -> bool:
    return latency_s is not None and (speed.step_s is None or speed.step_s > latency_s)


def _speed(found: Record) -> Speed:
    seconds = found.seconds
    if seconds and found.throughput and found.measured and found.best:
        seconds *= found.throughput.value / found.best.value
    return Speed(
        gpu_id=found.gpu_id, count=found.gpus, throughput=found.best,
        memory_bytes=found.memory_bytes.value if found.memory_bytes else None,
        fits_probability=found.fits_probability, watts=found.watts.value if found.watts else None,
        watts_half=log(found.watts.value / found.watts.low) if found.watts else 0.0,
        batch=found.batch, step_s=seconds,
        basis=found.basis, bound=found.bound or "", source=found.measured.notes[0] if found.measured else "",
        refusal=found.refusal,
    )  # fmt: skip


def mixed(each: Sequence[Mapping[tuple[str, int], Speed]], shares: Sequence[float]) -> tuple[Speed, ...]:
    """One speed of a mix for every GPU and number; a GPU that refuses one workload refuses the mix."""
    if len(each) == 1:
        return tuple(each[0].values())
    return tuple(_mix([found[key] for found in each], shares) for key in each[0])


def _mix(speeds: Sequence[Speed], shares: Sequence[float]) -> Speed:
    first = speeds[0]
    refusals = [speed.refusal or "no speed" for speed in speeds if speed.throughput is None]
    if refusals:
        return Speed(gpu_id=first.gpu_id, count=first.count, refusal=refusals[0])
    intervals = [speed.throughput for speed in speeds if speed.throughput is not None]
    value, low, high = (
        _mean([getattr(i, end) for i in intervals], shares) for end in ("value", "low", "high")
    )
    watts = [speed.watts for speed in speeds if speed.watts is not None]
    memory = [speed.memory_bytes for speed in speeds if speed.memory_bytes is not None]
    chances = [speed.fits_probability for speed in speeds if speed.fits_probability is not None]
    weakest = max(speeds, key=lambda speed: WEAKER.index(speed.basis))
    return Speed(
        gpu_id=first.gpu_id, count=first.count,
        throughput=Interval(value=value, low=low, high=high, level=0.8, method="geometric mean"),
        memory_bytes=max(memory, default=None), fits_probability=min(chances, default=None),
        watts=sum(w * s for w, s in zip(watts, shares, strict=True)) if len(watts) == len(speeds) else None,
        watts_half=max(speed.watts_half for speed in speeds), basis=weakest.basis, source=weakest.source,
    )  # fmt: skip


def _mean(values: Sequence[float], shares: Sequence[float]) -> float:
    """Weighted geometric mean."""
    return exp(sum(share * log(value) for share, value in zip(shares, values, strict=True)))


OTHERS: tuple[Precision, ...] = (
    Precision.FP8,
    Precision.BF16,
    Precision.FP16,
    Precision.TF32,
    Precision.FP32,
)
"""Precisions that a need without one of its own might as well use."""


def alternatives(need: Need, count: int) -> tuple[Need, ...]:
    """The same need with `count` GPUs in every other precision that all its workloads have."""
    each = [registry.get(name).spec.precisions for name, _ in need.workloads]
    shared = [p for p in OTHERS if p != need.precision and all(p in own for own in each)]
    return tuple(replace(need, precision=precision, gpus=(count, count)) for precision in shared)


def item_of(need: Need) -> str:
    """What the throughput counts."""
    items = {registry.get(name).spec.item for name, _ in need.workloads}
    return items.pop() if len(items) == 1 else "item"


def gpu_of(result: Result) -> str:
    """The GPU of a result. Raises InputError where the catalog does not know it."""
    if result.environment.gpu_id is None:
        raise InputError(
            f"result {result.id} is of {result.environment.device}, which the catalog does not know",
            hint="name the GPU instead of the file",
        )
    return result.environment.gpu_id
