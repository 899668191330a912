"""Sharpen a prediction with what was measured: limits of the card, its workloads, or another card's.

    limits     share of peak = measured products / stated peak; share of bandwidth = measured copy / stated
    workloads  factor = exp(mean log(measured / predicted)), shrunk to 1 as n / (n + shrink)
    transfer   on Y = measured on X x predicted on Y / predicted on X

A ratio of two predictions carries the noise of both, which a common factor does not: the logarithm of the
ratio is therefore drawn halfway to its median over reference workloads where those are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from gpuwise.errors import InputError
from gpuwise.predict.card import Card
from gpuwise.predict.rates import MATRIX, Parameters, on_card, sustained

Array = NDArray[np.float64]
TRUST = 0.5
"""How much of a workload's own ratio is kept beside the median ratio of the two cards."""
_SHRINK = 4.0
"""Measured workloads that the prior weighs: they differ from each other as much as cards do."""


def with_limits(
    parameters: Parameters, card: Card, *, products: Mapping[str, float], copy: float | None = None
) -> Parameters:
    """Parameters with this card's measured limits as its own effects.

    `products` are FLOP/s of large matrix products by format, `copy` bytes/s read plus written. Raises
    InputError for a limit above the stated peak by more than 5 %: another card's file, or a wrong unit.
    """
    found, rates = dict(parameters), on_card(parameters, card)
    shares = []
    for dtype, reached in products.items():
        if reached > 1.05 * card.peak(dtype):
            raise InputError(
                f"{reached / 1e12:.0f} TFLOP/s in {dtype} is above {card.id}'s peak of "
                f"{card.peak(dtype) / 1e12:.0f}",
                hint="use a file that was measured on this card",
            )
        if dtype in MATRIX or dtype == "fp32":
            shares.append(log(reached / (card.peak(dtype) * sustained(rates, card, dtype) * rates["matmul"])))
    if shares:
        found[f"matmul@{card.id}"] = found.get(f"matmul@{card.id}", 0.0) + float(np.mean(shares))
    if copy is not None:
        if copy > 1.05 * card.bytes_per_s:
            raise InputError(f"{copy / 1e9:.0f} GB/s is above {card.id}'s bandwidth", hint="check the unit")
        own = log(copy / (card.bytes_per_s * rates["memory"]))
        found[f"memory@{card.id}"] = found.get(f"memory@{card.id}", 0.0) + own
    return found


def own_factor(measured: Sequence[float] | Array, predicted: Sequence[float] | Array) -> float:
    """Factor on predictions of a card from workloads that were measured on it; 1 without any."""
    if not len(measured):
        return 1.0
    ratios = np.log(np.asarray(measured) / np.asarray(predicted))
    return exp(float(ratios.mean()) * len(ratios) / (len(ratios) + _SHRINK))


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
