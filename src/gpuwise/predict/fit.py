"""Fit named parameters to measured times: penalised least squares of log ratios.

    minimise  sum_i rho(log(predicted_i / measured_i) w_i) + sum_j ((x_j - prior_j) / spread_j)^2

Levenberg-Marquardt with a numeric Jacobian (Nocedal & Wright 2006, chapter 10) and Huber weights
(Huber 1964). The penalty is the shrinkage: `name` has a wide prior, `name/family` and `name@card` have
priors of zero with small spreads, so that a family or card departs only as far as its data insist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Model = Callable[[Mapping[str, float]], Array]
"""Parameters -> log(predicted / measured) of every row."""

_STEP = 1e-3
_HUBER = 1.5


@dataclass(frozen=True, slots=True)
class Prior:
    """What a parameter is before data, as a natural logarithm, and how far it may go."""

    value: float
    spread: float


def fit(
    model: Model, priors: Mapping[str, Prior], *, sigma: float = 0.08, weights: Array | None = None,
    rounds: int = 25,
) -> dict[str, float]:  # fmt: skip
    """The parameters that minimise the penalised squares; `sigma` is the usual error of a row."""
    names = list(priors)
    centre = np.array([priors[name].value for name in names])
    spread = np.array([priors[name].spread for name in names])

    def residuals(x: Array) -> Array:
        rows = np.clip(model(dict(zip(names, x, strict=True))) / sigma, -60, 60)
        scaled = rows if weights is None else rows * np.sqrt(weights)
        return np.asarray(np.concatenate([_huber(scaled), (x - centre) / spread]))

    x, damping = centre.copy(), 1e-2
    r = residuals(x)
    for _ in range(rounds):
        jacobian = _jacobian(residuals, x, r)
        normal, slope = jacobian.T @ jacobian, jacobian.T @ r
        moved = False
        for _ in range(8):
            step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), -slope)
            trial = x + np.clip(step, -1.0, 1.0)
            r_trial = residuals(trial)
            if r_trial @ r_trial < r @ r:
                moved = bool(r @ r - r_trial @ r_trial > 1e-4 * (r @ r))
                x, r, damping = trial, r_trial, max(damping / 5, 1e-6)
                break
            damping *= 4
        if not moved:
            break
    return dict(zip(names, x.tolist(), strict=True))


def _huber(r: Array) -> Array:
    """Residuals whose squares are Huber's loss."""
    size = np.abs(r)
    return np.where(size <= _HUBER, r, np.sign(r) * np.sqrt(np.maximum(2 * _HUBER * size - _HUBER**2, 0)))


def _jacobian(residuals: Callable[[Array], Array], x: Array, r: Array) -> Array:
    columns = []
    for j in range(len(x)):
        moved = x.copy()
        moved[j] += _STEP
        columns.append((residuals(moved) - r) / _STEP)
    return np.stack(columns, axis=1)
