"""Matrix products of the aiconfigurator tables: one line a shape, one column of milliseconds a GPU.

Kernel times with a warm L2. The format is bf16 unless the file's name has another (`gemm_fp8`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log

import numpy as np

from evaluation.predict.case import Array, Case, Row, find_card, per_card
from evaluation.predict.fit import Prior
from evaluation.predict.fit import fit as fit_parameters
from gpuwise.model.result import grouped
from gpuwise.predictor.card import Card
from gpuwise.predictor.kernels import BYTES, Products
from gpuwise.predictor.rates import Parameters, Rates
from gpuwise.predictor.step import product_alone

quantity, unit = "time of a product", "ms"
_SHAPE = ("m", "n", "k")
_SEED, _ROWS = 0, 1000
"""A fit draws this many shapes of each card."""

PRIORS = {
    "matmul": Prior(log(0.85), 0.1), "memory": Prior(log(0.88), 0.08), "l2.bytes": Prior(log(90.0), 0.1),
    "wave": Prior(log(0.7), 0.3), "tile": Prior(log(0.06), 0.7), "reduce": Prior(log(1.5e-6), 0.5),
    "step": Prior(log(60.0), 0.6), "overlap": Prior(log(3.3), 0.1), "launch": Prior(log(2e-6), 0.3),
    "warm": Prior(log(0.5), 0.5), "energy.vector": Prior(log(8.0), 0.1),
    "energy.process": Prior(log(0.9), 0.1), "clock.exponent": Prior(log(2.2), 0.1),
    # Where registers feed matrix units: what the fit of all cards gave, for without the A100 no card tells
    # it; so its row among the cards left out is not blind.
    "step.matrix": Prior(0.2, 0.05), "step.matrix/mma": Prior(-0.16, 0.05),
    "step.byte": Prior(log(100.0), 0.05), "step.stacked": Prior(log(40.0), 0.05),
    # Attention of an engine takes 40 microseconds at least on an Intel card, 9 on an H100 (the same tables).
    "launch/Intel": Prior(log(16.0), 0.3),
}  # fmt: skip
_ENGINE = {"step.matrix": 0.3, "matmul": 0.1, "wave": 0.3, "tile": 0.5}
_FAMILY = {"matmul": 0.1, "memory": 0.06, "launch": 0.3, "step": 0.3}
_VENDOR = {
    "matmul": 0.1, "launch": 2.5, "step": 0.5, "reduce": 1.0, "l2.bytes": 0.7, "tile": 0.7, "wave": 0.5,
    "warm": 1.0, "memory": 0.2,
}  # fmt: skip
"""How far another vendor's libraries may be from NVIDIA's."""


def read(rows: Sequence[Row], dtype: str = "bf16") -> list[Case]:
    """One case for each shape and GPU that has a time."""
    gpus = [name for name in rows[0] if name not in _SHAPE] if rows else []
    found = {gpu: find_card(gpu) for gpu in gpus}
    return [_case(row, gpu, found[gpu], dtype) for gpu in gpus for row in rows if row[gpu] not in ("", None)]


def _case(row: Row, gpu: str, found: tuple[Card | None, str], dtype: str) -> Case:
    card, refusal = found
    m, n, k = (float(row[name]) for name in _SHAPE)
    if card is not None and dtype not in card.peaks:
        refusal = f"{card.id} has no {dtype} unit"
    return Case(
        gpu=gpu, card=card, model=f"{row['m']}x{row['n']}x{row['k']}", measured=float(row[gpu]),
        flop=2 * m * n * k, moved=BYTES[dtype] * (m * k + k * n) + 2.0 * m * n, dtype=dtype,
        work=(m, n, k), refusal=refusal, key=f"{row['m']}x{row['n']}x{row['k']}",
    )  # fmt: skip


def fit(cases: Sequence[Case]) -> Parameters:
    """Hierarchical fit on a sample of each card's cases."""
    usable = _sampled([case for case in cases if case.card is not None and not case.refusal])
    priors = dict(PRIORS)
    for case in usable:
        assert case.card is not None
        if case.card.vendor != "NVIDIA":
            vendor = {f"{name}/{case.card.engine}": Prior(0.0, s) for name, s in _VENDOR.items()}
            priors = vendor | priors
        priors = {f"{name}/{case.card.engine}": Prior(0.0, s) for name, s in _ENGINE.items()} | priors
        priors |= {f"{name}/{case.card.family}": Prior(0.0, s) for name, s in _FAMILY.items()}
    return _fitted(usable, priors, {})


def refit(cases: Sequence[Case], shipped: Parameters, free: Sequence[str]) -> Parameters:
    """The `free` parameters fitted anew around those shipped, beside the rest of them."""
    priors = {name: Prior(shipped.get(name, 0.0), 0.3) for name in free}
    found = _fitted(_sampled([case for case in cases if not case.refusal]), priors, shipped)
    return {name: round(value, 5) for name, value in found.items()}


def _fitted(cases: Sequence[Case], priors: Mapping[str, Prior], rest: Parameters) -> Parameters:
    predicted, measured = _model(cases), np.array([case.measured for case in cases])
    return fit_parameters(lambda p: np.log(predicted({**rest, **p}) / measured), priors, sigma=0.15)


def _sampled(cases: Sequence[Case]) -> list[Case]:
    draw, kept = np.random.default_rng(_SEED), []
    for found in grouped((case.gpu, case) for case in cases).values():
        chosen = draw.choice(len(found), min(_ROWS, len(found)), replace=False)
        kept += [found[i] for i in np.sort(chosen)]
    return kept


def predict(parameters: Parameters, cases: Sequence[Case]) -> Array:
    """Milliseconds of each case."""
    return np.asarray(_model(cases)(parameters))


def _model(cases: Sequence[Case]) -> Callable[[Parameters], Array]:
    dtype = next((case.dtype for case in cases), "bf16")
    return per_card(cases, _products, partial(_milliseconds, dtype))


def _products(cases: Sequence[Case]) -> Products:
    m, n, k = np.array([case.work for case in cases]).T
    one = np.ones_like(m)
    return Products(b=one, m=m, n=n, k=k, size=one * BYTES[cases[0].dtype], out=one * 2.0)


def _milliseconds(dtype: str, work: Products, card: Card, rates: Rates) -> Array:
    parts = [slice(i, i + 2000) for i in range(0, len(work.m), 2000)]  # keeps the tilings in cache
    each = [
        Products(*(getattr(work, name)[part] for name in ("b", "m", "n", "k", "size", "out")))
        for part in parts
    ]
    return np.concatenate([1e3 * product_alone(one, card, rates, dtype) for one in each])
