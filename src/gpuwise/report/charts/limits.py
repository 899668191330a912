"""How far a measurement is from what the device can do, and what an item costs in energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuwise.report.charts.bars import bars
from gpuwise.report.charts.theme import INK, MUTED, WIDTH, Mark, colour, framed, in_order
from gpuwise.report.page import Chart

Point = tuple[str, str, float, float]
"""(question, precision, operations a byte, operations a second)."""
Roof = tuple[str, float, float]
"""(precision, operations a second at most, bytes a second at most)."""


LABELS = 8
"""More names than these would lie over each other."""


def energy(marks: Sequence[Mark]) -> Chart:
    """Items per joule, by workload and mode."""
    return bars(marks, description="Items per joule", colour_title="precision")


def roofline(points: Sequence[Point], roofs: Sequence[Roof]) -> Chart:
    """Achieved operations per second over arithmetic intensity, under the roofs that were measured.

    The fastest point of each question carries its name, where there are few enough to be read.
    roof(x) = min(compute limit, x * memory limit): Williams, Waterman and Patterson, 2009.
    """
    names = in_order([roof[0] for roof in roofs] + [point[1] for point in points])
    ends = _ends(points, roofs)
    x = {
        "field": "intensity", "type": "quantitative", "title": "operations per byte of memory traffic",
        "scale": {"type": "log", "domain": list(ends), "nice": False},
        "axis": {"format": "~s", "tickCount": 6, "grid": False},
    }  # fmt: skip
    y = {
        "field": "rate", "type": "quantitative", "title": "operations per second",
        "scale": {"type": "log"}, "axis": {"format": "~s", "tickCount": 6, "grid": False},
    }  # fmt: skip
    shared = {"x": x, "y": y, "color": colour("precision", names, title="precision")}
    return framed(
        {
            "width": WIDTH,
            "height": 320,
            "layer": [
                {
                    "data": {"values": [row for roof in roofs for row in _line(roof, ends)]},
                    "mark": {"type": "line", "strokeWidth": 2},
                    "encoding": shared,
                },
                {
                    "data": {"values": _points(points)},
                    "layer": [
                        {"mark": {"type": "point", "filled": True, "size": 70, "opacity": 1}},
                        {
                            "mark": {"type": "text", "align": "left", "dx": 7, "color": INK},
                            "encoding": {"text": {"field": "label"}, "color": {"value": MUTED}},
                        },
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


def _line(roof: Roof, ends: tuple[float, float]) -> list[dict[str, Any]]:
    precision, compute, memory = roof
    corners = (ends[0], compute / memory, ends[1])
    return [{"precision": precision, "intensity": x, "rate": min(compute, x * memory)} for x in corners]


def _points(points: Sequence[Point]) -> list[dict[str, Any]]:
    best = {point[0]: point for point in sorted(points, key=lambda point: point[3])}
    few = len(best) <= LABELS
    return [
        {
            "name": point[0], "precision": point[1], "intensity": point[2], "rate": point[3],
            "label": point[0] if few and best[point[0]] is point else "",
        }
        for point in points
    ]  # fmt: skip
