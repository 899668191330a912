"""The script that holds gpuwise against a plain loop, with a toy on processors.

On one processor it runs in this process, which has imported torch; on two in one of its own, whose ranks are
forked of it.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from gpuwise import store

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "side_by_side.py"
TOY = shlex.split("resnet50 --precision fp32 --batch 2 --eager --device cpu --toy")
FORKING = """
import sys
from functools import partial
from runpy import run_path
import torch._dynamo
from torch.distributed.launcher import api
api.LaunchConfig = partial(api.LaunchConfig, start_method="fork")
del sys.argv[0]
run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """`here("--rounds", 2)` -> the exit code of the script in this process."""
    spec = spec_from_file_location("side_by_side", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, script)
    spec.loader.exec_module(script)

    def run(*words: object) -> int:
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *TOY, *map(str, words)])
        return int(script.main())

    return run


def start(*words: str | Path) -> subprocess.Popen[str]:
    """The script on two processors, in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, "-c", FORKING, SCRIPT, *TOY, "--gpus", "2", *words],
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


def test_a_ratio_is_printed_and_written(
    here: Callable[..., int], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "ratio.json"
    assert here("--rounds", 2, "--against", "script", "-o", kept) == 0
    found = json.loads(kept.read_text())
    assert (found["gpus"], found["rounds"]) == (1, {"done": 2, "asked": 2})
    check(found, capsys.readouterr().out, "script")


def test_the_rounds_before_an_interrupt_are_kept(
    here: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept, written = tmp_path / "ratio.json", store.write

    def interrupting(data: bytes, path: Path) -> None:
        written(data, path)
        if path != kept and len(json.loads(data)["windows"]["gpuwise"]) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(store, "write", interrupting)
    assert here("--rounds", 100_000, "-o", kept) == 130
    said = capsys.readouterr()
    assert "ended after 2 of 100000 rounds" in said.err
    found = json.loads(kept.read_text())
    assert found["rounds"]["done"] == 2
    check(found, said.out)


@pytest.mark.slow
def test_a_ratio_of_two_processors(tmp_path: Path) -> None:
    kept = tmp_path / "ratio.json"
    ran = start("--rounds", "2", "-o", kept)
    out, err = ran.communicate(timeout=200)
    assert ran.returncode == 0, err
    found = json.loads(kept.read_text())
    assert (found["gpus"], found["rounds"]) == (2, {"done": 2, "asked": 2})
    check(found, out)


@pytest.mark.slow
def test_the_rounds_of_two_before_an_end_are_kept(tmp_path: Path) -> None:
    kept = tmp_path / "ratio.json"
    ran = start("--rounds", "100000", "-o", kept)
    assert ran.stderr is not None
    for line in ran.stderr:
        if "round 2 of" in line:
            break
    ran.terminate()
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
    words: tuple[str, ...], why: str, here: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        here(*words)
    assert why in capsys.readouterr().err
    assert ended.value.code == 2
