"""A fleet from files: hosts, robust outliers, tables, and a thousand files in seconds."""

from __future__ import annotations

import random
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise import store
from gpuwise.judge.accept import card, fleet
from gpuwise.judge.accept.bundle import Host, gather
from gpuwise.judge.accept.card import TestedCard, lookup
from gpuwise.judge.accept.fleet import Fleet
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Result, Window

from ...stopwatch import stopwatch
from .conftest import HEALTHY, TOLD, speed

Make = Callable[..., TestedCard]
FOUND = Path(__file__).parents[3] / "results" / "h200"


def nothing(result: Result) -> tuple[()]:
    return ()


def hosts(cards: Sequence[TestedCard], per_host: int = 8) -> list[Host]:
    parts = [cards[i : i + per_host] for i in range(0, len(cards), per_host)]
    return [Host(name=f"host-{i:03}", cards=tuple(part)) for i, part in enumerate(parts)]


def judged(cards: Sequence[TestedCard], margin: float = 0.05, per_host: int = 8) -> Fleet:
    return fleet.summarise(hosts(cards, per_host), (), nothing, margin)


def cards_of(values: Sequence[float]) -> list[TestedCard]:
    found = Environment(device="NVIDIA H200")
    return [
        TestedCard(
            name=f"GPU {i}",
            result=Result(
                id=str(i),
                created_at="",
                command="",
                environment=found,
                measurements=(speed("copy", value, "byte"),),
            ),
        )
        for i, value in enumerate(values)
    ]


def test_a_slow_card_is_an_outlier_and_refused() -> None:
    found = judged(cards_of([4.26e12 + i * 1e9 for i in range(15)] + [3.6e12]))
    assert not found.passed
    (worst,) = found.deviations
    assert (worst.host, worst.card, worst.outlier, worst.low) == ("host-001", "GPU 15", True, True)
    assert worst.z < -3.5
    assert [(row.host, row.cards, row.passed) for row in found.host_rows] == [
        ("host-001", 8, 7),
        ("host-000", 8, 8),
    ]
    assert found.host_rows[0].slowest == pytest.approx(3.6e12 / 4.267e12, rel=1e-3)
    (model,) = found.model_rows
    assert (model.cards, model.outliers, model.least) == (16, 1, 3.6e12)


def test_hosts_that_did_not_pass_come_first_the_slowest_before_others() -> None:
    found = judged(cards_of([4.26e12] * 12 + [3.5e12, 4.26e12, 3.2e12, 4.26e12]), per_host=2)
    assert [row.host for row in found.host_rows[:2]] == ["host-007", "host-006"]
    assert [row.passed == row.cards for row in found.host_rows] == [False, False, *[True] * 6]


def test_an_outlier_within_the_margin_is_named_and_passes() -> None:
    found = judged(cards_of([4.26e12] * 9 + [4.11e12]), per_host=1)
    (named,) = found.deviations
    assert (named.card, named.outlier, named.low) == ("GPU 9", True, False)
    assert found.passed
    (reason,) = found.hosts[9][1].cards[0].issues
    assert (reason.code, reason.severity == "invalid") == ("outlier", False)
    assert "3.5 % below the median of its model (z = -6." in reason.detail


def test_a_card_that_is_too_fast_is_named_too() -> None:
    (named,) = judged(cards_of([4.26e12] * 9 + [4.8e12])).deviations
    assert named.z > 3.5


def test_a_few_cards_tell_no_outlier_but_the_margin_holds() -> None:
    found = judged(cards_of([4.26e12] * 3 + [3.6e12]), per_host=1)
    assert [(d.outlier, d.low) for d in found.deviations] == [(False, True)]
    assert [r.code for r in found.hosts[3][1].cards[0].issues] == ["spread"]
    assert not found.passed


@given(st.lists(st.floats(1.0, 2.0), min_size=1, max_size=30))
def test_the_score_is_that_of_the_formula(values: list[float]) -> None:
    every, _, _ = fleet.compared(hosts(cards_of(values)), 0.05)
    middle = statistics.median(values)
    robust = 1.4826 * statistics.median(abs(v - middle) for v in values)
    scale = max(robust, 0.02 * middle / 3.5)
    assert [each.z for each in every] == pytest.approx(sorted((v - middle) / scale for v in values))


@given(st.lists(st.floats(0.9801, 1.0199), min_size=5, max_size=30))
def test_nobody_within_two_percent_of_the_median_is_an_outlier(values: list[float]) -> None:
    middle = statistics.median(values)
    near = [v for v in values if abs(v - middle) < 0.0199 * middle]
    named = {d.value for d in judged(cards_of(values)).deviations if d.outlier}
    assert not named & set(near)


def test_models_and_questions_are_kept_apart(card: Make) -> None:
    other = card(9, copy=1e12, environment={"device": "NVIDIA L4", "gpu_id": None})
    found = judged([*(card(i) for i in range(5)), other], per_host=1)
    assert found.deviations == ()
    assert {(row.device, row.question) for row in found.model_rows} == {
        (device, question)
        for device in ("NVIDIA H200", "NVIDIA L4")
        for question in ("copy fp32", "matmul fp32")
    }


def test_loose_files_are_no_mixed_host(card: Make) -> None:
    mixed = [card(0), card(1, environment={"device": "NVIDIA L4", "gpu_id": None})]
    loose = fleet.summarise([Host(name="", cards=tuple(mixed))], (), nothing, 0.05)
    assert loose.passed
    housed = fleet.summarise([Host(name="a", cards=tuple(mixed))], (), nothing, 0.05)
    assert not housed.passed


def test_health_and_references_count_as_for_a_host(card: Make) -> None:
    bad = [card(0, after={"ecc_uncorrected": 1}), card(1, copy=2e12)]
    found = fleet.summarise(hosts(bad, 1), (), lookup(None), 0.05)
    codes = [[r.code for r in a.cards[0].issues] for _, a in found.hosts]
    assert codes == [["ecc"], ["slow", "spread"]]


def test_what_was_compared_with_nothing_is_not_judged(card: Make) -> None:
    unknown = {"environment": {"gpu_id": None}}
    alone = judged([card(0, **unknown)])
    assert (alone.outcome, alone.passed) == ("not judged", True)
    assert alone.host_rows[0].passed == 0
    two = judged([card(0, **unknown), card(1, **unknown)], per_host=1)
    assert two.outcome == "pass"
    assert judged([card(0, after={"ecc_uncorrected": 1}, **unknown)]).outcome == "FAIL"


def template(heat_c: float) -> tuple[list[str], list[float]]:
    """A result as large as what `--suite limits,quick` writes, cut at its speeds; and those speeds."""
    shape = store.load(FOUND / "bert-large-parity.json")
    windows = tuple(Window(step_s=(0.01,) * 50, started_s=i, ended_s=i + 1) for i in range(20))
    told = replace(TOLD, temperature_max_c=heat_c)
    measured = tuple(
        # Without items a step, nothing says that these steps contradict the speeds that the test changes.
        replace(m, windows=() if m.config.mode == "limit" else windows, telemetry=told, items_per_step=None)
        for m in shape.measurements
    )
    text = store.encode(replace(shape, environment=HEALTHY, measurements=measured)).decode()
    values = [m.throughput for m in measured if m.throughput is not None]
    parts = re.split(r'(?<="value": )\S+?,\s+"low": \S+?,\s+"high": [^,\s]+', text)
    assert len(parts) == len(values) + 1
    return parts, [interval.value for interval in values]


def rack(folder: Path) -> None:
    """25 hosts of eight cards; cards 17 and 100 are slow, 180 is hot."""
    draw = random.Random(1)
    cool, hot = template(60.0), template(95.0)
    for number in range(200):
        parts, values = hot if number == 180 else cool
        by = {17: 0.8, 100: 0.9}.get(number, 1.0)
        speeds = [by * value * draw.gauss(1, 0.003) for value in values]
        told = [f'{v}, "low": {0.999 * v}, "high": {1.001 * v}' for v in speeds] + [""]
        path = folder / f"host-{number // 8:03}" / f"gpu-{number % 8}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(a + b for a, b in zip(parts, told, strict=True)))


def test_two_hundred_files_in_a_second_and_a_half(tmp_path: Path, slowness: float) -> None:
    rack(tmp_path)
    slow, hot = {("host-002", "gpu-1"), ("host-012", "gpu-4")}, ("host-022", "gpu-4")
    took_s = stopwatch()
    found = fleet.summarise(*gather([tmp_path]), lookup(None), 0.05)
    spent_s = took_s()
    assert sum(row.cards for row in found.host_rows) == 200
    assert {(d.host, d.card) for d in found.deviations if d.outlier} == slow
    refused = {(name, j.card.name): j for name, a in found.hosts for j in a.cards if not j.passed}
    assert set(refused) == slow | {hot}
    assert {r.code for r in refused[hot].issues} == {"hot"}
    assert spent_s < 1.5 * slowness, spent_s


def test_a_file_of_one_s_own_is_named_without_the_digest_of_its_text() -> None:
    config = RunConfig(
        workload="my2.py:tinyconv", content="d64c86e6c620", mode="train", precision="fp32", batch=8
    )
    asked = card.question(replace(speed("copy", 1.0), config=config))
    assert card.named(asked) == "my2.py:tinyconv train fp32, batch 8"
    assert card.named(card.question(speed("copy", 1.0))) == "copy fp32"
