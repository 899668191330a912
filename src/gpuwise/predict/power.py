"""Mean watts of a step: what it computes and moves, each at its energy, beside what the card draws anyway.

    watts = busy x active share x limit + (operations x J each + bytes x J each) / time, at most the limit

A card at work draws a share of its limit for clocks, registers and caches whatever its kernels do; while it
waits for the host it draws less.
"""

from __future__ import annotations

from gpuwise.predict.card import Card
from gpuwise.predict.rates import ACTIVE_SHARE, Rates, energies

LEAST_SHARE = 0.12
"""Of the limit: a card that waits."""


def mean_watts(
    rates: Rates, card: Card, *, dtype: str, flop: float, moved: float, seconds: float,
    busy: float = 1.0,
) -> float:  # fmt: skip
    """Watts of steps of `seconds` that do `flop` operations in `dtype` and move `moved` bytes; the card is at
    work for the share `busy` of the time."""
    each, byte = energies(rates, card, dtype)
    share = LEAST_SHARE + busy * (ACTIVE_SHARE - LEAST_SHARE)
    return float(min(card.power_w, share * card.power_w + (flop * each + moved * byte) / seconds))
