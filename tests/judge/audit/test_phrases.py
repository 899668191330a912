"""Claims without a value beside a field: abilities, ratios, sums; and values whose field is not named."""

from __future__ import annotations

from datetime import date

import pytest

from gpuwise.judge import audit

TODAY = date(2026, 11, 23)


def verdicts(text: str, field: str) -> set[str]:
    return {f.verdict for f in audit.audit_text(text, today=TODAY).findings if f.field == field}


def accused(text: str) -> list[str]:
    found = audit.audit_text(text, today=TODAY).findings
    return [f"{f.field} {f.stated}: {f.kind}" for f in found if f.verdict == "contradicts"]


@pytest.mark.parametrize(
    ("text", "field", "verdict"),
    [
        ("The T4 supports FP8.", "matrix_fp8", "contradicts"),
        ("The L4 supports FP8.", "matrix_fp8", "agrees"),
        ("The T4 does not support BF16.", "matrix_bf16", "agrees"),
        ("The H100 lacks FP8 support.", "matrix_fp8", "contradicts"),
        ("The A100 supports TF32 and BF16.", "matrix_tf32", "agrees"),
        ("FP8 is not supported on the A100.", "matrix_fp8", "agrees"),
        ("RTX 4090 has NVLink.", "link", "contradicts"),
        ("Both RTX 4090 cards are joined over NVLink.", "link", "contradicts"),
        ("The RTX 3090 pairs are joined over NVLink.", "link", "agrees"),
        ("The T4 runs bfloat16 natively.", "matrix_bf16", "contradicts"),
        ("The A100 runs bfloat16 natively.", "matrix_bf16", "agrees"),
        ("The P100 has native FP16 tensor cores.", "matrix_units", "contradicts"),
        ("The GTX 1660 Ti has no tensor cores.", "matrix_units", "agrees"),
        ("The RX 7900 XTX has tensor cores.", "matrix_units", "cannot tell"),
        ("The L4 comes without FP8.", "matrix_fp8", "contradicts"),
        ("The L40S has no NVLink.", "link", "agrees"),
        ("The RTX 4090 supports MIG.", "mig", "contradicts"),
        # Any variant of the name may be meant, and software may do it.
        ("The T4 supports FP8 by emulation.", "matrix_fp8", "cannot tell"),
        ("Does the T4 support FP8? The T4 supports FP8?", "matrix_fp8", "cannot tell"),
        (
            "| | T4 | L4 |\n|---|---|---|\n| FP8 | Yes | Yes |\n| TDP | 70 W | 72 W |",
            "matrix_fp8",
            "contradicts",
        ),
        ("| GPU | FP8 support |\n|---|---|\n| L4 | Yes |\n| T4 | No |", "matrix_fp8", "agrees"),
        ("## RTX 3090\n- NVLink: Yes\n- MIG: No", "link", "agrees"),
    ],
)
def test_what_a_gpu_can_do(text: str, field: str, verdict: str) -> None:
    assert verdict in verdicts(text, field)


@pytest.mark.parametrize(
    "text",
    [
        "The T4 runs FP8 checkpoints after conversion.",
        "Unlike the H100, which has FP8, older cards do not.",
        "The A100 has FP8 weights in its benchmark of quantised models.",
        "NVLink Switch joins nodes; the RTX 4090 is not among them.",
    ],
)
def test_words_that_are_no_ability(text: str) -> None:
    assert accused(text) == []


@pytest.mark.parametrize(
    ("text", "field", "verdict"),
    [
        ("The H100 SXM has twice the memory of the A100 SXM 40GB.", "memory_bytes", "agrees"),
        ("The H100 SXM has 3 times the memory of the A100 SXM 40GB.", "memory_bytes", "contradicts"),
        ("The MI300X has 2.4 times the memory of the H100 SXM.", "memory_bytes", "agrees"),
        ("The H200 offers 1.4x the memory bandwidth of the H100 SXM.", "memory_bytes_per_s", "agrees"),
        ("The H200 has 2.5x more memory bandwidth than the H100 SXM.", "memory_bytes_per_s", "contradicts"),
        # 192 and 180 GB are printed of the B200.
        ("The B200 has 2.4 times the memory of the H100 SXM.", "memory_bytes", "cannot tell"),
        ("The RTX A6000 has 100 % more memory than the RTX 3090.", "memory_bytes", "agrees"),
        ("The RTX A6000 has 78 % more memory than the RTX 3090.", "memory_bytes", "contradicts"),
        ("The RTX 4090 has three times the memory of the RTX 3090.", "memory_bytes", "contradicts"),
        ("The RTX 4090 has less than half the memory of the A100 80GB.", "memory_bytes", "agrees"),
        ("The L40S has less than half the memory of the A100 80GB.", "memory_bytes", "contradicts"),
        ("The A100 80GB has more than twice the memory of the RTX 4090.", "memory_bytes", "agrees"),
        ("The RTX 4090 draws 100 W more than the RTX 3090.", "power_w", "agrees"),
        ("The RTX 4090 draws 200 W more than the RTX 3090.", "power_w", "contradicts"),
        ("The RTX 4090 has the same memory bandwidth as the RTX 3090.", "memory_bytes_per_s", "cannot tell"),
        ("The RTX 4090 has the same memory bandwidth as the T4.", "memory_bytes_per_s", "contradicts"),
        ("The RTX 4090 has the same amount of VRAM as the RTX 3090.", "memory_bytes", "agrees"),
        ("The L4 has more memory bandwidth than the RTX 3090.", "memory_bytes_per_s", "contradicts"),
        ("The H100 has more memory than the A100 40GB.", "memory_bytes", "agrees"),
        # Of a name with several variants one pair suffices.
        ("The H100 has twice the memory of the A100.", "memory_bytes", "agrees"),
    ],
)
def test_ratios(text: str, field: str, verdict: str) -> None:
    assert verdicts(text, field) == {verdict}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("8 x H100 SXM = 640 GB of memory.", "agrees"),
        ("8 x H100 SXM = 512 GB of memory.", "contradicts"),
        ("Eight A100 80GB cards give 640 GB of HBM in total.", "agrees"),
        ("4x RTX 4090 (128 GB total VRAM).", "contradicts"),
        ("8x H100 SXM = 512 GB total", "contradicts"),
        # Nothing says that it is the sum.
        ("4x RTX 4090 beside a host with 128 GB of memory.", "cannot tell"),
    ],
)
def test_sums_over_several_gpus(text: str, verdict: str) -> None:
    assert verdicts(text, "memory_bytes") <= {verdict}
    assert (accused(text) != []) == (verdict == "contradicts")


@pytest.mark.parametrize(
    ("text", "field", "verdict"),
    [
        ("The A6000 has 32 GB.", "memory_bytes", "contradicts"),
        ("With its 32 GB, the RTX 4090 fits many models.", "memory_bytes", "contradicts"),
        ("A 24GB RTX 4090 is enough.", "memory_bytes", "agrees"),
        ("The RTX 3090 (compute capability 8.9) is older.", "compute_capability", "contradicts"),
        ("NVIDIA released the T4 in 2015.", "launch", "contradicts"),
        ("The RTX 4090 launched at an MSRP of $1,199.", "launch_price_usd", "contradicts"),
        ("The RTX 4090 has 96 MB of L2 cache.", "l2_bytes", "contradicts"),
        ("The H100 SXM packs 54 billion transistors.", "transistors", "contradicts"),
        ("The A100's GA100 die counts 54.2 billion transistors.", "transistors", "agrees"),
        ("The RTX 3090 uses PCIe 5.0 x16.", "pcie_generation", "contradicts"),
        ("You can rent a T4 for $25 per hour.", "rent per hour", "contradicts"),
        ("In 2023 you could rent a T4 for $25 per hour.", "rent per hour", "cannot tell"),
        ("A T4 spot instance is $0.01 per hour.", "rent per hour", "cannot tell"),
    ],
)
def test_more_kinds_of_values(text: str, field: str, verdict: str) -> None:
    assert verdict in verdicts(text, field)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("An H100 runs ResNet-50 inference at 900,000 images/s.", True),
        ("An H100 runs ResNet-50 inference at 40,000 images/s.", False),
        ("A single RTX 4090 generates 900 tokens/s with Llama 70B in FP16 at batch size 1.", True),
        ("A single A100 SXM 80GB serves Llama 3 70B at 90,000 tokens/s.", True),
        ("A single A100 SXM 80GB serves Llama 3 70B at 2,000 tokens/s.", False),
        ("| Model | RTX 4090 | RTX 3090 |\n|---|---|---|\n| Llama 8B FP16 tok/s, batch 1 | 55 | 480 |", True),
        ("| GPU | ResNet-50 (img/s) |\n|---|---|\n| T4 | 99,000 |", True),
        # Experts: each token reads a part of the weights.
        ("A single RTX 4090 runs Mixtral 8x7B in FP16 at 90 tokens/s, single stream.", False),
    ],
)
def test_speeds_in_any_shape(text: str, wrong: bool) -> None:
    assert (accused(text) != []) == wrong


@pytest.mark.parametrize(
    "text",
    [
        # Reached, taken or computed, not built in.
        "On the A100 we achieved 150 TFLOPS in FP16.",
        "The process allocated 60 GB of memory on the H100.",
        "Peak FP16 of the A100 is 312 TFLOPS, and 156 TFLOPS is half of it.",
        "The kernel targets sm_100 on the B200.",
        "A DGX H100 connects eight H100 GPUs over 400 Gbps InfiniBand, 3.2 Tbps of network bandwidth.",
        "| GPU | vCPUs | RAM (GB) | GPU RAM (GB) |\n|---|---|---|---|\n| T4 | 8 | 32 | 16 |",
        "| GPU | BF16 peak TFLOPS | BF16 achieved TFLOPS |\n|---|---|---|\n| A100 | 312 | 265 |",
        "| GPU | CUDA cores |\n|---|---|\n| H100 PCIe | 14 592 |\n| H100 SXM | 16 896 |",
        "The TPU v5p has 95 GB of HBM; the H100 is another story.",
        "The RTX 4090 has no more memory than the RTX 3090.",
        "The RTX 3090 runs at a 150 W limit.",
        "The B200 gives 9,000 dense and up to 18,000 sparse FP4 TFLOPS.",
        "The A100 80GB sits in all of them. A node of the partition holds 320 GB. It has 80 GB.",
    ],
)  # fmt: skip
def test_figures_of_something_else_accuse_nobody(text: str) -> None:
    assert accused(text) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        # Points part thousands where commas part decimals.
        ("H100 SXM: FP8 bis 3.958 TFLOPS (sparse), FP64 33,5 TFLOPS, Bandbreite 3,35 TB/s.", 0),
        ("H100 SXM: FP8 at 3.958 TFLOPS (sparse), FP64 33.5 TFLOPS, bandwidth 3.35 TB/s.", 1),
    ],
)
def test_the_point_of_a_text_with_decimal_commas(text: str, count: int) -> None:
    assert len(accused(text)) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        # More is wrong than right, and no other product has these figures.
        ("# L40S\nFP16 362 TFLOPS\nFP3291.6 TFLOPS\nMemory64 GB\nTDP450 W\nBandwidth999 GB/s\n"
         "Memory bus512 bit\nFP6450 TFLOPS", 5),
        # All of it is of the RTX 4090: the heading was misread.
        ("# L40S\nFP3291.6 TFLOPS\nMemory24 GB\nTDP450 W\nBandwidth1008 GB/s\nMemory bus384 bit"
         "\nCUDA cores16384", 0),
    ],
)  # fmt: skip
def test_a_place_where_most_is_wrong(text: str, count: int) -> None:
    assert len(accused(text)) == count
