"""Input from the host: batches arrive where the step reads them; what either side does alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from gpuwise.errors import MachineError
from gpuwise.measure.engine import HostClock
from gpuwise.measure.frameworks import torch as feed
from gpuwise.model.question import RunConfig
from gpuwise.workloads import get
from gpuwise.workloads.input import ENDLESS, text_feed
from gpuwise.workloads.job import Job

CONFIG = RunConfig(
    workload="llm-124m", mode="train", precision="fp32", device="cpu", size="toy", input="host", quick=True
)


@pytest.fixture(autouse=True)
def one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "cpu_count", lambda: 2)


def test_a_step_gets_a_new_batch_each_time_and_both_sides_are_timed() -> None:
    inputs, targets = torch.zeros(2, 8, dtype=torch.long), torch.zeros(2, 8, dtype=torch.long)
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def read() -> torch.Tensor:
        seen.append((inputs.clone(), targets.clone()))
        return inputs.sum()

    job = Job(step=read, items=16, inputs=(inputs,), feed=text_feed(inputs, targets, 1000))
    step, told = feed.fed(CONFIG, job, HostClock())
    alone = len(seen)
    step()
    step()
    (first, following), (second, _) = seen[-2:]
    assert not torch.equal(first, second)
    assert torch.equal(first[:, 1:], following[:, :-1])  # the target is the next token
    assert told.workers == 1
    assert [len(window) for window in told.alone_s] == [feed.STEPS] * feed.WINDOWS
    assert [len(window) for window in told.pipeline_s] == [1] * feed.WINDOWS
    assert len(seen) - alone == 2
    assert not any(first.any() for first, _ in seen[: feed.STEPS])  # alone: nothing was fed


def test_a_workload_without_a_pipeline_is_refused() -> None:
    with pytest.raises(MachineError, match="llm-124m has no input pipeline"):
        feed.fed(CONFIG, Job(step=lambda: torch.zeros(()), items=1), HostClock())


def test_too_little_shared_memory_is_told_before_workers_die_of_it() -> None:
    tokens = torch.zeros(1, 8, dtype=torch.long)
    with pytest.raises(MachineError, match="of shared memory") as caught:
        feed.check_room(text_feed(tokens, tokens, 10), 2**40, 4)
    assert "--shm-size" in (caught.value.hint or "")
    feed.check_room(text_feed(tokens, tokens, 10), 2, 4)


@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("name", ["resnet50", "bert-base", "vit-b16", "googlenet", "llm-124m"])
def test_workloads_take_what_their_pipeline_makes(name: str, mode: str) -> None:
    workload = get(name)
    if mode not in workload.spec.modes:
        pytest.skip("it has no such mode")
    job = workload.build(replace(CONFIG, workload=name, mode=mode), 2)  # type: ignore[arg-type]
    assert job.feed is not None
    before = [tensor.clone() for tensor in job.inputs]
    samples = [job.feed.samples[index] for index in (0, ENDLESS - 1)]
    with torch.no_grad():
        job.feed.place(tuple(torch.stack(parts) for parts in zip(*samples, strict=True)))
    assert not torch.equal(before[0], job.inputs[0])
    assert torch.isfinite(job.step().float()).all()


def test_pixels_are_normalised() -> None:
    job = get("resnet50").build(replace(CONFIG, workload="resnet50", mode="infer"), 2)
    assert job.feed is not None
    white = torch.full((2, 3, *job.inputs[0].shape[2:]), 255, dtype=torch.uint8)
    with torch.no_grad():
        job.feed.place((white, torch.zeros(2)))
    expected = (1 - torch.tensor([0.485, 0.456, 0.406])) / torch.tensor([0.229, 0.224, 0.225])
    assert torch.allclose(job.inputs[0][0, :, 0, 0], expected, atol=1e-5)
