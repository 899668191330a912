"""What the catalog can say against or for a claim: values of one field of one GPU, with their source.

Facts that an article states are no evidence: an article must not vouch for itself. Of several copies
of one database the catalog keeps one fact, so they count as one source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from gpuwise import catalog
from gpuwise.audit import cells, fields
from gpuwise.model.claim import Number
from gpuwise.model.gpu import Fact, GpuSpec, Peak, Source
from gpuwise.units import of_field, si

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
    alternatives: tuple[float, ...] = ()
    """What other sources state, as the catalog notes, as far as they weigh against this one."""
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
    if fact is None or fact.source.kind == "article":
        return ()
    value = fact.value if isinstance(fact.value, str) else float(fact.value)
    return (
        Evidence(
            value=value,
            text=printed(field, value),
            source=fact.source,
            alternatives=_alternatives(fact),
            computed=fact.source.kind != "derived" and (gpu_id, field) in _computed(),
        ),
    )


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
        computed=peak.source.kind != "derived" and (gpu_id, peak.field) in _computed(),
    )


_DIFFER = re.compile(r"other sources differ: (.*)")


def _alternatives(fact: Fact) -> tuple[float, ...]:
    """Values of other sources in the catalog's note.

    A copy of the fact's own source is no other one, and a vendor's word is only disputed by a vendor.
    """
    field, match = fields.of_name(fact.field), _DIFFER.search(fact.note)
    if field is None or match is None:
        return ()
    named = (part.strip().partition("=") for part in re.split(r"[,;]", match[1]))
    texts = [text for name, _, text in named if _disputes(fact.source, name)]
    read = (reading for text in texts for reading in cells.read(field, field.name, text))
    return tuple(v.value for reading in read for v in reading.values if isinstance(v, Number))


def _disputes(source: Source, name: str) -> bool:
    other = catalog.sources().get(name)
    if other is None:
        return source.kind != "vendor" or name.startswith(("NVIDIA", "AMD", "Intel"))
    if origin(other) == origin(source):
        return False
    return source.kind != "vendor" or other.kind == "vendor"


def origin(source: Source) -> str:
    """The source itself, or the one whose figures it repeats: two copies are one source."""
    return source.copy_of or source.id
