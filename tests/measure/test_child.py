"""The measuring process: foreign code in it, costs that nobody states, what a device lacks."""

from __future__ import annotations

import io
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpuwise import workloads
from gpuwise.errors import InputError, RunError
from gpuwise.measure import child, events
from gpuwise.measure import process as engine
from gpuwise.measure.frameworks.torch import TorchAdapter
from gpuwise.measure.process import Child
from gpuwise.model.precision import Precision
from gpuwise.model.question import Cost, RunConfig
from gpuwise.model.result import Window

CONFIG = RunConfig(
    workload="net.py:net", mode="infer", precision="fp32", device="cpu", time_s=0.2, quick=True, batch=4
)
BODY = """\
import os, sys, time
from gpuwise.workloads import WorkloadSpec, workload
@workload(WorkloadSpec(id="net", version=1, title="", item="thing", modes=("infer",), default_batch=4))
def net(config, batch):
    import torch
    from gpuwise.workloads.job import Job
    weights, x = torch.randn(8, 8), torch.randn(batch, 8)
    def step():
        time.sleep(0.002)
        {step}
        return x @ weights
    {build}
    return Job(step=step, items=batch)
"""


def heard(
    folder: Path, step: str = "pass", build: str = "pass", config: RunConfig = CONFIG
) -> tuple[list[events.Event], str | None]:
    path = folder / "net.py"
    path.write_text(BODY.format(step=step, build=build))
    running = Child(dict(os.environ))
    running.order(replace(config, size="toy"), f"{path}:net")
    try:
        found = []
        for event in running.events():
            found += [event] if event is not None else []
            if isinstance(event, events.Cooldown):
                running.resume()
        return found, running.ending()
    finally:
        running.close()


def test_a_file_is_measured_and_its_operations_are_counted(tmp_path: Path) -> None:
    found, ending = heard(tmp_path, step="print('noise'); os.write(1, b'more')")
    assert ending is None
    (built,) = (e for e in found if isinstance(e, events.Built))
    assert (built.batch, built.flop_per_item) == (4, 2 * 8 * 8)
    assert isinstance(found[-1], events.Done)


@pytest.mark.parametrize(
    ("step", "build", "said"),
    [
        ("pass", "raise OSError('no data')", "net.py, line 12: OSError: no data"),
        ("1 / 0", "pass", "net.py, line 10: ZeroDivisionError: division by zero"),
        ("pass", "sys.exit('enough')", "net.py, line 12: SystemExit: enough"),
        ("return 1.0", "pass", "net.py:net: a step returns a tensor on the device, not float"),
        ("pass", "return", "net.py:net: its function returns a Job, not NoneType"),
        ("pass", "batch = 0", "net.py:net: items is a positive whole number of up to 15 digits, not 0"),
        ("pass", "step = 3", "net.py:net: step is a function without arguments, not 3"),
    ],
)
def test_what_fails_in_it_is_told_with_file_and_line(
    tmp_path: Path, step: str, build: str, said: str
) -> None:
    found, ending = heard(tmp_path, step, build)
    last = found[-1]
    assert isinstance(last, events.Failed)
    assert (last.kind, last.message) == ("failed", said)
    assert ending is None


@pytest.mark.parametrize(("values", "odd"), [("inf", "holds infinity"), ("0.0", "is 0 everywhere")])
def test_an_odd_answer_is_a_row_that_says_so(tmp_path: Path, values: str, odd: str) -> None:
    found, _ = heard(tmp_path, step=f"return torch.full((4, 4), float('{values}'))")
    last = found[-1]
    assert isinstance(last, events.Done)
    assert last.odd == f"the output {odd}"


def test_an_answer_of_nan_is_a_failed_row_that_keeps_its_times(tmp_path: Path) -> None:
    found, ending = heard(tmp_path, build="weights[0] = float('nan')")
    assert ending is None
    assert any(isinstance(event, Window) for event in found)
    last = found[-1]
    assert isinstance(last, events.Failed)
    assert "NaN" in last.message


def test_what_has_no_input_pipeline_says_so(tmp_path: Path) -> None:
    found, _ = heard(tmp_path, config=replace(CONFIG, input="host"))
    last = found[-1]
    assert isinstance(last, events.Failed)
    assert last.message == "net.py:net has no input pipeline"


def test_a_fork_in_it_measures_nothing_and_does_not_live_on(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    fork = f"pid = os.fork(); pid or time.sleep(99); open({str(mark)!r}, 'w').write(str(pid))"
    found, ending = heard(tmp_path, build=fork)
    assert ending is None
    assert sum(isinstance(e, events.Done) for e in found) == 1
    pid = int(mark.read_text())
    for _ in range(50):  # init may take a moment to collect it
        if not Path(f"/proc/{pid}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the forked process lives on")


def test_a_child_that_hangs_up_and_does_not_end_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuwise.measure.process.ENDING_S", 0.2)
    _, ending = heard(tmp_path, build="os.closerange(3, 50); time.sleep(99)")
    assert ending == "the measuring process hung up and did not end within 0 s"


@pytest.mark.parametrize(("said", "limit_s"), [((), 0.2), ((events.First(seconds=0.1),), 0.4)])
def test_a_step_that_hangs_ends_at_its_limit(
    monkeypatch: pytest.MonkeyPatch, said: tuple[events.Event, ...], limit_s: float
) -> None:
    """Before the first step it is the limit of building, then that of a step with three first ones."""
    silent = SimpleNamespace(poll=lambda: None, stdin=io.BytesIO(), pid=1)
    monkeypatch.setattr(engine.subprocess, "Popen", lambda *_, **__: silent)
    monkeypatch.setattr(engine, "BUILDING_S", 0.2)
    monkeypatch.setattr(engine, "STEP_S", 0.1 - 2 * 0.01)
    reader, writer = os.pipe()
    running = Child({})
    running._log.close()
    os.close(running._reader)
    running._reader = reader
    running.order(replace(CONFIG, time_s=0.01))
    os.write(writer, b"".join(events.encode(each) for each in said))
    heard, began = [], time.monotonic()
    with pytest.raises(TimeoutError, match="said nothing for"):
        heard += running.events(tick_s=0.01)
    assert limit_s <= time.monotonic() - began < limit_s + 5
    assert len(heard) >= len(said)
    os.close(reader)
    os.close(writer)


ALONE = """\
import os, sys
from gpuwise.measure.process import Child
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Window
from gpuwise.model.result import Window
config = RunConfig(workload="net.py:net", mode="infer", precision="fp32", device="cpu", size="toy", batch=4)
child = Child(dict(os.environ))
child.order(config, sys.argv[1])
print(child.pid, flush=True)
for event in child.events():
    print(event, flush=True)
"""


def test_a_child_whose_parent_is_killed_ends_at_once_whatever_it_is_at(tmp_path: Path) -> None:
    path, reached = tmp_path / "net.py", tmp_path / "reached"
    path.write_text(BODY.format(step="pass", build=f"open({str(reached)!r}, 'w').close(); time.sleep(99)"))
    parent = subprocess.Popen([sys.executable, "-c", ALONE, f"{path}:net"], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    wait_for(reached.exists, 60.0)
    parent.kill()
    parent.communicate()
    wait_for(lambda: not alive(pid), 10.0)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def wait_for(yes: Callable[[], bool], max_window_s: float) -> None:
    end = time.monotonic() + max_window_s
    while not yes():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_a_second_interrupt_leaves_no_child_that_does_not_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuwise.measure.process.subprocess", subprocess)  # one that this process waits for
    running = Child(dict(os.environ))
    running.order(CONFIG)
    os.kill(running.pid, signal.SIGSTOP)  # it cannot end politely
    os.waitpid(running.pid, os.WUNTRACED)

    def interrupted(_max_window_s: float) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(running._process, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        running.close()
    assert running._process.returncode == -signal.SIGKILL


def test_a_stated_cost_is_taken_and_a_failing_count_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    config, matmul = replace(CONFIG, workload="matmul", mode="limit"), workloads.get("matmul")
    found = child.cost_of(TorchAdapter("matmul"), config, 1)
    assert found == matmul.spec.cost("limit", Precision.FP32, 1)  # type: ignore[misc]

    def broken(config: RunConfig, batch: int) -> None:
        raise ValueError

    nameless = replace(matmul, spec=replace(matmul.spec, cost=None), build=broken)  # type: ignore[arg-type]
    monkeypatch.setattr(workloads, "load", lambda reference: nameless)
    assert child.cost_of(TorchAdapter("matmul"), config, 1) is None


@pytest.mark.parametrize(
    ("flop", "moved", "sound"),
    [(0.0, None, True), (1e21, 1e21, True), (-1.0, None, False), (1.01e21, None, False), (1.0, -1.0, False),
     (1.0, 1.01e21, False), (math.nan, None, False), (1.0, math.inf, False)],
)  # fmt: skip
def test_a_cost_that_no_item_has_ends_the_measurement(
    monkeypatch: pytest.MonkeyPatch, flop: float, moved: float | None, sound: bool
) -> None:
    cost, matmul = Cost(flop_per_item=flop, bytes_per_item=moved), workloads.get("matmul")
    stated = replace(matmul, spec=replace(matmul.spec, cost=lambda *_: cost))
    monkeypatch.setattr(workloads, "load", lambda reference: stated)
    with nullcontext() if sound else pytest.raises(RunError, match="cannot cost"):
        assert child.cost_of(TorchAdapter("matmul"), replace(CONFIG, workload="matmul"), 1) == cost


def test_gpus_that_are_not_there() -> None:
    peer, config = TorchAdapter("peer"), replace(CONFIG, workload="peer", mode="limit")
    assert peer.unsupported(config) == "peer needs 2 GPU(s), there are 0"
    assert peer.unsupported(replace(config, size="toy")) is None


def test_gpuwise_s_own_errors_are_told_as_they_are() -> None:
    own, torch = InputError("net.py has no workload"), TorchAdapter("resnet50")
    assert child.failure(own, "x/net.py", torch).message == "net.py has no workload"
    assert child.failure(RuntimeError("odd"), "resnet50", torch).message == "RuntimeError: odd"
    assert child.failure(RuntimeError("can't allocate memory"), "resnet50", torch).kind == "oom"
