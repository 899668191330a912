"""Throughput over the number of GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.show.charts.theme import AMOUNT, MUTED, WIDTH, Mark, colour, framed, in_order, rows
from gpuwise.show.page import Chart


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
    ideal = [
        {"count": n, "value": marks[0].value / int(marks[0].label) * n}
        for n in (1, max(r["count"] for r in data))
    ]
    return framed(
        {
            "width": WIDTH,
            "height": 260,
            "data": {"values": data},
            "layer": [
                {
                    "data": {"values": ideal},
                    "mark": {"type": "line", "strokeDash": [4, 3], "strokeWidth": 1.5, "color": MUTED},
                    "encoding": {"x": shared["x"], "y": {"field": "value", **y}},
                },
                {
                    "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.5},
                    "encoding": {**shared, "y": {"field": "low", **y}, "y2": {"field": "high"}},
                },
                {
                    "mark": {"type": "line", "strokeWidth": 2},
                    "encoding": {**shared, "y": {"field": "value", **y}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                    "encoding": {**shared, "y": {"field": "value", **y}},
                },
            ],
        },
        description=f"{item}s per second by the number of GPUs",
    )  # fmt: skip
