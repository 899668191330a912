"""Time one step function: warm up by evidence, then windows until the interval is narrow.

1. The first step is timed alone: it holds compilation, autotuning and allocation.
2. Warm-up runs until step times are stationary (`stats.settled`), not a fixed count.
3. Windows of consecutive steps, one synchronisation each, until they show the long-run rate (`stats.enough`):
   the 95 % interval is within the target, also if the speed wanders as slowly as they allow; or until the
   time budget ends.

The aime protocol is the benchmark article's: ten steps of warm-up, then fifty steps. It is run three
times, each from below 50 C, in one process: starting and compiling it anew moves no figure (three
processes of compiled ResNet-50 on an H200 agree within 0.1 %) and takes longer than the steps. For the
same reason three steps of warm-up precede the second and third run: on an H200 every step but the first
two of a process takes the same. Steps so slow that fifty take more than 3 s are fewer, at least five: a
hundred and fifty steps of a second would take minutes, and the interval says how well fewer are known.

The batch with the highest throughput is found by doubling the workload's default while throughput rises by
more than 1 % (below that, a larger batch only costs memory); halving first while the default itself does not
fit. In torch these trials run eagerly, because compiling each candidate would take minutes. Compiled, the
best batch is often smaller (BERT-large on an H200: 256 eagerly, 128 compiled), so a compiled measurement
walks down from the eager answer until a half costs throughput. JAX and TensorFlow are far slower without
compiling, so their search compiles each candidate. When all is timed, doubling goes on with one step each
until memory ends, and three halvings of the last gap follow: the largest batch that fits is known within a
ninth.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any, Protocol

from gpuwise.errors import RunError
from gpuwise.measure.events import Report, Warmup
from gpuwise.model.question import BATCH_GAIN, RunConfig
from gpuwise.model.result import BatchTrial, Window
from gpuwise.stats.interval import enough, settled

# Windows without which no interval is stated.
MIN_WINDOWS = 3

# Fewest steps of a window with a given number of them, where they are slow: fifteen in three runs.
MIN_STEPS = 5

# Warm-up of a run after the first, when nothing is left to compile, tune or allocate, and of slow steps.
RERUN_WARMUP_STEPS = 3

# Steps shorter than this are timed together: 5,000 times a second are enough to see what a device does, and a
# step of 150 ns would fill the memory with its times.
MARK_S = 200e-6

# A long measurement has longer windows: no more of them are kept than show its slow part.
MAX_WINDOWS = 100

# Windows of a soak at least: a minute shows what an hour does.
SOAK_WINDOW_S = 1.0

# Times of a measurement at most, some 20 bytes each: of an hour of shorter steps more are timed together, or
# its file would be larger than one that is read.
MOST_TIMES = 300_000

# Each look at the windows is a chance to stop because they happen to agree, so looks come ever rarer.
LOOK_AGAIN = 1.5


class Clock(Protocol):
    """Times steps where they run, without holding the device up.

    It takes marks between steps; `read` synchronises once. On a GPU a mark is an event in the stream, so the
    host runs ahead and nothing but the work itself is timed; on the CPU it is the monotonic counter.
    """

    def now(self) -> float:
        """Monotonic host seconds, comparable between processes of one machine."""
        ...

    def mark(self) -> None:
        """Remember this point of the device's work."""
        ...

    def read(self) -> tuple[float, ...]:
        """Wait for the device, return seconds between consecutive marks, forget the marks."""
        ...


class HostClock:
    """For work that runs on the host: every step has finished when it returns."""

    def __init__(self) -> None:
        self._marks: list[int] = []

    def now(self) -> float:
        return time.monotonic()

    def mark(self) -> None:
        self._marks.append(time.perf_counter_ns())

    def read(self) -> tuple[float, ...]:
        marks, self._marks = self._marks, []
        return tuple((b - a) / 1e9 for a, b in pairwise(marks))


class ArrivalClock(HostClock):
    """For frameworks that let nobody put an event into their stream: the moments at which the outputs of
    steps are there, seen by the host.

    While a step runs the next one is queued, and only then the earlier is waited for, so the device
    never idles between steps. The first step after `read` holds the time to queue it.
    """

    def __init__(self, wait: Callable[[Any], object]) -> None:
        super().__init__()
        self._wait = wait
        self._newest: Any = None
        self._queued: list[Any] = []

    def watched(self, step: Callable[[], Any]) -> Callable[[], Any]:
        """The step, its output remembered until it is waited for."""

        def run() -> Any:
            self._newest = step()
            return self._newest

        return run

    def mark(self) -> None:
        """After a step: the moment at which the steps before the last mark had ended."""
        if self._newest is None:
            super().mark()
        else:
            self._queued.append(self._newest)
            self._arrive(but=1)

    def read(self) -> tuple[float, ...]:
        self._arrive(but=0)
        self._newest = None
        return super().read()

    def _arrive(self, but: int) -> None:
        """Wait for all queued outputs but the newest few."""
        while len(self._queued) > but:
            self._wait(self._queued.pop(0))
            super().mark()


Step = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingPlan:
    """How long and how often to time."""

    window_s: float
    windows: int  # Windows at least; three where the time budget ends before
    time_s: float
    target_ci: float
    warmup_block_s: float = 0.25
    steps: int | None = None  # A number of steps a window; None = as many as fill `window_s`
    warmup_steps: int | None = None  # A number of warm-up steps; None = until settled
    runs: int = 1  # How often all of this is done, each time from a cool device where there are several
    max_window_s: float = math.inf
    """A window of `steps` slow ones ends after so long, but not before MIN_STEPS; the warm-up after a
    fifth of it, but not before RERUN_WARMUP_STEPS."""
    warmup_min_s: float = 1.0
    """Least load before timing: sampled power is a mean of the last second on most cards."""
    bursts: bool = False
    """Windows are bursts apart from each other: no speed that could wander is sought in them."""
    mark_s: float = MARK_S  # Steps shorter than this are timed together
    rest_between_windows_s: float = 0.0
    """The device rests so long before each window, and takes one more step before its first timed one:
    after a rest a step holds what it takes to start (0.2 ms on an H200, an eighth of a matrix product)."""


def timing_plan(config: RunConfig) -> TimingPlan:
    """The timing that a configuration asks for.

    Limits settle in milliseconds. A quick run trades the width of the interval for time. A toy shows that
    measuring works, and no figure: it takes as little as that needs.
    """
    mark_s = max(MARK_S, config.time_s / MOST_TIMES)
    timed = partial(TimingPlan, windows=5, time_s=config.time_s, target_ci=config.target_ci, mark_s=mark_s)
    if config.mode == "limit":
        # Short bursts, apart: within 40 ms a large GPU lowers its clock for a matrix product (an H200
        # from 1980 to 1530 MHz), and a limit is what the silicon reaches before that.
        rests = config.device != "cpu" and config.size == "full"
        return timed(
            window_s=0.007, warmup_steps=3, bursts=True, rest_between_windows_s=0.05 if rests else 0.0
        )
    if config.protocol == "aime":
        return TimingPlan(
            window_s=0.0,
            windows=1,
            steps=50,
            warmup_steps=10,
            runs=3,
            max_window_s=3.0,
            time_s=0.0,
            target_ci=1.0,
        )
    if config.protocol == "soak":
        # A narrow interval does not end it: it shows what heat, power and errors do in hours. Nor does it
        # wait until the speed has settled, since it measures how heat changes it.
        long = timed(window_s=max(SOAK_WINDOW_S, config.time_s / MAX_WINDOWS), warmup_steps=10)
        return replace(long, windows=sys.maxsize, target_ci=0.0)
    if config.size == "toy":
        return timed(window_s=0.05, warmup_block_s=0.05, warmup_min_s=0.05)
    if config.quick:
        return timed(window_s=0.4)
    # Ten seconds: of stalls that come every ten seconds one is seen, and a clock that wanders shows itself.
    return timed(window_s=max(1.0, config.time_s / MAX_WINDOWS), windows=10)


def run_steps(step: Step, clock: Clock, count: int, each: int = 1) -> tuple[float, ...]:
    """Run `count` times `each` steps back to back; the mean seconds of a step of each time.

    Raises RunError where one took no time.
    """
    clock.mark()
    for _ in range(count):
        for _ in range(each):
            step()
        clock.mark()
    times = tuple(seconds / each for seconds in clock.read())
    if min(times, default=math.inf) <= 0:
        raise RunError("a step took no time: it leaves the device nothing to do", hint="see what it computes")
    return times


def together(step_s: float, mark_s: float = MARK_S) -> int:
    """How many steps of that length are timed together."""
    return max(1, math.ceil(mark_s / step_s)) if step_s < mark_s else 1


def warm_up(step: Step, clock: Clock, plan: TimingPlan) -> tuple[float, ...]:
    """Step until step times are stationary or the time budget is spent; all step times."""
    if plan.warmup_steps is not None:
        first = run_steps(step, clock, 1)
        count = _within(plan.warmup_steps, plan.max_window_s / 5, first[0], RERUN_WARMUP_STEPS)
        return first + run_steps(step, clock, count - 1)
    times = list(run_steps(step, clock, 1))
    spent_s = times[0]
    while spent_s < plan.warmup_min_s or not (settled(times) or spent_s >= plan.time_s):
        # Blocks, so that a GPU is not stopped after every step; growing ones, as each block is
        # followed by a look at all steps so far, which for steps of microseconds takes longer.
        each = together(times[-1], plan.mark_s)
        block = max(1, min(max(50, len(times)), round(plan.warmup_block_s / times[-1] / each)))
        timed = run_steps(step, clock, block, each)
        times += timed
        spent_s += sum(timed) * each
    return tuple(times)


def measure_runs(
    step: Step, items: int, clock: Clock, plan: TimingPlan, report: Report, cool_down: Callable[[], object]
) -> None:
    """Every run of a plan; before each, `cool_down` waits for a device that is cool and does nothing else."""
    again = replace(plan, warmup_steps=RERUN_WARMUP_STEPS) if plan.warmup_steps is not None else plan
    for number in range(plan.runs):
        cool_down()
        measure(step, items, clock, again if number else plan, report)


def measure(step: Step, items: int, clock: Clock, plan: TimingPlan, report: Report) -> None:
    """Warm up and time `step`, reporting a Warmup and then each Window."""
    warm = warm_up(step, clock, plan)
    report(Warmup(step_s=warm))
    typical = median(warm[len(warm) // 2 :])
    each = together(typical, plan.mark_s) if plan.steps is None else 1
    count = max(1, round(plan.window_s / typical / each))
    if plan.steps is not None:
        count = _within(plan.steps, plan.max_window_s, typical, MIN_STEPS)
    began, look = clock.now(), plan.windows
    windows: list[tuple[float, ...]] = []
    while len(windows) < min(plan.windows, MIN_WINDOWS) or clock.now() - began < plan.time_s:
        if len(windows) == look:
            if enough(windows, plan.target_ci, bursts=plan.bursts):
                return
            look = math.ceil(look * LOOK_AGAIN)
        if plan.rest_between_windows_s:
            time.sleep(plan.rest_between_windows_s)
            step()
        started = clock.now()
        windows.append(run_steps(step, clock, count, each))
        report(Window(step_s=windows[-1], started_s=started, ended_s=clock.now(), each=each))


def _within(steps: int, max_window_s: float, step_s: float, fewest: int) -> int:
    """`steps`, or as many as `max_window_s` allows, but at least `fewest`."""
    if steps * step_s <= max_window_s:
        return steps
    return min(steps, max(fewest, int(max_window_s / step_s)))


# Of the search for the largest; a model of which 64 times the fastest batch fits is not bounded by memory.
DOUBLINGS, HALVINGS = 6, 3

# Batch -> items per second, or None where it does not fit.
Trial = Callable[[int], float | None]


def search(trial: Trial, start: int, report: Report, *, compiled: bool = False) -> int | None:
    """The throughput-best batch, or None where not even one item fits."""
    best, best_speed = start, _try(trial, start, report, compiled=compiled)
    while best_speed is None:
        if best == 1:
            return None
        best //= 2
        best_speed = _try(trial, best, report, compiled=compiled)
    if best < start:
        return best
    while True:
        speed = _try(trial, 2 * best, report, compiled=compiled)
        if speed is None or speed <= BATCH_GAIN * best_speed:
            return best
        best, best_speed = 2 * best, speed


def largest(fits: Callable[[int], bool], start: int, report: Report) -> int:
    """The largest batch that fits, or nearly: at least 8 / 9 of it. `start` is known to fit."""

    def attempt(batch: int) -> bool:
        works = fits(batch)
        report(BatchTrial(batch=batch, fits=works))
        return works

    low = start
    for _ in range(DOUBLINGS):
        if not attempt(2 * low):
            break
        low *= 2
    else:
        return low
    high = 2 * low
    for _ in range(HALVINGS):
        middle = (low + high) // 2
        if middle == low:
            break
        low, high = (middle, high) if attempt(middle) else (low, middle)
    return low


def walk_down(trial: Trial, start: int, report: Report) -> int:
    """The smallest batch of start, start / 2, ... before halving again costs more than 1 %.

    `trial` runs compiled. A start that does not fit compiled is halved as well.
    """
    best, best_speed = start, _try(trial, start, report, compiled=True)
    while best > 1:
        speed = _try(trial, best // 2, report, compiled=True)
        if best_speed is not None and (speed is None or speed * BATCH_GAIN < best_speed):
            break
        best, best_speed = best // 2, speed
    return best


def share(config: RunConfig, batch: int | None) -> tuple[int, str | None]:
    """(each rank's batch, why there is none). Strong scaling shares one GPU's batch evenly.

    Where not one item fits a single GPU, each rank begins with one: split over all, it may fit.
    """
    if batch is None:
        return 1, None if config.mode == "train" else "not even one item fits"
    if config.scaling != "strong" or config.mode == "limit":
        return batch, None
    if batch % config.gpus:
        return 0, f"{config.gpus} GPUs cannot share a batch of {batch} evenly"
    return batch // config.gpus, None


def _try(trial: Trial, batch: int, report: Report, *, compiled: bool = False) -> float | None:
    speed = trial(batch)
    report(BatchTrial(batch=batch, fits=speed is not None, compiled=compiled, items_per_s=speed))
    return speed
