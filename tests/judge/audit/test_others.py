"""Values beside a GPU that are of something else, and those like them that are its own."""

from __future__ import annotations

import pytest

from gpuwise.judge import audit

from .test_phrases import accused


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # Machines are nodes, too.
        ("| GPU | GPUs per node | VRAM |\n|---|---|---|\n| H100 SXM | 8 | 80 GB |\n| L40S | 4 | 48 GB |", []),
        ("| Karte | Karten pro Knoten | TDP |\n|---|---|---|\n| T4 | 8 | 70 W |\n| L4 | 6 | 72 W |", []),
        ("| | H100 SXM | L40S |\n|---|---|---|\n| GPUs on one node | 8 | 10 |\n| VRAM | 80 GB | 48 GB |", []),
        (
            "| GPU | Cards/node | Process node |\n|---|---|---|\n| H100 SXM | 8 | 7 |\n| A100 | 8 | 7 |",
            ["process_nm 7"],
        ),
        ("| GPU | Node |\n|---|---|\n| H100 SXM | 7 nm |\n| A100 | 7 nm |", ["process_nm 7 nm"]),
        # Power of the machine, of its supply, at the wall.
        ("Der ganze Rechner mit einer RTX 4090 zieht an der Steckdose 620 W.", []),
        ("La machine complète avec une RTX 4090 consomme 610 W à la prise.", []),
        ("El equipo completo con una RTX 4090 consume 610 W en el enchufe.", []),
        ("Il sistema intero con la RTX 4090 assorbe 600 W alla presa.", []),
        ("O computador inteiro com a RTX 4090 puxa 600 W da tomada.", []),
        ("A workstation with an RTX 4090 draws 650 W under load.", []),
        ("| Karte | Leistungsaufnahme (Gesamtsystem) |\n|---|---|\n| RTX 4090 | 630 W |\n| L4 | 180 W |", []),
        ("| Tarjeta | Consumo en el enchufe |\n|---|---|\n| RTX 4090 | 630 W |\n| L4 | 180 W |", []),
        ("Die RTX 4090 hat eine TDP von 480 W und braucht ein Netzteil mit 850 W.", ["power_w 480 W"]),
        ("L'RTX 4090 assorbe 550 W.", ["power_w 550 W"]),
        # What a model takes is no sum of memories.
        ("Four L40S cards hold 140 GB of weights.", []),
        ("Vier L40S halten 140 GB an Gewichten.", []),
        ("Quatre L40S contiennent 140 Go de poids.", []),
        ("8x H100 SXM hold 405 GB of FP8 weights.", []),
        ("Four L40S hold 182 GB.", ["memory_bytes 182 GB"]),
        # So many of the units of the die.
        ("An H100 SXM uses 132 of the 144 SMs of the GH100 die.", []),
        ("Auf der RTX 4090 sind 128 von 144 SMs aktiv.", []),
        ("Sur la RTX 4090, 128 des 144 SM de la puce sont actifs.", []),
        ("The RTX 4090 enables 16,384 of the chip's 18,432 CUDA cores.", []),
        ("The RTX 4090 has 16 of its 144 SMs switched off.", []),
        ("The H100 SXM has 120 of the 144 SMs of its die.", ["sm_count 120"]),
        ("The RTX 4090 has 144 SMs.", ["sm_count 144"]),
        # The unit says which figure of the memory a column holds.
        ("| GPU | Memory (GB/s) | Memory |\n|---|---|---|\n| T4 | 320 | 16 |\n| L4 | 300 | 24 |", []),
        ("| Karte | Mem. Bandbreite (GB/s) |\n|---|---|\n| H100 SXM | 3350 |\n| L40S | 864 |", []),
        ("| GPU | Mem. rate, TB/s | Mem. |\n|---|---|---|\n| T4 | 0.32 | 16 |\n| L4 | 0.3 | 24 |", []),
        (
            "| GPU | Mem. (GB/s) | Mem. (GB) |\n|---|---|---|\n| H100 SXM | 3530 | 80 |\n| L40S | 864 | 84 |",
            ["memory_bytes_per_s 3530", "memory_bytes 84"],
        ),
        # What was measured, set, idle or needed; the slot, and the day it came to its owner.
        ("Unter Last zieht die RTX 4090 im Mittel 390 W.", []),
        ("Im Leerlauf braucht die RTX 4090 22 W.", []),
        ("The RTX 4090 rendered with 70 \u00b0C and 400 W.", []),
        ("The A100 moves 1.4 TB/s in our copy test.", []),
        ("| GPU | Peak memory (GB) |\n|---|---|\n| RTX 4090 | 21.5 |\n| A100 80GB | 70.2 |", []),
        ("| GPU | VRAM free |\n|---|---|\n| RTX 4090 | 5.8 GB |\n| A100 80GB | 20 GB |", []),
        ("| Modèle | Mémoire | GPU |\n|---|---|---|\n| Llama 8B | 16 Go | RTX 4090 |", []),
        ("| Instance | GPU | Mémoire | vCPU |\n|---|---|---|---|\n| a | L40S | 384 Go | 48 |", []),
        ("| # | GPU | RAM |\n|---|---|---|\n| 1 | T4 | 32 GB |\n| 2 | L4 | 24 GB |", ["memory_bytes 32 GB"]),
        ("Für 405 GB braucht man sechs H100 SXM.", []),
        ("Avec deux RTX 3090, les 42 Go de Llama 70B Q4 tiennent.", []),
        ("The L4 sits in a PCIe 3.0 slot of our old server.", []),
        ("The RTX 4090 has a PCIe 3.0 interface.", ["pcie_generation PCIe 3.0"]),
        ("Our H100 SXM arrived in May 2024.", []),
        ("The L4 was launched in May 2021, as we know.", ["launch May 2021"]),
        ("You get 42 GB with two RTX 3090.", ["memory_bytes 42 GB"]),
        ("| GPU | Full die | Enabled |\n|---|---|---|\n| RTX 4090 | 144 SMs | 128 SMs |", []),
        ("Der AD102 hat 144 SMs, von denen die RTX 4090 128 nutzt.", []),
        ("The H100 SXM has 50 MB of the 60 MB of L2.", []),
        # One network somewhat slower than one of more operations, and rows that were exchanged.
        (
            "Training, images/s, fp16\n\n| Network | H100 SXM |\n|---|---|\n| ResNet-50 | 2400 |\n"
            "| ResNet-152 | 2600 |",
            [],
        ),
        (
            "Training, images/s, fp16\n\n| Network | H100 SXM |\n|---|---|\n| ResNet-50 | 1050 |\n"
            "| ResNet-152 | 2600 |",
            ["throughput 1050"],
        ),
    ],
)  # fmt: skip
def test_what_is_of_something_else(text: str, wrong: list[str]) -> None:
    assert [one.partition(":")[0] for one in accused(text)] == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("## Option B: MI300X\n\nTotal memory   8 x 192 GB = 1,356 GB", ["memory_bytes 1,356 GB: wrong sum"]),
        ("## Option B: MI300X\n\n- Total memory: 8 x 192 GB = 1.5 TB", []),
        ("### Option 1: L40S\n\nGesamtspeicher   4 x 48 GB = 182 GB", ["memory_bytes 182 GB: wrong sum"]),
        ("Our rack: 4 x 24 GB = 86 GB of memory.", ["memory_bytes 86 GB: wrong sum"]),
        ("Power: 8 x 700 W = 5.6 kW, 8 x 350 W = 3.8 kW.", ["power_w 3.8 kW: wrong sum"]),
        ("Zusammen: 8 x 192 GB = 1.536 GB, 8 x 3,35 TB/s = 26,8 TB/s", []),
        # More than one operation, both directions, or what is left of it.
        ("2 x 8 x 80 GB = 1,280 GB, 4 x 24 GB + 8 GB = 104 GB, 4 x 24 GB = 96 GB - 4 GB", []),
        ("16 x 2 GB/s = 64 GB/s both ways, 4 x 24 GB = 92 GB usable", []),
        # One of several.
        (
            "## 8 x H100 SXM\n\nMemory per GPU: 80 GB\nPower per GPU: 620 W\nMemory in total: 640 GB",
            ["power_w 620 W: wrong value"],
        ),
        ("## 4 x L40S\n\n| | |\n|---|---|\n| TDP je Karte | 530 W |", ["power_w 530 W: digit swap"]),
        ("## 8x A100 SXM 80GB\n\n- FP16 per GPU: 412 TFLOPS", ["peak:fp16 412 TFLOPS: wrong value"]),
        ("## 8x A100 SXM 80GB\n\n- FP16: 2,496 TFLOPS\n- power: 3,200 W", []),
    ],
)
def test_sums_and_what_one_of_several_has(text: str, wrong: list[str]) -> None:
    assert accused(text) == wrong


@pytest.mark.parametrize(
    ("open_", "plain"),
    [
        # A subject that no name settles has its own figures, and what follows on it, too.
        ("The RTX 4080 has 9,728 cores. The Super has 10,240.", "The RTX 4080 has 10,240 cores."),
        ("The RX 7900 GRE is odd. The XTX has 24 GB, 960 GB/s.", "The RX 7900 GRE has 24 GB."),
        ("The Jetson Nano has 4 GB. The TX2 went up to 256 cores.", "The Jetson Nano has 256 cores."),
        ("The Orin NX 16GB: 102.4 GB/s. Nano: 68 GB/s.", "The Orin NX 16GB: 68 GB/s."),
        ("The DGX Spark has 273 GB/s. The Strix Halo has 256 GB/s.", "The DGX Spark has 256 GB/s."),
        ("The H100 PCIe has 2 TB/s. SXM parts reach 3.35 TB/s.", "The H100 PCIe reaches 3.35 TB/s."),
        ("The T4 is old. The successor has 24 GB.", "The T4 is old. The card has 24 GB."),
        ("The A100 40GB is old. The larger has 2,039 GB/s.", "The A100 40GB is old. It has 2,039 GB/s."),
        ("The RTX 5080 is new. Next up: 21,760 cores.", "The RTX 5080 is new. Its cores: 21,760."),
        ("The RTX 5080 is new. Next up: over 21,760 cores.", "The RTX 5080 is new. Over 21,760 cores."),
        ("The T4 is old. Then came 24 GB.", "The T4 is old. This is made up for by 24 GB of memory."),
        ("The H100 SXM is old. Hopper's refresh has 4.8 TB/s.", "The H100 SXM is old. There are 4.8 TB/s."),
        ("La RTX 4090 a 24 Go. Sa sœur apporte 1 792 Go/s.", "La RTX 4090 a 24 Go. Elle a 1 792 Go/s."),
        ("The RTX 3060 12GB has 360 GB/s, the 8GB has less.", "The RTX 3060 12GB has 8GB of memory."),
        ("The GTX 1060 6GB is old; the 3GB has fewer cores.", "The GTX 1060 6GB has 3GB of memory."),
        # One that was named beside it has the figure.
        (
            "Coming from a 3080: the RTX 4080 has 0.94 times the bandwidth. Or keep it; 8,704 cores do.",
            "The RTX 4080 has 0.94 times the bandwidth. Or keep it; 8,704 cores do.",
        ),
        # What a GPU is likened to owns none of the list behind.
        (
            "- **A10G**: 24 GB. A cousin of the A10 with lower rates: 70 TFLOPS FP16, where the A10 has 125",
            "- **A10**: 24 GB. It has lower rates: 70 TFLOPS FP16",
        ),
        (
            "The MI355X does 2.5 PFLOPS FP16 and 5 PFLOPS FP8. The MI350X stays at 2.3 PFLOPS.",
            "The MI355X does 5 PFLOPS FP8. The MI350X stays at 2.3 PFLOPS.",
        ),
        (
            "The MI300X has 192 GB, 5.3 TB/s. The Hopper die is smaller.",
            "The H100 has 80 GB. Its Ampere die has 80 billion transistors.",
        ),
        ("Both L4 and L40S are Ada, 24 GB and 48 GB.", "Both the L4 and the L40S have 40 GB."),
        # Laptops' GPUs in other languages, and beside a desktop's.
        (
            "La RTX 4090 del portátil se queda en 9.728 núcleos CUDA y 16 GB de memoria.",
            "La RTX 4090 de escritorio se queda en 9.728 núcleos CUDA y 16 GB de memoria.",
        ),
        ("ノート版の RTX 4090 の CUDA コアは 9,728 基です。", "RTX 4090 の CUDA コアは 9,728 基です。"),
        ("The notebook 4090 uses AD103; the RTX 4090 on the desktop is large.", "The RTX 4090 uses AD103."),
        ("The RTX 4090 has 24 GB. In notebooks it has 16 GB.", "The RTX 4090 has 16 GB."),
        # A precision by its name in other languages.
        ("L'A100 : 312 TFLOPS FP16. En double précision, 9,7 TFLOPS.", "L'A100 : 97 TFLOPS FP16."),
    ],
)
def test_a_subject_that_no_name_settles_accuses_nobody(open_: str, plain: str) -> None:
    assert accused(open_) == []
    assert accused(plain) != []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # The machine's memory in a second column of sizes; a wrong size of the GPUs' own column.
        ("| Queue | GPU | Mem (GB) | CPU per GPU | Mem per GPU (GB) |\n|---|---|---|---|---|\n"
         "| a | L40S | 48 | 16 | 120 |\n| b | RTX 3090 | 24 | 12 | 60 |\n| c | A30 | 24 | 28 | 230 |", []),
        ("| Queue | GPU | Mem (GB) | CPU per GPU | Mem per GPU (GB) |\n|---|---|---|---|---|\n"
         "| a | L40S | 48 | 16 | 120 |\n| b | RTX 3090 | 42 | 12 | 60 |\n| c | H100 SXM | 80 | 28 | 230 |",
         ["42"]),
        # A row that lost a cell: what its last ones are of is open.
        ("| GPU | VRAM (GB) | Compute units | L2 cache (MiB) | L1 cache (KiB) |\n|---|---|---|---|---|\n"
         "| MI210 | 64 | 8 | 16 |\n| MI100 | 32 | 8 | 16 |\n| MI250X | 128 | 220 | 16 | 16 |", []),
        # Miners set the power of their cards.
        ("| GPU | Rate (MH/s) | Power (W) | Memory |\n|---|---|---|---|\n| RTX 3090 | 120 | 285 | 24 GB |\n"
         "| RTX 3080 | 98 | 220 | 10 GB |", []),
        ("| GPU | Cores | Power (W) | Memory |\n|---|---|---|---|\n| RTX 3090 | 10496 | 285 | 24 GB |\n"
         "| RTX 3080 | 8704 | 320 | 10 GB |", ["285"]),
        # Each lane of RDNA 3 issues two operations at once.
        ("The RX 7900 XTX has 12,288 shader units, 24 GB and 960 GB/s.", []),
        ("The RX 7900 XTX has 11,288 shader units, 24 GB and 960 GB/s.", ["11,288"]),
        # "4x" is the row's own count, whatever the other rows have.
        ("| Setup | Total VRAM |\n|---|---|\n| 4x RTX 3090 | 96 GB |\n| 2x RTX 4090 | 48 GB |\n"
         "| 2x L40S | 96 GB |\n| 2x RTX A6000 | 96 GB |\n| 2x RTX 3090 Ti | 48 GB |", []),
        ("- A10 has 24 GB vs the T4's 16 GB\n- L4 has 24 GB vs the T4's 16 GB", []),
        ("The RTX 4090 runs at 2235 MHz, and 1313 MHz on the 24 GB of GDDR6X memory, at 450 W.", []),
        # Names on a line each are the heads of columns.
        ("A100 (Ampere)\n\nH200 (Hopper)\n\nTransistors\n\n54B\n\n80B\n\nPower\n\n400 W\n\n700 W", []),
        ("The RX570 XT has 2048 cores. The RX 570 XT takes 120 W.", []),
    ],
)  # fmt: skip
def test_what_another_part_or_another_count_has(text: str, wrong: list[str]) -> None:
    found = audit.audit_text(text, "a.md").findings
    assert [f.stated for f in found if f.verdict == "contradicts"] == wrong


PRICES = """| GPU | Price |
|---|---|
| RTX 5090 | $1,999 |
| RTX 5080 | $999 |
| RTX 5070 | $549 |
| RTX 5060 | $299 |
"""


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # Prices of a table are those at launch where most are; less may be a later one, or of a used card.
        (f"{PRICES}| RTX 5070 Ti | $799 |", ["launch_price_usd $799"]),
        (f"{PRICES}| RTX 5070 Ti | $699 |", []),
        (f"{PRICES}| RTX 3090 | $1,700 |", []),
        # A row goes on in the next line.
        ("Specs | T4 | L4 |\nTransistors |\n13.6 billion | 53.8 billion |\nTDP |\n70 W | 72 W |\n"
         "VRAM | 16 GB | 24 GB |", ["transistors 53.8 billion"]),
        # What a page sets behind a value, in another element.
        ("# RTX 4090\nMemory BW\n1088 GB/swas 936 GB/s\nTDP\n450 W", ["memory_bytes_per_s 1088 GB/s"]),
        ("# RTX 4090\nMemory BW\n1008 GB/swas 936 GB/s\nTDP\n450 W", []),
        # The cache of a processor, and the density of a chip.
        ("# RTX 4090\nVRAM\n24 GB\nTDP\n450 W\nCPU cache\n1.5 MB L2", []),
        ("# RTX 4090\nVRAM\n24 GB\nTDP\n450 W\nGPU cache\n1.5 MB L2", ["l2_bytes 1.5 MB"]),
        ("RTX 4090\nTransistors: 76.3 billion\nTransistor density: 125.5 billion", []),
        # Below the label of a chip counts are the product's.
        ("# RTX 4090\nVRAM\n24 GB\nGPU chip\nAD102\nCUDA cores\n16348\nTDP\n450 W", ["cuda_cores 16348"]),
        # A month behind a name is that of its launch, but of a price.
        ("The L4 (March 2024) has 24 GB.", ["launch March 2024"]),
        ("The L4 (March 2023) has 24 GB.", []),
        ("The L4 (March 2024) has 24 GB for $2,400.", []),
        ("The L4 (March 2026) has 24 GB.", []),
        # A label may name its GPU, below a line of several.
        ("- Variants: H100 SXM (fast), H100 PCIe (cheap)\n- Memory (H100 SXM): 80 GB, 3.53 TB/s\n"
         "- TDP: 530W (H100 PCIe)", ["memory_bytes_per_s 3.53 TB/s", "power_w 530W"]),
        # What both cards have is of each.
        ("# RTX 4090 vs RTX 3090\nBoth cards have 12 GB of VRAM.", ["memory_bytes 12 GB"]),
        ("# RTX 4090 vs RTX 3090\nBoth cards have 48 GB of VRAM in total.", []),
        # An ability behind the values of a list.
        ("The L40S combines 48 GB of GDDR6, 864 GB/s and NVLink for scaling.",
         ["link combines 48 GB of GDDR6, 864 GB/s and NVLink"]),
        ("The L40S combines 48 GB of GDDR6, 864 GB/s and no NVLink.", []),
        ("The L40S has 48 GB and NVLink is missing.", []),
        # A title says that laptops follow.
        ("NVIDIA presents two mobile GPUs\n\nThe RTX 4070 has 4608 CUDA cores.", []),
        ("NVIDIA presents two GPUs\n\nThe RTX 4070 has 4608 CUDA cores.", ["cuda_cores 4608"]),
        # A maker's name stands for its card where the text has named one of its cards only.
        ("The RTX 4090, RTX 3090 Ti and RX 7900 XTX have 24 GB. The RTX 3090 Ti is old.\n\nYou bought the RX "
         "7900 XTX for its VRAM. Twenty-four gigabytes of VRAM against NVIDIA's 16 GB wall.", []),
        # Of two cards one has no card's name.
        ("Playstation 4 Slim GPU vs RTX 4080\n\nCore clock speed800 MHz2205 MHz\n"
         "Power (TDP)120 Watt320 Watt", []),
        ("Playstation 4 Slim GPU vs RTX 4080\n\nCore clock speed800 MHz2205 MHz\n"
         "Boost clock speed800 MHz2505 MHz\n"
         "Number of transistors1,000 million45,900 million\nPower (TDP)120 Watt230 Watt",
         ["power_w 230 Watt"]),
        # Of two sizes in one row one is wrong.
        ("| GPU | Memory | RAM (GB) | N |\n|---|---|---|---|\n| A100 SXM4 40 GB | 40 GB, HBM2 | 40 | 9 |\n"
         "| A100 SXM4 80 GB | 80 GB, HBM2e | 40 | 9 |\n| A40 | 48 GB, GDDR6 | 48 | 9 |", ["memory_bytes 40"]),
        # A sentence above the name of another GPU is not the head of a table.
        ("NVIDIA RTX 5090\nThe highly anticipated RTX 5090 introduces an architecture that delivers a leap "
         "over all before it\nNVIDIA RTX 4090\n"
         "Bandwidth: 1.01 TB/s\nTensor core performance: 330 TFLOPS (FP16), 660 TOPS (INT8)", []),
    ],
)  # fmt: skip
def test_what_ordinary_pages_hold(text: str, wrong: list[str]) -> None:
    assert [said.rpartition(": ")[0] for said in accused(text)] == wrong


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("| Name | Family |\n|---|---|\n| RTX 3060 12GB | Ampere |\n| L4 24GB | Ada |", {"memory_bytes": 2}),
        ("| Name | VRAM |\n|---|---|\n| RTX 3060 12GB | 12 GB |", {"memory_bytes": 1}),
        ("| Name | $/h |\n|---|---|\n| L4 24GB | 0.40 |", {"memory_bytes": 0}),
        ("GPU\nRTX 3090\nVRAM\n24 GB\nClock speed\n1695 MHz", {"boost_hz": 1, "base_hz": 0}),
        ("GPU\nRTX 3090\nVRAM\n24 GB\nClock speed\n1395 MHz", {"boost_hz": 0, "base_hz": 1}),
        ("The GTX 1080 reaches a boost clock of 1733 megahertz.", {"boost_hz": 1}),
        ("| GPU | TDP per unit |\n|---|---|\n| L4 | 72 W |", {"power_w": 1}),
        ("| GPU | TDP per slot |\n|---|---|\n| L4 | 72 W |", {"power_w": 0}),
        ("| Name | Architecture |\n|---|---|\n| Radeon Pro VII | GCN 5.1 |", {"architecture": 1}),
    ],
)  # fmt: skip
def test_what_is_read_on_ordinary_pages(text: str, claimed: dict[str, int]) -> None:
    fields = [f.field for f in audit.audit_text(text, "a.md").findings if f.verdict == "agrees"]
    assert {field: fields.count(field) for field in claimed} == claimed
