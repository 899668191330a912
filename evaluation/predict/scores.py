"""Scores of predictions: per GPU and pooled, ours and each rival's on the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, spearmanr

from evaluation.predict.protocols import Predictions
from gpuwise.predictor.rates import LEVEL

Array = NDArray[np.float64]
POOLED = "pooled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Errors as shares: 0.08 is 8 %."""

    part: str
    gpu: str
    """`pooled` for all rows, `mean of GPUs` for the plain mean of the GPUs' scores."""
    n: int
    """Rows with a figure."""
    refused: int
    mape: float
    median: float
    p90: float
    bias: float
    """Geometric mean of predicted / measured."""
    rank: float
    """Spearman's correlation of predicted and measured."""
    coverage: float
    """Share of measured figures inside the interval."""
    tolerance: tuple[float, float]
    """Coverage that n rows of one GPU show in 19 of 20 cases where it truly is 80 % and rows are independent.
    Rows of a card are not quite, so that what is outside is less surprising than this says."""
    width: float
    """Median of high / low."""
    failed: float
    """Mean error where a refusal counts as 100 %."""
    rivals: Mapping[str, tuple[int, float, float]]
    """name -> rows where it has a figure, its error there, and ours on the same rows."""


def scores(found: Predictions) -> list[Score]:
    """Of each part: every GPU, then all rows, then the mean over GPUs."""
    result = []
    for part in sorted({case.part for case in found.cases}):
        at = [i for i, case in enumerate(found.cases) if case.part == part]
        gpus = sorted({_gpu(found, i) for i in at})
        each = [_score(found, [i for i in at if _gpu(found, i) == gpu], part, gpu) for gpu in gpus]
        result += [*each, _score(found, at, part, POOLED)]
        if len(each) > 1:
            result.append(_mean(each, part))
    return result


def _gpu(found: Predictions, i: int) -> str:
    card = found.cases[i].card
    return card.id if card is not None else found.cases[i].gpu


def _score(found: Predictions, at: Sequence[int], part: str, gpu: str) -> Score:
    measured = np.array([found.cases[i].measured for i in at])
    values, halves = found.values[list(at)], found.halves[list(at)]
    kept = np.isfinite(values) & (measured > 0)
    errors = np.abs(values / measured - 1.0)[kept]
    logs = np.log(values[kept] / measured[kept])
    refused = int((~kept).sum())
    inside = np.abs(logs) <= halves[kept]
    return Score(
        part=part, gpu=gpu, n=int(kept.sum()), refused=refused, mape=_of(np.mean, errors),
        median=_of(np.median, errors), p90=_of(lambda x: np.quantile(x, 0.9), errors),
        bias=float(np.exp(_of(np.mean, logs))), rank=spearman(values[kept], measured[kept]),
        coverage=_of(np.mean, inside[np.isfinite(halves[kept])]),
        tolerance=tolerance(0 if gpu == POOLED else int(kept.sum())),
        width=float(np.exp(2 * _of(np.median, halves[kept]))),
        failed=float((errors.sum() + refused) / max(1, len(measured))),
        rivals=_rivals(found, list(at), measured, values),
    )  # fmt: skip


def _of(statistic: Callable[[Array], Any], values: Array) -> float:
    return float(statistic(values)) if len(values) else float("nan")


def _rivals(
    found: Predictions, at: list[int], measured: Array, values: Array
) -> dict[str, tuple[int, float, float]]:
    result = {}
    for name, all_values in found.rivals.items():
        theirs = all_values[at]
        both = np.isfinite(theirs) & np.isfinite(values) & (measured > 0) & (theirs > 0)
        if both.any():
            error = np.abs(theirs[both] / measured[both] - 1.0).mean()
            ours = np.abs(values[both] / measured[both] - 1.0).mean()
            result[name] = (int(both.sum()), float(error), float(ours))
    return result


def _mean(each: Sequence[Score], part: str) -> Score:
    """The plain mean of GPUs, so that one with many rows weighs like the others."""
    filled = [score for score in each if score.n]

    def mean(name: str) -> float:
        values = [getattr(score, name) for score in filled if np.isfinite(getattr(score, name))]
        return float(np.mean(values)) if values else float("nan")

    names = ("mape", "median", "p90", "rank", "coverage", "width", "failed")
    return Score(
        part=part, gpu="mean of GPUs", n=sum(score.n for score in each),
        refused=sum(score.refused for score in each),
        bias=float(np.exp(np.mean([np.log(score.bias) for score in filled]))) if filled else float("nan"),
        tolerance=(float("nan"), float("nan")), rivals={}, **{name: mean(name) for name in names},
    )  # fmt: skip


def tolerance(n: int, level: float = LEVEL, sure: float = 0.95) -> tuple[float, float]:
    """Central range of the share of `n` independent rows inside intervals that hold with `level`; NaN
    without rows."""
    if not n:
        return float("nan"), float("nan")
    low, high = binom.ppf(((1.0 - sure) / 2.0, (1.0 + sure) / 2.0), n, level) / n
    return float(low), float(high)


def spearman(a: Array, b: Array) -> float:
    """Rank correlation; NaN for fewer than three rows or equal values."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(spearmanr(a, b).statistic)
