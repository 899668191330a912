"""Predictions as a test wants them: the speed of every kind of work from one factor a GPU."""

from __future__ import annotations

from dataclasses import replace

from gpuwise.model.result import Interval, Record, refused
from gpuwise.show.records import COUNTS, KINDS, SCALED, Kind

from ..records import predicted


def forecast(kind: Kind, gpu_id: str, speed: float, count: int = 1) -> Record:
    """This many items a second and GPU, ten percent to either side."""
    value = speed * count
    return predicted(
        gpu_id=gpu_id,
        count=count,
        config=kind.config,
        item="image",
        batch=8,
        bound="memory",
        watts=memory(100.0 * count),
        throughput=Interval(value=value, low=value * 0.9, high=value * 1.1, level=0.8, method="conformal"),
        memory_bytes=memory(4 * 2**30),
    )


def memory(value: float) -> Interval:
    return Interval(value=value, low=value, high=value, level=0.8, method="conformal")


def too_large(kind: Kind, gpu_id: str) -> Record:
    """Work that does not fit."""
    fits = forecast(kind, gpu_id, 1.0)
    return replace(
        fits, throughput=None, watts=None, issues=refused("does not fit"), memory_bytes=memory(99 * 2**30)
    )


def of_gpu(gpu_id: str, speed: float, large: tuple[str, ...] = ()) -> tuple[Record, ...]:
    """Every kind of work on one GPU, those of `large` workloads too large for it, some on several."""
    one = (too_large(k, gpu_id) if k.workload in large else forecast(k, gpu_id, speed) for k in KINDS)
    more = (forecast(k, gpu_id, speed * 0.9, n) for k in SCALED for n in COUNTS[1:])
    return (*one, *more)
