"""Sentences: which figures are claims, of which field."""

from __future__ import annotations

import pytest

from gpuwise import audit
from gpuwise.audit.blocks import of_markdown
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
