"""What goes wrong while a step runs: each fault is a row that says what happened, and the rest goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpuwise import workloads
from gpuwise.measure import process as engine
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Measurement, Result
from gpuwise.workloads import registry

from ..pretended import new_session

HEAD = '''\
import ctypes, os, sys, time
import torch
from gpuwise.workloads import WorkloadSpec, workload
from gpuwise.workloads.job import Job

def faulty(name, at, fault, mode="infer"):
    """Faults in step `at`, or, where that is no whole number, in the first step after so many seconds."""
    @workload(WorkloadSpec(id=name, version=1, title="", item="thing", modes=(mode,), default_batch=2))
    def build(config, batch):
        steps, began, x = 0, None, torch.randn(32, 32)
        def step():
            nonlocal steps, began
            steps, began = steps + 1, began or time.monotonic()
            time.sleep(0.002)
            due = time.monotonic() - began > at if isinstance(at, float) else steps == at
            return fault() if due else (x @ x).sum()
        return Job(step=step, items=batch)
    return build

def raises(error):
    raise error

def no_memory():
    raise torch.OutOfMemoryError("CUDA out of memory")
'''
FAULTS = {
    "oom_at_warmup": 'faulty("oom_at_warmup", 3, no_memory)',
    "oom_in_a_window": 'faulty("oom_in_a_window", 1.95, no_memory)',
    "cuda_error": 'faulty("cuda_error", 9, lambda: raises(RuntimeError("illegal memory access")))',
    "segfault": 'faulty("segfault", 9, lambda: ctypes.string_at(0))',
    "ends_itself": 'faulty("ends_itself", 9, lambda: os._exit(0))',
    "interrupts": 'faulty("interrupts", 9, lambda: raises(GeneratorExit("first\\nenough")))',
    "nan_loss": 'faulty("nan_loss", 1, lambda: torch.tensor(float("nan")), mode="train")',
    "hang": 'faulty("hang", 9, lambda: time.sleep(600))',
    "asks_for_input": 'faulty("asks_for_input", 9, lambda: raises(RuntimeError(repr(sys.stdin.read()))))',
    "sound": 'faulty("sound", 0, None)',
}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Measurement]:
    """All faults in one session, a sound measurement at the end."""
    path = tmp_path_factory.mktemp("faults") / "faults.py"
    body = "".join(f"{name} = {text}\n" for name, text in FAULTS.items())
    path.write_text(HEAD + body)
    kept: list[Result] = []
    session = new_session(kept)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "STEP_S", 5.0)  # and twice the time budget
        # A process that is handed these tests in two parts makes the file twice.
        patch.setattr(registry, "_FOREIGN", {})
        found = workloads.find(str(path))
        plan = [
            RunConfig(
                workload=each.spec.id,
                mode=each.spec.modes[0],
                precision="fp32",
                device="cpu",
                batch=2,
                size="toy",
                time_s=2.0,  # warm-up takes 0.05 s or a little longer, and the last window ends 2 s after it
                target_ci=1e-9,
                quick=True,
            )
            for each in found
        ]
        list(session.measure_all(plan))
    return {m.config.workload.rpartition(":")[2]: m for m in kept[-1].measurements}


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("oom_at_warmup", "oom", "out of memory"),
        ("oom_in_a_window", "oom", "out of memory"),
        ("cuda_error", "failed", "illegal memory access"),
        ("segfault", "failed", "killed by SIGSEGV"),
        ("ends_itself", "failed", "ended itself before it was done"),
        ("interrupts", "failed", "exited with 1; its last words: enough\n"),
        ("nan_loss", "failed", "training diverged"),
        ("hang", "failed", "said nothing for"),
        ("asks_for_input", "failed", "RuntimeError: ''"),
    ],
)
def test_a_fault_is_a_row(rows: dict[str, Measurement], name: str, status: str, said: str) -> None:
    assert rows[name].status == status
    assert said in (rows[name].error or "")


def test_what_was_timed_before_a_fault_is_kept(rows: dict[str, Measurement]) -> None:
    assert rows["oom_in_a_window"].windows
    assert rows["oom_in_a_window"].throughput is not None


def test_the_rest_goes_on(rows: dict[str, Measurement]) -> None:
    assert len(rows) == len(FAULTS)
    assert (rows["sound"].status, rows["sound"].error) == ("ok", None)


def test_no_process_is_left(rows: dict[str, Measurement]) -> None:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    left = children.read_text().split() if children.exists() else []
    assert not [pid for pid in left if b"gpuwise.measure.child" in Path(f"/proc/{pid}/cmdline").read_bytes()]
