"""A session in time: what ran when, how hot and at what power, and when clocks were held down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuwise.report.charts.theme import INK, MUTED, PALETTE, WIDTH, framed, row_axis
from gpuwise.report.page import Chart

STATES = ("full clock", "held down at times", "held down throughout")
_COLOURS = [PALETTE[name][0] for name in ("blue", "orange", "red")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One measurement's timed windows; seconds from the start of the session."""

    label: str
    start_s: float
    end_s: float
    throttled: float
    """Share of the samples in which the device held its clock down; 0 to 1."""
    power_w: float | None
    temperature_c: float | None
    power: tuple[tuple[float, float], ...] = ()
    """(seconds from the start of the session, watts) of each sample that was kept."""

    @property
    def state(self) -> str:
        return STATES[0] if not self.throttled else STATES[2] if self.throttled >= 1 else STATES[1]


def timeline(spans: Sequence[Span], *, power_limit_w: float | None = None) -> Chart:
    """Rows of spans over time, coloured by what the clock did, and the power of each below them."""
    powered = any(span.power_w for span in spans)
    x = {"type": "quantitative", "title": None if powered else "seconds since the first timed step"}
    hue = {
        "field": "state", "type": "nominal", "scale": {"domain": list(STATES), "range": _COLOURS},
        "legend": {"title": "clock", "orient": "top"},
    }  # fmt: skip
    tracks = {
        "width": WIDTH,
        "height": {"step": 18},
        "mark": {"type": "bar", "height": 11, "strokeWidth": 1.5},
        "encoding": {
            "y": row_axis([span.label for span in spans]),
            "x": {"field": "start", **x}, "x2": {"field": "end"},
            "color": hue, "stroke": {**hue, "legend": None},
        },
    }  # fmt: skip
    sampled = [
        {"label": s.label, "part": place, "at": at_s, "power": power_w}
        for place, s in enumerate(spans)
        for at_s, power_w in s.power
    ]
    parts = [tracks, *([_power(power_limit_w, sampled)] if powered else [])]
    data = [
        {"label": s.label, "start": s.start_s, "end": s.end_s, "state": s.state, "power": s.power_w}
        for s in spans
    ]
    return framed(
        {"data": {"values": data}, "vconcat": parts, "resolve": {"scale": {"x": "shared"}}},
        description="Measurements over time, with power and lowered clocks",
    )


def _power(limit_w: float | None, sampled: list[dict[str, object]]) -> Chart:
    """The mean of each measurement, and where samples were kept the power over time."""
    y = {"type": "quantitative", "title": "power, W", "scale": {"zero": True}}
    x = {"type": "quantitative", "title": "seconds since the first timed step"}
    drawn = {
        "transform": [{"filter": "isValid(datum.power)"}],
        "mark": {"type": "rule", "strokeWidth": 4, "color": PALETTE["blue"][0]},
        "encoding": {"x": {"field": "start", **x}, "x2": {"field": "end"}, "y": {"field": "power", **y}},
    }
    limit = {
        "data": {"values": [{"limit": limit_w, "text": "power limit"}]},
        "encoding": {"y": {"field": "limit", **y}},
        "layer": [
            {"mark": {"type": "rule", "strokeDash": [4, 3], "color": INK}},
            {
                "mark": {"type": "text", "align": "left", "x": 4, "dy": -7, "color": MUTED},
                "encoding": {"text": {"field": "text"}},
            },
        ],
    }  # fmt: skip
    over_time = {
        "data": {"values": sampled},
        "mark": {"type": "line", "strokeWidth": 1.5, "color": INK},
        "encoding": {
            "x": {"field": "at", **x}, "y": {"field": "power", **y},
            "detail": {"field": "part", "type": "nominal"},
        },
    }  # fmt: skip
    layers = [drawn, *([over_time] if sampled else []), *([limit] if limit_w else [])]
    return {"width": WIDTH, "height": 120, "layer": layers}
