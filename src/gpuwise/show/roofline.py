"""Rooflines: the operations a second that work reached on a GPU, under what the GPU could do.

roof(x) = min(compute limit, x * memory limit), x in operations per byte (Williams, Waterman and Patterson,
2009). Of a report both limits are measured, by a matrix product in each precision and a memory copy; on the
page of a GPU they are those of its data sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gpuwise.model.gpu import GpuSpec
from gpuwise.model.precision import Precision
from gpuwise.model.question import HOW, Mode
from gpuwise.model.result import Record
from gpuwise.model.units import percent, si, significant
from gpuwise.show import charts
from gpuwise.show.charts import Roof, RoofPoint
from gpuwise.show.page import Figure
from gpuwise.show.results import counted
from gpuwise.show.table import Table
from gpuwise.workloads import registry

_PRECISIONS = ("fp8", "bf16", "fp16", "tf32", "fp32", "fp64")


def measured_roofs(limits: Sequence[Record]) -> list[Roof]:
    """The most that a device reached in each precision; a product at toy size ends before it reaches any."""
    compute: dict[str, float] = {}
    memory = 0.0
    for row in (row for row in limits if row.question.size == "full"):
        if row.question.workload == "copy":
            memory = max(memory, row.value)
        elif row.question.workload == "matmul" and row.question.precision:
            precision = row.question.precision
            compute[precision] = max(compute.get(precision, 0.0), row.value)
    return [(precision, most, memory) for precision, most in compute.items() if most and memory]


def stated_roofs(spec: GpuSpec, wanted: Sequence[str]) -> list[Roof]:
    """The dense peaks and the bandwidth of the data sheet, in the precisions that are wanted."""
    memory = spec.memory_bytes_per_s
    peaks = ((name, spec.peak(name)) for name in _PRECISIONS if name in wanted)
    return [(name, peak.flop_per_s, memory) for name, peak in peaks if peak and memory]


@lru_cache(maxsize=1 << 12)  # counted over every layer of the network
def _stated(name: str, mode: Mode, precision: Precision, batch: int | None) -> tuple[float, float] | None:
    spec = registry.get(name).spec
    if spec.cost is None or mode not in spec.modes or precision not in spec.precisions:
        return None
    cost = spec.cost(mode, precision, batch or spec.default_batch)
    return (cost.flop_per_item, cost.bytes_per_item) if cost.flop_per_item and cost.bytes_per_item else None


def roofline(records: Sequence[Record], roofs: Sequence[Roof], device: str) -> Figure | None:
    """The records of one device of which operations and bytes are known; None without one, or a roof."""
    points: dict[bool, list[RoofPoint]] = {False: [], True: []}
    rows = []
    for row in records:
        raw, asked, cost = row.raw, row.question, None
        if raw is not None and raw.flop_per_item and raw.bytes_per_item:  # as the run noted
            cost = raw.flop_per_item, raw.bytes_per_item
        elif asked.precision and asked.workload in registry.names():
            cost = _stated(asked.workload, asked.mode, asked.precision, asked.batch)
        if cost is None or row.throughput is None:
            continue
        intensity, each = cost[0] / cost[1], row.value * cost[0] / row.gpus
        predicted, precision = row.origin == "predicted", str(asked.precision or "?")
        points[predicted].append((asked.label(*HOW), precision, intensity, each))
        nearer = next((min(most, intensity * memory) for name, most, memory in roofs if name == precision), 0)
        limit = (
            f"{percent(row.raw.limit_share, 0)} {row.raw.limit}" if row.raw and row.raw.limit_share else ""
        )
        cells = {
            "work": row.question.label(),
            "operations per byte": significant(intensity),
            "reached by a GPU": si(each, "FLOP/s"),
            "of the nearer limit": limit or (percent(each / nearer, 0) if nearer else ""),
            "origin": row.origin,
        }
        rows.append(cells)
    if not rows or not roofs:
        return None
    # Two hundred points hide the roof; the fastest of each are what came closest to it.
    known, forecasts = (
        list({point[:2]: point for point in sorted(some, key=lambda point: point[3])}.values())
        for some in (points[False], points[True])
    )
    note = "bytes are the least that a step must move; what is moved in fact is more"
    hollow = "; hollow points are forecasts" if forecasts else ""
    return Figure(
        charts=(charts.roofline(known, roofs, forecasts),),
        table=Table.of(rows, title="Points of the roofline", notes=(note,)),
        caption=f"Roofline of {device}: the fastest of each workload in each precision, out of "
        f"{counted(len(rows), 'speed')}{hollow}.",
    )
