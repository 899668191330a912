"""milabench's summary and report: copies, names with a precision, failures."""

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
REPORT = """=================
Benchmark results
=================
bench                    | fail |   n | ngpu |       perf |   sem% |      score
resnet50-noio            |    0 |   8 |    1 |     500.25 |    0.3 |    4002.00
llm-full-mp              |    0 |   1 |    8 |      40.50 |    0.9 |      40.50
bert-fp32                |    8 |   8 |    1 |        nan |    nan |       0.00
"""


def test_summary_sums_its_copies(read):
    found = read(json.dumps(SUMMARY, indent=1))
    assert found.format == "milabench"
    assert [(row.question.workload, row.gpus, row.value, row.precision) for row in found.rows] == [
        ("resnet50", 2, 424.0, "?"),
        ("milabench-bert", 1, 98.9, "fp16"),
    ]
    assert [why.detail for _, why in found.skipped] == ["dead: no train_rate"]


def test_report_multiplies_copies_and_takes_a_job_as_it_is(read):
    found = read(REPORT, gpu="H200 SXM")
    assert [(row.question.workload, row.gpus, row.value, row.gpu_id) for row in found.rows] == [
        ("resnet50", 8, 4002.0, "h200-sxm"),
        ("milabench-llm-full-mp", 8, 40.5, "h200-sxm"),
    ]
    assert [(line, why.detail) for line, why in found.skipped] == [(7, "bert-fp32: no run succeeded")]


def test_report_printed_without_bars(read):
    text = (
        "fail n perf sem% std% peak_memory score weight\nbert-fp16 0 8 155.08 0.3% 4.3% 24552 1241.26 0.00\n"
    )
    (row,) = read(text).rows
    assert (row.question.workload, row.precision, row.gpus) == ("milabench-bert", "fp16", 8)
    assert row.value == pytest.approx(1240.64)


def test_cut_off_summary_is_an_error(read):
    with pytest.raises(InputError, match="not a whole JSON"):
        read(json.dumps(SUMMARY)[:-20])
