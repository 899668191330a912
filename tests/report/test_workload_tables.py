"""The workloads as a table and as data."""

from __future__ import annotations

import json

import pytest

from gpuwise import workloads
from gpuwise.report import workloads as report


def test_the_listing() -> None:
    rows = {
        row[0]: dict(zip(report.COLUMNS, row, strict=True)) for row in report.listing(workloads.specs()).rows
    }
    assert tuple(rows) == workloads.names()
    assert rows["resnet50"] == {
        "workload": "resnet50",
        "what": "ResNet-50 v1.5, 224 px",
        "modes": "train, infer",
        "recipes": "tuned, parity",
        "item": "image",
        "parameters": "25,557,032",
        "per item, train": "24.5 GFLOP",
        "batch": "256",
    }


@pytest.mark.parametrize("name", ["matmul", "copy"])
def test_a_limit_has_neither_recipe_nor_batch_nor_cost_of_training(name: str) -> None:
    spec = workloads.get(name).spec
    assert report.listing([spec]).rows[0] == (name, spec.title, "limit", "", spec.item, "", "", "")


def test_the_document_has_the_cost_of_each_mode() -> None:
    spec = workloads.get("bert-large").spec
    document = json.loads(json.dumps(report.document(spec)))
    assert document["id"] == "bert-large"
    assert document["parameters"] == 332_535_810
    assert document["modes"] == list(document["flop_per_item"]) == list(document["bytes_per_item"])
    assert document["flop_per_item"]["train"] == 3 * document["flop_per_item"]["infer"]
    assert document["flop_per_item"]["train"] == pytest.approx(739e9, rel=0.001)
    assert document["bytes_per_item"]["train"] == spec.cost("train", "bf16", 64).bytes_per_item
    assert document["recipes"] == ["tuned", "parity"]


def test_every_workload_has_a_document() -> None:
    for spec in workloads.specs():
        assert json.loads(json.dumps(report.document(spec)))["version"] == spec.version
