"""What was measured before, and how it sharpens a prediction: of this card, of this cell, or of another card.

    calibrated   time = predicted x factor, factor = exp(mean log(measured / predicted)) over measured steps
                 of the card, shrunk to 1 as n / (n + shrink); so is the width, to that of other cards
    limits       rate of a format = what a large product reached / what the model says of the same product,
                 share of bandwidth = measured copy / stated bandwidth
    transferred  items/s on Y = measured on X x predicted on Y / predicted on X, at the batch measured
    measured     the cell itself on this GPU: in the user's store, or by the project (`data/measured.csv`)

A measured cell is shown beside the prediction and never mixed with it: it is of one machine and one build
of software. A measurement at a small batch does not answer for the best batch: a decode step of 8 sequences
takes about as long as one of 64. It does where the batch matters less than the prediction's own error.

Only results that gpuwise measured count, on a device of the catalog, of workloads whose traces are at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, exp, log
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpuwise import store
from gpuwise.errors import GpuwiseError, InputError
from gpuwise.facts import catalog
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Interval, Measurement, Result
from gpuwise.predictor import trace_store
from gpuwise.predictor.card import Card, card
from gpuwise.predictor.kernels import BYTES, Products, Trace
from gpuwise.predictor.rates import LEVEL, MEASURED, Parameters, Rates, general, on_card
from gpuwise.predictor.step import halves_with, product_seconds, usual
from gpuwise.workloads import registry

Array = NDArray[np.float64]
# Of the square matrices of the product limit (`workloads.matmul`).
SIDE = 8192.0
# Of a transfer's half width, for each e-fold between the batch that was measured and the one that is asked.
_BATCH_WIDTH = 0.1
# Measured workloads that the prior weighs: they differ from each other as much as cards do.
_SHRINK = 4.0
# Of other cards' half width: a few lucky errors do not make a prediction certain.
_LEAST_WIDTH = 0.1


def with_limits(
    parameters: Parameters, card: Card, *, products: Mapping[str, float], copy: float | None = None
) -> Parameters:
    """Parameters with this card's measured limits as its own effects.

    `products` are FLOP/s of large matrix products by format, `copy` bytes/s read plus written. Raises
    InputError for a limit above the stated peak by more than 5 %: another card's file, or a wrong unit.
    """
    found, rates = dict(parameters), on_card(parameters, card)
    for dtype, reached in products.items():
        if dtype not in card.peaks:
            continue
        _check(reached, card.peak(dtype), f"FLOP/s in {dtype}", card)
        factor = reached / large_product(card, rates, dtype)
        # Once more: L2 and memory take their part of the time at any rate.
        factor *= reached / large_product(card, {**rates, f"format.{dtype}": factor}, dtype)
        # A factor that this card has and no other.
        found |= {f"format.{dtype}": 0.0, f"format.{dtype}@{card.id}": log(factor)}
    if copy is not None:
        _check(copy, card.bytes_per_s, "bytes/s", card)
        for name in {"memory", "stream"} & found.keys():
            effect = f"{name}@{card.id}"
            found[effect] = found.get(effect, 0.0) + log(copy / (card.bytes_per_s * rates[name]))
    return found


def large_product(card: Card, rates: Rates, dtype: str) -> float:
    """FLOP/s that the model predicts of the measured product, a square of `SIDE`."""
    side, size = np.array([SIDE]), np.array([BYTES[dtype]])
    work = Products(b=np.ones(1), m=side, n=side, k=side, size=size, out=np.maximum(size, 2.0))
    return float(2.0 * SIDE**3 / product_seconds(work, card, rates, dtype)[0])


def _check(reached: float, stated: float, unit: str, card: Card) -> None:
    if reached > 1.05 * stated:
        raise InputError(
            f"{reached:.3g} {unit} is above {card.id}'s {stated:.3g}",
            hint="use a file that was measured on this card, in operations or bytes a second",
        )


def own_factor(measured: Sequence[float] | Array, predicted: Sequence[float] | Array) -> float:
    """Factor on predictions of a card from workloads that were measured on it; 1 without any."""
    if not len(measured):
        return 1.0
    ratios = np.log(np.asarray(measured) / np.asarray(predicted))
    return exp(float(ratios.mean()) * len(ratios) / (len(ratios) + _SHRINK))


def own_width(relative: Sequence[float] | Array, level: float = LEVEL) -> float:
    """Factor on a half width from workloads measured on the card: `relative` are sizes of their errors over
    the half widths that other cards gave them. The conformal quantile, shrunk to 1; 1 without any."""
    sizes = np.sort(np.asarray(relative, dtype=float))
    if not len(sizes):
        return 1.0
    reached = max(float(sizes[min(len(sizes), ceil((len(sizes) + 1) * level)) - 1]), _LEAST_WIDTH)
    return exp(log(reached) * len(sizes) / (len(sizes) + _SHRINK))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredStep:
    """One measured step."""

    gpu_id: str
    cell: str
    batch: int
    version: int
    throughput: Interval
    where: str  # The file that holds it


def cell(config: RunConfig) -> str:
    """Its question at any batch, whosever kernels ran: predictions are of torch's, but for the decoding of
    one sequence."""
    own = config.switches.decode == "triton"
    return config.key("batch") if own else config.key("batch", "kernels")


def fastest_measured(config: RunConfig) -> Mapping[str, MeasuredStep]:
    """GPU -> the fastest measurement of the configuration's cell, by any name of its network, at its batch
    where it has one."""
    of, version = registry.network(config.workload), registry.get(config.workload).spec.version
    rest = cell(config).removeprefix(config.workload)
    found: dict[str, MeasuredStep] = {}
    for step in (*shipped(), *own()):
        if step.version != version or config.batch not in (None, step.batch):
            continue
        name = step.cell.removesuffix(rest)
        if name == step.cell or registry.network(name) != of:
            continue
        best = found.setdefault(step.gpu_id, step)
        if step.throughput.value > best.throughput.value:
            found[step.gpu_id] = step
    return found


@cache
def shipped() -> tuple[MeasuredStep, ...]:
    """Steps that the project measured (`python -m evaluation.predict.steps`)."""
    found = []
    for row in catalog.rows(MEASURED):
        value, low, high = (float(row[name]) for name in ("items_per_s", "low", "high"))
        found.append(MeasuredStep(
            gpu_id=row["gpu_id"], cell=row["cell"], batch=int(row["batch"]), version=int(row["version"]),
            throughput=Interval(value=value, low=low, high=high, method="measured"), where=row["file"],
        ))  # fmt: skip
    return tuple(found)


def answers(measured: Interval, there: Interval, best: Interval) -> bool:
    """Whether what was `measured` at one batch tells the speed at another, of which `there` and `best` are
    the predictions: where `best` gains less than its own error, or was reached already."""
    return best.value <= max(measured.value, there.value * best.high / best.value)


def own() -> tuple[MeasuredStep, ...]:
    """Steps of the results in the store; a file that cannot be read is no measurement."""
    return tuple(step for path in store.saved() for step in _read(path, path.stat().st_mtime_ns))


@cache
def _read(path: Path, _: int) -> tuple[MeasuredStep, ...]:
    try:
        return tuple(steps(store.load(path), path.name))
    except GpuwiseError:
        return ()


def steps(result: Result, where: str) -> Iterator[MeasuredStep]:
    """The measured steps of networks in a result, of the framework that predictions are for."""
    gpu_id = result.environment.gpu_id
    for m in result.measurements if result.origin == "measured" and gpu_id is not None else ():
        step = m.config.framework == "torch" and m.config.mode in ("train", "infer")
        if step and m.status == "ok" and m.throughput is not None and m.batch:
            yield MeasuredStep(
                gpu_id=str(gpu_id), cell=cell(m.config), batch=m.batch,
                version=m.workload_version, throughput=m.throughput, where=where,
            )  # fmt: skip


# Of the time at peak: 3 x 3 convolutions take 2.25 times fewer operations by Winograd's method.
_POSSIBLE = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a result of one card says of its other steps: a factor by its steps, else rates by its limits."""

    card_id: str
    factor: float = 1.0  # On the predicted time of a step
    width: float = 1.0
    """On the half width of its interval: how the card's networks scatter around what the others say."""
    steps: int = 0  # Measured steps that both are based on
    parameters: Parameters | None = None
    """With the measured limits as the card's own rates, where there were no steps."""

    @property
    def level(self) -> Literal["calibrated", "spec-only"]:
        """Limits alone have not been shown to narrow the errors: their interval stays as wide."""
        return "calibrated" if self.steps else "spec-only"

    def __str__(self) -> str:
        if self.steps:
            return f"calibrated by {self.steps} measured steps: time x {self.factor:.2f}"
        return "with the card's measured limits; they alone do not narrow the interval"


def calibration_of(result: Result, gpus: Sequence[str]) -> Calibration:
    """By how much the steps of `result` took longer than predicted for its card, one of `gpus`; where it
    holds none, its limits.

    Raises InputError for a result of another card, of nothing that helps, or of more than the peak allows.
    """
    own = card_of(result)
    if own.id not in gpus:
        raise InputError(
            f"{result.id} was measured on {own.id}, not on {' or '.join(gpus[:3])}",
            hint=f"predict {own.id}, or go from one card to another", code="other-card", gpu=own.id,
        )  # fmt: skip
    products, copy = _limits(result, "matmul"), _limits(result, "copy")
    if not list(_steps(result)) and products:
        limited = with_limits(general(), own, products=products, copy=copy.get("fp32"))
        return Calibration(card_id=own.id, parameters=limited)
    steps = steps_of(result, own)
    measured = np.array([trace.items / speed for _, speed, trace in steps])
    predicted = np.array([usual(trace, own).seconds for *_, trace in steps])
    networks = np.array([m.config.workload for m, _, _ in steps])
    errors = np.log(predicted / measured)
    for network in set(networks):  # of each, after the factor of the others
        mine = networks == network
        errors[mine] += log(own_factor(measured[~mine], predicted[~mine]))
    halves = np.array([halves_with(usual(trace, own), "calibrated") for *_, trace in steps])
    sizes = np.abs(errors) / np.where(errors > 0.0, *halves.T)  # those that were quicker, and slower
    width, factor = own_width(sizes), own_factor(measured, predicted)
    return Calibration(card_id=own.id, factor=factor, steps=len(steps), width=width)


def _limits(result: Result, workload: str) -> Mapping[str, float]:
    """The measured rate of a limit by precision."""
    return {
        m.config.precision: m.throughput.value
        for m in result.measurements
        if m.config.workload == workload and m.status == "ok" and m.throughput is not None
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A cell as measured on one card: by how much its prediction there is off. The measurement speaks for its
    own card first; all others are off by the same factor, so that it never changes their order."""

    source: Card
    factor: float  # On the predicted time of a step
    batch: int

    def apart(self, batch: int) -> float:
        """What the half width gains at another batch than the measured one, where the factor says less."""
        return _BATCH_WIDTH * abs(log(batch / self.batch))


def transfer_of(result: Result, config: RunConfig) -> Transfer:
    """The measurement of the configuration's cell in a result of another card, at the nearest batch.

    Raises InputError where the result does not hold the cell, and as `steps_of` does.
    """
    source = card_of(result)
    steps = steps_of(result, source)
    wanted = cell(replace(config, gpus=1))
    same = [step for step in steps if cell(step[0].config) == wanted]
    if not same:
        held = "; ".join(dict.fromkeys(m.config.label("batch") for m, _, _ in steps))
        problem = f"{result.id} does not hold {config.label('batch', 'recipe')}"
        raise InputError(problem, hint=f"ask for what it holds: {held}")
    _, speed, trace = min(same, key=lambda step: abs(log(step[2].batch / (config.batch or step[2].batch))))
    factor = trace.items / speed / usual(trace, source).seconds
    return Transfer(source=source, factor=factor, batch=trace.batch)


def card_of(result: Result) -> Card:
    """The card of a measured result. Raises InputError for published figures and an unknown device."""
    gpu_id = result.environment.gpu_id
    if result.origin != "measured":
        raise InputError(f"{result.id} holds published figures", hint="a result measured by gpuwise")
    if gpu_id is None:
        problem = f"{result.environment.device} is not in the catalog"
        raise InputError(problem, hint="see the catalog", code="catalog")
    return card(gpu_id)


def steps_of(result: Result, own: Card) -> list[tuple[Measurement, float, Trace]]:
    """The steps of a result that `own` measured, with their items a second and traces.

    Raises InputError where there is none whose trace is at hand (nothing is traced for this), and for a
    step that the card's peak does not allow: another card's file, or a wrong unit.
    """
    found = list(_steps(result))
    if not found:
        raise InputError(f"{result.id} holds no step that can be predicted", hint="measure one", code="bench")
    for m, speed, trace in found:
        # Seconds at the dense peak of each format; formats that the card lacks are left out.
        heavy = (k for k in trace.kernels if k.kind in ("matmul", "convolution", "attention"))
        least = sum(k.flop * k.count / own.peak(k.dtype) for k in heavy if k.dtype in own.peaks)
        if trace.items / speed < _POSSIBLE * least:
            what = f"{speed:.4g} {m.item}s/s of {m.config.key('batch')}"
            raise InputError(
                f"{result.id}: {what} is more than {own.id}'s peak allows",
                hint="a file that was measured on this card, in items a second",
            )
    return found


def _steps(result: Result) -> Iterator[tuple[Measurement, float, Trace]]:
    for m in result.measurements:
        # Of the others gpuwise's own decoding kernels need no trace.
        named = m.config.workload in registry.names() or m.config.switches.decode == "triton"
        built_in = named and m.config.size == "full"
        network = m.config.mode in ("train", "infer") and m.status == "ok" and m.config.framework == "torch"
        if not network or m.throughput is None or m.batch is None or not built_in:
            continue
        trace = trace_store.find(replace(m.config, batch=m.batch), m.workload_version)
        if trace is not None:
            yield m, m.throughput.value, replace(trace, replayed=m.config.replayed)
