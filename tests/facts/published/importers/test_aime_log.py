"""AIME's log: the setting, the means, warm-up steps, several runs in one file."""

from __future__ import annotations

LOG = """OS: Linux, 6.8.0
Device-name: box
2 GPU(s) used for benchmark:
0: NVIDIA A100-SXM4-80GB
1: NVIDIA A100-SXM4-80GB
Nvidia GPU driver version: 570.1
Cuda-version: 12.4
PyTorch-version: 2.5.1
Model: resnet50
Global train batch size: 512
Local train batch size: 256
Precision: Automatic mixed precision
Compile-Mode: True
Benchmark start : 2025/03/14 18:14:27

Epoch 1

Epoch [1 / 1], Step [10 / 60], Loss: 7.03,  Images per second: 771.2
Epoch [1 / 1], Step [20 / 60], Loss: 7.00,  Images per second: 4800.0
Epoch [1 / 1], Step [30 / 60], Loss: 6.98,  Images per second: 4810.0
"""
MEAN = "\nTotal mean images per second in training: 4,806\nTotal mean images per second in evaluation: 0\n"


def test_setting_and_mean(read):
    found = read(LOG + MEAN)
    (row,) = found.rows
    assert found.format == "aime"
    assert (row.gpu_id, row.gpus, row.question.workload, row.question.mode) == (
        "a100-sxm4-80gb",
        2,
        "resnet50",
        "train",
    )
    assert (row.value, row.batch, row.precision, row.question.compile) == (4806.0, 256, "fp16", True)
    assert (row.stated.versions, row.date) == ("torch 2.5.1 CUDA 12.4", "2025-03-14")


def test_without_the_mean_the_steps_after_the_warm_up_count(read):
    (row,) = read(LOG).rows
    assert row.value == 4805.0


def test_bert_in_eager_fp32_is_true_fp32_but_compiled_is_not(read):
    bert = LOG.replace("resnet50", "bert-large-cased").replace("Images", "Sequences")
    bert = bert.replace("Automatic mixed precision", "float")
    eager, compiled = bert.replace("Compile-Mode: True", "Compile-Mode: False"), bert
    rows = [read(text).rows[0] for text in (eager, compiled)]
    assert [(row.question.workload, row.item, row.precision) for row in rows] == [
        ("bert-large", "sequence", "fp32"),
        ("bert-large", "sequence", "tf32?"),
    ]


def test_each_run_of_a_file_is_one_figure(read):
    second = LOG.replace("Automatic mixed precision", "half").replace("2 GPU(s)", "1 GPU(s)", 1)
    rows = read(LOG + MEAN + second.replace("1: NVIDIA A100-SXM4-80GB\n", "")).rows
    assert [(row.gpus, row.value) for row in rows] == [(2, 4806.0), (1, 4805.0)]


def test_mixed_gpus_and_runs_without_speed_are_skipped(read):
    mixed = LOG.replace("1: NVIDIA A100-SXM4-80GB", "1: NVIDIA H100 80GB HBM3")
    dead = LOG.split("Epoch [1 / 1], Step [20")[0]
    reasons = [why.detail for _, why in read(mixed + dead).skipped]
    assert reasons[0].startswith("different GPUs ran together")
    assert reasons[1] == "the run has no speed after its warm-up"


def test_run_from_the_future_is_skipped(read):
    found = read(LOG.replace("2025/03/14", "2031/01/01") + MEAN)
    assert not found.rows
    assert found.skipped[0][1].detail == "its date is in the future: 2031-01-01"
