"""One step of a traced workload on one card: throughput with its interval, watts, and what bounds it.

The evidence level decides the width: `spec-only` from the card's data sheet, `calibrated` with limits that
were measured on it or a factor from its own workloads, `transferred` from another card's measurement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

import numpy as np

from gpuwise.model.result import Interval
from gpuwise.model.trace import Trace
from gpuwise.predict import rates
from gpuwise.predict.card import Card
from gpuwise.predict.interval import around, step_difficulty, step_half, watts_half, widened
from gpuwise.predict.kernels import KEPT_TRACES, Array, Kernels, of_trace
from gpuwise.predict.rates import Parameters, Rates, mean_watts
from gpuwise.predict.time import host_waits, trace_seconds

Evidence = Literal["spec-only", "calibrated", "transferred"]
Bound = Literal["compute", "memory", "launch"]
# Formats of fitted products; fp16 runs in the kernels of bf16.
_FITTED = frozenset({"bf16", "fp16", "fp8", "fp32"})
# Steps, each of one trace on one card, that are remembered: some two hundred bytes each.
KEPT_STEPS = 2**15


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is predicted of one step."""

    throughput: Interval
    """Items a second."""
    seconds: float
    watts: Interval
    bound: Bound
    shares: tuple[tuple[Bound, float], ...]
    """Share of the step's time that each bound takes, largest first."""
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Where the time of a step goes by the model alone."""

    busy: float
    """Seconds of its kernels."""
    waits: float
    """Seconds that the GPU waits for the host to launch them."""
    shares: tuple[tuple[Bound, float], ...]

    @property
    def seconds(self) -> float:
        return self.busy + self.waits


@lru_cache(maxsize=KEPT_STEPS)
def usual(trace: Trace, card: Card) -> Spent:
    """The time of a step by the general parameters. Raises NoDataError where the card lacks a format."""
    return spent(trace, card, rates.usual(card))


def spent(trace: Trace, card: Card, on: Rates) -> Spent:
    """The time of a step by these rates of the card. Raises NoDataError where the card lacks a format."""
    each = trace_seconds(trace, card, on) * of_trace(trace).counts
    waits = host_waits(trace, each, on)
    return Spent(busy=float(each.sum()), waits=waits, shares=_shares(of_trace(trace), card, each, waits))


def step(
    trace: Trace, card: Card, *, parameters: Parameters | None = None, evidence: Evidence = "spec-only",
    factor: float = 1.0, width: float = 1.0,
) -> Step:  # fmt: skip
    """The step of `trace` on `card`; `factor` multiplies its time (`evidence.own_factor`), `width` the half
    width of its interval (`evidence.own_width`).

    Raises NoDataError where the card lacks a format of the trace, or where more than a tenth of the
    launched operators have no known cost.
    """
    family_seen = card.family in shipped_families()
    half = widened(
        width * half_of(trace, evidence, family_seen=family_seen), known=_known(trace),
        format_seen=trace.precision in _FITTED, family_seen=family_seen,
    )  # fmt: skip
    own = None if parameters is None else rates.on_card(parameters, card)
    found = usual(trace, card) if own is None else spent(trace, card, own)
    seconds = found.seconds * factor
    return Step(
        throughput=around(trace.items / seconds, half, method=f"conformal, {evidence}"), seconds=seconds,
        watts=_watts(trace, card, seconds, found.busy * factor), bound=found.shares[0][0],
        shares=found.shares, evidence=evidence,
    )  # fmt: skip


@lru_cache(maxsize=KEPT_TRACES)
def half_of(trace: Trace, evidence: Evidence, *, family_seen: bool = True) -> float:
    """Half width of a step's interval at an evidence level, before what was never seen widens it. Few cards
    are known of some levels, but a measurement more is no reason to know less than the data sheet does; what
    is easy on known families may not be on others."""
    found = np.array([traits(trace)])
    levels = ("spec-only", evidence)
    hard = {level: float(step_difficulty(level).of(found)[0]) for level in levels}
    return min(step_half(level) * (s if family_seen else max(1.0, s)) for level, s in hard.items())


def traits(trace: Trace) -> tuple[float, ...]:
    """What makes a step hard to predict: the share of its operations in convolutions, whose kernels libraries
    choose among many more than those of plain products."""
    kernels = of_trace(trace)
    operations = kernels.flop * kernels.counts
    convolved = sum(
        float(operations[group.at].sum()) for group in kernels.groups if group.kind == "convolution"
    )
    return (convolved / max(1.0, float(operations.sum())),)


@cache
def shipped_families() -> frozenset[str]:
    """Families whose products were among the fitted ones."""
    return frozenset(rates.document()["groups"]["gemm"]["families"])


def _known(trace: Trace) -> float:
    """Share of the operators that have a cost; 0 of a step without any."""
    return len(trace.kernels) / max(1, len(trace.unknown) + len(trace.kernels))


def _shares(kernels: Kernels, card: Card, each: Array, idle: float) -> tuple[tuple[Bound, float], ...]:
    """Time of kernels by what their data sheet's slower side is, and the time the device waits."""
    arithmetic, memory = np.zeros(len(each)), kernels.moved / card.bytes_per_s
    for dtype, at in kernels.formats.items():
        arithmetic[at] = kernels.flop[at] / card.peak(dtype)
    known = np.maximum(arithmetic, memory) * kernels.counts > 0.1 * each
    computes = known & (arithmetic > memory)
    found: dict[Bound, float] = {
        "compute": float(each[computes].sum()),
        "memory": float(each[known & ~computes].sum()),
        "launch": idle + float(each[~known].sum()),
    }
    total = sum(found.values()) or 1.0
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return tuple((name, seconds / total) for name, seconds in ordered)


def _watts(trace: Trace, card: Card, seconds: float, busy: float) -> Interval:
    """Mean draw with its interval, whose high end no limit lets pass."""
    kernels = of_trace(trace)
    operations = kernels.flop * kernels.counts
    mean = mean_watts(
        _energy_rates(card), card, dtype=trace.precision if trace.precision in card.peaks else "fp32",
        flop=float(operations[kernels.heavy].sum()), moved=float(kernels.moved @ kernels.counts),
        seconds=seconds, busy=min(1.0, busy / seconds),
    )  # fmt: skip
    found = around(mean, watts_half())
    return replace(found, high=min(found.high, card.power_w))


@cache
def _energy_rates(card: Card) -> Rates:
    return rates.on_card(rates.shipped("watts"), card)
