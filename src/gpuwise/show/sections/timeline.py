"""At what power and clock each measurement ran, and where the device held its clocks down.

Time is that of the timed windows, laid end to end: what lies between them (searching, compiling, cooling)
would leave them too short to be seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from gpuwise.model.result import Measurement, Result, Telemetry
from gpuwise.model.units import percent, seconds
from gpuwise.show import charts
from gpuwise.show.charts.timeline import Span, State, Stretch
from gpuwise.show.page import Figure, Section
from gpuwise.show.results import cell_name, counted
from gpuwise.show.sections.material import Material, question
from gpuwise.show.table import Table

DETAILED = 2
"""Sessions that have a chart each; more are drawn in one, a row each."""
GAP = 0.006
"""Between two measurements, as a share of all."""
COLUMNS = (
    "measurement",
    "began (UTC)",
    "length",
    "power of a GPU",
    "median clock",
    "highest temperature",
    "samples",
    "clock held down",
)


def timeline(material: Material) -> Section:
    """A chart a session, a row for each workload; of many sessions one chart, a row for each."""
    sessions = sorted((r for r in material.results if _timed(r)), key=lambda r: r.created_at)
    detailed = len(sessions) <= DETAILED
    return Section(
        id="timeline",
        title="Telemetry over time",
        text=(
            "Timed windows end to end, without the searching, compiling and cooling between them. A clock "
            "is held down when the device says so: by its power limit, its temperature, or its owner.",
        )
        * bool(sessions),
        figures=tuple(map(_session, sessions)) if detailed else (_overview(sessions),),
        folded=() if detailed else tuple(map(_table, sessions)),
    )


def _session(result: Result) -> Figure:
    spans = list(_spans(result))
    held = sum(_held(m.telemetry) > 0 for m in _timed(result))
    of = counted(len(spans), "measurement")
    return Figure(
        chart=charts.timeline(spans, power_limit_w=result.environment.power_limit_w),
        table=_table(result),
        caption=f"{_name(result)}: clocks were held down in {held} of {of}.",
    )


def _overview(sessions: Sequence[Result]) -> Figure:
    """A row for each session, all of one length, without the power."""
    rows = tuple(_summary(result) for result in sessions)
    spans = [span for result in sessions for span in _shares(result)]
    columns = (
        "session",
        "measurements",
        "timed",
        "power of a GPU",
        "highest temperature",
        "clock held down in",
    )
    return Figure(
        chart=charts.timeline(spans, unit="percent of a session's timed windows"),
        table=Table(columns=columns, rows=rows, numeric=frozenset(columns[1:])).without_empty_columns(),
        caption=f"{counted(len(sessions), 'session')}, a row each: when clocks were held down.",
    )


def _summary(result: Result) -> tuple[str, ...]:
    timed = _timed(result)
    told = [m.telemetry for m in timed if m.telemetry]
    powers = [(watts, _length(m)) for m in timed if (watts := _watts(m))]
    watts = sum(power * length for power, length in powers) / (sum(length for _, length in powers) or 1)
    hottest = max((one.temperature_max_c for one in told if one.temperature_max_c), default=None)
    return (
        result.id,
        str(len(timed)),
        seconds(sum(map(_length, timed))),
        f"{watts:.0f} W" if watts else "",
        f"{hottest:.0f} °C" if hottest else "",
        f"{sum(_held(one) > 0 for one in told)} of {len(told)}" if told else "",
    )


def _name(result: Result) -> str:
    return f"{result.environment.device}, {result.created_at[:16].replace('T', ' ')} UTC"


def _timed(result: Result) -> list[Measurement]:
    return [m for m in result.measurements if m.windows]


def _length(m: Measurement) -> float:
    return m.windows[-1].ended_s - m.windows[0].started_s


def _watts(m: Measurement) -> float | None:
    """Mean power of each GPU."""
    told = m.telemetry
    return told.power_w / m.config.gpus if told and told.power_w else None


def _held(told: Telemetry | None) -> float:
    """Share of the samples with the most frequent reason for a lowered clock; 0 to 1."""
    return max((share for _, share in told.throttled), default=0.0) if told else 0.0


def _spans(result: Result) -> Iterator[Span]:
    """The measurements one after another, each from where the one before ended and a gap."""
    timed = _timed(result)
    gap, at = GAP * sum(map(_length, timed)), 0.0
    for m in timed:
        told, shift = m.telemetry, at - m.windows[0].started_s
        readings = told.timeline if told else ()
        yield Span(
            label="limits" if m.config.mode == "limit" else question(m),
            stretches=tuple((begin + shift, end + shift, state) for begin, end, state in _stretches(m)),
            power_w=_watts(m),
            power=tuple((each.at_s + shift, each.power_w) for each in readings if each.power_w is not None),
        )
        at += _length(m) + gap


def _shares(result: Result) -> Iterator[Span]:
    """The spans of a session on its own row, in percent of all."""
    spans = list(_spans(result))
    unit = spans[-1].stretches[-1][1] / 100
    for span in spans:
        parts = tuple((begin / unit, end / unit, state) for begin, end, state in span.stretches)
        yield Span(label=result.id, stretches=parts)


def _stretches(m: Measurement) -> Iterator[Stretch]:
    """What the clock did when, where samples were kept; else what it did over all."""
    begin, end = m.windows[0].started_s, m.windows[-1].ended_s
    readings = m.telemetry.timeline if m.telemetry else ()
    if len(readings) < 2:
        yield begin, end, _state(m.telemetry)
        return
    # A sample stands until the next one, and the first from the beginning.
    spans = list(pairwise((begin, *(each.at_s for each in readings[1:]), end)))
    for held, group in groupby(zip(readings, spans, strict=True), key=lambda one: one[0].held):
        times = [time for _, span in group for time in span]
        yield times[0], times[-1], "held down" if held else "full clock"


def _state(told: Telemetry | None) -> State:
    held = _held(told)
    if told is None or not told.samples:
        return "unknown"
    return "held down" if held >= 1 else "held down at times" if held else "full clock"


def _table(result: Result) -> Table:
    rows = []
    for m in _timed(result):
        told = m.telemetry
        reasons = [f"{reason} {percent(share, 0)}" for reason, share in told.throttled] if told else []
        clock = told.sm_clock_hz if told else None
        rows.append(
            (
                cell_name(m.config),
                m.started_at[11:19],
                seconds(_length(m)),
                f"{watts:.0f} W" if (watts := _watts(m)) else "",
                f"{clock / 1e6:.0f} MHz" if clock else "",
                f"{told.temperature_max_c:.0f} °C" if told and told.temperature_max_c else "",
                str(told.samples) if told else "",
                ", ".join(reasons),
            )
        )
    title = f"{_name(result)} ({result.id})"
    table = Table(title=title, columns=COLUMNS, rows=tuple(rows), numeric=frozenset(COLUMNS[1:7]))
    return table.without_empty_columns()
