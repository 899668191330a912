"""Charts as Vega-Lite specifications: pure functions from plain values to dicts, data included.

Rendered offline by `show.html`, or by any Vega-Lite reader. Colours are those of `theme`, which the HTML page
replaces by variables that follow light, dark and print.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import log
from typing import Any, Literal, get_args

from gpuwise.show.theme import (
    AMOUNT,
    INK,
    LETTER,
    MUTED,
    PALETTE,
    WIDTH,
    Chart,
    Mark,
    colour,
    framed,
    in_order,
    log_axis,
    row_axis,
    shape,
)

HEIGHT, TALL = 250, 420
# Share of the longest bar that the axis reaches, so that the text beside it has room.
ROOM = 1.5
# Points from one line of text to the next, and half of a point's mark: names closer than these collide.
LINE, DOT = 13, 5
# Kind of kernel -> colour, in the order in which they are drawn.
KINDS: Mapping[str, str] = {
    "matmul": PALETTE["blue"][0],
    "convolution": PALETTE["orange"][0],
    "attention": PALETTE["green"][0],
    "normalisation": PALETTE["purple"][0],
    "pointwise": PALETTE["brown"][0],
    "link": PALETTE["red"][0],
    "other": PALETTE["grey"][0],
}
# Kind, of those that have a colour -> share of all kernel time.
Shares = Mapping[str, float]
# (name, precision, operations a byte, operations a second).
Point = tuple[str, str, float, float]
# (precision, operations a second at most, bytes a second at most).
Roof = tuple[str, float, float]
# held down at times: of which no samples were kept that would say when.
State = Literal["full clock", "held down at times", "held down", "unknown"]
STATES: dict[State, str] = dict(
    zip(get_args(State), (PALETTE[name][0] for name in ("blue", "orange", "red", "grey")), strict=True)
)
# A clock that is held down is a lower bar, for those who see no colours.
HEIGHTS: dict[State, int] = dict(zip(get_args(State), (12, 9, 6, 3), strict=True))
# (begin, end, what the clock did), in seconds on the chart's axis.
Stretch = tuple[float, float, State]
# Widest span of an axis of ratios -> its marks.
_TICKS = (
    (3, (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3)),
    (20, (0.05, 0.1, 0.2, 0.3, 0.5, 1, 1.5, 2, 3, 4, 6, 10, 20)),
    (float("inf"), (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 1000)),
)


def bars(marks: Sequence[Mark], *, description: str, colour_title: str | None = None) -> Chart:
    """Horizontal bars with intervals and the value in words: a block a group, each with an axis of its own,
    because groups may count different items."""
    names, y = in_order([mark.colour for mark in marks]), row_axis([mark.label for mark in marks])
    blocks: list[Chart] = []
    for group in in_order([mark.group for mark in marks]):
        mine = [mark for mark in marks if mark.group == group]
        hue = colour("colour", names, title=colour_title)
        x = {
            "type": "quantitative", "title": None, "axis": None,  # each bar has its value beside it
            "scale": {"domain": [0, max(mark.high for mark in mine) * ROOM], "nice": False},
        }  # fmt: skip
        text = {"y": y, "x": {"field": "high", **x}, "text": {"field": "shown"}}
        blocks.append(_block(group, mine, 24, [
            {
                "mark": {"type": "bar", "height": 15, "cornerRadiusEnd": 2},
                # One legend is enough for all blocks.
                "encoding": {
                    "y": y, "x": {"field": "value", **x}, "color": hue | {"legend": None} if blocks else hue,
                },
            },
            {
                "transform": [{"filter": "datum.low < datum.high"}],
                "mark": {"type": "rule", "strokeWidth": 2, "color": INK},
                "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}},
            },
            {"mark": {"type": "text", "align": "left", "dx": 6}, "encoding": text},
        ]))  # fmt: skip
    return framed(description, {"vconcat": blocks, "spacing": 14})


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
        blocks.append(_block(group, [mark for mark in marks if mark.group == group], 21, [
            {
                "data": {"values": [{"one": 1}]},
                "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]},
                "encoding": {"x": {"field": "one", **x}},
            },
            {"mark": {"type": "rule", "strokeWidth": 3}, "encoding": interval},
            {"mark": {"type": "point", "size": 80}, "encoding": point},
        ]))  # fmt: skip
    return framed(title, {"vconcat": blocks, "spacing": 10})


def _block(group: str, marks: Sequence[Mark], step: int, layer: list[Chart]) -> Chart:
    """Named rows under the heading of their group."""
    seen: Counter[str] = Counter()
    data = []
    for mark in marks:
        seen[mark.label] += 1
        # Two rows of one name would be drawn over each other.
        again = f" ({seen[mark.label]})" if seen[mark.label] > 1 else ""
        data.append(asdict(replace(mark, label=mark.label + again)))
    heading = {"title": {"text": group, "anchor": "start", "fontSize": 13, "color": INK, "offset": 5}}
    return {
        **(heading if group else {}),
        "width": WIDTH, "height": {"step": step}, "data": {"values": data}, "layer": layer,
    }  # fmt: skip


def extent(marks: Sequence[Mark]) -> tuple[float, float]:
    """Ends of the logarithmic axis of ratios, which always holds 1."""
    low, high = min(1.0, *(m.low for m in marks)), max(1.0, *(m.high for m in marks))
    return low / 1.1, high * 1.1


def ticks(ends: tuple[float, float]) -> list[float]:
    """Round ratios between the ends, the coarser the farther these are apart; 1 is always among them."""
    known = next(known for widest, known in _TICKS if ends[1] / ends[0] <= widest)
    return [tick for tick in known if ends[0] <= tick <= ends[1]]


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

        begin = at(1.0) if ratio else 0.0
        drawn = [Drawn(mark=m, begin=begin, value=at(m.value), low=at(m.low), high=at(m.high)) for m in mine]
        found.append((group, drawn))
    return found


def lines(marks: Sequence[Mark], *, item: str, over: Literal["batch", "GPUs"]) -> Chart:
    """Throughput over what the labels count, one line a colour. Over GPUs it has its intervals, and what n
    times one would be."""
    names = in_order([mark.colour for mark in marks])
    data = [asdict(mark) | {"count": int(mark.label)} for mark in marks]
    counts = sorted({row["count"] for row in data})
    alone = over == "GPUs"
    x = {
        "field": "count", "type": "quantitative",
        "title": "GPUs (dashed: n times one)" if alone else "batch size",
        "axis": {"grid": False, "format": "d", "values": counts},
        # Batches double; GPUs are few, and a straight line should look straight.
        **({} if alone else {"scale": {"type": "log", "base": 2, "nice": False}}),
    }  # fmt: skip
    y = {
        "type": "quantitative", "title": f"{item}s per second{', all GPUs' if alone else ''}",
        "axis": {"tickCount": 5, "labelExpr": AMOUNT},
    }  # fmt: skip
    value = {"x": x, "y": {"field": "value", **y}, "color": colour("colour", names)}
    interval = value | {"y": {"field": "low", **y}, "y2": {"field": "high"}}
    each = marks[0].value / int(marks[0].label)
    ideal = {
        "data": {"values": [{"count": n, "value": each * n} for n in (1, counts[-1])]},
        "mark": {"type": "line", "strokeDash": [4, 3], "strokeWidth": 1.5, "color": MUTED},
        "encoding": {"x": x, "y": value["y"]},
    }
    whisker = {"mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.5}, "encoding": interval}
    layer = [
        *((ideal, whisker) if alone else ()),
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": value},
        {"mark": "point", "encoding": value | {"shape": shape("colour", names)}},
    ]
    described = f"{item}s per second by {'the number of GPUs' if alone else 'batch size'}"
    return framed(described, {"width": WIDTH, "height": 260, "data": {"values": data}, "layer": layer})


def roofline(points: Sequence[Point], roofs: Sequence[Roof]) -> Chart:
    """Achieved operations per second over arithmetic intensity, under the roofs that were measured.

    The fastest point of each name carries it, where there is room.
    roof(x) = min(compute limit, x * memory limit): Williams, Waterman and Patterson, 2009.
    """
    names = in_order([roof[0] for roof in roofs] + [point[1] for point in points])
    # The axes hold every point and every ridge, where a roof turns from memory to compute.
    across = [point[2] for point in points] + [compute / memory for _, compute, memory in roofs]
    up = [point[3] for point in points] + [compute for _, compute, _ in roofs]
    ends, span = (min(across) / 4, max(across) * 4), (min(up) / 2, max(up) * 1.5)
    x = log_axis("operations per byte of memory traffic", ends) | {"field": "intensity"}
    y = log_axis("operations per second", span) | {"field": "rate"}
    for axis in (x, y):
        axis["axis"]["grid"] = False
    shared = {"x": x, "y": y, "color": colour("precision", names, title="precision")}
    most = max((compute for _, compute, _ in roofs), default=0.0)
    memory = max((memory for _, _, memory in roofs), default=1.0)
    slope = [{"intensity": at, "rate": at * memory} for at in (ends[0], most / memory)] if roofs else []
    tops = [
        {"precision": precision, "intensity": at, "rate": compute}
        for precision, compute, memory in roofs
        for at in (compute / memory, ends[1])
    ]
    best = {point[0]: point for point in sorted(points, key=lambda point: point[3])}
    sides = name_sides([(p[0] if best[p[0]] is p else "", p[2], p[3]) for p in points], ends, span)
    data = [
        {"name": p[0], "precision": p[1], "intensity": p[2], "rate": p[3], **_named(p[0], side)}
        for p, side in zip(points, sides, strict=True)
    ]
    line = {"type": "line", "strokeWidth": 2}
    return framed("Operations per second against operations per byte, under the measured limits", {
        "width": WIDTH,
        "height": HEIGHT,
        "layer": [
            {
                "data": {"values": slope}, "mark": line | {"color": MUTED, "clip": True},
                "encoding": {"x": x, "y": y},
            },
            {"data": {"values": tops}, "mark": line, "encoding": shared},
            {"data": {"values": data}, "layer": [{"mark": "point"}, *_NAMES], "encoding": shared},
        ],
    })  # fmt: skip


# The name of a point beside it; of the two texts one is empty.
_NAMES = [
    {
        "mark": {"type": "text", "align": align, "dx": dx},
        "encoding": {"text": {"field": side}, "color": {"value": MUTED}},
    }
    for side, align, dx in (("right", "left", 7), ("left", "right", -7))
]


def _named(name: str, side: str) -> dict[str, str]:
    return {each: name if each == side else "" for each in ("right", "left")}


def name_sides(
    points: Sequence[tuple[str, float, float]],
    ends: tuple[float, float],
    span: tuple[float, float],
    size: tuple[float, float] = (WIDTH, HEIGHT),
    first: Sequence[bool] | None = None,
) -> list[str]:
    """Which side of each (name, x, y) on logarithmic axes its name stands on; those that come `first`, then
    those at the top have the choice. Empty where it would lie over another name or a point on both sides, and
    without a name."""
    places = [
        (
            size[0] * log(x / ends[0]) / log(ends[1] / ends[0]),
            size[1] * log(span[1] / y) / log(span[1] / span[0]),
        )
        for _, x, y in points
    ]
    taken = [(across - DOT, across + DOT, down) for across, down in places]
    found = [""] * len(points)
    for number in sorted(range(len(points)), key=lambda n: (not (first and first[n]), places[n][1])):
        name, (across, down) = points[number][0], places[number]
        room = LETTER * len(name) + DOT
        for side, left in (("right", across + DOT), ("left", across - DOT - room)) if name else ():
            # Two lines of text touch where their ends cross and they stand less than a line apart.
            crossed = any(
                left < end and begin < left + room and abs(down - at) < LINE for begin, end, at in taken
            )
            if not crossed and 0 < left < size[0] - room:
                taken.append((left, left + room, down))
                found[number] = side
                break
    return found


def kernels(parts: Sequence[tuple[str, Shares]]) -> Chart:
    """Where the time of a step goes: a bar for each label, cut into the shares of kinds; a part names its
    kind where there is room."""
    data: list[dict[str, Any]] = []
    for label, shares in parts:
        start = 0.0
        for kind in (kind for kind in KINDS if shares.get(kind, 0.0) > 0):
            end = min(1.0, start + shares[kind])
            shown = kind if LETTER * (len(kind) + 1) < shares[kind] * WIDTH else ""
            data.append({"label": label, "kind": kind, "start": start, "end": end, "shown": shown,
                         "middle": (start + end) / 2})  # fmt: skip
            start = end
    present = [kind for kind in KINDS if any(part["kind"] == kind for part in data)]
    y = row_axis([label for label, _ in parts])
    x = {
        "field": "start", "type": "quantitative", "title": "share of kernel time",
        "scale": {"domain": [0, 1], "nice": False}, "axis": {"format": "%", "grid": False, "tickCount": 5},
    }  # fmt: skip
    filled = {"y": y, "x": x, "x2": {"field": "end"}, "color": colour("kind", present, own=KINDS)}
    named = {"y": y, "x": {**x, "field": "middle"}, "text": {"field": "shown"}}
    layer = [
        {"mark": {"type": "bar", "height": 17}, "encoding": filled},
        {"mark": {"type": "text", "color": PALETTE["paper"][0]}, "encoding": named},
    ]
    sized = {"width": WIDTH, "height": {"step": 24}, "data": {"values": data}, "layer": layer}
    return framed("Share of kernel time by kind of kernel", sized)


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

    def time(field: str, *, last: bool) -> dict[str, Any]:
        # The lower part has the labels of both.
        axis = {"tickCount": 8, "labels": last, "domain": False, "ticks": last}
        title = f"{unit}, end to end" if last else None
        return {
            "field": field,
            "type": "quantitative",
            "title": title,
            "axis": axis,
            "scale": {"nice": False},
        }

    data = [
        {"label": s.label, "begin": begin, "end": end, "state": state, "height": HEIGHTS[state]}
        for s in spans
        for begin, end, state in s.stretches
    ]
    seen = {state: STATES[state] for state in STATES if any(row["state"] == state for row in data)}
    tracks = {
        "width": WIDTH,
        "height": {"step": 18},
        "data": {"values": data},
        "mark": {"type": "bar", "size": {"expr": "datum.height"}},
        "encoding": {
            "y": row_axis([span.label for span in spans]),
            "x": time("begin", last=not powered),
            "x2": {"field": "end"},
            "color": {
                "field": "state", "type": "nominal",
                "scale": {"domain": list(seen), "range": list(seen.values())},
                "legend": {"title": "clock", "orient": "top", "symbolSize": 90},
            },
        },
    }  # fmt: skip
    y = {
        "field": "power", "type": "quantitative", "title": "power of a GPU, W", "scale": {"zero": True},
        "axis": {"tickCount": 5},
    }  # fmt: skip
    mean = {
        "data": {"values": [
            {"begin": s.stretches[0][0], "end": s.stretches[-1][1], "power": s.power_w}
            for s in spans if s.power_w
        ]},
        "mark": {"type": "rule", "strokeWidth": 4, "color": PALETTE["blue"][0], "opacity": 0.6},
        "encoding": {"x": time("begin", last=True), "x2": {"field": "end"}, "y": y},
    }  # fmt: skip
    sampled = {
        "data": {"values": [
            {"part": part, "at": at, "power": power}
            for part, s in enumerate(spans) for at, power in s.power
        ]},
        "mark": {"type": "line", "strokeWidth": 1.2, "color": INK},
        "encoding": {"x": time("at", last=True), "y": y, "detail": {"field": "part", "type": "nominal"}},
    }  # fmt: skip
    limit = {
        "data": {"values": [{"power": power_limit_w, "text": "power limit"}]},
        "encoding": {"y": y},
        "layer": [
            {"mark": {"type": "rule", "strokeDash": [4, 3], "color": INK}},
            {
                "mark": {"type": "text", "align": "left", "x": 4, "dy": -7, "color": MUTED},
                "encoding": {"text": {"field": "text"}},
            },
        ],
    }
    layer = [mean, *([sampled] if any(s.power for s in spans) else []), *([limit] if power_limit_w else [])]
    parts = [tracks, *([{"width": WIDTH, "height": 130, "layer": layer}] if powered else [])]
    shared = {"vconcat": parts, "resolve": {"scale": {"x": "shared"}}, "spacing": 8}
    return framed("Measurements over time, with lowered clocks and power", shared)


def tradeoff(points: Sequence[tuple[str, float, float, bool]], *, x: str, y: str, width: int = 0) -> Chart:
    """Points (name, x, y, whether no other is better in both) on logarithmic axes. A line joins those; each
    point carries its name where there is room, those on the line first."""
    width = width or WIDTH
    ends = min(p[1] for p in points) / 1.5, max(p[1] for p in points) * 1.5
    span = min(p[2] for p in points) / 1.3, max(p[2] for p in points) * 1.3
    fronts = "no other is both faster and cheaper", "others"
    sides = name_sides(
        [(p[0], p[1], p[2]) for p in points], ends, span, (width, TALL), [p[3] for p in points]
    )
    data: list[dict[str, Any]] = [
        {"label": p[0], "x": p[1], "y": p[2], "front": fronts[not p[3]], **_named(p[0], side)}
        for p, side in zip(points, sides, strict=True)
    ]
    joined = sorted((row for row in data if row["front"] == fronts[0]), key=lambda row: row["x"])
    place = {"x": log_axis(x, ends) | {"field": "x"}, "y": log_axis(y, span) | {"field": "y"}}
    line = {
        "data": {"values": joined}, "mark": {"type": "line", "strokeDash": [4, 3], "color": MUTED},
        "encoding": place,
    }  # fmt: skip
    dots = {
        "data": {"values": data},
        "layer": [{"mark": "point", "encoding": {"shape": shape("front", fronts)}}, *_NAMES],
        "encoding": place | {"color": colour("front", fronts)},
    }
    return framed(f"{y} against {x}", {"width": width, "height": TALL, "layer": [line, dots]})


def over_time(marks: Sequence[Mark], *, title: str) -> Chart:
    """Values by month, one line a series; `label` holds the month."""
    # Names of series are long: one below the other.
    below = {"title": None, "orient": "bottom", "columns": 1}
    names = in_order([mark.colour for mark in marks])
    encoding = {
        "x": {"field": "month", "type": "temporal", "title": None, "axis": {"grid": False}},
        "y": {"field": "value", "type": "quantitative", "title": title, "axis": {"tickCount": 5}},
        "color": colour("colour", names) | {"legend": below},
    }
    layer = [{"mark": {"type": "line", "strokeWidth": 2}}, {"mark": "point"}]
    data = {"values": [asdict(mark) | {"month": f"{mark.label}-01"} for mark in marks]}
    return framed(
        f"{title}, by month",
        {"width": WIDTH, "height": 260, "data": data, "layer": layer, "encoding": encoding},
    )


def frontier(points: Sequence[tuple[float, float]]) -> list[int]:
    """The places of those (price, speed) that no other one beats on both, by price."""
    found: list[int] = []
    for number in sorted(range(len(points)), key=lambda number: (points[number][0], -points[number][1])):
        if not found or points[number][1] > points[found[-1]][1]:
            found.append(number)
    return found
