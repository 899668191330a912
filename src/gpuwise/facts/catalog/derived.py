"""Values that a GPU's chip, units, clocks and rates imply, beside what its sources state.

    vector and matrix peaks   multiprocessors x operations per clock x clock
    sparse peak               2 x dense peak (2:4 structured sparsity)
    memory bandwidth          bus width x data rate per pin / 8; where none is stated, a grade that is sold
    fp64 of the cores         a whole fraction of fp32
    cores, texture units      multiprocessors x those of one multiprocessor
    texture and pixel rate    texture units, and ROPs, x clock

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

from gpuwise.facts.catalog import load
from gpuwise.model.gpu import GpuSpec, Source
from gpuwise.model.result import grouped

TOLERANCE = 0.01
"""Vendors round to three digits, at worst 0.5 %; their clocks are rounded too."""
# Gbit/s per pin in which chips are sold (part catalogs of Micron and Samsung, by family), and how near to one
# a bandwidth over its bus must be: so near by chance is one in ten.
_GRADES: Mapping[str, tuple[float, ...]] = {
    "GDDR5": (5, 6, 7, 8), "GDDR5X": (10, 11, 12), "GDDR6": (12, 14, 16, 18, 20), "GDDR6X": (19, 21, 23),
    "GDDR7": (28, 30, 32), "LPDDR4X": (3.733, 4.266), "LPDDR5": (5.5, 6.4), "LPDDR5X": (7.5, 8.533, 9.6),
}  # fmt: skip
_NEAR_GRADE = 0.004
# What part of its fp32 rate a chip may have in fp64: as many units as each part says.
_DOUBLE = (2, 3, 4, 8, 16, 24, 32, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class FullDie:
    """A chip with nothing switched off; the counts are None where no source gives the whole die."""

    chip: str
    sm_count: int | None
    cores_per_sm: int  # CUDA cores, on AMD stream processors
    tensor_cores_per_sm: int
    rt_cores_per_sm: int
    tmus_per_sm: int
    source: Source

    def each(self, field: str) -> int:
        """The units of one multiprocessor that a field of the catalog counts; 0 for any other field."""
        units = {"sm_count": 1, "tensor_cores": self.tensor_cores_per_sm, "rt_cores": self.rt_cores_per_sm}
        units |= {"tmus": self.tmus_per_sm}
        units |= dict.fromkeys(("cuda_cores", "stream_processors"), self.cores_per_sm)
        return units.get(field, 0)

    def whole(self, field: str) -> int | None:
        """The units of the whole chip; None where it has none or no source gives its multiprocessors."""
        return (self.sm_count or 0) * self.each(field) or None


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
    stated: float | None  # None where no source states it
    derived: float
    formula: str  # In words: `sm_count x 1024 x boost_hz`
    inputs: tuple[tuple[str, float], ...]  # The facts that went in, by field

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
    dies = load.decoded(load.rows("chips.csv"), FullDie, source=_source)
    return MappingProxyType({die.chip: die for die in dies})


def _source(row: dict[str, str]) -> Source:
    return load.sources()[row["source"]]


@cache
def _rates_of_chips() -> Mapping[str, list[tuple[str, Rate]]]:
    """(segment or empty, rate) by chip."""
    table = load.rows("rates.csv")
    rates = zip(table, load.decoded(table, Rate, source=_source), strict=True)
    return grouped((row["chip"], (row["segment"], rate)) for row, rate in rates)


def rates(spec: GpuSpec) -> tuple[Rate, ...]:
    """Rates of one multiprocessor of this GPU per clock; GeForce cards have lower matrix rates."""
    of_chip = _rates_of_chips().get(spec.text("chip") or "", ())
    return tuple(rate for only, rate in of_chip if only in ("", spec.text("segment")))


def confirmed(spec: GpuSpec) -> frozenset[str]:
    """Fields of a GPU that the vendor or two independent sources state, or whose other factors they do.

    An equation that holds (cores = multiprocessors x cores of one) and of whose figures all but one are
    confirmed confirms that one. A rule of an architecture is as sure as a vendor, a computed peak as its
    factors.
    """
    sure, open_ = set[str](), set[str]()
    for field in (*spec.facts, *(peak.field for peak in spec.peaks)):
        sources = spec.sources(field)
        alone = len(sources) == 1 and sources[0].kind != "vendor"
        ruled = alone and sources[0].kind == "derived" and not field.startswith("peak:")
        (open_ if alone and not ruled else sure).add(field)
    equations = [{d.field, *(name for name, _ in d.inputs)} for d in derive(spec) if d.agrees]
    while implied := {min(rest) for equation in equations if len(rest := equation & open_) == 1}:
        sure |= implied
        open_ -= implied
    return frozenset(sure)


def derive(spec: GpuSpec) -> Iterator[Derived]:
    """Everything that can be computed of this GPU from its own facts and its chip's rates."""
    peaks = {peak.field: peak.flop_per_s for peak in spec.peaks}

    def beside(field: str, formula: str, value: float, *inputs: tuple[str, float]) -> Derived:
        stated = peaks.get(field) if field.startswith("peak:") else spec.number(field)
        return Derived(field=field, stated=stated, derived=value, formula=formula, inputs=inputs)

    die, units = chips().get(spec.text("chip") or ""), spec.number("sm_count")
    cores = "stream_processors" if spec.vendor == "AMD" else "cuda_cores"
    # Without units nothing follows of cores and peaks: boards of unannounced parts, Gaudi, Apple.
    if units is not None and die is not None:
        for field in (cores, "tensor_cores", "rt_cores", "tmus"):
            if of_one := die.each(field):  # a chip without a kind of core gives no row for it
                yield beside(field, f"sm_count x {of_one}", int(units) * of_one, ("sm_count", units))
    for rate in rates(spec) if units is not None else ():
        # Hopper states matrix peaks, fp64 apart, at a lower clock.
        lower = rate.unit == "matrix" and rate.format != "fp64" and "tensor_hz" in spec.facts
        clock = spec.number(clock_field := "tensor_hz" if lower else "boost_hz")
        if clock is None or units is None:
            continue
        counted, number, operations = "sm_count", units, rate.operations
        # The well-known form of fp32: cores x 2 x clock.
        if die and rate.format == "fp32" and rate.unit == "vector":
            counted, number, operations = cores, units * die.cores_per_sm, operations // die.cores_per_sm
        formula = f"{counted} x {operations} x {clock_field}"
        inputs = ((counted, number), (clock_field, clock))
        yield beside(rate.field, formula, number * operations * clock, *inputs)
    textures = spec.number("tmus") or (units or 0) * (die.each("tmus") if die else 0)
    for field, counted, number in (
        ("texels_per_s", "tmus", textures), ("pixels_per_s", "rops", spec.number("rops") or 0)
    ):  # fmt: skip
        for name in ("boost_hz", "base_hz"):
            if product := number * (spec.number(name) or 0):
                inputs = ((counted, number), (name, product / number))
                yield beside(field, f"{counted} x {name}", product, *inputs)
    for peak in spec.peaks:
        dense = peak.field.removesuffix(":sparse")
        if peak.sparse and dense in peaks and peak.is_twice_dense:
            yield beside(peak.field, f"2 x {dense}", 2 * peaks[dense], (dense, peaks[dense]))
    single, double = (peaks.get(f"peak:{name}:{name}:vector") for name in ("fp32", "fp64"))
    for part in _DOUBLE if single and double else ():
        if single and double and abs(double * part / single - 1) < _NEAR_GRADE:
            yield beside("peak:fp64:fp64:vector", f"peak:fp32:fp32:vector / {part}", single / part)
    bits, per_pin = spec.number("memory_bus_bits"), spec.number("memory_transfers_per_s")
    stated = spec.memory_bytes_per_s
    if bits and stated and per_pin is None:
        formula = "memory_bytes_per_s x 8 / memory_bus_bits"
        yield beside("memory_transfers_per_s", formula, stated * 8 / bits, ("memory_bytes_per_s", stated))
        for grade in _GRADES.get(spec.text("memory_type") or "", ()):
            if abs(bits * grade * 1e9 / 8 / stated - 1) < _NEAR_GRADE:
                formula = f"memory_bus_bits x {grade:g} Gbit/s / 8"
                yield beside("memory_bytes_per_s", formula, bits * grade * 1e9 / 8, ("memory_bus_bits", bits))
    if bits is not None and per_pin is not None:
        inputs = (("memory_bus_bits", bits), ("memory_transfers_per_s", per_pin))
        formula = "memory_bus_bits x memory_transfers_per_s / 8"
        yield beside("memory_bytes_per_s", formula, bits * per_pin / 8, *inputs)
