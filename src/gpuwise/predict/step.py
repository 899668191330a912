"""One step of a traced workload on one card: throughput with its interval, watts, and what bounds it.

The evidence level decides the width: `spec-only` from the card's data sheet, `calibrated` with limits that
were measured on it or a factor from its own workloads, `transferred` from another card's measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpuwise.model.result import Interval
from gpuwise.model.trace import Trace
from gpuwise.predict.card import Card
from gpuwise.predict.interval import around, step_half, widened
from gpuwise.predict.power import mean_watts
from gpuwise.predict.rates import Parameters, document, general, on_card, shipped
from gpuwise.predict.time import trace_seconds

Evidence = Literal["spec-only", "calibrated", "transferred"]
Bound = Literal["compute", "memory", "launch"]
_FITTED = frozenset({"bf16", "fp16", "fp8", "fp32"})
"""Formats of fitted products; fp16 runs in the kernels of bf16."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is predicted of one step."""

    throughput: Interval
    """Items a second."""
    seconds: float
    watts: float
    bound: Bound
    shares: tuple[tuple[Bound, float], ...]
    """Share of the step's time that each bound takes, largest first."""
    evidence: Evidence


def step(
    trace: Trace, card: Card, *, parameters: Parameters | None = None, evidence: Evidence = "spec-only",
    factor: float = 1.0,
) -> Step:  # fmt: skip
    """The step of `trace` on `card`; `factor` multiplies its time (`calibrate.own_factor`).

    Raises NoDataError where the card lacks a format of the trace, or where more than a tenth of the
    launched operators have no known cost.
    """
    half = widened(
        step_half(evidence), known=_known(trace), format_seen=trace.precision in _FITTED,
        family_seen=card.family in shipped_families(),
    )  # fmt: skip
    chosen = general() if parameters is None else parameters
    rates = on_card(chosen, card)
    counts = np.array([kernel.count for kernel in trace.kernels], dtype=float)
    each = trace_seconds(trace, card, rates) * counts
    busy, dispatch = float(each.sum()), 0.0 if trace.compiled else trace.launches * rates["dispatch"]
    seconds = max(busy, dispatch) * factor
    shares = _shares(trace, card, each, max(0.0, dispatch - busy))
    return Step(
        throughput=around(trace.items / seconds, half, method=f"conformal, {evidence}"), seconds=seconds,
        watts=_watts(trace, card, seconds, busy * factor), bound=shares[0][0], shares=shares,
        evidence=evidence,
    )  # fmt: skip


def shipped_families() -> frozenset[str]:
    """Families whose products were among the fitted ones."""
    return frozenset(document()["groups"]["gemm"]["families"])


def _known(trace: Trace) -> float:
    """Share of the operators that have a cost; 0 of a step without any."""
    return len(trace.kernels) / max(1, len(trace.unknown) + len(trace.kernels))


def _shares(trace: Trace, card: Card, each: np.ndarray, idle: float) -> tuple[tuple[Bound, float], ...]:
    """Time of kernels by what their data sheet's slower side is, and the time the device waits."""
    found: dict[Bound, float] = {"compute": 0.0, "memory": 0.0, "launch": idle}
    for kernel, seconds in zip(trace.kernels, each, strict=True):
        heavy = kernel.kind in ("matmul", "convolution", "attention")
        arithmetic = kernel.flop / card.peak(kernel.dtype) if heavy else 0.0
        memory = (kernel.bytes_read + kernel.bytes_written) / card.bytes_per_s
        known = max(arithmetic, memory) * kernel.count > 0.1 * seconds
        name: Bound = "launch" if not known else "compute" if arithmetic > memory else "memory"
        found[name] += float(seconds)
    total = sum(found.values()) or 1.0
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return tuple((name, seconds / total) for name, seconds in ordered)


def _watts(trace: Trace, card: Card, seconds: float, busy: float) -> float:
    dtype = trace.precision if trace.precision in card.peaks else "fp32"
    moved = sum((k.bytes_read + k.bytes_written) * k.count for k in trace.kernels)
    heavy = ("matmul", "convolution", "attention")
    flop = sum(k.flop * k.count for k in trace.kernels if k.kind in heavy)
    return mean_watts(
        shipped("timm"), card, dtype=dtype, flop=flop, moved=moved, seconds=seconds,
        busy=min(1.0, busy / seconds),
    )  # fmt: skip
