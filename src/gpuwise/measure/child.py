"""The process that holds the device: `python -m gpuwise.measure.child EVENTS_FD FRAMEWORK`.

It imports the framework, reads what to measure as a line of JSON from standard input and writes events to
the file descriptor that it was started with; before each timed run it waits for another line.
An order may say that more follow: limits take turns in one process. What the workload prints goes to
standard output and error, which the parent keeps as a log. If the parent dies, this process ends at once,
whatever it is doing; a fork that a workload makes of it ends at its first event.
"""

from __future__ import annotations

import gc
import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from gpuwise.errors import GpuwiseError, RunError
from gpuwise.measure import engine, events
from gpuwise.measure.frameworks.adapter import Adapter, Compiler, Job, load
from gpuwise.measure.locks import Turn
from gpuwise.measure.request import Order
from gpuwise.model.question import Cost, RunConfig
from gpuwise.model.result import BatchTrial, Compilation
from gpuwise.workloads import foreign

TRIAL_WARMUP, TRIAL_STEPS = 2, 4
# Operations or bytes of an item; a step of the largest models takes some 1e18.
MOST_COST = 1e21


def main() -> None:
    """Take orders and carry them out; the parent is sent every failure."""
    report = reporter()
    # The workload finds an empty standard input; the parent's orders come over a copy of it.
    orders = os.fdopen(os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)

    def end_with_parent() -> None:
        # Waits, reading nothing, until nobody can give orders any more; a compilation may take minutes to say
        # another word, and would hold the device.
        hung_up = select.poll()
        hung_up.register(orders, 0)
        hung_up.poll()
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=end_with_parent, daemon=True).start()

    turn = Turn()

    def cool_down() -> None:
        turn.give()
        report(events.Cooldown())
        if not orders.readline():
            os._exit(1)  # the parent has died
        turn.take()
        report(events.Cooled())

    with suppress(Exception, SystemExit):  # what goes wrong here does so again below, and is reported there
        load(sys.argv[2], "")  # type: ignore[arg-type]
    # None of the framework is garbage: every search for what a job leaves would go through all of it.
    gc.freeze()
    more = True
    while more:
        if not (line := orders.readline()):
            os._exit(1)  # the parent has died
        order, adapter = msgspec.json.decode(line, type=Order), None
        turn = Turn(order.turn)
        try:
            adapter = load(order.config.framework, order.reference)
            began = time.monotonic()  # a cold start does not hold the import of the framework
            tasks = ((order.config, order.reference), *order.then)
            if not adapter.launch(tasks, report, began, order.rendezvous):
                adapter.turn = turn
                start = ColdStart(adapter.compiler(order.config), began, turn.now)
                turn.take()
                run(adapter, order.config, report, start, cool_down)
        except (Exception, SystemExit) as error:  # noqa: BLE001  also what the workload raises
            report(failure(error, order.reference, adapter))
        more = order.more
        if more:
            if adapter is not None:
                adapter.release(order.config)
            report(events.Idle())
    gc.freeze()  # else Python looks for garbage in all of the framework before it ends: most of a second


def reporter() -> events.Report:
    """Writes events to the descriptor named on the command line."""
    born = os.getpid()
    stream = os.fdopen(int(sys.argv[1]), "wb", buffering=0)

    def report(event: events.Event) -> None:
        if os.getpid() != born:
            os._exit(0)  # a copy that the workload forked off
        with suppress(BrokenPipeError):
            stream.write(events.encode(event))
            return
        # Nobody listens any more: free the devices. The parent made this process lead its group.
        os.killpg(0, signal.SIGKILL)

    return report


class ColdStart:
    """Time from the start of the process to the end of the first step, by the clock `now`; `began` by it.

    The batch search, the checks of the numbers and steps of each rank alone are not part of it: whoever runs
    this one step from its start would wait for none of them, so the clock stands still meanwhile.
    """

    def __init__(
        self, compiler: Compiler | None, began: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._began, self._compiler, self._now = began, compiler, now
        self._built = began
        if compiler is not None:
            compiler.listen()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A context whose time is not part of the start."""
        began = self._now()
        if self._compiler is not None:
            self._compiler.ignore()
        try:
            yield
        finally:
            took_s = self._now() - began
            self._began += took_s
            self._built += took_s
            if self._compiler is not None:
                self._compiler.listen()

    def built(self) -> None:
        """The model is on the device; from now on it is compiled and run."""
        self._built = self._now()

    def first(self) -> events.First:
        """The first step has ended: what it took since the process began."""
        now, compiler, compilation = self._now(), self._compiler, None
        if compiler is not None:
            spent, graphs, cached = compiler.seconds, compiler.graphs, compiler.cached
            whole_s = now - self._built
            compilation = Compilation(seconds=spent, whole_s=whole_s, graphs=graphs, cached=cached)
        return events.First(seconds=now - self._began, compilation=compilation)


@dataclass(frozen=True, slots=True)
class Run:
    """One configuration in this process, or with the other ranks: what all of its parts need."""

    adapter: Adapter[Any]
    config: RunConfig
    report: events.Report
    start: ColdStart
    cool_down: Callable[[], object] = lambda: None

    def begin(self, batch: int) -> tuple[Job, engine.Clock, engine.Step, Any]:
        """(job, clock, the step that it times, what the first step computed) for a batch."""
        with self.start.aside():
            cost = cost_of(self.adapter, self.config, batch)
        job = self.adapter.build(self.config, batch)
        self.start.built()
        self.report(built(batch, job.items, cost))
        if self.adapter.checks_first:
            self.check(job)
        clock, step = self.adapter.timer(self.config, job)
        return job, clock, step, self.first_step(clock, step)

    def check(self, job: Job) -> None:
        """Report what the numbers of a job say."""
        if (mismatch := self.adapter.check(job, self.start.aside)) is not None:
            self.report(mismatch)

    def first_step(self, clock: engine.Clock, step: engine.Step) -> Any:
        """The output of the first step; memory is counted from here on."""
        self.adapter.forget_peak(self.config)
        first = self.adapter.wait(step())
        clock.mark()
        clock.read()
        self.report(self.start.first())
        return first

    def timed(
        self, job: Job, items: int, clock: engine.Clock, step: engine.Step, first: Any
    ) -> events.Done | events.Failed:
        """Time the steps of a job, of `items` each on all ranks together; how it ended.

        A training has failed where its loss is not finite, an inference where its output holds NaN. Infinity
        and one value everywhere are answers that few networks give on random input, so they are only odd.
        """
        adapter, config = self.adapter, self.config
        if config.input == "host":
            step, fed = adapter.with_input(config, job, clock)
            self.report(fed)
        engine.measure_runs(step, items, clock, engine.timing_plan(config), self.report, self.cool_down)
        peak = adapter.peak_bytes(config)
        if config.mode == "limit":
            return events.Done(memory_peak_bytes=peak, loss=())
        last = adapter.wait(job.step())
        if config.mode == "train":
            loss = float(first), float(last)
            if all(map(math.isfinite, loss)):
                return events.Done(memory_peak_bytes=peak, loss=loss)
            message = f"training diverged: loss went from {loss[0]} to {loss[1]}"
            return events.Failed(kind="failed", message=message)
        low, high, values = adapter.extremes(last)
        if math.isnan(low) or math.isnan(high):
            message = "the output is NaN: the speed is that of no computation"
            return events.Failed(kind="failed", message=message)
        odd = None
        if math.isinf(low) or math.isinf(high):
            odd = "the output holds infinity"
        elif low == high and values > 1:
            odd = f"the output is {low:g} everywhere"
        return events.Done(memory_peak_bytes=peak, loss=(), odd=odd)


def run(
    adapter: Adapter[Any],
    config: RunConfig,
    report: events.Report,
    start: ColdStart,
    cool_down: Callable[[], object] = lambda: None,
) -> None:
    """Measure one configuration in this process. Raises the framework's own errors."""
    report(adapter.ready(config))
    if (why := adapter.unsupported(config)) is not None:
        report(events.Failed(kind="unsupported", message=why))
        return
    tried = [0]

    def report_trial(event: events.Event) -> None:
        if isinstance(event, BatchTrial):
            tried.append(event.batch)
        report(event)

    with start.aside():
        whole_batch = choose_batch(adapter, config, report_trial)
    if whole_batch is None:
        report(events.Failed(kind="oom", message="not even one item fits"))
        return
    batch, why = engine.share(config, whole_batch)
    if why is not None:
        report(events.Failed(kind="unsupported", message=why))
        return
    here = Run(adapter, config, report, start, cool_down)
    while True:
        try:
            job, clock, step, first = here.begin(batch)
            break
        except Exception as error:
            # A batch that was asked for is not halved, nor one that may fit without what is built beside it.
            alone = not (config.batch or adapter.turn.shared)
            if not alone or batch == 1 or not adapter.out_of_memory(error):
                raise
        report_trial(BatchTrial(batch=batch, fits=False, compiled=config.compile))
        batch //= 2
        adapter.release(config)
    if not adapter.checks_first:
        here.check(job)
    ended = here.timed(job, job.items, clock, step, first)
    if isinstance(ended, events.Done) and adapter.keeps_peak and max(tried) > batch:
        # The peak of the whole process is that of the larger batch it has tried.
        ended = replace(ended, memory_peak_bytes=None)
    report(ended)
    if worth_a_look(config, ended) and (profile := adapter.look_into(config, job, clock)) is not None:
        report(profile)
        del job, clock, step, first  # the search for the largest batch needs their memory
        if searched(config):
            engine.largest(lambda size: _fits(adapter, config, size), batch, report)


def worth_a_look(config: RunConfig, ended: events.Done | events.Failed) -> bool:
    """True if the bottleneck is looked for: not of a limit, nor with --quick."""
    return isinstance(ended, events.Done) and config.mode != "limit" and not config.quick


def cost_of(adapter: Adapter[Any], config: RunConfig, batch: int) -> Cost | None:
    """Cost of one item, as the workload states it, else as the framework counts it."""
    stated = adapter.spec(config).cost
    found = adapter.count(config, batch) if stated is None else stated(config.mode, config.precision, batch)
    if found and not all(0 <= each <= MOST_COST for each in (found.flop_per_item, found.bytes_per_item or 0)):
        raise RunError(f"an item cannot cost {found}", hint="count its operations and bytes: 0 or more")
    return found


def built(batch: int, items: int, cost: Cost | None) -> events.Built:
    """The event for a job of that batch."""
    flop, moved = (cost.flop_per_item, cost.bytes_per_item) if cost is not None else (None, None)
    return events.Built(batch=batch, items=items, flop_per_item=flop, bytes_per_item=moved)


def searched(config: RunConfig) -> bool:
    """True if the batch is searched: on a GPU, where none is given."""
    return (
        config.device != "cpu" and config.size == "full" and config.mode != "limit" and config.batch is None
    )


def choose_batch(adapter: Adapter[Any], config: RunConfig, report: events.Report) -> int | None:
    """One GPU's batch: the one asked for, the fastest one found, or the workload's own; None where not even
    one item fits. A quick run takes the workload's own, to be halved while it does not fit."""
    spec = adapter.spec(config)
    if config.quick or not searched(config):
        small = config.device == "cpu" or config.size == "toy"
        return config.batch or (spec.cpu_batch if small else spec.default_batch)
    single = replace(config, gpus=1, nodes=1, scaling="weak")
    cheap = replace(single, compile=config.compile and not adapter.searches_eagerly)

    def speed(batch: int) -> float | None:
        return trial(adapter, cheap, batch)

    best = engine.search(speed, spec.default_batch, report, compiled=cheap.compile)
    if best is None or cheap.compile == config.compile:
        return best
    return engine.walk_down(lambda batch: trial(adapter, single, batch), best, report)


def trial(adapter: Adapter[Any], config: RunConfig, batch: int) -> float | None:
    """Items per second of a few steps, or None where the batch does not fit."""
    try:
        return _few_steps(adapter, config, batch)
    except Exception as error:
        if not adapter.out_of_memory(error):
            raise
        return None
    finally:
        adapter.release(config)


def _few_steps(adapter: Adapter[Any], config: RunConfig, batch: int) -> float:
    # A function of its own: its job is gone when `trial` gives the memory back.
    job: Job = adapter.build(config, batch)
    clock, step = adapter.timer(config, job)
    engine.run_steps(step, clock, TRIAL_WARMUP)
    times = engine.run_steps(step, clock, TRIAL_STEPS)
    return job.items * len(times) / sum(times)


def _fits(adapter: Adapter[Any], config: RunConfig, batch: int) -> bool:
    """True if one eager step of that batch works; a kernel that cannot count so far fails as memory does."""
    adapter.release(config)
    eager = replace(config, compile=False)
    try:
        clock, step = adapter.timer(eager, adapter.build(eager, batch))
        with adapter.without_search():
            engine.run_steps(step, clock, 1)
    except RuntimeError:
        return False
    return True


def failure(
    error: Exception | SystemExit, reference: str, adapter: Adapter[Any] | None = None
) -> events.Failed:
    """The event for an error, with file and line if it comes from a user file."""
    full = adapter is not None and adapter.out_of_memory(error)
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, GpuwiseError):
        message = str(error)
    elif (file := foreign.split(reference)) is not None:
        message = foreign.describe(error, file[0])
    return events.Failed(kind="oom" if full else "failed", message=message[:2000])


if __name__ == "__main__":
    main()
