"""The data of GPUs and of their prices: every value travels with the source it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal

# Forms that no slot takes: they sit on the board of a server.
MODULES = ("sxm", "oam")
SourceKind = Literal["vendor", "third-party", "measured", "derived", "article"]
Value = str | int | float | bool


class Shown:
    """A value that a notebook can show."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """HTML with a table, and a chart where vl-convert is installed; nothing is loaded before."""
        # By name: the nouns import nothing of what shows them.
        html: str = import_module("gpuwise.show.notebook").html(self)
        return html


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a value was read."""

    id: str
    title: str
    kind: SourceKind
    read_on: str  # ISO date on which the value was read there
    url: str | None = None
    licence: str | None = None  # What the publisher grants; None where it does not say
    copy_of: str | None = None  # Id of the source whose figures it repeats: the two count as one


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One value of one field, with its source; `locator` is the page or table in it."""

    field: str
    value: Value
    source: Source
    locator: str = ""
    note: str = ""

    def agrees(self, other: Fact) -> bool:
        """True if both state the same value, within the rounding of their sources."""
        if isinstance(self.value, str) or isinstance(other.value, str):
            return str(self.value).casefold() == str(other.value).casefold()
        return abs(self.value - other.value) <= AGREE * abs(other.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """A stated arithmetic peak. Dense unless `sparse`: the two are never mixed."""

    format: str  # Number format of the operands: fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4
    accumulate: str  # Format of the accumulator; GeForce cards halve the FP16 rate when it is fp32
    unit: Literal["vector", "matrix"]
    """Which hardware runs it: ordinary cores (vector) or tensor / matrix cores (matrix)."""
    flop_per_s: float
    sparse: bool = False
    source: Source
    locator: str = ""
    note: str = ""

    @property
    def field(self) -> str:
        """Its name among the facts: `peak:fp16:fp32:matrix:sparse`."""
        return f"peak:{self.format}:{self.accumulate}:{self.unit}{':sparse' if self.sparse else ''}"

    @property
    def is_twice_dense(self) -> bool:
        """Whether a sparse rate is twice the dense one, as all are whose note does not say otherwise."""
        return "not twice the dense" not in self.note


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A property that the catalog may know of a GPU, in the order of a specification chart."""

    name: str
    group: str
    kind: Literal["text", "number", "flag"]
    label: str  # As people say it; the unit stands with the value
    chart: bool  # True if vendors' specification charts have a row for it


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSpec(Shown):
    """One GPU variant. Properties read the facts; a field that no source states is None."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    device_names: tuple[str, ...] = ()  # Names under which drivers (NVML, CUDA, HIP) report this variant
    facts: Mapping[str, Fact] = field(default_factory=dict)
    peaks: tuple[Peak, ...] = ()
    more: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    """What further sources state of a field, behind the value that stands; of a peak by `Peak.field`."""

    def __repr__(self) -> str:
        # Some 60 values with their sources would fill a terminal.
        return f"<GpuSpec {self.id}: {self.name}, values: {len(self.facts) + len(self.peaks)}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Every complete name under which people may ask for it."""
        return (self.id, self.name, *self.aliases)

    def values(self, name: str) -> tuple[Fact, ...]:
        """Every stated value of a field or peak with its source, the one that stands first."""
        fact = self.facts.get(name)
        peaks = () if fact else (peak for peak in self.peaks if peak.field == name)
        first = [
            Fact(field=name, value=peak.flop_per_s, source=peak.source, locator=peak.locator, note=peak.note)
            for peak in peaks
        ]
        return (*((fact,) if fact else first), *self.more.get(name, ()))

    def sources(self, name: str) -> tuple[Source, ...]:
        """The independent sources that agree with the value that stands; a copy counts as its original."""
        values = self.values(name)
        # Most fields have one source.
        agreeing = [fact for fact in values if fact is values[0] or fact.agrees(values[0])]
        return tuple({fact.source.copy_of or fact.source.id: fact.source for fact in agreeing}.values())

    def supports(self, capability: str) -> bool | None:
        """True or False where known for `bf16`, `tf32`, `fp8`, `fp4`, `int8`, `fp16` in matrix units,
        `nvlink`, `mig`, `ecc`; None where no source and no rule says so."""
        # Both are NVIDIA's own; what others have of the kind has other names.
        if capability in ("nvlink", "mig") and self.vendor != "NVIDIA":
            return False
        if capability == "nvlink":
            link = self.text("link")
            return None if link is None else "NVLink" in link
        fact = self.facts.get(capability if capability in ("mig", "ecc") else f"matrix_{capability}")
        return None if fact is None else fact.value is True

    def text(self, name: str) -> str | None:
        """The value of a field as text, or None where no source states it."""
        fact = self.facts.get(name)
        return None if fact is None else str(fact.value)

    def number(self, name: str) -> float | None:
        """The value of a numeric field in SI units, or None where no source states it."""
        fact = self.facts.get(name)
        return None if fact is None or isinstance(fact.value, str) else float(fact.value)

    @property
    def vendor(self) -> str | None:
        return self.text("vendor")

    @property
    def architecture(self) -> str | None:
        return self.text("architecture")

    @property
    def memory_bytes(self) -> float | None:
        return self.number("memory_bytes")

    @property
    def memory_varies(self) -> bool:
        """Whether it is the GPU of a processor that is sold with less memory, too; `memory_bytes` is most.

        Modules and servers that share their memory (Jetson, GB10, MI300A) have one size.
        """
        return self.text("form") == "soc" and self.text("segment") == "consumer"

    @property
    def memory_bytes_per_s(self) -> float | None:
        return self.number("memory_bytes_per_s")

    @property
    def power_w(self) -> float | None:
        return self.number("power_w")

    def peak(self, precision: str) -> Peak | None:
        """The dense floating-point peak that bounds deep learning in this precision, if stated.

        fp16 and bf16 training accumulates in fp32, so that peak is the bound, also where the
        card multiplies faster with an fp16 accumulator. In fp32 and fp64 ordinary cores and matrix
        cores give the same result, so the faster of them is the bound.
        """
        whole = precision in ("fp32", "fp64")
        units = ("vector", "matrix") if whole else ("matrix",)
        wanted = (precision, precision if whole else "fp32", False)
        fitting = [
            peak
            for peak in self.peaks
            if (peak.format, peak.accumulate, peak.sparse) == wanted and peak.unit in units
        ]
        return max(fitting, key=lambda peak: peak.flop_per_s, default=None)

    @property
    def hides_peak(self) -> bool:
        """Whether it has, or may have, matrix units whose rate no source states: no stated peak bounds it."""
        return self.supports("fp16") is not False and all(peak.unit != "matrix" for peak in self.peaks)


AGREE = 0.01  # Sources that round to three digits differ by up to 0.5 % each


OfferKind = Literal["on-demand", "community", "spot", "reserved", "serverless", "new", "used", "street"]
"""The first five are rent per hour: of a provider's own machines, of a host on a marketplace, interruptible,
with a commitment, and by the second in which requests are worked on. The others are purchases; `street` is
asked for new and used cards together."""
RENTS = ("on-demand", "community", "spot", "reserved", "serverless")
# In 2026 prices of the same machine rose and fell by a tenth within a quarter; an advice wants fresher ones.
STALE_DAYS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One price that was seen: `amount` is for the whole offer, never per GPU."""

    gpu: str  # The accelerator as the seller names it
    gpu_ids: tuple[str, ...]
    """Catalog entries it may be: one where the variant is known, several where the seller names
    only the family, none where the catalog lacks it."""
    count: float  # GPUs in the offer; a fraction where a slice of one is rented
    kind: OfferKind
    amount: float  # Price of the whole offer: per hour for rent, once for a purchase
    low: float | None = None  # Lower end where the source gives a spread around `amount`
    high: float | None = None
    """Upper end of a spread; where `low` is None, of a range whose lower end is `amount`."""
    currency: str = "USD"
    provider: str
    instance: str = ""
    region: str = ""
    seen_on: str  # ISO date on which the price was seen; empty where the source does not say
    listed_on: str = ""  # ISO date of the list that holds it still; empty where it holds today
    source: Source
    locator: str = ""
    note: str = ""
    whole: bool = False  # A whole computer: a laptop, a small one, a server with its GPUs
    egress_usd_per_gb: float | None = None  # What leaves the provider's network; None: not known

    @property
    def per_hour(self) -> bool:
        return self.kind in RENTS

    @property
    def per_gpu(self) -> float:
        """Amount of one GPU of the offer."""
        return self.amount / self.count
