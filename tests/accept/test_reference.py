"""What a card is held against, and that the shipped figures are those of the raw files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import catalog, store
from gpuwise.accept import Card, known, lookup
from gpuwise.accept.reference import DATA
from gpuwise.catalog import tables
from gpuwise.errors import InputError, NoDataError
from gpuwise.model.workload import PRECISIONS

from .conftest import speed

Make = Callable[..., Card]
RAW = Path(__file__).parents[2] / "results" / "h200"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path / "home"))


def test_every_figure_has_a_gpu_a_source_and_a_precision() -> None:
    sources = tables.read_sources(DATA / "sources.csv")
    for row in tables.rows(DATA / "reach.csv"):
        assert catalog.get(row["gpu_id"])
        assert sources[row["source"]].kind in ("measured", "third-party")
        assert row["precision"] in PRECISIONS
        assert float(row["per_s"]) > 0
        peak = catalog.get(row["gpu_id"]).peak(row["precision"])
        assert row["workload"] != "matmul" or peak is None or float(row["per_s"]) < peak.flop_per_s


def test_our_own_figures_are_the_lowest_of_the_raw_files() -> None:
    lowest: dict[tuple[str, str], float] = {}
    for path in RAW.glob("*.json"):
        for m in store.load(path).measurements:
            if m.config.mode == "limit" and m.throughput is not None and m.config.gpus == 1:
                asked = (m.config.workload, m.config.precision)
                lowest[asked] = min(lowest.get(asked, m.throughput.value), m.throughput.value)
    own = [row for row in tables.rows(DATA / "reach.csv") if row["source"] == "gpuwise-h200"]
    assert len(own) == 5
    for row in own:
        assert float(row["per_s"]) == pytest.approx(lowest[row["workload"], row["precision"]], rel=1e-3)


def test_without_a_wish_the_kind_of_the_card_decides(card: Make) -> None:
    own, others = lookup(None)(card().result)
    assert (own.same_code, others.same_code) == (True, False)
    assert own.name == "the known reach of NVIDIA H200 SXM (gpuwise's own sessions on H200 SXM)"
    assert lookup(None)(card(environment={"gpu_id": None}).result) == ()
    assert known("rtx-4090") == ()


def test_a_gpu_by_name(card: Make) -> None:
    assert lookup("h200 sxm")(card(environment={"gpu_id": None}).result) == known("h200-sxm")
    with pytest.raises(NoDataError, match="nothing is known of what NVIDIA GeForce RTX 4090 reaches"):
        lookup("rtx 4090")
    with pytest.raises(InputError, match="h900"):
        lookup("h900")


def test_a_file(card: Make, tmp_path: Path) -> None:
    path = tmp_path / "good.json"
    store.save(card().result, path)
    (found,) = lookup(str(path))(card(1).result)
    assert (found.name, found.result.id) == ("good.json", "20261121-0")
    store.save(replace(card().result, measurements=()), path)
    with pytest.raises(InputError, match="holds no speed"):
        lookup(str(path))


def test_the_last_result_of_this_model_with_something_in_common(card: Make) -> None:
    store.save(card(1).result)
    store.save(card(2).result)
    store.save(card(3, environment={"device": "NVIDIA A100"}).result)
    store.save(card(4, measurements=(speed("launch", 1e5),)).result)
    find = lookup("last")
    store.save(card(5).result)  # kept by the session that is judged
    (found,) = find(card(5).result)
    assert found.name == "20261121-2.json"
    assert find(card(6, environment={"device": "NVIDIA L4"}).result) == ()
