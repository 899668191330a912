"""Conformal intervals: they contain their point, and cover what they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import NoDataError
from gpuwise.predictor.rates import around, shipped_half, unknown_half


@given(st.floats(1e-9, 1e9), st.floats(0, 50))
def test_an_interval_contains_its_point(value: float, half: float) -> None:
    found = around(value, half)
    assert found.low <= found.value <= found.high
    assert found.level == 0.8


@given(st.floats(0.9, 1.0), st.floats(0.9, 1.0))
def test_what_has_no_cost_widens(known: float, other: float) -> None:
    assert unknown_half(1.0) == 0.0 <= unknown_half(known)
    assert (unknown_half(known) >= unknown_half(other)) or known > other


def test_too_much_unknown_is_refused_by_name() -> None:
    with pytest.raises(NoDataError, match="80%"):
        unknown_half(0.8)
    with pytest.raises(NoDataError, match="cdist"):
        unknown_half(0.8, ("aten.cdist",))


def test_shipped_widths() -> None:
    for group in ("serving:TPOT", "serving:TTFT"):
        assert 0.0 < shipped_half(group, "spec-only") < 2.0
    with pytest.raises(NoDataError):
        shipped_half("serving:TPOT", "transferred")
