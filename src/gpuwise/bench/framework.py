"""The process that measures in a framework beside torch: `python -m gpuwise.bench.framework EVENTS_FD`.

As `bench.child`, behind one adapter. The batch is the workload's own, halved until it fits: a search
would compile each candidate, which takes these frameworks longer than the measurement.
"""

from __future__ import annotations

import math
import time
from typing import Any

from gpuwise import frameworks, workloads
from gpuwise.bench import events
from gpuwise.bench.batch import share
from gpuwise.bench.clock import ArrivalClock
from gpuwise.bench.engine import measure, pace
from gpuwise.bench.orders import Order, Rest, serve
from gpuwise.errors import GpuwiseError
from gpuwise.frameworks import Adapter, Job
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec


def main() -> None:
    """Entry point of the child process."""
    adapters: list[Adapter] = []

    def run_order(order: Order, report: events.Report, began: float, rest: Rest) -> None:
        adapters.append(frameworks.load(order.config.framework))
        # A cold start does not hold the import, as it does not for torch.
        run(adapters[0], order.config, report, time.monotonic(), rest)

    serve(run_order, lambda error, _: failure(error, adapters[0] if adapters else None))


def run(adapter: Adapter, config: RunConfig, report: events.Report, began: float, rest: Rest) -> None:
    """Measure one configuration. Raises the framework's own errors."""
    found = adapter.found(config)
    report(ready(config, found))
    if config.device == "cuda" and config.gpus > found.gpus:
        why = f"{config.framework} sees {found.gpus} GPU(s) of the {config.gpus} asked for"
        report(events.Failed(kind="unsupported", message=why))
        return
    spec = workloads.get(config.workload).spec
    batch, why_not = share(config, config.batch or start_batch(config, spec))
    if why_not is not None:
        report(events.Failed(kind="unsupported", message=why_not))
        return
    clock = ArrivalClock(adapter.wait)
    first, job, batch, shrunk = first_step(adapter, config, batch, report)
    report(built(config, spec, job, batch))
    report(events.First(seconds=time.monotonic() - began))
    if job.mismatch is not None:
        report(events.Checked(mismatch=job.mismatch()))
    how = pace(config)
    for _ in range(how.runs):
        if how.runs > 1:
            rest()
        measure(clock.watched(job.step), job.items, clock, how, report)
    # What did not fit has touched more memory than what is measured, and the peak is the process's.
    peak = None if shrunk else adapter.peak_bytes(config)
    last = adapter.wait(job.step())
    report(ended(config, first, last, peak))


def ready(config: RunConfig, found: frameworks.Found) -> events.Ready:
    """What the framework says of itself, for the parent."""
    return events.Ready(
        framework=config.framework,
        version=found.version,
        cuda=found.cuda,
        cudnn=found.cudnn,
        device=found.device,
        memory_bytes=found.memory_bytes,
    )


def start_batch(config: RunConfig, spec: WorkloadSpec) -> int:
    """The workload's own batch for the device."""
    return spec.default_batch if config.device != "cpu" and config.size == "full" else spec.cpu_batch


def first_step(
    adapter: Adapter, config: RunConfig, batch: int, report: events.Report
) -> tuple[Any, Job, int, bool]:
    """(what the first step computed, the job, its batch, whether a larger one failed).

    A batch that was asked for is not shrunk. Raises the framework's error where nothing fits.
    """
    start = batch
    while True:
        try:
            job = adapter.build(config, batch)
            return adapter.wait(job.step()), job, batch, batch < start
        except Exception as error:
            if config.batch is not None or batch == 1 or not adapter.out_of_memory(error):
                raise
        report(events.Tried(batch=batch, fits=False, compiled=config.compile, items_per_s=None))
        batch //= 2
        adapter.release()


def built(config: RunConfig, spec: WorkloadSpec, job: Job, batch: int) -> events.Built:
    """What a step handles and what an item costs, as the workload states it."""
    cost = spec.cost(config.mode, config.precision, batch) if spec.cost is not None else None
    return events.Built(
        batch=batch,
        items=job.items,
        flop_per_item=cost.flop_per_item if cost else None,
        bytes_per_item=cost.bytes_per_item if cost else None,
    )


def ended(config: RunConfig, first: Any, last: Any, peak: int | None) -> events.Done | events.Failed:
    """How the measurement ended; a training must still have a loss."""
    if config.mode != "train":
        return events.Done(memory_peak_bytes=peak, loss=())
    loss = (float(first), float(last))
    if not all(map(math.isfinite, loss)):
        message = f"training diverged: loss went from {loss[0]} to {loss[1]}"
        return events.Failed(kind="failed", message=message)
    return events.Done(memory_peak_bytes=peak, loss=loss)


def failure(error: Exception | SystemExit, adapter: Adapter | None) -> events.Failed:
    """The event for an error."""
    out_of_memory = adapter is not None and adapter.out_of_memory(error)
    message = str(error) if isinstance(error, GpuwiseError) else f"{type(error).__name__}: {error}"
    return events.Failed(kind="oom" if out_of_memory else "failed", message=message[:2000])


if __name__ == "__main__":
    main()
