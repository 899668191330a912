"""Shapes of real pages: comparisons of two cards in every dress, and figures that are of something else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from gpuwise.judge import audit

Read = Callable[..., list[tuple[str, str, str]]]
TWO = "NVIDIA GeForce RTX 3070 vs NVIDIA GeForce RTX 3080\n\n"


def verdicts(text: str) -> Counter[str]:
    return Counter(f.verdict for f in audit.audit_text(text, "a.txt").findings)


def stated(text: str, field: str) -> dict[str, str]:
    """The verdict on each value of a field, by "GPU value"."""
    found = audit.audit_text(text, "a.txt").findings
    return {f"{f.gpu} {f.stated}": f.verdict for f in found if f.field == field}


def test_rows_of_two_go_on_behind_lines_that_nobody_knows() -> None:
    sides = "8 nmTraitement8 nm\nSérie A\nSérie B\nSuite\n448.0 GB/sDébit760.3 GB/s\n256 bitLargeur320 bit"
    assert verdicts(f"{TWO}{sides}") == {"agrees": 6}


def test_names_behind_a_label_of_another_alphabet() -> None:
    rows = "シェーダー58888704\n何か123\n別の456\n他789\nブーストクロック1.725GHz1.71GHz\nVRAM容量8GB10GB"
    assert verdicts(f"グラフィックRTX 3070RTX 3080\n{rows}")["agrees"] >= 4


@pytest.mark.parametrize("word", ["vs", "and", "berbanding", "gegen"])
@pytest.mark.parametrize("above", ["NVIDIA GeForce RTX 3080", "NVIDIA GeForce RTX 3070"])
def test_two_figures_in_parentheses_go_to_those_that_have_them(word: str, above: str) -> None:
    # Whichever is named last above: on some pages they stand in the order of the title.
    pairs = [("Bandwidth", "448 GB/s", "760.3 GB/s"), ("Memory bus", "256 bit", "320 bit")]
    listed = "\n".join(f"- Higher {label} ({one} {word} {two})" for label, one, two in pairs)
    found = audit.audit_text(f"{TWO}{above}\n{listed}", "a.txt").findings
    assert {("3080" in f.gpu, f.stated, f.verdict) for f in found if f.field != "memory_bytes"} == {
        (False, "448 GB/s", "agrees"), (True, "760.3 GB/s", "agrees"),
        (False, "256 bit", "agrees"), (True, "320 bit", "agrees"),
    }  # fmt: skip


@pytest.mark.parametrize("sides", ["{}\n{}\n{}\n", "| {} | {} | {} |\n"])
def test_labels_of_a_language_that_nobody_knows_stand_between(sides: str) -> None:
    rows = [
        ("448.0 GB/s", "Lebar jalur", "760.3 GB/s"), ("256 bit", "Bas memori", "320 bit"),
        ("8 nm", "Saiz proses", "8 nm"), ("1725 MHz", "Jam boost", "1710 MHz"), ("220 W", "TDP", "320 W"),
    ]  # fmt: skip
    found = verdicts(TWO + "Kad\n" + "".join(sides.format(*row) for row in rows))
    assert found["agrees"] >= 8
    assert not found["contradicts"]
    wrong = [("220 W", "TDP", "410 W") if row[1] == "TDP" else row for row in rows]
    assert verdicts(TWO + "Kad\n" + "".join(sides.format(*row) for row in wrong))["contradicts"] == 1


def test_a_header_without_its_corner_names_the_columns_behind_the_names(claimed: Read) -> None:
    head, rule = "Cores (GPU) | RAM | Memory bandwidth | |", "---|---|---|---|"
    rows = "RTX 3070 | 46 | 8 GB | 448 GB/s |\nRTX 3080 10GB | 68 | 10 GB | 760 GB/s |"
    found = claimed(f"{head}\n{rule}\n{rows}", "a.md")
    assert {(field, value) for _, field, value in found if field.startswith("memory_bytes")} == {
        ("memory_bytes", "8 GB"), ("memory_bytes_per_s", "448 GB/s"),
        ("memory_bytes", "10 GB"), ("memory_bytes_per_s", "760 GB/s"),
    }  # fmt: skip


def test_a_card_by_the_part_number_of_its_maker() -> None:
    head = "| Card | ASUS TUF-RTX4060TI-O16G-GAMING | MSI GeForce RTX 3070 Gaming X |"
    assert verdicts(f"{head}\n|---|---|---|\n| CUDA cores | 4352 | 5888 |") == {"agrees": 2}


@pytest.mark.parametrize(
    "said",
    [
        # What an owner or a maker chooses.
        "The RTX 3090 sits here.\n\nPower policy: 280 W max per card",
        "RTX 3090\npower cap: 280 W",
        "The boost clock of the RTX 4060 Laptop GPU varies from 1470 MHz at 35 W to 2370 MHz at 115 W.",
        # A part, or what stands around it.
        "The B200 has 8 stacks of HBM3e (24 GB each).",
        "The B200 is a dual-die design, connected by an interconnect at 10 TB/s.",
        "A100 clusters come with 1.6 TB/s of interconnect bandwidth per VM.",
        "RTX 3090\nvram: 24 GiB (system 64 GiB)",
        "MI300X\n* 2x Intel Xeon Platinum 8468, 48C (350 W)",
        # No size, and no price.
        "RTX 3070\nMemory speed (GT/s): 14",
        "On an H100 the error is $2.5 \\times 10^{-3}$ with $C=64$.",
        # The other one, said behind its name.
        "RTX 5080は16GBのGDDR7メモリを備えています。消費電力は360Wと、RTX 5090に比べると控えめです。",
        # A part of a name: a card of its own.
        "Radeon RX 7600 vs GeForce RTX 3060 GDDR6X\nTDP | 165 W | 195 W |\nCores | 2048 | 3584 |",
    ],
)  # fmt: skip
def test_figures_of_something_else(said: str) -> None:
    assert verdicts(said)["contradicts"] == 0


def test_the_same_words_do_not_hide_an_error() -> None:
    assert verdicts("The RTX 3090 is rated at 420 W.")["contradicts"] == 1
    assert verdicts("The B200 has 24 GB of HBM3e.")["contradicts"] == 1
    assert verdicts("RTX 5080は16GBのGDDR7メモリを備え、消費電力は450Wです。")["contradicts"] == 1


def test_the_memory_of_several_cards_behind_their_name() -> None:
    found = stated(
        "4x RTX 3090 96 GB GDDR6X 1,400 W $3,000\n2x RTX 4090 48 GB GDDR6X 900 W $3,600", "memory_bytes"
    )
    assert [*found.values()] == ["agrees"] * 2


def test_counts_and_multiples_of_other_spellings() -> None:
    assert stated("相比前代V100的5120个核心, A100有6912个CUDA核心。", "cuda_cores")["A100 6912"] == "agrees"
    assert verdicts("NVIDIA A16\nGPU memory: 4 * 16 GB GDDR6\nMemory bandwidth: 4 * 200 GB/s") == {
        "agrees": 3
    }


def test_sources_behind_a_count_are_no_count() -> None:
    found = stated("The MI325X has 304 compute units[6]. It has 256 GB of HBM3E memory[1][3].", "sm_count")
    assert [value.rpartition(" ")[2] for value in found] == ["304"]


@pytest.mark.parametrize("other", ["Radeon Graphics 128SP", "Quadro K9000M Mac Edition"])
def test_the_second_column_of_a_card_that_nobody_knows_is_not_the_first_one_s(other: str) -> None:
    rows = [("TDP", "220 W", "15 W"), ("Memory bus", "256 bit", "64 bit"), ("Process", "8 nm", "5 nm")]
    cells = "".join(f"{label}\n{one}\n{two}\n\n" for label, one, two in rows)
    names = f"GeForce RTX 3070\n\n{other}\n\n"
    found = audit.audit_text(f"GeForce RTX 3070 and {other} compared\n\n{names}{cells}", "a.txt").findings
    mine = [(f.stated, f.verdict) for f in found if "3070" in f.gpu]
    assert mine == [("220 W", "agrees"), ("256 bit", "agrees"), ("8 nm", "agrees")]


def test_prices_in_euros_of_a_table_and_memory_of_a_machine_in_other_languages() -> None:
    table = "Modell | TBP (W) | Preis |\n---|---|---|\nRadeon RX 7900 XTX | 355 | 1149 EUR |\n"
    assert {(f.field, f.stated) for f in audit.audit_text(table, "a.md").findings} == {
        ("power_w", "355"), ("price", "1149 EUR"),
    }  # fmt: skip
    said = (
        "La serie usa 8 GPU Tesla V100 con 32 GB di memoria e dispone anche di 672 GiB di memoria di sistema."
    )
    assert all("672" not in f.stated for f in audit.audit_text(said, "a.txt").findings)
