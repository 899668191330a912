"""Sessions in time: what the clock did while what ran, and at what power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gpuwise.show.charts.theme import INK, MUTED, PALETTE, WIDTH, framed, row_axis
from gpuwise.show.page import Chart

State = Literal["full clock", "held down at times", "held down", "unknown"]
"""held down at times: of which no samples were kept that would say when."""
COLOURS: dict[State, str] = dict(
    zip(get_args(State), (PALETTE[name][0] for name in ("blue", "orange", "red", "grey")), strict=True)
)
HEIGHTS: dict[State, int] = dict(zip(get_args(State), (12, 9, 6, 3), strict=True))
"""A clock that is held down is a lower bar, for those who see no colours."""
Stretch = tuple[float, float, State]
"""(begin, end, what the clock did), in seconds on the chart's axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One measurement on the row of its `label`; times in seconds on the chart's axis."""

    label: str
    stretches: tuple[Stretch, ...]
    power_w: float | None = None
    """Mean of the whole, of each GPU."""
    power: tuple[tuple[float, float], ...] = ()
    """(time, watts) of each sample that was kept."""


def timeline(
    spans: Sequence[Span], *, power_limit_w: float | None = None, unit: str = "seconds of timed windows"
) -> Chart:
    """Rows of spans, coloured by what the clock did, and the power below them where it is known."""
    title = f"{unit}, end to end"
    powered = any(span.power_w for span in spans)
    rows = [
        {"label": s.label, "begin": begin, "end": end, "state": state, "height": HEIGHTS[state]}
        for s in spans
        for begin, end, state in s.stretches
    ]
    seen = [state for state in COLOURS if any(row["state"] == state for row in rows)]
    tracks = {
        "width": WIDTH,
        "height": {"step": 18},
        "data": {"values": rows},
        "mark": {"type": "bar", "size": {"expr": "datum.height"}},
        "encoding": {
            "y": row_axis([span.label for span in spans]),
            "x": {"field": "begin", **_time("" if powered else title)}, "x2": {"field": "end"},
            "color": {
                "field": "state", "type": "nominal",
                "scale": {"domain": seen, "range": [COLOURS[state] for state in seen]},
                "legend": {"title": "clock", "orient": "top", "symbolSize": 90},
            },
        },
    }  # fmt: skip
    parts = [tracks, *([_power(spans, title, power_limit_w)] if powered else [])]
    return framed(
        {"vconcat": parts, "resolve": {"scale": {"x": "shared"}}, "spacing": 8},
        description="Measurements over time, with lowered clocks and power",
    )


def _time(title: str) -> dict[str, Any]:
    """The axis of time; without a title it is that of the part below."""
    axis = {"tickCount": 8, "labels": bool(title), "domain": False, "ticks": bool(title)}
    return {"type": "quantitative", "title": title or None, "axis": axis, "scale": {"nice": False}}


def _power(spans: Sequence[Span], title: str, limit_w: float | None) -> Chart:
    """The mean of each measurement, and where samples were kept the power over time."""
    x = _time(title)
    y = {
        "type": "quantitative",
        "title": "power of a GPU, W",
        "scale": {"zero": True},
        "axis": {"tickCount": 5},
    }
    means = [
        {"begin": s.stretches[0][0], "end": s.stretches[-1][1], "power": s.power_w}
        for s in spans
        if s.power_w
    ]
    sampled = [
        {"part": part, "at": at_s, "power": power_w}
        for part, s in enumerate(spans)
        for at_s, power_w in s.power
    ]
    mean = {
        "data": {"values": means},
        "mark": {"type": "rule", "strokeWidth": 4, "color": PALETTE["blue"][0], "opacity": 0.6},
        "encoding": {"x": {"field": "begin", **x}, "x2": {"field": "end"}, "y": {"field": "power", **y}},
    }
    over_time = {
        "data": {"values": sampled},
        "mark": {"type": "line", "strokeWidth": 1.2, "color": INK},
        "encoding": {
            "x": {"field": "at", **x}, "y": {"field": "power", **y},
            "detail": {"field": "part", "type": "nominal"},
        },
    }  # fmt: skip
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
    layers = [mean, *([over_time] if sampled else []), *([limit] if limit_w else [])]
    return {"width": WIDTH, "height": 130, "layer": layers}
