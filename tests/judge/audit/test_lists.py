"""What lists and clauses state of several GPUs, and what they leave open."""

from __future__ import annotations

import pytest

from gpuwise.judge import audit


def accused(text: str) -> list[str]:
    found = audit.audit_text(text, "a.md").findings
    return [f"{f.gpu}: {f.stated}" for f in found if f.verdict == "contradicts"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # Values in the order of their GPUs share a unit, wherever the list stands.
        ("Memory bandwidth is 3.35, 4.8 and 8 TB/s for the H100 SXM, H200 and B200.", []),
        (
            "Bandwidth is 936, 1,080 and 1,792 GB/s for the RTX 3090, RTX 4090 and RTX 5090.",
            ["NVIDIA GeForce RTX 4090: 1,080"],
        ),
        ("M1 Pro, M1 Max and M1 Ultra: 200, 440 and 800 GB/s", ["Apple M1 Max: 440"]),
        ("TDP of the L4, L40S and A40: 72 W, 530 W, 300 W", ["NVIDIA L40S: 530 W"]),
        # Where the catalog has most of it only.
        ("Memory bandwidth is 335, 481 and 808 GB/s for the H100 SXM, H200 and B200.", []),
        # What is listed behind an architecture or a size has it.
        ("Turing Architecture (H100, H200)", ["H100: Turing", "H200: Turing"]),
        ("Ampere GPUs: A100, A40", []),
        ("Ada / Hopper (RTX 4090, H100)", []),
        ("- 12 GB: RTX 3090, RTX 4090", ["NVIDIA GeForce RTX 3090: 12 GB", "NVIDIA GeForce RTX 4090: 12 GB"]),
        ("- 48 GB: 2x RTX 3090, A40", []),
        # What is only compared with is not what the text goes on about, nor is a variant of a short name.
        ("The RTX 4090 is slower than an A100/H100. And GDDR6X gets hot.", []),
        ("The RX 7900 XT beats the RX 6950 XT, with 61.4 TFLOPS on the XTX card.", []),
        # A clause in front is of the GPU behind its comma.
        (
            "The T4 is old. While featuring 20 RT cores and 24 GB, the RTX 4060 Ti is not fast.",
            ["RTX 4060 Ti: 20"],
        ),
        # Several figures in the order of two names are no table that lost its cells.
        (
            "RTX 5090 vs RTX 4090: 32 GB vs 24 GB, 1,792 GB/s vs 1,080 GB/s, 575 W vs 450 W",
            ["NVIDIA GeForce RTX 4090: 1,080 GB/s"],
        ),
        ("RTX 3080 = 10 GB, RTX 3090 = 42 GB", ["NVIDIA GeForce RTX 3090: 42 GB"]),
        ("2x RTX 3090 = 48 GB", []),
        # Names are not summed, sizes are.
        ("Each of our nodes has four NVIDIA Turing A100 GPUs.", ["A100: Turing"]),
        ("Each of our nodes has four A100 GPUs with 320 GB.", []),
        # What stands in brackets with other words is no subject of what follows.
        ("The H200 is new (an H100 costs less). It has 114 GB of memory.", ["H200: 114 GB"]),
        # What a GPU can do in a cycle is no count of it; nor is a model's size its memory.
        ("With 132 SMs an H100 SXM does 1,024 a cycle. An A100 can do 512.", []),
        ("With 132 SMs an H100 SXM is large. An A100 has 512.", ["A100: 512"]),
        ("Someone ran Qwen, a 209 GB model, on an M3 Max.", []),
    ],
)
def test_lists_of_several_gpus(text: str, wrong: list[str]) -> None:
    assert accused(text) == wrong


@pytest.mark.parametrize("words", ["", " No board partner has confirmed that so far."])
def test_what_cannot_be_understood_accuses_nobody(words: str) -> None:
    """A rumour in a language that is not read looks like a statement."""
    strange = (
        "Monet toivoivat että RTX 4080 saisi 10240 CUDA ydintä ja kenties isomman muistin mutta lopulta "
        "siihen jätettiin vähemmän kuin moni odotti vaikka valmistaja olikin luvannut enemmän tehoa"
    )
    known = "Many will be glad that the RTX 4080 has 10240 CUDA cores and a lot of memory for what it costs"
    assert accused(f"{strange}.") == []
    assert accused(f"{known}.{words}") == ["NVIDIA GeForce RTX 4080: 10240"]
