"""Lambda's wide CSV: machine labels, precision from the file's name, failed runs."""

from __future__ import annotations

import pytest

from gpuwise.errors import InputError

CSV = """,ssd,bert_large_squad,resnet50
Cloud_1x_City_2xH100_80GB_SXM5_10_v2,1700.0,600.0,5500.0
RTX_A6000,300.0,0.0,780.0
A100_PCIe,400.0,118.0
"""
NAME = "pytorch-train-throughput-v2-fp16.csv"


def test_labels_give_gpu_and_count(read):
    found = read(CSV, NAME)
    assert found.format == "lambda"
    two = [row for row in found.rows if row.gpus == 2]
    assert {row.gpu_id for row in two} == {"h100-sxm5-80gb"}
    assert [(row.question.workload, row.item, row.value) for row in two] == [
        ("ssd", "image", 1700.0),
        ("bert-large", "sequence", 600.0),
        ("resnet50", "image", 5500.0),
    ]
    assert {row.precision for row in found.rows} == {"fp16"}


def test_zero_is_a_failed_run_and_a_short_line_is_named(read):
    reasons = [(line, why.detail) for line, why in read(CSV, NAME).skipped]
    assert reasons == [(3, "bert_large_squad: no figure (0)"), (4, "has 3 cells, the header 4")]


def test_fp32_is_doubtful_where_the_gpu_has_tf32(read):
    rows = read(CSV + "2080Ti,100.0,6.3,275.0\n", NAME.replace("fp16", "fp32")).rows
    assert {(row.gpu_id, row.precision) for row in rows} == {
        ("h100-sxm5-80gb", "tf32?"),
        ("rtx-a6000", "tf32?"),
        ("rtx-2080-ti", "fp32"),
    }


def test_eight_gpus_and_bert_carry_the_known_fault_of_the_script(read):
    rows = read(CSV + "8xH100_80GB_SXM5,6700.0,2340.0,22000.0\n", NAME).rows
    noted = [(row.gpus, row.question.workload) for row in rows if "counted more" in " ".join(row.notes)]
    assert noted == [(8, "bert-large")]


def test_the_file_of_batch_sizes_is_refused(read):
    with pytest.raises(InputError, match="batch sizes"):
        read(CSV, "pytorch-train-bs-fp16.csv")


def test_variant_left_open_is_unknown(read):
    row = read(",ssd,resnet50\nA100_PCIe,400.0,1100.0\n", NAME).rows[0]
    assert (row.gpu, row.gpu_id) == ("A100 PCIe", "A100 PCIe")
