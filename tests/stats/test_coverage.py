"""Do the intervals hold the truth as often as they say? A short run of evaluation/stats/simulate.py."""

from __future__ import annotations

import pytest

from evaluation.stats.simulate import APART, score


@pytest.mark.parametrize(
    "name",
    ["quiet", "bimodal", "AR(1) 0.99", "wander 10 s", "two speeds", "stall", "stalls of any period"],
)
def test_intervals_hold_and_noise_gives_no_verdict(name: str) -> None:
    (row,) = score(name, APART[name], 60, seed=5)
    assert float(row["holds"]) >= 0.85  # 90 % of 60, less two standard errors
    assert float(row["false, runs agree"]) <= 0.05
    assert abs(float(row["off"].rstrip("%"))) < 0.5
    if name == "quiet":
        assert float(row["time_s"]) <= 12
    if name.startswith("stall"):
        assert float(row["stalls"].rstrip("%")) == pytest.approx(10, abs=1)
        assert float(row["half_width"].rstrip("%")) == pytest.approx(0.02, abs=0.02)


def test_runs_that_differ_are_not_called_faster() -> None:
    for row in score("runs 1 %", APART["runs 1 %"], 40, seed=5):
        assert float(row["false"]) <= 0.1
