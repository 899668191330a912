"""The engine against a fake clock: what it runs, what it reports, when it stops."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from gpuwise.errors import RunError
from gpuwise.measure.engine import (
    MARK_S,
    MIN_WINDOWS,
    MOST_TIMES,
    TimingPlan,
    measure,
    measure_runs,
    run_steps,
    timing_plan,
    together,
    warm_up,
)
from gpuwise.measure.events import Event, Warmup
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Window

from .conftest import FakeClock


def config(**changes: object) -> RunConfig:
    return RunConfig(**{"workload": "resnet50", "mode": "train", "precision": "bf16", **changes})  # type: ignore[arg-type]


def heard(
    clock: FakeClock, durations: itertools.repeat[float], how: TimingPlan, items: int = 8
) -> list[Event]:
    found: list[Event] = []
    measure(clock.stepper(iter(durations)), items, clock, how, found.append)
    return found


def test_steps_are_timed_one_by_one_with_one_synchronisation(clock: FakeClock) -> None:
    times = run_steps(clock.stepper(iter([0.1, 0.2, 0.3])), clock, 3)
    assert times == pytest.approx((0.1, 0.2, 0.3))
    assert clock.reads == 1


def test_a_step_that_leaves_the_device_nothing_to_do_is_refused(clock: FakeClock) -> None:
    with pytest.raises(RunError, match="took no time"):
        heard(clock, itertools.repeat(0.0), TimingPlan(window_s=1.0, windows=5, time_s=60, target_ci=0.01))


def test_a_steady_step_ends_after_the_fewest_windows_asked_for(clock: FakeClock) -> None:
    how = TimingPlan(window_s=1.0, windows=5, time_s=60, target_ci=0.01)
    events = heard(clock, itertools.repeat(0.05), how)
    windows = [e for e in events if isinstance(e, Window)]
    assert isinstance(events[0], Warmup)
    assert len(windows) == 5
    assert {len(w.step_s) for w in windows} == {20}
    assert all(w.ended_s - w.started_s == pytest.approx(1.0) for w in windows)


def test_a_quiet_card_takes_ten_seconds_and_little_more(clock: FakeClock) -> None:
    draw = random.Random(2)
    quiet = (0.02 * (1 + draw.gauss(0, 0.002)) for _ in itertools.count())
    events = heard(clock, quiet, timing_plan(config()))
    assert clock.time_s - 100 == pytest.approx(11, abs=0.5)
    assert len([e for e in events if isinstance(e, Window)]) == 10


def test_looks_come_ever_rarer(clock: FakeClock) -> None:
    """Windows that agree only after the first look are looked at again after half as many more."""
    times = itertools.chain(itertools.repeat(0.05, 100), itertools.repeat(0.06, 20), itertools.repeat(0.05))
    how = TimingPlan(window_s=1.0, windows=5, time_s=600, target_ci=0.01)
    windows = [e for e in heard(clock, times, how) if isinstance(e, Window)]
    assert len(windows) in (5, 8, 12, 18, 27, 41, 62, 93, 140, 210, 315, 473)
    assert len(windows) > 5


def test_steps_of_150_ns_are_timed_together(clock: FakeClock) -> None:
    """Else their times would fill the memory: seven million in a window of a second."""
    how = replace(timing_plan(config(quick=True, time_s=0.1)), window_s=0.04, warmup_min_s=0.1)
    events = heard(clock, itertools.repeat(150e-9), how)
    warm, *windows = events
    assert isinstance(warm, Warmup)
    assert len(warm.step_s) < 1_000
    for window in windows:
        assert isinstance(window, Window)
        assert window.each == 1334
        assert len(window.step_s) * window.each * 150e-9 == pytest.approx(0.04, rel=0.01)
        assert window.step_s == pytest.approx([150e-9] * len(window.step_s))


@pytest.mark.parametrize(("step_s", "count"), [(150e-9, 1334), (199e-6, 2), (200e-6, 1), (1.0, 1)])
def test_no_more_than_5000_times_a_second_are_kept(step_s: float, count: int) -> None:
    assert together(step_s) == count


def test_steps_of_an_hour_end_after_the_fewest_windows(clock: FakeClock) -> None:
    events = heard(clock, itertools.repeat(3600.0), timing_plan(config(time_s=60)))
    assert [len(e.step_s) for e in events] == [1] * (1 + MIN_WINDOWS)  # type: ignore[union-attr]


def test_a_long_measurement_has_longer_windows() -> None:
    assert timing_plan(config(time_s=60)).window_s == 1
    assert timing_plan(config(time_s=3600)).window_s == 36


@pytest.mark.parametrize(
    ("protocol", "time_s"), [("adaptive", 3600.0), ("adaptive", 86400.0), ("soak", 14400.0)]
)
def test_a_long_measurement_keeps_as_many_times_as_a_minute_of_the_shortest_steps(
    clock: FakeClock, protocol: str, time_s: float
) -> None:
    how = timing_plan(config(protocol=protocol, time_s=time_s))
    assert time_s / how.mark_s == pytest.approx(MOST_TIMES)
    assert timing_plan(config(time_s=60)).mark_s == MARK_S == 60 / MOST_TIMES
    warm = warm_up(clock.stepper(itertools.repeat(how.mark_s / 3)), clock, replace(how, warmup_steps=None))
    assert len(warm) <= 1 + max(50, 1.5 * how.warmup_min_s / how.mark_s)


def test_a_noisy_step_runs_until_the_budget_is_spent(clock: FakeClock) -> None:
    draw = random.Random(1)
    noisy = (draw.uniform(0.05, 0.2) for _ in itertools.count())
    how = TimingPlan(window_s=0.5, windows=5, time_s=20, target_ci=0.001)
    windows = [e for e in heard(clock, noisy, how) if isinstance(e, Window)]
    assert 20 <= windows[-1].ended_s - windows[0].started_s < 22


def test_slow_steps_get_the_fewest_windows_even_beyond_the_budget(clock: FakeClock) -> None:
    how = TimingPlan(window_s=0.4, windows=5, time_s=8, target_ci=0.01)
    events = heard(clock, itertools.repeat(10.0), how)
    assert [len(e.step_s) for e in events if isinstance(e, Window)] == [1] * MIN_WINDOWS


def test_warm_up_goes_on_while_steps_get_faster(clock: FakeClock) -> None:
    falling = itertools.chain((0.5 / (1 + i / 4) for i in range(40)), itertools.repeat(0.045))
    how = TimingPlan(window_s=1, windows=5, time_s=60, target_ci=0.01)
    warm = warm_up(clock.stepper(iter(falling)), clock, how)
    assert len(warm) > 40
    assert warm[-1] == pytest.approx(0.045)


def test_warm_up_that_never_settles_ends_with_the_budget(clock: FakeClock) -> None:
    growing = (0.1 * 1.02**i for i in itertools.count())
    how = TimingPlan(window_s=1, windows=5, time_s=30, target_ci=0.01)
    assert 30 <= sum(warm_up(clock.stepper(growing), clock, how)) < 45


def test_a_fast_step_is_under_load_for_a_second_before_it_is_timed(clock: FakeClock) -> None:
    how = TimingPlan(window_s=1, windows=5, time_s=60, target_ci=0.01)
    assert sum(warm_up(clock.stepper(itertools.repeat(0.001)), clock, how)) >= 1.0


def test_aime_is_ten_steps_then_fifty(clock: FakeClock) -> None:
    events = heard(clock, itertools.repeat(0.05), timing_plan(config(protocol="aime")))
    assert [len(e.step_s) for e in events] == [10, 50]  # type: ignore[union-attr]


def test_aime_shortens_runs_of_slow_steps(clock: FakeClock) -> None:
    how = timing_plan(config(protocol="aime"))
    assert how.runs == 3
    paces = ((0.05, [10, 50]), (0.0625, [9, 48]), (0.3, [3, 10]), (0.75, [3, 5]), (9.0, [3, 5]))
    for step_s, counts in paces:
        events = heard(clock, itertools.repeat(step_s), how)
        assert [len(e.step_s) for e in events] == counts  # type: ignore[union-attr]


def test_aime_warms_up_for_long_once(clock: FakeClock) -> None:
    told: list[Event | str] = []
    steps = clock.stepper(itertools.repeat(0.05))
    measure_runs(
        steps, 8, clock, timing_plan(config(protocol="aime")), told.append, lambda: told.append("rest")
    )
    counts = [e if isinstance(e, str) else len(e.step_s) for e in told]  # type: ignore[union-attr]
    assert counts == ["rest", 10, 50, "rest", 3, 50, "rest", 3, 50]


def test_any_other_pace_is_one_run_that_waits_once(clock: FakeClock) -> None:
    told: list[Event | str] = []
    steps = clock.stepper(itertools.repeat(0.05))
    measure_runs(steps, 8, clock, timing_plan(config()), told.append, lambda: told.append("rest"))
    assert [type(event) for event in told[:3]] == [str, Warmup, Window]
    assert told.count("rest") == 1


def test_limits_are_bursts(clock: FakeClock) -> None:
    how = timing_plan(config(workload="matmul", mode="limit", time_s=2, device="cpu"))
    events = heard(clock, itertools.repeat(0.0014), how, items=1)
    assert sum(sum(e.step_s) for e in events) < 0.1  # type: ignore[union-attr]


def test_a_gpu_rests_before_each_burst(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its power limit lowers the clock from the sixth burst on."""
    rests: list[float] = []
    monkeypatch.setattr("gpuwise.measure.engine.time.sleep", rests.append)
    how = timing_plan(config(workload="matmul", mode="limit", time_s=2))
    events = heard(clock, itertools.repeat(0.0014), how, items=1)
    assert rests == [how.rest_between_windows_s] * (len(events) - 1)
    assert how.rest_between_windows_s >= 5 * how.window_s
    for unhurried in (config(mode="limit", device="cpu"), config(mode="limit", size="toy"), config()):
        assert timing_plan(unhurried).rest_between_windows_s == 0


def test_the_first_step_after_a_rest_is_not_timed(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds what starting takes, which in a burst of five would count for much."""
    rested = False

    def rest(_: float) -> None:
        nonlocal rested
        rested = True

    def step() -> None:
        nonlocal rested
        clock.time_s += 0.0016 if rested else 0.0014
        rested = False

    monkeypatch.setattr("gpuwise.measure.engine.time.sleep", rest)
    told: list[Event] = []
    measure(step, 1, clock, timing_plan(config(workload="matmul", mode="limit", time_s=2)), told.append)
    timed = [seconds for event in told if isinstance(event, Window) for seconds in event.step_s]
    assert timed
    assert timed == pytest.approx([0.0014] * len(timed))


def test_quick_windows_are_shorter_and_a_toy_s_shortest() -> None:
    assert (
        timing_plan(config(size="toy")).window_s
        < timing_plan(config(quick=True)).window_s
        < timing_plan(config()).window_s
    )
    assert timing_plan(config(time_s=7, target_ci=0.02)).target_ci == 0.02
