"""Outputs that are no answer, and those that may be one."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
import torch

from gpuwise.measure import child, events
from gpuwise.measure.engine import HostClock, TimingPlan
from gpuwise.measure.frameworks.torch import TorchAdapter
from gpuwise.model.question import RunConfig
from gpuwise.workloads.job import Job

CONFIG = RunConfig(workload="resnet50", mode="infer", precision="fp32", device="cpu")


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement of a few steps."""
    steps = TimingPlan(window_s=0.0, windows=1, time_s=0.0, target_ci=1.0, steps=2, warmup_steps=2)
    monkeypatch.setattr(child.engine, "timing_plan", lambda config: steps)


def ended(values: Any) -> events.Done | events.Failed:
    """How a measurement ends whose step puts out these values."""
    job = Job(step=lambda: torch.as_tensor(values).clone(), items=1)
    start = child.ColdStart(None, 0.0)
    here = child.Run(TorchAdapter("resnet50"), CONFIG, lambda event: None, start)
    return here.timed(job, 1, HostClock(), job.step, job.step())


@pytest.mark.parametrize(
    ("values", "odd"),
    [
        ([-1.0, 2.0], None),
        ([0.0], None),  # one number is the same everywhere
        ([0.0, 0.0], "the output is 0 everywhere"),
        ([-inf, 2.0], "the output holds infinity"),
        ([0.0, inf], "the output holds infinity"),
    ],
)
def test_what_is_odd_about_an_answer(values: list[float], odd: str | None) -> None:
    assert ended(values) == events.Done(memory_peak_bytes=None, loss=(), odd=odd)


@pytest.mark.parametrize("values", [torch.tensor([1.0, nan, 2.0]), torch.tensor([1.0, complex(0, nan)])])
def test_one_nan_among_many_is_no_answer(values: torch.Tensor) -> None:
    assert ended(values) == events.Failed(
        kind="failed", message="the output is NaN: the speed is that of no computation"
    )


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (torch.tensor([[3, -1], [2, 0]]), (-1.0, 3.0, 4)),
        (torch.tensor([1.0, -inf], dtype=torch.bfloat16), (-inf, 1.0, 2)),
        (torch.tensor([True, False]), (0.0, 1.0, 2)),
        (torch.tensor([1 + 5j, -2j]).conj(), (-5.0, 2.0, 2)),
        (torch.ones(2).to(torch.float8_e4m3fn), (0.0, 1.0, 2)),  # torch does not compare these
        (torch.ones(0), (0.0, 1.0, 0)),
        (torch.eye(2).to_sparse(), (0.0, 1.0, 4)),
    ],
)
def test_the_extremes_of_any_tensor(values: torch.Tensor, found: tuple[float, float, int]) -> None:
    assert TorchAdapter("resnet50").extremes(values) == found
