"""The measuring process: foreign code in it, costs that nobody states, what a device lacks."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import workloads
from gpuwise.bench import child, events
from gpuwise.bench.process import Child
from gpuwise.errors import InputError
from gpuwise.model.run import RunConfig

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
    running = Child(replace(config, size="toy"), dict(os.environ), f"{path}:net")
    try:
        found = [event for event in running.events() if event is not None]
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
        ("pass", "batch = 0", "net.py:net: items is a positive whole number, not 0"),
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


def test_a_second_interrupt_leaves_no_child_that_does_not_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Child(CONFIG, dict(os.environ))
    os.kill(running.pid, signal.SIGSTOP)  # it cannot end politely
    os.waitpid(running.pid, os.WUNTRACED)

    def interrupted(_patience_s: float) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(running._process, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        running.close()
    assert running._process.returncode == -signal.SIGKILL


def test_a_stated_cost_is_taken_and_a_failing_count_is_none() -> None:
    config = replace(CONFIG, workload="matmul", mode="limit")
    found = child.cost_of(config, workloads.get("matmul"), 1)
    assert found == workloads.get("matmul").spec.cost("limit", "fp32", 1)  # type: ignore[misc]

    def broken(config: RunConfig, batch: int) -> None:
        raise ValueError

    nameless = replace(workloads.get("matmul"), spec=replace(workloads.get("matmul").spec, cost=None))
    assert child.cost_of(config, replace(nameless, build=broken), 1) is None  # type: ignore[arg-type]


def test_gpus_that_are_not_there() -> None:
    peer = workloads.get("peer")
    config = replace(CONFIG, workload="peer", mode="limit")
    assert child.unsupported(config, peer) == "peer needs 2 GPU(s), there are 0"
    assert child.unsupported(replace(config, size="toy"), peer) is None


def test_gpuwise_s_own_errors_are_told_as_they_are() -> None:
    assert child.failure(InputError("net.py has no workload"), "x/net.py").message == "net.py has no workload"
    assert child.failure(RuntimeError("odd"), "resnet50").message == "RuntimeError: odd"
    assert child.failure(RuntimeError("can't allocate memory"), "resnet50").kind == "oom"
