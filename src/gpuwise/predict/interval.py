"""Intervals that hold: split conformal prediction on the errors of cards that were left out.

    half width = s x the ceil((n + 1) level) / n quantile of |log(predicted / measured)| / s
    interval   = predicted x exp(-half) to predicted x exp(half)
    s          = exp(b0 + b1 . z + b2 . z^2)      how hard such work is (`Difficulty`)

(Vovk et al. 2005; Lei et al. 2018; by cross-validation as in Barber et al. 2021.) The quantiles are computed
where the errors of left-out cards are (`evaluation/predict/cross.py`) and shipped in `data`. Evidence levels
have their own: spec-only, transferred, calibrated. What was never seen widens the interval or refuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuwise.errors import NoDataError
from gpuwise.model.result import Interval
from gpuwise.predict.rates import document

Array = NDArray[np.float64]
ERRORS = Path(__file__).with_name("data") / "errors.json"
LEVEL = 0.8
# Share of a step's time that must be of known kernels.
LEAST_KNOWN = 0.9
# Factor on the half width for a number format that no fitted card ran in this group of kernels.
_UNSEEN_FORMAT = 1.5
_UNSEEN_FAMILY = 1.25
# Standard deviations at which a trait is cut off: nothing is extrapolated.
_FARTHEST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty:
    """What was learnt of one part of a set."""

    centre: tuple[float, ...]
    spread: tuple[float, ...]
    slopes: tuple[float, ...]
    """b0, then b1 and b2."""

    def of(self, traits: Array) -> Array:
        """s of each row of `traits`; 1 where nothing was learnt."""
        if not self.centre:
            return np.ones(len(traits))
        columns = self.columns(traits, self.centre, self.spread)
        return np.asarray(np.exp(columns @ np.array(self.slopes)))

    @staticmethod
    def columns(traits: Array, centre: Sequence[float], spread: Sequence[float]) -> Array:
        """1, z and z^2 of each row, z cut off at `_FARTHEST`."""
        z = np.clip((traits - np.array(centre)) / np.array(spread), -_FARTHEST, _FARTHEST)
        return np.concatenate([np.ones((len(z), 1)), z, z**2], axis=1)

    @classmethod
    def stated(cls, found: Mapping[str, Sequence[float]] | None) -> Difficulty:
        """As shipped; without traits where there is none."""
        names = ("centre", "spread", "slopes")
        return cls(**{name: tuple(found[name]) if found else () for name in names})


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
            f"only {known:.0%} of the step is in operators of known cost", hint="measure it", code="bench"
        )
    factor = (1.0 if format_seen else _UNSEEN_FORMAT) * (1.0 if family_seen else _UNSEEN_FAMILY)
    return half * factor + float(np.log(1.0 / known))


@cache
def errors() -> Mapping[str, Any]:
    """The shipped errors of traced steps that were measured (`python -m evaluation.predict.steps`)."""
    found: Mapping[str, Any] = json.loads(ERRORS.read_text(encoding="utf-8"))
    return found


def step_half(evidence: str) -> float:
    """Half width of a traced step of usual difficulty at an evidence level, in log space."""
    return float(errors()["half_width"][evidence])


@cache
def step_difficulty(evidence: str) -> Difficulty:
    """What makes a traced step hard (`step.traits`)."""
    return Difficulty.stated(errors().get("difficulty", {}).get(evidence))


def novelty() -> float:
    """Half width of a step of which only the network is new, over the spread of its classes (`step.Spent`):
    the conformal factor from networks whose family was left out of the fit of classes."""
    return float(errors()["novelty"])


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
