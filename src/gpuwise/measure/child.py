"""The process that holds the device: `python -m gpuwise.measure.child EVENTS_FD`.

Measures one configuration with torch; how it talks with its parent is `orders`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import torch

from gpuwise import workloads
from gpuwise.errors import GpuwiseError, InputError
from gpuwise.measure import events, memory, output
from gpuwise.measure.ability import lacking
from gpuwise.measure.batch import largest, search, walk_down
from gpuwise.measure.clock import Clock, clock_for
from gpuwise.measure.cold import Start
from gpuwise.measure.engine import measure_runs, pace, run_steps
from gpuwise.measure.orders import Order, Rest, serve
from gpuwise.measure.profile import profile, steps_for
from gpuwise.model.run import RunConfig
from gpuwise.model.workload import Cost
from gpuwise.workloads import Workload, user

if TYPE_CHECKING:
    from gpuwise.workloads.job import Job

TRIAL_WARMUP, TRIAL_STEPS = 2, 4

SIGNS_OF_NO_MEMORY = ("can't allocate memory", "ALLOC_FAILED", "not enough memory", "out of memory")


def ready(config: RunConfig) -> events.Ready:
    """What torch and the device say of themselves. Raises RuntimeError without a device."""
    version = torch.__version__
    if config.device == "cpu":
        return events.Ready(version=version, device="cpu")
    if config.device == "mps":
        return events.Ready(
            version=version, device="Apple GPU", memory_bytes=torch.mps.recommended_max_memory()
        )
    if config.device == "xpu":
        intel = torch.xpu.get_device_properties()
        return events.Ready(version=version, device=intel.name, memory_bytes=intel.total_memory)
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    return events.Ready(
        version=version,
        cuda=torch.version.cuda or torch.version.hip,
        cudnn=None if cudnn is None else str(cudnn),
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
    if config.device != "cuda" or torch.version.hip is not None:
        return None
    major, minor = torch.cuda.get_device_capability()
    if major + minor / 10 < config.precision.capability:
        return f"compute capability {major}.{minor} has no {config.precision}"
    return None


def run(config: RunConfig, reference: str, report: events.Report, began: float, rest: Rest) -> None:
    """Measure one configuration. Raises torch's own errors."""
    start = Start(config, began)
    report(ready(config))
    workload = workloads.load(reference)
    if (why := unsupported(config, workload)) is not None:
        report(events.Failed(kind="unsupported", message=why))
        return
    torch.manual_seed(0)
    clock = clock_for(config.device)
    with start.aside():
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
    if job.mismatch is not None or job.gradient_norm is not None:
        if job.rehearse is not None:
            job.rehearse()
        with start.aside() if job.rehearse is not None else nullcontext():
            report(checked(job))
    ended = timed(config, job, job.items, clock, report, start, rest)
    report(ended)
    if to_profile(config, ended):
        report(look_into(config, job, clock))
        del job
        if searches(config):
            eager = replace(config, compile=False)
            largest(lambda size: _fits(eager, workload, clock, size), batch, report)


def checked(job: Job) -> events.Checked:
    """Compiled against eager, then the gradients of steps that change no weight."""
    mismatch = job.mismatch() if job.mismatch is not None else None
    norms = (f() if f is not None else math.nan for f in (job.gradient_norm, job.reference_norm))
    norm, reference = (value if math.isfinite(value) else None for value in norms)
    return events.Checked(mismatch=mismatch, gradient_norm=norm, reference_norm=reference)


def timed(
    config: RunConfig,
    job: Job,
    items: int,
    clock: Clock,
    report: events.Report,
    start: Start,
    rest: Rest = lambda: None,
) -> events.Done | events.Failed:
    """Time the steps of a job, of `items` each on all ranks together; how it ended."""
    memory.release(config.device)
    memory.reset_peak(config.device)
    first = job.step()
    if not isinstance(first, torch.Tensor):
        message = f"{config.workload}: a step returns a tensor on the device, not {type(first).__name__}"
        raise InputError(message, hint=user.HOW)
    clock.mark()
    clock.read()
    report(start.first())
    step: Callable[[], torch.Tensor] = job.step
    if config.input == "host":
        from gpuwise.measure.feed import fed

        step, told = fed(config, job, clock)
        report(told)
    measure_runs(step, items, clock, pace(config), report, rest)
    return _done(config, job, first)


def _done(config: RunConfig, job: Job, first: torch.Tensor) -> events.Done | events.Failed:
    peak = memory.peak(config.device)
    if config.mode == "limit":
        return events.Done(memory_peak_bytes=peak, loss=())
    last = job.step()
    if config.mode == "train":
        return output.trained(peak, float(first), float(last))
    low, high = extremes(last)
    return output.ended(peak, low, high, values=last.numel())


def extremes(values: torch.Tensor) -> tuple[float, float]:
    """The least and the largest value, both NaN where one is, without a copy; (0, 1) for what torch does
    not compare (float8, sparse, empty)."""
    try:
        real = torch.view_as_real(values.resolve_conj()) if values.is_complex() else values
        return float(real.min()), float(real.max())
    except (RuntimeError, NotImplementedError):
        return 0.0, 1.0


def to_profile(config: RunConfig, ended: events.Done | events.Failed) -> bool:
    """Whether to look for what bounds the speed: not of a limit, nor where a first picture is wanted."""
    seen = config.device in ("cpu", "cuda")  # what the profiler knows
    return seen and isinstance(ended, events.Done) and config.mode != "limit" and not config.quick


def look_into(config: RunConfig, job: Job, clock: Clock) -> events.Profiled | events.Unprofiled:
    """A profile of a few steps, or why there is none: whatever fails here, the measurement is complete."""
    try:
        (step_s,) = run_steps(job.step, clock, 1)
        found = profile(job.step, steps_for(step_s), config.device)
    except Exception as error:  # noqa: BLE001
        return events.Unprofiled(reason=f"{type(error).__name__}: {error}".splitlines()[0][:200])
    kernels = tuple((each.kind, each.count, each.seconds) for each in found.kernels)
    slowest = tuple((each.kind, each.count, each.seconds, each.name) for each in found.slowest)
    return events.Profiled(**asdict(found) | {"kernels": kernels, "slowest": slowest})


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
        memory.release(config.device)
        torch.manual_seed(0)
    counted = counter.get_total_flops()
    return Cost(flop_per_item=counted / job.items) if counted else None


def choose_batch(config: RunConfig, workload: Workload, clock: Clock, report: events.Report) -> int | None:
    """The batch asked for; else the search's answer. A quick run only shrinks to fit."""
    if config.batch is not None:
        return config.batch
    spec = workload.spec
    if not searches(config):
        return spec.cpu_batch
    eager = replace(config, compile=False)
    if config.quick and _trial(eager, workload, clock, spec.default_batch) is not None:
        return spec.default_batch
    start = spec.default_batch // 2 if config.quick else spec.default_batch
    best = search(lambda batch: _trial(eager, workload, clock, batch), start, report)
    if best is None or config.quick or not config.compile:
        return best
    return walk_down(lambda batch: _trial(config, workload, clock, batch), best, report)


def searches(config: RunConfig) -> bool:
    """Whether the batch is searched: on a GPU, where none is given."""
    there = config.device != "cpu" and config.size == "full" and config.mode != "limit"
    return there and config.batch is None


def _fits(config: RunConfig, workload: Workload, clock: Clock, batch: int) -> bool:
    """Whether one step of that batch works; a kernel that cannot count so far fails as memory does."""
    torch.compiler.reset()
    memory.release(config.device)
    try:
        run_steps(workload.build(config, batch).step, clock, 1)
    except RuntimeError:
        return False
    return True


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
        memory.release(config.device)


def _few_steps(config: RunConfig, workload: Workload, clock: Clock, batch: int) -> float:
    job = workload.build(config, batch)
    run_steps(job.step, clock, TRIAL_WARMUP)
    times = run_steps(job.step, clock, TRIAL_STEPS)
    return job.items * len(times) / sum(times)


def out_of_memory(error: BaseException) -> bool:
    """Whether the device, or the host when it is the device, ran out of memory."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return any(sign in str(error) for sign in SIGNS_OF_NO_MEMORY)


def main() -> None:
    """Entry point of the child process."""
    serve(_measure, lambda error, order: failure(error, order.reference))


def _measure(order: Order, report: events.Report, began: float, rest: Rest) -> None:
    if order.config.gpus > 1:
        from gpuwise.measure.launch import launch

        launch(order.config, order.reference, report, began, order.rendezvous)
    else:
        run(order.config, order.reference, report, began, rest)


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
