"""A recommendation as a table: what is old is marked, what is asked for is shown."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import date

import pytest

from gpuwise.judge.choose.decide import recommend
from gpuwise.model.gpu import Offer, Source
from gpuwise.model.judgement import Assumptions, Chance, Need, Recommendation
from gpuwise.model.result import Interval
from gpuwise.show import choice
from gpuwise.show.charts import Plot
from gpuwise.show.table import comma_separated

from ..records import made_up

SOURCE = Source(id="made-up", title="made up", kind="third-party", read_on="2026-11-21")


def made(**changes) -> Recommendation:
    interval = Interval(value=100.0, low=80.0, high=125.0, level=0.8, method="made up")
    speeds = [made_up(gpu_id=gpu, throughput=interval, watts=300.0) for gpu in ("rtx-3090", "rtx-4090", "t4")]
    offers = [
        Offer(gpu=gpu, gpu_ids=(gpu,), count=1, kind=kind, amount=amount, provider="cloud", seen_on=day,
              source=SOURCE)
        for gpu, kind, amount, day in (
            ("rtx-3090", "on-demand", 0.2, "2026-11-01"), ("rtx-4090", "on-demand", 0.3, "2026-01-02"),
            ("rtx-4090", "new", 1600.0, "2022-10-12"),
        )
    ]  # fmt: skip
    given = {
        "workloads": (("resnet50", 1.0),),
        "mode": "train",
        "precision": "bf16",
        "items": 3.6e6,
        "assumptions": Assumptions(max_age_days=None),
    }
    return recommend(Need(**(given | changes)), speeds, offers, today=date(2026, 11, 21), item="image")


def cells(found: Recommendation, column: str, *, wide: bool = True) -> list[str]:
    shown = choice.table(found, top=None, wide=wide)
    place = shown.columns.index(column)
    return [row[place] for row in shown.rows]


def test_old_prices_are_in_brackets_and_grey() -> None:
    found = made()
    assert cells(found, "price") == ["$0.20/h 2026-11", "($0.30/h 2026-01)", "($1,600 2022-10)"]
    assert choice.table(found, top=None).dim == {1, 2}
    assert any("ranks by its upper end" in note for note in choice.table(found, top=None).notes)
    assert choice.table(found, top=1).dim == frozenset()


def test_a_narrow_table_keeps_what_decides() -> None:
    narrow = choice.table(made(), top=None).columns
    assert {"price", "images/s", "known by", "time", "cost"} <= set(narrow)
    assert "energy" not in narrow
    assert {"energy", "pays from", "cost of 1M images"} <= set(
        choice.table(made(), top=None, wide=True).columns
    )
    # Without an amount of work the cost of items is all there is.
    assert "cost of 1M images" in choice.table(made(items=None), top=None).columns


def test_the_frontier_carries_a_star() -> None:
    assert [row[0] for row in choice.table(made(), top=None).rows] == ["1*", "2 ", "3 "]
    # The notes name places, so they stand there also without an amount of work.
    assert [row[0][0] for row in choice.table(made(items=None), top=None).rows] == ["1", "2", "3"]


def test_every_assumption_is_printed() -> None:
    text = choice.assumed(Assumptions(electricity_usd_per_kwh=0.31, years=4))
    for option in (
        "$0.31/kWh", "40 h of use a week", "4 years", "host by class", "x1.3", "30 % of the value",
    ):  # fmt: skip
        assert option in text


def test_what_is_left_out_is_told() -> None:
    found = made()
    assert list(found.rejected) == ["t4"]
    assert ("t4", "no price is known") in choice.rejections(found).rows
    assert any(note.startswith("Refused: 1 GPU (") for note in choice.table(found, top=None).notes)
    assert any(note.startswith("left out: t4") for note in choice.whole(found).notes)


def test_a_notebook_shows_the_options_and_their_costs() -> None:
    text = made()._repr_html_()
    assert text.count("<table") == 2
    assert "<svg" in text


def test_csv_of_a_choice_holds_values_with_their_intervals() -> None:
    head, first, *_ = comma_separated(choice.whole(made())).splitlines()
    row = dict(zip(next(csv.reader([head])), next(csv.reader([first])), strict=True))
    speed = next(name for name in row if name.endswith("/s"))
    assert float(row[f"{speed} low"]) < float(row[speed]) < float(row[f"{speed} high"])
    cost = next(name for name in row if name.startswith("cost"))
    assert (float(row[cost]) > 0, row[f"{cost} unit"]) == (True, "USD")
    assert not any("$" in cell for name, cell in row.items() if not name.endswith("note"))


def test_the_answer_stands_before_the_table_and_the_detail_behind_it() -> None:
    found = made(items=None)
    short, full = choice.table(found, top=8, why=False), choice.table(found, top=8)
    assert short.before[0] == found.answer
    assert any(line.startswith("Runner-up: ") for line in short.before)
    assert len(short.before) + len(short.rows) + len(short.notes) < 28
    assert not any(note.startswith("1. ") for note in short.notes)
    assert any(note.startswith("1. ") for note in full.notes)


def test_each_row_that_is_shown_has_its_reasons_and_no_other_is_named() -> None:
    found = replace(made(), chances=tuple(Chance(other=rank, probability=0.6) for rank in (2, 3)))
    for top in (1, 2, 3):
        notes = choice.table(found, top=top).notes
        assert [n[0] for n in notes if n[:2] in ("1.", "2.", "3.")] == ["1", "2", "3"][:top]
        close = next((note for note in notes if "within the uncertainty" in note), "")
        assert ("2" in close.split(" cost ")[0], "3" in close.split(" cost ")[0]) == (top > 1, top > 2)


def test_each_gpu_has_one_row_unless_all_are_asked_for() -> None:
    found = made()
    assert len({(o.gpu_id, o.way) for o in found.options}) == len(found.options) == 3
    assert [row[1] for row in choice.table(found, top=None, why=False).rows] == [
        "1 x rtx-3090", "1 x rtx-4090", "1 x rtx-4090",
    ]  # fmt: skip


def test_cost_against_time_is_drawn_with_its_front() -> None:
    figure = choice.figure(made())
    assert figure is not None
    (drawn,) = figure.charts
    assert isinstance(drawn, Plot)
    assert len(figure.table.rows) == sum(len(series.points) for series in drawn.series)
    best, others = ([point.name for point in series.points] for series in drawn.series)
    assert {*best, *others} == {"RTX 3090", "RTX 4090"}
    assert len(best) == 1


def test_costs_of_small_items_are_drawn_of_as_many_as_the_table_counts() -> None:
    found = made()
    cost = Interval(value=4e-7, low=3e-7, high=5e-7, level=0.8, method="made up")
    options = tuple(replace(o, cost_per_item_usd=cost) for o in found.options)
    small = replace(found, need=replace(found.need, items=None), options=options, item="token")
    figure = choice.figure(small)
    assert figure is not None
    (drawn,) = figure.charts
    assert isinstance(drawn, Plot)
    assert all(point.y == pytest.approx(0.4) for series in drawn.series for point in series.points)
    named = [column for column in choice.table(small, top=None).columns if column.startswith("cost of")]
    assert set(named) <= set(figure.table.columns)
    assert named


def test_an_answer_stands_in_lines_of_whole_sentences() -> None:
    answer = " ".join(f"Sentence {n} has {'a word ' * 12}at $1.50/h." for n in range(4))
    lines = choice._lines(answer)
    assert " ".join(lines) == answer
    assert len(lines) > 1
    assert all(line.endswith(".") and len(line.split()) <= 60 for line in lines)


@pytest.mark.parametrize(
    ("unread", "note", "said"),
    [
        ("30 frames per second", "30 frames a second in all", False),
        ("how many share it (30 people)", "one machine that 30 people share", False),
        ("60 frames per second", "30 frames a second in all", True),
        ("30 cameras", "30 frames a second in all", True),
        ("bangalore", "at home", True),
        ("8", "of 8 people 4 at once", True),
    ],
)
def test_what_was_taken_is_not_said_to_be_left_out(unread: str, note: str, said: bool) -> None:
    found = made()
    found = replace(found, need=replace(found.need, ignored=(unread,), notes=(note,)))
    assert any(line.startswith("Not taken into account") for line in choice.said(found)) is said
