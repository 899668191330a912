"""What a card is held against, and that the shipped figures are those of the raw files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.judge.accept.card import DATA, TestedCard, allowed, check_last, known, lookup, question, speed_of
from gpuwise.model.precision import PRECISIONS

from ...examples import FROM_REST
from .conftest import HEALTHY, speed

Make = Callable[..., TestedCard]
RAW = Path(__file__).parents[3] / "results" / "h200"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path / "home"))


def test_every_figure_has_a_gpu_a_source_and_a_precision() -> None:
    sources = catalog.read_sources(DATA / "sources.csv")
    for row in catalog.rows(DATA / "reach.csv"):
        assert catalog.get(row["gpu_id"])
        assert sources[row["source"]].kind in ("measured", "third-party")
        assert row["precision"] in PRECISIONS
        assert float(row["per_s"]) > 0
        peak = catalog.get(row["gpu_id"]).peak(row["precision"])
        assert row["workload"] != "matmul" or peak is None or float(row["per_s"]) < peak.flop_per_s


def sessions() -> dict[tuple[str, str, int | None], list[float]]:
    """Every limit of the raw files that was timed in bursts, which have three steps of warm-up."""
    found: dict[tuple[str, str, int | None], list[float]] = defaultdict(list)
    for path in RAW.glob("*.json"):
        for m in store.load(path).measurements:
            bursts = m.config.mode == "limit" and len(m.warmup_s) == 3
            if bursts and m.config.gpus == 1 and not m.started_at.startswith(FROM_REST):
                speed = speed_of(m)
                assert speed is not None
                found[m.config.workload, m.config.precision, m.batch].append(speed.value)
    return found


def test_our_own_figures_are_those_of_the_raw_files() -> None:
    found = sessions()
    own = [row for row in catalog.rows(DATA / "reach.csv") if row["source"] == "gpuwise-h200"]
    assert len(own) == 7
    for row in own:
        values = found[row["workload"], row["precision"], 1]
        assert float(row["per_s"]) <= min(values) * 1.001
        assert float(row["most"]) >= max(values) * 0.999
        assert int(row["sessions"]) <= len(values)  # a later file may say the same again


def test_good_cards_differ_by_less_than_the_usual_margin() -> None:
    """What makes 5 % fair: the fastest bursts of good cards, where medians differ by more than a tenth. Where
    they differ by more, the table knows. Launches are the host's."""
    for (workload, precision, _), values in sessions().items():
        if workload == "launch":
            continue
        wide = allowed("h200-sxm", question(speed(workload, 1.0, precision=precision)), 0.05)
        assert (wide > 0.05) == (precision in ("fp64", "fp8", "fp16", "tf32"))
        assert wide < 0.11
        assert 1 - min(values) / max(values) <= wide + 1e-3


def test_no_margin_is_less_than_what_good_cards_differ_by() -> None:
    asked = question(speed("matmul", 8e14, precision="bf16"))
    assert allowed("h200-sxm", asked, 0.01) == pytest.approx(0.039, abs=1e-3)
    assert allowed("h200-sxm", asked, 0.05) == 0.05
    assert allowed(None, asked, 0.01) == 0.01


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


def test_the_last_result_of_this_card_with_something_in_common(card: Make) -> None:
    store.save(card(1).result)
    store.save(card(2).result)
    store.save(card(7, environment={"card": "0123456789ab"}).result)  # a neighbour's
    store.save(card(3, environment={"device": "NVIDIA A100"}).result)
    store.save(card(4, measurements=(speed("launch", 1e5),)).result)
    (store.results_dir() / "20261121-9.json").write_text("{ damaged")
    check_last(HEALTHY)
    find = lookup("last")
    store.save(card(5).result)  # kept by the session that is judged
    (found,) = find(card(5).result)
    assert found.name == "20261121-2.json"
    assert find(card(6, environment={"device": "NVIDIA L4"}).result) == ()
    (own,) = find(card(8, environment={"card": "0123456789ab"}).result)
    assert own.name == "20261121-7.json"


def test_a_card_without_a_last_result_is_refused(card: Make) -> None:
    store.save(card(1, environment={"card": "0123456789ab"}).result)
    check_last(replace(HEALTHY, card="0123456789ab"))
    with pytest.raises(NoDataError, match="no result of this NVIDIA H200 is kept"):
        check_last(replace(HEALTHY, card="ba9876543210"))


def test_a_bundle_is_no_reference_and_how_to_get_one_out_of_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "host.zip").touch()
    with pytest.raises(InputError, match=r"host\.zip is a bundle of all cards") as caught:
        lookup(str(tmp_path / "host.zip"))
    assert "results/gpu-0.json" in (caught.value.hint or "")


def test_a_card_may_be_slower_by_as_much_as_good_ones_differ() -> None:
    wide, *_ = (row for row in catalog.rows(DATA / "reach.csv") if row["most"] and row["precision"] == "fp64")
    asked = question(speed(wide["workload"], 1.0, precision="fp64"))
    differ = 1 - float(wide["per_s"]) / float(wide["most"])
    assert 0.05 < differ < 1
    assert allowed(wide["gpu_id"], asked, 0.05) == pytest.approx(differ)
    assert allowed(wide["gpu_id"], asked, differ + 0.01) == pytest.approx(differ + 0.01)
    assert allowed("no-longer-known", asked, 0.05) == 0.05
