"""Tables in every dress: marked up, parted by tabs or spaces, one cell a line, run together."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from gpuwise.errors import InputError
from gpuwise.judge import audit
from gpuwise.judge.audit.grid import JUDGED

Read = Callable[..., list[tuple[str, str, str]]]
FACTS = {
    ("T4", "memory_bytes", "16 GB"),
    ("L4", "memory_bytes", "24 GB"),
    ("T4", "memory_bytes_per_s", "320 GB/s"),
    ("L4", "memory_bytes_per_s", "300 GB/s"),
    ("T4", "power_w", "70 W"),
    ("L4", "power_w", "72 W"),
}
DRESSES = {
    "rows": "| GPU | VRAM | Mem BW | TDP |\n|---|---|---|---|\n| T4 | 16 GB | 320 GB/s | 70 W |\n"
    "| L4 | 24 GB | 300 GB/s | 72 W |",
    "columns": "| | T4 | L4 |\n|---|---|---|\n| VRAM | 16 GB | 24 GB |\n| Bandwidth | 320 GB/s "
    "| 300 GB/s |\n| Power draw | 70 W | 72 W |",
    "no rule": "| GPU | VRAM | Bandwidth | TDP |\n| T4 | 16 GB | 320 GB/s | 70 W |\n| L4 | 24 GB "
    "| 300 GB/s | 72 W |",
    "tabs": "GPU\tVRAM\tBandwidth\tTDP\nT4\t16 GB\t320 GB/s\t70 W\nL4\t24 GB\t300 GB/s\t72 W",
    "spaces": "GPU VRAM Memory Bandwidth TDP\nNVIDIA T4 16 GB 320 GB/s 70 W\nNVIDIA L4 24 GB 300 GB/s 72 W",
    "gpus over rows": "Specification NVIDIA T4 NVIDIA L4\nVRAM 16 GB 24 GB\nMemory bandwidth 320 "
    "GB/s 300 GB/s\nTDP 70 W 72 W",
    "run together": "SpecNVIDIA T4NVIDIA L4\nVRAM16 GB24 GB\nMemory Bandwidth320 GB/s300 GB/s\nTDP70 W72 W",
    "one cell a line": "T4\nL4\nVRAM\n16 GB\n24 GB\nColour\nblack\ngreen\nMemory bandwidth\n320 "
    "GB/s\n300 GB/s\nTDP\n70 W\n72 W",
    "dotted leaders": "## T4\nVRAM ....... 16 GB\nBandwidth . . . . 320 GB/s\nTDP ...... 70 W\n\n## L4\n"
    "VRAM ....... 24 GB\nBandwidth . . . . 300 GB/s\nTDP ...... 72 W",
    "labels in two rows": "<table><tr><td rowspan=2>GPU</td><td colspan=2>Memory</td><td rowspan=2>TDP"
    "<tr><td>Size</td><td>Bandwidth</td></tr><tr><td>T4</td><td>16 GB</td><td>320 GB/s</td><td>70 W</td></tr>"
    "<tr><td>L4</td><td>24 GB</td><td>300 GB/s</td><td>72 W</td></tr></table>",
    "rows, one cell a line": "GPU\nVRAM\nBandwidth\nTDP\nT4\n16 GB\n320 GB/s\n70 W\nL4\n24 "
    "GB\n300 GB/s\n72 W",
    "lists": "## T4\n- VRAM: 16 GB\n- Bandwidth: 320 GB/s\n- TDP: 70 W\n\n## L4\n- VRAM: 24 GB\n- "
    "Bandwidth: 300 GB/s\n- TDP: 72 W",
    "plain headings": "NVIDIA T4:\nVRAM: 16 GB\nBandwidth: 320 GB/s\nTDP: 70 W\n\nNVIDIA "
    "L4:\nVRAM: 24 GB\nBandwidth: 300 GB/s\nTDP: 72 W",
    "pairs in a line": "## T4\nVRAM: 16 GB | Bandwidth: 320 GB/s "
    "| TDP: 70 W\n\n## L4\nVRAM: 24 GB, Bandwidth: 300 GB/s, TDP: 72 W",
    "CSV in a text": "$ ./list\nname, memory.total [MiB], memory_bandwidth_gb_s, power [W]\n"
    "Tesla T4, 16 GB, 320, 70\nNVIDIA L4, 24 GB, 300, 72\n\nThat is all.",
    "YAML": "gpus:\n  - name: T4\n    memory_gb: 16\n    memory_bandwidth_gbs: 320\n    tdp_watts: 70\n"
    "  - name: L4\n    memory_gb: 24\n    memory_bandwidth_gbs: 300\n    tdp_watts: 72",
    "html": "<table><tr><th>GPU<th>VRAM<th>Bandwidth<th>TDP<tr><td>T4<td>16 GB<td>320 GB/s<td>70 W"
    "<tr><td>L4<td>24 GB<td>300 GB/s<td>72 W</table>",
}


CARDS = {
    "RTX 3060 Ti": ("Ampere", "8", "256", "448", "200"),
    "RTX 4060": ("Ada Lovelace", "8", "128", "272", "115"),
    "RX 6700 XT": ("RDNA 2", "12", "192", "384", "230"),
    "GTX 1080": ("Pascal", "8", "256", "320", "180"),
}
LABELS = ("Architecture", "Memory (GB)", "Bus (bit)", "Bandwidth (GB/s)", "TDP (W)")


def test_spaces_align_rows_below_a_head_without_a_first_cell(claimed: Read) -> None:
    """Four blanks before the head make it no block of code."""
    columns = list(zip(LABELS, *CARDS.values(), strict=True))
    lines = ["".join(f"{cell:<20}" for cell in row) for row in (("", *CARDS), *columns)]
    found = claimed("Ten years\n\n" + "\n".join(lines), "a.txt")
    assert len(found) == len(CARDS) * len(LABELS)
    assert len({gpu for gpu, _, _ in found}) == len(CARDS)


def test_columns_that_single_blanks_part(claimed: Read) -> None:
    text = (
        "Model       SMs Cores Tensor Memory   FP32\n"
        "RTX 4090    128 16384 512    24 GB    82.6\n"
        "RTX 3090    82  10496 328    24 GB    35.6\n"
        "RTX A6000   84  10752 336    48 GB    38.7"
    )
    found = [(field, value) for gpu, field, value in claimed(text, "a.txt") if gpu == "RTX A6000"]
    counts = [("sm_count", "84"), ("cuda_cores", "10752"), ("tensor_cores", "336")]
    assert found == [*counts, ("memory_bytes", "48 GB"), ("peak:fp32", "38.7")]


@pytest.mark.parametrize("comma", [",", ";", "\t"])
@pytest.mark.parametrize(
    "lead", ["# cards, exported today\n", "Cards of the lab; responsible: a, b\n\n", "\n"]
)
def test_a_title_above_the_head_of_csv(claimed: Read, comma: str, lead: str) -> None:
    rows = [("gpu", *LABELS), *((name, *facts) for name, facts in CARDS.items())]
    found = claimed(lead + "\n".join(comma.join(row) for row in rows), "a.csv")
    assert len(found) == len(CARDS) * len(LABELS)


@pytest.mark.parametrize("head", ["Watt unter Last", "Measured power (W)", "Watts, average"])
def test_what_was_drawn_is_no_power_of_the_card(head: str) -> None:
    """Less than the limit, and no claim of it; a column of limits is one."""
    text = "| Karte | {} |\n|---|---|\n| RTX 4060 | 101 |\n| RX 6700 XT | 201 |"
    power = [
        [f.verdict for f in audit.audit_text(text.format(each), "a.md").findings if f.field == "power_w"]
        for each in (head, "TDP (W)")
    ]
    assert power == [[], ["contradicts", "contradicts"]]


@pytest.mark.parametrize("dress", DRESSES)
def test_one_table_in_every_dress(claimed: Read, dress: str) -> None:
    found = claimed(DRESSES[dress], "a.html" if dress == "html" else "a.txt")
    written = {
        (gpu.removeprefix("NVIDIA ").removeprefix("Tesla "), field, value.partition(" ")[0])
        for gpu, field, value in found
    }
    assert written == {(gpu, field, value.partition(" ")[0]) for gpu, field, value in FACTS}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        # Where a rate stands without and with a mark, the mark is that of sparsity.
        ("| | A100 |\n|---|---|\n| FP16 TFLOPS | 312 |\n| FP16 TFLOPS* | 624 |", ["agrees", "agrees"]),
        ("| | A100 |\n|---|---|\n| FP16 TFLOPS* | 624 |", ["contradicts"]),
        # A format may stand in another cell of the row, and be none of the memory's.
        ("| GPU | Precision | TFLOPS |\n|---|---|---|\n| L40S | FP8 | 733 |\n"
         "| L40S | FP16 | 733 |", ["agrees", "contradicts"]),
        ("| GPU | Arithmetic bandwidth (TFLOP/s) |\n|---|---|\n| L40S FP8 | 733 |\n"
         "| L40S FP16 | 733 |", ["agrees", "contradicts"]),
        # What one multiprocessor has, and the processor takes, is none of the card's.
        ("| GPU | SMs | CUDA cores/SM | CPU TDP | TDP |\n|---|---|---|---|---|\n"
         "| L4 | 58 | 128 | 205 W | 72 W |\n"
         "| A40 | 84 | 128 | 205 W | 300 W |", ["agrees"] * 4),
        # Below laptops a name is that of the laptop's card.
        ("### Laptop cards\n\n| GPU | Cores | Bandwidth |\n|---|---|---|\n"
         "| RTX 3070 L 8GB | 5120 | 448 GB/s |\n"
         "| RTX 3060 | 3840 | 360 GB/s |", ["agrees"] * 4 + ["contradicts"]),
        ("### Laptop and desktop cards\n\n| GPU | Cores | Bandwidth |\n|---|---|---|\n"
         "| RTX 3060 | 3584 | 360 GB/s |",
         ["agrees"] * 2),
        # Whether a machine has NVLink says nothing of its cards.
        ("| Cluster | GPU | Number per node | NVLink |\n|---|---|---|---|\n| a | A100 | 4 | No |\n"
         "| b | L40S | 4 | Yes |",
         ["cannot tell"] * 2),
        ("| GPU | NVLink |\n|---|---|\n| A100 SXM | No |\n| L40S | Yes |", ["contradicts"] * 2),
        # What is emulated is not in the hardware; that is no excuse for a "No".
        ("| GPU | BF16 |\n|---|---|\n| T4 | Yes (emulated) |\n| L4 | No (emulated) |",
         ["cannot tell", "contradicts"]),
        # "2.0" of a program is two.
        ("| GPU | GPU number | Total TDP (W) |\n|---|---|---|\n| V100 SXM2 | 2.0 | 600.0 |", ["agrees"]),
        ("| GPU | Arch |\n|---|---|\n| L4 | Lovelace |\n| T4 | Lovelace |", ["agrees", "contradicts"]),
        ("| GPU | TDP (W) |\n|---|---|\n| RTX 3090 | 300\uff5e350 |\n"
         "| RTX 4090 | 400\uff5e440 |", ["agrees", "contradicts"]),
    ],
)  # fmt: skip
def test_whose_and_which_a_cell_is(table: str, expected: list[str]) -> None:
    assert [f.verdict for f in audit.audit_text(table, "a.md").findings] == expected


def test_what_stands_far_before_a_name_is_of_its_machine() -> None:
    rows = "1,a,x,2020,DDR4,L40S,84 GB,300 W\n2,b,x,2019,DDR4,L40S,48 GB,350 W"
    found = audit.audit_text(f"Id,Node,CPU,Year,RAM,Card,GPU memory,TDP\n{rows}", "a.csv").findings
    assert [(f.field, f.stated) for f in found if f.verdict == "contradicts"] == [("memory_bytes", "84 GB")]


@pytest.mark.parametrize(
    ("cell", "verdict"),
    [
        ("Oct 5th, 2020", "agrees"), ("Oct 5th, 2018", "contradicts"), ("5/10/20", "agrees"),
        ("5.10.2018", "contradicts"), ("2020\u5e7410\u6708", "agrees"), ("2018\u5e7410\u6708", "contradicts"),
    ],
)  # fmt: skip
def test_dates_in_a_column_of_them(cell: str, verdict: str) -> None:
    found = audit.audit_text(f'GPU,Released\nA40,"{cell}"', "a.csv").findings
    assert [(f.field, f.verdict) for f in found] == [("launch", verdict)]


@pytest.mark.parametrize(("above", "read"), [("On demand, $ per GPU and hour:", 2), ("What it costs:", 0)])
def test_columns_of_rents_below_a_caption(above: str, read: int) -> None:
    text = (
        f"{above}\n\n| GPU | Big cloud | Small cloud |\n|---|---|---|\n"
        "| A100 80GB | $1.50\u2013$3.00 | $1.10 |"
    )
    assert sum(f.field == "rent per hour" for f in audit.audit_text(text, "a.md").findings) == read


def test_what_nvidia_smi_prints() -> None:
    text = (
        "|   0  NVIDIA A40          Off |   00000000:4E:00.0 Off |          0 |\n"
        "| 30%   29C    P8             22W /  250W |     507MiB /  46068MiB |      0%      Default |\n"
        "+------+\n"
        "|   1  NVIDIA L4           Off |   00000000:4F:00.0 Off |          0 |\n"
        "| 30%   29C    P8             22W /  72W |     507MiB /  16376MiB |      0%      Default |\n"
    )
    found = {(f.gpu, f.lines, f.field, f.verdict) for f in audit.audit_text(text).findings}
    assert found == {
        # ECC takes a part of the memory, and the owner sets the limit of the power.
        ("NVIDIA A40", (2,), "power_w", "cannot tell"),
        ("NVIDIA A40", (2,), "memory_bytes", "cannot tell"),
        ("NVIDIA L4", (5,), "power_w", "agrees"),
        ("NVIDIA L4", (5,), "memory_bytes", "contradicts"),
    }


def test_csv_takes_its_units_from_the_header(claimed: Read) -> None:
    text = "gpu_name,vram_gb,memory_bandwidth_gbps,power_watt,ai_score\nRTX_3090,24,936,350,97\n"
    assert claimed(text, "a.csv") == [
        ("RTX 3090", "memory_bytes", "24"),
        ("RTX 3090", "memory_bytes_per_s", "936"),
        ("RTX 3090", "power_w", "350"),
    ]


def test_cells_that_span_rows(claimed: Read) -> None:
    text = (
        "<table><tr><th>GPU<th>Form<th>TDP<tr><td rowspan=2>H100<td>PCIe<td>350 "
        "W<tr><td>SXM5<td>700 W</table>"
    )
    assert [value for _, field, value in claimed(text, "a.html") if field == "power_w"] == ["350 W", "700 W"]
    assert {f.verdict for f in audit.audit_text(text, "a.html").findings} == {"agrees"}


def test_what_looks_like_a_field_and_is_not(claimed: Read) -> None:
    rows = (
        "| Memory clock | 14 GB/s |\n| System RAM | 64 GB |\n| FP32 per watt | 121 GFLOPS |\n"
        "| Encoder generation | 2 |"
    )
    assert claimed(f"# RTX A5000\n\n| | RTX A5000 |\n|---|---|\n{rows}") == []


def test_a_format_that_is_not_judged_is_read_as_no_other() -> None:
    rows = "| RTX 3090 | 71 | 284 |\n| RTX 4090 | 165 | 660 |"
    table = f"| GPU | FP16 TFLOPS | INT4 TFLOPS |\n|---|---|---|\n{rows}"
    found = audit.audit_text(table, "a.md", today=date(2026, 11, 23)).findings
    assert [(f.field, f.verdict) for f in found] == [("peak:fp16", "agrees")] * 2


@pytest.mark.parametrize(
    ("inside", "verdicts"), [("1,979", ["agrees"] * 2), ("989", ["agrees", "contradicts"])]
)
def test_a_format_that_was_introduced_is_of_the_rate_behind_it(inside: str, verdicts: list[str]) -> None:
    cell = f"990 TFLOPS (FP8 introduced, {inside} TFLOPS)"
    table = f"| GPU | Dense BF16 | Memory |\n|---|---|---|\n| H100 SXM5 | {cell} | 80 GB |"
    found = audit.audit_text(table, "a.md", today=date(2026, 11, 23)).findings
    rates = [f for f in found if f.field.startswith("peak:")]
    assert [f.field for f in rates] == ["peak:bf16", "peak:fp8"]
    assert [f.verdict for f in rates] == verdicts


def test_dense_and_sparse_in_one_cell() -> None:
    text = "| GPU | FP16 Tensor |\n|---|---|\n| A100 SXM | {} |"
    for cell, wrong in (
        ("312 / 624 TFLOPS", False),
        ("312 TFLOPS | 624 TFLOPS*", False),
        ("624 TFLOPS", True),
    ):
        found = audit.audit_text(text.format(cell.replace("|", "\\|"))).findings
        assert any(f.verdict == "contradicts" for f in found) == wrong


def test_a_footnote_makes_starred_rates_sparse() -> None:
    text = "| GPU | FP16 Tensor |\n|---|---|\n| A100 SXM | 624 TFLOPS* |\n\n* Shown with sparsity."
    assert {f.verdict for f in audit.audit_text(text).findings} == {"agrees"}


@pytest.mark.parametrize(
    ("mark", "note"),
    [
        ("<sup>1</sup>", "<sup>1</sup> Shown with sparsity. Half as much without sparsity."),
        ("\u00b2", "\u00b2 With sparsity."),
        ("[^1]", "[^1]: Shown with sparsity."),
        ("\u2020", "\u2020 With structured sparsity"),
    ],
)
def test_a_footnote_is_tied_to_its_cells_by_its_mark(mark: str, note: str) -> None:
    rows = f"| A100 SXM | 624 TFLOPS{mark} |\n| H100 SXM | {{}} TFLOPS{mark} |"
    text = f"| GPU | FP16 Tensor |\n|---|---|\n{rows}\n\n{note}"
    assert {f.verdict for f in audit.audit_text(text.format("1,979")).findings} == {"agrees"}
    wrong = audit.audit_text(text.format("989")).findings
    assert [f.kind for f in wrong] == [None, "dense as sparse"]


def test_a_rate_of_a_format_that_a_gpu_lacks_is_an_error_of_capability() -> None:
    text = (
        "| GPU | FP8 (TFLOPS) | Memory |\n|---|---|---|\n| H100 SXM | 1979 | 80 GB |\n| A100 | 312 | 80 GB |"
    )
    kinds = [f.kind for f in audit.audit_text(text).findings if f.field == "peak:fp8"]
    assert kinds == [None, "capability"]


def test_bits_for_bytes_are_an_error_of_the_unit() -> None:
    text = "| GPU | Memory bandwidth |\n|---|---|\n| RTX 4090 | 1008 {} |"
    kinds = [[f.kind for f in audit.audit_text(text.format(u)).findings] for u in ("GB/s", "Gb/s")]
    assert kinds == [[None], ["unit"]]


@pytest.mark.parametrize("text", ["H100 NVL | 7.8 TB/s", "RX 6700 XT | 2424 MHz"])
def test_sums_of_a_pair_and_clocks_between_the_two_accuse_nobody(text: str) -> None:
    field = "Bandwidth" if "TB" in text else "Boost clock"
    found = audit.audit_text(f"| GPU | {field} |\n|---|---|\n| {text} |").findings
    assert [f.verdict for f in found] == ["cannot tell"]


def test_a_row_speaks_of_the_variant_that_explains_it() -> None:
    text = "| GPU | CUDA cores | TDP | Bandwidth |\n|---|---|---|---|\n| H100 | 16,896 | 700 W | {} GB/s |"
    kinds = [
        [f.kind for f in audit.audit_text(text.format(rate)).findings if f.kind] for rate in ("3350", "2000")
    ]
    assert kinds == [[], ["other variant"]]


def test_rows_shorter_than_their_header_are_read_where_their_cells_fit() -> None:
    rows = "RTX 4090       24 GB   1008 GB/s   $1599  $1800\nRTX 3090       {} GB   936 GB/s    $1499  $800"
    text = f"GPU            VRAM    Bandwidth   MSRP   Street\n{rows}\n"
    memory = [
        [f.verdict for f in audit.audit_text(text.format(size)).findings if f.field == "memory_bytes"]
        for size in (24, 20)
    ]
    assert memory == [["agrees", "agrees"], ["agrees", "contradicts"]]


def test_speeds_of_networks_under_formats_are_no_peaks() -> None:
    table = "| stock | fp32 | fp16 |\n|---|---|---|\n| resnet50 train | 1,094 <sub>1024</sub> | 6,554 |"
    found = audit.audit_text(f"# One H200\n\n{table}").findings
    assert {f.field for f in found} == {"throughput"}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # An empty first cell, numbers with a space, and labels in words that nobody listed.
        (
            "\tRTX 4090\tRTX 3090\nGrafikminne\t24 GB\t24 GB\nBandbredd\t1 008 GB/s\t936 GB/s\n"
            "Ber\u00e4kningsk\u00e4rnor\t16 384\t12 496",
            {"12496"},
        ),
        # Of two values one is confirmed, under plain letters: the other may be of something else.
        ("\tRTX 4090\tRTX 3090\nxyz\t24 GB\t32 GB\nTDP\t450 W\t350 W", set()),
        ("\tRTX 4090\tRTX 3090\nTDP\t450 \u0412\u0442\t250 \u0412\u0442", {"250 \u0412\u0442"}),
        # Rows of an inventory: each value is of the GPU of its row.
        ("rosa   4 x L40S   48 GB   350 W\nlila   8 x T4     24 GB   70 W", {"24 GB"}),
        ("rosa   4 x L40S   48 GB   350 W\nlila   8 x T4     128 GB   70 W", set()),
        ("r-01   4x RTX 3090, 24 GB, 350 W, water\nr-02   2x RTX 4090, 24 GB, 450 W", set()),
        # The sum over the GPUs of a row, where the column is theirs and not the host's.
        ("GPU\tGPU memory\n4x L4\t128 GB\n8x A100 80GB\t640 GB", {"128 GB"}),
        ("GPU\tMemory\n4x L4\t128 GB\n8x A100 80GB\t1152 GB", set()),
        # Of machines, plain memory is the host's, unless it is mostly what the GPUs have.
        ("Instance\tGPU\tMemory\nS\tT4\t64 GB\nM\tL4\t96 GB", set()),
        ("GPU\tMemory\n1x T4\t64 GB\n1x L4\t96 GB", set()),
        ("Instance\tGPU\tMemory\nS\tT4\t16 GB\nM\tL4\t24 GB\nL\tA10G\t40 GB", {"40 GB"}),
        ("Card\tMemory\nT4\t64 GB\nL4\t24 GB", {"64 GB"}),
        # A column in words that nobody listed is told by half of its values, and sure where more say so.
        ("GPU\tMatte\tEffekt\nT4\t16 GB\t70 W\nL4\t24 GB\t95 W\nA40\t48 GB\t300 W", {"95 W"}),
        # The GPU of a row stands behind its place, its count before its values.
        (
            "Lyon   RTX 4090   12   1 890 EUR   16 GB   450 W\nGent   L40   4   8 100 EUR   48 GB   300 W",
            {"16 GB"},
        ),
        # The unit tells a bus; and of several GPUs each has its own.
        (
            "RTX 4090\n\u0428\u0438\u043d\u0430: 320 \u0431\u0438\u0442\nTDP: 450 W",
            {"320 \u0431\u0438\u0442"},
        ),
        (
            "host  gpus  bus  tdp\n"
            "a  4x L40S  512-bit  350 W\nb  2x T4  256-bit  70 W\nc  2x A40  384-bit  300 W",
            {"512-bit"},
        ),
        # A name and a colon begin a line of their own.
        ("L40S: minne 48 GB, minnesbandbredd 864 GB/s, effekt 350 W\nL4: minne 24 GB, effekt 72 W", set()),
    ],
)
def test_rows_of_plain_text(text: str, wrong: set[str]) -> None:
    found = audit.audit_text(text).findings
    assert {f.stated for f in found if f.verdict == "contradicts"} == wrong
    assert len(found) > 1


LATEX = r"""\begin{tabular}{lrr}
\toprule
 & A100 SXM4 80GB & \textbf{H100 SXM5} \\
\midrule
Memory (GB) & 80 & 80 \\[2pt]
Bandwidth (GB/s) & 2039 & 2400 \\
FP64 (TFLOPS)~$^a$ & 9.7 & 34 \\ \hline
TDP & \multicolumn{1}{c}{400\,W} & 700~W \\
\end{tabular}
An H100 has 50~MB of L2 cache."""


def test_tables_of_latex() -> None:
    found = audit.audit_text(LATEX).findings
    assert {(f.stated, f.lines) for f in found if f.verdict == "contradicts"} == {("2400", (6,))}
    assert sum(f.verdict == "agrees" for f in found) == 8


def test_lists_sections_and_quantities_of_latex() -> None:
    slides = (
        "\\begin{frame}{Cards}\n\\begin{itemize}\n\\item NVIDIA L4\n\\begin{itemize}\n\\item 48\\,GB memory\n"
        "\\item 72\\,W\n\\end{itemize}\n\\item A30\n\\begin{itemize}\n\\item 24\\,GB\n"
        "\\item \\SI{265}{\\watt}\n\\end{itemize}\n\\end{itemize}\n\\end{frame}\n"
        "\\subsection*{NVIDIA A40}\nIts bandwidth is \\qty{696}{\\giga\\byte\\per\\second}.\n"
    )
    found = audit.audit_text(slides).findings
    assert [(f.gpu, f.stated, f.verdict) for f in found] == [
        ("NVIDIA L4", "48 GB", "contradicts"),
        ("NVIDIA L4", "72 W", "agrees"),
        ("NVIDIA A30", "24 GB", "agrees"),
        ("NVIDIA A30", "265 W", "contradicts"),
        ("NVIDIA A40", "696 GB/s", "agrees"),
    ]


@pytest.mark.parametrize(("total", "verdict"), [("640 GB", "agrees"), ("320 GB", "contradicts")])
def test_a_total_beside_figures_of_each(total: str, verdict: str) -> None:
    text = (
        "| System | GPUs | GPU memory, total | Per-GPU bandwidth | GPU TDP |\n|---|---|---|---|---|\n"
        f"| HGX H100 | 8 x H100 SXM | {total} | 3.35 TB/s | 700 W |\n"
        "| HGX H200 | 8 x H200 | 1128 GB | 4.8 TB/s | 700 W |\n"
    )
    found = {(f.lines[0], f.field): f.verdict for f in audit.audit_text(text).findings}
    assert (found[3, "memory_bytes"], found[4, "memory_bytes"]) == (verdict, "agrees")


@pytest.mark.parametrize("rule", ["-" * 40, "=" * 40, "----  ----  ----"])
def test_a_rule_below_the_head_of_plain_columns(claimed: Read, rule: str) -> None:
    found = claimed(f"GPU     SMs   TDP\n{rule}\nT4      40    70\nL4      58    72", "a.txt")
    assert [value for _, field, value in found if field == "sm_count"] == ["40", "58"]


def test_the_head_of_a_second_table_of_plain_columns(claimed: Read) -> None:
    text = "GPU     SMs   TDP\nT4      40    70\n\nGPU     TDP   Bus\nL4      72    192"
    found = claimed(text, "a.txt")
    assert [value for gpu, field, value in found if gpu == "L4" and field == "power_w"] == ["72"]


def test_the_gpu_of_a_command_is_no_subject(claimed: Read) -> None:
    command = "```sh\nfit --gpu rtx-4090\n```\n\n"
    assert claimed(f"{command}It is held in 16 bits.\n\n| Format | Bits |\n|---|---|\n| FP16 | 16 |") == []
    assert claimed("```\nRTX 4090\nVRAM: 24 GB\n```") == [("RTX 4090", "memory_bytes", "24 GB")]


def test_a_share_of_one_has_no_point_for_thousands() -> None:
    rows = (
        "| kind of work | RTX 3050 6 GB | RTX 4080 |\n| encoder | 0.119 sequences/J | 0.305 sequences/J |\n"
    )
    assert audit.audit_text(rows, "a.md").findings == ()


def test_the_title_of_a_white_paper_is_no_claim() -> None:
    text = "- The Instinct MI100, table of launch data\n- AMD CDNA 4 architecture white paper\n"
    assert [one for one in audit.audit_text(text, "a.md").findings if one.verdict == "contradicts"] == []


@pytest.mark.parametrize(("rows", "read"), [(JUDGED - 1, 0), (JUDGED, JUDGED - 1)])
def test_a_long_column_is_known_by_a_part_of_it(rows: int, read: int) -> None:
    head = "gpu,foo\nT4,16 GB\nT4,90 W\n"
    assert len(audit.audit_text(head + "T4,16 GB\n" * (rows - 2), "a.csv").findings) == read


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # When a run took place, what a cache takes, and how many tokens a second a prompt is read with.
        (
            "runs.csv",
            "timestamp,gpu_name,status\n2026-05-25T11:49:58,RTX 5060,OK\n2026-05-26T11:49:58,RTX 5060,OK\n",
        ),
        ("cache.csv", "gpu,cache_tensor_cuda_mib\nRTX 5060,1536.000000\nRTX 5060,2304.000000\n"),
        (
            "host.md",
            "# One H100 SXM\n\n| | |\n|---|---|\n| GPU memory | 80 GB HBM3 |\n| RAM | 1.5 TB DDR5 |\n",
        ),
        (
            "prompt.md",
            "## RTX 4060\n\n| Model | Type | Prompt (t/s) |\n|-|-|-|\n| Llama 3.1 8B | Q8_0 | 1061.11 |\n",
        ),
    ],
)
def test_a_table_of_runs_accuses_no_gpu(name: str, text: str) -> None:
    found = audit.audit_text(text, name, today=date(2026, 11, 28)).findings
    assert [f.field for f in found if f.verdict == "contradicts"] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # Two tables side by side; the vendor stuck to the name; a program's sizes; a type without its number.
        (
            "| GPU | VRAM | Arch | | GPU | VRAM | Arch |\n|---|---|---|---|---|---|---|\n"
            "| T4 | 24 GB | Turing | | L4 | 24 GB | Ada |\n| A10 | 24 GB | Ampere | | L40 | | Turing |\n",
            ["T4 memory_bytes", "L40 architecture"],
        ),
        (
            "| | MI300XAMD - CDNA 3 | H200 SXMNVIDIA - Hopper |\n|---|---|---|\n"
            "| Memory | 192 GB HBM3 | 80 GB HBM3e |\n| Bandwidth | 5.3 TB/s | 4.8 TB/s |\n",
            ["H200 SXM memory_bytes"],
        ),
        ("Gpu(\n    name='L4',\n    memory_size=16 * 1024**3,\n    tdp=72,\n)\n", ["L4 memory_bytes"]),
        ("The node has one A100 with 80 GB GDDR, the other an A6000 with 48 GB GDDR.", ["A100 memory_type"]),
        # A rate of tensor cores in the row of the ordinary ones.
        (
            "| | A100 80GB PCIe | H100 PCIe |\n|---|---|---|\n| FP64 | 19.5 TFLOPS | 25.6 TFLOPS |\n"
            "| FP64 Tensor Core | 19.5 TFLOPS | 51.2 TFLOPS |\n",
            ["A100 PCIe 80 GB peak:fp64"],
        ),
        # Parts of a card, of the whole die, of laptops, differences, and what runs drew.
        (
            "| Part | GPU | VRAM |\n|---|---|---|\n| 2g.20gb | A100 80GB | 20 GB |\n| L4-8Q | L4 | 8 GB |\n",
            [],
        ),
        (
            "| Full die | AD104 | AD103 |\n|---|---|---|\n| Card | RTX 4070 | RTX 4080 |\n"
            "| CUDA cores | 7680 | 10240 |\n",
            [],
        ),
        (
            "| GPU | TDP | Laptop TDP |\n|---|---|---|\n| RTX 4080 | 320 W | 150 W |\n",
            [],
        ),
        ("| | L4 | L40 |\n|---|---|---|\n| VRAM | 24 GB | +24 GB |\n| TDP | 72 W | +228 W |\n", []),
        (
            "| GPU | Power draw (W) | Tokens/s |\n|---|---|---|\n| L4 | 66 | 31 |\n| T4 | 61 | 20 |\n",
            [],
        ),
    ],
)
def test_a_table_is_judged_by_what_its_layout_says(text: str, wrong: list[str]) -> None:
    found = audit.audit_text(text, "a.md", today=date(2026, 11, 28)).findings
    accused = [f"{f.gpu} {f.field}" for f in found if f.verdict == "contradicts"]
    assert [w.removeprefix("NVIDIA ").removeprefix("RTX ") for w in accused] == wrong


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        # A row that goes on in the next lines is one row.
        (
            "a.md",
            "Part | L4 | T4 | A10 |\n---|---|---|---|\nVRAM | 24 GB | 16 GB |\n48 GB |\n"
            "TDP | 72 W |\n70 W |\n150 W |\nBus | 192-bit | 256-bit | 384-bit |\n",
            ["A10 memory_bytes"],
        ),
        # Entries with the equals sign and the unit in the note behind them.
        (
            "a.txt",
            "'name' = 'tesla_t4';\n'model' = 'TU104';\n'power' = 90; # TDP in watts\n"
            "'ram/size' = 16384; # MB\n'ram/bus' = '384-bit';\n",
            ["T4 power_w", "T4 memory_bus_bits"],
        ),
        # Of single precision, though some cards do as much in half precision.
        (
            "a.csv",
            "model,year,performance\nRX 7900 XT,2022,51.5\nRX 7900 XTX,2022,61.4\nRTX 4090,2022,82.6\n"
            "RTX 4080,2022,35.7\nRTX 3090,2020,35.6\n",
            ["GeForce RTX 4080 peak:fp32"],
        ),
        # A number of a card among names of cards.
        (
            "a.md",
            "| For | Card | VRAM |\n|---|---|---|\n| 4K | 3090 Ti | 24 GB |\n| 4K | 3080 | 24 GB |\n"
            "| 2K | 3070 Ti | 8 GB |\n| 2K | 3060 Ti | 8 GB |\n",
            ["RTX 3080 memory_bytes"],
        ),
        # Rows of one card and one field vouch for each other.
        (
            "a.md",
            "| Type | GPU | GPU memory |\n|---|---|---|\n"
            + "".join(f"| x.{n} | L4 | {size} GB |\n" for n, size in enumerate((24, 24, 16, 24)))
            + "\nfiller\n" * 20,
            ["L4 memory_bytes"],
        ),
        # Between the memory's rate and that of its cache nothing is right.
        ("a.md", "| | MI325X | H200 SXM |\n|---|---|---|\n| Memory | 256 GB | 141 GB |\n"
         "| Bandwidth | 8 TB/s | 4.8 TB/s |\n| TDP | 1000 W | 700 W |\n", ["MI325X memory_bytes_per_s"]),
        # Rows of one shape below a head that is lost.
        (
            "a.txt",
            "Grafikkarten\n"
            "RTX 4090 Ada Lovelace 5 nm 16384 512 2235 MHz 2520 MHz 24 GB 450 Watt 1008.0\nGB/s\n100.0\n"
            "RTX 4080 Ada Lovelace 5 nm 9782 304 2205 MHz 2505 MHz 16 GB 320 Watt 716.8\nGB/s\n81.0\n"
            "RTX 4070 Ada Lovelace 5 nm 5888 184 1920 MHz 2475 MHz 12 GB 220 Watt 504.2\nGB/s\n60.3\n",
            ["GeForce RTX 4080 cuda_cores", "GeForce RTX 4070 GDDR6X power_w"],
        ),
        # A row "GPU" names what the head leaves open.
        (
            "a.md",
            "| | M10 (was) | P100 (is) |\n|---|---|---|\n| GPU | 4x Tesla M10 | 1x Tesla P100-PCIE-16GB |\n"
            "| Memory | 8 GB GDDR5 | 16 GB HBM2 |\n| Memory bandwidth | 38 GB/s per GPU | 732 GB/s |\n",
            ["M10 memory_bytes_per_s"],
        ),
        # A cache that the sentence before names; a comparison between dashes; "it" behind "For the X".
        (
            "a.txt",
            "The RTX 4070 has 36 MB of L2 cache. The RTX 4070 Ti falls back on 64 MB.\n\n"
            "The RTX 5090 has 32 GB of GDDR7 - 8 more than the RTX 4090 - along with a 448-bit memory bus.",
            ["GeForce RTX 4070 Ti l2_bytes", "RTX 5090 / RTX 4090 / RTX 4070 Ti memory_bus_bits"],
        ),
        # Czech changes; a total that is another's; what brackets hold is not doubted by what follows them.
        (
            "a.txt",
            "Karta RTX 3060 je starší. Nová RTX 4060 má počet CUDA jader snížený ze 3845 na 3072, "
            "zatímco její boost takt se zvýšil z 1777 na 2640 MHz.",
            ["RTX 4060 / RTX 3060 cuda_cores", "RTX 4060 / RTX 3060 boost_hz"],
        ),
        (
            "a.txt",
            "The TITAN RTX has 24 GB of modern GDDR6X memory, for a total memory bandwidth of 672 GB/s. "
            "The L40S (48 GB, 864 GB/s, 300 W) fits any profile.",
            ["TITAN RTX memory_type", "L40S power_w"],
        ),
        # What a program's class holds; rates at a clock that another source states.
        ("a.py", 'class Card:\n    self.name = "L4"\n    self.memory_gb = 16\n    self.tdp_w = 72\n',
         ["L4 memory_bytes"]),
        ("a.md", "| Card | FP32 (TFLOPS) |\n|---|---|\n| Pro W6600 | 10.4 |\n| RX 6600 XT | 10.6 |\n", []),
        # A figure in the place of another; "higher than" in French; what an architecture is "of".
        ("a.txt", "The RX 7900 XT has 84 compute units, 16 GB instead of 24 GB GDDR6.",
         ["Radeon RX 7900 XT memory_bytes"]),
        (
            "a.txt",
            "La RTX 5070 dispose de 6144 coeurs CUDA, un peu supérieur à la RTX 4070, et de 12 Go de GDDR7 "
            "sur un bus 192 bits offrant 627 Go/s de bande passante.",
            ["GeForce RTX 5070 memory_bytes_per_s"],
        ),
        ("a.txt", "The Ada architecture of the RTX 4060 Ti beats the Turing architecture of the 3060.",
         ["3060 architecture"]),
        ("a.py", 'class Card:\n    self.name = "A100 40GB"\n    self.l2_capacity = 30 * (1024**2)\n',
         ["A100 40GB l2_bytes"]),
        # A type of memory in brackets behind a name; "built on"; a bus a quarter too narrow.
        ("a.txt", "The RTX 3090 (24 GB GDDR6, 384-bit) is popular.", ["GeForce RTX 3090 memory_type"]),
        ("a.txt", "Built on the Ada architecture, the RTX A4000 offers 16 GB.", ["RTX A4000 architecture"]),
        ("a.txt", "The Arc A770 has 16 GB on a 192-bit bus.", ["Intel Arc A770 16 GB memory_bus_bits"]),
        # A rumour is judged in nothing, also of a card that came.
        ("a.txt", "A leaker praised the RTX 5080. It has 10,725 CUDA cores. It draws 400 W.", []),
        ("a.txt", "L'accélérateur MI300X possède 19 546 processeurs de flux.", ["MI300X stream_processors"]),
    ],
)  # fmt: skip
def test_what_is_read_where_a_layout_lost_something(name: str, text: str, wrong: list[str]) -> None:
    found = audit.audit_text(text, name, today=date(2026, 11, 28)).findings
    accused = [f"{f.gpu} {f.field}" for f in found if f.verdict == "contradicts"]
    assert [re.sub("NVIDIA |AMD |Instinct |Tesla ", "", one) for one in accused] == wrong


# A T4 has 16 GB.
OF_PROGRAMS = {
    "a.py": 'C = [\n  Gpu(name="L4", memory_gb=24, tdp=72),\n  Gpu(name="T4", memory_gb=24, tdp=70),\n]\n',
    "a.sql": "INSERT INTO cards (name, vram_gb, tdp_w) VALUES\n('L4', 24, 72),\n('T4', 24, 70);\n",
    "a.xml": '<gpu name="L4" memory="24 GB" tdp="72 W"/>\n<gpu name="T4" memory="24 GB" tdp="70 W"/>\n',
    "a.toml": "[gpu.l4]\nmemory_gb = 24\ntdp_w = 72\n\n[gpu.t4]\nmemory_gb = 24\ntdp_w = 70\n",
    "a.yaml": "l4:\n  memory_gb: 24\n  tdp_w: 72\nt4:\n  memory_gb: 24\n  tdp_w: 70\n",
    "a.ts": "export const VRAM = {\n  'L4': 24,\n  'T4': 24,\n  'A10': 24,\n};\n",
    "a.json": '{"l4": {"memory": {"size": 24}, "tdp": 72}, "t4": {"memory": {"size": 24}, "tdp": 70}}',
    "a.rst": ".. list-table:: Cards\n   :header-rows: 1\n\n   * - GPU\n     - Memory\n     - TDP\n"
    "   * - L4\n     - 24 GB\n     - 72 W\n   *\n     - T4\n     - 24 GB\n     -\n\nThat is all.\n",
    "a.txt": "||GPU||Memory||TDP||\n|L4|24 GB|72 W|\n|T4|24 GB|70 W|\n",
    "elements.xml": "<gpu>\n<name>L4</name>\n<vram_gb>24</vram_gb>\n<tdp>72</tdp>\n</gpu>\n"
    "<gpu>\n<name>T4</name>\n<vram_gb>24</vram_gb>\n<tdp>70</tdp>\n</gpu>\n",
    "long.csv": "gpu,spec,value,unit\nL4,Memory,24,GB\nL4,TDP,72,W\nT4,Memory,24,GB\nT4,TDP,70,W\n",
    "a.adoc": '[cols="3*"]\n|===\n|GPU |VRAM |TDP\n\n|L4\n|24 GB\n|72 W\n\n|T4\n|24 GB\n|70 W\n|===\n',
}


@pytest.mark.parametrize("name", OF_PROGRAMS)
def test_lists_of_programs_are_tables(name: str) -> None:
    found = audit.audit_text(OF_PROGRAMS[name], name, today=date(2026, 11, 28)).findings
    assert [(f.gpu, f.field) for f in found if f.verdict == "contradicts"] == [("NVIDIA T4", "memory_bytes")]
    assert len(found) >= 3


@pytest.mark.parametrize(
    "text",
    [
        # 24e9 bytes are 24 GB.
        '{"name": "L4", "memory": 24e9}\n{"name": "T4", "memory": 16000000000}',
        # What an object, a host or a series says is of none of the GPUs before or in its name.
        '{"T4": {"bandwidth": 320},\n "Summit": {\n  "bandwidth": 135,\n  "tdp": 190\n }\n}',
        'C = {\n "T4": {\n  "bw": 320\n },\n "Longhostname-A40": {\n  "mem_bw": 135\n }\n}',
        '{\n "T4": "turing",\n "RTX 30": "ampere",\n "GTX 10": "pascal"\n}',
        # The last of several labels says what a row is of, and the unit of one which of its fields.
        "| Part | Spec | RTX 3090 | T4 |\n|---|---|---|---|\n| Memory | Bus | 384 | 256 |\n"
        "| Power | Suggested PSU | 750 | 250 |\n| Power | TDP | 350 | 70 |",
        "## T4\n- Shaders max boost clock (MHz): 1590\n- CUDA cores: 2560",
        "Instinct MI250X\nPeak Engine Clock: 1700 MHz\nPeak Half Precision (FP16) Performance: 383 TFLOPs\n"
        "Peak Single Precision Matrix (FP32) Performance: 95.7 TFLOPs\nPeak INT8 Performance: 383 TOPs",
        # What a wiki lists begins with the cores.
        "{|\n! GPU\n! Core config{{efn|name=cc}}\n! Launch\n|-\n| T4\n| 2560:160:64:320:40\n"
        "| {{dts|2018|09|13}}\n|-\n| L4\n| 7424:232:80:232:58\n| {{dts|2023|03|21}}\n|}",
    ],
)
def test_lists_that_are_right_accuse_nobody(text: str) -> None:
    found = audit.audit_text(
        text, "a.md" if text[0] != "{" or text[1] == "|" else "a.json", today=date(2026, 11, 28)
    ).findings
    assert not [(f.gpu, f.field, f.stated) for f in found if f.verdict == "contradicts"]
    assert [f for f in found if f.verdict == "agrees"]


def test_labels_whose_values_are_of_another_field(claimed: Read) -> None:
    """Rates below "Shader-Leistung"; plain RAM that is the cards', by the catalog; pipes inside of cells."""
    rows = (("RTX 2080 Ti", "13.45", "11"), ("RTX 2080", "10.07", "8"), ("GTX 1080 Ti", "11.34", "11"))
    head = "| GPU | Processor frequency | Shader-Leistung | RAM |\n|---|---|---|---|\n"
    found = claimed(head + "\n".join(f"| {gpu} | | {rate} TFLOPS | {size} GB |" for gpu, rate, size in rows))
    assert [field for _, field, _ in found] == ["peak:fp32"] * 3 + ["memory_bytes"] * 3
    head = "Models\tCores\tFP64 | FP32 Vector\tFP64 | FP32 Matrix\tMemory\n"
    text = head + "T4\t2560\t0.25 TF\t8.1 TF\t16 GB\nL4\t7424\t0.49 TF\t30.3 TF\t24 GB"
    assert {("T4", "cuda_cores", "2560"), ("L4", "memory_bytes", "24 GB")} < {*claimed(text, "a.txt")}


def test_figures_of_two_cards_in_turn(claimed: Read) -> None:
    """Lines of the same kinds stand once for each card, above labels that do."""
    text = """T4 vs L4 Full Specs

T4
L4
2,560 Shaders
1.59GHz
7,424 Shaders
2.04GHz
16GB GDDR6
320GB/s
24GB GDDR6
300GB/s

TDP
70W
FP32
8.1 TFLOPS
TDP
72W
FP32
30.3 TFLOPS"""
    of_t4 = [value for gpu, _, value in claimed(text, "a.txt") if gpu.endswith("T4")]
    assert of_t4 == ["2,560", "1.59GHz", "16GB", "GDDR6", "320GB/s", "70W", "8.1 TFLOPS"]


def test_a_list_that_is_no_whole_json_is_read_as_a_text(tmp_path: Path) -> None:
    """A comma is missing; a result of gpuwise that is damaged is still told."""
    path = tmp_path / "list.json"
    path.write_text('{\n "T4": {\n  "RT Core": 0\n  "memory": "24GB",\n  "bandwidth": "320GB/s"\n }\n}\n')
    found = audit.audit_file(path, today=date(2026, 11, 28)).findings
    assert [f.field for f in found if f.verdict == "contradicts"] == ["memory_bytes"]
    path.write_text('{"schema": 12, "results": [')
    with pytest.raises(InputError):
        audit.audit_file(path)


PRICES = (
    "# Costs\n\n* RTX 3060 — February 2021, {}, 12 GB\n* RTX 3070 — October 2020, {}, 8 GB\n"
    "* RTX 3090 — September 2020, {}, 24 GB\n* RTX 4060 — June 2023, $299, 8 GB\n"
    "* RTX 4090 — October 2022, $1,599, 24 GB"
)


@pytest.mark.parametrize(
    ("text", "name", "wrong"),
    [
        # Prices of a list are those at launch where the catalog confirms most of them, and else today's.
        (PRICES.format("$329", "$499", "$1,699"), "a.md", ["$1,699"]),
        (PRICES.format("$329", "$499", "$1,499"), "a.md", []),
        (PRICES.format("$229", "$299", "$799"), "a.md", []),
        # Heads that lost their gaps behind FP64 and HBM.
        ("CardYearHBMTypeBandwidthFP64FP32TDP\nTesla V100 SXM2 16GB201716 GBHBM2900 GB/s7.815.7300 W\n"
         "Tesla V100S PCIe201932 GBHBM2900 GB/s8.216.4250 W\n"
         "Instinct MI210202164 GBHBM2e1,638 GB/s22.622.6300 W", "a.txt", ["900 GB/s"]),
        ("| GPU | Memory | Bandwidth | GPU-to-GPU, both directions |\n|---|---|---|---|\n"
         "| H200 SXM | 141 GB | 4.8 TB/s | 900 GB/s |\n| H100 SXM | 80 GB | 3.35 TB/s | 450 GB/s |", "a.md",
         ["450 GB/s"]),
        ("pool:\n  accelerator: NVIDIA L40S\n  count: 4\n  vram_gb_each: 40\n  vram_gb_total: 192\n"
         "  bandwidth_gbs: 864\n  tdp_watts: 350", "a.yaml", ["40"]),
        # A rate that is said to be dense; the sparse one at a lower power is none.
        ('[{"board": "DGX Spark (GB10)", "memory_gb": 128, "bandwidth_gb_s": 273, "fp4_tflops_dense": 1000}]',
         "a.json", ["1000"]),
        ('[{"board": "DGX Spark (GB10)", "memory_gb": 128, "bandwidth_gb_s": 273, "fp4_tflops_dense": 500}]',
         "a.json", []),
    ],
)  # fmt: skip
def test_columns_without_plain_labels(text: str, name: str, wrong: list[str]) -> None:
    found = audit.audit_text(text, name).findings
    assert [f.stated for f in found if f.verdict == "contradicts"] == wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # What a caption says of all rates; one that says both leaves it open.
        ("Dense peaks, TFLOPS (no sparsity):\n\n| | TF32 | INT8 |\n|---|---|---|\n| A100 | 156 | 1,248 |\n"
         "| H100 SXM | 495 | 1,979 |", ["1,248"]),
        ("*Table 2. With 2:4 sparsity.*\n\n| | TF32 | BF16 |\n|---|---|---|\n| A100 | 312 | 312 |\n"
         "| H100 SXM | 989 | 1,979 |", ["312"]),
        ("Dense peaks in TFLOPS; INT8 with sparsity.\n\n| | BF16 | INT8 |\n|---|---|---|\n"
         "| A100 | 312 | 1,248 |\n| H100 SXM | 989 | 3,958 |", []),
        ("Sparse rates are twice as high.\n\n| | BF16 | FP8 |\n|---|---|---|\n| H100 SXM | 989 | 1,979 |\n"
         "| L40S | 362 | 733 |", []),
        # A link by its word alone, with a footnote.
        ("| GPU | Link\u00b2 | TDP |\n|---|---|---|\n| A100 SXM | 600 GB/s | 400 W |\n"
         "| H100 SXM | 450 GB/s | 700 W |\n\n\u00b2 Both directions together.", ["450 GB/s"]),
        ("| GPU | Link | TDP |\n|---|---|---|\n| L40S | 64 GB/s | 350 W |\n"
         "| H100 SXM | 128 GB/s | 700 W |", []),
    ],
)  # fmt: skip
def test_captions_and_labels_of_one_word(text: str, wrong: list[str]) -> None:
    found = audit.audit_text(text, "a.md").findings
    assert [one.stated for one in found if one.verdict == "contradicts"] == wrong


def test_generations_of_cores_below_their_label_or_behind_their_count(claimed: Read) -> None:
    rows = "| RT core generation | 2 |\n| Tensor cores | 256 (3rd Gen) |"
    found = claimed(f"# RTX A5000\n\n| | RTX A5000 |\n|---|---|\n{rows}")
    assert ("RTX A5000", "rt_core_generation", "2") in found
    assert ("RTX A5000", "tensor_core_generation", "3rd Gen") in found


ONE_EACH = (
    "| GPU | Memory | Bandwidth |\n|---|---|---|\n| H100 SXM | 80 GB | 3.35 TB/s |\n"
    "| A100 SXM 80GB | 80 GB | 2.04 TB/s |\n\n"
)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("| GPU | Memory | Bandwidth | FP16 |\n|---|---|---|---|\n"
         "| H200 | 1,128 GB | 38.4 TB/s | 7.9 PFLOPS |\n", 3),
        ("| | H200 |\n|---|---|\n| Memory | 1128 GB |\n| Bandwidth | 38.4 TB/s |\n| FP8 | 32 PFLOPS |\n", 3),
        ("| Feature | H100 SXM | H200 |\n|---|---|---|\n| Power | 700 W | 700 W |\n"
         "| FP8 | 32 PFLOPS | 32 PFLOPS |\n", 2),
        ("| GPU | FP16 | FP8 |\n|---|---|---|\n| B200 | 36 PFLOPS | 72 PFLOPS |\n", 2),
        # Who says that there are several means several.
        ("| GPU | Memory (8 GPUs) | FP8 (8 GPUs) |\n|---|---|---|\n| H200 | 1,128 GB | 32 PFLOPS |\n", 0),
        ("## HGX\n\n| GPU | Memory | FP8 |\n|---|---|---|\n| H200 | 1,128 GB | 32 PFLOPS |\n", 0),
        ("## HGX\n\n| GPU | Bandwidth | FP8 |\n|---|---|---|\n| H200 | 38.4 TB/s | 32 PFLOPS |\n", 0),
        ("| System | GPU | Memory | FP8 |\n|---|---|---|---|\n"
         "| DGX H200 | H200 | 1,128 GB | 32 PFLOPS |\n", 0),
        ("| GPU | Memory | FP8 |\n|---|---|---|\n| 8x H200 | 1,128 GB | 32 PFLOPS |\n", 0),
        ("A server with eight GPUs:\n\n| GPU | Memory | FP8 |\n|---|---|---|\n"
         "| H200 | 1,128 GB | 32 PFLOPS |\n", 0),
        # One figure alone may be anything.
        ("| GPU | Memory | FP8 |\n|---|---|---|\n| H200 | 141 GB | 32 PFLOPS |\n", 0),
    ],
)  # fmt: skip
def test_what_a_system_has_under_the_name_of_one(text: str, wrong: int) -> None:
    found = audit.audit_text(ONE_EACH + text, "a.md").findings
    assert sum(f.kind == "per system" for f in found) == sum(f.kind is not None for f in found) == wrong


def test_the_narrower_of_two_names_in_a_row() -> None:
    text = "id,name,memory_gb,bandwidth_gbs\n"
    text += "h100-80-pcie,NVIDIA H100 PCIe,80,{}\nrtxa6000,NVIDIA RTX A6000,48,768\n"
    assert not any(f.kind for f in audit.audit_text(text.format(2000), "a.csv").findings)
    assert [f.stated for f in audit.audit_text(text.format(3350), "a.csv").findings if f.kind] == ["3350"]


def test_cores_in_turkish() -> None:
    text = "| | Tesla A100 | T400 |\n|---|---|---|\n| Mimari | Ampere | Turing |\n"
    text += "| Ak\u0131\u015f i\u015flemcisi say\u0131s\u0131 | {} | 384 |\n"
    found = [[f.kind for f in audit.audit_text(text.format(n), "a.md").findings] for n in (6912, 7936)]
    assert found[0] == [None] * len(found[0])
    assert "wrong value" in found[1]


TABLES = [
    # Below the names of two GPUs on lines of their own a value is of either.
    ("RTX 4050 Laptop vs RTX 3080 Laptop\nRTX 4050 Laptop\n\nRTX 3080 Laptop\n\n2560 Shaders\n6GB GDDR6\n\n"
     "6144 Shaders\n8GB GDDR6", []),
    # Labels between the values, in a table that names its columns, of which one is unknown.
    ("RTX 4060 Ti | Feature | G103M |\n---|---|---|\n4352 | Shaders | 8 |\n2535 MHz | Boost clock | n/a |\n"
     "5 nm | Process | 65 nm |\n190 W | TDP | 14 W |", ["190 W"]),
    # What cells list, along the top and down the side; a run's format is no ability.
    ("| GPU | Precision | Cores |\n|---|---|---|\n| L40S | FP8/FP16 | 4th Gen Tensor Cores |\n"
     "| T4 | FP16; FP8 | 3rd Gen Tensor Cores |", ["3rd Gen", "FP16; FP8"]),
    ("| Feature | L40S | T4 |\n|---|---|---|\n| Features | FP8/FP16; NVLink | ECC; FP8 |",
     ["ECC; FP8", "FP8/FP16; NVLink"]),
    ("| GPU | Precision | tok/s |\n|---|---|---|\n| T4 | FP16/FP8 | 12 |", []),
    # A table that lost its line ends, with a mark and cells without a value.
    ("GeForce RTX 3090 Radeon RX 6900 XT GeForce RTX 3080 Ti* GeForce RTX 3080 CUDA Cores / SP 10,496 5,120 "
     "10,240 8,704 Base Clock 1,395 MHz - ? 1,440 MHz TDP 350W 300W 350W 340W Memory 24GB 16GB 12GB 10GB",
     ["340W"]),
    ("## The card is large. | Spec | RTX 4090 | RTX 4080 | |---|---|---| | VRAM | 24 GB | 18 GB | "
     "| TDP | 450 W | 320 W | More text.", ["18 GB"]),
    # Rows and labels that ran together.
    ("SpecRTX 4070 TiRX 7600\nMax Power285W185W\nMemory Size12 GB8 GB\nMemory TypeGDDR6XGDDR6", ["185W"]),
    ("GPUArchitectureVRAM (GB)L2 Cache\nRTX 2080 TiTuring11 GB5.5 MB\nGTX 1080 TiPascal11 GB2.75 MB\n"
     "RTX 3090Ampere24 GB9 MB", ["9 MB"]),
    ("GPUTransistorsBoost ClockSupportL2 Cache\nRTX 407035.8 billion2475 MHzDLSS 236 MB\n"
     "RTX 408045.9 billion2505 MHzDLSS 264 MB", []),
    # Below a head of words a name takes no number, nor does a value take the place of one that is missing.
    ("GPU Boost Clock Support Process Node VRAM\nRTX 4080 2505 MHz HDMI 2.1 5 nm 16 GB\n"
     "RTX 3090 1695 MHz HDMI 2.1 - 24 GB", []),
    ("GPU Boost Clock Game Clock VRAM TGP\nRTX 4080 N/A 2124 MHz 16 GB 320 W\n"
     "RX 7900 XTX 2500 MHz 2124 MHz 24 GB 355 W", []),
    # A cell a line: the last row ends with its paragraph; a question mark may be a cell.
    ("GPU\nMemory\nTDP\nRTX 4070 Ti\n12 GB\n285 W\nRTX 4080\n16 GB\n340 W\n\nThat was the list of both.",
     ["340 W"]),
    ("RTX 3080 Ti\nRTX 5090\nRX 7600\nMemory\n?\n32 GB\n8 GB\nTDP\n350 W\n575 W\n195 W\n"
     "Memory Bus\n384-bit\n512-bit\n128-bit", ["195 W"]),
    # A year in brackets dates what stands before it.
    ("GPU VRAM FP16 TFLOPS FP8 TFLOPS\nRTX 3090 Ampere (2020) 24 GB GDDR6X 35.6\n"
     "RTX 4090 Ada Lovelace (2022) 24 GB GDDR6X 330.3 165.2", ["165.2"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wrong"), TABLES)
def test_wrong_cells_of_lost_layouts(text: str, wrong: list[str]) -> None:
    findings = audit.audit_text(text).findings
    assert sorted(f.stated for f in findings if f.verdict == "contradicts") == sorted(wrong)
    assert findings


def test_both_gpus_of_a_table() -> None:
    text = "| Spec | RTX 3090 | RTX 4090 |\n|---|---|---|\n| TDP | 350 W | 450 W |\n\nBoth GPUs have 24GB."
    found = [f for f in audit.audit_text(text).findings if f.stated == "24GB"]
    assert [(f.gpu, f.verdict) for f in found] == [("RTX 3090 / RTX 4090", "agrees")]


def test_values_of_a_table_that_are_not_read_are_said() -> None:
    rows = "| RTX 4080 | 16 GB | 2300 MHz |\n| RX 7900 XTX | 24 GB | 2124 MHz |"
    head = "| {} | VRAM | Game clock |\n|---|---|---|\n"
    assert [one.text for one in audit.audit_text(head.format("GPU") + rows).unjudged] == [
        "2300 MHz",
        "2124 MHz",
    ]
    assert not audit.audit_text("| Model | Size |\n|---|---|\n| Llama | 40 GB |").unjudged


WIDE = "The RX 6800 at last\n\n            RX 6800    {other}\n{rows}"
ROWS = (("Memory", "16", "8"), ("GB/s", "512", "300"), ("Watts", "250", "333"), ("Bus, bits", "256", "192"))


@pytest.mark.parametrize("other", ["HD 6870", "GTS 450", "Zorb 9900", "MTT S80", "The old one"])
def test_no_cell_of_an_unknown_column_falls_to_its_neighbour(other: str) -> None:
    rows = "\n".join(f"{label:<12}{one:<11}{two}" for label, one, two in ROWS)
    found = audit.audit_text(WIDE.format(other=other, rows=rows), "a.txt").findings
    own = [(f.stated, f.verdict) for f in found if "6800" in f.gpu and f.verdict != "cannot tell"]
    assert ("512", "agrees") in own
    assert all(verdict == "agrees" for _, verdict in own)
    # What is wrong of the known one still is, where its head tells which column is its own.
    rows = rows.replace("512", "448").replace("256", "320")
    wrong = [f.stated for f in audit.audit_text(WIDE.format(other=other, rows=rows), "a.txt").findings
             if f.verdict == "contradicts"]  # fmt: skip
    assert wrong == (["448", "320"] if other != "The old one" else [])


@pytest.mark.parametrize("mark", ["{}", "{}:", "## {}", "**{}**", "- {}"])
@pytest.mark.parametrize("name", ["Zorb 9900", "Quadro FX 5800", "HD 6950"])
def test_a_section_of_an_unknown_model_is_its_own(mark: str, name: str) -> None:
    step = "  - " if mark[0] == "-" else ""
    one = f"{mark.format('RTX 4090')}\n{step}Memory: 24 GB\n{step}Power: 450 W\n\n"
    two = f"{mark.format(name)}\n{step}Memory: 32 GB\n{step}Power: 610 W\n"
    found = audit.audit_text(one + two).findings
    assert {f.gpu for f in found if f.stated in ("24 GB", "450 W")} == {"NVIDIA GeForce RTX 4090"}
    assert not [f for f in found if f.stated in ("32 GB", "610 W") and "4090" in f.gpu]
    listed = audit.audit_text(f"- RTX 4090: 24 GB, 450 W\n- {name}: 32 GB, 610 W\n").findings
    assert {f.verdict for f in listed if f.stated in ("24 GB", "450 W")} == {"agrees"}
    assert {f.verdict for f in listed if f.stated in ("32 GB", "610 W")} <= {"cannot tell"}
    same = audit.audit_text(one + two.replace(name, "RTX 4090")).findings
    assert any(f.verdict == "contradicts" for f in same)


@pytest.mark.parametrize(
    ("label", "right", "wrong", "field"),
    [
        ("Bus, bits", "384", "320", "memory_bus_bits"),
        ("GB/s", "936", "1008", "memory_bytes_per_s"),
        ("GB on board", "24", "20", "memory_bytes"),
        ("Node, nm", "8", "5", "process_nm"),
        ("Base MHz", "1395", "1575", "base_hz"),
        ("Die, mm2", "628", "545", "die_area_m2"),
        ("Host link", "PCIe 4.0 x16, 64 GB/s both ways", "PCIe 5.0 x16, 64 GB/s", "pcie_generation"),
        ("In shops", "24th September 2020", "17th September 2022", "launch"),
        ("Out since", "September 2020", "September 2022", "launch"),
        ("Tensor core generation", "3rd", "4th", "tensor_core_generation"),
    ],
)
def test_a_label_by_its_unit_or_in_common_words(label: str, right: str, wrong: str, field: str) -> None:
    table = (
        "# GeForce RTX 3090\n\n| Item | Figure |\n|---|---|\n| Colour | black |\n| {} | {} |\n| Fans | two |"
    )
    for value, verdict in ((right, "agrees"), (wrong, "contradicts")):
        found = audit.audit_text(table.format(label, value)).findings
        assert [(f.field, f.verdict) for f in found] == [(field, verdict)]


SHEET = "# {}\n\n| Item | Figure |\n|---|---|\n| {} | {} |\n| Fans | two |"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # A name says itself what it is; a unit alone does not say whose.
        (SHEET.format("RTX 3090", "Lineage", "Ampere"), ["architecture agrees"]),
        (SHEET.format("RTX 3090", "Replaces", "Turing"), ["architecture cannot tell"]),
        (SHEET.format("RTX 3090", "Compared", "754 mm2"), ["die_area_m2 cannot tell"]),
        (SHEET.format("HD 7970", "Chip", "Tahiti"), ["chip agrees"]),
        (SHEET.format("RTX 3090", "Family", "Ampere"), ["architecture agrees"]),
        # The clock of a memory is no size of it.
        (SHEET.format("RTX 3090", "Memory GHz", "1.219"), []),
        (SHEET.format("L40", "Memory", "48 GB, ECC"), ["ecc agrees", "memory_bytes agrees"]),
        (SHEET.format("RTX 3060", "Memory", "GDDR6, with ECC"), ["ecc contradicts", "memory_type agrees"]),
        ("The RTX 3090 has 328 tensor cores (3rd gen).",
         ["tensor_core_generation agrees", "tensor_cores agrees"]),
        ("The RTX 3090 has 328 tensor cores (4th gen).",
         ["tensor_core_generation contradicts", "tensor_cores agrees"]),
        ("RTX 3090: 10,496 CUDA cores, RTX 3070: 5,888", ["cuda_cores agrees", "cuda_cores agrees"]),
        ("RTX 3090: 10,496 CUDA cores, RTX 3070: 6,144", ["cuda_cores agrees", "cuda_cores contradicts"]),
        ("The Jetson Orin Nano Super\n\nMemory\n  8 GB LPDDR5, 128-bit\n",
         ["memory_bus_bits agrees", "memory_bytes agrees", "memory_type agrees"]),
        ("A workstation with an RTX 3090 has 64 GB LPDDR5.", ["memory_type cannot tell"]),
        ("The RTX 3090, out since 2020, has 24 GB.", ["launch agrees", "memory_bytes agrees"]),
        ("The RTX 3090, out since 2018, has 24 GB.", ["launch contradicts", "memory_bytes agrees"]),
    ],
)  # fmt: skip
def test_what_cells_say_of_themselves(text: str, said: list[str]) -> None:
    assert sorted(f"{f.field} {f.verdict}" for f in audit.audit_text(text).findings) == said


INSTINCTS = """Instinct accelerators
MI210 MI100 MI60
Compute Units 104 {} 64
Memory Clock 3.2 Gbps HBM2E 2.4 Gbps HBM2 {} Gbps HBM2
Manufacturing Process TSMC 6nm TSMC 7nm TSMC {}
VRAM 64GB 32GB 32GB
"""


@pytest.mark.parametrize(
    ("cells", "wrong"),
    [
        (("120", "2.0", "7nm"), set()),
        (("140", "2.0", "7nm"), {"sm_count"}),
        (("120", "2.8", "7nm"), {"memory_transfers_per_s"}),
        (("120", "2.0", "16nm"), {"process_nm"}),
    ],
)
def test_a_row_of_cells_of_several_words_is_parted_evenly(cells: tuple[str, ...], wrong: set[str]) -> None:
    found = audit.audit_text(INSTINCTS.format(*cells)).findings
    assert {f.field for f in found if f.verdict == "contradicts"} == wrong
    assert sum(f.field == "memory_transfers_per_s" for f in found) == 3


def test_cells_that_nothing_parts_evenly_are_left() -> None:
    text = INSTINCTS.format("120", "2.0", "7nm").replace("Compute Units 104", "Compute Units 2 sets of 52")
    assert not any(f.field == "sm_count" for f in audit.audit_text(text).findings)


SIZES = """| Model | VRAM | Bus | Cores | TMUs | Bandwidth |
|---|---|---|---|---|---|
| RTX 3080 | {} | {} | {} | {} | {} |
"""


@pytest.mark.parametrize(
    ("row", "gpu", "wrong"),
    [
        (("10 GB", "320 bit", "8704", "272", "760 GB/s"), "10", []),
        (("12 GB", "384 bit", "8960", "280", "912 GB/s"), "12", []),
        # All but the size is of the other variant.
        (("12 GB", "320 bit", "8704", "272", "760 GB/s"), "10", ["memory_bytes"]),
        # Half of it is.
        (("12 GB", "384 bit", "8960", "272", "760 GB/s"), "12", ["memory_bytes_per_s", "tmus"]),
    ],
)
def test_one_wrong_size_accuses_no_other_cell(row: tuple[str, ...], gpu: str, wrong: list[str]) -> None:
    found = audit.audit_text(SIZES.format(*row)).findings
    assert sorted(f.field for f in found if f.verdict == "contradicts") == wrong
    assert {f.gpu for f in found} == {f"NVIDIA GeForce RTX 3080 {gpu} GB"}


FORMS = "| | {} | H100 SXM |\n|---|---|---|\n| Power | {} | 700 W |\n| Memory | 128 GB | 80 GB |\n"


@pytest.mark.parametrize(
    ("name", "watts", "verdict"),
    [
        ("Gaudi 3", "900 W", "agrees"),
        ("Gaudi 3", "600 W", "contradicts"),
        ("Gaudi 3 PCIe", "600 W", "cannot tell"),
        ("Gaudi 3 OAM", "600 W", "contradicts"),
    ],
)
def test_a_form_that_the_catalog_lacks_is_not_held_to_another_ones_power(
    name: str, watts: str, verdict: str
) -> None:
    found = audit.audit_text(FORMS.format(name, watts)).findings
    assert next(f.verdict for f in found if f.field == "power_w" and f.stated == watts) == verdict


@pytest.mark.parametrize(
    ("aside", "verdict"),
    [
        ("without sparsity", "agrees"), ("forget sparsity for now", "agrees"),
        ("ignoring sparsity", "agrees"), ("with sparsity", "contradicts"),
    ],
)  # fmt: skip
def test_a_rate_beside_which_sparsity_is_set_aside_is_dense(aside: str, verdict: str) -> None:
    text = f"A100 SXM 40 GB, peaks in TFLOPS:\n\n- FP32: 19.5\n- FP16: 312 ({aside})\n- Memory: 40 GB\n"
    found = audit.audit_text(text).findings
    assert [f.verdict for f in found if f.field == "peak:fp16"] == [verdict]


@pytest.mark.parametrize(("heading", "read"), [("samples", 0), ("steps", 0), ("images/s", 1)])
def test_what_was_counted_for_a_speed_is_none(heading: str, read: int) -> None:
    row = "| bert-large train fp32 eager | 59.6 s | 497 |"
    table = f"**NVIDIA H200**\n\n| measurement | length | {heading} |\n|---|---|---|\n{row}"
    found = audit.audit_text(table, "page.md").findings
    assert [one.stated for one in found] == ["497"] * read


def test_names_and_units_say_what_they_are_whatever_their_label(claimed: Read) -> None:
    found = claimed(
        "| Card (family) | Cores | Remark |\n|---|---|---|\n| P100 (Pascal GP100) | 3584 | 16nm, 732 GB/s |\n"
        "| V100 (Volta) | 5120 | 12 nm |\n| RTX 3090 (Ampere) | 10496 | 24 GB GDDR6X |\n"
        "| RTX 4090 (Hopper) | 16384 | 77 GB |\n| RTX 2080 Ti (Turing) | 4352 | 300 W |"
    )
    names = {(gpu, stated) for gpu, field, stated in found if field == "architecture"}
    # One that is wrong is read where most of its column are right.
    assert names == {
        ("P100", "Pascal"), ("V100", "Volta"), ("RTX 3090", "Ampere"), ("RTX 4090", "Hopper"),
        ("RTX 2080 Ti", "Turing"),
    }  # fmt: skip
    assert {("P100", "chip", "GP100"), ("V100", "process_nm", "12 nm")} <= {*found}
    # What its GPU has not, and nothing tells, is of something else.
    assert {("RTX 3090", "memory_bytes", "24 GB"), ("RTX 3090", "memory_type", "GDDR6X")} <= {*found}
    assert not {("RTX 4090", "memory_bytes", "77 GB"), ("RTX 2080 Ti", "power_w", "300 W")} & {*found}


def test_a_doubt_that_right_cells_share_is_none() -> None:
    # An area below a word that is not known is that of the chip where most of the others are.
    head = (
        "| | RTX 4090 | RTX 3090 Ti | RTX 4080 | RTX 4070 Ti |\n|---|---|---|---|---|\n"
        "| TDP | 450 W | 450 W | 320 W | 285 W |\n"
    )
    areas = "| Kretsyta | 608 mm2 | 628 mm2 | {} mm2 | 295 mm2 |"
    for area, verdicts in ((379, {"agrees"}), (758, {"agrees", "contradicts"})):
        found = audit.audit_text(head + areas.format(area), "a.md").findings
        assert {f.verdict for f in found if f.field == "die_area_m2"} == verdicts
    two = audit.audit_text(f"{head}| Kretsyta | 608 mm2 | 314 mm2 | 758 mm2 | 295 mm2 |", "a.md").findings
    assert "contradicts" not in {f.verdict for f in two}
    # Nor does "total" in a label make the sum of a machine of what each GPU has.
    cores = (
        "| GPU | Total CUDA cores |\n|---|---|\n| RTX 4090 | 16384 |\n| RTX 3090 | 10496 |\n| A100 | 6912 |\n"
    )
    found = audit.audit_text(f"{cores}| RTX 3080 | 10752 |\n", "a.md").findings
    assert [f.verdict for f in found] == [*["agrees"] * 3, "contradicts"]


def test_a_table_in_one_line_has_cells_of_several_words(claimed: Read) -> None:
    line = (
        "RTX 4090 RTX 3090 Ti RTX 4080 Architecture Ada Lovelace Ampere Ada Lovelace CUDA cores 16 384 pcs. "
        "10 752 pcs. 9 728 pcs. Bandwidth (GB/s) 1008 1008 717 TFLOPS 82.6 40.0 48.7 Memory 24 GB GDDR6X\n\n"
        "384-bit bus 24 GB GDDR6X\n\n384-bit bus 16 GB GDDR6X\n\n256-bit bus"
    )
    found = claimed(line, "a.txt")
    for gpu, cores, rate, bus in (
        ("RTX 4090", "16 384", "1008", "384-bit"), ("RTX 4080", "9 728", "717", "256-bit"),
    ):  # fmt: skip
        assert {(gpu, "cuda_cores", cores), (gpu, "memory_bytes_per_s", rate)} <= {*found}
        assert {(gpu, "memory_bus_bits", bus), (gpu, "memory_type", "GDDR6X")} <= {*found}
    alone = claimed(
        "RTX 4090 RTX 3090 RTX 3080 Process 5 nm 8 nm 8 nm Architecture Ampere TDP 450 W 350 W 320 W"
    )
    assert ("RTX 3080", "power_w", "320 W") in alone
    # One name for all of them is not sure to be of each.
    text = "RTX 4090 RTX 3090 RTX 3080 Process 5 nm 8 nm 8 nm Architecture Ampere TDP 450 W 350 W 320 W"
    assert "contradicts" not in {f.verdict for f in audit.audit_text(text, "a.txt").findings}


@pytest.mark.parametrize(
    ("table", "gpu", "field", "stated"),
    [
        ("RTX 4090 | RTX 4080 |\nRTX 3090 | |\nTDP | 450 W | 320 W | 350 W |",
         "RTX 3090", "power_w", "350 W"),
        ("GPU | TDP (W)\nDGX H100 system | 10200\nH100 SXM | 700", "H100", "power_w", "10200"),
        ("| GPU | TFLOPS16 |\n|---|---|\n| A100 | 312 |\n| T4 | 65 |", "T4", "peak:fp16", "65"),
        ("| GPU | RX 7900 XTX | RX 580 |\n|---|---|---|\n| Chip | Navi 31 XTX | Polaris 20 XTX |",
         "RX 580", "chip", "Polaris 20 XTX"),
        ("SpecRTX 4090RTX 3090\nLaunch2022-10-122020-09-24\nTDP450 W350 W",
         "RTX 3090", "launch", "2020-09-24"),
        ("| GPU | Cores |\n|---|---|\n| GTX 2080 | 2944 |\n| GTX 1080 | 2560 |",
         "GTX 2080", "cuda_cores", "2944"),
    ],
)  # fmt: skip
def test_heads_and_labels_that_were_silent(
    claimed: Read, table: str, gpu: str, field: str, stated: str
) -> None:
    assert (gpu, field, stated) in claimed(table, "a.txt")


def test_chips_with_two_names_and_bridges_accuse_nobody() -> None:
    text = (
        "| GPU | Chip | NVLink |\n|---|---|---|\n| RX 480 | Polaris 10 | No |\n| RX 570 | Polaris 10 | No |\n"
        "| H100 PCIe | GH100 | N/A |\n| GTX 1080 | GP104 | N/A |"
    )
    assert "contradicts" not in {f.verdict for f in audit.audit_text(text, "a.md").findings}
    assert ("AMD Radeon RX 480", "agrees") in {
        (f.gpu, f.verdict) for f in audit.audit_text(text, "a.md").findings if f.field == "chip"
    }


@pytest.mark.parametrize(
    ("unit", "figures", "verdict"),
    [("million", "76300 | 28300", "agrees"), ("\u4ebf", "763 | 283", "agrees"),
     ("\u4ebf", "76.3 | 28.3", "cannot tell")],
)  # fmt: skip
def test_transistors_are_counted_in_the_unit_of_their_label(unit: str, figures: str, verdict: str) -> None:
    text = f"| GPU | RTX 4090 | RTX 3090 |\n|---|---|---|\n| Transistors ({unit}) | {figures} |"
    assert {f.verdict for f in audit.audit_text(text, "a.md").findings} == {verdict}


def test_columns_of_chips_are_of_the_products_that_are_made_of_them() -> None:
    text = (
        "| | Volta GV100 | Ampere GA100 | Hopper GH100 |\n|---|---|---|---|\n"
        "| Memory | 16/32 GB | 40/80 GB | 80 GB |\n| Bandwidth | 900 GB/s | 2.0 TB/s | 33.5 TB/s |\n"
        "| Launch | 2017 | 2020 | 2022 |\n| SMs | 84 | 128 | 144 |\n| Power | 300 W | 400 W | 700 W |\n"
    )
    found = audit.audit_text(text, "a.md").findings
    assert [f.stated for f in found if f.verdict == "contradicts"] == ["33.5 TB/s"]
    # The whole chip has what no product uses all of.
    assert {f.verdict for f in found if f.field == "sm_count"} <= {"cannot tell", "agrees"}
    assert sum(f.verdict == "agrees" for f in found) >= 14


@pytest.mark.parametrize("caption", ["Table 2: Memory bandwidth (GB/s)", "Memory bandwidth in GB/s"])
@pytest.mark.parametrize("head", ["Value", "Result"])
def test_words_above_a_table_give_its_numbers_a_field_and_a_unit(caption: str, head: str) -> None:
    rows = "| RTX 2080 Ti | 616 |\n| GTX 1080 Ti | 384 |\n| TITAN RTX | 672 |"
    found = audit.audit_text(f"{caption}\n\n| GPU | {head} |\n|---|---|\n{rows}\n", "t.md").findings
    assert [f.field for f in found] == ["memory_bytes_per_s"] * 3
    assert [f.verdict for f in found] == ["agrees", "contradicts", "agrees"]


def test_a_rate_above_a_plain_heading_is_no_label_of_what_stands_below() -> None:
    first = "NVIDIA L4:\n24 GB, 300 GB/s\n121 TFLOPS of BF16"
    text = f"{first}\n\nNVIDIA L40S:\n48 GB, 964 GB/s\n362 TFLOPS of BF16\n"
    found = [(f.lines[0], f.field, f.verdict) for f in audit.audit_text(text).findings]
    assert found[3:] == [
        (6, "memory_bytes", "agrees"),
        (6, "memory_bytes_per_s", "contradicts"),
        (7, "peak:bf16", "agrees"),
    ]


BLANK = {
    "blank": "{}\n\n| | |\n|---|---|\n| {} |\n| {} |\n| {} |\n",
    "none": "{}\n\n| {} |\n|---|---|\n| {} |\n| {} |\n",
}


@pytest.mark.parametrize("head", BLANK.values(), ids=BLANK)
@pytest.mark.parametrize(
    ("caption", "rows", "field", "wrong"),
    [
        ("Memory bandwidth in GB/s:", ("L4 | 300", "A10 | 600", "T4 | 520"), "memory_bytes_per_s", "520"),
        ("Board power (W)", ("L40S | 350", "A40 | 300", "RTX A6000 | 450"), "power_w", "450"),
        ("CUDA cores:", ("RTX 3090 | 10496", "RTX 3080 | 8704", "RTX 3070 | 8704"), "cuda_cores", "8704"),
    ],
)
def test_a_table_without_a_head_states_what_its_caption_names(
    head: str, caption: str, rows: tuple[str, ...], field: str, wrong: str
) -> None:
    found = audit.audit_text(head.format(caption, *rows), "a.md").findings
    assert [(f.field, f.verdict) for f in found] == [(field, v) for v in ("agrees", "agrees", "contradicts")]
    assert found[-1].stated == wrong


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("The A100 has 192 KB of L1 cache per SM.", "agrees"),
        ("The RTX 3090 has 10,496 KB of L1 cache.", "agrees"),  # in all
        ("The H100 SXM has 228 KB of L1 cache per SM.", "cannot tell"),  # as much can be shared memory
        ("| GPU | L1 cache/SM | L2 cache |\n|-|-|-|\n| H100 SXM | 256 KB | 50 MB |\n| L4 | 512 KB | 48 MB |",
         "contradicts"),
        ("The MI300X has 32 KB of L1 cache per CU.", "cannot tell"),
    ],
)  # fmt: skip
def test_caches_of_each_multiprocessor(text: str, verdict: str) -> None:
    assert [f.verdict for f in audit.audit_text(text, "a.md").findings if f.field == "l1_bytes"][
        -1
    ] == verdict


def test_a_label_that_nobody_knows_ends_the_values_of_the_one_before() -> None:
    text = "L4\nTesla M40\nTDP\n72 W\n600 W\nSuggested PSU\n250 W\n600 W\nBandwidth\n300 GB/s\n288.4 GB/s\n"
    powers = [f.verdict for f in audit.audit_text(text).findings if f.field == "power_w"]
    assert powers == ["agrees", "contradicts"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The Foo X900 has 64 GB and 900 W.", ["64 GB", "900 W"]),
        ("| GPU | Memory | Power |\n|-|-|-|\n| Foo X900 | 64 GB | 900 W |\n", ["64 GB", "900 W"]),
        ("My laptop of 2019 has 16 GB.", []),
    ],
)
def test_values_of_unknown_products_are_listed(text: str, left: list[str]) -> None:
    assert [one.text for one in audit.audit_text(text, "a.md").unjudged] == left
