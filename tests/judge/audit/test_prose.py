"""Sentences: which figures are claims, whose they are, and which accuse nobody."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpuwise.judge import audit

Read = Callable[..., list[tuple[str, str, str]]]


def verdicts(text: str) -> set[str]:
    return {finding.verdict for finding in audit.audit_text(text).findings}


def test_the_words_give_the_field(claimed: Read) -> None:
    found = claimed("The RTX A5000 carries 24 GB of GDDR6 memory, 8,192 CUDA cores and draws 230 W.")
    assert {field for _, field, _ in found} == {"memory_bytes", "memory_type", "cuda_cores", "power_w"}


def test_memory_without_the_word_memory(claimed: Read) -> None:
    assert claimed("The A6000 has 32 GB.") == [("A6000", "memory_bytes", "32 GB")]
    assert claimed("The A6000 needs 32 GB of disk.") == []


def test_the_format_behind_a_peak_wins(claimed: Read) -> None:
    assert claimed("A B200 does 4,500 TFLOPS FP8 and 9,000 TFLOPS FP4.") == [
        ("B200", "peak:fp8", "4,500 TFLOPS"),
        ("B200", "peak:fp4", "9,000 TFLOPS"),
    ]


def test_two_gpus_in_a_sentence(claimed: Read) -> None:
    text = "With 300 GB/s the L4 is slower than the L40S, whose 48 GB of memory run at 864 GB/s of bandwidth."
    assert {gpu for gpu, field, _ in claimed(text) if field == "memory_bytes"} == {"L40S"}
    found = claimed("Bandwidth is 448 GB/s (A4000), 768 GB/s (A5000) and 768 GB/s (A6000).")
    assert [gpu for gpu, _, _ in found] == ["A4000", "A5000", "A6000"]
    assert claimed("The L4 replaces the T4 (16 GB, 70 W) in servers.")[-1][0].startswith("T4")


def test_an_architecture_speaks_for_its_gpus() -> None:
    text = "The H100 SXM is new. Hopper has 528 Tensor Cores, the A100 before it 432 Tensor Cores."
    assert "contradicts" not in verdicts(text)


@pytest.mark.parametrize(
    "text",
    [
        # Denied by the words before the figure, by the sentence itself, or by the one behind it.
        "The A100 does not have 100 GB of memory.",
        "It is a myth that the H100 PCIe has 3.35 TB/s of memory bandwidth.",
        "Someone claimed that the RTX 3090 has 12 GB of VRAM, which is false.",
        "The RTX A5000 has 32 GB of memory. That is wrong.",
        "Does the L40S have 64 GB of memory?",
        # Measured, set, or of another thing.
        "The job took 14 GB of memory on the RTX 4090.",
        "In our tests the RTX 4090 showed a memory bandwidth of 920 GB/s.",
        "Peak memory was 61 GB on the H100.",
        "We limited the RTX 3090 to 250 W.",
        "With a 450 W BIOS the RTX 3090 gets hot.",
        "The RTX 3090 needs a 750 W power supply.",
        "Pair the RTX 3090 with a host that has 256 GB of system memory.",
        "Against the RTX 4090, the RTX 5090 brings a 125 W increase.",
        "MIG cuts the A100 80GB into slices with 10 GB of memory.",
        "The full GH100 die of the H100 SXM has 144 SMs.",
        "The H100's NVLink moves 450 GB/s per direction.",
        # Of several together.
        "An 8x H100 box holds 640 GB of memory.",
        "A DGX A100 offers 320 GB of memory.",
        "With two RTX 3090s there are 48 GB of VRAM in total.",
        # Whose it is stays open.
        "The RTX 5080 is the small sister of the RTX 5090. Its board power is 360 W, 40 W above the old one.",
        "The MI300X and H100 SXM compete. In FP16 AMD quotes 1,307 TFLOPS against 989 TFLOPS.",
        "The L40S needs more power than the RTX 6000 Ada (350 W against 300 W).",
        "The A100 PCIe with 80 GB draws 300 W; the SXM4 module draws 400 W.",
        "The H100 SXM does 1,979 TFLOPS FP16 and 3,958 TFLOPS FP8 with sparsity.",
    ],
)
def test_a_true_sentence_is_not_accused(text: str) -> None:
    assert "contradicts" not in verdicts(text)


@pytest.mark.parametrize(
    "text",
    [
        "Not only is the RTX 4090 fast, it has 32 GB of memory.",
        "It is true that the RTX 4090 has 48 GB of memory.",
        "The RTX 3090 has 12 GB of memory. This is enough for most.",
        "## T4\n\nIt comes with 24 GB of memory.",
        "La RTX 4090 dispose de 32 Go de m\u00e9moire.",
    ],
)
def test_a_plain_error_is_found(text: str) -> None:
    assert "contradicts" in verdicts(text)


def test_other_languages_write_numbers_their_way() -> None:
    for text in (
        "La RTX 4090 dispose de 24 Go de m\u00e9moire et d'une bande passante de 1 008 Go/s.",
        "Die RTX 4090 bietet 1.008 GB/s Bandbreite und 16.384 CUDA-Kerne.",
        "The H100 SXM has 16'896 CUDA cores.",
    ):
        assert verdicts(text) == {"agrees"}
