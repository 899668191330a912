"""One configuration on GPUs that need not be here: speed, memory, watts, what bounds it, or why not.

Trace (`trace_store`), time and memory (`step`), what was measured before (`evidence`), and the exchange of
GPUs that train one network together, whose gradients are averaged after each step (Li et al. 2020):

    all-reduce = steps x latency + 2 (n - 1) / n x bytes / bandwidth        a ring (Patarasu & Yuan 2009)
    exposed    = last bucket + what the rest takes longer than the backward pass it overlaps with
    crowding   = share x what is hidden                       units and bandwidth that the exchange takes
    copies     = gradients x a copy's time                    each goes to its bucket by a kernel of its own
    cuts       = (buckets - 1) x 4 x activation / memory bandwidth        of compiled graphs
    waiting    = step x spread x E[largest of n standard normals]               the slowest sets the pace

Gradients travel in buckets of 25 MiB as soon as the backward pass has made them; only the last waits.
Alone, a GPU keeps each where it was made; here it is divided and copied to its bucket (PyTorch,
`reducer.cpp`). A compiler cuts its graphs at the buckets, and what a cut hands on is written and read once
more, forward and backward (PyTorch, `torch._dynamo.backends.distributed`, DDPOptimizer). Where the state of
training does not fit one GPU it is split (Zhao et al. 2023, "PyTorch FSDP"): weights, also those that do
not learn, are gathered block by block before each of two passes and gradients scattered, each (n - 1) / n
of their bytes. Inference runs apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache as once
from functools import lru_cache
from itertools import takewhile
from math import hypot, log
from statistics import NormalDist

import numpy as np

from gpuwise.errors import InputError, NoDataError, check_wanted
from gpuwise.facts import catalog
from gpuwise.model import units
from gpuwise.model.question import BATCH_GAIN, STATE_ROOM, RunConfig
from gpuwise.model.result import Bound, Issue, Record, Result
from gpuwise.model.result import refused as refused_by
from gpuwise.predictor import evidence, rates, trace_store
from gpuwise.predictor.card import MOST, Card, bus, card
from gpuwise.predictor.kernels import INTENSITY, KEPT_TRACES, Memory, Trace, of_trace
from gpuwise.predictor.rates import around, scaling_half, usual
from gpuwise.predictor.step import (
    KEPT_STEPS,
    MIB,
    Evidence,
    MemoryNeed,
    Step,
    fits_in_memory,
    free_bytes,
    latency,
    memory_seconds,
    step,
)
from gpuwise.workloads import registry

# Probability of fitting that a batch must have to be chosen.
LIKELY = 0.9
# Below it, a batch that was asked for does not fit.
FITS = 0.5
TOGETHER = " dies together; software shows each as a GPU of its own"
# Share of a step in kernels like which none was measured, beyond which it is an order of magnitude.
MOST_NEW = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What every card is asked: the configuration, its traces, and what was measured before."""

    config: RunConfig
    item: str  # What throughput counts
    series: trace_store.Series
    count: int
    calibration: evidence.Calibration | None = None
    transfer: evidence.Transfer | None = None

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
    trace_store.check_offered(config)
    if count < 1 or (batch is not None and batch < 1):
        raise InputError("a batch and a number of GPUs are at least 1", hint="such as 1")
    ids = tuple(dict.fromkeys(_id(gpu) for gpu in gpus))
    config = replace(config, gpus=count, batch=batch or config.batch)
    series = plain = trace_store.series(replace(config, gpus=1))
    if config.replayed:
        series = replace(plain, at=once(lambda batch: replace(plain.at(batch), replayed=True)))
    asked = Inputs(
        config=config, item=registry.get(config.workload).spec.item, series=series, count=count,
        calibration=evidence.calibration_of(calibration, ids) if calibration is not None else None,
        transfer=evidence.transfer_of(source, config) if source is not None else None,
    )  # fmt: skip
    # Rows of measured.csv do not say whether a graph replayed the step.
    measured = {} if config.replayed else evidence.fastest_measured(config)
    return tuple(_beside(asked, _predict(asked, gpu), measured.get(gpu)) for gpu in ids)


def forecast_trace(
    trace: Trace, config: RunConfig, gpus: Sequence[str], *, item: str, count: int = 1
) -> tuple[Record, ...]:
    """Predict a step that is traced already, at its own batch. Raises InputError for an unknown GPU."""
    trace = replace(trace, replayed=config.replayed)
    asked = Inputs(
        config=replace(config, gpus=count, batch=trace.batch), item=item, count=count,
        series=trace_store.Series((trace.batch,), trace.batch, lambda _: trace),
    )  # fmt: skip
    return tuple(_predict(asked, gpu) for gpu in dict.fromkeys(_id(gpu) for gpu in gpus))


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


def _beside(asked: Inputs, p: Record, found: evidence.MeasuredStep | None) -> Record:
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


def _answers(asked: Inputs, p: Record, found: evidence.MeasuredStep) -> bool:
    """Whether a measurement tells the speed at the prediction's batch."""
    if p.throughput is None or p.batch == found.batch:
        return True
    nearest = min(asked.series.batches, key=lambda batch: abs(log(batch / found.batch)))
    on = card(p.gpu_id)
    there = _record(asked, p, _timed(asked, on, _need(asked, on, nearest))).throughput
    return there is not None and evidence.answers(found.throughput, there, p.throughput)


def _predict(asked: Inputs, gpu: str) -> Record:
    """One GPU, at the batch that a measurement would choose: the smallest that is as fast as any larger one.
    What no source states is a refusal."""
    blank = Record(question=asked.config, gpu_id=gpu, item=asked.item, origin="predicted", basis="spec-only")
    check_wanted()
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
    split: bool  # Whether the state of training is spread over the GPUs
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
    own: evidence.Calibration | None
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


@lru_cache(maxsize=KEPT_STEPS)  # As many GPUs as asked for, each takes the step of one
def _alone(trace: Trace, found: Card, own: rates.Operators | None) -> Step:
    """The step by what is known in general, and `own` of what was calibrated on the card."""
    return step(trace, found)


def _timed(asked: Inputs, found: Card, need: Need) -> Timed:
    own = asked.calibration if asked.calibration and asked.calibration.card_id == found.id else None
    transfer, trace = asked.transfer, need.trace
    if own is not None:
        alone = step(
            trace, found, parameters=own.parameters, evidence=own.level, factor=own.factor, width=own.width
        )
    elif transfer is None:
        alone = _alone(trace, found, rates.of_card(found.id))
    else:
        # The card that was measured is known best; the others by how far its prediction was off.
        level: Evidence = "calibrated" if transfer.source.id == found.id else "transferred"
        alone = step(
            trace, found, evidence=level, factor=transfer.factor, apart=transfer.apart(trace.batch),
            source=transfer.source,
        )  # fmt: skip
    shared = exchange(need.trace, found.id, alone.seconds, asked.count, split=need.split)
    return Timed(need, own, alone, shared, asked.count)


def _record(asked: Inputs, blank: Record, at: Timed) -> Record:
    """The prediction at one batch."""
    alone, shared, space = at.alone, at.shared, at.need.space
    issues, speed = _issues(card(blank.gpu_id), alone), alone.throughput
    # An order of magnitude from end to end, whatever kernels of other cards say.
    least, scaling = log(10) / 2 if issues else 0.0, scaling_half() if shared.total else 0.0
    above, below = (
        max(least, hypot(log(ratio), scaling))
        for ratio in (speed.high / speed.value, speed.value / speed.low)
    )
    # Of the step's time with what is waited for the other GPUs.
    whole = alone.seconds + shared.seconds
    parts: list[tuple[Bound, float]] = [(name, s * alone.seconds / whole) for name, s in alone.shares]
    parts += [("link", shared.seconds / whole)] if shared.seconds else []
    shares = tuple(sorted(parts, key=lambda pair: -pair[1]))
    waiting = min(1.0, WAITING_SHARE * card(blank.gpu_id).power_w / alone.watts.value)
    drawn = 1.0 - shared.idle / whole * (1.0 - waiting)
    return replace(
        blank, question=replace(blank.question, batch=at.need.trace.batch), seconds=at.seconds,
        throughput=around(at.speed, above, below=below, method=speed.method),
        memory_bytes=space.peak if space else None, fits_probability=space.fits if space else None,
        watts=alone.watts.times(asked.count * drawn), shares=shares, bound=shares[0][0], basis=alone.evidence,
        issues=issues, notes=_notes(card(blank.gpu_id), at),
    )  # fmt: skip


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
        why = f"order of magnitude only: too few networks measured on cards of {found.vendor} are known"
    else:
        return ()
    return (Issue.warning("order-of-magnitude", why, "measure one on the card"),)


def _notes(found: Card, at: Timed) -> tuple[str, ...]:
    """What stands behind the figures."""
    trace, split, own, shared = at.need.trace, at.need.split, at.own, at.shared
    gain = at.count * at.alone.seconds / at.seconds
    notes = []
    if of_trace(trace).cold.any():
        notes.append(
            "by gpuwise's own decoding kernels; engines are slower: gpuwise fit, predict served:NAME"
        )
    if found.dies > 1:
        notes.append(f"of the whole card, {found.dies}{TOGETHER}")
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
    if of_trace(trace).routed.any():
        notes.append("assumed that rows choose all experts evenly")
    if at.need.space is None:
        notes.append("memory is not known: the trace has no lifetimes")
    return tuple(notes)


# Of one step of the ring: 1 MiB among eight A100 takes 0.10 ms in nccl-tests.
LATENCY_S = 6e-6
BUCKET = 25 * MIB
# Standard deviation of the step times of equal GPUs, as a share (a physical prior, not fitted).
SPREAD = 0.01
# Of a GPU that an exchange takes from what runs beside it: up to 24 of some 130 units, and memory traffic
# of about three times its bytes (physical prior, not fitted).
CROWDED = 0.3
# Of the power limit, of a GPU that exchanges or waits for others: two H200 settled at 0.22 to 0.26 of theirs
# (`results/h200/limits-two.json`).
WAITING_SHARE = 0.24
# Share of the weights that is whole at a time while they are split: two of some dozen blocks.
GATHERED = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What several GPUs add to a step."""

    seconds: float  # That no computation hides
    total: float  # Of the exchange itself
    idle: float = 0.0  # Of these seconds those in which nothing is computed, however slowly
    how: str = ""


def exchange(trace: Trace, gpu: str, seconds: float, count: int, *, split: bool = False) -> Exchange:
    """What `count` GPUs with the id `gpu` add to the step of `trace` that takes one of them `seconds`;
    `split` where each holds a part of the state.

    Raises NoDataError where the link is not known: of some cards, and between machines.
    """
    if count == 1 or trace.mode != "train" or trace.memory is None:
        return Exchange(seconds=0.0, total=0.0)
    if count > MOST:
        raise NoDataError(f"{count} GPUs span machines, and what joins those is not known")
    rate, how = bus(gpu, count)
    averaged = all_reduce(trace.memory.gradients, rate, count)
    # Gathering or scattering once is half of an all-reduce.
    total = all_reduce(trace.memory.parameters, rate, count) + averaged / 2 if split else averaged
    last, hidden = min(trace.memory.gradients, BUCKET), 1.0 if split else backward_share(trace)
    exposed = all_reduce(last, rate, count)
    exposed += max(0.0, total - exposed - seconds * hidden)
    slowed = CROWDED * (total - exposed)
    if not split:
        one = card(gpu)
        slowed += copies(trace.memory, one) + cuts(trace, one.bytes_per_s)
    idle = exposed + seconds * SPREAD * slowest(count)
    return Exchange(seconds=idle + slowed, total=total, idle=idle, how=how)


def copies(memory: Memory, card: Card) -> float:
    """Seconds in which every gradient is read and written once more, each by a kernel of its own."""
    if not memory.gradient_count:
        return 0.0
    each, on = np.array([2.0 * memory.gradients / memory.gradient_count]), usual(card)
    return memory.gradient_count * (float(memory_seconds(each, card, on)[0]) + latency(card, on["launch"]))


@lru_cache(maxsize=KEPT_TRACES)
def cuts(trace: Trace, bytes_per_s: float) -> float:
    """Seconds that a compiled step loses where its graphs are cut at the buckets; 0 in eager mode."""
    handed = [
        (k.count, k.bytes_written)
        for k in trace.kernels
        if k.phase == "forward" and k.kind in ("matmul", "convolution")
    ]
    if not trace.compiled or not handed or trace.memory is None:
        return 0.0
    usual = sum(count * size for count, size in handed) / sum(count for count, _ in handed)
    return max(0.0, trace.memory.gradients / BUCKET - 1.0) * 4.0 * usual / bytes_per_s


def is_split(trace: Trace, memory_bytes: float, count: int) -> bool:
    """Whether the state of training is too large for each of `count` GPUs to hold it whole."""
    if count == 1 or trace.mode != "train" or trace.memory is None:
        return False
    return _state(trace.memory) + trace.memory.gradients > STATE_ROOM * memory_bytes


def beside(trace: Trace, count: int, *, split: bool) -> float:
    """Bytes that each of several GPUs holds beside (or, split, less than) one that trains alone.

    Replicated, the gradients stay in their buckets through the whole step: once more at most.
    """
    if count == 1 or trace.mode != "train" or trace.memory is None:
        return 0.0
    if not split:
        return trace.memory.gradients
    return GATHERED * trace.memory.parameters - (1.0 - 1.0 / count) * _state(trace.memory)


def _state(memory: Memory) -> float:
    return memory.parameters + memory.gradients + memory.optimiser


def slowest(count: int) -> float:
    """Expected largest of `count` standard normal numbers (Blom 1958: within 2 % up to eight)."""
    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


@lru_cache(maxsize=KEPT_TRACES)
def backward_share(trace: Trace) -> float:
    """Share of the step that is its backward pass, bytes weighed as what a card computes meanwhile."""
    work = [
        (k.phase, (k.flop + INTENSITY * (k.bytes_read + k.bytes_written)) * k.count) for k in trace.kernels
    ]
    total = sum(amount for _, amount in work) or 1.0
    return sum(amount for phase, amount in work if phase == "backward") / total


def all_reduce(size: float, rate: float, count: int) -> float:
    """Seconds of a ring all-reduce of `size` bytes over `rate` bytes/s each way."""
    return 2 * (count - 1) * (LATENCY_S + size / count / rate)
