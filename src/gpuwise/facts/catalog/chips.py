"""What each chip holds as designed, and what one of its multiprocessors computes in a clock.

Products are sold with a part of the die switched off: an A100 has 108 of the 128 multiprocessors of
GA100. A figure of the full die printed for the product is a common error, so both are data.
"Multiprocessor" is NVIDIA's SM and AMD's compute unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from gpuwise.errors import NoDataError
from gpuwise.facts.catalog import load
from gpuwise.model.gpu import GpuSpec, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDie:
    """A chip with nothing switched off; the counts are None where no source gives the whole die."""

    chip: str
    sm_count: int | None
    cores_per_sm: int
    """CUDA cores, on AMD stream processors."""
    tensor_cores_per_sm: int
    rt_cores_per_sm: int
    source: Source

    @property
    def cuda_cores(self) -> int | None:
        """CUDA cores, on AMD stream processors, of the whole die."""
        return self._all(self.cores_per_sm)

    @property
    def tensor_cores(self) -> int | None:
        return self._all(self.tensor_cores_per_sm)

    @property
    def rt_cores(self) -> int | None:
        return self._all(self.rt_cores_per_sm)

    def _all(self, per_sm: int) -> int | None:
        return None if self.sm_count is None else self.sm_count * per_sm


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Dense operations of one multiprocessor in one clock; a multiply-add counts as two."""

    format: str
    accumulate: str
    unit: str
    operations: int
    source: Source

    @property
    def field(self) -> str:
        """The field of the peak that it gives: `peak:fp16:fp32:matrix`."""
        return f"peak:{self.format}:{self.accumulate}:{self.unit}"


@cache
def chips() -> Mapping[str, FullDie]:
    """Every chip of the catalog's GPUs, by name."""
    return MappingProxyType({row["chip"]: _chip(row) for row in load.rows("chips.csv")})


def full_die(chip: str) -> FullDie:
    """The chip with all its units. Raises NoDataError for a chip that is not in the catalog."""
    try:
        return chips()[chip]
    except KeyError:
        raise NoDataError(f"nothing is known of the chip {chip!r}", hint="gpuwise gpus --json") from None


def rates(spec: GpuSpec) -> tuple[Rate, ...]:
    """What one multiprocessor of this GPU computes in a clock; GeForce cards have lower matrix rates."""
    chip, segment = spec.text("chip") or "", spec.text("segment") or ""
    return tuple(rate for name, only, rate in _rates() if name == chip and only in ("", segment))


@cache
def _rates() -> tuple[tuple[str, str, Rate], ...]:
    return tuple((row["chip"], row["segment"], _rate(row)) for row in load.rows("rates.csv"))


def _rate(row: dict[str, str]) -> Rate:
    return Rate(
        format=row["format"],
        accumulate=row["accumulate"],
        unit=row["unit"],
        operations=int(row["operations"]),
        source=load.sources()[row["source"]],
    )


def _chip(row: dict[str, str]) -> FullDie:
    return FullDie(
        chip=row["chip"],
        sm_count=int(row["sm_count"]) if row["sm_count"] else None,
        cores_per_sm=int(row["cores_per_sm"]),
        tensor_cores_per_sm=int(row["tensor_cores_per_sm"] or 0),
        rt_cores_per_sm=int(row["rt_cores_per_sm"] or 0),
        source=load.sources()[row["source"]],
    )
