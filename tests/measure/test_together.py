"""Rows that are built at the same time and timed in turn: real processes that note when they do what."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise.measure.locks import Turn
from gpuwise.measure.session import Session, separable
from gpuwise.model.question import RunConfig, Switches
from gpuwise.model.result import Measurement, Result
from gpuwise.workloads import registry

from ..pretended import new_session

# A step takes 2 ms; a batch of 5 takes a second to build; one of 6 fails beside others and one of 7 always.
# One of 8 dies, and one of 9 never ends to build.
BODY = """\
import os, time
from pathlib import Path
from gpuwise.workloads import WorkloadSpec, workload
def note(what, batch):
    with open({folder!r} + "/notes", "a") as notes:
        notes.write(f"{{what}} {{batch}} {{os.getpid()}} {{time.monotonic()}}\\n")
@workload(WorkloadSpec(id="net", version=1, title="", item="thing", modes=("infer",), default_batch=4))
def net(config, batch):
    import torch
    from gpuwise.workloads.job import Job
    if batch > 2 or config.batch == 2:
        note("build", batch)
    if batch == 5:
        time.sleep(1)
    tried = Path({folder!r}, f"tried-{{batch}}")
    if batch == 7 or (batch == 6 and not tried.exists()):
        tried.touch()
        raise RuntimeError("out of memory")
    if batch == 8:
        os._exit(3)
    if batch == 9:
        time.sleep(999)
    x = torch.randn(batch, 8)
    def step():
        note("step", batch)
        time.sleep(0.002)
        return x @ x.T
    return Job(step=step, items=batch)
"""
ROW = RunConfig(
    workload="net",
    mode="infer",
    precision="fp32",
    device="cpu",
    size="toy",
    time_s=0.2,
    target_ci=0.5,
    compile=True,
)
Notes = list[tuple[str, int, int, float]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests: two files of the same name could not be told apart."""
    path = tmp_path_factory.mktemp("together")
    (path / "together_net.py").write_text(BODY.format(folder=str(path)))
    return path


@pytest.fixture
def rows(folder: Path) -> RunConfig:
    for path in (folder / "notes", *folder.glob("tried-*")):
        path.unlink(missing_ok=True)
    name = f"{folder}/together_net.py:net"
    (workload,) = registry.find(name)
    return replace(ROW, workload=workload.spec.id)


def notes(folder: Path) -> Notes:
    lines = [line.split() for line in (folder / "notes").read_text().splitlines()]
    return [(what, int(batch), int(pid), float(at_s)) for what, batch, pid, at_s in lines]


def measured(row: RunConfig, batches: Sequence[int], together: int = 3) -> tuple[Session, list[Measurement]]:
    kept: list[Result] = []
    made = new_session(kept, together=together)
    ended = [
        u for u in made.measure_all([replace(row, batch=b) for b in batches]) if isinstance(u, Measurement)
    ]
    return made, ended


def alive(folder: Path) -> list[int]:
    """Of the processes that built something, those that still run."""
    pids = {pid for _, _, pid, _ in notes(folder)}
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_row_is_timed_when_all_beside_it_are_built(rows: RunConfig, folder: Path) -> None:
    _, ended = measured(rows, (3, 5, 4))
    assert [m.status for m in ended] == ["ok"] * 3
    steps = {
        b: [at for what, batch, _, at in notes(folder) if (what, batch) == ("step", b)] for b in (3, 4, 5)
    }
    built = [at for what, _, _, at in notes(folder) if what == "build"]
    # The first step comes early, the timed ones when the slowest of them is built, a second later.
    assert steps[3][0] < max(built) + 1
    timed = {b: [at for at in steps[b] if at > max(s[0] for s in steps.values())] for b in steps}
    assert max(timed[3]) < min(timed[5])
    assert max(timed[5]) < min(timed[4])
    assert ended[0].phases_s
    # The whole start of each is in its record, whoever waited for it.
    assert [m.cold_start_s is not None and m.cold_start_s > 1 for m in ended] == [False, True, False]


def test_what_fails_beside_others_is_tried_alone(rows: RunConfig, folder: Path) -> None:
    _, ended = measured(rows, (3, 6, 7, 4))
    assert [m.status for m in ended] == ["ok", "ok", "oom", "ok"]
    tries = [batch for what, batch, _, _ in notes(folder) if what == "build"]
    assert [tries.count(batch) for batch in (3, 6)] == [1, 2]


def test_a_process_that_dies_ahead_of_its_turn_is_a_row(rows: RunConfig, folder: Path) -> None:
    _, ended = measured(rows, (3, 8, 4))
    assert [m.status for m in ended] == ["ok", "failed", "ok"]
    assert "exited with 3" in (ended[1].error or "")
    assert alive(folder) == []


def test_a_process_that_hangs_ahead_of_its_turn_is_a_row(
    rows: RunConfig, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuwise.measure.process.COMPILING_S", 3.0)
    _, ended = measured(rows, (3, 9, 4))
    assert [m.status for m in ended] == ["ok", "failed", "ok"]
    assert "said nothing for" in (ended[1].error or "")
    assert alive(folder) == []


@pytest.mark.parametrize("during", ["build", "timing"])
def test_an_interrupt_leaves_no_process(rows: RunConfig, folder: Path, during: str) -> None:
    kept: list[Result] = []
    made = new_session(kept, together=3)
    endless = replace(rows, time_s=600.0, target_ci=1e-9)
    batches = (3, 9, 4) if during == "build" else (3, 4, 2)
    updates = made.measure_all([replace(endless, batch=batch) for batch in batches])
    for update in updates:
        if during == "timing" and "timing" in update.doing:
            break
        if during == "build" and (folder / "notes").exists() and 9 in [n[1] for n in notes(folder)]:
            break
    with pytest.raises(KeyboardInterrupt):
        updates.throw(KeyboardInterrupt)
    time.sleep(0.5)
    assert not made.ahead
    assert alive(folder) == []


def test_rows_that_fill_the_memory_or_time_more_than_a_step_stand_alone(rows: RunConfig) -> None:
    row = replace(rows, batch=3)
    assert separable(row)
    others = (
        {"batch": None},
        {"compile": False},
        {"quick": True},
        {"input": "host"},
        {"protocol": "soak"},
        {"gpus": 2},
        {"switches": Switches(compiler="autotune")},  # times kernels while it is compiled
    )
    assert not any(separable(replace(row, **other)) for other in others)
    made, ended = measured(rows, (3,))
    later = [replace(row, batch=batch) for batch in (4, 5, 3)]
    assert made._beside(row, later) == later[:2]
    assert made._beside(replace(row, compile=False), later) == []
    environment = replace(made.result.environment, device_memory_bytes=1000)
    for needs, beside in ((100, 2), (600, 0), (300, 1)):
        known = tuple(replace(m, memory_peak_bytes=needs) for m in ended)
        made.result = replace(made.result, environment=environment, measurements=known)
        assert len(made._beside(row, later)) == beside  # nothing is known of the others: a third
    made.result = replace(made.result, measurements=tuple(replace(m, memory_peak_bytes=10) for m in ended))
    training = [replace(row, mode="train") for _ in range(3)]
    assert len(made._beside(training[0], training[1:])) == 1  # what inference takes says nothing of training


def test_the_device_is_one_process_s_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "turn"
    path.touch()
    ours = Turn(str(path))
    ours.take()
    if (pid := os.fork()) == 0:
        other = Turn(str(path))
        began = other.now()
        other.take()
        os._exit(0 if other.now() - began < 0.2 < time.monotonic() - began else 1)
    time.sleep(0.5)
    assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    ours.give()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    Turn().take()  # without a file nobody waits
