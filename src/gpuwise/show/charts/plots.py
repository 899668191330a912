"""Charts of two quantities: roofline, measured against others, throughput over batch and over GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

from gpuwise.show.charts.theme import (
    AMOUNT,
    INK,
    LETTER,
    MUTED,
    WIDTH,
    Chart,
    Mark,
    colour,
    decades,
    framed,
    in_order,
    rows,
    shape,
)

# (question, precision, operations a byte, operations a second).
Point = tuple[str, str, float, float]
# (precision, operations a second at most, bytes a second at most).
Roof = tuple[str, float, float]
HEIGHT = 250
# Points from one line of text to the next.
LINE = 13
# Half of a point's mark.
DOT = 5
TALL = 230
_POINT = {"type": "point", "filled": True, "size": 60, "opacity": 1}


def roofline(points: Sequence[Point], roofs: Sequence[Roof]) -> Chart:
    """Achieved operations per second over arithmetic intensity, under the roofs that were measured.

    The fastest point of each question carries its name, where there is room.
    roof(x) = min(compute limit, x * memory limit): Williams, Waterman and Patterson, 2009.
    """
    names = in_order([roof[0] for roof in roofs] + [point[1] for point in points])
    # The axes hold every point and every ridge, where a roof turns from memory to compute.
    across = [point[2] for point in points] + [compute / memory for _, compute, memory in roofs]
    up = [point[3] for point in points] + [compute for _, compute, _ in roofs]
    ends, span = (min(across) / 4, max(across) * 4), (min(up) / 2, max(up) * 1.5)
    x = _axis("operations per byte of memory traffic", ends) | {"field": "intensity"}
    y = _axis("operations per second", span) | {"field": "rate"}
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
    sides = _sides(points, ends, span)
    data: list[dict[str, Any]] = [
        {
            "name": point[0], "precision": point[1], "intensity": point[2], "rate": point[3],
            **{side: point[0] if sides.get(point) == side else "" for side in ("right", "left")},
        }
        for point in points
    ]  # fmt: skip
    named = [
        {
            "mark": {"type": "text", "align": align, "dx": dx, "color": INK},
            "encoding": {"text": {"field": side}, "color": {"value": MUTED}},
        }
        for side, align, dx in (("right", "left", 7), ("left", "right", -7))
    ]
    return framed(
        {
            "width": WIDTH,
            "height": HEIGHT,
            "layer": [
                {
                    "data": {"values": slope},
                    "mark": {"type": "line", "strokeWidth": 2, "color": MUTED, "clip": True},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "data": {"values": tops}, "mark": {"type": "line", "strokeWidth": 2},
                    "encoding": shared,
                },
                {
                    "data": {"values": data}, "layer": [{"mark": {**_POINT, "size": 70}}, *named],
                    "encoding": shared,
                },
            ],
        },
        description="Operations per second against operations per byte, under the measured limits",
    )  # fmt: skip


def _sides(points: Sequence[Point], ends: tuple[float, float], span: tuple[float, float]) -> dict[Point, str]:
    """Which side of the fastest point of each question its name stands on; nothing where it would lie over
    another name or a point on both."""
    places = {
        point: (
            WIDTH * log(point[2] / ends[0]) / log(ends[1] / ends[0]),
            HEIGHT * log(span[1] / point[3]) / log(span[1] / span[0]),
        )
        for point in points
    }
    taken = [(across - DOT, across + DOT, down) for across, down in places.values()]
    best = {point[0]: point for point in sorted(points, key=lambda point: point[3])}
    found = {}
    for point in sorted(best.values(), key=lambda point: -point[3]):
        (across, down), room = places[point], LETTER * len(point[0]) + DOT
        for side, left in (("right", across + DOT), ("left", across - DOT - room)):
            # Two lines of text touch where their ends cross and they stand less than a line apart.
            crossed = any(
                left < end and begin < left + room and abs(down - at) < LINE for begin, end, at in taken
            )
            if point not in found and 0 < left < WIDTH - room and not crossed:
                taken.append((left, left + room, down))
                found[point] = side
    return found


def agreement(marks: Sequence[tuple[Mark, float]]) -> Chart:
    """(what the other says with its interval, what was measured), both in items per second: on the diagonal
    both agree."""
    others = [mark for mark, _ in marks]
    names = in_order([mark.colour for mark in others])
    data = [row | {"measured": measured} for row, (_, measured) in zip(rows(others), marks, strict=True)]
    every = [value for mark, measured in marks for value in (mark.low, mark.high, measured)]
    ends = min(every) / 1.3, max(every) * 1.3
    x = _axis("published or predicted, items per second", ends)
    y = _axis("measured, items per second", ends)
    hue = {"color": colour("colour", names), "shape": shape("colour", names)}
    for channel in hue.values():
        channel["legend"] = channel["legend"] and {**channel["legend"], "symbolOpacity": 1}
    interval = {
        "x": {"field": "low", **x}, "x2": {"field": "high"}, "y": {"field": "measured", **y},
        "color": hue["color"],
    }  # fmt: skip
    return framed(
        {
            "width": WIDTH,
            "height": TALL,
            "data": {"values": data},
            "layer": [
                {
                    "data": {"values": [{"at": end} for end in ends]},
                    "mark": {"type": "line", "color": INK, "strokeDash": [4, 3], "strokeWidth": 1},
                    "encoding": {"x": {"field": "at", **x}, "y": {"field": "at", **y}},
                },
                {"mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.45}, "encoding": interval},
                {
                    "mark": {**_POINT, "size": 35},
                    "encoding": {"x": {"field": "value", **x}, "y": {"field": "measured", **y}, **hue},
                },
            ],
        },
        description="Measured speeds over published and predicted ones",
    )


def _axis(title: str, ends: tuple[float, float]) -> dict[str, Any]:
    return {
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "domain": list(ends), "nice": False},
        "axis": {"labelExpr": AMOUNT, "values": decades(ends)},
    }


def batches(marks: Sequence[Mark], *, item: str) -> Chart:
    """Throughput against batch size, one line a configuration; `label` holds the batch."""
    names = in_order([mark.colour for mark in marks])
    data = [row | {"batch": int(row["label"])} for row in rows(marks)]
    return framed(
        {
            "width": WIDTH,
            "height": 260,
            "data": {"values": data},
            "layer": [{"mark": {"type": "line", "strokeWidth": 2}}, {"mark": _POINT}],
            "encoding": {
                "x": {
                    "field": "batch", "type": "quantitative", "title": "batch size",
                    "scale": {"type": "log", "base": 2, "nice": False},
                    "axis": {"grid": False, "format": "d", "values": sorted({row["batch"] for row in data})},
                },
                "y": {
                    "field": "value", "type": "quantitative", "title": f"{item}s per second",
                    "axis": {"tickCount": 5, "labelExpr": AMOUNT},
                },
                "color": colour("colour", names),
                "shape": shape("colour", names),
            },
        },
        description=f"{item}s per second by batch size",
    )  # fmt: skip


def scaling(marks: Sequence[Mark], *, item: str) -> Chart:
    """Throughput over the number of GPUs (`label`), with the interval as a band, and what linear would be."""
    names = in_order([mark.colour for mark in marks])
    data = [row | {"count": int(row["label"])} for row in rows(marks)]
    shared = {
        "x": {
            "field": "count", "type": "quantitative", "title": "GPUs (dashed: n times one)",
            "axis": {"grid": False, "values": sorted({row["count"] for row in data}), "format": "d"},
        },
        "color": colour("colour", names),
    }  # fmt: skip
    y = {
        "type": "quantitative", "title": f"{item}s per second, all GPUs",
        "axis": {"tickCount": 5, "labelExpr": AMOUNT},
    }  # fmt: skip
    value = {**shared, "y": {"field": "value", **y}}
    interval = {**shared, "y": {"field": "low", **y}, "y2": {"field": "high"}}
    each = marks[0].value / int(marks[0].label)
    ideal = [{"count": n, "value": each * n} for n in (1, max(row["count"] for row in data))]
    return framed(
        {
            "width": WIDTH,
            "height": 260,
            "data": {"values": data},
            "layer": [
                {
                    "data": {"values": ideal},
                    "mark": {"type": "line", "strokeDash": [4, 3], "strokeWidth": 1.5, "color": MUTED},
                    "encoding": {"x": shared["x"], "y": value["y"]},
                },
                {"mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.5}, "encoding": interval},
                {"mark": {"type": "line", "strokeWidth": 2}, "encoding": value},
                {"mark": _POINT, "encoding": value},
            ],
        },
        description=f"{item}s per second by the number of GPUs",
    )


def over_time(marks: Sequence[Mark], *, title: str) -> Chart:
    """Values by month, one line a series; `label` holds the month."""
    names = in_order([mark.colour for mark in marks])
    # Names of series are long: one below the other.
    below = {"title": None, "orient": "bottom", "columns": 1}
    return framed(
        {
            "width": WIDTH,
            "height": 260,
            "data": {"values": [row | {"month": f"{row['label']}-01"} for row in rows(marks)]},
            "layer": [{"mark": {"type": "line", "strokeWidth": 2}}, {"mark": _POINT}],
            "encoding": {
                "x": {"field": "month", "type": "temporal", "title": None, "axis": {"grid": False}},
                "y": {"field": "value", "type": "quantitative", "title": title, "axis": {"tickCount": 5}},
                "color": {**colour("colour", names), "legend": below},
            },
        },
        description=f"{title}, by month",
    )  # fmt: skip


def tradeoff(points: Sequence[tuple[str, float, float, bool]], *, x: str, y: str) -> Chart:
    """Points (name, x, y, whether no other is better in both) on logarithmic axes; those joined and named."""
    front = "no other is both faster and cheaper"
    data: list[dict[str, Any]] = [
        {"label": name, "x": a, "y": b, "front": front if best else "others"} for name, a, b, best in points
    ]
    joined = [row for row in sorted(data, key=lambda row: row["x"]) if row["front"] == front]
    axes = {
        "x": {"field": "x", "type": "quantitative", "title": x, "scale": {"type": "log"},
              "axis": {"grid": False, "tickCount": 5}},
        "y": {"field": "y", "type": "quantitative", "title": y, "scale": {"type": "log"},
              "axis": {"tickCount": 5}},
    }  # fmt: skip
    return framed(
        {
            "width": WIDTH,
            "height": 300,
            "layer": [
                {
                    "data": {"values": joined},
                    "mark": {"type": "line", "strokeDash": [4, 3], "color": MUTED},
                    "encoding": axes,
                },
                {
                    "data": {"values": data},
                    "mark": _POINT,
                    "encoding": {
                        **axes,
                        "color": colour("front", [front, "others"]),
                        "shape": shape("front", [front, "others"]),
                    },
                },
                {
                    "data": {"values": joined},
                    "mark": {"type": "text", "align": "left", "dx": DOT + 3, "dy": -DOT, "color": INK},
                    "encoding": {**axes, "text": {"field": "label"}},
                },
            ],
        },
        description=f"{y} against {x}",
    )
