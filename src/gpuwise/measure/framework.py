"""The process that measures in a framework beside torch: `python -m gpuwise.measure.framework EVENTS_FD`.

As `bench.child`, behind one adapter. The batch is searched the way the measurement runs, compiled or
not: these frameworks are far slower without, so that it says nothing of the compiled step. Each
candidate is compiled for that; a quick run only halves the workload's own batch until it fits.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy

from gpuwise import workloads
from gpuwise.errors import GpuwiseError
from gpuwise.measure import events, frameworks, output
from gpuwise.measure.batch import search, share
from gpuwise.measure.clock import ArrivalClock
from gpuwise.measure.cold import Start
from gpuwise.measure.engine import measure_runs, pace, run_steps
from gpuwise.measure.frameworks import Adapter, Job
from gpuwise.measure.orders import Order, Rest, serve
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import WorkloadSpec

TRIAL_WARMUP, TRIAL_STEPS = 2, 4


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
    tried = [0]

    def trial_report(event: events.Event) -> None:
        if isinstance(event, events.Tried):
            tried.append(event.batch)
        report(event)

    spec = workloads.get(config.workload).spec
    start = Start(config, began)
    with start.aside():
        asked = choose_batch(adapter, config, spec, trial_report)
    if asked is None:
        report(events.Failed(kind="oom", message="not even one item fits"))
        return
    batch, why_not = share(config, asked)
    if why_not is not None:
        report(events.Failed(kind="unsupported", message=why_not))
        return
    first, job, batch = first_step(adapter, config, batch, trial_report)
    report(built(config, spec, job, batch))
    report(start.first())
    if job.mismatch is not None:
        report(events.Checked(mismatch=job.mismatch()))
    # A larger batch has touched more memory, and the peak may be that of the whole process.
    told = adapter.forget_peak(config) or max(tried) <= batch
    clock = ArrivalClock(adapter.wait)
    measure_runs(clock.watched(job.step), job.items, clock, pace(config), report, rest)
    last = adapter.wait(job.step())
    report(ended(config, first, last, adapter.peak_bytes(config) if told else None))


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


def searches(config: RunConfig) -> bool:
    """Whether the batch is searched: on a GPU, where none is given and there is time."""
    return config.device != "cpu" and config.size == "full" and config.batch is None and not config.quick


def choose_batch(
    adapter: Adapter, config: RunConfig, spec: WorkloadSpec, report: events.Report
) -> int | None:
    """One GPU's batch: the one asked for, the search's answer, or the workload's own for the device."""
    if searches(config):
        single = replace(config, gpus=1, scaling="weak")
        return search(
            lambda batch: _trial(adapter, single, batch), spec.default_batch, report, compiled=config.compile
        )
    own = spec.default_batch if config.device != "cpu" and config.size == "full" else spec.cpu_batch
    return config.batch or own


def _trial(adapter: Adapter, config: RunConfig, batch: int) -> float | None:
    """Items per second of a few steps, or None where the batch does not fit."""
    try:
        return _few_steps(adapter, config, batch)
    except Exception as error:
        if not adapter.out_of_memory(error):
            raise
        return None
    finally:
        adapter.release()


def _few_steps(adapter: Adapter, config: RunConfig, batch: int) -> float:
    job, clock = adapter.build(config, batch), ArrivalClock(adapter.wait)
    step = clock.watched(job.step)
    run_steps(step, clock, TRIAL_WARMUP)
    times = run_steps(step, clock, TRIAL_STEPS)
    return job.items * len(times) / sum(times)


def first_step(
    adapter: Adapter, config: RunConfig, batch: int, report: events.Report
) -> tuple[Any, Job, int]:
    """(what the first step computed, the job, its batch), the batch halved until it fits.

    A batch that was asked for is not halved. Raises the framework's error where nothing fits.
    """
    while True:
        try:
            job = adapter.build(config, batch)
            return adapter.wait(job.step()), job, batch
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
    """How the measurement ended; a training must still have a loss, an inference an answer."""
    if config.mode == "train":
        return output.trained(peak, float(first), float(last))
    answer = numpy.asarray(last, dtype=float)
    return output.ended(peak, float(answer.min()), float(answer.max()), values=answer.size)


def failure(error: Exception | SystemExit, adapter: Adapter | None) -> events.Failed:
    """The event for an error."""
    out_of_memory = adapter is not None and adapter.out_of_memory(error)
    message = str(error) if isinstance(error, GpuwiseError) else f"{type(error).__name__}: {error}"
    return events.Failed(kind="oom" if out_of_memory else "failed", message=message[:2000])


if __name__ == "__main__":
    main()
