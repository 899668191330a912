"""Measure single operators on this machine's GPU, so that predictions of any network there use them.

- ratio of a case: measured / predicted, over the same of the H200 on which classes were fitted, so that what
  a lone operator says otherwise than one within a step counts on neither;
- factor of a class: exp(mean log ratio) over its cases, drawn to that of the class above it as n / (n + 2);
- factor of the host: its measured launch, the mean of the middle half of readings between the cases, over
  that of the usual host.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from math import exp, log

import numpy as np

from gpuwise.errors import GpuwiseError, InputError, MachineError
from gpuwise.model import units
from gpuwise.model.result import grouped
from gpuwise.predictor import rates
from gpuwise.predictor.card import Card, card
from gpuwise.predictor.kernels import Kernel, arrays, path
from gpuwise.predictor.step import kernel_seconds
from gpuwise.show.table import Answer, Table
from gpuwise.store import write

# Seconds that an H200 takes for all cases, recording them included.
USUAL_S = 150.0
FAILED_SHOWN = 3
# Cases from one reading of the host's launch to the next.
READ_EVERY = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateRequest:
    """The GPU of this machine, which is of the catalog."""

    gpu: str | None = None
    """Its name where the driver's is not enough; on a machine without a GPU, the card to pretend to be."""
    time_s: float = USUAL_S  # Cases that do not fit are left out; their order is random, and always the same
    device: str = "cuda"  # `cpu` measures on the processor: a rehearsal, whose factors are of no use
    only: tuple[str, ...] = ()  # Cases whose name begins with one of these; empty = all
    keep: bool = True  # Write the factors to the user's folder, where predictions find them


def calibrate(request: CalibrateRequest) -> Answer[Mapping[str, object]]:
    """Time the operators of every kernel class for two to three minutes, and keep the factors of this card.

    Raises MachineError without torch or a GPU, InputError for a GPU that is not in the catalog and for a name
    in `only` with which no case begins.
    """
    if find_spec("torch") is None:
        raise MachineError("calibration needs torch", hint="pip install 'gpuwise[torch]'")
    from gpuwise.predictor.trace import trace_operator
    from gpuwise.workloads import operators

    cases = list(operators.cases())
    unknown = [name for name in request.only if not any(case.name.startswith(name) for case in cases)]
    if unknown:
        classes = ", ".join(sorted({case.name.partition(" ")[0] for case in cases}))
        problem = f"no class of operators is called {' or '.join(map(repr, unknown))}"
        raise InputError(problem, hint=f"one of {classes}")
    software = operators.software(request.device)
    name = request.gpu or (software["device"] if request.device == "cuda" else None)
    if name is None:
        raise InputError("no GPU to calibrate", hint="name one", code="name-gpu")
    gpu, began = card(name), time.monotonic()
    launches: list[float] = []
    measured: dict[str, float] = {}
    failed: dict[str, str] = {}
    kernels: dict[str, tuple[Kernel, ...]] = {}
    chosen = [case for case in cases if not request.only or case.name.startswith(request.only)]
    for done, case in enumerate(chosen):
        if time.monotonic() - began > request.time_s:
            break
        if done % READ_EVERY == 0:
            launches.append(operators.launch_seconds(request.device))
        timed = operators.measure(case, request.device)
        if timed.error:  # such as what does not fit a small card's memory
            failed[case.name] = timed.error
            continue
        try:
            kernels[case.name] = trace_operator(case.make).kernels
            measured[case.name] = timed.seconds
        except GpuwiseError as error:
            failed[case.name] = str(error)
    if not measured:
        why = next(iter(failed.values()), "the time was too short")
        raise MachineError(f"no operator could be timed: {why}", hint="see why", code="doctor")
    card_operators = fitted(gpu, rates.steady(launches), measured, kernels)
    about = {
        **software,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "seconds": round(time.monotonic() - began, 1),
        "failed": failed,
        "rows": {name: round(seconds, 9) for name, seconds in measured.items()},
    }
    document = rates.operators_document(card_operators, about)
    if request.keep:
        place = rates.file_of(gpu.id)
        place.parent.mkdir(parents=True, exist_ok=True)
        write((json.dumps(document, indent=1) + "\n").encode(), place)
        rates.forget()
    return Answer(
        value=document,
        to_data=lambda: document,
        to_table=lambda: Table.of(
            [
                {"class": node, "time against the H200's model": f"x{factor:.2f}"}
                for node, factor in sorted(card_operators.factors.items())
                if " " not in node
            ],
            title=f"{gpu.id}: {card_operators.cases} operators in {units.seconds(time.monotonic() - began)}",
            notes=(
                f"the host takes x{card_operators.host:.2f}",
                f"predictions of {gpu.id} use this from now on" if request.keep else "a rehearsal: not kept",
                *(f"{name} failed: {why}" for name, why in list(failed.items())[:FAILED_SHOWN]),
                *([f"{len(failed) - FAILED_SHOWN} more failed"] if len(failed) > FAILED_SHOWN else []),
            ),
        ),
    )


# Cases that the class above weighs.
_SHRINK = 2.0
# A case may have several kernels, of which one must take most of its time to say something of a class.
_MOST = 0.6


def fitted(
    own: Card, launch_s: float, measured: Mapping[str, float], kernels: Mapping[str, tuple[Kernel, ...]]
) -> rates.Operators:
    """The factors of a card from seconds of cases `measured` there; `kernels` are those recorded of each."""
    measured_there, reference_card = rates.reference(), card(rates.REFERENCE)
    on_there = rates.usual(reference_card)
    cases: list[tuple[tuple[str, ...], float]] = []
    for name, seconds in measured.items():
        if seconds <= 0 or not kernels[name]:  # such as the gradient of a copy, which is a view
            continue
        step = arrays(kernels[name])
        each = step.counts * kernel_seconds(step, own, rates.usual(own))
        if each.max() < _MOST * each.sum():
            continue
        ratio = log(seconds / float(each.sum()))
        if name in measured_there:
            ratio -= log(
                measured_there[name] / float(step.counts @ kernel_seconds(step, reference_card, on_there))
            )
        cases.append((path(kernels[name][int(each.argmax())], compiled=False), ratio))
    ratios = grouped((node, ratio) for nodes, ratio in cases for node in nodes)
    effects: dict[str, float] = {}
    for steps in sorted({p[: i + 1] for p, _ in cases for i in range(len(p))}, key=len):
        above = effects.get(steps[-2], 0.0) if len(steps) > 1 else 0.0
        mean, count = float(np.mean(ratios[steps[-1]])), len(ratios[steps[-1]])
        effects[steps[-1]] = above + (mean - above) * count / (count + _SHRINK)
    left = [ratio - effects[steps[-1]] for steps, ratio in cases]
    return rates.Operators(
        gpu_id=own.id,
        factors={node: exp(effect) for node, effect in effects.items()},
        launch_s=launch_s,
        cases=len(cases),
        spread=float(np.std(left)) if left else 0.0,
    )
