"""milabench's summary: copies, names with a precision, failures."""

from __future__ import annotations

import json

import pytest

from gpuwise.errors import InputError

SUMMARY = {
    "resnet50": {
        "name": "resnet50",
        "n": 2,
        "train_rate": {"mean": 212.0, "median": 227.0},
        "per_gpu": {"0": {"mean": 210.0}, "1": {"mean": 214.0}},
    },
    "bert-tf32-fp16": {"n": 1, "train_rate": {"mean": 98.9}, "per_gpu": {"0": {"mean": 98.9}}},
    "dead": {"n": 1, "train_rate": None},
}


def test_summary_sums_its_copies(read):
    found = read(json.dumps(SUMMARY, indent=1))
    assert found.format == "milabench"
    assert [(row.question.workload, row.gpus, row.value, row.precision) for row in found.rows] == [
        ("resnet50", 2, 424.0, "?"),
        ("milabench-bert", 1, 98.9, "fp16"),
    ]
    assert [why.detail for _, why in found.skipped] == ["dead: no train_rate"]


def test_cut_off_summary_is_an_error(read):
    with pytest.raises(InputError, match="not a whole JSON"):
        read(json.dumps(SUMMARY)[:-20])
