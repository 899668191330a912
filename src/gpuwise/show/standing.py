"""Where a GPU stands in the catalog: its place by each quantity, and the cards closest to it."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.facts.catalog import all_gpus
from gpuwise.model.gpu import GpuSpec
from gpuwise.show.page import Section
from gpuwise.show.table import Table

Rank = tuple[str, int, int, str]
"""(quantity, place counted from 1, GPUs that state it, the value as text)."""
_RANKED = (
    ("memory", "memory_bytes"), ("memory bandwidth", "memory_bytes_per_s"), ("16-bit peak", "fp16"),
    ("fp32 peak", "fp32"), ("16-bit peak per watt", "fp16/W"),
)  # fmt: skip


def ranking(spec: GpuSpec) -> tuple[Rank, ...]:
    """Where it stands in the catalog, the most first; GPUs that do not state a quantity do not count."""
    found = []
    for title, name in _RANKED:
        mine, every = _quantity(spec, name), [_quantity(other, name) for other in all_gpus()]
        stated = [value for value in every if value is not None]
        if mine is not None:
            found.append((title, 1 + sum(value > mine for value in stated), len(stated), name))
    return tuple(found)


def _quantity(spec: GpuSpec, name: str) -> float | None:
    if name == "fp16/W":
        peak = spec.peak("fp16")
        return peak.flop_per_s / spec.power_w if peak and spec.power_w else None
    peak = spec.peak(name)
    return peak.flop_per_s if peak else spec.number(name)


def standing(spec: GpuSpec) -> Section:
    """The places in the catalog, and the cards that are closest in 16-bit peak and memory."""
    ranks = ranking(spec)
    if not ranks:
        return Section(id="standing", title="Where it stands")
    near = _nearest(spec)
    table = Table(
        columns=("quantity", "place", "of"),
        rows=tuple((title, str(rank), str(of)) for title, rank, of, _ in ranks),
        numeric=frozenset({"place", "of"}),
        notes=("among the GPUs of the catalog that state it, 1 has the most",),
    )
    return Section(
        id="standing",
        title="Where it stands",
        tables=(table,),
        code="\n".join(f"gpuwise compare {spec.id} {other.id} --article -o article.html" for other in near),
    )


def _nearest(spec: GpuSpec, most: int = 3) -> Sequence[GpuSpec]:
    """The GPUs whose 16-bit peak, bandwidth and memory are the closest, by the sum of the ratios."""
    names = ("fp16", "memory_bytes_per_s", "memory_bytes")
    mine = [_quantity(spec, name) for name in names]

    def distance(other: GpuSpec) -> float:
        theirs = [_quantity(other, name) for name in names]
        pairs = [(a, b) for a, b in zip(mine, theirs, strict=True) if a and b]
        return sum(max(a / b, b / a) for a, b in pairs) if len(pairs) == len(names) else float("inf")

    others = sorted((other for other in all_gpus() if other.id != spec.id), key=distance)
    return [other for other in others if distance(other) < float("inf")][:most]
