"""One table of what is asked beside what is reached."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.predict import protocols, score
from evaluation.predict.case import Case, find_card


def found(share: float, rows: int) -> score.Found:
    return score.figures(
        [0.1, -0.3], {"h200-sxm": [True] * round(share * rows) + [False] * round((1 - share) * rows)}
    )


def test_figures_are_of_the_sizes_of_errors() -> None:
    one = found(0.8, 10)
    assert (one["rows"], one["mean"], one["median"]) == (2, pytest.approx(0.2), pytest.approx(0.2))
    assert one["coverage"] == one["parts"]["h200-sxm"][0] == 0.8


def test_parts_with_few_rows_and_what_the_fit_saw_say_nothing_of_coverage() -> None:
    scores = {
        "zoo": found(0.8, 10),
        "own": found(0.5, 10),
        "watts": found(0.0, 4),
        "zoo-seen": found(0.0, 10),
    }
    assert score.coverage(scores) == (pytest.approx(0.65), 0.5, 2)
    lines = score.table(scores).splitlines()
    assert len(lines) == 2 + len(scores) + 1
    assert "mean 65 %, 50 % within" in lines[-1]


def test_every_card_of_a_file_is_a_part() -> None:
    cards = ("rtx-3090", "t4")
    cases = [
        Case(gpu=gpu, card=find_card(gpu)[0], model="m", measured=1.0, flop=1.0, moved=1.0, dtype="fp16")
        for gpu in cards
        for _ in range(score.LEAST_ROWS)
    ]
    predictions = protocols.Predictions(
        cases=tuple(cases), values=np.repeat([1.1, 2.0], score.LEAST_ROWS), halves=np.full(len(cases), 0.2),
        folds=(), evidence=(), rivals={},
    )  # fmt: skip
    made = score.of_predictions([predictions])
    assert {card: made["parts"][card][0] for card in cards} == {"rtx-3090": 1.0, "t4": 0.0}
    assert made["worst card"] == pytest.approx(1.0)
