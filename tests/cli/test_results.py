"""`gpuwise results` as people call it: sections apart, filters, imports, errors with a next step."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpuwise import store
from gpuwise.model.question import Environment, RunConfig
from gpuwise.model.result import Interval, Measurement, Result

from ..stopwatch import stopwatch

LAMBDA = ",ssd,bert_large_squad,resnet50\nRTX_A6000,0.0,60.0,780.0\nbroken,1\n"
CONFIG = RunConfig(workload="resnet50", mode="train", precision="bf16", compile=True)


def measurement(**changes: object) -> Measurement:
    speed = Interval(value=7210.0, low=7190.0, high=7231.0, method="bootstrap")
    base = Measurement(
        config=CONFIG,
        workload_version=1,
        status="ok",
        item="image",
        started_at="x",
        batch=256,
        throughput=speed,
    )
    return replace(base, **changes)


@pytest.fixture
def kept(home: Path) -> Result:
    """One result in the store: a network, a limit, and a toy that is never comparable."""
    limit = measurement(config=replace(CONFIG, workload="matmul", mode="limit"), item="FLOP")
    toy = measurement(config=replace(CONFIG, size="toy"))
    result = Result(
        id="20261121-a",
        created_at="2026-11-21T04:40:12Z",
        command="gpuwise bench",
        environment=Environment(device="NVIDIA H200", gpu_id="h200-sxm", torch="2.11.0", cuda="13.0"),
        measurements=(measurement(), limit, toy),
    )
    store.save(result)
    return result


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "train-fp16.csv"
    path.write_text(LAMBDA)
    return path


def test_sections_stand_apart(gpuwise, kept):
    code, out, _ = gpuwise("results", "resnet50", "--mode", "train", "--gpu", "h200 sxm")
    assert code == 0
    ours, published = out.split("Published elsewhere, not measured by gpuwise")
    assert "Measured here" in ours
    assert "7,210 images/s ±0.3 %" in ours
    assert "aime_on_h200" in published
    assert "±" not in published
    assert ours.count("7,210") == 1  # on a screen the speed of one GPU stands once


def test_json_has_three_lists(gpuwise, kept):
    code, out, _ = gpuwise("results", "resnet50", "--gpu", "h200-sxm", "--json")
    document = json.loads(out)
    assert code == 0
    assert list(document) == ["measured", "published", "skipped"]
    (ours,) = document["measured"]
    assert (ours["throughput"]["high"], ours["recipe"]) == (7231.0, "stock")
    assert {row["gpu_id"] for row in document["published"]} == {"h200-sxm"}
    assert document["skipped"] == []


def test_nothing_measured_says_how_to(gpuwise):
    code, out, err = gpuwise("results", "resnet50", "--gpu", "h200-sxm")
    assert code == 0
    assert "Measured here" not in out
    assert "gpuwise bench resnet50" in err


def test_without_a_workload_they_are_listed(gpuwise, kept):
    code, out, _ = gpuwise("results", "--json")
    rows = {row["workload"]: row for row in json.loads(out)["workloads"]}
    assert code == 0
    assert rows["resnet50"]["measured"] == 1
    assert rows["bert-large"]["published"] > 40
    assert "matmul" not in rows


@pytest.mark.parametrize(
    ("options", "key", "values"),
    [
        (("--mode", "infer"), "mode", {"infer"}),
        (("--precision", "tf32"), "precision", {"tf32", "tf32?"}),
        (("--gpus", "8"), "n_gpus", {8}),
        (("--gpu", "4090"), "gpu_id", {"rtx-4090"}),
        (("--gpu", "a100-sxm4"), "gpu_id", {"a100-sxm4-40gb", "a100-sxm4-80gb"}),
    ],
)
def test_filters(gpuwise, options, key, values):
    code, out, _ = gpuwise("results", "resnet50", *options, "--json")
    assert code == 0
    assert {row[key] for row in json.loads(out)["published"]} == values


def test_source_leaves_ours_out(gpuwise, kept):
    _, out, _ = gpuwise("results", "resnet50", "--source", "server_gear", "--json")
    document = json.loads(out)
    assert document["measured"] == []
    assert {row["source"]["id"] for row in document["published"]} == {"server_gear"}


def test_imported_file_alone(gpuwise, kept, theirs):
    code, out, err = gpuwise("results", "--import", str(theirs), "--json")
    document = json.loads(out)
    assert code == 0
    assert [(row["workload"], row["throughput"]) for row in document["published"]] == [
        ("bert-large", 60.0),
        ("resnet50", 780.0),
    ]
    assert document["measured"] == []
    assert [(skip["line"], skip["reason"]) for skip in document["skipped"]] == [
        (2, "ssd: no figure (0)"),
        (3, "has 2 cells, the header 4"),
    ]
    assert "2 figures, 2 skipped" in err
    assert "line 3: has 2 cells" in err


def test_imported_file_among_the_others(gpuwise, kept, theirs):
    _, out, _ = gpuwise("results", "resnet50", "--import", str(theirs), "--gpu", "a6000", "--json")
    sources = [row["source"]["id"] for row in json.loads(out)["published"]]
    assert "train-fp16.csv" in sources
    assert "lambda_dlbench" in sources


def test_gpu_of_a_file_that_names_none(gpuwise, tmp_path):
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({"resnet50": {"train_rate": {"mean": 500.0}}}))
    _, out, _ = gpuwise("results", "--import", str(path), "--gpu", "h200-sxm", "--json")
    assert [row["gpu_id"] for row in json.loads(out)["published"]] == ["h200-sxm"]


def test_gpu_whose_variant_stays_open_still_shows_its_file(gpuwise, tmp_path):
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({"resnet50": {"train_rate": {"mean": 500.0}}}))
    _, out, _ = gpuwise("results", "--import", str(path), "--gpu", "a100", "--json")
    assert [(row["gpu"], row["gpu_id"]) for row in json.loads(out)["published"]] == [("a100", None)]


def test_several_gpus_leave_ours_out(gpuwise, kept):
    _, out, _ = gpuwise("results", "resnet50", "--gpus", "8", "--json")
    document = json.loads(out)
    assert document["measured"] == []
    assert document["published"]


def test_files_outside_the_store_and_unreadable_ones_inside(gpuwise, kept, home, tmp_path):
    elsewhere = tmp_path / "elsewhere.json"
    store.save(replace(kept, id="20261122-b"), elsewhere)
    (home / "results" / "torn.json").write_text("{")
    code, out, err = gpuwise("results", "resnet50", "--file", str(elsewhere), "--json")
    assert code == 0
    assert [row["result"] for row in json.loads(out)["measured"]] == ["20261122-b", "20261121-a"]
    assert "left out:" in err


def test_published_result_files_are_not_ours(gpuwise, kept):
    store.save(replace(kept, id="20261120-known", origin="published", source="known before"))
    _, out, _ = gpuwise("results", "resnet50", "--json")
    assert [row["result"] for row in json.loads(out)["measured"]] == ["20261121-a"]


def test_output_file_tells_the_origin(gpuwise, kept, tmp_path):
    path = tmp_path / "speeds.csv"
    code, _, _ = gpuwise("results", "resnet50", "--gpu", "h200-sxm", "-o", str(path))
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert code == 0
    assert [row["origin"] for row in rows[:2]] == ["measured here", "published"]


@pytest.mark.parametrize(
    ("arguments", "code", "said", "next_step"),
    [
        (("resnet5",), 2, "did you mean resnet50", "gpuwise results"),
        (("resnet50", "--gpu", "h300"), 2, "h300", "ask for"),
        (("resnet50", "--gpu", "gb300"), 5, "with --gpu gb300", "gpuwise results resnet50"),
        (("resnet50", "--source", "lambda"), 2, "lambda_dlbench", "--source lambda_dlbench"),
        (("--gpu", "gb300", "--gpus", "7"), 5, "--gpu gb300 --gpus 7", "gpuwise results"),
        (("--import", "no-such.csv"), 2, "cannot read no-such.csv", "path"),
        (("resnet50", "-o", "x.xls"), 2, "x.xls", ".csv"),
    ],
)
def test_errors_say_what_next(gpuwise, arguments, code, said, next_step):
    found, out, err = gpuwise("results", *arguments)
    assert (found, out) == (code, "")
    assert said in err
    assert next_step in err.split("next: ")[1]


def test_file_without_figures(gpuwise, theirs):
    theirs.write_text(",ssd,resnet50\nRTX_A6000,0,0\n")
    code, out, err = gpuwise("results", "--import", str(theirs))
    assert (code, out) == (5, "")
    assert "0 figures, 2 skipped" in err


def test_answers_fast(process, slowness):
    took_s = stopwatch()
    run = process("results", "resnet50", "--json")
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert json.loads(out)["published"]
    # About 0.2 s on an idle machine.
    assert took_s() < 1 * slowness


def test_a_screen_of_results_has_ten_rows_and_a_hundred_columns(gpuwise, kept):
    code, out, _ = gpuwise("results", "resnet50")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 100
    published = out.split("Published elsewhere")[1].split("The fastest of each GPU")[0]
    assert sum("images/s" in line for line in published.splitlines()) == 10
