"""Regret of a choice, by hand, and that of the committed experiment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.choose.regret import Entry, regret, score, small_menus

RAW = Path(__file__).parents[3] / "results" / "choose" / "regret.json"


def menu(*costs: tuple[float, float]) -> list[Entry]:
    return [Entry(name=str(i), true_cost=t, predicted_cost=p) for i, (t, p) in enumerate(costs)]


def test_regret_of_a_pick() -> None:
    assert regret(menu((1.0, 2.0), (2.0, 3.0))) == 0
    assert regret(menu((1.0, 2.0), (1.5, 1.0))) == pytest.approx(0.5)


def test_scores_over_menus() -> None:
    found = score([menu((1.0, 1.0), (2.0, 2.0), (1.02, 0.5)), menu((1.0, 3.0), (4.0, 2.0)), menu((1.0, 1.0))])
    assert found.menus == 2
    assert found.mean == pytest.approx((0.02 + 3.0) / 2)
    assert found.first_right == 0
    # 1.00 and 1.02 are too close to be a question.
    assert (found.pairs, found.pairs_right) == (3, pytest.approx(2 / 3))
    with pytest.raises(ValueError, match="no menu"):
        score([])


def test_small_menus_are_drawn_alike_each_time() -> None:
    menus = [menu(*[(float(i + 1), 1.0) for i in range(6)]), menu((1.0, 1.0))]
    drawn = small_menus(menus, size=3, draws=10, seed=1)
    assert len(drawn) == 10
    assert all(len({entry.name for entry in found}) == 3 for found in drawn)
    assert drawn == small_menus(menus, size=3, draws=10, seed=1)


def test_the_raw_scores_reach_what_the_page_says() -> None:
    raw = json.loads(RAW.read_text())
    # Rows of NCF on several H100 state up to 47 times the speed per GPU of one.
    for part in ("one GPU", "1 to 8 GPUs, credible"):
        for kind in ("full", "random menus of 3"):
            assert raw[part][kind]["mean"] <= 0.05
            assert raw[part][kind]["p90"] <= 0.15
            assert raw[part][kind]["pairs_right"] >= 0.9
        dear = {task for task, found in raw[part]["tasks"].items() if found["regret"] >= 0.01}
        assert dear <= {"fp16.tacotron2", "fp32.gnmt"}
    others = [found["regret"] for task, found in raw["1 to 8 GPUs"]["tasks"].items() if "ncf" not in task]
    assert len(others) == 18
    assert sum(others) / 18 <= 0.05
    page = (RAW.parents[2] / "docs" / "notes" / "choices.md").read_text(encoding="utf-8")
    for part in ("one GPU", "1 to 8 GPUs", "1 to 8 GPUs, credible"):
        for kind in ("full", "random menus of 3"):
            s = raw[part][kind]
            shares = f"| {s['mean']:.1%} | {s['p90']:.1%} | {s['first_right']:.0%} |"
            row = f"{shares} {s['pairs_right']:.1%} of {s['pairs']:,} |"
            assert row.replace("%", " %") in page
