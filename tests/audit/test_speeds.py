"""Throughput tables against physics and logic."""

from __future__ import annotations

from gpuwise import audit


def kinds(text: str) -> set[str | None]:
    return {f.kind for f in audit.audit_text(text).findings if f.field == "throughput"}


def table(*rows: tuple[str, str, str, str]) -> str:
    head = "# RTX A6000\n| Network | 1 GPU | 2 GPUs | 4 GPUs |\n|---|---|---|---|\n"
    return head + "\n".join("| " + " | ".join(row) + " |" for row in rows)


def test_a_plausible_table_is_possible() -> None:
    assert kinds(table(("ResNet-50 FP16", "812.4", "1571.9", "3021.7"))) == {None}


def test_perfect_scaling_was_computed() -> None:
    assert "exactly linear" in kinds(table(("ResNet-50 FP16", "812.4", "1624.8", "3249.6")))


def test_more_than_perfect_scaling() -> None:
    assert "scaling over 100 %" in kinds(table(("ResNet-50 FP16", "812.4", "1950.3", "3021.7")))


def test_above_the_peak() -> None:
    assert "above peak" in kinds("# T4\n| Network | 1 GPU |\n|---|---|\n| ResNet-50 FP16 | 98765.4 |")


def test_a_network_that_nobody_knows_is_left_out() -> None:
    assert kinds(table(("FrobNet", "1", "2", "4"))) == set()
