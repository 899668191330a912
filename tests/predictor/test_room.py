"""Whether a step fits is a probability by measured errors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.predict.transformers import transformer
from gpuwise.predictor import step as r
from gpuwise.predictor.card import card
from gpuwise.predictor.kernels import Memory
from gpuwise.predictor.rates import errors, memory_errors, step_half

GPU = card("rtx-4090")
RAW = Path(__file__).parents[2] / "results" / "predict" / "steps.json"


def at(peak: float) -> r.MemoryNeed:
    memory = Memory(parameters=0.0, gradients=0.0, optimiser=0.0, peak=peak, largest=0.0)
    found = r.fits_in_memory(
        replace(transformer("bert_large", batch=1, length=8, train=False), memory=memory), GPU
    )
    assert found is not None
    return found


def test_small_fits_large_does_not_and_between_falls() -> None:
    chances = [at(share * GPU.memory_bytes).fits for share in (0.1, 0.9, 0.95, 0.97, 1.0, 2.0)]
    assert chances[0] == 1.0
    assert chances[-1] == 0.0
    assert chances == sorted(chances, reverse=True)
    assert any(0 < chance < 1 for chance in chances)


def test_buckets_need_room_too() -> None:
    trace = transformer("bert_large", batch=1, length=8, train=False)
    memory = Memory(parameters=0.0, gradients=0.0, optimiser=0.0, peak=1e9, largest=0.0)
    alone, more = (r.fits_in_memory(replace(trace, memory=memory), GPU, more=x) for x in (0.0, 5e8))
    assert alone is not None
    assert more is not None
    assert more.peak.value - alone.peak.value == 5e8


def test_without_lifetimes_nothing_is_said() -> None:
    assert r.fits_in_memory(transformer("bert_large", batch=1, length=8, train=False), GPU) is None


def test_shipped_errors_are_those_of_the_raw_file() -> None:
    raw = json.loads(RAW.read_text(encoding="utf-8"))
    assert list(memory_errors()) == raw["memory"]["errors"]
    for level, found in raw["levels"].items():
        assert step_half(level) == pytest.approx(found["half_width"], abs=1e-4)
        assert errors()["cards"][level] == found["cards"]
    assert errors()["scaling"] == pytest.approx(raw["scaling"]["half_width"], abs=1e-4)


def test_a_false_fits_is_rarer_than_one_in_fifty() -> None:
    raw = json.loads(RAW.read_text(encoding="utf-8"))
    assert raw["memory"]["false_fits"] <= 0.02
    assert raw["memory"]["verdicts"] > 1000


def test_coverage_of_left_out_cards() -> None:
    """80 % is asked; fewer than twenty cards cannot tell it from 70 or 90."""
    raw = json.loads(RAW.read_text(encoding="utf-8"))
    for level, found in raw["levels"].items():
        shares = list(found["coverage_by_card"].values())
        assert np.mean(shares) == pytest.approx(found["coverage"])
        assert 0.7 <= found["coverage"] <= 0.97, level
