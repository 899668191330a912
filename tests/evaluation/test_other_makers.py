"""The shares of `predictor/data/software.csv` are those that its rows give."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log

import pytest

from evaluation.other_makers import Scored, level, scored
from gpuwise.facts import catalog
from gpuwise.model.result import grouped
from gpuwise.predictor.card import DATA

WORKS = {"served": "CDNA 3", "local, Radeon": "RDNA 3", "local, Apple": "M1 series"}


@pytest.fixture(scope="module")
def works() -> Mapping[str, list[Scored]]:
    return grouped((row.work, row) for row in scored())


@pytest.mark.parametrize("work", WORKS)
def test_the_shipped_share_and_interval_are_those_of_the_rows(
    work: str, works: Mapping[str, list[Scored]]
) -> None:
    rows = [row for row in works[work] if row.sets]
    shipped = next(row for row in catalog.rows(DATA / "software.csv") if row["architecture"] == WORKS[work])
    assert level(rows) == pytest.approx(1.0, abs=0.05)
    for left, some in grouped((row.left, row) for row in rows).items():
        off = level(some) / level([row for row in rows if row.left != left])
        assert 1 / float(shipped["above"]) * 0.99 < off < float(shipped["below"]) * 1.01
    assert sum(row.held for row in works[work]) >= 0.95 * len(works[work])


def test_what_was_put_aside_is_held(works: Mapping[str, list[Scored]]) -> None:
    aside = [row for rows in works.values() for row in rows if not row.sets]
    assert len(aside) == 9
    assert all(row.held for row in aside)
    assert 1.5 < max(exp(row.error) for row in aside) < 2.0
    assert all(row.error > log(0.9) for row in aside)
