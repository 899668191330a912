"""What the catalog can say about a claim: the values of one field of one GPU, each with its witnesses.

Facts that an article states are not evidence: an article must not vouch for itself. Of several copies
of one database the catalog keeps one fact, so they count as one source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from gpuwise.facts import catalog
from gpuwise.judge.audit.cells import label_of, readings
from gpuwise.judge.audit.words import ABILITIES, NAMES
from gpuwise.model.gpu import Fact, GpuSpec, Peak, Source
from gpuwise.model.judgement import Number
from gpuwise.model.result import grouped
from gpuwise.model.units import of_field, si

Form = Literal["value", "dense", "sparse", "vector", "matrix"]
"""`vector`: a 16-bit rate of the ordinary cores, where matrix units have a higher one; `matrix`: a rate of
matrix units in fp32 or fp64, which the ordinary cores compute too."""
# How near a value must be for the aligner, which weighs many readings.
CLOSE = 0.012
# The lowest and the highest power that makers of laptops set, of the one that a database has (A500: 20 to
# 60 W of 60, RTX 5060: 45 to 100 W of 45).
OF_LAPTOPS = (0.33, 2.3)
_TENSOR = ("fp16", "bf16")
# Architectures whose matrix units do 2:4 sparsity at twice the dense rate.
_SPARSE_SINCE = ("Ampere", "Ada", "Hopper", "Blackwell", "CDNA 3", "CDNA 4")
# FP16 rate of the ordinary cores over their FP32 rate where no source states it, 1 for the others.
_VECTOR_HALF = {"Turing": 2, "Hopper": 2, "CDNA": 2}
# Fields that follow from the product itself, which one good source settles.
_EXACT = frozenset(
    {"launch", "architecture", "chip", "memory_type", "compute_capability", "pcie_generation",
     # A chip has one count of transistors, which its vendor states once.
     "transistors", "tensor_core_generation", "rt_core_generation", *ABILITIES}
)  # fmt: skip
_KEPT_L1 = 28 * 2**10
_SHADERS = ("cuda_cores", "stream_processors", "shading_units")
# What other products of the same chip with the same figure vouch for.
_OF_CHIP = frozenset(
    {"sm_count", "rt_cores", "rops", "l2_bytes", "memory_bus_bits", "memory_bytes_per_s", "link_bytes_per_s"}
)
# A street price, say: too rough to judge by.
_APPROXIMATE = re.compile(r"approximate\b")
_DIFFER = re.compile(r"other sources differ: (.*)")
# Chips of which the same card is made, too.
_CHIPS = re.compile(r"\b[A-Z]{2}\d{3}\b")


def alike(one: float, other: float, by: float) -> bool:
    """Whether a number differs from another one by no more than such a part of it."""
    return abs(one - other) <= by * abs(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One value that a source gives; `form` tells dense and sparse peaks apart."""

    value: float | str
    text: str
    source: Source
    form: Form = "value"
    # What other sources state, as far as they weigh against this one; of a memory size also those of variants
    # outside the catalog.
    alternatives: tuple[float | str, ...] = ()
    low: float | None = None  # The lowest setting of a power that the maker of the machine chooses
    computed: bool = False  # Units, clocks and rates give the same: a second, independent witness
    sources: int = 1  # How many independent sources state it

    @property
    def witnesses(self) -> int:
        """Independent sources, and the computation from units and clocks."""
        return self.sources + self.computed

    @property
    def named(self) -> str:
        """Where the value comes from, in words."""
        return (
            f"{self.source.title}; computed from units and clocks too" if self.computed else self.source.title
        )


@cache
def of(gpu_id: str, field: str) -> tuple[Evidence, ...]:
    """All evidence on one field of one GPU, the best first; empty where the catalog is silent."""
    spec = catalog.get(gpu_id)
    if field.startswith("peak:"):
        return tuple(_peaks(spec, field.removeprefix("peak:")))
    # Texts call the cores of any maker shaders.
    field = next((n for n in (field, *_SHADERS * (field in _SHADERS)) if n in spec.facts), field)
    # NVIDIA's tensor cores, which all do FP16.
    units = field == "matrix_units" and spec.vendor == "NVIDIA"
    fact = spec.facts.get("matrix_fp16" if units else field)
    if fact is None and field == "link" and spec.vendor != "NVIDIA":
        # NVLink is NVIDIA's: what has a size of memory here lacks it.
        fact = spec.facts.get("memory_bytes")
    if fact is None:
        return tuple(_computed_from(spec, field))
    if fact.source.kind == "article" or _APPROXIMATE.match(fact.note):
        return ()
    if field in ABILITIES:
        # The catalog names the link that a GPU has; texts say whether it is NVLink.
        has = str(fact.value).startswith("NVLink") if field == "link" else bool(fact.value)
        answer = "yes" if has else "no"
        return (Evidence(value=answer, text=answer, source=fact.source, sources=2),)
    same_chip = _by_chip().get(spec.text("chip"), [])
    shared = same_chip if field in _OF_CHIP else []
    alike = [s for s in shared if field in s.facts and s.facts[field].value == fact.value]
    number = field == "compute_capability" or not isinstance(fact.value, str)
    value = float(fact.value) if number else str(fact.value)
    # Texts state what the board has: the K80 has two GPUs, the A16 four.
    others: list[float | str] = (
        [n * value for n in (2, 4)]
        if isinstance(value, float) and "of one GPU of the board" in fact.note
        else []
    )
    least = spec.number("power_min_w") if field == "power_w" else None
    if field == "power_w" and least is None and spec.text("form") == "laptop" and isinstance(value, float):
        # Its maker chooses it, within limits that no source states.
        others = [value * part for part in OF_LAPTOPS]
    if field == "l1_bytes" and isinstance(value, float):
        # All but this may be shared memory, which texts give in its place.
        others = [value - _KEPT_L1]
    if field == "chip" and fact.note.startswith("also made with"):
        others = _CHIPS.findall(fact.note)
    if field == "transistors":
        # Those of the chip, on whatever card a source counts them.
        others = [count for other in same_chip if (count := other.number(field))]
    stated = Evidence(
        value=value, text=printed(field, value), source=fact.source,
        alternatives=(*_alternatives(spec, field, fact), *others), computed=_is_computed(spec, field, fact),
        sources=2 if field in _EXACT else len({
            source.copy_of or source.id for other in (spec, *alike) for source in other.sources(field)
        }),
        low=least,
    )  # fmt: skip
    if named := field == "process_nm" and re.search(r"name of the process=(\d+) nm", fact.note):
        return stated, replace(stated, value=float(named[1]), text=f"{named[1]} nm by its name")
    if field == "l1_bytes" and isinstance(value, float):
        # Sheets count those of all multiprocessors, too.
        total = value * (spec.number("sm_count") or 1)
        return stated, replace(stated, value=total, text=f"{total / 2**20:.3g} MiB in all", alternatives=())
    if field != "memory_bytes":
        return (stated,)
    # The product is named by its size, and its memory type and bus width fix it.
    outside = (size * 2.0**30 for size in catalog.sizes_outside(spec.id))
    usable = replace(stated, alternatives=(*stated.alternatives, *outside), sources=2)
    sold, size = spec.facts.get("memory_sold_gb"), spec.number("memory_sold_gb")
    if sold is None or size is None:
        return (usable,)
    return usable, replace(
        stated, value=size * 2**30, text=f"{size:g} GB as sold", source=sold.source, sources=2
    )


@cache
def _by_chip() -> Mapping[str | None, list[GpuSpec]]:
    """The products of each chip that a source names."""
    return grouped((spec.text("chip"), spec) for spec in catalog.all_gpus() if "chip" in spec.facts)


def _computed_from(spec: GpuSpec, field: str) -> Iterator[Evidence]:
    """What no source states and a product gives, as sure as its last factor: cores of the units of a chip, a
    rate of its clock; or units of an Arc, each of which has one for ray tracing, and their XMX engines and
    texture units (Intel, Xe-HPG and Xe2 architecture)."""
    found = [(*d.inputs[-1], d.derived) for d in _derived(spec.id) if d.field == field]
    if field == "core_hz":
        # Texts call either clock that of the core.
        found = [(name, 1.0, 1.0) for name in ("base_hz", "boost_hz")]
    die, rays = catalog.chips().get(spec.text("chip") or ""), spec.number("rt_cores")
    if die and rays and spec.vendor == "Intel" and field in ("sm_count", "tensor_cores", "tmus"):
        found = [("rt_cores", rays, die.each(field) * rays)] if die.each(field) else []
    for factor, number, product in found:
        for known in of(spec.id, factor):
            times = product / number
            value, *others = (n * times for n in (known.value, *known.alternatives) if isinstance(n, float))
            yield replace(known, value=value, text=printed(field, value), alternatives=(*others,))


@cache
def nodes(gpu_id: str) -> frozenset[float]:
    """The processes, in nm, in which chips of this one's architecture and capability are made."""
    mine = catalog.get(gpu_id)
    kind = (mine.architecture, mine.text("compute_capability"))
    alike = (s for s in catalog.all_gpus() if (s.architecture, s.text("compute_capability")) == kind)
    return frozenset(node for spec in alike if (node := spec.number("process_nm")) is not None)


def _begin(field: str, text: str) -> str:
    """What names of one thing begin with: of dates the year, of chips all but the letter of a revision, of
    architectures the first word and its number."""
    begin = {"launch": r"\d{4}", "chip": r".*?\d(?=[a-z]?$)", "architecture": r"[a-z]+(?: ?\d)?"}.get(
        field, ""
    )
    found = re.match(begin, text.lower()) if begin else None
    return found[0].replace(" ", "") if found else text.lower()


def supports(gpu_id: str, field: str, value: Number | str) -> bool:
    """Whether the catalog has about this value; for the aligner, which weighs many readings."""
    for known in of(gpu_id, field):
        if isinstance(value, str) or isinstance(known.value, str):
            # Of memory types all, but for a G left out.
            mine, theirs = _begin(field, str(value)), _begin(field, str(known.value))
            begins = field == "architecture" or mine == "gddr"
            if theirs.endswith(mine) or (begins and theirs.startswith(mine)):
                return True
        elif abs(value.value - known.value) <= CLOSE * abs(known.value):
            return True
    return False


def _is_computed(spec: GpuSpec, field: str, fact: Fact | Peak) -> bool:
    """Whether a product of units, rates and clocks confirms a stated value, or it is a factor of one."""
    if field in ("shading_units", "rt_cores") and spec.vendor == "Intel":
        # Arc: one ray tracing unit and 128 lanes in each Xe core (Intel, Xe-HPG and Xe2 architecture).
        return spec.number("shading_units") == 128 * (spec.number("rt_cores") or 0)
    return fact.source.kind != "derived" and (spec.id, field) in _computed()


@cache
def _derived(gpu_id: str) -> tuple[catalog.Derived, ...]:
    """What follows from other facts of a GPU; asked for by each field that no source states."""
    return tuple(catalog.derive(catalog.get(gpu_id)))


@cache
def _computed() -> frozenset[tuple[str, str]]:
    return frozenset(
        (spec.id, field)
        for spec in catalog.all_gpus()
        for derived in _derived(spec.id)
        if derived.agrees
        for field in (derived.field, *(name for name, _ in derived.inputs))
    )


def printed(field: str, value: float | str) -> str:
    """A value as people write it, with its unit."""
    if isinstance(value, str):
        return value
    if field.startswith("peak:"):
        return si(value, "OP/s" if "int" in field else "FLOP/s", 4)
    return of_field(field, int(value) if value.is_integer() else value)


def _peaks(spec: GpuSpec, form: str) -> Iterator[Evidence]:
    """Dense peaks first, then sparse ones, stated or twice the dense; vector rates last."""

    # At another clock that a source states the rate is another one.
    boost, fastest = spec.facts.get("boost_hz"), spec.number("boost_hz")
    others = _alternatives(spec, "boost_hz", boost) if boost is not None else ()
    clocks = [clock / fastest for clock in others if fastest and isinstance(clock, float)]

    def one(peak: Peak, value: float, kind: Form) -> Evidence:
        stated = _alternatives(spec, peak.field, peak) if value == peak.flop_per_s else ()
        return Evidence(
            value=value, text=f"{printed('peak:' + form, value)} {kind}", source=peak.source, form=kind,
            alternatives=(*stated, *(value * n for n in clocks)),
            computed=_is_computed(spec, peak.field, peak), sources=len(spec.sources(peak.field)),
        )  # fmt: skip

    # The two 16-bit formats run at one rate, on Gaudi apart.
    alone = spec.vendor == "Intel" or any(p.format == form and p.unit == "matrix" for p in spec.peaks)
    names = _TENSOR if form == "tensor" or (form in _TENSOR and not alone) else (form,)
    mine = [peak for peak in spec.peaks if peak.format in names and peak.source.kind != "article"]
    dense = [peak for peak in mine if peak.unit == "matrix" and not peak.sparse]
    vector = [peak for peak in mine if peak.unit == "vector"]
    aside: list[Peak] = []
    if form in _TENSOR and dense:
        vector, aside = [], vector
    exact = form in ("fp32", "fp64")
    if exact and vector and not dense:
        # On every product of a chip its matrix units do the same multiple of its vector rate.
        chip = _by_chip().get(spec.text("chip"), [])
        rates = ({p.unit: p.flop_per_s for p in s.peaks if p.format == form} for s in chip)
        times = next((round(rate["matrix"] / rate["vector"]) for rate in rates if len(rate) > 1), 0)
        if times > 1:
            yield one(replace(vector[0], unit="matrix"), times * vector[0].flop_per_s, "matrix")
    for peak in vector + dense if exact else dense + vector:
        yield one(peak, peak.flop_per_s, "matrix" if exact and peak.unit == "matrix" and vector else "dense")
    yield from (one(peak, peak.flop_per_s, "sparse") for peak in mine if peak.sparse)
    architecture = spec.architecture or ""
    # CDNA 4 does FP4 in dense matrices alone.
    if not exact and architecture.startswith(_SPARSE_SINCE) and (form, architecture) != ("fp4", "CDNA 4"):
        # Of Blackwell Ultra another sparse rate is stated: 18 PFLOPS of FP4 beside 14.
        other = {p.field for p in mine if p.sparse and not p.is_twice_dense}
        doubled = [peak for peak in dense if f"{peak.field}:sparse" not in other]
        yield from (one(peak, 2 * peak.flop_per_s, "sparse") for peak in doubled)
    # Databases compute them by ratios that vendors do not state: only where a text speaks of vectors.
    yield from (one(peak, peak.flop_per_s, "vector") for peak in aside)
    for derived in _derived(spec.id):
        # A derived rate of twice the stated one is of a product that its vendor limits to half.
        limited = derived.stated is not None and alike(derived.derived, 2 * derived.stated, CLOSE)
        if dense and not limited and derived.field.startswith(tuple(f"peak:{name}:" for name in names)):
            kind: Form = "sparse" if derived.field.endswith("sparse") else "dense"
            kind = "matrix" if exact and vector and derived.field.endswith("matrix") else kind
            text = f"{printed('peak:' + form, derived.derived)} {kind}"
            yield Evidence(value=derived.derived, text=text, source=dense[0].source, form=kind, computed=True)
    # 16-bit rates of the ordinary cores, which some tables print under FP16.
    single = next((p for p in spec.peaks if p.format == "fp32" and p.unit == "vector"), None)
    if form in _TENSOR and single is not None:
        # A stated rate goes before the architecture's: of Pascal only the P100 does twice FP32.
        halves = [p.flop_per_s for p in spec.peaks if (p.format, p.unit) == ("fp16", "vector")]
        stated = [half / single.flop_per_s for half in halves]
        times = round(max(stated, default=_VECTOR_HALF.get(architecture.split(" ")[0], 1)))
        # Databases say four times of Hopper, too, its vendor twice.
        factors = {1, times or 1} | ({4} if architecture.startswith("Hopper") else set())
        yield from (one(single, factor * single.flop_per_s, "dense") for factor in factors)


def _alternatives(spec: GpuSpec, field: str, fact: Fact | Peak) -> tuple[float | str, ...]:
    """Values of other sources that weigh against the one that stands.

    A copy of the fact's own source is not another one, and a vendor's word is disputed by a vendor, or by
    two others that agree.
    """
    mine = fact.source
    stands = fact.flop_per_s if isinstance(fact, Peak) else fact.value

    def is_other(name: str) -> bool:
        other = catalog.sources().get(name)
        return other is None or (other.copy_of or other.id) != (mine.copy_of or mine.id)

    def disputes(name: str) -> bool:
        other = catalog.sources().get(name)
        vendors = ("NVIDIA", "AMD", "Intel", "Apple")
        by_vendor = name.startswith(vendors) if other is None else other.kind == "vendor"
        return mine.kind != "vendor" or by_vendor

    others = [o for o in spec.values(field)[1:] if o.value != stands and is_other(o.source.id)]
    found: list[float | str] = []
    for other in others:
        alike = {o.source.copy_of or o.source.id for o in others if o.value == other.value}
        if disputes(other.source.id) or len(alike) > 1:
            found.append(other.value if isinstance(other.value, str) else float(other.value))
    match = _DIFFER.search(fact.note)
    if match is not None:
        named = (part.strip().partition("=") for part in re.split(r"[,;]", match[1]))
        pairs = [(other, text) for other, _, text in named if text and is_other(other)]
        texts = [text for _, text in pairs]
        name = ":".join(field.split(":")[:2])
        label = label_of(NAMES["labels"].get(name, name.removeprefix("peak:").replace("_", " ")))
        for text in (text for other, text in pairs if disputes(other) or texts.count(text) > 1):
            for reading in readings(label, text):
                found += (v.value if isinstance(v, Number) else v for v in reading.values)
    return tuple(found)
