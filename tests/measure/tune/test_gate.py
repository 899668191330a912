"""A fast wrong number does not count."""

from __future__ import annotations

import math

import pytest

from gpuwise.measure.tune import TOLERANCE, refusal
from gpuwise.model.result import Issue

from .conftest import measurement

DEFAULT = measurement()


def test_what_computes_the_same_counts() -> None:
    assert refusal(measurement(), DEFAULT) is None
    assert refusal(measurement(norm=2.0 * (1 + 0.9 * TOLERANCE)), DEFAULT) is None
    assert refusal(measurement(), None) is None


@pytest.mark.parametrize("norm", [1.0, 2.0 * (1 + 1.1 * TOLERANCE), 0.0, math.nan])
def test_other_gradients_do_not(norm: float) -> None:
    assert "gradients" in (refusal(measurement(norm=norm), DEFAULT) or "")


def test_another_first_loss_does_not_but_the_last_may_differ() -> None:
    assert "loss" in (refusal(measurement(loss=(7.0, 5.0)), DEFAULT) or "")
    assert refusal(measurement(loss=(6.0, 1.0)), DEFAULT) is None


def test_gradients_of_another_batch_are_not_compared() -> None:
    assert refusal(measurement(norm=5.0, batch=16), DEFAULT) is None


def test_inference_has_neither() -> None:
    assert refusal(measurement(norm=None, loss=()), measurement(norm=None, loss=())) is None
    assert refusal(measurement(norm=None, loss=()), DEFAULT) is None


@pytest.mark.parametrize("code", ["mismatch", "diverging", "output", "above-peak"])
def test_the_cautions_of_every_measurement_hold(code: str) -> None:
    caution = Issue(code=code, severity="warning", detail="too good", fix="")  # type: ignore[arg-type]
    assert refusal(measurement(cautions=(caution,)), DEFAULT) == f"{code}: too good"


def test_a_machine_in_a_bad_state_is_no_wrong_number() -> None:
    caution = Issue(code="throttled", severity="warning", detail="hot", fix="")
    assert refusal(measurement(cautions=(caution,)), DEFAULT) is None


def test_what_failed_says_why_in_one_line() -> None:
    assert refusal(measurement(None, error="RuntimeError: no kernel\nand more"), DEFAULT) == (
        "failed: RuntimeError: no kernel"
    )
    assert refusal(measurement(None), DEFAULT) == "failed"
