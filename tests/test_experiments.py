"""Experiments run where no GPU is, small; their figures mean something on a GPU only."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
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


def test_the_zoo_measures_own_networks(tmp_path: Path) -> None:
    """As it is run: workers of their own, files of rows and profiles, rows that are done are not measured."""
    command = [sys.executable, str(FOLDER / "zoo.py"), str(tmp_path / "first"), "--toy", "--time", "1"]
    command += ["--phase", "eager", "--builders", "1"]
    subprocess.run([*command, "--most", "2"], check=True, capture_output=True, timeout=100)
    with gzip.open(tmp_path / "first" / "zoo.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    assert len({row["network"] for row in rows}) == 2
    for row in rows:
        assert "error" not in row
        assert row["source"] == "own"
        assert row["split"] in ("dev", "blind")
        assert row["step_s"] > 0
        assert all(0 < seconds < 60 for window in row["windows_s"] for seconds in window)
    with gzip.open(tmp_path / "first" / "profiles.jsonl.gz", "rt") as lines:
        profiles = [json.loads(line) for line in lines]
    assert {profile["key"] for profile in profiles} == {row["key"] for row in rows if row["profile"]}
    assert all(profile["operators"] for profile in profiles)
    listed = [*command, "--list", "--done", str(tmp_path / "first" / "zoo.jsonl.gz")]
    left = subprocess.run(listed, check=True, capture_output=True, text=True, timeout=100).stdout
    assert left
    assert not any(row["key"] in left for row in rows)


def test_families_of_the_zoo_are_on_one_side_and_a_third_is_blind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    import zoo_networks

    found = [zoo_networks.find(name) for name in zoo_networks.listing() if name.startswith(("own", "hf"))]
    split: dict[str, set[str]] = {}
    for network in found:
        split.setdefault(network.family, set()).add(network.split)
    assert all(len(sides) == 1 for sides in split.values())
    assert 0.2 < sum(sides == {"blind"} for sides in split.values()) / len(split) < 0.5


def test_the_one_slow_card_of_a_rack_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "rack.json"
    words = ["--hosts", "2", "--cards", "2", "--session", str(FOLDER.parent / "results/h200/accept.json")]
    command = [sys.executable, str(FOLDER / "rack.py"), *words, "-o", str(output)]
    subprocess.run(command, check=True, capture_output=True)
    rack = json.loads(output.read_text())
    assert (rack["exit_code"], rack["refused"]) == (1, [rack["slow_card"]])
    assert rack["measurements"] == 2 * 2 * 19
