"""`gpuwise accept --hosts`: bundles come back over ssh, who does not answer is named, and the certificate."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.errors import InputError
from gpuwise.judge.accept import bundle, fleet
from gpuwise.judge.accept.card import TestedCard
from gpuwise.judge.accept.judging import faded, faults, judge
from gpuwise.measure import engine
from gpuwise.measure.cluster import Remote, read_hosts
from gpuwise.measure.engine import timing_plan
from gpuwise.measure.session import soak_ends
from gpuwise.measure.telemetry.health import fabric
from gpuwise.measure.telemetry.sensor import MOST_READINGS, DeviceInfo, Wear
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import (
    Group,
    Interval,
    Link,
    Measurement,
    Rank,
    Reading,
    Result,
    Telemetry,
    Window,
)  # fmt: skip

Call = Callable[..., tuple[int, str, str]]
SSH = """#!/bin/sh
for word; do last=$word; done
while [ "${1#-}" != "$1" ]; do shift; shift; done
case $1 in
    dead) echo "ssh: connect to host dead port 22: Connection timed out" >&2; exit 255;;
esac
case $last in
    *hostname*) cat "$BUNDLES/address";;
    *all-reduce*) echo "$last" > "$BUNDLES/$1.joined"; cat "$BUNDLES/$1.json";;
    *) echo "$last" > "$BUNDLES/$1.asked"; echo "all pass" >&2; cat "$BUNDLES/$1.zip";;
esac
"""


def card(name: str, value: float, number: int) -> TestedCard:
    speed = Measurement(
        config=RunConfig(workload="copy", mode="limit", precision="fp32"), workload_version=1, status="ok",
        item="byte", started_at="2026-11-23T00:00:00+00:00",
        throughput=Interval(value=value, low=0.99 * value, high=1.01 * value, method="bursts"),
    )  # fmt: skip
    place = Environment(device="NVIDIA H200", gpu_id="h200-sxm", card=f"{number:012x}")
    result = Result(
        id=f"r{number}", created_at=f"2026-11-23T00:00:{number:02}+00:00", command="gpuwise accept",
        environment=place, measurements=(speed,),
    )  # fmt: skip
    return TestedCard(name=name, result=result, info=DeviceInfo(index=number % 8, name="NVIDIA H200"))


def joined(node: int, nodes: int) -> bytes:
    """What a host of a rack keeps of the exchange of all."""
    config = RunConfig(
        workload="all-reduce", mode="limit", precision="fp32", batch=64, gpus=2 * nodes, nodes=nodes
    )
    ranks = tuple(Rank(rank=n, node=n // 2, device="NVIDIA H200") for n in range(2 * nodes))
    found = Measurement(
        config=config, workload_version=1, status="ok", item="byte", started_at="", batch=64,
        throughput=Interval(value=4e11, low=3.9e11, high=4.1e11, method="bursts"),
        group=Group(backend="nccl", parallel=None, node=node, ranks=ranks),
    )  # fmt: skip
    place = Environment(device="NVIDIA H200")
    alone = replace(card("", 4.2e12, 0).result.measurements[0], group=None)
    every = (alone, found)
    result = Result(id=f"n{node}", created_at="2026", command="c", environment=place, measurements=every)
    return store.encode(result)


@pytest.fixture
def rack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two hosts of two cards, of which one is slow; `dead` does not answer."""
    folder = tmp_path / "bin"
    folder.mkdir()
    ssh = folder / "ssh"
    ssh.write_text(SSH)
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("BUNDLES", str(tmp_path))
    links = (Link(a=0, b=1, path="NV18", peer=True),)
    for host, (one, two) in {"node1": (4.26e12, 4.25e12), "node2": (4.27e12, 2.1e12)}.items():
        start = 2 * int(host[-1])
        cards = [card("GPU 0", one, start), card("GPU 1", two, start + 1)]
        (tmp_path / f"{host}.zip").write_bytes(bundle.pack(cards, (), "page", {}, links=links))
        (tmp_path / f"{host}.json").write_bytes(joined(int(host[-1]) - 1, 2))
    (tmp_path / "address").write_text("192.0.2.9 fd00::2\n")
    (tmp_path / "hosts").write_text("node1  # the first\n\nnode2 /opt/gpuwise\ndead\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_host_without_gpuwise_is_told_apart_from_one_that_is_down(gpuwise: Call, rack: Path) -> None:
    ssh = rack / "bin" / "ssh"
    (rack / "hosts").write_text("node1\ndead\n")
    words = ("accept", "--hosts", "hosts", "--suite", "limits", "--time", "2s")
    assert "next: the same command again" in gpuwise(*words)[2]
    ssh.write_text(re.sub("ssh: .*out", "sh: gpuwise: not found", SSH))
    code, _, err = gpuwise(*words)
    assert (code, "next: say in hosts what runs gpuwise there: dead /path/to/gpuwise" in err) == (5, True)


def test_a_rack_is_judged_by_the_bundles_of_its_hosts(gpuwise: Call, rack: Path) -> None:
    words = ("accept", "--hosts", "hosts", "--suite", "limits", "--time", "2s")
    code, out, err = gpuwise(*words, "--json")
    found = json.loads(out)
    assert code == 1
    worst = found["hosts"][0]
    assert (worst["host"], worst["cards"], worst["passed"]) == ("node2", 2, 1)
    assert [each["host"] for each in found["missing"]] == ["dead"]
    assert "Connection timed out" in found["missing"][0]["why"]
    assert "/opt/gpuwise accept --suite limits --time 2s --quiet" in (rack / "node2.asked").read_text()
    # Who has answered is not asked again; who has not is.
    (rack / "node1.asked").unlink()
    code, _, err = gpuwise(*words, "-o", "certificate.html")
    assert code == 1
    assert "dead" in err
    assert not (rack / "node1.asked").exists()
    page = (rack / "certificate.html").read_text()
    assert page.count("NV18") == 2
    assert "dead: ssh: connect" in page
    # All that answered exchanged data, once: the first as the others reach it.
    for number, name in enumerate(("node1", "/opt/gpuwise")):
        asked = (rack / f"node{number + 1}.joined").read_text()
        meeting = f"--nodes 2 --rdzv 192.0.2.9:29400 --node-rank {number} --output all.json"
        assert f"{name if number else 'gpuwise'} bench all-reduce" in asked
        assert "--gpus 2" in asked
        assert meeting in asked.replace('"', "")
    assert "all-reduce fp32 over 4 GPUs of 2 hosts" in page
    assert "400\u00a0GB/s" in page
    common = store.load(rack / "rack" / "all-hosts.json").measurements
    assert [(m.config.workload, m.config.nodes) for m in common] == [("all-reduce", 2)]
    (rack / "node1.joined").unlink()
    assert gpuwise(*words)[0] == 1
    assert not (rack / "node1.joined").exists()


def test_hosts_that_cannot_reach_each_other_are_named_and_the_cards_judged(gpuwise: Call, rack: Path) -> None:
    (rack / "hosts").write_text("node1\nnode2\n")
    (rack / "node2.json").unlink()
    code, out, _ = gpuwise("accept", "--hosts", "hosts", "--json")
    (missing,) = json.loads(out)["missing"]
    assert code == 1  # the slow card
    assert missing["host"] == "all hosts"
    assert missing["why"].startswith("node2: ")
    # What several say is said once; and what a shell says before its answer is not the answer.
    (rack / "node1.json").rename(rack / "node2.json")
    (rack / "node1.json").write_bytes(b"Welcome!\n" + (rack / "node2.json").read_bytes())
    code, out, _ = gpuwise("accept", "--hosts", "hosts", "--json")
    (missing,) = json.loads(out)["missing"]
    assert missing["why"].startswith("node1: these are not the files of all machines")
    (rack / "bin" / "ssh").write_text(SSH.replace('cat "$BUNDLES/$1.json"', "echo NCCL error >&2"))
    code, out, _ = gpuwise("accept", "--hosts", "hosts", "--json")
    (missing,) = json.loads(out)["missing"]
    assert missing["why"] in ("node1, node2: NCCL error", "node2, node1: NCCL error")
    assert not (rack / "rack" / "all-hosts.json").exists()


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("address", b"PK\3\4\0\0 a greeting of the shell"),
        ("address", b" \n"),
        ("node2.json", b"Welcome to node2!\n{}"),
        ("node2.json", joined(1, 3)),
    ],
)
def test_hosts_that_answer_something_else_are_named_and_the_cards_judged(
    gpuwise: Call, rack: Path, name: str, answer: bytes
) -> None:
    (rack / "hosts").write_text("node1\nnode2\n")
    (rack / name).write_bytes(answer)
    code, out, _ = gpuwise("accept", "--hosts", "hosts", "--json")
    found = json.loads(out)
    assert (code, len(found["hosts"])) == (1, 2)  # the slow card
    assert [each["host"] for each in found["missing"]] == ["all hosts"]
    assert not (rack / "rack" / "all-hosts.json").exists()


def test_a_host_whose_bundle_is_damaged_does_not_pass(gpuwise: Call, rack: Path) -> None:
    (rack / "node2.zip").write_bytes((rack / "node1.zip").read_bytes()[:-9])
    assert gpuwise("accept", str(rack / "node1.zip"))[0] == 0
    assert gpuwise("accept", str(rack))[0] == 5
    (rack / "hosts").write_text("node1\nnode2\n")
    code, out, _ = gpuwise("accept", "--hosts", "hosts", "--json")
    assert code == 5
    assert "damaged" in json.loads(out)["missing"][0]["why"]


def test_what_a_rack_cannot_be_written_as_is_refused_before_it_is_asked(gpuwise: Call, rack: Path) -> None:
    assert gpuwise("accept", "--hosts", "hosts", "-o", "rack.zip")[0] == 2
    assert not (rack / "node1.asked").exists()


def test_a_folder_holds_the_hosts_of_one_list(gpuwise: Call, rack: Path) -> None:
    words = ("accept", "--hosts", "hosts", "--suite", "quick")
    assert gpuwise(*words)[0] == 1  # of the slow card
    (rack / "node1.asked").unlink()
    assert "2 of 3 hosts are not asked again" in gpuwise(*words)[2]
    (rack / "hosts").write_text("node1\n")
    code, out, err = gpuwise(*words)  # else the other's slow card would refuse this one
    assert (code, out, "node2" in err) == (2, "", True)
    assert gpuwise(*words, "--folder", "other")[0] == 0
    assert (rack / "node1.asked").exists()


def test_a_rack_of_which_one_host_is_missing_does_not_pass(gpuwise: Call, rack: Path) -> None:
    (rack / "hosts").write_text("node1\ndead\n")
    code, _, err = gpuwise("accept", "--hosts", "hosts")
    assert code == 5
    assert "dead" in err
    (rack / "hosts").write_text("dead\n")
    assert gpuwise("accept", "--hosts", "hosts", "--folder", "other")[0] == 4


@pytest.mark.parametrize(
    ("over", "program", "first"),
    [("slurm", "srun", "--nodelist=node1"), ("kubernetes", "kubectl", "exec node1")],
)
def test_a_rack_is_reached_by_its_scheduler(
    gpuwise: Call, rack: Path, over: str, program: str, first: str
) -> None:
    (rack / "bin" / program).write_text(f"""#!/bin/sh
case "$*" in "{first}"*) cat "$BUNDLES/node1.zip";; *) echo "$*" >&2; exit 1;; esac
""")
    (rack / "bin" / program).chmod(0o755)
    (rack / "hosts").write_text("node1\nother\n")
    code, out, _ = gpuwise("accept", "--hosts", "hosts", "--over", over, "--folder", over, "--json")
    assert code == 5
    (missing,) = json.loads(out)["missing"]
    assert missing["host"] == "other"
    assert "gpuwise accept --suite" in missing["why"]  # the script came as it is


def test_a_bundle_for_which_the_disk_has_no_room_leaves_the_others(
    gpuwise: Call, rack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = store.write

    def full(data: bytes, path: Path) -> None:
        if path.name == "node1.zip":
            raise InputError(f"cannot write {path}: No space left on device", hint="")
        write(data, path)

    monkeypatch.setattr(store, "write", full)
    code, out, _ = gpuwise("accept", "--hosts", "hosts", "--json")
    found = json.loads(out)
    assert code == 1  # node2 has a slow card
    assert {each["host"]: each["why"].partition(":")[0] for each in found["missing"]} == {
        "node1": "its answer could not be kept", "dead": "ssh",
    }  # fmt: skip
    assert [each["host"] for each in found["hosts"]] == ["node2"]


def test_sixty_four_hosts_take_seconds_beside_their_own_tests(
    gpuwise: Call, rack: Path, slowness: float
) -> None:
    names = [f"host{n:02}" for n in range(64)]
    for place, name in enumerate(names):
        cards = [card(f"GPU {n}", 4.2e12, 8 * place + n) for n in range(8)]
        (rack / f"{name}.zip").write_bytes(bundle.pack(cards, (), "page", {}))
        (rack / f"{name}.json").write_bytes(joined(place, 64))
    (rack / "hosts").write_text("\n".join(names))
    began = time.process_time()
    code, out, _ = gpuwise("accept", "--hosts", "hosts", "--json")
    assert time.process_time() - began < 10 * slowness  # the limit that was asked for is 300
    found = json.loads(out)
    assert (code, found["outcome"], len(found["hosts"])) == (0, "pass", 64)
    assert sum(each["cards"] for each in found["hosts"]) == 512


def test_a_card_that_dies_in_the_soak_fails_and_the_rest_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good, bad = card("GPU 0", 4.2e12, 1), card("GPU 1", 4.2e12, 2)
    dead = replace(soak(*[0.1] * 12), status="failed", error="CUDA error: GPU has fallen off the bus")
    bad = replace(bad, result=replace(bad.result, measurements=(*bad.result.measurements, dead)))
    one, other = judge([good, bad], lambda result: (), 0.05).cards
    assert (one.outcome, other.outcome) == ("pass", "FAIL")
    assert [issue.code for issue in other.issues if issue.severity == "invalid"] == ["failed"]
    (host,), _ = bundle.gather([written(bundle.pack([good, bad], (), "", {}))])
    assert len(host.cards[1].result.measurements[-1].windows) == 12  # what it did is kept


def written(data: bytes) -> Path:
    Path("host.zip").write_bytes(data)
    return Path("host.zip")


@pytest.mark.parametrize(
    ("before", "after", "severity"),
    [
        (Wear(nvlink_recoveries=3), Wear(nvlink_recoveries=4), "invalid"),
        (Wear(nvlink_replays=3), Wear(nvlink_replays=4), "warning"),
        (Wear(pcie_replays=0), Wear(pcie_replays=1), "warning"),
    ],
)
def test_a_link_that_flaps_is_named(before: Wear, after: Wear, severity: str) -> None:
    now = replace(card("GPU 0", 4.2e12, 1), before=before, after=after)
    (issue,) = faults(now)
    assert (issue.code, issue.severity) == ("link", severity)
    assert not list(faults(replace(now, after=before)))


def test_errors_of_infiniband_come_with_the_bundle(tmp_path: Path) -> None:
    counters = tmp_path / "mlx5_0" / "ports" / "1" / "counters"
    counters.mkdir(parents=True)
    for name, count in (
        ("link_downed", "2"),
        ("symbol_error", "7"),
        ("port_xmit_data", "9"),
        ("broken", "x"),
    ):
        (counters / name).write_text(f"{count}\n")
    assert fabric(tmp_path) == {"mlx5_0 port 1 link_downed": 2, "mlx5_0 port 1 symbol_error": 7}
    assert fabric(tmp_path / "none") == {}
    cards = [card("GPU 0", 4.2e12, 1)]
    for grew, outcome, severities in (
        ({"mlx5_0 port 1 link_downed": 1, "mlx5_0 port 1 symbol_error": 0}, "FAIL", ["invalid"]),
        ({"mlx5_0 port 1 link_downed": 0, "mlx5_0 port 1 symbol_error": 1}, "not judged", ["warning"]),
    ):
        path = tmp_path / "host.zip"
        path.write_bytes(bundle.pack(cards, (), "page", {}, fabric=grew))
        (host,), _ = bundle.gather([path])
        ((_, found),) = fleet.summarise([host], (), lambda result: (), 0.05).hosts
        assert (found.outcome, [issue.severity for issue in found.host]) == (outcome, severities)
    assert fleet.summarise([host], (), lambda result: (), 0.05).host_rows[0].outcome == "not judged"


def test_a_bundle_keeps_the_links_of_its_host(rack: Path) -> None:
    (host,), skipped = bundle.gather([rack / "node1.zip"])
    assert host.links == (Link(a=0, b=1, path="NV18", peer=True),)
    assert skipped == ()


def test_hosts_are_a_line_each(tmp_path: Path) -> None:
    listed = tmp_path / "hosts"
    listed.write_text("a\n# none\nb  python -m gpuwise\n")
    assert read_hosts(listed) == (Remote("a"), Remote("b", "python -m gpuwise"))
    for text in ("", "# none", "a\na", "-oProxyCommand=x", "a/b", "a\0", "a" + " " * 2**20):
        listed.write_text(text)
        with pytest.raises(InputError):
            read_hosts(listed)


def soak(*steps_s: float) -> Measurement:
    windows = tuple(Window(step_s=(s,) * 4, started_s=i, ended_s=i + 1) for i, s in enumerate(steps_s))
    config = RunConfig(workload="resnet50", mode="train", precision="bf16", protocol="soak", time_s=3600.0)
    return Measurement(
        config=config, workload_version=1, status="ok", item="image", started_at="", windows=windows
    )


def test_a_card_that_fades_in_a_soak_is_refused() -> None:
    assert not list(faded(soak(*[0.1] * 12), 0.05))
    assert [issue.code for issue in faded(soak(*[0.1] * 8, *[0.11] * 4), 0.05)] == ["soak"]
    assert not list(faded(soak(*[0.1] * 8, *[0.104] * 4), 0.05))


class Fake:
    """A clock on which every step takes a little more or less than so many seconds."""

    def __init__(self, step_s: float) -> None:
        self.at_s, self._step_s, self._marks = 1e5 / 3, step_s, [0.0]

    def now(self) -> float:
        return self.at_s

    def step(self) -> None:
        self.at_s += self._step_s * (1 + 1e-3 * ((self.at_s * 7919) % 1))

    def mark(self) -> None:
        self._marks.append(self.at_s)

    def read(self) -> tuple[float, ...]:
        ends, self._marks = self._marks[1:], [0.0]
        return tuple(b - a for a, b in pairwise(ends))


def test_four_hours_of_a_soak_are_less_than_a_hundred_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    # A hundredth of the times, so that the test takes as much less; steps so short that they are merged.
    most = engine.MOST_TIMES
    monkeypatch.setattr(engine, "MOST_TIMES", most // 100)
    config = replace(soak(0.1).config, time_s=4 * 3600.0)
    clock, windows = Fake(0.4), []

    def report(event: object) -> None:
        if isinstance(event, Window):
            windows.append(Window(step_s=event.step_s, started_s=0.0, ended_s=1.0, each=event.each))

    engine.measure(clock.step, 64, clock, timing_plan(config), report)
    assert sum(sum(w.step_s) * w.each for w in windows) == pytest.approx(4 * 3600.0, rel=0.02)
    readings = tuple(Reading(at_s=1e5 / 3 + n / 7, power_w=n / 7) for n in range(MOST_READINGS))
    told = Telemetry(samples=144_000, timeline=readings)
    done = replace(soak(0.1), config=config, windows=tuple(windows), telemetry=told)
    result = Result(
        id="r", created_at="", command="", environment=Environment(device="d"), measurements=(done,)
    )
    times = sum(len(window.step_s) for window in windows)
    assert most / 200 < times < 1.02 * most / 100
    assert len(store.encode(result)) / times * most < 100e6


def test_a_soak_runs_its_time_and_is_stopped_where_a_card_errs() -> None:
    plan = timing_plan(soak(0.1).config)
    assert plan.windows > 10**6
    assert plan.window_s == pytest.approx(36.0)
    steady = soak(*[0.1] * 10).windows
    assert soak_ends(steady, Wear(ecc_uncorrected=3), Wear(ecc_uncorrected=3)) == ""
    assert "uncorrected" in soak_ends(steady, Wear(ecc_uncorrected=4), Wear(ecc_uncorrected=3))
    assert soak_ends(soak(*[0.1] * 10, 0.2).windows, Wear(), Wear()) == ""  # one window may be slow
    assert "longer" in soak_ends(soak(*[0.1] * 10, 0.2, 0.2).windows, Wear(), Wear())
