"""Offers made by hand, and a home folder that is empty and goes away."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gpuwise.model.gpu import Offer, Source

TODAY = date(2026, 11, 21)
SOURCE = Source(id="test", title="a test", kind="third-party", read_on="2026-11-21")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def today() -> date:
    return TODAY


@pytest.fixture
def source() -> Source:
    return SOURCE


@pytest.fixture
def offer() -> Callable[..., Offer]:
    """`offer(amount=16, count=8)`: an H100 offer with what is said about it."""

    def make(**said: Any) -> Offer:
        usual: dict[str, Any] = {
            "gpu": "H100 SXM5 80GB",
            "gpu_ids": ("h100-sxm5-80gb",),
            "count": 1.0,
            "kind": "on-demand",
            "amount": 2.5,
            "provider": "acme",
            "instance": "h100x1",
            "region": "us-east-1",
            "seen_on": "2026-11-01",
            "source": SOURCE,
        }
        return Offer(**{**usual, **said})

    return make
