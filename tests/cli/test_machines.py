"""Two machines that are two processes: they meet through torchrun's rendezvous and measure together.

The commands are those of docs/many-gpus.md, of an exchange between a processor each (tests of ranks train),
in two network namespaces that a pair of virtual cards joins, where the host's own name leads nowhere; where
none can be made, in one network.
"""

from __future__ import annotations

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
# Each machine has a home of its own, so that neither holds the other's lock.
NAMESPACES = """
ip link set lo up
unshare -n sleep 600 & peer=$!
sleep 0.5
ip link add veth0 type veth peer name veth1 netns $peer
ip addr add 10.77.0.1/24 dev veth0
ip link set veth0 up
there="nsenter --net=/proc/$peer/ns/net"
$there ip addr add 10.77.0.2/24 dev veth1
$there ip link set veth1 up
GPUWISE_HOME="$PWD/second" $there sh -c "$2" & second=$!
GPUWISE_HOME="$PWD/first" sh -c "$1"; code=$?
wait $second || code=$?
kill $peer
exit $code
"""
ONE_NETWORK = """
GPUWISE_HOME="$PWD/second" sh -c "$2" & second=$!
GPUWISE_HOME="$PWD/first" sh -c "$1"; code=$?
wait $second || code=$?
exit $code
"""
SMALL = ("--device", "cpu", "--toy", "--quick", "--time", "0.2s", "--gpus", "1", "-q")


INSIDE = ("unshare", "--user", "--map-root-user", "--net")


def separate() -> bool:
    """Whether networks can be made here."""
    try:
        subprocess.run([*INSIDE, "ip", "link", "add", "type", "veth"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


@pytest.mark.slow
def test_two_machines_measure_together_and_their_files_merge(tmp_path: Path) -> None:
    gpuwise = shlex.join([sys.executable, "-m", "gpuwise"])
    exchanges = [[word.replace("resnet50", "all-reduce") for word in words] for words in BENCHES]
    assert exchanges != BENCHES
    own = [f"{gpuwise} {shlex.join((*words, *SMALL))}" for words in exchanges]
    if separate():
        words, address = [*INSIDE, "sh", "-c", NAMESPACES, "sh"], "10.77.0.1:29400"
    else:
        with socket.socket() as probe:
            probe.bind(("localhost", 0))
            words, address = ["sh", "-c", ONE_NETWORK, "sh"], f"localhost:{probe.getsockname()[1]}"
    done = subprocess.run(
        [*words, *(f"exec {each} --rdzv {address}" for each in own)],
        cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    check(tmp_path)
    subprocess.run([sys.executable, "-m", "gpuwise", *MERGE], cwd=tmp_path, check=True)
    both = store.load(tmp_path / "both.json")
    assert both.id in {store.load(tmp_path / f"node{rank}.json").id for rank in range(2)}
    assert both.measurements[-1].throughput == store.load(tmp_path / "node0.json").measurements[-1].throughput


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
