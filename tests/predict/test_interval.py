"""Conformal intervals: they contain their point, and cover what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import NoDataError
from gpuwise.predict.interval import around, half_width, shipped_half, widened
from gpuwise.predict.rates import document


@given(st.floats(1e-9, 1e9), st.floats(0, 50))
def test_an_interval_contains_its_point(value: float, half: float) -> None:
    found = around(value, half)
    assert found.low <= found.value <= found.high
    assert found.level == 0.8


def test_coverage_of_fresh_errors() -> None:
    draw = np.random.default_rng(1)
    held = [
        np.mean(np.abs(draw.normal(size=100)) <= half_width(draw.normal(size=200), ["x"] * 200))
        for _ in range(200)
    ]
    assert np.mean(held) == pytest.approx(0.8, abs=0.02)


def test_every_card_weighs_the_same() -> None:
    errors, cards = [0.1, -0.1] * 500 + [0.5, -0.5] * 5, ["many"] * 1000 + ["few"] * 10
    assert half_width(errors, cards) == pytest.approx(0.5)
    assert half_width(errors, ["one"] * 1010) == pytest.approx(0.1)


def test_few_cards_that_differ_widen() -> None:
    two, many = [0.2, -0.2] * 10, [0.2, -0.2] * 10
    widths = [half_width(two, ["a", "b"] * 10), half_width(many, [str(i) for i in range(20)])]
    assert widths[0] == pytest.approx(0.2 * 1.886 / 1.2816, rel=1e-3)
    assert 0.2 < widths[1] < 0.21


def test_refusals_have_no_error() -> None:
    assert half_width([0.1, float("nan"), -0.1], ["a", "a", "a"]) == pytest.approx(0.1)
    with pytest.raises(NoDataError):
        half_width([float("nan")], ["a"])


@given(st.floats(0.9, 1.0), st.booleans(), st.booleans())
def test_what_is_unseen_widens(known: float, format_seen: bool, family_seen: bool) -> None:
    assert widened(0.2, known=known, format_seen=format_seen, family_seen=family_seen) >= 0.2


def test_too_much_unknown_is_refused() -> None:
    with pytest.raises(NoDataError, match="80%"):
        widened(0.2, known=0.8, format_seen=True, family_seen=True)


def test_shipped_widths() -> None:
    for group in document()["groups"]:
        assert 0.0 < shipped_half(group, "spec-only") < 2.0
    with pytest.raises(NoDataError):
        shipped_half("neusight", "transferred")
