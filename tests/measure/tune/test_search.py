"""The search on formulas for speed: it finds what can be found, and never measures a setting twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpuwise.measure.tune import BATCH, Search, faster
from gpuwise.model.question import Switches, choices
from gpuwise.model.result import Interval, Measurement, Setting, Trial

from .conftest import measurement

AXES = {"layout": ("channels-last", "channels-first"), "compiler": ("default", "descent", "autotune")}
START = Setting(switches=Switches(), batch=8)


def search(
    speed: Callable[[Setting], float | None],
    *,
    batches: bool = False,
    trials: int = 1000,
    noise: float = 0.001,
) -> tuple[Search, list[Trial]]:
    """The search over those axes, with time for so many trials."""
    seen: list[Setting] = []

    def measure(setting: Setting) -> Measurement:
        seen.append(setting)
        return measurement(speed(setting), switches=setting.switches, batch=setting.batch, noise=noise)

    found = Search(
        measure=measure,
        refuse=lambda m: m.status if m.throughput is None else None,
        in_time=lambda: len(seen) < trials,
        axes={BATCH: ()} | AXES if batches else AXES,
    )
    trials_made = list(found.run(START))
    assert len(seen) == len(set(seen))  # none twice
    assert [t.setting for t in trials_made] == seen
    return found, trials_made


def best(found: Search) -> Setting:
    assert found.best is not None
    return found.best.setting


def test_independent_gains_are_all_found() -> None:
    def speed(s: Setting) -> float:
        return (
            100
            * (1.1 if s.switches.layout == "channels-first" else 1)
            * (1.2 if s.switches.compiler == "autotune" else 1)
        )

    found, trials = search(speed)
    assert best(found).switches == Switches(layout="channels-first", compiler="autotune")
    assert trials[0].setting == START
    assert [t.adopted for t in trials].count(True) == 3


def test_a_second_pass_finds_what_pays_only_after_another() -> None:
    def speed(s: Setting) -> float:
        first = s.switches.layout == "channels-first"
        return (
            100
            + 10 * (s.switches.compiler == "autotune")
            + (20 * (s.switches.compiler == "autotune") - 10) * first
        )

    found, _ = search(speed)
    assert best(found).switches == Switches(layout="channels-first", compiler="autotune")


def test_the_batch_is_doubled_and_halved_while_that_helps() -> None:
    peak = {2: 90.0, 4: 95.0, 8: 100.0, 16: 110.0, 32: 120.0, 64: 119.0}
    found, trials = search(lambda s: peak.get(s.batch, 1.0), batches=True)
    assert best(found).batch == 32
    assert [t.setting.batch for t in trials][:4] == [8, 16, 32, 64]
    found, trials = search(lambda s: 100.0 / s.batch, batches=True)
    assert best(found).batch == 1
    assert min(t.setting.batch for t in trials) == 1
    found, _ = search(lambda s: 100.0 * s.batch if s.batch <= 16 else None, batches=True)
    assert best(found).batch == 16  # the next does not fit


def test_a_batch_that_was_given_stays() -> None:
    _, trials = search(lambda s: 100.0 * s.batch)
    assert {t.setting.batch for t in trials} == {8}


def test_noise_is_no_gain() -> None:
    found, trials = search(lambda s: 101.0 if s.switches.compiler == "autotune" else 100.0, noise=0.02)
    assert best(found) == START
    assert sum(t.adopted for t in trials) == 1


def test_a_failure_is_a_row_and_the_search_goes_on() -> None:
    def speed(s: Setting) -> float | None:
        if s.switches.layout == "channels-first":
            return None
        return 150.0 if s.switches.compiler == "descent" else 100.0

    found, trials = search(speed)
    assert best(found).switches == Switches(compiler="descent")
    assert {t.refusal for t in trials if t.setting.switches.layout == "channels-first"} == {"failed"}


def test_a_start_that_fails_ends_it() -> None:
    found, trials = search(lambda s: None)
    assert found.best is None
    assert len(trials) == 1


def test_it_stops_in_time_and_tells_what_is_left() -> None:
    found, trials = search(lambda s: 100.0, trials=2)
    assert len(trials) == 2
    assert found.skipped
    assert not found.skipped & found.tried
    found, trials = search(lambda s: 100.0, trials=0)
    assert len(trials) == 1  # the start is always measured


def test_faster_needs_the_whole_interval_and_a_margin() -> None:
    def interval(value: float, half: float) -> Interval:
        return Interval(value=value, low=value - half, high=value + half, method="bootstrap")

    assert faster(interval(100, 0), None)
    assert faster(interval(102, 0.1), interval(100, 0.1))
    assert not faster(interval(102, 2), interval(100, 2))
    assert not faster(interval(100.2, 0.001), interval(100, 0.001))  # two equal runs differ by more
    assert not faster(interval(98, 0.1), interval(100, 0.1))


def test_what_is_asked_for_is_all_that_is_tried() -> None:
    switches = (Switches(layout="channels-first", compiler="descent"), Switches(compiler="autotune"))
    asked = [Setting(switches=each, batch=START.batch) for each in switches]
    settings: list[Setting] = []

    def measure(setting: Setting) -> Measurement:
        settings.append(setting)
        return measurement(100.0 + len(settings), switches=setting.switches, batch=setting.batch)

    found = Search(measure=measure, refuse=lambda _: None, in_time=lambda: True, axes={}, also=asked)
    assert len(list(found.run(START))) == 3
    assert settings == [START, *asked]
    assert best(found) == asked[1]


def test_the_axes_go_on_from_what_was_asked_for_where_that_is_faster() -> None:
    """And what the start already was is not measured again."""
    fast = Setting(switches=Switches(layout="channels-first"), batch=32)
    found = Search(
        measure=lambda s: measurement(
            100.0 + s.batch + 50 * (s.switches.compiler == "descent"), switches=s.switches, batch=s.batch
        ),
        refuse=lambda _: None,
        in_time=lambda: True,
        axes={"compiler": AXES["compiler"]},
        also=(START, fast),
    )
    assert [t.setting for t in found.run(START)][:2] == [START, fast]
    assert best(found) == Setting(switches=replace(fast.switches, compiler="descent"), batch=32)


def test_a_switch_that_excludes_the_fastest_is_changed_with_it() -> None:
    """Channels-first is faster than the default, the kernel on channels-last faster still."""

    def speed(switches: Switches) -> float:
        if switches.pooling == "triton":
            return 90.0 if switches.layout == "channels-first" else 120.0
        return 110.0 if switches.layout == "channels-first" else 100.0

    found = Search(
        measure=lambda setting: measurement(speed(setting.switches), switches=setting.switches),
        refuse=lambda m: None,
        in_time=lambda: True,
        axes={name: choices()[name] for name in ("layout", "pooling")},
    )
    trials = list(found.run(START))
    assert best(found).switches == Switches(pooling="triton")
    assert len(trials) == 3  # both together never
