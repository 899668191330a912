"""Two machines that are two processes: they meet through torchrun's rendezvous and measure together.

The commands are those of docs/many-gpus.md, of toys on a processor each; in one network, and in two network
namespaces that a pair of virtual cards joins, where the host's own name leads nowhere.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gpuwise import store

PAGE = (Path(__file__).parents[2] / "docs" / "many-gpus.md").read_text(encoding="utf-8")
(BLOCK,) = re.findall(r"```sh\n([^`]*--node-rank.*?)```", PAGE, re.DOTALL)
*BENCHES, MERGE = (shlex.split(line)[1:] for line in BLOCK.splitlines())
NAMESPACES = """
set -e
ip link set lo up
unshare -n sleep 600 & peer=$!
sleep 0.5
ip link add veth0 type veth peer name veth1 netns $peer
ip addr add 10.77.0.1/24 dev veth0
ip link set veth0 up
there="nsenter --net=/proc/$peer/ns/net"
$there ip addr add 10.77.0.2/24 dev veth1
$there ip link set veth1 up
$there "$@" --node-rank 1 -o node1.json & second=$!
code=0
GPUWISE_HOME="$PWD/home" "$@" --node-rank 0 -o node0.json || code=$?
wait $second || code=$?
kill $peer
exit $code
"""
SMALL = ("--device", "cpu", "--toy", "--quick", "--time", "0.2s", "--gpus", "1", "-q")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


def start(folder: Path, port: int, words: list[str]) -> subprocess.Popen[str]:
    """`gpuwise bench` on one machine: a home of its own, so that neither holds the other's lock."""
    return subprocess.Popen(
        [sys.executable, "-m", "gpuwise", *words, *SMALL, "--rdzv", f"localhost:{port}"],
        cwd=folder,
        env={**os.environ, "GPUWISE_HOME": str(folder / f"home of {words[-1]}")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
def test_two_machines_measure_together_and_their_files_merge(tmp_path: Path) -> None:
    port = free_port()
    machines = [start(tmp_path, port, words) for words in BENCHES]
    try:
        said = [machine.communicate(timeout=240)[0] for machine in machines]
    finally:
        for machine in machines:
            machine.kill()
    assert [machine.returncode for machine in machines] == [0, 0], "".join(said)
    check(tmp_path)
    subprocess.run([sys.executable, "-m", "gpuwise", *MERGE], cwd=tmp_path, check=True)
    both = store.load(tmp_path / "both.json")
    assert both.id in {store.load(tmp_path / f"node{rank}.json").id for rank in range(2)}
    assert both.measurements[-1].throughput == store.load(tmp_path / "node0.json").measurements[-1].throughput


@pytest.mark.slow
def test_machines_of_two_networks_find_each_other(tmp_path: Path) -> None:
    inside = ("unshare", "--user", "--map-root-user", "--net")
    try:
        subprocess.run([*inside, "ip", "link", "add", "type", "veth"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no network namespaces here")
    words = [sys.executable, "-m", "gpuwise", "bench", "resnet50", "--mode", "train", "--nodes", "2", *SMALL]
    words += ["--rdzv", "10.77.0.1:29400"]
    done = subprocess.run(
        [*inside, "sh", "-c", NAMESPACES, "sh", *words],
        cwd=tmp_path,
        env={**os.environ, "GPUWISE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    check(tmp_path)


def check(folder: Path) -> None:
    """The files of both machines have the same steps, and neither tells where they met."""
    files = [folder / f"node{rank}.json" for rank in range(2)]
    first, second = (store.load(file).measurements[-1] for file in files)
    assert (first.config.gpus, first.config.nodes, first.status) == (2, 2, "ok")
    assert [w.step_s for w in first.windows] == [w.step_s for w in second.windows]
    assert first.group is not None
    assert second.group is not None
    assert {first.group.node, second.group.node} == {0, 1}  # the order is torchrun's
    assert [rank.node for rank in first.group.ranks] == [0, 1]
    assert not {"localhost", "10.77.0.1"} & set(re.split(r"[ =:]", store.load(files[0]).command))
