"""The kind of each error, with figures of the catalog at hand."""

from __future__ import annotations

import pytest

from gpuwise.facts import catalog
from gpuwise.judge import audit


def kind(text: str) -> str | None:
    wrong = [f for f in audit.audit_text(text).findings if f.verdict == "contradicts"]
    assert len(wrong) == 1, wrong
    return wrong[0].kind


def test_digits_exchanged() -> None:
    assert kind("## RTX 4090\n- CUDA cores: 16,834") == "digit swap"


def test_the_whole_die() -> None:
    die = catalog.full_die("GA102").cuda_cores
    assert kind(f"## RTX 3090\n- CUDA cores: {die}") == "full die for product"


def test_sparse_for_dense_and_the_reverse() -> None:
    assert kind("## A10\n- FP16 tensor: 250 TFLOPS") == "sparse as dense"
    assert kind("## A10\n- FP16 tensor: 125 TFLOPS with sparsity") == "dense as sparse"


def test_another_variant() -> None:
    assert kind("## H100 PCIe\n- Memory bandwidth: 3,350 GB/s") == "other variant"


@pytest.mark.parametrize("cell", ["2400 GB/s", "300 TB/s", "300 MB/s"])
def test_bits_and_prefixes(cell: str) -> None:
    found = [f for f in audit.audit_text(f"## L4\n- Memory bandwidth: {cell}").findings if f.kind]
    assert [f.kind for f in found] == (["unit"] if "MB/s" not in cell else [])


def test_a_neighbour_s_row() -> None:
    text = "| GPU | TDP (W) | Bandwidth (GB/s) |\n|---|---|---|\n| L4 | 72 | 320 |\n| T4 | 70 | 320 |"
    assert kind(text) == "neighbour's row copied"


def test_the_text_against_itself() -> None:
    assert kind("## T4\n- VRAM: 16 GB\n\nThe T4 ships with 20 GB of memory.") == "internal contradiction"


def test_no_explanation() -> None:
    assert kind("## T4\n- VRAM: 18 GB") == "wrong value"


def test_a_chip_of_which_nothing_is_known_is_no_error() -> None:
    assert kind("| GPU | Compute units |\n|---|---|\n| AMD Instinct MI300X | 333 |") == "wrong value"


def test_a_neighbour_s_figures_in_prose() -> None:
    t4 = "The T4 has 16 GB of memory. Its board is rated for 70 W."
    text = f"{t4}\n\nThe L4 has 16 GB of memory. Its board is rated for 70 W."
    assert [f.kind for f in audit.audit_text(text).findings if f.kind] == ["neighbour's row copied"] * 2
