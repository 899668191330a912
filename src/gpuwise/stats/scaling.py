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
its kind; against the middle one, the factor would be f * median a / a_1.

Two records are divided here and nowhere else. A ratio says something of one thing only where all else is
equal: the question (workload, mode, precision, compilation, recipe, switches, framework, input, number of
GPUs, batch), the GPU, where the figure is from and the session with its software, clocks and temperature.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from gpuwise.errors import InputError
from gpuwise.model.question import USUAL, Part
from gpuwise.model.result import Group, Interval, Measurement, Record
from gpuwise.stats.interval import ratio_of

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
    losses: Losses | None

    @property
    def gpus(self) -> int:
        return self.measurement.config.gpus

    @property
    def speedup(self) -> float:
        """Over one GPU."""
        return self.factor.value * self.gpus


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
    from gpuwise.stats.comparison import ratio_of_steps

    return ratio_of_steps(one, several).times(1 / several.config.gpus)


def losses(one: Measurement, several: Measurement) -> Losses | None:
    """Losses by cause; None where the ranks did not measure their steps alone."""
    if several.group is None or several.throughput is None or not several.items_per_step:
        return None
    cards = cards_of(several.group)
    if cards is None:
        return None
    common_s = several.items_per_step / several.throughput.value
    sharing = None
    if one.batch == several.batch and one.items_per_step and one.throughput is not None:
        # Tensor parallel, each has its part of the step; that parts are less efficient is lost here, too.
        parts = several.config.gpus if several.config.scaling == "tensor" else 1
        sharing = 1 - one.items_per_step / one.throughput.value / parts / cards.one_s
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
    series = []
    for one in (m for m in speeds if m.config.gpus == 1):
        several = [m for m in speeds if m.config.gpus > 1 and same(one, m)]
        for how in dict.fromkeys(map(_how, several)):
            chosen = sorted((m for m in several if _how(m) == how), key=lambda m: m.config.gpus)
            points = (Point(measurement=m, factor=factor(one, m), losses=losses(one, m)) for m in chosen)
            series.append(Series(one=one, points=tuple(points)))
    return tuple(series)


def _how(m: Measurement) -> tuple[str, ...]:
    return m.config.scaling, m.config.switches.overlap_grads, m.config.switches.bucket


def same(one: Measurement, several: Measurement) -> bool:
    """True if both answer one question, but for the number of GPUs and how these exchange gradients."""
    switches = several.config.switches.exchanging_as(one.config.switches)
    alone = replace(several.config, gpus=1, nodes=1, scaling=one.config.scaling, switches=switches)
    return alone == one.config


Condition = Part | Literal["gpu", "session", "origin"]


_AS_ASKED: tuple[Part, ...] = (
    "workload", "content", "mode", "precision", "compile", "framework", "input", "size", "batch",
)  # fmt: skip


class Incomparable(InputError):
    """Two records that differ in more than was asked for."""


def difference(a: Record, b: Record, ignoring: Collection[Condition] = ()) -> str:
    """The obstacle to dividing the two, such as `batch 64 and 256`; empty where there is none."""
    pairs: dict[Condition, tuple[object, object]] = {
        name: (getattr(a.question, name), getattr(b.question, name)) for name in _AS_ASKED
    }
    # Between stock and tuned the switches and the precision decide.
    pairs["recipe"] = a.question.base_recipe, b.question.base_recipe
    pairs["gpus"] = tuple((r.question.gpus, r.question.nodes, r.question.scaling) for r in (a, b))  # type: ignore[assignment]
    # How gradients are exchanged means nothing on one GPU.
    alone = "gpus" in ignoring
    pairs["switches"] = tuple(
        r.question.switches.exchanging_as(USUAL) if alone else r.question.switches for r in (a, b)
    )  # type: ignore[assignment]
    pairs |= {"gpu": (a.gpu_id, b.gpu_id), "origin": (a.origin, b.origin), "session": (a.session, b.session)}
    unlike = [f"{name} {x} and {y}" for name, (x, y) in pairs.items() if name not in ignoring and x != y]
    return ", ".join(unlike)


def ratio_between(a: Record, b: Record, *, ignoring: Collection[Condition] = ()) -> Interval:
    """Throughput of `b` over that of `a`. Raises Incomparable where they differ in what is not ignored, or
    one of them has no throughput."""
    if a.throughput is None or b.throughput is None:
        raise Incomparable(f"no throughput of {(b if a.throughput else a).question.label()} is known")
    if why := difference(a, b, ignoring):
        raise Incomparable(f"{a.question.label()} and {b.question.label()} differ in {why}")
    return ratio_of(a.throughput, b.throughput)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One question at several numbers of GPUs, each with the whole batch: one GPU first."""

    records: tuple[Record, ...]

    @property
    def one(self) -> Record:
        """The record of one GPU."""
        return self.records[0]

    def share(self, record: Record) -> Interval:
        """Its throughput over n times that of one GPU; 1 is perfect."""
        return ratio_between(self.one, record, ignoring=_apart(record)).times(1 / record.gpus)


def _apart(record: Record) -> tuple[Literal["gpus", "batch"], ...]:
    """What differs within a curve: publishers and predictions give each number of GPUs at its own best
    batch."""
    return ("gpus",) if record.origin == "measured" else ("gpus", "batch")


def curves(records: Iterable[Record], *, most: int | None = None) -> tuple[Curve, ...]:
    """Every question of one session or source that is answered for one GPU and for several, up to `most`.

    Measured ones agree in batch, recipe and switches too. Of one question and number the fastest counts.
    """
    groups: dict[tuple[object, ...], dict[int, Record]] = {}
    for record in records:
        question = record.question
        shared = question.gpus > 1 and question.scaling != "weak"
        if record.throughput is None or question.precision is None or shared or question.mode == "limit":
            continue
        if most is not None and question.gpus > most:
            continue
        switches = question.switches.exchanging_as(USUAL)
        same = (record.origin, record.gpu_id, record.session, question.key(*_apart(record)), switches)
        best = groups.setdefault(same, {})
        rival = best.get(question.gpus)
        if rival is None or record.value > rival.value:
            best[question.gpus] = record
    return tuple(
        Curve(records=tuple(by_count[n] for n in sorted(by_count)))
        for by_count in groups.values()
        if 1 in by_count and len(by_count) > 1
    )
