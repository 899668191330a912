"""Throughput with its intervals, and throughput by batch."""

from __future__ import annotations

from collections.abc import Sequence

from gpuwise.show.charts.bars import bars
from gpuwise.show.charts.theme import AMOUNT, WIDTH, Mark, colour, framed, in_order, rows, shape
from gpuwise.show.page import Chart


def throughput(marks: Sequence[Mark]) -> Chart:
    """Bars by workload and mode (`group`), one a configuration (`label`), coloured by precision."""
    return bars(marks, description="Throughput by workload and configuration", colour_title="precision")


def batches(marks: Sequence[Mark], *, item: str) -> Chart:
    """Throughput against batch size, one line a configuration; `label` holds the batch."""
    names = in_order([mark.colour for mark in marks])
    data = [row | {"batch": int(row["label"])} for row in rows(marks)]
    return framed(
        {
            "width": WIDTH,
            "height": 260,
            "data": {"values": data},
            "layer": [
                {"mark": {"type": "line", "strokeWidth": 2}},
                {"mark": {"type": "point", "filled": True, "size": 60, "opacity": 1}},
            ],
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
