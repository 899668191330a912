"""Simple predictors beside ours: one constant, fitted on the same rows, times a figure of the data sheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.predict.case import Case

Array = NDArray[np.float64]


def _by_flops(case: Case) -> float:
    assert case.card is not None
    return case.flop / case.card.peak(case.dtype)


def _by_bandwidth(case: Case) -> float:
    assert case.card is not None
    return case.moved / case.card.bytes_per_s


def _roofline(case: Case) -> float:
    return max(_by_flops(case), _by_bandwidth(case))


def _by_limit(case: Case) -> float:
    assert case.card is not None
    return case.card.power_w


SIMPLE: Mapping[str, Callable[[Case], float]] = {
    "roofline": _roofline, "FLOPS ratio": _by_flops, "bandwidth ratio": _by_bandwidth,
    "share of limit": _by_limit,
}  # fmt: skip


def constants(train: Sequence[Case]) -> dict[str, float]:
    """One constant for each simple rival from these rows; the roofline's is that of the unit."""
    found = {}
    watts = any(case.dtype == "watts" for case in train)
    for name, rule in SIMPLE.items():
        if (name == "share of limit") != watts:
            continue
        scores = [(rule(c), c) for c in train if c.card and not c.refusal and c.measured > 0]
        ratios = [np.log(c.measured / value) for value, c in scores if value > 0]
        if ratios:
            median = float(np.median(ratios))
            found[name] = float(np.exp(median)) if name != "roofline" else _unit(median)
    return found


def _unit(constant: float) -> float:
    """The power of a thousand (s or ms) nearest to a fitted constant: a roofline has no other."""
    return float(1000.0 ** max(0, round(constant / np.log(1000.0))))


def simple(test: Sequence[Case], known: Mapping[str, float]) -> dict[str, Array]:
    """The one-line rivals' figures."""
    return {
        name: np.array([constant * SIMPLE[name](c) if c.card and not c.refusal else np.nan for c in test])
        for name, constant in known.items()
    }


def stated(cases: Sequence[Case]) -> dict[str, Array]:
    """Predictions of other tools that the file holds."""
    names = sorted({name for case in cases for name in case.rivals})
    return {f"{name} (file)": np.array([case.rivals.get(name, np.nan) for case in cases]) for name in names}
