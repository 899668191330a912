"""Sentences: which figures are claims, whose they are, and which accuse nobody."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

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
        "New is the RTX PRO 6000 Blackwell. It enables 24,064 CUDA cores, against 21,760 on the RTX 5090. It "
        "carries 96 GB of memory and draws 600 W.",
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
        # What a compared GPU does is its own, and so is what the subject of a sentence below a heading has.
        "With 48 GB the L40S holds twice what the L4 does at 32 GB.",
        "The A100 80GB SXM has twice what the A40 offers with 40 GB.",
        "# RTX 4090\n\nThe memory is 12 GB of GDDR6X.",
        "# RTX 4090\n\nThe memory on this card is 12 GB.",
        "# RTX 5080\n\nUnder the hood are 9,728 CUDA cores.",
        "Take the A4000 or the A6000. Their bandwidths are 448 GB/s and 786 GB/s respectively.",
        "La RTX 4090 dispose de 32 Go de m\u00e9moire.",
    ],
)
def test_a_plain_error_is_found(text: str) -> None:
    assert "contradicts" in verdicts(text)


@pytest.mark.parametrize(
    "text",
    [
        "- A6000\n  - 48 GB\n  - 300 W\n- Acme 7\n  - 24 GB\n  - bandwidth of 1,500 GB/s\n",
        "\u2022 A6000\n  \u25e6 48 GB\n  \u25e6 300 W\n\u2022 Acme 7\n  \u25e6 bandwidth of 1,500 GB/s\n",
        "<ul><li>A6000<ul><li>48 GB</li></ul></li><li>Acme 7<ul><li>power of 500 W</li></ul></li></ul>",
    ],
)
def test_items_below_a_product_that_nobody_knows_are_not_of_its_neighbour(text: str) -> None:
    assert {(gpu, verdict) for gpu, _, _, verdict in found(text)} == {("NVIDIA RTX A6000", "agrees")}


def test_items_below_an_item_with_values_are_of_its_gpu() -> None:
    text = "- NVIDIA A30\n  - 24 GB\n- NVIDIA A40 (48 GB)\n  - Power\n    - 400 W\n"
    text += "- NVIDIA A10: 24 GB\n  - 150 W\n"
    assert [(gpu, value, verdict) for gpu, _, value, verdict in found(text)] == [
        ("NVIDIA A30", "24 GB", "agrees"),
        ("NVIDIA A40", "48 GB", "agrees"),
        ("NVIDIA A40", "400 W", "contradicts"),
        ("NVIDIA A10", "24 GB", "agrees"),
        ("NVIDIA A10", "150 W", "agrees"),
    ]


def test_other_languages_write_numbers_their_way() -> None:
    for text in (
        "La RTX 4090 dispose de 24 Go de m\u00e9moire et d'une bande passante de 1 008 Go/s.",
        "Die RTX 4090 bietet 1.008 GB/s Bandbreite und 16.384 CUDA-Kerne.",
        "The H100 SXM has 16'896 CUDA cores.",
    ):
        assert verdicts(text) == {"agrees"}


def found(text: str) -> list[tuple[str, str, str, str]]:
    """(GPU, field, value as written, verdict) of every finding."""
    return [(f.gpu, f.field, f.stated, f.verdict) for f in audit.audit_text(text).findings]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- RTX 4000 Ada: 20 GB, 360 GB/s, 130 W", ["20 GB", "360 GB/s", "130 W"]),
        ("We used the RTX A5000 (24 GB, 768 GB/s, 230 W).", ["24 GB", "768 GB/s", "230 W"]),
        ("The L4 is a 72 W card with 24 GB; its 300 GB/s hold it back.", ["72 W", "24 GB", "300 GB/s"]),
        ("RTX 4090, 24 GB, 16,384 CUDA cores, 1008 GB/s.", ["24 GB", "16,384", "1008 GB/s"]),
        ("- H100 SXM: 80 GB HBM3, 3.35 TB/s, NVLink 900 GB/s", ["80 GB", "HBM3", "3.35 TB/s", "900 GB/s"]),
        (
            "T4: 16 GB, 320 GB/s; L4: 24 GB, 300 GB/s; A10: 24 GB, 600 GB/s",
            ["16 GB", "320 GB/s", "24 GB", "300 GB/s", "24 GB", "600 GB/s"],
        ),
    ],
)
def test_a_list_behind_a_gpu_is_of_its_memory(text: str, expected: list[str]) -> None:
    assert [(stated, verdict) for _, _, stated, verdict in found(text)] == [(v, "agrees") for v in expected]


def test_each_list_belongs_to_the_gpu_before_it() -> None:
    text = "We use the RTX 4090 (32 GB, 1,008 GB/s), RTX 5090 (32 GB, 1,008 GB/s), the L4 (24 GB, 300 GB/s)."
    wrong = [(gpu, stated) for gpu, _, stated, verdict in found(text) if verdict == "contradicts"]
    assert ("NVIDIA GeForce RTX 4090", "32 GB") in wrong
    assert {gpu for gpu, _ in wrong} <= {"NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 5090"}
    assert ("NVIDIA GeForce RTX 5090", "memory_bytes", "32 GB", "agrees") in found(text)


@pytest.mark.parametrize(
    "text",
    [
        # Which of two sizes or rates is the memory's stays open, and so does what was measured.
        "- A100 40GB: 1,235 GB/s, 500 GB/s",
        "## Measured bandwidth\n- RTX 4090: 24 GB, 930 GB/s",
        "What we measured, card by card:\n\n- RTX 4090: 24 GB, 730 GB/s",
        "We measured RTX 4090 (24 GB, 730 GB/s), RTX 3090 (24 GB, 680 GB/s) and L40S (48 GB, 610 GB/s).",
        "L40S vs RTX 4090: 48 GB, 864 GB/s vs 24 GB, 1008 GB/s",
        "The RTX 3060 (12 GB, 7 GB/s of NVMe storage) starts fast.",
        "Loading takes 12 s on the L4 (24 GB, 4 GB/s).",
        # The rate of the link, not of the memory.
        "The A100 SXM 80GB (80 GB, 600 GB/s) is for training.",
        "24 GB, 1008 GB/s: RTX 4090; 32 GB, 1792 GB/s: RTX 5090",
    ],
)
def test_a_list_of_something_else_accuses_nobody(text: str) -> None:
    assert "contradicts" not in verdicts(text)


def test_several_gpus_of_one_list_are_read_as_before() -> None:
    assert ("NVIDIA GeForce RTX 3090", "memory_bytes_per_s", "936 GB/s", "agrees") in found(
        "Two RTX 3090 (24 GB, 936 GB/s) are cheap."
    )


def test_a_price_in_a_list_may_be_todays() -> None:
    prices = "The RTX 4090 (24 GB, 1,008 GB/s, {}) sold out."
    assert [v for _, field, _, v in found(prices.format("$2,499")) if "price" in field] == ["cannot tell"]
    assert [v for _, field, _, v in found(prices.format("MSRP $2,499")) if "price" in field] == [
        "contradicts"
    ]
    assert [v for _, field, _, v in found(prices.format("$0.69/hr")) if field == "launch_price_usd"] == []


@pytest.mark.parametrize(
    ("sentence", "gpu"),
    [
        (
            "A high-end GPU like the H100 SXM reaches 3.35 TB/s across 80 GB of HBM3.",
            "NVIDIA H100 SXM5 80 GB",
        ),
        ("An accelerator such as the MI300X brings 192 GB of HBM3 memory.", "AMD Instinct MI300X"),
        ("Cards like the L40S have 48 GB of GDDR6 memory.", "NVIDIA L40S"),
        ("Unlike a GPU like the H100 SXM, it draws 200 W.", "RTX 4070"),
        ("Cheaper than a card such as the RTX 4090, it has 12 GB of memory.", "RTX 4070"),
    ],
)
def test_a_gpu_like_another_names_it(sentence: str, gpu: str) -> None:
    now = found(f"The RTX 4070 has 12 GB of GDDR6X. {sentence}")[2:]
    assert {name for name, *_ in now} == {gpu}
    assert "contradicts" not in {verdict for *_, verdict in now}


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        # What the sentence before spoke of does not take the figure because it has the same one.
        ("The RTX 4090 is fast. An RTX 4090 Laptop GPU has the same 16,384 CUDA cores.", ["RTX 4090 Laptop"]),
        # Parentheses that end before the value, and the other side of a ratio, own nothing.
        ("The RTX 3060 has 3584 cores (the RTX 3060 Ti has 4864) and draws 200 W.", ["RTX 3060"]),
        ("The H100 SXM delivers 4.8 TB/s with 0.7 times the bandwidth of the H200.", ["H100 SXM"]),
        # Without a word for its field a rate like the memory's is its.
        ("The H100 SXM moves 2.4 TB/s, the A100 SXM 80GB 2.0 TB/s.", ["H100 SXM"]),
        (
            "H100\u7684\u663e\u5b58\u4e3a96GB\u3002RTX 4090\u914d\u590718,176\u4e2aCUDA\u6838\u5fc3\u3002",
            ["RTX 4090"],
        ),
    ],
)
def test_a_wrong_figure_in_a_clear_sentence_is_accused_under_its_gpu(text: str, gpus: list[str]) -> None:
    found = [f.gpu for f in audit.audit_text(text).findings if f.verdict == "contradicts"]
    assert len(found) == len(gpus)
    assert all(gpu.split()[-1] in one for gpu, one in zip(gpus, found, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        # The argument of a job is not what its GPU has; a value before a semicolon is of the GPU before it.
        'run(model="llama", gpu="T4", memory_gb=12, batch=4)',
        'Machine(gpu="L4", memory_gb=64, cpu=16)',
        "- 2020: A100 brings TF32 and 1,555 GB/s; RTX 3090 brings 24 GB",
        "The A100's rivals are cheaper and support FP8.",
        "The RTX 4080 Laptop GPU is new. The RTX 4080 has at most 7,424 shaders, a 192-bit bus and 12 GB.",
        "# H200\n\nMemory: 141 GB HBM3e (double the memory capacity of H100)\n",
        "GPU node with an A100:\n\n    #SBATCH --mem=64G\n",
        "The V100 is used here. The first version of OpenCL was released in December 2008.",
        "The B200 is new. Bandwidths of GPUs between the Ampere and Blackwell architectures follow.",
        "# RTX 3090 (used) - $800\n\nRates per GPU-hour: the RTX 3090 costs $800 in good condition.",
        # A subject that is no card, or not this one.
        "# RTX 4090\n\nMemory in the whole market has become 12 GB at least.",
        "# RTX 4090\n\nVideo memory on mainstream hardware has grown to 12 GB.",
        "# RTX 4090\n\nMy old card had 6 GB of VRAM and drew 120 W.",
        "# RTX 4090\n\nConsoles ship with 16 GB of shared memory and a bandwidth of 448 GB/s.",
        "# RTX 4090\n\nMost cards have 12 GB of GDDR6X today.",
        "# RTX 4090\n\nMemory got expensive; 12 GB of VRAM is the norm now.",
        "The RTX 4090 has 24 GB. The Foo X900 has 64 GB and 900 W.",
        "The P100 uses a GP100 with some units switched off, the whole GPU having 3840 CUDA cores.",
        "Unlike the A100 and H100, the RTX PRO 6000 gets no TF32 tensor speedup.",
        # Another type of memory at another rate: an edition that the catalog lacks.
        "RX 550 DDR3: 14.4 GB/s",
        "GT 1030 DDR4: 16.8 GB/s",
        "# Arc A580\n\nHardware: 24 Xe cores, 3072 FP32 units, what? 28 Xe cores, 3584 FP32 units",
    ],
)
def test_what_is_of_something_else_accuses_nobody(text: str) -> None:
    assert "contradicts" not in [f.verdict for f in audit.audit_text(text).findings]


@pytest.mark.parametrize(
    "text", ["The L40S draws 350 W and supports NVLink.", "The T4 has 16 GB, and supports bf16."]
)
def test_an_ability_behind_a_value(text: str) -> None:
    assert [f.verdict for f in audit.audit_text(text).findings if f.kind == "capability"] == ["contradicts"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # A figure in a list of the product's figures is its own, whatever stands before the list.
        ("**RTX A4500.** Not for everybody: 20 GB, 512 GB/s, 200 W.", ["512 GB/s"]),
        ("The L40S costs much, but for the record: 48 GB, 864 GB/s, 250 W.", ["250 W"]),
        ("**Tesla P4.** A tiny card. 2,560 cores, 75 W, Turing architecture.", ["Turing"]),
        ("On the desk, the RTX 4000 Ada has the AD104 chip: 20 GB of fast GDDR6X, 130 W.", ["GDDR6X"]),
        # The GPU that something is compared with leaves the text to the other one.
        ("Compared to the older RTX 3090, the 4090 has more cores. It requires a huge 900 W.", ["900 W"]),
        # Between dashes stands what the GPU before them has.
        (
            "The RTX PRO 6000 Blackwell is new. Compared with the RTX A6000 of 2020 - 48 GB, 668 GB/s, "
            "336 Tensor cores - it has more.",
            ["668 GB/s"],
        ),
        ("# P100\n\nGPU Architecture NVIDIA Volta\n", ["Volta"]),
        # A row of a machine states sparse rates of one GPU.
        (
            "| GPU | H200 SXM | B200 HGX |\n|---|---|---|\n| BF16 | 989 TFLOPS | 4,500 TFLOPS |\n"
            "| FP8 | 1,979 TFLOPS | 9,000 TFLOPS |\n| Memory | 141 GB | 180 GB |",
            ["4,500 TFLOPS", "9,000 TFLOPS"],
        ),
        # A name twice in a row counts nothing.
        ("# Instinct MI300X MI300X\n\nFP8: 661.3 TFLOPS, 192 GB, 750 W", ["661.3 TFLOPS"]),
        # What another clause denies is not this one's.
        ("The T4 does not run bf16, it was launched in 2016 in the fall.", ["2016"]),
        # The year of each GPU stands behind its own verb.
        ("The V100 came in 2017, the A100 in 2020, and the L4 reached customers in 2020.", ["2020"]),
        # How a chip is made needs no name of it in its sentence.
        ("The RX 6800 XT has 16 GB. It is fast, and fabricated in 16 nm by TSMC.", ["16 nm"]),
        # What nothing reaches was not reached.
        ("After the upgrade we sustained 1,250 TFLOPS of BF16 per H100 SXM.", ["1,250 TFLOPS"]),
        ("It reaches 4.5 PFLOPS for dense FP8 and 4.5 PFLOPS for dense BF16 on a B200.", ["4.5 PFLOPS"]),
        (
            "Die RTX 3080 10GB liegt noch hinter der RTX 4070. Ihr Chip GA102 hat 9.216 Kerne.",
            ["9.216"],
        ),
        ("The P6000s are Pascal cards with 24 GB, 432 GB/s and 3,840 cores, built in 7 nm.", ["7 nm"]),
        ("Die A40 ist neu. Mit 48 GB und 348 GB/s ist sie langsam; NVLink schafft 112,5 GB/s.", ["348 GB/s"]),
        ("**A30.** Die Karte aus dem Jahr 2021 beherrscht FP8.", ["from 2021 supports FP8"]),
        ("Carte\tPuce\tGravure\tTDP\nRTX 2070\tTU106\t7 nm\t175 W\nRTX 3070\tGA104\t8 nm\t220 W", ["7 nm"]),
        ("Arc A750: 3854 shaders, 8 GB. Arc A580: 3072 shaders, 8 GB.", ["3854"]),
        # The price of an hour times the hours.
        ("At $2.10 an hour an L40S costs $2,210 in a 30-day month.", ["$2,210"]),
        # A rule below the head of a table parts no columns.
        (
            "GPU         Memory        Bandwidth   TDP     PCIe   Year\n"
            "------------------------------------------------------\n"
            "A30         24 GB HBM2    933 GB/s    165 W   Gen4   2021\n"
            "RTX A6000   48 GB GDDR6       768 GB/s    300 W   Gen4   2017\n"
            "L4          24 GB GDDR6   300 GB/s    72 W    Gen4   2023\n",
            ["2017"],
        ),
        # Laptops' chips are their own.
        ("| GPU | Chip |\n|---|---|\n| RTX 4080 Laptop | AD103 |\n| RTX 4070 Laptop | AD106 |", ["AD103"]),
    ],
)
def test_the_one_wrong_figure_is_accused(text: str, wrong: list[str]) -> None:
    assert [f.stated for f in audit.audit_text(text).findings if f.verdict == "contradicts"] == wrong


@pytest.mark.parametrize(
    "text",
    [
        "I run two 3090s at 280 W each (power limited).",
        "In games the RTX 4090 with 24 GB takes 320 W measured over an hour.",
        "The T4 asks for 14 to 16 SMs here.",
        "| GPU | power (80 %) |\n|---|---|\n| RTX 4090 | 410 W (333 to 450) |",
        "On 8 H100 SXM she gets 430 BF16 TFLOPS per GPU, sustained.",
        "My RTX 4090 manages 145 TFLOPS in dense FP16 products.",
        "The H20 keeps 96 GB, but its FP16 peak of 148 TFLOPS is about a seventh of the H100's.",
        "Ein Notebook mit RTX 5080 muss mit 7.680 Kernen auskommen.",
        "One team reports 610 TFLOPS per H100 SXM in BF16 training.",
        "NVLink fehlt der L40S, die A40 hat ihn.",
        "At $2.10 an hour a L40S costs $1,533 a month, four of them $6,132.",
        "The H200 is efficient. Here 1.5 pJ are spent for an operation on 7 nm.",
    ],
)
def test_what_was_set_or_estimated_accuses_nobody(text: str) -> None:
    assert "contradicts" not in verdicts(text)


SERIES = "The RTX 4090 is new.\n\n## RTX 4000 at work\n\nAt 360 W the RTX 4090 draws little."
SHEET = "# The 5080 and its figures\n\n- CUDA cores: {}\n- Memory interface: {}\n- Memory bandwidth: {}\n{}"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # The name of a series is no card's, where a card of it is named and no workstation's.
        (SERIES, 1),
        ("The RX 7600 is one of the Radeon RX 7000. It has 12 GB of memory.", 1),
        ("RTX 4070显卡是RTX 4000系列的产品,12GB显存,8856个CUDA核心,显存带宽768GB/s。", 2),
        # However much of a sheet is wrong: four fields of one GPU, and no other GPU.
        (SHEET.format("14,336", "384-bit", "1,344 GB/s", "- VRAM: 24 GB"), 4),
        (SHEET.format("14,336", "384-bit", "1,344 GB/s", "- VRAM: 24 GB\n\nThe RTX 5090 has 32 GB."), 0),
        # A chip that is another card's.
        ("The RX 6800 has 16 GB. The next chip of AMD is the Navi 22. It has 40 compute units.", 0),
        ("The RX 6800 has 16 GB. It competes directly with the RTX 3070. It has 40 compute units.", 1),
        # A width that no product has is wrong of whichever card it is.
        (
            "The GTX 1660 and the GTX 1660 Ti differ. Both have 6 GB. Here a bus of 912 bit is used.",
            1,
        ),
        (
            "The GTX 1660 and the GTX 1660 Ti differ. Both have 6 GB. Here a bus of 256 bit is used.",
            0,
        ),
        # CUDA cores are of another maker's card than the Radeon of the sentence before.
        ("The RX 6600 is fine. A GeForce has 2,560 CUDA cores.", 0),
        ("The RTX 3060 is fine. It has 2,560 CUDA cores.", 1),
        ("The RTX 3050 8 GB has 12 billion transistors.", 0),
        ("The RTX 3050 8 GB has 28 billion transistors.", 1),
        # One digit of a large unit is rounded, and Polish has a word for it.
        ("Karta RX 6500 XT ma 5 mld tranzystorów.", 0),
        # A card by its number alone, in Chinese.
        ("4060显卡怎么样。4060只有6GB的显存。", 1),
        ("4060显卡怎么样。4060只有8GB的显存。", 0),
        ("RTX 4060显卡只有6GB的显存。", 1),
        # What a card has no more.
        ("Die RTX 4060 hat 8 GB. Auf GDDR6X wird verzichtet.", 0),
        ("Die RTX 4060 hat 8 GB. GDDR6X ist dabei.", 1),
        ("The RTX 4070 Ti SUPER has a bus of 256 bit instead of a 192 bit one.", 0),
        # A machine without GPUs, and one with two.
        ("# A100\n\n- GPUs: 0\n- Memory: 100 GB\n- TDP: 55 W", 2),
        ("| GPU | Memory |\n|---|---|\n| 0x A100 | 100 GB |", 0),
        # Names of other products than the catalog's.
        ("| GPU | TDP |\n|---|---|\n| Radeon Pro 5700 XT | 130 W |\n| RX 5700 XT | 225 W |", 0),
        ("| GPU | Memory |\n|---|---|\n| GRID M40 | 8 GB |\n| Titan V CEO Edition | 32 GB |", 0),
        ("| GPU | TDP |\n|---|---|\n| RX 5700 XT 50th Anniversary | 235 W |\n| RX 5700 | 180 W |", 0),
        # About two cards at once.
        ("RTX 5060 vs. RTX 4060: the bandwidth grows from 272 GB/s to 484 GB/s.", 1),
        ("RTX 5060 vs. RTX 4060: the bandwidth grows from 272 GB/s to 448 GB/s.", 0),
        # What a chip has is its own until a GPU is named; what its process and its products tell is judged.
        (
            "L'A100 existe en PCIe. La GA100 est une grosse puce. Avec 54 milliards de transistors, elle "
            "compte 8192 coeurs CUDA et 48 Mo de cache L2.",
            0,
        ),
        ("The A100 exists as a PCIe card. The GA100 is a big chip. It is made in a 12 nm process.", 1),
        # Said of both, wrong of one; and said of the second alone.
        ("Both the A40 and the RTX A6000 have 48 GB of GDDR6 and a 256-bit bus.", 2),
        ("The L4 and the T4 both have 16 GB of memory.", 1),
        ("Both the L4 and the RTX A4000 use PCIe, but only the L4 comes with 24 GB.", 0),
        # The name in brackets has the value before it, wherever the brackets are from.
        ("核心数从640个CUDA核心\uff08V100\uff09增加到6912个CUDA核心\uff08A100\uff09。", 1),
        # From one figure to the next, in a language without its own words here.
        ("Máme tu RTX 4070. Proti RTX 3070 se sběrnice zúžila z 256 na 192 bitů.", 0),
        # A figure that the sentence compares with does not change what the next one speaks of, nor does an
        # example.
        ("The RTX 4070 Ti has 12 GB, compared with the 16 GB of the RTX 4080. It has a 192-bit bus.", 0),
        ("The RTX 4070 has 12 GB. For example, the RTX 3080 has 10 GB. It draws 200 W.", 0),
        ("Die RTX 4070 hat 12 GB. Zum Vergleich: Die RTX 3080 hat 10 GB. Sie zieht 200 Watt.", 0),
        # Where a chip is known from, by the way.
        ("Die Tesla P4 nutzt den GP104, bekannt von der GTX 1080, mit 2650 CUDA-Kernen.", 1),
        ("L'RTX 4080 ha 45,9 miliardi di transistor, la RTX 4090 ne ha 67,3 miliardi.", 1),
        # Of all that the sentence before named.
        ("Llegan las Quadro RTX 6000 y Quadro RTX 8000. Estas tarjetas usan memoria GDDR6X.", 1),
        ("Llegan las Quadro RTX 6000 y Quadro RTX 8000. Estas tarjetas tienen hasta 48 GB.", 0),
        ("The RTX 3080 has more than 8,000 CUDA cores.", 0),
        ("The RTX 3080 has about 12,000 CUDA cores.", 1),
        ("La RTX 3090 rinde el doble que ofrece la Titan RTX. Sus 24 GB de memoria GDDR6X bastan.", 0),
        ("The P40 has 347 GB/s, a third of the 936 GB/s of a 3090. Its 24 GB are GDDR5.", 0),
        ("# GTX 980\n\nStreaming Multiprocessors 16\nCUDA Cores (single precision) 2816", 1),
        # In Japanese and Chinese letters the word for a field touches its unit, and a counter stands between.
        ("RTX 4090は24,576個のCUDAコアと36GBのメモリを搭載する。", 2),
        ("RTX 4090は16,384個のCUDAコアと24GBのメモリを搭載する。", 0),
        ("8卡H100服务器共有640GB显存。", 0),
        ("8卡H100服务器共有512GB显存。", 1),
        ("Карта H100 PCIe имеет 80 ГБ и 3,35 ТБ/сек.", 1),
        # Sparsity is said of the rate that is not written out.
        ("The H100 PCIe reaches 756 TFLOPS in FP16, with sparsity twice that.", 0),
        # As miners set their cards.
        ("The GTX 1660 SUPER does 31 MH/s at 75 W.", 0),
        # Another card's form is no doubt of this clause.
        ("The A100 80GB PCIe has 1,935 GB/s within 400 W; the SXM4 card has 2,039 GB/s.", 1),
        # All figures are of a card that has no name here; of a sheet of one GPU they are its own.
        (
            "The RTX 4090 has 24 GB.\n\n" + "Filler.\n\n" * 12 + "Someone sells an accelerator: 408 GB/s, "
            "150 W, 44 TFLOPS of FP16.\n\nThe T4 has 16 GB and draws 70 W.",
            0,
        ),
        # Memory of the machine, a program's needs, a page about another family, a card by its number alone.
        ("RTX A6000 workstations take up to four A6000 and 4 TB of DDR5.", 0),
        ("The setup of Tesla V100 fails, it supports only Ampere.", 0),
        ("See NVIDIA's Blackwell documentation on the RTX 4090.", 0),
        ("The R9700 is new. For the same price I can get 2x3090 with 900 GB/s and 48 GB.", 0),
        # As its owner sets it, or draws it.
        ("You can powercap the RTX 3090 to 250 W.", 0),
        ("The RTX 3090 needs two plugs at 365 W actual draw.", 0),
        # One of two figures that stand side by side may be of a card that only the title names.
        ("A100 oder H100? Der Unterschied liegt im Speicher (24 GB vs. 80 GB).", 0),
        # Cards with chips of twice the size are sold.
        ("The 2080 Ti 22GB has 22 GB of memory.", 0),
        # What a leak says, in this sentence and behind it.
        ("Selon un leaker, la RTX 4080 aurait 16 Go. Sa consommation est de 420 W.", 0),
        ("La RTX 4080 a 16 Go. Sa consommation est de 420 W.", 1),
        # In a form that the catalog lacks.
        ("The Gaudi 3 has 128 GB and draws 600 W in its PCIe version.", 0),
        # What another predicate denies is not this one's.
        ("The T4 was announced in September 2018 and draws 95 W.", 1),
    ],
)
def test_whose_figures_they_are_by_the_whole_text(text: str, wrong: int) -> None:
    found = audit.audit_text(text, "a.md", today=date(2026, 11, 28)).findings
    assert sum(f.verdict == "contradicts" for f in found) == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # Two values in brackets behind two GPUs.
        ("The RTX 4090 has far more CUDA cores than the RTX 4080 (16,384 vs 9,728).", []),
        ("The RTX 4090 has far more CUDA cores than the RTX 4080 (16,384 vs 8,728).", ["RTX 4080 8,728"]),
        ("The A40 is fast. It moves more than the A10 (696 GB/s versus 400 GB/s).", ["A10 400 GB/s"]),
        # "With" behind a GPU that another one is compared with.
        ("RTX 4070 Ti to be as fast as the RTX 3090 Ti with 7,680 cores and 12 GB of GDDR6X", []),
        ("The A30 is slower than the A10 with 150 W.", []),
        # What is compared with "its little sister" is not what the text goes on about.
        ("Unlike its little sister, the RTX 5080, the RTX 5090 uses GB202. It has 12,760 CUDA cores.",
         ["RTX 5090 12,760"]),
        ("Anders als ihre „kleine“ Schwester RTX 5080 nutzt die RTX 5090 GB202. 12.760 CUDA-Cores hat sie.",
         ["RTX 5090 12.760"]),
        # A family before a list in brackets, and one that begins a clause of its own.
        ("From Volta (V100) over Ampere (A100, A40) to Blackwell (B200, H200).", ["H200 Blackwell"]),
        ("The H200 has 4.8 TB/s, Rubin moves to HBM4.", []),
        # Makers for their GPUs.
        ("The RTX 4070 meets the RX 7800 XT. Nvidia has 12 GB on a 256-bit bus, while AMD has 16 GB on a "
         "256-bit bus.", ["RTX 4070 256-bit"]),
        # Short names, of GPUs that are named in full somewhere.
        ("RX 7900 XTX and RX 7900 XT came. The XTX has 24 GB, the XT 24 GB.", ["RX 7900 XT 24 GB"]),
        ("The GTX 1070 has 1,920 CUDA cores. Compared to the 1080's 2,560 CUDA cores it has few. "
         "The GTX 1080 has 8 GB.", []),
        # Counts go on without their noun, but not of something else.
        ("The GTX 1070 has 1,920 CUDA cores. The GTX 980 had 2,048, while the GTX 970 had 1,446.",
         ["GTX 970 1,446"]),
        ("The GTX 1070 has 1,920 CUDA cores. The GTX 970 has 1,446 of the votes.", []),
        # Thousands parted by a space.
        ("Les cœurs CUDA passent de 4 352 sur la RTX 4060 Ti à 4 608 sur la RTX 5060 Ti.", []),
        ("L'RTX 4090 possède 16 384 cœurs CUDA contre 6 414 pour la RTX 5070.", ["RTX 5070 6 414"]),
        # Chinese and Japanese.
        ("RTX A6000的功耗低了150W。", []),
        ("RTX 6000 Ada集成了658个第四代Tensor张量核心、142个第三代RT光追核心。",
         ["RTX 6000 Ada Generation 658"]),
        ("RTX A6000的Tensor核心数:396个,CUDA核心数:10752个。", ["RTX A6000 396"]),
        ("RTX 5070 Tiは9,860のCUDAコアと16GBのGDDR7を提供する。", ["RTX 5070 Ti 9,860"]),
        # The memory of a chip that shares it with its processor is called RAM.
        ("The M1 Ultra supports up to 228GB RAM.", ["Apple M1 Ultra 228GB"]),
        ("The M4 Pro is limited to 327 GB/s, whereas the M4 Max has 546 GB/s.", ["Apple M4 Pro 327 GB/s"]),
        ("The RTX 4090 sits in a machine with 48GB RAM.", []),
        # Of a rate beside a link that has its own.
        ("The H200 has 141 GB HBM3e with up to 8.4 TB/s and NVLink Gen4 at 900 GB/s.", ["H200 8.4 TB/s"]),
        # A rumour, of the whole text where it begins so.
        ("All leaked specifications follow.\n\n## RTX 5080\n\nIt draws 400 W from a 356-bit bus.", []),
        # Last but not least: no denial; a maker's claim: no doubt.
        ("Last but not least the RTX 4080 has 24 GB of GDDR6X.", ["RTX 4080 24 GB"]),
        ("NVIDIA claims that the RTX 4080 moves 617 GB/s.", ["RTX 4080 617 GB/s"]),
        # One version among several, but for one that some rebuild with twice the memory.
        ("Only the 26 GB version of the RTX 4060 Ti is enough.", ["RTX 4060 Ti 26 GB"]),
        ("The 48 GB version of the RTX 4090 sells well.", []),
        ("The Arc B580 is new. It sports 40 of Intel's Xe cores.", ["Intel Arc B580 40"]),
        # Tensor cores in which a format runs.
        ("The V100 does not support INT8 in tensor cores.", []),
    ],
)  # fmt: skip
def test_whose_and_what_a_figure_is(text: str, wrong: list[str]) -> None:
    found = audit.audit_text(text, "a.md").findings
    accused = [f"{f.gpu} {f.stated}" for f in found if f.verdict == "contradicts"]
    assert [re.sub("NVIDIA |AMD |GeForce |Radeon ", "", one) for one in accused] == wrong


def test_an_item_goes_on_in_its_next_lines() -> None:
    item = "- Memory is stacked on the chip, its rate with it: H100 3.35 TB/s, H200 {}\n  TB/s, B200 8 TB/s."
    found = [audit.audit_text(item.format(rate), "a.md").findings for rate in ("4.8", "8.4")]
    assert [[f.verdict for f in each] for each in found] == [
        ["agrees"] * 3,
        ["agrees", "contradicts", "agrees"],
    ]
    assert found[1][1].lines == (1,)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # NVLink by how two are joined, and its rate of a GPU that has none; a slot's rate is not NVLink's.
        ("The L4 has 24 GB. Two can be joined over NVLink.", ["L4 Two can be joined over NVLink"]),
        ("The A40 has 48 GB. Two of them can be joined over NVLink.", []),
        ("The L4 has 24 GB. Two of them cannot be joined over NVLink.", []),
        ("The L4 has 24 GB. Two can't be joined over NVLink.", []),
        ("The L4 has 24 GB. Two can never be joined over NVLink.", []),
        ("The A40 has 48 GB. Two can't be joined over NVLink.", ["A40 Two can't be joined over NVLink"]),
        ("The L40S has 48 GB and 864 GB/s. Its NVLink moves 600 GB/s.", ["L40S 600 GB/s"]),
        ("The L40S has 48 GB and 864 GB/s. Its interconnect moves 64 GB/s.", []),
        # One direction of a link that says both.
        ("The H100 SXM has 900 GB/s of NVLink, the V100 150 GB/s bidirectional.", ["V100 150 GB/s"]),
        ("The H100 SXM has 900 GB/s of NVLink, the V100 300 GB/s bidirectional.", []),
        # Sums that go on, and of a machine of eight.
        ("Eight B200 make 36 PFLOPS of dense FP8 and 92 PFLOPS sparse.", ["B200 SXM 92 PFLOPS"]),
        ("Eight B200 make 36 PFLOPS of dense FP8 and 72 PFLOPS sparse.", []),
        ("A four-way H200 node holds 546 GB.", ["H200 546 GB"]),
        ("A four-way H200 node holds 564 GB.", []),
        # Ratios that go on from another, name their field first, or say "that is".
        ("The B300 has 1.7 times the bandwidth of the H200, "
         "and the MI300X about 1.9 times that of the MI250X.",
         ["Instinct MI300X 1.9 times"]),
        ("The B300 has 1.7 times the bandwidth of the H200, "
         "and the MI300X about 1.6 times that of the MI250X.",
         []),
        ("From an A40 (300 W): an L40S gives you 1.6 times the memory bandwidth.",
         ["L40S 1.6 times the memory bandwidth"]),
        ("In capacity the H200 is at 3 times the H100 SXM.", ["H200 3 times"]),
        ("The A6000 has 48 GB. That is 3 times the memory of the RTX 3090.",
         ["RTX A6000 3 times the memory"]),
        # Modules by their short names; Spanish and German words.
        ("El T5000 de Jetson tiene 128 GB y 273 GB/s. El TX2 tiene 256 núcleos y 8 GB.", []),
        ("El Jetson Thor lleva 128 GB y 273 GB/s, y da 2070 TFLOPS en FP4 denso.",
         ["Jetson T5000 2070 TFLOPS"]),
        ("El Jetson Thor lleva 128 GB y 273 GB/s, y da 2070 TFLOPS en FP4 disperso.", []),
        ("Die Radeon Pro W7900 hat 48 GB und 864 GB/s. FP8 beherrschen ihre Matrixeinheiten auch.",
         ["PRO W7900 FP8"]),
        # An answer behind a colon is no title.
        ("# T4\n\nSupports BF16: no", []),
        ("# L4\n\nSupports BF16: no", ["L4 no"]),
        # An answer behind an ability is of that one alone.
        ("- T4: BF16: no, FP8: no, 70 W", []),
        ("- L4: FP8 no, BF16 yes, 72 W", ["L4 FP8"]),
        # Neither "TGP" nor "portable" is said of laptops alone.
        ("The RTX 4090 has 24 GB. Its TGP is 480 W.", ["RTX 4090 480 W"]),
        ("The L4 has 24 GB. It is small, portable and draws 92 W.", ["L4 92 W"]),
        # A GPU that a heading names begins behind what was said of a chip.
        ("# RTX A6000\n\nThe GA102 is large.\n\n# RTX 6000 Ada\n\n48 GB, 960 GB/s and 18,432 CUDA cores.",
         ["RTX 6000 Ada Generation 18,432"]),
    ],
)  # fmt: skip
def test_what_plain_sentences_say(text: str, wrong: list[str]) -> None:
    test_whose_and_what_a_figure_is(text, wrong)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # A unit that goes without saying.
        ("The T4 draws 70 W, the L4 75.", "T4 power_w 70 W; L4 power_w 75!"),
        (
            "In FP32 the A10 reaches 31.2 TFLOPS, the A40 37.4 and the L40S 81.6.",
            "A40 peak:fp32 37.4; L40S peak:fp32 81.6!",
        ),
        ("Expect 450 W for the RTX 4090 and 285 for the 4080.", "RTX 4080 power_w 285!"),
        ("The H100 PCIe is a 350 W card, the A100 PCIe came 2 years before, the V100 3 more.", ""),
        # A card by its suffix, or by its number alone.
        (
            "An RTX 4070 has 5888 cores. The Ti Super has 8448 and reads 627 GB/s.",
            "RTX 4070 Ti SUPER memory_bytes_per_s 627 GB/s!",
        ),
        (
            "The RX 6800 has 60 compute units; the XT has 72 compute units at 350 W.",
            "RX 6800 XT sm_count 72; RX 6800 XT power_w 350 W!",
        ),
        ("got a p100. the p40 has 24gb and 374gb/s", "P40 memory_bytes_per_s 374gb/s!"),
        ("Order 4090 was shipped on Monday. It weighs 24 kg and draws 450 W.", ""),
        # Of two GPUs each, and of both.
        (
            "For the A5000 and the A6000: 24 and 48 GB, 230 and 300 W, 768 and 786 GB/s.",
            "A5000 power_w 230; A6000 memory_bytes_per_s 786 GB/s!",
        ),
        ("A100 or A40? The difference is memory (24 GB vs. 48 GB).", ""),
        ("A40 and L40: 48 GB, 864 GB/s", "A40 memory_bytes_per_s 864 GB/s!; L40 memory_bytes 48 GB"),
        # What a question asks for, and what a footnote is about.
        (
            "How wide is the bus of the A30?\n\n3,072 bits, and 242 tensor cores.",
            "A30 memory_bus_bits 3,072 bits; tensor_cores 242!",
        ),
        (
            "| GPU | GB |\n|---|---|\n| T4[^1] | 16 |\n| L4[^2] | 24 |\n\n[^1]: 320 GB/s.\n[^2]: 75 W.",
            "T4 memory_bytes_per_s 320 GB/s; L4 power_w 75 W!",
        ),
        # A form alone, in the order of any language.
        (
            "L'A100 PCIe consomme 250 W. Le module SXM4 consomme 440 W.",
            "A100 PCIe power_w 250 W; A100 SXM4 power_w 440 W!",
        ),
        ("The H100 PCIe has 114 SMs. The SXM has 132 SMs.", "H100 PCIe 80 GB sm_count 114; sm_count 132"),
        # Years, rents, prices of used cards.
        ("The P40 is a Pascal card from 2018 with 24 GB.", "P40 launch 2018!"),
        ("One lists its H100 PCIe at $2.39 on demand.", "H100 PCIe rent per hour $2.39"),
        ("The 4070 was $599 new in 2023; a used 3090 goes for $700.", ""),
        # A rate that is not written out has the mark, not this one.
        ("The 5090: fp4 dense is 1,676 TFLOPS, twice that is with sparsity.", "RTX 5090 peak:fp4 1,676"),
        ("An L40S gives 733 TFLOPS in FP8, twice as much with sparsity.", "L40S peak:fp8 733 TFLOPS"),
        # What stands in a list of what a GPU has is that one's, however well it fits another.
        (
            "The L40S has 48 GB and 864 GB/s.\n\nIts brother, the L4, has 48 GB on 192 bits and 300 GB/s.",
            "L40S memory_bytes 48 GB; L4 memory_bytes 48 GB!; L4 memory_bytes_per_s 300 GB/s",
        ),
        (
            "The A40 has 48 GB and 696 GB/s. The A30, a card of 165 W, has 48 GB and 933 GB/s.",
            "A40 memory_bytes 48 GB; A30 memory_bytes 48 GB!; A30 memory_bytes_per_s 933 GB/s",
        ),
        ("The A30 has 3 times the bandwidth of the T4, at 933 GB/s.", "A30 memory_bytes_per_s 933 GB/s"),
        # A section that begins with a product's name is not about the chip that was named above.
        (
            "The AD102 has 18,432 cores.\n\n**RTX 6000 Ada.** 142 SMs, 18,432 CUDA cores, 48 GB, 300 W.",
            "RTX 6000 Ada Generation cuda_cores 18,432!; sm_count 142",
        ),
        ("Two 4090s. Each one has 24 GB, 16,384 CUDA cores, 576 tensor cores.", "tensor_cores 576!"),
        # The rate that a bus gives; what a statement adds to be told yes.
        ("The RTX 4070 has 12 GB on a 192-bit bus = 540 GB/s.", "RTX 4070 memory_bytes_per_s 540 GB/s!"),
        (
            "L4\n\nFP16 Tensor Core  121 TFLOPS*\nCUDA cores  7,424\n\n* with sparsity",
            "peak:fp16 121 TFLOPS!",
        ),
        ("So the L4 draws 27 W, right?", "L4 power_w 27 W!"),
        ("## When did they come out?\n\nT4 in September 2018, A30 in April 2021, L40S in August 2021.",
         "T4 launch September 2018; A30 launch April 2021; L40S launch August 2021!"),
        (
            "The RTX 4090 came at $1,599. The RTX 4080 costs $1,599 on paper.",
            "RTX 4080 launch_price_usd $1,599!",
        ),
        # Fair: of a model, of a machine, of a chip, asked, of shops.
        ("- 2 x H100, BF16 (141 GB): 37 tok/s\n- 1 x L40S, FP8 (70 GB)\n- 1 x A100 80 GB, Q4 (40 GB)", ""),
        (
            "The A30 has 933 GB/s and 165 W, and 512 GB RAM stand beside it in our server.",
            "A30 power_w 165 W",
        ),
        (
            "**RTX 4090.** 128 SMs of the AD102, which has 144 SMs and 18,432 CUDA cores. 450 W.",
            "sm_count 128",
        ),
        ("Is it true that the 4090 has 48 GB, yes or no?", ""),
        ("When did the drivers come out?\n\nRTX 4090 in October 2022, RTX 3090 in March 2024.", ""),
        (
            "RTX 5090, 32 GB, $2,499. RTX 5080, 16 GB, $999. RTX 5070, 12 GB, $549.",
            "RTX 5070 memory_bytes 12 GB",
        ),
        # Power by a plug of the CPU; memory for which another one was given up.
        ("The P40 takes 250 W through an 8-pin CPU plug.", "P40 power_w 250 W"),
        ("The H200 swaps the 80 GB for 114 GB of HBM3e.", "H200 memory_bytes 114 GB!"),
    ],
)  # fmt: skip
def test_whose_figure_it_is_and_of_which_field(text: str, said: str) -> None:
    """GPU, field and value of some of what is read, with "!" behind all that is wrong."""
    found = audit.audit_text(text, "a.md", today=date(2026, 11, 28)).findings
    read = {f"{f.gpu} {f.field} {f.stated}{'!' * (f.verdict == 'contradicts')}" for f in found}
    wanted = said.split("; ") if said else []
    assert all(any(one.endswith(want) or want in one for one in read) for want in wanted), read
    assert sum(one.endswith("!") for one in read) == said.count("!"), read


READ = [
    # A size that tells no variants of a name apart, beside it or in brackets; one that does says nothing.
    ("The RTX 5090 (32GB) is fast.", "memory_bytes", {"32GB": "agrees"}),
    ("An RTX 3090 24GB is old.", "memory_bytes", {"24GB": "agrees"}),
    ("The A100 40GB is old.", "memory_bytes", {}),
    ("The RTX 4080 comes with a total of 18 GB of GDDR6X.", "memory_bytes", {"18 GB": "contradicts"}),
    ("A workstation with an RTX 4090 has a total of 64 GB.", "memory_bytes", {}),
    # Data rates of a memory, and of a port.
    ("The RTX 4080 has 16 GB of GDDR6X at 22.4 Gbps.", "memory_transfers_per_s", {"22.4 Gbps": "agrees"}),
    ("The RTX 4080 has 16 GB of GDDR6X at 26 Gbps.", "memory_transfers_per_s", {"26 Gbps": "contradicts"}),
    ("The RTX 4080 has DisplayPort with 32 Gbps.", "memory_transfers_per_s", {}),
    # Formats in other words are no bus.
    ("The MI325X makes 1.3 PFLOPS for 16-bit floating point (FP16).", "peak:fp16", {"1.3 PFLOPS": "agrees"}),
    ("The MI325X makes 1.3 PFLOPS for 16-bit floating point (FP16).", "memory_bus_bits", {}),
    # What a plug gives, what was used in games.
    ("The RTX A6000 has an EPS plug. It can supply up to 336 W.", "power_w", {"336 W": "cannot tell"}),
    ("NVIDIA RTX 4060\nPower draw while gaming: 95 W", "power_w", {}),
    # An architecture is not the GPU that the text spoke of.
    ("The B200 is new. With Blackwell, NVIDIA stays below 450 W.", "power_w", {}),
    ("The H100 is new. It is a Hopper GPU with 90 GB of memory.", "memory_bytes", {"90 GB": "contradicts"}),
    # Of another product, or of none.
    ("MI325X\n\nProduct family: Instinct MI300 Series\nTDP: 900 W", "power_w", {"900 W": "contradicts"}),
    ("1. RTX 4090\n\nGPU: Ada AD102\nTGP: 480 watts", "power_w", {"480 watts": "contradicts"}),
    ("A10 (Ampere architecture, 2021): a card of 150 W", "power_w", {"150 W": "agrees"}),
    # Prices of one list, and what a price differs by.
    ("We rent A100 at $2.80/hr, H200 at $3.37.", "rent per hour", {"$2.80/hr": "agrees", "$3.37": "agrees"}),
    ("The T4 rents at $0.35 per hour; it sold for $120.", "rent per hour", {"$0.35 per hour": "agrees"}),
    ("The RX 7800 XT costs $120 less than the RX 6800 XT at launch.", "launch_price_usd", {}),
    ("The H100 is all around. A p5.48xlarge costs $98.32/hr.", "rent per hour", {"$98.32/hr": "cannot tell"}),
    # Differences in other words.
    ("The B580 has 12 GB. This represents a 4GB increase over the A580.", "memory_bytes",
     {"12 GB": "agrees", "4GB increase": "agrees"}),
    # A statement a line.
    ("The B200 GPU of NVIDIA holds 192 GB of HBM3e memory in eight stacks\n"
     "The superchip has 384 GB across two GPUs\n"
     "NVIDIA B100 Blackwell GPU has a TDP of 750W", "power_w", {"750W": "contradicts"}),
    # Cuts of a chip.
    ("Inside of the RTX 4060 Ti is the AD106-350-A1.", "chip", {"AD106-350-A1": "agrees"}),
    ("Inside of the RTX 4060 Ti is the AD104-250-A1.", "chip", {"AD104-250-A1": "cannot tell"}),
    ("It is a rumour. This is just a rumour of the RTX 4090: 600 W.", "power_w", {"600 W": "cannot tell"}),
    ("A RTX 4080 vem com 304 núcleos do tipo Tensor e 90 núcleos do tipo RT.", "rt_cores",
     {"90": "contradicts"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "field", "found"), READ)
def test_what_is_read_of_a_field(text: str, field: str, found: dict[str, str]) -> None:
    findings = audit.audit_text(text, today=date(2026, 11, 23)).findings
    assert {f.stated: f.verdict for f in findings if f.field == field} == found


def test_a_difference_is_no_figure_without_a_gpu() -> None:
    assert not audit.audit_text("The RTX 4080 uses 130 W less than the RTX 4090.").unjudged
    assert [one.text for one in audit.audit_text("The RTX 4080 uses 130 W and a 750 W PSU.").unjudged]


ROWS = "| TFLOPS | RTX 4090 | A100 80GB |\n|---|---|---|\n| FP32 | 83 | 19.5 |\n| TF32 | 165 TFLOPS | {} |\n"
NODES = "# HGX B200 nodes\n\n## {}\n\n| | |\n|---|---|\n| Memory | 180 GB |\n| FP4, dense | 18 PFLOPS |\n"
BARS = "Radeon RX 6700 XT\n{} | game 2424MHz | boost 2960MHz | 96MB Infinity Cache | 12GB | power 230W\n"
CLOCKS = "- GPU: {}\n- Cores: {}\n- Base clock: {} MHz\n"


@pytest.mark.parametrize(
    ("text", "field", "stated", "verdict"),
    [
        # A line that goes on with "sparsity" is no footnote about every rate.
        (ROWS.format("156 TFLOPS") + "\nAll in all the rates of the newer cards are higher, and those with\n"
         "sparsity higher still.\n", "peak:tf32", "165 TFLOPS", "contradicts"),
        (ROWS.format("312 TFLOPS") + "\nRates with sparsity.\n", "peak:tf32", "165 TFLOPS", "cannot tell"),
        # Of one GPU below the name of a machine.
        (NODES.format("One GPU"), "peak:fp4", "18 PFLOPS", "contradicts"),
        (NODES.format("All GPUs"), "peak:fp4", "18 PFLOPS", "cannot tell"),
        # A format in brackets, and the cores that say that it is not the one before.
        ("The L40S does 91.6 TFLOPS in FP32 and 362 TFLOPS on the tensor cores (FP16).", "peak:fp16",
         "362 TFLOPS", "agrees"),
        ("The L40S does 91.6 TFLOPS in FP32 and 362 TFLOPS on the tensor cores.", "peak:tensor",
         "362 TFLOPS", "agrees"),
        ("The L40S does 91.6 TFLOPS in FP32 and 183 TFLOPS.", "peak:fp32", "183 TFLOPS", "cannot tell"),
        # Bars part the figures of one GPU, or the columns of several.
        (BARS.format("40 CUs"), "boost_hz", "2960MHz", "contradicts"),
        (BARS.format("12GB | 16GB"), "boost_hz", "2960MHz", "cannot tell"),
        # The count of the next one shows that this is one, too.
        ("\n" * 14 + "GTX 1080: 2,590 CUDA cores, GTX 1080 Ti: 3,584", "cuda_cores", "2,590", "contradicts"),
        ("\n" * 14 + "GTX 1080: 2,590 CUDA cores", "cuda_cores", "2,590", "cannot tell"),
        # "Its" is what the text spoke of; the line goes on from the one before.
        ("The A10 has 24 GB and draws 150 W at most under a full load, day and night. What\n"
         "keeps the price of it low is memory: its 600 GB/s is not much over a third of an A100 40GB.",
         "memory_bytes_per_s", "600 GB/s", "agrees"),
        # What is so many times the rate "of the A30" is not its own; the rate is.
        ("Take the A100 40GB. So 1.56 TB/s is 1.4 times the 1.1 TB/s of the A30.", "memory_bytes_per_s",
         "1.1 TB/s", "contradicts"),
        # A game clock is no base clock.
        (CLOCKS.format("RX 6800 XT", "4,608", "2015"), "base_hz", "2015 MHz", "contradicts"),
        (CLOCKS.format("RX 7900 XT", "5,376", "2000"), "base_hz", "2000 MHz", "cannot tell"),
        (CLOCKS.format("RX 6800 XT", "4,608", "1900"), "base_hz", "1900 MHz", "cannot tell"),
        # Below the heading of one GPU another is named by the way.
        ("# The RTX 4060 Laptop\n\nThe desktop RTX 4070 draws 200 W.\n\n96 tensor cores do the scaling.",
         "tensor_cores", "96", "agrees"),
        ("# The RTX 4060\n\nThe desktop RTX 4070 has 12 GB.\n\nIt draws 380 W.", "power_w", "380 W",
         "contradicts"),
        ("FP64 of the H100 SXM: 34 TFLOPS, 67 TFLOPS on its tensor cores.", "peak:fp64", "67 TFLOPS",
         "agrees"),
        ("The H100 SXM does 67 TFLOPS FP64 on its tensor cores.", "peak:fp64", "67 TFLOPS", "agrees"),
        # A sentence of the width of a title is none.
        ("The RTX 4060 Laptop: a look\n\nIt is behind a desktop RTX 4070. What it does at 1080p is fine for\n"
         "us and others.\n\nMore\n\n96 tensor cores do the scaling.", "tensor_cores", "96", "agrees"),
        ("The RTX 4070\n\nThe desktop RTX 4060 draws 115 W.\n\n96 tensor cores do the scaling.",
         "tensor_cores", "96", "cannot tell"),
    ],
)  # fmt: skip
def test_what_leaves_one_reading(text: str, field: str, stated: str, verdict: str) -> None:
    findings = audit.audit_text(text, today=date(2026, 11, 23)).findings
    assert [f.verdict for f in findings if (f.field, f.stated) == (field, stated)] == [verdict]
