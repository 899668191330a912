"""Questions of buyers (evaluation/questions*.toml): what any good answer has in common."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable
from datetime import date
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from gpuwise.cli import print as printer
from gpuwise.facts import prices
from gpuwise.jobs import choosing
from gpuwise.model.gpu import STALE_DAYS
from gpuwise.show.table import Answer

from ..judge.choose import claims

ROOT = Path(__file__).parents[2]
FILES = (
    "questions.toml", "questions_2.toml", "questions_3.toml", "questions_4.toml", "questions_5.toml",
    "questions_6.toml", "questions_7.toml", "questions_8.toml", "questions_9.toml", "questions_classes.toml",
)  # fmt: skip
QUESTIONS = {
    name: wanted
    for file in FILES
    for name, wanted in tomllib.loads((ROOT / "evaluation" / file).read_text(encoding="utf-8")).items()
}
# Of the shipped prices: later, they are older.
DAY = date(2026, 11, 23)
MOST_LINES = 30
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(printer, "today", lambda: DAY)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Answer[Any]]:
    """What `choose` found: the document of an answer that was printed takes no second search."""
    found: list[Answer[Any]] = []
    choose = choosing.choose

    def kept(*asked: Any, **more: Any) -> Answer[Any]:
        found.append(choose(*asked, **more))
        return found[-1]

    monkeypatch.setattr(choosing, "choose", kept)
    return found


def matches(gpu: str, globs: list[str]) -> bool:
    return any(fnmatch(gpu, glob) for glob in globs)


def test_there_are_more_than_a_hundred() -> None:
    assert len(QUESTIONS) > 270


@pytest.mark.parametrize("name", [name for name, wanted in QUESTIONS.items() if not wanted.get("apart")])
def test_the_answer_is_one_that_an_expert_would_sign(
    name: str, gpuwise: Call, answers: list[Answer[Any]]
) -> None:
    wanted: dict[str, Any] = QUESTIONS[name]
    arguments = shlex.split(wanted["ask"])
    code, text, talk = gpuwise("choose", *arguments)
    assert code in wanted.get("exit_any", [wanted.get("exit", 0)]), talk
    if code and "error" in wanted:
        assert re.search(wanted["error"], talk), talk
    if code:
        return
    # The prompt's own line apart.
    assert len(text.splitlines()) <= MOST_LINES, text
    assert not [words for words in wanted.get("says_not", ()) if re.search(words, text)], text
    for words in wanted.get("says", ()):
        assert re.search(words, "\n".join(line.strip() for line in text.splitlines()), re.M), text
    found = json.loads(printer.json_text(answers[-1].to_data()))
    first = found["options"][0]
    assert found["answer"]
    assert not [*claims.faults(found, text)]
    if first["price_usd"] is not None and first["way"] != "have":
        assert (DAY - prices.day(first["seen_on"])).days <= STALE_DAYS
        assert not first["stale"]
    assert not matches(first["gpu_id"], wanted.get("never_first", [])), found["answer"]
    assert matches(first["gpu_id"], wanted.get("first", ["*"])), found["answer"]
    assert first["way"] in wanted.get("ways", [first["way"]]), found["answer"]
    left = {each["gpu_id"]: each["reason"] for each in found["rejected"]}
    for gpu, why in wanted.get("refused", {}).items():
        assert re.search(why, left[gpu]), left[gpu]
    for key, field in (("cost", "cost_usd"), ("per_hour", "per_hour_usd"), ("outlay", "outlay_usd")):
        if key in wanted:
            value = first[field]["value"] if key == "cost" else first[field]
            least, most = wanted[key]
            assert least <= value <= most, (key, value)
    if "doubled" in wanted:
        amount = re.sub(r"[\d.]+", lambda m: f"{float(m[0]) * 2:g}", wanted["doubled"])
        again = [amount if part == wanted["doubled"] else part for part in arguments]
        second = json.loads(gpuwise("choose", *again, "--json")[1])["options"][0]
        costs = [each["cost_per_item_usd"]["value"] for each in (first, second)]
        speeds = [each["throughput"]["value"] for each in (first, second)]
        assert costs[1] <= costs[0] * 1.000001 or speeds[1] >= speeds[0]
