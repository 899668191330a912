"""Publishers' words: networks, GPUs, counts, and the precision that really ran."""

from __future__ import annotations

import pytest

from gpuwise.facts.published import names


@pytest.mark.parametrize(
    ("said", "workload"),
    [
        ("ResNet-50 v1.5", "resnet50"),
        ("RN50", "resnet50"),
        ("Inception v3", "inception-v3"),
        ("bert_large_squad", "bert-large"),
        ("bert-large-cased", "bert-large"),
        ("transformerxlbase", "transformer-xl-base"),
        ("Some New_Net", "some-new-net"),
        ("!!", ""),
    ],
)
def test_workload_id(said, workload):
    assert names.workload_id(said) == workload


@pytest.mark.parametrize(
    ("stated", "gpu_id", "runs"),
    [
        ("fp32", "rtx-a5000", "tf32?"),
        ("FP32", "v100-sxm2-16gb", "fp32"),
        ("float", "mi100", "fp32"),
        ("fp32", None, "?"),
        ("TF32", "a100-sxm4-40gb", "tf32"),
        ("Automatic mixed precision", "h200-sxm", "fp16"),
        ("amp_bf16", "h200-sxm", "bf16"),
        ("tf32-fp16", "h200-sxm", "fp16"),
        ("float16", None, "fp16"),
        ("", "h200-sxm", "?"),
    ],
)
def test_as_run(stated, gpu_id, runs):
    assert names.as_run(stated, gpu_id) == runs


@pytest.mark.parametrize(
    ("label", "gpu_id", "count"),
    [
        ("Cloud_1x_City_2xH100_80GB_SXM5_10-2_v2", "h100-sxm5-80gb", 2),
        ("2x2080TiNVlink_trt", "rtx-2080-ti", 2),
        ("16xA4000", "rtx-a4000", 16),
        ("A100_PCIe", None, None),
        ("NVIDIA DGX A100 (8x A100 80GB)", None, 8),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb", None),
        ("4090 laptop", "rtx-4090-laptop", None),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None, None),
        ("box of mine", None, None),
        ("", None, None),
    ],
)
def test_gpu_in_a_label(label, gpu_id, count):
    _, found, gpus = names.gpu_in(label)
    assert (found, gpus) == (gpu_id, count)


def test_slice_is_not_its_gpu():
    assert names.gpu_id_of("NVIDIA A100-SXM4-40GB") == "a100-sxm4-40gb"
    assert names.gpu_id_of("NVIDIA A100-SXM4-40GB MIG 1g.5gb") is None
