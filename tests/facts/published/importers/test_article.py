"""The article's table: repeated networks, GPU, batch and date from the text around it."""

from __future__ import annotations

ARTICLE = """---
title: "NVIDIA RTX A5000: an example"
datePublished: Sat Jun 22 2024 18:30:00 GMT+0000
---
It ran tf_cnn_benchmarks. With FP32 a batch size of 64 was used, while FP16 tests had a batch size of 128.

| **Neural Network** | **Precision** | **1 GPU** | **2 GPUs** |
| --- | --- | --- | --- |
| **ResNet50** | FP16 | 812.5 | 1,601.3 |
|  | FP32 | 405.1 | n/a |
| **Inception v3** | FP16 | 500.2 | 950.5 |
| broken | FP16 | 1 |
"""


def test_figures_carry_gpu_count_batch_and_date(read):
    found = read(ARTICLE)
    assert found.format == "article"
    first, second = found.rows[:2]
    assert (first.question.workload, first.gpu_id, first.gpus, first.value) == (
        "resnet50",
        "rtx-a5000",
        1,
        812.5,
    )
    assert (second.gpus, second.value, second.batch) == (2, 1601.3, 128)
    assert (first.date, first.item, first.question.mode, first.software) == (
        "2024-06-22",
        "image",
        "train",
        "TensorFlow",
    )


def test_empty_network_repeats_the_one_above_and_fp32_may_be_tf32(read):
    fp32 = next(row for row in read(ARTICLE).rows if row.stated.precision == "FP32")
    assert (fp32.question.workload, fp32.precision, fp32.batch) == ("resnet50", "tf32?", 64)


def test_bad_cells_and_rows_are_named(read):
    skipped = [(line, why.detail) for line, why in read(ARTICLE).skipped]
    assert skipped == [(10, "no speed: 'n/a'"), (12, "has 3 cells, the header 4")]


def test_linear_table_gets_the_cautions_of_the_gates(read):
    table = "# RTX A5000\n\n| Network | Precision | 1 GPU | 2 GPUs | 4 GPUs |\n|---|---|---|---|---|\n"
    rows = read(table + "| ResNet50 | FP16 | 811.17 | 1622.34 | 3244.68 |\n").rows
    assert [list(row.codes) for row in rows] == [[], ["linear"], ["linear"]]


def test_title_without_a_gpu_leaves_it_open(read):
    row = read(ARTICLE.replace("RTX A5000", "great card"), gpu=None).rows[0]
    assert (row.gpu, row.gpu_id) == ("", "")
