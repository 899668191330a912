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
        ("The A100 has no FP8 tensor cores.", "matrix_fp8", "agrees"),
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
        ("The B200 has 2.4 times the memory of the H100 SXM.", "memory_bytes", "agrees"),
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
        ("The RTX 4090 cost $1,199 when it came out.", "launch_price_usd", "contradicts"),
        ("The RTX 4090 was introduced at $1,599.", "launch_price_usd", "agrees"),
        ("| GPU | Arch |\n|---|---|\n| L4 | sm_86 |", "compute_capability", "contradicts"),
        ("| SM | GPU |\n|---|---|\n| sm_90 | H100 |", "compute_capability", "agrees"),
        ("The L4 runs kernels of sm_80.", "compute_capability", "cannot tell"),
        (
            "The file of the model is 40 GB. One RTX 4090 gives one user 300 tokens/s.",
            "throughput",
            "contradicts",
        ),
        ("The RTX 4090 has 96 MB of L2 cache.", "l2_bytes", "contradicts"),
        ("The H100 SXM packs 54 billion transistors.", "transistors", "contradicts"),
        ("The A100's GA100 die counts 54.2 billion transistors.", "transistors", "agrees"),
        ("The RTX 3090 uses PCIe 5.0 x16.", "pcie_generation", "contradicts"),
        ("You can rent a T4 for $25 per hour.", "rent per hour", "contradicts"),
        ("In 2023 you could rent a T4 for $9 per hour.", "rent per hour", "cannot tell"),
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
        # More is wrong than right: it may be the reading that fails.
        ("# L40S\nFP16 362 TFLOPS\nFP3291.6 TFLOPS\nMemory64 GB\nTDP450 W\nBandwidth999 GB/s\n"
         "Memory bus512 bit\nFP6450 TFLOPS\n\nThe T4 has 16 GB.", 0),
        # Where the text is of no other GPU it cannot be another one's.
        ("# L40S\nFP16 362 TFLOPS\nFP3291.6 TFLOPS\nMemory64 GB\nTDP450 W\nBandwidth999 GB/s\n"
         "Memory bus512 bit\nFP6450 TFLOPS", 4),
        # All of it is of the RTX 4090: the heading was misread.
        ("# L40S\nFP3291.6 TFLOPS\nMemory24 GB\nTDP450 W\nBandwidth1008 GB/s\nMemory bus384 bit"
         "\nCUDA cores16384", 0),
    ],
)  # fmt: skip
def test_a_place_where_most_is_wrong(text: str, count: int) -> None:
    assert len(accused(text)) == count


ABLE = """R The L4 runs FP8 natively, so does the H100.
W The T4 runs FP8 natively.
R Native FP8 arrived with the H100.
W Native FP8 arrived with the A100.
R TF32 is missing on the V100.
W TF32 is missing on the A100.
R On the V100 there is no TF32.
W On the A30 there is no MIG.
R The P100 has neither TF32 nor bfloat16.
W The H100 has neither FP8 nor FP4.
R NVLink: on the RTX 3090 yes, on the RTX 4090 no.
R The RTX 3090 was the last GeForce with NVLink.
R The A100 can be split with MIG into seven slices.
W The T4 can be split with MIG.
R You cannot use FP8 on an A100.
W You cannot use BF16 on an A100.
R Unlike the H100, the A100 does not do FP8.
W Two RTX 4090 can be bridged with NVLink.
R Two RTX 3090 can be bridged with NVLink.
R No TF32 on a Titan RTX.
R The Titan RTX knows no TF32.
R With the RTX 5090 came FP4.
W The RTX 4090 has FP4 tensor cores.
R The RTX 5090 has FP4 tensor cores.
R MIG works on the A30, but not on the A40.
W MIG works on the A40.
R The A40 cannot do MIG.
R The V100 predates bfloat16.
W Bfloat16 works natively on the V100.
R Neither BF16 nor TF32 exist on the T4.
R The L40S has FP8 tensor cores but no NVLink.
W The L40S has FP8 tensor cores and NVLink.
R The GTX 1080 Ti has no tensor cores at all.
W The GTX 1080 Ti already had tensor cores.
R ECC is available on the A10.
N The A100 is faster than the T4 in FP8 emulation.
N FP8 training on the H100 beats BF16 on the A100.
N Compared to the A100 with its TF32, the V100 must use FP16.
N If you need FP8, do not buy an A100.
N For FP8 the A100 is not the right card.
N With NVLink missing from the 4090, people use PCIe.
N The A100 runs FP8 checkpoints after they are converted to BF16.
N Is there NVLink on the 4090?
N Without FP8, the A100 falls behind the H100.
N The A100 would profit from FP8.
R Die V100 unterstützt kein BF16.
W Die T4 unterstützt BF16.
R La V100 no admite BF16.
R La T4 ne prend pas en charge le BF16.
N FP8 models do not run on the A100.
W The L4 cannot do FP8.
R Ampere cards such as the A100 introduced TF32.
W NVLink of the A100 runs at 900 GB/s.
R NVLink of the A100 runs at 600 GB/s.
W The A100 SXM4 80GB reaches 19.5 TFLOPS of FP64 vector arithmetic.
R The A100 SXM4 80GB reaches 9.7 TFLOPS of FP64 vector arithmetic.
R The A100 SXM4 80GB reaches 19.5 TFLOPS in FP64.
R The L4 needs 2 W more than the T4 and brings 50 % more memory than the T4.
W The L4 needs 2 W more than the T4 and brings 90 % more memory than the T4.
R Each DGX A100 has eight A100 80GB, so 640 GB per box.
W Each DGX A100 has eight A100 80GB, so 800 GB per box.
W Compared with that, the older A6000 has 48 GB as well, but only 9,216 CUDA cores.
R I tried the A5000. It is a 230 W board with 24 GB of memory.
W The T4 has 24 GB of its own, the L4 24 GB.
W Tesla T4 имеет 32 ГБ памяти.
R Tesla T4 имеет 16 ГБ памяти.
N Both are sold with or without NVLink, the H100 PCIe with or without NVLink.
R Neither the T4 nor the V100 supports bf16.
W Neither the A10 nor the A100 supports bf16.
R The T4, unlike the A100, has no bf16.
W The T4, unlike the A100, has native bf16.
R The A100, in contrast to the T4, has bf16 support.
W The L4 and the L40S lack FP8.
R - RTX 4090: no NVLink
W - RTX 3090: no NVLink
W On the RTX 4090, FP4 is supported in hardware.
W FP8-capable cards such as the A100 are everywhere.
R The T4 does not support bf16 in its tensor cores.
W With its FP8 tensor cores, the A100 is a good choice.
W The T4 does not support bf16. The A10 does not either.
W FP8: L4 yes, A10 yes
N For TF32, FP16 and FP32, both are capable, but the A100 is faster."""
BESIDE = """R The RTX 4090 has twice the memory of the RTX 3060 12GB.
W The RTX 4090 has half the memory of the RTX 3090.
R The RTX 5090 offers a third more memory than the RTX 4090.
W The RTX 5090 offers twice the memory of the RTX 4090.
R The RTX 5090 has 78 % more bandwidth than the RTX 4090.
R Bandwidth of the RTX 5090 is 78 % higher than that of the RTX 4090.
W Bandwidth of the RTX 5090 is 30 % higher than that of the RTX 4090.
R The RTX 5090 draws 125 W more than the RTX 4090.
W The RTX 5090 draws 225 W more than the RTX 4090.
R The RTX 3090 needs 100 W less than the RTX 4090.
W The RTX 3090 needs 50 W more than the RTX 4090.
R The RTX 4090 has 1.56 times as many CUDA cores as the RTX 3090.
W The RTX 4090 has 2.4 times as many CUDA cores as the RTX 3090.
R The H200 has the same power limit as the H100 SXM.
R The H200 has 76 % more memory than the H100 SXM.
W The H200 has 30 % more memory than the H100 SXM.
R The L40S has less bandwidth than the A100 80GB.
W The L40S has more bandwidth than the A100 80GB.
R The L4 brings 50 % more memory than the T4.
W The L4 brings double the memory of the T4.
W The L4 needs twice the power of the T4.
R The L4 needs about the same power as the T4.
R The A100 80GB has double the memory of the A100 40GB.
W The A100 80GB has three times the memory of the A100 40GB.
R The memory of the MI300X is 2.4 times that of the H100 SXM.
W The memory of the MI300X is 4 times that of the H100 SXM.
R Compared with the A100 80GB, the H200 has 2.4 times the bandwidth.
W Compared with the A100 80GB, the H200 has 4 times the bandwidth.
R The RTX 3090 has as much memory as the RTX 4090.
W The RTX 4080 has as much memory as the RTX 4090.
R The T4 needs less power than the A10.
W The T4 needs more power than the A10.
R At 450 W the RTX 4090 draws 130 W more than the RTX 4080.
R The RTX 4080 has a third less memory than the RTX 4090.
W The RTX 4080 has half as much memory as the RTX 4090.
R The H100 SXM has roughly 64 % more bandwidth than the A100 80GB SXM.
R The RTX 4060 has a narrower bus than the RTX 3060 12GB.
W The RTX 4060 has a wider bus than the RTX 3060 12GB.
R The RTX 3060 12GB has 50 percent more memory than the RTX 4060.
N The RTX 5090 is 30 % faster than the RTX 4090.
N The RTX 4090 trains 1.9 times as fast as the RTX 3090.
N With twice the batch, the A100 needs more memory than the V100.
N The H100 SXM has 3 times the FP8 throughput per dollar of the L40S.
R The A6000 has twice as much memory as the 3090.
W The A6000 has four times as much memory as the 3090.
R The RTX 4090 has 24 GB, 8 GB more than the RTX 4080.
W The RTX 4090 has 24 GB, 12 GB more than the RTX 4080.
W The RTX 5090 succeeds the RTX 4090. It has 60 % more memory than the RTX 4090.
R The H200 keeps the cores of the H100 but has 1.4 times the bandwidth of the H100 SXM.
W Against the A10 the L4 has a third of the bandwidth.
R An A100 80GB has five times the memory of a T4.
W The A6000 triples the memory of the RTX 3090.
W The L4's power is three times the T4's.
R The A6000 and the A40 differ: the former runs at 768 GB/s, the latter at 696 GB/s.
N The A10 is faster than the L4, which needs only 72 W.
N The A100 40 GB has half as much memory as the 80 GB version.
R The P100 with 12 GB moves 549 GB/s.
W The P100 with 12 GB moves 732 GB/s.
R The T4, L4 and A10 have 16, 24 and 24 GB respectively.
W The T4, L4 and A10 have 16, 32 and 24 GB respectively.
W The L40 and the L40S both have 64 GB of memory.
W We also tried two RTX A4500s: 4,800 CUDA cores and 320 GB/s.
W Get a used 3090: 20GB of vram, 936 GB/s.
N A used 3090 and 64 GB will do.
N My PC: RTX 4090, 64 GB DDR5, 2 TB NVMe, 1000 W PSU"""
SUMS = """W Our node has 8 x H100 SXM with 1,280 GB of memory in total.
R Our node has 8 x H100 SXM with 640 GB of memory in total.
R A node holds 8 x H100, 640 GB.
R Sixteen V100 32GB hold 512 GB of HBM2.
W Sixteen V100 32GB hold 640 GB of HBM2.
R Ten nodes with two T4 each hold 320 GB.
W Ten nodes with two T4 each hold 480 GB.
R Three servers of four L40S make 576 GB of VRAM.
W Three servers of four L40S make 768 GB of VRAM.
R Four nodes with 8x A100 80GB each: 2,560 GB of GPU memory.
R We have two RTX 3090 cards, 48 GB altogether.
W We have two RTX 3090 cards, 64 GB altogether.
R 4x A100 40GB (160 GB)
W 4x A100 40GB (240 GB)
N 4x A100 40GB (512 GB RAM)
N The server has 8x A100 and 1 TB of RAM.
N A node of the partition holds 320 GB.
N Each node has four A100 80GB. A node of the partition holds 320 GB.
N Each node has four A100 80GB. The host has 512 GB.
N The V100 in our lab runs at a 150 W limit.
N The 3090 is limited to 280 W here, and it is stable.
N We power-limit the RTX 3090 to 250 W.
N The A100 nodes run with a power cap of 300 W per GPU.
N The RTX 4090 (power limit set to 320 W) still reaches 95 % of its speed.
R The B200 reaches 9,000 dense and up to 18,000 sparse TFLOPS in FP4.
W The B200 reaches 12,000 dense and up to 18,000 sparse TFLOPS in FP4.
R FP8 on the H100 SXM: 1,979 TFLOPS dense and 3,958 TFLOPS sparse.
W The H100 SXM reaches 1,400 dense and 3,958 sparse TFLOPS in FP8.
W Every H100 with SXM socket has 120 GB.
R Every H100 with SXM socket has 80 GB.
W The H200, in either form, has 120 GB.
R The A100 comes with 40 or 80 GB.
W The H200 needs 450 W.
W Both forms of the A100 have 64 GB.
W The A100 has a peak of 15.6 TFLOPS in FP64 vector arithmetic.
W A DGX H100 has 8 GPUs with 512 GB in total.
R Eight A100 80GB make 640 GB.
W Eight A100 80GB make 512 GB.
R Two RTX 6000 Ada give you 96 GB.
W The MI300X node (8x MI300X) has 1,024 GB of HBM.
N The workstation with two RTX 3090 has 256 GB of memory.
N The machine has two L4 and 384 GB of memory.
W 2x RTX 4090 - 32 GB VRAM total
R 2x RTX 4090 - 48 GB VRAM total
N Eight H100 draw 10 kW in one box.
R A pair of RTX 3090 holds 48 GB.
N Two RTX 3090 need 700 W of power.
N Four A100 80GB with 2 TB of memory and 128 cores.
N With 4 H100, the box has 2 TB of DDR5.
N The DGX H100 has 8 GPUs and 2 TB of system memory.
R Each of the 4x A100 80GB has 80 GB.
R We run 8x V100 16GB; each has 16 GB of HBM2.
W 8 x 80 GB H100 = 760 GB
R A DGX A100 with eight 80 GB A100s has 640 GB of GPU memory.
W Our own server has four RTX A6000 cards with 48 GB each, 256 GB in all.
W Our own server has four RTX A6000 cards with 40 GB each, 192 GB in all.
W Eight H100 SXM at 700 W each add up to 6.4 kW.
W The box pools 8 x 141 GB = 1,228 GB across its H200s.
W Total VRAM of 4x L40S: 256 GB
W An 8-GPU H100 node has 800 GB of GPU memory.
N Our pool is 6x L4 (144 GB together) and runs at a 60 W limit per card."""
OTHERS = """R La H800 est un H100 bridé, limité à 400 Go/s de NVLink (contre 900 Go/s pour la H100).
N Le RTX 4090 D est un RTX 4090 bridé, limité à 14 592 cœurs CUDA (contre 16 384 pour le RTX 4090).
N L'A800 est un dérivé bridé de l'A100, limité à 400 Go/s (contre 600 Go/s pour l'A100).
N La H20 est une version bridée de la H100, limitée à 148 TFLOPS en FP16 (contre 989 TFLOPS pour la H100).
N La RTX 4090 tiene 512 núcleos tensor y 128 núcleos de trazado de rayos.
R La RTX 4090 tiene 16.384 núcleos CUDA, 512 núcleos tensoriales y 128 núcleos de trazado de rayos.
W La RTX 4090 tiene 16.834 núcleos CUDA y 512 núcleos tensoriales.
R La RTX 3090 tiene 328 núcleos de tensor y 82 núcleos para trazado de rayos.
W La RTX 3090 tiene 382 núcleos tensoriales.
W Each node has 8x A100 40GB (40 GB HBM2, 1.55 TB/s, 500 W).
W Four A40 (48 GB, 669 GB/s, 300 W) do the rendering.
W The H200 is the bigger brother. Compared with the H100 SXM it has 2.6 times its memory.
W The A100 SXM 80GB is slower than the H100 SXM, which has 2.6 times its memory bandwidth.
W The RTX 4090 has 24 GB. The RTX 5090 has twice its memory.
W Two of them: the L40S has 48 GB, so two of them hold 128 GB.
W The RTX A6000 has 48 GB. Four of them have 256 GB.
W The RTX A5000 has 8,192 CUDA cores, and yes, it supports FP8.
R Le V100 existe en deux versions, mais il ne connaît pas le BF16.
N The RTX 3050 OEM has 2,304 CUDA cores and the RTX A2000 Embedded 35 W.
N The A40-12Q has 12 GB of memory.
W The RTX 3050 6 GB has its memory bus cut from 128 bits to 64 bits.
W The RTX 4070 was reduced from 24 GB to 16 GB of memory and has a 192-bit bus.
R The memory of the RTX 3050 6 GB was reduced from 8 GB to 6 GB.
N The RTX 4070 has 256 fewer CUDA cores.
N The A100 resembles cards of Volta and Pascal.
N The RTX 5080 will use 3 GB GDDR7 memory modules.
N The laptop market gets the RTX 4090 with a TGP of 150 W.
W The RTX 5090 has 32 GB on a 152-bit bus.
N RT cores of the RTX 4090: 3. Generation
W RTX 4070 bellek kapasitesi 16 GB, veri yolu 192 bit ve TDP değeri 200 W.
N In a laptop 4090 cores are fewer than in the desktop card.
N The laptop 4090 has 9,728 CUDA cores.
N A laptop 5090 CUDA build is what I use.
N Zwei RTX 3090 mit zusammen 48 GB reichen dafür aus.
N Vier RTX 4090 ziehen zusammen 1800 Watt.
N Mit zwei Karten kommt die RTX 3090 auf 48 GB Speicher.
N Im Rechner stecken vier RTX A6000 mit insgesamt 192 GB Speicher und 1200 Watt Verbrauch.
N Die beiden RTX 3090 haben 48 GB.
R The A100 SXM4 80GB has 19.5 TFLOPS of FP64 with its tensor cores.
R The H100 SXM delivers 67 TFLOPS of FP64 Tensor Core performance.
N FP64 on the H100 SXM: 34 TFLOPS, 67 TFLOPS with tensor cores.
N The A100 SXM does 9.7 TFLOPS FP64, or 19.5 TFLOPS through its tensor cores.
N The H800 has 0.8 TFLOPS of FP64 but keeps 51 TFLOPS of FP32.
N The A800 delivers 19.5 TFLOPS in FP32.
N The H20 reaches 44 TFLOPS in FP32 and 148 TFLOPS in FP16.
N The RTX 4090 D has 73.5 TFLOPS of FP32.
N Unlike the RTX 4090 with GDDR6X, the L40S relies on ECC memory.
N Compared with the HBM3 of the H100, GDDR6 on the L40S is slow.
N The RTX 5090 uses GDDR7, the RTX 4090 GDDR6X.
N The RTX 4090 with GDDR6X is older than the RTX 5090, which has GDDR7.
N The RTX 5090 replaces the 4090 and moves from GDDR6X to GDDR7 memory.
N Each GPU (A100) is paired with 256 GB of RAM.
N The instance gives 117 GB RAM per H100.
N Per RTX 4090 you get 41 GB RAM and 16 vCPU.
N The RTX 5090 runs its GDDR7 at 28 Gbps on a 512-bit bus.
N RTX 5080: 16 GB GDDR7, 30 Gbps, 256-bit.
N The RTX 3090's memory runs at 19.5 Gbps.
N Die RTX 5080 nutzt GDDR7 mit 30 Gbps.
N La Radeon RX 7800 XT embarque 16 Go de GDDR6 à 19,5 Gbps.
N La RTX 5090 tendría 32 GB de GDDR7 a 28 Gbps.
W La RTX 5090 tiene 24 GB de GDDR7.
W Die RTX 5080 bietet 24 GB Speicher.
W La RTX 5080 embarque 24 Go de mémoire GDDR7.
W A RTX 5080 possui 24 GB de memória GDDR7.
W La RTX 5080 dispone di 24 GB di memoria.
W Die RTX 4090 verbraucht 540 Watt.
W La RTX 4090 consomme 540 W.
W El consumo de la RTX 4090 es de 540 vatios.
R Il consumo della RTX 4090 è di 450 W.
W Il consumo della RTX 4090 è di 540 W.
N Die RTX 5080 braucht 40 Watt mehr als die RTX 4080.
N Die TGP der RTX 5080 liegt bei 360 Watt, 40 Watt mehr als bei der RTX 4080. Der neue GDDR7-Speicher hilft.
R Die RTX 5080 braucht 360 Watt und damit 40 Watt mehr als die RTX 4080.
R La RTX 5090 cuenta con 21.760 núcleos CUDA, frente a los 16.384 de la RTX 4090.
W La RTX 5090 ofrece 1.972 GB/s, mientras que la RTX 4090 se queda en 1.008 GB/s.
R Die A100 erreicht 2.039 GB/s, die H100 SXM 3.350 GB/s.
W Die A100 80GB SXM erreicht 2.039 GB/s, die H100 SXM 5.330 GB/s.
N La H100 resterait 6,69 fois plus rapide que la H20.
W La T4 prend en charge le BF16.
R La T4 ne prend pas en charge le BF16.
R A T4 não suporta BF16.
W A T4 suporta BF16.
W La T4 supporta il BF16.
R La T4 non supporta il BF16.
R La RTX 3090 a été lancée en 2020.
W La RTX 3090 est sortie en 2023.
R Die RTX 4090 wurde 2022 vorgestellt.
W The A10 has 24 GB; the A40 doubles that to 84 GB.
R The L4 has 24 GB, the A40 doubles that to 48 GB.
N A 70B model needs 140 GB, so two H100 are enough.
N Reducing a single 4GB payload is faster. The A100 does it in one step.
N We tested the A100. Reducing a single 4GB payload is much faster than 1000x 4MB payloads.
N The DGX H100 has 3.6 TB/s of bisection bandwidth.
N The MI300X has 4 MB L2/XCD and 8 XCDs.
N The GB10 has 128 GB of LPDDR5 memory.
N B300 cut FP64 hard: 10 TFLOPS against B200's 296 TFLOPS for eight GPUs.
W The RTX 4090 was released in 2020.
W RTX 4090 (2020, 24 GB, 450 W)
W The H100 can do FP4 natively.
W The A100 accelerates FP8.
W The V100 introduced TF32.
W The A100 comes with FP8 support.
W The T4 is equipped with NVLink.
W The RTX 4090 ships with NVLink.
W The RTX 3090 benefits from FP8 tensor cores.
R The RTX 3090 can be connected over NVLink.
W The L40S allows MIG partitioning.
W The A40 lets you use MIG.
R The H100 enables FP8 training.
N La H100 surpasse la génération précédente, de loin et partout, menée par la A100. Il a 700 W et HBM3.
W Die RTX 5080 ist neu. Die Karte hat 24 GB Speicher. Sie verbraucht 360 Watt.
W La RTX 5080 es nueva. La tarjeta tiene 16 GB. Consume 630 vatios.
W A RX 7900 XTX tem 24 GB. O TDP é de 553 W e requer uma fonte de 800 W.
W RTX 4090 16384 cores 24 GB 540 W
W VRAM 24 GB   Bandwidth 1080 GB/s   (RTX 4090)
W The RTX 4090's bandwidth is 30 % higher than that of the RTX 3090.
R The RTX 4090's bandwidth is 8 % higher than that of the RTX 3090.
W The RTX 5090 has 20 % more CUDA cores than the RTX 4090, and the RTX 5090 has 78 % more bandwidth.
W The H200 has 176 % of the bandwidth of the H100 SXM but 60 % of its memory.
W The L4 has only 25 % of the bandwidth of the L40S.
W Die RTX 5090 hat 50 % mehr Bandbreite als die RTX 4090.
R Die RTX 5090 hat 78 % mehr Bandbreite als die RTX 4090.
W Eight H100 SXM cards give 8 x 80 GB = 720 GB of memory.
W Four RTX 3090 with 24 GB each make 86 GB.
W With two RTX 4090s you have 64 GB of VRAM in total.
W Mit vier RTX 3090 stehen insgesamt 86 GB VRAM zur Verfügung.
R Mit vier RTX 3090 stehen insgesamt 96 GB VRAM zur Verfügung.
W Avec deux RTX 4090 on dispose de 64 Go de VRAM au total.
W On a single RTX 4090, a 20 GB model file runs at 90 tokens/s with llama.cpp.
W The RTX 4090 generates 120 tokens/s with a 14 GB FP16 model at batch size 1.
R The RTX 4090 has 24 GB of memory and generates 60 tokens/s with a 14 GB FP16 model at batch size 1.
W The A100 handles FP8 in hardware.
W The RTX 4090 brings NVLink back.
W FP8 arrived with the A100.
W The A100 was the first GPU with FP8.
W RTX 4090 uses a 256-bit memory interface.
W The RTX 4090 is based on the Ampere architecture.
W The RTX 4090 comes with 24 GB of HBM2e memory.
W The RTX 4090 has 82.6 TFLOPS of FP16 and 165 TFLOPS of FP32.
W The L40S delivers 91.6 TFLOPS of FP32 and 1466 TFLOPS of FP16.
W The RTX 3090 launched at $1,999.
W The L40S is manufactured on a 7 nm process.
W The A30 offers 24 GB of HBM2 with 933 GB/s at 265 W.
W An RTX 3060 with 12 GB has a 192-bit bus, 360 GB/s and 3,854 CUDA cores.
N Against the 24 GB of the RTX 4090, the RTX 5090 has 32 GB. It moves 1,792 GB/s. It draws 575 W.
N The H200 offers 4.8 TB/s against 3.35 TB/s on the H100. It has 141 GB of memory.
N The RTX 3080 has 10 GB. The 3090 came out in 2020 with 24 GB of memory.
N The RTX 4080 has 16 GB; the 4090 24 GB of memory and 450 W.
N The Jetson Xavier NX has 8 GB of LPDDR4x memory.
N The Jetson Xavier NX has 8 GB of LPDDR4x.
N RTX 4080 has 16 GB. 3090 came out in 2020, 24 GB and 350 W.
N GB10 has 128 GB of LPDDR5x.
N The Orin NX with its 16 GB LPDDR5 runs at 102 GB/s.
W The RTX 4090 generates 120 tokens/s with a 14 GB FP16 model at batch size 1.
N HBM3 delivers over 5 TB/s of aggregate bandwidth on MI300X, and with HBM3E, 8 TB/s on MI355X. It is new.
N The RTX 4090 is quick. Cards with GDDR7 like the RTX 5090 are quicker.
N The RTX 4080 costs less. The Blackwell RTX 5080 and its new GDDR7 memory help.
W The RTX 4090 has 24 GB of GDDR6 memory.
W RTX 4090: 24 GB GDDR7, 450 W
W The new nodes have 4x H100 SXM (80 GB HBM3, 5.33 TB/s, NVLink 900 GB/s).
R Four A40 (48 GB, 696 GB/s, 300 W) do the rendering.
W Okay, the 3090. The 3090 has 24 gigs, the bandwidth is 963 gigabytes per second.
W The RTX 5090, at 757 W, needs a strong power supply; the RTX 5080, at 360 W, does not.
W The P100 was launched in 2016 with 3,584 CUDA cores, the V100 in 2013 with 5,120.
W FP64 without tensor cores is 67 TFLOPS on the H100 SXM.
R FP64 without tensor cores is 34 TFLOPS on the H100 SXM.
W Nvidia's L4 is a tiny card: 27 W, 24 GB, 300 GB/s.
W The RTX A4000 is the single-slot option, has 16 GB and draws 410 W.
W The RTX 3060 with its 12 GB costs less than the RTX 4060 Ti, which has 61 GB in its large edition.
N The A100 has 6,912 CUDA cores. Hopper's 108 SMs are fast.
W The A100 delivers TF32 (165 TFLOPS), INT8 (624 TOPS).
W Each 4090 has 1,008 GB/s, the A6000 has 867 GB/s.
N MI300X has 192 GB; 192 GB at 5.3 TB/s is for the former MI300X, 256 GB at 6 TB/s for the MI325X.
N The K80 is dropped. The minimum is now compute capability 7.0.
R The MI100 from 2020 has 32 GB.
W The MI100 from 2015 has 32 GB.
R The L40S has 48 GB. It takes two for what fits in one A100. Its 864 GB/s are half of the A100's.
R The L40S came later. It has more cores than the A100. But it supports FP8.
W The A4000 is a single-slot card that fits anywhere: 16 GB, 448 GB/s, 200 W.
W La RTX 4090 reste la référence : 42 Go, 450 W.
W Die RTX 4090 wurde im Oktober 2020 vorgestellt.
R Die RTX 4090 wurde im Oktober 2022 vorgestellt.
W Die L4 wurde 2022 eingeführt.
W The MI300X was launched in 2022.
R The MI300X was launched in 2024.
R The A10 is fine. Nothing beats the A30 in this class: 24 GB, 933 GB/s.
W The A10 is fine. Nothing beats the A30 in this class: 24 GB, 600 GB/s.
W The RTX 3090, built on the Turing architecture, has 24 GB.
W The RTX 3090 has 24 GB, Turing architecture, 350 W.
W RTX 3090: 24 GB GDDR6X, 936 GB/s, Turing architecture
W The A40 arrived at the end of 2017.
R The A40 arrived at the end of 2020.
W Die RX 7900 XTX hat 5.144 Streamprozessoren.
W RTX 3080 10GB: 320-bit, GDDR6X, 936 GB/s.
W The RTX 3080 10GB has a 320-bit bus with GDDR6X and 936 GB/s.
W The RTX 5090 was launched in 2024.
W A month costs 730 h x $2.50 = $2,825.
R The L4 has 24 GB. A month costs 730 hours x $2.50 = $1,825.
W Eight GPUs: 8 x $2.49/h = $29.92/h.
R The T4 has 16 GB. 8 x $2.49/h = $19.92/h.
R RTX A4000. About half of an RTX A6000: 16 GB, 448 GB/s, 140 W.
R RTX A5000. Basically a 3080 with 24 GB and a blower. 8,192 cores, 768 GB/s, 230 W.
R The RX 7900 XTX is new. AMD's answer to the 4080, with 24 GB, 960 GB/s and 96 compute units.
W The P40 is cheap. A 384-bit bus does not change that. 3,480 cores, 205 W.
N A 14B model in Q4 (9 GB) with one user in llama.cpp: 3090 63 tokens/s, P40 22 tokens/s.
R Die A6000 ist schön. Im Grunde die gleiche Karte wie die A40, nur mit Lüfter: 48 GB, 768 GB/s.
W Gegen eine H100 PCIe kommt das nicht an: 50 GB, 2.000 GB/s.
W The H100 in its PCIe form has 80 GB of HBM2e. The H100 reaches 1,100 TFLOPS of dense FP16 without sparsity.
W In its SXM form the A100 reaches 425 TFLOPS of dense BF16.
W We sustained 1,200 TFLOPS of BF16 per GPU in training on the H100 SXM.
W We sustained 350 TFLOPS per A100 in BF16 training.
R We sustained 650 TFLOPS of BF16 per GPU in training on the H100 SXM, which has 80 GB.
W The 70B model in Q4 is a 40 GB file. Split over two RTX 3090 it generates 95 tokens/s for one user.
W A 32 GB GGUF split across two RTX 4090 gives 88 tokens per second in llama.cpp.
N A 32 GB GGUF split across two RTX 4090 gives 28 tokens per second in llama.cpp.
R The RTX 3080 10GB has 10 GB. The RTX 3090 has 2.4 times its memory.
W The V100 came in 2017, the A100 in 2020, the H100 in 2019.
R The V100 came in 2017, the A100 in 2020, the H100 in 2022.
W Launch years: the T4 in 2018, the A10 in 2021 and the L4 in 2020.
R The T4 was launched in 2018, the A10 in 2021 and the L4 in 2023.
W The H100 SXM does 989 TFLOPS in FP16 and 2,879 TFLOPS in FP8.
R The H100 SXM does 989 TFLOPS in FP16 and 1,979 TFLOPS in FP8.
W The L40S reaches 362 TFLOPS with FP16 and 337 TFLOPS with FP8.
W The RTX 3090 is great. It is 12 nm and has 24 GB.
W 3090 is still king. Got Turing tech, 24 GB!
W The A40 is a 10,752-core Hopper GPU.
R The A40 is a 10,752-core Ampere GPU.
W The A40 is a 12,752-core Ampere GPU.
R The L40S has 48 GB, so two of them hold 96 GB.
W The Arc B580 is built on the Alchemist architecture.
R The Arc B580 is built on the Battlemage architecture.
W The MI300X has 228 compute units.
W La RTX 3090 embarque 12 496 cœurs CUDA.
W La A100 a été lancée en mai 2018.
R La A100 a été lancée en mai 2020.
W Die H100 SXM erreicht 88,9 TFLOPS FP32.
W Die A40 kam im Oktober 2017 auf den Markt.
R The GA100 of the A100 has 54.2 billion transistors, the AD102 of the RTX 4090 76.3 billion.
R The H20 keeps 96 GB; the A800 is an A100 with NVLink cut to 400 GB/s.
R The H200 has 1.76 times the memory of the H100 and 1.43 times its bandwidth.
R The B200 is new and has 180 GB. It doubles the rate of Hopper.
R Die RTX 5080 ist im Januar 2025 erschienen. Die Radeon wurde im März 2023 veröffentlicht.
W The RTX 4090 came out in 2022 for $2,190.
R The GTX 1080 Ti came out in 2017 for $699.
W Für Server gibt es die L40S: 48 GB, 544 GB/s, 350 W.
W The H100 SXM computes 623 TFLOPS in FP16 and 1,979 TFLOPS in FP8 without sparsity.
W The A16 comes later. The A30 takes 165 W, has 42 GB.
W Avec 16 Go de GDDR6X et 464 Go/s, la RTX 4080 Super est confortable.
W AMD hält mit der Radeon RX 7900 XTX dagegen: 24 GB GDDR6, 605 GB/s und 8.417 Shader.
W Le H100 SXM atteint 989 TFLOPS en FP16 sans sparsité, et 2 879 en FP8.
W La RX 7800 XT offre 16 Go et 3 480 processeurs de flux.
W Bei der RTX A6000 werden 53,0 TFLOPS bei einfacher Genauigkeit erreicht.
W L'A100 existe en deux versions. La version SXM de 80 Go offre 2 309 Go/s pour 400 W.
W Le L4 ne dispose pas de FP8.
W Die RTX A6000 hat 48 GB GDDR6X, die RTX 3090 nur die Hälfte.
W The RTX 5090 has a TDP of 788 W, a PSU of 1,000 W is a must.
W The RTX 4060 Ti 16GB limits the bandwidth to 395 GB/s.
W It is a 2019 design: the L40S. The L40S was announced in 2020.
W The 3090 reaches 142 dense BF16 TFLOPS.
W The A40 has 12 MB of L2 cache.
W The H100 SXM has 90 billion transistors.
R The MI300X matches the H200 in capacity (192 GB vs 141 GB).
R The H200 is behind the MI300X in capacity (192 GB vs 141 GB).
W The RTX 5090's 23 GB of GDDR7 are much; a pair of 3090 holds 48 GB.
W Each V100 has access to 61 GB of memory.
W What about the A10G? 600 GB/s. And the T4? 320 GB/s, and 24 GB.
W The L4 is small: it delivers a total memory bandwidth of 864 GB/s.
W There are the 160 GB A100 models.
W Der A10 hat 24 GB, aber nur 600 GB/s und auch 120 W.
W The H100 SXM has 80 GB of HBM3. Not bad. Buyers pay for the 160 GB of the H100 SXM.
W La arquitectura Hopper de la RTX 5090 es nueva.
W The NVIDIA H200 (codename: GH200) is the last GPU based on the Blackwell architecture.
R The RX 7900 XTX is based on the RDNA 3.0 architecture.
N The Tesla A100 can feature up to six of these chips to deliver 48 GB of VRAM.
N With the RTX A6000 we get 48 GB of GDDR6. It has GDDR memory instead of HBM2.
N It has 192 GB of HBM3, 2.4 times the NVIDIA H100's 80 GB.
N The laptop is equipped with one RTX A2000 with 4 GB of VRAM.
R The MI250X has 128 GB of HBM2.
N Nodes of four L40S have 10 GbE and 25 GbE ports.
N An H100 holds maximum warps/SM: 64.
N You need at least 84 GB of VRAM on an MI300X for LoRA and 144 GB for full tuning.
N srun --gpus=a100:1 --mem=60G ./train
N The P100 is old. Default memory per core is 30 GB.
N On the MI250 the link between its halves reaches a bandwidth of 50 GB/s.
N The driver of an A100 SXM4 80GB finds 79.25 GB or 15114 MB or 15,360 MiB of it free.
N GTX 1070 Ti的TDP为180W,比GTX 1070高30W。
N GTX 1070 Ti拥有2432个流处理器,比GTX 1070多512个流处理器,也就是4组SM单元。
N The RTX 3050 6GB is what remains of the RTX 3050, cut by 2 GB of memory.
N The RTX PRO 6000 Blackwell uses GDDR7 chips of 24 GB.
N GeForce RTX 5060 Ti отримає пам'ять GDDR7 з частотою 28 Гбіт за такт.
W 3080显卡的CUDA核心数量达到了10,752个。
W RTX 3080 Ti拥有10240个CUDA核心,相较于3080的9728个CUDA核心,提升很小。
R RTX 3080 Ti拥有10240个CUDA核心,相较于3080的8704个CUDA核心,提升很大。
W The RTX 3080 Ti has 12 GB of memory compared to the RTX 3080's 20 GB.
W RTX 5090의 메모리 대역폭은 RTX 4090 대비 55% 증가한 1,568GB/s에 달합니다.
W The M3 Ultra beats the M5 Max in memory bandwidth (800 vs 410 GB/s).
R The M3 Ultra beats the M5 Max in memory bandwidth (800 vs 614 GB/s).
W The H100 SXM computes INT8 at 1,979 TOPS with sparsity, FP8 - 2,797 TFLOPS without.
N The RX 9070 XT reaches 389 TOPS with INT8 and, with INT4 - 1557 TOPS.
N The RTX 2080 Ti leaves room for a new GTX Titan, which has 4,608 CUDA cores and a 384-bit bus with 12GB.
W Il bus della RTX 2080 Ti che la interconnette alla GPU ha una ampiezza pari a 563-bit, come la GTX 1080 Ti.
W You get 144 SMs on the RTX PRO 6000 Blackwell, of 192 of GB202.
W The RTX 5090 has 32 GB. With all this, 5090 runs at a TGP of 600 W.
W The RTX 2080 has 8 GB of video memory HBM2, compared to the GTX 1080.
N Fréquence (boost) de la RX 6650 XT : 2 410/2 635 MHz.
N The RTX 5060 has 8 GB, a 35W increase over its predecessor.
W La RTX 4090 dispose de NVLink.
R La RTX 3090 prend en charge NVLink.
W La V100 a une capacité de calcul de 7.5.
R La V100 a une capacité de calcul de 7.0.
W La RTX 2080 Ti tiene capacidad de cómputo 7.0.
W Le prix de lancement de la RTX 4070 était de 899 dollars.
W El precio de lanzamiento de la RTX 4070 fue de 999 dólares.
W RTX 4090拥有96MB二级缓存。
W RTX 4090的首发价为1299美元。
W Eine RTX 4090 schafft mit Llama 70B in Q4 bei einem Nutzer 300 Tokens pro Sekunde.
W Une RTX 4090 génère 200 tokens/s avec Llama 8B en FP16 pour un seul utilisateur.
W GeForce RTX 5090 memiliki memori GDDR7 32 GB dengan bandwidth memori 1.568 GB/s pada bus 512-bit.
W GeForce RTX 5060 Ti отримає 16 ГБ пам'яті GDDR7 та пропускну здатність 484 ГБ/сек.
W The CUDA cores of the RTX 4070 Super rise from the RTX 4070's 5,888 to 8,448.
R The CUDA cores of the RTX 4070 Super rise from the RTX 4070's 5,888 to 7,168.
W RTX 4070 Super的CUDA核心从RTX 4070的5888个增加到8448个。
W Its bandwidth grows from the RTX 4090's 936 GB/s to 1,792 GB/s on the RTX 5090.
N The Arc A770 has 3 times the bandwidth of the Arc A380 and 4 times its compute.
W The Arc A770 has 7 times the bandwidth of the Arc A380 and 4 times its shaders.
N The MI300X has 4.8x the memory (384GB vs 80GB) of the H100 SXM.
R The MI300X has 2.4x the memory (192GB vs 80GB) of the H100 SXM.
W At 450 W the RTX 4080 needs a PSU of 850 W.
R At 320 W the RTX 4080 needs a PSU of 750 W.
N RTX 5090的功耗为575W,比RTX 4090高出125W。
W La RX 9070 XT cuenta con 56 unidades de cómputo y 4.096 procesadores de flujo.
R The MI325X has 256 GB, 1.3 times that of its predecessor, the MI300X. The HBM3E memory moves 6 TB/s.
W The MI325X has 256 GB of HBM3E, 1.3 times that of its predecessor, the MI300X. It takes 900 W.
W RTX 5060 Ti là bản nâng cấp trực tiếp từ RTX 4060 Ti. Nó có băng thông bộ nhớ 300 GB/s.
R RX 9060 XT는 RTX 5060 Ti보다 높은 성능을 보인다. 최대 25.6 TFLOPS FP32 연산을 처리한다.
N In tests it shows 32 GB, RTX 5060 Ti보다 낮다. 최대 25.6 TFLOPS FP32 연산을 처리한다.
W The RTX 5070 has 6,411 CUDA cores in total.
R The RTX 5070 has 6,144 CUDA cores in total.
N Der Boosttakt der RTX 4090 liegt im Schnitt 600 MHz über dem der RTX 3090.
N Die RTX 4070 Ti hat einen Stromanschluss, der über ein Kabel bis zu 600 Watt liefert.
N Karta RTX 4060 Ti 8 GB jest już w sprzedaży, a model z 16 GB pamięci wkrótce.
N The RX 7900 XTX is also compatible with PCIe 3.0.
N Whether the RTX 4080 comes with GDDR6 or GDDR6X is open.
N The GTX 1660 has 192 GB/s instead of 288 GB/s (GTX 1660 Ti).
N Its memory is GDDR5 at 192 GB/s instead of 288 GB/s (GTX 1660 Ti).
W Both have fewer CUDA cores, namely 1280 for the GTX 1660 and 1536 for the GTX 1660 Ti.
R Both have fewer CUDA cores, namely 1408 for the GTX 1660 and 1536 for the GTX 1660 Ti.
W Die RTX 4090 hat 18.432 FP32-Recheneinheiten.
W کارت گرافیک RTX 3060 Ti حاوی ۱۳.۲۵ میلیارد ترانزیستور است.
R کارت گرافیک RTX 3060 Ti حاوی ۱۷.۴ میلیارد ترانزیستور است.
W RTX 4060配备3072个CUDA核心、8GB GDDR6显存、128-bit位宽、带宽约272GB/s,典型功耗约144W。
N Con la Infinity Cache la RX 7800 XT raggiunge una banda passante effettiva di 2.708,4 GB/s.
N The RTX 4060 Laptop takes 35W to 115W (+15-25W Dynamic Boost).
W Il bus di memoria della RTX 3080 10GB è limitato a 224 bit.
N The RTX 5060 Ti takes 75 W from the PCIe slot.
N The H100 has 16,896 CUDA cores; half as many, 8,448, compute FP64.
W The H100 SXM has 16,896 CUDA cores, and the RTX 4090 has 14,336 CUDA cores.
N The GTX 1080 Ti reaches 10.6 TFLOPS in FP32.
W The GTX 1080 Ti reaches 8.1 TFLOPS in FP32.
N The RX 7800 XT came for 549 euros.
N A GB200 superchip holds 384 GB and moves 16 TB/s.
N The Tesla P40 reaches 23.5 TFLOPS in FP16.
R The H200 has 141 GB, which are 131 GiB.
N The RTX 5090 peaks at 640 W for milliseconds.
W The L40S with 48 GB of memory peaks at 337 TFLOPS in FP8.
N The RTX 3060 is nowhere near 1 TB/s of bandwidth.
N The RTX 4090 lacks the 80 GB of memory that a datacenter card offers.
N Neither the RTX 4090 nor the RTX 5090 comes with 48 GB.
N The cluster of 1,024 H100s has 80 TB of HBM3.
N The H200 costs $3.50 per GPU-hour, $28 per hour for the 8-GPU node.
N STREAM gives 780 GB/s on the RTX 3090.
R RTX 3090: FP16 with FP32 accumulate: 71 TFLOPS
N The ASUS TUF RTX 4070 Ti draws 300 W and boosts to 2.9 GHz.
W The ASUS TUF RTX 4070 Ti is large. It draws 300 W. It has 16 GB.
W The T4 and the L4 have 16 GB and 42 GB, respectively.
W The H100 SXM triples the A100's FP16 rate from 312 to 898 TFLOPS.
W With compute capability 8.6 and 24 GB, the RTX 4090 draws 450 W.
W The L40S belongs to the Hopper architecture, has 48 GB and draws 350 W.
W The RTX 4070 Ti has 7,680 cores, not the RTX 4070, whose 5,288 cores run at 2.48 GHz.
R Die RTX 4070 Ti hat 35,8 Milliarden Transistoren, verglichen mit den 45,9 Milliarden der RTX 4080.
N The RTX 4090 has 24 GB of GDDR6x.
W The RTX 4070 Ti is large. It draws 285 W and has 16 GB.
N It performs a lot like an RTX 3070 for $200 less.
W The RTX 5070 has 12 GB, less than the 24 GB of its big sibling, the RTX 4080. It draws 250 W.
N The RTX 3090 has 24 GB, 12 GB more than the RTX 3080 Ti.
N The Tesla K80 reaches 480 GB/s and 8.73 TFLOPS of FP32.
N The Tesla M60 offers 320 GB/s of memory bandwidth and 9.65 TFLOPS of FP32.
R The Tesla K80 has 240 GB/s of memory bandwidth.
W The Tesla K80 has 384 GB/s of memory bandwidth.
N The GeForce GTX 780 Ti delivers 5 TFLOPS of FP32.
W The GeForce GTX 780 Ti delivers 7 TFLOPS of FP32.
W The GeForce GTX 680 has 2048 CUDA cores and draws 250 W.
W The L4 and the T4 are small cards. The former has 24 GB, the latter 61 GB of memory.
R The A30 and the A40 are old. The former draws 165 W, the latter 300 W.
W The RTX 3070 and the RTX 3080 came together. The first has 5,888 CUDA cores, the second 8,074.
R The RTX 3070 and the RTX 3080 came together. The first has 5,888 CUDA cores, the second 8,704.
W Take the A4000 or the A6000. Their bandwidths are 448 GB/s and 786 GB/s respectively.
R Take the A4000 or the A6000. They draw 140 W and 300 W, respectively.
R We have the T4 and the L4. The newer card has 24 GB, the older one 16 GB.
N The A10 and the A30 differ. The second is that the former flagship V100 has 32 GB.
R The GTX 1650 SUPER has 1,280 cores. The plain 1650 has 896 cores.
N The A100 SXM is fast. The A100 also comes as a PCIe card, with a limit of 300 W and 1,935 GB/s.
W The RTX 4080 has 16 GB and 97728 CUDA cores.
W The RTX 4070 Ti has 12 GB and 76880 CUDA cores.
N The cluster of RTX 4080 has 16 GB and 311296 CUDA cores.
W The GTX 1080 has 8 GB of DDR5 memory, draws 180 W and has 2,560 cores.
R The GTX 1080 has 8 GB of DDR5X memory.
N A build with 16 GB of DDR5 and an RTX 4080 draws 320 W.
W The RTX 3080 is from 2018 and has 10 GB.
W The RTX 3090 is fine. He got 310 tok/s for the 8B FP16 Llama on his RX 7900 XTX at batch size 1.
R The RTX 4090 has the same chip as the RTX 6000 Ada, but with 24 GB.
N The workstation card has the same chip as in the RTX 4090, but with ECC.
W Bandwidth: 768 GB/s (3070), 448 GB/s (2080).
R Power: 3090 350 W, 3080 320 W, 3070 220 W.
N The A10 has 9,216 cores and 600 GB/s, which is more than the L4.
W L'A40 a 48 Go et 4 fois la bande passante de l'A10, 600 Go/s.
R The GTX Titan has 12 GB of memory, the GTX Titan Xp 3,840 CUDA cores."""  # noqa: RUF001

RELATIONS = """W L'A100 prend en charge nativement le FP8.
R Le H100 prend nativement en charge le FP8.
R A100 は FP8 をサポートしていません。
R RTX 4090にはNVLinkがありません。
W RTX 3090にはNVLinkがありません。
W T4 没有 ECC。
R Die T4 unterstützt BF16 nicht nativ.
W La V100 es compatible con BF16.
R La T4 no es compatible con BF16.
R NVLink on the H100 (900 GB/s) is 1.5 times that of the A100.
W NVLink on the H100 (900 GB/s) is three times that of the A100.
R The RTX 4090 has 12 times the L2 cache of the RTX 3090.
W The RTX 4090 has twice the L2 cache of the RTX 3090.
R The B200 has 2.6 times the transistors of the H100.
W The B200 has 4 times the transistors of the H100.
R The RTX 4090 has 2.3 times the FP32 TFLOPS of the RTX 3090.
W The RTX 4090 has 5 times the FP32 TFLOPS of the RTX 3090.
N The A100 has 5 times the FP16 TFLOPS of the V100.
W The A100 has 9 times the FP16 TFLOPS of the V100.
N The H100 has 9 times the FP16 throughput of the A100.
N The GH200 has three times the memory of the H100.
R The A40 draws a seventh less than the RTX 3090, the A40 draws less than the RTX 3090.
R The H200 has 141 GB, 76 % more than the H100 SXM.
W The H200 has 141 GB, 30 % more than the H100 SXM.
N The A10 has 3 times the bandwidth of the P4 and 8 times its frame rate.
R RX 7900 XTX 的带宽大约是 RX 7800 XT 的 1.5 倍。
W H100 的显存带宽是 A100 80GB 的 5 倍。
R L4 的显存是 A40 的一半。
W L4 的显存是 T4 的一半。
R RTX 5090 的显存带宽比 RTX 4090 高 78%。
W RTX 5090 的显存带宽比 RTX 4090 高 20%。
N RTX 4090 的性能是 RTX 3090 的 2 倍。
W H100のメモリ帯域幅はA100 80GBの5倍です。
R H200のメモリはA100 40GBの3.5倍です。
R Die A100 80GB bietet den doppelten Speicher der A100 40GB.
W Die A100 80GB bietet den dreifachen Speicher der A100 40GB.
R Die RTX 5090 bietet das 1,78-Fache der Bandbreite der RTX 4090.
W Die RTX 5090 bietet das 2,5-Fache der Bandbreite der RTX 4090.
R La bande passante du H200 est 1,4 fois celle du H100 SXM.
W La bande passante du H200 est 3 fois celle du H100 SXM.
W La RTX 5090 ha il triplo della banda di memoria della RTX 4090.
R 两张 RTX 3090 合计 48 GB 显存。
W 两张 RTX 4090 合计 64 GB 显存。
R 8 张 H100 SXM 共 640 GB 显存。
W 8 张 H100 SXM 共 512 GB 显存。
R Three RTX 4090 of 24 GB total 72 GB.
N The B200 doubles the H100's memory and more than doubles its bandwidth.
N A 4060 Ti 16GB is 3.5 times slower in bandwidth than a 4090.
W RTX 4090 的 CUDA 核心数是 RTX 3090 的 3 倍。
W Three RTX 4090 of 24 GB total 96 GB.
R NVLink on the A100 runs at 600 GB/s in total.
W NVLink on the A100 runs at 900 GB/s in total."""


@pytest.mark.parametrize(
    "line",
    [line for lines in (ABLE, BESIDE, SUMS, OTHERS, RELATIONS) for line in lines.splitlines()],
)
def test_sentences(line: str) -> None:
    """R is right and must be found so, W is wrong and must be accused, N says nothing to accuse."""
    kind, text = line.split(" ", 1)
    found = {f.verdict for f in audit.audit_text(text, today=TODAY).findings}
    assert ("contradicts" in found) == (kind == "W")
    assert kind != "R" or "agrees" in found


@pytest.mark.parametrize(
    "text",
    [
        "The A100 has no FP8 tensor cores.", "The RTX 4090 has no FP64 tensor cores.",
        "The L4 has FP8 in its tensor cores; the A10 does not.",
        "The L4 has FP8 tensor cores; the A10 does not.",
    ],
)  # fmt: skip
def test_tensor_cores_of_one_format_are_not_all(text: str) -> None:
    assert accused(text) == []


def test_a_right_rate_of_another_kind_is_no_contradiction_inside_the_text() -> None:
    text = "## RTX 5090\n\nHalf precision: 104.8 TFLOPS\n\nTensor cores: 470 TFLOPS (FP16)"
    assert accused(text) == ["peak:fp16 470 TFLOPS: wrong value"]


@pytest.mark.parametrize("title", ["Two used cards compared", "A practical guide to cards"])
def test_a_title_that_speaks_of_no_figure_doubts_none(title: str) -> None:
    text = f"# {title}\n\nThe RTX 3090 has 36 GB of memory and draws 530 W."
    assert len(accused(text)) == 2
    assert accused(text.replace(title, "Measured memory and power")) == []


def test_the_chip_in_a_list_is_no_whole_die() -> None:
    text = "## GeForce RTX 5070\n\nGPU: GB205\n\nCUDA Cores: 8417\n\nMemory Interface: 129-bit"
    assert len(accused(text)) == 2
    assert accused("The GB205 die is large. It has 8417 CUDA cores.\n\nThe RTX 5070 uses it.") == []


def test_a_point_for_thousands_is_read_once() -> None:
    text = "Die RTX 5090 erreicht 1.972 GB/s. Sie ist 2,5-mal so schnell und hat 32 GB."
    assert accused(text) == ["memory_bytes_per_s 1.972 GB/s: digit swap"]


def test_rents_below_money_per_gpu_and_hour() -> None:
    text = "GPU\t$/GPU-hr\nH100 SXM\t2.99\nA10\t0.75"
    assert [f.field for f in audit.audit_text(text, today=TODAY).findings] == ["rent per hour"] * 2


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        ("supports_bf16: true", "contradicts"), ("supports_bf16: false", "agrees"),
        ("nvlink: true", "contradicts"),
        # What is switched off is not missing.
        ("ecc: false", None), ("supports_ecc: false", "contradicts"),
        ("total_vram_gb: 64", "agrees"), ("total_vram_gb: 96", "contradicts"),
        # Without a word for GPUs it may be that of the machine.
        ("memory_total_gb: 96", "cannot tell"),
    ],
)  # fmt: skip
def test_entries_of_an_object(entry: str, verdict: str | None) -> None:
    for text in (
        f"- name: node-a\n  gpu: T4\n  gpu_count: 4\n  memory_gb: 16\n  tdp_w: 70\n  {entry}\n",
        f"- name: node-a\n  gpu_count: 4\n  gpu: T4\n  memory_gb: 16\n  tdp_w: 70\n  {entry}\n",
    ):
        found = [f.verdict for f in audit.audit_text(text, "a.yaml", today=TODAY).findings if f.lines == (6,)]
        assert found == ([verdict] if verdict else [])


def test_the_count_of_one_object_is_not_that_of_the_next() -> None:
    text = (
        "- name: a\n  gpu: T4\n  gpu_count: 4\n  total_vram_gb: 64\n- name: b2\n  gpu: L4\n  memory_gb: 24\n"
    )
    assert [f.verdict for f in audit.audit_text(text, "a.yaml", today=TODAY).findings] == ["agrees", "agrees"]


def test_a_total_right_below_the_memory_of_each_is_of_the_gpus() -> None:
    text = "gpu: T4\ngpu_count: 4\ngpu_memory_gb: 16\nmemory_total_gb: {}\n"
    found = [audit.audit_text(text.format(n), "a.yaml", today=TODAY).findings[-1].verdict for n in (64, 96)]
    assert found == ["agrees", "contradicts"]


MACHINES = "| Machine | Memory | per GPU-hour | per hour |\n|---|---|---|---|\n"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # What a machine costs is no price of one GPU, unless the text's own price says otherwise.
        (f"{MACHINES}| kx-h200-4 | 564 GB | $3.49 | $13.96 |\n| kx-b200-4 | 720 GB | $5.50 | $22.00 |\n", []),
        ("| GPU | $/hour |\n|---|---|\n| H100 | 2.90 |\n| A100 | 61.50 |\n", ["61.50"]),
        (
            "| Provider | GPU | $ per GPU-hour |\n|---|---|---|\n| Lambda | H100 SXM | 2.99 |\n\n"
            "- Eight H100 of Lambda are $29.32 an hour.\n",
            ["$29.32 an hour"],
        ),
        ("Lambda asks $2.99 an hour for an H100. In 2024 eight H100 of Lambda were $28 an hour.\n", []),
        ("An H100 is $2.99 per hour. A 24-hour burn-in of the H100 costs 95 dollars.\n", []),
        # Sums in a column, or in a list, of which the others are right.
        ("- 4 \u00d7 RTX 4090: 96 GB\n- 4 \u00d7 RTX 5090: 128 GB\n- 4 \u00d7 L40S: 129 GB\n", ["129 GB"]),
        ("- 2 \u00d7 RTX 3090: 24 GB each\n- 4 \u00d7 RTX 4090: 96 GB\n- 8 \u00d7 V100: 256 GB\n", []),
        (
            "| GPU | Memory of four (TB) | Power (kW) |\n|---|---|---|\n| A100 80GB SXM | 0.32 | 1.6 |\n"
            "| H200 SXM | 0.56 | 2.8 |\n| MI325X | 1.02 | 4.0 |\n| B200 | 0.72 | 4.6 |\n",
            ["4.6"],
        ),
        # One request reads all weights for each token, also where the model stands before.
        ("With a 13B model in Q8 (13.8 GB) the 7900 XTX writes 52 tokens/s, the 4070 Ti Super 41 and the "
         "4060 Ti 16 GB 97.\n", ["97"]),
        ("A 7B model in Q4 (4.1 GB) gives 130 tokens/s on the 4090, the 3090 100 and the 3060 64.\n", []),
        ("- Llama 70B in FP8 (70 GB) on an H200: 50 tokens/s for one user\n- same model on one MI300X: "
         "140 tokens/s for one user, no speculation\n", ["140 tokens/s"]),
        ("- Llama 70B in FP8 (70 GB) on an H200: 50 tokens/s for one user\n- same model on one H200 "
         "with 64 users: 1,800 tokens/s\n", []),
        ("Llama 70B in FP16 (140 GB) on the M2 Ultra makes 11 tokens/s.\n", ["11 tokens/s"]),
        ("An 8B model in FP16 (16 GB) on a 4090 makes 56 tokens/s, with 32 users 1,500 tokens/s.\n", []),
        # From one GPU to another; of what the text speaks of.
        ("From the RTX 3090 to the RTX 4090 the bandwidth grows 1.7 times.\n", ["1.7 times"]),
        ("From the RTX 3090 to the RTX 4090 the power rises by a factor of 1.29, the memory stays.\n", []),
        ("The RTX 5090 is new. Its memory moves 1.79 TB/s, 2.4 times the bandwidth of the 4090.\n",
         ["2.4 times the bandwidth"]),
        ("The L40S is Ada. Our model runs at 40 tokens/s, 3 times the rate of the L4.\n", []),
        ("The A100 delivers FP64 on tensor cores: 19.5 TFLOPS, 2.5 times the FP64 rate of the V100 (7.8 "
         "TFLOPS).\n", []),
    ],
)  # fmt: skip
def test_what_several_gpus_cost_hold_and_reach(text: str, wrong: list[str]) -> None:
    found = audit.audit_text(text, "x.md", today=TODAY).findings
    assert [f.stated for f in found if f.verdict == "contradicts"] == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            "The H200 has 141 GB. The Transformer Engine supports FP8; FP4 runs natively as well.",
            ["matrix_fp4"],
        ),
        ("The H200 has 141 GB. The Transformer Engine supports FP8; FP4 does not run natively.", []),
        ("The H100 and H200 have 80 and 141 GB. FP4 is supported natively.", ["matrix_fp4"]),
        ("The T4 and A100 have tensor cores. BF16 is supported.", []),
        ("The RTX 4080 draws 320 W. NVLink works on it if you find the bridge.", ["link"]),
        ("The A40 has 48 GB. NVLink connects two of them if you buy the bridge.", []),
        ("The V100 is set to BF16, which its tensor cores run natively.", ["matrix_bf16"]),
        ("The V100 runs FP16, which its tensor cores support; BF16 came with the A100.", []),
        ("On the A30 the FP8 tensor cores are used automatically.", ["matrix_fp8"]),
        ("On the A100 the FP8 tensor cores are not used, as there are none.", []),
        ("In machine 3 the two RTX 5090 are joined through NVLink.", ["link"]),
        ("The RTX 4090 is in box 2; box 3 has two A6000 with NVLink.", []),
        ("We split the L40S with MIG into 4 parts.", ["mig"]),
        ("We split the L40S with time slicing into 4 parts.", []),
        ("Eight Gaudi 2, linked by NVLink, stand in one server.", ["link"]),
        ("Gaudi 2 scales over Ethernet, not over NVLink.", []),
    ],
)
def test_abilities_in_further_words(text: str, wrong: list[str]) -> None:
    found = audit.audit_text(text, today=TODAY).findings
    assert [f.field for f in found if f.verdict == "contradicts"] == wrong


@pytest.mark.parametrize(
    ("text", "field", "verdict"),
    [
        ("The RTX 4080 has a die size of 379 mm².", "die_area_m2", "agrees"),
        ("The RTX 4080 has a die size of 609 mm^2.", "die_area_m2", "contradicts"),
        ("GeForce RTX 3080: площадь кристалла 754 мм², 272 текстурных блока.", "die_area_m2", "contradicts"),
        ("The RTX 3070 has 96 render output units.", "rops", "agrees"),
        ("The RTX 3070 has 64 ROPs.", "rops", "contradicts"),
        ("The RTX 4070 has 184 texture mapping units (TMUs).", "tmus", "agrees"),
        ("The RTX 4070 has 240 texture units.", "tmus", "contradicts"),
        ("La RTX 3060 a 112 unités de texture et de 48 unités de rendu.", "rops", "agrees"),
        ("The RTX 3090 has a texture rate of 556 GTexel/s.", "texels_per_s", "agrees"),
        ("The RTX 3090 has a texture rate of 356 GTexel/s.", "texels_per_s", "contradicts"),
        ("The RTX 3090 has a pixel fill rate of 189.8 GPixels/s.", "pixels_per_s", "agrees"),
        ("The RTX 4080 has 16 GB of GDDR6X memory at 22.4 Gbps.", "memory_transfers_per_s", "agrees"),
        ("The RTX 4080 has 16 GB of GDDR6X memory at 19 Gbps.", "memory_transfers_per_s", "contradicts"),
        # Either clock is called that of the core.
        ("The RTX 4090 has a core clock of 2520 MHz.", "boost_hz", "agrees"),
        ("The RTX 4090 has a core clock of 2235 MHz.", "base_hz", "agrees"),
        ("The RTX 4090 has a core clock of 1695 MHz.", "core_hz", "contradicts"),
        ("The RTX 4090 has 512 fourth-generation Tensor Cores.", "tensor_core_generation", "agrees"),
        ("The RTX 4090 has 512 fourth-generation Tensor Cores.", "tensor_cores", "agrees"),
        ("The RTX 2060 has second-generation RT cores.", "rt_core_generation", "contradicts"),
    ],
)  # fmt: skip
def test_what_a_chip_is_made_of(text: str, field: str, verdict: str) -> None:
    assert verdicts(text, field) == {verdict}


@pytest.mark.parametrize(
    "text",
    [
        "The RTX 4090 server has a 10 Gbps network port.",
        "The RTX 4090 has a memory clock of 1313 MHz.",
        "The RTX 4090 needs a monitor over HDMI at 48 Gbps.",
        "The RTX 4090 measures 304 x 137 mm.",
        "The laptop with an RTX 4090 Laptop GPU has a texture rate of 700 GTexel/s.",
    ],
)
def test_figures_like_those_of_a_chip_accuse_nobody(text: str) -> None:
    assert accused(text) == []
