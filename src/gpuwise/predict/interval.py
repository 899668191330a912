"""Intervals that hold: split conformal prediction on the errors of cards that were left out.

    half width = the ceil((n + 1) level) / n quantile of |log(predicted / measured)|
    interval   = predicted x exp(-half) to predicted x exp(half)

(Vovk et al. 2005; Lei et al. 2018; by cross-validation as in Barber et al. 2021.) Errors of one card are
alike, so that every card weighs the same in the quantile however many rows it has, and few cards say
little of the next one: the part of the errors that is common to a card is widened by t(K) / z, Student's
over the normal quantile, for K cards. Evidence levels have their own errors: spec-only, transferred,
calibrated. What was never seen widens the interval or refuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil, exp, inf, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuwise.errors import NoDataError
from gpuwise.model.result import Interval
from gpuwise.predict.difficulty import Difficulty
from gpuwise.predict.rates import document
from gpuwise.stats.interval import t_quantile

Array = NDArray[np.float64]
ERRORS = Path(__file__).with_name("data") / "errors.json"
LEVEL = 0.8
LEAST_KNOWN = 0.9
"""Share of a step's time that must be of known kernels."""
_UNSEEN_FORMAT = 1.5
"""Factor on the half width for a number format that no fitted card ran in this group of kernels."""
_UNSEEN_FAMILY = 1.25


def half_width(
    errors: Sequence[float] | Array, cards: Sequence[str] | NDArray[np.str_], level: float = LEVEL
) -> float:
    """Conformal half width in log space from `errors`, each card of `cards` weighing the same.

    Raises NoDataError without errors. With few cards the widest error bounds it.
    """
    signed = np.asarray(errors, dtype=float)
    keep = np.isfinite(signed)
    signed, names = signed[keep], np.asarray(cards)[keep]
    sizes = np.abs(signed)
    if not len(sizes):
        raise NoDataError("no error of a left-out card is known", hint="fit on at least two cards")
    _, place, counts = np.unique(names, return_inverse=True, return_counts=True)
    weights = 1.0 / counts[place] / len(counts)
    order = np.argsort(sizes)
    reached = np.cumsum(weights[order])
    wanted = min(1.0, ceil((len(sizes) + 1) * level) / len(sizes))
    half = sizes[order][min(int(np.searchsorted(reached, wanted - 1e-12)), len(sizes) - 1)]
    means = np.bincount(place, weights=signed) / counts
    common = float((means**2).mean() / max(float(weights @ signed**2), 1e-300))
    return float(half * _few_cards(len(counts), common, level))


def _few_cards(cards: int, common: float, level: float) -> float:
    """Factor on the half width where `common` of the variance of the errors is that of `cards` cards."""
    probability = (1.0 + level) / 2.0
    student = t_quantile(probability, cards) / NormalDist().inv_cdf(probability)
    return sqrt(max(0.0, 1.0 - common) + common * student**2)


def around(value: float, half: float, *, level: float = LEVEL, method: str = "conformal") -> Interval:
    """The interval of a positive figure; it always contains its point."""
    return Interval(
        value=value, low=value * exp(-half), high=value * exp(half) if half < 700 else inf, level=level,
        method=method,
    )  # fmt: skip


def shipped_half(group: str, evidence: str) -> float:
    """Half width of a fitted group at an evidence level, from the shipped errors of left-out cards.

    It is that of a case of difficulty 1 (`shipped_difficulty`). Raises NoDataError where none is known.
    """
    found: dict[str, float] = document()["groups"][group]["half_width"]
    if evidence not in found:
        raise NoDataError(f"no errors are known for {evidence} predictions of {group}")
    return found[evidence]


def shipped_difficulty(group: str, evidence: str) -> Difficulty:
    """What makes a case of a fitted group hard, learnt on all its cards; 1 for all where nothing was."""
    return Difficulty.stated(document()["groups"][group].get("difficulty", {}).get(evidence))


def widened(half: float, *, known: float, format_seen: bool, family_seen: bool) -> float:
    """The half width where part of a step is unknown, or its format or the card's family was never fitted.

    `known` is the share of time in kernels with a cost; below 90 % it raises NoDataError, above it the
    unknown part may be as slow as all the rest together.
    """
    if known < LEAST_KNOWN:
        raise NoDataError(
            f"only {known:.0%} of the step is in operators of known cost", hint="measure it: gpuwise bench"
        )
    factor = (1.0 if format_seen else _UNSEEN_FORMAT) * (1.0 if family_seen else _UNSEEN_FAMILY)
    return half * factor + float(np.log(1.0 / known))


@cache
def errors() -> Mapping[str, Any]:
    """The shipped errors of traced steps that were measured (experiments/score_steps.py)."""
    found: Mapping[str, Any] = json.loads(ERRORS.read_text(encoding="utf-8"))
    return found


def step_half(evidence: str) -> float:
    """Half width of a traced step of usual difficulty at an evidence level, in log space."""
    return float(errors()["half_width"][evidence])


@cache
def step_difficulty(evidence: str) -> Difficulty:
    """What makes a traced step hard (`step.traits`)."""
    return Difficulty.stated(errors().get("difficulty", {}).get(evidence))


def scaling_half() -> float:
    """Half width of the efficiency of several GPUs, in log space."""
    return float(errors()["scaling"])


def watts_half() -> float:
    """Half width of the mean watts of a step, in log space: of one card's, and so widened for the next."""
    return float(errors()["watts"])


@cache
def memory_errors() -> Array:
    """log(measured / predicted) of peaks of allocated memory, in rising order."""
    return np.sort(np.array(errors()["memory"], dtype=float))
