"""Transformers in eager fp32 without TF32, as the NeuSight set has them (ASPLOS 2025, label files).

Each step there starts with an emptied cache, so that the forward pass of training also pays for device
memory: one allocation for each tensor that is kept, and a sweep of the cache where they do not fit. That
is time of the host and its driver, which differs between machines more than between GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from evaluation.predict.case import Array, Case, Row, find_card, per_card
from evaluation.predict.fit import Prior
from evaluation.predict.fit import fit as fit_parameters
from evaluation.predict.transformers import transformer
from gpuwise.errors import GpuwiseError
from gpuwise.model.trace import Trace
from gpuwise.predict.card import Card
from gpuwise.predict.kernels import Kernels, arrays
from gpuwise.predict.rates import Parameters, Rates
from gpuwise.predict.time import kernel_seconds

quantity, unit = "latency", "ms"

PRIORS = {
    "matmul": Prior(log(0.88), 0.1),
    "memory": Prior(log(0.85), 0.08),
    "lanes": Prior(log(0.2), 0.4),
    "sync": Prior(log(4e-5), 0.2),
    "energy.vector": Prior(log(7.5), 0.2),
    "energy.matrix": Prior(log(0.5), 0.1),
    "energy.process": Prior(log(1.4), 0.1),
    "clock.exponent": Prior(log(2.2), 0.15),
    "l2.bytes": Prior(log(40.0), 0.3),
    "wave": Prior(log(0.8), 0.3),
    "tile": Prior(log(0.06), 0.5),
    "reduce": Prior(log(2e-6), 0.4),
    "step": Prior(log(60.0), 0.5),
    "overlap": Prior(log(4.0), 0.3),
    "launch": Prior(log(2.5e-6), 0.3),
    "dispatch": Prior(log(8e-6), 0.2),
    "allocation": Prior(log(6e-5), 0.5),
    "sweep": Prior(log(1.2e-11), 0.7),
}
"""Physics before data: a library's 85 to 90 % of peak, DRAM's 85 %, 40 B a clock and unit from L2. Energy:
desktop cards hold their boost clock within the board's limit, so that limit over peak bounds it: 18.6 pJ an
operation on 12 nm (RTX 2080 Ti), 9.8 on 8 nm (RTX 3090), 5.4 on 5 nm (RTX 4090)."""
_VENDOR = {"matmul": 0.2, "energy.vector": 0.3, "sweep": 1.0}
"""AMD's matrix units multiply fp32 too: another share of another peak. Its driver also frees memory."""
_FAMILY = {"matmul": 0.1, "memory": 0.06}
_KNOWN = {("matmul", "Pascal"): -0.1}
"""Pascal issues integers (addresses) and fp32 through one pipe (NVIDIA Volta whitepaper, 2017)."""
_CARD = {"matmul": 0.06, "allocation": 0.6, "sweep": 0.5}
_KEPT = 1e6
"""Bytes from which a tensor gets a segment of its own from the driver, roughly."""
_SAVED = 0.5
"""Share of what the forward pass writes that the backward pass needs: masks and scaled scores are freed."""
_ROOM = 0.7
"""Share of memory that is filled before the cache is swept: fragments and the gradients take the rest."""
_LINK = 200e9
"""Bytes/s of an all-reduce among four cards on NVLink."""


@dataclass(frozen=True, slots=True)
class Work:
    """One step on each of `cards`, and how it is split."""

    trace: Trace
    split: str
    cards: int


def read(rows: Sequence[Row]) -> list[Case]:
    """Cases of the file; a model without published shape is refused."""
    return [_case(row) for row in rows]


def _case(row: Row) -> Case:
    card, refusal = find_card(row["gpu"])
    split, count = _split(row["option"])
    work: Work | None = None
    try:
        if not row["precision"].startswith("fp32"):
            refusal = refusal or f"precision {row['precision']} was never fitted here"
        batch = max(1, int(row["batch"]) // (count if split == "dp" else 1))
        train = row["mode"] != "infer_fwd"
        trace = transformer(
            row["model"], batch=batch, length=int(row["seq_len"]), train=train,
            compiled=row["option"] == "fusion",
        )  # fmt: skip
        work = Work(trace=trace, split=split, cards=count)
    except GpuwiseError as error:
        refusal = refusal or str(error)
    share = count if split == "tp" else 1
    kernels = work.trace.kernels if work else ()
    rivals = {
        name.removeprefix("pred_").removesuffix("_ms"): float(row[name])
        for name in ("pred_neusight_ms", "pred_habitat_ms", "pred_micro_ms", "pred_roofline_ms")
        if row.get(name)
    }
    return Case(
        gpu=row["gpu"], card=card, model=row["model"], measured=float(row["measured_ms"]),
        flop=sum(k.flop * k.count for k in kernels if k.kind == "matmul") / share,
        moved=sum((k.bytes_read + k.bytes_written) * k.count for k in kernels) / share,
        dtype="fp32", work=work, rivals=rivals, refusal=refusal, part="split" if split else "",
        key="/".join(row[name] for name in ("model", "mode", "seq_len", "batch", "option")),
    )  # fmt: skip


def _split(option: str) -> tuple[str, int]:
    """`tp4` -> ("tp", 4); `pp4_1` -> ("pp", 4)."""
    if option[:2] in ("tp", "dp", "pp"):
        return option[:2], int(option[2:].split("_")[0])
    return "", 1


def fit(cases: Sequence[Case]) -> Parameters:
    """Hierarchical fit on these cases alone."""
    usable = [case for case in cases if case.card is not None and not case.refusal]
    priors = dict(PRIORS)
    for case in usable:
        assert case.card is not None
        if case.card.vendor != "NVIDIA":
            priors |= {f"{name}/{case.card.vendor}": Prior(0.0, s) for name, s in _VENDOR.items()}
        for name, s in _FAMILY.items():
            priors[f"{name}/{case.card.family}"] = Prior(_KNOWN.get((name, case.card.family), 0.0), s)
        priors |= {f"{name}@{case.card.id}": Prior(0.0, s) for name, s in _CARD.items()}
    predicted = per_card(usable, _steps, _milliseconds)
    measured = np.array([case.measured for case in usable])
    return fit_parameters(lambda p: np.log(predicted(p) / measured), priors)


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Milliseconds of each case; NaN where it is refused."""
    return np.asarray(per_card(cases, _steps, _milliseconds)(parameters))


@dataclass(frozen=True, slots=True)
class _Steps:
    """All steps on one card, their kernels as one list."""

    works: tuple[Work, ...]
    kernels: Kernels
    ends: Array


def _steps(cases: Sequence[Case]) -> _Steps:
    works = tuple(case.work for case in cases)
    kernels = arrays([kernel for work in works for kernel in work.trace.kernels])
    return _Steps(works, kernels, np.cumsum([len(work.trace.kernels) for work in works]))


def _milliseconds(steps: _Steps, card: Card, rates: Rates) -> Array:
    seconds = kernel_seconds(steps.kernels, card, rates) * steps.kernels.counts
    busy = [float(part.sum()) for part in np.split(seconds, steps.ends[:-1])]
    return np.array([1e3 * _step(work, card, rates, t) for work, t in zip(steps.works, busy, strict=True)])


def _step(work: Work, card: Card, rates: Rates, busy: float) -> float:
    trace, width = work.trace, work.cards
    if work.split == "tp":
        layers = trace.launches / 60
        busy = busy / width + 4 * layers * 2 * trace.items * 1024 * 1280 * 4 / _LINK
    elif work.split == "dp":
        busy += 2 * 4.0 * trace.parameters / _LINK
    dispatch = 0.0 if trace.compiled else trace.launches * rates["dispatch"]
    held = 1.0 / width if work.split in ("tp", "pp") else 1.0
    return max(busy, dispatch) + (_allocation(trace, card, rates, held) if trace.mode == "train" else 0.0)


def _allocation(trace: Trace, card: Card, rates: Rates, held: float) -> float:
    """Seconds for the driver to hand out what the forward pass keeps."""
    kept = [k for k in trace.kernels if k.phase == "forward" and k.bytes_written > _KEPT]
    count = sum(k.count for k in kept)
    filled = held * (_SAVED * sum(k.count * k.bytes_written for k in kept) + 8.0 * trace.parameters)
    return count * rates["allocation"] + max(0.0, filled - _ROOM * card.memory_bytes) * rates["sweep"]
