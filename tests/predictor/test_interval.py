"""Conformal intervals: they contain their point, and cover what they say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.errors import NoDataError
from gpuwise.predictor.rates import around, shipped_half, widened


@given(st.floats(1e-9, 1e9), st.floats(0, 50))
def test_an_interval_contains_its_point(value: float, half: float) -> None:
    found = around(value, half)
    assert found.low <= found.value <= found.high
    assert found.level == 0.8


@given(st.floats(0.9, 1.0), st.booleans())
def test_what_is_unseen_widens(known: float, format_seen: bool) -> None:
    assert widened(0.2, known=known, format_seen=format_seen) >= 0.2


def test_too_much_unknown_is_refused_by_name() -> None:
    with pytest.raises(NoDataError, match="80%"):
        widened(0.2, known=0.8, format_seen=True)
    with pytest.raises(NoDataError, match="cdist"):
        widened(0.2, known=0.8, format_seen=True, unknown=("aten.cdist",))


def test_shipped_widths() -> None:
    for group in ("serving:TPOT", "serving:TTFT"):
        assert 0.0 < shipped_half(group, "spec-only") < 2.0
    with pytest.raises(NoDataError):
        shipped_half("serving:TPOT", "transferred")
