"""Where the time of a step goes, by kind of kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from gpuwise.show.charts.theme import LETTER, PALETTE, WIDTH, colour, framed, row_axis
from gpuwise.show.page import Chart

COLOURS: Mapping[str, str] = MappingProxyType(
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
"""Kind -> colour, in the order in which they are drawn."""

Shares = Mapping[str, float]
"""Kind, of those that have a colour -> share of all kernel time."""


def kernels(rows: Sequence[tuple[str, Shares]]) -> Chart:
    """A bar for each label, cut into the shares of kinds; a part names its kind where there is room."""
    data = [part for label, shares in rows for part in _parts(label, shares)]
    present = [kind for kind in COLOURS if any(part["kind"] == kind for part in data)]
    y = row_axis([label for label, _ in rows])
    x = {
        "field": "start", "type": "quantitative", "title": "share of kernel time",
        "scale": {"domain": [0, 1], "nice": False}, "axis": {"format": "%", "grid": False, "tickCount": 5},
    }  # fmt: skip
    filled = colour("kind", present, own=COLOURS)
    return framed(
        {
            "width": WIDTH,
            "height": {"step": 24},
            "data": {"values": data},
            "layer": [
                {
                    "mark": {"type": "bar", "height": 17},
                    "encoding": {"y": y, "x": x, "x2": {"field": "end"}, "color": filled},
                },
                {
                    "mark": {"type": "text", "color": PALETTE["paper"][0]},
                    "encoding": {"y": y, "x": {**x, "field": "middle"}, "text": {"field": "shown"}},
                },
            ],
        },
        description="Share of kernel time by kind of kernel",
    )


def _parts(label: str, shares: Shares) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    start = 0.0
    for kind in COLOURS:
        share = shares.get(kind, 0.0)
        if share > 0:
            shown = kind if LETTER * (len(kind) + 1) < share * WIDTH else ""
            end = min(1.0, start + share)
            middle = (start + end) / 2
            parts.append(
                {"label": label, "kind": kind, "start": start, "end": end, "middle": middle, "shown": shown}
            )
            start = end
    return parts
