"""The fit finds what made the data, and shrinks what the data do not say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from evaluation.predict.fit import Prior, fit

X = np.linspace(1.0, 5.0, 40)


def model(p: Mapping[str, float]) -> np.ndarray:
    return np.asarray(p["a"] + p["b"] * np.log(X) - (0.5 + 0.8 * np.log(X)))


def test_recovers_parameters() -> None:
    found = fit(model, {"a": Prior(0.0, 5.0), "b": Prior(0.0, 5.0)})
    assert found["a"] == pytest.approx(0.5, abs=1e-3)
    assert found["b"] == pytest.approx(0.8, abs=1e-3)


def test_a_narrow_prior_holds() -> None:
    found = fit(model, {"a": Prior(0.0, 5.0), "b": Prior(0.0, 1e-4)})
    assert found["b"] == pytest.approx(0.0, abs=1e-2)


def test_an_outlier_moves_little() -> None:
    def spoilt(p: Mapping[str, float]) -> np.ndarray:
        errors = model(p)
        errors[0] += 3.0
        return errors

    found = fit(spoilt, {"a": Prior(0.0, 5.0), "b": Prior(0.8, 1e-3)})
    assert found["a"] == pytest.approx(0.5, abs=0.02)


def test_weights() -> None:
    def two(p: Mapping[str, float]) -> np.ndarray:
        return np.array([p["a"] - 1.0, p["a"] + 1.0])

    found = fit(two, {"a": Prior(0.0, 100.0)}, sigma=10.0, weights=np.array([3.0, 1.0]))
    assert found["a"] == pytest.approx(0.5, abs=1e-2)
