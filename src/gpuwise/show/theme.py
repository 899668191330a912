"""Colours and frame of every chart and page: safe for the common colour blindnesses, and readable.

Text reaches a contrast of 4.5:1 on its ground and marks 3:1 (WCAG 2.1, AA), in light and in dark;
a test computes both. No chart tells anything by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from types import MappingProxyType
from typing import Any

from gpuwise.model.units import visible

# A Vega-Lite specification with its data in it.
Chart = dict[str, Any]

# Name -> (light, dark). The light ones are those that charts are drawn in.
PALETTE: Mapping[str, tuple[str, str]] = MappingProxyType({
    "paper": ("#fffffe", "#14171b"),
    "raised": ("#f5f6f8", "#1d2127"),
    "ink": ("#1a1d22", "#e9ebee"),
    "muted": ("#565d68", "#a9b0bb"),
    "rule": ("#dcdfe4", "#363c45"),
    "link": ("#0a5fa5", "#7cc0f7"),
    "blue": ("#0b6bb2", "#57aef0"),
    "orange": ("#b75a02", "#f0a04b"),
    "green": ("#0f7a5a", "#45c498"),
    "purple": ("#7d4693", "#c58fe0"),
    "red": ("#b2271f", "#f38a82"),
    "brown": ("#7a5c2e", "#cdb07c"),
    "grey": ("#6c737e", "#979eaa"),
})  # fmt: skip
INK, MUTED, RULE = (PALETTE[name][0] for name in ("ink", "muted", "rule"))
SERIES = tuple(PALETTE[name][0] for name in ("blue", "orange", "green", "purple", "brown", "red", "grey"))
# A precision has one colour in every chart, so that a reader of several learns it once.
PRECISION_COLOURS: Mapping[str, str] = MappingProxyType({
    "bf16": PALETTE["blue"][0],
    "fp16": PALETTE["orange"][0],
    "tf32": PALETTE["green"][0],
    "fp32": PALETTE["purple"][0],
    "fp8": PALETTE["red"][0],
    "int8": PALETTE["brown"][0],
    "fp64": PALETTE["grey"][0],
})  # fmt: skip
ORIGIN_COLOURS: Mapping[str, str] = MappingProxyType({
    "measured": PALETTE["blue"][0],
    "published": PALETTE["orange"][0],
    "predicted": PALETTE["green"][0],
})  # fmt: skip
# Of a drawing without its labels, in points: about that of a page, so that text keeps its size there.
WIDTH = 760
# Size of labels, in points, and the mean width of a letter at that size.
LABEL = 12
LETTER = 6.2
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
# Labels of an axis of amounts, each with its own prefix: 0, 500, 1k.
AMOUNT = "format(datum.value, '~s')"
CONFIG: dict[str, Any] = {
    "aria": False,  # the page names the drawing as a whole and has a table beside it
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "titleColor": MUTED, "gridColor": RULE, "domainColor": RULE,
        "tickColor": RULE, "labelFontSize": LABEL, "titleFontSize": LABEL, "titleFontWeight": "normal",
        "labelLimit": 320,
    },
    "legend": {"labelColor": INK, "titleColor": MUTED, "labelFontSize": LABEL, "titleFontSize": LABEL},
    "text": {"color": INK, "fontSize": LABEL},
    "rule": {"color": INK},
    "point": {"size": 60, "filled": True, "opacity": 1},
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A value with its interval, to draw. Without an interval low = high = value."""

    label: str
    value: float
    low: float
    high: float
    group: str = ""
    colour: str = ""
    """What the colour stands for: a precision, an origin, a GPU."""
    shown: str = ""
    """The value as text, with its unit."""

    def __post_init__(self) -> None:
        # Names of devices and files come from anywhere.
        for name in ("label", "group", "colour", "shown"):
            object.__setattr__(self, name, visible(getattr(self, name)))


def framed(description: str, spec: Chart) -> Chart:
    """The specification with the frame that all charts share."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": description,
        "config": CONFIG,
        "background": None,
        **spec,
    }


def colour(
    field: str, names: Sequence[str], *, title: str | None = None, own: Mapping[str, str] = PRECISION_COLOURS
) -> dict[str, Any]:
    """A colour channel: names that all have their `own`, as precisions everywhere, take it; others take the
    series in order."""
    owned = all(name in own for name in names)
    chosen = [own[name] if owned else SERIES[i % len(SERIES)] for i, name in enumerate(names)]
    scale = {"domain": list(names), "range": chosen}
    legend = (
        {"title": title, "orient": "top", "symbolOpacity": 1, "labelLimit": 0} if len(names) > 1 else None
    )
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend}


def shape(field: str, names: Sequence[str]) -> dict[str, Any]:
    """The same distinction by shape, for those who see no colours."""
    return colour(field, names) | {"scale": {"domain": list(names)}}


def row_axis(labels: Sequence[str], *, grid: bool = False) -> dict[str, Any]:
    """A channel of named rows; the axis takes the room of its longest label without being measured."""
    room = LETTER * max((len(label) for label in labels), default=0) + 12
    axis = {
        "domain": False, "ticks": False, "grid": grid, "labelPadding": 6,
        "minExtent": room, "maxExtent": room,
    }  # fmt: skip
    return {"field": "label", "type": "nominal", "sort": None, "title": None, "axis": axis}


def log_axis(title: str, ends: tuple[float, float]) -> dict[str, Any]:
    """A logarithmic axis with marks at powers of ten, and at three times them where these are few."""
    first, last = floor(log10(ends[0])), ceil(log10(ends[1]))
    steps = (1, 3) if last - first <= 3 else (1,)
    every = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    return {
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "domain": list(ends), "nice": False},
        "axis": {"labelExpr": AMOUNT, "values": [at for at in every if ends[0] <= at <= ends[1]]},
    }


def in_order(values: Sequence[str]) -> list[str]:
    """Each once, as they came."""
    return list(dict.fromkeys(values))
