"""What a scored set is: cases with a measured figure, a fit, a prediction, and the simple rivals' inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpuwise.errors import GpuwiseError
from gpuwise.predictor import card as cards
from gpuwise.predictor.card import Card
from gpuwise.predictor.rates import Parameters, Rates, on_card

Array = NDArray[np.float64]
Row = Mapping[str, str]
Prepared = TypeVar("Prepared")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One measured row."""

    gpu: str
    """As the file spells it."""
    card: Card | None
    """None where the GPU is unknown: a refusal, and counted as a failure."""
    model: str
    measured: float
    """In the set's own unit; smaller is faster."""
    flop: float
    """Operations behind the figure, on one GPU; for the simple rivals."""
    moved: float
    """Bytes to and from memory behind the figure."""
    dtype: str
    work: Any = None
    rivals: Mapping[str, float] = field(default_factory=dict)
    refusal: str = ""
    """Why no figure is given; empty where one is."""
    part: str = ""
    """What is scored apart: TPOT or TTFT, fp16 or fp32."""
    key: str = ""
    """Equal for one configuration on all GPUs, so that a measurement can be transferred."""
    version: float = 0.0
    """Of the software: a transfer takes the measurement whose version is nearest."""
    group: str = ""
    """What `--holdout model` holds out together; the model where it is empty."""
    traits: tuple[float, ...] = ()
    """What makes the configuration hard to predict (`difficulty`); empty where the set states nothing."""


def find_card(name: str) -> tuple[Card | None, str]:
    """The card, or None and why."""
    try:
        return cards.card(name), ""
    except GpuwiseError as error:
        return None, str(error)


def per_card(
    cases: Sequence[Case],
    prepare: Callable[[Sequence[Case]], Prepared],
    compute: Callable[[Prepared, Card, Rates], Array],
) -> Callable[[Parameters], Array]:
    """parameters -> figures of all cases, each card computed again only where its rates changed.

    That makes a Jacobian cheap: an effect of one card moves that card alone. `prepare` turns the cases of
    one card into arrays, once. Cases that are refused give NaN.
    """
    places: dict[str, list[int]] = {}
    found_cards: dict[str, Card] = {}
    for i, case in enumerate(cases):
        if case.card is not None and not case.refusal:
            places.setdefault(case.card.id, []).append(i)
            found_cards[case.card.id] = case.card
    prepared = {key: prepare([cases[i] for i in at]) for key, at in places.items()}

    @lru_cache(maxsize=512)
    def of(key: str, rates: tuple[tuple[str, float], ...]) -> Array:
        return compute(prepared[key], found_cards[key], dict(rates))

    def predict(parameters: Parameters) -> Array:
        found = np.full(len(cases), np.nan)
        for key, at in places.items():
            found[at] = of(key, tuple(on_card(parameters, found_cards[key]).items()))
        return found

    return predict
