"""Half widths of scored predictions from errors of other cards, and of an owned card's other networks.

    unseen card   s x quantile of |error| / s over the other folds              (cross-conformal: Vovk 2015)
    owned card    the same over the card's own other networks, drawn to the figure of other cards as
                  n / (n + 4) for n rows: with none it is theirs, with many its own

s is how hard a case is (`interval.Difficulty`), fitted to log |error| by ridge regression. A conformal
quantile of |error| / s times s keeps the coverage of the plain one and moves width from easy work to hard
(Papadopoulos et al. 2008; Lei et al. 2018, section 5.2). Only what a configuration states goes in, nothing
that was measured. Errors of one card are alike, so that every card weighs the same in the quantile however
many rows it has (Dunn et al. 2023, "Distribution-free prediction sets for two-layer hierarchical models").
Few cards say little of the next one: the part of the errors that is common to a card is widened by t(K) / z,
Student's over the normal quantile, for K cards. Libraries of one vendor are alike too: other vendors count
where fewer than four cards are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from evaluation.predict.case import Case
from gpuwise.errors import NoDataError
from gpuwise.predictor import evidence
from gpuwise.predictor.rates import LEVEL, Difficulty
from gpuwise.stats.interval import t_quantile

Array = NDArray[np.float64]
Places = NDArray[np.bool_]
_ENOUGH = 4
"""Cards of one vendor from which the errors of others say nothing more."""
MOST_FOLDS = 12
"""Networks of which each is a fold of its own; more are dealt."""
_DEALT = 10
_RIDGES = (0.2, 0.05, 1.0, 5.0)
"""Against an average row's weight of 1 in all: traits that explain little are left out in effect. How little
they say of the next card is not known before, so that of these is taken which tells most of known cards."""
_LEAST = 0.02
"""Added to errors, so that a lucky one is not taken for an easy case."""
_SAME = 1e-6
"""Of the spread: a trait that never differs says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Known errors, an element each."""

    values: Array
    """log(predicted / measured); NaN for a refusal."""
    cards: NDArray[np.str_]
    """What weighs the same in a quantile."""
    vendors: NDArray[np.str_]
    parts: NDArray[np.str_]
    traits: Array
    """What makes a case hard, a row each."""
    folds: tuple[frozenset[str], ...]
    """In which folds an error may not be used."""
    siblings: Places
    """Whether another card of the family was not left out."""


def errors_of(cases: Sequence[Case], values: Array, folds: Sequence[frozenset[str]]) -> Errors:
    """The errors of predictions of `cases`."""
    families = [case.card.family if case.card else "" for case in cases]
    places = {(family, fold) for family, own in zip(families, folds, strict=True) for fold in own}
    return Errors(
        values=np.log(values / np.array([case.measured for case in cases])),
        cards=np.array([case.card.id if case.card else "" for case in cases]),
        vendors=np.array([case.card.vendor if case.card else "" for case in cases]),
        parts=np.array([case.part for case in cases]),
        traits=traits_of(cases),
        folds=tuple(folds),
        siblings=np.array([
            any(kin == family and fold not in own for kin, fold in places)
            for family, own in zip(families, folds, strict=True)
        ]),
    )  # fmt: skip


def joined(found: Sequence[Errors]) -> Errors:
    """All of them, one after the other."""
    return Errors(
        values=np.concatenate([one.values for one in found]),
        cards=np.concatenate([one.cards for one in found]),
        vendors=np.concatenate([one.vendors for one in found]),
        parts=np.concatenate([one.parts for one in found]),
        traits=np.concatenate([one.traits for one in found]),
        folds=tuple(fold for one in found for fold in one.folds),
        siblings=np.concatenate([one.siblings for one in found]),
    )


def traits_of(cases: Sequence[Case]) -> Array:
    """What the set states of each case; zeros for one that is refused before that."""
    width = max((len(case.traits) for case in cases), default=0)
    return np.array([case.traits or (0.0,) * width for case in cases]).reshape(len(cases), width)


def unseen(asked: Errors, folds: Sequence[str], known: Errors) -> Array:
    """Half width of each case of `asked`, left out in its fold, from the errors of other folds alone."""
    halves = np.full(len(folds), np.nan)
    own = np.array(folds)
    for fold in sorted(set(folds)):
        free = np.array([fold not in used for used in known.folds]) & np.isfinite(known.values)
        for part in sorted(set(asked.parts[own == fold])):
            mine = (own == fold) & (asked.parts == part)
            same = free & (known.parts == part)
            first = int(np.flatnonzero(mine)[0])
            found = _kin(known, same if same.any() else free, asked.vendors[first], asked.siblings[first])
            if found.any():
                half, difficulty = shipped(known, found)
                halves[mine] = half * difficulty.of(asked.traits[mine])
    return halves


def _kin(known: Errors, free: Places, vendor: str, sibling: bool) -> Places:
    """Errors of the same vendor where that has enough cards, else all; of those of the cards whose family was
    known as well, or was not, where they are several."""
    same = free & (known.vendors == vendor)
    found = same if len(set(known.cards[same])) >= _ENOUGH else free
    alike = found & (known.siblings == sibling)
    return alike if len(set(known.cards[alike])) > 1 else found


def shipped(known: Errors, at: Places) -> tuple[float, Difficulty]:
    """Half width of difficulty 1 from all errors at these places, and the difficulty: with the ridge of which
    intervals of the cards left out in turn have the best score, their width and the tenfold of what lies
    outside of 80 % (Gneiting & Raftery 2007)."""
    values, cards, traits = known.values[at], known.cards[at], known.traits[at]
    others = {card: cards != card for card in sorted(set(cards.tolist()))}
    ridges = _RIDGES if traits.shape[1] and len(others) > 1 else _RIDGES[:1]
    scales = {ridge: _scales(traits, values, cards, ridge) for ridge in ridges}

    def score(ridge: float) -> float:
        total, relative = 0.0, values / scales[ridge]
        for other in others.values():
            half = half_width(relative[other], cards[other]) * scales[ridge][~other]
            outside = np.maximum(0.0, np.abs(values[~other]) - half)
            total += float(np.mean(2.0 * half + 2.0 / (1.0 - LEVEL) * outside))
        return total

    best = min(scales, key=score) if len(scales) > 1 else ridges[0]
    return half_width(values / scales[best], cards), learn(traits, values, cards, best)


def _scales(traits: Array, values: Array, cards: NDArray[np.str_], ridge: float) -> Array:
    """How hard each case is, learnt on the other cards."""
    found = np.ones(len(values))
    for card in sorted(set(cards)) if traits.shape[1] else ():
        mine = cards == card
        other = ~mine if (~mine).any() else mine
        found[mine] = learn(traits[other], values[other], cards[other], ridge).of(traits[mine])
    return found


def owned(known: Errors, others: Array, networks: Sequence[str]) -> Array:
    """Half widths where the card's own other networks are known; `others` are those of other cards.

    `known` holds the errors that are left after the card's factor (`with_own_factor`).
    """
    halves, names = others.copy(), np.array(networks)
    usable = np.isfinite(known.values) & np.isfinite(others)
    relative = np.abs(known.values) / np.where(usable, others, 1.0)
    for at in _places(known, usable):
        folds = _dealt(names[at])
        for fold in sorted(set(folds)):
            mine, other = at[folds == fold], at[folds != fold]
            halves[mine] = others[mine] * evidence.own_width(relative[other])
    return halves


def with_own_factor(cases: Sequence[Case], values: Array) -> Array:
    """Each figure times a factor from the same card's other networks in the same part."""
    known, found = errors_of(cases, values, [frozenset()] * len(cases)), values.copy()
    names, measured = np.array(networks_of(cases)), np.array([case.measured for case in cases])
    for at in _places(known, np.isfinite(values)):
        folds = _dealt(names[at])
        for fold in sorted(set(folds)):
            other = at[folds != fold]
            found[at[folds == fold]] *= evidence.own_factor(measured[other], values[other])
    return found


def networks_of(cases: Sequence[Case]) -> list[str]:
    """What is held out together of each case."""
    return [case.group or case.model for case in cases]


def _places(known: Errors, usable: Places) -> list[NDArray[np.intp]]:
    """Where the cases of each card and part stand."""
    keys = dict[tuple[str, str], list[int]]()
    for i in np.flatnonzero(usable & (known.cards != "")):
        keys.setdefault((known.cards[i], known.parts[i]), []).append(int(i))
    return [np.array(at) for at in keys.values()]


def _dealt(names: NDArray[np.str_]) -> NDArray[np.str_]:
    return np.array(dealt(names.tolist()))


def dealt(names: Sequence[str]) -> list[str]:
    """Folds of networks: each its own, or dealt by the CRC-32 of their name where they are many."""
    if len(set(names)) <= MOST_FOLDS:
        return list(names)
    fold = {name: f"fold {crc32(name.encode()) % _DEALT}" for name in set(names)}
    return [fold[name] for name in names]


def half_width(
    errors: Sequence[float] | Array, cards: Sequence[str] | NDArray[np.str_], level: float = LEVEL
) -> float:
    """Conformal half width in log space from `errors`, each card of `cards` weighing the same.

    Raises NoDataError without errors. With few cards the widest error bounds it.
    """
    signed = np.asarray(errors, dtype=float)
    keep = np.isfinite(signed)
    signed, names = signed[keep], np.asarray(cards)[keep]
    sizes = np.abs(signed)
    if not len(sizes):
        raise NoDataError("no error of a left-out card is known", hint="fit on at least two cards")
    _, place, counts = np.unique(names, return_inverse=True, return_counts=True)
    weights = 1.0 / counts[place] / len(counts)
    order = np.argsort(sizes)
    reached = np.cumsum(weights[order])
    wanted = min(1.0, ceil((len(sizes) + 1) * level) / len(sizes))
    half = sizes[order][min(int(np.searchsorted(reached, wanted - 1e-12)), len(sizes) - 1)]
    means = np.bincount(place, weights=signed) / counts
    common = float((means**2).mean() / max(float(weights @ signed**2), 1e-300))
    return float(half * few_cards(len(counts), common, level))


def few_cards(cards: int, common: float, level: float) -> float:
    """Factor on the half width where `common` of the variance of the errors is that of `cards` cards."""
    probability = (1.0 + level) / 2.0
    student = t_quantile(probability, cards) / NormalDist().inv_cdf(probability)
    return sqrt(max(0.0, 1.0 - common) + common * student**2)


def learn(
    traits: Array, errors: Array, cards: NDArray[np.str_], ridge: float = _RIDGES[0]
) -> Difficulty:  # fmt: skip
    """The difficulty that best explains the sizes of `errors` (logarithms of ratios, finite)."""
    if not traits.shape[1]:
        return Difficulty.stated(None)
    centre, spread = traits.mean(axis=0), traits.std(axis=0)
    spread[spread < _SAME] = 1.0
    columns = Difficulty.columns(traits, centre.tolist(), spread.tolist())
    _, place, counts = np.unique(cards, return_inverse=True, return_counts=True)
    weights = (1.0 / counts[place] / len(counts))[:, None]
    penalty = ridge * np.eye(columns.shape[1])
    penalty[0, 0] = 0.0
    sizes = np.log(np.abs(errors) + _LEAST)
    slopes = np.linalg.solve(columns.T @ (columns * weights) + penalty, columns.T @ (weights[:, 0] * sizes))
    slopes[0] -= float(weights[:, 0] @ (columns @ slopes))
    return Difficulty(
        centre=tuple(centre.tolist()), spread=tuple(spread.tolist()), slopes=tuple(slopes.tolist())
    )
