"""What single operators that were timed on an owned card say of every step there (`gpuwise calibrate`).

    factor of a class   exp(mean log(measured / predicted)) over its cases, drawn to that of the class above
    it
                        as n / (n + 2)
    factor of the host  (measured launch / 7 microseconds)^0.7

The second exponent is that of the zoo's rows, whose machine was busy to a varying degree. A file a card lies
in the user's folder; predictions of that card rest on it until it is deleted.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

from gpuwise.errors import InputError
from gpuwise.model.trace import Kernel
from gpuwise.predict import classes, rates
from gpuwise.predict.card import Card
from gpuwise.predict.kernels import arrays
from gpuwise.predict.time import kernel_seconds
from gpuwise.store import home

SCHEMA = 1
_SHRINK = 2.0
_LAUNCH_S, _HOST_POWER = 7e-6, 0.7
# A case may have several kernels, of which one must take most of its time to say something of a class.
_MOST = 0.6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Operators:
    """The factors of one card."""

    gpu_id: str
    factors: Mapping[str, float]
    """Of a class, on the predicted time of its kernels."""
    host: float
    """On what the host takes."""
    cases: int
    spread: float
    """Standard deviation of log(measured / predicted) that is left after the factors."""


def fitted(
    own: Card, launch_s: float, measured: Mapping[str, float], kernels: Mapping[str, tuple[Kernel, ...]]
) -> Operators:
    """The factors of a card from seconds of cases `measured` there; `kernels` are those recorded of each."""
    ratios: dict[str, list[float]] = defaultdict(list)
    paths: dict[str, tuple[str, ...]] = {}
    for name, seconds in measured.items():
        step = arrays(kernels[name])
        each = step.counts * kernel_seconds(step, own, rates.usual(own)) if kernels[name] else np.zeros(1)
        if seconds <= 0 or each.max() < _MOST * each.sum():
            continue
        found = paths[name] = classes.path(kernels[name][int(each.argmax())], compiled=False)
        for node in found:
            ratios[node].append(log(seconds / float(each.sum())))
    effects: dict[str, float] = {}
    for found in sorted({p[: i + 1] for p in paths.values() for i in range(len(p))}, key=len):
        above = effects.get(found[-2], 0.0) if len(found) > 1 else 0.0
        own_mean, count = float(np.mean(ratios[found[-1]])), len(ratios[found[-1]])
        effects[found[-1]] = above + (own_mean - above) * count / (count + _SHRINK)
    left = [ratio - effects[node] for p in paths.values() for node in p[-1:] for ratio in ratios[node][:1]]
    return Operators(
        gpu_id=own.id, factors={node: exp(effect) for node, effect in effects.items()},
        host=(launch_s / _LAUNCH_S) ** _HOST_POWER, cases=len(paths),
        spread=float(np.std(left)) if left else 0.0,
    )  # fmt: skip


def file_of(gpu_id: str) -> Path:
    """Where the factors of a card are kept."""
    return home() / "calibration" / f"{gpu_id}.json"


def document(found: Operators, about: Mapping[str, Any]) -> dict[str, Any]:
    """The file of a card: its factors, and what they were measured with."""
    return {
        "schema": SCHEMA, "gpu_id": found.gpu_id, "host": round(found.host, 4), "cases": found.cases,
        "spread": round(found.spread, 4), **about,
        "factors": {name: round(factor, 4) for name, factor in sorted(found.factors.items())},
    }  # fmt: skip


def forget() -> None:
    """Read files again: one was written."""
    _read.cache_clear()


def of_card(gpu_id: str) -> Operators | None:
    """The factors of a card that was calibrated here, else None. Files are read once in a process: a choice
    asks for thousands of steps."""
    return _read(gpu_id, os.environ.get("GPUWISE_HOME"))


@cache
def _read(gpu_id: str, _: str | None) -> Operators | None:
    path = file_of(gpu_id)
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Operators(
            gpu_id=found["gpu_id"], factors=found["factors"], host=float(found["host"]), cases=found["cases"],
            spread=float(found["spread"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a calibration: {error}", hint="gpuwise calibrate") from error
