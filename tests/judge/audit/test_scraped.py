"""Text scraped from web pages: rows run together, labels apart from their values, names in labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from gpuwise.judge import audit

Read = Callable[..., list[tuple[str, str, str]]]
HEAD = "FeatureRTX 3080RTX 3070\nVRAM10 GB8 GB\n"


def judged(text: str, name: str = "a.txt") -> list[tuple[str, str, str]]:
    """(field, value as written, verdict) of every finding."""
    return [(f.field, f.stated, f.verdict) for f in audit.audit_text(text, name).findings]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # The catalog has both, or the neighbour of the one that is wrong.
        ("CUDA cores87045888", [("8704", "agrees"), ("5888", "agrees")]),
        ("CUDA cores87045988", [("8704", "agrees"), ("5988", "contradicts")]),
        # Nobody can tell where one number ends: no reading at all.
        ("CUDA cores91046388", []),
        ("Tensor cores12345678", []),
        ("Tensor cores300199", []),
        ("CUDA cores8704", []),
        # A comma for thousands tells it, and a year has four digits.
        ("CUDA cores8,7045,888", [("8,704", "agrees"), ("5,888", "agrees")]),
        ("CUDA cores8,7046,888", [("8,704", "agrees"), ("6,888", "contradicts")]),
    ],
)
def test_digits_that_ran_together(row: str, expected: list[tuple[str, str]]) -> None:
    found = judged(HEAD + row + "\nTDP320 W220 W")
    assert [(value, verdict) for field, value, verdict in found if "cores" in field] == expected


@pytest.mark.parametrize(
    ("row", "read"),
    [
        ("FP16 TFLOPS312312990362", ["312", "312", "990", "362"]),
        # One in the middle is not known, its neighbours are; of two neighbours one must be.
        ("FP16 TFLOPS312332990362", ["312", "332", "990", "362"]),
        ("FP16 TFLOPS312332940362", []),
        ("FP16 TFLOPS312312990", []),
    ],
)
def test_the_catalog_parts_digits_of_many(claimed: Read, row: str, read: list[str]) -> None:
    text = f"SpecA100-40GBA100-80GBH100 SXML40S\n{row}\nTDP400W400W700W350W"
    assert [v for _, field, v in claimed(text, "a.txt") if field == "peak:fp16"] == read


def test_a_cell_that_is_a_short_name_in_small_letters_is_that_gpu() -> None:
    rows = "t4,16,75\nl4,24,72\na10,24,150\nh100,80,700"
    found = judged(f"gpu,memory_gb,power_w\n{rows}\n", "a.csv")
    assert Counter(verdict for *_, verdict in found) == {"agrees": 7, "contradicts": 1}
    assert ("power_w", "75", "contradicts") in found


def test_a_text_of_an_object_on_a_line_may_hold_a_comma() -> None:
    objects = ",\n".join(
        f'{{"id": "{gpu}", "name": "{gpu.upper()} ({chip}, {size}GB)", "vram_gb": {size}, "watts": {power}}}'
        for gpu, chip, size, power in (
            ("l4", "Ada", 24, 72),
            ("a30", "Ampere", 24, 165),
            ("t4", "Turing", 16, 90),
        )
    )
    found = judged(f'{{"gpus": [\n{objects}\n', "a.json")
    assert Counter(v for field, _, v in found if field == "power_w") == {"agrees": 2, "contradicts": 1}


@pytest.mark.parametrize(("wrong", "accused"), [(1, 1), (2, 2), (3, 0)])
def test_one_field_of_many_objects_is_a_column_while_few_are_wrong(wrong: int, accused: int) -> None:
    sizes = {
        "RTX 3090": 24,
        "RTX 4090": 24,
        "L4": 24,
        "A10": 24,
        "L40S": 48,
        "A40": 48,
        "T4": 16,
        "A30": 24,
        "L40": 48,
    }
    stated = {gpu: size + 4 if n < wrong else size for n, (gpu, size) in enumerate(sizes.items())}
    objects = ",\n".join(
        f'  {{\n    "id": "{gpu}",\n    "vram_gb": {size},\n    "tier": "x"\n  }}'
        for gpu, size in stated.items()
    )
    found = judged(f"[\n{objects}\n]\n", "a.json")
    assert sum(verdict == "contradicts" for *_, verdict in found) == accused


def test_of_two_cells_of_a_row_that_disagree_the_wrong_one_is_accused() -> None:
    rows = "\n".join(
        f'{gpu},"{stated} GB, GDDR6, {bus} bit",{size}.0'
        for gpu, stated, bus, size in (("L4", 24, 192, 24), ("T4", 16, 256, 16), ("A10", 32, 384, 24))
    )
    found = judged(f"Name,Memory,Memory size (GB)\n{rows}\n", "a.csv")
    assert [value for field, value, verdict in found if verdict == "contradicts"] == ["32 GB"]


CELLS = (("VRAM", "24 GB", "32 GB"), ("CUDA Cores", "16384", "21760"), ("TGP", "450 W", "575 W"))
BROKEN = {
    "as it was": "|\nRTX 4090 | RTX 5090 |\n" + "\n".join(f"{a} |\n{b} | {c} |" for a, b, c in CELLS),
    "otherwise": "RTX 4090 | RTX 5090 |\n" + "\n".join(f"{a} | {b} |\n{c} |" for a, b, c in CELLS),
    "no rule": "RTX 4090 vs RTX 5090\nDetails\n" + "\n".join(f"{a} | {b} | {c} |" for a, b, c in CELLS),
    "sections": "| General | ||\n|---|---|---|\n| RTX 4090 | RTX 5090 | |\n| VRAM | 24 GB | 32 GB |\n"
    "| Chip | ||\n| RTX 4090 | RTX 5090 | |\n| CUDA Cores | 16384 | 21760 |\n| TGP | 450 W | 575 W |",
    "names apart": "GPU | Node | VRAM | CUDA Cores | TGP |\n---|---|---|---|---|\nRTX 4090 |\n"
    "a1 | 24 GB | 16384 | 450 W |\nRTX 5090 |\na2 | 32 GB | 21760 | 575 W |",
    "names far right": "Id,Node,CPU,CPU TDP,RAM,Card,VRAM (GB),CUDA Cores,TGP (W)\n"
    "1,a,x,65,64,RTX 4090,24,16384,450\n2,b,x,65,128,RTX 5090,32,21760,575",
    "a cell a line": "GPU |\nVRAM |\n# of GPUs |\nCUDA Cores |\nTGP |\n|---|---|---|---|---|\n"
    "RTX 4090 |\n24 GB |\n1 |\n16384 |\n450 W |\nRTX 5090 |\n32 GB |\n1 |\n21760 |\n575 W |",
    "one line": "It has. | Spec | RTX 4090 | RTX 5090 | |---|---|---| "
    + " ".join(f"| {a} | {b} | {c} |" for a, b, c in CELLS)
    + " That is all.",
    "no corner": "RTX 4090 Card | RTX 5090 Card | |\n" + "\n".join(f"{a} | {b} | {c} |" for a, b, c in CELLS),
    "groups": "GPU specs | RTX 4090 | RTX 5090 | |\n---|---|---|---|\nMemory | VRAM | 24 GB | 32 GB |\n"
    "CUDA Cores | 16384 | 21760 | |\nPower | TGP | 450 W | 575 W |",
    "a second rule": "| Use | GPU | Why |\n|---|---|---|\n| a | RTX 4090 | b |\nSide by side\n"
    "| Spec | Price | RTX 4090 | RTX 5090 |\n|---|---|---|---|\n"
    + "\n".join(f"| {a} | | {b} | {c} |" for a, b, c in CELLS),
    "objects": '{"RTX_4090": {"vram": 24, "cuda_cores": 16384, "tgp": 450},\n'
    "'RTX_5090': {'memsize': 32 * (1024**3), 'cuda_cores': 21760, 'tgp': 575}",
    "names over lines": "SpecRTX 4090\nRTX 5090\n" + "\n".join(f"{a}{b}{c}" for a, b, c in CELLS),
    "joined": "| GPU | VRAM (GB) / CUDA Cores / TGP (W) |\n|---|---|\n"
    "| RTX 4090 | 24 / 16384 / 450 |\n| RTX 5090 | 32 / 21760 / 575 |",
}


@pytest.mark.parametrize("way", BROKEN)
def test_pipes_as_pages_are_copied(claimed: Read, way: str) -> None:
    found = claimed(BROKEN[way], "a.csv" if way == "names far right" else "a.txt")
    numbers = {(gpu[-4:], value.split()[0]) for gpu, _, value in found}
    assert numbers == {
        (gpu, cell.split()[0]) for row in CELLS for gpu, cell in zip(("4090", "5090"), row[1:], strict=True)
    }
    assert len(found) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # One value is that of all variants of a product, of different products nobody's.
        ("Spec A100 PCIe 80GB A100 SXM 80GB\nCUDA Cores 6,912\nA100 VRAM 80 GB 80 GB",
         ["6,912", "6,912", "80 GB", "80 GB"]),
        ("Spec A100 PCIe 80GB L40S\nCUDA Cores 6,912\nVRAM 80 GB 48 GB", ["80 GB", "48 GB"]),
        # Commas of thousands part what ran together, right or wrong.
        ("SpecRTX 4090RTX 5090\nCUDA Cores13,84621,706\nTGP450 W575 W",
         ["13,846", "21,706", "450 W", "575 W"]),
        # "about" behind a unit begins another value.
        ("SpecH200 SXML40S\nFP8 (dense)~1,979 TFLOPS~733 TFLOPS\nTDP700 W350 W",
         ["1,979 TFLOPS", "733 TFLOPS", "700 W", "350 W"]),
        # Of a cell only the card's own value.
        ("| GPU | Memory | Bandwidth |\n|---|---|---|\n"
         "| RTX 4090 | 24 GB VRAM + 128 GB system | 1,008 GB/s, ~50 GB/s (PCIe) |", ["24 GB", "1,008 GB/s"]),
    ],
)  # fmt: skip
def test_which_values_of_a_row_are_read(claimed: Read, text: str, expected: list[str]) -> None:
    assert [value for _, _, value in claimed(text, "a.txt")] == expected


PAIR = (
    "RTX 4090 vs RTX 3090\n\n| VRAM | 24 GB | 24 GB |\n|-|-|-|\n| TGP | 450 W | 350 W |\n"
    "| Chip | AD102 | GA102 |\n"
)
CLOCKS = (
    "\nClock speeds\n\n| Base clock | {} MHz | {} MHz |\n|---|---|---|\n| Boost clock | {} MHz | {} MHz |\n"
)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        # The order of a title's GPUs, which the first table shows, holds for those below, whatever they say.
        (PAIR + CLOCKS.format(2325, 1395, 2520, 1965), "a.md", {"2325 MHz contradicts", "1395 MHz agrees"}),
        (PAIR + CLOCKS.format(2325, 1935, 2520, 1965), "a.md",
         {"1935 MHz contradicts", "1965 MHz contradicts"}),
        (CLOCKS.format(2325, 1395, 2520, 1965), "a.md", None),
        ("| GPU | Chip | PCIe |\n|---|---|---|\n| Tesla V100 PCIe 16 GB | GV100 | 4.0 x16 |\n"
         "| RTX 4090 | AD103 | Gen 4 |", "a.md",
         {"GV100 agrees", "PCIe 4.0 x16 contradicts", "AD103 contradicts", "PCIe Gen 4 agrees"}),
        ('{\n  name: "RTX 3080",\n  pciegen: "3",\n}', "a.js", {"PCIe 3 contradicts"}),
        ("| | T4 | L4 |\n|---|---|---|\n| Architecture | Turing (7 nm) | Ada Lovelace (5 nm) |", "a.md",
         {"7 nm contradicts", "5 nm agrees"}),
        ("question\tanswer\nHow much memory does the L40S have?\t64 GB.\nTDP of a T4?\t70 W", "a.tsv",
         {"64 GB contradicts", "70 W agrees"}),
        ("- name: RTX 4090\n  vram:\n    value: 42\n    unit: GB\n  cuda_cores:\n    value: 16384\n"
         "    unit: null", "a.yaml", {"42 GB contradicts", "16384 agrees"}),
        # Rows with an empty line between them, and the next table's head.
        ("| | T4 | L4 |\n\n| :--- | --- | --- |\n\n| VRAM | 16 GB | 42 GB |\n\n| TDP | 70 W | 72 W |\n\n"
         "| | A2 | A40 |\n\n| --- | --- | --- |\n\n| TDP | 60 W | 330 W |\n", "a.md",
         {"16 GB agrees", "42 GB contradicts", "72 W agrees", "60 W agrees", "330 W contradicts"}),
        ("name: rtx-4090\nmemoryCapacityGB: 42\nmaxTDPWatts: 450\n", "a.yaml",
         {"42 contradicts", "450 agrees"}),
        # What runs now is no generation of the card; an object of an unknown name is nobody's.
        ("name, pcie.link.gen.current\nNVIDIA GeForce RTX 3060, 3", "a.csv", set()),
        ('[\n{\n"name": "RTX 4090",\n"vram": 42\n},\n{\n"name": "Foo 9000",\n"vram": 64\n}\n]', "a.json",
         {"42 contradicts"}),
        ("| | T4 | L4 |\n|-|-|-|\n| NVLink | 1 \\* NVLink 3 | - |\n| AI tensor cores | 80 トーパス | 204 |",
         "a.md",
         {"204 contradicts"}),
        # Clocks taken for each other are read right.
        ("| | RTX 4090 | RTX 3090 |\n|---|---|---|\n| Base clock | 2520 MHz | 1695 MHz |\n"
         "| Boost clock | 2235 MHz | 1395 MHz |\n| TGP | 450 W | 305 W |", "a.md",
         {"2520 MHz contradicts", "1395 MHz contradicts", "305 W contradicts"}),
        # Hardware of the whole die is not the product's; what else stands there is.
        ("SMs of the full implementation\n\n| | A100 | H100 SXM |\n|---|---|---|\n| SM count | 128 | 144 |\n"
         "| L2 cache (MB) | 40 | 60 |\n| Shared memory bandwidth (GB/s) | 23101 | 32348 |", "a.md",
         {"60 cannot tell", "128 cannot tell", "144 cannot tell"}),
    ],
)  # fmt: skip
def test_tables_of_other_shapes(text: str, name: str, expected: set[str] | None) -> None:
    found = {f"{value} {verdict}" for _, value, verdict in judged(text, name)}
    assert found >= expected if expected else not any("MHz" in one for one in found)
    assert not any("GB/s" in one or one.startswith(("1 ", "64 c")) or "80" in one for one in found)
    assert expected != set() or not found


@pytest.mark.parametrize("text", ["|\n|\nx", "a |\n|\n\n|", "|", "|\n|---|---|\n|"])
def test_pipes_without_cells(text: str) -> None:
    assert not judged(text)


@pytest.mark.parametrize("cards", [2, 3])
def test_headings_and_items_on_one_line(cards: int) -> None:
    names = ("L40S", "H100 SXM", "H200 SXM")[:cards]
    text = "# Cards " + " ".join(f"### {name} - 2023 - Memory: 84 GB - TDP: 700 W" for name in names)
    found = [f for f in audit.audit_text(text, "a.md").findings if f.field == "memory_bytes"]
    assert [f.verdict for f in found] == ["contradicts"] * cards


def test_an_architecture_with_its_point() -> None:
    found = {v for f, _, v in judged("# RX 7900 XTX\n\n- Architecture: RDNA 3.0\n- VRAM: 24 GB", "a.md")}
    assert found == {"agrees"}


def test_a_card_that_nobody_knows_beside_one(claimed: Read) -> None:
    rows = "Memory | 4 GB | 48 GB |\nTDP | 30 W | 350 W |\nMemory type | GDDR6 | GDDR6 |"
    found = claimed(f"Foo X77 vs L40S\nDetails\n{rows}", "a.txt")
    assert [value for gpu, _, value in found if gpu == "L40S"] == ["48 GB", "350 W", "GDDR6"]


def test_what_a_cell_says_on_two_lines(claimed: Read) -> None:
    text = BROKEN["otherwise"] + "\nArchitecture and chip | Ada Lovelace\nAD102 |\nBlackwell, GB202 |"
    lines = {f.stated: f.lines for f in audit.audit_text(text, "a.txt").findings}
    assert (lines["Ada Lovelace"], lines["AD102"], lines["GB202"]) == ((8,), (9,), (10,))


def test_empty_cells_that_were_dropped_move_the_others() -> None:
    head = (
        "| | V100 | A100 | H100 | L4 | B200 |\n|---|---|---|---|---|---|\n"
        "| Memory | 32 GB | 80 GB | 80 GB | 24 GB | 180 GB |\n"
    )
    row = "| FP8 TFLOPS | 1979 | 242 | 4500 |\n"
    assert not [v for _, _, v in judged(head + row, "a.md") if v == "contradicts"]
    # Where most of the row fits, the last ones have none.
    fits = "| Memory bandwidth | 900 GB/s | 2039 GB/s | 3530 GB/s |\n"
    assert [v for f, _, v in judged(head + fits, "a.md") if f == "memory_bytes_per_s"] == [
        "agrees",
        "agrees",
        "contradicts",
    ]


@pytest.mark.parametrize(
    ("unknown", "cells", "found"),
    [
        ([], ("320", "4"), 6),
        (["Frobs"], ("9", "320", "4"), 6),  # every row has a line for the label that nobody knows
        (["Frobs"], ("320", "4"), 6),  # what has no value in any row is a title
        (["Frobs", "Widgets", "Gadgets", "Gizmos"], ("9", "9", "9", "9", "320", "4"), 0),  # no table of GPUs
    ],
)
def test_a_cell_a_line_with_a_label_that_nobody_knows(
    unknown: list[str], cells: tuple[str, ...], found: int
) -> None:
    lines = ["GPU", *unknown, "Memory bandwidth (GB/s)", "L2 cache (MB)", "Launch year"]
    for gpu in ("T4", "Tesla T4"):
        lines += [gpu, *cells, "2018"]
    fields = {"memory_bytes_per_s", "l2_bytes", "launch"}
    assert (
        len([f for f, _, verdict in judged("\n".join(lines)) if f in fields and verdict == "agrees"]) == found
    )


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("Power limit: 250 W", "cannot tell"), ("Power limit: 300 W", "agrees"),
        ("Power limit: 310 W", "differs"), ("Total memory: 96 GB", "cannot tell"),
        ("Total memory: 80 GB", "contradicts"), ("Total memory: 24 GB", "contradicts"),
        ("Full die tensor cores: 384", "cannot tell"), ("Full die tensor cores: 320", "contradicts"),
    ],
)  # fmt: skip
def test_what_a_label_lets_a_figure_be(line: str, verdict: str) -> None:
    """What an owner limits is no more than the board's; the memory of several is twice one's; a whole die has
    no less than a product."""
    assert [v for *_, v in judged(f"## RTX A6000\n\n- Memory bandwidth: 768 GB/s\n- {line}\n", "a.md")][
        1:
    ] == [verdict]


@pytest.mark.parametrize(
    ("label", "value", "field"),
    [
        ("SP performance", "38.7 TFLOPS", "peak:fp32"), ("Level 2 cache", "6 MB", "l2_bytes"),
        ("Bit width", "384-bit", "memory_bus_bits"), ("VRAM kind", "GDDR6", "memory_type"),
        ("Type of memory", "GDDR6", "memory_type"), ("Turbo clock", "1800 MHz", "boost_hz"),
        ("Year of release", "2020", "launch"), ("Fab node", "8 nm", "process_nm"),
        ("Amount of VRAM", "48 GB", "memory_bytes"), ("Power cap", "300 W", "power_w"),
        ("Architecture family", "Ampere", "architecture"), ("Price at release", "$4,650", "launch_price_usd"),
        ("Cores (CUDA)", "10,752", "cuda_cores"), ("Cores", "10,752", "cuda_cores"),
        ("SM units", "84", "sm_count"),
    ],
)  # fmt: skip
def test_words_that_head_a_figure(label: str, value: str, field: str) -> None:
    assert [f for f, *_ in judged(f"| GPU | {label} |\n|---|---|\n| RTX A6000 | {value} |\n", "a.md")] == [
        field
    ]


def test_a_name_behind_the_form_of_the_one_before(claimed: Read) -> None:
    found = claimed("SpecH100 SXML40S\nTDP700 W350 W\nVRAM80 GB48 GB", "a.txt")
    assert ("L40S", "power_w", "350 W") in found


def test_words_that_ran_together(claimed: Read) -> None:
    head = "FeatureA100 SXMV100 SXMT4\nVRAM40 GB32 GB16 GB\n"
    found = claimed(head + "NVLinkYes (600 GB/s)Yes (300 GB/s)No\nArchitectureAmpereVoltaTuring", "a.txt")
    assert [v for _, field, v in found if field == "link_bytes_per_s"] == ["600 GB/s", "300 GB/s"]
    assert [v for _, field, v in found if field == "architecture"] == ["Ampere", "Volta", "Turing"]
    # A cell with another kind of value in it leaves open where the cells part.
    assert "link_bytes_per_s" not in {f for _, f, _ in claimed(head + "LinkNonePCIe 4.0900 GB/s NVLinkT4")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Instinct series\n\n- Variants: MI210, MI300X\n- Memory (MI300X): 192 GB HBM3, 5.3 TB/s bandwidth",
         {("MI300X", "memory_bytes", "192 GB"), ("MI300X", "memory_type", "HBM3"),
          ("MI300X", "memory_bytes_per_s", "5.3 TB/s")}),
        ("- TDP: 300 W (MI210), 750 W (MI300X)",
         {("MI210", "power_w", "300 W"), ("MI300X", "power_w", "750 W")}),
        ("- Peak compute (A100 SXM): ~312 TFLOPS FP16", {("A100 SXM", "peak:fp16", "312 TFLOPS")}),
    ],
)  # fmt: skip
def test_a_label_that_names_its_gpu(claimed: Read, text: str, expected: set[tuple[str, str, str]]) -> None:
    assert set(claimed(text)) == expected


def test_a_list_with_names_in_its_labels_is_judged() -> None:
    assert judged("## MI200\n- TDP: 400 W (MI300X)") == [("power_w", "400 W", "contradicts")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The T4 has 320 GB/s, the L4 has 300 GB/s, and the A10 has 600 GB/s.", ["agrees"] * 3),
        # No word says that these are the memory's: what is far from it may be something else's.
        ("The T4 has 900 GB/s, the L4 has 450 GB/s.", ["cannot tell", "contradicts"]),
        ("The RTX 3080 has a memory bandwidth of 760 GB/s compared to the 3070's 448 GB/s.", ["agrees"] * 2),
    ],
)
def test_several_gpus_each_with_its_rate(text: str, expected: list[str]) -> None:
    assert [verdict for field, _, verdict in judged(text) if field == "memory_bytes_per_s"] == expected


def test_what_is_the_same_as_another_one_s_leaves_the_subject() -> None:
    text = "The MI300X has 192 GB, the same memory size as a B200, and does 2,615 TFLOPS in FP16."
    (found,) = [f for f in audit.audit_text(text).findings if f.field == "peak:fp16"]
    assert found.gpu == "AMD Instinct MI300X"


def test_values_below_their_labels_and_parts_of_a_specification() -> None:
    text = "Tesla T4\n\nVRAM\n16 GB\n\nCompute performance\n\nFP1665.1 TFLOPS TFLOPS\n\nMemory & VRAM\n\n{}"
    found = judged(text.format("Bandwidth620 GB/s"))
    assert found == [
        ("memory_bytes", "16 GB", "agrees"),
        ("peak:fp16", "65.1 TFLOPS", "agrees"),
        ("memory_bytes_per_s", "620 GB/s", "contradicts"),
    ]
    # A heading of other words may end the section of the GPU.
    other = text.replace("Memory & VRAM", "Our other machine").format("Bandwidth620 GB/s")
    assert "contradicts" not in {verdict for _, _, verdict in judged(other)}


def test_a_label_goes_on_up_to_its_value() -> None:
    assert judged("## A100 SXM\n\nFP16 dense624 TFLOPS") == [("peak:fp16", "624 TFLOPS", "contradicts")]


@pytest.mark.parametrize(
    ("stated", "verdict"),
    [("132 GB/s", "contradicts"), ("780 GB/s", "contradicts"), ("950 GB/s", "cannot tell")],
)
def test_far_from_every_source(stated: str, verdict: str) -> None:
    # Two sources print 900 and 981 GB/s; what lies between is nobody's error.
    assert [v for _, _, v in judged(f"## V100 SXM3\n- Memory bandwidth: {stated}")] == [verdict]


ROWS = "{}\n\nBandwidth\n\n{}\n\n{}\n\nVRAM\n\n{}\n\n{}\n\nTDP\n\n{}\n"


def owners(text: str) -> list[tuple[str, str, str]]:
    """(GPU, value as written, verdict) of every finding."""
    return [(f.gpu[-8:], f.stated, f.verdict) for f in audit.audit_text(text, "a.txt").findings]


@pytest.mark.parametrize("title", ["# RTX 3090 vs RTX 4090\n\n", "RTX 3090 vs. RTX 4090: which one?\n\n"])
@pytest.mark.parametrize("name", ["", "RTX 3090\n\n"])
def test_labels_between_the_values_of_two_gpus(title: str, name: str) -> None:
    rows = ROWS.format("936.2 GB/s", "1008GB/s", "24 GB", "24 GB", "350W", "450W")
    expected = ["936.2 GB/s", "1008GB/s", "24 GB", "24 GB", "350W", "450W"]
    gpus = ["RTX 3090", "RTX 4090"] * 3
    assert owners(title + name + rows) == [(g, v, "agrees") for g, v in zip(gpus, expected, strict=True)]


def test_labels_between_values_and_headings_of_sections() -> None:
    memory, power = "24GB\nVRAM\n24GB\n1008GB/s\nBandwidth\n936GB/s", "450W\nTDP\n350W"
    text = f"# RTX 4090 vs RTX 3090\n\nRTX 4090\n\nMemory\n{memory}\nPower\n{power}"
    assert {verdict for _, _, verdict in owners(text)} == {"agrees"}
    assert ("RTX 3090", "350W", "agrees") in owners(text)


def test_a_wrong_value_beside_a_label_is_found_among_right_ones() -> None:
    rows = ROWS.format("936.2 GB/s", "1008GB/s", "24 GB", "24 GB", "350W", "550W")
    wrong = [one for one in owners("# RTX 3090 vs RTX 4090\n\n" + rows) if one[2] == "contradicts"]
    assert wrong == [("RTX 4090", "550W", "contradicts")]


def test_values_around_labels_that_fit_the_other_way_are_left_alone() -> None:
    rows = ROWS.format("936.2 GB/s", "1008GB/s", "24 GB", "24 GB", "350W", "450W")
    assert "contradicts" not in {v for _, _, v in owners("# RTX 4090 vs RTX 3090\n\nRTX 4090\n\n" + rows)}


def test_labels_before_their_values_are_no_labels_between() -> None:
    card = "VRAM\n{}\nBandwidth\n{}\nFP32\n{}\nFP16\n{}\nTDP\n{}\n"
    one = card.format("24 GB", "1008 GB/s", "82.6 TFLOPS", "165 TFLOPS", "450 W")
    text = f"# RTX 4090 vs RTX 3090\n\n## RTX 4090\n\n{one}"
    assert {gpu for gpu, _, _ in owners(text)} == {"RTX 4090"}
    assert len(owners(text)) == 5


def test_a_cell_a_line_with_a_rule_that_tells_how_many_make_a_row(claimed: Read) -> None:
    """A precision that heads no column is a value, and "# of GPUs" no heading."""
    head = "GPU |\nGPU memory (GB) |\nPrecision |\n# of GPUs |\n|---|---|---|---|\n"
    rows = "L40S |\n48 |\nFP32 |\n1 |\nT4 |\n16 |\nFP32 |\n1 |"
    assert claimed(head + rows, "a.txt") == [("L40S", "memory_bytes", "48"), ("T4", "memory_bytes", "16")]


def test_a_table_below_another_without_a_line_between(claimed: Read) -> None:
    first = "| Use | Choice |\n|---|---|\n| Chat | L4 |\nSpecifications\n"
    second = (
        "| GPU | VRAM | TDP |\n|---|---|---|\n| L4 | 24 GB | 72 W |\n| - | -- | - |\n| T4 | 16 GB | 70 W |"
    )
    found = {(f.lines, f.gpu[-2:], f.stated) for f in audit.audit_text(first + second, "a.md").findings}
    assert found == {((7,), "L4", "24 GB"), ((7,), "L4", "72 W"), ((9,), "T4", "16 GB"), ((9,), "T4", "70 W")}
    # Code keeps together what stands in it.
    assert len(claimed(f"```\n{first}{second}\n```\nThe T4 has 320 tensor cores.", "a.md")) == 5


@pytest.mark.parametrize(
    ("cell", "values"),
    [
        ("24 GB VRAM + 128 GB system", ["24 GB"]),
        ("24 GB, 300 GB/s (VRAM), 128 GB/s (PCIe)", ["24 GB", "300 GB/s"]),
        ("24 GB, 129 GB/s (PCIe)", ["24 GB", "129 GB/s"]),
        ("24 GB + 128 GB host memory", ["24 GB"]),
        ("24 GB (desktop)", ["24 GB"]),
        ("24 GB system-on-card", ["24 GB"]),
    ],
)
def test_a_value_that_its_own_words_give_to_another(claimed: Read, cell: str, values: list[str]) -> None:
    assert [v for *_, v in claimed(f"| GPU | VRAM |\n|---|---|\n| L4 | {cell} |", "a.md")] == values


GLUED = "{}\nTDP320 W220 W\nBoost-Takt1710 MHz1725 MHz\n760.3 GB/sBandbreite448.0 GB/s\nBus320 bit256 bit\n"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # A label before both values, between them, or unknown; with the unit of both, or with blanks.
        ("Memory10 GB8 GB", [("10 GB", "agrees"), ("8 GB", "agrees")]),
        ("10 GBMemory12 GB", [("10 GB", "agrees"), ("12 GB", "contradicts")]),
        ("Shadereinheiten87045888", [("8704", "agrees"), ("5888", "agrees")]),
        ("Shadereinheiten87045988", [("8704", "agrees"), ("5988", "contradicts")]),
        ("Rechenwerke87045888", [("8704", "agrees"), ("5888", "agrees")]),
        ("Rechenwerke87045988", []),
        ("29.77 TFLOPS (1:1)FP32-Leistung20.31 TFLOPS (1:1)", [("29.77", "agrees"), ("20.31", "agrees")]),
        ("Speicher GDDR6X GDDR6", [("GDDR6X", "agrees"), ("GDDR6", "agrees")]),
        # Dates and names around a label; words that go on where no gap is; labels that nobody knows.
        ("GA102GPU-NameGA104", [("GA102", "agrees"), ("GA104", "agrees")]),
        (
            "Sep 1st, 2020Erstverkaufstag15 of Oct 2023",
            [("Sep 1st, 2020", "agrees"), ("15 of Oct 2023", "contradicts")],
        ),
        ("Nodo8 nm8 nm", [("8 nm", "agrees"), ("8 nm", "agrees")]),
        ("Nodo8 nm12 nm", [("8 nm", "agrees"), ("12 nm", "contradicts")]),
        (
            "\u041d\u043e\u0434\u044b28,300 \u043c\u043b\u043d17,400 \u043c\u043b\u043d",
            [("28,300 \u043c\u043b\u043d", "agrees"), ("17,400 \u043c\u043b\u043d", "agrees")],
        ),
        ("Kerntakt1440 MHz (1)1500 MHz", [("1440 MHz", "agrees"), ("1500 MHz", "agrees")]),
        # A name of a GPU, or a sentence, is no row.
        ("The RTX 3090 has 24 GB and 10 GB", []),
    ],
)
def test_rows_below_a_title_of_two(row: str, expected: list[tuple[str, str]]) -> None:
    found = judged("GeForce RTX 3080 vs GeForce RTX 3070\n\n" + GLUED.format(row))
    assert [
        (value.removesuffix(" TFLOPS"), verdict) for _, value, verdict in found[: len(found) - 8]
    ] == expected
    assert [verdict for *_, verdict in found[-8:]] == ["agrees"] * 8


def test_a_clock_of_one_that_another_row_has_is_no_boost_clock() -> None:
    """3070: 1500 MHz base; as the boost clock of the 3080, 1710 MHz, a label without a meaning has it."""
    found = judged("RTX 3080 vs RTX 3070\n\nTakt núcleo1710 MHz1500 MHz\n" + GLUED.format("Memory10 GB8 GB"))
    assert "contradicts" not in {verdict for *_, verdict in found}


def test_cells_that_lost_their_line() -> None:
    text = "FeatureRTX 3080RTX 3070\nBandwidth760\n\nGB/s\n449\n\nGB/s\nTDP320 W220 W\n"
    found = [(f.lines, f.stated, f.verdict) for f in audit.audit_text(text, "a.txt").findings]
    assert found[:2] == [((2,), "760 GB/s", "agrees"), ((5,), "449 GB/s", "agrees")]
    assert len(found) == 4


def test_a_table_in_one_line() -> None:
    """Three names in a row, then a label and three values, again and again; with as many values as names."""
    head = "Karte NVIDIA RTX 3090 RTX 3080 RTX 3070"
    rows = "Chip GA102 GA102 GA104 Takt 1 2 VRAM 24 GB GDDR6X 10 GB GDDR6X 8 GB GDDR6"
    wide = "Bandbreite 936 GB/s 761 GB/s\n\n512 GB/s TDP 350 W 320 W 220 W"
    found = audit.audit_text(f"{head} {rows} {wide}\n\nDas war es.", "a.txt").findings
    assert {(f.lines, f.gpu[-8:], f.stated) for f in found if f.verdict == "contradicts"} == {
        ((3,), "RTX 3070", "512 GB/s")
    }
    fields = {"chip": 3, "memory_bytes": 3, "memory_bytes_per_s": 2, "memory_type": 3, "power_w": 3}
    assert Counter(f.field for f in found if f.verdict == "agrees") == fields
    # Two rows are none, nor is a sentence.
    said = "The NVIDIA RTX 3090 RTX 3080 RTX 3070 are cards with 24 GB 10 GB 8 GB and 350 W 320 W 260 W each"
    assert "contradicts" not in {f.verdict for f in audit.audit_text(said, "a.txt").findings}


def test_rows_with_a_line_between_and_names_again_below_the_head(claimed: Read) -> None:
    rows = ["Feature | A40 | L40", "--- | --- | ---", "Card | A40 | L40", "Memory | 48 GB | 48 GB"]
    rows += ["Bus | PCIe 4.0 | PCIe 4.0", "Interconnect | 1 * NVLink 3.0 | -", "TDP | 300 W | 310 W"]
    text = "\n\n".join(f"| {row} |" for row in rows)
    assert [(gpu, value) for gpu, field, value in claimed(text, "a.md") if "pcie" not in field] == [
        ("A40", "48 GB"), ("L40", "48 GB"), ("A40", "300 W"), ("L40", "310 W"),
    ]  # fmt: skip


def test_a_column_of_a_card_that_nobody_knows() -> None:
    """Its values are not those of the other one, whose name has a word too many."""
    rows = "Memory\n48 GB\n{}\nTDP\n300 Watt\n260 Watt\nMemory bus\n384 Bit\n352 Bit\n"
    found = audit.audit_text("RTX A40\n\nTesla T41 24 GB\n\n" + rows.format("24 GB"), "a.txt").findings
    assert [(f.gpu[-3:], f.stated) for f in found if f.verdict == "agrees"] == [
        ("A40", "48 GB"), ("A40", "300 Watt"), ("A40", "384 Bit"),
    ]  # fmt: skip
    assert "contradicts" not in {f.verdict for f in found}


def test_objects_on_a_line_each_are_rows_of_a_table() -> None:
    """Rates of a format that nothing names are of the one that most GPUs of the table have."""
    cards = [("L4", 30.3, 2023), ("RTX 4090", 82.6, 2022), ("RTX 2060", 6.45, 2019), ("L40S", 19.5, 2023)]
    rows = "".join(
        f"  {{ name: '{gpu}', tflops: {rate}, releaseYear: {year} }},\n" for gpu, rate, year in cards
    )
    found = judged(f"export const gpus = [\n{rows}]\n", "a.ts")
    assert [one for one in found if one[0] == "launch"] == [("launch", str(y), "agrees") for *_, y in cards]
    rates = [("peak:fp32", str(rate), "agrees") for _, rate, _ in cards[:3]]
    assert [one for one in found if one[0] != "launch"] == [*rates, ("peak:fp32", "19.5", "contradicts")]
    # Other entries make another table; a name in front of the object is that of its GPU, too.
    found = judged('"L4": {"memory_gb": 24, "tdp": 72},\n"L40S": {"memory_gb": 32, "bus": 384},\n', "a.py")
    assert [verdict for *_, verdict in found] == ["agrees", "agrees", "contradicts", "agrees"]


def test_a_cell_a_line_below_a_corner_and_a_name_with_words_in_brackets(claimed: Read) -> None:
    rows = "".join(f"{a} |\n{b} |\n{c} |\n" for a, b, c in [
        ("What", "RTX 5080 (expected)", "RTX 4080"), ("CUDA Cores", "15,360", "9,728"),
        ("Memory", "24GB GDDR7", "16GB GDDR6X"), ("TDP", "360W", "320W"), ("Bus", "256-bit", "256-bit"),
    ])  # fmt: skip
    found = [
        (f.gpu[-4:], f.stated) for f in audit.audit_text(rows, "a.txt").findings if f.verdict == "contradicts"
    ]
    assert found == [("5080", "15,360"), ("5080", "24GB")]


def test_a_table_says_whose_its_cells_are() -> None:
    """A chip above it makes none of its counts those of a whole die; nor does "None" name a field."""
    text = (
        "# Cards\n\nThe new chip AD107\n\n| | RTX 3060 | RTX 4060 |\n|-|-|-|\n| CUDA cores | 3584 | 4096 |\n"
    )
    found = judged(
        text + "| Bus | 192-bit | 256-bit |\n| VRAM | 12 GB | 8 GB |\n| Lanes | None | None |\n", "a.md"
    )
    assert [stated for _, stated, verdict in found if verdict == "contradicts"] == ["4096", "256-bit"]


@pytest.mark.parametrize(
    ("rate", "verdict"),
    [("1979", "cannot tell"), ("1230", "cannot tell"), ("1240", "contradicts"), ("500", "contradicts")],
)
def test_a_rate_that_a_footnote_may_cover(rate: str, verdict: str) -> None:
    """H100 SXM: 989 TFLOPS in FP16, 1,979 sparse; a footnote without its mark may be of any."""
    text = f"# H100 SXM\n\n- FP16 {rate} TFLOPS\n\n\\* With sparsity.\n"
    assert [v for *_, v in judged(text, "a.md")] == [verdict]


def test_numbers_of_programs() -> None:
    """Bytes and operations a second in full, with an exponent; a quotient is computed from something."""
    text = '"nvidia_A100_40G": {"bandwith": 1555e9, "FP16": 312e12}, # SXM\n'
    text += '"V100": {"bandwith": 900e9, "FP16": 250e12/2},\n'
    assert [(s, v) for _, s, v in judged(text, "a.py")][:3] == [
        ("1555e9", "agrees"), ("312e12", "agrees"), ("900e9", "agrees")
    ]  # fmt: skip
    assert "contradicts" not in {v for *_, v in judged(text, "a.py")}


MOVED = "RTX 4090 RTX 4080\nTDP 320 W 450 W\nMemory 16 GB 42 GB\nMemory bus 256-bit 384-bit\n"
ONE_MORE = "CUDA cores 9728 21760\n"


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        # Six values that only the other order of the names confirms tell that the columns were moved; five
        # do not.
        (MOVED + ONE_MORE, "a.txt", {"9728 agrees", "450 W agrees", "42 GB contradicts"}),
        (MOVED, "a.txt", {"320 W cannot tell", "450 W cannot tell"}),
        # Names that stand twice; a variant alone as a head, and behind a value.
        ("Tesla T4 Tesla T4 L4 L4\nArchitecture Turing Ada\nTDP 70 W 72 W\nMemory 16 GB 42 GB", "a.txt",
         {"72 W agrees", "42 GB contradicts"}),
        ("## NVIDIA A100 (40 GB / 80 GB)\n\n| Spec | 40 GB PCIe | 80 GB SXM |\n|---|---|---|\n"
         "| TDP | 250 W | 400 W |\n| Bus | 5120-bit | 384-bit |", "a.md",
         {"250 W agrees", "400 W agrees", "384-bit contradicts"}),
        ("| | A100 40GB/80GB | A40 |\n|---|---|---|\n| Bandwidth | 1.55 TB/s (40GB), 1.94 TB/s (80GB) |"
         " 696 GB/s |\n| TDP | 300 W (PCIe), 400 W (SXM4) | 300 W |", "a.md",
         {"1.94 TB/s agrees", "300 W agrees", "400 W agrees"}),
        # Each label once for each card: the value behind it is that card's.
        ("RTX 5060 Ti 16GB vs Arc B580\n\nRTX 5060 Ti 16GB $429\nArc B580 $249\n16GB GDDR7\n12GB GDDR6\n"
         "TDP\n180W\nTDP\n180W\nCores\n4608\nCores\n2560\nRay tracing cores\n36\nRay tracing cores\n20",
         "a.txt", {"16GB agrees", "12GB agrees", "4608 agrees", "2560 agrees", "20 agrees"}),
        # Of what programs measure all that is too low is doubted, of what a product has nothing.
        ("| | T4 | L4 |\n|---|---|---|\n| Bandwidth | 240 GB/s | 235 GB/s |\n| FP16 | 25 TFLOPS | 66 |",
         "a.md", {"240 GB/s cannot tell", "25 TFLOPS cannot tell"}),
        ("| | T4 | L4 |\n|---|---|---|\n| Memory | 24 GB | 42 GB |\n| Bus | 384-bit | 128-bit |", "a.md",
         {"24 GB contradicts", "42 GB contradicts", "384-bit contradicts", "128-bit contradicts"}),
    ],
)  # fmt: skip
def test_whose_a_column_is(text: str, name: str, expected: set[str]) -> None:
    found = {f"{value} {verdict}" for _, value, verdict in judged(text, name)}
    assert found >= expected


def test_a_nested_object_on_a_line_is_a_part_of_the_one_around_it(claimed: Read) -> None:
    text = """{
  "NVIDIA T4": {
    "clock_rate": {"base": 585, "boost": 1590},
    "memory": {"size": 16, "type": "GDDR6", "bus": 256},
    "link": {"type": "nvlink", "bandwidth_gbps": 600},
    "major": 7, "minor": 5
  }
}"""
    expected = {
        ("base_hz", "585"), ("boost_hz", "1590"), ("memory_bytes", "16"), ("memory_type", "GDDR6"),
        ("memory_bus_bits", "256"), ("compute_capability", "7.5"),
    }  # fmt: skip
    found = {(field, value) for _, field, value in claimed(text, "a.json")}
    assert expected <= found
    assert ("memory_bytes_per_s", "600") not in found


def test_json_without_spaces(claimed: Read) -> None:
    rows = (
        '{"id":"l4","name":"NVIDIA L4","vram":24,"tdp":72}',
        '{"id":"t4","name":"NVIDIA T4","vram":16,"tdp":70}',
    )
    found = {(gpu, value) for gpu, _, value in claimed("[\n" + ",\n".join(rows) + "\n]", "a.json")}
    assert found == {("NVIDIA L4", "24"), ("NVIDIA L4", "72"), ("NVIDIA T4", "16"), ("NVIDIA T4", "70")}


def test_a_later_table_shows_how_the_columns_of_an_earlier_one_stand() -> None:
    text = """RTX 3090 vs Tesla P40
Architecture | Pascal | Ampere |
Launch price (MSRP) | $5,699 | $1,499 |
Detailed specifications
General parameters such as the number of shaders, clock speeds and the like stand in what follows below.
CUDA cores | 3840 | 10496 |
Boost clock speed | 1531 MHz | 1695 MHz |
TDP | 250 Watt | 350 Watt |
Tensor cores | no data | 328 |"""
    found = {(f.gpu, f.stated) for f in audit.audit_text(text, "a.txt").findings if f.field == "architecture"}
    assert found == {("NVIDIA Tesla P40", "Pascal"), ("NVIDIA GeForce RTX 3090", "Ampere")}


def test_differences_of_either_card_in_brackets(claimed: Read) -> None:
    text = """RTX 3090 vs RTX 4080

RTX 3090 Advantages
More memory (24GB vs 16GB)
RTX 4080 Advantages
Boost clock raised by 48% (2505MHz vs 1695MHz)
Lower TDP (320W vs 350W)"""
    found = {(gpu, value) for gpu, field, value in claimed(text, "a.txt") if field in ("boost_hz", "power_w")}
    assert found == {
        ("RTX 4080", "2505MHz"),
        ("RTX 3090", "1695MHz"),
        ("RTX 4080", "320W"),
        ("RTX 3090", "350W"),
    }


def test_bytes_as_programs_print_them_in_decimal_units() -> None:
    text = "NVIDIA A100-SXM4-40GB\nTotal amount of global memory: 42.5 GB\nL2 cache size: 41.9 MB\nTDP: 400 W"
    assert all(verdict != "contradicts" for _, _, verdict in judged(text))


@pytest.mark.parametrize(
    ("label", "values"),
    [("Load", "450 350 320 450"), ("TOPS", "1321,TOPS 285,TOPS 97.5,TFLOPS 209,TFLOPS")],
)
def test_what_a_column_is_not_taken_for(label: str, values: str) -> None:
    """What was measured is no TDP, and a card's TOPS are those of integers."""
    names = ("RTX 4090", "RTX 3090", "RTX 4080", "RTX 5090")
    pairs = zip(names, values.split(), strict=True)
    cells = (f"| {name} | {value.replace(',', ' ')} |" for name, value in pairs)
    found = judged("\n".join((f"| GPU | {label} |", "|---|---|", *cells)), "a.md")
    assert not [one for one in found if one[0] in ("power_w", "peak:fp16")]


def test_the_year_of_a_network_is_no_launch_and_ram_beside_processors_no_memory(claimed: Read) -> None:
    text = """| Model (year) | Hardware |
|---|---|
| ResNet-50 (2015) | 8x P100 |
| BERT (2018) | V100 |

Each node has four V100.

| Node | Processor | RAM |
|---|---|---|
| n1 | 2 Xeon E5 | 128 GB |"""
    assert not {field for _, field, _ in claimed(text)} & {"launch", "memory_bytes"}


def test_the_catalog_parts_the_cells_of_a_row(claimed: Read) -> None:
    """An empty cell is left out; a row whose cells can be parted in two ways says nothing of rates."""
    text = """GPUYearVRAMFP16 TFLOPSFP8 TFLOPSTDP
A100 SXM (80 GB)202080 GB312400W
H100 SXM202280 GB9891979700W
L40S202248 GB91827364W"""
    found = claimed(text, "a.txt")
    assert [value for _, field, value in found if field == "power_w"][:2] == ["400W", "700W"]
    assert [value for _, field, value in found if field[:5] == "peak:"] == ["312", "989", "1979"]


def test_a_field_on_a_line_of_each_of_several_objects_is_read_as_a_column() -> None:
    """Alone a wrong size is doubted: it may be of something else; among five objects it is not."""
    cards = {"RTX A5000": 29, "RTX A6000": 48, "L4": 24, "A40": 48, "L40S": 48, "RTX 4090": 24}
    objects = [f'  {{\n    "id": "x{n}",\n    "name": "{name}",\n    "brand": "a",\n    "vram_gb": {size},\n'
               f'    "sys_ram_gb": 256,\n    "tier": "b",\n    "notes": "c"\n  }}'
               for n, (name, size) in enumerate(cards.items())]  # fmt: skip
    for many, expected in ((6, ["contradicts"]), (2, [])):
        found = judged(
            "[\n" + ",\n".join(objects[:many]) + "\n" * 30 + '{\n"name": "H100 SXM",\n"tdp_w": 700\n}\n]',
            "a.json",
        )
        assert [
            verdict for _, value, verdict in found if value == "29" and verdict != "cannot tell"
        ] == expected
        assert not [value for _, value, _ in found if value == "256"]


def test_sheets_below_a_title_of_two_are_no_table() -> None:
    sheet = "{}\nArchitecture: {}\nShaders: {}\nMemory: {}\nBoard power: {}\n\n"
    text = "RTX 4090 and RTX 4080: data and differences\n\nBoth are fast.\n\n"
    text += sheet.format("RTX 4090", "Ada Lovelace", "16384", "24 GB GDDR6X", "450 W")
    text += sheet.format("RTX 4080", "Ada Lovelace", "9728", "16 GB GDDR6", "320 W")
    found = {f"{gpu} {value}": verdict for gpu, value, verdict in owners(text)}
    assert found["RTX 4090 450 W"] == found["RTX 4080 9728"] == "agrees"
    assert found["RTX 4080 GDDR6"] == "contradicts"


def test_laptops_are_named_with_their_power() -> None:
    names = ("NVIDIA GeForce RTX 4060 Laptop 115W", "NVIDIA GeForce RTX 3060 Laptop 95W")
    rows = "3072 Shaders\n8GB GDDR6\n3840 Shaders\n12GB GDDR6\nTDP\n115W\nTDP\n95W"
    found = audit.audit_text(f"{' vs '.join(names)}\n\n" + "\n".join((*names, rows)), "a.txt").findings
    seen = {(f.lines[0], f.stated, f.verdict) for f in found}
    assert seen >= {(5, "3072", "agrees"), (7, "3840", "agrees"), (8, "12GB", "contradicts")}


def test_a_head_of_columns_begins_with_its_first_name() -> None:
    # Below four names the rows have three values, as cells without one were lost.
    rows = "TDP\n72 W\n350 W\n700 W\nBandwidth\n300 GB/s\n864 GB/s\n3350 GB/s\nCUDA cores\n7424\n18176\n16896"
    found = audit.audit_text(f"\nL4\nL40S\nH100 SXM\nH200 SXM\n{rows}", "a.txt").findings
    assert "contradicts" not in {f.verdict for f in found}
