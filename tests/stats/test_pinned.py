"""What the statistics say of made-up series, of pairs of measurements and of several GPUs, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from math import exp
from random import Random

import pytest

from gpuwise.model.result import Interval, Issue, Window
from gpuwise.stats import comparison, interval, scaling

from ..pinned import pinned
from .test_compare import measured, processes, published, result
from .test_scaling import measured as on_gpus

Steps = tuple[tuple[float, ...], ...]


def series() -> Iterator[tuple[str, Steps]]:
    """Windows of step times: quiet, noisy, wandering, of two speeds, drifting, stalling, few and unequal."""
    for windows, steps in ((1, 5), (2, 8), (3, 30), (5, 7), (12, 25), (40, 20)):
        draw = Random(windows)
        clock, made = 0.0, dict[str, list[list[float]]]()
        for n in range(windows):
            clock = 0.9 * clock + draw.gauss(0, 0.01)
            noise = [draw.gauss(0, 0.002) for _ in range(steps)]
            made.setdefault("equal", []).append([0.01] * steps)
            made.setdefault("noise", []).append([0.01 * (1 + each) for each in noise])
            made.setdefault("wander", []).append([0.01 * exp(clock + each) for each in noise])
            made.setdefault("two speeds", []).append(
                [0.01 * (1.03 if n % 4 > 1 else 1.0) + each * 1e-3 for each in noise]
            )
            made.setdefault("drift", []).append([0.01 * (1 + 0.004 * n + each) for each in noise])
            made.setdefault("slow", []).append([0.8 * (1 + 3 * each) for each in noise])
            whole = range(n * steps, n * steps + steps)
            for name, every, late in (("stalls", 19, 0), ("more stalls", 11, 5), ("rare stalls", 53, 9)):
                long = [0.05 if (at + draw.randint(0, late)) % every == 3 else 0.01 for at in whole]
                made.setdefault(name, []).append(
                    [one + each * 1e-3 for one, each in zip(long, noise, strict=True)]
                )
            made.setdefault("unequal", []).append([0.01 * (1 + each) for each in noise[: 1 + n % steps]])
        yield from ((f"{windows} x {steps} {name}", tuple(map(tuple, each))) for name, each in made.items())


def row(*values: object) -> str:
    return " | ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values)


def of(found: Interval) -> str:
    return f"{found.value:.6g} {found.low:.6g} {found.high:.6g} {found.level} {found.method}"


def intervals() -> Iterator[str]:
    """Of each series its throughput by each method, how sure it is, stalls, drift, and whether it settled."""
    for name, windows in series():
        flat = [step for window in windows for step in window]
        stalls, spread = interval.stalls(windows), interval.spread(windows)
        yield row(name, of(interval.throughput(windows, 64)))
        methods = ("bootstrap", "mean-of-runs", interval.WHOLE)
        yield row("", *(interval.value_of(windows, 64, method) for method in methods))
        runs = [n % 3 for n in range(len(windows))]
        if len(windows) > 2:
            yield row("runs", of(interval.throughput(windows, 64, runs=runs, level=0.9)))
        if spread is not None:
            yield row("", spread.error, spread.degrees, spread.reach(0.8), spread.beside(spread).degrees)
        yield row(
            "",
            interval.drift(windows),
            interval.reach_if_slow(windows),
            interval.alikeness([*map(sum, windows)]),
        )
        if stalls is not None:
            yield row("stalls", stalls.steps, stalls.longest_s, stalls.share)
        told = [
            interval.enough(windows, target, bursts=bursts)
            for target in (0.002, 0.01, 0.05)
            for bursts in (False, True)
        ]
        settled = [n for n in range(len(flat)) if interval.settled(flat[:n])]
        yield row("", "".join(str(int(one)) for one in told), len(settled), settled[:1])


def quantiles() -> Iterator[str]:
    for degrees in (1, 2, 3, 7, 30, 1000):
        yield row(degrees, *(interval.t_quantile(p, degrees) for p in (0.5, 0.9, 0.975, 0.995)))


# Codes of cautions that a side may have.
CAUTIONS = ((), ("contended",), ("unsteady", "hot"))
STORED = (None, interval.Spread(0.002, 4), interval.Spread(0.03, 9))


def comparisons() -> Iterator[str]:
    """A baseline against what is so many times as fast, as noisy, as disturbed."""
    factors, spreads = (0.8, 0.93, 0.97, 0.985, 0.999, 1.012, 1.025, 1.06, 1.3), (0.0, 0.002, 0.05)
    conditions = [*map(comparison.parse_condition, ("slower>5%", "slower", "faster>3%", "faster", "unclear"))]
    for factor, spread, codes, stored in product(factors, spreads, CAUTIONS, STORED):
        cautions = tuple(Issue.warning(code, "") for code in codes)
        b = measured(0.03 / factor, spread, seed=1, cautions=cautions)
        found = comparison.compare(measured(0.03, spread), b, stored)
        assert found.ratio is not None
        met = "".join(str(len(comparison.violations([found], one))) for one in conditions)
        given = (factor, spread, len(codes), stored and stored.error)
        told = (found.verdict, found.basis, of(found.ratio), met, comparison.reproduced(found))
        yield row(*given, *told, bool(found.note))
    for name, a, b in pairs():
        found = comparison.compare(a, b)
        told = (found.verdict, found.basis, found.ratio and of(found.ratio), comparison.reproduced(found))
        yield row(name, *told, bool(found.note))
    sides = [result(*(m for n, (_, *each) in enumerate(pairs()) for m in each if n % 3 != k)) for k in (0, 1)]
    met = comparison.pair(*sides)
    yield row(len(met), *(len(each) for each in comparison.unpaired(*sides, met)))


def pairs():  # type: ignore[no-untyped-def]
    """Repeated ones, published ones, stalls that only one saw, and steps without time."""
    one, other = processes(0.03, 0.0301, 0.0299), processes(0.0311, 0.031)
    yield "repeats", one, other
    yield "a repeat and a single", one, measured(0.0306)
    yield "published", published(8000.0), measured(0.03)
    yield "two published", published(8000.0), published(8400.0)
    for long in (0, 1, 3, 8):
        steps = tuple(tuple(0.5 if n == 3 and at < long else 0.03 for n in range(30)) for at in range(8))
        windows = tuple(Window(step_s=each, started_s=0, ended_s=sum(each)) for each in steps)
        stalling = measured(windows=windows, throughput=interval.throughput(steps, 256))
        for count in (1, 2, 6):
            for each in (1, 3):
                yield f"{long} stalls, {count} windows, {each}", stalling, windows_of(count, each)
    frozen = replace(one.windows[0], step_s=(0.0, 0.03))
    yield "no time", measured(0.03), replace(measured(0.03), windows=(frozen, frozen))
    yield "slower than one a second", published(0.5), published(0.6)
    yield "none", published(0.5), replace(published(0.5), throughput=None)
    for each in (processes(0.03, 0.031), processes(0.03, 0.031, 0.0305), measured(0.03)):
        disturbed = replace(each, cautions=(Issue.warning("contended", ""),))
        yield f"{len({w.run for w in each.windows})} disturbed", disturbed, measured(0.0315)
    yield "batches", measured(batch=64), measured(batch=256)


def windows_of(count: int, each: int):  # type: ignore[no-untyped-def]
    steps = tuple((0.03, 0.0301) * 15 for _ in range(count))
    windows = tuple(Window(step_s=one, started_s=0, ended_s=each * sum(one), each=each) for one in steps)
    return measured(windows=windows, throughput=interval.throughput(steps, 256))


def spreads() -> Iterator[str]:
    """How runs differ, from groups of logarithms of speeds."""
    draw = Random(3)
    for groups, runs in product((1, 2, 4, 5, 9), (1, 2, 4)):
        answers = [[draw.gauss(9, 0.01 * (1 + n)) for _ in range(runs)] for n in range(groups)]
        found = comparison.pooled(answers)
        yield row(groups, runs, found and found.error, found and found.degrees)
    many = result(processes(0.03, 0.031, 0.0305), processes(0.01, 0.0102), measured(0.03, 0.01))
    for devices in (("NVIDIA H200",), ("other",)):
        found = comparison.run_to_run([many, many], devices)
        yield row(devices[0], found and found.error, found and found.degrees)


def scales() -> Iterator[str]:
    """One GPU against several that are so fast, with the steps of their ranks alone."""
    for gpus, share, uneven in product((2, 4, 8), (0.5, 0.79, 0.81, 1.0, 1.05), (0.0, 0.1)):
        alone = tuple(0.1 * (1 + uneven * rank / gpus) for rank in range(gpus))
        ones = [on_gpus(0.095), on_gpus(0.1 / share, gpus=gpus, alone_s=alone)]
        (found,) = scaling.series(ones)
        point = found.points[0]
        assert point.losses is not None
        lost = (point.losses.sharing, point.losses.waiting, point.losses.exchange, point.losses.largest)
        assert point.measurement.group is not None
        cards = scaling.cards_of(point.measurement.group)
        assert cards is not None
        yield row(gpus, share, found.worth, point.speedup, of(point.factor), *lost)
        yield row("", cards.one_s, cards.middle_s, cards.slowest_s, cards.slowest, cards.differ)


def tables() -> dict[str, Callable[[], list[str]]]:
    return {
        "intervals": lambda: [*intervals(), *quantiles()],
        "comparisons": lambda: [*comparisons()],
        "spreads": lambda: [*spreads()],
        "scales": lambda: [*scales()],
    }


@pytest.mark.parametrize("name", tables())
def test_what_the_statistics_say_is_what_they_said(name: str) -> None:
    assert tables()[name]() == pinned(__file__, name)
