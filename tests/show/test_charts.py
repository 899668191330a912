"""Charts: what is drawn is what was given, as a page and as Vega-Lite, and everybody can see it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.show import charts
from gpuwise.show.charts import (
    COLOURS,
    PALETTE,
    SERIES,
    Axis,
    Bands,
    Drawing,
    Mark,
    Part,
    Plot,
    Point,
    Rows,
    Series,
    linear,
    vega,
)
from gpuwise.show.html import svg, variable

A, B = "a, images per second", "b, tokens per second"
MARKS = (
    Mark(label="64", value=10.0, low=9.0, high=11.0, group=A, colour="bf16", shown="10"),
    Mark(label="128", value=12.0, low=12.0, high=12.0, group=A, colour="fp16", shown="12"),
    Mark(label="64", value=300.0, low=290.0, high=320.0, group=B, colour="bf16", shown="300"),
)
POINTS = [Point(x=64, y=10.0, low=9.0, high=11.0), Point(x=128, y=12.0, low=12.0, high=12.0)]
PARTS = (
    Part(label="resnet50 train", begin=0, end=4, colour="full clock"),
    Part(label="resnet50 train", begin=4, end=6, colour="held down", height=0.5),
    Part(label="limits", begin=7, end=8, colour="held down at times", height=0.75, shown="here"),
)
ROOFS = [("bf16", 8e14, 4.2e12), ("fp32", 5e13, 4.2e12)]
EVERY: dict[str, Drawing] = {
    "throughput": Rows(marks=MARKS, title="precision"),
    "ratios": Rows(marks=MARKS, ratio=True, title="b over a"),
    "timeline": Bands(parts=PARTS, title="seconds"),
    "batches": charts.curves({"bf16": POINTS}, y="images per second"),
    "scaling": charts.curves({"measured": POINTS}, y="times one GPU", over="GPUs", ideal=True),
    "roofline": charts.roofline([("resnet50 train", "bf16", 78.0, 1.8e14)], ROOFS),
    "tradeoff": charts.tradeoff([("a", 1.0, 4.0, True), ("b", 2.0, 3.0, False)], x="rent", y="speed"),
    "months": charts.over_time({"bf16": [("2026-01", 10.0)], "fp16": [("2026-11", 12.0)]}, title="USD"),
}  # fmt: skip


def values(chart: object) -> list[dict[str, object]]:
    """Every row of data anywhere in a specification."""
    if isinstance(chart, dict):
        own = chart["data"]["values"] if isinstance(chart.get("data"), dict) else []
        return [*own, *(row for part in chart.values() for row in values(part) if part is not own)]
    return [row for part in chart for row in values(part)] if isinstance(chart, list) else []


@pytest.mark.parametrize("name", EVERY)
def test_every_chart_is_json_and_can_be_drawn_as_a_file_and_by_a_page(name: str) -> None:
    chart = vega(EVERY[name], "what it shows")
    assert json.loads(json.dumps(chart)) == chart
    assert chart["description"] == "what it shows"
    assert not [row for row in values(chart) if "$" in str(row) or "@" in str(row)]
    drawn = svg(EVERY[name])
    assert drawn.startswith("<svg")
    assert "NaN" not in drawn


@pytest.mark.parametrize("name", EVERY)
def test_a_page_says_of_a_chart_what_a_file_does_in_its_own_colours(name: str) -> None:
    """`charts.js` adds what all charts share, width and height; here that is done as there."""
    part, whole = charts.own(EVERY[name], charts.light), vega(EVERY[name])
    kind = charts.shared(charts.light)["kinds"][part["kind"]]
    assert part["data"] == whole["data"]
    assert part["encoding"] == whole["encoding"]
    assert [layer["mark"] for layer in kind["layer"]] == [layer["mark"] for layer in whole["layer"]]
    shaped = [layer for layer in whole["layer"] if "shape" in layer.get("encoding", {})]
    assert bool(shaped) == bool(part["shape"])
    paged = json.dumps([charts.own(EVERY[name], variable), charts.shared(variable)])
    assert "var(--" in paged
    assert not any(light in paged for light, _ in PALETTE.values())


def test_rows_take_more_height_where_their_labels_stand_above_them() -> None:
    chart = vega(EVERY["throughput"])
    assert chart["height"] < chart["usermeta"]["narrow"]


@pytest.mark.parametrize("name", ["throughput", "ratios", "batches"])
def test_no_value_is_lost(name: str) -> None:
    rows = values(vega(EVERY[name]))
    assert {10.0, 12.0} <= {value for row in rows for value in row.get("y", [row.get("value")])}  # type: ignore[attr-defined]


def test_two_rows_of_one_name_are_not_drawn_over_each_other() -> None:
    chart = Rows(marks=(MARKS[0], MARKS[0], MARKS[1]))
    assert [mark.label for _, marks in chart.groups for mark in marks] == ["64", "64 (2)", "128"]
    assert "64 (2)" in svg(chart)


def test_the_line_of_the_scatter_joins_what_nothing_beats_on_both() -> None:
    points = [(2.0, 5.0), (1.0, 4.0), (1.0, 3.0), (4.0, 5.0), (8.0, 9.0)]
    assert charts.frontier(points) == [1, 0, 4]
    plot = charts.tradeoff([("a", 9.0, 9.0, True), ("b", 1.0, 4.0, True), ("c", 2.0, 3.0, False)], x="", y="")
    front, others = plot.series
    assert [point.name for point in front.points] == ["b", "a"]
    assert (front.line, others.line, [point.name for point in others.points]) == (True, False, ["c"])


def test_what_the_clock_did_is_told_by_colour_and_by_height() -> None:
    bands = Bands(parts=PARTS, title="s")
    assert list(bands.hues) == ["full clock", "held down at times", "held down"]
    assert len(set(bands.hues.values())) == len({part.height for part in PARTS}) == 3


def test_series_are_told_apart_by_colour_and_by_shape() -> None:
    series = tuple(Series(name=f"n{n}", points=(Point(x=n, y=n),)) for n in range(6))
    plot = charts.own(Plot(x=linear("x", range(6)), y=linear("y", range(6)), series=series), charts.light)
    for told in (plot["encoding"]["color"], plot["shape"]):
        assert len(set(told["scale"]["range"])) == len(told["scale"]["domain"]) == 6


def test_names_of_points_lie_over_nothing() -> None:
    close = [
        ("one train", "bf16", 100.0, 1e14),
        ("two train", "bf16", 101.0, 1.01e14),
        ("far", "bf16", 2.0, 1e12),
    ]
    sides = charts.roofline(close, ROOFS).sides
    assert {point.name: side[0] for point, side in sides.items()} == {
        "far": "R", "one train": "L", "two train": "R",
    }  # fmt: skip
    crowd = [(f"number {n} train", "bf16", 100.0 + n / 100, 1e14) for n in range(9)]
    dense = charts.roofline(crowd, ROOFS).sides.values()
    for screen in (0, 1):
        said = [side[screen] for side in dense if side[screen] != "-"]
        assert len(said) == len(set(said)) >= 3


def test_a_name_stands_where_no_line_runs_through_it() -> None:
    # Right of each point but the last runs the line to the next, a flat one.
    front = [(f"GPU {n}", 10.0**n, 1.0 + n / 100, True) for n in range(4)]
    plot = charts.tradeoff([*front, ("slow", 30.0, 0.1, False)], x="", y="")
    *joined, _, apart = (side[0] for side in plot.sides.values())
    assert (set(joined) <= set("UD"), apart) == (True, "R")
    assert charts._struck(((0, 50), (100, 60)), 20, 80, 55) == 1
    assert charts._struck(((0, 50), (100, 60)), 20, 80, 70) == 0
    assert charts._struck(((0, 0), (100, 100)), 20, 80, 55) == 0.25
    assert charts._struck(((0, 0), (30, 30)), 20, 80, 55) == 0
    assert charts._struck(((0, 55), (100, 55)), 20, 80, 55) == 1
    assert charts._struck(((50, 0), (50, 90)), 20, 80, 55) == pytest.approx(1 / 60)
    assert charts._struck(((90, 0), (90, 90)), 20, 80, 55) == 0


def test_a_name_that_lines_run_through_on_every_side_is_left_out() -> None:
    axis = charts.Axis(title="", ends=(0.0, 10.0))
    heights = (4.6, 4.8, 5.0, 5.2, 5.4)
    rungs = [Series(name=f"{y}", points=(Point(x=0, y=y), Point(x=10, y=y))) for y in heights]
    named = Series(name="it", points=(Point(x=5, y=5.0, name="a name"),), line=False)
    plot = Plot(x=axis, y=axis, series=(*rungs, named))
    assert plot.sides[named.points[0]] == "--"
    assert replace(plot, series=(named,)).sides[named.points[0]] == "RR"


def test_a_short_name_of_capitals_has_its_room() -> None:
    rows = Rows(marks=(replace(MARKS[0], label="GPU 5"),), ratio=True)
    assert ">GPU 5</text>" in svg(rows)


@pytest.mark.parametrize(("low", "high"), [(0.75, 1.35), (0.3, 2.6), (0.9, 6.0)])
def test_an_axis_of_ratios_is_labelled_on_both_sides_of_one(low: float, high: float) -> None:
    plot = charts.own(Rows(marks=(replace(MARKS[0], low=low, high=high),), ratio=True), charts.light)
    at = plot["encoding"]["x"]["axis"]["values"]
    assert 3 <= len(at) <= 10
    assert 1 in at
    assert max(at) > 1 + (high - 1) / 2


def test_the_axes_of_the_roofline_have_round_marks_and_room_below_the_lowest_roof() -> None:
    plot = charts.roofline([("one train", "bf16", 100.0, 1e14)], ROOFS)
    assert plot.y.ends[0] < 5e13 < 8e14 < plot.y.ends[1]
    drawn = svg(plot)
    assert all(f">{text}</text>" in drawn for text in ("30T", "100T", "300T", "1P"))


@pytest.mark.parametrize(("low", "high"), [(0.5, 2.0), (0.9, 1.2), (0.1, 100.0)])
def test_one_is_always_on_the_axis_of_ratios(low: float, high: float) -> None:
    plot = charts.own(Rows(marks=(replace(MARKS[0], low=low, high=high),), ratio=True), charts.light)
    ends = plot["encoding"]["x"]["scale"]["domain"]
    assert ends[0] < min(1, low) < max(1, high) < ends[1]
    assert ">1</text>" in svg(Rows(marks=(replace(MARKS[0], low=low, high=high),), ratio=True))


def test_half_is_a_half_and_no_500_thousandths() -> None:
    points = [("a", 0.1, 4.0, True), ("b", 2.0, 0.5, False)]
    drawn = svg(charts.tradeoff(points, x="rent", y="speed"))
    assert ">0.3</text>" in drawn
    assert "m</text>" not in drawn


@given(st.lists(st.floats(0, 1e18), min_size=1, max_size=9))
def test_linear_axes_hold_every_value(found: list[float]) -> None:
    axis = linear("", found)
    assert all(0 <= axis.at(value) <= 1 for value in found)


@given(st.floats(1e-6, 1e15), st.floats(1.5, 1e6))
def test_logarithmic_axes_keep_the_order(low: float, factor: float) -> None:
    axis = Axis(title="", ends=(low, low * factor), log=True)
    places = [axis.at(low * factor**share) for share in (-1.0, 0.0, 0.3, 1.0, 2.0)]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, 1.0)


def contrast(one: str, other: str) -> float:
    """WCAG 2.1 contrast of two colours: (L1 + 0.05) / (L2 + 0.05)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_and_marks_have_the_contrast_of_level_aa(scheme: int) -> None:
    for ground in ("paper", "raised"):
        for text in ("ink", "muted", "link"):
            assert contrast(PALETTE[text][scheme], PALETTE[ground][scheme]) >= 4.5, (text, ground)
    for name in SERIES:
        assert contrast(PALETTE[name][scheme], PALETTE["paper"][scheme]) >= 3.0, name
    for name in ("matmul", "convolution", "attention", "normalisation", "pointwise", "link", "other"):
        # Names of kinds are written on their colours.
        assert contrast(PALETTE[COLOURS[name]][scheme], PALETTE["paper"][scheme]) >= 4.5, name


def test_a_precision_keeps_its_colour_beside_those_that_have_none() -> None:
    named = charts.hues(["fp16", "mxfp4", "bf16", "int4"])
    assert (named["fp16"], named["bf16"]) == (COLOURS["fp16"], COLOURS["bf16"])
    assert len(set(named.values())) == 4


def test_each_colour_means_one_thing() -> None:
    for scheme in (0, 1):
        colours = [pair[scheme] for pair in PALETTE.values()]
        assert len(colours) == len(set(colours))
    precisions = [COLOURS[name] for name in ("bf16", "fp16", "tf32", "fp32", "fp8", "int8", "fp64")]
    assert len(set(precisions)) == len(precisions)


def test_a_time_axis_has_a_label_for_some_of_its_days_and_holds_its_values() -> None:
    times = [(f"2026-11-{n + 1:02}T00:00:00+00:00", 1 - n / 100) for n in range(20)]
    plot = charts.over_time({"bf16": times}, title="over the first", near=True)
    assert (len(plot.x.marks), plot.x.dates, plot.x.marks[1] - plot.x.marks[0]) == (7, "%Y-%m-%d", 3.0)
    assert plot.y.ends[0] == pytest.approx(0.81 / 1.02)
    months = charts.over_time({"bf16": [("2026-01", 10.0), ("2026-11", 10.0)]}, title="")
    assert (months.x.dates, months.x.marks[1] - months.x.marks[0], months.y.ends[0]) == ("%Y-%m", 304.0, 0.0)
