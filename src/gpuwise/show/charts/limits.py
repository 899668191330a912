"""How far a measurement is from what the device can do, and what an item costs in energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

from gpuwise.show.charts.bars import bars
from gpuwise.show.charts.theme import (
    AMOUNT,
    INK,
    LETTER,
    MUTED,
    WIDTH,
    Mark,
    colour,
    decades,
    framed,
    in_order,
)
from gpuwise.show.page import Chart

Point = tuple[str, str, float, float]
"""(question, precision, operations a byte, operations a second)."""
Roof = tuple[str, float, float]
"""(precision, operations a second at most, bytes a second at most)."""


HEIGHT = 340
LINE = 13
"""Points from one line of text to the next."""
DOT = 5
"""Half of a point's mark."""


def energy(marks: Sequence[Mark]) -> Chart:
    """Items per joule, by workload and mode."""
    return bars(marks, description="Items per joule", colour_title="precision")


def roofline(points: Sequence[Point], roofs: Sequence[Roof]) -> Chart:
    """Achieved operations per second over arithmetic intensity, under the roofs that were measured.

    The fastest point of each question carries its name, where there is room.
    roof(x) = min(compute limit, x * memory limit): Williams, Waterman and Patterson, 2009.
    """
    names = in_order([roof[0] for roof in roofs] + [point[1] for point in points])
    ends, span = _ends(points, roofs), _span(points, roofs)
    x = {
        "field": "intensity", "type": "quantitative", "title": "operations per byte of memory traffic",
        "scale": {"type": "log", "domain": list(ends), "nice": False},
        "axis": {"labelExpr": AMOUNT, "values": decades(ends), "grid": False},
    }  # fmt: skip
    y = {
        "field": "rate", "type": "quantitative", "title": "operations per second",
        "scale": {"type": "log", "domain": list(span), "nice": False},
        "axis": {"labelExpr": AMOUNT, "values": decades(span), "grid": False},
    }  # fmt: skip
    shared = {"x": x, "y": y, "color": colour("precision", names, title="precision")}
    return framed(
        {
            "width": WIDTH,
            "height": HEIGHT,
            "layer": [
                {
                    "data": {"values": _slope(roofs, ends)},
                    "mark": {"type": "line", "strokeWidth": 2, "color": MUTED, "clip": True},
                    "encoding": {"x": x, "y": y},
                },
                {
                    "data": {"values": [row for roof in roofs for row in _top(roof, ends)]},
                    "mark": {"type": "line", "strokeWidth": 2},
                    "encoding": shared,
                },
                {
                    "data": {"values": _points(points, _sides(points, ends, span))},
                    "layer": [
                        {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 1}},
                        _names("right", "left", 7),
                        _names("left", "right", -7),
                    ],
                    "encoding": shared,
                },
            ],
        },
        description="Operations per second against operations per byte, under the measured limits",
    )


def _ends(points: Sequence[Point], roofs: Sequence[Roof]) -> tuple[float, float]:
    """Where the axis begins and ends: around every point and every ridge."""
    ridges = [compute / memory for _, compute, memory in roofs]
    every = [point[2] for point in points] + ridges
    return min(every) / 4, max(every) * 4


def _slope(roofs: Sequence[Roof], ends: tuple[float, float]) -> list[dict[str, Any]]:
    """The memory's roof, up to the highest ridge."""
    memory = max((roof[2] for roof in roofs), default=0.0)
    most = max((roof[1] for roof in roofs), default=0.0)
    return [{"intensity": x, "rate": x * memory} for x in (ends[0], most / memory)] if roofs else []


def _top(roof: Roof, ends: tuple[float, float]) -> list[dict[str, Any]]:
    """A precision's roof, from its ridge on."""
    precision, compute, memory = roof
    return [{"precision": precision, "intensity": x, "rate": compute} for x in (compute / memory, ends[1])]


def _span(points: Sequence[Point], roofs: Sequence[Roof]) -> tuple[float, float]:
    """Operations per second from below the slowest point or lowest roof to above the highest."""
    every = [roof[1] for roof in roofs] + [point[3] for point in points]
    return min(every) / 2, max(every) * 1.5


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
            box = (left, left + room, down)
            if point not in found and 0 < left < WIDTH - room and not any(_over(box, one) for one in taken):
                taken.append(box)
                found[point] = side
    return found


def _over(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    """Whether two lines of text, (left, right, down) in points, touch."""
    return one[0] < other[1] and other[0] < one[1] and abs(one[2] - other[2]) < LINE


def _names(side: str, align: str, dx: int) -> Chart:
    return {
        "mark": {"type": "text", "align": align, "dx": dx, "color": INK},
        "encoding": {"text": {"field": side}, "color": {"value": MUTED}},
    }


def _points(points: Sequence[Point], sides: Mapping[Point, str]) -> list[dict[str, Any]]:
    return [
        {
            "name": point[0], "precision": point[1], "intensity": point[2], "rate": point[3],
            **{side: point[0] if sides.get(point) == side else "" for side in ("right", "left")},
        }
        for point in points
    ]  # fmt: skip
