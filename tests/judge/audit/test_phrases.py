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
N Both are sold with or without NVLink, the H100 PCIe with or without NVLink."""
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
W The RTX 4090 has 24 GB, 12 GB more than the RTX 4080."""
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
R We run 8x V100 16GB; each has 16 GB of HBM2."""


@pytest.mark.parametrize("line", [*ABLE.splitlines(), *BESIDE.splitlines(), *SUMS.splitlines()])
def test_sentences(line: str) -> None:
    """R is right and must be found so, W is wrong and must be accused, N says nothing to accuse."""
    kind, text = line.split(" ", 1)
    found = {f.verdict for f in audit.audit_text(text, today=TODAY).findings}
    assert ("contradicts" in found) == (kind == "W")
    assert kind != "R" or "agrees" in found
