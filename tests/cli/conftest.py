"""Run the command line in this process or in one of its own, with a store of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

from gpuwise.cli.main import run
from gpuwise.measure import events, telemetry

from ..pretended import Pretended

Ran = tuple[int, str, str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store that is empty and goes away."""
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU or energy counters and with space on the disk, whatever this machine has; a test may
    say otherwise."""
    monkeypatch.setattr("gpuwise.measure.telemetry.ZONES", Path("/nonexistent"))
    monkeypatch.setattr(telemetry, "sensors", lambda: ())
    monkeypatch.setattr("gpuwise.measure.telemetry.sensors", lambda: ())
    monkeypatch.setattr(telemetry, "disk_free_bytes", lambda path: 80 * 10**9)


@pytest.fixture
def gpuwise(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """`gpuwise("show", "last")` -> (exit code, stdout, stderr)."""

    def call(*arguments: str) -> Ran:
        capsys.readouterr()
        code = 0
        try:
            run(list(arguments))
        except SystemExit as leave:
            code = int(leave.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def process() -> Callable[..., subprocess.Popen[str]]:
    """The same in a process of its own."""

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "gpuwise", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )

    return start


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> type[Pretended]:
    """Nothing is measured: what happens before and after is tested. Processes are in tests/bench."""

    class Mine(Pretended):
        ends: ClassVar[dict[str, events.Failed | str]] = {}

    monkeypatch.setattr("gpuwise.measure.session.Child", Mine)
    return Mine
