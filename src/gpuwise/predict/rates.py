"""What a card achieves of its peaks, and the energy it takes: sustained clock, efficiencies, watts.

    clock     f = min(1, (budget / demand)^(1/a)): dynamic power grows as V^2 f, which over the usual
              range of voltages is f to the power `a` of 2 to 3; demand = operations/s x energy of one
              operation, which falls with the process (Horowitz, ISSCC 2014) and with the voltage, so
              with how far the boost clock is below what the process runs at
    rate      peak x clock x efficiency; efficiencies stay in (0, 1]
    watts     busy x active share x limit + (operations x J each + bytes x J each) / time, at most the limit

Watts are a step's mean: a card at work draws a share of its limit for clocks, registers and caches whatever
its kernels do; while it waits for the host it draws less.

Parameters are named numbers in log space, shipped in data/parameters.json. `name` holds for all cards;
`name/engine`, `name/family` and `name@card` are the factors by which those that were fitted depart from
it. A family that was not fitted has none: that is what makes its interval wide.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuwise.predict.card import Card

PARAMETERS = Path(__file__).with_name("data") / "parameters.json"
# `name`, `name/family` or `name@card` -> natural logarithm of the value, or of the factor on it.
Parameters = Mapping[str, float]
Array = NDArray[np.float64]
# Values on one card, in SI units or as shares of a peak.
Rates = Mapping[str, float]

# What nothing lifts above 1.
SHARES = frozenset({"matmul", "memory", "wave"})
MATRIX = frozenset({"tf32", "fp16", "bf16", "fp8", "fp4", "int8"})
# Energy of one operation against fp16's: about in proportion to the bits multiplied.
_NARROW = {"tf32": 2.0, "fp8": 0.5, "fp4": 0.3, "int8": 0.5}
# Of the power limit, for what a card at work draws beside its arithmetic and memory: clocks, registers and
# caches. Set on the project's own H200, whose copy takes 65 % of its limit; of other cards no step's watts
# were at hand.
ACTIVE_SHARE = 0.4
# Of the boost clock: below it the voltage falls no further.
LEAST_CLOCK = 0.3
# Of the power limit, for leakage, memory and fans.
IDLE_SHARE = 0.2


@cache
def document() -> Mapping[str, Any]:
    """The shipped parameters with how they were fitted."""
    found: Mapping[str, Any] = json.loads(PARAMETERS.read_text(encoding="utf-8"))
    return found


def shipped(group: str) -> Parameters:
    """Fitted parameters of one group of kernels ("eager", "gemm", ...)."""
    found: Parameters = document()["groups"][group]["parameters"]
    return found


# What the tables of products do not say. Attention by single warps and the energy of a step's arithmetic and
# bytes are physical priors, not fitted. What the host takes for each thing it does in an eager step was set
# by hand so that eager steps of the zoo's dev rows come out right, on a machine whose bare launch of a small
# kernel from Python takes 7 microseconds; `host` is the factor of another machine, which calibration
# measures.
GENERAL: Parameters = {
    "attention": log(0.45),
    "lanes": log(0.2),
    "sync": log(4e-5),
    "dispatch": log(1.2e-5),
    "host": log(1.0),
    "host.forward": log(3.0e-6),
    "host.backward": log(7.5e-6),
    "host.module": log(1.2e-5),
    "host.launch": log(4.7e-6),
    "host.launch.backward": log(9.2e-6),
    "host.gradient": log(4.9e-5),
    "host.step": log(1.3e-4),
    "host.generated": log(2.0e-5),
    # Classes of kernels were measured on NVIDIA cards with matrix units. In the fp32 networks of NeuSight's
    # public rows (Lee et al. 2025) kernels take so much longer elsewhere: 43 rows of three CDNA cards, 8 of
    # two Pascal cards, all in the same direction.
    "kernels": log(1.0),
    "kernels/AMD": log(1.26),
    "kernels/Pascal": log(1.16),
    "step.matrix": log(1.5),
    "step.byte": log(100.0),
    "step.stacked": log(40.0),
}


def general(products: Parameters | None = None) -> Parameters:
    """Parameters for any trace: fitted products, with cold operands, and the priors of the rest."""
    fitted = dict(shipped("gemm") if products is None else products)
    for name in [name for name in fitted if name.split("/")[0] == "warm"]:
        del fitted[name]
    return dict(GENERAL) | fitted


def on_card(parameters: Parameters, card: Card) -> Rates:
    """The parameters on this card: global x engine x family x card."""
    return resolve(parameters, (f"/{card.engine}", f"/{card.family}", f"@{card.id}"))


@cache
def usual(card: Card) -> Rates:
    """The general parameters on this card."""
    return on_card(general(), card)


def resolve(parameters: Parameters, suffixes: Iterable[str]) -> Rates:
    """Every global parameter times its effects with these suffixes; shares end at 1."""
    endings = tuple(suffixes)
    values = {}
    for name, base in parameters.items():
        if "/" in name or "@" in name:
            continue
        found = exp(base + sum(parameters.get(name + ending, 0.0) for ending in endings))
        values[name] = min(1.0, found) if name.split(".")[0] in SHARES else found
    return values


def sustained(rates: Rates, card: Card, dtype: str) -> float:
    """Clock that dense products hold under the power limit, over the boost clock.

    1 where the step is held as a whole (`held`).
    """
    if "step.matrix" in rates:
        return 1.0
    demand = card.peak(dtype) * operation_joules(rates, card, dtype)
    budget = (1.0 - IDLE_SHARE) * card.power_w
    return float(min(1.0, (budget / demand) ** (1.0 / rates["clock.exponent"])))


def held(
    rates: Rates, card: Card, *, compute_j: float, other_j: float, busy_s: float, rest_s: float
) -> float:
    """Clock over the boost clock at which a step of products and other work keeps the power limit.

    `compute_j` joules of arithmetic take `busy_s` at the boost clock, and less of both the slower it is; the
    rest takes `other_j` and `rest_s` at any clock. Solved by bisection.
    """
    budget, power = (1.0 - ACTIVE_SHARE) * card.power_w, rates["clock.exponent"] - 1.0
    low, high = LEAST_CLOCK, 1.0
    for _ in range(20):
        clock = (low + high) / 2.0
        drawn = (compute_j * clock**power + other_j) / (busy_s / clock + rest_s)
        low, high = (clock, high) if drawn < budget else (low, clock)
    return high


def energies(rates: Rates, card: Card, dtype: str) -> tuple[float, float]:
    """Joules of an operation in `dtype` at the boost clock, and of a byte from or to memory."""
    byte = rates["energy.stacked" if card.stacked else "energy.byte"]
    return operation_joules(rates, card, dtype), byte * 1e-12


def operation_joules(rates: Rates, card: Card, dtype: str, matrix: str = "energy.matrix") -> float:
    """Joules of an operation in `dtype` at the boost clock; `matrix` names the rate of the matrix units."""
    each = rates[matrix if dtype in MATRIX else "energy.vector"] * _NARROW.get(dtype, 1.0)
    return each * _joules(rates, card)


def _joules(rates: Rates, card: Card) -> float:
    """Energy of an operation on this card for each picojoule on 7 nm at its usual clock."""
    voltage = (card.clock_hz / _process_clock(card.process_nm)) ** (rates["clock.exponent"] - 1.0)
    return float(1e-12 * (card.process_nm / 7.0) ** rates["energy.process"] * voltage)


def _process_clock(nm: float) -> float:
    """Clock in Hz at which desktop parts of a process boost: 1.5 GHz at 16 nm, 2.5 GHz at 5 nm."""
    return float(1.5e9 * (16.0 / nm) ** 0.45)


# Of the limit: a card that waits.
LEAST_SHARE = 0.12


def mean_watts(
    rates: Rates, card: Card, *, dtype: str, flop: float, moved: float, seconds: float,
    busy: float = 1.0,
) -> float:  # fmt: skip
    """Watts of steps of `seconds` that do `flop` operations in `dtype` and move `moved` bytes; the card is at
    work for the share `busy` of the time."""
    each, byte = energies(rates, card, dtype)
    share = LEAST_SHARE + busy * (ACTIVE_SHARE - LEAST_SHARE)
    return float(min(card.power_w, share * card.power_w + (flop * each + moved * byte) / seconds))
