"""What the other cells of a column say of how one of them is read."""

from __future__ import annotations

import pytest

from gpuwise.judge import audit

# Boost clocks as AMD states them; 2,105 MHz are those of the RX 6800.
CLOCKS = {"RX 6900 XT": 2250, "RX 6700 XT": 2581, "RX 6600 XT": 2589}


def verdicts(text: str, field: str, name: str = "a.md") -> dict[str, str]:
    """The verdict on each value of a field, by "value GPU"."""
    found = audit.audit_text(text, name).findings
    return {f"{f.stated} {f.gpu.removeprefix('NVIDIA ')}": f.verdict for f in found if f.field == field}


@pytest.mark.parametrize(
    ("right", "wrong", "verdict"),
    [
        # Alone it may be the game clock, and so it may where as many others differ as agree.
        (0, 0, "cannot tell"),
        (1, 0, "contradicts"),
        (1, 1, "cannot tell"),
        (3, 1, "contradicts"),
    ],
)
def test_a_column_that_is_right_of_others_is_of_one_kind_of_clock(
    right: int, wrong: int, verdict: str
) -> None:
    rows = [*list(CLOCKS.items())[:right], ("RX 6600", 2300), ("RX 6800 XT", 2105)][: right + 2]
    rows = [row for row in rows if wrong or row[0] != "RX 6600"]
    table = "\n".join(f"| {gpu} | {clock} MHz |" for gpu, clock in rows)
    found = verdicts(f"| GPU | Boost clock |\n|---|---|\n{table}\n", "boost_hz")
    assert [v for key, v in found.items() if key.startswith("2105")] == [verdict]


@pytest.mark.parametrize(("others", "verdict"), [(0, "cannot tell"), (1, "contradicts"), (3, "contradicts")])
def test_of_two_columns_of_one_field_each_is_judged(others: int, verdict: str) -> None:
    rows = [("L4", "2023-03-21", 2023), ("A40", "2020-10-05", 2020), ("T4", "2018-09-13", 2018)][:others]
    table = "\n".join(f"{gpu},{date},{year}" for gpu, date, year in [*rows, ("A100", "2020-05-14", 2017)])
    found = verdicts(f"GPU,Launch date,Launch year\n{table}\n", "launch", "a.csv")
    assert [v for key, v in found.items() if key.startswith("2017")] == [verdict]


@pytest.mark.parametrize(
    ("process", "verdict"),
    [
        ("TSMC 4N", "agrees"), ("4N", "agrees"), ("N4P", "agrees"), ("TSMC N16", "contradicts"),
        ("Samsung 8LPP", "contradicts"), ("custom", None),
    ],
)  # fmt: skip
def test_processes_by_the_names_of_their_makers(process: str, verdict: str | None) -> None:
    table = f"| GPU | Process | Memory |\n|---|---|---|\n| RTX 4090 | {process} | 24 GB |\n"
    found = verdicts(f"{table}| L4 | TSMC 4N | 24 GB |\n", "process_nm")
    assert next((v for key, v in found.items() if "4090" in key), None) == verdict


def test_integer_rates_without_a_format_are_read_and_accuse_nobody() -> None:
    text = (
        "The Jetson Orin Nano Super delivers 670 TOPS.\n\n| GPU | AI performance |\n|-|-|\n| L4 | 99 TOPS |\n"
    )
    assert set(verdicts(text, "peak:tensor").values()) == {"cannot tell"}
    assert len(verdicts(text, "peak:tensor")) == 2


def test_an_empty_first_head_without_a_space_keeps_its_column() -> None:
    table = "||L4|T4|A40|\n|:-|:-|:-|:-|\n|TDP|72 W|70 W|250 W|\n|Memory|24 GB|16 GB|48 GB|\n"
    assert verdicts(table, "power_w") == {
        "72 W L4": "agrees",
        "70 W T4": "agrees",
        "250 W A40": "contradicts",
    }


def test_cells_that_reached_over_columns() -> None:
    rows = "| Memory | 48 GB |\n| Power | 300 W | 350 W |\n| FP8 | 362 | 724* | 733 | 1,466* |\n"
    table = f"| | L40 | L40S |\n|---|---|---|\n| CUDA cores | 18,176 |\n{rows}\n\\* With sparsity\n"
    assert set(verdicts(table, "cuda_cores").values()) == {"agrees"}
    assert len(verdicts(table, "cuda_cores")) == len(verdicts(table, "memory_bytes")) == 2
    # One value is surely that of the first column only.
    wrong = verdicts(table.replace("18,176", "16,384"), "cuda_cores")
    assert wrong["16,384 L40S"] == "cannot tell"


def test_a_form_in_brackets_behind_the_words_of_a_product() -> None:
    table = "| GPU | SMs |\n|---|---|\n| H100 GPU accelerator (PCIe) | 132 |\n| A100 | 108 |\n"
    assert verdicts(table, "sm_count")["132 H100 PCIe 80 GB"] == "contradicts"


@pytest.mark.parametrize(
    "text",
    [
        "Die RX 9060 XT wird genau wie die RTX 5060 Ti mit 8 GB oder 16 GB angeboten, mit einer "
        "Speicherbandbreite von 320 GB/s.",
        "RTX 3080 Ti 採用 GA102-225 核心,記憶體容量增至 12GB,性能媲美 RTX 3090,官方 MSRP 定價 US$1,199。",
        "The H200 replaces the H100's 80 GB HBM2e with 141 GB HBM3e.",
    ],
)
def test_what_a_sentence_says_beside_another_gpu_accuses_nobody(text: str) -> None:
    assert "contradicts" not in {f.verdict for f in audit.audit_text(text, "a.md").findings}


@pytest.mark.parametrize(
    ("name", "verdict"), [("A100 PCIe 40/80GB", "agrees"), ("A100 PCIe 80GB", "cannot tell")]
)
def test_a_name_of_two_sizes_is_of_either_and_what_is_all_of_one_size_is_of_that(
    name: str, verdict: str
) -> None:
    table = f"name,tdp_watts,memory\n{name},250,40\nA100 SXM4 80 GB,400,80\nRTX 3090,350,24\n"
    (found,) = (
        f for f in audit.audit_text(table, "a.csv").findings if f.field == "power_w" and f.stated == "250"
    )
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("gpu", "stated", "verdict"),
    [
        ("RTX 3060", "3,600", "cannot tell"),  # of 3,584
        ("RTX 4090", "16,000", "cannot tell"),  # of 16,384
        ("RTX 5070", "6,400", "contradicts"),  # of 6,144
        ("RTX 5070", "6,100", "cannot tell"),
    ],
)
def test_a_text_may_state_cores_in_fewer_digits(gpu: str, stated: str, verdict: str) -> None:
    found = verdicts(f"The {gpu} has {stated} CUDA cores.", "cuda_cores")
    assert set(found.values()) == {verdict}
