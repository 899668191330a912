"""Classes of sentences that pages of the web have often: what is false of none, and what is wrong."""

import pytest

from gpuwise.judge import audit


def kinds(text: str) -> list[tuple[str, str | None]]:
    found = audit.audit_text(text).findings
    return [(one.field, one.kind) for one in found if one.verdict == "contradicts"]


# Two columns of which only one has a name that is known.
SIDE_BY_SIDE = """# Arc B580 vs Arc X999

Shading units
2560
1024
Bus width
192 bit
96 bit
Memory
12 GB
6 GB
TDP
190 W
75 W
Boost clock
2670 MHz
1900 MHz
"""


@pytest.mark.parametrize(
    "text",
    [
        SIDE_BY_SIDE,
        # Laptops' cards in a text that speaks of desktops, too; clocks that their makers set.
        "The RTX 4090 laptop GPU has less than the desktop card. The RTX 4080 has 12 GB and 7,424 cores.",
        "The RTX 4060 Laptop GPU has 3,072 cores and boosts to 2,370 MHz.",
        # Of a superchip: two chips, counted together.
        "| | GB200 |\n|-|-|\n| FP16 | 5 PFLOPS |\n| FP64 | 90 TFLOPS |\n| Memory | 384 GB |",
        # Labels and values on one line.
        "RX 9070 XT: Base Clock 1660 MHz Boost Clock 2970 MHz",
        # Of a network, of a page.
        "A machine with eight A100 SXM 80GB has 200 Gb/s for each of them.",
        "NVIDIA T4 vs V100 (2024)",
        "With the MI355X AMD is not far behind Nvidia's Blackwell Ultra GPUs.",
        "The H100 SXM is made in 4 nm, which others call 5 nm.",
    ],
)
def test_what_pages_often_say_is_not_accused(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # The ordinary cores of cards since Ampere compute FP16 no faster than FP32.
        ("The RTX A6000: 38.7 TFLOPS in FP32, 77.4 TFLOPS in FP16.", ("peak:fp16", "wrong precision")),
        ("The V100 SXM2: 15.7 TFLOPS in FP32, 31.4 TFLOPS in FP16.", None),
        # A figure of another GPU is a neighbour's where the text names that one.
        ("The RTX 5090 draws 450 W.", ("power_w", "wrong value")),
        (
            "| GPU | TDP |\n|-|-|\n| RTX 5090 | 450 W |\n| RTX 4090 | 450 W |",
            ("power_w", "neighbour's row copied"),
        ),
        # Announced with sparsity.
        ("The B200 SXM delivers 20 PFLOPS of FP4.", ("peak:fp4", "sparse as dense")),
        ("The RTX 4080 Laptop GPU has 9,728 cores and 12 GB.", ("cuda_cores", "other variant")),
        ("The M1 Max has a 256-bit bus and moves 400 GB/s.", ("memory_bus_bits", "other variant")),
    ],
)
def test_what_pages_often_say_wrongly_is_found(text: str, wrong: tuple[str, str] | None) -> None:
    assert kinds(text) == [wrong] * (wrong is not None)


def test_a_heading_without_words_is_read() -> None:
    assert kinds("#\n\n**\n\n| GPU | Memory |\n|-|-|\n| T4 | 16 GB |") == []
