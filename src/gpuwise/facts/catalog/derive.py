"""What a GPU's chip, units, clocks and rates imply, beside what its sources state.

    vector and matrix peaks   multiprocessors x operations per clock x clock
    sparse peak               2 x dense peak (2:4 structured sparsity)
    memory bandwidth          bus width x data rate per pin / 8
    cores                     multiprocessors x cores of one multiprocessor

Stated peaks are the vendor's own product, rounded, of the same factors, so that a difference of more
than 1 % has a reason: another clock, another variant, the full die, or an error. Products are sold with
a part of the die switched off (an A100 has 108 of the 128 multiprocessors of GA100), and a figure of the
full die printed for the product is a common error, so the dies are data, too.
"Multiprocessor" is NVIDIA's SM and AMD's compute unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from gpuwise.errors import NoDataError
from gpuwise.facts.catalog import load
from gpuwise.model.gpu import GpuSpec, Source

TOLERANCE = 0.01
"""Vendors round to three digits, at worst 0.5 %; their clocks are rounded too."""


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
        return None if self.sm_count is None else self.sm_count * self.cores_per_sm

    @property
    def tensor_cores(self) -> int | None:
        return None if self.sm_count is None else self.sm_count * self.tensor_cores_per_sm

    @property
    def rt_cores(self) -> int | None:
        return None if self.sm_count is None else self.sm_count * self.rt_cores_per_sm


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """One computed field, in SI units, beside the stated one."""

    field: str
    stated: float | None
    """None where no source states it."""
    derived: float
    formula: str
    """In words: `sm_count x 1024 x boost_hz`."""
    inputs: tuple[tuple[str, float], ...]
    """The facts that went in, by field."""

    @property
    def difference(self) -> float | None:
        """Stated over computed, less one; None where nothing is stated."""
        return None if self.stated is None else self.stated / self.derived - 1

    @property
    def agrees(self) -> bool | None:
        """True where both agree within rounding; None where nothing is stated."""
        return None if self.difference is None else abs(self.difference) <= TOLERANCE


@cache
def chips() -> Mapping[str, FullDie]:
    """The chips of which units are known, by name."""
    return MappingProxyType(
        {
            row["chip"]: FullDie(
                chip=row["chip"],
                sm_count=int(row["sm_count"]) if row["sm_count"] else None,
                cores_per_sm=int(row["cores_per_sm"]),
                tensor_cores_per_sm=int(row["tensor_cores_per_sm"] or 0),
                rt_cores_per_sm=int(row["rt_cores_per_sm"] or 0),
                source=load.sources()[row["source"]],
            )
            for row in load.rows("chips.csv")
        }
    )


def full_die(chip: str) -> FullDie:
    """The chip with all its units. Raises NoDataError for a chip of which nothing is known."""
    if chip not in chips():
        raise NoDataError(
            f"nothing is known of the chip {chip!r}", hint="chips.csv of the catalog lists the known ones"
        )
    return chips()[chip]


def rates(spec: GpuSpec) -> tuple[Rate, ...]:
    """What one multiprocessor of this GPU computes in a clock; GeForce cards have lower matrix rates."""
    found = _rates_of_chips().get(spec.text("chip") or "", ())
    return tuple(rate for only, rate in found if only in ("", spec.text("segment")))


@cache
def _rates_of_chips() -> Mapping[str, tuple[tuple[str, Rate], ...]]:
    """(segment or empty, rate) by chip."""
    found: dict[str, tuple[tuple[str, Rate], ...]] = {}
    for row in load.rows("rates.csv"):
        rate = Rate(
            format=row["format"],
            accumulate=row["accumulate"],
            unit=row["unit"],
            operations=int(row["operations"]),
            source=load.sources()[row["source"]],
        )
        found[row["chip"]] = (*found.get(row["chip"], ()), (row["segment"], rate))
    return found


def derive(spec: GpuSpec) -> tuple[Derived, ...]:
    """Everything that can be computed of this GPU from its own facts and its chip's rates."""
    return (*_of_units(spec), *_of_sums(spec))


def _of_units(spec: GpuSpec) -> Iterator[Derived]:
    """Cores and peaks. A chip without a kind of core gives no row for it."""
    die, units = chips().get(spec.text("chip") or ""), spec.number("sm_count")
    # Without units nothing follows: boards of unannounced parts, Gaudi, Apple.
    if units is None:
        return
    cores = "stream_processors" if spec.vendor == "AMD" else "cuda_cores"
    if die is not None:
        per_sm = {
            cores: die.cores_per_sm,
            "tensor_cores": die.tensor_cores_per_sm,
            "rt_cores": die.rt_cores_per_sm,
        }
        for field, each in per_sm.items():
            if each:
                formula = f"sm_count x {each}"
                yield _beside(spec, field, int(units) * each, formula, ("sm_count", units))
    for rate in rates(spec):
        # Hopper states matrix peaks, fp64 apart, at a lower clock.
        lower = rate.unit == "matrix" and rate.format != "fp64" and "tensor_hz" in spec.facts
        clock_field = "tensor_hz" if lower else "boost_hz"
        clock = spec.number(clock_field)
        if clock is None:
            continue
        # The well-known form of fp32: cores x 2 x clock.
        count, each, counted = "sm_count", rate.operations, units
        if die and rate.format == "fp32" and rate.unit == "vector":
            count, each, counted = cores, rate.operations // die.cores_per_sm, units * die.cores_per_sm
        formula = f"{count} x {each} x {clock_field}"
        yield _beside(
            spec, rate.field, counted * each * clock, formula, (count, counted), (clock_field, clock)
        )


def _of_sums(spec: GpuSpec) -> Iterator[Derived]:
    """Sparse peaks from dense ones, bandwidth from the bus."""
    stated = {peak.field: peak.flop_per_s for peak in spec.peaks}
    for peak in spec.peaks:
        dense = peak.field.removesuffix(":sparse")
        if peak.sparse and dense in stated:
            yield _beside(spec, peak.field, 2 * stated[dense], f"2 x {dense}", (dense, stated[dense]))
    bits, rate = spec.number("memory_bus_bits"), spec.number("memory_transfers_per_s")
    if bits is not None and rate is not None:
        formula = "memory_bus_bits x memory_transfers_per_s / 8"
        inputs = (("memory_bus_bits", bits), ("memory_transfers_per_s", rate))
        yield _beside(spec, "memory_bytes_per_s", bits * rate / 8, formula, *inputs)


def _beside(spec: GpuSpec, field: str, derived: float, formula: str, *inputs: tuple[str, float]) -> Derived:
    """The computed value beside the stated one of this field or peak."""
    stated = next((peak.flop_per_s for peak in spec.peaks if peak.field == field), None)
    if not field.startswith("peak:"):
        stated = spec.number(field)
    return Derived(field=field, stated=stated, derived=derived, formula=formula, inputs=inputs)
