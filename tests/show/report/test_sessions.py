"""What a report says once of many sessions, and how it lays them out in time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.model.result import Measurement, Reading, Telemetry, Window
from gpuwise.show import report as whole
from gpuwise.show.page import Section
from gpuwise.show.report import ReportInput, report

from .test_report import PLACE, TODAY, limit, marks, measured, of, parts, section, store_result


def test_a_setting_measured_in_several_sessions_is_one_bar_between_its_ends() -> None:
    sessions = [replace(store_result(measured(speed=s)), id=f"{s:.0f}") for s in (90.0, 110.0, 100.0)]
    fp32 = replace(store_result(measured("fp32", 50.0)), id="fp32")
    (figure,) = whole.throughput(ReportInput(results=(*sessions, fp32), today=TODAY)).figures
    first = marks(figure)[0]
    assert (first.value, first.low, first.high) == (100.0, 90.0, 110.0)
    assert first.shown == "100.0 (90.00 to 110.0, 3 times)"
    assert len(figure.table.rows) == 2


def drawn(*measurements: Measurement) -> Section:
    return whole.throughput(ReportInput(results=(store_result(*measurements),), today=TODAY))


def test_bars_that_the_first_screen_shows_are_not_drawn_again() -> None:
    page = of(measured(), measured("fp32", 50.0))
    assert page.lead is not None
    assert len(marks(page.lead)) == 2
    found = section(page, "throughput")
    assert (found.figures, len(found.tables[0].rows)) == ((), 2)
    more = measured("fp32", 40.0, config=replace(measured().config, compile=True, precision="fp32"))
    assert len(section(of(measured(), measured("fp32", 50.0), more), "throughput").figures) == 1


def test_a_workload_of_one_configuration_has_no_bar_beside_workloads_of_several() -> None:
    other = replace(measured().config, workload="vit-b16")
    found = drawn(measured(), measured("fp32", 50.0), measured(config=other))
    assert len(found.figures) == 1
    assert [row[0] for row in found.tables[0].rows] == ["vit-b16 train"]
    alone = section(of(measured(), measured(config=other)), "throughput")
    assert alone.figures == ()
    assert [row[0] for row in alone.tables[0].rows] == ["resnet50 train", "vit-b16 train"]


def test_a_long_report_draws_the_most_configured_workloads_and_lists_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(whole, "DRAWN", 1)
    vit = replace(measured().config, workload="vit-b16")
    rows = [measured(config=vit), measured(config=replace(vit, precision="fp16"))]
    more = [measured(precision) for precision in ("bf16", "tf32", "fp32")]
    found = drawn(*rows, *more)
    assert [figure.table.title for figure in found.figures] == ["resnet50 train"]
    assert [row[0] for row in found.tables[0].rows] == ["vit-b16 train"] * 2


def test_many_sessions_share_one_timeline_and_one_roofline() -> None:
    every = (measured(), limit("matmul", 8e14, "FLOP"), limit("copy", 4e12, "byte"))
    faster = (measured(), limit("matmul", 9e14, "FLOP"), limit("copy", 4e12, "byte"))
    results = [replace(store_result(*m), id=f"s{n}") for n, m in enumerate((every, faster, every))]
    page = report(ReportInput(results=tuple(results), today=TODAY))
    (timeline,) = section(page, "timeline").figures
    assert [row[0] for row in timeline.table.rows] == ["s0", "s1", "s2"]
    assert len(section(page, "timeline").folded) == 3
    assert max(part.end for part in parts(timeline)) == pytest.approx(100)
    limits = section(page, "limits")
    assert len(limits.figures) == 1
    assert limits.tables[0].rows[1][:4] == ("matmul bf16", "900 TFLOP/s ±0.0 %", "3 times", "800 TFLOP/s")


def test_what_differs_between_the_machines_of_sessions_stands_apart() -> None:
    here = store_result(measured())
    there = replace(here, id="y", environment=replace(PLACE, torch="2.12.0", variables=(("A", "1"),)))
    common, differs = section(report(ReportInput(results=(here, there), today=TODAY)), "machine").folded
    assert ("device", "NVIDIA H200") in common.rows
    assert differs.columns == ("in", "torch", "A")
    assert differs.rows == (("1 session", "2.11.0", ""), ("1 session", "2.12.0", "1"))


def test_sessions_on_several_cards_of_a_kind_share_a_row_that_counts_them() -> None:
    here = store_result(measured())
    cards = [
        replace(here, id=name, environment=replace(PLACE, card=name, torch=torch))
        for name, torch in (("a", PLACE.torch), ("b", PLACE.torch), ("b", PLACE.torch), ("c", "2.12.0"))
    ]
    _, differs = section(report(ReportInput(results=tuple(cards), today=TODAY)), "machine").folded
    assert differs.columns == ("in", "torch", "cards")
    assert differs.rows == (("3 sessions", "2.11.0", "2"), ("1 session", "2.12.0", "1"))


def test_the_timeline_shows_where_samples_say_that_the_clock_was_held() -> None:
    readings = tuple(Reading(at_s=10 + s / 4, power_w=500.0, held=s in (1, 2)) for s in range(4))
    told = replace(measured().telemetry or Telemetry(samples=4), timeline=readings)
    (figure,) = section(of(measured(telemetry=told)), "timeline").figures
    states = [(part.begin, part.end, part.colour) for part in parts(figure)]
    assert states == [(0, 0.25, "full clock"), (0.25, 0.75, "held down"), (0.75, 1, "full clock")]


def test_measurements_lie_end_to_end_in_the_timeline() -> None:
    later = measured("fp32", windows=(Window(step_s=(1.0,), started_s=500.0, ended_s=502.0),))
    (figure,) = section(of(measured(), later), "timeline").figures
    first, second = parts(figure)
    assert (first.begin, first.end) == (0, 1)
    assert first.end < second.begin < 1.1
    assert second.end - second.begin == pytest.approx(2)
    assert first.colour == "held down at times"


def test_the_roofline_holds_what_one_gpu_reached() -> None:
    two = measured(config=replace(measured().config, gpus=2), throughput=measured(speed=180.0).throughput)
    page = of(two, limit("matmul", 8e14, "FLOP"), limit("copy", 4e12, "byte"))
    assert section(page, "limits").figures[0].table.rows[0][2] == "1.80 TFLOP/s"


def test_a_device_without_a_sensor_has_no_clocks_that_were_held() -> None:
    silent = measured(telemetry=None, precision="fp32")
    said = [
        section(of(*each), "timeline").figures[0].caption
        for each in ((silent,), (silent, measured(telemetry=Telemetry(samples=40))))
    ]
    assert "held down" not in said[0]
    assert "in 0 of 1 measurements" in said[1]


def test_the_note_of_a_column_stands_only_below_it() -> None:
    copy = limit("copy", 4e12, "byte")
    for mfu in (None, 0.7):
        page = of(measured(), replace(limit("matmul", 8e14, "FLOP"), mfu=mfu), copy)
        (table,) = section(page, "limits").tables
        assert ("dense peak" in table.columns, bool(table.notes)) == (mfu is not None,) * 2
