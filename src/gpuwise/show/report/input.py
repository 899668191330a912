"""What a report is made of: the results, and what others say of the same GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from gpuwise import store
from gpuwise.model.offer import Offer
from gpuwise.model.record import Record
from gpuwise.model.result import Measurement, Result, Telemetry

# Rows of a table that is shown from the start; longer ones are folded.
FEW = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInput:
    """Everything that a report may show; nothing is read from disk or clock after this."""

    results: tuple[Result, ...]
    published: tuple[Record, ...] = ()
    """Of the same GPUs, without those that a check of plausibility flags."""
    offers: tuple[Offer, ...] = ()
    predicted: Mapping[tuple[str, str], Record] = field(default_factory=dict)
    """(gpu_id, key of the question that ran) -> its prediction."""
    today: date
    every: tuple[Record, ...] = ()
    """A record for each measurement; made from the results."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", store.records(self.results))

    @property
    def speeds(self) -> tuple[Record, ...]:
        """Of workloads that have a throughput; limits are apart."""
        return tuple(r for r in self.every if r.question.mode != "limit" and r.throughput is not None)

    @property
    def limits(self) -> tuple[Record, ...]:
        """Measured limits of the hardware."""
        return tuple(r for r in self.every if r.question.mode == "limit" and r.throughput is not None)

    @property
    def sensed(self) -> tuple[Telemetry, ...]:
        """What sensors said, where they said anything."""
        return tuple(t for r in self.every if (t := raw(r).telemetry) is not None and t.samples)

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices, each once."""
        return tuple(dict.fromkeys(result.environment.device for result in self.results))

    @property
    def gpu_ids(self) -> tuple[str, ...]:
        """Catalog entries of the devices, each once."""
        ids = (result.environment.gpu_id for result in self.results)
        return tuple(dict.fromkeys(gpu_id for gpu_id in ids if gpu_id))


def raw(record: Record) -> Measurement:
    """The measurement behind a record of a result, which has one."""
    assert record.raw is not None
    return record.raw


def days(results: Sequence[Result]) -> str:
    """`2026-11-20 to 2026-11-21`: when they were made."""
    found = sorted({result.created_at[:10] for result in results})
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"
