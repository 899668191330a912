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
from gpuwise.model.claim import Number
from gpuwise.model.gpu import Fact, GpuSpec, Peak, Source
from gpuwise.model.units import of_field, si

Form = Literal["value", "dense", "sparse", "vector"]
"""`vector`: a 16-bit rate of the ordinary cores, where matrix units have a higher one."""
_TENSOR = ("fp16", "bf16")
_SPARSE_SINCE = ("Ampere", "Ada", "Hopper", "Blackwell", "CDNA 3", "CDNA 4")
"""Architectures whose matrix units do 2:4 sparsity at twice the dense rate."""
_VECTOR_HALF = {
    "Pascal": 2,
    "Volta": 2,
    "Turing": 2,
    "Ampere": 1,
    "Ada": 1,
    "Hopper": 2,
    "CDNA": 2,
    "RDNA": 2,
}
"""FP16 rate of the ordinary cores over their FP32 rate; GA100 does four times as much."""
_EXACT = frozenset(
    {"architecture", "chip", "memory_type", "compute_capability", "pcie_generation", "mig", "ecc"}
)
"""Fields that follow from the product itself, which one good source settles."""
CLOSE = 0.012


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One value that a source gives; `form` tells dense and sparse peaks apart."""

    value: float | str
    text: str
    source: Source
    form: Form = "value"
    alternatives: tuple[float | str, ...] = ()
    """What other sources state, as far as they weigh against this one; of a memory size also those of
    variants outside the catalog."""
    computed: bool = False
    """Units, clocks and rates give the same: a second, independent witness."""
    sources: int = 1
    """How many independent sources state it."""

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
    fact = spec.facts.get(field)
    if fact is None or fact.source.kind == "article" or _APPROXIMATE.match(fact.note):
        return ()
    value = fact.value if isinstance(fact.value, str) else float(fact.value)
    if field == "compute_capability":
        value = float(value)
    stated = Evidence(
        value=value,
        text=printed(field, value),
        source=fact.source,
        alternatives=_alternatives(spec, field, fact),
        computed=fact.source.kind != "derived" and (gpu_id, field) in _computed(),
        sources=2 if field in _EXACT else len(spec.sources(field)),
    )
    return tuple(_memory(spec, stated)) if field == "memory_bytes" else (stated,)


def supports(gpu_id: str, field: str, value: Number | str) -> bool:
    """Whether the catalog has about this value; for the aligner, which weighs many readings."""
    for known in of(gpu_id, field):
        if isinstance(value, str) or isinstance(known.value, str):
            if str(value).lower()[:4] == str(known.value).lower()[:4]:
                return True
        elif abs(value.value - known.value) <= CLOSE * abs(known.value):
            return True
    return False


def _memory(spec: GpuSpec, stated: Evidence) -> Iterator[Evidence]:
    """The usable size, with those of variants outside the catalog, and the size by which it is sold."""
    outside = (size * 2.0**30 for size in catalog.sizes_outside(spec.id))
    # The product is named by its size, and its memory type and bus width fix it.
    yield replace(stated, alternatives=(*stated.alternatives, *outside), sources=2)
    sold, size = spec.facts.get("memory_sold_gb"), spec.number("memory_sold_gb")
    if sold is not None and size is not None:
        yield replace(stated, value=size * 2**30, text=f"{size:g} GB as sold", source=sold.source, sources=2)


@cache
def _computed() -> frozenset[tuple[str, str]]:
    """(GPU, field) of every stated value that a product of units, rates and clocks confirms, factors too."""
    return frozenset(
        (spec.id, field)
        for spec in catalog.all_gpus()
        for derived in catalog.derive(spec)
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
    names = _TENSOR if form == "tensor" else (form,)
    if form in _TENSOR and not any(p.format == form and p.unit == "matrix" for p in spec.peaks):
        # The two 16-bit formats run at one rate.
        names = _TENSOR
    mine = [peak for peak in spec.peaks if peak.format in names and peak.source.kind != "article"]
    dense = [peak for peak in mine if peak.unit == "matrix" and not peak.sparse]
    vector = [peak for peak in mine if peak.unit == "vector"]
    aside: list[Peak] = []
    if form in _TENSOR and dense:
        vector, aside = [], vector
    order = vector + dense if form in ("fp32", "fp64") else dense + vector
    for peak in order:
        yield _evidence(spec, form, peak, peak.flop_per_s, "dense")
    for peak in mine:
        if peak.sparse:
            yield _evidence(spec, form, peak, peak.flop_per_s, "sparse")
    architecture = spec.architecture or ""
    if form not in ("fp32", "fp64") and architecture.startswith(_SPARSE_SINCE):
        for peak in dense:
            yield _evidence(spec, form, peak, 2 * peak.flop_per_s, "sparse")
    # Databases compute them by ratios that vendors do not state: only where a text speaks of vectors.
    for peak in aside:
        yield _evidence(spec, form, peak, peak.flop_per_s, "vector")
    for derived in catalog.derive(spec):
        if derived.field.startswith(tuple(f"peak:{name}:" for name in names)) and dense:
            kind: Form = "sparse" if derived.field.endswith("sparse") else "dense"
            yield Evidence(value=derived.derived, text=f"{printed('peak:' + form, derived.derived)} {kind}",
                           source=dense[0].source, form=kind, computed=True)  # fmt: skip
    # 16-bit rates of the ordinary cores, which some tables print under FP16.
    single = next((p for p in spec.peaks if p.format == "fp32" and p.unit == "vector"), None)
    if form in _TENSOR and single is not None:
        times = 4 if spec.text("chip") == "GA100" else _VECTOR_HALF.get(architecture.split(" ")[0], 1)
        for factor in {1, times}:
            yield _evidence(spec, form, single, factor * single.flop_per_s, "dense")


def _evidence(spec: GpuSpec, form: str, peak: Peak, value: float, kind: Form) -> Evidence:
    return Evidence(
        value=value,
        text=f"{printed('peak:' + form, value)} {kind}",
        source=peak.source,
        form=kind,
        alternatives=_alternatives(spec, peak.field, peak) if value == peak.flop_per_s else (),
        computed=peak.source.kind != "derived" and (spec.id, peak.field) in _computed(),
        sources=len(spec.sources(peak.field)),
    )


_APPROXIMATE = re.compile(r"approximate\b")
"""A street price, say: too rough to judge by."""
_DIFFER = re.compile(r"other sources differ: (.*)")


def _alternatives(spec: GpuSpec, field: str, fact: Fact | Peak) -> tuple[float | str, ...]:
    """Values of other sources that weigh against the one that stands.

    A copy of the fact's own source is not another one, and a vendor's word is disputed by a vendor, or by
    two others that agree.
    """
    stands = fact.flop_per_s if isinstance(fact, Peak) else fact.value
    others = [
        other
        for other in spec.values(field)[1:]
        if other.value != stands and _is_other(fact.source, other.source.id)
    ]
    found: list[float | str] = []
    for other in others:
        alike = {o.source.copy_of or o.source.id for o in others if o.value == other.value}
        if _disputes(fact.source, other.source.id) or len(alike) > 1:
            found.append(other.value if isinstance(other.value, str) else float(other.value))
    match = _DIFFER.search(fact.note)
    if match is not None:
        named = (part.strip().partition("=") for part in re.split(r"[,;]", match[1]))
        pairs = [(other, text) for other, _, text in named if text and _is_other(fact.source, other)]
        texts = [text for _, text in pairs]
        weighty = [text for other, text in pairs if _disputes(fact.source, other) or texts.count(text) > 1]
        name = ":".join(field.split(":")[:2])
        label = label_of(_LABELS.get(name, name.removeprefix("peak:").replace("_", " ")))
        read = (reading for text in weighty for reading in readings(label, text))
        found += (v.value if isinstance(v, Number) else v for reading in read for v in reading.values)
    return tuple(found)


_LABELS: Mapping[str, str] = {
    "memory_bytes_per_s": "memory bandwidth", "memory_bytes": "memory", "link_bytes_per_s": "NVLink",
    "power_w": "TDP", "process_nm": "process", "boost_hz": "boost clock", "base_hz": "base clock",
    "launch": "launch", "peak:tensor": "FP16", "memory_bus_bits": "memory bus", "sm_count": "SMs",
    "l2_bytes": "L2 cache", "pcie_generation": "interface",
}  # fmt: skip


def _is_other(source: Source, name: str) -> bool:
    other = catalog.sources().get(name)
    return other is None or (other.copy_of or other.id) != (source.copy_of or source.id)


def _disputes(source: Source, name: str) -> bool:
    other = catalog.sources().get(name)
    by_vendor = name.startswith(("NVIDIA", "AMD", "Intel")) if other is None else other.kind == "vendor"
    return source.kind != "vendor" or by_vendor
