"""Charts: what is drawn is what was given, and everybody can see it."""

from __future__ import annotations

import json

import pytest

from gpuwise.show import charts
from gpuwise.show.charts import KINDS as COLOURS
from gpuwise.show.charts import ticks
from gpuwise.show.html import svg
from gpuwise.show.theme import PALETTE, PRECISION_COLOURS, SERIES, Chart, Mark

MARKS = (
    Mark(
        label="64",
        value=10.0,
        low=9.0,
        high=11.0,
        group="a, images per second",
        colour="bf16",
        shown="10 ±10 %",
    ),
    Mark(
        label="128", value=12.0, low=12.0, high=12.0, group="a, images per second", colour="fp16", shown="12"
    ),
    Mark(
        label="64",
        value=300.0,
        low=290.0,
        high=320.0,
        group="b, tokens per second",
        colour="bf16",
        shown="300",
    ),
)
SPANS = (
    charts.Span(label="resnet50 train", stretches=((0, 4, "full clock"),), power_w=600.0),
    charts.Span(label="resnet50 train", stretches=((5, 6, "full clock"), (6, 8, "held down"))),
    charts.Span(
        label="limits",
        stretches=((9, 10, "held down at times"),),
        power_w=700.0,
        power=((9.0, 650.0), (9.5, 720.0), (10.0, 690.0)),
    ),
)
EVERY: dict[str, Chart] = {
    "throughput": charts.bars(MARKS, description="Throughput"),
    "batches": charts.lines(MARKS[:2], item="image", over="batch"),
    "ratios": charts.ratios(MARKS, title="b over a"),
    "energy": charts.bars(MARKS, description="Items per joule"),
    "scaling": charts.lines(MARKS[:2], item="image", over="GPUs"),
    "roofline": charts.roofline([("resnet50 train", "bf16", 78.0, 1.8e14)], [("bf16", 8e14, 4.2e12)]),
    "timeline": charts.timeline(SPANS, power_limit_w=700.0),
    "kernels": charts.kernels(
        [("a", {"matmul": 0.6, "other": 0.39, "link": 0.01}), ("b", {"attention": 1.0})]
    ),
}


def values(chart: object) -> list[dict[str, object]]:
    """Every row of data anywhere in a specification."""
    if isinstance(chart, dict):
        own = chart["data"]["values"] if isinstance(chart.get("data"), dict) else []
        return [*own, *(row for part in chart.values() for row in values(part) if part is not own)]
    return [row for part in chart for row in values(part)] if isinstance(chart, list) else []


@pytest.mark.parametrize("name", EVERY)
def test_every_chart_is_json_and_can_be_drawn(name: str) -> None:
    chart = EVERY[name]
    assert json.loads(json.dumps(chart)) == chart
    assert chart["description"]
    drawn = svg(chart)
    assert drawn.startswith("<svg")
    assert "NaN" not in drawn


def test_power_over_time_is_drawn_where_samples_were_kept() -> None:
    sampled = [(row["at"], row["power"]) for row in values(EVERY["timeline"]) if "at" in row]
    assert sampled == [(9.0, 650.0), (9.5, 720.0), (10.0, 690.0)]
    assert all("at" not in row for row in values(charts.timeline(SPANS[:2])))


@pytest.mark.parametrize("name", ["throughput", "ratios", "energy"])
def test_no_value_is_lost(name: str) -> None:
    drawn = [row["value"] for row in values(EVERY[name]) if "value" in row]
    assert sorted(set(drawn)) == [10.0, 12.0, 300.0]


def test_parts_of_a_step_stand_end_to_end_and_say_what_they_are_where_there_is_room() -> None:
    parts = [
        (row["label"], row["kind"], row["start"], row["end"], row["shown"])
        for row in values(EVERY["kernels"])
    ]
    assert parts == [
        ("a", "matmul", 0.0, 0.6, "matmul"),
        ("a", "link", 0.6, pytest.approx(0.61), ""),
        ("a", "other", pytest.approx(0.61), pytest.approx(1.0), "other"),
        ("b", "attention", 0.0, 1.0, "attention"),
    ]


def test_two_rows_of_one_name_are_not_drawn_over_each_other() -> None:
    chart = charts.bars((MARKS[0], MARKS[0], MARKS[1]), description="Throughput")
    assert [row["label"] for row in values(chart)] == ["64", "64 (2)", "128"]
    assert "64 (2)" in svg(chart)


def test_the_line_of_the_scatter_joins_what_nothing_beats_on_both() -> None:
    points = [(2.0, 5.0), (1.0, 4.0), (1.0, 3.0), (4.0, 5.0), (8.0, 9.0)]
    assert charts.frontier(points) == [1, 0, 4]
    places = [("a" * 9, 1.0, 4.0, True), ("b" * 9, 1.01, 4.01, False), ("c", 9.0, 9.0, True)]
    chart = charts.tradeoff(places, x="rent", y="speed")
    named = {row["label"]: row["right"] or row["left"] for row in values(chart) if "right" in row}
    assert named == {"a" * 9: "a" * 9, "b" * 9: "b" * 9, "c": "c"}
    assert "NaN" not in svg(chart)


def test_the_words_beside_the_bars_are_in_the_drawing() -> None:
    drawn = svg(EVERY["throughput"])
    assert all(text in drawn for text in ("10 ±10 %", "a, images per second", "b, tokens per second", "bf16"))


def test_what_the_clock_did_is_told_by_colour_and_by_height() -> None:
    tracks = EVERY["timeline"]["vconcat"][0]
    scale = tracks["encoding"]["color"]["scale"]
    assert scale["domain"] == ["full clock", "held down at times", "held down"]
    heights = {row["state"]: row["height"] for row in tracks["data"]["values"]}
    assert len(set(heights.values())) == len(set(scale["range"])) == 3


def test_names_of_the_roofline_lie_over_nothing() -> None:
    close = [
        ("one train", "bf16", 100.0, 1e14),
        ("two train", "bf16", 101.0, 1.01e14),
        ("far", "bf16", 2.0, 1e12),
    ]
    chart = charts.roofline(close, [("bf16", 8e14, 4.2e12)])
    named = [row["right"] or row["left"] for row in values(chart) if "right" in row]
    assert sorted(filter(None, named)) == ["far", "one train", "two train"]
    assert {row["name"]: bool(row["left"]) for row in values(chart) if "left" in row}["one train"]
    crowd = [(f"number {n} train", "bf16", 100.0 + n / 100, 1e14) for n in range(9)]
    dense = charts.roofline(crowd, [("bf16", 8e14, 4.2e12)])
    assert sum(bool(row["right"] or row["left"]) for row in values(dense) if "right" in row) <= 2


def test_the_axes_of_the_roofline_have_round_marks_and_room_below_the_lowest_roof() -> None:
    roofs = [("bf16", 8e14, 4.2e12), ("fp32", 5e13, 4.2e12)]
    chart = charts.roofline([("one train", "bf16", 100.0, 1e14)], roofs)
    encoding = chart["layer"][0]["encoding"]
    low, high = encoding["y"]["scale"]["domain"]
    assert low < 5e13 < 8e14 < high
    assert encoding["y"]["axis"]["values"] == pytest.approx([3e13, 1e14, 3e14, 1e15])


def test_ticks_of_ratios_are_round_and_hold_one() -> None:
    assert 1 in ticks((0.5, 2.0))
    assert all(0.9 <= tick <= 1.2 for tick in ticks((0.9, 1.2)))
    assert len(ticks((0.1, 100.0))) < 12


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
    marks = [name for name, (light, _) in PALETTE.items() if light in SERIES]
    for name in marks:
        assert contrast(PALETTE[name][scheme], PALETTE["paper"][scheme]) >= 3.0, name
    schemes = {light: (light, dark) for light, dark in PALETTE.values()}
    for kind, colour in COLOURS.items():  # names of kinds are written on them
        assert contrast(schemes[colour][scheme], PALETTE["paper"][scheme]) >= 4.5, kind


def test_each_colour_means_one_thing() -> None:
    for scheme in (0, 1):
        colours = [pair[scheme] for pair in PALETTE.values()]
        assert len(colours) == len(set(colours))
    assert len(set(PRECISION_COLOURS.values())) == len(PRECISION_COLOURS)
