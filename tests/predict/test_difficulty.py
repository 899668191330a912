"""Hard configurations get wide intervals, easy ones narrow; what says nothing changes nothing."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from gpuwise.predict.difficulty import Difficulty, learn

DRAW = np.random.default_rng(4)


def made_up(n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of four cards, errors three times as large where the first trait is 1."""
    traits = np.stack([DRAW.integers(0, 2, n).astype(float), DRAW.normal(size=n)], axis=1)
    return traits, DRAW.normal(size=n) * np.where(traits[:, 0] > 0, 0.6, 0.2), DRAW.choice(list("abcd"), n)


def test_what_errs_more_is_harder() -> None:
    found = learn(*made_up())
    easy, hard = found.of(np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert 2.0 < hard / easy < 4.0
    assert found.of(np.array([[0.0, 1.0]]))[0] == pytest.approx(easy, rel=0.25)


def test_usual_difficulty_is_one() -> None:
    traits, errors, cards = made_up()
    assert np.exp(np.log(learn(traits, errors, cards).of(traits)).mean()) == pytest.approx(1.0, abs=0.05)


def test_nothing_is_extrapolated() -> None:
    found = learn(*made_up())
    far, farther = found.of(np.array([[0.0, 50.0], [0.0, 5000.0]]))
    assert far == farther


def test_without_traits_every_case_is_alike() -> None:
    _, errors, cards = made_up()
    assert (learn(np.zeros((600, 0)), errors, cards).of(np.zeros((3, 0))) == 1.0).all()


def test_a_trait_that_never_differs_says_nothing() -> None:
    traits, errors, cards = made_up()
    traits[:, 1] = 7.0
    found = learn(traits, errors, cards)
    assert found.of(np.array([[1.0, 7.0]]))[0] == pytest.approx(found.of(np.array([[1.0, 9.0]]))[0], rel=1e-6)


def test_it_survives_a_file() -> None:
    found = learn(*made_up())
    assert Difficulty.stated(json.loads(json.dumps(asdict(found)))) == found
