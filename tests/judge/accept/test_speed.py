"""Slow against a reference, slower or hotter than the neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuwise.judge.accept.card import Reference, TestedCard, named, question, speeds
from gpuwise.judge.accept.judging import held_back, judge, slow, spread
from gpuwise.model.question import Environment
from gpuwise.model.result import Measurement, Result, Window

from .conftest import speed

Make = Callable[..., TestedCard]


def good(**speeds: float) -> Reference:
    measured = tuple(speed(name, value) for name, value in speeds.items())
    found = Environment(device="NVIDIA H200")
    return Reference(
        name="good.json",
        result=Result(id="good", created_at="", command="", environment=found, measurements=measured),
    )


def test_a_slow_card_is_named_with_how_much(card: Make) -> None:
    (found,) = slow(card(copy=3.8e12), good(copy=4.26e12, matmul=5.11e13), 0.05)
    assert (found.code, found.severity == "invalid") == ("slow", True)
    assert found.detail == "copy fp32 10.8 % below good.json"


def test_noise_within_the_interval_refuses_nobody(card: Make) -> None:
    # 5.2 % below, but 1 % of either is uncertain.
    assert list(slow(card(copy=0.948 * 4.26e12), good(copy=4.26e12), 0.05)) == []
    assert list(slow(card(copy=0.93 * 4.26e12), good(copy=4.26e12), 0.05)) != []


def test_another_program_s_figure_fails_nobody(card: Make) -> None:
    (found,) = slow(card(copy=2e12), replace(good(copy=4.26e12), same_code=False), 0.05)
    assert found.severity != "invalid"


def test_only_equal_questions_are_compared(card: Make) -> None:
    older = replace(speed("copy", 9e12), workload_version=0)
    other = speed("copy", 9e12)
    batch = replace(other, config=replace(other.config, batch=2))
    reference = good()
    reference = replace(reference, result=replace(reference.result, measurements=(older, batch)))
    assert list(slow(card(), reference, 0.05)) == []


def test_the_slower_of_two_cards_is_named(card: Make) -> None:
    found = spread([card(0), card(1, copy=3.9e12)], 0.05)
    assert list(found) == ["GPU 1"]
    (reason,) = found["GPU 1"]
    assert reason.code == "spread"
    assert reason.detail == "copy fp32 8.5 % below the median of the 2 cards"


def test_one_slow_card_among_eight(card: Make) -> None:
    cards = [card(i, copy=3.9e12 if i == 3 else 4.26e12 * (1 + i / 1000)) for i in range(8)]
    assert list(spread(cards, 0.05)) == ["GPU 3"]
    assert spread(cards, 0.15) == {}


def test_a_hot_neighbour_is_named_and_passes(card: Make) -> None:
    cards = [card(i, telemetry={"temperature_max_c": 76.0 if i == 2 else 61.0}) for i in range(4)]
    found = spread(cards, 0.05)
    assert [(r.code, r.severity == "invalid") for r in found["GPU 2"]] == [("hot", False)]
    assert found["GPU 2"][0].detail == "76 °C, 15 °C above the median of the 4 cards"


def test_other_models_are_no_neighbours(card: Make) -> None:
    other = card(1, copy=1e12, environment={"device": "NVIDIA A100", "gpu_id": None})
    assert spread([card(0), other], 0.05) == {}


@given(st.lists(st.floats(1.0, 1.04), min_size=2, max_size=8))
def test_cards_within_the_margin_always_pass(values: list[float]) -> None:
    cards = [
        TestedCard(name=str(i), result=replace(good(copy=4e12 * v).result, id=str(i)))
        for i, v in enumerate(values)
    ]
    assert spread(cards, 0.05) == {}


def burst(*rates: float) -> Measurement:
    """A matrix product whose windows ran at these rates."""
    windows = tuple(Window(step_s=(1.0 / rate,) * 5, started_s=0.0, ended_s=1.0) for rate in rates)
    return replace(speed("matmul", median(rates), precision="bf16"), windows=windows, items_per_step=1.0)


def test_a_limit_under_the_power_limit_is_judged_by_its_fastest_window(card: Make) -> None:
    """What two good H200s showed: the clock of one was lowered before most of its windows."""
    held, free = burst(8.06e14, 7.4e14, 7.3e14), burst(8.05e14, 8.04e14, 8.04e14)
    both = [card(0, measurements=(held,)), card(1, measurements=(free,))]
    assert spread(both, 0.05) == {}
    (told,) = held_back(both[0], 0.05)
    assert (told.code, told.severity == "invalid") == ("power-cap", False)
    assert "matmul bf16 fell 8.2 % below its fastest burst" in told.detail
    assert list(held_back(both[1], 0.05)) == []
    on_cpu = replace(held, config=replace(held.config, device="cpu"))
    assert (
        list(
            held_back(
                replace(both[0], info=None, result=replace(both[0].result, measurements=(on_cpu,))), 0.05
            )
        )
        == []
    )
    slow_one = card(2, measurements=(burst(7.4e14, 7.4e14, 7.3e14),))
    assert list(spread([*both, slow_one], 0.05)) == ["GPU 2"]


def test_a_slow_link_is_no_burst() -> None:
    """Only arithmetic is judged so: the best moment of a copy says nothing of a bad link."""
    copied = replace(burst(4e12, 2e12, 2e12), item="byte")
    assert speeds(replace(good().result, measurements=(copied,))) == {question(copied): copied.throughput}


def test_questions_in_words(card: Make) -> None:
    one = speed("copy-l2", 1e12)
    assert named(question(replace(one, config=replace(one.config, batch=8)))) == "copy-l2 fp32 8"
    failed = replace(one, status="failed")
    assert speeds(replace(good().result, measurements=(failed,))) == {}


def test_mixed_models_fail_the_host_and_no_card(card: Make) -> None:
    other = {"device": "NVIDIA A100-SXM4-80GB", "gpu_id": None, "device_memory_bytes": 85_899_345_920}
    found = judge([card(0), card(1), card(2, environment=other)], lambda result: (), 0.05)
    assert not found.passed
    assert all(judged.passed for judged in found.cards)
    (reason,) = found.host
    assert reason.code == "mixed"
    assert "2 x NVIDIA H200 140.4 GiB 700 W, 1 x NVIDIA A100-SXM4-80GB 80.0 GiB" in reason.detail


def test_reasons_of_every_kind_come_together(card: Make) -> None:
    bad = card(1, copy=3e12, environment={"power_limit_w": 400.0})
    found = judge([card(0), bad], lambda result: (good(copy=4.26e12),), 0.05)
    assert [judged.passed for judged in found.cards] == [True, False]
    assert [reason.code for reason in found.cards[1].issues] == ["power-cap", "slow", "spread"]
    assert found.references == ("good.json",)


def test_speeds_are_those_that_are_more_than_nothing(card: Make) -> None:
    none = replace(speed("matmul", 5e13), throughput=None)
    of = lambda value: speeds(card(measurements=(speed("copy", value), none)).result)  # noqa: E731
    assert len(of(1e-9)) == 1
    assert of(0.0) == {}


def test_the_least_that_passes_is_the_margin_below_the_best_that_is_known(card: Make) -> None:
    reference, margin = good(copy=4.0e12), 0.05

    def least(*cards: TestedCard, known: tuple[Reference, ...] = (reference,)) -> list[float]:
        return [
            value for found in judge(cards, lambda _: known, margin).cards for value in found.least.values()
        ]

    assert least(card()) == [pytest.approx(0.95 * 4.0e12)]
    # A neighbour may be faster than the reference.
    both = least(*(card(n, measurements=(speed("copy", value),)) for n, value in enumerate((4.2e12, 4.4e12))))
    assert both[0] == both[1]
    assert both[0] == pytest.approx(0.95 * 4.4e12)
    assert least(card(), known=(replace(reference, same_code=False),)) == []


def test_what_the_switches_counted_is_judged_and_kept(card: Make) -> None:
    assert judge([card()], lambda _: (), 0.05).fabric == {}
    assert judge([card()], lambda _: (), 0.05, fabric={"port 3": 2}).fabric == {"port 3": 2}
