"""Two real ranks over gloo: what they measure, and what is told when one of them dies."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gpuwise import workloads
from gpuwise.measure import events
from gpuwise.measure.engine import share
from gpuwise.measure.frameworks.torch import ranks
from gpuwise.measure.frameworks.torch.ranks import attributed, first_failure, launch_config, own_gpu, together
from gpuwise.measure.process import Child
from gpuwise.measure.request import Rendezvous
from gpuwise.measure.session import Progress, Session
from gpuwise.model.question import RunConfig, Switches
from gpuwise.model.result import Measurement, Result, Window
from gpuwise.workloads import registry

from ...pretended import new_session

TWO = RunConfig(
    workload="resnet50",
    mode="train",
    precision="fp32",
    device="cpu",
    size="toy",
    time_s=0.5,
    quick=True,
    gpus=2,
    batch=2,
)


def session(kept: list[Result]) -> Session:
    return new_session(kept)


def measured(updates: list[object]) -> list[Measurement]:
    return [update for update in updates if isinstance(update, Measurement)]


def test_two_ranks_train_together_and_share_the_batch_of_one() -> None:
    kept: list[Result] = []
    strong = replace(TWO, scaling="strong", batch=None)
    one = replace(strong, gpus=1, scaling="weak")
    first, several = measured(list(session(kept).measure_all([one, strong])))
    assert (first.status, several.status) == ("ok", "ok"), (first.error, several.error)
    assert (first.batch, several.batch) == (8, 4)
    assert several.items_per_step == 8
    assert several.config.batch is None  # what was asked for, not what was settled
    assert several.loss[1] < several.loss[0]
    group = several.group
    assert group is not None
    assert (group.backend, group.parallel) == ("gloo", "ddp")
    assert [(rank.rank, rank.node, rank.device) for rank in group.ranks] == [(0, 0, "cpu"), (1, 0, "cpu")]
    assert all(rank.alone_s for rank in group.ranks)


def test_a_search_builds_no_step_that_only_tells_causes() -> None:
    spec = workloads.get("resnet50").spec
    assert attributed(TWO, spec)
    assert attributed(replace(TWO, compile=True, quick=False), spec)
    assert not attributed(replace(TWO, compile=True), spec)  # a trial of `gpuwise tune`
    assert not attributed(TWO, workloads.get("all-reduce").spec)


def test_a_killed_rank_is_named_and_the_rest_go_on() -> None:
    kept: list[Result] = []
    endless = replace(TWO, time_s=600.0, target_ci=1e-9)
    limit = RunConfig(
        workload="all-reduce", mode="limit", precision="fp32", device="cpu", size="toy", gpus=2, time_s=0.2
    )
    updates: list[object] = []
    heard: list[int] = []
    original = Child.events

    def listening(child: Child, *arguments: float) -> object:
        for event in original(child, *arguments):
            if isinstance(event, events.Ranked):
                heard[:] = event.pids
            yield event

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Child, "events", listening)
        for update in session(kept).measure_all([endless, limit]):
            updates.append(update)
            if isinstance(update, Progress) and "timing" in update.doing and update.number == 1 and heard:
                os.kill(heard[1], signal.SIGKILL)
                heard.clear()
    killed, after = measured(updates)
    assert (killed.status, after.status) == ("failed", "ok"), (killed.error, after.error)
    assert killed.error == "rank 1 (GPU 1 of its machine) was killed by SIGKILL"
    assert killed.windows  # what was timed before is kept
    assert after.throughput is not None
    assert after.items_per_step == 4 * 2**14  # 2 (n - 1) / n of what is reduced, n = 2


def test_ranks_start_once_for_all_their_tasks() -> None:
    heard: list[events.Event] = []
    names = ("all-reduce", "all-gather")
    config = RunConfig(workload="", mode="limit", precision="fp32", device="cpu", size="toy", gpus=2)
    tasks = [(replace(config, workload=name, time_s=0.1), name) for name in names]
    ranks.launch(tasks, heard.append, time.monotonic(), Rendezvous())
    one, other = (event for event in heard if isinstance(event, events.Ranked))
    assert one.pids == other.pids
    kinds = [type(event) for event in heard]
    assert kinds.count(events.Done) == 2
    assert kinds.count(events.Idle) == 1
    firsts = [event.seconds for event in heard if isinstance(event, events.First)]
    assert firsts[1] < firsts[0] / 2


def test_a_rank_that_hangs_is_named_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks, "WATCH_S", 0.2)
    heard: list[events.Event] = []

    def report(event: events.Event) -> None:
        if isinstance(event, Window) and ranks.HUNG_S > 3.0:
            ranked = next(each for each in heard if isinstance(each, events.Ranked))
            os.kill(ranked.pids[1], signal.SIGSTOP)
            # Only now: on a busy machine a healthy rank may be silent for so long.
            monkeypatch.setattr(ranks, "LATE_S", 1.5)
            monkeypatch.setattr(ranks, "HUNG_S", 3.0)
        heard.append(event)

    endless = replace(TWO, time_s=600.0, target_ci=1e-9)
    ranks.launch([(endless, "resnet50")], report, time.monotonic(), Rendezvous())
    late = [event for event in heard if isinstance(event, events.Straggler)][-1]
    assert (late.rank, late.gpu, late.silent) == (1, 1, True)
    last = heard[-1]
    assert isinstance(last, events.Failed)
    assert last.message.startswith("rank 1: hangs: its process was silent for ")


def test_every_rank_sees_its_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", None)
    given = {"CUDA_VISIBLE_DEVICES": "GPU-aa,GPU-bb"}
    assert own_gpu(given, 1) == 0
    assert given == {"CUDA_VISIBLE_DEVICES": "GPU-bb"}
    unset: dict[str, str] = {}
    assert own_gpu(unset, 1) == 0
    assert unset == {"CUDA_VISIBLE_DEVICES": "1"}
    monkeypatch.setattr(torch.version, "hip", "7.0")
    amd = {"HIP_VISIBLE_DEVICES": "3,5"}
    assert own_gpu(amd, 1) == 1
    assert amd == {"HIP_VISIBLE_DEVICES": "3,5"}


LINEAR = """\
import torch
from torch import nn
from gpuwise.workloads import WorkloadSpec, workload
from gpuwise.workloads.job import training_job

@workload(WorkloadSpec(id="linear", version=1, title="", item="thing", modes=("train",), default_batch=2))
def build(config, batch):
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = (torch.rand(batch, 4),)
    return training_job(model, inputs, lambda y: y.square().mean(), optimizer, config, batch)
"""


def test_ranks_take_what_one_has_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the common step each rank times it without an exchange: that would compile it, too."""
    cache = tmp_path / "compiled"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # code for a CPU is code for so many threads
    monkeypatch.setattr(registry, "_FOREIGN", {})
    (tmp_path / "linear.py").write_text(LINEAR)
    (found,) = workloads.find(str(tmp_path / "linear.py"))
    after = Switches(overlap_grads="off")
    two = replace(TWO, workload=found.spec.id, compile=True, quick=False, switches=after, time_s=0.1)
    kept: list[Result] = []
    entries = []
    for config in (replace(two, gpus=1), two):
        (only,) = measured(list(session(kept).measure_all([config])))
        assert only.status == "ok", only.error
        entries.append(sorted(path.name for path in cache.glob("fxgraph/*/*/*")))
    assert entries[0]
    assert entries[1] == entries[0]


def test_shares() -> None:
    strong = replace(TWO, scaling="strong", gpus=4)
    assert share(strong, 256) == (64, None)
    assert share(strong, 250)[1] == "4 GPUs cannot share a batch of 250 evenly"
    assert share(replace(strong, scaling="weak"), 250) == (250, None)
    assert share(strong, None) == (1, None)  # split over all, one item may fit
    assert share(replace(strong, mode="infer"), None)[1] == "not even one item fits"


def test_the_end_of_all_is_the_worst_of_each() -> None:
    fine = [events.Done(memory_peak_bytes=n, loss=(n, n / 2)) for n in (2, 4)]
    assert together(fine) == events.Done(memory_peak_bytes=4, loss=(3, 1.5))
    odd = [fine[0], replace(fine[1], odd="the output is 0 everywhere")]
    assert together(odd).odd == "rank 1: the output is 0 everywhere"  # type: ignore[union-attr]
    bad = events.Failed(kind="failed", message="training diverged")
    assert together([fine[0], bad]) == replace(bad, message="rank 1: training diverged")


def test_the_launch_is_torchruns() -> None:
    alone = launch_config(TWO, Rendezvous(), "logs")
    assert (alone.min_nodes, alone.max_nodes, alone.nproc_per_node) == (1, 1, 2)
    assert (alone.max_restarts, alone.rdzv_endpoint, alone.local_addr) == (0, "localhost:0", "localhost")
    many = replace(TWO, gpus=16, nodes=2)
    second = launch_config(many, Rendezvous(endpoint="node0:29400", id="gpuwise-3", node=1), "logs")
    assert (second.min_nodes, second.max_nodes, second.nproc_per_node) == (2, 2, 8)
    assert (second.rdzv_endpoint, second.run_id, second.local_addr) == ("node0:29400", "gpuwise-3", None)
    assert second.rdzv_configs["is_host"] is False


class Failure:
    """What torchrun tells of a process."""

    def __init__(self, exitcode: int, local_rank: int = 0) -> None:
        self.exitcode, self.local_rank = exitcode, local_rank


def test_a_rank_that_gives_up_says_for_whom_it_waited() -> None:
    late = events.Straggler(rank=3, gpu=1, pid=7, doing="building the step", waited_s=600.0, silent=False)
    told = {0: events.Failed(kind="failed", message="timed out")}
    found = first_failure(0, Failure(1), told, late)  # type: ignore[arg-type]
    assert found.message == (
        "rank 0: timed out; all waited for rank 3 (GPU 1 of its machine), building the step for 10 min 00 s"
    )
    assert "waited" not in first_failure(3, Failure(1), told, late).message  # type: ignore[arg-type]


def test_the_words_of_a_rank_come_before_its_exit_code() -> None:
    told = {3: events.Failed(kind="oom", message="CUDA out of memory")}
    assert first_failure(3, Failure(1), told) == events.Failed(
        kind="oom", message="rank 3: CUDA out of memory"
    )  # type: ignore[arg-type]
    assert "rank 2 (GPU 0 of its machine) exited with 7" in first_failure(2, Failure(7), told).message  # type: ignore[arg-type]
