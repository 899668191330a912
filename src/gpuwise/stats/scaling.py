"""How speed grows with the number of GPUs, what is lost on the way, and how many are worth it.

Scale factor of n GPUs: f(n) = T(n) / (n T(1)), with T the throughput of all; 1 is perfect. Its interval is
that of the ratio of the two measurements. Weak scaling gives each GPU the batch of the one (Gustafson),
strong scaling shares it (Amdahl).

Under weak scaling, and for the same batch on each GPU, the loss has three parts. With t1 the step of one
GPU alone, a_r the step of rank r while all ranks work but exchange nothing, a_1 that of the same one GPU,
and tn the common step,

    f = t1 / tn = (t1 / a_1) * (a_1 / max a) * (max a / tn)
                   sharing      waiting         exchange

sharing is what the ranks take from each other (power, heat, host, memory of the host), waiting is for the
slowest card, exchange is communication that no computation hides. The one GPU may be a fast or a slow one of
its kind; held against the middle one, the factor would be f * median a / a_1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from gpuwise.model.result import Group, Interval, Measurement
from gpuwise.stats.compare import ratio_of_steps

# The share of one GPU's speed that each GPU more must add to be worth it.
WORTH = 0.8

Cause = Literal["sharing", "waiting", "exchange"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Shares of the speed, each of what the one before leaves; None where it is not known."""

    sharing: float | None
    waiting: float
    exchange: float

    @property
    def largest(self) -> Cause:
        """Where most is lost."""
        shares: dict[Cause, float] = {"waiting": self.waiting, "exchange": self.exchange}
        if self.sharing is not None:
            shares["sharing"] = self.sharing
        return max(shares, key=lambda cause: shares[cause])


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One count of GPUs in a scaling series."""

    measurement: Measurement
    factor: Interval
    speedup: float  # Over one GPU
    losses: Losses | None

    @classmethod
    def of(cls, one: Measurement, several: Measurement) -> Point:
        found = factor(one, several)
        speedup = found.value * several.config.gpus
        return cls(measurement=several, factor=found, speedup=speedup, losses=losses(one, several))

    @property
    def gpus(self) -> int:
        return self.measurement.config.gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One question at several counts of GPUs, against one GPU."""

    one: Measurement
    points: tuple[Point, ...]  # More than one GPU, fewest first

    @property
    def worth(self) -> int:
        """The most GPUs of which each that was added still brought WORTH of one GPU."""
        best, before, gpus = 1, 1.0, 1
        for point in self.points:
            if (point.speedup - before) / (point.gpus - gpus) < WORTH:
                break
            best, before, gpus = point.gpus, point.speedup, point.gpus
        return best


def factor(one: Measurement, several: Measurement) -> Interval:
    """T(n) / (n T(1)) with its interval. Raises ValueError without a throughput on either side."""
    if one.throughput is None or several.throughput is None:
        raise ValueError("a scale factor needs two throughputs")
    return ratio_of_steps(one, several).times(1 / several.config.gpus)


def losses(one: Measurement, several: Measurement) -> Losses | None:
    """What each cause takes; None where the ranks did not measure their steps alone."""
    if several.group is None or several.throughput is None or not several.items_per_step:
        return None
    cards = cards_of(several.group)
    if cards is None:
        return None
    common_s = several.items_per_step / several.throughput.value
    sharing = None
    if one.batch == several.batch and one.items_per_step and one.throughput is not None:
        sharing = 1 - one.items_per_step / one.throughput.value / cards.one_s
    waiting, exchange = 1 - cards.one_s / cards.slowest_s, 1 - cards.slowest_s / common_s
    return Losses(sharing=sharing, waiting=waiting, exchange=exchange)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cards:
    """Seconds that each card needs for a step while all work and exchange nothing."""

    one_s: float  # Of the card that was also measured alone
    middle_s: float
    slowest_s: float
    slowest: int  # Its rank
    differ: float  # Share of the fastest card's speed that the slowest one lacks


def cards_of(group: Group) -> Cards | None:
    """How the cards compare by themselves; None where that was not measured."""
    ranks = [(rank.alone_s, rank) for rank in group.ranks if rank.alone_s is not None]
    one_s = next((alone_s for alone_s, rank in ranks if rank.node == group.node), None)
    if one_s is None:
        return None
    alone = [alone_s for alone_s, _ in ranks]
    slowest_s = max(alone)
    return Cards(
        one_s=one_s,
        middle_s=median(alone),
        slowest_s=slowest_s,
        slowest=next(rank.rank for alone_s, rank in ranks if alone_s == slowest_s),
        differ=1 - min(alone) / slowest_s,
    )


def series(measurements: Sequence[Measurement]) -> tuple[Series, ...]:
    """Every question that was measured on one GPU and on several, in the order of the ones."""
    speeds = [m for m in measurements if m.status == "ok" and m.throughput and m.config.mode != "limit"]
    found = []
    for one in (m for m in speeds if m.config.gpus == 1):
        several = [m for m in speeds if m.config.gpus > 1 and same(one, m)]
        for how in dict.fromkeys(map(_how, several)):
            chosen = sorted((m for m in several if _how(m) == how), key=lambda m: m.config.gpus)
            found.append(Series(one=one, points=tuple(Point.of(one, m) for m in chosen)))
    return tuple(found)


def _how(m: Measurement) -> tuple[str, ...]:
    return m.config.scaling, m.config.switches.overlap_grads, m.config.switches.bucket


def same(one: Measurement, several: Measurement) -> bool:
    """Whether the two asked the same, but for the number of GPUs and how these exchange gradients."""
    switches = several.config.switches.exchanging_as(one.config.switches)
    alone = replace(several.config, gpus=1, nodes=1, scaling=one.config.scaling, switches=switches)
    return alone == one.config
