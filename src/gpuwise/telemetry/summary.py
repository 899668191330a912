"""From samples to the telemetry of the timed windows. Pure.

Energy comes from the device's counter, interpolated at the edges of each window, and is kept
only where the integral of sampled power over the same windows agrees within 5 %: counters of
some cards and drivers are wrong, and sampled power of some covers a part of the time only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from statistics import fmean, median

from gpuwise.model.result import Caution, Telemetry, Window
from gpuwise.telemetry.protocol import Sample
from gpuwise.units import percent, significant

AGREE = 0.05
ENOUGH_S, ENOUGH_SAMPLES = 2.0, 10
"""Below this the two cannot be held against each other: counters tick every 20 to 100 ms."""

THROTTLED = 0.05
POWER_CAPPED = 0.5
"""Share of samples that is worth a caution. A power cap is how large GPUs normally run, so it
is named only when it holds most of the time."""


def inside(samples: Sequence[Sample], windows: Sequence[Window]) -> tuple[Sample, ...]:
    """The samples taken during a timed window."""
    return tuple(s for s in samples if any(w.started_s <= s.at_s <= w.ended_s for w in windows))


def summarise(samples: Sequence[Sample], windows: Sequence[Window]) -> Telemetry | None:
    """Telemetry of the windows, or None where no sample fell into one."""
    during = inside(samples, windows)
    if not during:
        return None
    counted, integrated = energies(samples, windows)
    seconds = sum(w.ended_s - w.started_s for w in windows)
    trusted = counted is not None and not _disagree(counted, integrated, seconds, len(during))
    powers = [s.power_w for s in during if s.power_w is not None]
    clocks = [s.sm_clock_hz for s in during if s.sm_clock_hz is not None]
    hottest = [s.temperature_c for s in during if s.temperature_c is not None]
    before = [s for s in samples if s.at_s < windows[0].started_s] or [samples[0]]
    energy = counted if trusted else None
    return Telemetry(
        samples=len(during),
        power_w=energy / seconds if energy and seconds >= ENOUGH_S else fmean(powers) if powers else None,
        energy_j=energy,
        sm_clock_hz=median(clocks) if clocks else None,
        sm_clock_min_hz=min(clocks, default=None),
        temperature_start_c=before[0].temperature_c,
        temperature_max_c=max(hottest, default=None),
        throttled=throttle_shares(during),
    )


def throttle_shares(samples: Sequence[Sample]) -> tuple[tuple[str, float], ...]:
    """(reason, share of samples in which it was active), most frequent first."""
    counts = Counter(reason for sample in samples for reason in sample.throttle)
    return tuple((reason, count / len(samples)) for reason, count in counts.most_common())


def energies(samples: Sequence[Sample], windows: Sequence[Window]) -> tuple[float | None, float | None]:
    """(counter, integral of power) over the windows in joules; None where a window is not covered."""
    counter = [(s.at_s, s.energy_j) for s in samples if s.energy_j is not None]
    power = [(s.at_s, s.power_w) for s in samples if s.power_w is not None]
    return _over(_cumulative_difference, counter, windows), _over(_trapezoid, power, windows)


def _over(measure, series, windows):  # type: ignore[no-untyped-def]
    """Sum of `measure(series, start, end)` over windows that the series covers whole."""
    if len(series) < 2 or series[0][0] > windows[0].started_s or series[-1][0] < windows[-1].ended_s:
        return None
    return sum(measure(series, w.started_s, w.ended_s) for w in windows)


Series = Sequence[tuple[float, float]]


def _at(series: Series, moment: float) -> float:
    """Linear interpolation; `moment` must lie within the series."""
    right = max(1, bisect_left(series, (moment,)))
    (t0, v0), (t1, v1) = series[right - 1], series[min(right, len(series) - 1)]
    return v0 if t1 == t0 else v0 + (v1 - v0) * (moment - t0) / (t1 - t0)


def _cumulative_difference(series: Series, start: float, end: float) -> float:
    return _at(series, end) - _at(series, start)


def _trapezoid(series: Series, start: float, end: float) -> float:
    points = [(start, _at(series, start)), *((t, v) for t, v in series if start < t < end), (end, _at(series, end))]
    return sum((b - a) * (u + v) / 2 for (a, u), (b, v) in zip(points, points[1:], strict=False))


def _disagree(counted: float, integrated: float | None, seconds: float, samples: int) -> bool:
    if integrated is None or seconds < ENOUGH_S or samples < ENOUGH_SAMPLES:
        return False
    return abs(counted - integrated) > AGREE * max(counted, integrated)


def cautions(telemetry: Telemetry, samples: Sequence[Sample], windows: Sequence[Window]) -> tuple[Caution, ...]:
    """What in the telemetry makes a number doubtful."""
    found = [_throttled(reason, share, telemetry) for reason, share in telemetry.throttled if _counts(reason, share)]
    counted, integrated = energies(samples, windows)
    seconds = sum(w.ended_s - w.started_s for w in windows)
    if counted is not None and _disagree(counted, integrated, seconds, telemetry.samples):
        assert integrated is not None
        found.append(
            Caution(
                code="energy-mismatch",
                detail=f"energy counter says {significant(counted)} J, sampled power {significant(integrated)} J",
                next_step="take the watts with care; energy is left out",
            )
        )
    return tuple(found)


def _counts(reason: str, share: float) -> bool:
    return share > (POWER_CAPPED if reason == "power-cap" else THROTTLED)


def _throttled(reason: str, share: float, telemetry: Telemetry) -> Caution:
    clock = f", median clock {telemetry.sm_clock_hz / 1e6:.0f} MHz" if telemetry.sm_clock_hz else ""
    remedy = {
        "power-cap": "the number is that of this power limit; see power limit in gpuwise doctor",
        "thermal": "improve the cooling and run again",
        "user-clocks": "clocks are set by hand: nvidia-smi -q -d CLOCK shows them",
    }
    return Caution(
        code="throttled",
        detail=f"{reason} in {percent(share, 0)} of the time{clock}",
        next_step=remedy.get(reason, "see gpuwise doctor"),
    )
