"""The script that holds gpuwise against a plain loop, with a toy on processors."""

from __future__ import annotations

import json
import os
import runpy
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "side_by_side.py"
TOY = shlex.split("resnet50 --precision fp32 --batch 2 --eager --device cpu --toy")


def start(*words: str | Path) -> subprocess.Popen[str]:
    """The script in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, SCRIPT, *TOY, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def check(found: dict[str, Any], said: str, against: str = "plain") -> None:
    """The file holds as many rounds as it says, and the ratio is the one that was printed."""
    done = found["rounds"]["done"]
    assert {name: len(each) for name, each in found["windows"].items()} == {"gpuwise": done, against: done}
    other = {"plain": "the plain loop", "script": "the public script's recipe"}[against]
    assert f"gpuwise is {found['ratio']['value']:.3f} times {other}" in said


@pytest.mark.slow
@pytest.mark.parametrize(("gpus", "against"), [("1", "script"), ("2", "plain")])
def test_a_ratio_is_printed_and_written(gpus: str, against: str, tmp_path: Path) -> None:
    kept = tmp_path / "ratio.json"
    ran = start("--rounds", "2", "--gpus", gpus, "--against", against, "-o", kept)
    out, err = ran.communicate(timeout=200)
    assert ran.returncode == 0, err
    found = json.loads(kept.read_text())
    assert found["rounds"] == {"done": 2, "asked": 2}
    assert found["gpus"] == int(gpus)
    check(found, out, against)


def interrupt(ran: subprocess.Popen[str]) -> None:
    """Ctrl-C in a terminal, which reaches all processes."""
    os.killpg(ran.pid, signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gpus", "end"), [("1", interrupt), ("2", interrupt), ("2", subprocess.Popen[str].terminate)]
)
def test_the_rounds_before_an_interrupt_are_kept(
    gpus: str, end: Callable[[subprocess.Popen[str]], None], tmp_path: Path
) -> None:
    kept = tmp_path / "ratio.json"
    ran = start("--rounds", "100000", "--gpus", gpus, "-o", kept)
    assert ran.stderr is not None
    for line in ran.stderr:
        if "round 2 of" in line:
            break
    end(ran)
    out, err = ran.communicate(timeout=200)
    assert ran.returncode == 130
    found = json.loads(kept.read_text())
    assert f"ended after {found['rounds']['done']} of 100000 rounds" in err
    assert found["rounds"]["done"] >= 2
    check(found, out)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--rounds", "0"), "'0' is no positive number"),
        (("--switch", "layout=round"), "layout=round"),
        (("-o", "/dev/null/x.json"), "cannot write"),
        (("--device", "cuda", "--gpus", "999"), "--gpus 999, and"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(
    words: tuple[str, ...], why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *TOY, *words])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPT))["parsed"]()
    assert why in capsys.readouterr().err
    assert ended.value.code == 2
