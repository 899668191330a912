"""Half widths: from the card itself only where it is owned, of its vendor, as wide as the case is hard."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from evaluation.predict import cross
from evaluation.predict.case import Case, find_card
from gpuwise.errors import NoDataError
from gpuwise.predictor.rates import Difficulty

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
    draw = np.random.default_rng(7)
    values = np.exp(np.array([draw.normal() * scales[c.gpu] for c in cases]))
    return cases, values, cross.errors_of(cases, values, [frozenset({c.gpu}) for c in cases])


def coverage(errors: cross.Errors, halves: np.ndarray, gpu: str) -> float:
    mine = errors.cards == gpu
    return float((np.abs(errors.values[mine]) <= halves[mine]).mean())


def test_an_unseen_card_gets_the_width_of_the_others() -> None:
    cases, _, errors = known({"rtx-3090": 0.1, "rtx-4090": 0.1, "t4": 9.0})
    halves = cross.unseen(errors, [c.gpu for c in cases], errors)
    assert halves[-1] == cross.half_width(errors.values[:400], errors.cards[:400])
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


def test_a_card_whose_family_is_known_is_compared_with_others_of_known_families() -> None:
    siblings, alone = ("rtx-3090", "rtx-a6000", "h100-sxm5-80gb", "h200-sxm"), ("a100-pcie-40gb", "t4", "l4")
    cases, _, errors = known(dict.fromkeys(siblings, 0.1) | dict.fromkeys(alone, 3.0))
    halves = cross.unseen(errors, [c.gpu for c in cases], errors)
    assert halves[0] < 0.3
    assert halves[-1] > 1.0


def test_traits_that_say_nothing_of_the_next_card_are_left_out() -> None:
    cases = [case(gpu, f"net {i}", float(i % 2)) for gpu in NVIDIA for i in range(100)]
    folds, same = [c.gpu for c in cases], np.array([c.traits[0] for c in cases])
    where = np.array([c.gpu in NVIDIA[::2] for c in cases])
    for hard, spread in ((same > 0, 2.0), ((same > 0) == where, 0.2)):  # of all cards, or of every other one
        values = np.exp(DRAW.normal(size=600) * np.where(hard, 0.5, 0.1))
        errors = cross.errors_of(cases, values, [frozenset({fold}) for fold in folds])
        _, found = cross.shipped(errors, np.ones(600, bool))
        assert (abs(np.log(found.of(np.array([[0.0], [1.0]])))).max() > 0.5) == (spread > 1.0)


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


def test_coverage_of_fresh_errors() -> None:
    draw = np.random.default_rng(1)
    held = [
        np.mean(np.abs(draw.normal(size=100)) <= cross.half_width(draw.normal(size=200), ["x"] * 200))
        for _ in range(200)
    ]
    assert np.mean(held) == pytest.approx(0.8, abs=0.02)


def test_every_card_weighs_the_same() -> None:
    errors, cards = [0.1, -0.1] * 500 + [0.5, -0.5] * 5, ["many"] * 1000 + ["few"] * 10
    assert cross.half_width(errors, cards) == pytest.approx(0.5)
    assert cross.half_width(errors, ["one"] * 1010) == pytest.approx(0.1)


def test_few_cards_that_differ_widen() -> None:
    two, many = [0.2, -0.2] * 10, [0.2, -0.2] * 10
    widths = [cross.half_width(two, ["a", "b"] * 10), cross.half_width(many, [str(i) for i in range(20)])]
    assert widths[0] == pytest.approx(0.2 * 1.886 / 1.2816, rel=1e-3)
    assert 0.2 < widths[1] < 0.21


def test_refusals_have_no_error() -> None:
    assert cross.half_width([0.1, float("nan"), -0.1], ["a", "a", "a"]) == pytest.approx(0.1)
    with pytest.raises(NoDataError):
        cross.half_width([float("nan")], ["a"])


def made_up(n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of four cards, errors three times as large where the first trait is 1."""
    traits = np.stack([DRAW.integers(0, 2, n).astype(float), DRAW.normal(size=n)], axis=1)
    return traits, DRAW.normal(size=n) * np.where(traits[:, 0] > 0, 0.6, 0.2), DRAW.choice(list("abcd"), n)


def test_what_errs_more_is_harder() -> None:
    found = cross.learn(*made_up())
    easy, hard = found.of(np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert 2.0 < hard / easy < 4.0
    assert found.of(np.array([[0.0, 1.0]]))[0] == pytest.approx(easy, rel=0.25)


def test_usual_difficulty_is_one() -> None:
    traits, errors, cards = made_up()
    assert np.exp(np.log(cross.learn(traits, errors, cards).of(traits)).mean()) == pytest.approx(
        1.0, abs=0.05
    )


def test_nothing_is_extrapolated() -> None:
    found = cross.learn(*made_up())
    far, farther = found.of(np.array([[0.0, 50.0], [0.0, 5000.0]]))
    assert far == farther


def test_without_traits_every_case_is_alike() -> None:
    _, errors, cards = made_up()
    assert (cross.learn(np.zeros((600, 0)), errors, cards).of(np.zeros((3, 0))) == 1.0).all()


def test_a_trait_that_never_differs_says_nothing() -> None:
    traits, errors, cards = made_up()
    traits[:, 1] = 7.0
    found = cross.learn(traits, errors, cards)
    assert found.of(np.array([[1.0, 7.0]]))[0] == pytest.approx(found.of(np.array([[1.0, 9.0]]))[0], rel=1e-6)


def test_it_survives_a_file() -> None:
    found = cross.learn(*made_up())
    assert Difficulty.stated(json.loads(json.dumps(asdict(found)))) == found
