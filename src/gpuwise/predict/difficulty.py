"""How hard a prediction is: its interval is as wide as configurations like it need on other cards.

    s = exp(b0 + b1 . z + b2 . z^2)        z: what the set says of a configuration, centred and scaled
                                           b0: so that s is 1 on the geometric mean

fitted to log |error| by ridge regression, each card weighing the same. A conformal quantile of |error| / s
times s keeps the coverage of the plain one and moves width from easy work to hard (Papadopoulos et al. 2008;
Lei et al. 2018, section 5.2). Only what the configuration states goes in, nothing that was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_RIDGE = 0.2
"""Against an average row's weight of 1 in all: traits that explain little are left out in effect."""
_LEAST = 0.02
"""Added to errors, so that a lucky one is not taken for an easy case."""
_SAME = 1e-6
"""Of the spread: a trait that never differs says nothing."""
_FARTHEST = 2.0
"""Standard deviations at which a trait is cut off: nothing is extrapolated."""


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
        return np.asarray(np.exp(_columns(traits, self.centre, self.spread) @ np.array(self.slopes)))

    @classmethod
    def stated(cls, found: Mapping[str, Sequence[float]] | None) -> Difficulty:
        """As shipped; without traits where there is none."""
        names = ("centre", "spread", "slopes")
        return cls(**{name: tuple(found[name]) if found else () for name in names})


def learn(traits: Array, errors: Array, cards: NDArray[np.str_]) -> Difficulty:
    """The difficulty that best explains the sizes of `errors` (logarithms of ratios, finite)."""
    if not traits.shape[1]:
        return Difficulty.stated(None)
    centre, spread = traits.mean(axis=0), traits.std(axis=0)
    spread[spread < _SAME] = 1.0
    columns = _columns(traits, centre.tolist(), spread.tolist())
    _, place, counts = np.unique(cards, return_inverse=True, return_counts=True)
    weights = (1.0 / counts[place] / len(counts))[:, None]
    penalty = _RIDGE * np.eye(columns.shape[1])
    penalty[0, 0] = 0.0
    sizes = np.log(np.abs(errors) + _LEAST)
    slopes = np.linalg.solve(columns.T @ (columns * weights) + penalty, columns.T @ (weights[:, 0] * sizes))
    slopes[0] -= float(weights[:, 0] @ (columns @ slopes))
    return Difficulty(
        centre=tuple(centre.tolist()), spread=tuple(spread.tolist()), slopes=tuple(slopes.tolist())
    )


def _columns(traits: Array, centre: Sequence[float], spread: Sequence[float]) -> Array:
    z = np.clip((traits - np.array(centre)) / np.array(spread), -_FARTHEST, _FARTHEST)
    return np.concatenate([np.ones((len(z), 1)), z, z**2], axis=1)
