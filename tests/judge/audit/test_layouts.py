"""Lists, tables, lines and phrases of many layouts, each with the number of wrong values in it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from gpuwise.judge import audit

CASES = Path(__file__).with_name("layouts.txt").read_text(encoding="utf-8").split("\n~\n")


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_found_in_any_layout(case: str) -> None:
    """The first digit of a case counts its wrong values; no other value of it may be accused."""
    wrong, text = case.split(" ", 1)
    found = audit.audit_text(text, "a.md", today=date(2026, 11, 26)).findings
    assert sum(finding.verdict == "contradicts" for finding in found) == int(wrong)
