"""The verdict in words: a host, and a fleet."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpuwise.judge.accept.bundle import Host
from gpuwise.judge.accept.card import Acceptance, Judged, TestedCard, question
from gpuwise.judge.accept.fleet import summarise
from gpuwise.model.result import Issue, Reading, Telemetry, Window
from gpuwise.show import acceptance as report
from gpuwise.show.charts import Plot, Rows
from gpuwise.show.table import markdown

from .conftest import COPY, MATMUL, OOM, result

HOT = Issue(code="hot", severity="invalid", detail="91 °C", fix="cool it")
TOLD = Issue(code="pcie", severity="warning", detail="idle", fix="look")
MIXED = Issue(code="mixed", severity="invalid", detail="two models", fix="ask for equal ones")


def judged(name: str, *reasons: Issue) -> Judged:
    return Judged(card=TestedCard(name=name, result=result(MATMUL, OOM)), issues=reasons, compared=1)


def found(*cards: Judged, host: tuple[Issue, ...] = ()) -> Acceptance:
    return Acceptance(cards=cards, host=host, margin=0.05, references=("good.json",))


def test_a_host_that_passes() -> None:
    one = found(judged("GPU 0"), judged("GPU 1", TOLD))
    assert one.passed
    table = report.acceptance(one)
    assert table.title == "pass: 2 of 2 cards pass"
    assert table.rows[0] == ("GPU 0", "NVIDIA H200", "pass", "1 of 2", "")
    assert table.before == ("Speeds are compared with good.json and each other; margin 5 %.",)
    assert table.notes == ("GPU 1: pcie (not a failure): idle. Next: look",)
    assert report.blame(one) == ""


def test_a_host_that_fails() -> None:
    one = found(judged("GPU 0"), judged("GPU 1", HOT, TOLD), host=(MIXED,))
    assert report.acceptance(one).title == "FAIL: 1 of 2 cards passes, the host does not"
    assert report.blame(one) == "GPU 1 (hot); host (mixed)"
    assert "host: mixed: two models. Next: ask for equal ones" in markdown(report.acceptance(one))
    told = report.document(one)
    assert (told["passed"], told["cards"][1]["reasons"][0]["code"]) == (False, "hot")
    json.dumps(told)


def test_nothing_to_hold_it_against_is_said() -> None:
    alone = replace(found(judged("GPU 0")), references=())
    assert "compared with nothing: no reference is known" in report.acceptance(alone).before[0]


def test_a_fleet() -> None:
    def card(index: int) -> TestedCard:
        assert COPY.throughput is not None
        by = 0.8 if index == 7 else 1.0
        ends = {end: by * getattr(COPY.throughput, end) for end in ("value", "low", "high")}
        slow = replace(COPY, throughput=replace(COPY.throughput, **ends))
        return TestedCard(name=f"GPU {index}", result=result(slow))

    hosts = [Host(name=f"h{i}", cards=(card(i),)) for i in range(30)]
    one = summarise(hosts, (("x.json", "no result"),), lambda found: (), 0.05)
    cards = report.fleet_cards(one)
    assert cards.title == "FAIL: 29 of 30 cards in 30 hosts pass; 1 is an outlier"
    assert [row[:4] for row in cards.rows] == [("h7", "GPU 7", "NVIDIA H200", "FAIL")]
    assert "copy fp32 20.0 % below the median" in cards.rows[0][4]
    assert cards.notes == ("skipped x.json: no result",)
    (row,) = report.models(one).rows
    assert row == ("NVIDIA H200", "copy fp32", "30", "4.10 TB/s", "0.0 %", "3.28 TB/s", "4.10 TB/s", "1")
    assert report.hosts(one).rows[0] == ("h7", "NVIDIA H200", "FAIL", "1", "0", "80.0 %")
    assert report.hosts(one).notes == ("and 10 more hosts: --json lists them",)
    assert len(report.fleet_document(one)["hosts"]) == 30
    json.dumps(report.fleet_document(one))


def test_a_certificate_draws_the_least_margins() -> None:
    def card(index: int, share: float) -> Judged:
        assert COPY.throughput is not None
        tested = TestedCard(name=f"GPU {index}", result=result(COPY))
        return Judged(card=tested, compared=1, least={question(COPY): COPY.throughput.value / share})

    page = report.certificate(found(*(card(n, 0.9 if n == 5 else 1.02 + n / 100) for n in range(20))))
    (figure,) = page.sections[-1].figures
    (chart,) = figure.charts
    assert isinstance(chart, Rows)
    assert len(chart.marks) == report.SLOWEST
    assert [mark.label for mark in chart.marks[:3]] == ["GPU 5", "GPU 0", "GPU 1"]
    assert [mark.colour for mark in chart.marks[:2]] == ["FAIL", "pass"]
    assert chart.marks[0].value == pytest.approx(0.9)
    assert len(figure.table.rows) == 20
    # Where nothing is known there is nothing to draw.
    assert not report.certificate(found(judged("GPU 0"))).sections[-1].figures


def soak(name: str, *steps_s: float) -> Judged:
    windows = tuple(
        Window(step_s=(s,) * 4, started_s=60 * n, ended_s=60 * n + 60) for n, s in enumerate(steps_s)
    )
    heat = tuple(Reading(at_s=60.0 * n, temperature_c=60.0 + n) for n in range(len(steps_s)))
    told = Telemetry(samples=9, temperature_max_c=71.0, sm_clock_min_hz=1.5e9, timeline=heat)
    config = replace(COPY.config, workload="resnet50", mode="train", protocol="soak")
    ran = replace(COPY, config=config, windows=windows, telemetry=told, items_per_step=100.0, item="image")
    return Judged(card=TestedCard(name=name, result=result(ran)))


def test_a_soak_is_drawn_over_time_the_card_that_slowed_most_first() -> None:
    every = [("h", soak("GPU 0", *[0.1] * 8)), ("h", soak("GPU 1", *[0.1] * 6, 0.125, 0.125))]
    (figure,) = report.soaks([*every, ("h", judged("GPU 2"))]).figures
    assert [row[0] for row in figure.table.rows] == ["h GPU 1", "h GPU 0"]
    assert figure.table.rows[0][1:6] == ("8 min 00 s", "1,000 images/s", "800.0 images/s", "-20.0 %", "71 °C")
    speed, heat = figure.charts
    assert isinstance(speed, Plot)
    assert isinstance(heat, Plot)
    assert [point.y for point in speed.series[0].points[-2:]] == pytest.approx([0.8, 0.8])
    assert [point.x for point in heat.series[1].points[:2]] == [0.0, 1.0]
    assert not report.soaks([("h", judged("GPU 2"))]).figures


def test_reasons_of_one_kind_are_one_and_failures_come_first() -> None:
    spread = [Issue.invalid("spread", f"copy {n}", "") for n in range(3)]
    kept = list(report.brief([Issue.warning("ecc", "one", ""), *spread]))
    assert [(issue.code, issue.detail) for issue in kept] == [
        ("spread", "copy 0; and 2 more such"), ("ecc", "one"),
    ]  # fmt: skip
