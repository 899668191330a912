"""Sharpen a prediction with what was measured: limits of the card, its workloads, or another card's.

    limits     rate of a format = what a large product reached / what the model says of the same product
               share of bandwidth = measured copy / stated bandwidth
    workloads  factor = exp(mean log(measured / predicted)), shrunk to 1 as n / (n + shrink); so is the width
               of the interval, to that of other cards
    transfer   on Y = measured on X x predicted on Y / predicted on X

A ratio of two predictions carries the noise of both, which a common factor does not: the logarithm of the
ratio is therefore drawn part of the way to its median over reference workloads where those are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, exp, log

import numpy as np
from numpy.typing import NDArray

from gpuwise.errors import InputError
from gpuwise.predict.card import Card
from gpuwise.predict.interval import LEVEL
from gpuwise.predict.kernels import Products
from gpuwise.predict.rates import Parameters, Rates, on_card
from gpuwise.predict.time import product_seconds

Array = NDArray[np.float64]
SIDE = 8192.0
"""Of the square matrices of the product limit (`workloads.matmul`)."""
_BYTES = {"fp32": 4.0, "tf32": 4.0, "fp8": 1.0}
TRUST = 0.7
"""How much of a workload's own ratio is kept beside the median ratio of the two cards."""
_SHRINK = 4.0
"""Measured workloads that the prior weighs: they differ from each other as much as cards do."""
_LEAST_WIDTH = 0.1
"""Of other cards' half width: a few lucky errors do not make a prediction certain."""


def with_limits(
    parameters: Parameters, card: Card, *, products: Mapping[str, float], copy: float | None = None
) -> Parameters:
    """Parameters with this card's measured limits as its own effects.

    `products` are FLOP/s of large matrix products by format, `copy` bytes/s read plus written. Raises
    InputError for a limit above the stated peak by more than 5 %: another card's file, or a wrong unit.
    """
    found, rates = dict(parameters), on_card(parameters, card)
    for dtype, reached in products.items():
        if dtype not in card.peaks:
            continue
        _check(reached, card.peak(dtype), f"FLOP/s in {dtype}", card)
        found |= _own(f"format.{dtype}", reached / large_product(card, rates, dtype), card)
    if copy is not None:
        _check(copy, card.bytes_per_s, "bytes/s", card)
        effect = f"memory@{card.id}"
        found[effect] = found.get(effect, 0.0) + log(copy / (card.bytes_per_s * rates["memory"]))
    return found


def large_product(card: Card, rates: Rates, dtype: str) -> float:
    """FLOP/s that the model predicts of the measured product, a square of `SIDE`."""
    side, size = np.array([SIDE]), np.array([_BYTES.get(dtype, 2.0)])
    work = Products(b=np.ones(1), m=side, n=side, k=side, size=size, out=np.maximum(size, 2.0))
    return float(2.0 * SIDE**3 / product_seconds(work, card, rates, dtype)[0])


def _own(name: str, factor: float, card: Card) -> dict[str, float]:
    """A factor that this card has and no other."""
    return {name: 0.0, f"{name}@{card.id}": log(factor)}


def _check(reached: float, stated: float, unit: str, card: Card) -> None:
    if reached > 1.05 * stated:
        raise InputError(
            f"{reached:.3g} {unit} is above {card.id}'s {stated:.3g}",
            hint="use a file that was measured on this card, in operations or bytes a second",
        )


def own_factor(measured: Sequence[float] | Array, predicted: Sequence[float] | Array) -> float:
    """Factor on predictions of a card from workloads that were measured on it; 1 without any."""
    if not len(measured):
        return 1.0
    ratios = np.log(np.asarray(measured) / np.asarray(predicted))
    return exp(float(ratios.mean()) * len(ratios) / (len(ratios) + _SHRINK))


def own_width(relative: Sequence[float] | Array, level: float = LEVEL) -> float:
    """Factor on a half width from workloads measured on the card: `relative` are sizes of their errors over
    the half widths that other cards gave them. The conformal quantile, shrunk to 1; 1 without any."""
    sizes = np.sort(np.asarray(relative, dtype=float))
    if not len(sizes):
        return 1.0
    reached = max(float(sizes[min(len(sizes), ceil((len(sizes) + 1) * level)) - 1]), _LEAST_WIDTH)
    return exp(log(reached) * len(sizes) / (len(sizes) + _SHRINK))


def transferred(
    measured: Array | float, here: Array | float, there: Array | float, reference: float | None = None
) -> Array:
    """Figures on card Y from figures `measured` on X, given predictions `here` (X) and `there` (Y).

    `reference` is the median of log(there / here) over usual workloads.
    """
    ratio = np.log(np.asarray(there) / np.asarray(here))
    if reference is not None:
        ratio = TRUST * ratio + (1.0 - TRUST) * reference
    return np.asarray(np.asarray(measured) * np.exp(ratio))
