"""What is known of the speed of a GPU: measured, published and predicted figures in one shape.

The origin travels with each figure and with its source, and figures of different origin are never
put into one ratio.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gpuwise.model.gpu import Source
from gpuwise.model.published import PublishedResult
from gpuwise.model.record import Record
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.show.page import References
from gpuwise.show.results import rate
from gpuwise.show.speeds import UNSURE
from gpuwise.show.table import Table
from gpuwise.stats import ratio_of

UNTOLD = "?"
"""The precision of a published figure whose source does not tell it."""
Origin = Literal["measured", "published", "predicted"]

FORECAST = Source(
    id="gpuwise-predict",
    title="gpuwise predict: from what the work computes and the card's specification, with its 80 % interval",
    kind="derived",
    read_on="",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Items per second of `gpus` GPUs together."""

    origin: Origin
    gpu_id: str
    gpus: int = 1
    workload: str
    mode: str
    precision: str
    compiled: bool | None
    batch: int | None
    item: str
    throughput: Interval
    watts: float | None = None
    source: Source
    software: str = ""
    """Framework, with its version where gpuwise measured."""
    how: str = ""
    """What of a measurement is not as usual: another recipe, input from the host."""
    date: str = ""

    @property
    def series(self) -> tuple[object, ...]:
        """What agrees where the number of GPUs alone differs."""
        published = self.origin == "published"
        whose = (
            (self.source.id, self.software) if published else (self.origin, self.software.partition(" ")[0])
        )
        return (*whose, self.how, self.workload, self.mode, self.precision, self.compiled)

    @property
    def question(self) -> tuple[object, ...]:
        """What must agree before two speeds may be divided: also where they come from."""
        return (*self.series, self.gpus)


def measured(results: Sequence[Result]) -> tuple[Speed, ...]:
    """The speeds of results of GPUs of the catalog; limits and toys are none."""
    return tuple(
        speed
        for result in results
        for m in result.measurements
        if (speed := _measured(result, m)) is not None
    )


def _measured(result: Result, m: Measurement) -> Speed | None:
    gpu_id = result.environment.gpu_id
    config = m.config
    if gpu_id is None or m.throughput is None or m.status != "ok":
        return None
    if config.mode == "limit" or config.size == "toy" or result.origin != "measured":
        return None
    day = result.created_at[:10]
    software = f"{config.framework} {getattr(result.environment, config.framework)}"
    fed = ("with input",) if config.input == "host" else ()
    how = ((config.recipe,) if config.recipe != "stock" else ()) + fed
    title = f"gpuwise result {result.id}, {result.environment.device}, {software}"
    return Speed(
        origin="measured", gpu_id=gpu_id, gpus=config.gpus, workload=config.workload, mode=config.mode,
        precision=config.precision, compiled=config.compile, batch=m.batch, item=m.item,
        throughput=m.throughput, watts=m.telemetry.power_w if m.telemetry else None,
        source=Source(id=result.id, title=title, kind="measured", read_on=day), date=day,
        software=software, how=" ".join(how),
    )  # fmt: skip


def published(rows: Sequence[PublishedResult]) -> tuple[Speed, ...]:
    """The published speeds that no check flags."""
    return tuple(
        Speed(
            origin="published", gpu_id=row.gpu_id, gpus=row.n_gpus, workload=row.workload, mode=row.mode,
            precision=row.precision, compiled=row.compiled, batch=row.batch_per_gpu, item=row.item,
            throughput=stated(row.throughput), source=row.source, software=row.framework, date=row.date,
        )
        for row in rows
        if row.gpu_id is not None and not row.cautions
    )  # fmt: skip


def predicted(found: Sequence[Record]) -> tuple[Speed, ...]:
    """The predictions that are no refusal."""
    return tuple(speed for p in found if (speed := forecast_speed(p)) is not None)


def forecast_speed(p: Record) -> Speed | None:
    """A prediction as a speed; None where it was refused."""
    if p.throughput is None:
        return None
    return Speed(
        origin="predicted", gpu_id=p.gpu_id, gpus=p.gpus, workload=p.question.workload, mode=p.question.mode,
        precision=p.question.precision or UNTOLD, compiled=p.question.compile, batch=p.batch, item=p.item,
        throughput=p.throughput, watts=p.watts.value if p.watts else None, source=FORECAST,
    )  # fmt: skip


def stated(value: float) -> Interval:
    """A figure that its source gives without uncertainty."""
    return Interval(value=value, low=value, high=value, level=None, method="stated")


def pairs(speeds: Sequence[Speed], first: str, second: str) -> Iterator[tuple[Speed, Speed]]:
    """Speeds of two GPUs that answer one question of one origin and source, the fastest of each.

    Where a source does not tell the precision, two figures may answer different questions: no pair.
    """
    best: dict[tuple[str, tuple[object, ...]], Speed] = {}
    for speed in (speed for speed in speeds if speed.precision != UNTOLD):
        key = (speed.gpu_id, speed.question)
        if key not in best or speed.throughput.value > best[key].throughput.value:
            best[key] = speed
    for (gpu_id, question), speed in best.items():
        other = best.get((second, question))
        if gpu_id == first and other is not None:
            yield speed, other


def ratio(pair: tuple[Speed, Speed]) -> Interval:
    """The second over the first."""
    return ratio_of(pair[0].throughput, pair[1].throughput)


def shown(speed: Speed) -> str:
    """`433.3 tokens/s (272.7 to 688.6)`; the interval where there is one."""
    found = speed.throughput
    if found.low == found.high:
        return rate(found.value, speed.item)
    return f"{rate(found.value, speed.item)} ({_plain(found.low, speed)} to {_plain(found.high, speed)})"


def _plain(value: float, speed: Speed) -> str:
    return rate(value, speed.item).removesuffix(f" {rate(1.0, speed.item).split(' ', 1)[1]}")


def work(speed: Speed) -> str:
    """`resnet50 train fp16 compiled script`."""
    compiled = {True: "compiled", False: "eager", None: ""}[speed.compiled]
    words = (speed.workload, speed.mode, speed.precision, compiled, speed.how)
    return " ".join(word for word in words if word)


def listing(speeds: Sequence[Speed], cited: References, *, most: int, title: str = "") -> Table:
    """The fastest speed of each question, measured first, then by GPUs and work; `most` of them."""
    best: dict[tuple[object, ...], Speed] = {}
    for speed in sorted(speeds, key=lambda s: s.throughput.value, reverse=True):
        best.setdefault(speed.question, speed)
    ordered = sorted(best.values(), key=lambda s: (s.origin, s.gpus, s.workload, s.mode, s.precision))
    listed, hidden = ordered[:most], len(ordered) - most
    unsure = (UNSURE,) if any("?" in s.precision for s in listed) else ()
    more = (f"{hidden} more: gpuwise results --gpu {ordered[0].gpu_id}",) if hidden > 0 else ()
    return Table(
        title=title,
        columns=("work", "GPUs", "batch", "speed", "origin", "software", "date", "source"),
        rows=tuple(_row(speed, cited) for speed in listed),
        numeric=frozenset({"GPUs", "batch", "speed"}),
        notes=(*unsure, *more),
    )


def _row(s: Speed, cited: References) -> tuple[str, ...]:
    batch, marks = str(s.batch or "-"), cited.mark(s.source)
    return (work(s), str(s.gpus), batch, shown(s), s.origin, s.software, s.date, marks)
