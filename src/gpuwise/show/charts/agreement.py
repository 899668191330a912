"""Measured speeds over what others say of the same: on the diagonal both agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuwise.show.charts.theme import AMOUNT, INK, Mark, colour, decades, framed, in_order, rows, shape
from gpuwise.show.page import Chart

SIDE = 440


def agreement(marks: Sequence[tuple[Mark, float]]) -> Chart:
    """(what the other says with its interval, what was measured), both in items per second."""
    others = [mark for mark, _ in marks]
    names = in_order([mark.colour for mark in others])
    data = [row | {"measured": measured} for row, (_, measured) in zip(rows(others), marks, strict=True)]
    ends = _ends(marks)
    x, y = _axis("published or predicted, items per second", ends), _axis("measured, items per second", ends)
    hue = {"color": colour("colour", names), "shape": shape("colour", names)}
    for channel in hue.values():
        channel["legend"] = channel["legend"] and {**channel["legend"], "symbolOpacity": 1}
    return framed(
        {
            "width": SIDE,
            "height": SIDE,
            "data": {"values": data},
            "layer": [
                {
                    "data": {"values": [{"at": end} for end in ends]},
                    "mark": {"type": "line", "color": INK, "strokeDash": [4, 3], "strokeWidth": 1},
                    "encoding": {"x": {"field": "at", **x}, "y": {"field": "at", **y}},
                },
                {
                    "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.45},
                    "encoding": {
                        "x": {"field": "low", **x}, "x2": {"field": "high"}, "y": {"field": "measured", **y},
                        "color": hue["color"],
                    },
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 35, "opacity": 1},
                    "encoding": {"x": {"field": "value", **x}, "y": {"field": "measured", **y}, **hue},
                },
            ],
        },
        description="Measured speeds over published and predicted ones",
    )  # fmt: skip


def _ends(marks: Sequence[tuple[Mark, float]]) -> tuple[float, float]:
    every = [value for mark, measured in marks for value in (mark.low, mark.high, measured)]
    return min(every) / 1.3, max(every) * 1.3


def _axis(title: str, ends: tuple[float, float]) -> dict[str, Any]:
    return {
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "domain": list(ends), "nice": False},
        "axis": {"labelExpr": AMOUNT, "values": decades(ends)},
    }
