"""Verdicts: agrees, contradicts, cannot tell."""

from __future__ import annotations

import pytest

from gpuwise.judge import audit
from gpuwise.judge.audit import document, read
from gpuwise.judge.audit.judge import GRID, judge
from gpuwise.model.judgement import Claim, Number


def verdicts(text: str) -> list[str]:
    return [finding.verdict for finding in audit.audit_text(text).findings]


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
        ("The H100 SXM is made in a 4 nm process.", "cannot tell"),
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
