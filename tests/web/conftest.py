"""The application with two kept results, asked in this process; nothing of this machine's own store."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from gpuwise.errors import INTERRUPTED
from gpuwise.jobs.facts import Facts
from gpuwise.model.result import Result
from gpuwise.web.server import create

H200 = Path(__file__).parents[2] / "results" / "h200"
RESULT = H200 / "resnet50-tuned.json"
HOST = "http://127.0.0.1"
COLD = [sys.executable, "-c", """
import sys
from gpuwise.cli.main import run
from gpuwise.web import server
server.warm = lambda facts: None
run(sys.argv[1:])
"""]  # fmt: skip
"""`gpuwise` whose server makes no pages before the first is asked for, which takes ten seconds."""


def slowed(result: Result, factor: float) -> Result:
    """The result with every step `factor` times as long."""
    measurements = []
    for m in result.measurements:
        windows = tuple(
            replace(
                w, step_s=tuple(s * factor for s in w.step_s),
                ended_s=w.started_s + (w.ended_s - w.started_s) * factor,
            )
            for w in m.windows
        )  # fmt: skip
        speed = m.throughput
        assert speed is not None
        slow = replace(speed, value=speed.value / factor, low=speed.low / factor, high=speed.high / factor)
        steady = m.steady_per_s / factor if m.steady_per_s else None
        measurements.append(replace(m, windows=windows, throughput=slow, steady_per_s=steady))
    return replace(result, measurements=tuple(measurements))


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store that is empty and goes away."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUWISE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def facts(home: Path) -> Facts:
    return Facts((RESULT, H200 / "quick.json"), today=date(2026, 11, 21))


@pytest.fixture(scope="session")
def client(facts: Facts) -> Iterator[TestClient]:
    with TestClient(create(facts), base_url=HOST) as client:
        yield client


@pytest.fixture(scope="session")
def process(home: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server in a process of its own, and its address."""
    command = [sys.executable, "-m", "gpuwise", "serve", str(RESULT), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
        assert found is not None
        yield found[0], process
    finally:
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()  # until it ends, for a full pipe would hold it
        process.stderr.close()
        assert process.wait() == INTERRUPTED
        # Whatever the clients of these tests did, the log stays short.
        assert len(said) < 10_000, said[:1000]


@pytest.fixture(scope="session")
def served(process: tuple[str, subprocess.Popen[str]]) -> str:
    """The address of a server in a process of its own."""
    return process[0]


@pytest.fixture
def served_pid(process: tuple[str, subprocess.Popen[str]]) -> Callable[[], int]:
    return lambda: process[1].pid
