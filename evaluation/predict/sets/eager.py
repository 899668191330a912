"""Transformers in eager fp32 without TF32, as the NeuSight set has them (ASPLOS 2025, label files).

Predicted by the function that `gpuwise predict` calls, from the kernels of their published shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.predict.case import Array, Case, Row, find_card
from evaluation.predict.sets.traced import half_towards
from evaluation.predict.transformers import transformer
from gpuwise.errors import GpuwiseError
from gpuwise.predictor.card import Card
from gpuwise.predictor.kernels import Trace
from gpuwise.predictor.rates import Parameters
from gpuwise.predictor.step import step, usual

quantity, unit = "latency", "ms"

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


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Milliseconds of each case as `gpuwise predict` has them; NaN where it is refused. Nothing is fitted
    here: no row of the set was used for what is shipped."""
    found = np.full(len(cases), np.nan)
    for i, case in enumerate(cases):
        if case.card is not None and not case.refusal:
            found[i] = 1e3 * _seconds(case.work, case.card)
    return found


def halves(cases: Sequence[Case], evidence: Sequence[str], _: object, values: Array) -> Array:
    """Half widths of the intervals that `gpuwise predict` gives, where the measured figure lies."""
    found = np.full(len(cases), np.nan)
    for i, case in enumerate(cases):
        if case.card is not None and not case.refusal:
            speed = step(case.work.trace, case.card).throughput
            found[i] = half_towards(speed, slower=case.measured > values[i])
    return found


def _seconds(work: Work, card: Card) -> float:
    """Seconds of a step on each of several cards: products are split, gradients exchanged, or layers
    dealt."""
    trace, width = work.trace, work.cards
    alone = usual(trace, card).seconds
    if work.split == "tp":
        layers = trace.launches / 60
        return alone / width + 4 * layers * 2 * trace.items * 1024 * 1280 * 4 / _LINK
    if work.split == "dp":
        return alone + 2 * 4.0 * trace.parameters / _LINK
    return alone
