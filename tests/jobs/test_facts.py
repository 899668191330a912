"""What is known beside the catalog: the store's results, and what is left out of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from gpuwise import store
from gpuwise.jobs.facts import Facts

from .conftest import RESULT


def test_an_unreadable_file_of_the_store_is_left_out_and_told_once(home: Path) -> None:
    folder = store.results_dir()
    folder.mkdir(parents=True)
    shutil.copy(RESULT, folder / "good.json")
    (folder / "torn.json").write_text('{"schema": 1, "id"')
    told: list[str] = []
    facts = Facts(tell=told.append)
    assert [result.id for result in facts.results] == [store.load(RESULT).id]
    assert len(facts.results) == 1
    (reason,) = told
    assert reason.startswith("left out: ")
    assert "torn.json" in reason
    assert len(Facts().results) == 1
