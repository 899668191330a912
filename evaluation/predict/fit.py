"""Fit named parameters to measured times: penalised least squares of log ratios.

    minimise  sum_i rho(log(predicted_i / measured_i) w_i) + sum_j ((x_j - prior_j) / spread_j)^2

rho is Huber's loss (Huber 1964). The penalty is the shrinkage: `name` has a wide prior, `name/family` and
`name@card` have priors of zero with small spreads, so that a family or card departs only as far as its data
insist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

Array = NDArray[np.float64]
Model = Callable[[Mapping[str, float]], Array]
"""Parameters -> log(predicted / measured) of every row."""

_HUBER = 1.5
"""Of `sigma`: larger errors count linearly."""
_LEAST_GAIN = 1e-4
"""Relative gain at which the fit ends."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What a parameter is before data, as a natural logarithm, and how far it may go."""

    value: float
    spread: float


def fit(
    model: Model, priors: Mapping[str, Prior], *, sigma: float = 0.08, weights: Array | None = None
) -> dict[str, float]:
    """The parameters that minimise the penalised squares; `sigma` is the usual error of a row."""
    names = list(priors)
    centre = np.array([priors[name].value for name in names])
    spread = np.array([priors[name].spread for name in names])

    def residuals(x: Array) -> Array:
        rows = np.clip(model(dict(zip(names, x, strict=True))) / sigma, -60, 60)
        rows = rows if weights is None else rows * np.sqrt(weights)
        return np.concatenate([rows, (x - centre) / spread])

    def loss(squares: Array) -> Array:
        """Huber's for rows, plain squares for the penalty: value, first and second derivative."""
        found = np.stack([squares, np.ones_like(squares), np.zeros_like(squares)])
        large = squares > _HUBER**2
        large[len(squares) - len(names) :] = False
        size = np.sqrt(squares[large])
        found[:, large] = 2 * _HUBER * size - _HUBER**2, _HUBER / size, -0.5 * _HUBER / size**3
        return found

    found = least_squares(
        residuals, centre, loss=loss, x_scale=spread, diff_step=1e-6, ftol=_LEAST_GAIN, xtol=1e-8
    )
    return dict(zip(names, found.x.tolist(), strict=True))
