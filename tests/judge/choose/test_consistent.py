"""Answers to questions from templates agree with themselves, and speak of all that was named."""

from __future__ import annotations

from pathlib import Path

import pytest

from .consistent import Asked, answered, of_limits, questions

# Of which `python -m tests.judge.choose.consistent 400` asks more.
FEW, SEED = 40, 26
ASKED = (*questions(FEW, SEED), *of_limits(FEW, SEED))


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: " ".join(asked.arguments))
def test_an_answer_agrees_with_itself(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path))
    assert not answered(asked)
