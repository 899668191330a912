"""SuperBench's lines: two namings, ranks as independent copies, bad lines."""

from __future__ import annotations

import json

OLD = {
    "node": "n1",
    "resnet_models/pytorch-resnet50/throughput_train_float32": 400.5,
    "resnet_models/pytorch-resnet50/steptime_train_float32": 80.0,
    "bert_models/pytorch-bert-large/throughput_train_float16": 154.8,
    "gemm-flops/FP64:0": 9031.2,
}
NEW = {
    "node": "n2",
    "model-benchmarks:vgg/pytorch-vgg16/fp16_train_throughput:0": 700.0,
    "model-benchmarks:vgg/pytorch-vgg16/fp16_train_throughput:1": 690.0,
    "model-benchmarks:vgg/pytorch-vgg16/fp16_inference_throughput_99": 1.0,
}


def test_old_naming(read):
    found = read(json.dumps(OLD), gpu="A100 SXM4 80GB")
    assert found.format == "superbench"
    assert [(row.question.workload, row.precision, row.value, row.item) for row in found.rows] == [
        ("resnet50", "tf32?", 400.5, "image"),
        ("superbench-bert-large", "fp16", 154.8, "sample"),
    ]
    assert {row.gpu_id for row in found.rows} == {"a100-sxm4-80gb"}


def test_ranks_are_copies_and_percentiles_no_speeds(read):
    (row,) = read(json.dumps(NEW)).rows
    assert (row.question.workload, row.question.mode, row.gpus, row.value) == ("vgg16", "train", 2, 1390.0)
    assert "2 independent copies" in " ".join(row.notes)
    assert row.gpu_id == ""


def test_bad_lines_are_named(read):
    text = "\n".join([json.dumps(OLD), "{not json", "[1, 2]", "", json.dumps(NEW)])
    found = read(text)
    assert [line for line, _ in found.skipped] == [2, 3]
    assert len(found.rows) == 3


def test_rank_without_a_number_skips_the_sum(read):
    bad = NEW | {"model-benchmarks:vgg/pytorch-vgg16/fp16_train_throughput:1": None}
    found = read(json.dumps(bad))
    assert not found.rows
    assert found.skipped[0][1].detail == "vgg16 train fp16: a rank without a number"
