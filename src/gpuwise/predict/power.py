"""Mean watts of a step: what it computes and moves, each at its energy, beside what the card draws anyway.

    watts = units x W each + (operations x J each + bytes x J each) / time, at most the power limit

The same energies lengthen a step that would need more than the limit (`rates.stretch`), so that a step at
the limit is both slower and at the limit.
"""

from __future__ import annotations

from gpuwise.predict.card import Card
from gpuwise.predict.rates import Parameters, energies, on_card

LEAST_SHARE = 0.12
"""Of the limit: a card that waits."""


def mean_watts(
    parameters: Parameters, card: Card, *, dtype: str, flop: float, moved: float, seconds: float
) -> float:
    """Watts of steps of `seconds` that do `flop` operations in `dtype` and move `moved` bytes."""
    rates = on_card(parameters, card)
    each, byte = energies(rates, card, dtype)
    drawn = rates["power.unit"] * card.units + (flop * each + moved * byte) / seconds
    return float(min(card.power_w, max(drawn, LEAST_SHARE * card.power_w)))
