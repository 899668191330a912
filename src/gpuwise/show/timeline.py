"""At what power and clock each measurement of a report ran, over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from gpuwise.model.question import HOW
from gpuwise.model.result import Measurement, Result, Telemetry
from gpuwise.model.units import Amount, celsius, percent, seconds, watts, whole
from gpuwise.show.charts import Bands, Part, Plot, Point, Series, linear
from gpuwise.show.hardware import ReportInput
from gpuwise.show.page import Figure, Section, section
from gpuwise.show.results import counted, session_name
from gpuwise.show.table import Table

# Sessions that have a chart each; more are drawn in one, a row each, the longest of them.
DETAILED, DRAWN = 2, 16
# Between two measurements on the time axis, as a share of all.
GAP = 0.006
# What the clock did -> height of its part of a row, a difference that needs no colours. `at times`: no
# samples were kept that would say when.
CLOCKS = {"full clock": 1.0, "held down at times": 0.75, "held down": 0.5, "unknown": 0.25}


def timeline(given: ReportInput) -> Section:
    """At what power and clock each measurement ran: a chart a session, of many sessions a row for each."""
    sessions = sorted((r for r in given.results if _timed(r)), key=lambda r: r.created_at)
    if len(sessions) <= DETAILED:
        return section("report", "timeline", figures=tuple(map(session, sessions)))
    folded = tuple(map(_telemetry, sessions))
    return section("report", "timeline", figures=(overview(sessions),), folded=folded)


def session(result: Result) -> Figure:
    """Power and clock of the measurements of one session, one after another."""
    spans = list(_spans(result))
    clocks = Bands(
        parts=tuple(part for _, _, parts in spans for part in parts),
        title="seconds of timed windows, end to end",
    )
    drawn: list[Series] = []
    for m, shift, _ in spans:
        if mean := _power(m):
            ends = (m.windows[0].started_s + shift, m.windows[-1].ended_s + shift)
            line = tuple(Point(x=x, y=mean, dot=False) for x in ends)
            drawn.append(Series(name="", hue="blue", points=line))
        readings = m.telemetry.timeline if m.telemetry else ()
        sampled = tuple(
            Point(x=r.at_s + shift, y=r.power_w, dot=False) for r in readings if r.power_w is not None
        )
        drawn += [Series(name="", hue="ink", points=sampled)] if sampled else []
    limit, end = result.environment.power_limit_w, clocks.axis.ends[1]
    if limit and drawn:
        line = tuple(Point(x=x, y=limit, dot=False) for x in (0.0, end))
        drawn.append(Series(name="", hue="muted", dashed=True, points=line))
    said = f"power of a GPU, W{f'; dashed: its limit of {limit:.0f} W' if limit else ''}"
    power = Plot(
        x=clocks.axis,
        y=linear(said, [p.y for each in drawn for p in each.points]),
        series=tuple(drawn),
        height=160,
    )
    sensed = [m.telemetry for m in _timed(result) if m.telemetry and m.telemetry.samples]
    said = f"clocks were held down in {sum(_held(one) > 0 for one in sensed)} of {len(sensed)} measurements"
    return Figure(
        charts=(clocks, power) if drawn else (clocks,),
        table=_telemetry(result),
        caption=f"{session_name(result)}: {said if sensed else 'the device reports no clocks'}.",
    )


def overview(sessions: Sequence[Result]) -> Figure:
    """A row for each session, all of one length in percent, without the power; the longest where many."""
    rows, parts = [], []
    longest = sorted(sessions, key=lambda r: -sum(map(_length, _timed(r))))[:DRAWN]
    for result in sessions:
        timed = _timed(result)
        sensed = [m.telemetry for m in timed if m.telemetry]
        powers = [(power, _length(m)) for m in timed if (power := _power(m))]
        # A long measurement counts for more than a short one.
        mean = sum(power * length for power, length in powers) / (sum(length for _, length in powers) or 1)
        hottest = max((one.temperature_max_c for one in sensed if one.temperature_max_c), default=None)
        held = sum(_held(one) > 0 for one in sensed)
        cells = {
            "session": result.id,
            "measurements": whole(len(timed)),
            "timed": seconds(sum(map(_length, timed))),
            "power of a GPU": watts(mean) if mean else "",
            "highest temperature": celsius(hottest),
            "clock held down in": Amount(f"{held} of {len(sensed)}", held) if sensed else "",
        }
        rows.append(cells)
        if result in longest:
            mine = [part for _, _, each in _spans(result, result.id) for part in each]
            unit = mine[-1].end / 100
            parts += [replace(part, begin=part.begin / unit, end=part.end / unit) for part in mine]
    some = f", the {len(longest)} longest drawn" if len(longest) < len(sessions) else ""
    return Figure(
        charts=(Bands(parts=tuple(parts), title="percent of a session's timed windows"),),
        table=Table.of(rows),
        caption=f"{counted(len(sessions), 'session')}, a row each: when clocks were held down{some}.",
    )


def _timed(result: Result) -> list[Measurement]:
    return [m for m in result.measurements if m.windows]


def _length(m: Measurement) -> float:
    return m.windows[-1].ended_s - m.windows[0].started_s


def _power(m: Measurement) -> float | None:
    """Mean power of each GPU, watts."""
    return m.telemetry.power_w / m.config.gpus if m.telemetry and m.telemetry.power_w else None


def _held(sensed: Telemetry | None) -> float:
    """Share of the samples with the most frequent reason for a lowered clock; 0 to 1."""
    return max((share for _, share in sensed.throttled), default=0.0) if sensed else 0.0


def _spans(result: Result, label: str = "") -> Iterator[tuple[Measurement, float, list[Part]]]:
    """(measurement, seconds by which it is moved, what the clock did): one after another with a gap."""
    timed = _timed(result)
    gap, at = GAP * sum(map(_length, timed)), 0.0
    for m in timed:
        begin, end = m.windows[0].started_s, m.windows[-1].ended_s
        readings = m.telemetry.timeline if m.telemetry else ()
        found: list[tuple[float, float, str]] = []
        if len(readings) < 2:  # without samples that say when: what the clock did over all
            held = _held(m.telemetry)
            known = m.telemetry is not None and m.telemetry.samples
            state = "held down" if held >= 1 else "held down at times" if held else "full clock"
            found.append((begin, end, state if known else "unknown"))
        else:
            # A sample stands until the next one, and the first from the beginning.
            spans = list(pairwise((begin, *(each.at_s for each in readings[1:]), end)))
            for down, group in groupby(zip(readings, spans, strict=True), key=lambda one: one[0].held):
                times = [time for _, span in group for time in span]
                found.append((times[0], times[-1], "held down" if down else "full clock"))
        shift = at - begin
        name = label or ("limits" if m.config.mode == "limit" else m.config.label(*HOW))
        parts = [
            Part(label=name, begin=first + shift, end=last + shift, colour=state, height=CLOCKS[state])
            for first, last, state in found
        ]
        yield m, shift, parts
        at += _length(m) + gap


def _telemetry(result: Result) -> Table:
    rows = []
    for m in _timed(result):
        sensed, power = m.telemetry, _power(m)
        clock = sensed.sm_clock_hz if sensed else None
        reasons = [f"{reason} {percent(share, 0)}" for reason, share in sensed.throttled] if sensed else []
        cells = {
            "measurement": m.config.label("batch"),
            "began (UTC)": m.started_at[11:19],
            "length": seconds(_length(m)),
            "power of a GPU": watts(power) if power else "",
            "median clock": Amount(f"{clock / 1e6:.0f} MHz", clock, "Hz") if clock else "",
            "highest temperature": celsius(sensed.temperature_max_c) if sensed else "",
            "samples": whole(sensed.samples) if sensed else "",
            "clock held down": ", ".join(reasons),
        }
        rows.append(cells)
    return Table.of(rows, title=f"{session_name(result)} ({result.id})")
