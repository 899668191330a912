"""What was measured before and what it says of a prediction: of this card, of this cell, or of another card.

    calibrated   the steps of a result took `factor` times what was predicted for its card, and scatter around
                 that, which sets the width of the interval
    transferred  items/s here = items/s measured there x predicted here / predicted there
    measured     the cell itself, on this GPU

Only results that gpuwise measured count, on a device of the catalog, of workloads whose traces are at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpuwise.errors import InputError
from gpuwise.model.result import Measurement, Result
from gpuwise.model.run import RunConfig
from gpuwise.model.trace import Trace
from gpuwise.predict import cache, calibrate
from gpuwise.predict.card import Card, card
from gpuwise.predict.rates import Parameters, general
from gpuwise.predict.step import half_of, usual
from gpuwise.workloads import registry

Array = NDArray[np.float64]
_POSSIBLE = 0.4
"""Of the time at peak: 3 x 3 convolutions take 2.25 times fewer operations by Winograd's method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a result of one card says of its other steps: a factor by its steps, else rates by its limits."""

    card_id: str
    factor: float = 1.0
    """On the predicted time of a step."""
    width: float = 1.0
    """On the half width of its interval: how the card's networks scatter around what the others say."""
    steps: int = 0
    """Measured steps that both rest on."""
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
            hint=f"--gpu {own.id}, or --from FILE to go from one card to another",
        )
    products, copy = _limits(result, "matmul"), _limits(result, "copy")
    if not list(_steps(result)) and products:
        limited = calibrate.with_limits(general(), own, products=products, copy=copy.get("fp32"))
        return Calibration(card_id=own.id, parameters=limited)
    steps = steps_of(result, own)
    measured = np.array([trace.items / speed for _, speed, trace in steps])
    predicted = np.array([usual(trace, own).seconds for *_, trace in steps])
    networks = np.array([m.config.workload for m, _, _ in steps])
    return Calibration(
        card_id=own.id,
        factor=calibrate.own_factor(measured, predicted),
        steps=len(steps),
        width=calibrate.own_width(
            np.abs(_left_out(measured, predicted, networks))
            / np.array([half_of(trace, "calibrated") for *_, trace in steps])
        ),
    )


def _left_out(measured: Array, predicted: Array, networks: NDArray[np.str_]) -> Array:
    """Errors of each network after the factor of the others."""
    errors = np.log(predicted / measured)
    for network in set(networks):
        mine = networks == network
        errors[mine] += log(calibrate.own_factor(measured[~mine], predicted[~mine]))
    return np.asarray(errors)


def _limits(result: Result, workload: str) -> Mapping[str, float]:
    """The measured rate of a limit by precision."""
    return {
        m.config.precision: m.throughput.value
        for m in result.measurements
        if m.config.workload == workload and m.status == "ok" and m.throughput is not None
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A cell as measured on another card, with the other steps of that result as a reference."""

    source: Card
    speed: float
    """Items a second, measured."""
    trace: Trace
    """At the batch that was measured."""
    others: tuple[Trace, ...]

    def speed_on(self, target: Card, trace: Trace) -> float:
        """Items a second of `trace`, the same cell, on `target`."""
        here, there = _speed(self.trace, self.source), _speed(trace, target)
        reference = _reference(self.source, target, self.others)
        return float(calibrate.transferred(self.speed, here, there, reference))


def _speed(trace: Trace, card: Card) -> float:
    return trace.items / usual(trace, card).seconds


@lru_cache(maxsize=2**12)
def _reference(source: Card, target: Card, traces: tuple[Trace, ...]) -> float | None:
    """Median of log(target / source) over the steps that the target can run; None where it can run none."""
    ratios = [
        log(_speed(trace, target) / _speed(trace, source))
        for trace in traces
        if all(kernel.dtype in target.peaks for kernel in trace.kernels if kernel.kind == "matmul")
    ]
    return float(np.median(ratios)) if ratios else None


def transfer_of(result: Result, config: RunConfig) -> Transfer:
    """The measurement of the configuration's cell in a result of another card, at the nearest batch.

    Raises InputError where the result does not hold the cell, and as `steps_of` does.
    """
    source = card_of(result)
    steps = steps_of(result, source)
    cell = replace(config, gpus=1).key("batch", "kernels")
    same = [step for step in steps if step[0].config.key("batch", "kernels") == cell]
    if not same:
        held = ", ".join(dict.fromkeys(m.config.key("batch") for m, _, _ in steps))
        raise InputError(f"{result.id} does not hold {cell}", hint=f"it holds {held}")
    batch = config.batch
    _, speed, trace = min(same, key=lambda step: abs(log(step[2].batch / (batch or step[2].batch))))
    return Transfer(source=source, speed=speed, trace=trace, others=tuple(step[2] for step in steps))


def card_of(result: Result) -> Card:
    """The card of a measured result. Raises InputError for published figures and an unknown device."""
    gpu_id = result.environment.gpu_id
    if result.origin != "measured":
        raise InputError(f"{result.id} holds published figures", hint="a result of gpuwise bench")
    if gpu_id is None:
        raise InputError(f"{result.environment.device} is not in the catalog", hint="gpuwise gpus")
    return card(gpu_id)


def steps_of(result: Result, own: Card) -> list[tuple[Measurement, float, Trace]]:
    """The steps of a result that `own` measured, with their items a second and traces.

    Raises InputError where there is none whose trace is at hand (nothing is traced for this), and for a
    step that the card's peak does not allow: another card's file, or a wrong unit.
    """
    found = list(_steps(result))
    if not found:
        raise InputError(f"{result.id} holds no step that can be predicted", hint="gpuwise bench")
    for m, speed, trace in found:
        if trace.items / speed < _POSSIBLE * least_seconds(trace, own):
            what = f"{speed:.4g} {m.item}s/s of {m.config.key('batch')}"
            raise InputError(
                f"{result.id}: {what} is more than {own.id}'s peak allows",
                hint="a file that was measured on this card, in items a second",
            )
    return found


def least_seconds(trace: Trace, own: Card) -> float:
    """Seconds of a step at the dense peak of each format; formats that the card lacks are left out."""
    heavy = [k for k in trace.kernels if k.kind in ("matmul", "convolution", "attention")]
    return sum(k.flop * k.count / own.peak(k.dtype) for k in heavy if k.dtype in own.peaks)


def _steps(result: Result) -> Iterator[tuple[Measurement, float, Trace]]:
    for m in result.measurements:
        built_in = m.config.workload in registry.names() and m.config.size == "full"
        network = m.config.mode in ("train", "infer") and m.status == "ok" and m.config.framework == "torch"
        if not network or m.throughput is None or m.batch is None or not built_in:
            continue
        trace = cache.find(replace(m.config, batch=m.batch), m.workload_version)
        if trace is not None:
            yield m, m.throughput.value, trace
