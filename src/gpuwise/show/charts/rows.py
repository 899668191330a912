"""Charts of named rows: bars, ratios, shares of kernel time, spans in time.

Measuring text is what drawing costs, so nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from types import MappingProxyType
from typing import Any, Literal, get_args

from gpuwise.show.charts.theme import (
    INK,
    LETTER,
    MUTED,
    PALETTE,
    WIDTH,
    Chart,
    Mark,
    apart,
    colour,
    framed,
    in_order,
    row_axis,
    rows,
    shape,
)

# Share of the longest bar that the axis reaches, so that the text beside it has room.
ROOM = 1.5
# Kind of kernel -> colour, in the order in which they are drawn.
KINDS: Mapping[str, str] = MappingProxyType(
    {
        "matmul": PALETTE["blue"][0],
        "convolution": PALETTE["orange"][0],
        "attention": PALETTE["green"][0],
        "normalisation": PALETTE["purple"][0],
        "pointwise": PALETTE["brown"][0],
        "link": PALETTE["red"][0],
        "other": PALETTE["grey"][0],
    }
)
# Kind, of those that have a colour -> share of all kernel time.
Shares = Mapping[str, float]

# held down at times: of which no samples were kept that would say when.
State = Literal["full clock", "held down at times", "held down", "unknown"]
STATES: dict[State, str] = dict(
    zip(get_args(State), (PALETTE[name][0] for name in ("blue", "orange", "red", "grey")), strict=True)
)
# A clock that is held down is a lower bar, for those who see no colours.
HEIGHTS: dict[State, int] = dict(zip(get_args(State), (12, 9, 6, 3), strict=True))
# (begin, end, what the clock did), in seconds on the chart's axis.
Stretch = tuple[float, float, State]
_TICKS = (
    (3, (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3)),
    (20, (0.05, 0.1, 0.2, 0.3, 0.5, 1, 1.5, 2, 3, 4, 6, 10, 20)),
    (float("inf"), (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 1000)),
)


def bars(marks: Sequence[Mark], *, description: str, colour_title: str | None = None) -> Chart:
    """Horizontal bars with intervals and the value in words: a block a group, each with an axis of its own,
    because groups may count different items."""
    names = in_order([mark.colour for mark in marks])
    y = row_axis([mark.label for mark in marks])
    blocks: list[Chart] = []
    for group in in_order([mark.group for mark in marks]):
        mine = [mark for mark in marks if mark.group == group]
        channel = colour("colour", names)
        if blocks:
            channel["legend"] = None
        elif colour_title and channel["legend"]:
            channel["legend"]["title"] = colour_title
        x = {
            "type": "quantitative", "title": None, "axis": None,  # each bar has its value beside it
            "scale": {"domain": [0, max(mark.high for mark in mine) * ROOM], "nice": False},
        }  # fmt: skip
        bar = {"y": y, "x": {"field": "value", **x}, "color": channel}
        ends = {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}}
        text = {"y": y, "x": {"field": "high", **x}, "text": {"field": "shown"}}
        blocks.append({
            "title": {"text": group, "anchor": "start", "fontSize": 13, "color": INK, "offset": 6},
            "width": WIDTH, "height": {"step": 24}, "data": {"values": rows(apart(mine))},
            "layer": [
                {"mark": {"type": "bar", "height": 15, "cornerRadiusEnd": 2}, "encoding": bar},
                {
                    "transform": [{"filter": "datum.low < datum.high"}],
                    "mark": {"type": "rule", "strokeWidth": 2, "color": INK}, "encoding": ends,
                },
                {"mark": {"type": "text", "align": "left", "dx": 6}, "encoding": text},
            ],
        })  # fmt: skip
    return framed({"vconcat": blocks, "spacing": 14}, description=description)


def extent(marks: Sequence[Mark]) -> tuple[float, float]:
    """Ends of the logarithmic axis of ratios, which always holds 1."""
    low, high = min(1.0, *(m.low for m in marks)), max(1.0, *(m.high for m in marks))
    return low / 1.1, high * 1.1


def ticks(ends: tuple[float, float]) -> list[float]:
    """Round ratios between the ends, the coarser the farther these are apart; 1 is always among them."""
    known = next(known for widest, known in _TICKS if ends[1] / ends[0] <= widest)
    return [tick for tick in known if ends[0] <= tick <= ends[1]]


def ratios(marks: Sequence[Mark], *, title: str) -> Chart:
    """Points with their intervals around the line at 1, where nothing differs: a block of rows a group, all
    on one logarithmic axis. Colour and shape say the same."""
    groups, names = in_order([mark.group for mark in marks]), in_order([mark.colour for mark in marks])
    # One axis for all groups: ratios compare across them, which throughputs do not.
    ends, y, hue = extent(marks), row_axis([mark.label for mark in marks], grid=True), colour("colour", names)
    blocks = []
    for group in groups:
        last = group == groups[-1]
        x = {
            "type": "quantitative", "title": title if last else None,
            "scale": {"type": "log", "domain": list(ends), "nice": False},
            "axis": {"format": "~r", "values": ticks(ends), "domain": False, "labels": last},
        }  # fmt: skip
        interval = {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}, "color": hue}
        point = {"y": y, "x": {"field": "value", **x}, "color": hue, "shape": shape("colour", names)}
        heading = {"text": group, "anchor": "start", "fontSize": 13, "color": INK, "offset": 4}
        blocks.append({
            **({"title": heading} if group else {}),
            "width": WIDTH, "height": {"step": 21},
            "data": {"values": rows(apart([mark for mark in marks if mark.group == group]))},
            "layer": [
                {
                    "data": {"values": [{"one": 1}]},
                    "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]},
                    "encoding": {"x": {"field": "one", **x}},
                },
                {"mark": {"type": "rule", "strokeWidth": 3}, "encoding": interval},
                {"mark": {"type": "point", "size": 80, "filled": True, "opacity": 1}, "encoding": point},
            ],
        })  # fmt: skip
    return framed({"vconcat": blocks, "spacing": 10}, description=title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A mark on a common axis, in percent of its width."""

    mark: Mark
    begin: float
    """Where its bar begins: 0, or the line at 1 of ratios."""
    value: float
    low: float
    high: float


def placed(marks: Sequence[Mark], *, ratio: bool = False) -> list[tuple[str, list[Drawn]]]:
    """(group, its marks on one axis): what a page draws by itself, as wide as there is room.

    Bars of a group fill its axis; ratios of all groups share a logarithmic one.
    """
    found = []
    # A factor of two is as long in both directions on a logarithmic axis.
    ends = extent(marks) if ratio and marks else (0.0, 1.0)
    for group in in_order([mark.group for mark in marks]):
        mine = [mark for mark in marks if mark.group == group]
        most = max((mark.high for mark in mine), default=0.0) or 1.0

        def at(value: float, most: float = most) -> float:
            if not ratio:
                return min(100.0, max(0.0, 100 * value / most))
            return 100 * log(max(value, ends[0]) / ends[0]) / log(ends[1] / ends[0])

        found.append((
            group,
            [
                Drawn(
                    mark=m, begin=at(1.0) if ratio else 0.0, value=at(m.value), low=at(m.low), high=at(m.high)
                )
                for m in mine
            ],
        ))  # fmt: skip
    return found


def kernels(parts: Sequence[tuple[str, Shares]]) -> Chart:
    """Where the time of a step goes: a bar for each label, cut into the shares of kinds; a part names its
    kind where there is room."""
    data: list[dict[str, Any]] = []
    for label, shares in parts:
        start = 0.0
        for kind in (kind for kind in KINDS if shares.get(kind, 0.0) > 0):
            share, end = shares[kind], min(1.0, start + shares[kind])
            shown = kind if LETTER * (len(kind) + 1) < share * WIDTH else ""
            data.append({
                "label": label, "kind": kind, "start": start, "end": end, "middle": (start + end) / 2,
                "shown": shown,
            })  # fmt: skip
            start = end
    present = [kind for kind in KINDS if any(part["kind"] == kind for part in data)]
    y = row_axis([label for label, _ in parts])
    x = {
        "field": "start", "type": "quantitative", "title": "share of kernel time",
        "scale": {"domain": [0, 1], "nice": False}, "axis": {"format": "%", "grid": False, "tickCount": 5},
    }  # fmt: skip
    filled = {"y": y, "x": x, "x2": {"field": "end"}, "color": colour("kind", present, own=KINDS)}
    named = {"y": y, "x": {**x, "field": "middle"}, "text": {"field": "shown"}}
    return framed(
        {
            "width": WIDTH,
            "height": {"step": 24},
            "data": {"values": data},
            "layer": [
                {"mark": {"type": "bar", "height": 17}, "encoding": filled},
                {"mark": {"type": "text", "color": PALETTE["paper"][0]}, "encoding": named},
            ],
        },
        description="Share of kernel time by kind of kernel",
    )


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
    powered = any(span.power_w for span in spans)
    data = [
        {"label": s.label, "begin": begin, "end": end, "state": state, "height": HEIGHTS[state]}
        for s in spans
        for begin, end, state in s.stretches
    ]
    seen = [state for state in STATES if any(row["state"] == state for row in data)]
    # The lower part has the labels of both.
    tracks = {
        "width": WIDTH,
        "height": {"step": 18},
        "data": {"values": data},
        "mark": {"type": "bar", "size": {"expr": "datum.height"}},
        "encoding": {
            "y": row_axis([span.label for span in spans]),
            "x": {"field": "begin", **_time("" if powered else f"{unit}, end to end")},
            "x2": {"field": "end"},
            "color": {
                "field": "state", "type": "nominal",
                "scale": {"domain": seen, "range": [STATES[state] for state in seen]},
                "legend": {"title": "clock", "orient": "top", "symbolSize": 90},
            },
        },
    }  # fmt: skip
    parts = [tracks, *([_power(spans, f"{unit}, end to end", power_limit_w)] if powered else [])]
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
        "type": "quantitative", "title": "power of a GPU, W", "scale": {"zero": True},
        "axis": {"tickCount": 5},
    }  # fmt: skip
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
    text = {"type": "text", "align": "left", "x": 4, "dy": -7, "color": MUTED}
    limit = {
        "data": {"values": [{"limit": limit_w, "text": "power limit"}]},
        "encoding": {"y": {"field": "limit", **y}},
        "layer": [
            {"mark": {"type": "rule", "strokeDash": [4, 3], "color": INK}},
            {"mark": text, "encoding": {"text": {"field": "text"}}},
        ],
    }
    layers = [mean, *([over_time] if sampled else []), *([limit] if limit_w else [])]
    return {"width": WIDTH, "height": 130, "layer": layers}
