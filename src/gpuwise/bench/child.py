"""The process that holds the device: `python -m gpuwise.bench.child EVENTS_FD`.

Reads one configuration as JSON from standard input, measures it and writes events to the given
file descriptor. Whatever torch or the workload prints goes to standard output and error, which the
parent keeps as a log. If the parent dies, the next event ends this process; so does a fork that a
workload makes of it.
"""

from __future__ import annotations

import gc
import json
import math
import os
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from gpuwise import workloads
from gpuwise.bench import events
from gpuwise.bench.batch import search, walk_down
from gpuwise.bench.clock import Clock, clock_for
from gpuwise.bench.engine import measure, pace, run_steps
from gpuwise.bench.plan import NEEDS, lacking
from gpuwise.errors import GpuwiseError
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost
from gpuwise.workloads import Workload, user

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

TRIAL_WARMUP, TRIAL_STEPS = 2, 4


def ready(config: RunConfig) -> events.Ready:
    """What torch and the device say of themselves. Raises RuntimeError without a device."""
    if config.device == "cpu":
        return events.Ready(torch=torch.__version__, cuda=None, cudnn=None, device="cpu", memory_bytes=None)
    properties = torch.cuda.get_device_properties(0)
    version = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    return events.Ready(
        torch=torch.__version__,
        cuda=torch.version.cuda or torch.version.hip,
        cudnn=None if version is None else str(version),
        device=properties.name,
        memory_bytes=properties.total_memory,
    )


def unsupported(config: RunConfig, workload: Workload) -> str | None:
    """Why the device cannot run the workload in the precision, or None where it can."""
    there = torch.cuda.device_count() if config.device == "cuda" else 0
    if workload.spec.gpus > there and config.size != "toy":
        return f"{workload.spec.id} needs {workload.spec.gpus} GPU(s), there are {there}"
    if config.device == "cpu":
        return f"a CPU has no {config.precision}" if config.precision in lacking(None, "cpu") else None
    if torch.version.hip is not None:
        return None
    major, minor = torch.cuda.get_device_capability()
    if major + minor / 10 < NEEDS.get(config.precision, 0.0):
        return f"compute capability {major}.{minor} has no {config.precision}"
    return None


def run(config: RunConfig, reference: str, report: events.Report, began: float) -> None:
    """Measure one configuration. Raises torch's own errors."""
    report(ready(config))
    workload = workloads.load(reference)
    if (why := unsupported(config, workload)) is not None:
        report(events.Failed(kind="unsupported", message=why))
        return
    torch.manual_seed(0)
    clock = clock_for(config.device)
    batch = choose_batch(config, workload, clock, report)
    if batch is None:
        report(events.Failed(kind="oom", message="not even one item fits"))
        return
    cost = cost_of(config, workload, batch)
    job = workload.build(config, batch)
    report(
        events.Built(
            batch=batch,
            items=job.items,
            flop_per_item=cost.flop_per_item if cost else None,
            bytes_per_item=cost.bytes_per_item if cost else None,
        )
    )
    if job.mismatch is not None:
        report(events.Checked(mismatch=job.mismatch()))
    _release(config)
    if config.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    first = job.step()
    clock.mark()
    clock.read()
    report(events.First(seconds=time.monotonic() - began))
    measure(job.step, job.items, clock, pace(config), report)
    report(_done(config, job, first))


def _done(config: RunConfig, job: Job, first: torch.Tensor) -> events.Done | events.Failed:
    peak = torch.cuda.max_memory_allocated() if config.device == "cuda" else None
    if config.mode != "train":
        return events.Done(memory_peak_bytes=peak, loss=())
    loss = (float(first), float(job.step()))
    if not all(math.isfinite(value) for value in loss):
        return events.Failed(
            kind="failed", message=f"training diverged: loss went from {loss[0]} to {loss[1]}"
        )
    return events.Done(memory_peak_bytes=peak, loss=loss)


def cost_of(config: RunConfig, workload: Workload, batch: int) -> Cost | None:
    """What one item costs; where the workload does not say, torch counts the operations of one eager
    step of at most two items (`torch.utils.flop_counter`: matrix products, convolutions, attention)."""
    if workload.spec.cost is not None:
        return workload.spec.cost(config.mode, config.precision, batch)
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    # The counter does not know the attention kernel of a CPU; its parts it does.
    known = sdpa_kernel(SDPBackend.MATH) if config.device == "cpu" else nullcontext()
    try:
        job = workload.build(replace(config, compile=False), min(batch, 2))
        with known, FlopCounterMode(display=False) as counter:
            job.step()
    except Exception as error:  # noqa: BLE001  no count is no reason not to measure
        print(f"operations not counted: {type(error).__name__}: {error}")
        return None
    finally:
        _release(config)
        torch.manual_seed(0)
    counted = counter.get_total_flops()
    return Cost(flop_per_item=counted / job.items) if counted else None


def choose_batch(config: RunConfig, workload: Workload, clock: Clock, report: events.Report) -> int | None:
    """The batch asked for; else the search's answer. A quick run only shrinks to fit."""
    if config.batch is not None:
        return config.batch
    spec = workload.spec
    if config.mode == "limit" or config.device == "cpu" or config.size == "toy":
        return spec.cpu_batch
    eager = replace(config, compile=False)
    if config.quick and _trial(eager, workload, clock, spec.default_batch) is not None:
        return spec.default_batch
    start = spec.default_batch // 2 if config.quick else spec.default_batch
    best = search(lambda batch: _trial(eager, workload, clock, batch), start, report)
    if best is None or config.quick or not config.compile:
        return best
    return walk_down(lambda batch: _trial(config, workload, clock, batch), best, report)


def _trial(config: RunConfig, workload: Workload, clock: Clock, batch: int) -> float | None:
    """Items per second of a few steps, or None where the batch does not fit."""
    try:
        return _few_steps(config, workload, clock, batch)
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        return None
    finally:
        if config.compile:
            torch.compiler.reset()
        _release(config)


def _few_steps(config: RunConfig, workload: Workload, clock: Clock, batch: int) -> float:
    job = workload.build(config, batch)
    run_steps(job.step, clock, TRIAL_WARMUP)
    times = run_steps(job.step, clock, TRIAL_STEPS)
    return job.items * len(times) / sum(times)


def out_of_memory(error: BaseException) -> bool:
    """Whether the device, or the host when it is the device, ran out of memory."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return any(sign in str(error) for sign in ("can't allocate memory", "ALLOC_FAILED", "not enough memory"))


def _release(config: RunConfig) -> None:
    """Give back memory that nothing refers to, also that of a failed trial's reference cycles."""
    gc.collect()
    if config.device == "cuda":
        torch.cuda.empty_cache()


def main() -> None:
    """Entry point of the child process."""
    began, born = time.monotonic(), os.getpid()
    stream = os.fdopen(int(sys.argv[1]), "wb", buffering=0)

    def report(event: events.Event) -> None:
        if os.getpid() != born:
            os._exit(0)  # a copy that the workload forked off
        with suppress(BrokenPipeError):
            stream.write(events.encode(event))
            return
        os._exit(1)  # nobody listens any more: free the device

    asked = json.load(sys.stdin)
    try:
        run(RunConfig(**asked["config"]), asked["reference"], report, began)
    except (Exception, SystemExit) as error:  # noqa: BLE001  the parent must hear of every failure
        report(failure(error, asked["reference"]))


def failure(error: Exception | SystemExit, reference: str) -> events.Failed:
    """The event for an error, with file and line where it comes from a file of the user's."""
    kind: events.ErrorKind = "oom" if out_of_memory(error) else "failed"
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, GpuwiseError):
        message = str(error)
    elif (file := user.split(reference)) is not None:
        message = user.describe(error, file[0])
    return events.Failed(kind=kind, message=message[:2000])


if __name__ == "__main__":
    main()
