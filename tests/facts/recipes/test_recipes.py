"""Kept recipes: found for the same device, software and question, and for no other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpuwise.errors import InputError
from gpuwise.facts import recipes
from gpuwise.model.question import RunConfig, Switches
from gpuwise.model.result import Tuned

from ...examples import ASKED, TUNED


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path))
    return tmp_path


def find(config: RunConfig = ASKED, version: int = 1, **changed: Any) -> Tuned | None:
    known = {"device": "test-gpu", "torch": "2.11.0", "cuda": "13.0"} | changed
    return recipes.find(config, version, **known)


def test_what_is_kept_is_found() -> None:
    assert find() is None
    path = recipes.keep(TUNED)
    assert path.name == "test-gpu-2.11.0-cu130-resnet50-train-bf16-compiled.json"
    assert find() == TUNED


def test_so_many_gpus_have_a_recipe_of_their_own() -> None:
    recipes.keep(TUNED)
    assert find(replace(ASKED, gpus=4)) is None
    four = replace(TUNED, gpus=4, switches=Switches(overlap_grads="off"))
    assert recipes.keep(four).name.endswith("-compiled-x4.json")
    assert find(replace(ASKED, gpus=4)) == four
    assert find() == TUNED
    two = replace(TUNED, gpus=2, switches=Switches(bucket="64"))
    recipes.keep(two)
    assert [find(replace(ASKED, gpus=gpus)) for gpus in (2, 3, 4, 8)] == [two, four, four, four]


def test_a_batch_that_is_asked_for_has_the_recipe_next_to_it() -> None:
    recipes.keep(TUNED)  # free to choose 512
    small = replace(TUNED, batch=64, batch_given=True, switches=Switches(graph="on"))
    assert recipes.keep(small).name.endswith("-compiled-b64.json")
    asked = [find(replace(ASKED, batch=batch)) for batch in (None, 32, 128, 256, 1024)]
    assert asked == [TUNED, small, small, TUNED, TUNED]


def test_how_other_work_exchanges_does_not_hang_on_its_batch() -> None:
    two = replace(TUNED, workload="bert-large", gpus=2, batch=1024)
    eight = replace(TUNED, workload="llm-1b", gpus=8, batch=8)
    for entry in (two, eight):
        recipes.keep(entry)
    asked = [replace(ASKED, gpus=gpus, batch=batch) for gpus in (2, 8) for batch in (None, 8, 1024)]
    known = [recipes.exchange(each, device="test-gpu", torch="2.11.0", cuda="13.0") for each in asked]
    assert known == [two, two, two, eight, eight, eight]
    assert recipes.exchange(asked[0], device="other", torch="2.11.0", cuda="13.0") is None
    four = replace(ASKED, gpus=4)  # as far from one as from the other
    first = recipes.exchange(four, device="test-gpu", torch="2.11.0", cuda="13.0")
    for batch in (8, 1024):
        again = replace(four, batch=batch)
        assert recipes.exchange(again, device="test-gpu", torch="2.11.0", cuda="13.0") == first


def test_without_one_that_chose_its_batch_the_fastest_is_taken() -> None:
    small = replace(TUNED, batch=64, batch_given=True)
    fast = replace(small, batch=256, throughput=replace(TUNED.throughput, value=2 * TUNED.throughput.value))
    for entry in (small, fast):
        recipes.keep(entry)
    assert find() == fast


def test_another_question_device_or_software_has_no_recipe() -> None:
    recipes.keep(TUNED)
    assert find(device="other") is None
    assert find(torch="2.12.0") is None
    assert find(cuda="12.8") is None
    assert find(version=2) is None
    for change in ({"mode": "infer"}, {"precision": "fp16"}, {"compile": False}, {"workload": "resnet152"}):
        assert find(replace(ASKED, **change)) is None  # type: ignore[arg-type]


def test_a_new_search_takes_the_place_of_the_old() -> None:
    recipes.keep(TUNED)
    recipes.keep(replace(TUNED, batch=1024))
    found = find()
    assert found is not None
    assert found.batch == 1024


def test_stock_is_the_tuned_recipe_with_the_kernels_of_torch() -> None:
    recipes.keep(replace(TUNED, switches=Switches(pooling="triton", compiler="descent")))
    found = find(recipe="stock")
    assert found is not None
    assert (found.batch, found.switches) == (512, Switches(compiler="descent"))


def test_a_stock_recipe_of_its_own_lies_beside_the_tuned_one() -> None:
    stock = replace(TUNED, recipe="stock", batch=256, switches=Switches(graph="on"))
    assert recipes.keep(stock).name.endswith("-compiled-stock.json")
    assert find() == stock  # the best known, whatever it uses
    recipes.keep(TUNED)
    assert (find(), find(recipe="stock")) == (TUNED, stock)


def test_a_switch_that_an_older_file_does_not_name_is_as_usual() -> None:
    path = recipes.keep(TUNED)
    assert '"pooling": "triton"' in path.read_text()
    assert "layout" not in path.read_text()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"device": 1}', '{"throughput": {}, "gain": {}}'])
def test_a_damaged_file_is_named(text: str, home: Path) -> None:
    recipes.keep(TUNED)
    (home / "recipes" / "a.json").write_text(text)
    with pytest.raises(InputError, match=r"a\.json is not a recipe"):
        find()


def test_a_folder_that_cannot_be_written_is_an_input_error(home: Path) -> None:
    (home / "recipes").write_text("a file")
    with pytest.raises(InputError, match="cannot write"):
        recipes.keep(TUNED)


def test_every_shipped_recipe_can_be_read() -> None:
    for entry in recipes.known():
        assert entry.gain.value >= 1.0
        assert entry.torch
