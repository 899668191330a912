"""How runs differ comes from what else the store holds of the same kind of card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.jobs.choosing import CompareRequest, compare, stored_spread
from gpuwise.model.precision import Precision
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Measurement, Result, Window
from gpuwise.stats.interval import throughput

CONFIG = RunConfig(workload="resnet50", mode="train", precision=Precision.BF16)


def result(number: int, step_s: float, device: str = "NVIDIA H200") -> Result:
    windows = tuple(Window(step_s=(step_s,) * 20, started_s=n, ended_s=n + 20 * step_s) for n in range(5))
    measured = Measurement(
        config=CONFIG, workload_version=1, status="ok", item="image", started_at="", batch=64,
        items_per_step=64.0, throughput=throughput([w.step_s for w in windows], 64), windows=windows,
    )  # fmt: skip
    name = store.slug(device)
    return Result(
        id=f"20261123-00000{number}-{name}-aaaa", created_at="2026-11-23T00:00:00+00:00", command="",
        environment=Environment(device=device), measurements=(measured,),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUWISE_HOME", str(tmp_path))


def test_earlier_results_of_the_card_s_kind_say_how_runs_differ() -> None:
    a, b = result(1, 0.0300), result(2, 0.0309)
    assert stored_spread((a, b)) is None
    for number, step_s in enumerate((0.0300, 0.0301, 0.0302), start=3):
        store.save(result(number, step_s))
    store.save(result(6, 0.5, device="another card"))
    (store.results_dir() / f"20261123-000007-{store.slug('NVIDIA H200')}-bbbb.json").write_text("{")
    # What is compared is no witness of its own difference.
    store.save(a)
    store.save(b)
    found = stored_spread((a, b))
    assert found is not None
    assert found.error == pytest.approx(1 / 301, rel=0.01)
    ((_, (comparison,)),) = compare(CompareRequest(results=(a, b))).found
    assert comparison.basis == "stored"
    assert comparison.ratio is not None
    assert comparison.ratio.low < comparison.ratio.value < comparison.ratio.high


def test_the_table_says_where_it_is_known_from() -> None:
    answer = compare(CompareRequest(results=(result(1, 0.03), replace(result(2, 0.0309), id="other"))))
    assert any("from run to run" in note for note in answer.table.notes)
    assert answer.document["comparisons"][0]["pairs"][0]["run_to_run"] == "assumed"
