"""Small worlds: a few GPUs of the catalog with speeds and prices made up for one test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

import pytest

from gpuwise.judge.choose import candidates as priced
from gpuwise.judge.choose import decide
from gpuwise.model.gpu import Offer, Source
from gpuwise.model.judgement import Assumptions, Need, Recommendation
from gpuwise.model.result import Interval, Record

from ...records import made_up

TODAY = date(2026, 11, 21)
SOURCE = Source(id="made-up", title="made up", kind="third-party", read_on="2026-11-21")


def candidates(
    need: Need, speeds: Sequence[Record], offers: Sequence[Offer], *, today: date
) -> priced.Candidates:
    """Of those offers that the need allows."""
    return priced.candidates(need, speeds, priced.usable(need, offers, today), today=today)


def offered(need: Need, offers: Sequence[Offer], today: date) -> dict[str, tuple[int, ...]]:
    """By those offers that the need allows."""
    return priced.offered(need, priced.usable(need, offers, today), today)


def recommend(
    need: Need, speeds: Sequence[Record], offers: Sequence[Offer], *, today: date, **more: Any
) -> Recommendation:
    """By those offers that the need allows."""
    return decide.recommend(need, speeds, priced.usable(need, offers, today), today=today, **more)


def interval(value: float, factor: float = 1.2) -> Interval:
    return Interval(value=value, low=value / factor, high=value * factor, level=0.8, method="made up")


@pytest.fixture
def today() -> date:
    return TODAY


@pytest.fixture
def need() -> Callable[..., Need]:
    def make(**changes: Any) -> Need:
        # Prices of any age, unless a test asks about their age.
        given: dict[str, Any] = {
            "workloads": (("resnet50", 1.0),), "mode": "train", "precision": "bf16",
            "assumptions": Assumptions(max_age_days=None, host_usd=1500.0, host_w=100.0),
        }  # fmt: skip
        return Need(**(given | changes))

    return make


@pytest.fixture
def speed() -> Callable[..., Record]:
    def make(gpu: str, value: float, count: int = 1, factor: float = 1.2, **changes: Any) -> Record:
        given: dict[str, Any] = {"watts": 300.0 * count, "memory_bytes": 8e9, "fits_probability": 1.0}
        return made_up(gpu, count=count, throughput=interval(value, factor), **(given | changes))

    return make


@pytest.fixture
def offer() -> Callable[..., Offer]:
    def make(gpu: str, amount: float, kind: str = "on-demand", count: float = 1, **changes: Any) -> Offer:
        given: dict[str, Any] = {
            "provider": "cloud", "seen_on": "2026-11-01", "gpu_ids": tuple(gpu.split(";")),
        }  # fmt: skip
        return Offer(gpu=gpu, count=count, kind=kind, amount=amount, source=SOURCE, **(given | changes))

    return make
