"""Mean watts of served language models (ML.ENERGY), by the function that `gpuwise predict` calls.

The file states no length of its prompts: `PROMPTS` are usual ones of each task. Models that make or read
images and videos are refused: no step of them is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from evaluation.predict.case import Array, Case, Row, find_card, per_card
from evaluation.predict.sets.serving import served
from gpuwise.errors import GpuwiseError
from gpuwise.predictor.rates import Parameters, shipped, watts_half
from gpuwise.predictor.serve import Deployment, columns, watts

quantity, unit = "mean power of one GPU", "W"
PROMPTS: Mapping[str, float] = MappingProxyType({"lm-arena-chat": 250, "gpqa": 400, "sourcegraph-fim": 1500})
FORMATS: Mapping[str, tuple[float, str]] = MappingProxyType(
    {"bfloat16": (2.0, "bf16"), "fp8": (1.0, "fp8"), "mxfp4": (0.5625, "fp4")}
)
"""Bytes of a weight, and the format of products."""


def read(rows: Sequence[Row]) -> list[Case]:
    """Cases of the file, as watts of one GPU."""
    return [_case(row) for row in rows]


def _case(row: Row) -> Case:
    card, refusal = find_card(row["gpu_model"])
    gpus = float(row["num_gpus"] or 1)
    refusal = refusal or ("" if row["avg_power_watts"] else "no watts in this row")
    work: Deployment | None = None
    if row["task"] not in PROMPTS:
        refusal = refusal or f"no step of the task {row['task']!r} is known"
    else:
        try:
            weight, dtype = FORMATS[row["weight_precision"]]
            dtype = dtype if card is None or dtype in card.peaks else "bf16"
            parallel = float(row.get("data_parallel") or 1)
            work = Deployment(
                model=served(row["model_id"]), engine="vllm", weight=weight, dtype=dtype, gpus=gpus,
                batch=max(1.0, float(row["avg_batch_size"] or row["max_num_seqs"])), data_parallel=parallel,
                length_in=PROMPTS[row["task"]], length_out=float(row["avg_output_len"] or 500),
                apart=False, prefill_gpus=gpus, first=False,
            )  # fmt: skip
        except GpuwiseError as error:
            refusal = refusal or str(error)
    return Case(
        gpu=row["gpu_model"], card=card, model=row["model_id"], flop=1.0, moved=1.0, dtype="watts", work=work,
        measured=float(row["avg_power_watts"] or "nan") / gpus, refusal=refusal,
    )  # fmt: skip


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Watts of one GPU for each case."""
    return np.asarray(
        per_card(cases, lambda some: columns([case.work for case in some]), watts)(shipped("serving"))
    )


def halves(cases: Sequence[Case], evidence: Sequence[str], *_: object) -> Array:
    """Half widths as shipped."""
    return np.full(len(cases), watts_half())
