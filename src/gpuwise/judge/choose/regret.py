"""How much a choice by predicted speeds costs more than the best there was.

    regret    cost of our pick / cost of the cheapest - 1, both at true speeds
    pairs     of those whose true costs differ by more than 5 %, the share put in the right order

A menu is the machines of one task. One machine may win each of them by its price; so the same is asked of
many small menus, drawn at random, of which most are without it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np

APART = 0.05
"""True costs that differ by less are no question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One machine for one task."""

    name: str
    true_cost: float
    predicted_cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Regret:
    """Of many menus."""

    menus: int
    mean: float
    p90: float
    first_right: float
    """Share of menus whose pick was the cheapest."""
    pairs: int
    pairs_right: float


def regret(menu: Sequence[Entry]) -> float:
    """Of one menu."""
    pick = min(menu, key=lambda entry: entry.predicted_cost)
    return pick.true_cost / min(entry.true_cost for entry in menu) - 1


def score(menus: Sequence[Sequence[Entry]]) -> Regret:
    """Over menus with at least two machines. Raises ValueError without any."""
    menus = [menu for menu in menus if len(menu) > 1]
    if not menus:
        raise ValueError("no menu has two machines")
    found = np.array([regret(menu) for menu in menus])
    right = [ordered for menu in menus for ordered in _pairs(menu)]
    return Regret(
        menus=len(menus), mean=float(found.mean()), p90=float(np.quantile(found, 0.9)),
        first_right=float((found == 0).mean()), pairs=len(right),
        pairs_right=float(np.mean(right)) if right else float("nan"),
    )  # fmt: skip


def _pairs(menu: Sequence[Entry]) -> Iterator[bool]:
    for a, b in combinations(menu, 2):
        if abs(log(a.true_cost / b.true_cost)) > log(1 + APART):
            yield (a.true_cost < b.true_cost) == (a.predicted_cost < b.predicted_cost)


def small_menus(menus: Sequence[Sequence[Entry]], *, size: int, draws: int, seed: int) -> list[list[Entry]]:
    """`draws` random menus of `size` machines from each menu that has so many."""
    draw = random.Random(seed)
    return [draw.sample(list(menu), size) for menu in menus if len(menu) >= size for _ in range(draws)]
