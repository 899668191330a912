"""Operations, memory traffic and weights of the layers that image networks are made of, added up.

A product reads its input and writes its output once; a group norm needs a second read, for its
statistics are known only after the first; a layer norm keeps its row at hand; attention reads query,
key and value and writes the result. What lies between two of these is one pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpuwise.model.precision import Precision
from gpuwise.model.workload import Cost, Mode

OPTIMISER_BYTES = 40
"""A parameter and step: AdamW 28 (weight, gradient, two moments read, three written), the passes 12."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What one image costs in one forward pass."""

    flop: float = 0.0
    values: float = 0.0
    """Activation values read and written."""
    weights: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.flop + other.flop, self.values + other.values, self.weights + other.weights)

    def __mul__(self, times: int) -> Tally:
        return Tally(self.flop * times, self.values * times, self.weights * times)


def linear(rows: int, inputs: int, outputs: int, *, bias: bool = True) -> Tally:
    """A product of `rows` rows with a matrix."""
    weights = inputs * outputs + (outputs if bias else 0)
    return Tally(2.0 * rows * inputs * outputs, float(rows * (inputs + outputs)), weights)


def convolution(inputs: int, outputs: int, kernel: int, side: int, stride: int = 1) -> Tally:
    """A square convolution with bias over a map of `side`^2 that pads to keep side / stride."""
    out = (side // stride) ** 2
    weights = inputs * outputs * kernel**2
    return Tally(2.0 * weights * out, float(inputs * side**2 + outputs * out), weights + outputs)


def attention(queries: int, keys: int, width: int) -> Tally:
    """Scores and weighted sum of every query over every key."""
    return Tally(4.0 * queries * keys * width, 2.0 * (queries + keys) * width)


def group_norm(rows: int, width: int) -> Tally:
    """With scale, shift and the activation after it."""
    return Tally(0.0, 3.0 * rows * width, 2 * width)


def moved(values: float) -> Tally:
    """Values read and written by what is no product: additions, gates, layer norms, joins."""
    return Tally(0.0, values)


def cost_of(tally: Tally, mode: Mode, precision: Precision, batch: int) -> Cost:
    """Cost of one image in a step of `batch`: inference reads the weights once, AdamW moves 40 bytes each."""
    width = precision.bytes
    if mode == "infer":
        return Cost(flop_per_item=tally.flop, bytes_per_item=(tally.values + tally.weights / batch) * width)
    optimiser = OPTIMISER_BYTES * tally.weights / batch
    return Cost(flop_per_item=3 * tally.flop, bytes_per_item=3 * tally.values * width + optimiser)
