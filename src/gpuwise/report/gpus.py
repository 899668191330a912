"""GPUs of the catalog as tables and as data: every value with where it was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gpuwise.model.gpu import Fact, GpuSpec, Peak
from gpuwise.report.table import Table
from gpuwise.units import gibibytes, si, significant

_UNITS = (
    ("_bytes_per_s", lambda v: si(v, "B/s", 4)),
    ("_bytes", gibibytes),
    ("_hz", lambda v: f"{v / 1e6:.0f} MHz"),
    ("_w", lambda v: f"{significant(v)} W"),
    ("_usd", lambda v: f"{v:,.0f} USD"),
    ("_nm", lambda v: f"{v:g} nm"),
    ("_bits", lambda v: f"{v:g} bit"),
)


_LABELS = {
    "base_hz": "base clock",
    "boost_hz": "boost clock",
    "tensor_hz": "clock of the tensor peaks",
    "link_bytes_per_s": "link bandwidth, both ways",
    "memory_bytes": "memory",
    "memory_bytes_per_s": "memory bandwidth",
    "memory_bus_bits": "memory bus",
    "l2_bytes": "L2 cache",
    "power_w": "power",
    "process_nm": "process",
    "sm_count": "multiprocessors",
    "cuda_cores": "CUDA cores",
    "rt_cores": "RT cores",
    "ecc": "ECC",
    "mig": "MIG",
    "form": "form factor",
    "launch_price_usd": "launch price",
    "pcie_generation": "PCIe generation",
    "pcie_peer_to_peer": "PCIe peer-to-peer",
}


_NO_RATIO = frozenset({"pcie_generation", "tensor_core_generation", "process_nm", "slots"})
"""Numbers of which a multiple means nothing."""


def label(field: str) -> str:
    """A field's name as people say it; the unit stands with the value."""
    return _LABELS.get(field, field.replace("_", " "))


def shown(fact: Fact) -> str:
    """A fact's value with its unit, from the suffix of its field."""
    if isinstance(fact.value, bool):
        return "yes" if fact.value else "no"
    if isinstance(fact.value, str):
        return fact.value
    if fact.field == "l2_bytes":
        return f"{fact.value / 2**20:g} MiB"
    for suffix, form in _UNITS:
        if fact.field.endswith(suffix):
            return form(float(fact.value))
    return f"{fact.value:,}" if float(fact.value).is_integer() else f"{fact.value:g}"


def peak_name(peak: Peak) -> str:
    """`fp16 matrix, fp32 accumulate, sparse`."""
    accumulate = "" if peak.accumulate == peak.format else f", {peak.accumulate} accumulate"
    return f"{peak.format} {peak.unit}{accumulate}{', sparse' if peak.sparse else ''}"


def specification(spec: GpuSpec) -> Table:
    """Everything known of one GPU, one row a fact, each with its source."""
    facts = [(label(f.field), shown(f), f.source.title, f.note) for f in spec.facts.values()]
    unit = {True: "OP/s", False: "FLOP/s"}
    peaks = [
        (
            f"peak {peak_name(p)}",
            si(p.flop_per_s, unit[p.format.startswith("int")], 4),
            p.source.title,
            p.note,
        )
        for p in spec.peaks
    ]
    return Table(
        title=f"{spec.name} ({spec.id})",
        columns=("field", "value", "source", "note"),
        rows=(*facts, *peaks),
        numeric=frozenset({"value"}),
    ).without_empty_columns()


def listing(specs: Sequence[GpuSpec]) -> Table:
    """One row a GPU: what is compared first when choosing."""
    return Table(
        columns=(
            "id",
            "name",
            "architecture",
            "memory",
            "bandwidth",
            "fp32",
            "16 bit, dense",
            "power",
            "launch",
        ),
        rows=tuple(_row(spec) for spec in specs),
        numeric=frozenset({"memory", "bandwidth", "fp32", "16 bit, dense", "power"}),
        notes=("one GPU with every source: gpuwise show ID",),
    )


def _row(spec: GpuSpec) -> tuple[str, ...]:
    memory, bandwidth, power = spec.memory_bytes, spec.memory_bytes_per_s, spec.power_w
    half = spec.peak("bf16") or spec.peak("fp16")
    single = spec.peak("fp32")
    return (
        spec.id,
        spec.name,
        spec.architecture or "",
        gibibytes(memory) if memory else "",
        si(bandwidth, "B/s") if bandwidth else "",
        si(single.flop_per_s, "FLOP/s") if single else "",
        si(half.flop_per_s, "FLOP/s") if half else "",
        f"{power:.0f} W" if power else "",
        spec.text("launch") or "",
    )


def side_by_side(specs: Sequence[GpuSpec]) -> Table:
    """Specifications of several GPUs, one column each, the later ones with their ratio to the first."""
    fields = list(dict.fromkeys(field for spec in specs for field in spec.facts))
    names = list(dict.fromkeys(peak_name(p) for spec in specs for p in spec.peaks))
    rows = [(label(field), *(_cell(specs[0], spec, field) for spec in specs)) for field in fields]
    rows += [(f"peak {name}", *(_peak_cell(specs[0], spec, name) for spec in specs)) for name in names]
    return Table(
        columns=("field", *(spec.id for spec in specs)),
        rows=tuple(rows),
        numeric=frozenset(spec.id for spec in specs),
        notes=("sources of each value: gpuwise show ID",),
    )


def _cell(first: GpuSpec, spec: GpuSpec, field: str) -> str:
    if field not in spec.facts:
        return "-"
    base, value = first.number(field), spec.number(field)
    text = shown(spec.facts[field])
    plain = field in _NO_RATIO or isinstance(spec.facts[field].value, bool)
    if plain or spec is first or not base or value is None:
        return text
    return f"{text} ({value / base:.2f}x)"


def _peak_cell(first: GpuSpec, spec: GpuSpec, name: str) -> str:
    mine, base = (
        next((p.flop_per_s for p in gpu.peaks if peak_name(p) == name), None) for gpu in (spec, first)
    )
    if mine is None:
        return "-"
    text = si(mine, "OP/s" if name.startswith("int") else "FLOP/s", 4)
    return f"{text} ({mine / base:.2f}x)" if base and spec is not first else text


def document(spec: GpuSpec) -> dict[str, Any]:
    """A GPU as plain data, sources included."""
    return {
        "id": spec.id,
        "name": spec.name,
        "aliases": list(spec.aliases),
        "device_names": list(spec.device_names),
        "facts": [asdict(fact) for fact in spec.facts.values()],
        "peaks": [asdict(peak) for peak in spec.peaks],
    }
