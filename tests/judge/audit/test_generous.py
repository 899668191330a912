"""Fair statements that state no figure of the sheet accuse nobody; planted errors of the same fields do."""

from __future__ import annotations

import pytest

from gpuwise.judge import audit

CARD = "The RTX 4080 has 9,728 CUDA cores, 16 GB of GDDR6X and a 256-bit bus. "


def kinds(text: str) -> list[tuple[str, str | None]]:
    found = audit.audit_text(text).findings
    return [(one.field, one.kind) for one in found if one.verdict == "contradicts"]


@pytest.mark.parametrize(
    "text",
    [
        # Set, chosen, measured, of the machine
        "I gave it 250 W and lost 3 %.", "At 220 W it is most efficient.", "Eco mode: 240 W.",
        "In autumn I turn it down to 230 W.", "While decoding it uses only 190 W.",
        "A supply of 750 W is enough.",
        "nvbandwidth reports 655 GB/s for it.", "My kernel gets 610 GB/s.",
        "Attention kernels reach 540 GB/s.",
        "Overclocked memory brought 780 GB/s.",
        "Peak boost observed: 2790 MHz.",
        "The Strix raises the boost clock to 2640 MHz.",
        # Rounded, and of another
        "Just under 10,000 cores are active.", "Over 9,000 cores do the work.", "9,700 cores or so.",
        "The successor got 10,752 cores.",
        # Today's prices
        "Today it costs $620 second hand.", "It launched at $1,199, now shops ask $1,450.",
        "FP8 dense is 390 TFLOPS, twice that with sparsity.",
        "There was talk of NVLink, but it did not come.",
    ],
)  # fmt: skip
def test_what_is_set_measured_rounded_or_sold_today(text: str) -> None:
    assert kinds(CARD + text) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Its TDP is 230 W.", ("power_w", "digit swap")),
        ("It draws 450 W.", ("power_w", "wrong value")),
        ("The card comes with a 420 W limit.", ("power_w", "wrong value")),
        ("Its memory moves 912 GB/s.", ("memory_bytes_per_s", "wrong value")),
        ("717 MB/s of memory bandwidth feed it.", ("memory_bytes_per_s", "unit")),
        ("Its L2 cache holds 64 GB.", ("l2_bytes", "unit")),
        ("That is twice the memory of the RTX 3090.", ("memory_bytes", "wrong ratio")),
        ("In bandwidth that is 1.9 times the RTX 3080 Ti.", ("memory_bytes_per_s", "wrong ratio")),
        ("It supports FP8; MIG is supported as well.", ("mig", "capability")),
        ("And NVLink is on board.", ("link", "capability")),
        ("In FP32 it reaches 195 TFLOPS.", ("peak:fp32", "wrong precision")),
    ],
)
def test_the_same_fields_stated_wrongly(text: str, wrong: tuple[str, str]) -> None:
    assert kinds(CARD + text) == [wrong]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # One direction of a link, and two cards that cannot be joined although one has NVLink
        ("The A100 SXM has 80 GB. NVLink: 300 GB/s unidirectional.", []),
        ("The A100 SXM has 80 GB. NVLink sends 300 GB/s and receives as much.", []),
        ("The RTX A6000 can't be paired over NVLink with an L40.", []),
        ("Two RTX A6000 cannot be linked over NVLink.", [("link", "capability")]),
        ("Hopper cards support FP8.", []),
        ("A 70B model on the L4 wants 40 GB.", []),
        # Of several GPUs
        ("GPUs alone draw 5.6 kW with the H100 SXM. The H100 SXM is a module of 700 W.", []),
        ("Two RTX 3090: Llama 70B in Q4, 40 GB, at 18 tokens/s split over both, one stream.", []),
        ("One RTX 3090: Llama 70B in Q4, 40 GB, at 60 tokens/s, one stream.", [("throughput", "physics")]),
        ("The RTX 4090 reads prompts of Llama 8B in Q4 at 6,000 tokens/s for one user.", []),
        ("gpu: L40S\ngpus_per_node: 4\ngpu_memory: 48 GB\ngpu_memory_per_node: 182 GB\n",
         [("memory_bytes", "wrong sum")]),
        # `count` is of the machines, `per_node` of the cards
        ("- name: a\n  count: 12\n  gpu:\n    model: L40S\n    per_node: 4\n  total_gpu_memory_gb: 192\n",
         []),
        ("- name: a\n  count: 12\n  gpu:\n    model: L40S\n    per_node: 4\n  total_gpu_memory_gb: 182\n",
         [("memory_bytes", "wrong sum")]),
        ("The RTX 2080 Ti launched at $1,199.", []),  # The Founders Edition
        ("The A6000 is often seen for $16.50 an hour on demand.", [("rent per hour", "wrong value")]),
    ],
)  # fmt: skip
def test_links_sums_speeds_and_prices(text: str, wrong: list[tuple[str, str]]) -> None:
    assert kinds(text) == wrong
