"""Sentences: which figures are claims, of which field."""

from __future__ import annotations

import pytest

from gpuwise.judge import audit
from gpuwise.judge.audit.blocks import of_markdown
from gpuwise.model.claim import Claim


def claims(text: str) -> tuple[Claim, ...]:
    return audit.claims(of_markdown(text))


def pairs(text: str) -> list[tuple[str, str]]:
    return [(claim.field, claim.stated) for claim in claims(text)]


def test_the_words_tell_the_field() -> None:
    text = "The RTX A5000 carries 24 GB of GDDR6 memory, 8,192 CUDA cores and draws 230 W."
    assert {field for field, _ in pairs(text)} == {"memory_bytes", "memory_type", "cuda_cores", "power_w"}


def test_the_format_behind_a_peak_wins() -> None:
    assert pairs("A B200 does 4,500 TFLOPS FP8 and 9,000 TFLOPS FP4.") == [
        ("peak:fp8", "4,500 TFLOPS"),
        ("peak:fp4", "9,000 TFLOPS"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The RTX 3090 needs a 750 W power supply.",
        "Pair the RTX 3090 with a host that has 256 GB of system memory.",
        "The job took 14 GB of memory on the RTX 4090.",
        "In our tests the RTX 4090 showed a memory bandwidth of 920 GB/s.",
        "We limited the RTX 3090 to 250 W.",
        "Against the RTX 4090, the RTX 5090 brings a 125 W increase.",
        "MIG cuts the A100 80GB into slices with 10 GB of memory.",
        "Eight dies make the MI300X; each compute die has 38 compute units.",
        "An 8x H100 box holds 640 GB of memory.",
        "A DGX A100 offers 320 GB of memory.",
        "With two RTX 3090s there are 48 GB of VRAM in total.",
        "The H100's NVLink moves 450 GB/s per direction.",
    ],
)
def test_figures_that_are_no_product_s(text: str) -> None:
    assert pairs(text) == []


def test_sparsity_belongs_to_the_figure_beside_it() -> None:
    text = (
        "The RTX 3090 reaches 71 TFLOPS FP16 tensor without sparsity, 142 TFLOPS FP16 tensor with sparsity."
    )
    assert [claim.sparse for claim in claims(text)] == [False, True]


def test_a_sentence_without_end_is_no_sentence() -> None:
    assert pairs("The T4 has 16 GB of memory " + "and so on " * 200) == []


def verdicts(text: str) -> set[str]:
    return {finding.verdict for finding in audit.audit_text(text).findings}


@pytest.mark.parametrize(
    "text",
    [
        # Denied by the words before the figure, by the sentence itself, or by the one behind it.
        "The A100 does not have 100 GB of memory.",
        "The RTX 4090 doesn't support 48 GB of VRAM.",
        "It is a myth that the H100 PCIe has 3.35 TB/s of memory bandwidth.",
        "Someone claimed that the RTX 3090 has 12 GB of VRAM, which is false.",
        "The RTX A5000 has 32 GB of memory. That is wrong.",
        "We wrote that the A40 has 24 GB of memory.",
        "Does the L40S have HBM?",
        # Measured, set, or of another thing.
        "The A100 80GB SXM trains 130 sequences/s at 370 W.",
        "Peak memory was 61 GB on the H100.",
        "Under load the RTX 3090 reached 355 W.",
        "With a 450 W BIOS the RTX 3090 gets hot.",
        "The RTX 5090 has a 600 W 12V-2x6 plug.",
        "The L40S has a 16-pin connector rated at 600 W.",
        "The GH200 can spill to the CPU's memory at 500 GB/s of bandwidth.",
        "A pair of H100 NVL has 188 GB of memory; the H100 NVL comes in pairs with 188 GB of memory.",
        "The full GH100 die of the H100 SXM has 144 SMs.",
        "## RTX 5080\n- ResNet-50 training: 301 W\n- Power limit slider: 250 W to 400 W",
        # Whose it is stays open.
        "The RTX 5080 is the small sister of the RTX 5090. Its board power is 360 W, 40 W above the old one.",
        "The RTX 4080 and the RTX 4090 are similar. It draws 320 W.",
        "The MI300X and H100 SXM compete. In FP16 AMD quotes 1,307 TFLOPS against 989 TFLOPS.",
        "The H100 SXM is fast. AMD's card is rated at 750 W, NVIDIA's at 700 W.",
        "The L40S needs more power than the RTX 6000 Ada (350 W against 300 W).",
        "The A100 PCIe with 80 GB draws 300 W; the SXM4 module draws 400 W.",
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
        "I bought a used RTX A4000 (16 GB, 448 GB/s, 180 W).",
        "At 450 W of board power the RTX 3090 is hungry: the RTX 3090 draws 450 W.",
    ],
)
def test_a_plain_error_is_still_found(text: str) -> None:
    assert "contradicts" in verdicts(text)


def test_a_name_in_parentheses_owns_the_figure_before_it() -> None:
    found = claims("Bandwidth is 448 GB/s (A4000), 768 GB/s (A5000) and 768 GB/s (A6000).")
    assert [(c.gpu_ids, c.stated) for c in found] == [
        (("rtx-a4000",), "448 GB/s"),
        (("rtx-a5000",), "768 GB/s"),
        (("rtx-a6000",), "768 GB/s"),
    ]


def test_a_parenthesis_behind_a_name_belongs_to_it() -> None:
    found = claims("The L4 replaces the T4 (16 GB, 70 W) in servers.")
    assert [(c.gpu_ids, c.stated) for c in found] == [(("t4",), "70 W")]


def test_a_dense_peak_beside_its_sparse_double() -> None:
    text = "The A100 delivers 312 TFLOPS in FP16, 624 TFLOPS with sparsity and 1,248 TOPS INT8 sparse."
    assert [c.sparse for c in claims(text)] == [None, True, True]
    assert verdicts(text) == {"agrees"}


def test_sparsity_behind_a_row_of_peaks_covers_all() -> None:
    assert verdicts("The H100 SXM does 1,979 TFLOPS FP16 and 3,958 TFLOPS FP8 with sparsity.") == {"agrees"}


def test_the_link_behind_a_rate_names_it() -> None:
    text = "The H100 SXM has high memory bandwidth and 900 GB/s NVLink."
    assert [(c.field, c.stated) for c in claims(text)] == [("link_bytes_per_s", "900 GB/s")]


def test_a_count_right_behind_a_name() -> None:
    text = "The A4000 has 6,144 CUDA cores, the A5000 8,912 and the A6000 10,752 CUDA cores."
    found = [(f.gpu, f.stated, f.kind) for f in audit.audit_text(text).findings if f.kind]
    assert found == [("NVIDIA RTX A5000", "8,912", "digit swap")]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("La RTX 4090 dispose de 24 Go de m\u00e9moire et d'une bande passante de 1 008 Go/s.", []),
        ("La RTX 4090 dispose de 32 Go de m\u00e9moire.", ["32 Go"]),
        ("Die RTX 4090 bietet 1.008 GB/s Bandbreite und 16.384 CUDA-Kerne.", []),
        ("Die RTX 4090 bietet 1.800 GB/s Bandbreite.", ["1.800 GB/s"]),
        ("The H100 SXM has 16'896 CUDA cores, not 18'432.", []),
    ],
)
def test_other_languages_write_numbers_their_way(text: str, wrong: list[str]) -> None:
    assert [f.stated for f in audit.audit_text(text).findings if f.verdict == "contradicts"] == wrong


@pytest.mark.parametrize("name", ["RTX A5500", "RTX A5500 (24 GB)", "**RTX A5500 (24 GB)**"])
def test_a_rate_beside_a_memory_size_is_its_bandwidth(name: str) -> None:
    found = claims(f"{name}: 24 GB GDDR6, 678 GB/s, 230 W")
    assert [(c.field, c.stated) for c in found][-2:] == [
        ("memory_bytes_per_s", "678 GB/s"),
        ("power_w", "230 W"),
    ]
    assert claims(f"{name} with 24 GB reads files at 678 GB/s from storage.") == ()
