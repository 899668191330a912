"""Charts as data, and the one way from a chart to a picture: its Vega-Lite specification.

Three kinds are enough: named rows with a value each (`Rows`), rows cut into parts (`Bands`), and lines and
points over two axes (`Plot`). What Vega-Lite needs beside the data, and every colour, stands in `vega.json`:
pages give it once for all of their charts, whose own part is small, and draw with the bundle beside it as
wide as there is room (`charts.js`); files hold the whole specification, and vl-convert draws them.

Colours are safe for the common colour blindnesses. Text reaches a contrast of 4.5:1 on its ground and marks
3:1 (WCAG 2.1, AA), in light and in dark; a test computes both. No chart tells anything by colour alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from itertools import cycle, pairwise
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
# Of points: the same distinction for those who see no colours.
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
# Of a drawing, in pixels: about that of a page, and that of a telephone.
WIDTH, NARROW = 760, 340
HEIGHT, TALL = 300, 480
# Points whose names need the taller drawing, where there are more.
CROWD = 8
# Of a row, and of one whose label stands above it; of an axis with its title, and of a line of a legend.
ROW, TALL_ROW, AXIS, KEY = 20, 38, 46, 22
# Where a name may stand: right of its point, left, above, below, or between two of these; its beginning in
# widths of the name from the point, and how many lines below it.
SIDES: Mapping[str, tuple[float, float]] = {
    "R": (0, 0), "L": (-1, 0), "U": (-0.5, -1), "D": (-0.5, 1),
    "A": (0, -0.8), "B": (-1, -0.8), "C": (0, 0.8), "E": (-1, 0.8),
}  # fmt: skip
# Mean width of a letter of 12 pixels, a line of text, and half of a point's mark.
LETTER, LINE, DOT = 6.4, 15, 5
# Width of a drawn line, and the share of a name from which a line runs along it.
HAIR, ALONG = 1.0, 0.4


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
    """From `ends[0]` to `ends[1]`."""

    title: str
    ends: tuple[float, float]
    log: bool = False
    marks: tuple[float, ...] = ()  # Where its labels stand; else round numbers that Vega-Lite finds
    dates: str = ""  # It counts days since 1970, and labels are written so, like `%Y-%m`

    def at(self, value: float) -> float:
        """The place of a value as a share of the axis; what is beyond an end stands at the end."""
        low, high = self.ends
        share = log(max(value, low) / low) / log(high / low) if self.log else (value - low) / (high - low)
        return min(1.0, max(0.0, share))


def linear(title: str, values: Iterable[float]) -> Axis:
    """From 0 to beyond the largest."""
    return Axis(title=title, ends=(0.0, max(values, default=0.0) * 1.05 or 1.0))


def hues(names: Iterable[str]) -> dict[str, str]:
    """Name -> colour of the palette: its own, else the next one of the series that none of them owns."""
    every = list(dict.fromkeys(names))
    own = {name: COLOURS[name] for name in every if name in COLOURS}
    free = cycle([hue for hue in SERIES if hue not in own.values()] or SERIES)
    return {name: own.get(name) or next(free) for name in every}


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

    @property
    def drawn(self) -> tuple[str, Chart, list[Chart]]:
        """Their kind, their axis, and a row each with one for the heading of each group."""
        found: list[Chart] = []
        for group, marks in self.groups:
            if group and len(self.groups) > 1:
                found.append({"n": len(found), "head": group})
            most = max((mark.high for mark in marks), default=0.0) or 1.0
            for m in marks:
                found.append({
                    "n": len(found), "label": m.label,
                    "value": _drawn(m.value), "low": _drawn(m.low), "high": _drawn(m.high),
                    "colour": m.colour, "shown": m.shown, **({} if self.ratio else {"most": _drawn(most)}),
                })  # fmt: skip
        if not self.ratio:
            # Bars of a group fill their axis, as groups may count different items.
            return "bars", {"type": "quantitative", "axis": None, "scale": {"domain": [0, 1]}}, found
        # Always with 1 on it; a factor of two is as long in both directions.
        low = min((mark.low for mark in self.marks), default=1.0)
        high = max((mark.high for mark in self.marks), default=1.0)
        ends = min(1.0, low) / 1.1, max(1.0, high) * 1.1
        return "ratios", _axis(Axis(title=self.title, ends=ends, log=True)), found


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

    @property
    def hues(self) -> dict[str, str]:
        return hues(name for name in COLOURS if any(part.colour == name for part in self.parts))

    @property
    def axis(self) -> Axis:
        return Axis(title=self.title, ends=(0.0, max(part.end for part in self.parts)))

    @property
    def drawn(self) -> tuple[str, Chart, list[Chart]]:
        """The kind and the axis of these rows, the label of each, and its parts."""
        places = {label: n for n, label in enumerate(dict.fromkeys(part.label for part in self.parts))}
        return "bands", _axis(self.axis), [{"n": n, "label": label} for label, n in places.items()] + [
            {"n": places[p.label], "begin": _drawn(p.begin), "end": _drawn(p.end), "colour": p.colour,
             **({"shown": p.shown} if p.shown else {}), **({"height": p.height} if p.height != 1 else {})}
            for p in self.parts
        ]  # fmt: skip


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
    def drawn(self) -> tuple[list[Chart], list[str]]:
        """A row for each series, with a list for each field of its points, and the names of these fields:
        nothing is said once a point that is said once a series."""
        each: Mapping[str, Callable[[Point], Any]] = {
            "x": lambda p: _drawn(p.x),
            "y": lambda p: _drawn(p.y),
            "low": lambda p: _drawn(p.low) if p.low < p.high else None,
            "high": lambda p: _drawn(p.high) if p.low < p.high else None,
            "name": lambda p: p.name or None,
            "at": lambda p: self.sides.get(p, "--").replace("--", "") or None,
            "bare": lambda p: not p.dot or None,
        }
        every = [point for one in self.series for point in one.points]
        fields = [name for name, of in each.items() if any(of(point) is not None for point in every)]
        return [
            {
                "series": one.name or f"line {number}",
                **{name: [each[name](p) for p in one.points] for name in fields},
                **{name: True for name in ("dashed", "hollow") if getattr(one, name)},
                **({} if one.line else {"apart": True}),
            }
            for number, one in enumerate(self.series)
        ], fields

    @cached_property
    def sides(self) -> dict[Point, str]:
        """Point -> where its name stands on a page and on a telephone: letters of SIDES, `-` without room."""
        points = [point for each in self.series for point in each.points if point.dot]
        # Axes and their labels take their part of a picture.
        wide, narrow = (self._sides(points, width - AXIS, self.height - AXIS) for width in (WIDTH, NARROW))
        return {point: wide[n] + narrow[n] for n, point in enumerate(points)}

    def _sides(self, points: Sequence[Point], width: int, height: int) -> list[str]:
        def at(point: Point) -> tuple[float, float]:
            return width * self.x.at(point.x), height * (1 - self.y.at(point.y))

        # Earlier series have the choice, and in each those at the top.
        rank = {id(p): n for n, each in enumerate(self.series) for p in each.points}
        places = [at(point) for point in points]
        lines = [ends for each in self.series if each.line for ends in pairwise(sorted(map(at, each.points)))]
        taken = [(across - DOT, across + DOT, down) for across, down in places]
        found = ["-"] * len(points)
        for number in sorted(range(len(points)), key=lambda n: (rank[id(points[n])], places[n][1])):
            name, (across, down) = points[number].name, places[number]
            room = LETTER * len(name) + DOT
            free: list[tuple[float, int, str, tuple[float, float, float]]] = []
            for side, (beside, below) in SIDES.items() if name else ():
                left, line = across + beside * room + (2 * beside + 1) * DOT, down + below * LINE
                # Two lines of text touch where their ends cross and they stand less than a line apart.
                crossed = any(
                    left < end and begin < left + room and abs(line - y) < LINE for begin, end, y in taken
                )
                if not crossed and 0 < left < width - room and 0 < line < height:
                    struck = max((_struck(ends, left, left + room, line) for ends in lines), default=0.0)
                    free.append((struck, len(free), side, (left, left + room, line)))
            # Best where no line runs through it; its ground cuts one that crosses it, but not one along it.
            if free and min(free)[0] < ALONG:
                *_, found[number], box = min(free)
                taken.append(box)
        return found


def _struck(ends: tuple[tuple[float, float], ...], left: float, right: float, line: float) -> float:
    """Share of a line of text that a straight line between two places runs through; a hair if upright."""
    (x, y), (end, last) = ends
    begin, stop = max(left, x), min(right, end)
    if end > x and y != last:
        # Where it comes into the height of the text, and where it leaves it.
        at = sorted(x + (line + half - y) * (end - x) / (last - y) for half in (-LINE / 2, LINE / 2))
        begin, stop = max(begin, at[0]), min(stop, at[1])
    elif min(y, last) > line + LINE / 2 or max(y, last) < line - LINE / 2:
        return 0.0
    return max(HAIR, stop - begin) / (right - left) if begin <= stop else 0.0


Drawing = Rows | Bands | Plot


def curves(
    series: Mapping[str, Sequence[Point]], *, y: str, over: str = "batch size", ideal: bool = False
) -> Plot:
    """Values over a count; with `ideal` these are multiples of one, and a dashed line is n."""
    counts = sorted({point.x for points in series.values() for point in points})
    found = [Series(name=name, points=tuple(points)) for name, points in series.items()]
    if ideal:
        straight = tuple(Point(x=n, y=n, dot=False) for n in (1, counts[-1]))
        found.append(Series(name="", points=straight, dashed=True, hue="muted"))
    tops = [max(p.y, p.high) for each in found for p in each.points]
    # Batches double; GPUs are few, and a straight line should look straight.
    ends = (0.0, counts[-1] * 1.05) if ideal else (counts[0] / 1.1, counts[-1] * 1.1)
    x = Axis(title=over, ends=ends, log=not ideal, marks=tuple(counts))
    return Plot(x=x, y=linear(y, tops), series=tuple(found))


RoofPoint = tuple[str, str, float, float]  # (name, precision, operations a byte, operations a second)
Roof = tuple[str, float, float]  # (precision, operations a second, bytes a second)


def roofline(points: Sequence[RoofPoint], roofs: Sequence[Roof], forecasts: Sequence[RoofPoint] = ()) -> Plot:
    """Points under their roofs, forecasts hollow; the fastest point of each name carries it. roof(x) =
    min(compute limit, x * memory limit): Williams, Waterman and Patterson, 2009."""
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
        x=Axis(title="operations per byte of memory traffic", ends=ends, log=True),
        y=Axis(title="operations per second", ends=span, log=True),
        series=tuple(each for each in found if each.points),
    )


def tradeoff(
    points: Sequence[tuple[str, float, float, bool]], *, x: str, y: str,
    best: str = "no other is both faster and cheaper",
) -> Plot:  # fmt: skip
    """Points (name, x, y, whether no other is better in both) on logarithmic axes; a line joins those."""
    ends = min(p[1] for p in points) / 1.5, max(p[1] for p in points) * 1.5
    span = min(p[2] for p in points) / 1.3, max(p[2] for p in points) * 1.3
    ordered = sorted(points, key=lambda point: point[1])
    found = [
        Series(
            name=name,
            line=front,
            dashed=front,
            points=tuple(Point(x=p[1], y=p[2], name=p[0]) for p in ordered if p[3] is front),
        )
        for name, front in ((best, True), ("others", False))
    ]
    shown = tuple(each for each in found if each.points)
    axes = Axis(title=x, ends=ends, log=True), Axis(title=y, ends=span, log=True)
    return Plot(x=axes[0], y=axes[1], series=shown, height=TALL if len(points) > CROWD else HEIGHT)


def over_time(series: Mapping[str, Sequence[tuple[str, float]]], *, title: str, near: bool = False) -> Plot:
    """Lines of (time, value), each time a month as 2026-11, or of ISO 8601. With `near` the axis of values
    holds them alone, and not 0, so that small changes are seen."""

    def day(text: str) -> float:
        return datetime.fromisoformat(text if len(text) > 7 else f"{text}-01T00:00+00:00").timestamp() / 86400

    every = [pair for pairs in series.values() for pair in pairs]
    days, values = sorted({day(when) for when, _ in every}), [value for _, value in every]
    room, by_month = (days[-1] - days[0]) / 50 or 0.5, all(len(when) <= 7 for when, _ in every)
    return Plot(
        x=Axis(
            title="", ends=(days[0] - room, days[-1] + room), marks=tuple(days[:: ceil(len(days) / 7)]),
            dates="%Y-%m" if by_month else "%m-%d %H:%M" if days[-1] - days[0] < 7 else "%Y-%m-%d",
        ),
        y=Axis(title=title, ends=(min(values) / 1.02, max(values) * 1.02)) if near else linear(title, values),
        series=tuple(
            # Shapes tell lines apart, and a shape on each of many months would be a thick line.
            Series(name=visible(name), points=tuple(
                Point(x=day(when), y=value, dot=n in (0, len(of) - 1) or n % ceil(len(of) / 8) == 0)
                for n, (when, value) in enumerate(sorted(of))
            ))
            for name, of in series.items()
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
    given = shared(light)
    part = own(drawing, light)
    shape, kind = part.pop("shape"), given["kinds"][part.pop("kind")]
    for layer in kind["layer"]:  # as `charts.js` does
        if shape and layer["mark"]["type"] == "point":
            layer["encoding"] = {**layer.get("encoding", {}), "shape": shape}
    part["params"] = [{"name": "narrow", "value": False}, *part.pop("params", ())]
    part["usermeta"] = {"narrow": part.pop("tall")}
    return {**given["frame"], "description": description, "width": WIDTH, **kind, **part}


def light(hue: str) -> str:
    """The colour of that name on paper."""
    return PALETTE[hue][0]


def shared(ink: Callable[[str], str]) -> Chart:
    """What the specifications of all charts have: `frame`, and what each of the `kinds` draws."""
    return {name: _filled(_SPECS[name], ink) for name in ("frame", "kinds")}


def own(drawing: Drawing, ink: Callable[[str], str]) -> Chart:
    """What the specification of a drawing has beside that: the name of its `kind`, data, axes, colours and
    shapes, and its height, which where there is no room beside its rows is `tall`. `ink` makes a colour of
    its name."""
    found: Chart
    hues, field = drawing.hues, "series" if isinstance(drawing, Plot) else "colour"
    key = len(hues) if len(hues) > 1 else 0
    # As many names beside each other as a telephone has room for.
    beside = max(1, min(3, int(NARROW / (max(map(len, hues), default=0) * LETTER + 30))))
    across = max(3, min(6, int(WIDTH / (max(map(len, hues), default=0) * LETTER + 30))))
    lines, narrow_lines = ceil(key / across) * KEY, ceil(key / beside) * KEY
    if isinstance(drawing, Plot):
        # Guides to the eye have a colour of their own, and no key names them.
        named = hues | {
            each.name or f"line {n}": each.hue for n, each in enumerate(drawing.series) if each.hue
        }
        x, y = {"field": "x", **_axis(drawing.x)}, {"field": "y", **_axis(drawing.y)}
        found = {"kind": "plot", "height": drawing.height + lines, "tall": drawing.height + narrow_lines}
        values, fields = drawing.drawn
        found["transform"] = [{"flatten": fields}]
    else:
        named = hues
        kind, x, values = drawing.drawn
        names = max((len(row["label"]) for row in values if "label" in row), default=0) * LETTER + 24
        room = max((len(row.get("shown", "")) for row in values), default=0) * LETTER + 10
        x["scale"]["range"] = [{"expr": "left"}, {"expr": f"width - {room if kind != 'bands' else 0:.0f}"}]
        y = {"field": "n", "type": "ordinal", "axis": None}
        count, axis = len({row["n"] for row in values}), AXIS if kind != "bars" else 0
        found = {
            "kind": kind,
            "height": count * ROW + axis + lines,
            "tall": count * TALL_ROW + axis + narrow_lines,
            "params": [{"name": "left", "expr": f"narrow ? 0 : min({names:.0f}, width * 0.45)"}],
        }
    told: Chart = {"field": field, "type": "nominal"}
    if not key:
        told["legend"] = None
    else:
        told["legend"] = {"columns": {"expr": f"narrow ? {beside} : {across}"}}
        if field == "series":  # above a plot stands the title of its axis
            told["legend"] |= {"values": list(hues), "offset": 22}
    outlines = [shape for _, shape in zip(named, cycle(SHAPES), strict=False)]
    colours, shapes = (
        {**told, "scale": {"domain": list(named), "range": each}}
        for each in ([ink(hue) for hue in named.values()], outlines)
    )
    return {
        **found,
        "data": {"values": values},
        "encoding": {"x": x, "y": y, "color": colours},
        "shape": shapes if len(hues) > 1 and found["kind"] in ("plot", "ratios") else None,
    }


def _drawn(value: float) -> float:
    """To a millionth, which nobody sees: of a site the charts are a sixth."""
    return float(f"{value:.6g}")


def _axis(axis: Axis) -> Chart:
    given: Chart = {"values": list(axis.marks)} if axis.marks else {}
    low, high = axis.ends
    if axis.log and not axis.marks and high / low > 10:
        # Vega marks each tenth of a power of ten.
        steps = (1, 3) if high / low < 1e4 else (1,)
        powers = range(floor(log10(low)), ceil(log10(high)))
        given["values"] = [step * 10.0**power for power in powers for step in steps]
    elif axis.log and not axis.marks:
        # Below 1 Vega marks each tenth, above it each whole number.
        size = 10.0 ** floor(log10(high - low))
        step = next((part * size for part in (0.1, 0.2, 0.5) if (high - low) <= 8 * part * size), size)
        given["values"] = [_drawn(n * step) for n in range(ceil(low / step), floor(high / step) + 1)]
    if axis.dates:
        given["labelExpr"] = f"utcFormat(datum.value * 864e5, '{axis.dates}')"
    elif axis.marks:
        given["format"] = ","  # a batch of 1,024 is no 1.024k
    elif high < 5 or (low < 1 and axis.log):
        given["labelExpr"] = "format(datum.value, datum.value < 1 ? '~g' : '~s')"  # half is no 500m
    return {
        "type": "quantitative",
        "title": axis.title or None,
        **({"axis": given} if given else {}),
        "scale": {"domain": [_drawn(end) for end in axis.ends], **({"type": "log"} if axis.log else {})},
    }


def _filled(spec: Any, ink: Callable[[str], str]) -> Any:
    """A part of `vega.json` with `@name` replaced by a colour and `$name` by the part of that name, a list in
    a list by its items."""
    if isinstance(spec, dict):
        return {key: _filled(part, ink) for key, part in spec.items()}
    if isinstance(spec, list):
        return [
            item
            for part in spec
            for item in (_filled(part, ink) if str(part).startswith("$") else [_filled(part, ink)])
        ]
    if isinstance(spec, str) and spec[:1] in "$@" and spec[1:]:
        return ink(spec[1:]) if spec[0] == "@" else _filled(_SPECS[spec[1:]], ink)
    return spec
