"""NVIDIA's README tables: precision in a column or a heading, systems, speedups left out."""

from __future__ import annotations

README = """# ResNet50 v1.5 For PyTorch

## Performance
### Results
#### Training performance results

Run in the pytorch-21.03 NGC container.

##### Training performance: NVIDIA DGX A100 (8x A100 80GB)

| **GPUs** | **Throughput - TF32** | **Throughput - mixed precision** | **Throughput speedup** | **Scaling** |
|:---:|:---:|:---:|:---:|:---:|
| 1 | 900 img/s | 2400 img/s | 2.6 x | 1.0 x |
| 8 | 7000 img/s | - | 2.3 x | 7.7 x |

##### Inference performance: NVIDIA T4

###### FP32 Inference Latency

| **Batch Size** | **Throughput Avg** | **Latency Avg** |
|:---:|:---:|:---:|
| 1 | 98 img/s | 10.7 ms |
| 256 | 415 img/s | 630 ms |
| 512 | 420 img/s |

## Accuracy

| epochs | throughput |
|---|---|
| 90 | 1 |
"""
BERT = """# BERT For TensorFlow

## Performance
### Fine-tuning training performance for SQuAD: NVIDIA DGX-1 (8x V100 16GB)

| GPUs | Batch size / GPU | Sequence length | Throughput - FP32 (sequences/sec) |
|---|---|---|---|
| 8 | 4 | 128 | 123.4 |
| 8 | 2 | 384 | 52.4 |
"""


def test_training_columns_are_precisions(read):
    found = read(README)
    assert found.format == "nvidia"
    train = [row for row in found.rows if row.question.mode == "train"]
    assert [(row.gpus, row.precision, row.value, row.gpu_id) for row in train] == [
        (1, "tf32", 900.0, "a100-sxm4-80gb"),
        (1, "fp16", 2400.0, "a100-sxm4-80gb"),
        (8, "tf32", 7000.0, "a100-sxm4-80gb"),
    ]
    assert {
        (row.question.workload, row.item, row.stated.versions, row.date, row.software) for row in train
    } == {("resnet50", "image", "NGC 21.03", "2021-03", "PyTorch")}


def test_inference_takes_its_precision_from_the_heading(read):
    infer = [row for row in read(README).rows if row.question.mode == "infer"]
    assert {row.gpus for row in infer} == {1}
    assert [(row.batch, row.value, row.precision, row.gpu_id) for row in infer] == [
        (1, 98.0, "fp32", "t4"),
        (256, 415.0, "fp32", "t4"),
    ]


def test_missing_cells_are_named(read):
    assert [(line, why.detail) for line, why in read(README).skipped] == [
        (14, "no speed: '-'"),
        (24, "has 2 cells, the header 3"),
    ]


def test_sequence_length_tells_bert_workloads_apart(read):
    rows = read(BERT).rows
    assert [(row.question.workload, row.item, row.batch) for row in rows] == [
        ("bert-large-s128", "sequence", 4),
        ("bert-large", "sequence", 2),
    ]
    assert {row.gpu_id for row in rows} == {"v100-sxm2-16gb"}
