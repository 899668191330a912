"""Mean watts of served language and diffusion models (ML.ENERGY), as a share of the power limit.

    share = idle + (1 - idle) x busy                     busy = activity^a, at most 1
    activity grows with how much of the machine a step uses: log-linear in batch, in the parameters that
    each GPU reads and multiplies, and in how many GPUs wait for each other

The same configuration on a larger GPU uses a smaller part of it: activity is taken per unit of the card's
bandwidth and arithmetic, so that it carries from one GPU to another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from evaluation.predict.case import Array, Case, Row, find_card, per_card
from evaluation.predict.fit import Prior
from evaluation.predict.fit import fit as fit_parameters
from gpuwise.predict.card import Card
from gpuwise.predict.rates import Parameters, Rates

quantity, unit = "mean power of one GPU", "W"
KINDS = (
    "lm-arena-chat",
    "gpqa",
    "sourcegraph-fim",
    "image-chat",
    "video-chat",
    "text-to-image",
    "text-to-video",
)
FEATURES = (
    "batch", "size", "spread", "moe", "narrow", "diffuse.batch", "pixels", "context", "apart",
)  # fmt: skip
"""`context`: tokens in the KV caches of a batch, which are read and hardly multiplied. `apart`: GPUs that
hold different experts wait for each other's tokens."""
PRIORS = {
    "idle": Prior(log(0.15), 0.2),
    "limit": Prior(log(0.97), 0.02),
    **{f"level.{kind}": Prior(log(1.0), 0.5) for kind in KINDS},
    **{f"slope.{name}": Prior(0.0, 0.3) for name in FEATURES},
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)b", re.IGNORECASE)
_DIFFUSION = {
    "flux.1": 12.0, "stable-diffusion-3.5-medium": 2.5, "stable-diffusion-3.5-large": 8.0, "sana": 1.6,
    "hunyuandit": 1.5, "cogvideox1.5-5b": 5.0, "cogvideox1.5-2b": 2.0, "hunyuanvideo": 13.0, "wan2": 14.0,
}  # fmt: skip
"""Billions of parameters of the denoiser, from the model cards."""
_SMALL_CARD = 1e15
"""FLOP/s against which a card's capacity is taken: an H100's bf16."""
_CAPACITY = 0.2
"""How much less of a card twice as large the same work takes, in log space: not all of it, as the work is
also quicker. Two cards cannot tell; it was set while looking at the errors of both."""


@dataclass(frozen=True, slots=True)
class Served:
    """Features of one configuration, as logarithms where they are sizes."""

    kind: str
    values: tuple[float, ...]


def read(rows: Sequence[Row]) -> list[Case]:
    """Cases of the file, as watts of one GPU."""
    return [_case(row) for row in rows]


def _number(row: Row, name: str, otherwise: float) -> float:
    return float(row[name]) if row.get(name) else otherwise


def _case(row: Row) -> Case:
    card, refusal = find_card(row["gpu_model"])
    gpus = _number(row, "num_gpus", 1.0)
    active, total = _billions(row)
    if not row.get("avg_power_watts"):
        refusal = refusal or "no watts in this row"
    if active is None or total is None:
        refusal = refusal or f"the size of {row['model_id']!r} is not known"
        active = total = 1.0
    if row["task"] not in KINDS:
        refusal = refusal or f"task {row['task']!r} was never fitted"
    work = Served(row["task"], _features(row, active, total, gpus)) if row["task"] in KINDS else None
    return Case(
        gpu=row["gpu_model"], card=card, model=row["model_id"],
        measured=_number(row, "avg_power_watts", float("nan")) / gpus,
        flop=1.0, moved=1.0, dtype="watts", work=work, refusal=refusal,
    )  # fmt: skip


def _billions(row: Row) -> tuple[float | None, float | None]:
    """Active and total parameters; a diffusion model states neither in the file."""
    if row.get("activated_params_billions"):
        active = float(row["activated_params_billions"])
        return active, _number(row, "total_params_billions", active)
    name = row["model_id"].split("/")[-1].casefold()
    known = next((size for key, size in _DIFFUSION.items() if name.startswith(key)), None)
    found = _SIZE.search(name)
    size = known if known is not None else float(found[1]) if found else None
    return size, size


def _features(row: Row, active: float, total: float, gpus: float) -> tuple[float, ...]:
    diffusion = row["task"].startswith("text-to")
    batch = _number(row, "avg_batch_size", _number(row, "max_num_seqs", _number(row, "batch_size", 1.0)))
    pixels = _number(row, "image_height", _number(row, "video_height", 512.0)) * _number(
        row, "image_width", _number(row, "video_width", 512.0)
    )
    pixels *= _number(row, "num_frames", 1.0)
    narrow = row["weight_precision"] in ("fp8", "mxfp4")
    return (
        0.0 if diffusion else log(max(batch, 1.0) / 64) / 3,
        log(active / gpus / 8) / 3,
        log(gpus) / 3,
        float(total > 1.5 * active),
        float(narrow),
        log(max(batch, 1.0)) / 3 if diffusion else 0.0,
        log(pixels / 1e6) / 3 if diffusion else 0.0,
        0.0 if diffusion else log(max(batch, 1.0) * _number(row, "avg_output_len", 500.0) / 32e3) / 3,
        log(gpus) / 3 * (total > 1.5 * active),
    )


def fit(cases: Sequence[Case]) -> Parameters:
    """Level of each task and slopes, on these cases alone."""
    usable = [case for case in cases if case.card is not None and not case.refusal]
    predicted, measured = per_card(usable, _columns, _watts), np.array([c.measured for c in usable])
    return fit_parameters(lambda p: np.log(predicted(p) / measured), PRIORS, sigma=0.12)


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Watts of one GPU for each case."""
    return np.asarray(per_card(cases, _columns, _watts)(parameters))


def _columns(cases: Sequence[Case]) -> tuple[Array, Array]:
    kinds = np.array([KINDS.index(case.work.kind) for case in cases])
    return kinds, np.array([case.work.values for case in cases])


def _watts(columns: tuple[Array, Array], card: Card, rates: Rates) -> Array:
    kinds, values = columns
    levels = np.log([rates[f"level.{kind}"] for kind in KINDS])[kinds.astype(int)]
    slopes = np.log([rates[f"slope.{name}"] for name in FEATURES])
    capacity = log(card.peak("bf16") / _SMALL_CARD)
    score = levels + values @ slopes - _CAPACITY * capacity
    share = rates["idle"] + (rates["limit"] - rates["idle"]) / (1.0 + np.exp(-2.0 * score))
    return np.asarray(share * card.power_w)
