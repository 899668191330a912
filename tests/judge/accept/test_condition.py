"""Each reason of the state of a card, and what is no reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpuwise.judge.accept.card import TestedCard
from gpuwise.judge.accept.judging import (
    ENOUGH_SAMPLES,
    FABRIC,
    condition,
    flapped,
    hottest,
    judge,
    throttle_shares,
    weak,
)
from gpuwise.measure.telemetry.sensor import Wear
from gpuwise.model.result import Issue, Link, Telemetry

from .conftest import HEALTHY, NEW, speed

Make = Callable[..., TestedCard]


def test_a_healthy_card_has_no_reason(card: Make) -> None:
    assert list(condition(card())) == []


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"environment": {"pcie_width": 8}, "telemetry": {"pcie_width": 8}}, "pcie", "x8, the card has x16"),
        ({"telemetry": {"pcie_generation": 3}}, "pcie", "generation 3 under load, card and slot can do 5"),
        ({"environment": {"power_limit_w": 500.0}}, "power-cap", "500 W, below the default 700 W"),
        ({"environment": {"mig": True}}, "mig", "a slice was measured"),
        ({"environment": {"other_processes": 2}}, "busy", "2 other processes on the card"),
        ({"telemetry": {"throttled": (("thermal", 0.3),)}}, "hot", "in 30 % of the samples, up to 61 °C"),
        ({"telemetry": {"temperature_max_c": 85.0}}, "hot", "85 °C"),
        (
            {"telemetry": {"temperature_max_c": 80.0}, "after": {"slowdown_c": 82.0}},
            "hot",
            "80 °C; it slows down at 82 °C",
        ),
        ({"telemetry": {"throttled": (("power-brake", 0.2),)}}, "throttled", "power-brake in 20 %"),
        ({"telemetry": {"throttled": (("user-clocks", 1.0),)}}, "throttled", "user-clocks in 100 %"),
        ({"after": {"ecc_uncorrected": 3}}, "ecc", "3 uncorrected memory errors"),
        ({"after": {"ecc_corrected": 7}}, "ecc", "7 corrected memory errors came while"),
        ({"after": {"remap_pending": True}}, "ecc", "waits to be remapped"),
        ({"after": {"remap_failed": True}}, "ecc", "no spare is left"),
        ({"refusal": "GPU 0 is busy with process 42"}, "busy", "not measured: GPU 0 is busy"),
        ({"measurements": ()}, "failed", "nothing was measured"),
    ],
)
def test_a_reason_fails_the_card(card: Make, changes: dict[str, Any], code: str, said: str) -> None:
    (found,) = condition(card(**changes))
    assert (found.code, found.severity == "invalid") == (code, True)
    assert said in found.detail
    assert found.fix


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        (
            {"environment": {"pcie_generation": 1}, "telemetry": {"pcie_generation": None}},
            "pcie",
            "when the session began (idle cards lower it)",
        ),
        (
            {
                "environment": {"pcie_generation": 4, "pcie_generation_max": 4},
                "telemetry": {"pcie_generation": 4},
            },
            "pcie",
            "generation 4 in this slot, the card has 5",
        ),
        (
            {"before": Wear(ecc_corrected=7), "after": {"ecc_corrected": 7}},
            "ecc",
            "7 corrected memory errors and 0 remapped rows in its life",
        ),
    ],
)
def test_what_is_worth_a_word_fails_nothing(
    card: Make, changes: dict[str, Any], code: str, said: str
) -> None:
    (found,) = condition(card(**changes))
    assert (found.code, found.severity == "invalid") == (code, False)
    assert said in found.detail


@pytest.mark.parametrize(
    "changes",
    [
        {"telemetry": {"throttled": (("power-cap", 1.0), ("display-clocks", 1.0))}},
        {"telemetry": {"throttled": (("thermal", 0.05),)}},
        {"telemetry": {"temperature_max_c": 84.0}},
        {"telemetry": {"temperature_max_c": 89.0}, "after": {"slowdown_c": 92.0}},
        {"environment": {"pcie_generation": 1}},  # an idle card; under load it was 5
        {"environment": {"pcie_width": None, "pcie_width_max": None}, "telemetry": {"pcie_width": None}},
        {"environment": {"power_limit_w": 699.8}},
        {"environment": {"gpu_id": "no-longer-known"}},
    ],
)
def test_what_is_normal_is_no_reason(card: Make, changes: dict[str, Any]) -> None:
    assert list(condition(card(**changes))) == []


COUNTERS = (
    ("ecc_corrected", "ecc"), ("nvlink_recoveries", "link"), ("nvlink_replays", "link"),
    ("nvlink_crc_errors", "link"), ("pcie_replays", "link"),
)  # fmt: skip


@pytest.mark.parametrize(("counter", "code"), COUNTERS)
@pytest.mark.parametrize(
    ("before", "after", "new"),
    [(None, None, 0), (None, 0, 0), (0, None, 0), (None, 1, 1), (4, 4, 0), (4, 5, 1), (4, 3, 0)],
)
def test_what_a_counter_counted_while_it_was_measured(
    card: Make, counter: str, code: str, before: int | None, after: int | None, new: int
) -> None:
    found = list(condition(card(before=replace(NEW, **{counter: before}), after={counter: after})))
    counted = [each for each in found if "while it was measured" in each.detail]
    assert [each.code for each in counted] == [code] * new
    if counter == "ecc_corrected":  # errors of its life are worth a word
        assert len(found) == bool(new or after)


def test_remapped_rows_are_told_beside_errors_that_were_not_counted(card: Make) -> None:
    (found,) = condition(card(before=Wear(), after={"ecc_corrected": None, "rows_remapped": 2}))
    assert (found.code, found.detail.split()[0]) == ("ecc", "0")
    (found,) = condition(card(before=Wear(), after={"ecc_corrected": None, "rows_remapped": 1}))
    assert found.severity == "warning"


def test_lanes_that_neither_slot_nor_driver_admit(card: Make) -> None:
    """A riser with eight lanes: the driver calls eight the most there is, the catalog knows better."""
    eight = {"gpu_id": "rtx-4090", "pcie_width": 8, "pcie_width_max": 8, "pcie_generation_max": 4}
    found = next(condition(card(environment=eight, telemetry={"pcie_width": 8, "pcie_generation": 4})))
    assert found.detail == "PCIe x8, the card has x16"


def test_company_while_it_was_timed(card: Make) -> None:
    told = Issue(code="contended", severity="warning", detail="other processes used the GPU: 42", fix="again")
    (found,) = condition(card(measurements=(speed("copy", 4e12, cautions=(told,)),)))
    assert found == Issue(code="busy", severity="invalid", detail=told.detail, fix="again")


def test_a_failed_measurement_is_named(card: Make) -> None:
    broken = replace(speed("copy", 4e12), status="oom", throughput=None, error="out of memory\nmore")
    found, _ = condition(card(measurements=(broken,), environment={"mig": True}))
    assert (found.code, found.detail) == ("failed", "copy fp32: oom: out of memory")


def test_a_card_that_nobody_watches_is_told_so(card: Make) -> None:
    (found,) = condition(card(measurements=(speed("copy", 4e12, telemetry=None),)))
    assert (found.code, found.severity == "invalid") == ("unwatched", False)


def test_a_processor_has_no_company_and_no_heat_to_judge(card: Make) -> None:
    told = Issue(code="contended", severity="warning", detail="busy", fix="stop")
    one = speed("copy", 4e10, cautions=(told,), telemetry=Telemetry(samples=40, temperature_max_c=95.0))
    one = replace(one, config=replace(one.config, device="cpu"))
    assert list(condition(card(measurements=(one,), info=None))) == []


def test_few_samples_prove_no_throttling(card: Make) -> None:
    assert throttle_shares(card(telemetry={"samples": 4, "throttled": (("thermal", 1.0),)}).result) == {}


def test_throttling_is_judged_from_enough_samples_on(card: Make) -> None:
    def shares(first: int, second: int) -> dict[str, float]:
        watched = [Telemetry(samples=n, throttled=(("thermal", 0.5),)) for n in (first, second)]
        rows = tuple(replace(speed("copy", 4.26e12), telemetry=each) for each in watched)
        return throttle_shares(card(measurements=rows).result)

    assert shares(ENOUGH_SAMPLES - 4, 4) == {"thermal": pytest.approx(0.5)}
    assert shares(ENOUGH_SAMPLES - 5, 4) == {}


@pytest.mark.parametrize(("count", "severities"), [(0, []), (1, ["invalid", "warning"])])
def test_a_port_that_counted_one_error_is_named(count: int, severities: list[str]) -> None:
    counted = {f"mlx5_0 {FABRIC[0]}": count, f"mlx5_0 {FABRIC[-1]}": count}
    assert [issue.severity for issue in flapped(counted)] == severities


def test_shares_are_those_of_all_samples(card: Make) -> None:
    long, short = (Telemetry(samples=n, throttled=(("thermal", s),)) for n, s in ((90, 0.0), (10, 1.0)))
    both = tuple(speed("copy", 4e12, telemetry=told) for told in (long, short))
    assert throttle_shares(card(measurements=both).result) == {"thermal": pytest.approx(0.1)}
    assert hottest(card(measurements=both).result) is None


def test_the_healthy_card_is_one_that_tells_everything() -> None:
    assert HEALTHY.pcie_width_max == 16
    assert NEW.ecc_uncorrected == 0


def test_what_the_user_interrupted_fails_no_card(card: Make) -> None:
    stopped = replace(speed("copy", 4e12), status="interrupted", throughput=None)
    (found,) = condition(card(measurements=(stopped,), telemetry={}))
    assert (found.code, found.severity, found.detail) == ("interrupted", "warning", "copy fp32")


def test_a_speed_that_its_own_steps_contradict_fails_the_card(card: Make) -> None:
    told = Issue(code="tampered", severity="invalid", detail="states 2, its steps give 1", fix="again")
    (found,) = condition(card(measurements=(speed("copy", 4e12, cautions=(told,)),)))
    assert (found.code, found.severity) == ("tampered", "invalid")


def test_a_pair_with_fewer_nvlinks_than_the_others_fails_the_host(card: Make) -> None:
    links = tuple(Link(a=a, b=b, path="NV18", peer=True) for a in range(4) for b in range(a + 1, 4))
    assert not any(list(weak(link, links)) for link in links)
    down = (replace(links[0], path="NV17"), *links[1:])
    assert [link for link in down if list(weak(link, down))] == [down[0]]
    found = judge([card()], lambda result: (), 0.05, down)
    assert [(issue.code, issue.severity) for issue in found.host] == [("link", "invalid")]
    assert not found.passed
    pcie = tuple(replace(link, path="NODE") for link in links)
    assert not any(list(weak(link, pcie)) for link in pcie)
