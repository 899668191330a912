"""Two machines that are two processes: they meet through torchrun's rendezvous and measure together."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gpuwise import store

BENCH = "bench resnet50 --mode train --device cpu --toy --quick --time 1s --gpus 1 --nodes 2 -q"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def start(folder: Path, port: int, rank: int) -> subprocess.Popen[str]:
    """`gpuwise bench` on one machine: a home of its own, so that neither holds the other's lock."""
    meeting = ("--rdzv", f"localhost:{port}", "--node-rank", str(rank), "-o", str(folder / f"{rank}.json"))
    return subprocess.Popen(
        [sys.executable, "-m", "gpuwise", *BENCH.split(), *meeting],
        env={**os.environ, "GPUWISE_HOME": str(folder / f"home{rank}")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
def test_two_machines_measure_together_and_their_files_merge(tmp_path: Path) -> None:
    port = free_port()
    machines = [start(tmp_path, port, rank) for rank in range(2)]
    try:
        said = [machine.communicate(timeout=240)[0] for machine in machines]
    finally:
        for machine in machines:
            machine.kill()
    assert [machine.returncode for machine in machines] == [0, 0], said
    files = [tmp_path / f"{rank}.json" for rank in range(2)]
    first, second = (store.load(file).measurements[-1] for file in files)
    assert (first.config.gpus, first.config.nodes, first.status) == (2, 2, "ok")
    assert [w.step_s for w in first.windows] == [w.step_s for w in second.windows]
    assert first.group is not None
    assert second.group is not None
    assert {first.group.node, second.group.node} == {0, 1}  # the order is torchrun's
    assert [rank.node for rank in first.group.ranks] == [0, 1]
    assert "localhost" not in store.load(files[0]).command
    merge = [sys.executable, "-m", "gpuwise", "merge", *map(str, files), "-o", str(tmp_path / "both.json")]
    subprocess.run(merge, check=True)
    both = store.load(tmp_path / "both.json")
    assert both.id in {store.load(file).id for file in files}
    assert both.measurements[-1].throughput == first.throughput
