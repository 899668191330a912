"""Rows of the zoo, as they are scored."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Literal

import pytest

from evaluation.predict import zoo
from gpuwise.model.question import RunConfig
from gpuwise.predictor import rates, trace_store
from gpuwise.predictor.step import CUBLAS_WORKSPACE


def run(folder: Path, launches: list[float]) -> list[zoo.Row]:
    """The rows of a run on an H100 whose bare launches took so long."""
    (folder / "one").mkdir()
    (folder / "one" / "environment.json").write_text(json.dumps({"device": "NVIDIA H100 80GB HBM3"}))
    with gzip.open(folder / "one" / "zoo.jsonl.gz", "wt") as file:
        for each in launches:
            row = {"network": "n", "family": "f", "launch_s": each, "peak": {"allocated": 1.0}}
            print(json.dumps(row), file=file)
        print(json.dumps({"network": "m", "family": "f", "error": "crowded"}), file=file)
    return list(zoo.rows(folder, "all"))


def test_a_row_is_of_the_card_and_the_host_of_its_run(tmp_path: Path) -> None:
    found = run(tmp_path, [7e-6, 14e-6, 15e-6])
    assert {row["gpu"] for row in found} == {"h100-sxm5-80gb"}
    assert [row["run_launch_s"] for row in found] == [pytest.approx(14e-6)] * 3


def test_a_row_is_calibrated_by_what_its_machine_kept_and_left_out_without(tmp_path: Path) -> None:
    (without,) = run(tmp_path, [7e-6])
    assert without["calibration"] is None
    assert zoo.scored(tmp_path, "all", None, calibrate=True) == ([], 0)
    kept = rates.Operators(
        gpu_id=without["gpu"], factors={}, launch_s=3 * rates.LAUNCH_S, cases=1, spread=0.1
    )
    file = tmp_path / f"calibration-{without['gpu']}.json"
    file.write_text(json.dumps(rates.operators_document(kept, {})))
    (found,) = zoo.rows(tmp_path, "all")
    with zoo.calibrated(found):
        own = rates.of_card(found["gpu"])
        assert own is not None
        assert own.host == pytest.approx(rates.READ_LEVEL * 3.0**rates.READING_POWER)
    assert rates.of_card(found["gpu"]) is None


@pytest.mark.parametrize(
    ("mode", "cleared", "left"), [("infer", False, 1), ("infer", True, 0), ("train", False, 0)]
)
def test_peaks_count_what_earlier_networks_left_unless_it_was_given_back(
    tmp_path: Path, mode: Literal["infer", "train"], cleared: bool, left: int
) -> None:
    (row,) = run(tmp_path, [7e-6])
    trace = trace_store.obtain(RunConfig(workload="vit-b16", mode=mode, precision="bf16", batch=2))
    found = zoo.peaks({**row, "cleared": cleared}, trace)
    assert [peak - found[0] for peak in found] == [n * CUBLAS_WORKSPACE["hopper"] for n in range(left + 1)]
