"""What a report is made of: the results, and what others say of the same GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from gpuwise.model.offer import Offer
from gpuwise.model.published import PublishedResult
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.model.run import RunConfig
from gpuwise.show.charts import Mark
from gpuwise.show.results import amount, spread
from gpuwise.show.speeds import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that a report may show; nothing is read from disk or clock after this."""

    results: tuple[Result, ...]
    published: tuple[PublishedResult, ...] = ()
    offers: tuple[Offer, ...] = ()
    predicted: Mapping[tuple[str, str], Interval] = field(default_factory=dict)
    """(gpu_id, config.key() at the batch that ran) -> items per second."""
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


def way(config: RunConfig) -> str:
    """`2 GPUs bf16 compiled script jax`: how a question was answered, whatever the batch. What is at its
    default (one GPU, stock, torch, the switches, input on the device) is not named."""
    named = (
        f"{config.gpus} GPUs" if config.gpus > 1 else "",
        f"on {config.nodes} machines" if config.nodes > 1 else "",
        "strong" if config.gpus > 1 and config.scaling == "strong" else "",
        config.precision,
        "compiled" if config.compile else "eager",
        config.recipe if config.recipe != "stock" else "",
        config.framework if config.framework != "torch" else "",
        str(config.switches) if config.switches.changed else "",
        "with input" if config.input != "device" else "",
        "toy" if config.size == "toy" else "",
    )
    return " ".join(word for word in named if word)


def setting(row: Measured, *, devices: Sequence[str] = ()) -> str:
    """`bf16 compiled script · 256`, the last being the batch; the device where there are several."""
    m = row.measurement
    batch = f" · {m.batch}" if m.batch else ""
    device = f", {row.result.environment.device}" if len(devices) > 1 else ""
    return f"{way(m.config)}{batch}{device}"


def speed_marks(rows: Sequence[Measured], *, devices: Sequence[str]) -> list[Mark]:
    """Throughput of one question as bars, the fastest first; what was measured more than once is one bar."""
    alike: dict[str, list[Measured]] = {}
    for row in sorted(rows, key=value, reverse=True):
        alike.setdefault(setting(row, devices=devices), []).append(row)
    marks = [_speed_mark(same, label) for label, same in alike.items()]
    return sorted(marks, key=lambda mark: mark.value, reverse=True)


def _speed_mark(same: Sequence[Measured], label: str) -> Mark:
    """The middle one of measurements of one setting with its interval, or with the lowest and the highest of
    several; the unit stands once, in the group."""
    m = same[len(same) // 2].measurement
    found = m.throughput
    assert found is not None
    low, high = (found.low, found.high) if len(same) == 1 else (value(same[-1]), value(same[0]))
    ends = f" ({amount(low, m.item)} to {amount(high, m.item)}, {len(same)} times)"
    return Mark(
        label=label,
        value=found.value,
        low=low,
        high=high,
        group=f"{question(m)}, {m.item}s per second",
        colour=m.config.precision,
        shown=amount(found.value, m.item) + (ends if len(same) > 1 else spread(found)),
    )


def days(results: Sequence[Result]) -> str:
    """`2026-11-20 to 2026-11-21`: when they were made."""
    found = sorted({result.created_at[:10] for result in results})
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"


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
