"""The workloads as a table and as data."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.show import hello as report


def rows() -> dict[str, dict[str, str]]:
    table = report.listing(workloads.specs())
    listed = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {row["workload"]: row for row in listed}


def test_the_listing() -> None:
    assert set(rows()) == set(workloads.names())
    assert rows()["resnet50"] == {
        "for": "image classification",
        "workload": "resnet50",
        "what": "ResNet-50 v1.5, 224 px",
        "modes": "train, infer",
        "precisions": "fp32 tf32 fp16 bf16",
        "recipes": "script, stock, tuned",
        "item": "image",
        "parameters": "25,557,032",
        "per item": "24.5 GFLOP",
        "batch": "256",
    }


def test_the_next_step_measures_what_was_asked_for() -> None:
    one = [workloads.get("resnet50").spec]
    assert "gpuwise bench './my net.py'" in report.listing(one, names=["./my net.py"]).notes[0]
    assert "./my_model.py" in report.listing(one).notes[0]


def test_tasks_stand_together_networks_before_science_before_limits() -> None:
    grouped = report.grouped(workloads.specs())
    tasks = [spec.task for spec in grouped]
    assert len(set(tasks)) == sum(a != b for a, b in zip(tasks, ["", *tasks], strict=False))
    kinds = ["limit" in spec.modes for spec in grouped]
    assert kinds == sorted(kinds)
    assert "compute" in grouped[kinds.index(True) - 1].modes


@pytest.mark.parametrize("name", ["copy", "launch"])
def test_a_limit_has_neither_precision_nor_recipe_nor_batch_nor_cost(name: str) -> None:
    row = rows()[name]
    assert [row[c] for c in ("modes", "precisions", "recipes", "per item", "batch")] == [
        "limit",
        "",
        "",
        "",
        "",
    ]


def test_a_workload_without_a_count_has_no_cost() -> None:
    spec = replace(workloads.get("resnet50").spec, cost=None)
    assert "per item" not in report.listing([spec]).columns
    assert report.document(spec)["flop_per_item"] == {}


def test_what_packages_offer_is_named_below() -> None:
    assert "from installed packages: theirs" in report.listing([], ["theirs"]).notes


def test_the_document_has_the_cost_of_each_mode() -> None:
    spec = workloads.get("bert-large").spec
    document = json.loads(json.dumps(report.document(spec)))
    assert document["id"] == "bert-large"
    assert document["parameters"] == 332_535_810
    assert document["modes"] == list(document["flop_per_item"]) == list(document["bytes_per_item"])
    assert document["flop_per_item"]["train"] == 3 * document["flop_per_item"]["infer"]
    assert document["flop_per_item"]["train"] == pytest.approx(739e9, rel=0.001)
    assert document["bytes_per_item"]["train"] == spec.cost("train", Precision.BF16, 64).bytes_per_item
    assert document["recipes"] == ["script", "stock", "tuned"]


def test_every_workload_has_a_document() -> None:
    for spec in workloads.specs():
        assert json.loads(json.dumps(report.document(spec)))["version"] == spec.version
