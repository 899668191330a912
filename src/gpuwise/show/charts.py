"""Charts as data, drawn by a page itself, as wide as it is, or as Vega-Lite for files.

Three kinds are enough: named rows with a value each (`Rows`), rows cut into parts (`Bands`), and lines and
points over two axes (`Plot`). What Vega-Lite needs beside the data, and every colour, stands in `vega.json`.

Pages do not run Vega-Lite: its bundle is 898 kB (305 kB packed, vl-convert 1.9), thrice a first page, and
would stand in each report, which forbids scripts. What draws instead are the 90 lines of `charts.html` and
`charts.css`, which follow the width of a page, dark mode and print; files and JSON hold the specification.

Colours are safe for the common colour blindnesses. Text reaches a contrast of 4.5:1 on its ground and marks
3:1 (WCAG 2.1, AA), in light and in dark; a test computes both. No chart tells anything by colour alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.resources import files
from itertools import cycle
from math import ceil, floor, log, log10
from typing import Any

from gpuwise.model.units import visible

# A Vega-Lite specification with its data in it.
Chart = dict[str, Any]

_SPECS: dict[str, Any] = json.loads(files("gpuwise.show").joinpath("vega.json").read_text("utf-8"))
# Name -> (light, dark). The light ones are those that charts in files are drawn in.
PALETTE: Mapping[str, tuple[str, str]] = {name: tuple(pair) for name, pair in _SPECS["palette"].items()}
# A precision, an origin, a kind of kernel has one colour in every chart: a reader learns it once.
COLOURS: Mapping[str, str] = _SPECS["colours"]
SERIES = ("blue", "orange", "green", "purple", "brown", "red", "grey")
# Outlines of points about their middle, in pixels: the same distinction for those who see no colours.
SHAPES = {
    "circle": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "square": "M-4-4h8v8h-8z", "triangle-up": "M0-5l5 9h-10z",
    "diamond": "M0-5.5l5 5.5-5 5.5-5-5.5z", "triangle-down": "M-5-4h10l-5 9z",
    "cross": "M-2-5h4v3h3v4h-3v3h-4v-3h-3v-4h3z",
}  # fmt: skip
# Of a drawing without its labels, in pixels: about that of a page, and that of a telephone.
WIDTH, NARROW = 760, 300
HEIGHT, TALL = 260, 420
# Mean width of a letter of 12 pixels, a line of text, and half of a point's mark.
LETTER, LINE, DOT = 6.2, 13, 5
# Share of the longest bar that the axis of a file reaches, so that the text beside it has room.
ROOM = 1.5
# Widest span of an axis of ratios -> its marks.
_RATIOS = (
    (3, (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3)),
    (20, (0.05, 0.1, 0.2, 0.3, 0.5, 1, 1.5, 2, 3, 4, 6, 10, 20)),
    (float("inf"), (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 1000)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A value with its interval, to draw. Without an interval low = high = value."""

    label: str
    value: float
    low: float
    high: float
    group: str = ""
    colour: str = ""  # What the colour says: a precision, an origin, a GPU
    shown: str = ""  # The value as text, with its unit

    def __post_init__(self) -> None:
        # Names of devices and files come from anywhere.
        for name in ("label", "group", "colour", "shown"):
            object.__setattr__(self, name, visible(getattr(self, name)))


@dataclass(frozen=True, kw_only=True)
class Axis:
    """From `ends[0]` to `ends[1]`, with labels at its ticks."""

    title: str
    ends: tuple[float, float]
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a value in percent of the axis; what is beyond an end stands at the end."""
        low, high = self.ends
        share = log(max(value, low) / low) / log(high / low) if self.log else (value - low) / (high - low)
        return 100 * min(1.0, max(0.0, share))


def linear(title: str, values: Iterable[float], *, counts: bool = False) -> Axis:
    """From 0 to beyond the largest, with five round marks at most; `counts` has a mark at each value."""
    found = sorted(set(values))
    most = (found[-1] if found else 0.0) * 1.05 or 1.0
    power = 10.0 ** floor(log10(most / 5))
    step = next(size * power for size in (1, 2, 5, 10) if most / (size * power) <= 5)
    at = found if counts else [step * n for n in range(floor(most / step) + 1)]
    return Axis(title=title, ends=(0.0, most), ticks=tuple((value, short(value)) for value in at))


def logarithmic(title: str, ends: tuple[float, float], at: Sequence[float] = ()) -> Axis:
    """With marks at powers of ten, at three times them where these are few, or where they are wanted."""
    first, last = floor(log10(ends[0])), ceil(log10(ends[1]))
    steps = (1, 3) if last - first <= 3 else (1,)
    every = at or [step * 10.0**power for power in range(first, last + 1) for step in steps]
    ticks = tuple((value, short(value)) for value in every if ends[0] <= value <= ends[1])
    return Axis(title=title, ends=ends, ticks=ticks, log=True)


def short(value: float) -> str:
    """`0`, `500`, `1.5k`: a label of an axis."""
    if value == 0:
        return "0"
    power = min(15, max(0, 3 * floor(log10(abs(value) * (1 + 1e-9)) / 3)))
    return f"{value / 10.0**power:.3g}{' kMGTP'[power // 3].strip()}"


def hues(names: Iterable[str]) -> dict[str, str]:
    """Name -> colour of the palette: its own where all of them have one, else the series in order."""
    every = list(dict.fromkeys(names))
    owned = all(name in COLOURS for name in every)
    return {name: COLOURS[name] if owned else SERIES[n % len(SERIES)] for n, name in enumerate(every)}


@dataclass(frozen=True, kw_only=True)
class Rows:
    """A bar for each mark, a block for each group; or ratios as points around 1, all on one axis."""

    marks: tuple[Mark, ...]
    ratio: bool = False
    title: str = ""  # What the colours tell apart, or what the ratios are of

    @property
    def hues(self) -> dict[str, str]:
        return hues(mark.colour for mark in self.marks)

    @property
    def groups(self) -> list[tuple[str, list[Mark]]]:
        """The marks by group; two of one name would be drawn over each other, so the later ones count."""
        found: dict[str, list[Mark]] = {}
        seen: Counter[tuple[str, str]] = Counter()
        for mark in self.marks:
            seen[mark.group, mark.label] += 1
            again = f" ({number})" if (number := seen[mark.group, mark.label]) > 1 else ""
            found.setdefault(mark.group, []).append(replace(mark, label=mark.label + again))
        return list(found.items())

    def axis(self, marks: Sequence[Mark]) -> Axis:
        """Bars of a group fill their axis, as groups may count different items; ratios of all share one."""
        if not self.ratio:
            most = max((mark.high for mark in marks), default=0.0) or 1.0
            return Axis(title="", ends=(0.0, most), ticks=())
        # Always with 1 on it; a factor of two is as long in both directions.
        low, high = (
            min(1.0, *(m.low for m in self.marks)) / 1.1,
            max(1.0, *(m.high for m in self.marks)) * 1.1,
        )
        known = next(known for widest, known in _RATIOS if high / low <= widest)
        ticks = tuple((tick, f"{tick:g}") for tick in known if low <= tick <= high)
        return Axis(title=self.title, ends=(low, high), ticks=ticks, log=True)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A stretch of the row of its `label`."""

    label: str
    begin: float
    end: float
    colour: str
    shown: str = ""
    height: float = 1.0  # Of the row: a difference that needs no colours


@dataclass(frozen=True, kw_only=True)
class Bands:
    """Rows cut into parts, on one axis from 0."""

    parts: tuple[Part, ...]
    title: str
    labelled: bool = True  # The axis has numbers

    @property
    def hues(self) -> dict[str, str]:
        present = {part.colour for part in self.parts}
        return hues(name for name in COLOURS if name in present)

    @property
    def rows(self) -> list[tuple[str, list[Part]]]:
        found: dict[str, list[Part]] = {}
        for part in self.parts:
            found.setdefault(part.label, []).append(part)
        return list(found.items())

    @property
    def axis(self) -> Axis:
        made = linear(self.title, [part.end for part in self.parts])
        return replace(made, ends=(0.0, max(part.end for part in self.parts)))


@dataclass(frozen=True, kw_only=True)
class Point:
    """In the units of its axes."""

    x: float
    y: float
    low: float = 0.0
    high: float = 0.0  # Of y; low < high where it has an interval
    name: str = ""  # Stands beside it where there is room
    dot: bool = True  # False for a place that only the line goes through


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of one colour and shape, by their x; joined where it is a line."""

    name: str
    points: tuple[Point, ...]
    line: bool = True
    dashed: bool = False
    hue: str = ""  # A colour of the palette; of lines that only guide the eye
    hollow: bool = False  # Its points are outlines: forecasts among what was measured


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Lines and points over two axes."""

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    height: int = HEIGHT

    @property
    def hues(self) -> dict[str, str]:
        """Of the series that a key names."""
        return hues(each.name for each in self.series if not each.hue)

    @property
    def shapes(self) -> dict[str, str]:
        return dict(zip(self.hues, cycle(SHAPES.values()), strict=False))

    @cached_property
    def sides(self) -> dict[Point, tuple[str, str]]:
        """Point -> the side of its name on a page and on a telephone: right, left, or none without room."""
        points = [point for each in self.series for point in each.points if point.dot]
        wide, narrow = (self._sides(points, width) for width in (WIDTH, NARROW))
        return {point: (wide[n], narrow[n]) for n, point in enumerate(points)}

    def _sides(self, points: Sequence[Point], width: int) -> list[str]:
        # Earlier series have the choice, and in each those at the top.
        rank = {id(p): n for n, each in enumerate(self.series) for p in each.points}
        places = [(width * self.x.at(p.x) / 100, self.height * (1 - self.y.at(p.y) / 100)) for p in points]
        taken = [(across - DOT, across + DOT, down) for across, down in places]
        found = [""] * len(points)
        for number in sorted(range(len(points)), key=lambda n: (rank[id(points[n])], places[n][1])):
            name, (across, down) = points[number].name, places[number]
            room = LETTER * len(name) + DOT
            for side, left in (("right", across + DOT), ("left", across - DOT - room)) if name else ():
                # Two lines of text touch where their ends cross and they stand less than a line apart.
                crossed = any(
                    left < end and begin < left + room and abs(down - at) < LINE for begin, end, at in taken
                )
                if not crossed and 0 < left < width - room:
                    taken.append((left, left + room, down))
                    found[number] = side
                    break
        return found

    def stretches(self, each: Series) -> str:
        """The line of a series in percent of the plot, as points of SVG."""
        return " ".join(f"{self.x.at(p.x):.2f},{100 - self.y.at(p.y):.2f}" for p in each.points)


Drawing = Rows | Bands | Plot


def curves(
    series: Mapping[str, Sequence[Mark]], *, y: str, over: str = "batch size", ideal: bool = False
) -> Plot:
    """Values over what the labels count; with `ideal` these are multiples of one, and a dashed line is n."""
    counts = sorted({int(mark.label) for marks in series.values() for mark in marks})
    found = [
        Series(
            name=name,
            points=tuple(Point(x=int(m.label), y=m.value, low=m.low, high=m.high) for m in marks),
        )
        for name, marks in series.items()
    ]  # fmt: skip
    if ideal:
        straight = tuple(Point(x=n, y=n, dot=False) for n in (1, counts[-1]))
        found.append(Series(name="", points=straight, dashed=True, hue="muted"))
    tops = [max(p.y, p.high) for each in found for p in each.points]
    # Batches double; GPUs are few, and a straight line should look straight.
    x = (
        linear(over, counts, counts=True) if ideal
        else logarithmic(over, (counts[0] / 1.1, counts[-1] * 1.1), _spaced(counts))
    )  # fmt: skip
    return Plot(x=x, y=linear(y, tops), series=tuple(found))


def _spaced(counts: Sequence[int]) -> list[int]:
    """Those that a label has room for on a telephone: a factor of the whole span apart."""
    least = (counts[-1] / counts[0]) ** (1 / 8)
    kept = [counts[0]]
    for count in counts[1:]:
        if count / kept[-1] >= least * 0.999 and count != kept[-1]:
            kept.append(count)
    return kept


RoofPoint = tuple[str, str, float, float]  # (name, precision, operations a byte, operations a second)
Roof = tuple[str, float, float]  # (precision, operations a second, bytes a second)


def roofline(points: Sequence[RoofPoint], roofs: Sequence[Roof], forecasts: Sequence[RoofPoint] = ()) -> Plot:
    """Points under their roofs, forecasts hollow; the fastest point of each name carries it.

    roof(x) = min(compute limit, x * memory limit): Williams, Waterman and Patterson, 2009.
    """
    # The axes hold every point and every ridge, where a roof turns from memory to compute.
    every = [*points, *forecasts]
    across = [point[2] for point in every] + [compute / memory for _, compute, memory in roofs]
    up = [point[3] for point in every] + [compute for _, compute, _ in roofs]
    ends, span = (min(across) / 4, max(across) * 4), (min(up) / 2, max(up) * 1.5)
    memory = max((memory for _, _, memory in roofs), default=1.0)
    ridge = max((compute for _, compute, _ in roofs), default=0.0) / memory
    names = dict.fromkeys([roof[0] for roof in roofs] + [point[1] for point in every])
    best = {point[0]: point for point in sorted(every, key=lambda point: point[3])}
    slope = tuple(
        Point(x=x, y=x * memory, dot=False) for x in (max(ends[0], span[0] / memory), ridge) if roofs
    )
    found = [Series(name="", points=slope, hue="muted")]
    for name in names:
        tops = [
            Point(x=x, y=compute, dot=False)
            for precision, compute, of_memory in roofs
            if precision == name
            for x in (compute / of_memory, ends[1])
        ]
        found.append(Series(name=name, points=tuple(tops)))
        for hollow, some in ((False, points), (True, forecasts)):
            mine = (Point(x=p[2], y=p[3], name=p[0] * (best[p[0]] is p)) for p in some if p[1] == name)
            found.append(Series(name=name, points=tuple(mine), line=False, hollow=hollow))
    return Plot(
        x=logarithmic("operations per byte of memory traffic", ends),
        y=logarithmic("operations per second", span),
        series=tuple(each for each in found if each.points),
    )


def tradeoff(points: Sequence[tuple[str, float, float, bool]], *, x: str, y: str) -> Plot:
    """Points (name, x, y, whether no other is better in both) on logarithmic axes; a line joins those."""
    ends = min(p[1] for p in points) / 1.5, max(p[1] for p in points) * 1.5
    span = min(p[2] for p in points) / 1.3, max(p[2] for p in points) * 1.3
    ordered = sorted(points, key=lambda point: point[1])
    found = [
        Series(
            name=name, line=front, dashed=front,
            points=tuple(Point(x=p[1], y=p[2], name=p[0]) for p in ordered if p[3] is front),
        )
        for name, front in (("no other is both faster and cheaper", True), ("others", False))
    ]  # fmt: skip
    shown = tuple(each for each in found if each.points)
    return Plot(x=logarithmic(x, ends), y=logarithmic(y, span), series=shown, height=TALL)


def over_months(marks: Sequence[Mark], *, title: str) -> Plot:
    """Values by month, a line a series; `label` holds the month as 2026-11."""

    def month(text: str) -> int:
        return int(text[:4]) * 12 + int(text[5:7]) - 1

    by_name: dict[str, list[Mark]] = {}
    for mark in sorted(marks, key=lambda mark: mark.label):
        by_name.setdefault(mark.colour, []).append(mark)
    first, last = (month(find(mark.label for mark in marks)) for find in (min, max))
    step = max(1, ceil((last - first) / 6))
    ticks = tuple((at, f"{at // 12}-{at % 12 + 1:02d}") for at in range(first, last + 1, step))
    return Plot(
        x=Axis(title="", ends=(first - 0.5, last + 0.5), ticks=ticks),
        y=linear(title, [mark.value for mark in marks]),
        series=tuple(
            # Shapes tell lines apart, and a shape on each of many months would be a thick line.
            Series(name=name, points=tuple(
                Point(x=month(m.label), y=m.value, dot=n in (0, len(of) - 1) or n % ceil(len(of) / 8) == 0)
                for n, m in enumerate(of)
            ))
            for name, of in by_name.items()
        ),
    )  # fmt: skip


def frontier(points: Sequence[tuple[float, float]]) -> list[int]:
    """The places of those (price, speed) that no other one beats on both, by price."""
    found: list[int] = []
    for number in sorted(range(len(points)), key=lambda number: (points[number][0], -points[number][1])):
        if not found or points[number][1] > points[found[-1]][1]:
            found.append(number)
    return found


def vega(drawing: Drawing, description: str = "") -> Chart:
    """The drawing as a Vega-Lite specification in light colours, data included."""
    body: Chart
    if isinstance(drawing, Rows):
        body = {"vconcat": _blocks(drawing), "spacing": 14}
    elif isinstance(drawing, Bands):
        rows = [asdict(part) | {"middle": (part.begin + part.end) / 2} for part in drawing.parts]
        y, x = _row_axis([part.label for part in drawing.parts]), _axis(drawing.axis)
        if not drawing.labelled:
            x["axis"]["labels"] = False
        layer = _filled(_SPECS["bands"], y=y, x=x, colour=_colour("colour", drawing.hues))
        body = {"width": WIDTH, "height": {"step": 24}, "data": {"values": rows}, "layer": layer}
    else:
        body = _plot(drawing)
    return {**_filled(_SPECS["frame"]), "description": description, **body}


def _blocks(rows: Rows) -> list[Chart]:
    """Named rows under the heading of their group, one legend for all."""
    y = _row_axis([mark.label for mark in rows.marks], grid=rows.ratio)
    blocks: list[Chart] = []
    for group, marks in rows.groups:
        axis, color = rows.axis(marks), _colour("colour", rows.hues, rows.title * (not rows.ratio))
        x = _axis(axis)
        if not rows.ratio:  # each bar has its value beside it
            x |= {"axis": None, "scale": {"domain": [0, axis.ends[1] * ROOM], "nice": False}}
        elif group != rows.groups[-1][0]:
            x |= {"title": None, "axis": {**x["axis"], "labels": False}}
        layer = _filled(
            _SPECS["ratios" if rows.ratio else "bars"], y=y, x=x, shape=_shape("colour", rows.hues),
            colour=color | {"legend": None} if blocks else color,
        )  # fmt: skip
        data = {"values": [asdict(mark) for mark in marks]}
        size = {"width": WIDTH, "height": {"step": 21 if rows.ratio else 24}}
        blocks.append({**({"title": group} if group else {}), **size, "data": data, "layer": layer})
    return blocks


def _plot(plot: Plot) -> Chart:
    rows = []
    for number, each in enumerate(plot.series):
        for point in each.points:
            side = plot.sides.get(point, ("", ""))[0]
            rows.append({
                "series": each.name or f"line {number}", "line": each.line, "dashed": each.dashed,
                **asdict(point), **{way: point.name if way == side else "" for way in ("right", "left")},
            })  # fmt: skip
    named = plot.hues
    own = {each.name or f"line {number}": each.hue for number, each in enumerate(plot.series) if each.hue}
    color = _colour("series", named | own)
    if len(named) < 2:
        color["legend"] = None
    elif own:
        color["legend"]["values"] = list(named)
    layer = _filled(
        _SPECS["plot"], x=_axis(plot.x) | {"field": "x"}, y=_axis(plot.y) | {"field": "y"}, colour=color,
        shape=_shape("series", named | own),
    )  # fmt: skip
    return {"width": WIDTH, "height": plot.height, "data": {"values": rows}, "layer": layer}


def _axis(axis: Axis) -> Chart:
    values, labels = [value for value, _ in axis.ticks], [text for _, text in axis.ticks]
    return dict(_filled(
        _SPECS["axis"], title=axis.title or None, type="log" if axis.log else "linear", ends=list(axis.ends),
        values=values, labels=f"{json.dumps(labels)}[indexof({json.dumps(values)}, datum.value)]",
        grid=not axis.log,
    ))  # fmt: skip


def _row_axis(labels: Sequence[str], *, grid: bool = False) -> Chart:
    """A channel of named rows; the axis takes the room of its longest label without being measured."""
    room = LETTER * max((len(label) for label in labels), default=0) + 12
    return dict(_filled(_SPECS["row"], grid=grid, room=room))


def _colour(field: str, named: Mapping[str, str], title: str = "") -> Chart:
    scale = {"domain": list(named), "range": [PALETTE[hue][0] for hue in named.values()]}
    legend = {"title": title or None, "orient": "top", "symbolOpacity": 1, "labelLimit": 0, "columns": 3}
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend if len(named) > 1 else None}


def _shape(field: str, named: Mapping[str, str]) -> Chart:
    shapes = [shape for _, shape in zip(named, cycle(SHAPES), strict=False)]
    return _colour(field, named) | {"scale": {"domain": list(named), "range": shapes}}


def _filled(spec: Any, **values: Any) -> Any:
    """A specification with `$name` replaced by a value, as a key by its entries, and `@name` by a colour."""
    if isinstance(spec, dict):
        found: Chart = {}
        for key, part in spec.items():
            if key.startswith("$") and key[1:] in values:
                found = {**values[key[1:]], **found}
            else:
                found[key] = _filled(part, **values)
        return found
    if isinstance(spec, list):
        return [_filled(part, **values) for part in spec]
    if isinstance(spec, str) and spec[:1] in "$@" and spec[1:]:
        return values[spec[1:]] if spec[0] == "$" else PALETTE[spec[1:]][0]
    return spec
