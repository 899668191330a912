"""The one place where two records are divided, and what has to agree before they may be.

A ratio says something of one thing only where all else is equal: the question (workload, mode, precision,
compilation, recipe, switches, framework, input, number of GPUs, batch), the GPU, where the figure is from
(measured, published, predicted) and the session with its software, clocks and temperature.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from gpuwise.errors import InputError
from gpuwise.model.question import Part
from gpuwise.model.recipe import USUAL
from gpuwise.model.record import Record
from gpuwise.model.result import Interval
from gpuwise.stats.interval import ratio_of

Condition = Part | Literal["gpu", "session", "origin"]


class Incomparable(InputError):
    """Two records that differ in more than was asked for."""


def difference(a: Record, b: Record, ignoring: Collection[Condition] = ()) -> str:
    """What keeps the two from being divided, such as `batch 64 and 256`; empty where nothing does."""
    pairs: dict[Condition, tuple[object, object]] = {
        name: (getattr(a.question, name), getattr(b.question, name))
        for name in (
            "workload", "content", "mode", "precision", "compile", "framework", "input", "size", "batch",
        )
    }  # fmt: skip
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
        found = ratio_between(self.one, record, ignoring=_ALONE if record.origin == "measured" else _STATED)
        return found.times(1 / record.gpus)


_ALONE: tuple[Condition, ...] = ("gpus",)
# Publishers and predictions give each number of GPUs at its own best batch.
_STATED: tuple[Condition, ...] = ("gpus", "batch")


def curves(records: Iterable[Record], *, most: int | None = None) -> tuple[Curve, ...]:
    """Every question of one session or source that is answered for one GPU and for several, up to `most`.

    Measured ones agree in batch, recipe and switches too. Of one question and number the fastest counts.
    """
    found: dict[tuple[object, ...], dict[int, Record]] = {}
    for record in records:
        asked = record.question
        shared = asked.gpus > 1 and asked.scaling == "strong"
        if record.throughput is None or asked.precision is None or shared or asked.mode == "limit":
            continue
        if most is not None and asked.gpus > most:
            continue
        ignored: tuple[Part, ...] = ("gpus",) if record.origin == "measured" else ("gpus", "batch")
        switches = asked.switches.exchanging_as(USUAL)
        same = (record.origin, record.gpu_id, record.session, asked.key(*ignored), switches)
        best = found.setdefault(same, {})
        rival = best.get(asked.gpus)
        if rival is None or rival.throughput is None or record.throughput.value > rival.throughput.value:
            best[asked.gpus] = record
    return tuple(
        Curve(records=tuple(by_count[n] for n in sorted(by_count)))
        for by_count in found.values()
        if 1 in by_count and len(by_count) > 1
    )
