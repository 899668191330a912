"""Energy by interpolation, what is trusted, and the cautions that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.measure.telemetry.sensor import (
    MOST_READINGS,
    Sample,
    cautions,
    energies,
    summarise,
    throttle_shares,
)
from gpuwise.model.question import Environment
from gpuwise.model.result import Telemetry, Window


def window(start: float, end: float) -> Window:
    return Window(step_s=(end - start,), started_s=start, ended_s=end)


def steady(seconds: float = 10.0, period: float = 0.1, **more: object) -> list[Sample]:
    """700 W, counter and power in agreement, at 1980 MHz and 60 C; `more` replaces any of it."""
    values = {"power_w": 700.0, "sm_clock_hz": 1.98e9, "temperature_c": 60.0} | more
    count = round(seconds / period) + 1
    return [
        Sample(at_s=i * period, **({"energy_j": 5e6 + 700.0 * i * period} | values))  # type: ignore[arg-type]
        for i in range(count)
    ]


def told(samples: list[Sample], *windows: Window) -> Telemetry:
    telemetry = summarise(samples, windows)
    assert telemetry is not None
    return telemetry


def test_steady_run() -> None:
    telemetry = told(steady(), window(1, 5), window(5, 9))
    assert telemetry.energy_j == pytest.approx(5600)
    assert telemetry.power_w == pytest.approx(700)
    assert (telemetry.sm_clock_hz, telemetry.sm_clock_min_hz) == (1.98e9, 1.98e9)
    assert (telemetry.temperature_start_c, telemetry.temperature_max_c) == (60.0, 60.0)
    assert telemetry.throttled == ()
    assert cautions(telemetry, steady(), [window(1, 5), window(5, 9)]) == ()


def test_the_timeline_is_thinned_evenly_and_tells_held_clocks() -> None:
    samples = steady(seconds=30.0)
    samples[50] = replace(samples[50], throttle=("power-cap",))  # at 5 s, outside of the windows
    samples[150] = replace(samples[150], throttle=("power-cap",))
    line = told(samples, window(10, 14), window(16, 25)).timeline
    assert 45 <= len(line) <= MOST_READINGS
    assert line[0].at_s == pytest.approx(10)
    assert line[-1].at_s == pytest.approx(25, abs=0.3)
    gaps = {round(b.at_s - a.at_s, 3) for a, b in pairwise(line)}
    assert len(gaps) == 1
    assert [r.at_s for r in told(samples, window(14.9, 16)).timeline if r.held] == [15.0]
    assert line[3].power_w == 700.0


def test_the_link_is_the_fastest_seen_while_steps_ran() -> None:
    idle, busy = Sample(at_s=0.0, pcie_generation=5), Sample(at_s=2.0, pcie_generation=4, pcie_width=8)
    told_so = told([idle, replace(busy, at_s=1.5, pcie_generation=1), busy], window(1, 3))
    assert (told_so.pcie_generation, told_so.pcie_width) == (4, 8)


@st.composite
def _spans(draw: st.DrawFn) -> tuple[list[float], list[Window]]:
    """Irregular sample times over 0..20 s, and windows that do not overlap, in between."""
    inner = draw(st.lists(st.floats(0.01, 19.99), max_size=60, unique=True))
    edges = sorted(draw(st.lists(st.floats(0.5, 19.5), min_size=2, max_size=8, unique=True)))
    pairs = zip(edges[::2], edges[1::2], strict=False)
    return [0.0, *sorted(inner), 20.0], [window(a, b) for a, b in pairs]


@given(_spans(), st.floats(1, 2000), st.floats(0, 1e9))
def test_constant_power_is_exact(
    spans: tuple[list[float], list[Window]], watts: float, counter_start: float
) -> None:
    times, windows = spans
    samples = [Sample(at_s=t, power_w=watts, energy_j=counter_start + watts * t) for t in times]
    counted, integrated = energies(samples, windows)
    expected = watts * sum(w.ended_s - w.started_s for w in windows)
    # The counter's own floating-point step limits it, not the method.
    assert counted == pytest.approx(expected, rel=1e-9, abs=1e-6 * len(windows))
    assert integrated == pytest.approx(expected, rel=1e-9)


@given(st.floats(0, 1), st.floats(1, 9), st.floats(0, 500), st.floats(-20, 20))
def test_linear_power_integrates_exactly(start: float, end: float, base: float, slope: float) -> None:
    """A trapezoid is exact for a straight line, also at edges between two samples."""
    base += 200  # positive watts throughout
    samples = [Sample(at_s=t / 3, power_w=base + slope * t / 3) for t in range(31)]
    _, integrated = energies(samples, [window(start, end)])
    assert integrated == pytest.approx(base * (end - start) + slope * (end**2 - start**2) / 2)


def test_only_the_windows_count() -> None:
    """Idle before and after, and in between, is neither energy, clock nor heat."""
    samples = []
    energy = 0.0
    for i in range(201):
        at_s = i * 0.1
        busy = 5 <= at_s < 10
        samples.append(
            Sample(
                at_s=at_s,
                power_w=600.0 if busy else 80.0,
                energy_j=energy,
                sm_clock_hz=1.8e9 if busy else 345e6,
                temperature_c=65.0 if busy else 90.0,
                throttle=() if busy else ("thermal",),
            )
        )
        energy += (600.0 if busy else 80.0) * 0.1
    telemetry = told(samples, window(6, 7), window(8, 9.95 - 0.1))
    assert telemetry.power_w == pytest.approx(600)
    assert telemetry.sm_clock_min_hz == 1.8e9
    assert telemetry.temperature_max_c == 65.0
    assert telemetry.throttled == ()
    assert telemetry.temperature_start_c == 65.0


def test_temperature_at_the_start_is_the_last_before_the_first_window() -> None:
    heats = (40.0, 45.0, 60.0, 70.0)
    samples = [Sample(at_s=float(i), temperature_c=heat) for i, heat in enumerate(heats)]
    assert told(samples, window(1.5, 3)).temperature_start_c == 45.0
    assert told(samples, window(0, 3)).temperature_start_c == 40.0
    assert told(samples, window(2.5, 3), window(1.5, 2.2)).temperature_start_c == 45.0


def test_no_sample_in_a_window() -> None:
    assert summarise(steady(), [window(0.01, 0.02)]) is None
    assert summarise([], [window(0, 1)]) is None
    assert summarise(steady(), []) is None


def test_counter_against_power() -> None:
    """The zeus issue: 187 J counted, 327 J sampled. Neither is believed; watts are the sampled ones."""
    samples = steady(power_w=1224.0)
    windows = [window(1, 9)]
    telemetry = told(samples, *windows)
    assert telemetry.energy_j is None
    assert telemetry.power_w == pytest.approx(1224)
    (caution,) = cautions(telemetry, samples, windows)
    assert caution.code == "energy-mismatch"
    assert "5,600 J" in caution.detail
    assert "9,792 J" in caution.detail


@pytest.mark.parametrize(("watts", "agrees"), [(700 * 1.04, True), (700 * 1.06, False)])
def test_five_percent(watts: float, agrees: bool) -> None:
    assert (told(steady(power_w=watts), window(1, 9)).energy_j is not None) == agrees


def test_too_short_to_tell() -> None:
    """Counters tick and power is a mean of the last second: below 2 s neither says anything."""
    samples, windows = steady(power_w=1224.0), [window(1, 2.5)]
    telemetry = told(samples, *windows)
    assert (telemetry.energy_j, telemetry.power_w) == (None, None)
    assert telemetry.samples > 0
    assert cautions(telemetry, samples, windows) == ()
    few = steady(period=1.0, power_w=1224.0)
    assert cautions(told(few, window(1, 9)), few, [window(1, 9)]) == ()


@pytest.mark.parametrize("counter", [lambda t: 1e6, lambda t: 1e6 - 700 * t])
def test_counter_that_stands_still_or_runs_back(counter: Callable[[float], float]) -> None:
    samples = [Sample(at_s=i / 10, power_w=700.0, energy_j=counter(i / 10)) for i in range(101)]
    telemetry = told(samples, window(1, 9))
    assert telemetry.energy_j is None
    assert telemetry.power_w == pytest.approx(700)


def test_a_power_cap_matters_when_it_costs_clock() -> None:
    """A large GPU at its cap is normal; a tenth of the clock lost is worth a word."""
    for clock_mhz, said in ((1900, False), (1500, True)):
        samples = [
            Sample(at_s=i / 10, sm_clock_hz=clock_mhz * 1e6, throttle=("power-cap",)) for i in range(101)
        ]
        windows = [window(1, 9)]
        found = cautions(
            told(samples, *windows), samples, windows, Environment(device="x", sm_clock_max_hz=1980e6)
        )
        assert [(c.code, c.severity) for c in found] == ([("power-cap", "info")] if said else [])


def test_no_counter_and_no_power() -> None:
    telemetry = told(steady(energy_j=None), window(1, 9))
    assert (telemetry.energy_j, telemetry.power_w) == (None, 700.0)
    telemetry = told(steady(power_w=None), window(1, 9))
    assert telemetry.power_w == pytest.approx(700)
    telemetry = told(steady(power_w=None, energy_j=None), window(1, 9))
    assert (telemetry.energy_j, telemetry.power_w) == (None, None)


@pytest.mark.parametrize("windows", [[window(1, 9)], [window(1, 4), window(4.5, 9)], [window(-1, 4)]])
def test_window_that_is_not_covered(windows: list[Window]) -> None:
    """The sensor died in the middle: what is there is told, energy is not invented."""
    samples = steady(seconds=5)
    telemetry = told(samples, *windows)
    assert telemetry.energy_j is None
    assert telemetry.power_w == pytest.approx(700)
    assert cautions(telemetry, samples, windows) == ()


def test_throttle_shares() -> None:
    samples = [
        Sample(at_s=float(i), throttle=("power-cap", "thermal") if i < 2 else ("power-cap",))
        for i in range(4)
    ]
    assert throttle_shares(samples) == (("power-cap", 1.0), ("thermal", 0.5))


def _throttled(reason: str, share: float, sm_clock_hz: float | None = 1.98e9) -> list[Sample]:
    samples = steady(sm_clock_hz=sm_clock_hz)
    during = round(share * len(samples))
    return [
        Sample(
            at_s=s.at_s,
            power_w=s.power_w,
            energy_j=s.energy_j,
            sm_clock_hz=s.sm_clock_hz,
            throttle=(reason,) if i < during else (),
        )
        for i, s in enumerate(samples)
    ]


@pytest.mark.parametrize(
    ("reason", "share", "codes"),
    [
        ("thermal", 0.04, []),
        ("thermal", 0.06, ["throttled"]),
        ("user-clocks", 0.5, ["throttled"]),
        ("other", 0.5, ["throttled"]),
        ("power-cap", 0.49, []),
        ("power-cap", 0.52, ["power-cap"]),
    ],
)
def test_throttled(reason: str, share: float, codes: list[str]) -> None:
    samples, windows = _throttled(reason, share), [window(0, 10)]
    found = cautions(told(samples, *windows), samples, windows)
    assert [c.code for c in found] == codes
    assert all(reason in c.detail and c.fix for c in found)


@pytest.mark.parametrize(
    ("limit_w", "default_w", "found"),
    [
        (700.0, 700.0, ("power-cap", "info")),
        (None, None, ("power-cap", "info")),
        (750.0, 700.0, ("power-cap", "info")),
        (500.0, 700.0, ("throttled", "warning")),
    ],
)
def test_a_lowered_power_limit_is_a_warning_and_the_card_s_own_is_information(
    limit_w: float | None, default_w: float | None, found: tuple[str, str]
) -> None:
    samples, windows = _throttled("power-cap", 1.0), [window(0, 10)]
    here = Environment(device="x", power_limit_w=limit_w, power_limit_default_w=default_w)
    (caution,) = cautions(told(samples, *windows), samples, windows, here)
    assert (caution.code, caution.severity) == found


def test_throttled_tells_the_clock() -> None:
    samples, windows = _throttled("thermal", 0.5, sm_clock_hz=1.395e9), [window(0, 10)]
    telemetry = told(samples, *windows)
    (caution,) = cautions(telemetry, samples, windows, Environment(device="x", sm_clock_max_hz=1.98e9))
    assert caution.detail == "thermal in 50 % of the samples; median clock 1395 MHz of 1980 MHz"
    before = Sample(at_s=-1.0, sm_clock_hz=1.98e9)
    (caution,) = cautions(telemetry, [before, *samples], windows)
    assert caution.detail.endswith("median clock 1395 MHz, highest seen 1980 MHz")
    unclocked = _throttled("thermal", 0.5, sm_clock_hz=None)
    (caution,) = cautions(told(unclocked, *windows), unclocked, windows)
    assert caution.detail == "thermal in 50 % of the samples"


def test_a_hot_start_is_left_to_the_gate() -> None:
    samples, windows = steady(temperature_c=85.0), [window(1, 9)]
    assert cautions(told(samples, *windows), samples, windows) == ()
