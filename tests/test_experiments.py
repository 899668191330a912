"""Experiments run where no GPU is, small; their figures mean something on a GPU only."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "experiments"


def test_the_cost_of_watching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    import telemetry_cost

    monkeypatch.setattr(telemetry_cost, "WINDOW_S", 0.05)
    monkeypatch.setattr(telemetry_cost, "CONFIGS", telemetry_cost.CONFIGS[1:])
    document = telemetry_cost.run("cpu", 2, say=lambda text: None)
    (row,) = document["rounds"]
    assert len(row["watched_s"]) == len(row["unwatched_s"]) == 2
    assert all(count >= 1 for count in row["samples"])
    assert row["cost_low"] <= row["cost_share"] <= row["cost_high"]
    assert 0 <= row["watcher_core_share"] < 1
    assert row["errors"] == []
