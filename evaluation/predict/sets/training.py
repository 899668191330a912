"""Training throughput of the Lambda set: each network's demands are learnt on other cards, then transferred.

    time of an item = ((F / (peak e))^p + (B / bandwidth)^p)^(1/p) + O (80 GB / memory)^g
    of n cards      = time of one / n^scaling

F (operations), B (bytes) and O (fixed time, spread over the batch that fits) of a network are physical and
do not depend on the card; a network's published operations are the prior of F. So a card that was never
measured needs its data sheet only. "fp32" runs in TF32 where the card has it (NVIDIA's containers do).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from types import MappingProxyType

import numpy as np

from evaluation.predict.case import Array, Case, Row, find_card, per_card
from evaluation.predict.fit import Prior
from evaluation.predict.fit import fit as fit_parameters
from evaluation.predict.power_limit import fed, stretch
from gpuwise.predict.card import Card
from gpuwise.predict.rates import Parameters, Rates

quantity, unit = "time of an item", "s/item"

FLOP: Mapping[str, float] = MappingProxyType(
    {
        "resnet50": 2.5e10, "ssd": 9e10, "bert_base_squad": 2.1e11, "bert_large_squad": 7.4e11,
        "gnmt": 1.2e9, "ncf": 1e6, "tacotron2": 5e8, "waveglow": 1.5e9, "transformerxlbase": 1.3e9,
        "transformerxllarge": 2.5e9,
    }
)  # fmt: skip
"""Operations of training one item: six for each parameter and token, or three forward passes."""
_INTENSITY = 60.0
"""Operations a byte of mixed-precision training, before data; from 20 (vision) to 200 (language)."""
_MEMORY = 80e9
_COUNT = re.compile(r"(\d+)x\s?(?:H100|H200|B200|A100|V100|GH200|RTX|A\d)", re.IGNORECASE)
GLOBAL = {
    "overlap": Prior(log(1.5), 0.3), "batch": Prior(log(0.6), 0.1), "matrix": Prior(log(0.45), 0.1),
    "memory": Prior(log(0.8), 0.05), "energy.vector": Prior(log(8.0), 0.2),
    "energy.matrix": Prior(log(0.8), 0.2), "energy.byte": Prior(log(280.0), 0.2),
    "energy.stacked": Prior(log(120.0), 0.2), "energy.process": Prior(log(0.9), 0.1),
    "clock.exponent": Prior(log(2.0), 0.05), "power.unit": Prior(log(0.5), 0.2), "fast": Prior(log(0.5), 0.4),
    "feed": Prior(log(0.5), 0.3),
}  # fmt: skip
_FAMILY = {"matrix": 0.12, "memory": 0.1}


@dataclass(frozen=True, slots=True)
class Job:
    """`key` names the demands: precision and network."""

    key: str
    cards: int


def read(rows: Sequence[Row]) -> list[Case]:
    """Cases of the file; machines of several cards count one card's share."""
    return [_case(row) for row in rows]


def _case(row: Row) -> Case:
    card, refusal = find_card(row["gpu"])
    stated = _COUNT.findall(row["gpu"])
    cards = int(float(row["num_gpu"])) if row["num_gpu"] else int(stated[-1]) if stated else 1
    if row["model"] not in FLOP:
        refusal = refusal or f"the operations of {row['model']!r} are not known"
    dtype = "fp16" if row["precision"] == "fp16" else "tf32"
    if card is not None and dtype not in card.peaks:
        dtype = "fp32"
    flop = FLOP.get(row["model"], 0.0)
    return Case(
        gpu=card.id if card else row["gpu"], card=card, model=row["model"],
        measured=1.0 / float(row["train_throughput"]), flop=flop / cards, moved=flop / _INTENSITY / cards,
        dtype=dtype, work=Job(f"{row['precision']}.{row['model']}", cards), refusal=refusal,
        part=f"{row['precision']}, {'1 GPU' if cards == 1 else 'n GPUs'}",
        key=f"{row['precision']}.{row['model']}.{cards}",
    )  # fmt: skip


def priors_of(keys: Sequence[str]) -> dict[str, Prior]:
    """Demands of each network and precision before any measurement."""
    found = {}
    for key in keys:
        flop = FLOP[key.split(".", 1)[1]]
        width = 1.0 if key.startswith("fp16") else 0.6
        found[f"flop.{key}"] = Prior(log(flop), 0.5)
        found[f"byte.{key}"] = Prior(log(flop / _INTENSITY / width), 0.9)
        found[f"fixed.{key}"] = Prior(log(flop / 1e15), 1.0)
        found[f"scaling.{key}"] = Prior(0.0, 0.15)
    return found


def fit(cases: Sequence[Case]) -> Parameters:
    """Demands of every network and shares of every family, on these cases alone."""
    usable = [case for case in cases if case.card is not None and not case.refusal]
    keys = sorted({f"{precision}.{model}" for precision in ("fp16", "fp32") for model in FLOP})
    priors = dict(GLOBAL) | priors_of(keys)
    for case in usable:
        assert case.card is not None
        priors |= {f"{name}/{case.card.family}": Prior(0.0, s) for name, s in _FAMILY.items()}
    usable, weights = _merged(usable)
    predicted, measured = per_card(usable, _columns, _seconds), np.array([c.measured for c in usable])
    return fit_parameters(lambda p: np.log(predicted(p) / measured), priors, sigma=0.1, weights=weights)


def _merged(cases: Sequence[Case]) -> tuple[list[Case], Array]:
    """One case for each card, network and count, so that a card with many machines weighs like others."""
    groups: dict[tuple[str, str, int], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.gpu, case.work.key, case.work.cards), []).append(case)
    middle = [sorted(found, key=lambda case: case.measured)[len(found) // 2] for found in groups.values()]
    return middle, np.array([1.0 if case.work.cards == 1 else 0.5 for case in middle])


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Seconds of one item of each case."""
    return np.asarray(per_card(cases, _columns, _seconds)(parameters))


@dataclass(frozen=True, slots=True)
class _Columns:
    keys: tuple[str, ...]
    cards: Array
    dtypes: tuple[str, ...]


def _columns(cases: Sequence[Case]) -> _Columns:
    return _Columns(
        tuple(case.work.key for case in cases),
        np.array([float(case.work.cards) for case in cases]),
        tuple(case.dtype for case in cases),
    )


def _seconds(c: _Columns, card: Card, rates: Rates) -> Array:
    flop, byte, fixed, scaling = (
        np.array([rates[f"{name}.{key}"] for key in c.keys]) for name in ("flop", "byte", "fixed", "scaling")
    )
    peak = np.array([card.peak(dtype) * fed(card, rates, dtype) for dtype in c.dtypes])
    # Nothing reaches a large matrix peak in proportion: the units wait for operands from L2 and below.
    usual = np.array([50.0 * card.bytes_per_s if dtype != "fp32" else np.inf for dtype in c.dtypes])
    reached = rates["matrix"] * peak / (1.0 + (rates["fast"] * peak / usual) ** 2) ** 0.5
    arithmetic, memory = flop / reached, byte / (card.bytes_per_s * rates["memory"])
    power = rates["overlap"]
    busy = (arithmetic**power + memory**power) ** (1.0 / power)
    busy = busy * stretch(rates, card, c.dtypes[0], flop, byte, busy)
    one = busy + fixed * (_MEMORY / card.memory_bytes) ** rates["batch"]
    return np.asarray(one / c.cards ** np.minimum(scaling, 1.3))
