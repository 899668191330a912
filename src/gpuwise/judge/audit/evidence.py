"""What the catalog can say against or for a claim: values of one field of one GPU, with their source.

Facts that an article states are no evidence: an article must not vouch for itself. Of several copies
of one database the catalog keeps one fact, so they count as one source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from gpuwise.facts import catalog
from gpuwise.judge.audit import cells, fields
from gpuwise.model.claim import Number
from gpuwise.model.gpu import Fact, GpuSpec, Peak, Source
from gpuwise.model.units import of_field, si

Form = Literal["value", "dense", "sparse"]
_TENSOR = ("fp16", "bf16")
_SPARSE_SINCE = ("Ampere", "Ada", "Hopper", "Blackwell", "CDNA 3", "CDNA 4")
"""Architectures whose matrix units do 2:4 sparsity at twice the dense rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One value that a source gives; `form` tells dense and sparse peaks apart."""

    value: float | str
    text: str
    source: Source
    form: Form = "value"
    alternatives: tuple[float | str, ...] = ()
    """What other sources state, as the catalog notes, as far as they weigh against this one; of a
    memory size also those of variants outside the catalog."""
    computed: bool = False
    """Whether units, clocks and rates give the same: a second, independent witness."""

    @property
    def witnesses(self) -> str:
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
    stated = Evidence(
        value=value,
        text=printed(field, value),
        source=fact.source,
        alternatives=_alternatives(field, fact),
        computed=fact.source.kind != "derived" and (gpu_id, field) in _computed(),
    )
    return tuple(_memory(spec, stated)) if field == "memory_bytes" else (stated,)


def _memory(spec: GpuSpec, stated: Evidence) -> Iterator[Evidence]:
    """The usable size, with those of variants outside the catalog, and the size by which it is sold."""
    outside = (size * 2.0**30 for size in catalog.sizes_outside(spec.id))
    yield replace(stated, alternatives=(*stated.alternatives, *outside))
    sold, size = spec.facts.get("memory_sold_gb"), spec.number("memory_sold_gb")
    if sold is not None and size is not None:
        yield replace(stated, value=size * 2**30, text=f"{size:g} GB as sold", source=sold.source)


@cache
def _computed() -> frozenset[tuple[str, str]]:
    """(GPU, field) of every stated value that its own units and clocks confirm."""
    return frozenset(
        (spec.id, derived.field)
        for spec in catalog.all_gpus()
        for derived in catalog.derive(spec)
        if derived.agrees
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
    mine = [peak for peak in spec.peaks if peak.format in names and peak.source.kind != "article"]
    dense = [peak for peak in mine if peak.unit == "matrix" and not peak.sparse]
    vector = [peak for peak in mine if peak.unit == "vector"]
    order = vector + dense if form in ("fp32", "fp64") else dense + vector
    for peak in order:
        yield _evidence(spec.id, form, peak, peak.flop_per_s, "dense")
    for peak in mine:
        if peak.sparse:
            yield _evidence(spec.id, form, peak, peak.flop_per_s, "sparse")
    if form not in ("fp32", "fp64") and (spec.architecture or "").startswith(_SPARSE_SINCE):
        for peak in dense:
            yield _evidence(spec.id, form, peak, 2 * peak.flop_per_s, "sparse")
    if form in _TENSOR:
        yield from _vector_half(spec, form)


def _vector_half(spec: GpuSpec, form: str) -> Iterator[Evidence]:
    """16-bit rates of the ordinary cores: once, twice or (GA100) four times the FP32 rate."""
    single = spec.peak("fp32")
    if single is not None:
        for times in (1, 2, 4):
            yield _evidence(spec.id, form, single, times * single.flop_per_s, "dense")


def _evidence(gpu_id: str, form: str, peak: Peak, value: float, kind: Form) -> Evidence:
    text = f"{printed('peak:' + form, value)} {kind}"
    return Evidence(
        value=value,
        text=text,
        source=peak.source,
        form=kind,
        alternatives=_alternatives(f"peak:{form}", peak),
        computed=peak.source.kind != "derived" and (gpu_id, peak.field) in _computed(),
    )


_APPROXIMATE = re.compile(r"approximate\b")
"""A street price, say: too rough to judge by."""
_DIFFER = re.compile(r"other sources differ: (.*)")


def _alternatives(name: str, fact: Fact | Peak) -> tuple[float | str, ...]:
    """Values of other sources in the catalog's note.

    A copy of the fact's own source is no other one, and a vendor's word is disputed by a vendor, or by
    two others that agree.
    """
    field, match = fields.of_name(name), _DIFFER.search(fact.note)
    if field is None or match is None:
        return ()
    named = (part.strip().partition("=") for part in re.split(r"[,;]", match[1]))
    pairs = [(other, text) for other, _, text in named if text and _is_other(fact.source, other)]
    texts = [text for _, text in pairs]
    weighty = [text for other, text in pairs if _disputes(fact.source, other) or texts.count(text) > 1]
    read = (reading for text in weighty for reading in cells.read(field, field.name, text))
    return tuple(v.value if isinstance(v, Number) else v for reading in read for v in reading.values)


def _is_other(source: Source, name: str) -> bool:
    other = catalog.sources().get(name)
    return other is None or origin(other) != origin(source)


def _disputes(source: Source, name: str) -> bool:
    other = catalog.sources().get(name)
    by_vendor = name.startswith(("NVIDIA", "AMD", "Intel")) if other is None else other.kind == "vendor"
    return source.kind != "vendor" or by_vendor


def origin(source: Source) -> str:
    """The source itself, or the one whose figures it repeats: two copies are one source."""
    return source.copy_of or source.id
