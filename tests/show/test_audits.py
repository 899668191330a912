"""Findings as a table, a sentence and data."""

from __future__ import annotations

import json

from gpuwise.judge.audit import audit_text
from gpuwise.show import audits

TEXT = "## T4\n- VRAM: 24 GB\n- TDP: 70 W"


def test_only_contradictions_unless_asked() -> None:
    found = [audit_text(TEXT, "a.md")]
    assert [row[0] for row in audits.findings(found).rows] == ["a.md:2"]
    assert [row[0] for row in audits.findings(found, every=True).rows] == ["a.md:2", "a.md:3"]


def test_sources_are_numbered_notes() -> None:
    table = audits.findings([audit_text(TEXT, "a.md")])
    assert table.rows[0][-1] == "[1]"
    assert table.notes[0].startswith("[1] ")


def test_summary_counts_and_names_kinds() -> None:
    assert audits.summary(audit_text(TEXT, "a.md")) == (
        "a.md: 2 claims read: 1 contradict (1 wrong value), 1 agree, 0 not decidable"
    )
    assert "b.md: 1 claim read: " in audits.summary(audit_text("## T4\n- VRAM: 24 GB", "b.md"))
    assert "no claim" in audits.summary(audit_text("nothing", "b.md"))


def test_lines_as_spans() -> None:
    assert audits.spans((3, 4, 5, 9)) == "3-5,9"


def test_the_document_is_json() -> None:
    document = json.loads(json.dumps(audits.document([audit_text(TEXT, "a.md")])))
    assert document[0]["findings"][0]["kind"] == "wrong value"
