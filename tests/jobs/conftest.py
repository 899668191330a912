"""A store that is empty and goes away."""

from __future__ import annotations

from pathlib import Path

import pytest

RESULT = Path(__file__).parents[2] / "results" / "h200" / "resnet50-tuned.json"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path))
    return tmp_path
