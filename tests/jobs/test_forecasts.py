"""Forecasts are made once, only of shipped traces, and tell what was measured meanwhile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.errors import NoDataError
from gpuwise.jobs import predicting as forecasts
from gpuwise.jobs.predicting import Forecasts
from gpuwise.model.question import RunConfig
from gpuwise.predictor import forecast

from .conftest import RESULT

CELL = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)


def test_a_forecast_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = forecast.forecast

    def counting(*given: object, **named: object) -> object:
        calls.append(given[1])
        return real(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(forecast, "forecast", counting)
    asked = Forecasts()
    first = asked(CELL, ["l40s", "a10"], batch=64)
    again = asked(CELL, ["a10", "l40s", "a30"], batch=64)
    assert calls == [["l40s", "a10"], ["a30"]]
    assert again[:2] == (first[1], first[0])
    assert first == real(CELL, ["l40s", "a10"], batch=64)


def test_a_full_memory_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasts, "KEPT_QUESTIONS", 2)
    asked = Forecasts()
    for batch in (32, 64, 128):
        assert [p.gpu_id for p in asked(CELL, ["l40s", "a10"], batch=batch)] == ["l40s", "a10"]


@pytest.mark.parametrize("workload", ["nonsense", "stencil", "matmul", "./evil.py"])
def test_work_without_a_trace_is_refused(workload: str) -> None:
    with pytest.raises(NoDataError, match="no trace of it is shipped"):
        Forecasts()(RunConfig(workload=workload, mode="train", precision="bf16"), ["l40s"])


def test_what_is_measured_meanwhile_is_told(home: Path) -> None:
    config = replace(CELL, workload="resnet50", precision="bf16")
    asked = Forecasts()
    (before,) = asked(config, ["h100-pcie-80gb"])
    assert before.measured is None
    result = store.load(RESULT)
    elsewhere = replace(result.environment, gpu_id="h100-pcie-80gb")
    store.save(replace(result, environment=elsewhere))
    (after,) = asked(config, ["h100-pcie-80gb"])
    assert after.measured is not None
    assert after.throughput == before.throughput
