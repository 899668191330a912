"""What stands in manuals and is no claim about the GPU that they name; beside each a text that is one."""

from __future__ import annotations

import pytest

from gpuwise.judge import audit

SMI = (
    "|   0  NVIDIA {}   On  |   00000019:01:00.0 Off |                    0 |\n"
    "| N/A 55C P0 424W / 680W | 4MiB / 97871MiB | 81% |"
)
TABLE = "| GPU | {} |\n|---|---|\n| A100 SXM4 80GB | {} |\n"
SHEET = "# Tesla P100 PCIe\n\n| GPU Architecture | Pascal ({}) |\n|---|---|\n| Max power | 250 W |\n"
NETWORKS = "GPU,number of GPUs,resnet50,vgg16,alexnet,inception_v3,ssd\n" + "".join(
    f"RTX 6000 Ada,{n},{{}}\n" for n in (1, 2, 4)
)
BATCHES = ("96,48,192,64,16", "192,96,384,128,32", "384,192,768,256,64")


@pytest.mark.parametrize(
    ("silent", "accused"),
    [
        # What a job asks of its machine.
        ("# GH200\n\n#SBATCH --mem=120G\n", "# GH200\n\nMemory: 120 GB\n"),
        ("# T4\n\ntorchrun --nproc_per_node=4 a.py\n", "# T4\n\nprocess node: 4 nm\n"),
        ("# T4\n\nrun --memory 20GB x.py\n", "# T4\n\nThe run has memory of 20 GB.\n"),
        ("We ran it with `--mem=64G` on the T4.", "We ran it with 64 GB of memory on the T4."),
        ("# T4\n\n- `--mem=64G`: memory\n", "# T4\n\n- mem=64G: memory\n"),
        ("# T4\n\nMemory: 20Gi\n", "# T4\n\nMemory: 20GiB\n"),
        # A part of it, or more than is sold.
        ("# GH200\n\nA slice has one eighth of the memory (12 GB).", "# GH200\n\nIt has memory of 12 GB."),
        ("The L4 has 76 SMs in the full GPU implementation.", "The L4 has 76 SMs."),
        (TABLE.format("L2 | Of", "4 MB | per SM"), TABLE.format("L2 | Of", "4 MB | all")),
        (TABLE.format("Memory", "40 (160) GB"), TABLE.format("Memory", "160 GB")),
        # What was measured, or counts the one format or the other.
        (TABLE.format("Matmul FP16 TFLOPS", "230"), TABLE.format("FP16 TFLOPS", "230")),
        (TABLE.format("TF32(FP32) / FP16", "9 / 3"), TABLE.format("TF32 / FP16 TFLOPS", "9 / 3")),
        (TABLE.format("CUDA cores", "6000 + 6x 152"), TABLE.format("CUDA cores", "6000")),
        # A chip that is called as a card is, and the lowest setting of a card.
        (SHEET.format("GP100"), SHEET.format("Quadro GP100")),
        ("The H100 NVL has a TDP of 350 W.", "The H100 NVL has a TDP of 340 W."),
        # Dates, formulas, titles, networks, machines as they were set up.
        ("The H200 is available as of 2026-07-31.", "The H200 was launched on 2026-07-31."),
        ("# T4\n\nThe memory is 2*(3-1)/3 * 4GiB = 5 GiB.", "# T4\n\nThe memory is 5 GiB."),
        ("# MI100\n\nMemory: 32 GB\n\n**RDNA**\n", "# MI100\n\nMemory: 32 GB\n\nArchitecture: RDNA\n"),
        ("# T4\n\nBetween Ampere and Hopper much changed.", "# T4\n\nArchitecture: Ampere"),
        ("# H100 SXM\n\nNVLink moves 800 Gbps.", "# H100 SXM\n\nNVLink moves 800 GB/s."),
        ("- 24 GTX 1080 Ti (Full GPU, with MIG)", "- The GTX 1080 Ti supports MIG"),
        (SMI.format("GH200 480GB"), SMI.format("A100 480GB")),
        ("# A100\n\nimage: a.example:5000/cuda-sample", "# A100\n\nimage: a.example, CUDA cores: 5000"),
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
