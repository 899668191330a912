"""When what ran, at what power and temperature, and where the device held its clocks down."""

from __future__ import annotations

from collections.abc import Iterator

from gpuwise.model.result import Measurement, Result, Telemetry
from gpuwise.report import charts
from gpuwise.report.charts.timeline import Span
from gpuwise.report.page import Figure, Section
from gpuwise.report.results import cell_name
from gpuwise.report.sections.material import Material, question
from gpuwise.report.table import Table
from gpuwise.units import percent, seconds


def timeline(material: Material) -> Section:
    """One chart a session: a span for each measurement, coloured by what the clock did."""
    figures = tuple(_figure(result, material) for result in material.results if _timed(result))
    return Section(
        id="timeline",
        title="Telemetry over time",
        text=("Spans are the timed windows; searching, compiling and cooling lie between them.",)
        * bool(figures),
        figures=figures,
    )


def _timed(result: Result) -> list[Measurement]:
    return [m for m in result.measurements if m.windows]


def _figure(result: Result, material: Material) -> Figure:
    spans = list(_spans(result))
    held = sum(span.throttled > 0 for span in spans)
    named = f"{result.environment.device}, {result.created_at[:16].replace('T', ' ')} UTC"
    several = f" ({result.id})" if len(material.results) > 1 else ""
    return Figure(
        chart=charts.timeline(spans, power_limit_w=result.environment.power_limit_w),
        table=_table(result, spans, named),
        caption=f"{named}{several}: clocks were held down in {held} of {len(spans)} measurements.",
    )


def _spans(result: Result) -> Iterator[Span]:
    measured = _timed(result)
    start = min(m.windows[0].started_s for m in measured)
    for m in measured:
        told = m.telemetry
        yield Span(
            label="limits" if m.config.mode == "limit" else question(m),
            start_s=m.windows[0].started_s - start,
            end_s=m.windows[-1].ended_s - start,
            throttled=max((share for _, share in told.throttled), default=0.0) if told else 0.0,
            power_w=told.power_w if told else None,
            temperature_c=told.temperature_max_c if told else None,
            power=_power(told, start) if told else (),
        )


def _power(told: Telemetry, start_s: float) -> tuple[tuple[float, float], ...]:
    return tuple((each.at_s - start_s, each.power_w) for each in told.timeline if each.power_w is not None)


def _table(result: Result, spans: list[Span], title: str) -> Table:
    rows = []
    for span, m in zip(spans, _timed(result), strict=True):
        told = m.telemetry
        reasons = (
            ", ".join(f"{reason} {percent(share, 0)}" for reason, share in told.throttled) if told else ""
        )
        clock = told.sm_clock_hz if told else None
        rows.append(
            (
                cell_name(m.config),
                f"{span.start_s:.1f} s",
                seconds(span.end_s - span.start_s),
                f"{span.power_w:.0f} W" if span.power_w else "",
                f"{clock / 1e6:.0f} MHz" if clock else "",
                f"{span.temperature_c:.0f} °C" if span.temperature_c else "",
                str(told.samples) if told else "",
                reasons,
            )
        )
    columns = (
        "measurement",
        "start",
        "length",
        "mean power",
        "median clock",
        "highest temperature",
        "samples",
        "clock held down",
    )
    return Table(
        title=title, columns=columns, rows=tuple(rows), numeric=frozenset(columns[1:7])
    ).without_empty_columns()
