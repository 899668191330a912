"""What a report is made of: the results, and what others say of the same GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from gpuwise.model.offer import Offer
from gpuwise.model.published import PublishedResult
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.report.charts import Mark
from gpuwise.report.results import spread
from gpuwise.report.speeds import Measured
from gpuwise.units import significant


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that a report may show; nothing is read from disk or clock after this."""

    results: tuple[Result, ...]
    published: tuple[PublishedResult, ...] = ()
    offers: tuple[Offer, ...] = ()
    predicted: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    """(gpu_id, config.key at the batch that ran) -> items per second."""
    today: date

    @property
    def every(self) -> tuple[Measured, ...]:
        """Every measurement with its result."""
        return tuple(Measured(result=r, measurement=m) for r in self.results for m in r.measurements)

    @property
    def speeds(self) -> tuple[Measured, ...]:
        """Measurements of workloads that have a throughput; limits are apart."""
        return tuple(
            row
            for row in self.every
            if row.measurement.config.mode != "limit" and row.measurement.throughput is not None
        )

    @property
    def limits(self) -> tuple[Measured, ...]:
        """Measured limits of the hardware."""
        return tuple(
            row
            for row in self.every
            if row.measurement.config.mode == "limit" and row.measurement.throughput is not None
        )

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices, each once."""
        return tuple(dict.fromkeys(result.environment.device for result in self.results))

    @property
    def gpu_ids(self) -> tuple[str, ...]:
        """Catalog entries of the devices, each once."""
        ids = (result.environment.gpu_id for result in self.results)
        return tuple(dict.fromkeys(gpu_id for gpu_id in ids if gpu_id))


def question(m: Measurement) -> str:
    """`resnet50 train`: measurements of one question share a chart."""
    return f"{m.config.workload} {m.config.mode}"


def setting(row: Measured, *, devices: Sequence[str] = ()) -> str:
    """`bf16 compiled parity · 256`, the last being the batch; the device where there are several. Switches of
    the recipe that are not at their default, and input from the host, are named."""
    m = row.measurement
    recipe = "" if m.config.recipe == "tuned" else f" {m.config.recipe}"
    batch = f" · {m.batch}" if m.batch else ""
    device = f", {row.result.environment.device}" if len(devices) > 1 else ""
    several = f"{m.config.gpus} GPUs " if m.config.gpus > 1 else ""
    toy = " toy" if m.config.size == "toy" else ""
    how = "compiled" if m.config.compile else "eager"
    switches = f" {m.config.switches}" if m.config.switches.changed else ""
    fed = " with input" if m.config.input != "device" else ""
    return f"{several}{m.config.precision} {how}{recipe}{switches}{fed}{toy}{batch}{device}"


def speed_mark(row: Measured, *, devices: Sequence[str]) -> Mark:
    """Throughput with its interval as a bar; the unit stands once, in the group."""
    m = row.measurement
    assert m.throughput is not None
    return Mark(
        label=setting(row, devices=devices),
        value=m.throughput.value,
        low=m.throughput.low,
        high=m.throughput.high,
        group=f"{question(m)}, {m.item}s per second",
        colour=m.config.precision,
        shown=f"{significant(m.throughput.value, 4)}{spread(m.throughput)}",
    )


def questions(rows: Sequence[Measured]) -> list[tuple[str, list[Measured]]]:
    """The measurements by question, in the order in which the questions came."""
    found: dict[str, list[Measured]] = {}
    for row in rows:
        found.setdefault(question(row.measurement), []).append(row)
    return list(found.items())


def best(rows: Sequence[Measured]) -> tuple[Measured, ...]:
    """The fastest measurement of each question, in the order of the questions."""
    return tuple(max(of, key=value) for _, of in questions(rows))


def value(row: Measured) -> float:
    """Items per second; 0 where there are none."""
    found = row.measurement.throughput
    return 0.0 if found is None else found.value
