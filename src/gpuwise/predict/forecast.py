"""One configuration on GPUs that need not be here: speed, memory, watts, what bounds it, or why not.

Everything of a prediction comes together here: the trace (`trace_store`), the time of its kernels (`step`),
what was measured before (`evidence`), memory (`memory`) and several GPUs (`collectives`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache as once
from itertools import takewhile
from math import hypot, log

from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.model import units
from gpuwise.model.issue import Issue
from gpuwise.model.record import Bound, Record
from gpuwise.model.record import refused as refused_by
from gpuwise.model.result import Result
from gpuwise.model.run import RunConfig
from gpuwise.model.trace import Trace
from gpuwise.model.workload import BATCH_GAIN
from gpuwise.predict import trace_store
from gpuwise.predict.card import Card, card
from gpuwise.predict.collectives import Exchange, beside, exchange, is_split
from gpuwise.predict.evidence import (
    Calibration,
    MeasuredStep,
    Transfer,
    answers,
    calibration_of,
    fastest_measured,
    transfer_of,
)
from gpuwise.predict.interval import around, scaling_half
from gpuwise.predict.memory import MemoryNeed, fits_in_memory, free_bytes
from gpuwise.predict.step import Evidence, Step, step
from gpuwise.workloads import registry

# Probability of fitting that a batch must have to be chosen.
LIKELY = 0.9
# Below it, a batch that was asked for does not fit.
FITS = 0.5
# Share of a step in kernels like which none was measured, beyond which it is an order of magnitude.
MOST_NEW = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What every card is asked: the configuration, its traces, and what was measured before."""

    config: RunConfig
    item: str
    """What throughput counts."""
    series: trace_store.Series
    count: int
    calibration: Calibration | None = None
    transfer: Transfer | None = None

    @property
    def least(self) -> float:
        """Probability of fitting that a batch must have."""
        return LIKELY if len(self.series.batches) > 1 else FITS


def forecast(
    config: RunConfig, gpus: Sequence[str], *, count: int = 1, batch: int | None = None,
    calibration: Result | None = None, source: Result | None = None,
) -> tuple[Record, ...]:  # fmt: skip
    """Predict `config` on `count` of each of `gpus`, at `batch` items a GPU or at the best that fits.

    `calibration` is a result of one of the GPUs, `source` one of another GPU that holds the same cell. A GPU
    that cannot be predicted has its reason in `refusal`. Raises InputError for an unknown GPU or workload, a
    mode or precision that the workload does not have, or a result that is of no use; MachineError where
    tracing needs torch and it is missing.
    """
    _check(config, count, batch)
    ids = tuple(dict.fromkeys(_id(gpu) for gpu in gpus))
    config = replace(config, gpus=count, batch=batch or config.batch)
    asked = Inputs(
        config=config, item=registry.get(config.workload).spec.item,
        series=trace_store.series(replace(config, gpus=1)), count=count,
        calibration=calibration_of(calibration, ids) if calibration is not None else None,
        transfer=transfer_of(source, config) if source is not None else None,
    )  # fmt: skip
    measured = fastest_measured(config)
    return tuple(_beside(asked, _predict(asked, gpu), measured.get(gpu)) for gpu in ids)


def forecast_trace(
    trace: Trace, config: RunConfig, gpus: Sequence[str], *, item: str, count: int = 1
) -> tuple[Record, ...]:
    """Predict a step that is traced already, at its own batch. Raises InputError for an unknown GPU."""
    asked = Inputs(
        config=replace(config, gpus=count, batch=trace.batch), item=item, count=count,
        series=trace_store.Series((trace.batch,), trace.batch, lambda _: trace),
    )  # fmt: skip
    return tuple(_predict(asked, gpu) for gpu in dict.fromkeys(_id(gpu) for gpu in gpus))


def _check(config: RunConfig, count: int, batch: int | None) -> None:
    spec = registry.get(config.workload).spec
    for given, allowed, what in (
        (config.mode, spec.modes, "mode"), (config.precision, spec.precisions, "precision"),
    ):  # fmt: skip
        if given not in allowed:
            raise InputError(
                f"{config.workload} has no {what} {given}, only {', '.join(allowed)}",
                hint=f"such as {what} {allowed[0]}",
                code="predict-with",
                workload=config.workload,
                option=what,
                value=str(allowed[0]),
            )
    if count < 1 or (batch is not None and batch < 1):
        raise InputError("a batch and a number of GPUs are at least 1", hint="such as 1")


def _id(gpu: str) -> str:
    """The id of a GPU: of the catalog, or of the few beside it that only predictions know."""
    try:
        return card(gpu).id
    except NoDataError:
        return catalog.find(gpu).id


@once
def laptops() -> frozenset[str]:
    """GPUs that are soldered into laptops."""
    return frozenset(spec.id for spec in catalog.all_gpus() if spec.text("form") == "laptop")


def _beside(asked: Inputs, p: Record, found: MeasuredStep | None) -> Record:
    """The prediction with what was measured of it, where it was; at a batch that says little, as a note."""
    if found is None:
        return p
    if not _answers(asked, p, found):
        speed = f"{units.significant(found.throughput.value)} {p.item}s/s"
        note = f"{speed} were measured at batch {found.batch}, too small to tell the best: {found.where}"
        return replace(p, notes=(*p.notes, note))
    note = f"measured at batch {found.batch}: {found.where}"
    own = replace(
        p, question=replace(p.question, batch=found.batch), origin="measured", basis="measured",
        throughput=found.throughput, notes=(found.where,),
    )  # fmt: skip
    return replace(p, measured=own, basis="measured", notes=(*p.notes, note))


def _answers(asked: Inputs, p: Record, found: MeasuredStep) -> bool:
    """Whether a measurement tells the speed at the prediction's batch."""
    if p.throughput is None or p.batch == found.batch:
        return True
    nearest = min(asked.series.batches, key=lambda batch: abs(log(batch / found.batch)))
    on = card(p.gpu_id)
    there = _record(asked, p, _timed(asked, on, _need(asked, on, nearest))).throughput
    return there is not None and answers(found.throughput, there, p.throughput)


def _predict(asked: Inputs, gpu: str) -> Record:
    """One GPU, at the batch that a measurement would choose: the smallest that is as fast as any larger one.
    What no source states is a refusal."""
    blank = Record(question=asked.config, gpu_id=gpu, item=asked.item, origin="predicted", basis="spec-only")
    try:
        found = card(gpu)
        if asked.count > 1 and found.id in laptops():
            raise NoDataError("a laptop holds one GPU")
        fitting = _fitting(asked, found)
        if not fitting:
            return _too_large(asked, blank, _need(asked, found, asked.series.batches[0]), found)
        timed = [_timed(asked, found, need) for need in fitting]
        fastest = max(each.speed for each in timed)
        return _record(asked, blank, next(each for each in timed if each.speed * BATCH_GAIN >= fastest))
    except NoDataError as refused:
        return replace(blank, issues=refused_by(str(refused)))


@dataclass(frozen=True, slots=True)
class Need:
    """What one batch takes of a card's memory."""

    trace: Trace
    split: bool
    """Whether the state of training is spread over the GPUs."""
    space: MemoryNeed | None


def _need(asked: Inputs, found: Card, batch: int) -> Need:
    trace = asked.series.at(batch)
    split = is_split(trace, found.memory_bytes, asked.count)
    return Need(trace, split, fits_in_memory(trace, found, more=beside(trace, asked.count, split=split)))


def _fitting(asked: Inputs, found: Card) -> list[Need]:
    """The batches that fit: from the workload's default on all, below it the largest alone; or none."""

    def fits(need: Need) -> bool:
        return need.space is None or need.space.fits >= asked.least

    measured = asked.transfer.batch if asked.transfer is not None else None
    if measured in asked.series.batches and fits(same := _need(asked, found, measured)):
        return [same]  # at another batch the measurement says less
    # Memory grows with the batch, so the walk ends at the first that does not fit, or that does.
    batches, start = asked.series.batches, asked.series.start
    upward = (_need(asked, found, batch) for batch in batches if batch >= start)
    if usual := list(takewhile(fits, upward)):
        return usual
    downward = (_need(asked, found, batch) for batch in reversed(batches) if batch < start)
    return [need for need in (next(filter(fits, downward), None),) if need is not None]


@dataclass(frozen=True, slots=True)
class Timed:
    """One batch on a card with its time: what decides between batches."""

    need: Need
    own: Calibration | None
    alone: Step
    shared: Exchange
    count: int

    @property
    def seconds(self) -> float:
        """Of a step, with what it waits for the other GPUs."""
        return self.alone.seconds + self.shared.seconds

    @property
    def speed(self) -> float:
        """Items a second of all GPUs together."""
        return self.count * self.need.trace.items / self.seconds


def _timed(asked: Inputs, found: Card, need: Need) -> Timed:
    own = asked.calibration if asked.calibration and asked.calibration.card_id == found.id else None
    alone = _alone(need.trace, found, own, asked.transfer)
    shared = exchange(need.trace, found.id, alone.seconds, asked.count, split=need.split)
    return Timed(need, own, alone, shared, asked.count)


def _record(asked: Inputs, blank: Record, at: Timed) -> Record:
    """The prediction at one batch."""
    alone, shared, space = at.alone, at.shared, at.need.space
    half = hypot(log(alone.throughput.high / alone.throughput.value), scaling_half() if shared.total else 0.0)
    issues = _issues(card(blank.gpu_id), alone)
    if issues:
        # An order of magnitude from end to end, whatever kernels of other cards say.
        half = max(half, log(10) / 2)
    shares = _shares(alone, shared)
    return replace(
        blank, question=replace(blank.question, batch=at.need.trace.batch), seconds=at.seconds,
        throughput=around(at.speed, half, method=alone.throughput.method),
        memory_bytes=space.peak if space else None, fits_probability=space.fits if space else None,
        watts=alone.watts.times(asked.count), shares=shares, bound=shares[0][0], basis=alone.evidence,
        issues=issues, notes=_notes(at),
    )  # fmt: skip


def _alone(trace: Trace, found: Card, own: Calibration | None, transfer: Transfer | None) -> Step:
    """The step on one GPU, sharpened by what was measured."""
    if own is not None:
        return step(
            trace, found, parameters=own.parameters, evidence=own.level, factor=own.factor, width=own.width
        )
    if transfer is None:
        return step(trace, found)
    # The card that was measured is known best; the others by how far its prediction was off.
    level: Evidence = "calibrated" if transfer.source.id == found.id else "transferred"
    return step(trace, found, evidence=level, factor=transfer.factor, apart=transfer.apart(trace.batch))


def _shares(alone: Step, shared: Exchange) -> tuple[tuple[Bound, float], ...]:
    """Shares of the step's time with what is waited for the other GPUs."""
    whole = alone.seconds + shared.seconds
    found: list[tuple[Bound, float]] = [(name, s * alone.seconds / whole) for name, s in alone.shares]
    if shared.seconds:
        found.append(("link", shared.seconds / whole))
    return tuple(sorted(found, key=lambda pair: -pair[1]))


def _too_large(asked: Inputs, blank: Record, need: Need, found: Card) -> Record:
    trace, space = need.trace, need.space
    assert space is not None
    # Rounded apart, so that what lacks a little does not look equal.
    tenth = 2**30 / 10
    needed = units.gibibytes(math.ceil(space.peak.value / tenth) * tenth)
    free = units.gibibytes(math.floor(free_bytes(found) / tenth) * tenth)
    why = f"it allocates {needed}, {found.id} leaves {free} of {units.gibibytes(found.memory_bytes)}"
    if asked.count > 1 and not need.split:
        why += f"; each of the {asked.count} holds the whole model"
    return replace(
        blank, question=replace(blank.question, batch=trace.batch), memory_bytes=space.peak,
        fits_probability=space.fits, issues=refused_by(f"batch {trace.batch} does not fit: {why}"),
    )  # fmt: skip


def _issues(found: Card, alone: Step) -> tuple[Issue, ...]:
    """What keeps a figure from being read like the others: no step of another vendor's cards was fitted, or
    most of the step is in kernels like which none was measured."""
    if alone.evidence != "spec-only":
        return ()
    if alone.new > MOST_NEW:
        why = (
            f"order of magnitude only: {alone.new:.0%} of the step is in kernels like which none was measured"
        )
    elif found.vendor != "NVIDIA":
        why = f"order of magnitude only: no network measured on a card of {found.vendor} is known"
    else:
        return ()
    return (Issue(code="order-of-magnitude", severity="warning", detail=why, fix="measure one on the card"),)


def _notes(at: Timed) -> tuple[str, ...]:
    """What stands behind the figures."""
    trace, split, own, shared = at.need.trace, at.need.split, at.own, at.shared
    gain = at.count * at.alone.seconds / at.seconds
    notes = []
    if own is not None:
        notes.append(str(own))
    if shared.how:
        what = "weights and gradients, split over the GPUs," if split else "gradients"
        total, waited = units.seconds(shared.total), units.seconds(shared.seconds)
        notes.append(f"{what} over {shared.how}: {total} of exchange; {waited} are waited for others")
    if gain < 1.0 and not split:
        notes.append(f"slower than one alone: {units.significant(gain)} times its speed")
    if trace.unknown:
        notes.append(f"without the time of {', '.join(trace.unknown[:3])}: no cost is known")
    notes += trace.notes[:3]
    if at.need.space is None:
        notes.append("memory is not known: the trace has no lifetimes")
    return tuple(notes)
