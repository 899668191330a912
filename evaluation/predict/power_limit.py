"""What the power limit and the feed of registers cost the scored sets whose steps have no kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpuwise.predict.card import Card
from gpuwise.predict.rates import MATRIX, Rates, energies

Array = NDArray[np.float64]
USUAL_RATE = 512.0
"""Operations a clock and unit of GeForce cards in fp16 with an fp32 accumulator."""


def stretch(rates: Rates, card: Card, dtype: str, flop: Array, moved: Array, seconds: Array) -> Array:
    """By how much the power limit lengthens steps of `seconds` that do `flop` and move `moved` bytes.

    For whole steps, where `sustained` is for one kernel at its peak: the energy of the step at the boost
    clock over its time there is the demand; the clock falls until the limit holds. Each unit takes
    `power.unit` watts whether or not it computes.
    """
    each, byte = energies(rates, card, dtype)
    demand = (flop * each + moved * byte) / seconds
    budget = max(0.3 * card.power_w, card.power_w - rates["power.unit"] * card.units)
    return np.asarray(np.maximum(1.0, demand / budget) ** (1.0 / rates["clock.exponent"]))


def fed(card: Card, rates: Rates, dtype: str) -> float:
    """Share of the matrix peak that registers can be fed: 128 B a clock and unit from shared memory.

    That did not grow with the peak on cards that multiply from registers; others read operands in place.
    """
    if card.engine != "mma" or dtype not in MATRIX:
        return 1.0
    each = card.peak(dtype) / (card.units * card.clock_hz)
    return float(min(1.0, (USUAL_RATE / each) ** rates["feed"]))
