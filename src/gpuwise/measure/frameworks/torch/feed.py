"""Run a step on a new batch each time, prepared by worker processes, and time what either does alone.

Workers prepare whole batches, a thread pins them, a second stream copies the next one while the device
computes the present one: the usual way to hide input (torch.utils.data, pinned memory, non_blocking).
The queue between workers and step is emptied before anything is timed; a full one would hide slow workers.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from gpuwise.errors import MachineError
from gpuwise.measure.engine import Clock, HostClock, run_steps
from gpuwise.measure.events import Fed
from gpuwise.measure.telemetry import cpu_count
from gpuwise.model.run import RunConfig
from gpuwise.workloads.input import Feed, Sample
from gpuwise.workloads.job import Job

# Batches that each worker prepares in advance.
AHEAD = 2
# Of the step alone; the pipeline alone is timed for as many windows of one batch from every worker.
WINDOWS, STEPS = 3, 10
SHARED = Path("/dev/shm")


Batches = Iterator[Sample]


def fed(config: RunConfig, job: Job, clock: Clock) -> tuple[Callable[[], Tensor], Fed]:
    """The step with a new batch each time, and what step and pipeline do alone.

    Raises MachineError where the workload has no pipeline, or its batches do not fit the shared memory.
    """
    if job.feed is None:
        raise MachineError(f"{config.workload} has no input pipeline", hint="leave out the input")
    workers, batch = max(1, cpu_count() - 1), job.inputs[0].shape[0]
    run_steps(job.step, clock, STEPS)
    alone = tuple(run_steps(job.step, clock, STEPS) for _ in range(WINDOWS))
    batches = prepared(job.feed, batch, workers, config.device)
    # The pipeline's batches while nothing takes the processor from it.
    host = HostClock()
    run_steps(lambda: next(batches), host, (AHEAD + 1) * workers)
    pipeline = tuple(
        (sum(run_steps(lambda: next(batches), host, workers)) / workers,) for _ in range(WINDOWS)
    )
    step = with_input(job, job.feed, batches, config.device)
    run_steps(step, clock, AHEAD * workers)
    return step, Fed(workers=workers, pipeline_s=pipeline, alone_s=alone)


def prepared(feed: Feed, batch: int, workers: int, device: str) -> Batches:
    """Batches without end, in pinned memory where a GPU is to fetch them."""
    check_room(feed, batch, workers)
    return iter(
        DataLoader(
            feed.samples,
            batch_size=batch,
            num_workers=workers,
            prefetch_factor=AHEAD,
            pin_memory=device == "cuda",
        )
    )


def check_room(feed: Feed, batch: int, workers: int) -> None:
    """Raise MachineError where the batches in the queue do not fit the memory that processes share."""
    sample: Sample = feed.samples[0]
    needed = sum(tensor.nbytes for tensor in sample) * batch * workers * (AHEAD + 1)
    if SHARED.exists() and shutil.disk_usage(SHARED).free < needed:
        raise MachineError(
            f"the input pipeline needs {needed / 2**30:.1f} GiB of shared memory, more than {SHARED} has",
            hint="give the container more (--shm-size), or take a smaller batch",
        )


def with_input(job: Job, feed: Feed, batches: Batches, device: str) -> Callable[[], Tensor]:
    """A step that takes the next batch first; on a GPU the one after it is copied meanwhile."""
    fetch = _ahead(batches) if device == "cuda" else batches

    def step() -> Tensor:
        with torch.no_grad():
            feed.place(next(fetch))
        return job.step()

    return step


def _ahead(batches: Batches) -> Batches:
    """The same batches on the GPU, copied on a stream of their own: the host is ahead of the device, so
    each copy runs while the step before it computes."""
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def copied() -> Sample:
        with torch.cuda.stream(aside):
            return tuple(tensor.to("cuda", non_blocking=True) for tensor in next(batches))

    while True:
        ready, here = copied(), torch.cuda.current_stream()
        here.wait_stream(aside)
        for tensor in ready:
            tensor.record_stream(here)
        yield ready
