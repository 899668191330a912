"""`gpuwise tune` from the command line, with a toy on the CPU."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuwise.model.run import RunConfig
from gpuwise.tune import run as tuner

Ran = tuple[int, str, str]
TOY = ("--device", "cpu", "--toy", "--precision", "bf16", "--mode", "train", "--batch", "2")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """One switch and trials of a moment: what is tested is that the parts fit."""
    monkeypatch.setattr(tuner, "TRIAL_S", 0.1)
    monkeypatch.setattr(tuner, "FINAL_S", 0.1)

    def one(spec: object, config: RunConfig) -> dict[str, tuple[str, ...]]:
        return {"weights": ("fp32", "half")}

    monkeypatch.setattr(tuner, "axes", one)


@pytest.mark.slow
def test_a_toy_is_tuned_and_every_trial_kept(gpuwise: Callable[..., Ran], home: Path) -> None:
    code, out, err = gpuwise("tune", "resnet50", *TOY, "--time", "5min", "--json")
    assert code == 0
    document = json.loads(out)
    assert [t["switches"] for t in document["trials"]] == [{}, {"weights": "half"}]
    assert document["tuned"]["workload"] == "resnet50"
    assert "every trial is kept in" in err
    (kept,) = (home / "results").glob("*.json")
    stored = json.loads(kept.read_text())["measurements"]
    assert {m["config"]["switches"]["weights"] for m in stored} == {"fp32", "half"}
    assert all(m["gradient_norm"] > 0 for m in stored)
    assert not (home / "recipes").exists()  # a toy's recipe is nobody's


def test_what_has_no_recipe_cannot_be_tuned(gpuwise: Callable[..., Ran]) -> None:
    code, _, err = gpuwise("tune", "matmul", "--device", "cpu")
    assert code == 2
    assert "gpuwise workloads" in err


def test_what_is_to_be_tried_must_be_switches(gpuwise: Callable[..., Ran]) -> None:
    code, _, err = gpuwise("tune", "resnet50", "--device", "cpu", "--try", "weights=half,layout=round")
    assert code == 2
    assert "'layout=round'" in err


def test_an_unknown_switch_is_refused_before_anything_runs(gpuwise: Callable[..., Ran]) -> None:
    code, _, err = gpuwise("bench", "resnet50", "--device", "cpu", "--switch", "layout=round")
    assert code == 2
    assert "layout=channels-last|channels-first" in err
