"""Measure single operators on this machine's GPU, so that predictions of any network there rest on them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec

from gpuwise.errors import InputError, MachineError
from gpuwise.jobs.answer import Answer
from gpuwise.model import units
from gpuwise.model.trace import Kernel
from gpuwise.show.table import Table
from gpuwise.store.files import write

# Seconds that an H200 takes for all cases, recording them included.
USUAL_S = 150.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateRequest:
    """The GPU of this machine, which is of the catalog."""

    gpu: str | None = None
    """Its name where the driver's is not enough; on a machine without a GPU, the card to pretend to be."""
    time_s: float = USUAL_S
    """Cases that do not fit are left out; their order is random, and always the same."""
    device: str = "cuda"
    """`cpu` measures on the processor: a rehearsal, whose factors are of no use."""
    only: tuple[str, ...] = ()
    """Cases whose name begins with one of these; empty = all."""
    keep: bool = True
    """Write the factors to the user's folder, where predictions find them."""


def calibrate(
    request: CalibrateRequest, progress: Callable[[int, int], None] = lambda done, of: None
) -> Answer[Mapping[str, object]]:
    """Time the operators of every kernel class for two to three minutes, and keep the factors of this card.

    Raises MachineError without torch or a GPU, InputError for a GPU that is not in the catalog and for a name
    in `only` with which no case begins.
    """
    if find_spec("torch") is None:
        raise MachineError("calibration needs torch", hint="pip install 'gpuwise[torch]'")
    from gpuwise.predict import calibration
    from gpuwise.predict.card import card
    from gpuwise.predict.trace import trace_operator
    from gpuwise.workloads import operators

    cases = list(operators.cases())
    unknown = [name for name in request.only if not any(case.name.startswith(name) for case in cases)]
    if unknown:
        classes = ", ".join(sorted({case.name.partition(" ")[0] for case in cases}))
        raise InputError(
            f"no class of operators is called {' or '.join(map(repr, unknown))}", hint=f"one of {classes}"
        )
    software = operators.software(request.device)
    name = request.gpu or (software["device"] if request.device == "cuda" else None)
    if name is None:
        raise InputError("no GPU to calibrate", hint="gpuwise calibrate --gpu NAME")
    own, began = card(name), time.monotonic()
    launch_s = operators.launch_seconds(request.device)
    measured: dict[str, float] = {}
    kernels: dict[str, tuple[Kernel, ...]] = {}
    chosen = [case for case in cases if not request.only or case.name.startswith(request.only)]
    for done, case in enumerate(chosen):
        if time.monotonic() - began > request.time_s:
            break
        timed = operators.measure(case, request.device)
        if not timed.error:  # what does not fit a small card's memory is left out
            measured[case.name], kernels[case.name] = timed.seconds, trace_operator(case.make).kernels
        progress(done + 1, len(chosen))
    if not measured:
        raise MachineError("no operator could be timed", hint="gpuwise doctor")
    found = calibration.fitted(own, launch_s, measured, kernels)
    about = {
        **software, "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), "launch_s": launch_s,
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip
    document = calibration.document(found, about)
    if request.keep:
        path = calibration.file_of(own.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        write((json.dumps(document, indent=1) + "\n").encode(), path)
        calibration.forget()
    return Answer(
        found=document, to_data=lambda: document,
        to_table=lambda: Table.of(
            [
                {"class": node, "time against the H200's model": f"x{factor:.2f}"}
                for node, factor in sorted(found.factors.items())
                if " " not in node
            ],
            title=f"{own.id}: {found.cases} operators in {units.seconds(time.monotonic() - began)}",
            notes=(
                f"the host takes x{found.host:.2f}",
                f"predictions of {own.id} rest on this now" if request.keep else "a rehearsal: not kept",
            ),
        ),
    )  # fmt: skip
