"""Half widths: from the card itself only where it is owned, of its vendor, as wide as the case is hard."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpuwise.predict import cross
from gpuwise.predict.interval import half_width
from gpuwise.predict.sets.case import Case, find_card

NVIDIA = ("rtx-3090", "rtx-4090", "a100-pcie-40gb", "h100-sxm5-80gb", "t4", "l4")
DRAW = np.random.default_rng(7)


def case(gpu: str, model: str, *traits: float) -> Case:
    return Case(
        gpu=gpu, card=find_card(gpu)[0], model=model, measured=1.0, flop=1.0, moved=1.0, dtype="fp16",
        traits=traits,
    )  # fmt: skip


def known(scales: dict[str, float], n: int = 200) -> tuple[list[Case], np.ndarray, cross.Errors]:
    """`n` networks on each card, with errors of that card's scale."""
    cases = [case(gpu, f"net {i}") for gpu in scales for i in range(n)]
    values = np.exp(np.array([DRAW.normal() * scales[c.gpu] for c in cases]))
    return cases, values, cross.errors_of(cases, values, [frozenset({c.gpu}) for c in cases])


def coverage(errors: cross.Errors, halves: np.ndarray, gpu: str) -> float:
    mine = errors.cards == gpu
    return float((np.abs(errors.values[mine]) <= halves[mine]).mean())


def test_an_unseen_card_gets_the_width_of_the_others() -> None:
    cases, _, errors = known({"rtx-3090": 0.1, "rtx-4090": 0.1, "t4": 9.0})
    halves = cross.unseen(errors, [c.gpu for c in cases], errors)
    assert halves[-1] == half_width(errors.values[:400], errors.cards[:400])
    assert coverage(errors, halves, "t4") < 0.1
    assert halves[0] > 1.0  # the wild card widens what the others get


def test_an_owned_card_gets_its_own_width() -> None:
    scales = {"rtx-3090": 0.1, "rtx-4090": 0.1, "t4": 0.5, "l4": 0.02}
    cases, _, errors = known(scales)
    halves = cross.unseen(errors, [c.gpu for c in cases], errors)
    owned = cross.owned(errors, halves, cross.networks_of(cases))
    for gpu in scales:
        assert coverage(errors, owned, gpu) == pytest.approx(0.8, abs=0.07), gpu
    assert coverage(errors, halves, "t4") < 0.5
    assert coverage(errors, halves, "l4") == 1.0


def test_a_network_never_sets_its_own_width() -> None:
    cases, _, errors = known({"rtx-3090": 0.1, "rtx-4090": 0.1}, n=5)
    halves = cross.unseen(errors, [c.gpu for c in cases], errors)
    before = cross.owned(errors, halves, cross.networks_of(cases))
    wild = replace(errors, values=np.where(np.arange(10) == 0, 50.0, errors.values))
    after = cross.owned(wild, halves, cross.networks_of(cases))
    assert after[0] == before[0]
    assert (after[1:5] > before[1:5]).all()


def test_other_vendors_count_only_where_few_cards_are_known() -> None:
    many = known(dict.fromkeys(NVIDIA, 0.1) | {"mi210": 3.0, "mi300x-oam": 3.0})
    few = known({"rtx-3090": 0.1, "rtx-4090": 0.1, "mi210": 3.0, "mi300x-oam": 3.0})
    (_, _, a), (_, _, b) = many, few
    assert cross.unseen(a, [str(c) for c in a.cards], a)[0] < 0.2
    assert cross.unseen(b, [str(c) for c in b.cards], b)[0] > 1.0


def test_an_error_of_two_cards_is_used_for_neither() -> None:
    cases, _, errors = known({"rtx-3090": 0.1, "rtx-4090": 0.1})
    both = replace(errors, folds=(frozenset({"rtx-3090", "rtx-4090"}),) * len(cases))
    assert np.isnan(cross.unseen(errors, [c.gpu for c in cases], both)).all()


def test_hard_cases_are_wider_and_easy_ones_narrower() -> None:
    cases = [case(gpu, f"net {i}", float(i % 2)) for gpu in NVIDIA for i in range(100)]
    sizes = np.array([0.5 if c.traits[0] else 0.1 for c in cases])
    errors = cross.errors_of(
        cases, np.exp(DRAW.normal(size=600) * sizes), [frozenset({c.gpu}) for c in cases]
    )
    folds = [c.gpu for c in cases]
    halves = cross.unseen(errors, folds, errors)
    alike = cross.unseen(plain := replace(errors, traits=np.zeros((600, 0))), folds, plain)
    hard = errors.traits[:, 0] > 0
    assert halves[hard].mean() > 2 * halves[~hard].mean()
    for kind in (hard, ~hard):
        off, before = (abs((np.abs(errors.values) <= h)[kind].mean() - 0.8) for h in (halves, alike))
        assert off < before
        assert off < 0.15


def test_many_networks_are_dealt_into_ten() -> None:
    names = [f"net {i}" for i in range(40)]
    assert cross.dealt(names[:12]) == names[:12]
    assert 5 < len(set(cross.dealt(names))) <= 10
    assert cross.dealt(names) == cross.dealt(names)
