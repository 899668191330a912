"""`gpuwise tune` from the command line, with a toy on the CPU."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from gpuwise.measure import tune as tuner
from gpuwise.model.question import RunConfig, Switches

from ..examples import TUNED
from .test_schemas import check

Ran = tuple[int, str, str]
TOY = ("--device", "cpu", "--toy", "--precision", "bf16", "--mode", "train", "--batch", "2")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """One switch and trials of a moment: what is tested is that the parts fit."""
    monkeypatch.setattr(tuner, "TRIAL_S", 0.1)
    monkeypatch.setattr(tuner, "FINAL_S", 0.1)

    def one(*_: object) -> dict[str, tuple[str, ...]]:
        return {"master_weights": ("off", "on")}

    monkeypatch.setattr(tuner, "axes", one)


@pytest.mark.slow
def test_a_toy_is_tuned_and_every_trial_kept(gpuwise: Callable[..., Ran], home: Path) -> None:
    code, out, err = gpuwise("tune", "resnet50", *TOY, "--time", "5min", "--json")
    assert code == 0
    check("tune", out)
    document = json.loads(out)
    assert [t["switches"] for t in document["trials"]] == [{}, {"master_weights": "on"}]
    assert document["tuned"]["workload"] == "resnet50"
    assert "every trial is kept in" in err
    (kept,) = (home / "results").glob("*.json")
    stored = json.loads(kept.read_text())["measurements"]
    assert {m["config"]["switches"]["master_weights"] for m in stored} == {"off", "on"}
    assert all(m["gradient_norm"] > 0 for m in stored)
    assert not (home / "recipes").exists()  # a toy's recipe is nobody's


@pytest.mark.slow
def test_a_search_without_time_for_its_first_setting_ends_in_time(gpuwise: Callable[..., Ran]) -> None:
    code, out, err = gpuwise("tune", "resnet50", *TOY, "--time", "1ms")
    assert code == 4
    assert "it did not end within 1.00 ms" in out
    assert "gpuwise:" in err


@pytest.mark.usefixtures("pretended")
def test_what_is_tried_on_several_gpus_is_tried_on_top_of_the_recipe_of_one(
    gpuwise: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    def known(plan: tuple[RunConfig, ...], *_: object) -> tuple[tuple[RunConfig, ...], dict[object, object]]:
        (config,) = plan
        exchange: Literal["on", "off"] = "on" if config.gpus == 1 else "off"
        return (replace(config, switches=Switches(master_weights="on", overlap_grads=exchange)),), {}

    def locked(target: object, plan: tuple[RunConfig, ...]) -> tuple[None]:
        assert [config.gpus for config in plan] == [2]  # nobody else may measure on the second
        return (None,)

    monkeypatch.setattr("gpuwise.jobs.measuring.recall", known)
    monkeypatch.setattr("gpuwise.measure.prepare.Target.devices", locked)
    monkeypatch.setattr(tuner.Tuner, "_final", lambda *_: TUNED)  # the trials are what this is about
    code, out, _ = gpuwise("tune", "resnet50", *TOY, "--gpus", "2", "--try", "bucket=64", "--json")
    assert code == 0
    tried = [trial["switches"] for trial in json.loads(out)["trials"]]
    # What was found for several is no gain over itself, so the search does not begin there.
    exchanges: tuple[dict[str, str], ...] = ({}, {"overlap_grads": "off"}, {"bucket": "64"})
    assert tried == [{"master_weights": "on"} | exchange for exchange in exchanges]


@pytest.mark.usefixtures("pretended")
def test_a_search_goes_on_where_it_was_interrupted(
    gpuwise: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminated(*_: object) -> None:
        signal.raise_signal(signal.SIGTERM)

    trials = tmp_path / "trials.json"
    with monkeypatch.context() as during:
        during.setattr(tuner.Tuner, "_final", terminated)
        code, _, err = gpuwise("tune", "resnet50", *TOY, "-o", str(trials))
    assert code == 130
    assert "2 settings had ended" in err
    before = json.loads(trials.read_text())
    assert before["tuned"] is None
    _, _, kept = err.strip().rpartition("go on later: the same command with --resume ")
    code, _, err = gpuwise("tune", "resnet50", *TOY, "-o", str(trials), "--resume", kept)
    assert code == 0, err
    after = json.loads(trials.read_text())
    assert after["trials"] == before["trials"]
    assert after["tuned"]["source"] == Path(kept).stem
    stored = json.loads(Path(kept).read_text())
    quick, last = [[m for m in stored["measurements"] if m["config"]["quick"] is q] for q in (True, False)]
    assert [m["started_at"] <= last[0]["started_at"] for m in quick] == [True, True]
    assert len(stored["resumed"]) == 1
    assert str(tmp_path) not in stored["command"] + stored["resumed"][0]["command"]


def test_what_has_no_recipe_cannot_be_tuned(gpuwise: Callable[..., Ran]) -> None:
    code, _, err = gpuwise("tune", "matmul", "--device", "cpu")
    assert code == 2
    assert "gpuwise workloads" in err


def test_a_file_that_cannot_be_written_is_refused_before_anything_runs(
    gpuwise: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    code, _, err = gpuwise("tune", "resnet50", *TOY, "-o", str(tmp_path / "file" / "trials.json"))
    assert code == 2
    assert "cannot write" in err


def test_a_search_of_another_machine_is_not_gone_on_with(gpuwise: Callable[..., Ran]) -> None:
    other = Path(__file__).parents[2] / "results" / "h200" / "resnet50-tuned.json"
    code, _, err = gpuwise("tune", "resnet50", *TOY, "--resume", str(other))
    assert code == 2
    assert "another environment" in err
    assert gpuwise("tune", "resnet50", *TOY, "--resume")[0] == 5  # there is none


def test_what_is_to_be_tried_must_be_switches(gpuwise: Callable[..., Ran]) -> None:
    code, _, err = gpuwise("tune", "resnet50", "--device", "cpu", "--try", "master_weights=on,layout=round")
    assert code == 2
    assert "'layout=round'" in err


def test_an_unknown_switch_is_refused_before_anything_runs(gpuwise: Callable[..., Ran]) -> None:
    code, _, err = gpuwise("bench", "resnet50", "--device", "cpu", "--switch", "layout=round")
    assert code == 2
    assert "layout=channels-last|channels-first" in err
