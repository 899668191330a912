"""Horizontal bars with intervals and the value in words: the shape that most charts share.

Measuring text is what drawing costs, so nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuwise.show.charts.theme import INK, WIDTH, Mark, apart, colour, framed, in_order, row_axis, rows
from gpuwise.show.page import Chart

ROOM = 1.5
"""Share of the longest bar that the axis reaches, so that the text beside it has room."""


def bars(marks: Sequence[Mark], *, description: str, colour_title: str | None = None) -> Chart:
    """One block of bars a group, each with an axis of its own: groups may count different items."""
    groups = in_order([mark.group for mark in marks])
    names = in_order([mark.colour for mark in marks])
    labels = [mark.label for mark in marks]
    blocks = [
        _block([mark for mark in marks if mark.group == group], group, colour("colour", names), labels)
        for group in groups
    ]
    for block in blocks[1:]:
        block["layer"][0]["encoding"]["color"]["legend"] = None
    if colour_title and blocks and len(names) > 1:
        blocks[0]["layer"][0]["encoding"]["color"]["legend"]["title"] = colour_title
    return framed({"vconcat": blocks, "spacing": 14}, description=description)


def _block(marks: Sequence[Mark], title: str, channel: dict[str, Any], labels: Sequence[str]) -> Chart:
    y = row_axis(labels)
    longest = max(mark.high for mark in marks)
    x = {
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [0, longest * ROOM], "nice": False},
        "axis": None,  # each bar has its value beside it
    }
    return {
        "title": {"text": title, "anchor": "start", "fontSize": 13, "color": INK, "offset": 6},
        "width": WIDTH,
        "height": {"step": 24},
        "data": {"values": rows(apart(marks))},
        "layer": [
            {
                "mark": {"type": "bar", "height": 15, "cornerRadiusEnd": 2},
                "encoding": {"y": y, "x": {"field": "value", **x}, "color": dict(channel)},
            },
            {
                "transform": [{"filter": "datum.low < datum.high"}],
                "mark": {"type": "rule", "strokeWidth": 2, "color": INK},
                "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 6},
                "encoding": {"y": y, "x": {"field": "high", **x}, "text": {"field": "shown"}},
            },
        ],
    }
