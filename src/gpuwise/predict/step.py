"""One step of a traced workload on one card: throughput with its interval, watts, and what bounds it.

The evidence level decides the width: `spec-only` from the card's data sheet, `calibrated` with limits that
were measured on it or a factor from its own workloads, `transferred` from another card's measurement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import hypot
from typing import Literal

import numpy as np

from gpuwise.model.result import Interval
from gpuwise.model.trace import Trace
from gpuwise.predict import rates
from gpuwise.predict.calibration import Operators, of_card
from gpuwise.predict.card import Card
from gpuwise.predict.classes import factors
from gpuwise.predict.interval import around, novelty, step_difficulty, step_half, watts_half, widened
from gpuwise.predict.kernels import KEPT_TRACES, Array, Kernels, of_trace
from gpuwise.predict.rates import Parameters, Rates, mean_watts
from gpuwise.predict.time import host_waits, trace_seconds

Evidence = Literal["spec-only", "calibrated", "transferred"]
Bound = Literal["compute", "memory", "launch"]
# Formats of fitted products; fp16 runs in the kernels of bf16.
_FITTED = frozenset({"bf16", "fp16", "fp8", "fp32"})
# Of the logarithm of what hosts take: launches cost 5 to 13 microseconds on the machines that were seen.
HOST_SPREAD = 0.25
# Spread from which a class says little more than that its kernels move and compute something.
NEW = 0.45
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
    new: float
    """Share of the time in kernels of which nothing alike was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Where the time of a step goes by the model alone."""

    busy: float
    """Seconds of its kernels."""
    waits: float
    """Seconds that the GPU waits for the host to launch them."""
    shares: tuple[tuple[Bound, float], ...]
    spread: float
    """Standard deviation of the logarithm of the step's time, from how far kernels scatter around the classes
    that it consists of and hosts around the one that was fitted."""
    new: float
    """Share of the time in classes of which nothing alike was measured."""

    @property
    def seconds(self) -> float:
        return self.busy + self.waits


def usual(trace: Trace, card: Card) -> Spent:
    """The time of a step by the general parameters, and by what was calibrated on the card. Raises
    NoDataError where the card lacks a format."""
    return _usual(trace, card, of_card(card.id))


@lru_cache(maxsize=KEPT_STEPS)
def _usual(trace: Trace, card: Card, own: Operators | None) -> Spent:
    on = rates.usual(card)
    return spent(trace, card, on if own is None else {**on, "host": own.host}, own)


def spent(trace: Trace, card: Card, on: Rates, own: Operators | None = None) -> Spent:
    """The time of a step by these rates of the card, and its own measured operators. Raises NoDataError where
    the card lacks a format."""
    each = trace_seconds(trace, card, on) * of_trace(trace).counts
    if own is not None:
        each = each * factors(trace.kernels, own.factors, compiled=trace.compiled)
    waits, of = host_waits(trace, each, on), of_trace(trace).classes
    total = float(each.sum()) + waits
    # Kernels of one class err together, classes apart.
    classes = np.bincount(of.which, weights=each * of.spread)
    spread = float(np.hypot(np.linalg.norm(classes), HOST_SPREAD * waits)) / max(total, 1e-12)
    return Spent(
        busy=float(each.sum()), waits=waits, shares=_shares(of_trace(trace), card, each, waits),
        spread=spread, new=float(each @ (of.spread >= NEW)) / max(total, 1e-12),
    )  # fmt: skip


def step(
    trace: Trace, card: Card, *, parameters: Parameters | None = None, evidence: Evidence = "spec-only",
    factor: float = 1.0, width: float = 1.0, apart: float = 0.0,
) -> Step:  # fmt: skip
    """The step of `trace` on `card`; `factor` multiplies its time (`evidence.own_factor`), `width` the half
    width of its interval (`evidence.own_width`), to which `apart` is added.

    Raises NoDataError where the card lacks a format of the trace, or where more than a tenth of the
    launched operators have no known cost.
    """
    family_seen = card.family in shipped_families()
    if evidence == "spec-only" and of_card(card.id) is not None:
        evidence = "calibrated"
    own = None if parameters is None else rates.on_card(parameters, card)
    found = usual(trace, card) if own is None else spent(trace, card, own)
    seconds = found.seconds * factor
    # Cards and networks are new apart from each other.
    both = hypot(half_of(trace, evidence, family_seen=family_seen), novelty() * found.spread)
    half = widened(
        width * both + apart,
        known=_known(trace),
        format_seen=trace.precision in _FITTED,
        family_seen=family_seen,
    )
    return Step(
        throughput=around(trace.items / seconds, half, method=f"conformal, {evidence}"), seconds=seconds,
        watts=_watts(trace, card, seconds, found.busy * factor), bound=found.shares[0][0],
        shares=found.shares, evidence=evidence, new=found.new,
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
