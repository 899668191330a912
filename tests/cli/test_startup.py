"""What the command line loads, and how long it takes to say anything."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ..stopwatch import stopwatch

HEAVY = ("torch", "numpy", "msgspec", "jinja2", "starlette", "pynvml")


def loaded(code: str) -> list[str]:
    """Which of HEAVY a fresh interpreter has loaded after `code`; its own output is left out."""
    check = f"{code}\nimport json, sys\nprint(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


CALL = "from gpuwise.cli.main import run\ntry:\n    run({!r})\nexcept SystemExit:\n    pass"


def test_import_loads_nothing_heavy() -> None:
    assert loaded("import gpuwise") == []


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["bench", "--help"], ["nonsense"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    assert loaded(CALL.format(arguments)) == []


def test_the_hello_screen_loads_no_torch_and_no_rich() -> None:
    assert set(loaded(CALL.format([]))) <= {"pynvml"}


@pytest.mark.parametrize("arguments", [["workloads"], ["gpus"], ["doctor"], ["show", "a5000"]])
def test_tables_load_no_torch(arguments: list[str]) -> None:
    assert "torch" not in loaded(CALL.format(arguments))


def best_of(runs: int, *command: str) -> float:
    """Seconds of the fastest of `runs`: the machine's noise only adds."""
    times = []
    for _ in range(runs):
        took_s = stopwatch()
        subprocess.run([sys.executable, *command], capture_output=True, check=True)
        times.append(took_s())
    return min(times)


def test_help_takes_less_than_150_ms(slowness: float) -> None:
    assert best_of(7, "-m", "gpuwise", "--help") < 0.150 * slowness


def test_the_hello_screen_takes_less_than_300_ms(slowness: float) -> None:
    assert best_of(7, "-m", "gpuwise") < 0.300 * slowness


def test_import_takes_less_than_60_ms_more_than_python_itself(slowness: float) -> None:
    bare = best_of(7, "-c", "pass")
    assert best_of(7, "-c", "import gpuwise") - bare < 0.060 * slowness
