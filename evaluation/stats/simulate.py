"""Do intervals hold, and does noise alone produce a verdict? Simulated through the real engine.

    python -m evaluation.stats.simulate                 # noise that the method was tuned on
    python -m evaluation.stats.simulate --apart         # kinds of noise and seeds that it was not
    python -m evaluation.stats.simulate --cases quiet,stall --measurements 100

Each measurement runs `engine.measure` with its warm-up and stopping rule on a clock that only steps move; a
step takes what the noise says. Its interval is what a result file would hold; measurements two by two go
through `stats.compare`. The true value is known:

    holds    share of measurements whose 95 % interval holds the long-run rate
    false    share of comparisons of equals that come out faster or slower
    gate     share that come out slower: a gate that fails for nothing
    time_s   mean time from the first step of the warm-up to the last window

The rows `runs 1 %` and `runs 1.5 %` differ from process to process by so much. They are compared in three
ways: each side repeated three times, one run each beside five stored sessions, and one run each with nothing
known but what is assumed of all cards.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import exp
from statistics import fmean, median

import numpy as np

from gpuwise.measure.engine import TimingPlan, measure, timing_plan
from gpuwise.model.precision import Precision
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Measurement, Result, Window
from gpuwise.stats.comparison import compare, run_to_run
from gpuwise.stats.interval import Spread, stalls, throughput

STEP_S = 0.02
"""A training step of a large network: 50 in a window of a second."""
ITEMS = 64
CONFIG = RunConfig(workload="resnet50", mode="train", precision=Precision.BF16, batch=ITEMS)
BLOCK = 3000

Noise = Callable[[np.random.Generator], Iterator[float]]
"""Endless times of steps, relative to STEP_S."""


class Clock:
    """Time moves only when a step is run."""

    def __init__(self, noise: Iterator[float]) -> None:
        self.time_s, self._noise, self._marks = 0.0, noise, [0.0]
        self._marks.clear()

    def step(self) -> None:
        self.time_s += STEP_S * next(self._noise)

    def now(self) -> float:
        return self.time_s

    def mark(self) -> None:
        self._marks.append(self.time_s)

    def read(self) -> tuple[float, ...]:
        marks, self._marks = self._marks, []
        return tuple(b - a for a, b in itertools.pairwise(marks))


def blocks(make: Callable[[np.random.Generator], np.ndarray]) -> Noise:
    """Steps that are independent of each other."""

    def noise(draw: np.random.Generator) -> Iterator[float]:
        while True:
            yield from make(draw).tolist()

    return noise


def remembers(correlation: float, spread: float) -> Noise:
    """Each step keeps that share of how far the one before was off (AR(1))."""

    def noise(draw: np.random.Generator) -> Iterator[float]:
        off = draw.normal()
        while True:
            for fresh in draw.normal(size=BLOCK).tolist():
                off = correlation * off + (1 - correlation**2) ** 0.5 * fresh
                yield 1 + spread * off

    return noise


def wanders(time_constant_s: float, spread: float = 0.01) -> Noise:
    """A clock that forgets where it was with that time constant, under steps of 0.3 % noise."""

    def noise(draw: np.random.Generator) -> Iterator[float]:
        slow = remembers(exp(-STEP_S / time_constant_s), spread)(draw)
        while True:
            for fresh in draw.normal(size=BLOCK).tolist():
                yield next(slow) + 0.003 * fresh

    return noise


def two_speeds(apart: float, each_s: float) -> Noise:
    """Fast for so long, slow for so long; a measurement begins anywhere."""

    def noise(draw: np.random.Generator) -> Iterator[float]:
        time_s = draw.uniform(0, 2 * each_s)
        while True:
            for fresh in draw.normal(size=BLOCK).tolist():
                slow = time_s % (2 * each_s) < each_s
                step = 1 + 0.003 * fresh + (apart / 2 if slow else -apart / 2)
                time_s += STEP_S * step
                yield step

    return noise


def stalled(stall_s: float, every_s: float) -> Noise:
    """A stall of so long that begins every so often."""

    def noise(draw: np.random.Generator) -> Iterator[float]:
        time_s = draw.uniform(0, every_s)
        while True:
            for fresh in draw.normal(size=BLOCK).tolist():
                step = 1 + 0.003 * fresh
                if (time_s % every_s) + STEP_S * step >= every_s:
                    step += stall_s / STEP_S
                time_s += STEP_S * step
                yield step

    return noise


def stalls_of_one_period(share: float, shortest_s: float, longest_s: float) -> Noise:
    """Stalls of that share of the time, whose period each measurement draws anew."""

    def noise(draw: np.random.Generator) -> Iterator[float]:
        every_s = draw.uniform(shortest_s, longest_s)
        yield from stalled(share * every_s, every_s)(draw)

    return noise


def stalls_at_random(mean_s: float, every_s: float) -> Noise:
    """Stalls of any length, so long on average, after any time, that long on average."""

    def noise(draw: np.random.Generator) -> Iterator[float]:
        left_s = draw.exponential(every_s)
        while True:
            for fresh in draw.normal(size=BLOCK).tolist():
                step = 1 + 0.003 * fresh
                left_s -= STEP_S * step
                if left_s <= 0:
                    step, left_s = step + draw.exponential(mean_s) / STEP_S, draw.exponential(every_s)
                yield step

    return noise


def telegraph(apart: float, mean_s: float) -> Noise:
    """Two speeds that change at random, after so long on average."""

    def noise(draw: np.random.Generator) -> Iterator[float]:
        slow, left_s = bool(draw.integers(2)), draw.exponential(mean_s)
        while True:
            for fresh in draw.normal(size=BLOCK).tolist():
                if left_s <= 0:
                    slow, left_s = not slow, draw.exponential(mean_s)
                step = 1 + 0.003 * fresh + (apart / 2 if slow else -apart / 2)
                left_s -= STEP_S * step
                yield step

    return noise


def pink(spread: float) -> Noise:
    """Noise of equal power in each octave, from 0.1 s to 12.8 s: eight wanderers together."""

    def noise(draw: np.random.Generator) -> Iterator[float]:
        parts = [remembers(exp(-STEP_S / (0.1 * 2**n)), spread / 8**0.5)(draw) for n in range(8)]
        while True:
            yield 1 + sum(next(part) - 1 for part in parts)

    return noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    noise: Noise
    long_run: float = 1.0
    """Mean time of a step over STEP_S."""
    runs: float = 0.0
    """Standard deviation from process to process."""


QUIET = blocks(lambda draw: 1 + 0.002 * draw.normal(size=BLOCK))
CASES = {
    "quiet": Case(noise=QUIET),
    "independent": Case(noise=blocks(lambda draw: 1 + 0.03 * draw.normal(size=BLOCK))),
    "bimodal": Case(
        noise=blocks(lambda draw: draw.choice([0.95, 1.05], BLOCK) + 0.005 * draw.normal(size=BLOCK))
    ),
    "AR(1) 0.7": Case(noise=remembers(0.7, 0.02)),
    "AR(1) 0.99": Case(noise=remembers(0.99, 0.02)),
    "wander 1 s": Case(noise=wanders(1.0)),
    "wander 3 s": Case(noise=wanders(3.0)),
    "wander 10 s": Case(noise=wanders(10.0)),
    "two speeds": Case(noise=two_speeds(0.03, 3.0)),
    # In 3 s, 2.7 s of work: the long-run step is longer by a ninth.
    "stall": Case(noise=stalled(0.3, 3.0), long_run=3.0 / 2.7),
    "runs 1 %": Case(noise=QUIET, runs=0.01),
    "runs 1.5 %": Case(noise=QUIET, runs=0.015),
}
APART = {
    **CASES,
    "telegraph": Case(noise=telegraph(0.02, 4.0)),
    "pink": Case(noise=pink(0.01)),
    # In `stall` the period is three windows, which no other is.
    "stalls of any period": Case(noise=stalls_of_one_period(0.1, 2.0, 5.0), long_run=1 / 0.9),
    # In 3 s of work and, on average, half a step until it is seen that they are over.
    "stalls at random": Case(noise=stalls_at_random(0.3, 3.0), long_run=1 + 0.3 / (3.0 + STEP_S / 2)),
}


def measured(case: Case, draw: np.random.Generator, plan: TimingPlan, processes: int = 1) -> Measurement:
    """A measurement of the case by so many processes, each with warm-up."""
    windows: list[Window] = []
    for run in range(processes):
        factor = exp(case.runs * draw.normal())
        clock = Clock(step * factor for step in case.noise(draw))
        events: list[object] = []
        measure(clock.step, ITEMS, clock, plan, events.append)
        timed = [event for event in events if isinstance(event, Window)]
        windows += [
            Window(step_s=event.step_s, started_s=event.started_s, ended_s=event.ended_s, run=run)
            for event in timed
        ]
    speed = throughput([w.step_s for w in windows], ITEMS, runs=[w.run for w in windows])
    return Measurement(
        config=replace(CONFIG, repeat=processes), workload_version=1, status="ok", item="image",
        started_at="", batch=ITEMS, items_per_step=ITEMS, throughput=speed, windows=tuple(windows),
    )  # fmt: skip


def session(number: int, *measurements: Measurement) -> Result:
    return Result(
        id=f"s{number}", created_at="", command="", environment=Environment(device="made up"),
        measurements=measurements,
    )  # fmt: skip


def judged(
    case: Case, pairs: list[tuple[Measurement, Measurement]], stored: list[Spread | None]
) -> list[str]:
    found = [compare(a, b, spread).verdict for (a, b), spread in zip(pairs, stored, strict=True)]
    return [f"{share:.3f}" for share in (
        fmean(verdict in ("faster", "slower") for verdict in found),
        fmean(verdict == "slower" for verdict in found),
    )]  # fmt: skip


def score(name: str, case: Case, count: int, seed: int) -> Iterator[dict[str, str]]:
    plan = timing_plan(CONFIG)
    draw = np.random.default_rng([seed, *name.encode()])
    if case.runs:
        single = [measured(case, draw, plan) for _ in range(count)]
        pairs = list(zip(single[::2], single[1::2], strict=True))
        # Five earlier sessions of other days are what is stored beside each pair.
        stored = [
            run_to_run([session(n, measured(case, draw, plan)) for n in range(5)], {"made up"}) for _ in pairs
        ]
        repeated = [measured(case, draw, plan, 3) for _ in range(count)]
        sides = list(zip(repeated[::2], repeated[1::2], strict=True))
        truth = ITEMS / STEP_S / case.long_run
        holds = fmean(m.throughput.low <= truth <= m.throughput.high for m in repeated if m.throughput)
        nothing: list[Spread | None] = [None] * len(pairs)
        for how, verdicts in (
            ("3 repeats each", judged(case, sides, nothing)),
            ("5 stored sessions", judged(case, pairs, stored)),
            ("nothing known", judged(case, pairs, nothing)),
        ):
            own = f"{holds:.3f}" if how == "3 repeats each" else ""
            yield {"case": f"{name}, {how}", "holds": own, "false": verdicts[0], "gate": verdicts[1]}
        return
    every = [measured(case, draw, plan) for _ in range(count)]
    truth = ITEMS / STEP_S / case.long_run
    speeds = [m.throughput for m in every if m.throughput is not None]
    pairs = list(zip(every[::2], every[1::2], strict=True))
    verdicts = judged(case, pairs, [None] * len(pairs))
    # With stored repeats of a kind of card whose runs agree, noise within a run is all that is left.
    alone = judged(case, pairs, [Spread(0.0, 4)] * len(pairs))
    lost = [found.share if (found := stalls([w.step_s for w in m.windows])) else 0.0 for m in every]
    yield {
        "case": name,
        "holds": f"{fmean(speed.low <= truth <= speed.high for speed in speeds):.3f}",
        "false": verdicts[0], "gate": verdicts[1],
        "false, runs agree": alone[0], "gate, runs agree": alone[1],
        "time_s": f"{fmean(m.windows[-1].ended_s for m in every):.1f}",
        "half_width": f"{median(speed.half_width for speed in speeds):.2%}",
        "off": f"{fmean(speed.value / truth - 1 for speed in speeds):+.2%}",
        "stalls": f"{fmean(lost):.1%}",
    }  # fmt: skip


def main() -> None:
    """Print the table as CSV."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument(
        "--apart", action="store_true", help="also the noise that was kept apart, other seeds"
    )
    options.add_argument("--cases", default="", help="names, separated by commas")
    options.add_argument("--measurements", type=int, default=400, help="of each case, an even number")
    options.add_argument("--seed", type=int, help="of the noise; --apart has one of its own")
    given = options.parse_args()
    cases = APART if given.apart else CASES
    names = [
        "case",
        "holds",
        "false",
        "gate",
        "false, runs agree",
        "gate, runs agree",
        "time_s",
        "half_width",
    ]
    table = csv.DictWriter(sys.stdout, [*names, "off", "stalls"], restval="")
    table.writeheader()
    for name in [name.strip() for name in given.cases.split(",") if name] or cases:
        # Seeds apart share nothing with those that were looked at while the method was made.
        seed = given.seed or (77_001 if given.apart else 1)
        for row in score(name, cases[name], given.measurements, seed):
            table.writerow(row)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
