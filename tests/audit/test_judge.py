"""Verdicts: agrees, contradicts, cannot tell."""

from __future__ import annotations

import pytest

from gpuwise import audit


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
    ],
)
def test_verdicts(text: str, verdict: str) -> None:
    assert verdicts(text) == [verdict]


def test_the_best_value_names_its_source() -> None:
    (finding,) = audit.audit_text("## T4\n- TDP: 90 W").findings
    assert finding.best == "70.0 W"
    assert finding.source


def test_up_to_means_the_best_variant() -> None:
    (finding,) = audit.audit_text("## A100\n- Memory bandwidth: up to 1,555 GB/s").findings
    assert (finding.verdict, finding.kind) == ("contradicts", "other variant")


def test_a_gpu_outside_the_catalog_is_not_judged() -> None:
    assert verdicts("## RTX 4060\n- VRAM: 99 GB") == []


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
