"""The two GPUs of an article with everything that is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from math import exp

from gpuwise.model.gpu import Fact, GpuSpec, Peak
from gpuwise.model.offer import Offer
from gpuwise.model.record import Record
from gpuwise.model.result import Interval
from gpuwise.show.gpus import peak_value, shown
from gpuwise.show.known import Speed
from gpuwise.show.page import References
from gpuwise.show.work import Kind, of_kind

EVEN = 0.05
"""Differences below this share decide nothing: the data sheets themselves are rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """What an article is made of; nothing is read from disk or clock after this."""

    first: GpuSpec
    second: GpuSpec
    speeds: tuple[Speed, ...]
    """Measured and published, of both."""
    forecasts: tuple[Record, ...]
    """Of both, refusals included: why a card cannot do something is worth as much."""
    ratio_half: float
    """80 % half width of a ratio of two forecasts, as a logarithm: what carrying a speed from one card to
    another was off by, for errors that both cards share cancel."""
    offers: tuple[Offer, ...]
    today: date
    cited: References

    @property
    def both(self) -> tuple[GpuSpec, GpuSpec]:
        return (self.first, self.second)

    def forecast_ratio(self, kind: Kind) -> Interval | None:
        """The second over the first by forecast; None where one of them has none."""
        two = [of_kind(kind, spec.id, self.forecasts) for spec in self.both]
        if two[0] is None or two[1] is None or two[0].throughput is None or two[1].throughput is None:
            return None
        value = two[1].throughput.value / two[0].throughput.value
        spread = exp(self.ratio_half)
        return Interval(value=value, low=value / spread, high=value * spread, level=0.8, method="conformal")

    def quantity(self, name: str) -> Quantity | None:
        """A numeric field or `peak:bf16`, where both cards state it."""
        values = [_stated(spec, name) for spec in self.both]
        if values[0] is None or values[1] is None or not values[0].value:
            return None
        return Quantity(values[0], values[1], self)


@dataclass(frozen=True, slots=True)
class Stated:
    """One value as a number and as text, with the fact or peak that states it."""

    value: float
    text: str
    fact: Fact | Peak


@dataclass(frozen=True, slots=True)
class Quantity:
    """One quantity of both cards."""

    first: Stated
    second: Stated
    duel: Duel

    @property
    def ratio(self) -> float:
        """The second over the first."""
        return self.second.value / self.first.value

    @property
    def even(self) -> bool:
        return abs(self.ratio - 1) < EVEN

    @property
    def winner(self) -> GpuSpec:
        """The card with the larger value."""
        return self.duel.second if self.ratio > 1 else self.duel.first

    @property
    def factor(self) -> float:
        """The larger over the smaller."""
        return max(self.ratio, 1 / self.ratio)

    def told(self) -> str:
        """`RTX A5000 24.0 GiB [1], RTX A4000 16.0 GiB [2]`."""
        sides = zip(self.duel.both, (self.first, self.second), strict=True)
        return ", ".join(
            f"{short(spec)} {one.text} {self.duel.cited.mark(one.fact.source)}" for spec, one in sides
        )


def short(spec: GpuSpec) -> str:
    """The name without its vendor."""
    return spec.name.removeprefix(f"{spec.vendor} ")


def _stated(spec: GpuSpec, name: str) -> Stated | None:
    if name.startswith("peak:"):
        peak = spec.peak(name.removeprefix("peak:"))
        return None if peak is None else Stated(peak.flop_per_s, f"{peak_value(peak)} dense", peak)
    fact, number = spec.facts.get(name), spec.number(name)
    return None if fact is None or number is None else Stated(number, shown(fact), fact)
