"""What answers assume, number by number: docs/how-it-chooses.md states it, so neither changes alone."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from gpuwise.judge.choose import candidates as priced
from gpuwise.judge.choose import decide, fit, need, speeds
from gpuwise.judge.choose.fit import PERIODS

from .conftest import candidates, recommend

PAGE = (Path(__file__).parents[3] / "docs" / "how-it-chooses.md").read_text()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (f"a price is known within {priced.DRIFT:g}", "a price is known within 0.4"),
        (f"busy {fit.BUSIEST:.0%}", "busy 80%"),
        (f"within {decide.AS_FAST - 1:.0%} of the fastest", "within 10% of the fastest"),
        (f"exp(±{speeds.PUBLISHED_HALF:g})", "exp(±0.5)"),
    ],
)  # fmt: skip
def test_what_the_page_states_is_what_the_code_does(value: str, said: str) -> None:
    assert value == said
    assert said.replace("%", " %") in " ".join(PAGE.split())


def test_times_are_of_the_calendar() -> None:
    assert priced.HOURS_PER_YEAR == 8766
    assert priced.WEEKS_PER_YEAR * 7 == 365.25
    assert {word: seconds for seconds, word in PERIODS.items()} == {
        "hour": 3600, "day": 24 * 3600, "week": 7 * 24 * 3600,
        "month": 365.25 / 12 * 24 * 3600, "year": 365.25 * 24 * 3600,
    }  # fmt: skip
    assert pytest.approx(5 * 365.25 * 24 * 3600) == fit.LONGEST_S


def test_powers_of_two_are_tried() -> None:
    assert (speeds.BATCHES[0], speeds.BATCHES[-1], len(speeds.BATCHES)) == (1, 1024, 11)
    assert speeds.SEQUENCES[-1] == 256
    assert need.CONTEXTS == {"infer": 4096, "full": 2048, "lora": 2048, "qlora": 2048}


def test_supplies_are_of_sizes_that_are_sold() -> None:
    assert list(fit.SUPPLIES_W) == [450, 550, 650, 750, 850, 1000, 1200, 1600, 2000]
    assert (fit.SUPPLY, fit.HOST_PEAK_W, fit.SUPPLY_EFFICIENCY, fit.QUIET_W) == (1.15, 250, 0.9, 300)


def test_small_computers_are_sold_for_three_years(need, speed, today: date) -> None:  # type: ignore[no-untyped-def]
    def offered(day: date) -> bool:
        them = candidates(need(form="mobile"), [speed("rtx-4090-laptop", 2.0)], [], today=day)
        return len(them) == 1

    # It came out in 2023.
    assert offered(date(2026, 12, 31))
    assert not offered(date(2027, 1, 1))


def test_a_machine_of_just_so_many_is_rented_before_several_smaller_ones(  # type: ignore[no-untyped-def]
    need, speed, offer, today: date
) -> None:
    speeds_ = [speed("rtx-4090", 100.0 * n, n) for n in (1, 2)]
    single, double = offer("rtx-4090", 0.4), offer("rtx-4090", 1.0, count=2, provider="other")

    def prices(*offers: object) -> list[float]:
        asked = need(mode="infer", gpus=(1, 2), sets=(("rtx-4090", 2),))
        return [row.price for row in candidates(asked, speeds_, list(offers), today=today).rows]

    assert prices(single) == [0.8]
    assert prices(single, double) == [1.0]
    # An offer of either of two cards is none of just this one.
    family = offer("rtx-4090;rtx-3090", 1.0, count=2, provider="third")
    assert prices(single, family) == [0.8]


@pytest.mark.parametrize(("factor", "ranked"), [(2.0, True), (2.01, False)])
def test_what_is_known_within_more_than_two_to_each_side_has_no_rank(  # type: ignore[no-untyped-def]
    need, speed, offer, today: date, factor: float, ranked: bool
) -> None:
    known = [speed("l4", 100.0, factor=factor, origin="predicted"), speed("rtx-3090", 1.0)]
    offers = [offer("l4", 1.0), offer("rtx-3090", 1.0)]
    found = recommend(need(), known, offers, today=today, item="image")
    assert ([o.gpu_id for o in found.options] == ["l4", "rtx-3090"]) == ranked
