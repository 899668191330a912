"""Time one step function: warm up by evidence, then windows until the interval is narrow.

1. The first step is timed alone: it holds compilation, autotuning and allocation.
2. Warm-up runs until step times are stationary (`stats.settled`), not a fixed count.
3. Windows of consecutive steps, one synchronisation each, until the 95 % interval of the
   throughput is within the target on both sides, or the time budget ends.

The aime pace is the benchmark article's: ten steps of warm-up, then fifty steps, once; the
session repeats it in three fresh processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median

from gpuwise.bench.clock import Clock
from gpuwise.bench.events import Report, Timed, Warmup
from gpuwise.model.run import RunConfig
from gpuwise.stats import settled, throughput

FEWEST = 3
"""Windows without which no interval is stated."""

Step = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long and how often to time."""

    window_s: float
    windows: int
    """Windows at least; three where the time budget ends before."""
    time_s: float
    target_ci: float
    warmup_block_s: float = 0.25
    steps: int | None = None
    """A fixed number of steps a window; None = as many as fill `window_s`."""
    warmup_steps: int | None = None
    """A fixed number of warm-up steps; None = until settled."""
    warmup_min_s: float = 1.0
    """Least load before timing: sampled power is a mean of the last second on most cards."""


def pace(config: RunConfig) -> Pace:
    """The pace that a configuration asks for.

    Limits settle in milliseconds. A quick run trades the width of the interval for time.
    """
    timed = partial(Pace, windows=5, time_s=config.time_s, target_ci=config.target_ci)
    if config.mode == "limit":
        # Short bursts: within a tenth of a second a large GPU lowers its clock for a matrix product
        # (an H200 from 1980 to 1530 MHz), and a limit is what the silicon reaches before that.
        return timed(window_s=0.007, warmup_steps=3)
    if config.protocol == "aime":
        return Pace(window_s=0.0, windows=1, steps=50, warmup_steps=10, time_s=0.0, target_ci=1.0)
    if config.quick:
        return timed(window_s=0.4)
    return timed(window_s=1.0)


def run_steps(step: Step, clock: Clock, count: int) -> tuple[float, ...]:
    """Run `count` steps back to back; seconds of each."""
    clock.mark()
    for _ in range(count):
        step()
        clock.mark()
    return clock.read()


def warm_up(step: Step, clock: Clock, pace: Pace) -> tuple[float, ...]:
    """Step until step times are stationary or the time budget is spent; all step times."""
    if pace.warmup_steps is not None:
        return run_steps(step, clock, pace.warmup_steps)
    times = list(run_steps(step, clock, 1))
    while sum(times) < pace.warmup_min_s or not (settled(times) or sum(times) >= pace.time_s):
        # Blocks, so that a GPU is not stopped after every step; growing ones, for each block is
        # followed by a look at all steps so far, which for steps of microseconds takes longer.
        block = max(1, min(max(50, len(times)), round(pace.warmup_block_s / times[-1])))
        times += run_steps(step, clock, block)
    return tuple(times)


def measure(step: Step, items: int, clock: Clock, pace: Pace, report: Report) -> None:
    """Warm up and time `step`, reporting a Warmup and then a Timed event per window."""
    warm = warm_up(step, clock, pace)
    report(Warmup(step_s=warm))
    typical = median(warm[len(warm) // 2 :])
    count = pace.steps or max(1, round(pace.window_s / typical))
    began = clock.now()
    windows: list[tuple[float, ...]] = []
    while not _enough(windows, items, pace, clock.now() - began):
        started = clock.now()
        windows.append(run_steps(step, clock, count))
        report(Timed(step_s=windows[-1], started_s=started, ended_s=clock.now()))


def _enough(windows: list[tuple[float, ...]], items: int, pace: Pace, elapsed_s: float) -> bool:
    if len(windows) < min(pace.windows, FEWEST):
        return False
    if elapsed_s >= pace.time_s:
        return True
    if len(windows) < pace.windows:
        return False
    # Few resamples: the device idles meanwhile, and the final interval is computed afterwards.
    return throughput(windows, items, resamples=200).half_width <= pace.target_ci
