"""What counts as the start of a measured step, and what torch.compile did of it."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gpuwise import workloads
from gpuwise.measure import child, events
from gpuwise.measure.child import ColdStart
from gpuwise.measure.frameworks import torch as adapter
from gpuwise.measure.frameworks.torch import TorchAdapter
from gpuwise.measure.locks import Turn
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Compilation
from gpuwise.workloads.job import Job

EAGER = RunConfig(
    workload="resnet50", mode="infer", precision="fp32", device="cpu", size="toy", quick=True, time_s=0.1
)
COMPILED = replace(EAGER, compile=True)
TRACED_S = 3.0
"""What `backend` takes."""


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.time = 100.0

    def monotonic(self) -> float:
        return self.time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(child, "time", found)
    monkeypatch.setattr(adapter, "time", found)
    return found


@pytest.fixture(autouse=True)
def nobody_else_hears() -> Iterator[None]:
    yield
    from torch._dynamo.callback import callback_handler  # two seconds, for which not every process must wait

    callback_handler.clear()
    torch.compiler.reset()


def cold_start(config: RunConfig, began: float) -> ColdStart:
    return ColdStart(TorchAdapter("resnet50").compiler(config), began, child.time.monotonic)


def compiling(clock: Clock, cached: bool = False) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function that torch traces anew and that takes `TRACED_S` to compile."""
    from torch._dynamo.utils import counters

    def backend(graph: Any, _: Any) -> Any:
        clock.time += TRACED_S
        counters["inductor"]["fxgraph_cache_hit" if cached else "fxgraph_cache_miss"] += 1
        return graph.forward

    return torch.compile(lambda x: x + 1, backend=backend)


def compiled(whole_s: float, seconds: float, graphs: int, cached: int) -> events.First:
    compilation = Compilation(seconds=seconds, whole_s=whole_s, graphs=graphs, cached=cached)
    return events.First(seconds=whole_s, compilation=compilation)


def test_what_is_done_aside_is_no_part_of_a_start(clock: Clock) -> None:
    start = cold_start(EAGER, 90.0)
    with start.aside():
        clock.time += 50
    clock.time += 2
    assert start.first() == events.First(seconds=12.0)


def test_an_error_aside_stops_no_clock(clock: Clock) -> None:
    start = cold_start(COMPILED, 100.0)
    with suppress(RuntimeError), start.aside():
        clock.time += 50
        raise RuntimeError
    compiling(clock)(torch.ones(2))
    assert start.first() == compiled(TRACED_S, TRACED_S, 1, 0)


def test_compilation_is_heard_but_not_that_of_trials(clock: Clock) -> None:
    start = cold_start(COMPILED, 100.0)
    with start.aside():
        compiling(clock)(torch.ones(2))
        torch.compiler.reset()  # as after every trial; it forgets who listens
    compiling(clock)(torch.ones(2))
    compiling(clock, cached=True)(torch.ones(2))
    clock.time += 1
    told = start.first()
    whole_s = 2 * TRACED_S + 1
    assert told == compiled(whole_s, 2 * TRACED_S, 2, 1)


def test_nobody_listens_where_nothing_is_compiled(clock: Clock) -> None:
    start = cold_start(EAGER, 100.0)
    compiling(clock)(torch.ones(2))
    assert start.first() == events.First(seconds=TRACED_S)


def first_of(job: Job, clock: Clock, monkeypatch: pytest.MonkeyPatch, config: RunConfig) -> events.First:
    """What a child tells of its first step, a search of 40 s before it."""

    def search(*_: object) -> int:
        clock.time += 40
        return 4

    workload = replace(workloads.get("resnet50"), build=lambda config, batch: job)
    monkeypatch.setattr(workloads, "load", lambda reference: workload)
    monkeypatch.setattr(child, "choose_batch", search)
    heard: list[events.Event] = []
    child.run(TorchAdapter("resnet50"), config, heard.append, cold_start(config, clock.time))
    (first,) = (event for event in heard if isinstance(event, events.First))
    return first


def test_a_rehearsed_job_is_checked_aside_and_what_is_compiled_in_it_counts(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = compiling(clock)
    order: list[str] = []

    def check() -> float:
        order.append("check")
        clock.time += 7
        return 0.0

    def step() -> torch.Tensor:
        order.append("step")
        return run(torch.rand(8))

    job = Job(step=step, items=4, rehearse=step, mismatch=check)
    first = first_of(job, clock, monkeypatch, COMPILED)
    assert first == compiled(TRACED_S, TRACED_S, 1, 0)
    assert order[:3] == ["step", "check", "step"]


def test_without_a_rehearsal_the_checks_are_where_the_start_happens(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = compiling(clock)

    def check() -> float:
        run(torch.rand(8))
        return 0.0

    job = Job(step=lambda: run(torch.rand(8)), items=4, mismatch=check)
    first = first_of(job, clock, monkeypatch, COMPILED)
    assert first == compiled(TRACED_S, TRACED_S, 1, 0)


def test_what_others_take_while_this_one_waits_is_no_part_of_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that compiles lets the others run kernels, and waits for them when it has compiled."""
    (tmp_path / "turn").touch()
    turn, locks = Turn(str(tmp_path / "turn")), []
    monkeypatch.setattr("fcntl.lockf", lambda file, how: locks.append(how) or time.sleep(0.2))
    adapter = TorchAdapter("resnet50")
    adapter.turn = turn
    began = time.monotonic()
    start = ColdStart(adapter.compiler(COMPILED), began, turn.now)
    torch.compile(torch.relu, backend="eager")(torch.ones(3))
    first = start.first()
    assert locks == [fcntl.LOCK_UN, fcntl.LOCK_EX]
    assert time.monotonic() - began - first.seconds == pytest.approx(0.2, abs=0.1)


@pytest.mark.parametrize("beside", [False, True])
def test_kernels_that_still_run_are_no_part_of_compiling(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool
) -> None:
    """Only one beside which others prepare waits for them before it lets the others run theirs."""
    (tmp_path / "turn").touch()
    waited: list[float] = []
    monkeypatch.setattr("torch.cuda.is_initialized", lambda: True)
    monkeypatch.setattr("torch.cuda.synchronize", lambda: waited.append(5.0))
    monkeypatch.setattr(clock, "monotonic", lambda: clock.time + sum(waited))
    adapter = TorchAdapter("resnet50")
    adapter.turn = Turn(str(tmp_path / "turn") if beside else "")
    start = ColdStart(adapter.compiler(COMPILED), 100.0, child.time.monotonic)
    compiling(clock)(torch.ones(2))
    compilation = start.first().compilation
    assert compilation is not None
    assert (len(waited), compilation.seconds) == (beside, TRACED_S)
