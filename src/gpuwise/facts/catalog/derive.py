"""What a GPU's stated units, clocks and rates imply, beside what its sources state.

    vector and matrix peaks   multiprocessors x operations per clock x clock
    sparse peak               2 x dense peak (2:4 structured sparsity)
    memory bandwidth          bus width x data rate per pin / 8
    cores                     multiprocessors x cores of one multiprocessor

Stated peaks are the vendor's own product, rounded, of the same factors, so that a difference of more
than 1 % has a reason: another clock, another variant, the full die, or an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuwise.facts.catalog.chips import FullDie, Rate, chips, rates
from gpuwise.model.gpu import GpuSpec, Peak

TOLERANCE = 0.01
"""Vendors round to three digits, at worst 0.5 %; their clocks are rounded too."""

_SPARSE = 2


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
        """Whether both agree within rounding; None where nothing is stated."""
        return None if self.difference is None else abs(self.difference) <= TOLERANCE


def derive(spec: GpuSpec) -> tuple[Derived, ...]:
    """Everything that can be computed of this GPU from its own facts and its chip's rates."""
    chip = chips().get(spec.text("chip") or "")
    found = [*_counts(spec, chip), *_peaks(spec, rates(spec), chip), *_sparse(spec)]
    bandwidth = _bandwidth(spec)
    return tuple([*found, bandwidth] if bandwidth else found)


def _counts(spec: GpuSpec, chip: FullDie | None) -> Iterator[Derived]:
    """Cores from multiprocessors. A chip without a kind of core gives no row for it."""
    units = spec.number("sm_count")
    if chip is None or units is None:
        return
    cores = "stream_processors" if spec.vendor == "AMD" else "cuda_cores"
    per_sm = {
        cores: chip.cores_per_sm,
        "tensor_cores": chip.tensor_cores_per_sm,
        "rt_cores": chip.rt_cores_per_sm,
    }
    for field, each in per_sm.items():
        if each:
            yield Derived(
                field=field,
                stated=spec.number(field),
                derived=int(units) * each,
                formula=f"sm_count x {each}",
                inputs=(("sm_count", units),),
            )


def _peaks(spec: GpuSpec, table: tuple[Rate, ...], chip: FullDie | None) -> Iterator[Derived]:
    for rate in table:
        clock_field = _clock_field(spec, rate)
        clock, units = spec.number(clock_field), spec.number("sm_count")
        if clock is None or units is None:
            continue
        count, each, counted = "sm_count", rate.operations, units
        if chip and rate.format == "fp32" and rate.unit == "vector":
            count = "stream_processors" if spec.vendor == "AMD" else "cuda_cores"
            each, counted = rate.operations // chip.cores_per_sm, units * chip.cores_per_sm
        yield Derived(
            field=rate.field,
            stated=_stated(spec, rate),
            derived=counted * each * clock,
            formula=f"{count} x {each} x {clock_field}",
            inputs=((count, counted), (clock_field, clock)),
        )


def _clock_field(spec: GpuSpec, rate: Rate) -> str:
    """The clock that the peak is stated at: Hopper states matrix peaks, fp64 apart, at a lower one."""
    lower = rate.unit == "matrix" and rate.format != "fp64" and "tensor_hz" in spec.facts
    return "tensor_hz" if lower else "boost_hz"


def _stated(spec: GpuSpec, rate: Rate) -> float | None:
    return next((p.flop_per_s for p in spec.peaks if not p.sparse and p.field == rate.field), None)


def _sparse(spec: GpuSpec) -> Iterator[Derived]:
    for peak in spec.peaks:
        dense = _dense(spec, peak)
        if peak.sparse and dense is not None:
            yield Derived(
                field=peak.field,
                stated=peak.flop_per_s,
                derived=_SPARSE * dense.flop_per_s,
                formula=f"2 x {dense.field}",
                inputs=((dense.field, dense.flop_per_s),),
            )


def _dense(spec: GpuSpec, peak: Peak) -> Peak | None:
    wanted = peak.field.removesuffix(":sparse")
    return next((p for p in spec.peaks if p.field == wanted), None)


def _bandwidth(spec: GpuSpec) -> Derived | None:
    bits, rate = spec.number("memory_bus_bits"), spec.number("memory_transfers_per_s")
    if bits is None or rate is None:
        return None
    return Derived(
        field="memory_bytes_per_s",
        stated=spec.memory_bytes_per_s,
        derived=bits * rate / 8,
        formula="memory_bus_bits x memory_transfers_per_s / 8",
        inputs=(("memory_bus_bits", bits), ("memory_transfers_per_s", rate)),
    )
