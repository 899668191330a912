"""At what power and clock each measurement ran, and where the device held its clocks down.

Time is that of the timed windows, laid end to end: what lies between them (searching, compiling, cooling)
would leave them too short to be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from gpuwise.model.question import HOW
from gpuwise.model.result import Measurement, Result, Telemetry
from gpuwise.model.units import Amount, percent, seconds, watts, whole
from gpuwise.show import charts
from gpuwise.show.charts import Span, Stretch
from gpuwise.show.page import Figure, Section
from gpuwise.show.report.input import FEW, ReportInput
from gpuwise.show.results import counted
from gpuwise.show.table import Table

# Sessions that have a chart each; more are drawn in one, a row each.
DETAILED = 2
# Between two measurements, as a share of all.
GAP = 0.006


def timeline(given: ReportInput) -> Section:
    """A chart a session, a row for each workload; of many sessions one chart, a row for each."""
    sessions = sorted((r for r in given.results if _timed(r)), key=lambda r: r.created_at)
    # Power over time is worth a drawing of its own; of many sessions the pattern is.
    detailed = len(sessions) <= DETAILED
    text = (
        "Timed windows end to end, without the searching, compiling and cooling between them. A clock "
        "is held down when the device says so: by its power limit, its temperature, or its owner."
    )
    return Section(
        id="timeline", title="Telemetry over time", text=(text,) if sessions else (),
        figures=tuple(map(_session, sessions)) if detailed else (_overview(sessions),),
        folded=() if detailed else tuple(map(_table, sessions)),
    )  # fmt: skip


def _session(result: Result) -> Figure:
    spans = list(_spans(result))
    held = sum(_held(m.telemetry) > 0 for m in _timed(result))
    return Figure(
        drawn=charts.timeline(spans, power_limit_w=result.environment.power_limit_w),
        table=_table(result),
        caption=f"{_name(result)}: clocks were held down in {held} of {counted(len(spans), 'measurement')}.",
    )


def _overview(sessions: Sequence[Result]) -> Figure:
    """A row for each session, all of one length in percent, without the power; the longest where many."""
    rows, spans = [], []
    longest = sorted(sessions, key=lambda r: -sum(map(_length, _timed(r))))[: 2 * FEW]
    for result in sessions:
        timed = _timed(result)
        sensed = [m.telemetry for m in timed if m.telemetry]
        powers = [(power, _length(m)) for m in timed if (power := _power(m))]
        # A long measurement counts for more than a short one.
        mean = sum(power * length for power, length in powers) / (sum(length for _, length in powers) or 1)
        hottest = max((one.temperature_max_c for one in sensed if one.temperature_max_c), default=None)
        held = sum(_held(one) > 0 for one in sensed)
        rows.append({
            "session": result.id,
            "measurements": whole(len(timed)),
            "timed": seconds(sum(map(_length, timed))),
            "power of a GPU": watts(mean) if mean else "",
            "highest temperature": _celsius(hottest),
            "clock held down in": Amount(f"{held} of {len(sensed)}", held) if sensed else "",
        })  # fmt: skip
        if result in longest:
            parts = list(_spans(result))
            unit = parts[-1].stretches[-1][1] / 100
            stretches = [
                (begin / unit, end / unit, state) for part in parts for begin, end, state in part.stretches
            ]
            spans.append(Span(label=result.id, stretches=tuple(stretches)))
    some = f", the {len(longest)} longest drawn" if len(longest) < len(sessions) else ""
    return Figure(
        drawn=charts.timeline(spans, unit="percent of a session's timed windows"),
        table=Table.of(rows),
        caption=f"{counted(len(sessions), 'session')}, a row each: when clocks were held down{some}.",
    )


def _name(result: Result) -> str:
    return f"{result.environment.device}, {result.created_at[:16].replace('T', ' ')} UTC"


def _timed(result: Result) -> list[Measurement]:
    return [m for m in result.measurements if m.windows]


def _length(m: Measurement) -> float:
    return m.windows[-1].ended_s - m.windows[0].started_s


def _power(m: Measurement) -> float | None:
    """Mean power of each GPU, watts."""
    return m.telemetry.power_w / m.config.gpus if m.telemetry and m.telemetry.power_w else None


def _celsius(value: float | None) -> str:
    return Amount(f"{value:.0f} °C", value, "°C") if value else ""


def _held(sensed: Telemetry | None) -> float:
    """Share of the samples with the most frequent reason for a lowered clock; 0 to 1."""
    return max((share for _, share in sensed.throttled), default=0.0) if sensed else 0.0


def _spans(result: Result) -> Iterator[Span]:
    """The measurements one after another, each from where the one before ended and a gap."""
    timed = _timed(result)
    gap, at = GAP * sum(map(_length, timed)), 0.0
    for m in timed:
        shift = at - m.windows[0].started_s
        readings = m.telemetry.timeline if m.telemetry else ()
        yield Span(
            label="limits" if m.config.mode == "limit" else m.config.label(*HOW),
            stretches=tuple((begin + shift, end + shift, state) for begin, end, state in _stretches(m)),
            power_w=_power(m),
            power=tuple((each.at_s + shift, each.power_w) for each in readings if each.power_w is not None),
        )
        at += _length(m) + gap


def _stretches(m: Measurement) -> Iterator[Stretch]:
    """What the clock did when, where samples were kept; else what it did over all."""
    begin, end = m.windows[0].started_s, m.windows[-1].ended_s
    readings = m.telemetry.timeline if m.telemetry else ()
    if len(readings) < 2:
        held = _held(m.telemetry)
        if m.telemetry is None or not m.telemetry.samples:
            yield begin, end, "unknown"
        else:
            yield begin, end, "held down" if held >= 1 else "held down at times" if held else "full clock"
        return
    # A sample stands until the next one, and the first from the beginning.
    spans = list(pairwise((begin, *(each.at_s for each in readings[1:]), end)))
    for down, group in groupby(zip(readings, spans, strict=True), key=lambda one: one[0].held):
        times = [time for _, span in group for time in span]
        yield times[0], times[-1], "held down" if down else "full clock"


def _table(result: Result) -> Table:
    rows = []
    for m in _timed(result):
        sensed, power = m.telemetry, _power(m)
        clock = sensed.sm_clock_hz if sensed else None
        reasons = [f"{reason} {percent(share, 0)}" for reason, share in sensed.throttled] if sensed else []
        rows.append({
            "measurement": m.config.label("batch"),
            "began (UTC)": m.started_at[11:19],
            "length": seconds(_length(m)),
            "power of a GPU": watts(power) if power else "",
            "median clock": Amount(f"{clock / 1e6:.0f} MHz", clock, "Hz") if clock else "",
            "highest temperature": _celsius(sensed.temperature_max_c) if sensed else "",
            "samples": whole(sensed.samples) if sensed else "",
            "clock held down": ", ".join(reasons),
        })  # fmt: skip
    return Table.of(rows, title=f"{_name(result)} ({result.id})")
