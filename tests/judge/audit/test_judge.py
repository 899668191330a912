"""Verdicts: agrees, contradicts, cannot tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.judge import audit
from gpuwise.judge.audit import agree, document, explain, read
from gpuwise.judge.audit.grid import GRID
from gpuwise.judge.audit.judge import judge
from gpuwise.model.judgement import Claim, Number


def verdicts(text: str) -> list[str]:
    return [finding.verdict for finding in audit.audit_text(text).findings]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The RTX 3080 has 8,960 cores and 10 GB.", ["8,960"]),
        ("The RTX 3080 has 8,704 cores and 10 GB.", []),
        ("The RTX 3080 has 8,960 cores, 384 bit and 10 GB.", ["10 GB"]),
        ("The RTX 3080 has 10 or 12 GB and 8,960 cores.", []),
        ("The RTX 3080 has 8,960 cores. Mine has 10 GB.", []),
        ("| GPU | cores | memory |\n|---|---|---|\n| RTX 3080 | 8,960 | 10 GB |", ["8,960"]),
        # No memory says which variant is meant, or several products bear the name.
        ("The H100 has 80 GB, 3.35 TB/s and 14,592 cores.", []),
        ("The GTX Titan has 4,608 cores and 12 GB.", []),
    ],
)
def test_within_one_sentence_or_row_the_variant_is_one(text: str, wrong: list[str]) -> None:
    assert [f.stated for f in audit.audit_text(text).findings if f.verdict == "contradicts"] == wrong


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("## T4\n- VRAM: 16 GB", "agrees"),
        ("## T4\n- VRAM: 24 GB", "contradicts"),
        ("## A100\n- VRAM: 40/80 GB", "agrees"),
        ("## T4 and L4\n- VRAM: 48 GB", "cannot tell"),
        ("## RTX 5090\n- Form factor: 3-slot", "cannot tell"),
        ("## H100 SXM\n- TDP: Up to 700W (configurable)", "agrees"),
        # Makers of laptops set it from 60 to 150 W, and Dynamic Boost adds up to 25 W.
        ("The RTX 4080 Laptop GPU has a TGP of 150 W.", "agrees"),
        ("The RTX 4080 Laptop GPU has a TGP of 60 W.", "cannot tell"),
        ("The RTX 4080 Laptop GPU has a TGP of 175 W.", "cannot tell"),
        ("The RTX 4080 Laptop GPU has a TGP of 320 W.", "contradicts"),
    ],
)
def test_verdicts(text: str, verdict: str) -> None:
    assert verdicts(text) == [verdict]


def test_the_best_value_names_its_source() -> None:
    (finding,) = audit.audit_text("## T4\n- TDP: 90 W").findings
    assert finding.best == "70.0 W"
    assert finding.source


def test_a_gpu_outside_the_catalog_is_not_judged() -> None:
    assert verdicts("## GTX 999 Ti\n- VRAM: 99 GB") == ["cannot tell"]


def test_what_may_be_another_gpu_s_contradicts_nothing() -> None:
    text = "# T4 vs Quadro RTX 6000\n| FP64 | 111 GFLOPS | 509 GFLOPS |\n|---|---|---|\n| TDP | 1 W | 2 W |"
    assert "contradicts" not in verdicts(text)


def test_where_vendors_differ_nobody_is_wrong() -> None:
    claimed = "The NVIDIA B200 has a memory bandwidth of {} TB/s."
    verdicts = [audit.audit_text(claimed.format(tera)).findings[0].verdict for tera in ("7.7", "8.0", "6")]
    assert verdicts == ["agrees", "cannot tell", "contradicts"]


def test_a_third_party_does_not_dispute_a_vendor() -> None:
    (found,) = audit.audit_text("The NVIDIA L40S draws 300 W.").findings
    assert found.verdict == "contradicts"
    assert found.best == "350 W"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        # A vendor's other word, or two others that agree.
        ("The Gaudi 3 delivers 1,835 TFLOPS of BF16.", "cannot tell"),
        ("The Gaudi 3 delivers 1,500 TFLOPS of BF16.", "differs"),
        # Far from what either states.
        ("The Gaudi 3 delivers 2,835 TFLOPS of BF16.", "contradicts"),
        ("The B300 has a TDP of 1,400 W.", "cannot tell"),
        ("The B300 has a TDP of 1,300 W.", "cannot tell"),
        ("The B300 has a TDP of 1,800 W.", "contradicts"),
        ("The RTX 2080 Ti has a boost clock of 1635 MHz.", "cannot tell"),
        ("The H100 SXM is made in a 4 nm process.", "agrees"),
        ("The H100 SXM is made in a 7 nm process.", "contradicts"),
        # The size by which it is sold; variants outside the catalog.
        ("The GH200 144GB has 144 GB of HBM3e.", "agrees"),
        ("The RTX 3080 has 12 GB of memory.", "agrees"),
        ("The RTX 3080 has 16 GB of memory.", "contradicts"),
    ],
)
def test_where_sources_differ_nobody_is_wrong(text: str, verdict: str) -> None:
    assert verdicts(text)[0] == verdict


@pytest.mark.parametrize(
    ("gpu", "date", "verdict"),
    [
        ("H200 SXM", "November 2023", "agrees"),
        ("H100 SXM5", "March 2022", "agrees"),
        ("B200", "January 2025", "cannot tell"),
        ("B200", "January 2023", "contradicts"),
    ],
)
def test_announcement_and_delivery_may_lie_apart(gpu: str, date: str, verdict: str) -> None:
    assert verdicts(f"| GPU | Launch |\n|---|---|\n| {gpu} | {date} |") == [verdict]


def test_a_street_price_judges_nobody() -> None:
    assert verdicts("| GPU | MSRP |\n|---|---|\n| A100 SXM4 80GB | $18,000 |") == ["cannot tell"]
    assert verdicts("| GPU | MSRP |\n|---|---|\n| RTX 4090 | $1,199 |") == ["contradicts"]


@pytest.mark.parametrize(("block", "counted", "verdict"), [
    (GRID, 8, "contradicts"), (GRID - 1, 8, "cannot tell"), (GRID, 1, "contradicts"),
])  # fmt: skip
def test_a_row_of_a_machine_may_state_the_figures_of_one(block: int, counted: int, verdict: str) -> None:
    figures = (
        ("memory_bytes", 80 * 2**30),
        ("memory_bytes_per_s", 3.35e12),
        ("power_w", 700.0),
        ("sm_count", 108.0),
    )
    claims = [
        Claim(
            line=1, gpu="H100", gpu_ids=("h100-sxm5-80gb",), field=field, block=block, stated=f"{value} W",
            values=(Number(value=value, digits=3),), count=counted,
        ) for field, value in figures
    ]  # fmt: skip
    assert [found.verdict for found in judge(claims)] == ["agrees", "agrees", "agrees", verdict]


def test_tables_and_sections_are_numbered_from_one() -> None:
    table = "| GPU | VRAM |\n|---|---|\n| A10 | 24 GB |\n| A30 | 24 GB |\n"
    text = f"The L4 has 24 GB.\n\n## T4\n\n- 16 GB\n\n{table}"
    claims = document.claims(read.blocks_of(text, "a.md"))
    assert [one.block for one in claims if isinstance(one, Claim)] == [1, 2, GRID + 1, GRID + 2]


@pytest.mark.parametrize(
    ("gpu", "rate", "verdict"),
    [
        ("NVIDIA RTX A5000", "222.2 TFLOPS", "contradicts"),  # FP16 with sparsity; of INT8 it would be TOPS
        ("NVIDIA RTX A5000", "222.2", "cannot tell"),
        ("NVIDIA RTX A5000", "111.1 TFLOPS", "agrees"),
        ("NVIDIA L40S", "1466 TFLOPS", "cannot tell"),  # FP8 with sparsity, by which it is advertised
    ],
)
def test_tensor_performance_without_a_format_is_any_of_its_rates(gpu: str, rate: str, verdict: str) -> None:
    memory = {"NVIDIA RTX A5000": "24 GB", "NVIDIA L40S": "48 GB"}[gpu]
    text = f"# {gpu}\n\n| | |\n|---|---|\n| Memory | {memory} |\n| Tensor Performance | {rate} |\n"
    found = [f.verdict for f in audit.audit_text(text).findings if f.field == "peak:tensor"]
    assert found == [verdict]


A4000 = "* Memory bandwidth: {}\n* CUDA cores: 6144\n* Tensor cores: 192\n* TDP: 140 W\n* Memory: 16 GB"


def kinds(text: str) -> list[tuple[str, str | None]]:
    """The field and the kind of each accusation."""
    found = audit.audit_text(text).findings
    return [(f.field, f.kind) for f in found if f.verdict == "contradicts"]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        # In a list of this card alone a figure is its own, and so it is where such a list has the right one.
        (f"**RTX A4000:**\n\n{A4000.format('512 GB/s')}\n\n## Beside each other", True),
        (f"## RTX A4000\n\n{A4000.format('448 GB/s')}\n\n## More\n\nThe RTX A4000 moves 512 GB/s.", True),
        # Else it may be another one's, but for one that no GPU of the text has.
        ("The RTX A4000 moves 512 GB/s.\n\n## Beside each other", True),
        ("The RTX A4000 moves 512 GB/s.\n\nThe RX 6800 has 16 GB.", False),
    ],
)
def test_a_sheet_tells_whose_a_contradiction_is(before: str, found: bool) -> None:
    text = f"# Two cards\n\n{before}\n\nThe RTX A5000 moves 768 GB/s, the RTX A4000 448 GB/s."
    assert kinds(text) == [("memory_bytes_per_s", "internal contradiction")] * found


def test_up_to_is_of_the_largest_of_the_sizes_that_are_named() -> None:
    text = "The A100 comes with {} of memory and up to 1555 GB/s of bandwidth."
    assert kinds(text.format("40 GB or 80 GB")) == [("memory_bytes_per_s", "other variant")]
    assert kinds(text.format("40 GB")) == []


ROWS = "| GPU | VRAM | Bandwidth | CUDA cores | TDP |\n|---|---|---|---|---|\n"
CARDS = {
    "L4": ["24 GB", "300 GB/s", "7424", "72 W"],
    "L40S": ["48 GB", "864 GB/s", "18176", "350 W"],
    "H100 SXM": ["80 GB", "3350 GB/s", "16896", "700 W"],
}


@pytest.mark.parametrize(
    ("card", "column", "figure", "kind"),
    [
        ("H100 SXM", 0, "141 GB", "wrong value"),  # Of the H200, which the text does not name
        ("H100 SXM", 0, "32 GB", "wrong value"),  # Of many, none of them beside it
        ("L40S", 2, "16896", "neighbour's row copied"),
        ("H100 SXM", 2, "14592", "other variant"),
        ("L40S", 3, "300 W", "other variant"),  # Of the L40, which the text does not name
        ("L40S", 2, "18716", "digit swap"),
        ("H100 SXM", 3, "770 W", "wrong value"),  # Nobody's
    ],
)
def test_a_figure_of_nobody_is_told_from_a_neighbour_s(
    card: str, column: int, figure: str, kind: str
) -> None:
    rows = {name: [*row] for name, row in CARDS.items()}
    rows[card][column] = figure
    found = kinds(ROWS + "\n".join(f"| {' | '.join((name, *row))} |" for name, row in rows.items()))
    assert [one for _, one in found] == [kind]


def test_a_shorter_name_of_a_memory_is_wrong_only_where_it_is_another_s() -> None:
    head = "| GPU | VRAM | TDP |\n|---|---|---|\n"
    rows = head + "| GTX 1080 | 8 GB {} | 180 W |\n| GTX 1070 | 8 GB GDDR5 | 150 W |"
    assert kinds(rows.format("GDDR5")) == [("memory_type", "neighbour's row copied")]
    assert kinds(rows.format("GDDR6")) != kinds(rows.format("GDDR5X")) == []


def test_what_is_another_product_s_throughout_is_wrong_all_the_same() -> None:
    rows = "| | RTX 4090 | {} |\n|---|---|---|\n| CUDA cores | 16384 | 10240 |\n| SMs | 128 | 80 |\n"
    assert [field for field, _ in kinds(rows.format("RTX 4080"))] == ["cuda_cores", "sm_count"]


def test_a_column_of_several_sizes_is_of_no_one_of_them() -> None:
    sizes = "| | A100 | V100 |\n|---|---|---|\n| VRAM | 40 / 80 GB HBM2e | 16 / 32 GB HBM2 |\n"
    assert kinds(sizes + "| TDP | 250 W | 250 W |") == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # Made with a larger chip, too, and not.
        ("The RTX 3060 12 GB uses the GA104 chip and has 3,584 CUDA cores.", []),
        ("The RTX 4080 uses the AD102 chip and has 9,728 CUDA cores.", [("chip", "wrong value")]),
        # Counts follow from the units; one source is enough against a figure that is far off.
        ("The H20 has 96 GB of HBM3, 9,984 CUDA cores and 312 tensor cores.", []),
        ("The H20 has 96 GB of HBM3, 4,608 CUDA cores and 144 tensor cores.",
         [("cuda_cores", "wrong value"), ("tensor_cores", "wrong value")]),
        ("The Arc B580 has 12 GB and 20 Xe cores.", []),
        ("The Arc B580 has 12 GB and 32 Xe cores.", [("sm_count", "wrong value")]),
        # A rate of another format is wrong however far it is off.
        ("The A100 80GB reaches 312 TFLOPS FP32 and moves 2 TB/s.", [("peak:fp32", "wrong precision")]),
        # The first variant came in 2020, the last one at the end of 2021.
        ("Launched in 2022, the A100 has 6,912 CUDA cores.", [("launch", "wrong value")]),
        ("Launched in 2021, the A100 has 6,912 CUDA cores.", []),
    ],
)  # fmt: skip
def test_what_one_source_or_a_computation_settles(text: str, wrong: list[tuple[str, str]]) -> None:
    assert sorted(kinds(text)) == wrong


def test_what_only_a_card_has_is_said_of_one_in_passing_too() -> None:
    text = "The server came late.\n\n" + "It runs.\n\n" * 20 + "The A40 {}.\n\n" + "It runs.\n\n" * 20
    assert kinds(text.format("moves 576 GB/s")) == [("memory_bytes_per_s", "wrong value")]
    assert kinds(text.format("has 36 GB")) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # A superchip may have the memory of its chip, not the chip that of the superchip.
        ("The H200 SXM has 144 GB of HBM3e and moves 4.8 TB/s.", [("memory_bytes", "wrong value")]),
        ("The GH200 has 141 GB of HBM3e and moves 4.8 TB/s.", []),
        # Between what a product is sold by and what it has left.
        ("The B200 SXM has 186 GB of HBM3e and draws 1,000 W.", []),
        # A wrong prefix of a figure that is rounded, too.
        ("| GPU | Memory | Bandwidth |\n|---|---|---|\n| RTX 4090 | 24 GB | 1.0 GB/s |\n"
         "| RTX 3090 | 24 GB | 936 GB/s |\n| L4 | 24 GB | 300 GB/s |", [("memory_bytes_per_s", "unit")]),
        # What another row has is that row's, however far it is from the right one.
        ("| GPU | Memory | FP64 (TFLOPS) |\n|---|---|---|\n| A100 SXM | 80 GB | 9.7 |\n"
         "| V100 SXM | 32 GB | 7.8 |\n| P100 SXM | 16 GB | 5.3 |\n| T4 | 16 GB | 9.7 |",
         [("peak:fp64", "neighbour's row copied")]),
        # An architecture that is said of the GPU itself is no other GPU's.
        ("The RTX 4070 uses the Turing architecture, has 12 GB of GDDR6X and 5,288 CUDA cores.",
         [("architecture", "wrong value"), ("cuda_cores", "wrong value")]),
        # A point before three digits is one of decimals where figures are right so.
        ("| | RTX 3060 | RTX 3080 10GB |\n|---|---|---|\n| Price in euros | 329,5 | 699,5 |\n"
         "| Memory | 12 GB | 10 GB |\n| FP32 | 12.740 TFLOPS | 12.740 TFLOPS |",
         [("peak:fp32", "neighbour's row copied")]),
        # A line about one GPU, right but for a size that the text states elsewhere.
        ("The L4 draws 72 W and has 24 GB.\n\nThe RTX 4080 has 16 GB.\n\n" + "It runs.\n\n" * 3
         + "This RTX 4080 has 24 GB of GDDR6X and a boost clock of 2,505 MHz.\n",
         [("memory_bytes", "internal contradiction")]),
        # GPUs of before Pascal and Polaris.
        ("The GTX 680 has 2 GB on a 384-bit bus and 1,536 CUDA cores.", [("memory_bus_bits", "wrong value")]),
        ("The Tesla K20 has 5 GB and 2,688 CUDA cores.", [("cuda_cores", "other variant")]),
        ("The GTX 780 Ti does 5 teraflops in FP32 with 2,880 CUDA cores.", []),
        # Sources differ: no one is accused.
        ("The Tesla P4 has 8 GB, 2,560 CUDA cores and a boost clock of 1,063 MHz.", []),
    ],
)  # fmt: skip
def test_what_is_read_right_however_wrong_it_is(text: str, wrong: list[tuple[str, str]]) -> None:
    assert sorted(kinds(text)) == wrong


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # What many products have is that of a GPU beside it, of none further off or outside the text.
        ("The RTX 3090 has 24 GB of GDDR6X. The L4 has 24 GB of GDDR6X.", "neighbour's row copied"),
        (
            "The GTX 1080 uses PCIe 3.0. The T4 has 16 GB. The L40 has 48 GB. The A40 has 48 GB. "
            "The RTX 3080 10GB uses PCIe 3.0 and 8,704 CUDA cores.",
            "wrong value",
        ),
        ("The L4 has 24 GB of GDDR6X and draws 72 W.", "wrong value"),
        # A memory that a variant has; the rate of a variant; one that is neither.
        (
            "The Jetson Orin NX 16GB has 16 GB. The Jetson Orin NX 8GB has 1024 CUDA cores and 16 GB.",
            "other variant",
        ),
        ("The A100 PCIe 80GB moves 900 GB/s and draws 300 W.", "wrong value"),
        # A name or a year that another GPU of the text has, however far away; that of a variant comes first.
        (
            "| GPU | Memory |\n|-|-|\n| RTX 3090 | GDDR6X |\n| L4 | GDDR6 |\n| T4 | GDDR6X |",
            "neighbour's row copied",
        ),
        ("- GTX 1080 - launched in 2018, 8 GB\n- GTX 1080 Ti - March 2017, 11 GB", "wrong value"),
        ("- GTX 1070 Ti - launched in 2019, 8 GB\n- GTX 1650 - April 2019, 4 GB", "neighbour's row copied"),
        ("# A100 SXM 40GB\n\n- Memory type: HBM2e\n- Memory: 40 GB", "other variant"),
        # What the desktop's card, or the plain version of a faster module, has is a variant's.
        ("The RTX 5080 Laptop has 10,752 cores and 16 GB.", "other variant"),
        ("The Jetson Orin Nano Super has 68 GB/s and 1,024 cores.", "other variant"),
        ("The Titan RTX has 4,608 CUDA cores. The RTX 2080 Ti has 4,608 CUDA cores.", "full die for product"),
        # Nobody copied from a product that the text does not name.
        ("The M3 Max has 128 GB and moves 546 GB/s.", "wrong value"),
        ("The A100 PCIe 80GB moves 1,008 GB/s and draws 300 W.", "wrong value"),
        # All units of the chip, of whatever kind, even where a card beside it has as many.
        (
            "| GPU | CUDA cores | Tensor cores | RT cores | Memory |\n|-|-|-|-|-|\n"
            "| RTX 3060 | 3,584 | 112 | 28 | 12 GB |\n| RTX 2080 SUPER | 3,072 | 384 | 48 | 8 GB |\n"
            "| RTX 2080 | 2,944 | 384 | 46 | 8 GB |",
            "full die for product",
        ),
    ],
)
def test_a_donor_is_a_gpu_of_the_text(text: str, kind: str) -> None:
    assert [one for _, one in kinds(text)] == [kind]


@pytest.mark.parametrize(
    ("gpu_id", "near", "far"),
    [
        (
            "rtx-4070",
            {"rtx-3070", "rtx-5070", "rtx-4060", "rtx-4080"},
            {"rtx-4070-ti", "rtx-2070", "rtx-3060"},
        ),
        (
            "a100-sxm4-80gb",
            {"v100-pcie-16gb", "h100-pcie-80gb", "a40"},
            {"a100-pcie-40gb", "h200-sxm", "p40"},
        ),
        ("mi300x", {"mi250x", "mi325x"}, {"mi100", "mi355x"}),
        ("rx-6800", {"rx-6700-xt", "rx-6900-xt", "rx-7800-xt"}, {"rx-6800-xt", "rx-6600"}),
        ("rtx-a4000", {"quadro-rtx-4000", "rtx-4000-ada", "rtx-a5000"}, {"rtx-a6000", "rtx-a4000-laptop"}),
    ],
)
def test_a_step_of_the_range_is_a_tier_or_a_generation(gpu_id: str, near: set[str], far: set[str]) -> None:
    found = set(agree.next_to(gpu_id))
    assert near <= found
    assert not far & found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # Units of an Arc: one for ray tracing and 16 or 8 XMX engines in each core.
        ("The Arc A770 has 32 Xe cores, 32 RT units and 521 XMX engines.", [("tensor_cores", "digit swap")]),
        ("The Arc A770 has 32 Xe cores, 32 RT units and 512 XMX engines.", []),
        ("The Arc B580 has 20 Xe cores, 22 RT units and 160 XMX engines.", [("rt_cores", "wrong value")]),
        # A word for the boost clock of other languages.
        ("A RTX 4070 traz turbo de 1.920 MHz, 12 GB de GDDR6X e 192 bits.", [("boost_hz", "base as boost")]),
        # Sources differ about the B300.
        ("The B300 SXM has 288 GB and PCIe 6.0.", []),
        ("The B300 SXM has 288 GB and PCIe 5.0.", []),
        # What a card surpasses is not what the text goes on about.
        ("Arc A770 překonává Arc A750 o desetinu. Propustnost stoupá na 560 GB/s.", []),
        # A sparse rate that two GPUs have says nothing of whose row it is.
        ("| GPU | FP16 dense | FP8 dense | TDP | Memory |\n|-|-|-|-|-|\n"
         "| H200 SXM | 989 | 3958 | 700 W | 80 GB |\n| H100 SXM | 989 | 3958 | 700 W | 141 GB |",
         2 * [("peak:fp8", "sparse as dense"), ("memory_bytes", "neighbour's row copied")]),
    ],
)  # fmt: skip
def test_units_rates_and_rows_of_one_gpu(text: str, found: list[tuple[str, str]]) -> None:
    assert kinds(text) == found


def _table(*rows: str) -> str:
    """A table of GPUs, the first row its head."""
    head, *rest = rows
    return "\n".join(f"| {row} |" for row in (head, "|".join("-" * (head.count("|") + 1)), *rest)) + "\n"


def _found(text: str, field: str) -> list[tuple[str, str, str | None]]:
    found = audit.audit_text(text, "a.md").findings
    return [(f.stated, f.verdict, f.kind) for f in found if f.field == field]


def test_sparse_rates_of_blackwell_ultra_are_their_own() -> None:
    said = "The B300 does {} PFLOPS of FP4 with sparsity and has 288 GB of HBM3e at 8 TB/s."
    verdicts_of = {n: _found(said.format(n), "peak:fp4")[0][1] for n in (18, 28)}
    assert verdicts_of == {18: "agrees", 28: "contradicts"}
    # Nor does CDNA 4 double its rate in 4 bits.
    text = "The MI355X does 20 PFLOPS of FP4 with sparsity and has 288 GB of HBM3e at 8 TB/s."
    assert _found(text, "peak:fp4")[0][1] == "cannot tell"


def test_a_rate_taken_for_another_form_is_not_a_system_s() -> None:
    # 1,307 is eight times the fp32 rate by chance.
    rows = (
        "MI300X | 192 GB | 1,307 TFLOPS",
        "MI325X | 256 GB | 1,307 TFLOPS",
        "H200 | 141 GB | 1,979 TFLOPS",
    )
    text = _table("GPU | Memory | BF16 (sparse)", *rows)
    assert [kind for _, _, kind in _found(text, "peak:bf16")] == ["dense as sparse"] * 2 + [None]


@pytest.mark.parametrize(
    ("text", "field", "verdict"),
    [
        # A cell of several GPUs may be of one of them, whose base clock it is.
        (_table("Clock | RTX 5090 vs RTX 4090", "Boost clock | 2.23 GHz"), "boost_hz", "cannot tell"),
        (_table("Clock | RTX 4090", "Boost clock | 2.23 GHz"), "boost_hz", "contradicts"),
        # What its computer draws, and the word of its processor.
        ("The GB10 has 128 GB at 273 GB/s. The compact desktop takes 300 W.", "power_w", "cannot tell"),
        ("# Apple M1\n- Memory: 16 GB\n- Rate: 68 GB/s\n- Bus: 64-bit", "memory_bus_bits", "cannot tell"),
        ("# GTX 1080\n- Memory: 8 GB\n- Rate: 320 GB/s\n- Bus: 64-bit", "memory_bus_bits", "contradicts"),
        # Both chips of a superchip with its processor; one of them.
        ("# GB200\n- TDP: 2,700 W\n- FP4: 10 PFLOPS", "power_w", "cannot tell"),
        ("# GB200\n- TDP: 1,700 W\n- FP4: 10 PFLOPS", "power_w", "contradicts"),
        # A rebuilt card is called by its size.
        (_table("Card | Memory", "RTX 4090 \u00b7 48 GB | 48 GB"), "memory_bytes", "cannot tell"),
        (_table("Card | Memory", "RTX 4090 | 48 GB"), "memory_bytes", "contradicts"),
        # Units of AMD's chips: four in a compute unit of CDNA, two in one of RDNA.
        ("# RX 9070 XT\n- Compute units: 64\n- AI accelerators: 64", "tensor_cores", "contradicts"),
        ("# MI355X\n- Compute units: 256\n- Matrix cores: 1,024", "tensor_cores", "agrees"),
        ("The MI300X and MI325X do more per matrix core: 256 on the MI300X.", "tensor_cores", "cannot tell"),
        ("The core of the RTX 5090 operates at a core clock of 2,107 MHz.", "core_hz", "contradicts"),
        ("The RTX 5090 operates at 2,107 MHz in this game.", "core_hz", ""),
    ],
)  # fmt: skip
def test_what_else_a_figure_may_be_of(text: str, field: str, verdict: str) -> None:
    assert ([found[1] for found in _found(text, field)] or [""])[-1] == verdict


def test_less_than_one_has_is_no_sum() -> None:
    said = "Two RTX 3090s give you 48 GB of combined VRAM \u2014 enough for 70B Q4 with 8 GB of headroom."
    assert _found(said, "memory_bytes") == [("8 GB", "cannot tell", None)]


def test_twice_a_clock_is_wrong_in_a_column_of_clocks() -> None:
    text = _table("GPU | Memory | Boost clock", "RTX 4080 | 16 GB | 5.01 GHz", "RTX 4090 | 24 GB | 2.52 GHz")
    assert [v for _, v, _ in _found(text, "boost_hz")] == ["contradicts", "agrees"]


def test_a_figure_beside_the_right_one_may_be_its_neighbour_s() -> None:
    wrong = Claim(
        line=3, gpu="RTX 4070", gpu_ids=("rtx-4070",), field="cuda_cores", stated="4,864",
        values=(Number(value=4864.0, digits=4),),
    )  # fmt: skip
    right = replace(wrong, line=4, stated="5,888", values=(Number(value=5888.0, digits=4),))
    theirs = replace(wrong, line=5, gpu="RTX 3060 Ti", gpu_ids=("rtx-3060-ti",))
    texts = [[wrong], [wrong, right], [wrong, right, theirs]]
    given = [explain.Around(claims, [wrong]).is_given_to_other(wrong) for claims in texts]
    assert given == [False, True, False]


def test_the_figures_of_others_are_wrong_but_where_a_row_moved() -> None:
    cards = {name: [*row] for name, row in CARDS.items()} | {"L40": ["48 GB", "864 GB/s", "18176", "300 W"]}
    cards["H100 SXM"] = [*cards["L40S"]]
    rows = "\n".join(f"| {' | '.join((name, *row))} |" for name, row in cards.items())
    assert {f for f, _ in kinds(ROWS + rows)} == {
        "memory_bytes", "memory_bytes_per_s", "cuda_cores", "power_w"
    }  # fmt: skip
    moved = (
        "| | L4 | L40S | H100 SXM | T4 |\n|---|---|---|---|---|\n| Memory | 24 GB | 24 GB | 48 GB | 80 GB |"
    )
    assert kinds(f"{moved}\n| TDP | 72 W | 350 W | 700 W | 70 W |") == []


def test_a_row_of_two_sizes_is_of_both() -> None:
    head = "| GPU | Form factor | VRAM | Memory type |\n|---|---|---|---|\n"
    assert kinds(head + "| A100 (SXM / HGX) | SXM4 module | 40 GB and 80 GB variants | HBM2e |") == []


def test_sparsity_that_a_chinese_text_denies() -> None:
    assert kinds("\u2022 A100:\n312 TFLOPS FP16 Tensor(\u4e0d\u542b\u7a00\u758f)\u3002") == []
