"""From samples to the telemetry of the timed windows. Pure.

Energy comes from the device's counter, interpolated at the edges of each window, and is kept
only where the integral of sampled power over the same windows agrees within 5 %: counters of
some cards and drivers are wrong (187 J counted against 327 J sampled in the same 5 s,
https://github.com/ml-energy/zeus/issues/181), and sampled power of some covers a part of the
time only (25 % on A100 and H100, https://arxiv.org/abs/2312.02741).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, median

from gpuwise.measure.telemetry.protocol import Sample
from gpuwise.model.issue import Issue
from gpuwise.model.result import Reading, Telemetry, Window
from gpuwise.model.units import percent, significant

AGREE = 0.05
ENOUGH_S, ENOUGH_SAMPLES = 2.0, 10
"""Below this the two cannot be held against each other: counters tick every 20 to 100 ms (an H200
every 100 ms). Sampled power is the mean of the last second on most cards, so it also starts low
where a load starts: on an H200, two windows of 3 s after 0.3 s of warm-up read 4.9 % less than the
counter, after 4 s 0.6 % less."""

THROTTLED = 0.05
POWER_CAPPED = 0.5
CAPPED_CLOCK = 0.9
"""Share of samples that is worth a caution. A power cap is how large GPUs normally run, so it is
named only when it holds most of the time and costs more than a tenth of the clock."""

NEXT_STEPS = {
    "power-cap": "the number is that of this power limit: `gpuwise doctor` shows it and the default",
    "thermal": "improve the cooling and run again",
    "user-clocks": "clocks are limited by hand: nvidia-smi -q -d CLOCK shows them",
    "power-brake": "the power supply asks for less: check the PSU and its cables",
    "hw-slowdown": "see which: nvidia-smi -q -d PERFORMANCE, then check cooling and power supply",
    "sync-boost": "clocks follow a slower GPU of the group: nvidia-smi -q -d PERFORMANCE",
}

MOST_READINGS = 60
"""Enough to draw a measurement, and a tenth of what its step times take in the file."""

Series = Sequence[tuple[float, float]]
"""(seconds, value), in order of time."""


def inside(samples: Sequence[Sample], windows: Sequence[Window]) -> tuple[Sample, ...]:
    """The samples taken during a timed window."""
    return tuple(s for s in samples if any(w.started_s <= s.at_s <= w.ended_s for w in windows))


def summarise(samples: Sequence[Sample], windows: Sequence[Window]) -> Telemetry | None:
    """Telemetry of the windows, or None where no sample fell into one."""
    during = inside(samples, windows)
    if not during:
        return None
    energy = _trusted_energy(samples, windows, len(during))
    # Of a window shorter than its averaging time, power says nothing.
    long = _seconds(windows) >= ENOUGH_S
    powers = [s.power_w for s in during if s.power_w is not None and long]
    clocks = [s.sm_clock_hz for s in during if s.sm_clock_hz is not None]
    heats = [s.temperature_c for s in during if s.temperature_c is not None]
    return Telemetry(
        samples=len(during),
        power_w=energy / _seconds(windows) if energy else fmean(powers) if powers else None,
        energy_j=energy,
        sm_clock_hz=median(clocks) if clocks else None,
        sm_clock_min_hz=min(clocks, default=None),
        temperature_start_c=_start(samples, windows).temperature_c,
        temperature_max_c=max(heats, default=None),
        pcie_generation=max((s.pcie_generation for s in during if s.pcie_generation), default=None),
        pcie_width=max((s.pcie_width for s in during if s.pcie_width), default=None),
        throttled=throttle_shares(during),
        timeline=timeline(samples, windows),
    )


def timeline(samples: Sequence[Sample], windows: Sequence[Window]) -> tuple[Reading, ...]:
    """What the sensors said from the first window to the last, at most MOST_READINGS times."""
    first_s, last_s = min(w.started_s for w in windows), max(w.ended_s for w in windows)
    told = [s for s in samples if first_s <= s.at_s <= last_s]
    kept = told[:: -(-len(told) // MOST_READINGS)] if told else []
    return tuple(
        Reading(
            at_s=s.at_s,
            power_w=s.power_w,
            sm_clock_hz=s.sm_clock_hz,
            temperature_c=s.temperature_c,
            held=bool(s.throttle),
        )
        for s in kept
    )


def throttle_shares(samples: Sequence[Sample]) -> tuple[tuple[str, float], ...]:
    """(reason, share of samples in which it was active), most frequent first."""
    counts = Counter(reason for sample in samples for reason in sample.throttle)
    return tuple((reason, count / len(samples)) for reason, count in counts.most_common())


def _start(samples: Sequence[Sample], windows: Sequence[Window]) -> Sample:
    """The last sample before the first window, or the first there is."""
    first_s = min(w.started_s for w in windows)
    before = [s for s in samples if s.at_s < first_s]
    return before[-1] if before else samples[0]


def _seconds(windows: Sequence[Window]) -> float:
    return sum(w.ended_s - w.started_s for w in windows)


def energies(samples: Sequence[Sample], windows: Sequence[Window]) -> tuple[float | None, float | None]:
    """(counter, integral of power) over the windows in joules; None where a window is not covered."""
    counter = [(s.at_s, s.energy_j) for s in samples if s.energy_j is not None]
    power = [(s.at_s, s.power_w) for s in samples if s.power_w is not None]
    return _over(_counted, counter, windows), _over(_trapezoid, power, windows)


def _over(
    measure: Callable[[Series, float, float], float], series: Series, windows: Sequence[Window]
) -> float | None:
    """Sum of `measure(series, start, end)` over windows that the series covers whole."""
    if len(series) < 2 or not windows:
        return None
    if series[0][0] > min(w.started_s for w in windows) or series[-1][0] < max(w.ended_s for w in windows):
        return None
    return sum(measure(series, w.started_s, w.ended_s) for w in windows)


def _at(series: Series, moment_s: float) -> float:
    """Linear interpolation; `moment_s` must lie within the series."""
    right = max(1, bisect_left(series, (moment_s,)))
    (t0, v0), (t1, v1) = series[right - 1], series[min(right, len(series) - 1)]
    return v0 if t1 == t0 else v0 + (v1 - v0) * (moment_s - t0) / (t1 - t0)


def _counted(series: Series, start_s: float, end_s: float) -> float:
    """What a cumulative counter grew by."""
    return _at(series, end_s) - _at(series, start_s)


def _trapezoid(series: Series, start_s: float, end_s: float) -> float:
    """Integral of a value over time, linear between samples."""
    first = bisect_left(series, (start_s,))
    last = bisect_left(series, (end_s,), lo=first)
    edges = (start_s, _at(series, start_s)), (end_s, _at(series, end_s))
    points = [edges[0], *series[first:last], edges[1]]
    return sum((b - a) * (u + v) / 2 for (a, u), (b, v) in pairwise(points))


def _trusted_energy(samples: Sequence[Sample], windows: Sequence[Window], count: int) -> float | None:
    """Joules from the counter, unless it stands still, runs back, or power contradicts it."""
    counted, integrated = energies(samples, windows)
    if counted is None or counted <= 0 or _seconds(windows) < ENOUGH_S:
        return None
    if _disagree(counted, integrated, _seconds(windows), count):
        return None
    return counted


def _disagree(counted: float, integrated: float | None, seconds: float, samples: int) -> bool:
    if integrated is None or seconds < ENOUGH_S or samples < ENOUGH_SAMPLES:
        return False
    return abs(counted - integrated) > AGREE * max(counted, integrated)


def cautions(
    telemetry: Telemetry,
    samples: Sequence[Sample],
    windows: Sequence[Window],
    *,
    sm_clock_max_hz: float | None = None,
) -> tuple[Issue, ...]:
    """What in the telemetry makes a number doubtful; the start gate judges the heat.

    `sm_clock_max_hz` is what the card can do; without it the highest clock seen stands beside the
    median.
    """
    if telemetry.samples < ENOUGH_SAMPLES:
        return ()
    clocks = _clocks(telemetry, samples, sm_clock_max_hz)
    found = [
        _throttled(reason, share, clocks)
        for reason, share in telemetry.throttled
        if _matters(reason, share, telemetry.sm_clock_hz, sm_clock_max_hz)
    ]
    counted, integrated = energies(samples, windows)
    if counted is None or integrated is None:
        return tuple(found)
    if _disagree(counted, integrated, _seconds(windows), telemetry.samples):
        found.append(_energy_mismatch(counted, integrated))
    return tuple(found)


def _matters(reason: str, share: float, clock_hz: float | None, most_hz: float | None) -> bool:
    if reason != "power-cap":
        return share > THROTTLED
    cheap = clock_hz is not None and most_hz is not None and clock_hz > CAPPED_CLOCK * most_hz
    return share > POWER_CAPPED and not cheap


def _clocks(telemetry: Telemetry, samples: Sequence[Sample], most_hz: float | None) -> str:
    """`; median clock 1395 MHz of 1980 MHz`, as far as it is known."""
    if telemetry.sm_clock_hz is None:
        return ""
    text = f"; median clock {telemetry.sm_clock_hz / 1e6:.0f} MHz"
    if most_hz is not None:
        return f"{text} of {most_hz / 1e6:.0f} MHz"
    seen_hz = max((s.sm_clock_hz for s in samples if s.sm_clock_hz is not None), default=None)
    return text if seen_hz is None else f"{text}, highest seen {seen_hz / 1e6:.0f} MHz"


def _throttled(reason: str, share: float, clocks: str) -> Issue:
    return Issue(
        code="throttled",
        severity="warning",
        detail=f"{reason} in {percent(share, 0)} of the samples{clocks}",
        fix=NEXT_STEPS.get(reason, "see why: nvidia-smi -q -d PERFORMANCE"),
    )


def _energy_mismatch(counted: float, integrated: float) -> Issue:
    return Issue(
        code="energy-mismatch",
        severity="warning",
        detail=f"the energy counter says {significant(counted)} J, sampled power {significant(integrated)} J",
        fix="take the watts with care; energy is left out",
    )
