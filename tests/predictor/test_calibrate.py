"""Measured limits and workloads sharpen, and impossible ones are refused."""

from __future__ import annotations

import numpy as np
import pytest

from gpuwise.errors import InputError
from gpuwise.predictor.card import card
from gpuwise.predictor.evidence import (
    large_product,
    own_factor,
    own_width,
    with_limits,
)
from gpuwise.predictor.rates import mean_watts, on_card, shipped

H100 = card("h100-sxm5-80gb")


def test_limits_become_the_rate_of_their_format() -> None:
    found = with_limits(shipped("gemm"), H100, products={"bf16": 6.5e14}, copy=2.9e12)
    rates = on_card(found, H100)
    assert large_product(H100, rates, "bf16") == pytest.approx(6.5e14, rel=0.02)
    before = large_product(H100, on_card(shipped("gemm"), H100), "fp16")
    assert large_product(H100, rates, "fp16") == pytest.approx(before, rel=0.02)
    assert H100.bytes_per_s * rates["memory"] == pytest.approx(2.9e12)
    other = card("a100-pcie-40gb")
    assert on_card(found, other) == on_card(shipped("gemm"), other) | {"format.bf16": 1.0}


def test_a_limit_as_predicted_changes_nothing() -> None:
    rates = on_card(shipped("gemm"), H100)
    found = with_limits(shipped("gemm"), H100, products={"bf16": large_product(H100, rates, "bf16")})
    assert on_card(found, H100) == rates | {"format.bf16": pytest.approx(1.0)}


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(InputError, match="above"):
        with_limits(shipped("gemm"), H100, products={"bf16": 2e15})
    with pytest.raises(InputError, match="above"):
        with_limits(shipped("gemm"), H100, products={}, copy=9e12)


def test_own_factor_shrinks() -> None:
    assert own_factor([], []) == 1.0
    assert 1.0 < own_factor([2.0], [1.0]) < own_factor([2.0] * 50, [1.0] * 50) < 2.0


def test_own_width_shrinks() -> None:
    assert own_width([]) == 1.0
    assert 1.0 < own_width([2.0]) < own_width([2.0] * 50) < 2.0
    assert 0.1 <= own_width([0.0] * 500) < own_width([0.5] * 500) < own_width([0.5] * 5) < 1.0
    assert own_width(np.arange(1, 1001) / 800) == pytest.approx(1.0, abs=0.01)


def test_watts_stay_within_the_limit() -> None:
    rates = on_card(shipped("watts"), H100)
    idle = mean_watts(rates, H100, dtype="fp16", flop=0.0, moved=0.0, seconds=1.0)
    some = mean_watts(rates, H100, dtype="fp16", flop=2e14, moved=1e12, seconds=1.0)
    most = mean_watts(rates, H100, dtype="fp16", flop=1e18, moved=1e15, seconds=1.0)
    assert 0 < idle < some < most == H100.power_w
