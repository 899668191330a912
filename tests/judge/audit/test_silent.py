"""What stands in manuals and is no claim about the GPU that they name; beside each a text that is one."""

from __future__ import annotations

from datetime import date

import pytest

from gpuwise.judge import audit
from gpuwise.judge.audit import prose
from gpuwise.judge.audit.words import CUES

SMI = (
    "|   0  NVIDIA {}   On  |   00000019:01:00.0 Off |                    0 |\n"
    "| N/A 55C P0 424W / 680W | 4MiB / 97871MiB | 81% |"
)
TABLE = "| GPU | {} |\n|---|---|\n| A100 SXM4 80GB | {} |\n"
SHEET = "# Tesla P100 PCIe\n\n| GPU Architecture | Pascal ({}) |\n|---|---|\n| Max power | 250 W |\n"
NETWORKS = "GPU,number of GPUs,resnet50,vgg16,alexnet,inception_v3,ssd\n" + "".join(
    f"RTX 6000 Ada,{n},{{}}\n" for n in (1, 2, 4)
)
PAIR = "| GPU | {} | {} |\n|---|---|---|\n| A100 SXM | 255 | 380 |\n| L40S | 270 | 330 |\n"
BULLETS = "  \u2022 192 GB with 8 TB/s - {}\n  \u2022 1,000W TDP, which needs cooling\n"
LAPTOP = "| Machine | GPU |\n|---|---|\n| Laptop (16 GB {}) | RTX 4060 Laptop |\n"
BATCHES = ("96,48,192,64,16", "192,96,384,128,32", "384,192,768,256,64")


CORES = "# Tesla V100\n\n| | |\n|---|---|\n| {} CUDA cores | 2560 |\n| Memory | 16 GB |"
DATED = "| Model | Year |\n|---|---|\n| {} | 2013 |"
PRICED = "| Card | FP8-dense TFLOPS | {} |\n|---|---|---|\n| RTX 4090 | 330.3 | {} |"
MODULE = "| GPU | FP16 TFLOPS | VRAM |\n|---|---|---|\n| H100 SXM | 989 | 80 GB |\n| GB200 | 2500 | {} |"
LISTED = "The H200 has 141 GB of HBM3e.\n\n# H100 SXM\n\n- Boost clock: {} MHz\n- FP16: {}\n- {}\n"
RATED = "A paper has 890 BF16 TFLOPS for the MI300X."
STATED = "| | B200 |\n|---|---|\n| SMs | {} |\n| Memory | 180 GB |"
BESIDE = "| GPU | VRAM | Bandwidth |\n|---|---|---|\n| L4 | 24 GB | 300 GB/s |\n| {} |\n"
SHEET_OF = "## {}\n\n- TDP: {}\n- VRAM: {}\n- {}\n"
SPEED = "With an RTX {} and llama.cpp {} reaches {} tok/s in a single stream."


@pytest.mark.parametrize(
    ("silent", "accused"),
    [
        # What a job asks of its machine.
        ("# GH200\n\n#SBATCH --mem=120G\n", "# GH200\n\nMemory: 120 GB\n"),
        ("# T4\n\ntorchrun --nproc_per_node=4 a.py\n", "# T4\n\nprocess node: 4 nm\n"),
        ("# T4\n\nrun --memory 20GB x.py\n", "# T4\n\nThe card has memory of 20 GB.\n"),
        ("We ran it with `--mem=64G` on the T4.", "We ran it with 64 GB of memory on the T4."),
        ("# T4\n\n- `--mem=64G`: memory\n", "# T4\n\n- mem=64G: memory\n"),
        ("# T4\n\nMemory: 20Gi\n", "# T4\n\nMemory: 20GiB\n"),
        # A part of it, or more than is sold.
        ("# GH200\n\nA slice has one eighth of the memory (12 GB).", "# GH200\n\nIt has memory of 12 GB."),
        ("The L4 has 76 SMs in the full GPU implementation.", "The L4 has 76 SMs."),
        (TABLE.format("L2 | Of", "4 MB | per SM"), TABLE.format("L2 | Of", "4 MB | all")),
        (TABLE.format("Memory", "<160 GB"), TABLE.format("Memory", "160 GB")),
        (TABLE.format("Memory", "40 (160) GB"), TABLE.format("Memory", "160 GB")),
        (TABLE.format("Cores for SM", "64"), TABLE.format("SM count", "64")),
        # What another GPU has, and what chips of memory hold.
        (TABLE.format("Memory", "80 GB (H200: 141 GB)"), TABLE.format("Memory", "141 GB")),
        ("The L40S uses memory chips of 16Gb (2GB).", "The L40S uses memory of 16Gb."),
        ("The T4 has the same wide bus as HBM2.", "The T4 has a wide bus and HBM2."),
        ("The T4 has tensor cores for 64 different levels.", "The T4 has 64 tensor cores."),
        ("- H100: NVLink 5 (per Ampere GPU)", "- H100 (Ampere GPU): NVLink"),
        # What was measured, or counts the one format or the other.
        (TABLE.format("Matmul FP16 TFLOPS", "230"), TABLE.format("FP16 TFLOPS", "230")),
        (TABLE.format("TF32(FP32) / FP16", "9 / 3"), TABLE.format("TF32 / FP16 TFLOPS", "9 / 3")),
        (TABLE.format("CUDA cores", "6000 + 6x 152"), TABLE.format("CUDA cores", "6000")),
        # A chip that is called as a card is, and the lowest setting of a card.
        (SHEET.format("GP100"), SHEET.format("Quadro GP100")),
        ("The H100 NVL has a TDP of 350 W.", "The H100 NVL has a TDP of 340 W."),
        # What a machine, its board or its maker sets, and what is no less than so much.
        ("# RTX 3090\n\nRAM: 64GB DDR5-5600\n", "# RTX 3090\n\nVRAM: 64GB\n"),
        ("# RTX 3090\n\nBoost clock: 1,860 MHz (OC mode)\n", "# RTX 3090\n\nBoost clock: 1,860 MHz\n"),
        ("The RTX 3090 in slot 2 runs PCIe 5.0 x8.", "The RTX 3090 runs PCIe 5.0 x8."),
        (TABLE.format("Bandwidth", "> 1.2 TB/s"), TABLE.format("Bandwidth", "1.2 TB/s")),
        ("# RTX A2000 Laptop\n\nTDP: 32 W\n", "# RTX A2000 Laptop\n\nTDP: 31 W\n"),
        ("# RTX A2000 Laptop\n\nTDP: 218 W\n", "# RTX A2000 Laptop\n\nTDP: 220 W\n"),
        ("# RTX 3080 Laptop\n\nFP32: 13.3 TFLOPS\n", "# RTX 3080 Laptop\n\nFP32: 13.2 TFLOPS\n"),
        ("# RTX A500 Laptop\n\nBandwidth: 79 GB/s\n", "# RTX A500 Laptop\n\nBandwidth: 78 GB/s\n"),
        ("# RTX A500 Laptop\n\nBandwidth: 134 GB/s\n", "# RTX A500 Laptop\n\nBandwidth: 136 GB/s\n"),
        ("# GB200\n\nMemory: 192 GB\n", "# GB200\n\nMemory: 196 GB\n"),
        ("# M1 Max\n\nBandwidth: 400.0 GB/s\n", "# M1 Max\n\nBandwidth: 300.0 GB/s\n"),
        ("# Pro A40\n\nMemory: 6 GB\n", "# A40\n\nMemory: 6 GB\n"),
        # Dates, formulas, titles, networks, machines as they were set up.
        ("The H200 is available as of 2026-07-31.", "The H200 was launched on 2026-07-31."),
        ("# T4\n\nThe memory is 2*(3-1)/3 * 4GiB = 5 GiB.", "# T4\n\nThe memory is 5 GiB."),
        ("# MI100\n\nMemory: 32 GB\n\n**RDNA**\n", "# MI100\n\nMemory: 32 GB\n\nArchitecture: RDNA\n"),
        ("# T4\n\nBetween Ampere and Hopper much changed.", "# T4\n\nArchitecture: Ampere"),
        ("# H100 SXM\n\nNVLink moves 800 Gbps.", "# H100 SXM\n\nNVLink moves 800 GB/s."),
        ("- 24 GTX 1080 Ti (Full GPU, with MIG)", "- The GTX 1080 Ti supports MIG"),
        (SMI.format("GH200 480GB"), SMI.format("A100 480GB")),
        ("# A100\n\nimage: a.example:5000/cuda-sample", "# A100\n\nimage: a.example, CUDA cores: 5000"),
        # The machine around it, its settings, slices, and what somebody measured.
        ("A workstation with an RTX 4090 has 128 GB of memory.", "An RTX 4090 has 128 GB of memory."),
        ("The VM (A10G, 4 vCPUs, 16 GB) is small.", "The VM (A10G, 16 GB) is small."),
        ("On the A100 the profile 3g.40gb has 42 SMs.", "The A100 has 42 SMs."),
        ("A vGPU profile on the L40S with 12 GB is enough.", "The L40S with 12 GB is enough."),
        ("The H100 SXM gets 2.9 TB/s in the STREAM test.", "The H100 SXM gets 2.9 TB/s."),
        ("A matmul on the A100 SXM reaches 260 TFLOPS in BF16.", "The A100 SXM reaches 260 TFLOPS in BF16."),
        ("My 4090 at 70% power takes 315 W.", "The 4090 takes 315 W."),
        ("My 4090 takes 315 W.", "My 4090 takes 615 W."),
        (PAIR.format("GEMM (TFLOPS)", "Power (W)"), PAIR.format("GEMM (TFLOPS)", "TDP (W)")),
        # Chips, former products and those that never were.
        ("# H100 SXM\n\nThe full AD102 has 18,432 cores.", "# H100 SXM\n\nIt has 18,432 cores."),
        ("The MI50 16 GB or 32 GB is old.", "The MI50 16 GB has 32 GB."),
        ("# A100\n\nTensor cores came in the Volta generation.", "# A100\n\nIts architecture is Volta."),
        ("The A100's successor has 3.35 TB/s.", "The A100 has 3.35 TB/s."),
        ("The unreleased RTX 4060 had a 192-bit bus.", "The RTX 4060 had a 192-bit bus."),
        ("It has 192 GB, 2.4x the memory of the H100.", "192 GB is the memory of the H100."),
        (
            "The A5000 has 24 GB. The H200 has 4.8 TB/s instead of 3.35 TB/s.",
            "The A5000 has a bandwidth of 3.35 TB/s.",
        ),
        (BULLETS.format("2.4x the memory of the H100"), BULLETS.format("this is the H100")),
        # Logs and addresses.
        (
            ':::mem_info of the machine that ran all: {"ram": "31G"}\n:::gpu: GeForce RTX 2070, driver 440',
            "# RTX 2070\n\nMemory: 31 GB",
        ),
        ("# A100\n\nimage: a.example:5000/<user>/cuda-sample", "# A100\n\nimage: a, CUDA cores: 5000"),
        ("# H100\n\nSee nvidia.com/nvlink/3.6TB/s for it.", "# H100\n\nNVLink: 3.6 TB/s"),
        ("# H100\n\n-l select=1:ncpus=8:mem=10gb:gpu_type=h100", "# H100\n\nmem=10gb"),
        ("# GH200\n\nGPU 0: GH200 120GB (UUID: GPU-1)", "# GH200\n\nMemory: 120GB"),
        ("# A100\n\n\u6a21\u578b\u6743\u91cd\uff08130 GB\uff09\u3002", "# A100\n\nMemory (130 GB)"),
        # What a machine does with the card, and what another one has.
        (TABLE.format("PCIe", "4.0 (operates at PCIe 3.0)"), TABLE.format("PCIe", "4.0 (PCIe 3.0)")),
        (TABLE.format("TDP", "400 W; measured 225 W"), TABLE.format("TDP", "225 W")),
        ("# T4\n\nLoad power: a dual-GPU rig takes 450 W", "# T4\n\nLoad power: 450 W"),
        ("Read the H100 or Blackwell paper.", "Read the paper of the H100 (Blackwell)."),
        ("NVLink (H100: 900 GB/s; Blackwell NVLink5: 1.8 TB/s)", "H100: 1.8 TB/s of NVLink"),
        ("# L40S\n\nint4_tensor_core: 733", "# L40S\n\ntensor_cores: 733"),
        ("| RTX 3090 + 3090 Ti (48GB) |", "| RTX 3090 Ti (48GB) |"),
        ("The L40S needs instead of 600 W only 350 W.", "The L40S needs 600 W."),
        ("| GPU | FP8 TFLOPS |\n|---|---|\n| B200 | 4500 (FP4 9000) |", "B200: 4500 TFLOPS of dense FP4"),
        (LAPTOP.format("RAM, 8 GB VRAM"), LAPTOP.format("VRAM")),
        ("# RX 7600\n\nArchitecture: RDNA", "# RX 7600\n\nArchitecture: RDNA 2"),
        # A rebuilt card, a chip that a product is named after, a cut-down card of the same name.
        ("Who buys an RTX 3080 20GB today?", "The RTX 3080's 20 GB are slow."),
        (DATED.format("GV100"), DATED.format("Quadro GV100")),
        (DATED.format("Radeon RX 580 2048SP"), DATED.format("Radeon RX 580")),
        ("Intel's Arc Pro A40 is small. The A40 needs 50 W.", "NVIDIA's A40 is small. The A40 needs 50 W."),
        ("The L20 48G is dear.", "The L40's L2 cache has 48 GB."),
        # Cores of another kind, a figure in thousands, what a program drew, what a TFLOPS costs.
        (CORES.format("Double precision"), CORES.format("Single precision")),
        ("The RTX PRO 5000 Blackwell has 14k CUDA cores.", "The RTX PRO 5000 Blackwell has 18k CUDA cores."),
        (
            "gpu,power_draw_max_w\nRTX 5060,111.5\nRTX 5060,133.9\nRTX 5060,98.1\n",
            "gpu,tdp_w\nRTX 5060,180\nRTX 5070,250\nRTX 5080,360\n",
        ),
        (PRICED.format("$/TF8 (4090s lack FP4)", "4.84"), PRICED.format("FP4 TFLOPS", "1321")),
        # Two GPUs in one module; a mixture of experts, of whose weights few are read.
        (MODULE.format("384 GB"), MODULE.format("288 GB")),
        (SPEED.format("3090", "Qwen 3 30B in F16", 60), SPEED.format("3090", "Qwen 3 32B in F16", 60)),
        (SPEED.format("5090", "GPT OSS 120B in F16", 31), SPEED.format("3090", "Llama 70B in Q4", 60)),
        # Several fields that are wrong near each other are of the product that the list is about.
        (LISTED.format("2,520", "420 TFLOPS", "450 W"), LISTED.format("2,520", "989 TFLOPS", "700 W")),
        # A rate beside measured ones, a figure that the text itself doubts.
        (f"An MI300X sustains 708 TFLOPS at 1,207 MHz. {RATED}", RATED),
        (STATED.format("148 (unverified: 208)"), STATED.format("208")),
        # What a cache makes of a rate; a name that ends like a count.
        ("# RTX 4060\n\nIts cache gives the equivalent of 453 GB/s.", "# RTX 4060\n\nMemory: 453 GB/s"),
        ("| | GTX 980 |\n|---|---|\n| TDP | 165 W |", "| | GTX 980 |\n|---|---|\n| TDP | 195 W |"),
        # A figure beside the right one, what is at least, what cards have together.
        (TABLE.format("TDP", "400 W (500 W peak)"), TABLE.format("TDP", "500 W")),
        (BESIDE.format("T4 | 16 GB | 200+ GB/s"), BESIDE.format("T4 | 16 GB | 200 GB/s")),
        (BESIDE.format("T4 + L4 | 40 GB | 320 GB/s"), BESIDE.format("T4 and L4 | 12 GB | 320 GB/s")),
        # What bits that find errors leave; of another memory size than the catalog has.
        (BESIDE.format("T4 | 15 GB | 320 GB/s"), BESIDE.format("T4 | 14 GB | 320 GB/s")),
        (BESIDE.format("H20 | 141 GB | 4.8 TB/s"), BESIDE.format("H20 | 96 GB | 4.8 TB/s")),
        # Of the machine: its memory, its processor, the link to it; of a model; of a maker's faster card.
        (SHEET_OF.format("RTX 3090", "350 W", "24 GB", "RAM: DDR4"),
         SHEET_OF.format("RTX 3090", "350 W", "24 GB", "Memory type: HBM2")),
        (SHEET_OF.format("RTX 3090", "350 W", "24 GB", "Runs Llama with 4 bits"),
         SHEET_OF.format("RTX 3090", "350 W", "24 GB", "Memory bus: 36 bits")),
        (SHEET_OF.format("H100 SXM", "700 W", "80 GB", "Boost clock: 3.60 GHz"),
         SHEET_OF.format("H100 SXM", "700 W", "80 GB", "Boost clock: 2.60 GHz")),
        (SHEET_OF.format("GB200", "1200 W", "186 GB", "NVLink-C2C: 900 GB/s"),
         SHEET_OF.format("B200", "1000 W", "180 GB", "NVLink: 900 GB/s")),
        (SHEET_OF.format("RX 9060 XT", "160 W", "16 GB", "Boost clock: 3.32 GHz"),
         SHEET_OF.format("RX 9060 XT", "160 W", "16 GB", "Boost clock: 3.42 GHz")),
        # Batch sizes, and what a month costs.
        (NETWORKS.format(*BATCHES), NETWORKS.format(*(row.replace("192", "193") for row in BATCHES))),
        (TABLE.format("Price per hour", "$1,800"), TABLE.format("Price per hour", "$180")),
    ],
)  # fmt: skip
def test_what_is_no_claim(silent: str, accused: str) -> None:
    found = [
        sum(
            f.verdict in ("contradicts", "differs")
            for f in audit.audit_text(text, "a.csv" if "," in text[:6] else "a.md").findings
        )
        for text in (silent, accused)
    ]
    assert found[0] == 0 < found[1]


OBJECTS = """{{"cards": [
  {{
    "name": "V100S PCIe",
    "memory_bandwidth": 1134,
    "gpu_memory": 32
  }},
  {{
    "name": "{}",
    "gpu_memory": 24,
    "power_consumption": 450
  }},
  {{
    "gpu": "H100 SXM",
    "cnt": {},
    "gpu_memory": 160
  }}
]}}
"""


@pytest.mark.parametrize(
    ("name", "count", "wrong"), [("V100S PCIe", 2, 2), ("Foo 12", 2, 0), ("RTX4090", 2, 0), ("RTX4090", 1, 1)]
)
def test_an_object_of_a_list_speaks_of_none_of_the_others(name: str, count: int, wrong: int) -> None:
    found = audit.audit_text(OBJECTS.format(name, count), "a.json").findings
    assert sum(f.verdict == "contradicts" for f in found) == wrong


SIZES = "| GPU | VRAM |\n|---|---|\n| L4 | 24 GB |\n"
CORES, RATE, OTHER = "The L4 has 7,424 CUDA cores.", "The L4 moves 300 GB/s.", "The T4 draws 70 W of power."


@pytest.mark.parametrize(
    ("before", "behind", "said", "verdict"),
    [
        # What a text of other matters says in passing: too little around it is right, or too far away.
        (CORES, "", "The L4 draws 95 W of power.", "cannot tell"),
        (CORES, CORES, "The L4 draws 95 W of power.", "cannot tell"),
        (CORES, "The L4 has 24 GB of memory.", "The L4 draws 95 W of power.", "cannot tell"),
        (CORES, "", f"The L4 draws 95 W of power.\n\n{SIZES}", "contradicts"),
        (CORES, RATE, "The L4 draws 95 W of power.", "contradicts"),
        (CORES, OTHER, "The L4 draws 95 W of power.", "contradicts"),
        (f"{CORES}\n", f"\n{RATE}", "The L4 draws 95 W of power.", "cannot tell"),
        ("", "", "The L4 draws 27 W of power.", "contradicts"),
    ],
)
def test_errors_in_passing(before: str, behind: str, said: str, verdict: str) -> None:
    gap = "\n" * 12
    text = f"{'Words.' + 20 * chr(10)}{before}{gap}{said}{gap}{behind}"
    found = audit.audit_text(text, "a.txt").findings
    assert [f.verdict for f in found if "W" in f.stated and "L4" in f.gpu] == [verdict]


def test_a_short_text_needs_no_company() -> None:
    text = "{}The L4 draws 95 W of power.{}The A10 is fine.\n\nThe A10 has 24 GB of memory."
    near, far = (text.format("\n" * 11, "\n" * lines) for lines in (10, 11))
    assert [audit.audit_text(t, "a.txt").count("contradicts") for t in (near, far)] == [1, 0]


def test_a_doubt_is_explained() -> None:
    found = audit.audit_text("We measured 250 GB/s of memory bandwidth on the L4.", "a.txt").findings
    assert [f.verdict for f in found] == ["cannot tell"]
    assert all(one["says"] for one in prose.DOUBTS)
    used = [(prose.AT, [one.get("at", "text") for one in prose.DOUBTS])]
    used += [(prose.FACTS, [f for one in prose.DOUBTS for k in ("when", "unless") for f in one.get(k, ())])]
    used += [(CUES, [cue for one in prose.DOUBTS for cue in one.get("cues", ())])]
    assert all(set(names) <= set(known) for known, names in used)


@pytest.mark.parametrize(
    ("fields", "apart", "wrong"),
    # So few fields make no sheet, whose values are right or wrong whatever stands around them; nor do values
    # so far from each other.
    [(3, 0, 0), (4, 0, 3), (4, 36, 3), (4, 37, 0)],
)
def test_a_sheet_of_one_gpu(fields: int, apart: int, wrong: int) -> None:
    stated = ["Architecture: Ada", "VRAM: 20 GB", "Bandwidth: 1100 GB/s", "Memory bus: 512 bit"][-fields:]
    text = f"# RTX 4090{24 * chr(10)}{stated[0]}{apart * chr(10)}\n" + "\n".join(stated[1:])
    assert audit.audit_text(f"{text}{24 * chr(10)}The end.", "a.txt").count("contradicts") == wrong


LINE = "|---|---|---|\n"
PRICES = "GPU,Price,{}\nRTX 3090,$1770,April 2022\nRTX 3080,$900,May 2022\nRTX 3070,$600,May 2022\n"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (PRICES.format("Month"), 0),
        (PRICES.format("Launch"), 2),
        (f"| | RTX 3090 | RTX 4090 |\n{LINE}| Memory | 24 GB | 24 GB |\n| FP64 | 1/64 | 1/64 |\n", 0),
        (f"| | B200 (per die) | H100 SXM |\n{LINE}| Memory | 96 GB | 80 GB |\n| TDP | 500 W | 700 W |\n", 0),
    ],
)
def test_columns_that_are_of_something_else(text: str, wrong: int) -> None:
    found = audit.audit_text(text, "a.csv" if text[0] == "G" else "a.md").findings
    assert sum(f.verdict == "contradicts" for f in found) == wrong


@pytest.mark.parametrize(
    ("gpu", "price", "verdict"),
    [
        ("L4", "0.600123456", "agrees"),
        ("H100 80GB", "999", "cannot tell"),
        ("H100 80GB", "998", "contradicts"),
    ],
)
def test_prices_with_many_digits_and_marks_of_none(gpu: str, price: str, verdict: str) -> None:
    row = '{{"gpu": "NVIDIA {}", "price_per_hour": {}}},\n'.format
    text = f"[{row('H100 80GB', 2.1)}{row('H100 80GB', 2.4)}{row(gpu, price)}]"
    found = audit.audit_text(text, "a.json", today=date(2026, 11, 26)).findings
    assert [f.verdict for f in found if f.stated == price] == [verdict]


def test_what_is_stated_rightly_elsewhere_is_of_another_product() -> None:
    """Where no GPU of the text has it, it is wrong all the same."""
    one = "The RTX 4090 has 24 GB of memory.\n\nIts bus has 384 bits.\n\nIt has 32 GB of memory.\n"
    two = one + "\nThe RTX 5080 has 16 GB of memory and a bus of 256 bits.\n"
    three = one + "\nThe RTX 5090 has 32 GB of memory and a bus of 512 bits.\n"
    found = [audit.audit_text(text, "a.md").findings for text in (one, two, three)]
    assert [sum(f.verdict == "contradicts" for f in each) for each in found] == [1, 1, 0]
