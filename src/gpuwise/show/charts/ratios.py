"""Ratios with their intervals, as points around the line at 1 where nothing differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuwise.show.charts.theme import (
    INK,
    WIDTH,
    Mark,
    apart,
    colour,
    framed,
    in_order,
    row_axis,
    rows,
    shape,
)
from gpuwise.show.page import Chart

Extent = tuple[float, float]


def ratios(marks: Sequence[Mark], *, title: str) -> Chart:
    """A block of rows a group, all on one logarithmic axis; colour and shape tell the same."""
    groups = in_order([mark.group for mark in marks])
    names = in_order([mark.colour for mark in marks])
    labels = [mark.label for mark in marks]
    extent = _extent(marks)
    blocks = [
        _block(
            [mark for mark in marks if mark.group == group], names, extent, labels,
            heading=group, axis=title if last else None,
        )
        for group, last in zip(groups, [False] * (len(groups) - 1) + [True], strict=True)
    ]  # fmt: skip
    return framed({"vconcat": blocks, "spacing": 10}, description=title)


def _extent(marks: Sequence[Mark]) -> Extent:
    low, high = min(1.0, *(m.low for m in marks)), max(1.0, *(m.high for m in marks))
    return low / 1.1, high * 1.1


def _block(
    marks: Sequence[Mark], names: Sequence[str], extent: Extent, labels: Sequence[str], *,
    heading: str, axis: str | None,
) -> dict[str, Any]:  # fmt: skip
    y = row_axis(labels, grid=True)
    x = {
        "type": "quantitative",
        "title": axis,
        "scale": {"type": "log", "domain": list(extent), "nice": False},
        "axis": {"format": "~r", "values": ticks(extent), "domain": False, "labels": axis is not None},
    }
    hue = colour("colour", names)
    heading_of = {"text": heading, "anchor": "start", "fontSize": 13, "color": INK, "offset": 4}
    return {
        **({"title": heading_of} if heading else {}),
        "width": WIDTH,
        "height": {"step": 21},
        "data": {"values": rows(apart(marks))},
        "layer": [
            {
                "data": {"values": [{"one": 1}]},
                "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]},
                "encoding": {"x": {"field": "one", **x}},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 3},
                "encoding": {"y": y, "x": {"field": "low", **x}, "x2": {"field": "high"}, "color": hue},
            },
            {
                "mark": {"type": "point", "size": 80, "filled": True, "opacity": 1},
                "encoding": {
                    "y": y, "x": {"field": "value", **x}, "color": hue, "shape": shape("colour", names),
                },
            },
        ],
    }  # fmt: skip


def ticks(extent: Extent) -> list[float]:
    """Round ratios within the extent, the coarser the wider it is; 1 is always among them."""
    span = extent[1] / extent[0]
    known = _FINE if span <= 3 else _MIDDLE if span <= 20 else _COARSE
    return [tick for tick in known if extent[0] <= tick <= extent[1]]


_FINE = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3)
_MIDDLE = (0.05, 0.1, 0.2, 0.3, 0.5, 1, 1.5, 2, 3, 4, 6, 10, 20)
_COARSE = (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 1000)
