"""Speed of a scientific kernel from the data sheet: the nearer of two limits, reached in part.

    items a second = REACHED x min(peak / operations of an item, bandwidth / bytes of an item)

The predictor knows networks; what a stencil, a transform or a factorisation computes and moves is stated in
closed form by the workload itself. The share reached is assumed and the interval wide: a factor of two.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.errors import InputError
from gpuwise.facts import catalog
from gpuwise.model.choice import Speed
from gpuwise.model.gpu import GpuSpec
from gpuwise.model.result import Interval
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost
from gpuwise.workloads import registry

REACHED = 0.5


def from_sheet(config: RunConfig, gpus: Sequence[str]) -> dict[tuple[str, int], Speed]:
    """The speed of one of each GPU. Raises InputError for a workload that does not state its cost."""
    spec = registry.get(config.workload).spec
    if spec.cost is None:
        raise InputError(f"{config.workload} does not state what it costs", hint="measure it", code="bench")
    cost = spec.cost(config.mode, config.precision, config.batch or spec.default_batch)
    return {(gpu, 1): _speed(catalog.get(gpu), config.precision, cost) for gpu in gpus}


def _speed(gpu: GpuSpec, precision: str, cost: Cost) -> Speed:
    peak, bandwidth = gpu.peak(precision), gpu.memory_bytes_per_s
    if peak is None or bandwidth is None:
        lacking = f"a dense {precision} rate" if peak is None else "memory bandwidth"
        return Speed(gpu_id=gpu.id, refusal=f"no {precision.upper()}: no source states {lacking}")
    arithmetic = peak.flop_per_s / cost.flop_per_item
    memory = bandwidth / cost.bytes_per_item if cost.bytes_per_item else float("inf")
    value = REACHED * min(arithmetic, memory)
    interval = Interval(value=value, low=value / 2, high=value * 2, level=0.8, method="data sheet")
    return Speed(
        gpu_id=gpu.id, throughput=interval, watts=gpu.power_w,
        bound="compute" if arithmetic < memory else "memory",
    )  # fmt: skip
